"""Rules that try a statement at points, and conditions under which it passes.

A rule looks at numbers only. Where a difference of the two sides must vanish it asks for many
digits; where a print is an approximation it asks how the error shrinks with the small parameter,
because an error that is merely small at one point proves nothing.
"""

from __future__ import annotations

import ast
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import mpmath

from symderiv.foundation.errors import FormulaError, ToleranceError
from symderiv.precision.balls.contexts import Numbers
from symderiv_ledger.claims.claim import Point, Tested
from symderiv_ledger.claims.statement import Relation, parse_ranges
from symderiv_ledger.rules.arithmetic import COMPARE, evaluate, extended, index_values

#: Words for what refutes an equation of balls.
DISJOINT: Final = "the balls of the two sides are disjoint"
#: Number of digits that may be lost to cancellation by default.
LOST: Final = 8


@dataclass(frozen=True)
class Measured:
    """A number with the standard error of its measurement; different ones are independent."""

    mean: Any
    error: Any

    def __add__(self, other: Any) -> Measured:
        if isinstance(other, Measured):
            return Measured(self.mean + other.mean, math.hypot(self.error, other.error))
        return Measured(self.mean + other, self.error)

    def __mul__(self, other: Any) -> Measured:
        return Measured(self.mean * other, self.error * abs(other))

    def __truediv__(self, other: Any) -> Measured:
        return Measured(self.mean / other, self.error / abs(other))

    def __neg__(self) -> Measured:
        return Measured(-self.mean, self.error)

    def __sub__(self, other: Any) -> Measured:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Measured:
        return (-self).__add__(other)

    __radd__ = __add__
    __rmul__ = __mul__


@dataclass(frozen=True)
class Pair:
    """Two neighbouring sides of a statement at one point and one set of indices."""

    where: str
    relation: ast.cmpop
    left: Any
    right: Any

    def fails(self, points: int, error: float | None, summary: str) -> Tested:
        """Return a failed test of so many points with this pair as the counterexample."""
        sides = {"left": _shown(self.left), "right": _shown(self.right)}
        return Tested(False, points, error, summary, {"point": self.where, **sides})


def pairs(statement: Relation, ranges: str, point: Point, numbers: Numbers) -> Iterator[Pair]:
    """Yield all pairs of neighbouring sides at a point, for all values of the free indices."""
    for indices in index_values(parse_ranges(ranges), point.values):
        values = extended(point.values, indices)
        shown = ", ".join(f"{name} = {value}" for name, value in indices.items())
        where = "; ".join(filter(None, (point.label, shown)))
        sides = [evaluate(side, values, numbers) for side in statement.sides]
        for relation, left, right in zip(statement.relations, sides, sides[1:], strict=False):
            yield from _entries(where, relation, left, right)


def _entries(where: str, relation: ast.cmpop, left: Any, right: Any) -> Iterator[Pair]:
    """Yield the pair of two sides, or for matrices the pairs of their entries."""
    if not (hasattr(left, "rows") or hasattr(right, "rows")):
        yield Pair(where, relation, left, right)
        return
    if not hasattr(left, "rows") or not hasattr(right, "rows"):
        raise FormulaError("a matrix is compared with a number")
    if (left.rows, left.cols) != (right.rows, right.cols):
        raise FormulaError("matrices of different shapes are compared")
    for i, j in itertools.product(range(left.rows), range(left.cols)):
        yield Pair(f"{where}; entry {i + 1}, {j + 1}", relation, left[i, j], right[i, j])


def _shown(value: Any) -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Measured):
        return f"{float(value.mean):.7g} +- {float(value.error):.2g}"
    if hasattr(value, "mid"):
        return str(value.str(20))
    try:
        return str(mpmath.nstr(value, 20))
    except (TypeError, ValueError, AttributeError):
        return str(value)


@dataclass(frozen=True)
class Judged:
    """The judgement of a rule on one pair of sides.

    Args:
        error: The difference of the sides as the rule measures it; None if it is not measured.
        failure: The reason why the pair fails; empty if it passes.
        beside: A second measure for the summary.
    """

    error: Any = 0.0
    failure: str = ""
    beside: float = 0.0


#: All pairs of a statement, point by point, with the judgements on them.
AllJudged = Sequence[tuple[Point, Sequence[tuple[Pair, Judged]]]]


