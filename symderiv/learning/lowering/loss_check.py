"""What is checked of a generated solver whose means are integrals over the fields.

The texts are executed uncompiled. Their means for one student and one teacher, and what the fast
right-hand side makes of them, are compared with nested integrals, refined until they settle, of
the forces as formulas of the problem give them: over the teacher's field outside and the student's
given it inside, the other way round than modules do it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from inspect import signature
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from symderiv.gaussian import derivative
from symderiv.learning.lowering.checked_module import GeneratedError
from symderiv.learning.lowering.force_fields import along_lattice
from symderiv.learning.lowering.loss_means import LossMeans
from symderiv.learning.lowering.motion_check import MotionCheck, drawn_vectors
from symderiv.learning.lowering.numeric_activation import X
from symderiv.learning.lowering.solver_files import SolverText
from symderiv.learning.lowering.uncompiled import NO_OVERFLOW, uncompiled
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.learning.rule.loss import OUTPUT, TARGET
from symderiv.packing import Packing

Floats = NDArray[np.float64]

REACH = 8.0
MOST_PANELS = 128
NAMES = (
    *("E[F x]", "E[F y]", "second_layer_gradient", "noise"),
    *("bias_gradient", "generalization_error", "mean_loss"),
)


@dataclass(frozen=True)
class State:
    """One student and one teacher, their rule's numbers."""

    Q: float
    R: float
    T: float
    v: float
    v_teacher: float
    noise: float
    flip: float
    b: float = 0.0
    c: float = 0.0
    keep: float = 1.0
    scale: float = 1.0

    @property
    def numbers(self) -> dict[str, float]:
        """By the names of the arguments of modules."""
        return {
            "label_noise": self.noise,
            "label_flip": self.flip,
            "student_biases": self.b,
            "b": self.b,
            "teacher_biases": self.c,
            "keep": self.keep,
            "evaluation_scale": self.scale,
        }


@dataclass(frozen=True)
class Integrals:
    """Means over examples by their definition."""

    problem: LearningProblem

    @cached_property
    def _functions(self) -> tuple[Callable[..., Any], ...]:
        g, h = self.problem.student.expression, self.problem.teacher.expression
        loss = self.problem.loss.expression
        one = (sp.lambdify(X, each, "scipy") for each in (g, derivative(g), h))
        two = (sp.lambdify((OUTPUT, TARGET), e, "scipy") for e in (loss, sp.diff(loss, OUTPUT)))
        return (*one, *two)

    def means(self, state: State, tolerance: float) -> tuple[Floats, Floats]:
        """The means of :data:`NAMES`, and how far they changed in the last refinement."""
        slope = state.R / state.T
        width = math.sqrt(max(state.Q - slope * state.R, 0.0))

        def inner(second: Floats) -> Floats:
            rows = []
            for place in second:
                y = math.sqrt(state.T) * float(place)

                def at(first: Floats, y: float = y) -> Floats:
                    return _density(first) * self._example(slope * y + width * first, y, state)

                rows.append(_density(place) * refined(at, tolerance / 10)[0])
            return np.array(rows).T

        return refined(inner, tolerance)

    def _example(self, x: Floats, y: float, state: State) -> Floats:
        """Forces times fields and so on, averaged over what else is drawn; shape (7, points)."""
        g, dg, h, loss, slope = self._functions
        x = x[:, None]
        moved = x + state.b
        s, u = state.v * g(moved), state.v_teacher * h(np.array(y + state.c))
        if self.problem.rule.target == "sign":
            u = np.sign(u)
        drawn, weights = np.polynomial.hermite_e.hermegauss(48 if state.noise else 1)
        mean = weights / math.sqrt(2 * math.pi)
        total = np.zeros((7, len(x)))
        flips = ((1 - state.flip, 1.0), (state.flip, -1.0))
        masks = ((state.keep, 1.0), (1 - state.keep, 0.0))
        for (flipped, sign), (here, kept) in itertools.product(flips, masks):
            t = sign * u + state.noise * drawn
            shape = np.zeros((len(x), len(drawn)))
            f, value = slope(kept * s, t) + shape, loss(kept * s, t) + shape
            force = kept * state.v * dg(moved) * f
            parts = (force * x, force * y, kept * g(moved) * f, force**2, force, shape, value)
            total += flipped * here * np.array([part @ mean for part in parts])
        total[5] = ((state.scale * s - u) ** 2 / 2)[:, 0]
        return total


def _density(z: Floats) -> Floats:
    return np.asarray(np.exp(-z * z / 2) / math.sqrt(2 * math.pi))


def refined(function: Callable[[Floats], Floats], tolerance: float) -> tuple[Floats, Floats]:
    """An integral over [-REACH, REACH], its panels halved until it changes by less.

    Returns:
        The integral of what the function gives as its rows, and its last change.
    """
    nodes, weights = np.polynomial.legendre.leggauss(10)
    before = np.array(math.inf)
    count = 8
    while True:
        edges = np.linspace(-REACH, REACH, count + 1)
        half = REACH / count
        points = ((edges[:-1] + half)[:, None] + half * nodes).ravel()
        value = function(points) @ np.tile(half * weights, count)
        change = np.abs(value - before)
        if change.max() < tolerance or count >= MOST_PANELS:
            return value, change
        before, count = value, 2 * count


