"""The rules of quadrature that a module can have, from coarse to fine.

The parameters are explained in ``symderiv.numerics.quadratures.smooth_mean``, ``kinked_mean``,
``plane_mean`` and ``joint_mean``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.polynomial import chebyshev

from symderiv.foundation.errors import NotYetError, ToleranceError

AnyRule = TypeVar("AnyRule")

SMOOTH_STEPS = (
    *(1.3, 1.1, 0.9, 0.82, 0.75, 0.7, 0.66, 0.62, 0.58, 0.54, 0.5, 0.46, 0.42),
    *(0.38, 0.34, 0.3, 0.27, 0.24, 0.21, 0.18, 0.16, 0.14, 0.12, 0.1, 0.085, 0.07),
)
KINKED_PANELS = (4.0, 2.8, 2.0, 1.4, 1.0)
SCALES = (1.0, 0.9, 0.75, 0.65)
"""Length scales of factors away from kinks, which set the panels of their tables."""
PLANE_POINTS = (8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 21.0, 24.0, 28.0)
SECTORS = ((12.0, 12.0), (19.0, 20.0), (19.0, 28.0))
"""Numbers of points for a right angle and for r in polar coordinates, in means of two factors: the
first suffice for exponentials, the last for functions with poles nearby."""
ALONG_LINES, LARGEST_CORRELATION = 0.3, 1.0
"""The correlation of two residuals from which lines may be used in planes, and the largest one."""
NEARLY = 1.5
"""How much larger than the errors of the finest rule those of a coarser one may be, if no rule
keeps a tolerance."""
MOST_TAKEN = 3
"""The number of coarser rules that are searched in that case."""
LAST = 1e-4
"""The error, relative to the largest mean, beyond which means are worthless."""
JOINT_STEPS, JOINT_REACHES = (0.9, 0.7, 0.55, 0.45, 0.36, 0.29, 0.23, 0.18), (7.5, 9.0, 10.5)
JOINT_PANELS = (3.0, 2.2, 1.6, 1.2, 0.9, 0.65)


def coarsest(
    rules: Sequence[AnyRule],
    error_of: Callable[[AnyRule, float], float],
    tolerance: float,
    of_what: str,
    largest: float,
    last: float | None,
    argument: str | None = None,
    where_hard: Callable[[AnyRule], float] | None = None,
) -> tuple[AnyRule, float]:
    """Return the coarsest rule that keeps a tolerance, and its error.

    Args:
        rules: The rules, from coarse to fine.
        error_of: The largest error of a rule that a search finds, which may stop above a number.
        tolerance: Bound on the error.
        of_what: What the means are taken of, for messages.
        largest: The largest mean.
        last: The relative error of the largest mean that is accepted if no rule keeps the
            tolerance: the finest rule is taken then, or a coarser one as good. None: raise instead.
        argument: The argument that errors are about.
        where_hard: The largest error of a rule at the hard cases found so far.

    Raises:
        NotYetError: A mean is not finite in double precision, or no rule is accurate at all.
        ToleranceError: No rule keeps the tolerance.
    """
    usable: list[AnyRule] = []
    for rule in rules:
        error = error_of(rule, tolerance)
        if error <= tolerance:
            return rule, error
        if not math.isfinite(error):  # finer rules have even more points where these do not fit
            break
        usable.append(rule)
    most, hard = (LAST if last is None else last) * largest, None if last is None else where_hard
    best, error = _most_accurate(usable or rules[:1], error_of, hard, most)
    if not math.isfinite(error):
        raise NotYetError(
            f"not yet: a mean of {of_what} is not finite in double precision for some covariances; "
            "choose smoother or slower growing functions",
            argument=argument,
        )
    if error > most:
        raise NotYetError(
            f"not yet: quadrature of {of_what} is not accurate: the best rule leaves an error of "
            f"at least {error:.1e} where the largest mean is {largest:.1e}; choose functions that "
            "vary more slowly or are smoother",
            argument=argument,
        )
    if last is not None:
        return best, error
    raise ToleranceError(
        f"tolerance {tolerance:g}: the best affordable quadrature for {of_what} reaches "
        f"{error:.1e}; ask for that or more"
    )


def _most_accurate(
    rules: Sequence[AnyRule],
    error_of: Callable[[AnyRule, float], float],
    where_hard: Callable[[AnyRule], float] | None,
    most: float,
) -> tuple[AnyRule, float]:
    """Return the finest rule with finite means, or one as good, and its error; the coarsest if no
    rule has.
    """
    while True:
        best = rules[-1]
        if where_hard is not None:
            best = _as_good_as_finest(rules, error_of, where_hard, most)
        error = error_of(best, most)
        rules = rules[: rules.index(best)]
        if math.isfinite(error) or not rules:
            return best, error


def _as_good_as_finest(
    rules: Sequence[AnyRule],
    error_of: Callable[[AnyRule, float], float],
    where_hard: Callable[[AnyRule], float],
    most: float,
) -> AnyRule:
    """Return the coarsest rule that at the hard cases is nearly as accurate as the finest one.

    Finer rules would only cost time. The search for a rule's errors stops where it is clearly worse
    than the finest rule has been so far, and is resumed if the finest is as bad there. If the error
    of the finest exceeds ``most``, the finest rule is returned.
    """
    while (least := where_hard(rules[-1])) <= most:
        rule = next(each for each in rules if where_hard(each) <= NEARLY * least)
        error_of(rule, NEARLY * least)
        if where_hard(rule) <= NEARLY * least:
            return rule
    return rules[-1]


def stated_error(found: float, rounding: float) -> float:
    """Return an error rounded up to two digits, but at least the rounding error."""
    return float(f"{1.05 * found + rounding:.1e}") if math.isfinite(found) else found


@dataclass(frozen=True)
class MeanRule:
    """The parameters of a rule for means of two and of four factors.

    Attributes:
        step: The step of equal steps, or the longest panel, both in units of the fields.
        four, two: The arrays that the functions for four and two factors take.
    """

    step: float
    four: tuple[float, ...]
    two: tuple[float, ...]


def smooth_rule(step: float, tolerance: float, tail: float) -> MeanRule:
    """Return a rule of equal steps; its reach follows mostly from the tolerance.

    Means of two factors cost little, and so take finer steps and go farther.

    Args:
        step: The step in units of the fields.
        tolerance: Bound on the error of means.
        tail: The t beyond which the largest integrand is negligible.
    """
    digits = math.log(100 / tolerance)
    width = round(math.sqrt(2 * math.pi**2 / digits), 3)
    reach = round(max(math.sqrt(2 * digits), tail), 1)
    poles = round(step * digits / (4 * math.pi), 3)
    four = step, width, reach, poles, float(f"{0.02 * tolerance:.1e}")
    fine = round(0.8 * step, 4), round(0.95 * width, 3), reach + 0.8, round(0.8 * poles, 3)
    two = *fine, float(f"{0.0005 * tolerance:.1e}")
    return MeanRule(step, four, two)


def kinked_rule(panel: float, tolerance: float, tail: float, slope_jumps: bool) -> MeanRule:
    """Return a rule of panels between kinks.

    A layer of width w that is taken for a kink changes a mean by about w² where both factors have
    kinks, by w where both jump; so the floor follows from the tolerance. Means of two factors cost
    little, and so take finer panels and layers.
    """
    digits = math.log(100 / tolerance)
    reach = round(max(math.sqrt(2 * digits) + 0.5, tail), 1)
    floor = 0.02 * tolerance if slope_jumps else 0.05 * math.sqrt(tolerance)
    growth = 1.5 if panel >= 2 else 1.2
    four = min(panel, 3.0), panel, reach, round(panel / 40, 4), floor, growth, 0.05 * panel
    fine = panel / 2
    two = min(fine, 1.5), fine, max(8.0, reach + 1), round(fine / 40, 4), 1e-13, 1.0, 0.05 * fine
    return MeanRule(panel, four, two)


def plane_rule(
    points: float, tolerance: float, tail: float, jumps: bool, even: bool, scale: float = 1.0
) -> MeanRule:
    """Return a rule of pieces of lines in a plane, for factors with few kinks, without biases.

    Args:
        points: The number of points of a piece of usual length.
        tolerance: Bound on the error of means.
        tail: The t beyond which the largest integrand is negligible.
        jumps: Whether factors jump whose fields do not span the plane.
        even: Whether no mean changes when all fields change their signs.
        scale: The distance on which factors vary away from kinks.
    """
    panels = kinked_rule(1.0, tolerance, tail, True)
    digits = math.log(10 / tolerance)
    reach = round(max(math.sqrt(2 * digits) + 0.2, tail), 1)
    negligible = round(1.05 * math.log(100 / tolerance), 1)
    polynomials = round(0.7 * negligible, 1)
    floor, rests = 0.02 * tolerance, 0.0 if jumps else 0.005 * tolerance
    four = points, negligible, reach, scale, floor, float(even), ALONG_LINES, polynomials, rests
    return MeanRule(1 / points, four, (*panels.two, 1.4 * points))


def error_of_panels(
    factor: Callable[[float], float], kinks: Sequence[float], scale: float, variance: float
) -> float:
    """Return the largest error of a mean from interpolating a factor on panels.

    The panels of ``smoothed`` grow with the distance from the nearest kink. That suits functions
    that vary more slowly away from kinks; derivatives of error functions vary as much everywhere.

    Args:
        factor: A function of the field.
        kinks: Where it is not smooth, ascending; at least one place.
        scale: The distance on which it varies, which sets the first panel.
        variance: The variance of the field.
    """
    # takes long to import, and only searches need it
    from symderiv.numerics.quadratures.smoothed import _FAR_PANELS, _cells_away

    nodes, between = (np.cos(np.pi * (np.arange(12) + shift) / 12) for shift in (0.5, 0.0))
    ends = (-math.inf, *(0.5 * (a + b) for a, b in itertools.pairwise(kinks)), math.inf)
    cells = np.empty(_FAR_PANELS, dtype=np.int64)
    edges = 0.15 * scale * np.r_[0, cells[: _cells_away(scale, 0.0, cells)]]
    largest = 0.0
    for kink, *around in zip(kinks, ends, ends[1:], strict=False):
        for sign, end in zip((-1.0, 1.0), around, strict=True):
            farthest = min(sign * (end - kink), 6.0 * math.sqrt(variance))
            for edge, stop in itertools.pairwise(np.minimum(edges, farthest)):
                if edge == stop:
                    continue
                length = stop - edge
                at, tried = (
                    kink + sign * (edge + 0.5 * length * (1.0 + t)) for t in (nodes, between)
                )
                values, exact = (np.array([factor(each) for each in t]) for t in (at, tried))
                fitted = chebyshev.chebval(between, chebyshev.chebfit(nodes, values, 11))
                weights = np.exp(-0.5 * tried * tried / variance) / math.sqrt(
                    2 * math.pi * variance
                )
                largest = max(largest, length * float(np.mean(weights * np.abs(fitted - exact))))
    return largest


def with_sectors(rule: MeanRule, sectors: tuple[float, float]) -> MeanRule:
    """Return a rule of planes with these numbers of points in sectors for means of two factors, see
    :data:`SECTORS`.
    """
    two = *rule.two[:7], sectors[0], rule.four[5], sectors[1]
    return MeanRule(rule.step, rule.four, two)


JointRule = tuple[float, ...]


def joint_rule(step: float, reach: float, kinked: bool = False) -> JointRule:
    """Return a rule for any function of a few fields: equal steps for a smooth one, panels for one
    with kinks. Functions that grow fast need a longer reach.

    Args:
        step: The step, or the longest panel, in units of the fields.
        reach: How far the points go, in standard deviations.
        kinked: Whether it has kinks.
    """
    if kinked:
        # taking a layer for a kink changes a mean of two jumps by the layer's width
        return min(step, 2.5), step, reach, 0.0, 1e-11, 1.2, 0.0
    return step, 1.1 * step, reach


def joint_rules(step: float, reach: float, kinked: bool = False) -> list[tuple[float, float]]:
    """Return pairs of step and reach that are clearly coarser than a rule, fewest points first."""
    steps = [each for each in (JOINT_PANELS if kinked else JOINT_STEPS) if each > 1.2 * step]
    pairs = [(each, far) for each in steps for far in JOINT_REACHES if far < reach]
    return sorted(pairs, key=lambda pair: pair[1] / pair[0])


def finer(rule: MeanRule) -> MeanRule:
    """Return a rule whose error is far below that of another."""
    four, two = (_FINER[len(numbers)](numbers) for numbers in (rule.four, rule.two))
    return MeanRule(0.7 * rule.step, four, two)


def _finer_steps(numbers: tuple[float, ...]) -> tuple[float, ...]:
    step, width, reach, poles, negligible = numbers
    return 0.75 * step, 0.85 * width, reach + 1.0, 0.8 * poles, 0.01 * negligible


def _finer_panels(numbers: tuple[float, ...]) -> tuple[float, ...]:
    panel, field, reach, cell, floor, growth, few = numbers
    return 0.7 * panel, 0.7 * field, reach + 0.8, 0.6 * cell, 0.1 * floor, 0.9 * growth, 0.5 * few


def _finer_plane(numbers: tuple[float, ...]) -> tuple[float, ...]:
    points, digits, reach, scale, floor, even, _, _, rests = numbers
    # nothing along lines: integrals along lines are compared with points of a plane
    numbers = 1.4 * points, digits + 3.0, reach + 0.7, 0.8 * scale, 0.1 * floor, even
    return *numbers, 2.0 * LARGEST_CORRELATION, 0.0, 0.2 * rests


def _finer_lines(numbers: tuple[float, ...]) -> tuple[float, ...]:
    *panels, points = numbers
    return *_finer_panels(tuple(panels)), 1.4 * points


def _finer_sectors(numbers: tuple[float, ...]) -> tuple[float, ...]:
    *panels, _, even, _ = numbers
    points, radii = SECTORS[-1]
    return *_finer_panels(tuple(panels)), math.ceil(1.3 * points), even, radii


_FINER = {5: _finer_steps, 9: _finer_plane, 7: _finer_panels}
_FINER |= {8: _finer_lines, 10: _finer_sectors}
"""The refinement by the number of parameters of a rule: equal steps, pieces of a plane, panels, and
panels with lines or with sectors.
"""