class PairRule(ABC):
    """A rule that judges each pair of sides on its own: the first that fails decides."""

    #: Words for points in the message that there are none.
    cases: ClassVar[str] = "points at"
    #: Words for what overturns an inequality at one point.
    violated = "the inequality does not hold"
    #: Words for what overturns an equation at one point.
    differ = ""
    #: Words for a test without a failed pair, with ``points``, largest ``error`` and ``beside``.
    summary: ClassVar[str] = ""

    def overturned_by(self, points: int, *, ordered: bool) -> str:
        differ = self.violated if ordered else self.differ
        return f"one point, of the {points} tried or another of the regime, where {differ}"

    @abstractmethod
    def judged(self, pair: Pair, point: Point, numbers: Numbers) -> Judged:
        """Judge a pair of sides."""

    def passed(self, statement: Relation, found: AllJudged) -> Tested:
        """Return the result of a test in which no pair failed on its own."""
        error = largest(found)
        beside = max((one.beside for _, each in found for _, one in each), default=0.0)
        words = self.summary.format(self, points=len(found), error=error, beside=beside)
        return Tested(True, len(found), error, words)

    def test(
        self, statement: Relation, ranges: str, points: Iterable[Point], numbers: Numbers
    ) -> Tested:
        found: list[tuple[Point, list[tuple[Pair, Judged]]]] = []
        for point in points:
            found.append((point, []))
            for pair in pairs(statement, ranges, point, numbers):
                judged = self.judged(pair, point, numbers)
                if judged.failure:
                    return pair.fails(len(found), judged.error, judged.failure)
                found[-1][1].append((pair, judged))
        if not found:
            raise ToleranceError(f"there are no {self.cases} which {statement} could be tried")
        return self.passed(statement, found)


def largest(found: AllJudged) -> float:
    """Return the largest difference that was measured."""
    return max((one.error or 0.0 for _, each in found for _, one in each), default=0.0)


def fails_at(pair: Pair, error: float | None) -> Judged:
    """Judge a pair as failed, with the relative difference of its sides if there is one."""
    size = "" if error is None or math.isnan(error) else f", relative difference {error:.2g}"
    return Judged(error, f"fails at {pair.where}{size}")


@dataclass(frozen=True)
class Exact(PairRule):
    """The relation holds at every point, to nearly all digits computed with.

    Args:
        digits: The number of digits to compute with, of which ``lost`` may be lost.
        backend: "mpmath", or "arb" for balls: then a failure is proved, and a success means that
            the balls overlap and are small.
        scale: Differences below 10^(8 - digits) times this count as zero.
        kind: Name of the evidence.
        lost: Digits that may be lost to cancellation in the statement.
    """

    digits: int = 30
    backend: str = "mpmath"
    scale: float = 1.0
    kind: str = "numbers"
    lost: int = LOST
    verdict: str = "holds"
    summary: ClassVar[str] = "holds at {points} points to {0.kept} digits"

    @property
    def tier(self) -> str:
        """``enclosed`` for balls, which prove a difference if they are disjoint, or ``digits``."""
        return "enclosed" if self.backend == "arb" else "digits"

    @property
    def kept(self) -> int:
        """The number of digits to which both sides must agree."""
        return self.digits - self.lost

    @property
    def differ(self) -> str:  # type: ignore[override]
        if self.backend == "arb":
            return DISJOINT
        return f"the sides differ by more than 1e-{self.kept} of the larger one"

    def judged(self, pair: Pair, point: Point, numbers: Numbers) -> Judged:
        tolerance = numbers.mpf(10) ** -self.kept
        error = self._error(pair, tolerance)
        good = error is not None and error <= float(tolerance)
        return Judged(error) if good else fails_at(pair, error)

    def _error(self, pair: Pair, tolerance: Any) -> float | None:
        """Return the relative difference of an equation; of an inequality 0, or None if false."""
        difference = abs(pair.left - pair.right)
        if not isinstance(pair.relation, ast.Eq):
            return 0.0 if related(pair) else None
        if hasattr(difference, "mid"):
            return _ball_error(pair, difference, tolerance)
        if difference <= tolerance * self.scale:
            return 0.0
        return _as_float(difference / max(abs(pair.left), abs(pair.right)))


