"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from symderiv.errors import InputError, SymderivError

# What a killed process left of a file is removed by a later writer of the same file, but not so
# soon that it might belong to one that is still writing.
_STALE_SECONDS = 3600.0

Content = bytes | memoryview | Callable[[BinaryIO], None]

#: Conditions of the machine rather than mistakes in what was asked for.
MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EMFILE})


def write_whole(path: Path, content: Content) -> None:
    """Replace the file in one step, so that a reader, a crash or a full disk never sees half of it.

    The content, or what a function given the open file writes, is on the disk before the name
    points to it.

    Raises:
        InputError: the folder does not exist or is not writable.
        SymderivError: anything else, such as a full disk; the old file, if any, is as it was.
    """
    try:
        replace_file(path, content)
    except OSError as error:
        kind = SymderivError if error.errno in MACHINE else InputError
        raise kind(f"{path}: cannot be written: {error.strerror or error}") from None


def replace_file(path: Path, content: Content) -> None:
    """As :func:`write_whole`, but with the operating system's own error."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        with temporary.open("xb") as file:
            if callable(content):
                content(file)
            else:
                file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    remove_temporaries(path, older_than=_STALE_SECONDS)


def remove_temporaries(path: Path, *, older_than: float = 0.0) -> None:
    """Remove what killed writers of a file left beside it; never an error."""
    before = time.time() - older_than
    with contextlib.suppress(OSError):
        for name in os.listdir(path.parent):
            if not (name.startswith(f".{path.name}.") and name.endswith(".tmp")):
                continue
            leftover = path.parent / name
            with contextlib.suppress(OSError):
                if leftover.stat().st_mtime <= before:
                    leftover.unlink()
