"""Indexed programs and their printers: from equations with sums to modules that run.

A :class:`Program` states what is computed. ``print_readable`` writes it as a numba module to be
read, ``print_fast`` its right-hand side for given sizes, ``print_lanes`` the same for several runs
at a time, ``print_numba`` all procedures with every pass over them, ``print_mpmath`` functions of
any precision, ``print_latex`` display equations.

Building expressions
--------------------
- Indices are ``sp.Idx("i", K)`` or integer symbols, arrays ``sp.IndexedBase``, sums ``sp.Sum``,
  cases ``sp.Piecewise`` over ``sp.Eq``/``sp.Ne`` of indices with a last ``True`` case, or
  ``sp.KroneckerDelta``. Calls of scalar functions are applied undefined functions.
- Write a sum over several indices as *one* ``sp.Sum(f, a, b)``. SymPy folds a ``Piecewise`` over
  an inner index out of nested sums, and the program then refuses it as an undeclared name.
- Declare what is symmetric (``Array.symmetric``, ``ScalarFunction.symmetries``): sums over all
  pairs of two exchangeable indices then run over half of the pairs.

Using a generated module
------------------------
``specialised(K, M)`` of a fast module gives ``flat_right_hand_side(alpha, state, sizes, parameters,
derivative)`` with an explicit signature, compiled (or loaded from numba's cache), so that a stepper
is compiled once for every module::

    RIGHT_HAND_SIDE = types.FunctionType(
        types.void(types.float64, types.float64[::1], types.int64[::1],
                   types.float64[::1], types.float64[::1]))

    @njit(types.float64[::1](RIGHT_HAND_SIDE, types.float64[::1], ...), cache=True, nogil=True)
    def step(f, state, ...):
        f(alpha, state, sizes, parameters, derivative)

    step(module.specialised(K, M), state, ...)

The stepper needs its signature written down: without one numba compiles it anew for every module.
A call through the pointer costs nanoseconds; both sides are cached across processes
(``tests/external/test_numba_first_class_functions.py``).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from symderiv_codegen.errors import CodegenError, PrinterError, ProgramError
from symderiv_codegen.ir.arrays import Array, Vector
from symderiv_codegen.ir.extension import Extension, Library, Restated
from symderiv_codegen.ir.functions import Function, ScalarFunction
from symderiv_codegen.ir.many import Many
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.portable import Portable
from symderiv_codegen.ir.procedures import Assignment, Call, Procedure
from symderiv_codegen.ir.program import Constant, Program
from symderiv_codegen.ir.tables import Row, TableSum, TableTerm
from symderiv_codegen.ir.templates import TemplateFunction

if TYPE_CHECKING:
    from symderiv_codegen.passes.derivatives.tangent import tangent as tangent
    from symderiv_codegen.passes.derivatives.tangent import tangent_procedure as tangent_procedure
    from symderiv_codegen.printers.backwards import print_reverse as print_reverse
    from symderiv_codegen.printers.fast import print_fast as print_fast
    from symderiv_codegen.printers.flat import print_layout as print_layout
    from symderiv_codegen.printers.formulas import Example as Example
    from symderiv_codegen.printers.header import digest as digest
    from symderiv_codegen.printers.header import is_unchanged as is_unchanged
    from symderiv_codegen.printers.header import program_digest as program_digest
    from symderiv_codegen.printers.lanes import print_lanes as print_lanes
    from symderiv_codegen.printers.languages.array_python import (
        print_array_python as print_array_python,
    )
    from symderiv_codegen.printers.languages.c import print_c as print_c
    from symderiv_codegen.printers.languages.julia import print_julia as print_julia
    from symderiv_codegen.printers.languages.latex import print_latex as print_latex
    from symderiv_codegen.printers.languages.mathematica import (
        print_mathematica as print_mathematica,
    )
    from symderiv_codegen.printers.languages.usage import with_example as with_example
    from symderiv_codegen.printers.mpmath import print_mpmath as print_mpmath
    from symderiv_codegen.printers.numba import print_numba as print_numba
    from symderiv_codegen.printers.readable import print_readable as print_readable

#: Printers and their modules, imported on first use: a program is printed in one way.
_HOMES = {
    "Example": "printers.formulas",
    "digest": "printers.header",
    "is_unchanged": "printers.header",
    "print_array_python": "printers.languages.array_python",
    "print_c": "printers.languages.c",
    "print_fast": "printers.fast",
    "print_julia": "printers.languages.julia",
    "print_lanes": "printers.lanes",
    "print_latex": "printers.languages.latex",
    "print_layout": "printers.flat",
    "print_mathematica": "printers.languages.mathematica",
    "print_mpmath": "printers.mpmath",
    "print_numba": "printers.numba",
    "print_readable": "printers.readable",
    "print_reverse": "printers.backwards",
    "program_digest": "printers.header",
    "tangent": "passes.derivatives.tangent",
    "tangent_procedure": "passes.derivatives.tangent",
    "with_example": "printers.languages.usage",
}

__all__ = [
    "Array",
    "Assignment",
    "Call",
    "CodegenError",
    "Constant",
    "Extension",
    "Function",
    "Library",
    "Many",
    "NamePool",
    "Portable",
    "PrinterError",
    "Procedure",
    "Program",
    "ProgramError",
    "Restated",
    "Row",
    "ScalarFunction",
    "TableSum",
    "TableTerm",
    "TemplateFunction",
    "Vector",
    *_HOMES,
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
