"""What is checked of a generated solver before it is written: its functions, run as they stand.

The texts are executed uncompiled. Every scalar function is compared with the mean that its
docstring states; the readable procedures with each other by what must hold for any learning
problem; the fast right-hand side, which runs use, with one step of SGD and with the readable one.
``docs/notes/generation-check.md`` says what size of error is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from inspect import signature
from typing import Any

import numpy as np

from symderiv.learning.lowering.checked_means import (
    ROUNDING,
    check_activations,
    check_derivatives,
    check_means,
)
from symderiv.learning.lowering.checked_module import CheckedModule, GeneratedError, checked_module
from symderiv.learning.lowering.compiled_means import CompiledMeans
from symderiv.learning.lowering.motion_check import MotionCheck, drawn_vectors
from symderiv.learning.lowering.plain_learning import (
    Floats,
    Rates,
    RuleNumbers,
    Units,
    one_step,
)
from symderiv.learning.lowering.solver_files import SolverText
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.packing import Packing

__all__ = ["GeneratedError", "check_generated"]

MOST_WORK = 300
"""Turns of the innermost loop of a mean, with more of which fewer units are tried."""


def check_generated(
    text: SolverText, problem: LearningProblem, compiled: CompiledMeans | None = None
) -> None:
    """Nothing, if the functions of a solver's modules are what they say.

    Args:
        text: The modules.
        problem: What it was derived for.
        compiled: Its means by quadrature; plain Python would take minutes.

    Raises:
        GeneratedError: They are not; the message says which invariant fails and where.
    """
    module = checked_module(text, problem, compiled)
    check = _Check(module)
    with np.errstate(all="ignore"):
        try:
            check_activations(module)
            check_means(module)
            check_derivatives(module)
            check.invariants()
            rule = problem.rule
            if not rule.plain_motion or rule.momentum or rule.update_noise:
                motion = MotionCheck(rule, module.names, module.fast)
                for K, M, seed in ((2, 3, 1), (3, 1, 2)):
                    motion.agrees(drawn_vectors(K, M, seed))
            if not rule.plain_motion:
                return
            check.rates()
            if problem.same_activation and not problem.rule.dropout:
                check.learned()
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            raise GeneratedError(f"the generated module cannot be evaluated: {error}") from error


def _units(K: int, M: int, seed: int, near: tuple[tuple[int, int, float], ...] = ()) -> Units:
    """Random units with weights of both signs.

    Args:
        near: Fields, the others that they almost are, and one minus their correlation.
    """
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(K + M, K + M + 3)) / (K + M + 3) ** 0.5
    for first, second, distance in near:
        rows[first] = rows[second] + (2 * distance) ** 0.5 * rows[first]
    v, v_teacher = (np.resize(w, n) for w, n in (((0.7, -0.5, 0.9, 0.4), K), ((1.0, -0.6, 0.3), M)))
    return Units(rows @ rows.T, v, v_teacher)


def _states() -> Iterator[Units]:
    """States at which invariants are looked at."""
    yield _units(3, 2, 1)
    yield _units(3, 2, 2, ((1, 0, 1e-6), (2, 3, 1e-3)))
    yield _units(2, 3, 3, ((0, 2, 1e-9),))


def _trained(module: CheckedModule) -> Iterator[tuple[Units, bool]]:
    """States to be changed by a step, and whether with the terms of second order."""
    if module.quadrature:
        yield _units(2, 1, 4), True
        yield _units(1, 2, 5, ((0, 1, 1e-4),)), True
        return
    if module.work > MOST_WORK:
        yield _units(2, 1, 4), True
        yield _units(2, 2, 5, ((0, 2, 1e-3), (1, 0, 1e-5))), False
        return
    yield (_units(4, 2, 4) if module.work <= 1 else _units(3, 1, 4)), True
    yield _units(2, 3 if module.work <= 1 else 2, 5, ((0, 2, 1e-3), (1, 0, 1e-5))), True
    yield _units(2, 1, 8, ((0, 2, 1e-9),)), True


def numbers_of(rule: LearningRule) -> RuleNumbers:
    """Sizes of the features of a rule that make a difference."""
    sizes = RuleNumbers()
    if rule.flips:
        sizes = replace(sizes, label_flip=0.15)
    if rule.dropout:
        sizes = replace(sizes, keep=0.7, evaluation_scale=0.8)
    if rule.input_noise:
        sizes = replace(sizes, input_noise=0.6)
    return sizes


class _Check:
    """The checks of the procedures of one module."""

    def __init__(self, module: CheckedModule) -> None:
        self._checked, self._module, self._fast = module, module.names, module.fast
        self._numbers = numbers_of(module.functions.problem.rule)

    def _called(self, name: str, units: Units, *outputs: Floats) -> float:
        """A procedure at a state, its inputs by their names."""
        procedure = getattr(self._module, name)
        Q, R, T = units.overlaps
        known: dict[str, Any] = {"Q": Q, "R": R, "T": T, "v": units.v, "v_teacher": units.v_teacher}
        known |= {"label_noise": _LABEL_NOISE, **self._of_units(units)}
        names = list(signature(procedure).parameters)[: -len(outputs) or None]
        return procedure(*(known[each] for each in names), *outputs)  # type: ignore[no-any-return]

    def _of_units(self, units: Units) -> dict[str, Any]:
        """The numbers of the rule and the biases of units, by their names in modules."""
        b, c = units.both_biases
        biases = {"b": b, "student_biases": b, "teacher_biases": c}
        return {**asdict(self._numbers), **biases}

    def _error(self, units: Units) -> float:
        return float(self._called("generalization_error", units))

    def _loss(self, units: Units) -> float:
        """What descent decreases."""
        name = "mean_loss" if hasattr(self._module, "mean_loss") else "generalization_error"
        return float(self._called(name, units))

    def _gradients(self, units: Units) -> tuple[Floats, Floats, Floats]:
        K, M = len(units.v), len(units.v_teacher)
        found = np.zeros((K, K)), np.zeros((K, M)), np.zeros(K)
        self._called("gradients", units, *found)
        return found

    def invariants(self) -> None:
        """What must hold at any state."""
        for units in map(self._biased, _states()):
            self._error_at(units)
            self._slopes(units)

    def _error_at(self, units: Units) -> None:
        """Not negative, and the same where units are exchanged."""
        K, M = len(units.v), len(units.v_teacher)
        where = f"(K = {K}, M = {M})"
        error = self._error(units)
        allowed = ROUNDING * self._checked.size(units) + 30 * self._checked.stated_of_two
        if not error >= -allowed:
            raise GeneratedError(f"generalization_error {where} = {error:.6g} is negative")
        order = np.r_[np.arange(K)[::-1], K + np.roll(np.arange(M), 1)]
        exchanged = Units(
            units.covariance[np.ix_(order, order)],
            units.v[::-1],
            np.roll(units.v_teacher, 1),
            None if units.biases is None else units.biases[order],
        )
        other = self._error(exchanged)
        if not abs(other - error) <= allowed:
            raise GeneratedError(
                f"generalization_error {where} changes from {error:.9g} to {other:.9g} where units "
                "are exchanged"
            )

    def _slopes(self, units: Units) -> None:
        """Gradients against differences of the mean loss along directions."""
        K, M = len(units.v), len(units.v_teacher)
        where = f"(K = {K}, M = {M})"
        A, B, dv = self._gradients(units)
        # A change of the vectors behind the covariance stays inside of its domain, as near as it is
        # to the edge.
        rng = np.random.default_rng(6)
        step = 0.02 if self._checked.quadrature else 2e-3
        values, vectors = np.linalg.eigh(units.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0))
        for _ in range(2):
            turn = rng.normal(size=root.shape[1:] * 2) / root.shape[1]
            kick = rng.normal(size=K) / 3

            def moved(h: float, turn: Floats = turn, kick: Floats = kick) -> float:
                rows = root @ (np.eye(len(turn)) + h * turn)
                # The teachers' covariance is no argument of the gradients.
                rows[K:] = root[K:]
                return self._loss(replace(units, covariance=rows @ rows.T, v=units.v + h * kick))

            difference = (
                8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))
            ) / (12 * step)
            change = root @ turn
            change[K:] = 0
            d = change @ root.T + root @ change.T
            slope = float((A * d[:K, :K]).sum() / 2 + (B * d[:K, K:]).sum() + dv @ kick)
            size = float(np.abs(A * d[:K, :K]).sum() + np.abs(B * d[:K, K:]).sum())
            size += float(np.abs(dv * kick).sum()) + 1e-3 * self._checked.size(units)
            allowed = (1e-3 if self._checked.quadrature else 1e-6) * size
            allowed += 30 * self._checked.stated_of_two / step
            if not abs(difference - slope) <= allowed:
                raise GeneratedError(
                    f"gradients {where}: the mean loss changes by {difference:.9g} per unit of a "
                    f"direction, its derivatives say {slope:.9g}"
                )
        if not np.array_equal(A, A.T):
            raise GeneratedError(f"gradients {where}: A is not symmetric")

    def rates(self) -> None:
        """The right-hand side against one step of SGD, its part of second order by itself."""
        for number, (plain, full) in enumerate(_trained(self._checked)):
            units = self._biased(plain)
            K, M = len(units.v), len(units.v_teacher)
            where = f"(K = {K}, M = {M})"
            rates = self._rates(full)
            found = self._changes(units, rates)
            found["error"] = np.asarray(self._error(units))
            if hasattr(self._module, "mean_loss"):
                found["loss"] = np.asarray(self._loss(self._seen(units)))
            functions = self._checked.functions
            expected = one_step(functions, units, rates, 1024, number, self._numbers)
            for name, value in found.items():
                what = _SHOWN.get(name, f"right_hand_side: {name}")
                self._checked.agree(f"{what} {where}", value, *expected[name])
            if rates.full_order:
                drift = self._changes(units, replace(rates, full_order=False))
                moved = "dW" if "dW" in found else "dQ"
                noise = (found[moved] - drift[moved]) / rates.learning_rate**2
                rounding = 1e-13 * float(np.abs(found[moved]).max()) / rates.learning_rate**2
                self._positive(noise, rounding, units, where)

    def _changes(self, units: Units, rates: Rates) -> dict[str, Floats]:
        """The fast right-hand side, the one that runs use, for isotropic inputs.

        They are given as two groups of coordinates with equal overlaps.
        """
        Q, R, T = (_in_modes(overlap) for overlap in units.overlaps)
        sizes, state, parameters = self._packed(_ONES, _WEIGHTS, (Q, R, T), units, rates)
        change = np.zeros_like(state)
        self._fast.flat_right_hand_side(0.0, state, sizes, parameters, change)
        found = self._packing("state", sizes).views(change)
        return {
            "dQ": self._over_modes("dQ", found["student_overlap"]),
            "dR": self._over_modes("dR", found["cross_overlap"]),
            "dv": found["v"],
            **{shown: found[name] for name, shown in _OF_UNITS.items() if name in found},
            **{
                shown: self._over_modes(shown, found[name])
                for name, shown in _OF_VELOCITIES.items()
                if name in found
            },
        }

    def _packing(self, vector: str, sizes: Floats) -> Packing:
        """One of the vectors, as the readable module says that it is packed."""
        layout = self._module.LAYOUT
        named = dict(zip(layout["sizes"], map(int, sizes), strict=True))
        return Packing.of(layout, vector, **named)

    def _packed(
        self,
        eigenvalue: Floats,
        weight: Floats,
        overlaps: tuple[Floats, Floats, Floats],
        units: Units,
        rates: Rates,
    ) -> tuple[Floats, Floats, Floats]:
        """Sizes, state and parameters; overlaps of students, across and of teachers, modes last."""
        Q, R, T = overlaps
        named = {"K": len(Q), "M": len(T), "L": len(weight)}
        sizes = np.array([named[name] for name in self._module.LAYOUT["sizes"]])
        state = self._packing("state", sizes).packed(
            student_overlap=Q,
            cross_overlap=R,
            v=units.v,
            **self._of_rule("state", units, len(weight)),
        )
        parameters = self._packing("parameters", sizes).packed(
            eigenvalue=eigenvalue,
            weight=weight,
            teacher_overlap=T,
            T=units.overlaps[2],
            v_teacher=units.v_teacher,
            **{name: rate for name, rate in asdict(rates).items() if self._packs(name)},
            **self._of_rule("parameters", units, len(weight)),
        )
        return sizes, state, parameters

    def _seen(self, units: Units) -> Units:
        """The same units at isotropic inputs as the student sees them."""
        c = units.covariance.copy()
        c[: len(units.v), : len(units.v)] *= 1 + self._numbers.input_noise**2
        return replace(units, covariance=c)

    def _packs(self, name: str) -> bool:
        return name in self._module.LAYOUT["parameters"]

    def _rates(self, full_order: bool) -> Rates:
        """Of a step; what the rule has not is 0."""
        own = {name: rate for name, rate in _OWN_RATES.items() if self._packs(name)}
        return Rates(0.7, 0.4, 0.2, 0.1, _LABEL_NOISE, full_order, **own)

    def _biased(self, units: Units) -> Units:
        """Units with biases, and with velocities, if the rule has any."""
        rule, size, K = self._checked.functions.problem.rule, len(units.covariance), len(units.v)
        if rule.biases:
            units = replace(units, biases=np.resize(_BIASES, size))
        if rule.momentum:
            along = np.random.default_rng(11).normal(size=(K, size)) / size**0.5
            crossed = along @ units.covariance
            own = crossed @ along.T + 0.3 * np.eye(K)
            slow = np.resize([[0.4, -0.3, 0.6], [-0.5, 0.2, 0.1]], (2, K))
            units = replace(units, velocities=np.hstack([crossed, own]), slow=slow)
        return units

    def _of_rule(self, vector: str, units: Units, modes: int) -> dict[str, Any]:
        """What a vector holds besides that of plain descent."""
        momentum = {
            name: np.repeat(each[..., None], modes, axis=-1)
            for name, each in units.momentum.items()
        }
        named = {**self._of_units(units), **momentum}
        if units.slow is not None:
            named |= dict(zip(("v_velocity", "b_velocity"), units.slow, strict=True))
        return {name: named[name] for name in self._module.LAYOUT[vector] if name in named}

    def _over_modes(self, name: str, change: Floats) -> Floats:
        """The change of a covariance from those per mode, which must be equal."""
        apart = float(np.abs(change[..., 0] - change[..., 1]).max())
        if not apart <= 1e-12 * float(np.abs(change).max()):
            raise GeneratedError(f"right_hand_side: {name} of modes with equal overlaps differ")
        return np.asarray(change @ _WEIGHTS)

    def _readable(self, units: Units, rates: Rates) -> None:
        """The readable right-hand side and the fast one, with eigenvalues that differ."""
        rng = np.random.default_rng(9)
        rho, w = np.array([0.4, 1.3, 2.1]), np.array([0.5, 0.3, 0.2])
        shares = rng.uniform(0.7, 1.0, 3)
        Q, R, T = (overlap[..., None] * shares for overlap in units.overlaps)
        sizes, state, parameters = self._packed(rho, w, (Q, R, T), units, rates)
        change, found = np.zeros_like(state), np.zeros_like(state)
        self._module.flat_right_hand_side(0.0, state, sizes, parameters, found)
        self._fast.flat_right_hand_side(0.0, state, sizes, parameters, change)
        decays = 2 * rates.weight_decay, rates.weight_decay, rates.second_layer_weight_decay
        plain = Q.size + R.size + units.v.size
        decay = np.zeros_like(state)
        decay[:plain] = -np.repeat(decays, (Q.size, R.size, units.v.size)) * state[:plain]
        # beside the terms of delta: rates of almost aligned fields are small differences
        size = np.abs(change - decay).max() + 3 * self._checked.size(units)
        allowed = ROUNDING * size + 1e-13 * np.abs(change).max()
        if not np.abs(found - change).max() <= allowed:
            raise GeneratedError("right_hand_side: differs from that of the fast module")
        seen = [Q @ (w * rho), R @ w]
        shown = [np.zeros_like(each) for each in seen]
        error = self._module.flat_observables(state, sizes, parameters, *shown)
        c = units.covariance.copy()
        K = len(Q)
        c[:K, :K], c[:K, K:] = seen
        seen_units = replace(units, covariance=c)
        expected = self._error(seen_units)
        apart = [np.abs(a - b).max() for a, b in zip(seen, shown, strict=True)]
        size = self._checked.size(seen_units)
        known = np.array([np.abs(Q).max(), np.abs(R).max(), size])
        if not (np.array([*apart, abs(error - expected)]) <= ROUNDING * known).all():
            raise GeneratedError("flat_observables: differ from sums over modes and their error")

    def _positive(self, noise: Floats, rounding: float, units: Units, where: str) -> None:
        size = float(np.abs(noise).max())
        if not np.abs(noise - noise.T).max() <= ROUNDING * size + rounding:
            raise GeneratedError(f"right_hand_side {where}: Gamma is not symmetric")
        least = float(np.linalg.eigvalsh(noise)[0])
        if not least >= -ROUNDING * size - rounding - 30 * self._checked.stated:
            raise GeneratedError(
                f"right_hand_side {where}: Gamma is not positive semi-definite, its least "
                f"eigenvalue is {least:.6g}"
            )
        few = len(units.v_teacher) == 1 and self._checked.work <= MOST_WORK
        if not (few or self._checked.work <= 1):
            return
        readable = np.zeros_like(noise)
        self._called("noise", self._seen(units), readable)
        readable *= 1 + self._numbers.input_noise**2
        if not np.abs(readable - noise).max() <= 10 * ROUNDING * size + rounding:
            raise GeneratedError(f"noise {where}: differs from Gamma of the right-hand side")
        if len(noise) < 3 or self._checked.work <= 1:
            self._readable(units, self._rates(True))

    def learned(self) -> None:
        """A student that is its teacher makes no error."""
        units = _units(2, 2, 7)
        T = units.overlaps[2]
        c = np.block([[T, T], [T, T]])
        biases = np.resize(_BIASES[:2], 4) if self._biased(units).biases is not None else None
        same = Units(c, units.v_teacher, units.v_teacher, biases)
        error = self._error(same)
        size = self._checked.size(same)
        if not abs(error) <= ROUNDING * size + 30 * self._checked.stated_of_two:
            raise GeneratedError(f"generalization_error of a perfect student is {error:.6g}, not 0")


_LABEL_NOISE = 0.5
_OWN_RATES = {"bias_learning_rate": 0.3, "momentum_rate": 0.6, "update_noise": 0.35}
_OF_VELOCITIES = {"momentum_overlap": "dP", "momentum_square": "dW", "momentum_cross": "dC"}
_OF_UNITS = {"b": "db", "v_velocity": "dv_velocity", "b_velocity": "db_velocity"}
_BIASES = np.array([0.4, -0.7, 0.9, 0.2, -0.3])
_SHOWN = {"error": "generalization_error", "loss": "mean_loss"}
_ONES, _WEIGHTS = np.ones(2), np.array([0.25, 0.75])


def _in_modes(overlap: Floats) -> Floats:
    """The overlaps of two groups of coordinates that have equal ones."""
    return np.stack([overlap, overlap], axis=-1)
