"""Exported sources against the solver module they should agree with, at one general state.

``python -m support.exported`` from ``tests/`` tries all languages on all cases and prints a table.
"""

import ctypes
import importlib.util
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from support.plain_module import plain_module
from symderiv_codegen import (
    Example,
    PrinterError,
    Program,
    print_array_python,
    print_c,
    print_readable,
)

from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.learning.rule.learning_rule import PLAIN, LearningRule
from symderiv.lowering.programs.exported import exported_program

STRICT = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror")


@dataclass(frozen=True)
class Case:
    """Activations, a rule and numbers of units."""

    student: str
    teacher: str
    rule: LearningRule = PLAIN
    K: int = 3
    M: int = 2
    L: int = 2

    @property
    def name(self) -> str:
        """In a few words."""
        return " ".join([self.student, self.teacher, *self.rule.features])

    def program(self) -> Program:
        """What is printed."""
        return _program(self.student, self.teacher, self.rule)


@cache
def _program(student: str, teacher: str, rule: LearningRule) -> Program:
    return exported_program(learning_problem(student, teacher, rule), "exported")


CASES = (
    Case("erf", "erf"),
    Case("relu", "relu"),
    Case("erf", "relu", K=2, M=3),
    Case("erf", "erf", LearningRule(dropout=True, flips=True)),
    Case("erf", "erf", LearningRule(biases=True, trained_biases=True), K=2),
    Case("relu", "erf", LearningRule(input_noise=True)),
    Case("erf", "erf", LearningRule(momentum=True)),
    Case("erf", "erf", LearningRule(normalise="gradient")),
    Case("sin", "relu"),
    Case("tanh", "tanh", K=2, M=1),
)


@dataclass(frozen=True)
class Numbers:
    """A general state: every array of a program by name."""

    sizes: dict[str, int]
    values: dict[str, np.ndarray]

    def of(self, arrays: Any) -> list[Any]:
        """Arguments of a function."""
        return [v if v.shape else float(v) for v in (self.values[a.name] for a in arrays)]

    def column(self, arrays: Any) -> np.ndarray:
        """The arrays in one vector."""
        return np.concatenate([np.ravel(self.values[a.name]) for a in arrays])

    def example(self) -> Example:
        """The same numbers for an example."""
        flat = {name: tuple(map(float, np.ravel(value))) for name, value in self.values.items()}
        return Example(self.sizes, flat, end=1.0, steps=10)


