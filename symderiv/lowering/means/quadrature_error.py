r"""The largest error of a rule of quadrature that a search over covariances finds.

The functions of a module are compiled for this search with the rule as an argument. Their values
are compared with those of a much finer rule with the fields in the opposite order, at random and
hard covariances (see ``field_covariances``) of every mean that the equations have; then the search
goes on around the worst ones. What is stated is the largest difference found times a factor for
what the search missed; ``make quadrature-errors`` compares that with independent integrals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from symderiv.compiled_code.translated_functions import TranslatedFunction
from symderiv.lowering.means.compiled_means import CompiledMeans
from symderiv.lowering.means.field_covariances import Matrix, field_covariance, nearby, structured
from symderiv.lowering.means.quadrature_rules import MeanRule, finer

LARGEST_VARIANCE = 2.0
"""Of the fields, for which errors are stated."""

LARGEST_BIAS = 2.0
"""The same, in modulus, of the biases of fields."""

SAFETY = 5.0
"""The stated error in units of the largest found."""

_SEED = 1995
_SAMPLES = {2: 600, 4: 30}
_AROUND = {2: 300, 4: 12}
_FARTHEST = 30.0
_UPPER = {size: np.triu_indices(size) for size in (2, 4)}

Kinds = tuple[int, ...]

_LOADS = np.array(
    [
        [0.715933, 0.0, 0.0, 0.0],
        [-0.234296, 0.67651, 0.0, 0.0],
        [-0.463215, 1.3349, 0.0588313, 0.0],
        [-0.234296, 0.67651, 0.0, 1.17095e-07],
    ]
)
_LAYERS = {2: (), 4: (_LOADS @ _LOADS.T,)}
"""Layers of very different widths at one place, where rules for planes were worst among 240."""


class Search:
    """Looks for the covariances at which rules are worst."""

    def __init__(
        self,
        compiled: CompiledMeans,
        kinds: Sequence[Kinds],
        biased: bool = False,
        variance: float = LARGEST_VARIANCE,
        bias: float = LARGEST_BIAS,
    ) -> None:
        """Take the means.

        Args:
            compiled: All of them, with the rule as an argument.
            kinds: The factors of every mean that occurs.
            biased: Whether fields have biases.
            variance, bias: The largest of fields, and of their biases in modulus.
        """
        self.compiled = compiled
        self.factor, self.kinks = compiled.factor, compiled.kinks
        self.panels = "_kinked_mean_of_4" in compiled.functions
        planes = "_plane_mean_of_4" in compiled.functions
        # panels of four factors cost much, and planes have most kinds of layers
        self._samples = 1 if self.panels else 8 if planes else 4
        self._climbs = 4 if planes else 1
        self.kinds = tuple(kinds)
        self.biased, self.variance, self.bias = biased, variance, bias
        self._means: dict[int, Callable[..., float]] = {}
        self._known: dict[tuple[MeanRule, int], float] = {}

    def mean(
        self, rule: MeanRule, kinds: Kinds, covariance: Matrix, biases: Matrix | None = None
    ) -> float:
        """Return a mean as a module with this rule computes it."""
        shifts = np.zeros(len(kinds)) if biases is None else biases
        numbers = np.array(rule.two if len(kinds) == 2 else rule.four)
        moments = tuple(covariance[_UPPER[len(kinds)]].tolist()), tuple(shifts.tolist())
        mean = self._means.get(len(kinds))
        if mean is None:
            mean = self.compiled.of(len(kinds))
            if isinstance(mean, TranslatedFunction):
                mean = mean.for_kinds_of(numbers, kinds, *moments)
            self._means[len(kinds)] = mean
        return float(mean(numbers, kinds, *moments))

    def tail(self, negligible: float) -> float:
        """Return the t beyond which the integrand of the largest aligned fields is negligible."""
        cell = 0.05
        t = np.arange(-_FARTHEST, _FARTHEST + cell, cell)
        farthest = 0.0
        shifts = (-self.bias, self.bias) if self.biased else (0.0,)
        fields = math.sqrt(self.variance) * t

        @cache
        def largest(kind: int) -> Matrix:
            values = [[abs(self.factor(kind, each + b)) for each in fields] for b in shifts]
            return np.asarray(np.max(values, axis=0))

        for kinds in self.kinds:
            product = np.exp(-t * t / 2) * cell
            for kind in kinds:
                product *= largest(kind)
            product = np.nan_to_num(product, nan=0.0)
            folded = product + product[::-1]
            beyond = np.cumsum(folded[: t.size // 2])
            inside = np.nonzero(beyond > negligible)[0]
            farthest = max(farthest, float(-t[inside[0]]) if inside.size else 0.0)
        return farthest

    def error(self, rule: MeanRule, enough: float, sizes: tuple[int, ...] = (2, 4)) -> float:
        """Return the largest found error times SAFETY, of means of so many factors.

        The search ends when it is above ``enough``.
        """
        largest = 0.0
        # means of four factors decide nearly always
        for size in sorted(sizes, reverse=True):
            if (rule, size) not in self._known:
                worst = 0.0
                for error in self._errors(rule, finer(rule), (size,)):
                    worst = max(worst, error)
                    if not SAFETY * worst <= enough:
                        return SAFETY * worst
                self._known[rule, size] = worst
            largest = max(largest, self._known[rule, size])
        return SAFETY * largest

    def _errors(
        self, rule: MeanRule, reference: MeanRule, sizes: tuple[int, ...]
    ) -> Iterator[float]:
        rng = np.random.default_rng(_SEED)

        def off(kinds: Kinds, covariance: Matrix) -> float:
            biases = (
                drawn_biases(rng, covariance, self.bias) if self.biased else np.zeros(len(kinds))
            )
            # In the opposite order the rule splits other variables at other places.
            exact = self.mean(reference, kinds[::-1], covariance[::-1, ::-1], biases[::-1])
            difference = self.mean(rule, kinds, covariance, biases) - exact
            return abs(difference) if math.isfinite(difference) else math.inf

        for kinds in self.kinds:
            size = len(kinds)
            if size not in sizes:
                continue
            tried = []
            count = self._samples * _SAMPLES[size]
            random = (field_covariance(rng, size, self.variance) for _ in range(count))
            layers = () if self.panels else _LAYERS[size]
            for covariance in (*structured(size, self.variance), *layers, *random):
                tried.append((off(kinds, covariance), covariance))
                yield tried[-1][0]
            tried.sort(key=lambda each: -each[0])
            for worst, start in tried[:3]:
                climbed, place = worst, start
                for _ in range(self._climbs * _AROUND[size] // 3):
                    covariance = nearby(rng, place, self.variance)
                    error = off(kinds, covariance)
                    if error > climbed:
                        climbed, place = error, covariance
                        yield error


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
