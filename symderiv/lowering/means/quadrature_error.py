r"""The largest error of a rule of quadrature that a search over covariances finds.

The functions of a module are compiled for this search with the rule as an argument. Their values
are compared with those of a much finer rule with the fields in the opposite order, at random and
hard covariances (see ``field_covariances``) of every mean that the equations have; then the search
goes on around the worst ones. What is stated is the largest difference found times a factor for
what the search missed; ``make quadrature-errors`` compares that with independent integrals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from symderiv.foundation.derivation_cache import derived_once
from symderiv.lowering.means.field_covariances import (
    Matrix,
    field_covariances,
    nearby,
    structured,
)
from symderiv.lowering.means.quadrature_rules import (
    KINKED_PANELS,
    PLANE_POINTS,
    SCALES,
    SECTORS,
    SMOOTH_STEPS,
    MeanRule,
    coarsest,
    error_of_panels,
    finer,
    kinked_rule,
    plane_rule,
    smooth_rule,
    stated_error,
    with_sectors,
)

if TYPE_CHECKING:
    from symderiv.lowering.means.compiled_means import CompiledMeans

CHOSEN_RULES = Path(__file__).with_name("chosen_rules.pickle")
"""Shipped rules for pairs of named activations, see ``ship_rules``."""

LARGEST_VARIANCE = 2.0
"""The largest variance of fields for which errors are stated."""

LARGEST_BIAS = 2.0
"""The largest modulus of the biases of fields for which errors are stated."""

_ROUNDED = 1e-13
"""The relative size of rounding errors of a mean."""

SAFETY = 5.0
"""The ratio of the stated error to the largest one found."""

_SEED = 1995
_SAMPLES = {2: 600, 4: 30}
_AROUND = {2: 300, 4: 12}
_FARTHEST, _CELL = 30.0, 0.05
_UPPER = {size: np.triu_indices(size) for size in (2, 4)}
_AT_ONCE = {2: 10, 4: 1}
"""The number of covariances tried around the worst one before the centre is updated."""

_CHUNK = {2: 50, 4: 10}
"""The number of covariances between two points at which a search may end."""

Kinds = tuple[int, ...]
Found = tuple[float, Kinds, Matrix, Matrix]
"""An error, the factors of its mean, and the covariance and biases of its fields."""


@dataclass(frozen=True)
class MeansAsked:
    """The means for which a rule is searched.

    Attributes:
        kinds: The factors of every mean that occurs, by number.
        family: The points for means of four factors: ``smooth`` if all factors are analytic,
            ``plane`` (``plane_mean``) or ``kinked`` (``kinked_mean``).
        at_zero: Whether means of two factors with kinks are integrated over sectors
            (``polar_mean``).
        rough: Whether factors jump; for planes, only factors whose fields do not span the plane
            count.
        even: Whether no mean changes when all fields change their signs.
        biased: Whether fields have biases.
        within: The largest variances, and biases in modulus, of the fields in the search.
        idle: The number of the constant factor, whose field has no variance, for means of
            arbitrary functions; None for means of activations and slopes.
        of_what: What the means are taken of, for messages.
    """

    kinds: tuple[Kinds, ...]
    family: str = "smooth"
    at_zero: bool = False
    rough: bool = False
    even: bool = False
    biased: bool = False
    within: tuple[float, float] = (LARGEST_VARIANCE, LARGEST_BIAS)
    idle: int | None = None
    of_what: str = field(default="", repr=False, compare=False)

    def of_four_by(self, family: str) -> bool:
        """Return whether there are means of four factors by the points of a family."""
        return self.family == family and any(len(kinds) == 4 for kinds in self.kinds)


_LOADS = np.array(
    [
        [
            [0.715933, 0.0, 0.0, 0.0],
            [-0.234296, 0.67651, 0.0, 0.0],
            [-0.463215, 1.3349, 0.0588313, 0.0],
            [-0.234296, 0.67651, 0.0, 1.17095e-07],
        ],
        [
            [1.41421, 0.0, 0.0, 0.0],
            [-0.0204085, 0.64447, 0.0, 0.0],
            [-0.126773, -0.15626, 0.953563, 0.0],
            [-0.370061, -0.733344, -0.564292, 0.954387],
        ],
        *(
            np.pad(plane, ((0, 0), (0, 2)))
            for plane in (
                [[1.0283, 0.0], [0.877535, 0.630149], [0.613084, 0.145257], [0.603216, -0.496605]],
                [[1.20036, 0.0], [1.17854, 0.208151], [0.641521, 0.53289], [-0.630021, -0.519688]],
                [[1.16749, 0.0], [-1.02854, 0.0541768], [0.52654, -0.52451], [-0.112663, -1.39539]],
                [
                    [0.259995, 0.0],
                    [-0.672226, 0.473754],
                    [-0.554128, -0.236664],
                    [1.26811, 0.541592],
                ],
            )
        ),
    ]
)
_LAYERS = {2: (), 4: tuple(load @ load.T for load in _LOADS)}
"""Covariances with layers of very different widths at one place, the worst of 240 for rules of
planes; of four general fields, the worst for two kinks; and of four fields in one plane, the worst
of 400."""


Place = tuple[Kinds, Matrix, Matrix]


def _same_as(place: Place) -> Callable[[Place], bool]:
    kinds, covariance, biases = place
    return lambda other: (
        kinds == other[0]
        and np.array_equal(covariance, other[1])
        and np.array_equal(biases, other[2])
    )


@dataclass
class _Begun:
    """The state of a search that can be resumed.

    Attributes:
        rest: The errors that it has still to compute.
        worst: The largest error so far.
        place: Where the largest error is: factors, covariance, biases.
    """

    rest: Iterator[Found]
    worst: float = 0.0
    place: Place | None = None

    def take(self, case: Found) -> None:
        """Update the largest error with another one."""
        if case[0] > self.worst:
            self.worst, *_ = case
            self.place = case[1:]


class Search:
    """A search for the covariances at which rules are worst."""

    def __init__(self, compiled: CompiledMeans, asked: MeansAsked) -> None:
        """Prepare a search over the covariances of some means.

        Args:
            compiled: All means as compiled functions, with the rule as an argument.
            asked: The means.
        """
        self.compiled, self.asked, self.factor = compiled, asked, compiled.factor
        self.variance, self.bias = asked.within
        self._panels, self._planes = asked.of_four_by("kinked"), asked.of_four_by("plane")
        self._samples, self._climbs = {2: 4, 4: 20}, {2: 1, 4: 1}
        # panels of four factors are slow, as are several kinks; planes have most kinds of layers
        if self._panels:
            self._samples = {2: 1, 4: 1}
        elif self._planes:
            self._samples[2] = 2
            self._samples[4], self._climbs[4] = (3, 2) if self._several else (8, 4)
        self._begun: dict[tuple[MeanRule, int], _Begun] = {}
        self._hard: list[Place] = []
        self._there: dict[tuple[MeanRule, int], float] = {}

    def scale(self, most: float) -> float:
        """Return the largest scale of panels with which tables of all factors keep an error of
        means and which is at most half the distance between two kinks of a factor.
        """
        factors, apart = [], math.inf
        for kind in sorted(set().union(*self.asked.kinds) - {self.asked.idle}):
            kinks = [] if self.compiled.kinks is None else self.compiled.kinks(kind).tolist()
            factors.append((partial(self.factor, kind), kinks or [0.0]))
            apart = min([apart, *np.diff(kinks)])

        def keeps(scale: float) -> bool:
            return 2.0 * scale <= apart and all(
                error_of_panels(*factor, scale, self.variance) <= most for factor in factors
            )

        return next(filter(keeps, SCALES), SCALES[-1])

    @property
    def _several(self) -> bool:
        """True if a factor has several kinks."""
        kinks, kinds = self.compiled.kinks, set().union(*self.asked.kinds)
        return kinks is not None and any(len(kinks(kind)) > 1 for kind in kinds)

    def mean(
        self, rule: MeanRule, kinds: Kinds, covariance: Matrix, biases: Matrix | None = None
    ) -> float:
        """Return a mean as a module with this rule computes it."""
        shifts = np.zeros(len(kinds)) if biases is None else biases
        return float(self.means(rule, kinds, covariance[None], shifts[None])[0])

    def means(self, rule: MeanRule, kinds: Kinds, covariances: Matrix, biases: Matrix) -> Matrix:
        """Return a mean at many covariances, with the biases of all fields for each."""
        size, values = len(kinds), np.empty(len(covariances))
        numbers = np.array(rule.two if size == 2 else rule.four)
        rows, columns = _UPPER[size]
        moments = np.ascontiguousarray(covariances[:, rows, columns])
        self.compiled.many(size)(numbers, kinds, moments, np.array(biases, order="C"), values)
        return values

    def tail(self, negligible: float) -> float:
        """Return the t beyond which the integrand of the largest aligned fields is negligible."""
        farthest = 0.0
        for folded in self._aligned:
            inside = np.nonzero(np.cumsum(folded[::-1]) > negligible)[0]
            farthest = max(farthest, _FARTHEST - _CELL * inside[0] if inside.size else 0.0)
        return float(farthest)

    @property
    def largest(self) -> float:
        """The mean of moduli for aligned fields of the largest variance, about the largest."""
        return float(max(map(np.sum, self._aligned))) / math.sqrt(2 * math.pi)

    @cached_property
    def _aligned(self) -> list[Matrix]:
        """Contributions of each cell of |t|, from t = 0 on, to the mean of the product of moduli,
        times √(2π), for aligned fields of the largest variance.
        """
        t = np.arange(-_FARTHEST, _FARTHEST + _CELL, _CELL)
        shifts = (-self.bias, self.bias) if self.asked.biased else (0.0,)
        fields = math.sqrt(self.variance) * t

        @cache
        def largest(kind: int) -> Matrix:
            values = [[abs(self.factor(kind, each + b)) for each in fields] for b in shifts]
            largest = np.asarray(np.max(values, axis=0))
            if self.asked.idle is not None:
                # a factor that decays does so along its own field only
                for side in (largest[t.size // 2 :], largest[t.size // 2 :: -1]):
                    np.maximum.accumulate(side, out=side)
            return largest

        folds = []
        for kinds in self.asked.kinds:
            product = np.exp(-t * t / 2) * _CELL
            for kind in kinds:
                product *= largest(kind)
            product = np.nan_to_num(product, nan=0.0)
            folded = (product + product[::-1])[t.size // 2 :]
            folded[0] *= 0.5
            folds.append(folded)
        return folds

    def error(self, rule: MeanRule, enough: float, sizes: tuple[int, ...] = (2, 4)) -> float:
        """Return SAFETY times the largest error found in means of 2 or 4 factors.

        The search stops above ``enough`` and is resumed there when more is asked for. It begins
        with the covariances that were worst for other rules, which soon refuse most rules.
        """
        largest = self.error_where_hard(rule, enough, sizes)
        # means of four factors nearly always decide
        for size in sorted(sizes, reverse=True):
            begun = self._begun.setdefault((rule, size), _Begun(self._errors(rule, size)))
            while max(largest, SAFETY * begun.worst) <= enough:
                case = next(begun.rest, None)
                if case is None:
                    break
                begun.take(case)
            if begun.place is not None and not any(map(_same_as(begun.place), self._hard)):
                self._hard.append(begun.place)
            largest = max(largest, SAFETY * begun.worst)
        return largest

    def error_where_hard(
        self, rule: MeanRule, enough: float = math.inf, sizes: tuple[int, ...] = (2, 4)
    ) -> float:
        """Return SAFETY times the largest error at the covariances that were worst for other rules,
        or the first above ``enough``; the last ones found come first, as they refuse most rules.
        """
        largest = 0.0
        for n, (kinds, *place) in reversed([*enumerate(self._hard)]):
            if len(kinds) in sizes and largest <= enough:
                if (rule, n) not in self._there:
                    gaps = self._off(rule, kinds, *(each[None] for each in place))
                    self._there[rule, n] = SAFETY * float(gaps[0])
                largest = max(largest, self._there[rule, n])
        return largest

    def as_near(self, rule: MeanRule, size: int, most: float) -> Callable[[MeanRule], bool]:
        """Return a predicate: whether another rule changes no mean of ``size`` factors by more than
        ``most``.
        """
        rng, many = np.random.default_rng(_SEED), self._samples[size] * _SAMPLES[size]
        tried = np.array(
            [*structured(size, self.variance), *field_covariances(rng, many, size, self.variance)]
        )
        unbiased, known = np.zeros(tried.shape[:2]), dict[Kinds, Matrix]()

        def near(other: MeanRule) -> bool:
            for kinds in self.asked.kinds:
                if len(kinds) == size:
                    if kinds not in known:
                        known[kinds] = self.means(rule, kinds, tried, unbiased)
                    tried_means = self.means(other, kinds, tried, unbiased)
                    if np.max(np.abs(tried_means - known[kinds])) > most:
                        return False
            return True

        return near

    def _order(self, size: int) -> list[int]:
        """Return the order of fields in the second computation of means: the reverse, but with
        planes the pairs stay, so that no layer of a residual blurs the jumps of slopes.
        """
        if size == 4 and self._planes:
            return [1, 0, 3, 2]
        return [*range(size)][::-1]

    def _off(self, rule: MeanRule, kinds: Kinds, covariances: Matrix, biases: Matrix) -> Matrix:
        """Return the deviations of means from those of a finer rule with fields in another order.

        In another order the rule splits other variables at other places.
        """
        order = self._order(len(kinds))
        turned = covariances[:, order][:, :, order], biases[:, order]
        difference = self.means(rule, kinds, covariances, biases)
        difference -= self.means(finer(rule), tuple(kinds[n] for n in order), *turned)
        return np.where(np.isfinite(difference), np.abs(difference), math.inf)

    def _errors(self, rule: MeanRule, size: int) -> Iterator[Found]:
        """Yield the largest error of each chunk of covariances, then larger ones around
        the worst.
        """
        rng = np.random.default_rng(_SEED)

        def off(kinds: Kinds, covariances: Matrix) -> tuple[Matrix, Found]:
            # where factors jump a single rounding matters: both orders need the same matrix
            covariances = 0.5 * (covariances + covariances.transpose(0, 2, 1))
            varies = np.array([float(kind != self.asked.idle) for kind in kinds])
            covariances = covariances * np.outer(varies, varies)
            biases = np.zeros(covariances.shape[:2])
            if self.asked.biased:
                biases[:] = [drawn_biases(rng, each, self.bias) for each in covariances]
            errors = self._off(rule, kinds, covariances, biases)
            worst = int(errors.argmax())
            return errors, (float(errors[worst]), kinds, covariances[worst], biases[worst])

        for kinds in self.asked.kinds:
            if len(kinds) != size:
                continue
            random = field_covariances(
                rng, self._samples[size] * _SAMPLES[size], size, self.variance
            )
            layers = () if self._panels else _LAYERS[size]
            # hardest first, so that an insufficient rule is soon refused
            easy = [*structured(size, self.variance)][::-1]
            tried = np.array([*layers, *random, *easy])
            errors: list[float] = []
            for first in range(0, len(tried), _CHUNK[size]):
                some, worst = off(kinds, tried[first : first + _CHUNK[size]])
                errors += some.tolist()
                yield worst
            for start in np.argsort(-np.array(errors), kind="stable")[:3]:
                climbed, place = errors[start], tried[start]
                left = self._climbs[size] * _AROUND[size] // 3
                for first in range(0, left, _AT_ONCE[size]):
                    count = min(_AT_ONCE[size], left - first)
                    around = nearby(rng, place, self.variance, count)
                    some, worst = off(kinds, around)
                    if some.max() > climbed:
                        climbed, place = float(some.max()), around[some.argmax()]
                        yield worst


@dataclass(frozen=True)
class Choice:
    """The means and the tolerance for which a rule is chosen.

    Attributes:
        text: The digest of the text of all means, with the rule as an argument.
        asked: The means.
        tolerance: Bound on the absolute error of the means.
        last: The largest error, relative to the largest mean, that is accepted if no rule keeps the
            tolerance; see :func:`coarsest`.
        search: A function that returns the search.
    """

    text: str
    asked: MeansAsked
    tolerance: float
    last: float | None
    search: Callable[[], Search] = field(repr=False, compare=False)

    def rules(self) -> list[MeanRule]:
        """Return the rules from coarse to fine."""
        tolerance = max(self.tolerance, 1e-12)
        tail = self.search().tail(tolerance / 100)
        asked = self.asked
        if asked.family == "plane":
            # the other factors of a mean multiply the error of one
            scale = self.search().scale(0.1 * tolerance / max(1.0, self.search().largest))
            numbers = tolerance, tail, asked.rough, asked.even, scale
            rules = [plane_rule(points, *numbers) for points in PLANE_POINTS]
            return [with_sectors(rule, SECTORS[-1]) for rule in rules] if asked.at_zero else rules
        if asked.family == "kinked":
            return [kinked_rule(p, tolerance, tail, asked.rough) for p in KINKED_PANELS]
        near = self.search().tail(tolerance / 20)
        steps = [smooth_rule(step, tolerance, near) for step in SMOOTH_STEPS]
        # for growing factors the tail dominates the error when the finest step does not suffice
        return [*steps, smooth_rule(SMOOTH_STEPS[-1], tolerance, tail)]


@derived_once(imports=(__name__,), shipped=CHOSEN_RULES)
def chosen_rule(choice: Choice) -> tuple[MeanRule, float, float]:
    """Return the coarsest rule with which the search finds no error above the tolerance, its
    stated error, and that of means of two factors.

    Raises:
        NotYetError, ToleranceError: See :func:`coarsest`.
    """
    search = choice.search()

    def error_of(rule: MeanRule, enough: float) -> float:
        return stated_mean_error(search.error(rule, enough))

    rule, error = coarsest(
        choice.rules(),
        error_of,
        choice.tolerance,
        choice.asked.of_what,
        search.largest,
        choice.last,
        where_hard=search.error_where_hard,
    )
    if choice.asked.at_zero:
        rule = _with_fewest_pairs(search, rule)
    return rule, error, pair_error(search, rule)


def _with_fewest_pairs(search: Search, rule: MeanRule) -> MeanRule:
    """Return a rule with the fewest points of sectors that leave means unchanged up to rounding."""
    *fewer, most = [with_sectors(rule, sectors) for sectors in SECTORS]
    near = search.as_near(most, 2, _ROUNDED)
    return next(filter(near, fewer), most)


def pair_error(search: Search, rule: MeanRule) -> float:
    """Return the stated error of means of two factors, for which the rules are finer."""
    return stated_mean_error(search.error(rule, math.inf, sizes=(2,)))


def stated_mean_error(error: float) -> float:
    """Return the error to be stated for a mean from the largest one found."""
    return stated_error(error, _ROUNDED)


def drawn_biases(
    rng: np.random.Generator, covariance: Matrix, largest: float = LARGEST_BIAS
) -> Matrix:
    """Return random biases, some zero, often equal or opposite for nearly aligned fields."""
    size = len(covariance)
    biases = rng.uniform(-largest, largest, size=size)
    biases[rng.random(size) < 0.2] = 0.0
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance / np.outer(scale, scale)
    for a in range(1, size):
        other = int(np.argmax(np.abs(correlation[a, :a])))
        if abs(correlation[a, other]) > 0.9 and rng.random() < 0.5:
            ratio = min(scale[a] / scale[other], 1.0)
            biases[a] = np.sign(correlation[a, other]) * ratio * biases[other]
    return biases
