"""Loading generated text in tests."""

import itertools
import math
from typing import Any

import numpy as np
import sympy as sp
from symderiv_codegen import (
    Array,
    Assignment,
    Extension,
    Procedure,
    Program,
    ScalarFunction,
    print_numba,
)
from symderiv_codegen.ir.extension import NO_EXTENSION


def as_plain_python(text: str) -> dict[str, Any]:
    """Names of a generated numba module, run as plain Python: same text, no compilation."""
    plain = text.replace("from numba import njit\n", "def njit(*_, **__): return lambda f: f\n")
    namespace: dict[str, Any] = {}
    exec(compile(plain, "generated", "exec"), namespace)
    return namespace


def as_multiprecision(text: str) -> dict[str, Any]:
    """Names of a generated mpmath module."""
    namespace: dict[str, Any] = {}
    exec(compile(text, "generated", "exec"), namespace)
    return namespace


def one_function(
    value: sp.Expr,
    *arguments: sp.Symbol,
    extension: Extension = NO_EXTENSION,
    **options: Any,
) -> Program:
    """A program with a single scalar function ``f``."""
    function = ScalarFunction(
        "f", arguments, options.pop("definitions", ()), value, "f.", **options
    )
    return Program("single", "A single function.", {}, (), (), (function,), (), extension=extension)


def one_procedure(
    inputs: tuple[Array, ...],
    outputs: tuple[Array, ...],
    *body: Assignment,
    functions: tuple[ScalarFunction, ...] = (),
    local: tuple[Array, ...] = (),
) -> Program:
    """A program with a single procedure ``p`` over the ranges K, M and L."""
    procedure = Procedure("p", "p.", inputs, outputs, local, body)
    return Program("single", "One procedure.", {}, (), ("K", "M", "L"), functions, (procedure,))


def text_of(program: Program, name: str = "p") -> str:
    """The code of one function in the numba module of the program, without its docstring."""
    text = print_numba(program)
    _, _, rest = text.partition(f"def {name}(")
    body = rest.split("\n\n\n")[0]
    lines = f"def {name}({body}".rstrip().split("\n")
    marks = [n for n, line in enumerate(lines) if line.strip().startswith('"""')]
    ends = [n for n, line in enumerate(lines) if line.strip().endswith('"""')]
    return "\n".join(lines[: marks[0]] + lines[ends[-1] + 1 :])


def by_definition(value: sp.Expr, indices: tuple[sp.Idx, ...], **known: Any) -> np.ndarray:
    """An expression at all places of its indices, every sum term by term; ``known`` has ranges."""

    def at(part: Any, place: dict[str, Any]) -> Any:
        if isinstance(part, sp.Sum):
            *inner, (index, low, high) = part.limits
            summand = sp.Sum(part.function, *inner) if inner else part.function
            turns = range(at(low, place), at(high, place) + 1)
            return math.fsum(at(summand, {**place, str(index): turn}) for turn in turns)
        if isinstance(part, sp.Indexed):
            return known[str(part.base)][tuple(at(index, place) for index in part.indices)]
        if isinstance(part, sp.Symbol | sp.Idx):
            return place[str(part)]
        if not part.args:
            return int(part) if part.is_Integer else float(part)
        numbers = [at(each, place) for each in part.args]
        named = {sp.Add: lambda *all: sum(all), sp.Mul: lambda *all: math.prod(all), sp.Pow: pow}
        return named.get(part.func, getattr(math, part.func.__name__, None))(*numbers)

    ends = [range(known[str(index.upper + 1)]) for index in indices]
    names = [str(index) for index in indices]
    found = [
        at(value, {**known, **dict(zip(names, place, strict=True))})
        for place in itertools.product(*ends)
    ]
    return np.reshape(found, [len(end) for end in ends])
