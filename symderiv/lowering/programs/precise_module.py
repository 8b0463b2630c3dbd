"""Programs as modules whose functions take a context of numbers first: mpmath's, or balls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from symderiv_codegen import Program, print_mpmath


def precise_module(program: Program) -> SimpleNamespace:
    """Return the functions of a program in numbers of any precision.

    Args:
        program: A program whose means have closed forms.

    Raises:
        PrinterError: A mean is a sum over tables of doubles, or an integral.
    """
    return of_text(print_mpmath(program), program.name)


def of_text(text: str, name: str) -> SimpleNamespace:
    """Return the namespace of a module text that was printed for mpmath."""
    names: dict[str, Any] = {"__name__": name}
    # the text comes from our own printer; formulas were read by the allow-list before
    exec(compile(text, f"<{name}>", "exec"), names)
    return SimpleNamespace(**names)
