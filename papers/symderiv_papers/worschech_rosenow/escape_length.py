"""Equations 12 and 117: the length of the plateau, by trajectories of the derived equations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from symderiv_ledger.claims.claim import Point

from symderiv_papers.references.homogeneous import Committee
from symderiv_papers.references.trajectories import plateau_end, random_students
from symderiv_papers.worschech_rosenow.escape_modes import plateau_modes

__all__ = [
    "Floats",
    "constant",
    "measured_constant",
    "no_point",
]

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: α_0 in units of the escape time.
_BEGIN: Final = 3.0


def _committee(units: int) -> Committee:
    half = Fraction(1, 2)
    eigenvalue = (Fraction(3, 2), half)
    one, zero = (Fraction(1), Fraction(1)), (Fraction(0), Fraction(0))
    return Committee(units, eigenvalue, (half, half), one, zero, Fraction(units, 3))


@dataclass(frozen=True)
class _Plateau:
    """One trajectory: the escape time, the two ends, and what is seen at the first one."""

    tau: float
    begin: float
    end: float
    spread: float
    mean: float


def _half_specialised(_: Floats, cross: Floats) -> float:
    """Return zero where every student tells its teachers apart by half."""
    return 0.5 - float((cross.max(axis=1) - cross.min(axis=1)).min())


@lru_cache(maxsize=128)
def _run(units: int, size: float, std: float, seed: int, *, by_height: bool) -> _Plateau:
    """Return a plateau from random students; it ends at half specialised units, or at R = e R*."""
    committee = _committee(units)
    tau = float(1 / plateau_modes(committee).escape[0])
    height = float(committee.plateau()[1])

    def reached(_: Floats, cross: Floats) -> float:
        return math.e * height - float(cross.max())

    longest = tau * (0.5 * math.log(size) - math.log(std) + 25)
    start = random_students(committee, size, std, seed)
    passed = reached if by_height else _half_specialised
    end, at = plateau_end(committee, start, passed, longest)
    cross = at(_BEGIN * tau).cross[1]
    return _Plateau(tau, _BEGIN * tau, end, float(np.std(cross)), float(np.mean(cross)))


def constant(
    units: int, seeds: tuple[int, ...], cases: tuple[tuple[float, float], ...]
) -> Callable[[Any], Iterator[Point]]:
    """D from the shortest plateau of a seed, then other N and sigma_J."""

    def points(numbers: Any) -> Iterator[Point]:
        for seed in seeds:
            (size, std), *others = cases
            first = _run(units, size, std, seed, by_height=False)
            length = (first.end - first.begin) / first.tau
            constant = length + math.log(std) - 0.5 * math.log(size)
            for size, std in others:
                found = _run(units, size, std, seed, by_height=False)
                yield _point(found, units, size, std, constant, f"seed {seed}", numbers)

    return points


def _point(
    found: _Plateau,
    units: int,
    size: float,
    std: float,
    constant: float,
    words: str,
    numbers: Any,
) -> Point:
    known = {
        "alpha_P": numbers.mpf(found.end),
        "alpha_0": numbers.mpf(found.begin),
        "tau_esc": numbers.mpf(found.tau),
        "D": numbers.mpf(constant),
        "sigma_J": numbers.mpf(std),
        "N": numbers.mpf(size),
        "L": 2,
        "M": units,
    }
    return Point(f"M = {units}, N = {size:g}, sigma_J = {std:g}, {words}", known)


def measured_constant(numbers: Any) -> Iterator[Point]:
    """B, sigma_P and c as the appendix measures them, on plateaus that are left at e R*."""
    for size, std in ((1e4, 1e-5), (1e10, 1e-5)):
        for seed in (0, 1):
            found = _run(4, size, std, seed, by_height=True)
            point = _point(found, 4, size, std, 0.0, f"seed {seed}", numbers)
            height = float(_committee(4).plateau()[1])
            more = {
                "sigma_P": numbers.mpf(found.spread),
                "B": numbers.mpf(abs(found.mean - math.e * height)),
            }
            yield Point(point.label, {**point.values, **more})


def no_point(_: Any) -> Iterator[Point]:
    yield Point("the printed numbers", {})
