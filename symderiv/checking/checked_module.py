"""A generated solver to be checked: its texts run as plain Python, and its allowed errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from symderiv.checking.plain_functions import Floats, Functions
from symderiv.foundation.errors import SymderivError
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.lowering.means.compiled_means import CompiledMeans
from symderiv.lowering.means.uncompiled import NO_OVERFLOW, uncompiled
from symderiv.lowering.solver_files import SolverText


class GeneratedError(SymderivError):
    """A generated module gives numbers that cannot be right; it was not written."""


@dataclass(frozen=True)
class CheckedModule:
    """A solver with the errors and functions by which it is judged.

    Attributes:
        names: The names of the readable module, as plain Python.
        fast: Those of the fast module, which runs use.
        functions: The activations at arrays of numbers.
        quadrature: Whether its means are computed by quadrature.
        stated: Error of any mean of factors of order one, as the module states it.
        stated_of_two: The stated error of means of two factors, which errors and drifts use.
        work: The number of iterations of the innermost loop of the largest sum over a mixture.
    """

    names: SimpleNamespace
    fast: SimpleNamespace
    functions: Functions
    quadrature: bool
    stated: float
    stated_of_two: float
    work: int


def checked_module(
    text: SolverText, problem: LearningProblem, compiled: CompiledMeans | None
) -> CheckedModule:
    """Return a solver that can be run.

    Args:
        text: Its modules.
        problem: The problem for which it was derived.
        compiled: Its means by quadrature, if it has any.

    Raises:
        GeneratedError: Its means by quadrature differ from the compiled ones, whose error was
            searched for.
    """
    fast = _run(text.fast, compiled)
    names = _run(text.readable, compiled, fast)
    method = getattr(names, "ACTIVATION_METHOD", "closed form")
    stated = of_two = 0.0
    if method != "closed form":
        stated = float(names.ACTIVATION_ERROR) + float(names.ACTIVATION_DERIVATIVE_ERROR)
        of_two = float(getattr(names, "ACTIVATION_PAIR_ERROR", stated))
    rules = method == "quadrature"
    work = _work(text.readable, names)
    return CheckedModule(names, fast, Functions(problem), rules, stated, of_two, work)


def _run(
    text: str, compiled: CompiledMeans | None, fast: SimpleNamespace | None = None
) -> SimpleNamespace:
    names = uncompiled(text, NO_OVERFLOW)
    ready = {**NO_OVERFLOW, **_at_once(names)}
    if compiled is not None:
        _same_rules(text, names, compiled, fast)
        ready |= compiled.functions
    return uncompiled(text, ready) if len(ready) > len(NO_OVERFLOW) else names


def _at_once(names: SimpleNamespace) -> dict[str, Callable[..., None]]:
    """Return NumPy's arcsines in place of a module's loop, after comparing both.

    Sums over a mixture call it a thousand times; in plain Python it would take most of a check.

    Raises:
        GeneratedError: The loop's values differ.
    """
    loop = getattr(names, "_arcsines", None)
    if loop is None:
        return {}
    sizes = np.concatenate([np.linspace(0.0, 1.0, 361), np.geomspace(1e-300, 0.1, 39)])
    arguments = np.concatenate([sizes, -sizes])
    angles = arguments.copy()
    loop(angles, angles.size)
    far = ~(np.abs(angles - np.arcsin(arguments)) <= 1e-15 * np.abs(arguments))
    if far.any():
        place = int(np.argmax(far))
        raise GeneratedError(f"_arcsines of {arguments[place]:.17g} are {angles[place]:.17g}")

    def arcsines(values: Floats, count: int) -> None:
        """Replace the first numbers of an array, which must hold whole groups of sixteen."""
        if values.size < -(-count // 16) * 16:
            raise GeneratedError("an array of arcsines does not hold whole groups of sixteen")
        values[:count] = np.arcsin(values[:count])

    return {"_arcsines": arcsines}


def _same_rules(
    text: str, names: SimpleNamespace, compiled: CompiledMeans, fast: SimpleNamespace | None
) -> None:
    """Raise an error unless the module's quadrature is the one that was compiled.

    A readable module may write functions of x in its own way if their values are the same.
    """
    wrong = [
        name
        for name in compiled.differing(text)
        if fast is None or name.startswith("_") or not _same_values(name, names, fast)
    ]
    if compiled.kinks is not None and not all(
        np.array_equal(names.quadrature_kinks(kind), compiled.kinks(kind)) for kind in range(5)
    ):
        wrong.append("quadrature_kinks")
    if wrong:
        raise GeneratedError(
            f"{wrong[0]} of the module differs from the one for which the error of quadrature was "
            "searched"
        )


def _same_values(name: str, names: SimpleNamespace, fast: SimpleNamespace) -> bool:
    """Return whether a function of x has the same values in both modules, up to rounding."""
    x = np.linspace(-8.0, 8.0, 161)
    here, there = (np.array([getattr(each, name)(t) for t in x]) for each in (names, fast))
    return bool(np.all(np.abs(here - there) <= 1e-13 * (1 + np.abs(there))))


def _work(text: str, module: SimpleNamespace) -> int:
    loops = re.findall(r"for k(\d+)\w* in range\((\w+)\)", text)
    depth = max((int(number) for number, _ in loops), default=0)
    # a mean of waves and signs is itself a sum, of 32 terms
    inner = 32 if depth and "_tilted_signs(" in text else 1
    return inner * int(max((getattr(module, size) for _, size in loops), default=0) ** depth)
