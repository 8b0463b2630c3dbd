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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import mpmath

from symderiv.foundation.errors import FormulaError, ToleranceError
from symderiv.precision.balls.contexts import Numbers
from symderiv_ledger.claims.claim import ComparisonRule, Point, Tested
from symderiv_ledger.claims.statement import Relation, parse_ranges
from symderiv_ledger.rules.arithmetic import COMPARE, evaluate, extended, index_values

#: Number of digits that may be lost to cancellation by default.
LOST: Final = 8
#: Fewer common digits of balls than this are no evidence.
FEWEST: Final = 4


@dataclass(frozen=True)
class Measured:
    """A number with the standard error of its measurement; different ones are independent."""

    mean: Any
    error: Any

    @classmethod
    def of(cls, value: Any) -> Measured:
        """Return a number as a measured one, without an error if it was not measured."""
        return value if isinstance(value, cls) else cls(value, 0.0)

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

    point: Point
    where: str
    relation: ast.cmpop
    left: Any
    right: Any

    @property
    def is_equation(self) -> bool:
        return isinstance(self.relation, ast.Eq)

    @property
    def holds(self) -> bool:
        """True if the relation holds between numbers; between balls, if it surely holds."""
        return bool(COMPARE[type(self.relation)](self.left, self.right))

    def relative_difference(self, size: Any = None) -> float:
        """Return the difference over a size, that of the larger side if none is given."""
        size = max(abs(self.left), abs(self.right)) if size is None else size
        difference = self.left - self.right
        if not size:
            # NaN counts as different from zero
            return 0.0 if difference == 0 else math.inf
        try:
            relative = float(abs(difference / size))
        except OverflowError:
            return math.inf
        return math.inf if math.isnan(relative) else relative

    def deviation(self) -> tuple[float, float, float]:
        """Return how far measured sides are from fulfilling the relation.

        Returns:
            The difference of the sides, negative for an inequality that holds; its standard error;
            the size of the larger side.
        """
        left, right = Measured.of(self.left), Measured.of(self.right)
        difference = float(left.mean) - float(right.mean)
        if self.is_equation:
            difference = abs(difference)
        elif isinstance(self.relation, ast.Gt | ast.GtE):
            difference = -difference
        error = math.hypot(left.error, right.error)
        return difference, error, max(abs(float(left.mean)), abs(float(right.mean)))

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
            yield from _entries(point, where, relation, left, right)


def _entries(
    point: Point, where: str, relation: ast.cmpop, left: Any, right: Any
) -> Iterator[Pair]:
    """Yield the pair of two sides, or for matrices the pairs of their entries."""
    matrices = hasattr(left, "rows") + hasattr(right, "rows")
    if not matrices:
        yield Pair(point, where, relation, left, right)
        return
    if matrices == 1:
        raise FormulaError("a matrix is compared with a number")
    if (left.rows, left.cols) != (right.rows, right.cols):
        raise FormulaError("matrices of different shapes are compared")
    for i, j in itertools.product(range(left.rows), range(left.cols)):
        entry = f"{where}; entry {i + 1}, {j + 1}"
        yield Pair(point, entry, relation, left[i, j], right[i, j])


def _shown(value: Any) -> str:
    if isinstance(value, Measured):
        return f"{float(value.mean):.7g} +- {float(value.error):.2g}"
    if hasattr(value, "mid"):
        return str(value.str(20))
    try:
        return str(value) if isinstance(value, int) else str(mpmath.nstr(value, 20))
    except (TypeError, ValueError, AttributeError):
        return str(value)


@dataclass(frozen=True)
class Judged:
    """The judgement of a rule on one pair of sides."""

    # the difference of the sides as the rule measures it; None if it is not measured
    error: Any = 0.0
    failure: str = ""  # the reason why the pair fails; empty if it passes
    beside: float = 0.0  # a second measure for the summary

    @classmethod
    def fails_at(cls, pair: Pair, error: float | None) -> Judged:
        """Judge a pair as failed, with the relative difference of its sides if there is one."""
        size = "" if error is None or math.isnan(error) else f", relative difference {error:.2g}"
        return cls(error, f"fails at {pair.where}{size}")


