"""Latent mixtures: exact means of polynomials at growing sizes, and draws of the simulator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values
from symderiv_ledger.rules.comparison_rules import Measured

from symderiv.inputs.latent import mixture_manifold
from symderiv.inputs.mixture import Mixture, uniform_means

__all__ = [
    "curves",
    "divergences",
    "integrals",
    "laws",
    "measured",
    "overlaps",
    "per_coordinate",
    "per_sample",
    "standard",
]

_P: Final = np.array([0.5, 0.3, 0.2])
_ALPHA: Final = 3.0


def _numbers(values: Any, numbers: Any) -> Any:
    if isinstance(values, np.ndarray) and values.ndim:
        return [_numbers(value, numbers) for value in values]
    return numbers.mpf(float(values))


def _indexed(values: np.ndarray, numbers: Any) -> Indexed:
    return Indexed(_numbers(values, numbers), *((1, size) for size in values.shape))


def _mixture(D: int, assignment: str, standardised: bool = True) -> Mixture:
    return Mixture(uniform_means(3, D, _ALPHA, "coordinate", 7), _P, assignment, standardised)


def laws(numbers: Any) -> Iterator[Point]:
    """Unstandardised mixtures: p[i], mu[i, r], mean[r] and variance[r] of the engine, m, D."""
    law = _mixture(4, "sample", standardised=False)
    second = law.covariance() + np.outer(law.mean, law.mean)
    yield Point(
        "m = 3, D = 4",
        {
            "m": 3, "D": 4, "p": _indexed(_P, numbers), "mu": _indexed(law.means, numbers),
            "mean": _indexed(law.mean, numbers), "second": _indexed(second, numbers),
            "one": numbers.mpf(float(_P.sum())),
        },
    )  # fmt: skip


def divergences(which: str) -> Callable[[Any], Iterator[Point]]:
    """KL[h] for alpha = h, by the engine, of one coordinate.

    Args:
        which: "scaled" means are drawn once and multiplied by alpha; "anew": drawn at each alpha;
            "standardised": scaled, of the standardised mixture.
    """

    def points(numbers: Any) -> Iterator[Point]:
        for m in (2, 3, 5):
            once = uniform_means(m, 1, 1.0, "common", 3 + m)
            found = []
            for alpha in range(10):
                means = uniform_means(m, 1, alpha, "common", 20 * m + alpha)
                if which != "anew":
                    means = alpha * once
                law = Mixture(means, np.full(m, 1 / m), "coordinate", which == "standardised")
                found.append(float(law.divergence_per_coordinate()[0]))
            label = f"{m} components, alpha = 0, ..., 9"
            known = {"KL": Indexed(_numbers(np.array(found), numbers), (0, 9))}
            if which == "anew":
                average = np.array([_average_divergence(m, alpha) for alpha in range(10)])
                known["average"] = Indexed(_numbers(average, numbers), (0, 9))
            yield Point(label, known)

    return points


def _average_divergence(m: int, alpha: float) -> float:
    """Return the average over 20 draws of the means, the same ones up to the factor alpha."""
    means = uniform_means(m, 20, alpha, "coordinate", 77)
    law = Mixture(means, np.full(m, 1 / m), "coordinate", False)
    return float(law.divergence_per_coordinate().mean())


def integrals(numbers: Any) -> Iterator[Point]:
    """Yield the engine's divergence KL of a mixture of normal laws with density P from N(0, 1),
    Qd.
    """
    for means, p in (((-1.0, 2.0), (0.25, 0.75)), ((-2.5, 0.5, 1.0), (0.5, 0.25, 0.25))):
        law = Mixture(np.array(means)[:, None], np.array(p), "coordinate", False)

        def normal(x: Any, mean: float = 0.0) -> Any:
            return numbers.exp(-((x - mean) ** 2) / 2) / numbers.sqrt(2 * numbers.pi)

        def density(x: Any, means: Any = means, p: Any = p, normal: Any = normal) -> Any:
            return sum(q * normal(x, mean) for q, mean in zip(p, means, strict=True))

        yield Point(
            f"means {means}",
            {
                "KL": numbers.mpf(float(law.divergence_per_coordinate()[0])), "P": density,
                "Qd": normal, "far": 12,
            },
        )  # fmt: skip


def standard(numbers: Any) -> Iterator[Point]:
    """Draws of the engine before (C) and after (new) standardising, mean and variance exact."""
    for assignment in ("sample", "coordinate"):
        raw = _mixture(3, assignment, standardised=False)
        C = raw.sample(np.random.default_rng(1), 5)
        new = _mixture(3, assignment).sample(np.random.default_rng(1), 5)
        yield Point(
            f"component per {assignment}",
            {
                "C": _indexed(C, numbers), "new": _indexed(new, numbers), "D": 3, "P": 5,
                "mean": _indexed(raw.mean, numbers), "variance": _indexed(raw.variance, numbers),
            },
        )  # fmt: skip


def curves(numbers: Any) -> Iterator[Point]:
    """Yield two curves at log-spaced times, v[t] and vh[t], which cross; M is their distance, the
    root of the mean square of the difference; entries[k, l] and their mean.
    """
    for T in (5, 8):
        t = np.logspace(-1, 1, T)
        v, vh = 1 - np.exp(-t), 1 - np.exp(-1.3 * t) - 0.05 * t / 3
        distance = math.sqrt(float(np.mean((v - vh) ** 2)))
        entries = np.sqrt(np.arange(1.0, 1 + 9).reshape(3, 3)) * distance
        yield Point(
            f"T = {T}",
            {
                "T": T, "v": _indexed(v, numbers), "vh": _indexed(vh, numbers), "K": 3,
                "M": numbers.mpf(distance), "entries": _indexed(entries, numbers),
                "mean": numbers.mpf(float(np.mean(entries))),
            },
        )  # fmt: skip


def overlaps(numbers: Any) -> Iterator[Point]:
    """Discrepancies M[k, l] of Q along two paths of weights, and mean sizes of its entries.

    Q is that of equation 9, with f = sgn, from weights and features as in 13 to 15.
    """
    N, D, T, b2 = 40, 20, 9, 2 / math.pi
    random = np.random.default_rng(17)
    F, start = random.normal(size=(D, N)), random.normal(size=(2, N))
    for seed in (1, 2):
        steps = np.random.default_rng(seed).normal(size=(2, T, 2, N)) / 10
        W = start + np.cumsum(steps, axis=1)
        S = W @ F.T / math.sqrt(N)
        Omega, Sigma = (x @ x.swapaxes(-1, -2) / x.shape[-1] for x in (W, S))
        Q, Qh = (1 - b2) * Omega + b2 * Sigma
        M = np.sqrt(np.mean((Q - Qh) ** 2, axis=0))
        known = {"M": _indexed(M, numbers), "size": _indexed(np.abs(Q).mean(axis=0), numbers)}
        yield Point(f"K = 2, N = 40, D = 20, paths {seed}", known)


@lru_cache(maxsize=8)
def _polynomial(D: int, ratio: float) -> dict[str, np.ndarray]:
    """Return exact means for f(u) = u^2 + u under normal and under independent standardised
    mixtures.

    The mean of products of U_i follows from third and fourth cumulants of the coordinates.
    """
    N, K, M = round(D / ratio), 6, 4
    random = np.random.default_rng(D + N)
    F = random.normal(size=(D, N))
    F *= np.sqrt(D) / np.linalg.norm(F, axis=0)
    teacher = random.normal(size=(M, D))
    W = random.normal(size=(K, N)) + random.normal(size=(K, M)) @ teacher @ F / D
    law = _mixture(D, "coordinate")
    scale = np.sqrt(law.variance)
    m = (law.means - law.mean) / scale
    inside = 1 / scale**2
    third = _P @ (m**3 + 3 * m * inside)
    fourth = _P @ (m**4 + 6 * m**2 * inside + 3 * inside**2) - 3
    p = F / np.sqrt(D)
    overlap = p.T @ p
    normal = overlap + 2 * overlap**2
    mixed = (p**2 * third[:, None]).T @ p
    more = mixed + mixed.T + (p**2 * fourth[:, None]).T @ p**2
    cross = p + p**2 * third[:, None]
    root = math.sqrt(N * D)
    return {
        "Q": W @ normal @ W.T / N, "QP": W @ (normal + more) @ W.T / N,
        "R": W @ p.T @ teacher.T / root, "RP": W @ cross.T @ teacher.T / root,
        "T": teacher @ teacher.T / D, "TP": teacher @ law.covariance() @ teacher.T / D,
    }  # fmt: skip


def per_coordinate(numbers: Any) -> Iterator[Point]:
    """Q, R, T under normal latent vectors and QP, RP, TP under mixtures; the parameter is 1/D."""
    for ratio in (0.5, 2.0):
        for D in (32, 1024):
            found = _polynomial(D, ratio)
            names = {name: _indexed(value, numbers) for name, value in found.items()}
            for name, tail in (("normal", ""), ("cumulant", "P")):
                Q, R, T = (found[letter + tail] for letter in "QRT")
                names[name] = _indexed(np.block([[Q, R], [R.T, T]]), numbers)
            series = f"D/N = {ratio:g}"
            yield Point(f"{series}, D = {D}", names | {"K": 6, "M": 4, "scale": 1}, 1 / D, series)


def per_sample(numbers: Any) -> Iterator[Point]:
    """Yield one component per sample: T under N(0, I) and TP by the mixture's covariance,
    exactly.
    """
    D = 5
    random = np.random.default_rng(11)
    teacher = random.integers(-3, 4, size=(3, D)) + 0.5
    law = _mixture(D, "sample")
    scale = np.sqrt(law.variance)
    yield Point(
        "M = 3, D = 5",
        Values({
            "M": 3, "D": D, "H": 3, "Wt": _indexed(teacher, numbers),
            "T": _indexed(teacher @ teacher.T / D, numbers),
            "TP": _indexed(teacher @ law.covariance() @ teacher.T / D, numbers),
            "p": _indexed(_P, numbers), "s_": _indexed(scale, numbers),
            "mu": _indexed((law.means - law.mean) / scale, numbers),
        }),
    )  # fmt: skip


@lru_cache(maxsize=4)
def _drawn(assignment: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return means over draws of the simulator: covariances of the fields and of erf of them."""
    N, D, K, M, count = 120, 60, 2, 3, 40_000
    random = np.random.default_rng(5)
    F = random.normal(size=(N, D))
    F *= np.sqrt(D) / np.linalg.norm(F, axis=1)[:, None]
    teacher = random.normal(size=(M, D))
    W = random.normal(size=(K, N)) + random.normal(size=(K, M)) @ teacher @ F.T / D
    law = _mixture(D, assignment)
    model = mixture_manifold(N, "sign", F, law)
    assert model.latent is not None
    assert model.latent.sampler is not None
    x, c = model.latent.sampler(np.random.default_rng(6), count)
    lam, nu = x @ W.T / np.sqrt(N), c @ teacher.T / np.sqrt(D)
    # of one component only: its share of the draws is exact, those inside are normal
    parts = []
    scale = np.sqrt(law.variance)
    for mean in (law.means - law.mean) / scale:
        z = mean + np.random.default_rng(8).standard_normal((count, D)) / scale
        inside = np.sign(z @ F.T / np.sqrt(D)) @ W.T / np.sqrt(N)
        parts.append((inside, z @ teacher.T / np.sqrt(D)))
    b = math.sqrt(2 / math.pi)
    S = W @ F / np.sqrt(N)
    exact = {
        "Q": (1 - b**2) * W @ W.T / N + b**2 * S @ S.T / D, "R": b * S @ teacher.T / D,
        "T": teacher @ teacher.T / D,
    }  # fmt: skip
    exact["I"] = _activation_means(exact["Q"], exact["R"], exact["T"])
    measured = {}
    for name, (left, right) in {
        "QP": (lam, lam), "RP": (lam, nu), "IP": (_erf(lam), _erf(nu))
    }.items():  # fmt: skip
        measured[name] = _average(left, right)
    measured["QC"] = np.stack([_average(a, a) for a, _ in parts])
    measured["RC"] = np.stack([_average(a, y) for a, y in parts])
    measured["IC"] = np.stack([_average(_erf(a), _erf(y)) for a, y in parts])
    return exact, measured


