"""How weights move under a rule, on explicit vectors: what a generated right-hand side must give.

The vectors are few and drawn, of two eigenspaces. Forces enter by A, B, Γ and the gradient of the
output weights, which are checked elsewhere; here it is their use that is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symderiv.learning.lowering.checked_module import GeneratedError
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.packing import Packing

Floats = NDArray[np.float64]

RATES = {
    "learning_rate": 0.7,
    "second_layer_learning_rate": 0.4,
    "weight_decay": 0.2,
    "second_layer_weight_decay": 0.1,
}
NUMBERS = {
    "batch_ratio": 0.6,
    "momentum_rate": 0.9,
    "update_noise": 0.35,
    "bias_learning_rate": 0.3,
    "input_noise": 0.6,
    "label_noise": 0.3,
    "label_flip": 0.15,
    "keep": 0.7,
    "evaluation_scale": 0.8,
    "full_order": 1.0,
}
"""Sizes of features of rules; those that a rule has not are not asked for."""
EIGENVALUES = np.array([0.6, 1.5])
_COORDINATES = np.array([30, 20])


@dataclass(frozen=True)
class Forces:
    """Means of forces at a state: A (K, K), B (K, M), Γ (K, K), ∂⟨ε⟩/∂v (K), ∂⟨ε⟩/∂b (K)."""

    student: Floats
    teacher: Floats
    noise: Floats
    output: Floats
    bias: Floats


@dataclass(frozen=True)
class Vectors:
    """Weights J (K, N), teachers φ (M, N), velocities U (K, N).

    Attributes:
        v, v_teacher, b, c: Output weights (K), (M) and biases (K), (M).
        slow: Velocities of v and b, shape (2, K).
    """

    students: Floats
    teachers: Floats
    velocities: Floats
    v: Floats
    v_teacher: Floats
    b: Floats
    c: Floats
    slow: Floats

    @property
    def weight(self) -> Floats:
        """Multiplicities over N."""
        found: Floats = _COORDINATES / _COORDINATES.sum()
        return found

    @property
    def eigenvalue(self) -> Floats:
        """Of each coordinate."""
        return np.repeat(EIGENVALUES, _COORDINATES)

    def overlaps(self, first: Floats, second: Floats) -> Floats:
        """Means of products over the coordinates of an eigenspace, modes last."""
        starts = np.r_[0, np.cumsum(_COORDINATES)[:-1]]
        products = first[:, None, :] * second[None, :, :]
        found: Floats = np.add.reduceat(products, starts, axis=-1) / _COORDINATES
        return found

    @property
    def covariances(self) -> tuple[Floats, Floats, Floats]:
        """Q, R and T; φ is the covariance of inputs and teachers' fields, times the root of N."""
        J, phi = self.students, self.teachers
        return (
            self.overlaps(J, J) @ (self.weight * EIGENVALUES),
            self.overlaps(J, phi) @ self.weight,
            self.overlaps(phi, phi) @ (self.weight / EIGENVALUES),
        )


def drawn_vectors(K: int, M: int, seed: int) -> Vectors:
    """Vectors of general position."""
    rng = np.random.default_rng(seed)
    N = int(_COORDINATES.sum())
    J, phi = (rng.normal(size=(rows, N)) for rows in (K, M))
    v, w = rng.normal(size=K), rng.normal(size=M)
    U = rng.normal(size=(K, N)) + 0.4 * phi[:1] - 0.2 * J
    b, c = rng.normal(size=K) / 2, rng.normal(size=M) / 2
    phi_k = phi * np.repeat(EIGENVALUES, _COORDINATES)
    return Vectors(J + 0.3 * phi[:1], phi_k, U, v, w, b, c, rng.normal(size=(2, K)))


def changes(rule: LearningRule, at: Vectors, forces: Forces) -> dict[str, Floats]:
    """The right-hand side of every field of the state."""
    if rule.momentum:
        return _with_velocities(rule, at, forces)
    eta, eta_v, kappa, kappa_v = RATES.values()
    J = at.students
    gradient, noise, added = _moved(rule, at, forces)
    found = {"b": -NUMBERS["bias_learning_rate"] * forces.bias}
    if rule.batches:
        moved = J - eta * gradient
        return found | {
            "student_overlap": (
                _products(at, moved) - _products(at, J) + noise / NUMBERS["batch_ratio"] + added
            ),
            "cross_overlap": at.overlaps(moved - J, at.teachers),
            "v": -eta_v * forces.output,
        }
    size = 1.0
    if rule.normalise == "gradient":
        size = float(np.sqrt(np.trace(forces.noise) * (at.weight @ seen(rule))))
    step = -eta * gradient / size - kappa * J
    noise = noise / size**2 + added
    if rule.normalise == "sphere":
        grown = (_slope(lambda h: _products(at, J + h * step)) + noise) @ (at.weight * EIGENVALUES)
        step = step - (np.diag(grown) / np.diag(at.covariances[0]) / 2)[:, None] * J
    return found | {
        "student_overlap": _slope(lambda h: _products(at, J + h * step)) + noise,
        "cross_overlap": at.overlaps(step, at.teachers),
        "v": -eta_v * forces.output - kappa_v * at.v,
    }


