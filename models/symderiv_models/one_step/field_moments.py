r"""Hermite coefficients of σ(a + s z), z ~ N(0, 1), on arrays of means a and deviations s.

.. math:: c_p(a, s) = E[\sigma(a + s z) H_p(z)]
          = s^p \frac{\partial^p}{\partial a^p} E\,\sigma(a + s z)

and E σ(a + s z)². For jointly Gaussian z_i, z_j of covariance r (Mehler's series)

.. math:: \mathrm{cov}[\sigma(a_i + s_i z_i), \sigma(a_j + s_j z_j)]
          = \sum_{p\ge1} \frac{r^p}{p!}\, c_p(a_i, s_i)\, c_p(a_j, s_j) .

Where the engine has E σ(a + s z) in closed form these are its derivatives. Elsewhere they are
integrated: by the trapezoid rule where σ is analytic, by Gauss and Legendre's between its kinks;
the step is halved until the numbers stop changing at the hardest of the given pairs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import sympy as sp

from symderiv.formula import activation
from symderiv.formula.as_function import as_function
from symderiv.foundation.errors import DivergentError, NotYetError, ToleranceError
from symderiv.gaussian import expectation
from symderiv.numerics.nodes import gauss_panels

if TYPE_CHECKING:
    Array = np.ndarray

__all__ = ["FieldMoments", "HermiteMoments", "field_moments"]

# Largest |z|: beyond it, mass and moments of z are below 1e-13 for the orders in use.
_FAR: Final = 9.0
_TOLERANCE: Final = 1e-9
_PROBES: Final = 64
_FIRST_STEP: Final = 0.5
_HALVINGS: Final = 6
_NODES: Final = 10


@dataclass(frozen=True, eq=False)
class HermiteMoments:
    """Coefficients at pairs (a, s).

    Args:
        coefficients: c_0, …, c_P, shape (P + 1, *pairs).
        second: E σ², shape (*pairs).
        error: largest change found at the last halving of the step, relative to the root of the
            largest second moment; 0 for closed forms, which are exact up to rounding.
    """

    coefficients: Array
    second: Array
    error: float

    def remainder(self) -> Array:
        """Return E σ² - Σ_p c_p²/p!, the share of orders beyond P, shape (*pairs)."""
        left = self.second.copy()
        for p, c in enumerate(self.coefficients):
            left -= c * c / math.factorial(p)
        positive: Array = np.maximum(left, 0.0)
        return positive


@dataclass(frozen=True)
class FieldMoments:
    """The coefficients of an activation as functions of a and s; see :func:`field_moments`.

    Args:
        order: P.
        method: "closed form" or "quadrature".
    """

    order: int
    method: str
    _at: Callable[[Array, Array], HermiteMoments]

    def __call__(self, a: Array, s: Array) -> HermiteMoments:
        """Return the moments at means and deviations s > 0 of shapes that broadcast."""
        return self._at(a, np.broadcast_to(s, a.shape))


@lru_cache(maxsize=32)
def field_moments(text: str, order: int, closed: bool = True) -> FieldMoments:
    """Return the coefficients of an activation up to an order, as functions of a and s.

    Args:
        text: The activation, a name or a formula.
        order: P ≥ 1.
        closed: Use closed forms where there are some; False integrates all.
    """
    g = activation(text).expression
    compiled = _closed_form(g, order) if closed else None
    if compiled is not None:
        return FieldMoments(order, "closed form", compiled)
    return FieldMoments(order, "quadrature", _Quadrature(g, text, order))


def _closed_form(g: sp.Expr, order: int) -> Callable[[Array, Array], HermiteMoments] | None:
    x, a = sp.Symbol("x", real=True), sp.Symbol("a", real=True)
    s = sp.Symbol("s", positive=True)
    covariance, mean = sp.Matrix([[s**2]]), sp.Matrix([a])
    try:
        moments = [expectation(f, [x], covariance, mean).unfolded() for f in (g, g**2)]
    except (NotYetError, DivergentError):
        return None
    forms = [s**p * sp.diff(moments[0], a, p) for p in range(order + 1)]
    if any(form.has(sp.DiracDelta, sp.Derivative, sp.Subs) for form in forms):
        return None
    made = as_function((a, s), [*forms, moments[1]])

    def at(means: Array, deviations: Array) -> HermiteMoments:
        *coefficients, second = (np.broadcast_to(v, means.shape) for v in made(means, deviations))
        return HermiteMoments(
            np.array(coefficients, dtype=float), np.array(second, dtype=float), 0.0
        )

    return at


class _Quadrature:
    """Moments as integrals over z, by quadrature."""

    def __init__(self, g: sp.Expr, text: str, order: int) -> None:
        from symderiv.inputs.nonlinearity import on_arrays
        from symderiv.lowering.means.numeric_activation import NumericActivation

        numeric = NumericActivation(g, text)
        self.text, self.order = text, order
        self.value = on_arrays(numeric.derivative(0))
        self.kinks = numeric.kinks

    def __call__(self, a: Array, s: Array) -> HermiteMoments:
        step, error = self._step(a, s)
        first, second = self._sums(a, s, step)
        return HermiteMoments(first, second, error)

    def _step(self, a: Array, s: Array) -> tuple[float, float]:
        """Return a step at which the moments no longer change, and their last change."""
        flat_a, flat_s = a.ravel(), s.ravel()
        hard = [flat_a.argmin(), flat_a.argmax(), abs(flat_a).argmin(), flat_s.argmax()]
        spread = np.linspace(0, flat_a.size - 1, min(_PROBES, flat_a.size)).astype(int)
        probes = np.concatenate([hard, spread])
        a, s = flat_a[probes], flat_s[probes]
        step, old = _FIRST_STEP, self._sums(a, s, _FIRST_STEP)
        for _ in range(_HALVINGS):
            new = self._sums(a, s, step / 2)
            size = math.sqrt(float(new[1].max()))
            changes = [float(abs(new[1] - old[1]).max()) / size**2]
            for p in range(self.order + 1):
                scale = size * math.sqrt(math.factorial(p))
                changes.append(float(abs(new[0][p] - old[0][p]).max()) / scale)
            error = max(changes)
            if error <= _TOLERANCE:
                return step, error
            step, old = step / 2, new
        raise ToleranceError(f"means of {self.text} change by {error:.1g} at a step of {step:.1g}")

    def _sums(self, a: Array, s: Array, step: float) -> tuple[Array, Array]:
        sums = np.zeros((self.order + 1, *a.shape))
        second = np.zeros(a.shape)
        for z, weight in self._rule(a, s, step):
            value = self.value(a + s * z)
            weighted = weight * np.exp(-0.5 * z * z) * value
            second += weighted * value
            before, hermite = np.zeros_like(z), np.ones_like(z)
            for p in range(self.order + 1):
                sums[p] += hermite * weighted
                before, hermite = hermite, z * hermite - p * before
        norm = math.sqrt(2.0 * math.pi)
        return sums / norm, second / norm

    def _rule(self, a: Array, s: Array, step: float) -> Any:
        """Yield nodes and weights, which are numbers or arrays with one value per pair."""
        if not self.kinks:
            for z in np.arange(-_FAR, _FAR + step / 2, step):
                yield np.float64(z), step
            return
        panels = 4 * math.ceil(1.0 / step)
        nodes, weights = gauss_panels(np.linspace(0.0, 1.0, panels + 1), _NODES)
        inside = [np.clip((kink - a) / s, -_FAR, _FAR) for kink in self.kinks]
        ends = [np.full(a.shape, -_FAR), *inside, np.full(a.shape, _FAR)]
        for low, high in itertools.pairwise(ends):
            for node, weight in zip(nodes, weights, strict=True):
                yield low + (high - low) * node, (high - low) * weight
