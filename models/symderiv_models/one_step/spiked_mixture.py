r"""Gaussian mixtures of two components with spikes, teacher and labels.

Component c has mean μ_c and covariance I + Σ_i θ_{c,i} γ_{c,i} γ_{c,i}ᵀ with orthonormal γ_{c,i}.
Spikes of the second component are γ_{2,i} = a γ_{1,i} + √(1-a²) γ'_i with γ'_i orthogonal to all
γ_1, so that the alignment a is exact; the authors' programs draw independent directions, which are
orthogonal up to 1/√n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

if TYPE_CHECKING:
    from symderiv_models.one_step.setting import Setting

    Array = np.ndarray

__all__ = ["Population", "Samples", "SpikedComponent", "population", "rectified"]


@dataclass(frozen=True, eq=False)
class SpikedComponent:
    """One normal law of the mixture.

    Args:
        mean: μ, shape (n,).
        directions: orthonormal γ in columns, shape (n, d).
        strengths: θ ≥ 0, shape (d,).
    """

    mean: Array
    directions: Array
    strengths: Array

    def sample(self, random: np.random.Generator, count: int) -> Array:
        """Return inputs in rows, shape (count, n)."""
        z = random.standard_normal((count, self.mean.size))
        along = z @ self.directions
        z += (along * (np.sqrt(1.0 + self.strengths) - 1.0)) @ self.directions.T
        z += self.mean
        return z


@dataclass(frozen=True, eq=False)
class Samples:
    """Drawn examples, ordered by component.

    Args:
        inputs: x in rows, shape (count, n).
        labels: y, shape (count,).
        first: the number of those of the first component.
    """

    inputs: Array
    labels: Array
    first: int

    @property
    def parts(self) -> tuple[slice, slice]:
        """The rows of each component."""
        return slice(0, self.first), slice(self.first, len(self.labels))


@dataclass(frozen=True, eq=False)
class Population:
    """The mixture and the teacher.

    Args:
        components: two.
        weight: ρ, the share of the first; ⌊ρ · count⌋ of every set of examples are of it.
        teacher: ξ, shape (n,), of norm 1/√‖ρ Σ_1 + (1-ρ) Σ_2‖.
        classes: whether labels are -1 and 1 by component instead of max(0, ξ·x).
    """

    components: tuple[SpikedComponent, SpikedComponent]
    weight: float
    teacher: Array
    classes: bool

    @property
    def trace(self) -> float:
        """Tr Σ, the same of both components."""
        first = self.components[0]
        return float(first.mean.size + first.strengths.sum())

    def sample(self, random: np.random.Generator, count: int) -> Samples:
        """Return examples with a fixed number from each component."""
        first = math.floor(self.weight * count)
        x = np.empty((count, self.teacher.size))
        x[:first] = self.components[0].sample(random, first)
        x[first:] = self.components[1].sample(random, count - first)
        return Samples(x, self.labels(x, first), first)

    def labels(self, inputs: Array, first: int) -> Array:
        """Return y of inputs in rows, shape (count,); ``first`` are of the first component."""
        if self.classes:
            return np.where(np.arange(len(inputs)) < first, -1.0, 1.0)
        labels: Array = np.maximum(inputs @ self.teacher, 0.0)
        return labels


def population(setting: Setting, random: np.random.Generator) -> Population:
    """Draw spikes, means and teacher of a mixture."""
    n, rank, a = setting.n, setting.rank, setting.alignment
    frame = np.linalg.qr(random.standard_normal((n, 2 * rank)))[0]
    first, other = frame[:, :rank], frame[:, rank:]
    second = a * first + math.sqrt(1.0 - a * a) * other
    strengths = _strengths(setting, random)
    mean = random.standard_normal(n)
    mean *= setting.mean / np.linalg.norm(mean)
    components = (
        SpikedComponent(mean, first, strengths[0]),
        SpikedComponent(-mean, second, strengths[1]),
    )
    teacher = random.standard_normal(n)
    teacher /= np.linalg.norm(teacher) * math.sqrt(_norm(components, setting.mixture_weight))
    classes = setting.task == "classification"
    return Population(components, setting.mixture_weight, teacher, classes)


def _strengths(setting: Setting, random: np.random.Generator) -> Array:
    """Draw θ of both components, shape (2, d), of equal sums."""
    uniform = random.uniform(size=(2, setting.rank))
    if setting.spikes == "equal":
        return np.full((2, setting.rank), setting.spike)
    strengths: Array = setting.spike * uniform
    strengths[1] *= strengths[0].sum() / strengths[1].sum()
    return strengths


def _norm(components: tuple[SpikedComponent, SpikedComponent], weight: float) -> float:
    """Return ‖ρ Σ_1 + (1-ρ) Σ_2‖, 1 plus the largest eigenvalue of the spikes' part."""
    shares = (weight, 1.0 - weight)
    scaled = np.hstack(
        [
            c.directions * np.sqrt(share * c.strengths)
            for c, share in zip(components, shares, strict=True)
        ]
    )
    return 1.0 + float(np.linalg.norm(scaled, 2)) ** 2


def rectified(a: Array, s: Array | float) -> tuple[Array, Array, Array]:
    """Return E y, mean slope and E y² of y = max(0, a + s z), z standard normal."""
    u = a / s
    density = np.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)
    above = ndtr(u)
    return a * above + s * density, above, (a * a + s * s) * above + a * s * density
