"""Functions whose text is a template of an extension, with names of the module filled in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from symderiv_codegen.ir.procedures import OMITTED_IF_EMPTY


@dataclass(frozen=True)
class TemplateFunction:
    """A scalar function given by a template; see ``ScalarFunction`` for the rest.

    Args:
        template: Name of the function in the texts of the program's extension for doubles.
        names: For names in the template, the names in the module that replace them: earlier
            functions, or constants.
        slopes: Its derivatives by each of its arguments, in terms of these; empty if they are not
            known.
        used: Functions that the slopes call. They are part of programs of derivatives only.
    """

    name: str
    arguments: tuple[sp.Symbol, ...]
    template: str
    names: tuple[tuple[str, str], ...]
    doc: str
    latex: str = ""
    symmetries: tuple[tuple[int, ...], ...] = ()
    slopes: tuple[sp.Expr, ...] = field(default=(), metadata={OMITTED_IF_EMPTY: True})
    used: tuple[Any, ...] = field(default=(), metadata={OMITTED_IF_EMPTY: True})

    @property
    def expressions(self) -> tuple[sp.Expr, ...]:
        """No expressions, as the text is given."""
        return ()
