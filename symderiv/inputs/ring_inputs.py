r"""Two classes of inputs on a ring: nonlinear Gaussian processes, single pulses, their surrogates.

A nonlinear Gaussian process (NLGP) is x_i = ψ(g z_i)/Z with z a Gaussian of covariance
exp(−d²/ξ²) and unit variance, and Z such that x has unit variance. Two ψ are in use,
erf(u/√2) (the default, that of Ingrosso and Goldt's programs) and erf(u). With
s = g² and 2g² for them, the covariance arcsin(s C_ij/(1 + s))/arcsin(s/(1 + s)) follows from the
mean of two error functions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import Any

import numpy as np
import sympy as sp
from scipy.special import erf

from symderiv.formula.as_function import as_function
from symderiv.foundation.derivation_cache import derived_once
from symderiv.foundation.errors import InputError, check_one_of
from symderiv.gaussian import expectation
from symderiv.inputs import ring
from symderiv.inputs.ring import Floats

#: Largest ring; the flow has D·K unknowns and matrices of D by D.
MAX_SITES = 4096
CONVENTIONS = {"erf(u/sqrt(2))": 1.0, "erf(u)": 2.0}


class RingInputs(ABC):
    """Two classes of translation-invariant inputs: label 1 has the first law, 0 the second."""

    @property
    @abstractmethod
    def sites(self) -> int:
        """D, the number of sites."""

    @abstractmethod
    def row(self, label: int) -> Floats:
        """Return the first row of the covariance of a class, shape (D,)."""

    def covariance(self, label: int) -> Floats:
        """Return the covariance of a class, shape (D, D)."""
        return ring.circulant(self.row(label))

    def surrogate(self) -> GaussianRing:
        """Return Gaussian inputs of the same covariances."""
        return GaussianRing((tuple(self.row(1)), tuple(self.row(0))))

    @abstractmethod
    def sample(self, label: int, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        """Return inputs of a class, shape ``(*shape, D)``."""

    @abstractmethod
    def excess_kurtosis(self) -> float:
        """E x⁴ − 3 of a site; 0 for Gaussian inputs."""


@dataclass(frozen=True)
class GaussianRing(RingInputs):
    """Gaussian inputs of mean zero.

    Args:
        rows: first rows of the two covariances, of label 1 and of label 0, each of D numbers.
    """

    rows: tuple[tuple[float, ...], tuple[float, ...]]

    def __post_init__(self) -> None:
        first, second = (np.asarray(row, dtype=np.float64) for row in self.rows)
        if first.ndim != 1 or first.shape != second.shape or not first.size:
            raise InputError("needs two rows of equal length", argument="rows")
        for row in (first, second):
            if not np.all(np.isfinite(row)):
                raise InputError("has entries that are not finite numbers", argument="rows")
            if not np.allclose(row[1:], row[:0:-1], rtol=1e-12, atol=1e-14):
                raise InputError("is not symmetric around the ring", argument="rows")
            if np.min(ring.eigenvalues(row)) < -1e-10 * abs(row[0]) * row.size:
                raise InputError("has a negative eigenvalue", argument="rows")

    @property
    def sites(self) -> int:
        return len(self.rows[0])

    def row(self, label: int) -> Floats:
        return np.array(self.rows[_index(label)])

    def sample(self, label: int, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        white = generator.standard_normal((*shape, self.sites))
        return np.asarray(white @ _root(self.rows[_index(label)]))

    def excess_kurtosis(self) -> float:
        return 0.0


@dataclass(frozen=True)
class NonlinearProcess(RingInputs):
    """Nonlinear Gaussian processes of unit variance, one for each label.

    Args:
        gain: g > 0; towards 0 the inputs are Gaussian, ``inf`` gives signs.
        lengths: correlation lengths ξ in sites, of label 1 and of label 0; one number for one
            class.
        sites: D ≥ 2.
        convention: ``"erf(u/sqrt(2))"`` or ``"erf(u)"``, the function of g z.

    Raises:
        InputError: an argument is not acceptable; a length is too long for the ring.

    >>> inputs = NonlinearProcess(gain=3, lengths=(2, 1))
    >>> inputs.covariance(1)[0, :3].round(4)
    array([1.    , 0.6936, 0.3014])
    """

    gain: float
    lengths: tuple[float, float] | float
    sites: int = 40
    convention: str = "erf(u/sqrt(2))"

    def __post_init__(self) -> None:
        check_sites(self.sites)
        if math.isnan(self.gain) or self.gain <= 0.0:
            raise InputError(f"{self.gain!r} is not positive", argument="gain")
        check_one_of("convention", self.convention, CONVENTIONS)
        object.__setattr__(self, "lengths", two_lengths(self.lengths))
        for label in (1, 0):
            self.kernel(label)

    def kernel(self, label: int) -> Floats:
        """Return the first row of the covariance of the underlying Gaussian, shape (D,)."""
        assert isinstance(self.lengths, tuple)
        return ring.gaussian_kernel(self.sites, self.lengths[_index(label)])

    @property
    def _variance(self) -> float:
        """The variance of u if the error function is written as erf(u/√2)."""
        return CONVENTIONS[self.convention] * self.gain**2

    def row(self, label: int) -> Floats:
        kernel = self.kernel(label)
        return _erf_covariance(self._variance, kernel) / _erf_covariance(self._variance, np.ones(1))

    def values(self, z: Floats) -> Floats:
        """Return the inputs for values of the underlying standard Gaussian process, entry
        by entry.
        """
        if math.isinf(self.gain):
            return np.where(z >= 0.0, 1.0, -1.0)
        return np.asarray(erf(z * math.sqrt(self._variance / 2.0)) / _scale(self._variance))

    def excess_kurtosis(self) -> float:
        """E x⁴ − 3 of a site, from 0 for small gains to −2 for signs; to 6 digits."""
        if math.isinf(self.gain):
            return -2.0
        z = np.linspace(-12.0, 12.0, 24001)
        density = np.exp(-(z**2) / 2.0)
        return float(np.sum(density * self.values(z) ** 4) / np.sum(density)) - 3.0

    def sample(self, label: int, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        white = generator.standard_normal((*shape, self.sites))
        return self.values(white @ _root_beneath(self, label))


@dataclass(frozen=True)
class Pulses(RingInputs):
    """One pulse at a random place, centred and of unit variance.

    Args:
        lengths: the lengths ℓ of pulses in sites, ``(least, most)`` for label 1 and for label 0,
            each length equally often; one number for pulses of one length.
        sites: D ≥ 2.
        complement: half of the inputs are the complement of a pulse.

    Raises:
        InputError: an argument is not acceptable.
    """

    lengths: tuple[Any, Any]
    sites: int = 40
    complement: bool = True

    def __post_init__(self) -> None:
        check_sites(self.sites)
        if not isinstance(self.lengths, Sequence) or len(self.lengths) != 2:
            raise InputError("needs two entries, of label 1 and of label 0", argument="lengths")
        ranges = [[each, each] if isinstance(each, int | float) else each for each in self.lengths]
        for each in ranges:
            if not self._is_range(each):
                raise InputError(
                    f"{each} are not whole lengths between 1 and {self.sites - 1}",
                    argument="lengths",
                )
        whole = tuple((int(least), int(most)) for least, most in ranges)
        object.__setattr__(self, "lengths", whole)

    def _is_range(self, given: Any) -> bool:
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
            return False
        if not all(isinstance(each, int | float) and each == each // 1 for each in given):
            return False
        return bool(1 <= given[0] <= given[1] < self.sites)

    def _range(self, label: int) -> tuple[int, int]:
        least, most = self.lengths[_index(label)]
        return int(least), int(most)

    def _moments(self, label: int) -> tuple[float, Floats]:
        """Return the mean of a site and E[x_0 x_d], shape (D,), of inputs in {0, 1}."""
        least, most = self._range(label)
        lengths = np.arange(least, most + 1)[:, None]
        d = np.arange(self.sites)[None, :]
        # starts at which the pulse covers both sites, one within reach of the other or around the
        # ring
        both = np.maximum(lengths - d, 0) + np.maximum(lengths - (self.sites - d), 0)
        both = np.where(d == 0, lengths, both)
        second = np.mean(both, axis=0) / self.sites
        first = float(np.mean(lengths)) / self.sites
        if self.complement:
            # P(neither) = 1 − P(one) − P(other) + P(both)
            second = 0.5 * (second + 1.0 - 2.0 * first + second)
            first = 0.5
        return first, second

    def row(self, label: int) -> Floats:
        first, second = self._moments(label)
        return np.asarray((second - first**2) / (second[0] - first**2))

    def excess_kurtosis(self) -> float:
        """E x⁴ − 3 of a site, for the label for which it is further from 0."""
        shares = [self._moments(label)[0] for label in (0, 1)]
        excess = [(1.0 - 6.0 * p * (1.0 - p)) / (p * (1.0 - p)) for p in shares]
        return max(excess, key=abs)

    def sample(self, label: int, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        least, most = self._range(label)
        start = generator.integers(self.sites, size=shape)[..., None]
        length = generator.integers(least, most + 1, size=shape)[..., None]
        pulse = ((np.arange(self.sites) - start) % self.sites < length).astype(np.float64)
        if self.complement:
            exchanged = generator.integers(2, size=shape)[..., None]
            pulse = np.where(exchanged == 1, 1.0 - pulse, pulse)
        first, second = self._moments(label)
        return np.asarray((pulse - first) / math.sqrt(second[0] - first**2))


def check_sites(sites: int) -> None:
    """Refuse numbers of sites that are too small, too large or not integers."""
    if not isinstance(sites, int) or isinstance(sites, bool) or not 2 <= sites <= MAX_SITES:
        raise InputError(f"{sites!r} is not a number from 2 to {MAX_SITES}", argument="sites")


def two_lengths(lengths: Any) -> tuple[float, float]:
    """Return the lengths of both labels, in sites."""
    given = [lengths, lengths] if isinstance(lengths, int | float) else lengths
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise InputError("needs two lengths, of label 1 and of label 0", argument="lengths")
    for each in given:
        if not (isinstance(each, int | float) and math.isfinite(each) and each > 0.0):
            raise InputError(f"{each!r} is not a positive number of sites", argument="lengths")
    first, second = given
    return float(first), float(second)


def _index(label: int) -> int:
    if not isinstance(label, Integral) or label not in (0, 1):
        raise InputError(f"{label!r} is not 0 or 1", argument="label")
    return 1 - label


@derived_once("gaussian")
def _two_error_functions() -> sp.Expr:
    """Return E[erf(u/√2) erf(v/√2)] for variances s and covariance s c."""
    u, v = sp.symbols("u v", real=True)
    s, c = sp.symbols("s c", positive=True)
    covariance = sp.Matrix([[s, s * c], [s * c, s]])
    product = sp.erf(u / sp.sqrt(2)) * sp.erf(v / sp.sqrt(2))
    return expectation(product, (u, v), covariance).value


def _erf_covariance(variance: float, correlation: Floats) -> Floats:
    covariance = _erf_covariance_function(math.isinf(variance))(variance, correlation)
    return np.asarray(covariance, dtype=np.float64)


@lru_cache
def _erf_covariance_function(infinite: bool) -> Callable[..., Any]:
    """Return the mean of two error functions as a function of s and c, or its limit for
    infinite s.
    """
    s, c = sp.symbols("s c", positive=True)
    formula = _two_error_functions()
    return as_function((s, c), sp.limit(formula, s, sp.oo) if infinite else formula)


@lru_cache(maxsize=32)
def _scale(variance: float) -> float:
    """Return the standard deviation of erf(u/√2)."""
    return math.sqrt(float(_erf_covariance(variance, np.ones(1))[0]))


@lru_cache(maxsize=32)
def _root_beneath(inputs: NonlinearProcess, label: int) -> Floats:
    """Return the symmetric square root of the covariance of the underlying Gaussian."""
    return ring.root(inputs.kernel(label))


@lru_cache(maxsize=32)
def _root(row: tuple[float, ...]) -> Floats:
    """Return the symmetric square root of a covariance, kept because every draw needs it."""
    return ring.root(np.array(row))
