"""The files of a Zarr store, of which only verified content is read.

The zarr library writes and reads through :class:`SealedFiles`: files that it writes are put in
place atomically and their digests noted; content that it reads comes from a function that has
verified it. The library does not see files that the store does not know.

One process writes a store at a time: :func:`sole_writer`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self, TextIO

from zarr.abc.store import ByteRequest
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from zarr.storage import LocalStore

from symderiv.foundation.errors import InputError
from symderiv.foundation.files import writing

#: A function from a file's key to its verified content; None if the store has no such file.
Verified = Callable[[str], bytes | None]


class SealedFiles(LocalStore):
    """A folder as the zarr library sees it, with verified content.

    Args:
        root: the folder.
        verified: the function that reads and verifies a file.
        read_only: True refuses to write.

    Attributes:
        written: SHA-256 of the files that were written, by their keys.
    """

    def __init__(self, root: Path, verified: Verified, *, read_only: bool = False) -> None:
        super().__init__(root, read_only=read_only)
        self._verified = verified
        self.written: dict[str, str] = {}

    def with_read_only(self, read_only: bool = False) -> Self:
        return type(self)(self.root, self._verified, read_only=read_only)

    def get_sync(
        self,
        key: str,
        *,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        if byte_range is not None:
            raise NotImplementedError("the arrays of a sweep are read by whole chunks")
        content = self._verified(key)
        if content is None:
            return None
        return (prototype or default_buffer_prototype()).buffer.from_bytes(content)

    async def get(
        self,
        key: str,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        return self.get_sync(key, prototype=prototype, byte_range=byte_range)

    def set_sync(self, key: str, value: Buffer) -> None:
        self._check_writable()
        self.place(key, value.to_bytes())

    async def set(self, key: str, value: Buffer) -> None:
        self.set_sync(key, value)

    def place(self, key: str, content: bytes) -> None:
        """Write a file atomically, and note its digest."""
        place_file(self.root / key, content)
        self.written[key] = hashlib.sha256(content).hexdigest()

    def taken(self) -> dict[str, str]:
        """Return the digests of files written since the last call."""
        digests, self.written = self.written, {}
        return digests


def place_file(path: Path, content: bytes) -> None:
    """Write a file atomically: neither a reader nor a kill ever leaves half of it.

    Writes are not flushed to the disk: checksums reveal the damage of a power failure. There must
    be one writer at a time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.tmp")
    beside.write_bytes(content)
    beside.replace(path)


@contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Hold the lock of a store: no other process writes, makes, widens or replaces it.

    The lock is a file beside the store, ``.NAME.lock``, which is removed in the end. One that
    remains after a kill does no harm.

    Raises:
        InputError: another process writes the store, or the folder cannot be written to.
    """
    lock = path.with_name(f".{path.name}.lock")
    made = [folder for folder in path.parents if not folder.exists()]
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = _locked(lock)
        except BlockingIOError:
            said = f"{path}: another process is writing this sweep; wait until it ends"
            raise InputError(said) from None
    try:
        yield
    finally:
        # while the lock is held, the file of this name is the locked one
        lock.unlink(missing_ok=True)
        file.close()
        for folder in made:
            with suppress(OSError):  # the folder is not empty
                folder.rmdir()


def _locked(lock: Path) -> TextIO:
    """Return the lock's file, locked; raise BlockingIOError if another process holds it."""
    while True:
        file = lock.open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # the process that held it before has removed the file meanwhile
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), os.stat(lock)):
                    return file
        except BaseException:
            file.close()
            raise
        file.close()
