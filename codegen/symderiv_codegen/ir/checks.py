"""Checks common to all parts of a program: names, and exact expressions."""

from __future__ import annotations

import keyword
from collections.abc import Iterable

import sympy as sp

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.walk import inexact_numbers

# Names that generated modules use themselves.
RESERVED = frozenset(
    {
        "math",
        "np",
        "njit",
        "mp",
        "range",
        "len",
        "abs",
        "max",
        "min",
        "int",
        "list",
        "tuple",
        "dict",
        "zip",
        "ValueError",
        "LAYOUT",
        "RECIPE",
    }
    | {"DIGEST", "view", "stack_array", "derivative_apart", "to_inverse_roots"}
    | {"any_lane", "chosen", "inverse_root", "lane_of", "lanes_at", "negated"}
    | {"put_lanes", "unit_scale", "with_lane"}
)


def check_identifier(name: str, what: str) -> None:
    taken = keyword.iskeyword(name) or name in RESERVED or name.startswith("_")
    if taken or not name.isidentifier():
        raise ProgramError(
            f"{what} {name!r}: choose an identifier that is free in generated modules"
        )


def check_distinct(names: Iterable[str], where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ProgramError(f"{where}: {name!r} is declared twice")
        seen.add(name)


def check_exact(expression: sp.Basic, where: str) -> None:
    if not isinstance(expression, sp.Basic):
        raise ProgramError(f"{where}: {expression!r} is not a SymPy expression")
    if inexact := inexact_numbers(expression):
        raise ProgramError(
            f"{where}: floating-point number {min(inexact)}; write an exact one, e.g. "
            "Rational(1, 2)"
        )
