r"""Moments of the linear network, as in the papers: companion matrix, and evolution in time.

The moments E^(l) = Σ_k w_k ρ_k^l D_k, l = 0 … L-1, obey the closed system that
:meth:`.LinearSystem.moments` gives. Its matrix is a companion matrix
(shift and closure by Cayley–Hamilton) plus one of rank one. Two ways to the error from it:

* ``companion_rates``: its eigenvalues as roots of its characteristic polynomial, and the parts of
  the error by partial fractions. Coefficients are large and of alternating sign.
* ``moment_error``: Taylor steps of the moments themselves.

Both lose the number of digits that :func:`symderiv.precision.moment_digits` returns. Eigenvalues
are in units of the largest one, which keeps numbers small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, pairwise

from flint import acb_poly, arb, arb_poly, ctx

from symderiv.analysis.linear.exact_spectrum import Balls, ExactLinear, total
from symderiv.analysis.linear.system import linear_system
from symderiv.analysis.plateau.teacher import rational_ball
from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.learning.derivation.moment_hierarchy import closure_coefficients
from symderiv.precision.balls.krawczyk import enclosed_zero

#: Largest number of applications of the matrix in one run of ``moment_error``.
MAX_APPLICATIONS = 400_000
# A Taylor step covers this many e-foldings of the fastest direction; its terms grow to e^this
# before they shrink, which costs digits.
_STEP = 48
STEP_DIGITS = math.ceil(_STEP / math.log(10))


@dataclass(frozen=True)
class MomentForm:
    """The system dE^(l)/dα = shift E^(l+1) + source ν_(l+1) E^(1) for l = 0 … L-1.

    Attributes:
        shift, source: the coefficients, for eigenvalues in units of the largest one.
        closure: c_l, with E^(L) = -Σ c_l E^(l), and 1.
        nu: moments of the spectrum, l = 0 … L+1; E^(l) = ν_l at α = 0 for D_k = 1.
    """

    shift: arb
    source: arb
    closure: Balls
    nu: Balls

    @classmethod
    def of(cls, problem: ExactLinear) -> MomentForm:
        """Return the moment form of the trained directions, at the present working precision.

        Raises:
            InputError: two eigenvalues are equal, so that moments do not determine the directions.
        """
        rho, term = problem.trained()
        if any(not x > y for x, y in pairwise(rho)):
            raise InputError("the moment form needs different eigenvalues; group equal ones")
        scaled = [x / rho[0] for x in rho]
        shift, source = linear_system().moments(rational_ball(problem.learning_rate))
        nu = []
        for _ in range(len(rho) + 2):
            nu.append(total(term))
            term = [x * y for x, y in zip(term, scaled, strict=True)]
        # E^(l+1) brings one unit, nu_(l+1) E^(1) brings two
        closure = [*closure_coefficients(scaled), arb(1)]
        return cls(shift * rho[0], source * rho[0] * rho[0], closure, nu)

    def over_poles(self, first: int) -> arb_poly:
        """Return Σ_k w_k ρ_k^first/(z - ρ_k) times the product of all z - ρ_k, from moments."""
        size = len(self.closure) - 1
        product = arb_poly(self.closure[::-1]) * arb_poly(self.nu[first : first + size])
        return arb_poly([product[size - 1 - l] for l in range(size)])

    def _closed(self, state: arb_poly) -> arb:
        """Return E^(L) by the closure."""
        return -total(c * state[l] for l, c in enumerate(self.closure[:-1]))

    def first(self, state: arb_poly) -> arb:
        """Return E^(1), the mean square error; by the closure if L = 1."""
        return state[1] if len(self.closure) > 2 else self._closed(state)

    def after(self, state: arb_poly, step: arb) -> arb_poly:
        """Return exp(step · matrix) applied to moments, by its Taylor series.

        Moments are the coefficients of a polynomial: shifts and sums are then single calls.
        """
        size, result, term = len(self.closure) - 1, state, state
        source = arb_poly([self.source * nu for nu in self.nu[1 : size + 1]])
        smallest = arb((1, -ctx.prec))
        for order in count(1):
            last = arb_poly([0] * (size - 1) + [self._closed(term)])
            moved = (term.right_shift(1) + last) * self.shift + source * self.first(term)
            term = _middle(moved * (step / order).mid())
            result = _middle(result + term)
            # measuring the size costs as much as a term
            looked_at = order > _STEP and order % 16 == 0
            if looked_at and _size(term) <= _size(result) * smallest:
                break
        return result


def companion_rates(problem: ExactLinear) -> tuple[Balls, Balls]:
    """Return rates, ascending, and weights of the error from the companion form.

    The Laplace transform of E^(1) is a fraction over the characteristic polynomial.

    Raises:
        ToleranceError: The working precision does not isolate the eigenvalues.
    """
    form = MomentForm.of(problem)
    polynomial = arb_poly(form.closure) - form.over_poles(2) * (form.source / form.shift)
    slope, above = polynomial.derivative(), form.over_poles(1)
    roots = _roots(polynomial)
    return [-form.shift * z for z in roots], [above(z) / slope(z) / form.nu[1] for z in roots]


def _roots(polynomial: arb_poly) -> Balls:
    """Return the roots, all real and simple, as enclosures in ascending order."""
    middle = acb_poly([coefficient.mid() for coefficient in polynomial.coeffs()])
    try:
        starts = sorted((root.real.mid() for root in middle.complex_roots()), key=float)
    except ValueError:
        starts = []
    if len(starts) != polynomial.degree():
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


def moment_error(problem: ExactLinear, alpha: list[Fraction]) -> Balls:
    """Return Σ_j W_j exp(-s_j α) at each time, from moments that are followed in time.

    Rounding errors are not enclosed (balls would grow without need): compare two precisions.

    Args:
        problem: the network.
        alpha: times ≥ 0 in any order.

    Raises:
        InputError: the times are so late that this would take very long.
    """
    form = MomentForm.of(problem)
    fastest = abs(float(form.shift))
    terms = _STEP + 3 * int(math.sqrt(_STEP * ctx.prec)) + ctx.prec // 4
    last = max((float(time) for time in alpha), default=0.0)
    if (last * fastest / _STEP + len(alpha)) * terms > MAX_APPLICATIONS:
        raise InputError(
            f"following the moments to {last:g} takes more than {MAX_APPLICATIONS} "
            f"applications of their matrix (the largest rate is {fastest:.3g}); use the method "
            "companion or secular",
            argument="alpha",
        )
    state, now, errors = arb_poly(form.nu[: len(form.nu) - 2]), Fraction(0), {}
    for time in sorted(set(alpha)):
        steps = math.ceil(float(time - now) * fastest / _STEP)
        for _ in range(steps):
            state = form.after(state, rational_ball((time - now) / steps))
        now = time
        errors[time] = form.first(state) / form.nu[1]
    return [errors[time] for time in alpha]


def _middle(polynomial: arb_poly) -> arb_poly:
    return arb_poly([x.mid() for x in polynomial.coeffs()])


def _size(polynomial: arb_poly) -> arb:
    """Return the size of E^(0) and E^(1), which bounds all other moments."""
    return abs(polynomial[0]) + abs(polynomial[1])
