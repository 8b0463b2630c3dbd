"""Student and teacher on examples: fields drawn, the error and one step of SGD as they are defined.

Nothing here knows of means in closed form. Activations are evaluated by NumPy and SciPy from their
formulas, slopes are differences of them, means are averages over points of a randomised lattice;
their standard errors come from independent randomisations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.special import ndtri
from scipy.stats import qmc

from symderiv.errors import NotYetError
from symderiv.expressions import Activation
from symderiv.gaussian import derivative
from symderiv.learning.lowering.numeric_activation import NumericActivation
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.learning.rule.loss import OUTPUT, TARGET

Floats = NDArray[np.float64]
REPLICATES = 32
"""Independent randomisations; their spread has one degree of freedom less."""
STRETCH = 1.25
"""Variance of the drawn points: more of them lie where growing activations have their weight."""
_STEP = 6e-6


@dataclass(frozen=True)
class Functions:
    """The activations at arrays of numbers."""

    problem: LearningProblem

    def value(self, teacher: bool, order: int) -> Callable[[Floats], Floats]:
        """An activation (order 0) or its slope (order 1), as a central difference."""
        function = self._pair[teacher]
        if order == 0:
            return function
        return lambda x: (function(x + _STEP) - function(x - _STEP)) / (2 * _STEP)

    def exists(self, teacher: bool, order: int) -> bool:
        """Whether :meth:`value` gives that derivative: slopes of jumps are no functions."""
        if order == 0:
            return True
        activation = self.problem.teacher if teacher else self.problem.student
        return order == 1 and not derivative(activation.expression).has(sp.DiracDelta)

    def kinks(self, teacher: bool) -> tuple[float, ...]:
        """Where an activation is not smooth, as far as that is known."""
        return self._kinks[teacher]

    @cached_property
    def loss(self) -> Callable[[Floats, Floats], Floats]:
        """ℓ(s, t)."""
        return _of_outputs(self.problem.loss.expression)

    @cached_property
    def loss_slope(self) -> Callable[[Floats, Floats], Floats]:
        """∂ℓ/∂s."""
        return _of_outputs(sp.diff(self.problem.loss.expression, OUTPUT))

    @cached_property
    def _kinks(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return _known_kinks(self.problem.student), _known_kinks(self.problem.teacher)

    @cached_property
    def _pair(self) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
        return _evaluated(self.problem.student.expression), _evaluated(
            self.problem.teacher.expression
        )


def _known_kinks(activation: Activation) -> tuple[float, ...]:
    try:
        return NumericActivation(activation.expression, activation.text).kinks
    except NotYetError:
        return ()


def _evaluated(expression: sp.Expr) -> Callable[[Floats], Floats]:
    x = sp.Symbol("x", real=True)
    # Almost everywhere: no point of a sample is a jump.
    regular = expression.replace(sp.Heaviside, lambda z, *_: (1 + sp.sign(z)) / 2)
    function = sp.lambdify(x, regular.xreplace(dict.fromkeys(regular.free_symbols, x)), "scipy")
    return lambda values: np.broadcast_to(function(values), values.shape)


def _of_outputs(expression: sp.Expr) -> Callable[[Floats, Floats], Floats]:
    function = sp.lambdify((OUTPUT, TARGET), expression, "scipy")
    return lambda s, t: np.broadcast_to(function(s, t), s.shape)


@dataclass(frozen=True)
class Sample:
    """Points (replicate, example, field) of a Gaussian and their weights (replicate, example)."""

    fields: Floats
    weights: Floats

    def mean(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Mean, its standard error, and root mean square of values (replicate, example, ...)."""
        weights = self.weights.reshape(self.weights.shape + (1,) * (values.ndim - 2))
        means = (weights * values).mean(axis=1)
        size = (weights * values**2).mean(axis=(0, 1)) ** 0.5
        return means.mean(axis=0), means.std(axis=0, ddof=1) / REPLICATES**0.5, size


def sample(covariance: Floats, examples: int, seed: int) -> Sample:
    """Fields of a covariance, which may be singular.

    Args:
        covariance: Shape (n, n), positive semi-definite.
        examples: Per replicate, a power of two.
        seed: Of the randomisation.
    """
    size = len(covariance)
    base = qmc.Sobol(size, scramble=False).random(examples)
    shifts = np.random.default_rng(seed).random((REPLICATES, 1, size))
    uniform = np.clip((base + shifts) % 1, 1e-15, 1 - 1e-15)
    z = STRETCH**0.5 * ndtri(uniform)
    weights = STRETCH ** (size / 2) * np.exp(-(z**2).sum(axis=-1) / 2 * (1 - 1 / STRETCH))
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    return Sample(z @ root.T, weights)


