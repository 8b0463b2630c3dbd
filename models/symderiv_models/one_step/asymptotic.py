r"""The error of ridge on the conditional Gaussian map, averaged over first layers by equations.

Given the first layer, leaving one sample out gives the equations of
:mod:`symderiv_models.one_step.ridge_equations`. With M_s = E[φφᵀ|s], effective weights W_s of the
samples' nodes, and

.. math:: \Omega(W) = \tfrac1m \log\det\Big(\lambda + \sum_s W_s M_s\Big) ,\qquad
          L(W) = \min_w \Big\{ \sum_s W_s E[(y - w^\top\varphi)^2|s] + \lambda\|w\|^2 \Big\}

they are W_s = p_s/(1 + ∂Ω/∂W_s), and L(W) is the least value of the training objective. Adding ε
times the error on fresh examples to that objective adds ε p_s to W_s: the test error is

.. math:: \frac{d}{d\varepsilon} L(W)\Big|_{\varepsilon=0} ,\qquad
          W_s = \frac{p_s}{1 + \partial_s\Omega(W)} + \varepsilon p_s ,

and the training error follows in the same way from a factor 1 + ε of the training loss. Both
derivatives are taken by a complex step of 1e-30, which rounds nowhere.

The average over first layers is by deterministic equivalents. Rows outside of the special
directions are independent Gaussian vectors; all else about a neuron is its node t
(:mod:`symderiv_models.one_step.neuron_law`). With slopes h_s(t) and remainders ρ_s²(t), the
resolvent of the bulk is diagonal in the limit,

.. math:: q(t) = \Big[\lambda + \tfrac1k \sum_s W_s \rho_s^2 + \tfrac1k\, h^\top T h\Big]^{-1},\quad
          T^{-1} = \mathrm{diag}(W)^{-1} + \tfrac1{n'} E_t[q\, h h^\top] ,\quad
          \tfrac{\partial\Omega}{\partial W_s} = \tfrac1m \Big( E_t[q \rho_s^2]
          + n'\, \frac{W_s - T_{ss}}{W_s^2} \Big)

(the matrices are of S × S; a sample covariance whose rows have different covariances e e^⊤ ⊗ 1:
Z. Bai and J. Silverstein, Spectral analysis of large dimensional random matrices, 2010; with one s
and one t these are the equations of random features of S. Mei and A. Montanari, arXiv:1908.05355).
The means and the few special directions are terms of finite rank in t, which L takes in full. Left
out are terms of relative order 1/n.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import qmc

from symderiv.foundation.errors import ToleranceError
from symderiv_models.one_step.neuron_law import profile
from symderiv_models.one_step.ridge_equations import RidgeErrors
from symderiv_models.one_step.setting import ASYMPTOTIC, Setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symderiv_models.one_step.neuron_law import Profile

    Array = np.ndarray

__all__ = ["asymptotic_errors", "solved"]

#: Values, the same for all settings, of keys that do not change the result.
_IRRELEVANT: Final = {
    "seed": 0, "trials": 1, "test_samples": 2, "degree": None, "models": ["network", ASYMPTOTIC],
}  # fmt: skip
#: Number of points in place of strengths that are drawn; a power of 2.
_DRAWS: Final = 32
_STEP: Final = 1e-30
_TOLERANCE: Final = 1e-9
_ITERATIONS: Final = 5000
# Singular values of slopes (by sample and neuron) below this part of the largest are left out.
_NEGLIGIBLE: Final = 1e-3


def asymptotic_errors(setting: Setting, strengths: Array | None = None) -> RidgeErrors:
    """Return errors of a setting; its seed, trials and test samples do not matter.

    Args:
        setting: the setting.
        strengths: θ of both components, shape (2, r), of equal sums; None averages over those that
            are drawn, at points of a quasi-random rule.

    Raises:
        InputError: There are more spikes than nodes are for, or the components have means.
        ToleranceError: The fixed point was not reached.
    """
    # so the checks of the model of this name apply
    keys = {**setting.model_dump(exclude_unset=True), **_IRRELEVANT}
    given = None if strengths is None else tuple(map(tuple, strengths.tolist()))
    return _averaged(json.dumps(keys, sort_keys=True), given)


@lru_cache(maxsize=256)
def _averaged(keys: str, strengths: tuple[tuple[float, ...], ...] | None) -> RidgeErrors:
    setting = Setting._made(json.loads(keys))
    chosen = _strengths(setting) if strengths is None else [np.array(strengths)]
    errors = [
        solved(profile(setting, each), setting.neurons, setting.samples, setting.ridge)
        for each in chosen
    ]
    test, training = (np.array([getattr(e, name) for e in errors]) for name in ("test", "training"))
    return RidgeErrors(float(test.mean()), float(training.mean()))


def _strengths(setting: Setting) -> Iterator[Array]:
    """Yield θ of both components, shape (2, r), in place of those that the mixture draws."""
    r = setting.rank
    if setting.spikes == "equal":
        yield np.full((2, r), setting.spike)
        return
    for point in qmc.Sobol(2 * r, rng=1).random(_DRAWS):
        strengths = setting.spike * point.reshape(2, r)
        strengths[1] *= strengths[0].sum() / strengths[1].sum()
        yield strengths


def solved(features: Profile, neurons: int, samples: int, constant: float) -> RidgeErrors:
    """Return errors of ridge on features with a given law.

    Args:
        features: the law, on nodes.
        neurons: k.
        samples: m.
        constant: λ.

    Raises:
        ToleranceError: The fixed point was not reached.
    """
    equations = _Equations(features, neurons, samples, constant)
    start = equations.fixed_point(None, 0.0, 0.0)
    errors = []
    for test, training in ((_STEP, 0.0), (0.0, _STEP)):
        state = equations.fixed_point(start, test, training)
        errors.append(float(equations.least(state).imag) / _STEP)
    return RidgeErrors(*errors)


@dataclass(frozen=True, eq=False)
class _State:
    """The solution of the equations: q, shape (T,), δ and W, shape (S,)."""

    q: Array
    delta: Array
    W: Array


class _Equations:
    """The equations of the fixed point, and the objective L at it."""

    def __init__(self, features: Profile, neurons: int, samples: int, constant: float) -> None:
        self.features, self.k, self.m, self.constant = features, neurons, samples, constant
        # h_s(t) = Σ_r C_rs U_rt with few r
        p, omega = np.sqrt(features.samples)[:, None], np.sqrt(features.neurons)
        left, values, right = np.linalg.svd(p * features.slope * omega, full_matrices=False)
        used = values > _NEGLIGIBLE * values[0]
        self.C, self.U = (left[:, used] * values[used] / p).T, right[used] / omega

    def fixed_point(self, start: _State | None, test: float, training: float) -> _State:
        f = self.features
        p = f.samples
        if start is None:
            start = _State(np.full(f.neurons.size, 1.0), np.full(p.size, self.k / self.m), p)
        more = 1.0 + 1j * training if training else 1.0
        q, delta = start.q, start.delta
        if test or training:
            q, delta = q + 0j, delta + 0j
        for _ in range(_ITERATIONS):
            W = p * more / (1.0 + more * delta) + (1j * test * p if test else 0.0)
            P = (self.U * (f.neurons * q)) @ self.U.T / f.free
            M = (self.C * W) @ self.C.T
            # T = W - W Cᵀ P (1 + M P)^{-1} C W in the space of the slopes
            inner = np.linalg.solve(np.eye(len(M)) + P @ M, P)
            T = M - M @ inner @ M
            own = np.sum(self.U * (T @ self.U), axis=0)
            new_q = 1.0 / (self.constant + (W @ f.rest + own) / self.k)
            new_delta = (
                f.rest @ (f.neurons * q) + f.free * np.sum(self.C * (inner @ self.C), axis=0)
            ) / self.m
            changes = [_change(new_q, q), _change(new_delta, delta)]
            q, delta = new_q, new_delta
            if max(changes) < _TOLERANCE:
                return _State(q, delta, W)
        raise ToleranceError(f"the asymptotic equations still change by {max(changes):.1g}")

    def least(self, state: _State) -> complex:
        """Return L(W), averaged over teachers."""
        f, W = self.features, state.W
        D = f.neurons * state.q
        y = f.labels
        kernel = _gram(f.mean, W) + _gram(f.bend, W) / (2.0 * f.free)
        target = (y.mean * W) @ f.mean
        for c in (0, 1):
            ours = f.component == c
            slope, others = f.slope[ours], f.others[c]
            kernel += _gram(slope, W[ours]) * (others.T @ others)
            weighted = np.einsum("xse,s,st->xet", y.along[:, ours], W[ours], slope, optimize=True)
            target += np.einsum("xet,et->xt", weighted, others)
        fresh = (y.fresh * W) @ f.slope
        total = y.weight @ (y.square @ W)
        total -= y.weight @ _explained(D, kernel, target)
        total -= y.weight @ _explained(D / f.free, _gram(f.slope, W), fresh)
        return complex(total)


def _gram(rows: Array, weight: Array) -> Array:
    """Return Σ_s W_s r_s r_sᵀ of real rows."""
    gram: Array = (rows.T * weight.real) @ rows
    if np.iscomplexobj(weight):
        gram = gram + 1j * ((rows.T * weight.imag) @ rows)
    return gram


def _explained(D: Array, kernel: Array, target: Array) -> Array:
    """Return bᵀ(D^{-1} + K)^{-1} b for each row b of the target."""
    root = np.sqrt(D)
    whole = np.eye(D.size) + root[:, None] * kernel * root
    right = (target * root).T
    explained: Array = np.sum(right * np.linalg.solve(whole, right), axis=0)
    return explained


def _change(new: Array, old: Array) -> float:
    """Return the largest relative change; that of imaginary parts is relative to the largest."""
    change = float(np.max(abs(new.real - old.real) / abs(new.real)))
    if np.iscomplexobj(new):
        scale = float(np.max(abs(new.imag)))
        change = max(change, float(np.max(abs(new.imag - old.imag))) / scale)
    return change
