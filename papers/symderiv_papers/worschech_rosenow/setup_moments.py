"""Order parameters, their closure by Cayley-Hamilton and the number of equations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from symderiv.verification.arithmetic import Indexed
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Exact
from symderiv_papers.references.integral_references import as_number
from symderiv_papers.references.references import Moments, flow, moments_of, networks
from symderiv_papers.worschech_rosenow.setup_definitions import DOUBLES, study_of
from symderiv_papers.worschech_rosenow.setup_points import network_points, points_on

__all__ = ["CLAIMS"]


def _engine_moments(numbers: Any) -> Iterator[Point]:
    """Moments from the engine's overlaps per eigenvalue, beside the vectors."""
    from symderiv.dynamics.initial import Vectors, state_of_vectors

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


_SPACES = {
    "Q": ("x", "x", "J", "J", "K", "K"),
    "R": ("x", "y", "J", "B", "K", "M"),
    "T": ("y", "y", "B", "B", "M", "M"),
}


def _order_parameter(name: str) -> Iterator[Claim]:
    left, right, first, second, rows, columns = _SPACES[name]
    overlap = f"1/N*Sum(lambda_[a]**{{}}*{first}[i, a]*{second}[j, a], (a, 1, N))"
    ranges = f"i = 1..{rows}, j = 1..{columns}, l = 0..L"
    yield Claim(
        "order parameters of 2",
        f"cov({left}[i, l], {right}[j, l]) == {overlap.format('l')}",
        points_on(),
        Exact(),
        ranges,
        part=f"{name}, covariance",
        printed="QRT".index(name),
        corrected=f"cov({left}[i, l], {right}[j, l]) == {overlap.format('(2*l + 1)')}",
        note="With x^(l) = xi Sigma^l J/sqrt(N) the covariance of two fields of order l has "
        "Sigma^(2l+1). The order parameter of order l is the covariance of a field of order l - 1 "
        "and a plain one.",
    )
    yield Claim(
        "order parameters of 2",
        f"{name}[l, i, j] == {overlap.format('l')}",
        _engine_moments,
        DOUBLES,
        ranges,
        part=f"{name}, definition",
        printed="QRT".index(name),
        definition=True,
        note="The engine's moments, from its overlaps per eigenvalue.",
    )


_ORDER_PARAMETERS = [claim for name in _SPACES for claim in _order_parameter(name)]


def _polynomials(numbers: Any) -> Iterator[Point]:
    """The engine's closure coefficients, at eigenvalues and elsewhere."""
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
    """How many rates the engine has."""
    found = flow(moments, numbers.one, numbers)
    return sum(len(row) for rates in (found.dQ, found.dR) for rows in rates for row in rows)


def _closing(name: str, second: str, rows: str, columns: str) -> Claim:
    return Claim(
        "closure of 4",
        f"{name}[L, i, {second}] == -Sum(c[l]*{name}[l, i, {second}], (l, 0, L - 1))",
        points_on(),
        Exact(lost=12),
        f"i = 1..{rows}, {second} = 1..{columns}",
        part=name,
        printed=1,
        symmetric=("Q", "T"),
    )


_CLOSURE = [
    Claim(
        "closure of 4",
        "Sum(c[k]*z[a]**k, (k, 0, L)) == Product(z[a] - lambda_[k], (k, 1, L))",
        _polynomials,
        Exact(scale=100.0),
        "a = 1..places",
        part="coefficients",
        printed=0,
        definition=True,
    ),
    Claim(
        "closure of 4",
        "-lambda_[a]**L == Sum(c[k]*lambda_[a]**k, (k, 0, L - 1))",
        _polynomials,
        Exact(scale=100.0),
        "a = 1..L",
        part="P vanishes",
        printed=0,
        note="Sum_k c_k Sigma^k = 0 with c_L = 1, eigenvalue by eigenvalue.",
    ),
    _closing("R", "n", "K", "M"),
    _closing("Q", "j", "K", "K"),
    _closing("T", "j", "M", "M"),
    Claim(
        "number of equations of 4",
        "count == (K*M + K**2)*L",
        _polynomials,
        Exact(),
        note="Entries of Q and R for l = 0 .. L-1; Q is symmetric, so (KM + K(K+1)/2) L of them "
        "are different.",
    ),
]

CLAIMS = (*_ORDER_PARAMETERS, *_CLOSURE)
