"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

FIGURE_FORMATS = ("svg", "png", "pdf")
"""Endings of figure files."""


def write_whole(path: Path, content: bytes) -> None:
    """Replace the file in one step, so that a reader or a crash never sees half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