@dataclass(frozen=True)
class Units:
    """A state of K students and M teachers: covariance (K + M, K + M) of all fields, weights.

    ``biases`` (K + M) of all units; None for none. ``velocities`` (K, 2K + M): covariances of the
    fields of the students' velocities with all others and among themselves; ``slow`` (2, K): the
    velocities of output weights and biases.
    """

    covariance: Floats
    v: Floats
    v_teacher: Floats
    biases: Floats | None = None
    velocities: Floats | None = None
    slow: Floats | None = None

    @property
    def whole(self) -> Floats:
        """The covariance of all fields, those of velocities last."""
        if self.velocities is None:
            return self.covariance
        crossed = self.velocities[:, : len(self.covariance)]
        return np.block([[self.covariance, crossed.T], [self.velocities]])

    @property
    def momentum(self) -> dict[str, Floats]:
        """Overlaps of velocities by their names in modules."""
        if self.velocities is None:
            return {}
        K, size = len(self.v), len(self.covariance)
        names = ("momentum_overlap", "momentum_cross", "momentum_square")
        return dict(zip(names, np.split(self.velocities, [K, size], axis=1), strict=True))

    @property
    def both_biases(self) -> tuple[Floats, Floats]:
        """Of students (K) and of teachers (M)."""
        biases = np.zeros(len(self.covariance)) if self.biases is None else self.biases
        return biases[: len(self.v)], biases[len(self.v) :]

    @property
    def overlaps(self) -> tuple[Floats, Floats, Floats]:
        """Q (K, K), R (K, M) and T (M, M)."""
        K = len(self.v)
        c = self.covariance
        return c[:K, :K].copy(), c[:K, K:].copy(), c[K:, K:].copy()


@dataclass(frozen=True)
class Rates:
    """Hyperparameters of the learning rule, isotropic inputs."""

    learning_rate: float
    second_layer_learning_rate: float
    weight_decay: float
    second_layer_weight_decay: float
    label_noise: float
    full_order: bool
    bias_learning_rate: float = 0.0
    momentum_rate: float = 0.0
    update_noise: float = 0.0


@dataclass(frozen=True)
class RuleNumbers:
    """Sizes of the features of a rule; as they stand they make no difference."""

    label_flip: float = 0.0
    keep: float = 1.0
    evaluation_scale: float = 1.0
    input_noise: float = 0.0

    def drawn(self, K: int) -> Iterator[tuple[float, Floats, float]]:
        """All that may be drawn for an example: probability, kept units (K), sign of the target."""
        signs = [(1 - self.label_flip, 1.0)]
        signs += [(self.label_flip, -1.0)] if self.label_flip else []
        masks = product((0.0, 1.0), repeat=K) if self.keep < 1 else [(1.0,) * K]
        for kept in masks:
            units = int(sum(kept))
            chance = self.keep**units * (1 - self.keep) ** (K - units)
            for share, sign in signs:
                yield chance * share, np.array(kept), sign


def one_step(
    functions: Functions,
    units: Units,
    rates: Rates,
    examples: int,
    seed: int,
    numbers: RuleNumbers = RuleNumbers(),
) -> dict[str, tuple[Floats, Floats, Floats]]:
    """Mean change per unit of time by one step of SGD, by examples.

    Inputs are isotropic; the student sees them with noise σ_x. J_i loses
    (η/√N) v_i θ_i g'(x_i) ∂ℓ/∂s ξ + (κ/N) J_i, gains (σ_J/√N) ζ_i, and v_i loses
    (η_v/N) θ_i g(x_i) ∂ℓ/∂s + (κ_v/N) v_i, at s = Σ v_i θ_i g(x_i) and the target t; multiplied by
    N, for N to infinity. Over kept units θ and signs of the target is summed, fields and label
    noise are drawn.

    Returns:
        ``dQ`` (K, K), ``dR`` (K, M), ``dv`` (K), ``db`` (K), with velocities ``dP``, ``dW`` (K, K),
        ``dC`` (K, M), ``dv_velocity`` and ``db_velocity`` (K); ``loss`` and ``error``, half of
        the square of the student as it is judged less the teacher; each with its standard error and
        the size of what an example adds.
    """
    drawn, clean, added, noise = _fields(units, numbers, examples, seed)
    means = _forces(functions, units, rates, numbers, (clean, clean + added, noise))
    adds, exact = (_plain if units.velocities is None else _heavy)(means, units, rates)
    adds |= {"loss": means["loss"], "error": means["error"]}
    found = {name: drawn.mean(values) for name, values in adds.items()}
    return {name: (each[0] + exact.get(name, 0), each[1], each[2]) for name, each in found.items()}


