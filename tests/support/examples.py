"""Modules of examples, which are no package: imported for a test, and forgotten after it."""

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"


@contextmanager
def importing(folder: str = "") -> Iterator[Callable[[str], Any]]:
    """Yield what imports a module of a folder of examples, or of one that they share."""
    before, folders = sys.path[:], (EXAMPLES / folder, EXAMPLES)
    sys.path[:0] = map(str, folders)
    try:
        yield importlib.import_module
    finally:
        sys.path[:] = before
        for module in (each for path in folders for each in path.glob("*.py")):
            sys.modules.pop(module.stem, None)
