"""The module that makes the manual's pages of errors, which stands among its extensions."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["error_pages"]

_FOLDER = str(Path(__file__).parents[2] / "docs" / "manual" / "_ext")

sys.path.insert(0, _FOLDER)
try:
    error_pages: Any = import_module("error_pages")
finally:
    sys.path.remove(_FOLDER)