#: All pairs of a statement, point by point, with the judgements on them.
AllJudged = Sequence[tuple[Pair, Judged]]


class PairRule(ABC):
    """A rule that judges each pair of sides on its own: the first that fails decides.

    Words are formats of the rule, ``{0}``.
    """

    #: Words for points in the message that there are none.
    cases: ClassVar[str] = "points at"
    #: Words for what overturns a statement, with the number of ``points``.
    overturned: ClassVar[str] = "one point, of the {points} tried or another of the regime, where "
    #: Words for what overturns an inequality, and an equation, at one point.
    violated: ClassVar[str] = "the inequality does not hold"
    differ: ClassVar[str] = ""
    #: Words for a test without a failed pair, with ``points``, largest ``error`` and ``beside``.
    summary: ClassVar[str] = ""

    def overturned_by(self, points: int, *, ordered: bool) -> str:
        words = self.overturned + (self.violated if ordered else self.differ)
        return words.format(self, points=points)

    @abstractmethod
    def judged(self, pair: Pair, numbers: Numbers) -> Judged:
        """Judge a pair of sides."""

    def passed(self, statement: Relation, found: AllJudged, points: int) -> Tested:
        """Return the result of a test at so many points in which no pair failed on its own."""
        error = max((one.error or 0.0 for _, one in found), default=0.0)
        beside = max((one.beside for _, one in found), default=0.0)
        words = self.summary.format(self, points=points, error=error, beside=beside)
        return Tested(True, points, error, words)

    def test(
        self, statement: Relation, ranges: str, points: Iterable[Point], numbers: Numbers
    ) -> Tested:
        found: list[tuple[Pair, Judged]] = []
        count = 0
        for count, point in enumerate(points, start=1):
            for pair in pairs(statement, ranges, point, numbers):
                judged = self.judged(pair, numbers)
                if judged.failure:
                    return pair.fails(count, judged.error, judged.failure)
                found.append((pair, judged))
        if not count:
            raise ToleranceError(f"there are no {self.cases} which {statement} could be tried")
        return self.passed(statement, found, count)


@dataclass(frozen=True)
class Exact(PairRule):
    """The relation holds at every point, to nearly all digits computed with."""

    digits: int = 30  # the number of digits to compute with, of which ``lost`` may be lost
    # "mpmath", or "arb" for balls: then a failure is proved, and a success means that the balls
    # overlap and are small
    backend: str = "mpmath"
    scale: float = 1.0  # differences below 10^(8 - digits) times this count as zero
    kind: str = "numbers"  # name of the evidence
    lost: int = LOST  # digits that may be lost to cancellation in the statement
    verdict = "holds"
    summary = "holds at {points} points to {0.kept} digits"
    differ = "{0._differ}"

    @property
    def tier(self) -> str:
        """``enclosed`` for balls, which prove a difference if they are disjoint, or ``digits``."""
        return "enclosed" if self.backend == "arb" else "digits"

    @property
    def kept(self) -> int:
        """The number of digits to which both sides must agree."""
        return self.digits - self.lost

    @property
    def _differ(self) -> str:
        if self.backend == "arb":
            return Enclosed.differ
        return f"the sides differ by more than 1e-{self.kept} of the larger one"

    def judged(self, pair: Pair, numbers: Numbers) -> Judged:
        tolerance = numbers.mpf(10) ** -self.kept
        difference = abs(pair.left - pair.right)
        if not pair.is_equation:
            error = 0.0 if pair.holds else None
        elif hasattr(difference, "mid"):
            error = _ball_error(pair, difference, float(tolerance))
        else:
            small = difference <= tolerance * self.scale
            error = 0.0 if small else pair.relative_difference()
        good = error is not None and error <= float(tolerance)
        return Judged(error) if good else Judged.fails_at(pair, error)


