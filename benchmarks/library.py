"""The library: what importing, a first solution and the next ones cost; how long results are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

HEAVY = ("sympy", "numba", "scipy", "matplotlib")

FIRST = """
import json, time
started = time.process_time()
import symderiv as sd
problem = sd.Problem(
    "erf", students=2, teachers=2, learning_rate=0.5, inputs=sd.Isotropic(1000), student_std=0.1
)
run = problem.solve(end=1000)
print(json.dumps({"error": float(run.generalization_error[-1])}))
"""

IMPORT = f"""
import json, sys
import symderiv
print(json.dumps(sorted(set({HEAVY}) & set(sys.modules))))
"""


def in_a_process(code: str) -> tuple[float, Any]:
    """CPU seconds of a fresh process, above those of an empty one, and what it printed."""

    def cost(text: str) -> tuple[float, str]:
        before = os.times()
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, check=True)
        after = os.times()
        spent = after.children_user + after.children_system
        return spent - before.children_user - before.children_system, done.stdout.decode()

    empty = min(cost("pass")[0] for _ in range(3))
    spent, printed = min((cost(code) for _ in range(3)), key=lambda found: found[0])
    return spent - empty, json.loads(printed)


def repeated() -> dict[str, float]:
    """CPU seconds of the same problem at other learning rates, and of its integrations alone.

    The integrations are those that ``solve`` itself makes: the run, and the one with a smaller
    tolerance that measures its error, together with the errors ε_g of both.
    """
    import symderiv as sd
    from symderiv.integrate.flows.study_flow import Flow

    inside = [0.0]

    def timed(function: Any) -> Any:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            begun = time.process_time()
            try:
                return function(*arguments, **options)
            finally:
                inside[0] += time.process_time() - begun

        return wrapped

    work: Any = Flow
    work.run, work.errors = timed(work.run), timed(work.errors)
    problem = sd.Problem(
        "erf", students=3, teachers=3, learning_rate=0.5, student_std=0.1,
        inputs=sd.PowerLaw(16, exponent=1, dimension=1024),
    )  # fmt: skip
    problem.solve(end=100)
    best = {"whole": float("inf"), "integrations": 0.0, "fixed": float("inf")}
    for index in range(15):
        inside[0] = 0.0
        begun = time.process_time()
        problem.replace(learning_rate=0.5 + 0.01 * index).solve(end=100)
        whole = time.process_time() - begun
        if whole < best["whole"]:
            best["whole"], best["integrations"] = whole, inside[0]
        best["fixed"] = min(best["fixed"], whole - inside[0])
    return best


def longest_repr() -> tuple[int, int]:
    """Lines and characters of the longest ``repr`` of results of the kinds there are."""
    import symderiv as sd

    law = sd.PowerLaw(4, exponent=1, dimension=64)
    problem = sd.Problem("erf", students=2, teachers=2, learning_rate=0.2, inputs=law)
    run = problem.solve(end=20)
    results = [
        problem, problem.equations, run, problem.simulate(runs=2, end=1), problem.plateau(),
        problem.rates(state=run.initial), problem.late(alpha=[1, 10]), problem.derive(),
        sd.linear(distinct_eigenvalues=8, exponent=1, learning_rate=0.5, alpha=[0, 9]),
        sd.mean("erf(x)*y", [[1, 0.5], [0.5, 2]]), sd.i2("erf"), sd.check("i2", "c12", "linear"),
        run.initial,
    ]  # fmt: skip
    texts = [repr(result) for result in results]
    return max(text.count("\n") + 1 for text in texts), max(map(len, texts))
