"""Laws of the latent vector: normal, and the mixtures of arXiv:2405.00642, equation 17.

Means are drawn uniformly from [-α, α), components are equally likely and have unit variance. The
paper does not say whether a mean is one number per component or one per component and coordinate,
nor whether the component is drawn once per example or once per coordinate: all are laws here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from symderiv.inputs.mixture import Mixture, uniform_means

Draw = Callable[[int], np.ndarray]


@dataclass(frozen=True)
class Law:
    """A law of latent vectors.

    Args:
        components: m; 1 with separation 0 is the normal law.
        separation: α, a whole number from 0 on.
        standardised: coordinates have mean 0 and variance 1 (exact moments; equation 19 has
            empirical ones).
        assignment: whether components are drawn per "coordinate" or per "sample".
        means: "coordinate" or "common", see :mod:`symderiv.inputs.mixture`.
    """

    components: int = 1
    separation: int = 0
    standardised: bool = True
    assignment: str = "coordinate"
    means: str = "coordinate"

    @property
    def name(self) -> str:
        """Short and unique, e.g. ``m2 a9 standardised``, ``m2 a9 plain sample common``."""
        words = [f"m{self.components} a{self.separation}"]
        words.append("standardised" if self.standardised else "plain")
        words += ["sample"] * (self.assignment == "sample")
        words += ["common"] * (self.means == "common")
        return " ".join(words)

    def mixture(self, dimension: int, seed: int) -> Mixture:
        """The law with means drawn for a repetition."""
        m = self.components
        means = uniform_means(m, dimension, self.separation, self.means, seed)
        return Mixture(means, np.full(m, 1.0 / m), self.assignment, self.standardised)

    def draw(self, dimension: int, seed: int) -> Draw:
        """Vectors in single precision, shape (count, dimension); a stream per law and repetition.

        The law of ``mixture(dimension, seed).sample``, five times as fast.
        """
        mixture = self.mixture(dimension, seed)
        scale = np.sqrt(mixture.variance) if self.standardised else np.ones(dimension)
        shift = mixture.mean if self.standardised else np.zeros(dimension)
        centres = np.ascontiguousarray((mixture.means - shift) / scale, dtype=np.float32)
        inverse = (1.0 / scale).astype(np.float32)
        words = [seed, self.components, self.separation, self.standardised]
        words += [self.assignment == "sample", self.means == "common"]
        random = np.random.Generator(np.random.SFC64(np.random.SeedSequence(words)))
        per_example = self.assignment == "sample"

        def drawn(count: int) -> np.ndarray:
            c = random.standard_normal((count, dimension), dtype=np.float32)
            c *= inverse
            shape = (count, 1) if per_example else (count, dimension)
            chosen = random.integers(0, self.components, shape, dtype=np.uint8)
            for k, centre in enumerate(centres):
                c += (chosen == k) * centre
            return c

        return drawn


NORMAL = Law()


@lru_cache(maxsize=512)
def divergence(law: Law, dimension: int, seed: int) -> float:
    """Kullback–Leibler divergence from N(0, 1), mean over the latent coordinates, in nats."""
    return float(law.mixture(dimension, seed).divergence_per_coordinate().mean())
