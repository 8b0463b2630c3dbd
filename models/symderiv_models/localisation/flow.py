r"""The population flow of a mean of K units for two classes of Gaussian inputs.

The network is f(x) = (1/K) Σ_k g(w_k·x), the loss ½ E[(f − y)²], y the label, and time such that
dw_k/dt = E[(y − f) g'(w_k·x) x], −K times the gradient (the notes on localisation, equation 4).
With Stein's rule the mean for a class of covariance Σ is

    y Σ w_k E[g''(S_k)] − (1/K) Σ_j (Σ w_k E[g''(S_k) g(S_j)] + Σ w_j E[g'(S_k) g'(S_j)]),

and the three means come from the Gaussian calculus, for every activation that it closes. A jump of
g' is a delta function there: E[g''(S_k) …] is a density times a mean on the boundary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from symderiv.formula import activation as read_activation
from symderiv.formula.as_function import as_function
from symderiv.foundation.derivation_cache import derived_once
from symderiv.foundation.errors import InputError, SymderivError, ToleranceError
from symderiv.gaussian import derivative, expectation
from symderiv.inputs import ring
from symderiv.inputs.ring import Floats
from symderiv.inputs.ring_inputs import GaussianRing

__all__ = ["FlowResult", "PopulationFlow", "closes", "followed", "pair_angles"]

#: The flow is at rest when no weight moves faster than this part of the largest initial rate.
AT_REST = 1e-8
# Rate, relative to the start, at which steady states are sought as minima; most steps of that.
_NEARLY = 1e-3
_STEPS = 300

_Q, _P = sp.symbols("q p", positive=True)
_THETA = sp.Symbol("theta", positive=True)


@derived_once("gaussian", "formula")
def _means(activation: str) -> tuple[sp.Expr, ...]:
    """Return E[g''(u)], E[g''(u) g(v)], E[g'(u) g'(v)], E[g(u) g(v)] and E[g(u)].

    q and p are the variances of u and v, √(q p) cos θ their covariance; with the angle no digits
    are lost where two units align or oppose.
    """
    x = sp.Symbol("x", real=True)
    g = read_activation(activation).expression
    first = derivative(g)
    second = derivative(first)
    u, v = sp.symbols("u v", real=True)
    c = sp.Symbol("c", real=True)
    covariance = sp.Matrix([[_Q, c], [c, _P]])

    def mean(integrand: sp.Expr) -> sp.Expr:
        value = expectation(sp.expand(integrand), (u, v), covariance).value
        value = value.subs(c, sp.sqrt(_Q) * sp.sqrt(_P) * sp.cos(_THETA))
        return _in_the_angle(value)

    bends = mean(second.subs(x, u))
    at_bend = mean(second.subs(x, u) * g.subs(x, v))
    slopes = mean(first.subs(x, u) * first.subs(x, v))
    products = mean(g.subs(x, u) * g.subs(x, v))
    return bends, at_bend, slopes, products, mean(g.subs(x, u))


def _in_the_angle(value: sp.Expr) -> sp.Expr:
    """Return roots of 1 − cos² as sin θ, arcs as angles, for θ in [0, π]."""
    value = value.replace(
        lambda e: e.is_Pow and e.exp.is_Rational and e.exp.q == 2 and e.base.has(sp.cos),
        lambda e: (
            sp.factor(sp.expand(e.base).subs(sp.cos(_THETA) ** 2, 1 - sp.sin(_THETA) ** 2)) ** e.exp
        ),
    )
    value = sp.powdenest(value, force=True).subs(sp.Abs(sp.sin(_THETA)), sp.sin(_THETA))
    return value.replace(
        lambda e: isinstance(e, sp.asin) and sp.simplify(e.args[0] - sp.cos(_THETA)) == 0,
        lambda e: sp.pi / 2 - _THETA,
    )


Compiled = Callable[[Any, Any, Any], Any]


@lru_cache(maxsize=8)
def _compiled(activation: str) -> tuple[Compiled, ...]:
    try:
        formulas = _means(activation)
    except SymderivError as error:
        raise InputError(
            f"the Gaussian calculus does not close the flow of {activation!r} ({error}); "
            "use method sgd",
            argument="activation",
        ) from None
    return tuple(as_function((_Q, _P, _THETA), each) for each in formulas)


def closes(activation: str) -> bool:
    """Return whether the Gaussian calculus closes the flow of an activation."""
    try:
        _compiled(activation)
    except InputError:
        return False
    return True


@dataclass(frozen=True)
class FlowResult:
    """Weights along a flow.

    Attributes:
        time: n times.
        weights: shape (n, K, D).
        biases: shape (n, K), or (n, 0) where there are none.
        at_rest: whether the flow came to rest before its end.
        residual: the largest rate at the end, relative to the largest at the start.
        rates: how often the right-hand side was computed.
    """

    time: Floats
    weights: Floats
    biases: Floats
    at_rest: bool
    residual: float
    rates: int

    def in_space(self, basis: Floats, shape: tuple[int, ...]) -> FlowResult:
        """Return the result with weights and biases in place of flat coefficients in a basis."""
        count = math.prod(shape)
        weights = self.weights[:, :count].reshape(-1, *shape) @ basis.T
        return replace(self, weights=weights, biases=self.weights[:, count:])


class PopulationFlow:
    """The flow of the weights of K units for Gaussian inputs, also where units align or oppose.

    Args:
        inputs: the two covariances.
        units: K ≥ 1.
        activation: a name or a formula in x that the Gaussian calculus closes.

    Raises:
        InputError: an argument is not acceptable.
    """

    def __init__(self, inputs: GaussianRing, units: int, activation: str = "relu") -> None:
        if units < 1:
            raise InputError(f"{units} is below 1", argument="units")
        self.inputs, self.units = inputs, units
        means = _compiled(activation)
        self._bends, self._at_bend, self._slopes, self._products, self._first = means
        basis = ring.fourier_basis(inputs.sites)
        self.basis = basis
        self.spectra = np.stack([ring.eigenvalues(inputs.row(label)) for label in (0, 1)])

    def rate(self, weights: Floats) -> Floats:
        """Return dw/dt at weights of shape (K, D)."""
        return self.fourier_rate(weights @ self.basis) @ self.basis.T

    def fourier_rate(self, u: Floats) -> Floats:
        """Return the rates of coefficients in the real Fourier basis, shape (…, K, D)."""
        rate = np.zeros_like(u)
        for label, spectrum in enumerate(self.spectra):
            down, across, angle = _fields(u, spectrum)
            own = -np.mean(self._at_bend(down, across, angle) + 0.0 * angle, axis=-1)
            if label:
                q = down[..., 0]
                own = own + self._bends(q, q, 0.0)
            slopes = self._slopes(down, across, angle) + 0.0 * angle
            rate += 0.5 * spectrum * (own[..., None] * u - slopes @ u / self.units)
        return rate

    def loss(self, weights: Floats) -> float:
        """Return ½ E[(f − y)²] at weights of shape (K, D)."""
        return self._loss(weights @ self.basis)

    def _loss(self, u: Floats) -> float:
        total = 0.25
        for label, spectrum in enumerate(self.spectra):
            down, across, angle = _fields(u, spectrum)
            total += 0.25 * float(np.mean(self._products(down, across, angle)))
            if label:
                q = down[:, 0]
                total -= 0.5 * float(np.mean(self._first(q, q, 0.0)))
        return total

    def jacobian(self, weights: Floats) -> Floats:
        """Return ∂(du/dt)/∂u of Fourier coefficients, (K D, K D), by central differences."""
        return self._fourier_jacobian(weights @ self.basis)

    def _fourier_jacobian(self, u: Floats) -> Floats:
        step = 1e-6 * float(np.max(np.abs(u)))
        moved = step * np.eye(u.size).reshape(u.size, *u.shape)
        difference = self.fourier_rate(u + moved) - self.fourier_rate(u - moved)
        slopes = difference.reshape(u.size, u.size) / (2.0 * step)
        # symmetric, as it is −K times the Hessian of the loss
        return np.asarray(0.5 * (slopes + slopes.T))

    def steady_state(
        self, weights: Floats, end: float = 1e9, *, largest: float | None = None
    ) -> tuple[Floats, float]:
        """Return a stable steady state that the flow reaches from ``weights``, shape (K, D).

        The flow, which lowers the loss, is followed until it is slow. The minimum of the loss
        nearby is then found with its gradient and Hessian (by a trust region, which leaves
        saddles). Rotations around the ring move a steady state into others, so its place is known
        to the tolerance only.

        Args:
            weights: where the flow starts, shape (K, D).
            end: the time by which it must be slow.
            largest: the rate that others are compared with; the largest at the start by default.

        Returns:
            The weights, and the largest rate there relative to ``largest``.

        Raises:
            ToleranceError: no steady state is reached.
        """
        from scipy.optimize import minimize

        first = float(np.max(np.abs(self.rate(weights)))) if largest is None else largest
        run = self.run(weights, np.array([end]), tolerance=1e-6, rest=_NEARLY * first)
        shape = weights.shape
        minimum = minimize(
            lambda u: self.units * self._loss(u.reshape(shape)),
            (run.weights[-1] @ self.basis).ravel(),
            jac=lambda u: -self.fourier_rate(u.reshape(shape)).ravel(),
            hess=lambda u: -self._fourier_jacobian(u.reshape(shape)),
            method="trust-exact",
            options={"gtol": AT_REST * first, "maxiter": _STEPS},
        )
        u = minimum.x.reshape(shape)
        residual = float(np.max(np.abs(self.fourier_rate(u)))) / first
        if residual > 10.0 * AT_REST:
            raise ToleranceError(f"no steady state was reached: {minimum.message}")
        return np.asarray(u @ self.basis.T), residual

    def run(
        self, weights: Floats, times: Floats, *, tolerance: float = 1e-9, rest: float | None = None
    ) -> FlowResult:
        """Follow the flow from weights (K, D); see :func:`followed`."""
        shape = weights.shape
        return followed(
            lambda u: self.fourier_rate(u.reshape(shape)).ravel(),
            (weights @ self.basis).ravel(),
            times,
            tolerance=tolerance,
            rest=rest,
            jacobian=lambda u: self._fourier_jacobian(u.reshape(shape)),
        ).in_space(self.basis, shape)


def followed(
    rate: Callable[[Floats], Floats],
    start: Floats,
    times: Floats,
    *,
    tolerance: float,
    rest: float | None = None,
    jacobian: Callable[[Floats], Floats] | None = None,
) -> FlowResult:
    """Follow a flow until it rests, or to the last of ascending times; at rest the state is kept.

    Args:
        rate: a function of a state, as is ``jacobian``, by default computed from differences.
        start: the state at time 0.
        times: the times at which states are kept.
        tolerance: the tolerance of the integrator, relative to the size of the start.
        rest: the largest rate that counts as rest; :data:`AT_REST` times that at the start by
            default.

    Raises:
        ToleranceError: the integrator gave up.
    """
    from scipy.integrate import solve_ivp

    first = float(np.max(np.abs(rate(start))))
    slow = AT_REST * first if rest is None else rest

    def resting(_: float, state: Floats) -> float:
        return float(np.max(np.abs(rate(state))) - slow)

    resting.terminal = True  # type: ignore[attr-defined]
    run = solve_ivp(
        lambda _, state: rate(state),
        (0.0, float(times[-1])),
        start,
        method="LSODA",
        rtol=tolerance,
        atol=tolerance * float(np.max(np.abs(start))),
        events=resting,
        dense_output=True,
        jac=None if jacobian is None else lambda _, state: jacobian(state),
    )
    if run.status < 0:
        raise ToleranceError(f"the flow could not be followed: {run.message}")
    states = run.sol(np.minimum(times, run.t[-1])).T
    residual = float(np.max(np.abs(rate(run.y[:, -1]))) / first)
    return FlowResult(times, states, states[:, :0], run.status == 1, residual, int(run.nfev))


def _fields(u: Floats, spectrum: Floats) -> tuple[Floats, Floats, Floats]:
    """Return variances and angles of all pairs of fields of a class, each shape (…, K, K)."""
    q = np.sum(u**2 * np.maximum(spectrum, 0.0), axis=-1)
    down, across = np.broadcast_arrays(q[..., :, None], q[..., None, :])
    return down, across, pair_angles(u, spectrum)


def pair_angles(u: Floats, spectrum: Floats) -> Floats:
    """Return angles of all pairs of fields of one class, shape (…, K, K), from (…, K, D).

    The angle comes from the difference and the sum of unit vectors, not from the correlation,
    whose arc cosine would lose half of all digits near 0 and π.
    """
    scaled = u * np.sqrt(np.maximum(spectrum, 0.0))
    return angles(scaled[..., :, None, :], scaled[..., None, :, :])


def angles(first: Floats, second: Floats) -> Floats:
    """Return angles of vectors along the last axis; π/2 where one of them vanishes."""

    def unit(vectors: Floats) -> Floats:
        length = np.linalg.norm(vectors, axis=-1, keepdims=True)
        return np.asarray(vectors / np.where(length > 0.0, length, 1.0))

    first, second = unit(first), unit(second)
    apart = np.linalg.norm(first - second, axis=-1)
    return np.asarray(2.0 * np.arctan2(apart, np.linalg.norm(first + second, axis=-1)))