def _ball_error(pair: Pair, difference: Any, tolerance: float) -> float:
    if difference.is_nan():
        return math.inf  # a side has no value: an argument outside of a function's domain
    if not difference.contains(0):
        size = max(abs(float(pair.left)), abs(float(pair.right)))
        return float(difference.mid()) / size if size else math.inf
    if not float(difference.rad()) <= tolerance * max(1.0, abs(float(pair.left))):
        raise ToleranceError(f"the balls are too large to decide at {pair.where}")
    return 0.0


@dataclass(frozen=True)
class Enclosed(PairRule):
    """Both sides are known as proved balls only, and the balls overlap at every point.

    A mean without a closed form is enclosed by quadrature. A statement whose sides do not overlap
    is refuted by that, with proof; otherwise it holds to the digits that the balls have in common.
    """

    # the number of digits to compute with; the summary states how many are reached
    digits: int = 40
    backend = "arb"
    kind, verdict, tier = "certified quadrature", "holds", "enclosed"
    violated = "the inequality is refuted by balls"
    differ = "the balls of the two sides are disjoint"

    def judged(self, pair: Pair, numbers: Numbers) -> Judged:
        difference = pair.left - pair.right
        if not hasattr(difference, "mid"):  # both sides are integers
            return Judged() if pair.holds else Judged.fails_at(pair, 0.0)
        if difference.is_nan():
            return Judged.fails_at(pair, math.nan)
        size = max(abs(float(side)) for side in (pair.left, pair.right)) or 1.0
        if pair.is_equation and difference.contains(0):
            return Judged(float(difference.rad()) / size)
        if not pair.is_equation and pair.holds:
            return Judged()
        if difference.contains(0):
            raise ToleranceError(f"the balls are too large to decide at {pair.where}")
        return Judged.fails_at(pair, abs(float(difference.mid())) / size)

    def passed(self, statement: Relation, found: AllJudged, points: int) -> Tested:
        lost = max((one.error for _, one in found), default=0.0)
        reached = min(self.digits, math.floor(-math.log10(lost))) if lost else self.digits
        if reached < FEWEST:
            raise ToleranceError(f"certified quadrature reached only {max(reached, 0)} digits")
        summary = f"holds at {points} points to the {reached} digits that quadrature reached"
        return Tested(True, points, lost, summary, details={"digits reached": str(reached)})


@dataclass(frozen=True)
class Symbolic(PairRule):
    """The difference of both sides is zero as an expression; values are SymPy's."""

    digits, backend = 0, "sympy"
    kind, verdict, tier = "identity", "holds", "proved"
    cases = "cases in"
    summary = "is an identity in {points} symbolic cases"
    overturned = "numbers at which the sides of one of the {points} symbolic cases "
    violated = "differ"
    differ = "differ"

    def judged(self, pair: Pair, numbers: Numbers) -> Judged:
        import sympy as sp

        if not pair.is_equation:
            raise FormulaError("only an equation can be a symbolic identity")
        difference = sp.simplify(sp.expand(sp.sympify(pair.left) - sp.sympify(pair.right)))
        if difference != 0:
            return Judged(None, f"the difference of the sides is {difference}")
        return Judged()


