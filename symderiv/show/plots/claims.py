"""Sentences with numbers about the curves of a study, and whether expectations hold.

A claim is computed from the curves; if it is false or undecided, it says so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from symderiv.keys.checked import record_of
from symderiv.problem import study  # noqa: F401 - states which tables there are
from symderiv.show.plots import features
from symderiv.show.plots.features import Agreement, Band, ErrorDecay, SlowestStretch, StudyCase

# The published result for power-law spectra: figure 1 of Worschech and Rosenow, arXiv:2410.09005.
_EXPECTED_TO_FALL = frozenset({"data.distinct_eigenvalues"})


@dataclass(frozen=True)
class Observation:
    """One sentence; ``holds`` is None for a plain observation or a claim that stays undecided."""

    text: str
    holds: bool | None = None


@dataclass(frozen=True)
class Findings:
    """All findings of one case."""

    case: StudyCase
    plateau: SlowestStretch | None
    decay: ErrorDecay | None
    agreement: Agreement | None


def findings(case: StudyCase) -> Findings:
    """Return plateau, final decay and agreement with the simulation of one case."""
    compared = None
    if case.points is not None:
        compared = features.agreement(case.curve, case.points)
    curve = case.curve
    return Findings(case, features.plateau(curve), features.final_decay(curve), compared)


def letter(key: str) -> str:
    """Return the usual symbol of a study's key, or the last part of the key."""
    record = record_of(key)
    return (record and record.letter) or key.rpartition(".")[2].replace("_", " ")


def number(value: float, digits: int = 3) -> str:
    """Return a number in readable form, e.g. ``0.00608``, ``2130``, ``9.38×10⁻⁷``."""
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return str(value)
    power = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    if -4 < power < 6:
        return f"{round(value, digits - 1 - power):.{max(0, digits - 1 - power)}f}"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa}×10{raised}"


def describe_plateau(stretch: SlowestStretch | None) -> str:
    """Return a description of the plateau, or of its absence."""
    if stretch is None:
        return "no plateau: after the initial fall ε_g never slows down and speeds up again"
    if not stretch.exists:
        text = (
            f"no plateau, only a shoulder: ε_g falls slowest at α = {number(stretch.alpha)}, with "
            f"local exponent {number(stretch.exponent, 2)} where a plateau needs less than "
            f"{features.FLAT}"
        )
        if stretch.end is None:
            return text
        return f"{text}; half of ε_g = {number(stretch.height)} there is reached at α = " + number(
            stretch.end
        )
    height = f"plateau at ε_g = {number(stretch.height)}, begins at α = {number(stretch.begin)}"
    if stretch.end is None:
        return (
            f"{height} and has not ended at α = {number(stretch.last)} "
            f"(length at least {number(stretch.length)})"
        )
    return f"{height}, ends at α = {number(stretch.end)} (length {number(stretch.length)})"


def describe_decay(decay: ErrorDecay) -> str:
    """Return the final decay in words."""
    if decay.rate < 0:
        return (
            f"ε_g grows from α = {number(decay.begin)} to {number(decay.end)}, "
            f"rate {number(-decay.rate)} per unit α"
        )
    return (
        f"from α = {number(decay.begin)} to {number(decay.end)} ε_g falls at a mean rate of "
        f"{number(decay.rate)} per unit α, a local exponent of {number(decay.exponent)}"
    )


def describe_agreement(found: Agreement) -> str:
    """Return the comparison with the simulation in words."""
    verdict = "agree" if found.agrees else "DISAGREE"
    times = len(found.deviations)
    far = f"; {found.far} of {times} off by more than {features.FAR:.0%}" if found.far else ""
    return (
        f"equations and {found.runs} SGD runs {verdict}: {found.within_three} of {times} times "
        f"within 3 standard errors, {found.within} of {times} within {number(found.bound, 2)} (the "
        f"bound for {found.runs} runs); largest deviation {number(found.largest, 2)}, root mean "
        f"square {number(found.root_mean_square, 2)}{far}"
    )


def describe_band(case: StudyCase, band: Band) -> str:
    """Return in words how runs at finite N scatter, and whether the simulation does."""
    gaussian = (band.alpha > 0) & (band.alpha < band.since)
    if not gaussian.any():
        return (
            f"how runs at N = {band.dimension} scatter is a guess from the start, as they are not "
            "Gaussian"
        )
    sizes = np.divide(band.deviation, band.mean, out=np.zeros_like(band.mean), where=band.mean > 0)
    most = int(np.argmax(np.where(gaussian, sizes, -1.0)))
    said = (
        f"runs at N = {band.dimension} scatter around their mean by up to "
        f"{number(100 * float(sizes[most]), 2)} % of it (at α = {number(float(band.alpha[most]))})"
    )
    if band.since < math.inf:
        said += f"; from α = {number(band.since)} on this is a guess, as they are not Gaussian"
    compared = features.agreement_within(case)
    if compared is not None:
        said += (
            f"; the mean of the SGD runs is within 3 of the predicted standard errors at "
            f"{compared.within_three} of {len(compared.deviations)} times"
        )
    return said


