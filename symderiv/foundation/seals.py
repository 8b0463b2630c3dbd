"""The mark of a file that symderiv wrote: the SHA-256 of everything else in it, near its end.

A file that carries its own digest is known to be symderiv's, byte for byte as it was written: it
may be replaced without asking, and what is read from it is what was computed. A file that was cut
off, damaged, edited or written by anything else is not.

The mark is one line of text in a place where its format has room for it: a comment, a key of JSON
at the end, the comment of a zip archive, a text chunk of PNG, or behind the end of HDF5, .npy,
pickles and PDF.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from symderiv.foundation.languages import LANGUAGES

_TAG: Final = b"written by symderiv, sha256 of the rest "
_DIGITS: Final = 64
# The mark lies within this many bytes of the end.
_TAIL: Final = 256
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_PNG_KEY: Final = b"Comment\0"
_END_OF_ZIP: Final = 22

#: The texts before and after the mark in formats in which it is appended to the content.
_COMMENTS: Final[dict[str, tuple[bytes, bytes]]] = {
    **{
        each.ending: (each.comment[0].encode(), f"{each.comment[1]}\n".encode())
        for each in LANGUAGES.values()
    },
    "html": (b"\n<!-- ", b" -->\n"),
    "svg": (b"<!-- ", b" -->\n"),
    "toml": (b"# ", b"\n"),
    "bib": (b"% ", b"\n"),
    "pdf": (b"% ", b"\n"),
    "txt": (b"\n", b"\n"),
    "nc": (b"\n", b"\n"),
    "npy": (b"\n", b"\n"),
    "pickle": (b"\n", b"\n"),
}

#: Formats that are text and can go to standard output.
STREAMED: Final = frozenset(
    {"html", "txt", "json", "bib", "toml", *(each.ending for each in LANGUAGES.values())}
)


def sealed(content: bytes | memoryview, format: str) -> bytes:
    """Return the content with its mark.

    Args:
        content: a whole file without a mark; JSON must be an object that is not empty.
        format: its ending: html, svg, toml, bib, pdf, txt, nc, npy, pickle, json, png, npz, or
            that of a language; zarr.json is JSON that ends with the attributes of a group.
    """
    if format in _FRAMES:
        before, after, skipped = _FRAMES[format](bytes(content))
    else:
        head, tail = _COMMENTS[format]
        before, after, skipped = bytes(content) + head + _TAG, tail, b""
    digest = hashlib.sha256(before)
    digest.update(after)
    mark = digest.hexdigest().encode()
    if skipped:
        skipped = struct.pack(">I", zlib.crc32(skipped + mark))
    return before + mark + skipped + after


# The bytes before the digest and after it, and those that share a CRC with it (PNG only).
_Frame = tuple[bytes, bytes, bytes]


def _json(content: bytes, inside: int = 1) -> _Frame:
    """Return the frame of JSON: the mark is the last key of the last object at this depth."""
    body = content
    for _ in range(inside):
        body = body.rstrip().removesuffix(b"}").rstrip()
    return body + b', "seal": "' + _TAG, b'"' + b"}" * inside + b"\n", b""


def _zip(content: bytes) -> _Frame:
    comment = struct.pack("<H", len(_TAG) + _DIGITS) + _TAG
    assert content[-_END_OF_ZIP:].startswith(b"PK\5\6"), "a zip archive with a comment"
    return content[:-2] + comment, b"", b""


def _png(content: bytes) -> _Frame:
    end = content.rindex(b"IEND") - 4
    text = _PNG_KEY + _TAG
    chunk = b"tEXt" + text
    length = struct.pack(">I", len(text) + _DIGITS)
    return content[:end] + length + chunk, content[end:], chunk


_FRAMES: Final[dict[str, Callable[[bytes], _Frame]]] = {
    "json": _json,
    "zarr.json": partial(_json, inside=2),
    "npz": _zip,
    "png": _png,
}


def is_broken(path: Path) -> bool:
    """Return whether a file has a wrong mark, so that symderiv wrote it and it was changed since.

    It is for formats that other programs write as well, without a mark.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        if _TAG not in file.read():
            return False
        file.seek(0)
        return not is_sealed(file.read())


def is_sealed(content: bytes | memoryview) -> bool:
    """Return whether the content is, byte for byte, a file that symderiv wrote."""
    tail = bytes(content[-_TAIL:])
    tag = tail.rfind(_TAG)
    if tag < 0:
        return False
    start = len(content) - len(tail) + tag + len(_TAG)
    end = start + _DIGITS
    digest = hashlib.sha256(content[:start])
    # the CRC of a PNG chunk covers the digest, so the digest cannot cover the CRC
    digest.update(content[end + (4 if bytes(content[:8]) == _PNG else 0) :])
    return bytes(content[start:end]) == digest.hexdigest().encode()