def _average(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return mean of products and its standard error, last axis."""
    products = left[:, :, None] * right[:, None, :]
    error = products.std(axis=0) / math.sqrt(len(left))
    return np.stack([products.mean(axis=0), error], axis=-1)


def _erf(x: np.ndarray) -> np.ndarray:
    from scipy.special import erf

    result: np.ndarray = erf(x / math.sqrt(2.0))
    return result


def _activation_means(Q: np.ndarray, R: np.ndarray, T: np.ndarray) -> np.ndarray:
    from symderiv_kernels import erf

    found = np.empty_like(R)
    for k in range(R.shape[0]):
        for n in range(R.shape[1]):
            found[k, n] = erf.i2(Q[k, k], R[k, n], T[n, n])
    return found


def measured(assignment: str) -> Callable[[Any], Iterator[Point]]:
    """f = sgn, g = erf at N = 120, D = 60, standardised mixtures of three components, alpha = 3.

    Names: Q, R, T and I (E[g g~]) under normal latent vectors, by closed forms; QP, RP, IP
    measured under the mixture, QC[h, ...] and so on within component h; p[h], H, K, M.
    """

    def points(numbers: Any) -> Iterator[Point]:
        exact, found = _drawn(assignment)
        names: dict[str, Any] = {"K": 2, "M": 3, "H": 3, "p": _indexed(_P, numbers)}
        names |= {name: _indexed(value, numbers) for name, value in exact.items()}
        for name, value in found.items():
            names[name] = Indexed(_bars(value), *((1, size) for size in value.shape[:-1]))
        yield Point(f"component per {assignment}, N = 120, D = 60", names)

    return points


def _bars(values: np.ndarray) -> Any:
    if values.ndim == 1:
        return Measured(float(values[0]), float(values[1]))
    return [_bars(value) for value in values]
