"""The undefined symbols of object code, read from a 64-bit ELF file."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator

from symderiv.compiled_code.machine_code import CALLED, UNUSED
from symderiv.compiled_code.part_code import PART

_SYMBOLS = 2  # ELF's type of sections with symbol tables


def imports_of(code: bytes, more: Collection[str] = ()) -> list[str] | None:
    """Return the undefined symbols of object code, or None if it calls anything that is not
    allowed.

    Allowed are functions of the C library and the names in ``more``.
    """
    imports = sorted(set(_undefined(code)))
    named = ("Py", "_Py", PART)
    allowed = all(name in (*CALLED, *UNUSED, *more) or name.startswith(named) for name in imports)
    return imports if allowed else None


def _undefined(code: bytes) -> Iterator[str]:
    """Yield the undefined symbols of a 64-bit ELF object file.

    Raises:
        ValueError: it is something else.
    """
    if code[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not an object file of 64-bit ELF")
    (table,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, table + n * size) for n in range(count)]
    for _, kind, _, _, offset, length, names, _, _, each in sections:
        if kind != _SYMBOLS:
            continue
        texts = sections[names][4]
        for place in range(offset, offset + length, each):
            name, _, _, section = struct.unpack_from("<IBBH", code, place)
            begin = texts + name
            if name and section == 0:
                yield code[begin : code.index(b"\0", begin)].decode()
