r"""The largest error of a rule of quadrature that a search over covariances finds.

The functions of a module are compiled for this search with the rule as an argument. Their values
are compared with those of a much finer rule with the fields in the opposite order, at random and
hard covariances (see ``field_covariances``) of every mean that the equations have; then the search
goes on around the worst ones. What is stated is the largest difference found times a factor for
what the search missed; ``make quadrature-errors`` compares that with independent integrals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Protocol

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

CHOSEN_RULES = Path(__file__).with_name("chosen_rules.pickle")
"""Rules for pairs of activations that have names, see ``ship_rules``."""

LARGEST_VARIANCE = 2.0
"""The largest variance of fields for which errors are stated."""

LARGEST_BIAS = 2.0
"""The same, in modulus, of the biases of fields."""

_ROUNDED = 1e-13
"""The relative size of rounding errors of a mean."""

SAFETY = 5.0
"""The stated error in units of the largest found."""

_SEED = 1995
_SAMPLES = {2: 600, 4: 30}
_AROUND = {2: 300, 4: 12}
_FARTHEST, _CELL = 30.0, 0.05
_UPPER = {size: np.triu_indices(size) for size in (2, 4)}
_AT_ONCE = {2: 10, 4: 1}
"""Covariances around the worst that are tried before the next ones start from the worst of them."""

_CHUNK = {2: 50, 4: 10}
"""Covariances at which a search may end."""

Kinds = tuple[int, ...]
Found = tuple[float, Kinds, Matrix, Matrix]
"""An error, the factors of its mean, and the covariance and the biases of the fields."""


class Means(Protocol):
    """Lists what is asked of means that were compiled, see ``compiled_means``."""

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]: ...

    @property
    def factor(self) -> Callable[[int, float], float]: ...

    @property
    def kinks(self) -> Callable[[int], Matrix] | None: ...

    def many(self, size: int) -> Callable[..., Any]: ...


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
"""Layers of very different widths at one place, where rules for planes were worst among 240, four
general fields, where they were worst with two kinks, and four fields of one plane, where they were
worst among 400 of such."""


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
    """A search that may go on.

    Attributes:
        rest: What it has not found yet.
        worst: The largest error so far.
        place: Where it is: factors, covariance, biases.
    """

    rest: Iterator[Found]
    worst: float = 0.0
    place: Place | None = None

    def take(self, found: Found) -> None:
        """Take note of an error."""
        if found[0] > self.worst:
            self.worst, *_ = found
            self.place = found[1:]


class Search:
    """Looks for the covariances at which rules are worst."""

    def __init__(
        self,
        compiled: Means,
        kinds: Sequence[Kinds],
        biased: bool = False,
        variance: float = LARGEST_VARIANCE,
        bias: float = LARGEST_BIAS,
        idle: int | None = None,
    ) -> None:
        """Take the means.

        Args:
            compiled: All of them, with the rule as an argument.
            kinds: The factors of every mean that occurs.
            biased: Whether fields have biases.
            variance, bias: The largest of fields, and of their biases in modulus.
            idle: The number of a factor whose fields do not vary, where means are of any functions;
                None where they are of activations and slopes.
        """
        self.idle = idle
        self.compiled = compiled
        self.factor = compiled.factor
        self.kinds = tuple(kinds)
        self.panels = "_kinked_mean_of_4" in compiled.functions
        self._planes = planes = "_plane_mean_of_4" in compiled.functions
        # panels of four factors cost much, as several kinks do; planes have most kinds of layers
        several = planes and self._several
        self._samples = (
            {2: 2, 4: 3 if several else 8}
            if planes
            else {2: 1, 4: 1}
            if self.panels
            else {2: 4, 4: 20}
        )
        self._climbs = {2: 1, 4: 2 if several else 4 if planes else 1}
        self.biased, self.variance, self.bias = biased, variance, bias
        self._begun: dict[tuple[MeanRule, int], _Begun] = {}
        self._hard: list[Place] = []
        self._there: dict[tuple[MeanRule, int], float] = {}

    def scale(self, most: float) -> float:
        """Return the largest scale on which tables of all factors keep an error of means, and that
        is not above half the distance of two kinks of any factor.
        """
        factors, apart = [], math.inf
        for kind in sorted(set().union(*self.kinds) - {self.idle}):
            kinks = [] if self.compiled.kinks is None else self.compiled.kinks(kind).tolist()
            factors.append((partial(self.factor, kind), kinks or [0.0]))
            apart = min([apart, *np.diff(kinks)])

        def keeps(scale: float) -> bool:
            return 2.0 * scale <= apart and all(
                error_of_panels(*factor, scale, self.variance) <= most for factor in factors
            )

        return next(filter(keeps, SCALES), SCALES[-1])

    @property
    def sectors(self) -> bool:
        """True if means of two factors go over sectors."""
        return "_polar_mean_of_2" in self.compiled.functions

    @property
    def _several(self) -> bool:
        """True if a factor has several kinks."""
        kinks, kinds = self.compiled.kinks, set().union(*self.kinds)
        return kinks is not None and any(len(kinks(kind)) > 1 for kind in kinds)

    def mean(
        self, rule: MeanRule, kinds: Kinds, covariance: Matrix, biases: Matrix | None = None
    ) -> float:
        """Return a mean as a module with this rule computes it."""
        shifts = np.zeros(len(kinds)) if biases is None else biases
        return float(self.means(rule, kinds, covariance[None], shifts[None])[0])

    def means(self, rule: MeanRule, kinds: Kinds, covariances: Matrix, biases: Matrix) -> Matrix:
        """Return the same at many covariances, and as many biases of all fields."""
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
        """About the largest mean of moduli: that of the largest aligned fields."""
        return float(max(map(np.sum, self._aligned))) / math.sqrt(2 * math.pi)

    @cached_property
    def _aligned(self) -> list[Matrix]:
        """Return what each cell of the modulus of t adds to means of moduli of products, times
        √(2π), from the middle on; fields are the largest, and aligned.
        """
        t = np.arange(-_FARTHEST, _FARTHEST + _CELL, _CELL)
        shifts = (-self.bias, self.bias) if self.biased else (0.0,)
        fields = math.sqrt(self.variance) * t

        @cache
        def largest(kind: int) -> Matrix:
            values = [[abs(self.factor(kind, each + b)) for each in fields] for b in shifts]
            found = np.asarray(np.max(values, axis=0))
            if self.idle is not None:
                # a factor that falls off does so along its own field only
                for side in (found[t.size // 2 :], found[t.size // 2 :: -1]):
                    np.maximum.accumulate(side, out=side)
            return found

        found = []
        for kinds in self.kinds:
            product = np.exp(-t * t / 2) * _CELL
            for kind in kinds:
                product *= largest(kind)
            product = np.nan_to_num(product, nan=0.0)
            folded = (product + product[::-1])[t.size // 2 :]
            folded[0] *= 0.5
            found.append(folded)
        return found

    def error(self, rule: MeanRule, enough: float, sizes: tuple[int, ...] = (2, 4)) -> float:
        """Return the largest found error times SAFETY, of means of so many factors.

        The search ends when it is above ``enough``, and goes on there when more is asked for. It
        begins where other rules were worst, so that few covariances refuse most rules.
        """
        largest = self.error_where_hard(rule, enough, sizes)
        # means of four factors decide nearly always
        for size in sorted(sizes, reverse=True):
            begun = self._begun.setdefault((rule, size), _Begun(self._errors(rule, size)))
            while max(largest, SAFETY * begun.worst) <= enough:
                found = next(begun.rest, None)
                if found is None:
                    break
                begun.take(found)
            if begun.place is not None and not any(map(_same_as(begun.place), self._hard)):
                self._hard.append(begun.place)
            largest = max(largest, SAFETY * begun.worst)
        return largest

    def error_where_hard(
        self, rule: MeanRule, enough: float = math.inf, sizes: tuple[int, ...] = (2, 4)
    ) -> float:
        """Return the largest error times SAFETY at the covariances where rules were worst so far,
        or one above ``enough``; the last covariances found refuse most rules.
        """
        largest = 0.0
        for n, (kinds, *place) in reversed([*enumerate(self._hard)]):
            if len(kinds) in sizes and largest <= enough:
                if (rule, n) not in self._there:
                    found = self._off(rule, kinds, *(each[None] for each in place))
                    self._there[rule, n] = SAFETY * float(found[0])
                largest = max(largest, self._there[rule, n])
        return largest

    def as_near(self, rule: MeanRule, size: int, most: float) -> Callable[[MeanRule], bool]:
        """Return what says whether means of so many factors by another rule are no farther from
        those of a rule, with fields in the same order.
        """
        rng, many = np.random.default_rng(_SEED), self._samples[size] * _SAMPLES[size]
        tried = np.array(
            [*structured(size, self.variance), *field_covariances(rng, many, size, self.variance)]
        )
        unbiased, known = np.zeros(tried.shape[:2]), dict[Kinds, Matrix]()

        def near(other: MeanRule) -> bool:
            for kinds in self.kinds:
                if len(kinds) == size:
                    if kinds not in known:
                        known[kinds] = self.means(rule, kinds, tried, unbiased)
                    found = self.means(other, kinds, tried, unbiased)
                    if np.max(np.abs(found - known[kinds])) > most:
                        return False
            return True

        return near

    def _order(self, size: int) -> list[int]:
        """Return the order of fields in which means are computed again: the opposite one, but a
        plane is that of the slopes, whose jumps no layer of a rest may blur.
        """
        if size == 4 and self._planes:
            return [1, 0, 3, 2]
        return [*range(size)][::-1]

    def _off(self, rule: MeanRule, kinds: Kinds, covariances: Matrix, biases: Matrix) -> Matrix:
        """Return the differences of means to those of a finer rule, with fields in another order.

        There the rule splits other variables at other places.
        """
        order = self._order(len(kinds))
        turned = covariances[:, order][:, :, order], biases[:, order]
        difference = self.means(rule, kinds, covariances, biases)
        difference -= self.means(finer(rule), tuple(kinds[n] for n in order), *turned)
        return np.where(np.isfinite(difference), np.abs(difference), math.inf)

    def _errors(self, rule: MeanRule, size: int) -> Iterator[Found]:
        """Yield the largest error of some covariances after the other."""
        rng = np.random.default_rng(_SEED)

        def off(kinds: Kinds, covariances: Matrix) -> tuple[Matrix, Found]:
            # one rounding is much where factors jump: both orders shall have the same
            covariances = 0.5 * (covariances + covariances.transpose(0, 2, 1))
            varies = np.array([float(kind != self.idle) for kind in kinds])
            covariances = covariances * np.outer(varies, varies)
            biases = np.zeros(covariances.shape[:2])
            if self.biased:
                biases[:] = [drawn_biases(rng, each, self.bias) for each in covariances]
            errors = self._off(rule, kinds, covariances, biases)
            worst = int(errors.argmax())
            return errors, (float(errors[worst]), kinds, covariances[worst], biases[worst])

        for kinds in self.kinds:
            if len(kinds) != size:
                continue
            random = field_covariances(
                rng, self._samples[size] * _SAMPLES[size], size, self.variance
            )
            layers = () if self.panels else _LAYERS[size]
            # where rules are worst first, so that a rule that does not do is soon known
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
    """Says for which means and which tolerance a rule is chosen.

    Attributes:
        means: The digest of the text of all means, with the rule as an argument.
        kinds: The factors of every mean that occurs.
        family: ``smooth``, ``kinked`` or ``plane``.
        rough: Whether factors jump, see ``FactorMeans``.
        even: Whether no mean changes when all fields change their signs.
        tolerance: Bound on the absolute error of the means.
        last: The share of the largest mean that the error may be where no rule keeps it; see
            :func:`coarsest`.
        biased: Whether fields have biases.
        within: The largest variances, and biases in modulus.
        idle: The number of a factor whose fields do not vary, if any; see :class:`Search`.
        of_what: What means are of, for messages.
        search: Gives the search.
    """

    means: str
    kinds: tuple[Kinds, ...]
    family: str
    rough: bool
    even: bool
    tolerance: float
    last: float | None
    biased: bool
    within: tuple[float, float]
    idle: int | None
    of_what: str = field(repr=False, compare=False)
    search: Callable[[], Search] = field(repr=False, compare=False)

    def rules(self) -> list[MeanRule]:
        """Return the rules from coarse to fine."""
        tolerance = max(self.tolerance, 1e-12)
        tail = self.search().tail(tolerance / 100)
        if self.family == "plane":
            # other factors make the error of one larger
            scale = self.search().scale(0.1 * tolerance / max(1.0, self.search().largest))
            numbers = tolerance, tail, self.rough, self.even, scale
            rules = [plane_rule(points, *numbers) for points in PLANE_POINTS]
            sectors = self.search().sectors
            return [with_sectors(rule, SECTORS[-1]) for rule in rules] if sectors else rules
        if self.family == "kinked":
            return [kinked_rule(p, tolerance, tail, self.rough) for p in KINKED_PANELS]
        near = self.search().tail(tolerance / 20)
        steps = [smooth_rule(step, tolerance, near) for step in SMOOTH_STEPS]
        # factors that grow owe their errors to the tail where the finest step does not do
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
        choice.of_what,
        search.largest,
        choice.last,
        where_hard=search.error_where_hard,
    )
    if search.sectors:
        rule = _with_fewest_pairs(search, rule)
    return rule, error, pair_error(search, rule)


def _with_fewest_pairs(search: Search, rule: MeanRule) -> MeanRule:
    """Return a rule with the fewest points of sectors that change means by rounding alone."""
    *fewer, most = [with_sectors(rule, sectors) for sectors in SECTORS]
    near = search.as_near(most, 2, _ROUNDED)
    return next(filter(near, fewer), most)


def pair_error(search: Search, rule: MeanRule) -> float:
    """Return the stated error of means of two factors alone, which finer rules compute."""
    return stated_mean_error(search.error(rule, math.inf, sizes=(2,)))


def stated_mean_error(error: float) -> float:
    """Return what is stated of the error of a mean."""
    return stated_error(error, _ROUNDED)


def drawn_biases(
    rng: np.random.Generator, covariance: Matrix, largest: float = LARGEST_BIAS
) -> Matrix:
    """Biases up to the largest, some zero, often the same or opposite where fields nearly are."""
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