def general_state(case: Case, program: Program, seed: int = 0) -> Numbers:
    """Overlaps of random vectors, eigenvalues and everything else drawn; T is no identity."""
    draw = np.random.default_rng(seed)
    K, M, L = case.K, case.M, case.L
    eigenvalue, weight = draw.uniform(0.5, 2.0, L), draw.uniform(0.5, 1.0, L)
    weight /= weight.sum()
    J, B, U = (draw.normal(size=(L, n, 9)) / s for n, s in ((K, 2.2), (M, 2.5), (K, 4.0)))
    teachers = np.einsum("kna,kma->nmk", B, B) * eigenvalue**2

    def overlaps(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.einsum("kia,kja->ijk", one, other)

    known: dict[str, Any] = {
        "student_overlap": overlaps(J, J),
        "cross_overlap": overlaps(J, B) * eigenvalue,
        "teacher_overlap": teachers,
        "T": teachers @ (weight / eigenvalue),
        "eigenvalue": eigenvalue,
        "weight": weight,
        "momentum_overlap": overlaps(U, J),
        "momentum_square": overlaps(U, U),
        "momentum_cross": overlaps(U, B) * eigenvalue,
        "full_order": 1.0,
    }
    sizes = {"K": K, "M": M, "L": L}
    for vector in program.vectors:
        for array in vector.fields:
            shape = tuple(sizes[size] for size in array.shape)
            drawn = draw.normal(size=shape) if shape else draw.uniform(0.2, 0.8)
            known.setdefault(array.name, drawn)
    fields = [array.name for vector in program.vectors for array in vector.fields]
    return Numbers(sizes, {name: np.asarray(known[name], dtype=float) for name in fields})


def reference(program: Program, numbers: Numbers, kept: str = "") -> np.ndarray:
    """Derivatives and, last, the error, of the readable solver module as plain Python.

    Args:
        program: What is printed.
        numbers: A state.
        kept: The name of a checked-in module that is taken instead.
    """
    if kept:
        file = resources.files("symderiv_kernels").joinpath(f"{kept}.py")
        text = file.read_text(encoding="utf-8")
    else:
        text = print_readable(program)
    module = vars(plain_module(text))
    rhs, seen = (program.procedure(n) for n in ("right_hand_side", "observables"))
    assert rhs is not None
    assert seen is not None
    rates = [np.empty([numbers.sizes[s] for s in a.shape]) for a in rhs.outputs]
    module["right_hand_side"](*numbers.of(rhs.inputs), *rates)
    fields = [np.empty([numbers.sizes[s] for s in a.shape]) for a in seen.array_outputs]
    error = module["observables"](*numbers.of(seen.inputs), *fields)
    return np.concatenate([*(np.ravel(rate) for rate in rates), [error]])


def of_arrays(program: Program, numbers: Numbers, flavour: str) -> np.ndarray:
    """The same of the export to NumPy or JAX."""
    module = loaded(print_array_python(program, flavour, numbers.example()))
    compiled: Callable[[Any], Any] = lambda function: function  # noqa: E731
    if flavour == "jax":
        compiled = importlib.import_module("jax").jit
    state, parameters = (
        {a.name: numbers.values[a.name] for a in vector.fields} for vector in program.vectors
    )

    def everything(state: Any, parameters: Any) -> Any:
        rates = module["rates"](0.0, state, parameters)
        return rates, module["observables_of"](state, parameters)["error"]

    rates, error = compiled(everything)(state, parameters)
    if flavour == "jax":
        _check_transformed(module["rates"], state, parameters)
    assert program.state is not None
    flat = [np.ravel(np.asarray(rates[a.name])) for a in program.state.fields]
    return np.concatenate([*flat, [float(error)]])


def _check_transformed(rates: Any, state: Any, parameters: Any) -> None:
    """Mapped over states, and differentiated forwards: against differences.

    Raises:
        AssertionError: A derivative is off by more than 1e-7.
    """
    jax = importlib.import_module("jax")

    def of_weights(v: Any) -> Any:
        return rates(0.0, {**state, "v": v}, parameters)["v"]

    v, step = state["v"], 1e-5
    slope = jax.jit(lambda v: jax.jvp(of_weights, (v,), (np.ones_like(v),))[1])(v)
    moved = jax.jit(jax.vmap(of_weights))(np.stack([v + step, v - step]))
    assert np.max(np.abs(slope - (moved[0] - moved[1]) / (2 * step))) < 1e-7


def of_casadi(program: Program, numbers: Numbers) -> np.ndarray:
    """The same of the export to CasADi."""
    module = loaded(print_array_python(program, "casadi", numbers.example()))
    rates, _, error = module["functions"](numbers.sizes)
    given = (0.0, *(numbers.column(vector.fields) for vector in program.vectors))
    return np.append(np.asarray(rates(*given)).ravel(), float(error(*given)))


def of_c(program: Program, numbers: Numbers) -> np.ndarray:
    """The same of the export to C, compiled without a warning."""
    with TemporaryDirectory() as folder:
        source, library = Path(folder, "exported.c"), Path(folder, "exported.so")
        source.write_text(print_c(program, numbers.example()), encoding="utf-8")
        command = ["gcc", *STRICT, "-DEXAMPLE", "-shared", "-fPIC", "-o", library, source, "-lm"]
        subprocess.run(command, check=True)
        functions = ctypes.CDLL(str(library))
        state, parameters = (numbers.column(vector.fields) for vector in program.vectors)
        sizes = np.array([numbers.sizes[n] for n in program.ranges], dtype=np.intc)
        rates, Q, R = np.empty_like(state), np.empty(100), np.empty(100)
        pointers = [each.ctypes.data_as(ctypes.c_void_p) for each in (state, sizes, parameters)]
        out, q, r = (each.ctypes.data_as(ctypes.c_void_p) for each in (rates, Q, R))
        functions.flat_right_hand_side(ctypes.c_double(0.0), *pointers, out)
        functions.flat_observables.restype = ctypes.c_double
        return np.append(rates, functions.flat_observables(*pointers, q, r))


def loaded(text: str) -> dict[str, Any]:
    """Names of an exported Python module."""
    module: dict[str, Any] = {"__name__": "exported"}
    exec(compile(text, "exported", "exec"), module)
    return module


LANGUAGES: Mapping[str, Callable[[Program, Numbers], np.ndarray]] = {
    "python": lambda program, numbers: of_arrays(program, numbers, "python"),
    "c": of_c,
    "jax": lambda program, numbers: of_arrays(program, numbers, "jax"),
    "casadi": of_casadi,
}


def difference(case: Case, language: str, kept: str = "") -> float:
    """The largest difference from the solver module, over the largest number."""
    program = case.program()
    numbers = general_state(case, program)
    expected = reference(program, numbers, kept)
    found = LANGUAGES[language](program, numbers)
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


def main() -> int:
    """All cases in all languages that are there; 1 if any is off by more than 1e-13."""
    there = {"jax": "jax", "casadi": "casadi", "python": "numpy", "c": "ctypes"}
    languages = [each for each in LANGUAGES if importlib.util.find_spec(there[each])]
    print(f"{'student, teacher, rule':<36}" + "".join(f"{each:>12}" for each in languages))
    worst = 0.0
    for case in CASES:
        row = f"{case.name:<36}"
        for language in languages:
            try:
                found = difference(case, language)
                worst = max(worst, found)
                row += f"{found:12.1e}"
            except PrinterError:
                row += f"{'refused':>12}"
        print(row, flush=True)
    print(f"largest: {worst:.1e}")
    return int(worst > 1e-13)


if __name__ == "__main__":
    sys.exit(main())
