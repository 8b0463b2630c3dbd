"""True errors of means by quadrature beside the stated ones, over random and hard covariances.

Most means are compared with the fields taken in another order by a much finer rule, which splits
and grades other variables at other places (means of four: an order that the search has not). Some
of two factors are compared with nested adaptive integration (``adaptive``), which shares nothing
with the rules, and so is that finer rule; so are means of four where few dimensions make that
cheap, and a few of full rank. Pairs of the closed class are done by quadrature here on purpose: all
of their means are compared with the closed forms. What is stated of means of two factors is their
own error, ACTIVATION_PAIR_ERROR.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numba import njit

from quadrature_errors.adaptive import adaptive_mean
from symderiv.checking.recipes import generate
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.means.compiled_means import by_numba
from symderiv.lowering.means.field_covariances import Matrix, field_covariances, nearby
from symderiv.lowering.means.quadrature_error import LARGEST_VARIANCE, Kinds, Search
from symderiv.lowering.means.quadrature_means import Quadrature
from symderiv.lowering.means.quadrature_rules import MeanRule, finer

ACTIVATIONS = {
    "x/(1+Abs(x))": 1e-5,
    "softplus": 1e-6,
    "silu": 1e-6,
    "x*tanh(log(1+exp(x)))": 1e-6,
    "atan(x)": 1e-6,
    "sin(x)/x": 1e-6,
    "Max(x,0)+exp(Min(x,0))-1": 1e-4,
    "Max(x,0)+tanh(x)/3": 1e-4,
    "Max(-1,Min(1,x))": 1e-4,
    "tanh(x)*exp(x/4)": 1e-5,
    "softplus|Abs": 1e-4,
    "x/(1+Abs(x))|erf": 1e-5,
    "x/(1+Abs(x))|relu": 1e-4,
    "silu|x/(1+Abs(x))": 1e-4,
    "softplus|sign": 1e-4,
    "x/(1+Abs(x))|Heaviside(x)": 1e-4,
}
CLOSED = {"erf": 1e-6, "erf|relu": 1e-4, "relu": 1e-4}
_ORDER = {2: (1, 0), 4: (2, 0, 3, 1)}
_ORDER_OF_PLANE = (1, 0, 2, 3)
"""The plane is that of the slopes: with one of them outside, even a fine rule was off by 3e-10."""
_NAMES = {0: "i2{}", 1: "i2_12{}", 2: "i2_11{}"}


@dataclass(frozen=True)
class Row:
    """The largest true error of a mean, where it was, and how many covariances were tried."""

    activation: str
    stated: float
    what: str
    tried: int
    largest: float
    where: tuple[Kinds, Matrix] | None

    @property
    def holds(self) -> bool:
        """Whether no error was above the stated one."""
        return self.largest <= self.stated


@njit
def _no_kinks(kind: int) -> np.ndarray:
    return np.zeros(0)


def rules_of(text: str, tolerance: float) -> Quadrature:
    """The rules of a pair written ``student|teacher``; the best where that is out of reach."""
    student, _, teacher = text.partition("|")
    return Quadrature(learning_problem(student, teacher or None), tolerance, limited=True)


@dataclass
class _Largest:
    """Keeps the worst of what it sees."""

    tried: int = 0
    error: float = 0.0
    where: tuple[Kinds, Matrix] | None = None

    def see(self, kinds: Kinds, covariance: Matrix, error: float) -> bool:
        self.tried += 1
        if math.isfinite(error) and error <= self.error:
            return False
        self.error, self.where = error, (kinds, covariance)
        return True


def campaign(
    text: str,
    tolerance: float,
    twos: int,
    fours: int,
    adaptive: int,
    seed: int = 1,
) -> list[Row]:
    """Rows of one activation or pair.

    Args:
        text: The pair.
        tolerance: Asked for.
        twos: Covariances of means of two factors, against another order; a fiftieth of them
            also against adaptive integration, as is the reference there.
        fours: Of four, against another order.
        adaptive: Of four with at most two dimensions, against adaptive integration; a tenth as many
            of full rank.
        seed: Of the covariances, not that of the search.
    """
    rules = rules_of(text, tolerance)
    search = rules.search
    rng = np.random.default_rng(seed)
    factor = search.factor.by_numba()
    kinks = by_numba(rules.text)["quadrature_kinks"] if rules.kinked else _no_kinks
    two = adaptive_mean(factor, kinks, 2)
    rows = []
    fine = finer(rules.rule)

    def other_order(rule: MeanRule, kinds: Kinds, covariance: Matrix) -> float:
        planes = len(kinds) == 4 and "_plane_mean_of_4" in search.compiled.functions
        order = _ORDER_OF_PLANE if planes else _ORDER[len(kinds)]
        return search.mean(rule, tuple(kinds[n] for n in order), covariance[np.ix_(order, order)])

    def off_two(kinds: Kinds, covariance: Matrix) -> float:
        exact = other_order(fine, kinds, covariance)
        return abs(search.mean(rules.rule, kinds, covariance) - exact)

    def off_adaptive(kinds: Kinds, covariance: Matrix) -> float:
        exact = two(np.array(kinds), covariance, max(1e-14, 1e-2 * rules.pair_error))
        found = search.mean(rules.rule, kinds, covariance), other_order(fine, kinds, covariance)
        return max(abs(each - exact) for each in found)

    def off_four(kinds: Kinds, covariance: Matrix) -> float:
        exact = other_order(fine, kinds, covariance)
        return abs(search.mean(rules.rule, kinds, covariance) - exact)

    rows.append(_row(text, rules, search, "two, other order", twos, off_two, rng))
    rows.append(_row(text, rules, search, "two, adaptive", twos // 50, off_adaptive, rng))
    rows.append(_row(text, rules, search, "four, other order", fours, off_four, rng))
    if adaptive:
        four = adaptive_mean(factor, kinks, 4)
        found = _Largest()
        for number in range(adaptive + adaptive // 10):
            kinds = _of(search, 4)[number % len(_of(search, 4))]
            covariance = field_covariances(rng, 1, 4, LARGEST_VARIANCE)[0]
            if number < adaptive:
                values, vectors = np.linalg.eigh(covariance)
                root = vectors[:, 2:] * np.sqrt(np.maximum(values[2:], 0))
                covariance = root @ root.T
            exact = four(np.array(kinds), covariance, 0.01 * rules.error)
            found.see(kinds, covariance, abs(search.mean(rules.rule, kinds, covariance) - exact))
        row = Row(text, rules.error, "four, adaptive", found.tried, found.error, found.where)
        rows.append(row)
    return rows


def closed_campaign(
    rules: Quadrature, text: str, count: int, seed: int = 1, rule: MeanRule | None = None
) -> Row:
    """All means of a pair of the closed class against its closed forms.

    Args:
        rules: Of the pair.
        text: The pair.
        count: Covariances.
        seed: Of the covariances, not that of the search.
        rule: Another one than that of the module.
    """
    search, rule = rules.search, rule or rules.rule
    exact = _closed(text)
    rng = np.random.default_rng(seed)
    found = _Largest()
    for number in range(count):
        kinds = search.asked.kinds[number % len(search.asked.kinds)]
        covariance = field_covariances(rng, 1, len(kinds), LARGEST_VARIANCE)[0]
        if rules.student.slope_jumps and (2 in kinds or np.min(np.diag(covariance)) == 0):
            continue  # no delta functions here, and the slope of a field that is 0 is no matter
        closed = getattr(exact, _name(kinds, "|" in text))
        value = closed(*covariance[np.triu_indices(len(kinds))])
        found.see(kinds, covariance, abs(search.mean(rule, kinds, covariance) - value))
    return Row(text, rules.error, "closed forms", found.tried, found.error, found.where)


def _row(
    text: str,
    rules: Quadrature,
    search: Search,
    what: str,
    count: int,
    off: Callable[[Kinds, Matrix], float],
    rng: np.random.Generator,
) -> Row:
    """Random and hard covariances; every eighth is near the worst one so far."""
    size, stated = (2, rules.pair_error) if what.startswith("two") else (4, rules.error)
    kinds = _of(search, size)
    worst = {each: _Largest() for each in kinds}
    for number in range(count):
        each = kinds[number % len(kinds)]
        covariance = field_covariances(rng, 1, size, LARGEST_VARIANCE)[0]
        known = worst[each].where
        if number // len(kinds) % 8 == 7 and known is not None:
            covariance = nearby(rng, known[1], LARGEST_VARIANCE, 1)[0]
        worst[each].see(each, covariance, off(each, covariance))
    largest = max(worst.values(), key=lambda found: found.error)
    return Row(text, stated, what, count, largest.error, largest.where)


def _of(search: Search, size: int) -> list[Kinds]:
    return [kinds for kinds in search.asked.kinds if len(kinds) == size]


def _name(kinds: Kinds, pair: bool) -> str:
    base = "i4{}" if len(kinds) == 4 else _NAMES[kinds[0] % 3]
    teachers = "".join("t" if kind >= 3 else "s" for kind in kinds[-2:])
    return base.format(f"_{teachers}" if pair else "")


@functools.cache
def _closed(text: str) -> Any:
    student, _, teacher = text.partition("|")
    module = generate("closed", student, teacher or None).replace("cache=True, ", "")
    space: dict[str, Any] = {}
    exec(module, space)  # text that was derived here
    return SimpleNamespace(**space)