def relative_difference(pair: Pair, size: Any = None) -> float:
    """Return the difference of two sides over a size, that of the larger side if none is given."""
    size = max(abs(pair.left), abs(pair.right)) if size is None else size
    difference = pair.left - pair.right
    if not size:
        # NaN counts as different from zero
        return 0.0 if difference == 0 else math.inf
    return _as_float(difference / size)


def related(pair: Pair) -> bool:
    """Return whether the relation holds between numbers; between balls, whether it surely holds."""
    return bool(COMPARE[type(pair.relation)](pair.left, pair.right))


def _ball_error(pair: Pair, difference: Any, tolerance: Any) -> float:
    if difference.is_nan():
        return math.inf  # a side has no value: an argument outside of a function's domain
    if not difference.contains(0):
        size = max(abs(float(pair.left)), abs(float(pair.right)))
        return float(difference.mid()) / size if size else math.inf
    if not float(difference.rad()) <= float(tolerance) * max(1.0, abs(float(pair.left))):
        raise ToleranceError(f"the balls are too large to decide at {pair.where}")
    return 0.0


def _as_float(value: Any) -> float:
    try:
        size = float(abs(value))
    except OverflowError:
        return math.inf
    return size if not math.isnan(size) else math.inf


@dataclass(frozen=True)
class Symbolic(PairRule):
    """The difference of both sides is zero as an expression; values are SymPy's."""

    kind: str = "identity"
    verdict: str = "holds"
    tier: ClassVar[str] = "proved"
    cases: ClassVar[str] = "cases in"
    summary: ClassVar[str] = "is an identity in {points} symbolic cases"
    digits: int = 0
    backend: str = "sympy"

    def overturned_by(self, points: int, *, ordered: bool) -> str:
        return f"numbers at which the sides of one of the {points} symbolic cases differ"

    def judged(self, pair: Pair, point: Point, numbers: Numbers) -> Judged:
        import sympy as sp

        if not isinstance(pair.relation, ast.Eq):
            raise FormulaError("only an equation can be a symbolic identity")
        difference = sp.simplify(sp.expand(sp.sympify(pair.left) - sp.sympify(pair.right)))
        if difference != 0:
            return Judged(None, f"the difference of the sides is {difference}")
        return Judged()


@dataclass(frozen=True)
class Converges(PairRule):
    """A rule: both sides approach each other like a power of the points' small parameter.

    The relative error (relative to the larger side, or to ``scale`` if the statement has a name
    ``scale`` at the point) is measured along each series of points; between its last two points
    the power must be at least ``order - slack``.

    Args:
        order: The power that the print claims, or 1 where it only claims that the error is small.
        slack: The largest amount by which the measured power may fall short of it.
        exponential: Whether the error falls faster than any power (then ``order`` is a lower
            bound).
    """

    order: float = 1.0
    slack: float = 0.2
    digits: int = 40
    backend: str = "mpmath"
    kind: str = "convergence"
    verdict: str = "approximate"
    tier: ClassVar[str] = "order"

    def overturned_by(self, points: int, *, ordered: bool) -> str:
        power = f"{self.order - self.slack:g}"
        return (
            f"one series of points, of the {points} tried or others of the regime, along which "
            f"the error falls more slowly than with the power {power} of the small parameter"
        )

    def judged(self, pair: Pair, point: Point, numbers: Numbers) -> Judged:
        if point.parameter is None:
            raise FormulaError("points of an expansion need a parameter")
        return Judged(relative_difference(pair, point.values.get("scale")))

    def passed(self, statement: Relation, found: AllJudged) -> Tested:
        floor = 10.0 ** -(self.digits - LOST)
        series: dict[str, list[tuple[float, float, Pair]]] = {}
        for point, judged in found:
            pair, worst = max(judged, key=lambda one: one[1].error)
            assert point.parameter is not None
            series.setdefault(point.series, []).append((point.parameter, worst.error, pair))
        orders, largest = [], 0.0
        for name, entries in series.items():
            entries.sort(key=lambda entry: -entry[0])
            (wide, before, _), (narrow, after, pair) = entries[-2:]
            largest = max(largest, after)
            if after <= floor:
                continue
            ratio = before / after
            order = math.log(ratio) / math.log(wide / narrow) if 0 < ratio < math.inf else -math.inf
            orders.append(order)
            if not order >= self.order - self.slack:
                summary = (
                    f"the error goes like the power {order:.2f} of the small parameter"
                    f"{f' ({name})' if name else ''}, not {self.order:g}; it is {after:.2g} at "
                    f"{narrow:.2g}"
                )
                return pair.fails(len(found), after, summary)
        power = f"{min(orders):.2f}" if orders else "exact"
        parameters = [entry[0] for entries in series.values() for entry in entries]
        summary = (
            f"the error falls with the power {power} of the small parameter; it is at most "
            f"{largest:.2g} at {min(parameters):.2g}"
        )
        return Tested(True, len(found), largest, summary, details={"order": power})


