"""Twelve learning problems in ten lines each: checks of the statements of ``examples/systems``.

python -m benchmarks.systems                 the whole table
python -m benchmarks.systems --only adapter  the problems with this in their names
python -m benchmarks.systems --no-sgd        without the runs at finite N
python -m benchmarks.systems --only speed    the time of a step only

Every right-hand side is compared with ``benchmarks.direct_rates``, quadrature over all fields of a
step at once, to 1e-8 of the largest rate (signs and polynomials: 1e-12); and every order parameter
of a run with SGD at two input dimensions,

    |equations - mean over runs| <= 3 standard errors + c/sqrt(N) * scale,

scale being the largest value of that array. The table has the smallest such c, which must be at
most 0.5; lines are those of the function ``statement``, and seconds are the CPU time of its
derivation.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import sys
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import sympy as sp

import symderiv as sd
from benchmarks import system_budget
from benchmarks.direct_rates import direct_rates

EXAMPLES = Path(__file__).parents[1] / "examples" / "systems"
MOST_LINES, SECONDS, LARGEST = 10, 3.0, 0.5
DIMENSIONS = (1000, 2000)


@dataclass(frozen=True)
class Case:
    """A statement with the state at which it is checked.

    Args:
        name: In the table.
        module: In ``examples/systems``.
        arguments: Of its ``statement``.
        state: The name of its state.
        exact: Whether its means are of signs and polynomials.
        runs: Of SGD.
        closed: Whether its means have closed forms, so that it is derived in seconds.
    """

    name: str
    module: str
    arguments: dict[str, Any] = field(default_factory=dict)
    state: str = "STATE"
    exact: bool = False
    runs: int = 16
    closed: bool = True

    @property
    def tolerance(self) -> float:
        """How far right-hand sides may be from quadrature, of the largest rate."""
        return 1e-12 if self.exact else 1e-8

    @property
    def file(self) -> ModuleType:
        """The module of the statement."""
        return opened(self.module)

    def start(self) -> Any:
        """The state."""
        return getattr(self.file, self.state)

    def statement(self) -> Any:
        """The system."""
        return self.file.statement(**self.arguments)


CASES = (
    Case("autoencoder", "autoencoder"),
    Case("denoising autoencoder", "denoising"),
    Case("reinforcement", "reinforcement", exact=True),
    Case("two agents", "agents", exact=True),
    Case("independent components", "components", exact=True),
    Case("adapter", "adapter"),
    Case("adapter of rank two", "adapter", {"rank": 2}, "TWO"),
    Case("attention", "attention", runs=8, closed=False),
    Case(
        "attention, position too",
        "attention",
        {"positional": sp.Rational(1, 4)},
        runs=8,
        closed=False,
    ),
    Case("attention, three tokens", "attention", {"tokens": 3}, runs=8, closed=False),
    Case("attention by position", "positions", runs=8, closed=False),
    Case("by position, three tokens", "positions", {"tokens": 3}, runs=8, closed=False),
    Case("adversaries", "adversaries", exact=True),
    Case("distillation", "distillation"),
    Case("temporal differences", "differences", exact=True),
    Case("drifting teacher", "drifting"),
    Case("contrastive pairs", "contrastive", exact=True),
    Case("meta-learning", "metalearning"),
)


def opened(name: str) -> ModuleType:
    """Return a module of ``examples/systems``."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lines(case: Case) -> int:
    """Return how many lines the body of the statement has."""
    text = textwrap.dedent(inspect.getsource(case.file.statement))
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    return sum(each.end_lineno - each.lineno + 1 for each in function.body if each.end_lineno)


def difference(case: Case, system: sd.System) -> float:
    """Return the largest difference of right-hand sides from quadrature, of the largest rate."""
    state = case.start()
    rates, direct = system.rates(state), direct_rates(system.statement, state)
    largest = max(float(np.max(np.abs(value))) for value in direct.values())
    return max(
        float(np.max(np.abs(rates[name] - value))) / largest
        for name, value in direct.items()
        if name in rates.rates
    )


