"""The fallback if a cache cannot be written: a folder of the process, and one line about it."""

from __future__ import annotations

import atexit
import os
from functools import cache
from pathlib import Path


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
