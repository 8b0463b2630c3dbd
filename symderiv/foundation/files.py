"""Files that are written whole or not at all, and a folder for caches if none can be written."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import BinaryIO

from symderiv.foundation.errors import InputError, SymderivError
from symderiv.foundation.nearest import nearest

# Temporary files of killed processes are removed by a later writer of the same file, but only after
# this time, because they might belong to one that is still writing.
_STALE_SECONDS = 3600.0

Content = bytes | memoryview | Callable[[BinaryIO], None]

#: A function that returns the state of the file at a path, or None if there is none; it raises an
#: error if the file must not be replaced.
Replaceable = Callable[[Path], "os.stat_result | None"]

#: Errors that are conditions of the machine rather than mistakes of the user.
MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EMFILE})

# The errors by which a file system says that it has no hard links.
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL})


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of the system into one line on the path that cannot be written.

    Raises:
        SymderivError: the disk or another part of the machine is at fault.
        InputError: the path is.
    """
    try:
        yield
    except OSError as error:
        kind = SymderivError if error.errno in MACHINE else InputError
        raise kind(f"{path}: cannot be written: {error.strerror or error}") from None


def write_whole(path: Path, content: Content, replaceable: Replaceable | None = None) -> None:
    """Replace the file in one step, so that a reader, a crash or a full disk never sees half of it.

    The content is on the disk before the name points to it. Missing folders are made.

    Args:
        path: the file.
        content: its bytes, or a function that writes them to the open file.
        replaceable: called when everything is ready; without it any existing file is replaced.

    Raises:
        InputError: the folder is not writable, or the existing file must stay.
        SymderivError: anything else, such as a full disk; the old file, if any, is as it was.
    """
    with writing(path):
        replace_file(path, content, replaceable)


def replace_file(path: Path, content: Content, replaceable: Replaceable | None = None) -> None:
    """Write as :func:`write_whole`, but raise the operating system's own error."""
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
    """Return the beginning of names of temporary files, short enough in bytes for file systems."""
    name = os.fsencode(path.name)
    short = path.name if len(name) <= 200 else name[:200].decode(errors="ignore")
    return f".{short}."


def _place(temporary: Path, path: Path, old: os.stat_result | None) -> None:
    """Rename a temporary file to its name, replacing nothing but ``old``."""
    if old is not None:
        if signature(os.lstat(path)) != signature(old):
            raise FileExistsError(errno.EEXIST, "it was changed by another program meanwhile")
        os.replace(temporary, path)
        return
    try:
        # unlike renaming, linking never replaces a file
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
    """Return the content of a regular file; refuse files that may block or never end.

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
    """Return why a file cannot be read, with a suggestion if it is not there."""
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


def signature(status: os.stat_result) -> tuple[int, int, int, int]:
    """Return numbers that change if a file is replaced or its content changes."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def kind_of(status: os.stat_result) -> str:
    """Return the kind of a file that is not regular; empty for a regular file."""
    kinds = {
        stat.S_IFDIR: "folder",
        stat.S_IFIFO: "FIFO",
        stat.S_IFSOCK: "socket",
        stat.S_IFCHR: "device",
        stat.S_IFBLK: "device",
        stat.S_IFREG: "",
    }
    return kinds.get(stat.S_IFMT(status.st_mode), "special file")


def remove_temporaries(path: Path, *, older_than: float = 0.0) -> None:
    """Remove temporary files that killed writers left beside a file; never raise an error.

    Those of a process that still runs on this machine stay.
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
    """Log a warning, by default a line on standard error, only once for each message."""
    import logging

    logging.getLogger("symderiv").warning("symderiv: %s", message)


@cache
def temporary_folder() -> Path:
    """Return a folder of this process that is removed at its end, for files that are kept nowhere
    else.
    """
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="symderiv-"))
    atexit.register(_remove_own, folder, os.getpid())
    return folder


def _remove_own(folder: Path, owner: int) -> None:
    # a forked child runs the same exit functions
    if os.getpid() == owner:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
