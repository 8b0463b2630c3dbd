"""Order parameters, their closure by Cayley-Hamilton and the number of equations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed

from symderiv_papers.references.exact import as_number
from symderiv_papers.references.moments import Moments, motion
from symderiv_papers.references.vectors import moments_of, networks
from symderiv_papers.worschech_rosenow.setup_definitions import study_of
from symderiv_papers.worschech_rosenow.setup_points import network_points

__all__ = [
    "engine_moments",
    "polynomials",
]


def engine_moments(numbers: Any) -> Iterator[Point]:
    """Yield moments from the engine's overlaps per eigenvalue, beside the vectors."""
    from symderiv.problem.initial import Vectors, state_of_vectors

    for state in networks()[:4]:
        copies = state.N // state.L
        student, teacher = (np.array(v, dtype=float) for v in (state.student, state.teacher))
        variance = np.array(state.variance, dtype=float)
        vectors = Vectors(student, teacher, variance, np.arange(0, state.N + 1, copies))
        found = state_of_vectors(vectors, study_of(state.K, state.M))
        offsets = (("Q", found.student_overlap, 0), ("R", found.cross_overlap, 1),
                   ("T", found.teacher_overlap, 2))  # fmt: skip
        point = network_points(state, numbers)
        values = dict(point.values)
        for name, overlap, offset in offsets:
            moments = [
                np.einsum("k,kij->ij", found.weight * found.eigenvalue ** (l - offset), overlap)
                for l in range(state.L + 1)
            ]
            sizes = ((1, size) for size in overlap.shape[1:])
            exact = [[[numbers.mpf(float(e)) for e in row] for row in m] for m in moments]
            values[name] = Indexed(exact, (0, state.L), *sizes)
        yield Point(point.label, values)


def polynomials(numbers: Any) -> Iterator[Point]:
    """Yield the engine's closure coefficients, at eigenvalues and elsewhere."""
    for state in networks():
        moments = moments_of(state, numbers)
        rho = [as_number(e, numbers) for e in state.eigenvalues]
        places = [numbers.mpf(-2) / 3, numbers.mpf(5) / 7, *rho]
        values = {
            "c": moments.indexed()["c"],
            "L": state.L,
            "K": state.K,
            "M": state.M,
            "lambda_": Indexed(rho, (1, state.L)),
            "z": Indexed(places, (1, len(places))),
            "places": len(places),
            "count": _equations_of(moments, numbers),
        }
        yield Point(state.label, values)


def _equations_of(moments: Moments, numbers: Any) -> int:
    """Return how many rates the engine has."""
    found = motion(moments, numbers.one, numbers)
    return sum(len(row) for rates in (found.dQ, found.dR) for rows in rates for row in rows)