@dataclass(frozen=True)
class Within(PairRule):
    """A rule: both sides agree within a stated tolerance in the regime of the points.

    Args:
        tolerance: Largest relative difference that passes.
        relative_to: Name of a quantity that differences are compared with; empty: the larger side.
    """

    tolerance: float = 1e-2
    relative_to: str = ""
    digits: int = 20
    backend: str = "mpmath"
    kind: str = "regime"
    verdict: str = "approximate"
    tier: ClassVar[str] = "tolerance"
    summary: ClassVar[str] = "within {error:.2g} at {points} points"

    @property
    def differ(self) -> str:  # type: ignore[override]
        size = self.relative_to or "the larger one"
        return f"the sides differ by more than {self.tolerance:g} of {size}"

    def judged(self, pair: Pair, point: Point, numbers: Numbers) -> Judged:
        if not isinstance(pair.relation, ast.Eq):
            error = 0.0 if related(pair) else math.inf
        else:
            size = abs(point.values[self.relative_to]) if self.relative_to else None
            error = relative_difference(pair, size)
        off = f"off by {error:.2g} at {pair.where}, more than {self.tolerance:g}"
        return Judged(error, "" if error <= self.tolerance else off)


@dataclass(frozen=True)
class WithinErrorBars(PairRule):
    """A measured side (:class:`Measured`) and the other one agree within standard errors.

    Args:
        errors: The number of standard errors that a difference may have at every point.
        systematic: A relative difference allowed in addition (finite N), stated in the summary.
    """

    errors: float = 4.0
    systematic: float = 0.0
    digits: int = 16
    backend: str = "mpmath"
    kind: str = "simulation"
    verdict: str = "approximate"
    tier: ClassVar[str] = "Monte Carlo"
    summary: ClassVar[str] = (
        "within {beside:.1f} standard errors (at most {error:.2g} relative) at {points} points"
    )

    @property
    def differ(self) -> str:  # type: ignore[override]
        return f"the sides are farther apart than {self._allowed}"

    @property
    def violated(self) -> str:  # type: ignore[override]
        return f"the inequality is violated by more than {self._allowed}"

    @property
    def _allowed(self) -> str:
        beside = f" and {self.systematic:g} of the larger side" if self.systematic else ""
        return f"{self.errors:g} standard errors{beside}"

    def judged(self, pair: Pair, point: Point, numbers: Numbers) -> Judged:
        difference, spread, size = deviation(pair)
        difference = max(difference, 0.0)  # in this order of arguments NaN remains NaN, and fails
        passes = difference <= self.errors * spread + self.systematic * size
        bars = difference / spread if spread else 0.0 if passes else math.inf
        error = difference / size if size else 0.0 if passes else math.inf
        off = f"off by {bars:.1f} standard errors at {pair.where}"
        return Judged(error, "" if passes else off, bars)


def deviation(pair: Pair) -> tuple[float, float, float]:
    """Return how far measured sides are from fulfilling a relation.

    Returns:
        The difference of the sides, negative for an inequality that holds; its standard error; the
        size of the larger side.
    """
    (left, left_error), (right, right_error) = map(_with_error, (pair.left, pair.right))
    difference = left - right
    if isinstance(pair.relation, ast.Eq):
        difference = abs(difference)
    elif isinstance(pair.relation, ast.Gt | ast.GtE):
        difference = -difference
    return difference, math.hypot(left_error, right_error), max(abs(left), abs(right))


def _with_error(value: Any) -> tuple[float, float]:
    """Return a number and its standard error, 0 if it was not measured."""
    if isinstance(value, Measured):
        return float(value.mean), float(value.error)
    return float(value), 0.0


