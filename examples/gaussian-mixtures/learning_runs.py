"""One repetition: features, teacher, start, the equations, and SGD on any latent law.

A repetition draws its own features F, teacher, start and mixtures. SGD on a law trains the networks
of all activations on the same examples: drawing examples costs most of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from mixture_laws import Law
from scipy.special import erf

from symderiv.experiment.studies.simulating import recorded_chain
from symderiv.integrate.rules.solving import solve
from symderiv.problem.initial import LatentVectors, initial
from symderiv.problem.study import parse_study

ACTIVATIONS = {"erf": lambda x: erf(x / np.sqrt(2.0)), "relu": lambda x: np.maximum(x, 0.0)}
#: Columns of curves; "error" is the generalisation error on the law itself, from fresh examples
#: (of equations: by the equations).
NAMES = ("Q00", "Q01", "Q10", "Q11", "R00", "R01", "R10", "R11", "v0", "v1", "error")
_BLOCK = 500

_STUDY = """
[network]
activation = "{activation}"
students = 2
teachers = 2
student_weights = 0.5
teacher_weights = 1
train_second_layer = true
[data]
model = "hidden-manifold"
nonlinearity = "sign"
dimension = {dimension}
latent_dimension = {latent}
seed = {seed}
[training]
learning_rate = 0.2
[initial]
student_std = 1.0
seed = {seed}
[time]
values = {times}
relative_tolerance = 1e-8
"""


@dataclass(frozen=True)
class Setting:
    """Sizes; what is left out is the paper's.

    Args:
        dimension: N.
        latent: D.
        end: last time, examples / N.
        points: log-spaced numbers of examples from 1 on (the paper does not say how many).
        test: fresh examples per law for the error.
    """

    dimension: int = 1000
    latent: int = 500
    end: float = 100.0
    points: int = 51
    test: int = 4000

    @property
    def examples(self) -> np.ndarray:
        """Numbers of examples at which curves are recorded, ascending."""
        last = round(self.end * self.dimension)
        spaced: np.ndarray = np.unique(np.rint(np.geomspace(1, last, self.points)).astype(int))
        return spaced

    @property
    def times(self) -> np.ndarray:
        """The same as examples / N."""
        found: np.ndarray = self.examples / self.dimension
        return found


class Repetition:
    """Features, teacher and start of one repetition."""

    def __init__(self, setting: Setting, seed: int) -> None:
        self.setting, self.seed = setting, seed
        times = [float(f"{time:.9g}") for time in setting.times]
        self.studies = {
            name: parse_study(
                _STUDY.format(
                    activation=name, times=times, seed=seed,
                    dimension=setting.dimension, latent=setting.latent,
                )
            )
            for name in ACTIVATIONS
        }  # fmt: skip
        self.start = initial(next(iter(self.studies.values())))
        vectors = self.start.vectors
        assert isinstance(vectors, LatentVectors)
        self.vectors = vectors
        latent = vectors.latent
        assert latent.axes is not None
        assert latent.cross is not None
        # Φ = b F/√D: the features are what is proportional to it, rows of length one
        features = latent.axes @ latent.cross
        features /= np.linalg.norm(features, axis=1)[:, None]
        self.features = np.ascontiguousarray(features.T, dtype=np.float32)
        self.teacher = (vectors.teacher / np.sqrt(setting.latent)).T

    def equations(self, activation: str) -> np.ndarray:
        """Curves of normal latent vectors, N → ∞, shape (times, len(NAMES))."""
        found = solve(self.studies[activation], start=self.start)
        parts = [np.asarray(getattr(found, name)) for name in ("Q", "R", "v")]
        parts.append(np.asarray(found.generalization_error))
        return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)

    def sgd(self, law: Law) -> dict[str, np.ndarray]:
        """Curves of SGD by activation; NaN from where a network diverged."""
        draw = law.draw(self.setting.latent, self.seed)
        test = self._examples(draw(self.setting.test))
        networks = {name: _Network(self, name) for name in ACTIVATIONS}
        made = 0
        used = _BLOCK
        for place, wanted in enumerate(self.setting.examples):
            while made < wanted:
                if used == _BLOCK:
                    x, y = self._examples(draw(_BLOCK))
                    block, used = (x.astype(np.float64), y), 0
                upto = min(_BLOCK, used + int(wanted) - made)
                for network in networks.values():
                    network.learn(block, used, upto)
                made, used = made + upto - used, upto
            for network in networks.values():
                network.record(place, test)
        return {name: network.curves for name, network in networks.items()}

    def _examples(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inputs sgn(F c/√D) in single precision and the teacher's fields."""
        return np.copysign(np.float32(1.0), c @ self.features), c @ self.teacher


class _Network:
    """A student of one activation on its way."""

    def __init__(self, repetition: Repetition, activation: str) -> None:
        study = repetition.studies[activation]
        # examples are handed to it: its own stream is not used
        self.chain, self.measured = recorded_chain(study, repetition.start, _BLOCK)
        self.teacher_weights = repetition.start.state.teacher_weights
        self.function, self.diverged = ACTIVATIONS[activation], False
        self.curves = np.full((repetition.setting.examples.size, len(NAMES)), np.nan)

    def learn(self, block: tuple[np.ndarray, np.ndarray], begin: int, end: int) -> None:
        if not self.diverged:
            if begin == 0:
                # steps scale inputs in place: every network takes its own
                self.chain.use(*block)
            self.diverged = self.chain.learn(begin, end) >= 0

    def record(self, place: int, test: tuple[np.ndarray, np.ndarray]) -> None:
        if self.diverged:
            return
        found, (x, y) = self.measured(self.chain), test
        J = self.chain.vectors[:2]
        fields = x @ (J / np.sqrt(J.shape[1])).T.astype(np.float32)
        off = self.function(fields) @ found["v"] - self.function(y) @ self.teacher_weights
        parts = [found[name].ravel() for name in ("Q", "R", "v")]
        self.curves[place] = np.concatenate([*parts, [np.mean(off**2) / 2]])


@lru_cache(maxsize=2)
def repetition(setting: Setting, seed: int) -> Repetition:
    """Features, teacher and start of a repetition."""
    return Repetition(setting, seed)
