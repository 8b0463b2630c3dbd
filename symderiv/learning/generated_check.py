"""What is checked of a generated module before it is written: its own functions, run as they stand.

The text is executed uncompiled. Every scalar function is compared with the mean that its docstring
states; the procedures with each other by what must hold for any learning problem; the right-hand
side with one step of SGD. ``docs/notes/generation-check.md`` says what size of error is noticed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.stats import t as student_t

from symderiv.errors import SymderivError
from symderiv.learning.plain_learning import (
    REPLICATES,
    Floats,
    Functions,
    Rates,
    Sample,
    Units,
    one_step,
    sample,
)
from symderiv.learning.problem import LearningProblem
from symderiv.learning.uncompiled import uncompiled

FALSE_ALARMS = 1e-6
"""Probability that a right module is refused, over the randomisation of the examples."""
COMPARISONS = 200
"""More than a module has sampled numbers; each gets its share of :data:`FALSE_ALARMS`."""
LIMIT = float(student_t.isf(FALSE_ALARMS / COMPARISONS / 2, REPLICATES - 1))
ROUNDING = 1e-9
MOST_WORK = 300
"""Turns of the innermost loop of a mean, with more of which fewer units are tried."""
_FACTOR = re.compile(r"([gh])('*)\((\w)\)")


class GeneratedError(SymderivError):
    """A generated module gives numbers that cannot be right; it was not written."""


@dataclass(frozen=True)
class Mean:
    """A scalar function of the module and the mean that it states.

    ``factors``: whether it is the teacher's, the order of its derivative, and its field.
    """

    name: str
    function: Callable[..., float]
    factors: tuple[tuple[bool, int, int], ...]
    scale: float

    @property
    def fields(self) -> int:
        """The number of distinct fields."""
        return max(field for *_, field in self.factors) + 1


def check_generated(text: str, problem: LearningProblem) -> None:
    """Nothing, if the functions of a module are what they say.

    Args:
        text: The module.
        problem: What it was derived for.

    Raises:
        GeneratedError: They are not; the message says which invariant fails and where.
    """
    check = _Check(text, Functions(problem))
    with np.errstate(all="ignore"):
        try:
            check.means()
            check.derivatives()
            check.invariants()
            check.rates()
            if problem.same_activation:
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


def _states(rules: bool) -> Iterator[Units]:
    """States at which invariants are looked at; few where every mean is a rule of quadrature."""
    if rules:
        yield _units(2, 1, 2, ((1, 0, 1e-3),))
        return
    yield _units(3, 2, 1)
    yield _units(3, 2, 2, ((1, 0, 1e-6), (2, 3, 1e-3)))
    yield _units(2, 3, 3, ((0, 2, 1e-9),))


def _trained(rules: bool, work: int) -> Iterator[tuple[Units, bool]]:
    """States to be changed by a step, and whether with the terms of second order."""
    if rules:
        yield _units(2, 1, 4), False
        yield _units(1, 2, 5, ((0, 1, 1e-4),)), False
        return
    if work > MOST_WORK:
        yield _units(2, 1, 4), True
        yield _units(2, 2, 5, ((0, 2, 1e-3), (1, 0, 1e-5))), False
        return
    yield (_units(4, 2, 4) if work <= 1 else _units(3, 1, 4)), True
    yield _units(2, 3 if work <= 1 else 2, 5, ((0, 2, 1e-3), (1, 0, 1e-5))), True
    yield _units(2, 1, 8, ((0, 2, 1e-9),)), True


class _Check:
    """The checks of one module."""

    def __init__(self, text: str, functions: Functions) -> None:
        self._module = module = uncompiled(text)
        self._functions = functions
        method = getattr(module, "ACTIVATION_METHOD", "closed form")
        self._rules = method == "quadrature"
        self._work = _work(text, module)
        self._stated = self._stated_error(method)

    def _stated_error(self, method: str) -> float:
        """Of a mean of factors of order one."""
        if method == "closed form":
            return 0.0
        error = float(self._module.ACTIVATION_ERROR)
        return error + float(self._module.ACTIVATION_DERIVATIVE_ERROR)

    # Scalar functions.

    def means(self) -> None:
        """Every mean within its Hölder bound, and what its definition gives."""
        found = list(self._means())
        examples = 4096 if len(found) < 12 else 1024
        for number, mean in enumerate(found):
            if self._rules and len(mean.factors) > 2:
                continue
            for place, covariance in enumerate(_covariances(mean.fields)):
                value = mean.function(*_triangle(covariance))
                bound = self._bound(mean, covariance)
                if not abs(value) <= bound * (1 + 1e-4) + 10 * self._stated + 1e-13:
                    raise GeneratedError(
                        f"{mean.name}({_listed(covariance)}) = {value:.6g} is outside of its "
                        f"Cauchy-Schwarz bound {bound:.6g}"
                    )
                if place < 2:
                    drawn = sample(covariance, examples, 2 * number + place)
                    self._sampled(mean, covariance, value, drawn)

    def _means(self) -> Iterator[Mean]:
        """Functions of the module whose factors are all functions (no derivative of a slope)."""
        for name, function in sorted(vars(self._module).items()):
            if not re.match(r"i\d", name):
                continue
            found = _FACTOR.findall(function.__doc__ or "")
            letters = sorted({letter for *_, letter in found})
            factors = tuple((f == "h", len(o), letters.index(letter)) for f, o, letter in found)
            if found and all(self._functions.exists(teacher, n) for teacher, n, _ in factors):
                half = str(function.__doc__).startswith("1/2")
                yield Mean(name, function, factors, 0.5 if half else 1.0)

    def _bound(self, mean: Mean, covariance: Floats) -> float:
        """The product of the factors' p-norms, p their number."""
        z = np.linspace(-12, 12, 4800)
        density = np.exp(-(z**2) / 2) / (2 * np.pi) ** 0.5 * (z[1] - z[0])
        power = len(mean.factors)
        bound = mean.scale
        for teacher, order, field in mean.factors:
            values = self._functions.value(teacher, order)(z * covariance[field, field] ** 0.5)
            bound *= float((np.abs(values) ** power * density).sum()) ** (1 / power)
        return bound

    def derivatives(self) -> None:
        """Functions that say that they are derivatives of another one, against differences."""
        step = 0.02 if self._rules else 1e-3
        for name, function in sorted(vars(self._module).items()):
            stated = re.search(r"= dI2/dc1([12])\b", getattr(function, "__doc__", None) or "")
            whole = getattr(self._module, re.sub(r"^i2_1[12]", "i2", name), None)
            if stated is None or whole is None or not name.startswith("i2_1"):
                continue
            at = np.array([1.1, 0.4, 0.8])
            moved = step * np.eye(3)[int(stated[1]) - 1]
            values = [whole(*(at + n * moved)) for n in (1, -1, 2, -2)]
            slope = (8 * (values[0] - values[1]) - (values[2] - values[3])) / (12 * step)
            value = function(*at)
            allowed = (1e-4 if self._rules else 1e-8) * (1 + abs(slope)) + 3 * self._stated / step
            if not abs(value - slope) <= allowed:
                raise GeneratedError(
                    f"{name}(1.1, 0.4, 0.8) = {value:.9g}, but the slope of {whole.__name__} is "
                    f"{slope:.9g}"
                )

    def _sampled(self, mean: Mean, covariance: Floats, value: float, drawn: Sample) -> None:
        values = np.full(drawn.weights.shape, mean.scale)
        for teacher, order, field in mean.factors:
            values = values * self._functions.value(teacher, order)(drawn.fields[..., field])
        expected, error = drawn.mean(values)
        self._agree(f"{mean.name}({_listed(covariance)})", value, expected, error)

    def _agree(self, what: str, value: Any, expected: Any, error: Any) -> None:
        """Two numbers (or arrays) within what the sample and the module's error allow."""
        value, expected, error = np.asarray(value), np.asarray(expected), np.asarray(error)
        allowed = LIMIT * error + 10 * self._stated + 1e-7 * (1 + np.abs(expected))
        far = ~(np.abs(value - expected) <= allowed)
        if far.any():
            place = tuple(int(n) for n in np.argwhere(far)[0])
            raise GeneratedError(
                f"{what}{list(place) if place else ''} = {value[place]:.6g}, but its definition "
                f"gives {expected[place]:.6g} ± {error[place]:.1g} on examples"
            )

    # Procedures.

    def _error(self, units: Units) -> float:
        value = self._module.generalization_error(*units.overlaps, units.v, units.v_teacher)
        return float(value)

    def _gradients(self, units: Units) -> tuple[Floats, Floats, Floats]:
        K, M = len(units.v), len(units.v_teacher)
        found = np.zeros((K, K)), np.zeros((K, M)), np.zeros(K)
        self._module.gradients(*units.overlaps, units.v, units.v_teacher, *found)
        return found

    def invariants(self) -> None:
        """What must hold at any state."""
        for units in _states(self._rules):
            self._error_at(units)
            self._slopes(units)

    def _error_at(self, units: Units) -> None:
        """Not negative, and the same where units are exchanged."""
        K, M = len(units.v), len(units.v_teacher)
        where = f"(K = {K}, M = {M})"
        error = self._error(units)
        scale = 1 + abs(error)
        allowed = ROUNDING * scale + 30 * self._stated
        if not error >= -allowed:
            raise GeneratedError(f"generalization_error {where} = {error:.6g} is negative")
        order = np.r_[np.arange(K)[::-1], K + np.roll(np.arange(M), 1)]
        exchanged = Units(
            units.covariance[np.ix_(order, order)], units.v[::-1], np.roll(units.v_teacher, 1)
        )
        other = self._error(exchanged)
        if not abs(other - error) <= allowed:
            raise GeneratedError(
                f"generalization_error {where} changes from {error:.9g} to {other:.9g} where units "
                "are exchanged"
            )

    def _slopes(self, units: Units) -> None:
        """Gradients against differences of the error along directions."""
        K, M = len(units.v), len(units.v_teacher)
        where = f"(K = {K}, M = {M})"
        A, B, dv = self._gradients(units)
        # A change of the vectors behind the covariance stays inside of its domain, as near as it is
        # to the edge.
        rng = np.random.default_rng(6)
        step = 0.02 if self._rules else 2e-3
        values, vectors = np.linalg.eigh(units.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0))
        for _ in range(1 if self._rules else 2):
            turn = rng.normal(size=root.shape[1:] * 2) / root.shape[1]
            kick = rng.normal(size=K) / 3

            def moved(h: float, turn: Floats = turn, kick: Floats = kick) -> float:
                rows = root @ (np.eye(len(turn)) + h * turn)
                # The teachers' covariance is no argument of the gradients.
                rows[K:] = root[K:]
                return self._error(Units(rows @ rows.T, units.v + h * kick, units.v_teacher))

            difference = (
                8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))
            ) / (12 * step)
            change = root @ turn
            change[K:] = 0
            d = change @ root.T + root @ change.T
            slope = float((A * d[:K, :K]).sum() / 2 + (B * d[:K, K:]).sum() + dv @ kick)
            size = float(np.abs(A * d[:K, :K]).sum() + np.abs(B * d[:K, K:]).sum()) + 1e-3
            allowed = (1e-3 if self._rules else 1e-6) * size + 30 * self._stated / step
            if not abs(difference - slope) <= allowed:
                raise GeneratedError(
                    f"gradients {where}: the error changes by {difference:.9g} per unit of a "
                    f"direction, its derivatives say {slope:.9g}"
                )
        if not np.array_equal(A, A.T):
            raise GeneratedError(f"gradients {where}: A is not symmetric")

    def rates(self) -> None:
        """The right-hand side against one step of SGD, its part of second order by itself."""
        for number, (units, full) in enumerate(_trained(self._rules, self._work)):
            K, M = len(units.v), len(units.v_teacher)
            where = f"(K = {K}, M = {M})"
            rates = Rates(0.7, 0.4, 0.2, 0.1, 0.5, full_order=full)
            found = self._changes(units, rates)
            found["error"] = np.asarray(self._error(units))
            expected = one_step(self._functions, units, rates, 1024, number)
            for name, value in found.items():
                what = "generalization_error" if name == "error" else f"right_hand_side: {name}"
                self._agree(f"{what} {where}", value, *expected[name])
            if rates.full_order:
                drift = self._changes(units, replace(rates, full_order=False))
                self._positive((found["dQ"] - drift["dQ"]) / rates.learning_rate**2, units, where)

    def _changes(self, units: Units, rates: Rates) -> dict[str, Floats]:
        """The flat right-hand side, the one that runs use, for isotropic inputs.

        They are given as two groups of coordinates with equal overlaps.
        """
        Q, R, T = (_in_modes(overlap) for overlap in units.overlaps)
        state = np.concatenate([Q.ravel(), R.ravel(), units.v])
        own = (_ONES, _WEIGHTS, T.ravel(), units.overlaps[2].ravel(), units.v_teacher)
        parameters = np.concatenate([*own, [float(number) for number in astuple(rates)]])
        change = np.zeros_like(state)
        sizes = np.array([len(Q), len(T), 2])
        self._module.flat_right_hand_side(0.0, state, sizes, parameters, change)
        d_q, d_r, d_v = np.split(change, [Q.size, Q.size + R.size])
        return {
            "dQ": self._over_modes("dQ", d_q.reshape(Q.shape)),
            "dR": self._over_modes("dR", d_r.reshape(R.shape)),
            "dv": d_v,
        }

    def _over_modes(self, name: str, change: Floats) -> Floats:
        """The change of a covariance from those per mode, which must be equal."""
        apart = float(np.abs(change[..., 0] - change[..., 1]).max())
        if not apart <= 1e-12 * (1 + float(np.abs(change).max())):
            raise GeneratedError(f"right_hand_side: {name} of modes with equal overlaps differ")
        return np.asarray(change @ _WEIGHTS)

    def _readable(self, units: Units, rates: Rates) -> None:
        """The procedure on named arrays and the flat one, with eigenvalues that differ."""
        rng = np.random.default_rng(9)
        rho, w = np.array([0.4, 1.3, 2.1]), np.array([0.5, 0.3, 0.2])
        shares = rng.uniform(0.7, 1.0, 3)
        Q, R, T = (overlap[..., None] * shares for overlap in units.overlaps)
        found = np.zeros_like(Q), np.zeros_like(R), np.zeros_like(units.v)
        numbers = [float(number) for number in astuple(rates)]
        whole = units.overlaps[2]
        self._module.right_hand_side(
            Q, R, units.v, rho, w, T, whole, units.v_teacher, *numbers, *found
        )
        state = np.concatenate([Q.ravel(), R.ravel(), units.v])
        vectors = (rho, w, T.ravel(), whole.ravel(), units.v_teacher, numbers)
        change = np.zeros_like(state)
        sizes = np.array([len(Q), len(T), 3])
        parameters = np.concatenate(vectors)
        self._module.flat_right_hand_side(0.0, state, sizes, parameters, change)
        whole = np.concatenate([each.ravel() for each in found])
        if not np.abs(whole - change).max() <= ROUNDING * (1 + np.abs(change).max()):
            raise GeneratedError("right_hand_side: differs from flat_right_hand_side")
        seen = [Q @ (w * rho), R @ w]
        shown = [np.zeros_like(each) for each in seen]
        error = self._module.flat_observables(state, sizes, parameters, *shown)
        c = units.covariance.copy()
        K = len(Q)
        c[:K, :K], c[:K, K:] = seen
        expected = self._error(Units(c, units.v, units.v_teacher))
        apart = [np.abs(a - b).max() for a, b in zip(seen, shown, strict=True)]
        if not max(*apart, abs(error - expected)) <= ROUNDING * (1 + abs(expected)):
            raise GeneratedError("flat_observables: differ from sums over modes and their error")

    def _positive(self, noise: Floats, units: Units, where: str) -> None:
        size = float(np.abs(noise).max())
        if not np.abs(noise - noise.T).max() <= ROUNDING * size:
            raise GeneratedError(f"right_hand_side {where}: Gamma is not symmetric")
        least = float(np.linalg.eigvalsh(noise)[0])
        if not least >= -ROUNDING * size - 30 * self._stated:
            raise GeneratedError(
                f"right_hand_side {where}: Gamma is not positive semi-definite, its least "
                f"eigenvalue is {least:.6g}"
            )
        few = len(units.v_teacher) == 1 and self._work <= MOST_WORK
        if not (few or self._work <= 1):
            return
        readable = np.zeros_like(noise)
        self._module.noise(*units.overlaps, units.v, units.v_teacher, 0.5, readable)
        if not np.abs(readable - noise).max() <= 10 * ROUNDING * size:
            raise GeneratedError(f"noise {where}: differs from Gamma of the right-hand side")
        self._readable(units, Rates(0.7, 0.4, 0.2, 0.1, 0.5, full_order=True))

    def learned(self) -> None:
        """A student that is its teacher makes no error."""
        units = _units(1, 1, 7) if self._rules else _units(2, 2, 7)
        T = units.overlaps[2]
        c = np.block([[T, T], [T, T]])
        error = self._error(Units(c, units.v_teacher, units.v_teacher))
        if not abs(error) <= ROUNDING * (1 + float(np.trace(T))) + 30 * self._stated:
            raise GeneratedError(f"generalization_error of a perfect student is {error:.6g}, not 0")


