"""Extensions of a program: functions that printers do not know, as data.

Printers know sums, loops and elementary functions. The special functions of a field of mathematics,
and what is known of where they lose digits, come with the program that uses them; nothing here, in
the passes or in the printers imports any.
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
    """Functions for one kind of numbers, as text, and what expressions call them by.

    Args:
        functions: For the names of SymPy functions, those of the functions in the texts.
        texts: Python modules whose top-level functions and constants are pasted into printed
            modules where they, or what they use, are called. Each may use those before it and the
            elementary functions of many numbers; no name is defined twice.
        plain: One more such module, whose functions stand for others of their names in modules to
            be read.
        lanes: The same for several runs at a time.
        many: Modules like the texts with functions of many numbers at once.
        together: For names of SymPy functions, the functions of many numbers that double sums
            evaluate them with.
        in_sums: An expression in the form in which most of it depends on few of the indices of the
            sums that it stands in.
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
    """A function of which parts are computed in another way, in front of its definitions.

    Args:
        function: The function; ``targets`` are arguments of it.
        targets: Names that are assigned together in front of the definitions; may be empty.
        source: The call that gives their values.
        complete: Nothing is left in it that loses digits where arguments coincide.
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
        name: What it is, in the plural, for messages.
        doubles: The functions for modules in double precision, compiled by numba.
        multiprecision: The functions for modules whose functions have an mpmath context as
            first argument.
        portable: For all other languages, as functions of programs.
        restated: A function in the form that keeps its digits in double precision; new names are
            taken from the register that it is given.
        derivatives: For names of SymPy functions, their derivatives by each of
            their arguments as a function of these, where SymPy does not know them.
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
        """Names of its functions in modules, which no name of a program may hide."""
        return frozenset(
            {*self.doubles.functions.values(), *self.multiprecision.functions.values()}
        )


NO_EXTENSION = Extension("nothing")
