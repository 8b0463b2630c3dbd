r"""Digits that the moment form needs: the loss between moments and eigenvalues.

The dynamics move one overlap per eigenvalue, :math:`q_k`; moments are sums of them,
:math:`m_l = \sum_k w_k\rho_k^l q_k`, l = 0 … L - 1. The map is linear and well defined both ways,
but every moment is dominated by the largest eigenvalues, while learning goes on in the small ones.
A relative error u in each moment is the same as errors in the :math:`q_k` that are alternating and
large, and cancel at first. They cease to cancel as soon as different eigenvalues have decayed by
different amounts.

**How much, at any time.** After a time in which eigenvalue :math:`\rho` has decayed by
:math:`g(\rho)`, the order parameter is :math:`\sum_k w_k f(\rho_k) q_k` with
:math:`f(\rho) = \rho\,g(\rho)`: a combination of the initial moments whose coefficients are those
of the polynomial through the points :math:`(\rho_k, f(\rho_k))`. The error is at most u times the
sum of the sizes of its terms. With Lagrange's form of the polynomial, :math:`0 \le g \le 1` and
:math:`|q_k| \le 1`, since the coefficients of :math:`\prod_j(\rho-\rho_j)` alternate,

.. math:: \text{loss} \le \sum_k\rho_k\sum_{k'}w_{k'}
   \prod_{j\ne k}\frac{\rho_{k'}+\rho_j}{|\rho_k-\rho_j|} .

(The condition of the Vandermonde matrix: the products above are the growth :math:`\lambda_+^L` of
the moments, those below the closeness of eigenvalues.)

**How much, up to a given time.** With Newton's form the divided differences of f are bounded by its
derivatives. With :math:`|g^{(m)}| \le \tau^m`, where :math:`\tau` is the integral of the rate,

.. math:: \text{loss} \le \sum_{j<L}\Big(\rho_+\frac{\tau^j}{j!}+\frac{\tau^{j-1}}{(j-1)!}\Big)
   \sum_{k'}w_{k'}\prod_{i\le j}(\rho_{k'}+\rho_i),

about :math:`e^{2\tau\rho_+}`: the digits that the exponential series loses at negative arguments.
The smaller of both bounds counts, relative to :math:`\sum_k w_k\rho_k`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from symderiv.foundation.errors import InputError, ToleranceError

#: Decimal digits of a double, -log10(2**-53).
DOUBLE_DIGITS: Final = 53 * math.log10(2)
# The decimal exponent of the largest double.
_DOUBLE_RANGE: Final = math.log10(np.finfo(np.float64).max)
# Digits to spare for roundings, which add up over the steps and the sums in each of them.
_GUARD: Final = 6


@dataclass(frozen=True)
class Plan:
    """Number of working digits, and the reason for it.

    Attributes:
        digits: Decimal digits to work with.
        wanted: Digits that are to remain of the order parameters.
        lost: Digits lost between moments and overlaps per eigenvalue (a bound, log10).
        largest_power: log10 of the largest eigenvalue to the power L, the scale of the moments.
        reason: The same in a sentence.
    """

    digits: int
    wanted: int
    lost: float
    largest_power: float
    reason: str

    @property
    def double_digits(self) -> float:
        """Return the digits that remain if the moments are doubles; -inf if they overflow."""
        if self.largest_power >= _DOUBLE_RANGE:
            return -math.inf
        return DOUBLE_DIGITS - self.lost


def moment_digits(
    eigenvalues: Iterable[Any],
    weights: Iterable[Any] | None = None,
    digits: int = 15,
    alpha: float | None = None,
    rate: float | None = None,
) -> Plan:
    r"""Plan the digits that the moment form needs for a spectrum.

    Args:
        eigenvalues: The L distinct eigenvalues, positive, in any order.
        weights: Their multiplicities divided by N, positive; None for equal ones.
        digits: Digits that are to remain of Q^(1), R^(1), in units of their initial scale, at
            least 1. Where the generalisation error has become small, ask for as many more.
        alpha: The time up to which the result is needed; None for any time.
        rate: The largest rate at which overlaps change, per unit of α and of the eigenvalue: they
            decay like :math:`e^{-\mathrm{rate}\,\rho\,\alpha}`. For Q it is 2η times the largest
            eigenvalue of the matrix A. None if it is not known; then ``alpha`` is not used.

    Returns:
        A plan whose number of digits suffices as long as nothing grows by itself: what an unstable
        plateau amplifies comes on top, in this form as in any other. Where growth is possible,
        compare with more digits.

    Raises:
        InputError: An eigenvalue or weight is not positive, two eigenvalues are equal, or another
            argument is out of range.
    """
    rho, weight = _spectrum(eigenvalues, weights)
    if digits < 1:
        raise InputError(f"digits must be at least 1, not {digits}")
    lost, when = _lost_at_any_time(rho, weight), "at any time"
    if alpha is not None and rate is not None:
        if not (0 <= alpha < math.inf and 0 <= rate < math.inf):
            raise InputError(f"alpha and rate must not be negative, not {alpha} and {rate}")
        early = _lost_until(rho, weight, alpha * rate)
        if early < lost:
            lost, when = early, f"up to alpha = {alpha:g}"
    lost = max(lost, 0.0)
    needed = math.ceil(digits + lost) + _GUARD
    reason = (
        f"moments of {rho.size} eigenvalues between {rho[0]:.3g} and {rho[-1]:.3g} lose up to "
        f"{math.ceil(lost)} digits {when}; {digits} are to remain and {_GUARD} are for rounding"
    )
    power = rho.size * math.log10(rho[-1])
    return Plan(needed, digits, lost, power, reason)


def require_double(plan: Plan) -> None:
    """Raise an error if moments in double precision would be wrong according to the plan.

    Raises:
        ToleranceError: Fewer digits remain than wanted, or the moments overflow.
    """
    instead = "use the spectral form, or moments with more digits"
    if plan.largest_power >= _DOUBLE_RANGE:
        raise ToleranceError(
            f"moments in double precision overflow: the largest eigenvalue to the power L is "
            f"10^{plan.largest_power:.0f}, but doubles end at 10^{_DOUBLE_RANGE:.0f}; {instead}"
        )
    if plan.double_digits < plan.wanted:
        left = max(0, math.floor(plan.double_digits))
        raise ToleranceError(
            f"moments in double precision leave {left} of the {plan.wanted} digits wanted "
            f"({plan.reason}); {instead}"
        )


def _spectrum(
    eigenvalues: Iterable[Any], weights: Iterable[Any] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return ascending eigenvalues and their weights as doubles, which suffice for their
    logarithms.
    """
    rho = np.array([float(value) for value in eigenvalues])
    if weights is None:
        weight = np.full(rho.shape, 1.0 / max(rho.size, 1))
    else:
        weight = np.array([float(value) for value in weights])
    if rho.size == 0 or weight.shape != rho.shape:
        raise InputError(f"{rho.size} eigenvalues and {weight.size} weights do not fit together")
    if not (np.all(np.isfinite(rho)) and np.all(rho > 0)):
        raise InputError(
            "the moment form needs positive eigenvalues; leave those out along which inputs vanish"
        )
    if not (np.all(np.isfinite(weight)) and np.all(weight > 0)):
        raise InputError("weights must be positive")
    order = np.argsort(rho)
    rho, weight = rho[order], weight[order]
    if np.any(np.diff(rho) == 0):
        raise InputError("two eigenvalues are equal; add their weights and list the value once")
    return rho, weight


