"""Points of claims on perceptrons that learn from rewards at the end of episodes.

An episode has T examples x_t, each answered by the sign of the student's field; the student learns
w + η/(T √N) Σ_t r_t sign(w·x_t) x_t with rewards r_t that depend on which answers were right. Rates
per step times N, N → ∞, are summed here over all outcomes of an episode, with the engine's means of
one example's fields for each outcome.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import sympy as sp
from symderiv_ledger.claims.claim import Point

from symderiv.gaussian import expectation
from symderiv.gaussian.forms.evaluate import number

__all__ = ["all_and_first", "each_and_all", "two_students"]

#: T, n, rewards of all and of the first n, Q, R; the teacher has length one.
_EPISODES: Final = ((4, 2, "3/4", "5/8", "3/2", "1/2"), (3, 1, "5/4", "1/2", "2/3", "-1/4"))
#: T, η, rewards of the students and of both, shares τ, then Q1, Q2, Q12, R1, R2.
_PAIRS: Final = (
    (3, "3/4", ("1", "1/2", "3/2"), ("1/4", "5/2"), ("3/2", "2/3", "1/4", "1/2", "-1/4")),
    (2, "5/4", ("2/3", "5/4", "1/2"), ("3/2", "1/3"), ("3/4", "5/4", "-1/3", "1/4", "3/5")),
)

Rewards = Callable[[Sequence[bool]], Sequence[Any]]


@lru_cache(maxsize=64)
def _mean(covariance: tuple[tuple[Fraction, ...], ...], signs: tuple[int, ...], field: int) -> Any:
    """E[field; every field has its sign]; field -1 stands for 1."""
    fields = sp.symbols(f"x1:{len(signs) + 1}", real=True)
    product = sp.Mul(*(sp.Heaviside(s * x) for s, x in zip(signs, fields, strict=True)))
    if field >= 0:
        product *= fields[field]
    rows = sp.Matrix([[sp.Rational(x.numerator, x.denominator) for x in r] for r in covariance])
    return expectation(product, list(fields), rows).unfolded()


def _alone(T: int, rewards: Rewards, Q: Fraction, R: Fraction, numbers: Any) -> tuple[Any, Any]:
    """Return rates of R and Q of one student at η = 1; ``rewards`` of right and wrong answers."""
    covariance = ((Q, R), (R, Fraction(1)))

    def mean(right: bool, field: int) -> Any:
        # whatever the teacher's sign: twice that of its sign +
        return 2 * number(_mean(covariance, (1 if right else -1, 1), field), numbers.dps, numbers)

    share = {right: mean(right, -1) for right in (True, False)}
    own = {right: mean(right, 0) * (1 if right else -1) for right in (True, False)}
    target = {right: mean(right, 1) * (1 if right else -1) for right in (True, False)}
    dR = dQ = numbers.zero
    for outcome in itertools.product((True, False), repeat=T):
        found = rewards(outcome)
        whole = numbers.one
        for right in outcome:
            whole *= share[right]
        for right, reward in zip(outcome, found, strict=True):
            others = whole / share[right] * reward
            dR += others * target[right] / T
            dQ += 2 * others * own[right] / T + whole * reward**2 / T**2
    return dR, dQ


def _points(rewards: Callable[[int, Any, Any], Rewards], numbers: Any) -> Iterator[Point]:
    for T, n, *texts in _EPISODES:
        every, some, Q, R = (Fraction(text) for text in texts)
        whole, part = (numbers.mpf(x.numerator) / x.denominator for x in (every, some))
        dR, dQ = _alone(T, rewards(n, whole, part), Q, R, numbers)
        values = {
            "T": T, "n": n, "r1": whole, "r2": part, "dR": dR, "dQ": dQ,
            "Q": numbers.mpf(Q.numerator) / Q.denominator,
            "R": numbers.mpf(R.numerator) / R.denominator,
        }  # fmt: skip
        yield Point(f"T = {T}, n = {n}, r1 = {every}, r2 = {some}, Q = {Q}, R = {R}", values)


def all_and_first(numbers: Any) -> Iterator[Point]:
    """Yield a reward r1 for all answers if all are right, r2 for the first n if these are.

    Names: T, n, r1, r2, Q, R; the rates dQ and dR at η = 1.
    """

    def rewards(n: int, every: Any, some: Any) -> Rewards:
        def of(right: Sequence[bool]) -> list[Any]:
            first = some * all(right[:n])
            return [every * all(right) + first * (t < n) for t in range(len(right))]

        return of

    yield from _points(rewards, numbers)


def each_and_all(numbers: Any) -> Iterator[Point]:
    """Yield a reward r1 for all answers if all are right; r2 for every right one, also to those
    before.

    Names: those of ``all_and_first``.
    """

    def rewards(n: int, every: Any, some: Any) -> Rewards:
        return lambda right: [every * all(right) + some * sum(right[t:]) for t in range(len(right))]

    yield from _points(rewards, numbers)


def two_students(numbers: Any) -> Iterator[Point]:
    """Yield two students with one teacher of length one, who have shares in each other's rewards.

    Student i gets r_i if all its answers are right, the share tau_j of what student j gets, and r12
    if all answers of both are wrong. Names: T, eta, r1, r2, r12, tau1, tau2, Q1, Q2, Q12, R1, R2,
    S (the teacher's length squared); the rates dQ1, dQ12 and dR1; mod_1, mod_2 and mod_teacher, the
    mean size of a field times the signs of both others.
    """
    for T, eta, rewards, shares, overlaps in _PAIRS:
        names = ("eta", "r1", "r2", "r12", "tau1", "tau2", "Q1", "Q2", "Q12", "R1", "R2")
        exact = dict(zip(names, map(Fraction, (eta, *rewards, *shares, *overlaps)), strict=True))
        values = {k: numbers.mpf(x.numerator) / x.denominator for k, x in exact.items()}
        label = ", ".join(f"{name} = {value}" for name, value in exact.items())
        rates = _together(T, exact, values, numbers)
        yield Point(f"T = {T}, {label}", {"T": T, "S": 1, **values, **rates})


def _together(T: int, exact: Any, values: Any, numbers: Any) -> dict[str, Any]:
    Q1, Q2, Q12, R1, R2 = (exact[name] for name in ("Q1", "Q2", "Q12", "R1", "R2"))
    covariance = ((Q1, Q12, R1), (Q12, Q2, R2), (R1, R2, Fraction(1)))

    def mean(answers: tuple[int, int], field: int) -> Any:
        return 2 * number(_mean(covariance, (*answers, 1), field), numbers.dps, numbers)

    # per example: 1 is the teacher's answer, -1 the other one
    answers = [(i, k) for i in (1, -1) for k in (1, -1)]
    share = {a: mean(a, -1) for a in answers}
    fields = {a: [mean(a, field) for field in range(3)] for a in answers}
    r1, r2, r12, tau1, tau2, eta = (
        values[name] for name in ("r1", "r2", "r12", "tau1", "tau2", "eta")
    )
    dQ1 = dQ12 = dR1 = numbers.zero
    for episode in itertools.product(answers, repeat=T):
        own = [r * all(a[i] == 1 for a in episode) for i, r in enumerate((r1, r2))]
        both = r12 * all(a == (-1, -1) for a in episode)
        first, second = own[0] + tau2 * own[1] + both, own[1] + tau1 * own[0] + both
        whole = numbers.one
        for a in episode:
            whole *= share[a]
        for a in episode:
            others = whole / share[a]
            x1, x2, y = fields[a]
            dR1 += eta / T * others * first * a[0] * y
            dQ1 += 2 * eta / T * others * first * a[0] * x1 + (eta / T * first) ** 2 * whole
            dQ12 += eta / T * others * (first * a[0] * x2 + second * a[1] * x1)
            dQ12 += (eta / T) ** 2 * whole * first * second * a[0] * a[1]
    # where the teacher's sign is +, a field's size times two signs is it times both answers
    names = ("mod_1", "mod_2", "mod_teacher")
    sizes = {
        name: sum(a[0] * a[1] * fields[a][field] for a in answers)
        for field, name in enumerate(names)
    }
    return {"dQ1": dQ1, "dQ12": dQ12, "dR1": dR1, **sizes}
