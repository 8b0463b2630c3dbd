"""The lock by which one process at a time writes a sweep's store, or makes or moves it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from symderiv.foundation.errors import InputError, SymderivError
from symderiv.foundation.files import MACHINE


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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _locked(lock)
    except BlockingIOError:
        raise InputError(
            f"{path}: another process is writing this sweep; wait until it ends"
        ) from None
    except OSError as error:
        kind = SymderivError if error.errno in MACHINE else InputError
        raise kind(f"{path}: cannot be written: {error.strerror or error}") from None
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