@dataclass(frozen=True)
class Converges(PairRule):
    """Both sides approach each other like a power of the points' small parameter.

    The relative error (relative to the larger side, or to ``scale`` if the statement has a name
    ``scale`` at the point) is measured along each series of points; between its last two points
    the power must be at least ``order - slack``.
    """

    # the power that the print claims, or 1 where it only claims that the error is small
    order: float = 1.0
    slack: float = 0.2  # the largest amount by which the measured power may fall short of it
    digits: int = 40  # the number of digits to compute with
    backend: str = "mpmath"
    kind, verdict, tier = "convergence", "approximate", "order"
    overturned = (
        "one series of points, of the {points} tried or others of the regime, along which the "
        "error falls more slowly than with the power {0.least:g} of the small parameter"
    )
    violated = ""

    @property
    def least(self) -> float:
        """The least power that passes."""
        return self.order - self.slack

    def judged(self, pair: Pair, numbers: Numbers) -> Judged:
        if pair.point.parameter is None:
            raise FormulaError("points of an expansion need a parameter")
        return Judged(pair.relative_difference(pair.point.values.get("scale")))

    def passed(self, statement: Relation, found: AllJudged, points: int) -> Tested:
        floor = 10.0 ** -(self.digits - LOST)
        series: dict[str, list[tuple[float, float, Pair]]] = {}
        for _, judged in itertools.groupby(found, key=lambda one: id(one[0].point)):
            pair, worst = max(judged, key=lambda one: one[1].error)
            assert pair.point.parameter is not None
            entry = pair.point.parameter, worst.error, pair
            series.setdefault(pair.point.series, []).append(entry)
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
            if not order >= self.least:
                summary = (
                    f"the error goes like the power {order:.2f} of the small parameter"
                    f"{f' ({name})' if name else ''}, not {self.order:g}; it is {after:.2g} at "
                    f"{narrow:.2g}"
                )
                return pair.fails(points, after, summary)
        power = f"{min(orders):.2f}" if orders else "exact"
        parameters = [entry[0] for entries in series.values() for entry in entries]
        summary = (
            f"the error falls with the power {power} of the small parameter; it is at most "
            f"{largest:.2g} at {min(parameters):.2g}"
        )
        return Tested(True, points, largest, summary, details={"order": power})


@dataclass(frozen=True)
class Within(PairRule):
    """Both sides agree within a stated tolerance in the regime of the points."""

    tolerance: float = 1e-2  # largest relative difference that passes
    # name of a quantity that differences are compared with; empty: the larger side
    relative_to: str = ""
    digits: int = 20
    backend: str = "mpmath"
    kind, verdict, tier = "regime", "approximate", "tolerance"
    summary = "within {error:.2g} at {points} points"
    differ = "the sides differ by more than {0.tolerance:g} of {0._size}"

    @property
    def _size(self) -> str:
        return self.relative_to or "the larger one"

    def judged(self, pair: Pair, numbers: Numbers) -> Judged:
        if not pair.is_equation:
            error = 0.0 if pair.holds else math.inf
        else:
            size = abs(pair.point.values[self.relative_to]) if self.relative_to else None
            error = pair.relative_difference(size)
        off = f"off by {error:.2g} at {pair.where}, more than {self.tolerance:g}"
        return Judged(error, "" if error <= self.tolerance else off)


@dataclass(frozen=True)
class WithinErrorBars(PairRule):
    """A measured side (:class:`Measured`) and the other one agree within standard errors."""

    errors: float = 4.0  # the number of standard errors that a difference may have at every point
    # A relative difference allowed in addition (finite N), stated in the summary
    systematic: float = 0.0
    digits: int = 16
    backend: str = "mpmath"
    kind, verdict, tier = "simulation", "approximate", "Monte Carlo"
    summary = (
        "within {beside:.1f} standard errors (at most {error:.2g} relative) at {points} points"
    )
    differ = "the sides are farther apart than {0._allowed}"
    violated = "the inequality is violated by more than {0._allowed}"

    @property
    def _allowed(self) -> str:
        beside = f" and {self.systematic:g} of the larger side" if self.systematic else ""
        return f"{self.errors:g} standard errors{beside}"

    def judged(self, pair: Pair, numbers: Numbers) -> Judged:
        difference, spread, size = pair.deviation()
        difference = max(difference, 0.0)  # in this order of arguments NaN remains NaN, and fails
        passes = difference <= self.errors * spread + self.systematic * size
        bars = difference / spread if spread else 0.0 if passes else math.inf
        error = difference / size if size else 0.0 if passes else math.inf
        off = f"off by {bars:.1f} standard errors at {pair.where}"
        return Judged(error, "" if passes else off, bars)