@lru_cache(maxsize=4)
def _expected(problem: LearningProblem, state: State, tolerance: float) -> tuple[Floats, Floats]:
    """Kept for texts of the same problem that are checked one after the other."""
    return Integrals(problem).means(state, tolerance)


def check_loss_module(text: SolverText, problem: LearningProblem, means: LossMeans) -> None:
    """Nothing, if the means and the rates of a solver's modules are those of its problem.

    Raises:
        GeneratedError: They are not; the message says which.
    """
    readable, fast = (uncompiled(each, NO_OVERFLOW) for each in (text.readable, text.fast))
    flip = 0.15 if problem.rule.flips else 0.0
    # along a lattice label noise would be a variable more, which takes long uncompiled
    slow = along_lattice(means.fields.flags, 1, 1, False)
    noise = 0.0 if means.fields.kinked or slow else 0.3
    tolerance = max(1e-5 if means.fields.kinked else 1e-8, 10 * means.error)
    rule = problem.rule
    plain = rule.plain_motion and not (rule.momentum or rule.update_noise or rule.input_noise)
    if not plain:
        motion = MotionCheck(rule, readable, fast)
        for seed in (1, 2):
            motion.agrees(drawn_vectors(1, 1, seed))
    b, c = (0.6, -0.4) if rule.biases else (0.0, 0.0)
    keep, scale = (0.7, 0.8) if rule.dropout else (1.0, 1.0)
    for state in (
        State(0.7, 0.5, 1.3, 0.9, 1.2, 0.0, flip, b, c, keep, scale),
        State(1.1, -0.97, 0.9, -0.8, 0.7, noise, 0.0, -b, 2 * c, keep),
    ):
        expected, change = _expected(problem, state, tolerance)
        found = means_of(readable, state)
        allowed = 3 * (tolerance + change) * (1 + np.abs(expected))
        _agree(found, expected, allowed, state)
        if not plain:
            continue  # rates were looked at with the means of the readable module
        rates = _rates_of(fast, readable.LAYOUT, state)
        _agree(rates, expected[: rates.size], allowed[: rates.size], state)


def _agree(found: Floats, expected: Floats, allowed: Floats, state: State) -> None:
    for name, value, known, bound in zip(NAMES, found, expected, allowed, strict=False):
        if not (math.isnan(value) and name == "bias_gradient") and not abs(value - known) <= bound:
            raise GeneratedError(
                f"{name} = {value:.9g}, but its definition gives {known:.9g} at {state}"
            )


def means_of(module: Any, state: State) -> Floats:
    """The means of :data:`NAMES` in a module; those of biases that are not trained are NaN."""
    known: dict[str, Any] = {
        "Q": np.array([[state.Q]]),
        "R": np.array([[state.R]]),
        "T": np.array([[state.T]]),
        "v": np.array([state.v]),
        "v_teacher": np.array([state.v_teacher]),
        **state.numbers,
    }
    for name in ("b", "student_biases", "teacher_biases"):
        known[name] = np.array([known[name]])

    def called(function: Callable[..., Any], *results: Floats) -> Any:
        names = list(signature(function).parameters)
        return function(*(known[name] for name in names[: len(names) - len(results)]), *results)

    A, B, Gamma, dv, db = np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1)), *np.zeros((2, 1))
    called(module.gradients, A, B, dv)
    called(module.noise, Gamma)
    if hasattr(module, "bias_gradient"):
        called(module.bias_gradient, db)
    else:
        db[:] = math.nan
    along = A * known["Q"] + B * known["R"], A * known["R"] + B * known["T"]
    values = (*(each.item() for each in along), dv.item(), Gamma.item(), db.item())
    return np.array([*values, called(module.generalization_error), called(module.mean_loss)])


def _rates_of(module: Any, layout: Any, state: State) -> Floats:
    """The means that the rates for isotropic inputs are made of."""
    sizes = np.array([1, 1, 1])
    named = {"K": 1, "M": 1, "L": 1}

    def packed(vector: str, **values: float) -> Floats:
        packing = Packing.of(layout, vector, **named)
        arrays = {n: np.full([1] * len(axes), values[n]) for n, axes in layout[vector].items()}
        return packing.packed(**{n: a if a.shape else float(a) for n, a in arrays.items()})

    overlaps = {"student_overlap": state.Q, "cross_overlap": state.R, "v": state.v}
    vector = packed("state", **overlaps, **state.numbers)
    rates = []
    for order in (0.0, 1.0):
        parameters = packed(
            "parameters",
            eigenvalue=1.0,
            weight=1.0,
            teacher_overlap=state.T,
            T=state.T,
            v_teacher=state.v_teacher,
            learning_rate=1.0,
            second_layer_learning_rate=1.0,
            bias_learning_rate=1.0,
            weight_decay=0.0,
            second_layer_weight_decay=0.0,
            full_order=order,
            **state.numbers,
        )
        change = np.zeros_like(vector)
        module.flat_right_hand_side(0.0, vector, sizes, parameters, change)
        rates.append(change)
    (first, second, third, *biases), (whole, *_) = rates
    return np.array([-first / 2, -second, -third, whole - first, *(-each for each in biases)])
