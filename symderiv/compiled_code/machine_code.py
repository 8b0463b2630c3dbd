"""Compiled code from the user's cache that runs without its compiler.

Importing numba takes longer than most integrations do. :mod:`symderiv.compiled_code.object_code`
keeps what numba made of some functions as one file; here it is read and linked by LLVM alone, and
called as numba's own code calls it. It is the same code that numba runs, so the numbers are the
same to the last bit.

Only trusted code is run: the file is named by a digest of everything the code depends on (sources,
numba, LLVM, Python, the processor with its features), carries the mark of
:mod:`symderiv.foundation.seals`, belongs to the user, cannot be written by anybody else, and names
all that the code may call, each of which is on the list below. In all other cases, and on any
system but Linux, numba compiles the function. ``SYMDERIV_CACHE=off`` neither reads nor writes.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import itertools
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from symderiv.compiled_code.part_code import PART, code_of_parts
from symderiv.foundation import derivation_cache
from symderiv.foundation.files import replace_file
from symderiv.foundation.seals import is_sealed, sealed

#: Functions of the C library that compiled code may call.
CALLED: Final = frozenset(
    (
        *("memcpy", "memset", "memmove", "pow", "exp", "exp2", "expm1", "log", "log1p", "log2"),
        *("log10", "sin", "cos", "sincos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh"),
        *("tanh", "asinh", "acosh", "atanh", "erf", "erfc", "hypot", "sqrt", "cbrt", "fma", "fmod"),
        *("floor", "ceil", "trunc", "frexp", "ldexp", "malloc", "free"),
    )
)

#: Functions that numba's wrappers for Python need beside Python itself. The wrappers are not used
#: here, so these names are linked to ``abort``.
UNUSED: Final = frozenset(
    (
        *("numba_gil_ensure", "numba_gil_release", "numba_unpickle", "numba_do_raise", "NRT_Free"),
        *("numba_runtime_build_excinfo_struct", "NRT_adapt_ndarray_from_python"),
        "NRT_MemInfo_call_dtor",
    )
)

#: The status of the first error of translated functions; the next ones are -11, -12, ….
FIRST_ERROR: Final = -10

_numbers = itertools.count()
_NUMBERS: Final[Mapping[str, type]] = {"double": float, "int64": int}
_buffer: Final[Any] = ctypes.c_char.from_buffer
_UNREAD = ctypes.c_int64()
_UNREAD_ADDRESS = ctypes.addressof(_UNREAD)
_PRIVATE: Final = 0o700


class MachineCode:
    """A compiled function, called with numbers, arrays and other such functions.

    Args:
        address: its address.
        arguments: the kinds of its arguments: "double", "int64", "function", the type of a
            C-contiguous array and its number of axes, as "<f8 2", or a list of such for a tuple.
        returns: "none", "double" or "int64".
        owner: an object that must live as long as the function.
        messages: the messages of the errors that it raises, by number.
        for_c: the address of its form with C's calling convention, for other compiled code; 0 if
            there is none.
    """

    def __init__(
        self,
        address: int,
        arguments: list[Any],
        returns: str,
        owner: object,
        messages: Sequence[str] = (),
        for_c: int = 0,
    ) -> None:
        self.address, self.for_c = address, for_c
        self._messages = messages
        self._arguments = [_Argument(kind) for kind in arguments]
        results: dict[str, Any] = {"none": ctypes.c_void_p, "double": ctypes.c_double}
        self._returns = results.get(returns, ctypes.c_int64)
        self._has_result = returns != "none"
        types = [each for argument in self._arguments for each in argument.types]
        # the first two arguments are pointers to the result and to the exception
        pointers = ctypes.c_void_p, ctypes.c_void_p
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, *pointers, *types)(address)
        self._owner = owner

    def __call__(self, *values: Any) -> Any:
        """Return what the function returns; arrays are changed in place.

        Raises:
            TypeError: an argument is not what the code was compiled for.
            ValueError: an error that the function raises.
            RuntimeError: the code gave up.
        """
        return self._called(self._flat(values))

    def bound(self, *values: Any) -> Callable[[], Any]:
        """Return a call with these arguments, which are converted now and not at every call.

        Arrays must stay at their addresses; their entries may change.

        Raises:
            TypeError: an argument is not what the code was compiled for.
        """
        flat = self._flat(values)

        def called() -> Any:
            _ = values  # keeps the arguments alive as long as the call
            return self._called(flat)

        return called

    def _flat(self, values: Sequence[Any]) -> list[Any]:
        flat: list[Any] = []
        for argument, value in zip(self._arguments, values, strict=True):
            flat.extend(argument.flat(value))
        return flat

    def _called(self, flat: Sequence[Any]) -> Any:
        # errors' places and missing results are never read, so all threads share one place
        result = self._returns() if self._has_result else _UNREAD
        code = self._call(ctypes.addressof(result), _UNREAD_ADDRESS, *flat)
        if code not in (0, -2):  # -2 is numba's None
            if code <= FIRST_ERROR and FIRST_ERROR - code < len(self._messages):
                raise ValueError(self._messages[FIRST_ERROR - code])
            raise RuntimeError(f"compiled code ended with status {code}")
        return result.value if self._has_result else None


Others = Mapping[str, MachineCode]
"""Functions that code is linked with, by the symbols under which it calls them."""
NO_OTHERS: Final[Others] = MappingProxyType({})


class _Argument:
    """The machine arguments of one Python argument.

    An array becomes owner (none), number of entries, bytes of each, address, lengths and strides; a
    tuple becomes its parts.
    """

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self.types: list[Any]
        self._dtype: np.dtype[Any] | None = None
        if isinstance(kind, list):
            self._parts = [_Argument(each) for each in kind]
            self.types = [each for part in self._parts for each in part.types]
            # the common type of all parts, if any: means take thousands of such tuples
            alike = {each if isinstance(each, str) else "" for each in kind}
            self._number = _NUMBERS.get(alike.pop()) if len(alike) == 1 else None
            return
        word, _, axes = kind.partition(" ")
        self._axes = int(axes or 0)
        simple: dict[str, list[Any]] = {"double": [ctypes.c_double], "int64": [ctypes.c_int64]}
        words = 3 if kind == "function" else 5 + 2 * self._axes
        self.types = simple.get(kind, [ctypes.c_ssize_t] * words)
        self._word = word
        self._dtype = np.dtype(word) if " " in kind else None

    def flat(self, value: Any) -> tuple[Any, ...]:
        if self._dtype is not None and isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(self._kind, list):
            if self._number is not None and len(value) == len(self._parts):
                return tuple(map(self._number, value))
            pairs = zip(self._parts, value, strict=True)
            return tuple(word for part, each in pairs for word in part.flat(each))
        if self._kind == "double":
            return (float(value),)
        if self._kind == "int64":
            return (int(value),)
        if self._kind == "function":
            if not isinstance(value, MachineCode):
                raise TypeError("a function without its compiler takes another such function")
            # of the three pointers, numba calls the last one if it is given
            return (value.address, 0, value.address)
        raise self._other(value)

    def _array(self, value: np.ndarray) -> tuple[Any, ...]:
        # writable, aligned and C-contiguous
        if not value.flags.carray or value.ndim != self._axes:
            raise self._other(value)
        # records are identified by their size alone
        if value.dtype != self._dtype and value.dtype.str != self._word:
            raise self._other(value)
        size, each = value.size, value.itemsize
        # the address from a buffer, in a third of the time of NumPy's own ways
        address = ctypes.addressof(_buffer(value)) if size else 0
        if self._axes == 1:
            return (0, 0, size, each, address, size, each)
        return (0, 0, size, each, address, *value.shape, *value.strides)

    def _other(self, value: Any) -> TypeError:
        return TypeError(f"an array {self._kind} was expected, not {type(value).__name__}")


def is_possible() -> bool:
    """Return whether code is kept and read on this system with the present settings."""
    return can_link() and derivation_cache.is_on()


def can_link() -> bool:
    """Return whether compiled code can run without numba on this system."""
    return sys.platform == "linux" and sys.maxsize > 2**32


def code_path(name: str, sources: Iterable[str]) -> Path:
    """Return the path of the file of compiled functions.

    Args:
        name: the purpose of the functions, with their sizes.
        sources: digests or texts of all that they are compiled from.
    """
    digest = hashlib.sha256()
    for part in (name, *sources, *_surroundings()):
        digest.update(part.encode())
        digest.update(b"\0")
    return derivation_cache.cache_folder() / "code" / f"code_{digest.hexdigest()[:32]}.bin"


@cache
def _surroundings() -> tuple[str, ...]:
    """Return everything that compiled code depends on beside its sources."""
    from llvmlite import binding

    versions = []
    for package in ("numba", "llvmlite"):
        spec = importlib.util.find_spec(package)
        places = [] if spec is None else spec.submodule_search_locations or []
        versions += [(Path(place) / "_version.py").read_text() for place in places]
    features = binding.get_host_cpu_features()
    chosen = sorted(f"{key}={value}" for key, value in os.environ.items() if key[:6] == "NUMBA_")
    return (
        *versions,
        sys.version,
        np.__version__,
        binding.get_host_cpu_name(),
        " ".join(sorted(f"{name}{has}" for name, has in features.items())),
        *(Path(__file__).with_name(name).read_text() for name in (Path(__file__).name, _WRITER)),
        *chosen,
    )


_WRITER: Final = "object_code.py"


def load(path: Path) -> dict[str, MachineCode] | None:
    """Return the functions kept in a file by name, or None if it is missing or not trusted."""
    return read(path) if is_possible() else None


def read(path: Path, others: Others = NO_OTHERS) -> dict[str, MachineCode] | None:
    """Return the functions of :func:`load`, even if caching of derivations is switched off."""
    try:
        if not _is_own(path):
            return None
        content = path.read_bytes()
        if not is_sealed(content):
            return None
        head, _, rest = content.partition(b"\n")
        said = json.loads(head)
        if said["file"] != path.name:
            return None
        by_name: dict[str, MachineCode] = {}
        for name, entry in said["functions"].items():
            code, rest = rest[: entry["bytes"]], rest[entry["bytes"] :]
            by_name[name] = linked(entry, code, others)
    except (OSError, ValueError, KeyError, RuntimeError, AttributeError, ImportError):
        # numba will compile the functions instead
        return None
    return by_name


def write(path: Path, functions: Mapping[str, tuple[Mapping[str, Any], bytes]]) -> bool:
    """Write a file of functions, each given by calling convention and code; return success."""
    head = {name: {**entry, "bytes": len(code)} for name, (entry, code) in functions.items()}
    content = json.dumps({"file": path.name, "functions": head}).encode() + b"\n"
    content += b"".join(code for _, code in functions.values())
    with suppress(OSError):  # a cache that cannot be written to costs time only
        path.parent.mkdir(parents=True, exist_ok=True, mode=_PRIVATE)
        replace_file(path, sealed(content, "pickle"))
        return True
    return False


def _is_own(path: Path) -> bool:
    """Return whether only the user can have written the file."""
    for place in (path, path.parent):
        status = place.stat()
        if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return False
    return True


@cache
def _linker() -> Any:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name()
    )
    return binding.create_lljit_compiler(machine)


def linked(entry: Mapping[str, Any], code: bytes, others: Others = NO_OTHERS) -> MachineCode:
    """Link a function from its calling convention, its code and the functions that it calls."""
    from llvmlite import binding

    library = ctypes.CDLL(None)
    builder = binding.JITLibraryBuilder().add_object_img(code)
    symbols = [entry["symbol"], *([entry["for_c"]] if "for_c" in entry else [])]
    for symbol in symbols:
        builder.export_symbol(symbol)
    imports = set(entry["imports"])
    if any(name.startswith(PART) for name in imports):
        parts, imports_of_parts = code_of_parts()
        builder.add_object_img(parts)
        imports = {name for name in imports | imports_of_parts if not name.startswith(PART)}
    for name in sorted(imports):
        # functions that only wrappers need are never called
        wanted = name if name in CALLED else "abort"
        address = ctypes.cast(getattr(library, wanted), ctypes.c_void_p).value
        builder.import_symbol(name, others[name].address if name in others else address)
    made = builder.link(_linker(), f"symderiv_{next(_numbers)}")
    addresses = [made[symbol] for symbol in symbols]
    how = entry["arguments"], entry["returns"], (made, others), entry.get("messages", ())
    return MachineCode(addresses[0], *how, *addresses[1:])
