r"""The law of a trained first layer, neuron by neuron, and the features' moments under it.

Rows f_i of the first layer are independent N(0, 1/Tr Σ) and w_i = u_i/√k. With means over the
gradient step's examples in place of their sums (the error falls with n) row i becomes

.. math:: \hat f_i = f_i + \frac{\eta}{k} u_i \Big[ \bar c_1 v
          + \sum_c \rho_c\, \bar y_c\, \frac{c_2(0, S_c)}{S_c^2}\, \Sigma_c f_i
          + \text{noise} \Big] ,\qquad S_c^2 = f_i^\top \Sigma_c f_i ,

where v = X̃ᵀỹ/m̃ has ‖v‖² = ‖E yx‖² + E y² n/m and is orthogonal to the spikes, c̄_1 is the mean
slope and the noise, of variance E y² (E σ'² - c̄_1²)/m per entry, comes from the other orders of
σ'. A neuron is described by the coordinates of f̂_i along the spikes of both components and along v
and by the norm of the rest; a sample by its component and its coordinates κ along that component's
spikes and v. Both run over nodes with weights: nothing is drawn. The teacher's direction is
uniform; its coordinates along the spikes have nodes too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from symderiv.formula import activation
from symderiv_models.one_step.field_moments import field_moments
from symderiv_models.one_step.gaussian_nodes import gaussian_nodes
from symderiv_models.one_step.network import ArrayActivation
from symderiv_models.one_step.spiked_mixture import rectified

if TYPE_CHECKING:
    from symderiv_models.one_step.setting import Setting

    Array = np.ndarray

__all__ = ["Labels", "Profile", "profile"]

# Nodes per direction of a grid, and points where it is too large: for samples, neurons, teachers.
# More nodes change errors by at most 2e-4 at α = 1/2 and 6e-3 at α = 0, β = 1, more points by 3e-3
# (largest found).
_SAMPLES: Final = (6, 128)
_NEURONS: Final = (5, 256)
_TEACHERS: Final = (4, 64)
# Grid over the fields for the mean of σ'², which enters only a small correction.
_FIELDS: Final = np.linspace(-8.0, 8.0, 4001)


@dataclass(frozen=True, eq=False)
class Labels:
    """Moments of labels given the sample's node, for nodes of the teacher.

    Args:
        weight: the weight of the teachers, shape (X,).
        mean: E[y|s], shape (X, S).
        square: E[y²|s], shape (X, S).
        along: E[y z_e|s] along the other component's spikes, shape (X, S, E).
        fresh: E[y z|s] along the rest of the teacher, shape (X, S).
    """

    weight: Array
    mean: Array
    square: Array
    along: Array
    fresh: Array


@dataclass(frozen=True, eq=False)
class Profile:
    """The features, given a sample's node s and a neuron's node t.

    The feature is mean + slope·(unit row)·z + bend·q + √rest·(independent noise), where q, of
    variance 1/(2 free), is common to all neurons: it is ‖z‖² that differs between samples.

    Args:
        samples: weights p, shape (S,).
        component: 0 or 1, shape (S,).
        neurons: weights ω, shape (T,).
        mean, slope, bend, rest: shape (S, T).
        others: coordinates of unit rows along the other component's spikes, by component, shape
            (2, E, T).
        free: the number of directions that are not special.
        labels: moments of the labels.
    """

    samples: Array
    component: Array
    neurons: Array
    mean: Array
    slope: Array
    bend: Array
    rest: Array
    others: Array
    free: int
    labels: Labels


@dataclass(frozen=True, eq=False)
class _Frame:
    """Both components in coordinates of an orthonormal basis of their spikes.

    Args:
        strengths: θ, shape (2, r).
        shares: ρ, shape (2,).
        along, across: the spikes of each component, and a basis of what is orthogonal to them
            in the span of all, shape (2, 2 r, r).
        trace: Tr Σ.
        teacher: ‖ξ‖, 0 where labels are the components.
    """

    strengths: Array
    shares: Array
    along: Array
    across: Array
    trace: float
    teacher: float

    @classmethod
    def of(cls, setting: Setting, strengths: Array) -> _Frame:
        r, a = setting.rank, setting.alignment
        one, none, root = np.eye(r), np.zeros((r, r)), math.sqrt(1.0 - a * a)
        along = np.array([np.vstack([one, none]), np.vstack([a * one, root * one])])
        across = np.array([np.vstack([none, one]), np.vstack([-root * one, a * one])])
        shares = np.array([setting.mixture_weight, 1.0 - setting.mixture_weight])
        spread = sum(s * (g * t) @ g.T for s, g, t in zip(shares, along, strengths, strict=True))
        teacher = 1.0 / math.sqrt(1.0 + float(np.linalg.norm(spread, 2)))
        if setting.task == "classification":
            teacher = 0.0
        trace = setting.n + float(strengths[0].sum())
        return cls(strengths, shares, along, across, trace, teacher)


def profile(setting: Setting, strengths: Array) -> Profile:
    """Return nodes and moments of the features of a setting.

    Args:
        setting: a setting whose mean is 0.
        strengths: θ of both components, shape (2, r), of equal sums.
    """
    r = setting.rank
    frame = _Frame.of(setting, strengths)
    label, square = _label_moments(setting, frame)
    pull = math.sqrt(square * setting.n / setting.samples + frame.teacher**2 / 4.0)
    omega, rows, length = _neurons(setting, frame, label, square, pull)
    moments = field_moments(setting.activation, 2)
    others, parts = np.zeros((2, r, omega.size)), []
    for c in np.flatnonzero(frame.shares):
        weight, kappa = gaussian_nodes(r + 1, *_SAMPLES)
        kappa = kappa * np.append(np.sqrt(1.0 + strengths[c]), 1.0)
        outside = frame.across[c].T @ rows[:-1]
        deviation = np.sqrt(length**2 + np.sum(outside**2, axis=0))
        others[c] = outside / length
        fields = kappa @ np.vstack([frame.along[c].T @ rows[:-1], rows[-1:]])
        known = moments(fields, deviation)
        c0, c1, c2 = known.coefficients
        place = np.full(weight.size, c)
        slope, rest = c1 * length / deviation, known.remainder() + 0.5 * c2**2
        parts.append((frame.shares[c] * weight, place, kappa, c0, slope, c2, rest))
    p, component, kappa, mean, slope, bend, rest = map(np.concatenate, zip(*parts, strict=True))
    labels = _labels(setting, frame, component, kappa, pull)
    free = setting.n - 2 * r - 2
    return Profile(p, component, omega, mean, slope, bend, rest, others, free, labels)


def _label_moments(setting: Setting, frame: _Frame) -> tuple[Array, float]:
    """Return E[y|c], shape (2,), and E y²."""
    if setting.task == "classification":
        return np.array([-1.0, 1.0]), 1.0
    square = frame.teacher**2 * frame.trace / setting.n
    return np.full(2, math.sqrt(square / (2.0 * math.pi))), 0.5 * square


def _neurons(
    setting: Setting, frame: _Frame, label: Array, square: float, pull: float
) -> tuple[Array, Array, Array]:
    """Return weights of nodes, coordinates along spikes and v, (2 r + 1, T), and rest norms."""
    r, n = setting.rank, setting.n
    omega, nodes = gaussian_nodes(2 * r + 2, *_NEURONS)
    t = nodes[:, :-1].T / math.sqrt(frame.trace)
    size = setting.learning_rate / setting.neurons * nodes[:, -1]
    bulk = (n - 2 * r - 1) / frame.trace
    moments = field_moments(setting.activation, 2)
    slope, stretch = np.zeros(omega.size), np.zeros(omega.size)
    turned = np.zeros_like(t[:-1])
    for c in (0, 1):
        inside = frame.along[c].T @ t[:-1]
        spread = frame.strengths[c][:, None] * inside
        S = np.sqrt(bulk + np.sum(t**2, axis=0) + np.sum(spread * inside, axis=0))
        c1, c2 = moments(np.zeros_like(S), S).coefficients[1:]
        slope += frame.shares[c] * c1 / S
        part = frame.shares[c] * label[c] * c2 / S**2
        stretch += part
        turned += part * (frame.along[c] @ spread)
    rows = t * (1.0 + size * stretch)
    rows[:-1] += size * turned
    rows[-1] += size * slope * pull
    free = square * np.maximum(_slope_square(setting, bulk) - slope**2, 0.0) * n / setting.samples
    length = np.sqrt(bulk * (1.0 + size * stretch) ** 2 + size**2 * free)
    return omega, rows, length


def _slope_square(setting: Setting, variance: float) -> float:
    """Return E σ'² for fields of this variance."""
    slope = ArrayActivation.of(activation(setting.activation)).slope
    weight = np.exp(-0.5 * _FIELDS**2)
    return float(weight @ slope(math.sqrt(variance) * _FIELDS) ** 2 / weight.sum())


def _labels(setting: Setting, frame: _Frame, component: Array, kappa: Array, pull: float) -> Labels:
    r, n, size = setting.rank, setting.n, frame.teacher
    if setting.task == "classification":
        mean = np.where(component == 0, -1.0, 1.0)[None, :]
        none = np.zeros_like(mean)
        return Labels(np.ones(1), mean, np.ones_like(mean), np.zeros((*mean.shape, r)), none)
    weight, nodes = gaussian_nodes(2 * r, *_TEACHERS)
    x = size / math.sqrt(n) * nodes
    on_v = size**2 / (2.0 * pull)
    left = np.maximum(size**2 - on_v**2 - np.sum(x**2, axis=1), 0.0)
    along, across = x @ frame.along, x @ frame.across
    fields = np.einsum("sr,sxr->xs", kappa[:, :-1], along[component]) + on_v * kappa[:, -1]
    outside = across[component].transpose(1, 0, 2)
    deviation = np.sqrt(left[:, None] + np.sum(outside**2, axis=2))
    mean, slope, square = rectified(fields, deviation)
    return Labels(weight, mean, square, slope[:, :, None] * outside, slope * np.sqrt(left)[:, None])