def _log_sum(logarithms: np.ndarray, axis: int | None = None) -> Any:
    return np.logaddexp.reduce(logarithms, axis=axis)


def _lost_at_any_time(rho: np.ndarray, weight: np.ndarray) -> float:
    sums = np.log(rho[:, None] + rho[None, :])
    differences = np.abs(rho[:, None] - rho[None, :])
    np.fill_diagonal(differences, 1.0)
    # rows are k, columns k'
    terms = np.sum(sums, axis=0)[None, :] - sums - np.sum(np.log(differences), axis=1)[:, None]
    terms += np.log(rho)[:, None] + np.log(weight)[None, :]
    total = _log_sum(terms.ravel()) - np.log(weight @ rho)
    return float(total / math.log(10))


def _lost_until(rho: np.ndarray, weight: np.ndarray, tau: float) -> float:
    """Return log10 of the loss bound up to times with the given integral of the rate."""
    L = rho.size
    if tau == 0.0:
        return 0.0
    order = np.arange(L)
    factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, L))))) if L > 1 else order
    powers = order * math.log(tau) - factorials
    derivatives = np.logaddexp(math.log(rho[-1]) + powers, np.concatenate(([-np.inf], powers[:-1])))
    # ascending eigenvalues keep the products small
    products = np.zeros((L, L))
    products[:, 1:] = np.cumsum(np.log(rho[:, None] + rho[None, :]), axis=1)[:, :-1]
    moments = _log_sum(products + np.log(weight)[:, None], axis=0)
    total = _log_sum(derivatives + moments) - np.log(weight @ rho)
    return float(total / math.log(10))