def _forces(
    functions: Functions,
    units: Units,
    rates: Rates,
    numbers: RuleNumbers,
    drawn: tuple[Floats, Floats, Floats],
) -> dict[str, Floats]:
    """Forces times fields of weights x, of teachers z, of velocities u, and each other.

    Args:
        functions, units, rates, numbers: See :func:`one_step`.
        drawn: Fields without and with the student's noise, which it adds to fields of any vector;
            label noise.
    """
    clean, seen, noise = drawn
    K, size = len(units.v), len(units.covariance)
    x, z, u = seen[..., :K], seen[..., K:size], seen[..., size:]
    b, c = units.both_biases
    g, slopes = (functions.value(False, order) for order in (0, 1))
    outputs, taught = g(x + b), functions.value(True, 0)(clean[..., K:size] + c) @ units.v_teacher
    steepness = units.v * slopes(x + b)
    found: dict[str, Floats] = {}
    for chance, kept, sign in numbers.drawn(K):
        s, t = (outputs * kept) @ units.v, sign * taught + rates.label_noise * noise
        slope = functions.loss_slope(s, t)[..., None]
        force = steepness * kept * slope
        each = {
            "F": force,
            "Fx": force[..., :, None] * x[..., None, :],
            "Fz": force[..., :, None] * z[..., None, :],
            "Fu": force[..., :, None] * u[..., None, :],
            "FF": force[..., :, None] * force[..., None, :] * (1 + numbers.input_noise**2),
            "output": kept * outputs * slope,
            "loss": functions.loss(s, t),
        }
        found = {name: chance * part + found.get(name, 0.0) for name, part in each.items()}
    judged = numbers.evaluation_scale * (g(clean[..., :K] + b) @ units.v)
    return {**found, "error": (judged - taught) ** 2 / 2}


Changes = tuple[dict[str, Floats], dict[str, Floats]]
"""What examples add, and what is known without them."""


def _plain(means: dict[str, Floats], units: Units, rates: Rates) -> Changes:
    Q, R, _ = units.overlaps
    kappa = rates.weight_decay
    return {
        "dQ": _stepped(means["Fx"], means["FF"], rates),
        "dR": -rates.learning_rate * means["Fz"],
        "dv": -rates.second_layer_learning_rate * means["output"],
        "db": -rates.bias_learning_rate * means["F"],
    }, {
        "dQ": rates.update_noise**2 * np.eye(len(Q)) - 2 * kappa * Q,
        "dR": -kappa * R,
        "dv": -rates.second_layer_weight_decay * units.v,
    }


def _heavy(means: dict[str, Floats], units: Units, rates: Rates) -> Changes:
    """With velocities: these take the steps, weights follow them."""
    Q, R, _ = units.overlaps
    P, C, W = units.momentum.values()
    kappa, gamma = rates.weight_decay, rates.momentum_rate
    slow = np.zeros((2, len(Q))) if units.slow is None else units.slow
    return {
        "dQ": 0 * means["Fx"],
        "dR": 0 * means["Fz"],
        "dP": -rates.learning_rate * means["Fx"],
        "dW": _stepped(means["Fu"], means["FF"], rates),
        "dC": -rates.learning_rate * means["Fz"],
        "dv": 0 * means["output"],
        "db": 0 * means["F"],
        "dv_velocity": -rates.second_layer_learning_rate * means["output"],
        "db_velocity": -rates.bias_learning_rate * means["F"],
    }, {
        "dv": slow[0] - rates.second_layer_weight_decay * units.v,
        "db": slow[1],
        "dv_velocity": -gamma * slow[0],
        "db_velocity": -gamma * slow[1],
        "dQ": P + P.T - 2 * kappa * Q,
        "dR": C - kappa * R,
        "dP": W - (gamma + kappa) * P,
        "dW": rates.update_noise**2 * np.eye(len(Q)) - 2 * gamma * W,
        "dC": -gamma * C,
    }


def _stepped(drift: Floats, square: Floats, rates: Rates) -> Floats:
    """What a step adds to the overlaps of the vectors that take it."""
    found = -rates.learning_rate * (drift + np.swapaxes(drift, -1, -2))
    return found + rates.learning_rate**2 * square if rates.full_order else found


def _fields(
    units: Units, numbers: RuleNumbers, examples: int, seed: int
) -> tuple[Sample, Floats, Floats, Floats]:
    """A sample: fields of the inputs, of the noise on them (for all units), label noise."""
    size, noisy = len(units.whole), numbers.input_noise > 0
    blocks = [units.whole, *([numbers.input_noise**2 * units.whole] if noisy else [])]
    drawn = sample(block_diag(*blocks, np.eye(1)), examples, seed)
    clean, noise = drawn.fields[..., :size], drawn.fields[..., -1]
    added = drawn.fields[..., size:-1] if noisy else np.zeros(1)
    return drawn, clean, np.broadcast_to(added, clean.shape), noise