def _with_velocities(rule: LearningRule, at: Vectors, forces: Forces) -> dict[str, Floats]:
    """The same where velocities take the steps and weights follow them."""
    eta, eta_v, kappa, kappa_v = RATES.values()
    gamma, eta_b = NUMBERS["momentum_rate"], NUMBERS["bias_learning_rate"]
    gradient, noise, added = _moved(rule, at, forces)
    J, U = at.students, at.velocities
    of_weights, of_velocities = U - kappa * J, -gamma * U - eta * gradient

    def crossed(h: float) -> Floats:
        return at.overlaps(U + h * of_velocities, J + h * of_weights)

    return {
        "student_overlap": _slope(lambda h: _products(at, J + h * of_weights)),
        "cross_overlap": at.overlaps(of_weights, at.teachers),
        "momentum_overlap": _slope(crossed),
        "momentum_square": _slope(lambda h: _products(at, U + h * of_velocities)) + noise + added,
        "momentum_cross": at.overlaps(of_velocities, at.teachers),
        "v": at.slow[0] - kappa_v * at.v,
        "b": at.slow[1],
        "v_velocity": -gamma * at.slow[0] - eta_v * forces.output,
        "b_velocity": -gamma * at.slow[1] - eta_b * forces.bias,
    }


def seen(rule: LearningRule) -> Floats:
    """Variances of the inputs' coordinates as the student sees them, in each eigenspace."""
    return EIGENVALUES + (NUMBERS["input_noise"] ** 2 if rule.input_noise else 0.0)


def _moved(rule: LearningRule, at: Vectors, forces: Forces) -> tuple[Floats, Floats, Floats]:
    """Mean gradients (K, N); what examples and what the update's noise add to overlaps."""
    variance = np.repeat(seen(rule), _COORDINATES)
    gradient = variance * (forces.student @ at.students) + forces.teacher @ at.teachers
    noise = RATES["learning_rate"] ** 2 * forces.noise[..., None] * seen(rule)
    added = NUMBERS["update_noise"] ** 2 if rule.update_noise else 0.0
    return gradient, noise, added * np.eye(len(at.v))[..., None]


def _products(at: Vectors, first: Floats) -> Floats:
    return at.overlaps(first, first)


def _slope(function: Callable[[float], Floats]) -> Floats:
    """The derivative at 0 of a polynomial of second order, by a central difference."""
    found: Floats = (function(1.0) - function(-1.0)) / 2
    return found


@dataclass(frozen=True)
class MotionCheck:
    """The right-hand sides of two modules of a rule.

    Attributes:
        rule: The rule.
        readable, fast: The modules.
    """

    rule: LearningRule
    readable: Any
    fast: Any

    def agrees(self, at: Vectors) -> None:
        """Nothing, if both right-hand sides are the changes of the vectors' overlaps.

        Raises:
            GeneratedError: They are not.
        """
        K, M = len(at.v), len(at.v_teacher)
        known = self._known(at)
        expected = changes(self.rule, at, self._forces(known, K, M))
        named = {"K": K, "M": M, "L": len(at.weight)}
        layout = self.readable.LAYOUT
        sizes = np.array([named[name] for name in layout["sizes"]])
        packings = {name: Packing.of(layout, name, **named) for name in ("state", "parameters")}
        state, parameters = (
            packing.packed(**{name: known[name] for name in packing.shapes})
            for packing in packings.values()
        )
        for which, module in (("fast", self.fast), ("readable", self.readable)):
            change = np.zeros_like(state)
            module.flat_right_hand_side(0.0, state, sizes, parameters, change)
            for name, found in packings["state"].views(change).items():
                wanted = expected[name]
                off = np.abs(found - wanted)
                if not off.max() <= 1e-9 * np.abs(wanted).max():
                    worst = int(np.argmax(off))
                    raise GeneratedError(
                        f"right_hand_side (K = {K}, M = {M}, {which}): {name} changes by "
                        f"{found.flat[worst]:.9g}, vectors say {wanted.flat[worst]:.9g}"
                    )

    def _known(self, at: Vectors) -> Mapping[str, Any]:
        """All arguments of the modules by their names; Q is that of what the student sees."""
        J, phi, U = at.students, at.teachers, at.velocities
        students = at.overlaps(J, J)
        return {
            **NUMBERS,
            **RATES,
            "student_overlap": students,
            "cross_overlap": at.overlaps(J, phi),
            "teacher_overlap": at.overlaps(phi, phi),
            "momentum_overlap": at.overlaps(U, J),
            "momentum_square": at.overlaps(U, U),
            "momentum_cross": at.overlaps(U, phi),
            "Q": students @ (at.weight * seen(self.rule)),
            "R": at.covariances[1],
            "T": at.covariances[2],
            "eigenvalue": EIGENVALUES,
            "weight": at.weight,
            "v": at.v,
            "v_teacher": at.v_teacher,
            "b": at.b,
            "student_biases": at.b,
            "teacher_biases": at.c,
            "v_velocity": at.slow[0],
            "b_velocity": at.slow[1],
        }

    def _forces(self, known: Mapping[str, Any], K: int, M: int) -> Forces:
        """As the readable module computes them."""
        A, B, noise = np.zeros((K, K)), np.zeros((K, M)), np.zeros((K, K))
        dv, db = np.zeros(K), np.zeros(K)
        for name, outputs in (("gradients", (A, B, dv)), ("noise", (noise,))):
            self._call(name, known, outputs)
        if self.rule.trained_biases:
            self._call("bias_gradient", known, (db,))
        return Forces(A, B, noise, dv, db)

    def _call(self, name: str, known: Mapping[str, Any], outputs: tuple[Floats, ...]) -> None:
        procedure = getattr(self.readable, name)
        inputs = list(signature(procedure).parameters)[: -len(outputs)]
        procedure(*(known[each] for each in inputs), *outputs)
