r"""The linear network in the moments of the papers: companion matrix, and moments followed in time.

The moments E^(l) = Σ_k w_k ρ_k^l D_k, l = 0 … L-1, obey the closed system that
:meth:`.LinearSystem.moments` gives. Its matrix is a companion matrix
(shift and closure by Cayley–Hamilton) plus one of rank one. Two ways to the error from it:

* ``companion_rates``: its eigenvalues as roots of its characteristic polynomial, its right and left
  eigenvectors by recursion. Left ones are made of the coefficients of Lagrange polynomials: large,
  of alternating sign.
* ``moment_error``: Taylor steps of the moments themselves.

Both lose the digits that :func:`symderiv.precision.moment_digits` counts. Eigenvalues are measured
in units of the largest one, which keeps numbers small and changes nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import acb_poly, arb, arb_mat, arb_poly, ctx

from symderiv.analysis.linear.exact_spectrum import Balls, ExactLinear
from symderiv.analysis.linear.system import linear_system
from symderiv.analysis.plateau.teacher import rational_ball
from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.learning.derivation.moment_hierarchy import closure_coefficients
from symderiv.precision.balls.krawczyk import enclosed_zero

#: Most applications of the matrix in one run of ``moment_error``.
MAX_APPLICATIONS = 400_000
# A Taylor step covers this many e-foldings of the fastest direction; its terms grow to e^this
# before they shrink, which costs digits.
_STEP = 48
STEP_DIGITS = math.ceil(_STEP / math.log(10))


@dataclass(frozen=True)
class MomentMatrix:
    """dE^(l)/dα = Σ_m matrix[l, m] E^(m) for l = 0 … L-1, eigenvalues in units of ``unit``.

    Attributes:
        unit: the largest eigenvalue ρ_1.
        shift: coefficient of E^(l+1) in the equation of E^(l).
        source: coefficients of E^(1), L of them.
        closure: c_l, with E^(L) = -Σ c_l E^(l).
        start: E^(l) at α = 0 for D_k = 1.
    """

    unit: arb
    shift: arb
    source: Balls
    closure: Balls
    start: Balls

    def first(self, moments: Balls) -> arb:
        """E^(1), which is the square error; by the closure when L = 1."""
        return moments[1] if len(moments) > 1 else -self.closure[0] * moments[0]

    def matrix(self) -> arb_mat:
        """Return all entries, shape (L, L)."""
        L = len(self.start)
        rows = [[arb(0)] * L for _ in range(L)]
        for l in range(L):
            if l + 1 < L:
                rows[l][l + 1] += self.shift
            else:
                for m, c in enumerate(self.closure):
                    rows[l][m] -= self.shift * c
            if L > 1:
                rows[l][1] += self.source[l]
            else:
                rows[l][0] -= self.source[l] * self.closure[0]
        return arb_mat(rows)


def moment_matrix(problem: ExactLinear) -> MomentMatrix:
    """Return the moment system of the trained directions, at the present working precision.

    Raises:
        InputError: two eigenvalues are equal, so that moments do not determine the directions.
    """
    rho, weight = problem.trained()
    unit = rho[0]
    scaled = [x / unit for x in rho]
    if any(not x > y for x, y in pairwise(rho)):
        raise InputError("the moment form needs different eigenvalues; group equal ones")
    shift, source = linear_system().moments(rational_ball(problem.learning_rate))
    powers, moments = [arb(1)] * len(rho), []
    for _ in range(len(rho) + 1):
        moments.append(sum((x * w for x, w in zip(powers, weight, strict=True)), arb(0)))
        powers = [x * y for x, y in zip(powers, scaled, strict=True)]
    # E^(l) and nu_l in units of unit^l: E^(l+1) brings one unit, nu_(l+1) E^(1) brings two
    return MomentMatrix(
        unit,
        shift * unit,
        [source * unit * unit * moment for moment in moments[1:]],
        closure_coefficients(scaled),
        moments[:-1],
    )


def companion_rates(problem: ExactLinear) -> tuple[Balls, Balls]:
    """Rates, ascending, and weights of the error from the companion form.

    Raises:
        ToleranceError: The working precision does not isolate the eigenvalues.
    """
    system = moment_matrix(problem)
    rates = _eigenvalues(-system.matrix())
    total = system.first(system.start)
    weights = []
    for rate in rates:
        right, left = _right_vector(system, rate), _left_vector(system, rate)
        part = _product(left, system.start) / _product(left, right)
        weights.append(part * system.first(right) / total)
    return rates, weights


def _product(one: Balls, two: Balls) -> arb:
    return sum((x * y for x, y in zip(one, two, strict=True)), arb(0))


def _eigenvalues(matrix: arb_mat) -> Balls:
    """Return the eigenvalues, all real and simple, as enclosures in ascending order."""
    polynomial = matrix.charpoly()
    middle = acb_poly([coefficient.mid() for coefficient in polynomial.coeffs()])
    try:
        starts = sorted((root.real.mid() for root in middle.complex_roots()), key=float)
    except ValueError:
        starts = []
    if len(starts) != matrix.nrows():
        raise ToleranceError(
            "the characteristic polynomial has no isolated roots at this precision"
        )
    derivative = polynomial.derivative()
    enclosed = [enclosed_zero(lambda s: (polynomial(s), derivative(s)), start) for start in starts]
    roots = [root for root in enclosed if root is not None]
    if len(roots) != len(enclosed):
        raise ToleranceError("an eigenvalue of the companion matrix is not enclosed")
    if any(not x < y for x, y in pairwise(roots)):
        raise ToleranceError("two eigenvalues of the companion matrix cannot be told apart")
    return roots


def _right_vector(system: MomentMatrix, rate: arb) -> Balls:
    """v with shift v_(l+1) + source_l v_1 = -rate v_l and v_0 = 1, row by row."""
    vector = [arb(1)]
    for l in range(len(system.start) - 1):
        known = -rate * vector[l]
        if l == 0:
            vector.append(known / (system.shift + system.source[0]))
        else:
            vector.append((known - system.source[l] * vector[1]) / system.shift)
    return vector


def _left_vector(system: MomentMatrix, rate: arb) -> Balls:
    """u with u_(L-1) = 1 and uᵀ times the matrix = -rate uᵀ, column by column from the last."""
    L, c = len(system.start), system.closure
    vector = [arb(1)]
    for m in range(L - 1, 1, -1):
        vector.append(c[m] - rate / system.shift * vector[-1])
    if L > 1:
        vector.append(system.shift * c[0] / rate)
    return vector[::-1]


def moment_error(problem: ExactLinear, alpha: list[Fraction]) -> Balls:
    """Σ_j W_j exp(-s_j α) at each time, by following the moments from 0 to the last time.

    Rounding errors are not enclosed (balls would grow without need): compare two precisions.

    Args:
        problem: the network.
        alpha: times ≥ 0 in any order.

    Raises:
        InputError: the times are so late that this would take very long.
    """
    system = moment_matrix(problem)
    fastest = abs(float(system.shift))
    terms = _STEP + 3 * int(math.sqrt(_STEP * ctx.prec)) + ctx.prec // 4
    last = max((float(time) for time in alpha), default=0.0)
    if (last * fastest / _STEP + len(alpha)) * terms > MAX_APPLICATIONS:
        raise InputError(
            f"following the moments to {last:g} takes more than {MAX_APPLICATIONS} "
            f"applications of their matrix (the largest rate is {fastest:.3g}); use the method "
            "companion or secular",
            argument="alpha",
        )
    stepper = _Stepper(system)
    state, now, errors = arb_poly(system.start), Fraction(0), {}
    total = system.first(system.start)
    for time in sorted(set(alpha)):
        span = float(time - now) * fastest
        count = max(1, math.ceil(span / _STEP))
        if time > now:
            step = rational_ball((time - now) / count)
            for _ in range(count):
                state = stepper.taylor(state, step)
        now = time
        errors[time] = system.first(stepper.list_of(state)) / total
    return [errors[time] for time in alpha]


class _Stepper:
    """Moments as the coefficients of a polynomial, so that shifts and sums are single calls."""

    def __init__(self, system: MomentMatrix) -> None:
        self._system, self._size = system, len(system.start)
        self._source = arb_poly(system.source)
        self._closure = [(-system.shift * c).mid() for c in system.closure]
        self._shift = system.shift.mid()

    def list_of(self, state: arb_poly) -> Balls:
        return [state[l] for l in range(self._size)]

    def taylor(self, state: arb_poly, step: arb) -> arb_poly:
        """exp(step matrix) state."""
        result = term = state
        order = 0
        smallest = arb((1, -ctx.prec))
        while True:
            order += 1
            term = self._applied(term, (step / order).mid())
            result = _middle(result + term)
            # looking at the sizes costs as much as a term
            looked_at = order > _STEP and order % 16 == 0
            if looked_at and _size(term) <= _size(result) * smallest:
                return result

    def _applied(self, state: arb_poly, factor: arb) -> arb_poly:
        moments = self.list_of(state)
        last = sum((c * x for c, x in zip(self._closure, moments, strict=True)), arb(0))
        moved = (state.right_shift(1) * self._shift) + self._source * self._system.first(moments)
        moved += arb_poly([0] * (self._size - 1) + [last])
        return _middle(moved * factor)


def _middle(polynomial: arb_poly) -> arb_poly:
    return arb_poly([x.mid() for x in polynomial.coeffs()])


def _size(polynomial: arb_poly) -> arb:
    """Return the size of E^(0) and E^(1), which all other moments are below."""
    return abs(polynomial[0]) + abs(polynomial[1])