def claims(found: Sequence[Findings]) -> list[Observation]:
    """Return all sentences of a report: trends over the sweep first, then case by case."""
    sentences = list(_trends(found))
    several = len(found) > 1
    for one in found:
        label = f"{one.case.label}: " if several else ""
        if one.agreement is not None:
            sentences.append(
                Observation(label + describe_agreement(one.agreement), one.agreement.agrees)
            )
    for one in found:
        label = f"{one.case.label}: " if several else ""
        if not one.case.curve.complete:
            last = number(float(one.case.curve.alpha[-1])) if one.case.curve.alpha.size else "0"
            reason = one.case.curve.end_reason
            sentences.append(
                Observation(f"{label}the integration ended at α = {last}: {reason}", False)
            )
        if one.case.band is not None:
            sentences.append(Observation(label + describe_band(one.case, one.case.band)))
        sentences.append(Observation(label + describe_plateau(one.plateau)))
        if one.decay is not None:
            sentences.append(Observation(label + describe_decay(one.decay)))
    return sentences


def _trends(found: Sequence[Findings]) -> list[Observation]:
    """Return claims on how plateau and decay change along the only swept key, if it is numeric."""
    keys = {key for one in found for key in one.case.settings}
    if len(found) < 2 or len(keys) != 1:
        return []
    (key,) = keys
    values = [one.case.settings.get(key) for one in found]
    if not all(isinstance(value, int | float) for value in values):
        return []
    ordered = sorted(found, key=lambda one: float(str(one.case.settings[key])))
    expected = key in _EXPECTED_TO_FALL
    return [_plateau_trend(key, ordered, expected), *_decay_trend(key, ordered, expected)]


def _listing(key: str, found: Sequence[Findings], value: Callable[[Findings], str]) -> str:
    return ", ".join(f"{value(one)} ({letter(key)} = {one.case.settings[key]})" for one in found)


def _length_text(one: Findings) -> str:
    if one.plateau is None or not one.plateau.exists:
        return "none"
    bound = "≥ " if one.plateau.end is None else ""
    return f"{bound}{number(one.plateau.length)}"


def _plateau_trend(key: str, found: Sequence[Findings], expected: bool) -> Observation:
    lengths = f"lengths in α: {_listing(key, found, _length_text)}"
    names = letter(key)
    if all(one.plateau is None or not one.plateau.exists for one in found):
        return Observation(
            f"There is no plateau at any {names}; {lengths}.", False if expected else None
        )
    steps = [_compare(a.plateau, b.plateau) for a, b in itertools.pairwise(found)]
    if None in steps:
        return Observation(
            f"How the plateau changes with {names} cannot be told before longer runs; {lengths}."
        )
    if all(step == 0 for step in steps):
        trend, holds = f"does not change with {names}", False
    elif all(step is not None and step <= 0 for step in steps):
        trend, holds = f"gets shorter as {names} grows", True
    elif all(step is not None and step >= 0 for step in steps):
        trend, holds = f"gets longer as {names} grows", False
    else:
        trend, holds = f"has no monotonic trend in {names}", False
    return Observation(f"The plateau {trend}; {lengths}.", holds if expected else None)


def _compare(first: SlowestStretch | None, second: SlowestStretch | None) -> int | None:
    """Return the sign of length(second) − length(first), or None if it is not known."""
    a, b = (0.0 if one is None else one.length for one in (first, second))
    open_a = first is not None and first.exists and first.end is None
    open_b = second is not None and second.exists and second.end is None
    if (open_a and open_b) or (open_a and b >= a) or (open_b and a >= b):
        return None
    return (b > a) - (b < a)


def _decay_trend(key: str, found: Sequence[Findings], expected: bool) -> list[Observation]:
    decays = [one.decay for one in found]
    if any(decay is None for decay in decays):
        return []
    rates = [decay.rate for decay in decays if decay is not None]
    listing = _listing(key, found, lambda one: number(one.decay.rate) if one.decay else "")
    last = decays[0]
    window = f"over α = {number(last.begin)} to {number(last.end)}" if last else ""
    measured = f"mean of −d ln ε_g/dα {window}: {listing}"
    names = letter(key)
    falling = all(b < a for a, b in itertools.pairwise(rates))
    rising = all(b > a for a, b in itertools.pairwise(rates))
    if falling:
        trend = f"gets slower as {names} grows"
    elif rising:
        trend = f"gets faster as {names} grows"
    else:
        trend = f"has no monotonic trend in {names}"
    return [Observation(f"The final decay {trend}; {measured}.", falling if expected else None)]
