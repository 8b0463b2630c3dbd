r"""The population flow of weights and biases for two classes of Gaussian inputs.

The rates are −K times the gradient, as in :mod:`~symderiv_models.localisation.flow`: dw_k/dt =
E[F_k x] and db_k/dt = E[F_k] with F_k = −K ∂loss/∂S_k at the fields S_k = w_k·x + b_k, (y − f)
g'(S_k) for the squared loss and that over f (1 − f) for the cross-entropy. By Stein's rule E[F_k x]
= Σ_j Σw_j E[∂F_k/∂S_j] in a class of covariance Σ. The means over fields are computed by

* :class:`ShiftedReLU`: closed, by truncated Gaussian moments of pairs of fields, for any K and the
  squared loss;
* :class:`FieldQuadrature`: by a trapezoid rule over K = 1 or 2 fields, refined until it settles,
  for smooth activations and both losses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import sympy as sp
from scipy.special import ndtr, owens_t

from symderiv.formula import activation as read_activation
from symderiv.formula.as_function import as_function
from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.gaussian import derivative
from symderiv.inputs import ring
from symderiv.inputs.ring import Floats
from symderiv.inputs.ring_inputs import GaussianRing
from symderiv.numerics.nodes import normal_steps
from symderiv_models.localisation.flow import FlowResult, followed, pair_angles

__all__ = ["FieldFlow", "FieldQuadrature", "ShiftedReLU", "field_means"]

#: Largest number of fields that quadrature goes over.
MAX_FIELDS = 2
#: Change of a mean under halved steps at which quadrature has settled, relative to the largest.
SETTLED = 1e-10
# Standard deviations at which the rule ends; its first step and the most halvings of it.
_REACH, _FIRST_STEP, _HALVINGS = 9.0, 0.5, 6
_TINY = 1e-300


@dataclass(frozen=True)
class UnitFields:
    """Fields of K units in one class: means b, standard deviations, angles (K, K)."""

    mean: Floats
    deviation: Floats
    angle: Floats


class FieldMeans(Protocol):
    """Means over fields of one class."""

    def forces(self, fields: UnitFields, label: int) -> tuple[Floats, Floats]:
        """Return E[∂F_k/∂S_j], shape (K, K), and E[F_k], shape (K,)."""

    def loss(self, fields: UnitFields, label: int) -> float:
        """Return the mean loss of the class."""


class ShiftedReLU:
    """Closed means of ReLU fields with means that are not 0; the squared loss."""

    def forces(self, fields: UnitFields, label: int) -> tuple[Floats, Floats]:
        units = fields.mean.size
        h = _ratio(fields)
        both, active, at_kink = self._pairs(fields)
        density = _density(h) / np.maximum(fields.deviation, _TINY)
        mixed = -both / units
        mixed[np.diag_indices(units)] += label * density - np.sum(at_kink, axis=1) / units
        return mixed, label * ndtr(h) - np.sum(active, axis=1) / units

    def loss(self, fields: UnitFields, label: int) -> float:
        units = fields.mean.size
        h = _ratio(fields)
        both, active, at_kink = self._pairs(fields)
        single = fields.mean * ndtr(h) + fields.deviation * _density(h)
        # S_k is b_k plus a centred field, to which Stein's rule applies
        products = fields.mean[:, None] * active + fields.deviation[:, None] ** 2 * at_kink
        products += np.outer(fields.deviation, fields.deviation) * np.cos(fields.angle) * both
        return float(
            0.5 * label - label * np.sum(single) / units + 0.5 * np.sum(products) / units**2
        )

    def _pairs(self, fields: UnitFields) -> tuple[Floats, Floats, Floats]:
        """Return P(S_k, S_j > 0), E[1(S_k > 0) relu(S_j)] and E[δ(S_k) relu(S_j)], each (K, K)."""
        h = _ratio(fields)
        first, second = np.broadcast_arrays(h[:, None], h[None, :])
        scale = fields.deviation[None, :]
        sine, cosine = np.sin(fields.angle), np.cos(fields.angle)
        versine = 2.0 * np.sin(0.5 * fields.angle) ** 2
        alike = np.eye(h.size, dtype=bool)
        both = np.where(alike, ndtr(h)[:, None], two_positive(first, second, fields.angle))
        # the mean of one field where the other is 0, in units of its deviation there
        shift = (second - first) + first * versine
        along, back = _over(shift, sine), _over((first - second) + second * versine, sine)
        beyond, other, bent = ndtr(along), ndtr(back), sine * _density(along)
        at_kink = _density(first) / np.maximum(fields.deviation, _TINY)[:, None]
        at_kink = np.where(alike, 0.0, at_kink * scale * (shift * beyond + bent))
        active = fields.mean[None, :] * both + scale * (
            _density(second) * other + cosine * _density(first) * beyond
        )
        own = fields.mean * ndtr(h) + fields.deviation * _density(h)
        return both, np.where(alike, own[:, None], active), at_kink


class FieldQuadrature:
    """Means over one or two fields of smooth activations, by refined trapezoid rules.

    The integrands are analytic around the real axis, for which these rules converge
    exponentially; the stated error is the change under halved steps, which is not proved.

    Args:
        activation: a name or a formula in x without kinks.
        loss: ``"squared"`` or ``"cross-entropy"``.
        units: 1 or 2.

    Raises:
        InputError: an argument is not acceptable.
    """

    def __init__(self, activation: str, loss: str, units: int) -> None:
        if units > MAX_FIELDS:
            raise InputError(
                f"the flow of {activation!r} with these settings needs quadrature over {units} "
                f"fields, which goes up to {MAX_FIELDS}; use method sgd",
                argument="units",
            )
        x, y = sp.Symbol("x", real=True), sp.Symbol("y", real=True)
        g = read_activation(activation).expression
        slope = derivative(g)
        if slope.has(sp.Heaviside, sp.sign, sp.DiracDelta, sp.Abs, sp.Piecewise):
            raise InputError(
                f"{activation!r} has a kink, over which this quadrature does not converge; "
                "use method sgd",
                argument="activation",
            )
        fields = sp.symbols(f"s:{units}", real=True)
        f = sp.Add(*(g.subs(x, s) for s in fields)) / units
        error: sp.Expr = y - f
        lost: sp.Expr = error**2 / 2
        if loss == "cross-entropy":
            _check_outputs(activation, g, x)
            error, lost = error / (f * (1 - f)), -y * sp.log(f) - (1 - y) * sp.log(1 - f)
        forces = [error * slope.subs(x, s) for s in fields]
        slopes = [sp.diff(force, s) for force in forces for s in fields]
        self.units = units
        self._forces = _function((*fields, y), [*slopes, *forces])
        self._loss = _function((*fields, y), [lost])

    def forces(self, fields: UnitFields, label: int) -> tuple[Floats, Floats]:
        means = self._mean(self._forces, fields, label)
        square = self.units**2
        return means[:square].reshape(self.units, self.units), means[square:]

    def loss(self, fields: UnitFields, label: int) -> float:
        return float(self._mean(self._loss, fields, label)[0])

    def _mean(self, function: Callable[..., Floats], fields: UnitFields, label: int) -> Floats:
        before: Floats = np.array([np.inf])
        for halving in range(_HALVINGS):
            step = _FIRST_STEP / 2**halving
            z, weight = normal_steps(_REACH, step)
            grids = np.meshgrid(*[z] * self.units, indexing="ij")
            weights = weight if self.units == 1 else np.outer(weight, weight)
            values = [fields.mean[0] + fields.deviation[0] * grids[0]]
            if self.units == 2:
                angle = fields.angle[0, 1]
                turned = np.cos(angle) * grids[0] + np.sin(angle) * grids[1]
                values.append(fields.mean[1] + fields.deviation[1] * turned)
            means = np.array([np.sum(weights * each) for each in function(*values, float(label))])
            if np.max(np.abs(means - before)) <= SETTLED * max(np.max(np.abs(means)), 1e-6):
                return means
            before = means
        raise ToleranceError(
            "the means over fields did not settle: the weights are too large for quadrature; "
            "use method sgd"
        )


def field_means(activation: str, loss: str, units: int) -> FieldMeans:
    """Return the means over fields for an activation and a loss, closed where they can be.

    Raises:
        InputError: no means exist for one of the arguments, which the error names.
    """
    x = sp.Symbol("x", real=True)
    is_relu = read_activation(activation).expression == read_activation("relu").expression
    if is_relu and loss == "squared":
        return ShiftedReLU()
    if loss == "cross-entropy":
        _check_outputs(activation, read_activation(activation).expression, x)
    return FieldQuadrature(activation, loss, units)


class FieldFlow:
    """The flow of weights and biases of K units for Gaussian inputs.

    Args:
        inputs: the two covariances.
        means: means over fields, of :func:`field_means`.
        biases: whether biases are learnt; otherwise they keep their values.
    """

    def __init__(self, inputs: GaussianRing, means: FieldMeans, *, biases: bool) -> None:
        self.inputs, self.means, self.moving = inputs, means, biases
        self.basis = ring.fourier_basis(inputs.sites)
        self.spectra = [ring.eigenvalues(inputs.row(label)) for label in (0, 1)]

    def rate(self, weights: Floats, biases: Floats) -> tuple[Floats, Floats]:
        """Return dw/dt (K, D) and db/dt (K,) at weights (K, D) and biases (K,)."""
        moved, shifted = self._rate(weights @ self.basis, biases)
        return moved @ self.basis.T, shifted

    def loss(self, weights: Floats, biases: Floats) -> float:
        """Return the mean loss over both classes."""
        u = weights @ self.basis
        parts = [self.means.loss(self._fields(u, biases, label), label) for label in (0, 1)]
        return 0.5 * sum(parts)

    def _fields(self, u: Floats, biases: Floats, label: int) -> UnitFields:
        deviation = np.sqrt(np.sum(u**2 * np.maximum(self.spectra[label], 0.0), axis=1))
        return UnitFields(biases, deviation, pair_angles(u, self.spectra[label]))

    def _rate(self, u: Floats, biases: Floats) -> tuple[Floats, Floats]:
        moved, shifted = np.zeros_like(u), np.zeros_like(biases)
        for label, spectrum in enumerate(self.spectra):
            mixed, force = self.means.forces(self._fields(u, biases, label), label)
            moved += 0.5 * spectrum * (mixed @ u)
            shifted += 0.5 * force
        return moved, shifted if self.moving else np.zeros_like(biases)

    def run(
        self, weights: Floats, biases: Floats, times: Floats, *, tolerance: float = 1e-8
    ) -> FlowResult:
        """Follow the flow from weights (K, D) and biases (K,) to the last of ascending times.

        Raises:
            ToleranceError: the integrator gave up.
        """
        shape, count = weights.shape, weights.size

        def rate(state: Floats) -> Floats:
            moved, shifted = self._rate(state[:count].reshape(shape), state[count:])
            return np.concatenate([moved.ravel(), shifted])

        start = np.concatenate([(weights @ self.basis).ravel(), biases])
        return followed(rate, start, times, tolerance=tolerance).in_space(self.basis, shape)


def two_positive(h: Floats, k: Floats, angle: Floats) -> Floats:
    """Return P(X > −h, Y > −k) of standard Gaussians whose correlation is the cosine of an angle.

    It follows from two values of Owen's T. The absolute error is below 1e-14, also for angles near
    0, which keep the digits that the correlation has lost.
    """
    h, k, angle = np.broadcast_arrays(h, k, angle)
    sine, versine = np.sin(angle), 2.0 * np.sin(0.5 * angle) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        first = ((k - h) + h * versine) / (h * sine)
        second = ((h - k) + k * versine) / (k * sine)
    at_zero = (h == 0.0) & (k == 0.0)
    # NaN comes from 0/0, where the fields and their thresholds are the same
    first = np.where(np.isnan(first), 0.0, first)
    second = np.where(np.isnan(second), 0.0, second)
    apart = (h * k < 0.0) | ((h * k == 0.0) & (h + k < 0.0))
    probability = 0.5 * (ndtr(h) + ndtr(k)) - owens_t(h, first) - owens_t(k, second) - 0.5 * apart
    return np.asarray(np.where(at_zero, 0.5 - angle / (2.0 * np.pi), np.maximum(probability, 0.0)))


def _ratio(fields: UnitFields) -> Floats:
    return np.asarray(fields.mean / np.maximum(fields.deviation, _TINY))


def _over(value: Floats, sine: Floats) -> Floats:
    """Return value/sine, with 0 for 0/0, where fields and their thresholds are the same."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where((value == 0.0) & (sine == 0.0), 0.0, value / np.abs(sine)))


def _density(z: Floats) -> Floats:
    return np.asarray(np.exp(-(z**2) / 2.0) / np.sqrt(2.0 * np.pi))


def _function(symbols: tuple[sp.Symbol, ...], outputs: list[sp.Expr]) -> Callable[..., Floats]:
    compiled = as_function(symbols, outputs)

    def function(*values: Any) -> Floats:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return np.stack([each + np.zeros_like(values[0]) for each in compiled(*values)])

    return function


def _check_outputs(activation: str, g: sp.Expr, x: sp.Symbol) -> None:
    values = as_function(x, g)(np.linspace(-8.0, 8.0, 101))
    if not (np.all(np.asarray(values) > 0.0) and np.all(np.asarray(values) < 1.0)):
        raise InputError(
            f"needs outputs in (0, 1), which {activation!r} leaves; take an activation such as "
            "sigmoid, or method sgd, which clips",
            argument="loss",
        )