@dataclass(frozen=True)
class Bound(PairRule):
    """An inequality holds at all points, and in every series of points it is nearly an equality.

    An inequality that is merely true at some points stays true when its bound is doubled, so that a
    wrong factor would never be noticed. Here a bound must also be nearly reached.

    An ``==`` of a chain must hold to nearly all digits, as with
    :class:`~symderiv_ledger.rules.comparison_rules.Exact`.

    Args:
        reaches: The smaller side over the larger one must come up to this in every series. 0 for a
            bound that is not claimed to be sharp: then nothing is asked, and a looser bound passes
            as well.
        digits: The number of digits to compute with; 8 of them may be lost.
    """

    reaches: float = 0.9
    digits: int = 30
    backend: str = "mpmath"
    kind: str = "bound"
    verdict: str = "holds"
    tier: ClassVar[str] = "digits"

    def overturned_by(self, points: int, *, ordered: bool) -> str:
        sharp = f", or a bound that is never reached to {self.reaches:g}" if self.reaches else ""
        return super().overturned_by(points, ordered=True) + sharp

    def judged(self, pair: Pair, point: Point, numbers: Numbers) -> Judged:
        gap = relative_difference(pair)
        equation = isinstance(pair.relation, ast.Eq)
        good = gap <= 10.0 ** -(self.digits - LOST) if equation else related(pair)
        return Judged(gap, "" if good else f"fails at {pair.where}")

    def passed(self, statement: Relation, found: AllJudged) -> Tested:
        closest: dict[str, tuple[float, Pair]] = {}
        for point, judged in found:
            for pair, one in judged:
                known = closest.get(point.series, (math.inf, None))
                if not isinstance(pair.relation, ast.Eq) and one.error < known[0]:
                    closest[point.series] = one.error, pair
        if not closest:
            raise FormulaError(f"{statement} is not an inequality")
        for series, (gap, pair) in closest.items():
            if not 1.0 - gap >= self.reaches:
                where = f" ({series})" if series else ""
                summary = f"holds, but not sharply: the sides come only within {gap:.2g}{where}"
                return pair.fails(len(found), gap, summary)
        gaps = [gap for gap, _ in closest.values()]
        reached = f"the bound is reached within {max(gaps):.2g}"
        return Tested(True, len(found), min(gaps), f"holds at {len(found)} points; {reached}")


@dataclass(frozen=True)
class ShownWithin(PairRule):
    """Two sides, one of them :class:`Measured`, are shown to differ by less than a margin.

    A rule that asks whether a difference is compatible with zero passes everything that is measured
    badly. This one asks the other way round: the difference, with a number of standard errors
    added, must be below a margin. Sides that differ by the margin or more then pass with the
    probability that a deviate of Student's law exceeds ``errors`` at most, however large the
    standard errors are: for 4 of them 3e-4 with 24 trials, 1e-3 with 12, 3e-5 with very many. Sides
    that are equal pass as soon as the standard errors are small enough, and a measurement that is
    too coarse fails.

    Args:
        margin: The difference that is allowed, relative to the larger side; > 0.
        errors: The number of standard errors that are added to the measured difference.
    """

    margin: float = 0.02
    errors: float = 4.0
    digits: int = 16
    backend: str = "float64"
    kind: str = "simulation"
    verdict: str = "approximate"
    tier: ClassVar[str] = "Monte Carlo"
    summary: ClassVar[str] = (
        "shown to be within {beside:.2g} at {points} points by {0.errors:g} standard errors; the "
        "largest measured difference is {error:.2g}"
    )

    @property
    def differ(self) -> str:  # type: ignore[override]
        together = f"the measured difference and {self.errors:g} standard errors together"
        return f"{together} are more than {self.margin:g} of the larger side"

    @property
    def violated(self) -> str:  # type: ignore[override]
        return f"the inequality is violated by more than {self.margin:g} of the larger side"

    def judged(self, pair: Pair, point: Point, numbers: Numbers) -> Judged:
        difference, spread, size = deviation(pair)
        difference, added = difference / (size or 1.0), self.errors * spread / (size or 1.0)
        words = f"{difference:.2g} with {added:.2g} for its error at {pair.where}"
        failure = ""
        if difference - added > self.margin:
            failure = f"the sides differ by {words}: more than {self.margin:g}"
        elif not difference + added <= self.margin:
            failure = f"the sides are not shown to be within {self.margin:g}: {words}"
        return Judged(difference, failure, difference + added)