def trajectory(case: Case, system: sd.System) -> Any:
    """Return what the equations say of the times at which SGD is looked at."""
    times = case.file.TIMES
    return system.solve(alpha=times, initial=case.start(), relative_tolerance=1e-6)


def distance(case: Case, system: sd.System, N: int, seed: int = 3, run: Any = None) -> float:
    """Return the smallest c with which SGD at N agrees with the equations (of a run)."""
    state, times = case.start(), case.file.TIMES
    run = trajectory(case, system) if run is None else run
    sgd = system.simulate(N, runs=case.runs, alpha=times, initial=state, seed=seed)
    found = []
    for name in run.values:
        apart = np.abs(run[name] - sgd.mean[name]) - 3 * sgd.standard_error[name]
        found.append(float(np.max(apart)) * np.sqrt(N) / float(np.max(np.abs(run[name]))))
    return max(0.0, *found)


def refusal() -> str:
    """Return what is said of meta-learning with an inner step on one example.

    Raises:
        AssertionError: The statement is accepted.
    """
    try:
        opened("metalearning").refused()
    except sd.NotClosed as error:
        return str(error)
    raise AssertionError("an inner step on one example must not close")


def tied() -> tuple[float, float]:
    """Return the errors that autoencoders with tied and with untied weights keep, less the noise's.

    One unit each, from the same encoder; the input's norm is left out of the error.
    """
    module, found = opened("autoencoder"), []
    for same in (True, False):
        start = {"U.U": 1.0, "U.w": 0.3, "w.w": 0.4}
        if not same:
            start |= {"U.v": 0.3, "w.v": 0.4, "v.v": 0.4}
        run = module.statement(K=1, tied=same).solve(alpha=[200.0], initial=start)
        found.append(float(run["error"][-1]))
    return found[0], found[1]


def speed_is_kept() -> bool:
    """Print how fast steps of a statement are; whether a loop written for it is no faster."""
    from benchmarks.step_speed import step_times  # compiles its loops

    found = step_times()
    ratio, limit = found["written"] / found["statement"], found["limit"] / found["statement"]
    print(
        f"step of plain erf, K = M = 2, N = 1024: {1e6 * found['statement']:.2f} µs; speed of the "
        f"loop written for it x {ratio:.2f} (must be 1.0 or more), of the limit of one core, "
        f"normals and multiply-adds, x {limit:.2f}"
    )
    return ratio >= 1.0


def main(arguments: list[str]) -> int:
    """Print the table; 1 if a number is not what it must be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="", help="problems with this in their names")
    parser.add_argument("--no-sgd", action="store_true", help="leave out runs at finite N")
    asked = parser.parse_args(arguments)
    head = "".join(f"  c, N={N}" for N in DIMENSIONS)
    print(f"{'problem':24} lines  seconds  right-hand side  must be{head}")
    failed = 0
    for case in (each for each in CASES if asked.only in each.name):
        start = time.process_time()
        system = case.statement()
        _ = system.solver.closed
        seconds = time.process_time() - start
        apart = difference(case, system)
        run = None if asked.no_sgd else trajectory(case, system)
        row = [distance(case, system, N, run=run) for N in DIMENSIONS if run is not None]
        good = lines(case) <= MOST_LINES and apart <= case.tolerance
        good &= (seconds < SECONDS or not case.closed) and all(c <= LARGEST for c in row)
        failed += not good
        told = "".join(f"  {c:8.2f}" for c in row)
        mark = "" if good else "  FAILED"
        print(
            f"{case.name:24} {lines(case):5}  {seconds:7.2f}  {apart:15.1e}  {case.tolerance:.0e}"
            f"  {told}{mark}",
            flush=True,
        )
    if asked.only == "speed":
        return int(not speed_is_kept())
    if not asked.only:
        one, two = tied()
        failed += not one > two + 0.1
        print(f"error of one unit, less the norm of inputs: tied {one:.4f}, untied {two:.4f}")
        failed += not speed_is_kept()
        print(f"meta-learning, inner step on one example: refused, {refusal()}")
        budget, missed = system_budget.rows(case.name for case in CASES if case.closed)
        print("\n".join(budget))
        failed += missed
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
