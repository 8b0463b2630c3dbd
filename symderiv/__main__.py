"""``python -m symderiv`` is the ``symderiv`` command."""

from __future__ import annotations

from symderiv.cli import main

main()