def _work(text: str, module: SimpleNamespace) -> int:
    """How often the innermost loop of the largest sum over a mixture turns."""
    loops = re.findall(r"for k(\d+)\w* in range\((\w+)\)", text)
    depth = max((int(number) for number, _ in loops), default=0)
    # A mean of waves and signs is itself a sum.
    inner = 32 if depth and "_tilted_signs(" in text else 1
    return inner * int(max((getattr(module, size) for _, size in loops), default=0) ** depth)


def _covariances(size: int) -> Iterator[Floats]:
    """Two usual ones with correlations of either sign first, then almost aligned fields."""
    for seed, sign in ((10, 1), (20, -1), (30, 1), (40, -1)):
        rng = np.random.default_rng(seed + size)
        rows = rng.normal(size=(size, size + 2)) / (size + 2) ** 0.5
        rows += 0.8 * rng.normal(size=size + 2) / (size + 2) ** 0.5
        if seed > 20 and size > 1:
            rows[0] = rows[1] + (0.05 if sign > 0 else 1e-4) * rows[0]
        rows[0] *= sign
        yield rows @ rows.T


_ONES, _WEIGHTS = np.ones(2), np.array([0.25, 0.75])


def _in_modes(overlap: Floats) -> Floats:
    """The overlaps of two groups of coordinates that have equal ones."""
    return np.stack([overlap, overlap], axis=-1)


def _triangle(covariance: Floats) -> list[float]:
    upper = np.triu_indices(len(covariance))
    return [float(entry) for entry in covariance[upper]]


def _listed(covariance: Floats) -> str:
    return ", ".join(f"{entry:.4g}" for entry in _triangle(covariance))
