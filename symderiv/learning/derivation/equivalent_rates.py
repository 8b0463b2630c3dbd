r"""Rules that are plain descent at another rate: small batches and heavy-ball momentum.

Both are derived from their updates: some combination of the weights is proved to follow plain
descent exactly, and the distance of the weights from it is given.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symderiv.foundation.errors import SymderivError

BETA = sp.Symbol("momentum", nonnegative=True)
BATCH = sp.Symbol("batch", positive=True, integer=True)
J, V, GRADIENT, ETA, N = (
    sp.Symbol(name, positive=True) for name in ("J", "V", "g", "learning_rate", "N")
)


@dataclass(frozen=True)
class Equivalent:
    """A combination of the weights that follows plain descent.

    Attributes:
        combination: the combination in terms of J and V.
        change: its change by one example of gradient g (the learning rate included).
        factor: the factor of the learning rates.
        noise: the factor of σ_J, the noise of an update, whose squares add up.
        distance: the difference between overlaps of J and of the combination, which vanishes for
            large N.
    """

    combination: sp.Expr
    change: sp.Expr
    factor: sp.Expr
    noise: sp.Expr
    distance: sp.Expr


def heavy_ball() -> Equivalent:
    r"""Prove that under V ← βV - g, J ← J + V the sum J + β/(1-β) V moves by -g/(1-β).

    The gradients g = η/√N F ξ have g·g/N = O(1/N) and J·g/N = O(1/N), and so has a sum of them
    with weights β^k: overlaps of both combinations differ by O(1/N).

    Raises:
        SymderivError: No combination follows plain descent.
    """
    share = sp.Symbol("c")
    velocity = BETA * V - GRADIENT
    moved = sp.expand((J + velocity + share * velocity) - (J + share * V))
    (part,) = sp.solve(moved.coeff(V), share)
    change = sp.factor(sp.simplify(moved.xreplace({share: part})))
    if change.has(V, J):
        raise SymderivError(f"the combination moves by {change}")
    past = part * GRADIENT**2 / (1 - BETA**2)
    factor = 1 / sp.expand(sp.cancel(-GRADIENT / change))
    # noise that is added to a step goes through the velocity, too
    return Equivalent(J + part * V, change, factor, factor, _in_orders(past))


def small_batch() -> Equivalent:
    r"""Prove that J ← J - Σ_μ g_μ/b over b = O(1) examples is b steps of plain descent at η/b.

    The forces of all examples are taken at the same weights; taken one after the other, each
    would see fields that the others moved by g·ξ/√N = O(1/√N), which their independent inputs make
    O(1/N) on average. Noise is added once in b examples.
    """
    first, second = sp.Symbol("g_1"), sp.Symbol("g_2")
    together = J - (first + second) / BATCH
    after = (J - first / BATCH) - second / BATCH
    if sp.expand(together - after) != 0:
        raise SymderivError("a batch is not the sum of its steps")
    distance = _in_orders(GRADIENT**2 / BATCH)
    return Equivalent(J, -GRADIENT / BATCH, 1 / BATCH, sp.sqrt(1 / BATCH), distance)


@dataclass(frozen=True)
class RateFactors:
    """Factors of rates by which steps on single examples are equivalent to batches and momentum.

    Attributes:
        rate, memory, decay, noise: factors of the learning rates, of γ, of weight decays and σ_J.
        velocity: the ratio of U to the velocity in the equivalent steps.
    """

    rate: sp.Expr = sp.S.One
    memory: sp.Expr = sp.S.One
    decay: sp.Expr = sp.S.One
    noise: sp.Expr = sp.S.One
    velocity: sp.Expr = sp.S.One


def rate_factors(*, batches: bool, remembering: bool, velocities: bool) -> RateFactors:
    """Return the factors of a rule, in ``BATCH`` and ``BETA``.

    Args:
        batches: Whether a step takes b = O(1) examples.
        remembering: Whether there is momentum with a fixed β.
        velocities: Whether there is momentum with 1 - β = γ/N.
    """
    if batches and velocities:
        return batched_velocities()
    rate = decay = noise = sp.S.One
    if batches:
        batch = small_batch()
        rate, decay, noise = batch.factor, batch.factor, batch.noise
    if remembering:
        ball = heavy_ball()
        rate, noise = rate * ball.factor, noise * ball.noise
    return RateFactors(rate=rate, decay=decay, noise=noise)


def batched_velocities() -> RateFactors:
    r"""Prove equivalent rates for U ← (1 - γ/N) U - (η/√N) F̄ + (σ_J/√N) ζ, J ← J + U/N - (κ/N) J,
    with means over b examples.

    A unit of time has N/b steps. With U = b U' again dJ/dα = U' - κ' J, and drift and squares of
    steps of U' are those of single examples at other rates.

    Raises:
        SymderivError: The rates are not equivalent.
    """
    names = ("momentum_rate", "mean", "square", "update_noise")
    gamma, mean, square, sigma = (sp.Symbol(name, positive=True) for name in names)
    steps, velocity = N / BATCH, BATCH
    moved = sp.cancel(steps * velocity / N)
    drift = steps * (-gamma / N * velocity * V - ETA / N * mean) / velocity
    # the examples of a batch are independent, so the square of their mean is 1/b of the mean square
    squares = steps * (ETA**2 / N * square / BATCH + sigma**2 / N) / velocity**2
    memory = sp.cancel(-drift.expand().coeff(V) / gamma)
    rate = sp.cancel(-drift.expand().coeff(mean) / ETA)
    noise = sp.sqrt(sp.cancel(squares.expand().coeff(sigma, 2)))
    if moved != 1 or sp.expand(squares - (rate * ETA) ** 2 * square - (noise * sigma) ** 2) != 0:
        raise SymderivError("velocities of batches are not those of single examples")
    return RateFactors(rate, memory, sp.cancel(steps / N), noise, velocity)


def _in_orders(overlap: sp.Expr) -> sp.Expr:
    """Return an overlap of gradients, which is quadratic in g, with g² replaced by its
    order η²/N.
    """
    ordered = overlap.xreplace({GRADIENT: ETA / sp.sqrt(N)})
    if sp.limit(ordered, N, sp.oo) != 0:
        raise SymderivError(f"{ordered} does not vanish for large N")
    return ordered