@dataclass(frozen=True)
class Bound(PairRule):
    """An inequality holds at all points, and in every series of points it is nearly an equality.

    An inequality that is merely true at some points stays true when its bound is doubled, so that a
    wrong factor would never be noticed. Here a bound must also be nearly reached. An ``==`` of a
    chain must hold to nearly all digits, as with :class:`Exact`.
    """

    # the smaller side over the larger one must come up to this in every series. 0 for a bound that
    # is not claimed to be sharp: then nothing is asked, and a looser bound passes as well.
    reaches: float = 0.9
    digits: int = 30  # the number of digits to compute with; 8 of them may be lost
    backend: str = "mpmath"
    kind, verdict, tier = "bound", "holds", "digits"
    violated = "the inequality does not hold{0._sharp}"
    differ = violated

    @property
    def _sharp(self) -> str:
        return f", or a bound that is never reached to {self.reaches:g}" if self.reaches else ""

    def judged(self, pair: Pair, numbers: Numbers) -> Judged:
        gap = pair.relative_difference()
        good = gap <= 10.0 ** -(self.digits - LOST) if pair.is_equation else pair.holds
        return Judged(gap, "" if good else f"fails at {pair.where}")

    def passed(self, statement: Relation, found: AllJudged, points: int) -> Tested:
        closest: dict[str, tuple[float, Pair]] = {}
        for pair, one in found:
            known = closest.get(pair.point.series, (math.inf, None))
            if not pair.is_equation and one.error < known[0]:
                closest[pair.point.series] = one.error, pair
        if not closest:
            raise FormulaError(f"{statement} is not an inequality")
        for series, (gap, pair) in closest.items():
            if not 1.0 - gap >= self.reaches:
                where = f" ({series})" if series else ""
                summary = f"holds, but not sharply: the sides come only within {gap:.2g}{where}"
                return pair.fails(points, gap, summary)
        gaps = [gap for gap, _ in closest.values()]
        reached = f"the bound is reached within {max(gaps):.2g}"
        return Tested(True, points, min(gaps), f"holds at {points} points; {reached}")


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
    """

    margin: float = 0.02  # the difference that is allowed, relative to the larger side; > 0
    errors: float = 4.0  # the number of standard errors that are added to the measured difference
    digits: int = 16
    backend: str = "float64"
    kind, verdict, tier = "simulation", "approximate", "Monte Carlo"
    summary = (
        "shown to be within {beside:.2g} at {points} points by {0.errors:g} standard errors; the "
        "largest measured difference is {error:.2g}"
    )
    differ = (
        "the measured difference and {0.errors:g} standard errors together are more than "
        "{0.margin:g} of the larger side"
    )
    violated = "the inequality is violated by more than {0.margin:g} of the larger side"

    def judged(self, pair: Pair, numbers: Numbers) -> Judged:
        difference, spread, size = pair.deviation()
        difference, added = difference / (size or 1.0), self.errors * spread / (size or 1.0)
        words = f"{difference:.2g} with {added:.2g} for its error at {pair.where}"
        failure = ""
        if difference - added > self.margin:
            failure = f"the sides differ by {words}: more than {self.margin:g}"
        elif not difference + added <= self.margin:
            failure = f"the sides are not shown to be within {self.margin:g}: {words}"
        return Judged(difference, failure, difference + added)


#: Rules by the name that files give them.
RULES: Final[Mapping[str, Callable[..., ComparisonRule]]] = {
    rule.__name__: rule
    for rule in (Bound, Converges, Exact, ShownWithin, Symbolic, Within, WithinErrorBars)
}
