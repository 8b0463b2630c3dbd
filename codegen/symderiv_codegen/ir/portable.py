"""Special functions as parts of a program, for languages without hand-written texts of them.

A :class:`~symderiv_codegen.ir.extension.Library` gives the texts of functions in Python. Here the
functions of an extension are themselves scalar functions and sums over tables, without loops whose
length depends on numbers and without assignments under conditions, so that every printer can print
them, also for libraries that trace or differentiate functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

import sympy as sp

from symderiv_codegen.ir.functions import Function, ScalarFunction

_X, _N, _D, _SAFE = (sp.Symbol(name, real=True) for name in ("x", "numerator", "d", "divisor"))


@dataclass(frozen=True)
class Portable:
    """Special functions as functions of programs.

    Args:
        functions: The names of the functions here, by the names of SymPy functions.
        families: For names of these functions, a function that makes them and those they call:
            scalar functions and sums over tables; each may call earlier ones of its family.
        constants: The tables for these sums, and their lengths.
    """

    functions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    families: Mapping[tuple[str, ...], Callable[[], tuple[Function, ...]]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    constants: Mapping[str, int | tuple[float, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )

    def definitions(self, called: Set[str]) -> tuple[Function, ...]:
        """Return the families of the functions that are called; other families are not made."""
        wanted = (make for names, make in self.families.items() if not called.isdisjoint(names))
        return tuple(function for make in wanted for function in make())


def _scalar(
    name: str, value: sp.Expr, doc: str, *definitions: tuple[sp.Symbol, sp.Expr]
) -> Function:
    free = value.free_symbols.union(*(e.free_symbols for _, e in definitions))
    arguments = tuple(s for s in (_N, _X, _D) if s in free)
    return ScalarFunction(name, arguments, definitions, value, doc)


@cache
def helpers() -> Mapping[str, Function]:
    """Return guarded versions of roots, arcsines and quotients, and steps, signs and softplus."""
    found = {
        "Heaviside": _scalar(
            "unit_step",
            sp.Piecewise((1, _X > 0), (sp.Rational(1, 2), sp.Eq(_X, 0)), (0, True)),
            "1 for positive x, 0 for negative x, 1/2 at 0.",
        ),
        "sign": _scalar(
            "sign_of",
            sp.Piecewise((1, _X > 0), (0, sp.Eq(_X, 0)), (-1, True)),
            "1 for positive x, -1 for negative x, 0 at 0.",
        ),
        "SoftPlus": _scalar(
            "softplus",
            sp.Max(_X, 0) + sp.log(1 + sp.exp(-sp.Abs(_X))),
            "log(1 + exp(x)) without overflow.",
        ),
        "sqrt": _scalar(
            "clipped_sqrt",
            sp.sqrt(sp.Max(_X, 0)),
            "Square root; a negative rounding error is taken for 0.",
        ),
        "asin": _scalar(
            "clipped_asin",
            sp.asin(sp.Max(-1, sp.Min(_X, 1))),
            "Arcsine; a rounding error beyond -1 or 1 is taken for the edge.",
        ),
        "acos": _scalar(
            "clipped_acos",
            sp.acos(sp.Max(-1, sp.Min(_X, 1))),
            "Arccosine; a rounding error beyond -1 or 1 is taken for the edge.",
        ),
        "/": _scalar(
            "ratio",
            sp.Piecewise((0, sp.Eq(_D, 0)), (_N / _SAFE, True)),
            "Quotient, 0 where the denominator vanishes: the limit at a field without variance.",
            (_SAFE, sp.Piecewise((1, sp.Eq(_D, 0)), (_D, True))),
        ),
    }
    return MappingProxyType(found)
