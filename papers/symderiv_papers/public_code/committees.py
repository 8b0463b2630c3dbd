"""Points of claims on committees: labels' noise and decay, dropout, two tasks, noisy inputs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed

from symderiv_papers.public_code.rates import (
    Committee,
    Flow,
    Kept,
    committees,
    means,
    point,
    table,
)

__all__ = [
    "decay_steps",
    "dropout",
    "large_batch",
    "noisy_inputs",
    "noisy_labels",
    "same_weights",
    "two_tasks",
]

Points = Callable[[Any], Iterator[Point]]

#: Probability that a unit is kept.
_KEEP: Final = 0.625
#: Standard deviation of the inputs' noise.
_INPUT_NOISE: Final = 0.75
#: Integration steps at which what is left of order two is seen to fall.
_STEPS: Final = (0.125, 0.0625, 0.03125)


def noisy_labels(activation: str) -> Points:
    """Committees whose labels have noise and whose weights decay; names of ``rates.point``."""

    def points(numbers: Any) -> Iterator[Point]:
        for one in committees(activation):
            yield point(replace(one, noise=0.5, decay=0.375), numbers)

    return points


def same_weights(activation: str, noise: float = 0.5) -> Points:
    """Return output weights 1/K and 1/M, powers of two, which doubles have exactly.

    ``noise`` is the standard deviation of the labels' noise.
    """

    def points(numbers: Any) -> Iterator[Point]:
        for one in committees(activation, ((2, 4, 0.75), (4, 1, 1.5)), alike=True):
            yield point(replace(one, noise=noise), numbers)

    return points


def decay_steps(numbers: Any) -> Iterator[Point]:
    """Yield weights that do nothing but decay, J → J (1 − κ/N), for a time dt, N → ∞.

    Names: kappa, dt, Q[i, k] and R[i, n] before, change_Q and change_R of them; dt is the small
    parameter.
    """
    for series, one in enumerate(committees("erf")):
        for dt in _STEPS:
            K, rows = one.K, one.gram
            kappa, step = numbers.mpf(3) / 8, numbers.mpf(dt)
            Q, R = [row[:K] for row in rows[:K]], [row[K:] for row in rows[:K]]
            left = numbers.exp(-kappa * step)
            values = {
                "K": K, "M": one.M, "kappa": kappa, "dt": step,
                "Q": table(Q, numbers), "R": table(R, numbers),
                "change_Q": table([[(left**2 - 1) * x for x in row] for row in Q], numbers),
                "change_R": table([[(left - 1) * x for x in row] for row in R], numbers),
            }  # fmt: skip
            yield Point(f"K = {K}, M = {one.M}, dt = {dt}", values, dt, str(series))


def dropout(numbers: Any) -> Iterator[Point]:
    """Keep every unit with probability keep, the same mask in output and gradient.

    The rates are the engine's without dropout, averaged over all masks; eps_g is that of all units
    with output weights keep v. Names: those of ``rates.point``, and keep.
    """
    for one in committees("erf"):
        noisy = replace(one, noise=0.5)
        more = {"keep": numbers.mpf(_KEEP)}
        yield point(noisy, numbers, f", keep = {_KEEP}", more, partial(_over_masks, noisy, numbers))


def _over_masks(one: Committee, numbers: Any) -> Flow:
    K, M = one.K, one.M
    keep = numbers.mpf(_KEEP)
    dQ, dR, dv = ([[numbers.zero] * size for _ in range(K)] for size in (K, M, 1))
    for mask in itertools.product((0, 1), repeat=K):
        share = keep ** sum(mask) * (1 - keep) ** (K - sum(mask))
        seen = replace(one, v=[m * x for m, x in zip(mask, one.v, strict=True)]).flow(numbers)
        for i in range(K):
            dQ[i] = [a + share * b for a, b in zip(dQ[i], seen.dQ[i], strict=True)]
            dR[i] = [a + share * b for a, b in zip(dR[i], seen.dR[i], strict=True)]
            dv[i][0] += share * mask[i] * seen.dv[i]
    error = replace(one, v=[_KEEP * x for x in one.v]).flow(numbers).error
    return Flow(dQ, dR, [row[0] for row in dv], error)


def two_tasks(numbers: Any) -> Iterator[Point]:
    """Yield two teachers of H units each; the second one, with output weights w, is taught.

    Names: those of ``rates.point`` for the student, and H; the fields mu[n] of the first and nu[p]
    of the second teacher, R[i, n], U[i, p] and V[n, p] their overlaps, dR and dU.
    """
    for one in committees("erf", ((2, 4, 0.75), (3, 4, 1.5))):
        K, H, rows = one.K, one.M // 2, one.gram
        taught = replace(one, w=[0.0] * H + list(one.w[H:]))
        first, second = slice(K, K + H), slice(K + H, K + 2 * H)
        rates = Kept(partial(taught.flow, numbers))
        more = {
            "H": H, "w": table(list(one.w[H:]), numbers),
            "R": table([row[first] for row in rows[:K]], numbers),
            "U": table([row[second] for row in rows[:K]], numbers),
            "V": table([row[second] for row in rows[first]], numbers),
            "mu": Indexed(list(range(K, K + H)), (1, H)),
            "nu": Indexed(list(range(K + H, K + 2 * H)), (1, H)),
            "covariance": Indexed(partial(_covariance, one), (1, H), (1, H)),
            "dR": Indexed(lambda i, n, rates=rates: rates().dR[i - 1][n - 1], (1, K), (1, H)),
            "dU": Indexed(
                lambda i, p, rates=rates, H=H: rates().dR[i - 1][H + p - 1], (1, K), (1, H)
            ),
        }  # fmt: skip
        yield point(taught, numbers, f", H = {H}", more, rates)


def _covariance(one: Committee, n: int, p: int) -> Any:
    """Return the covariance of unit n of the first teacher and unit p of the second."""
    return one.gram[one.K + n - 1][one.K + one.M // 2 + p - 1]


def noisy_inputs(numbers: Any) -> Iterator[Point]:
    """Yield the student sees ξ + s ε, the teacher ξ; both ε and the labels' noise are fresh.

    The student's fields have the covariance (1 + s²) Q; what a teacher's weights make of the noisy
    input are the fields of units that are not taught. Names: those of ``rates.point``, and s; dQ
    and dR; the noisy fields lam[i] and kap[n], the clean ones nu[n].
    """
    for one in committees("erf"):
        K, M, s = one.K, one.M, _INPUT_NOISE
        more_variance = 1 + s**2
        # the students' noisy fields, the teachers' clean ones, then their noisy ones
        place = [*range(K), *range(K, K + M), *range(K, K + M)]
        noisy = [True] * K + [False] * M + [True] * M
        gram = [
            [one.gram[a][b] * (more_variance if p and q else 1)
             for b, q in zip(place, noisy, strict=True)]
            for a, p in zip(place, noisy, strict=True)
        ]  # fmt: skip
        wide = replace(one, gram=gram, w=list(one.w) + [0.0] * M, noise=0.5)
        rates = Kept(partial(_of_noisy, wide, more_variance, numbers))
        more = {
            "s": numbers.mpf(s), "M": M,
            "nu": Indexed(list(range(K, K + M)), (1, M)),
            "kap": Indexed(list(range(K + M, K + 2 * M)), (1, M)),
        }  # fmt: skip
        yield point(wide, numbers, f", s = {s}", more, rates)


def _of_noisy(wide: Committee, more_variance: float, numbers: Any) -> Flow:
    """Return the step's square sees |ξ + s ε|² = (1 + s²) N; R is with the noisy teachers'
    fields.
    """
    whole, first = wide.flow(numbers), wide.flow(numbers, full=False)
    K, M = wide.K, wide.M // 2
    dQ = [
        [b + more_variance * (a - b) for a, b in zip(p, q, strict=True)]
        for p, q in zip(whole.dQ, first.dQ, strict=True)
    ]
    return Flow(dQ, [row[M:] for row in whole.dR[:K]], whole.dv, whole.error)


def large_batch(numbers: Any) -> Iterator[Point]:
    """Yield one step on a batch of infinitely many examples; output weights v, no noise.

    Names: those of ``rates.point``; force[i, n] and own[i, k], the means of -F_i with the fields of
    the teachers and students (F_i without v_i); spread[i, k], the product of the mean gradients per
    v_i v_k: they lie in the span of all weights; P_inverse that of T, Q_inverse that of what is
    left of Q beside the teachers.
    """
    for one in committees("erf"):
        K, M, size = one.K, one.M, one.K + one.M
        field = means("erf", one.gram, numbers)["I3"]
        outputs = [*enumerate(one.v), *((K + n, -x) for n, x in enumerate(one.w))]
        force = numbers.matrix(
            [[-sum(c * field(i, a, b) for b, c in outputs) for a in range(size)] for i in range(K)]
        )
        gram = numbers.matrix(one.gram)
        spread = force * numbers.inverse(gram) * force.T
        Q, RR, P = gram[:K, :K], gram[:K, K:], gram[K:, K:]
        target, own = force[:, K:], force[:, :K]
        bottom = Q - RR * numbers.inverse(P) * RR.T
        more = {
            "spread": Indexed(spread, (1, K), (1, K)),
            "force": Indexed(target, (1, K), (1, M)), "own": Indexed(own, (1, K), (1, K)),
            "P_inverse": Indexed(numbers.inverse(P), (1, M), (1, M)),
            "Q_inverse": Indexed(numbers.inverse(bottom), (1, K), (1, K)),
        }  # fmt: skip
        yield point(one, numbers, "", more)
