"""Functions whose text is a template of an extension with names of the module put in."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp


@dataclass(frozen=True)
class TemplateFunction:
    """A scalar function that is a template; see ``ScalarFunction`` for the rest.

    Args:
        template: Name of the function in the texts of the program's extension for doubles.
        names: For names of the template, the names of the module that stand for them:
            functions that come before, or constants.
    """

    name: str
    arguments: tuple[sp.Symbol, ...]
    template: str
    names: tuple[tuple[str, str], ...]
    doc: str
    latex: str = ""
    symmetries: tuple[tuple[int, ...], ...] = ()

    @property
    def expressions(self) -> tuple[sp.Expr, ...]:
        """There are none: the text is given."""
        return ()
