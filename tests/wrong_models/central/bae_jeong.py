"""Inputs built on Gaussian mixtures: standardised ones behave as one Gaussian."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed

from symderiv.inputs.mixture import Mixture, uniform_means
from wrong_models.trial import Central, WrongModel

Array = np.ndarray
#: The normal law with something else for the covariances of students and teachers.
_CROSSED = "If(p <= K, If(q <= K, normal[p, q], {0}), If(q <= K, {0}, normal[p, q]))"
_P = np.array([0.5, 0.3, 0.2])


def _moments(law: Mixture, centred: bool, scaled: bool) -> tuple[Array, Array, Array, Array]:
    """First to fourth moments of the coordinates, which are independent."""
    mean = law.mean if centred else np.zeros_like(law.mean)
    scale = np.sqrt(law.variance) if scaled else np.ones_like(law.variance)
    m, v = (law.means - mean) / scale, 1 / scale**2
    first, second = _P @ m, _P @ (m**2 + v)
    third = _P @ (m**3 + 3 * m * v)
    fourth = _P @ (m**4 + 6 * m**2 * v + 3 * v**2)
    return first, second, third, fourth


def _fields(
    D: int,
    ratio: float,
    *,
    centred: bool = True,
    scaled: bool = True,
    local: bool = False,
    linear: bool = False,
    teacher: float = 1.0,
    common: bool = False,
) -> tuple[Array, Array]:
    """Covariances of the fields of f(u) = u + u^2 under normal latent vectors and the mixture.

    Args:
        D, ratio: Latent dimension, D/N.
        centred, scaled: How the mixture is standardised.
        local: Every input sees two latent coordinates only.
        linear: The normal law is that of f(u) = u.
        teacher: Scale of the teacher's fields under the normal law.
        common: One component for all coordinates.
    """
    N, K, M = round(D / ratio), 6, 4
    random = np.random.default_rng(D + N)
    F = random.normal(size=(D, N))
    if local:
        F *= np.arange(D)[:, None] % (D // 2) == np.arange(N) % (D // 2)
    F *= np.sqrt(D) / np.linalg.norm(F, axis=0)
    weights = random.normal(size=(M, D))
    W = random.normal(size=(K, N)) + random.normal(size=(K, M)) @ weights @ F / D
    means = uniform_means(3, D, 3.0, "coordinate", 7)
    law = Mixture(means, _P, "coordinate", False)
    p = F / np.sqrt(D)
    overlap = p.T @ p
    normal_x = overlap + (0 if linear else 2 * overlap**2)
    first, second, third, fourth = _moments(law, centred, scaled)
    variance = second - first**2
    cumulant3 = third - 3 * second * first + 2 * first**3
    cumulant4 = fourth - 4 * third * first - 3 * second**2 + 12 * second * first**2 - 6 * first**4
    cross_cc = np.diag(variance)
    if common:
        scale = np.sqrt(law.variance)
        m = (law.means - law.mean) / scale
        cross_cc = (m * _P[:, None]).T @ m + np.diag(1 / scale**2)
    # u = mean + fluctuation: f(u) = (1 + 2 mean) fluctuation + fluctuation^2 + a constant
    shift = 1 + 2 * (p.T @ first)
    own = p.T @ cross_cc @ p
    skew = (p**2 * cumulant3[:, None]).T @ p
    square = 2 * own**2 + (p**2 * cumulant4[:, None]).T @ p**2
    mixed = shift[:, None] * own * shift + skew * shift + (skew * shift).T + square
    cross = (p.T @ cross_cc) * shift[:, None] + (p**2 * cumulant3[:, None]).T
    root = math.sqrt(N * D)
    found = []
    for x, xc, c, size in (
        (normal_x, p.T, np.eye(D), teacher),
        (mixed, cross, cross_cc, 1.0),
    ):
        Q, R, T = W @ x @ W.T / N, W @ xc @ weights.T / root, weights @ c @ weights.T / D
        found.append(np.block([[Q, size * R], [size * R.T, size**2 * T]]))
    return found[0], found[1]


def points_of_fields(
    sizes: tuple[int, int] = (32, 1024), **how: Any
) -> Callable[[Any], Iterator[Point]]:
    """The claim's points with fields of another model."""

    def made(numbers: Any) -> Iterator[Point]:
        for ratio in (0.5, 2.0):
            for D in sizes:
                pair = zip(("normal", "cumulant"), _fields(D, ratio, **how), strict=True)
                tables = {
                    name: Indexed(
                        [[numbers.mpf(float(x)) for x in row] for row in table], (1, 10), (1, 10)
                    )
                    for name, table in pair
                }
                series = f"D/N = {ratio:g}"
                known = tables | {"K": 6, "M": 4, "scale": 1}
                yield Point(f"{series}, D = {D}", known, 1 / D, series)

    return made


CENTRAL = (
    Central(
        "bae-jeong-2024",
        "25 component per coordinate",
        "Networks on standardised mixtures converge to the dynamics of simple Gaussian inputs.",
        (
            WrongModel(
                "mixtures as they are", points=points_of_fields(centred=False, scaled=False)
            ),
            WrongModel("means left in", points=points_of_fields(centred=False)),
            WrongModel("variances left as they are", points=points_of_fields(scaled=False)),
            WrongModel("one component for all coordinates", points=points_of_fields(common=True)),
            WrongModel("inputs that see two coordinates", points=points_of_fields(local=True)),
            WrongModel("a linear input of the student", points=points_of_fields(linear=True)),
            WrongModel("another length of the teachers", points=points_of_fields(teacher=1.1)),
            WrongModel(
                "the normal law with twice the covariance", {"normal[p, q]": "2 * normal[p, q]"}
            ),
            WrongModel(
                "fields that are independent", {"normal[p, q]": "delta(p, q) * normal[p, q]"}
            ),
            WrongModel("fields of variance one", {"normal[p, q]": "delta(p, q)"}),
            WrongModel(
                "students that know nothing of the teachers",
                {"normal[p, q]": _CROSSED.format(0)},
            ),
            WrongModel(
                "the opposite sign of R",
                {"normal[p, q]": _CROSSED.format("-normal[p, q]")},
            ),
        ),
    ),
)
