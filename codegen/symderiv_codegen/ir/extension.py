"""Extensions of a program: functions that printers do not know, as data.

Printers know sums, loops and elementary functions. The special functions of a field of mathematics,
and forms of them that lose no digits, come with the program that uses them; neither the passes nor
the printers import any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import sympy as sp

from symderiv_codegen.ir.functions import ScalarFunction
from symderiv_codegen.ir.many import Many
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.portable import Portable


def _unchanged(value: sp.Expr) -> sp.Expr:
    return value


@dataclass(frozen=True)
class Library:
    """Functions for one kind of numbers, as text, with the names by which expressions call them.

    Args:
        functions: The names of functions in the texts, by the names of SymPy functions.
        texts: Python modules whose top-level functions and constants are pasted into printed
            modules where they, or what they use, are called. Each may use those before it and the
            elementary functions of many numbers; no name is defined twice.
        plain: A further such module, whose functions replace those of the same names in readable
            modules.
        lanes: A further such module, with functions for several runs at a time.
        many: Modules like ``texts``, with functions of many numbers at once.
        together: The functions of many numbers that evaluate SymPy functions in double sums, by
            their names.
        in_sums: A function that rewrites a summand so that most of it depends on few of the
            indices.
    """

    functions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    texts: tuple[str, ...] = ()
    plain: str = ""
    lanes: str = ""
    many: tuple[str, ...] = ()
    together: Mapping[str, Many] = field(default_factory=lambda: MappingProxyType({}))
    in_sums: Callable[[sp.Expr], sp.Expr] = _unchanged


@dataclass(frozen=True)
class Restated:
    """A function with some parts computed in another way, before its definitions.

    Args:
        function: The function; ``targets`` are arguments of it.
        targets: Names that are assigned together before the definitions; may be empty.
        source: The call that gives their values.
        complete: Whether no part loses digits where arguments coincide.
    """

    function: ScalarFunction
    targets: tuple[sp.Symbol, ...] = ()
    source: sp.Expr = sp.S.Zero
    complete: bool = False


def _as_stated(function: ScalarFunction, names: NamePool) -> Restated:
    return Restated(function)


@dataclass(frozen=True)
class Extension:
    """Functions beyond the elementary ones, for each kind of numbers that modules are printed for.

    Args:
        name: The kind of functions, in the plural, for messages.
        doubles: The functions for modules in double precision, compiled by numba.
        multiprecision: The functions for modules whose functions have an mpmath context as
            first argument.
        portable: The functions for all other languages, as functions of programs.
        restated: Returns a function in the form that keeps its digits in double precision; new
            names come from the given register.
        derivatives: For SymPy functions that SymPy cannot differentiate, by name: their derivatives
            by all arguments, as a function of these.
    """

    name: str
    doubles: Library = field(default_factory=Library)
    multiprecision: Library = field(default_factory=Library)
    portable: Callable[[], Portable] = Portable
    restated: Callable[[ScalarFunction, NamePool], Restated] = _as_stated
    derivatives: Mapping[str, Callable[..., tuple[sp.Expr, ...]]] = field(
        default_factory=lambda: MappingProxyType({})
    )

    @property
    def names(self) -> frozenset[str]:
        """Names of the extension's functions in modules, which no name of a program may hide."""
        return frozenset(
            {*self.doubles.functions.values(), *self.multiprecision.functions.values()}
        )


NO_EXTENSION = Extension("nothing")
