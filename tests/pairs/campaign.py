"""One pair judged, and many pairs with results kept so that a campaign can go on."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from support.campaign import Kept, apart

from pairs import engine, reference, trajectory
from pairs.activations import ACTIVATIONS, PAIRS, Activation
from pairs.states import PRECISE, SAMPLED, Rates, State

TOLERANCES = (1e-5, 1e-4, 1e-3)
"""Asked for in turn where means have no closed form, until one is within reach."""

ROUNDING = 1e-9
"""Allowed for rounding, relative to the terms of a rate."""

RESOLUTION = 1e-4
"""Sampling goes on until its standard error is below this, relative to the terms of a rate."""

LOG2_COUNTS = (14, 16)


@dataclass
class Verdict:
    """What came out for a pair.

    Attributes:
        status: "right", "wrong" or "refused".
        method: Of the module: "closed", "mixture" or "quadrature".
        stated: The error that the module states; None if closed.
        worst: Largest difference over what is allowed, over all rates of all states.
        at: The state where that was.
        precise: Largest relative difference at K = M = 1, from nested quadrature.
        resolution: Standard errors of the sampling, relative, largest of every state.
        trajectory: Largest deviation of SGD over what is allowed; None if not run.
        reason: Of a refusal, or of a failure.
        cpu_seconds: Of everything.
    """

    student: str
    teacher: str
    status: str
    method: str = ""
    stated: float | None = None
    worst: float = 0.0
    at: str = ""
    precise: float = 0.0
    resolution: list[float] = field(default_factory=list)
    trajectory: float | None = None
    reason: str = ""
    cpu_seconds: float = 0.0


def judge(
    student: str,
    teacher: str,
    *,
    folder: Path | None = None,
    seed: int = 0,
    sgd: bool = False,
    sampled: Iterable[State] = SAMPLED,
) -> Verdict:
    """Compare all rates of a pair at all states.

    A state whose sampled rates differ by more than is allowed is tried again with four times the
    points and new scrambles, and that counts: of some ten thousand numbers a few lie beyond five
    standard errors by chance.
    """
    started = time.process_time()
    own, other = ACTIVATIONS[student], ACTIVATIONS[teacher]
    verdict = Verdict(student, teacher, "right")
    try:
        text = _text(own, other, folder)
    except Exception as error:
        verdict.status, verdict.reason = _refusal(own, error)
        verdict.cpu_seconds = time.process_time() - started
        return verdict
    m = engine.module(text)
    stated = engine.stated_error(m, own, other)
    verdict.method = getattr(m, "ACTIVATION_METHOD", "closed")
    verdict.stated = getattr(m, "ACTIVATION_ERROR", None)
    rates = Rates()
    for state in PRECISE:
        known = reference.by_nested_quadrature(state, rates, own, other, stated)
        limit = known.allowed + ROUNDING * known.scale
        if np.any(known.error > 0.1 * ROUNDING * known.scale):
            raise AssertionError(f"{student}|{teacher}, {state.name}: the reference is not precise")
        off = _off(m, state, rates, known)
        verdict.precise = max(verdict.precise, float(np.max(off / known.scale)))
        _worse(verdict, state, float(np.max(off / limit)))
    for state in sampled:
        known = _sampled(state, rates, own, other, stated, seed)
        off = _off(m, state, rates, known)
        limit = 5 * known.error + known.allowed + ROUNDING * known.scale
        if not np.all(off <= limit):
            known = reference.by_sampling(
                state, rates, own, other, stated, LOG2_COUNTS[-1], seed + 1000
            )
            limit = 5 * known.error + known.allowed + ROUNDING * known.scale
            off = _off(m, state, rates, known)
        verdict.resolution.append(float(np.max(known.error / known.scale)))
        _worse(verdict, state, float(np.max(off / limit)))
    if sgd:
        found = trajectory.compare(m, own, other, seed)
        verdict.trajectory = found.over_allowed
        _worse(verdict, None, found.over_allowed)
    if not verdict.worst <= 1:
        verdict.status = "wrong"
    verdict.cpu_seconds = time.process_time() - started
    return verdict


def tenth(seed: int | None = None) -> list[tuple[str, str]]:
    """Every tenth pair in a shuffled order; ten consecutive seeds cover all. None: of today."""
    chosen = date.today().toordinal() if seed is None else seed
    order = np.random.default_rng(11).permutation(len(PAIRS))
    return [PAIRS[index] for index in order[chosen % 10 :: 10]]


def run(pairs: list[tuple[str, str]], results: Path, seed: int, sgd: set[Any]) -> Iterator[Verdict]:
    """Judge what ``results`` does not have yet for this engine, and add it there."""
    from symderiv.storage.kernels import _engine_digest

    kept = Kept(results, Verdict, engine=_engine_digest(), seed=seed)
    folder = results.parent / "modules"
    for pair in pairs:
        yield kept.of(pair, lambda pair=pair: apart(_judged, *pair, folder, seed, pair in sgd))


def _judged(student: str, teacher: str, folder: Path, seed: int, sgd: bool) -> Verdict:
    try:
        return judge(student, teacher, folder=folder, seed=seed, sgd=sgd)
    except Exception as error:
        return Verdict(student, teacher, "wrong", reason=f"{type(error).__name__}: {error}")


def _text(student: Activation, teacher: Activation, folder: Path | None) -> str:
    from symderiv.foundation.errors import ToleranceError

    for tolerance in TOLERANCES:
        try:
            return engine.derived_text(student.text, teacher.text, tolerance, folder)
        except ToleranceError:
            if tolerance == TOLERANCES[-1]:
                raise
    raise AssertionError


def _refusal(student: Activation, error: Exception) -> tuple[str, str]:
    """Whether the engine may refuse this, and for this reason."""
    from symderiv.foundation.errors import DivergentError

    reason = f"{type(error).__name__}: {error}"
    noise = isinstance(error, DivergentError) and "Γ_ii" in str(error)
    right = noise and student.kind == "sign"
    return ("refused" if right else "wrong"), reason


def _off(m: Any, state: State, rates: Rates, known: reference.Reference) -> Any:
    """Differences of the readable procedures and of those written out for these numbers."""
    readable = engine.readable_rates(m, state, rates)
    written_out = engine.written_out_rates(m, state, rates)
    off = np.abs(readable - known.value)
    off[:-1] = np.maximum(off[:-1], np.abs(written_out - known.value[:-1]))
    return np.where(np.isfinite(off), off, np.inf)


def _sampled(
    state: State, rates: Rates, own: Activation, other: Activation, stated: Any, seed: int
) -> Any:
    for log2_count in LOG2_COUNTS:
        known = reference.by_sampling(state, rates, own, other, stated, log2_count, seed)
        if np.max(known.error / known.scale) < RESOLUTION:
            break
    return known


def _worse(verdict: Verdict, state: State | None, ratio: float) -> None:
    if not ratio <= verdict.worst:
        verdict.worst, verdict.at = ratio, "SGD" if state is None else state.name
