"""The gradient of a final error by a control in 1000 pieces against one run with that control.

python -m benchmarks.controls
"""

from __future__ import annotations

from timeit import repeat

import numpy as np

import symderiv as sd
from symderiv.api.results.runs.protocols import controlled
from symderiv.integrate.control.searches import ControlSearch, FinalError

_PIECES, _END, _REPEATS, _LIMIT = 1000, 100.0, 5, 8.0


def of_size(units: int) -> list[tuple[str, str, str, bool]]:
    """Return the rows of a network with as many students as teachers."""
    problem = sd.Problem(
        "erf",
        students=units,
        teachers=units,
        learning_rate=0.5,
        label_noise=0.1,
        student_std=0.3,
    )
    edges = np.linspace(0.0, _END, _PIECES + 1)
    flow = controlled(problem.timed(end=_END)._study, "learning_rate", (0.0, 3.0), None)
    search = ControlSearch(flow, FinalError(), (0.0, 3.0), edges, lambda *_: None)
    values = 0.5 + 0.4 * np.sin(np.linspace(0.0, 9.0, _PIECES))
    path = search.run(values)
    search.objective.gradient(flow, path)
    schedule = {"times": edges[:-1].tolist(), "rates": (values / 0.5).tolist()}
    there = problem.replace(schedule=schedule)
    there.solve(alpha=[_END])
    sides = (
        lambda: search.objective.gradient(flow, search.run(values)),
        lambda: search.run(values),
        lambda: there.solve(alpha=[_END]),
    )
    gradient, steps, solve = (min(repeat(side, number=1, repeat=_REPEATS)) for side in sides)
    what = f"gradient by a control in {_PIECES} pieces, erf, K = M = {units}"
    return [
        (
            f"{what}, in runs by problem.solve",
            f"{gradient / solve:.2f} runs of {1e3 * solve:.0f} ms",
            f"<= {_LIMIT:g}",
            gradient <= _LIMIT * solve,
        ),
        (
            f"{what}, in runs with its own 2000 steps of order 4",
            f"{gradient / steps:.1f} runs of {1e3 * steps:.1f} ms",
            f"<= {_LIMIT:g}",
            gradient <= _LIMIT * steps,
        ),
    ]


def rows() -> list[tuple[str, str, str, bool]]:
    """Return what was measured, the bound, and whether it was met."""
    return [row for units in (2, 4) for row in of_size(units)]


if __name__ == "__main__":
    for row in rows():
        print(*row, sep=" | ")
