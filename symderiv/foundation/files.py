"""Files that are written whole or not at all, and where caches go that cannot be written."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import BinaryIO

from symderiv.foundation.errors import InputError, SymderivError
from symderiv.foundation.nearest import nearest

# What a killed process left of a file is removed by a later writer of the same file, but not so
# soon that it might belong to one that is still writing.
_STALE_SECONDS = 3600.0

Content = bytes | memoryview | Callable[[BinaryIO], None]

#: Given the path, what may be replaced there: its state, or None if nothing is there. It raises if
#: what is there must stay.
Replaceable = Callable[[Path], "os.stat_result | None"]

#: Conditions of the machine rather than mistakes in what was asked for.
MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EMFILE})

# A file system that has no hard links says so in one of these ways.
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL})


def write_whole(path: Path, content: Content, replaceable: Replaceable | None = None) -> None:
    """Replace the file in one step, so that a reader, a crash or a full disk never sees half of it.

    The content, or what a function given the open file writes, is on the disk before the name
    points to it. Missing folders are made.

    Args:
        path: the file.
        content: its bytes, or a function that writes them.
        replaceable: asked when everything is ready; without it whatever is there is replaced.

    Raises:
        InputError: the folder is not writable, or what is there must stay.
        SymderivError: anything else, such as a full disk; the old file, if any, is as it was.
    """
    try:
        replace_file(path, content, replaceable)
    except OSError as error:
        kind = SymderivError if error.errno in MACHINE else InputError
        raise kind(f"{path}: cannot be written: {error.strerror or error}") from None


def replace_file(path: Path, content: Content, replaceable: Replaceable | None = None) -> None:
    """Write as :func:`write_whole`, but with the operating system's own error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{_beginning(path)}{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        with temporary.open("xb") as file:
            if callable(content):
                content(file)
            else:
                file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if replaceable is None:
            os.replace(temporary, path)
        else:
            _place(temporary, path, replaceable(path))
    finally:
        temporary.unlink(missing_ok=True)
    remove_temporaries(path, older_than=_STALE_SECONDS)


def _beginning(path: Path) -> str:
    """Return the beginning of names of temporary files; a file system counts bytes, not letters."""
    name = os.fsencode(path.name)
    short = path.name if len(name) <= 200 else name[:200].decode(errors="ignore")
    return f".{short}."


def _place(temporary: Path, path: Path, old: os.stat_result | None) -> None:
    """Give the file its name, in place of ``old`` or of nothing, and of nothing else."""
    if old is not None:
        if signature(os.lstat(path)) != signature(old):
            raise FileExistsError(errno.EEXIST, "it was changed by another program meanwhile")
        os.replace(temporary, path)
        return
    try:
        # unlike a renaming, a link never replaces
        os.link(temporary, path)
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, "another program wrote it meanwhile") from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "another program wrote it meanwhile") from None
        os.replace(temporary, path)


def read_file(path: Path) -> bytes:
    """Return the content of a regular file; what could be waited for or read for ever is refused.

    Raises:
        InputError: it is not there, not a file, or cannot be read.
    """
    try:
        if kind := kind_of(path.stat()):
            raise InputError(f"{path}: is a {kind}, not a file")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {why_unread(path, error)}") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: is not a path") from None


def why_unread(path: Path, error: OSError | ValueError) -> str:
    """Return why a file cannot be read, and what to do if it is not there."""
    if not isinstance(error, OSError):
        return "cannot be read"
    reason = error.strerror or "cannot be read"
    if not isinstance(error, FileNotFoundError):
        return reason
    beside: dict[str, str] = {}
    with contextlib.suppress(OSError):
        names = [name for name in sorted(os.listdir(path.parent)) if not name.startswith(".")]
        beside = {name.partition(".")[0]: name for name in names}
    meant = beside.get(nearest(path.name.partition(".")[0], beside))
    return reason + (f"; did you mean {meant}?" if meant else "; check its name and its folder")


def signature(found: os.stat_result) -> tuple[int, int, int, int]:
    """Return a mark that tells whether a file is still the same one with the same content."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def kind_of(found: os.stat_result) -> str:
    """Return the kind of something that is not a regular file; empty for a regular file."""
    kinds = {
        stat.S_IFDIR: "folder",
        stat.S_IFIFO: "FIFO",
        stat.S_IFSOCK: "socket",
        stat.S_IFCHR: "device",
        stat.S_IFBLK: "device",
        stat.S_IFREG: "",
    }
    return kinds.get(stat.S_IFMT(found.st_mode), "special file")


def remove_temporaries(path: Path, *, older_than: float = 0.0) -> None:
    """Remove what killed writers of a file left beside it; never an error.

    What belongs to a process that runs on this machine stays.
    """
    before = time.time() - older_than
    ours = re.compile(re.escape(_beginning(path)) + r"(\d+)-[0-9a-f]{8}\.tmp")
    with contextlib.suppress(OSError):
        for name in os.listdir(path.parent):
            match = ours.fullmatch(name)
            if match is None or _runs(int(match[1])):
                continue
            leftover = path.parent / name
            with contextlib.suppress(OSError):
                if leftover.stat().st_mtime <= before:
                    leftover.unlink()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


@cache
def tell_once(message: str) -> None:
    """Log a warning, by default a line on standard error, the first time it is given."""
    import logging

    logging.getLogger("symderiv").warning("symderiv: %s", message)


@cache
def temporary_folder() -> Path:
    """Return a folder of this process, removed at its end; for what can be kept nowhere else."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="symderiv-"))
    atexit.register(_remove_own, folder, os.getpid())
    return folder


def _remove_own(folder: Path, owner: int) -> None:
    # a forked child runs the same exit functions
    if os.getpid() == owner:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
