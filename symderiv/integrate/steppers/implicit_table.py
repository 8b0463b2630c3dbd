"""The numbers of Radau's implicit method with five stages, of order 9.

They follow from the nodes, the zeros of the fourth derivative of x^4 (x - 1)^5, by collocation, and
are computed to 40 digits and rounded. ``NODES`` (5); with A the matrix of the method and A^-1 =
T diag(lambda) T^-1, ``REAL``, ``IMAGINARY`` (3) the real eigenvalue and one of each pair,
``TO`` (3, 5) their rows of T^-1 and ``BACK`` (5, 3) their columns of T, those of a pair twice, so
that Z = Re(BACK W) for W = TO Z; both as real and imaginary parts. ``ERROR`` (5) are the weights of
the stages in the difference to the embedded method of order 5, whose weight of the first slope is 1
over the real eigenvalue. ``CONTROL``: how long steps are.

Source: :cite:`HairerWanner1996`, IV.8 (simplified Newton iterations and the error estimate of
eq. (8.19)).
"""

from __future__ import annotations

import mpmath
import numpy as np

from symderiv.integrate.steppers.memory import IMPLICIT_STAGES, Control

_ESTIMATED_ORDER = IMPLICIT_STAGES + 1.0

CONTROL = Control(
    safety=0.8,
    proportional=1.0 / _ESTIMATED_ORDER,
    integral=0.0,
    least_growth=0.125,
    largest_growth=5.0,
    retry=1.0 / _ESTIMATED_ORDER,
    largest_shrink=0.125,
    outside=10.0,
    between=0.1,
    halves=0.0,
)


def _nodes(count: int) -> list[mpmath.mpf]:
    """Return the nodes of Radau's right-hand quadrature, ascending; the last one is 1."""
    factors = [mpmath.mpf(0)] * (count - 1) + [
        mpmath.binomial(count, power) * (-1) ** (count - power) for power in range(count + 1)
    ]
    for _ in range(count - 1):
        factors = [power * factor for power, factor in enumerate(factors)][1:]
    zeros = mpmath.polyroots(factors[::-1], maxsteps=200, extraprec=200)
    return [*sorted(mpmath.re(zero) for zero in zeros)[:-1], mpmath.mpf(1)]


def _table(count: int) -> tuple[np.ndarray, ...]:
    """Return nodes, eigenvalues, rows of T^-1, columns of T and the weights of the error."""
    with mpmath.workdps(40):
        nodes = _nodes(count)
        powers = mpmath.matrix(count, count)
        integrals = mpmath.matrix(count, count)
        for j, node in enumerate(nodes):
            for q in range(count):
                powers[j, q], integrals[j, q] = node**q, node ** (q + 1) / (q + 1)
        method = integrals * powers**-1
        inverse = method**-1
        values, vectors = mpmath.eig(inverse)
        upper = sorted(
            (c for c in range(count) if mpmath.im(values[c]) > -(mpmath.mpf(10) ** -30)),
            key=lambda c: (abs(mpmath.im(values[c])) > 1e-9, mpmath.re(values[c])),
        )
        for c in upper:
            largest = vectors[count - 1, c]
            for row in range(count):
                vectors[row, c] /= largest
        values[upper[0]] = mpmath.re(values[upper[0]])
        # the columns of the conjugates follow
        columns = [c for c in range(count) if c not in upper]
        for c in columns:
            twin = min(upper, key=lambda k: abs(mpmath.conj(values[k]) - values[c]))
            for row in range(count):
                vectors[row, c] = mpmath.conj(vectors[row, twin])
        rows = vectors**-1
        first = 1 / values[upper[0]]
        moments = mpmath.matrix(
            [1 / mpmath.mpf(q + 1) - (first if q == 0 else 0) for q in range(count)]
        )
        embedded = mpmath.lu_solve(powers.T, moments)
        apart = mpmath.matrix([embedded[j] - method[count - 1, j] for j in range(count)])
        error = (apart.T * inverse).T
        back = [
            [complex(vectors[row, c]) * (1 if c == upper[0] else 2) for c in upper]
            for row in range(count)
        ]
        to = [[complex(rows[c, column]) for column in range(count)] for c in upper]
        return (
            np.array([float(node) for node in nodes]),
            np.array([complex(values[c]) for c in upper]),
            np.array(to),
            np.array(back),
            np.array([float(each) for each in error]),
        )


NODES, _EIGENVALUES, _TO, _BACK, ERROR = _table(IMPLICIT_STAGES)
REAL, IMAGINARY = _EIGENVALUES.real.copy(), _EIGENVALUES.imag.copy()
TO_REAL, TO_IMAGINARY = _TO.real.copy(), _TO.imag.copy()
BACK_REAL, BACK_IMAGINARY = _BACK.real.copy(), _BACK.imag.copy()
