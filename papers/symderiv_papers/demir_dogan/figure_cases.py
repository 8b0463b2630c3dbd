"""Network and Hermite model at places of figures 1 and 2: the settings as published, n smaller.

With n = m and lambda = 1e-4 fits nearly interpolate, and single differences vary by several per
cent: there are as many trials as the margin of the claims needs. The Hermite model has the degree
of the notebooks, at most 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from symderiv_ledger.claims.claim import Point

from symderiv_papers.demir_dogan.equivalent_models import Case, hermite, points_of

__all__ = ["aligned", "cases"]

#: By figure: the place, its keys, and the trials of each activation that is tried there.
_PLACES: dict[str, tuple[tuple[str, dict[str, Any], dict[str, int]], ...]] = {
    "1(a)": (
        ("k/m = 1/10", {"k": 20}, {"relu": 16, "tanh": 16}),
        ("k/m = 5", {"k": 1000}, {"relu": 12, "sigmoid": 12}),
    ),
    "1(b)": (
        ("alpha = 0, n = m = k = 400", {"n": 400, "alpha": 0.0}, {"relu": 24}),
        ("alpha = 1", {"alpha": 1.0}, {"relu": 32, "tanh": 24, "sigmoid": 12}),
    ),
    "1(c)": (
        ("beta = 0", {"beta": 0.0}, {"relu": 48}),
        ("beta = 1", {"beta": 1.0}, {"relu": 24, "tanh": 24, "sigmoid": 12}),
    ),
    "2(a)": (
        ("rho = 1/2", {"task": "classification"}, {"relu": 24, "tanh": 24}),
        (
            "rho = 1",
            {"task": "classification", "mixture_weight": 1.0},
            {"relu": 32, "sigmoid": 12},
        ),
    ),
    "2(b)": (
        ("alignment = 0", {}, {"relu": 32, "tanh": 24, "sigmoid": 12}),
        ("alignment = 1", {"alignment": 1.0}, {"relu": 32}),
    ),
    "2(c)": (("rank = 10", {"rank": 10, "spikes": "uniform"}, {"relu": 48, "tanh": 16}),),
}


def aligned(figure: str) -> Callable[[Any], Iterator[Point]]:
    """Network and Hermite model at places of a figure."""
    return points_of(cases(figure), hermite)


def cases(figure: str) -> tuple[Case, ...]:
    """Return the places of a figure with the activations that are tried there."""
    found = []
    for place, keys, trials in _PLACES[figure]:
        for activation, count in trials.items():
            whole = {"n": 200, "activation": activation, "trials": count, **keys}
            whole["test_samples"] = 2 * whole["n"]
            found.append(Case(f"{activation}, {place}", tuple(whole.items())))
    return tuple(found)
