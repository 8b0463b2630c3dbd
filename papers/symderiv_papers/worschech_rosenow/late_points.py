"""Points late in learning: states near the teachers, their trajectories, the error's expansion."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import mpmath
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv_papers.references.homogeneous import Committee, at_precision
from symderiv_papers.references.trajectories import ansatz_trajectory
from symderiv_papers.worschech_rosenow.escape_points import converted, label, typical
from symderiv_papers.worschech_rosenow.late_modes import (
    late_modes,
    linearised_late,
    stiffness,
)

__all__ = [
    "LATE",
    "Start",
    "expansions",
    "late_times",
    "linear_theory",
    "on_trajectories",
    "overlap_flow",
    "response",
    "sizes",
    "start_near",
]

#: T^(1) = 1, D^(l) = 0; two committees small enough for trajectories.
LATE: Final = (typical(2, 3), typical(3, 2))
_SMALL: Final = (Fraction(1, 200), Fraction(1, 400))


@dataclass(frozen=True)
class Start:
    """Students near their teachers, by eigenspace, in the basis (uniform, differing).

    Attributes:
        overlap: Deviation of J·B from B·B, shape (2, L).
        distance: What students have besides teachers, shape (2, L), of second order.
    """

    overlap: list[list[Any]]
    distance: list[list[Any]]


def start_near(committee: Committee, size: Any) -> Start:
    """Return students at a distance of the given size, in general position."""
    L = committee.modes
    shape = [[(3 + 2 * k - 5 * a) / mpmath.mpf(4 + k) for k in range(L)] for a in range(2)]
    square = [[(1 + k + a) / mpmath.mpf(3 + a) for k in range(L)] for a in range(2)]
    return Start(
        [[size * x for x in row] for row in shape], [[size**2 * x for x in row] for row in square]
    )


def _state(committee: Committee, start: Start) -> list[Any]:
    """R^(l), S^(l), Q^(l), C^(l) of such students, exactly."""
    L, M = committee.modes, committee.units
    weight, rho, teacher = (
        [converted(x, mpmath) for x in values]
        for values in (committee.weight, committee.eigenvalue, committee.diagonal)
    )
    cross = [[teacher[k] + start.overlap[a][k] for k in range(L)] for a in range(2)]
    student = [
        [cross[a][k] ** 2 / teacher[k] + start.distance[a][k] for k in range(L)] for a in range(2)
    ]
    found = []
    for uniform, differing in (cross, student):
        same = [(u + (M - 1) * d) / M for u, d in zip(uniform, differing, strict=True)]
        other = [(u - d) / M for u, d in zip(uniform, differing, strict=True)]
        for values in (same, other):
            for l in range(L):
                found.append(
                    mpmath.fsum(w * x**l * y for w, x, y in zip(weight, rho, values, strict=True))
                )
    return found


@lru_cache(maxsize=64)
def _trajectory(committee: Committee, size: Fraction) -> tuple[list[list[Any]], list[Any]]:
    """Return states at the times of :func:`late_times` and their errors, by the nonlinear
    equations.
    """
    with at_precision():
        start = _state(committee, start_near(committee, converted(size, mpmath)))
        times = late_times(committee)
        later = ansatz_trajectory(committee, start, times)[1:]
        states = [start, *([mpmath.mpf(x) for x in y] for y in later)]
        return states, [committee.generalization_error(y) for y in states]


def late_times(committee: Committee) -> tuple[float, ...]:
    """Return zero and two times, in units of the slowest rate of the distance."""
    eta = float(committee.learning_rate)
    slow = 2 * eta * float(stiffness(committee)[1]) * float(min(committee.eigenvalue))
    return 0.0, 0.5 / slow, 2 / slow


def _deviation(committee: Committee, state: list[Any], numbers: Any) -> dict[str, Indexed]:
    L, teacher = committee.modes, committee.teacher()
    found = {}
    for number, name in enumerate("rsqc"):
        part = range(number * L, (number + 1) * L)
        entries = [numbers.mpf(state[k] - teacher[k]) for k in part]
        found[name] = Indexed(entries, (0, L - 1))
    return found


def sizes(committee: Committee, numbers: Any) -> dict[str, Any]:
    """Return what all points know."""
    L = committee.modes
    return {
        "M": committee.units,
        "L": L,
        "N": 3 * L,
        "eta": converted(committee.learning_rate, numbers),
        "lambda_": Indexed([converted(x, numbers) for x in committee.eigenvalue], (1, L)),
    }


def expansions(numbers: Any) -> Iterator[Point]:
    """Yield states in which r, s, q, c all deviate by the same order, and their errors."""
    for committee in LATE:
        for number, size in itertools.product(range(2), _SMALL):
            with at_precision():
                amount = converted(size, mpmath)
                teacher = committee.teacher()
                state = [
                    x + amount * (2 + (7 * k + 3 * number) % 5 - 3 * (k % 2)) / 5
                    for k, x in enumerate(teacher)
                ]
                error = committee.generalization_error(state)
            values = {
                **sizes(committee, numbers),
                **_deviation(committee, state, numbers),
                "epsilon_g": numbers.mpf(error),
            }
            words = f"{label(committee)}, direction {number + 1}"
            yield Point(f"{words}, size {size}", values, float(size), words)


def on_trajectories(numbers: Any) -> Iterator[Point]:
    """Trajectories of the derived equations from students near their teachers, by their distance.

    Besides the deviations r, s, q, c at each time: the start in eigenspaces, D and r in the basis
    (1: equal units, 2: units that differ), and r there at each time by the linearised equations.
    """
    for committee in LATE:
        times = late_times(committee)
        for size in _SMALL:
            states, errors = _trajectory(committee, size)
            for number, time in enumerate(times):
                values = {
                    **sizes(committee, numbers),
                    **_deviation(committee, states[number], numbers),
                    **_second_order(committee, size, number, numbers),
                    "epsilon_g": numbers.mpf(errors[number]),
                    "alpha": numbers.mpf(time),
                }
                lazy = _first_order(committee, states[0], numbers)
                words = f"{label(committee)}, alpha = {time:.3g}"
                yield Point(f"{words}, distance {size}", Values(values, lazy), float(size), words)


@lru_cache(maxsize=16)
def response(committee: Committee) -> Any:
    """Return the change of A + B with the overlaps, in the basis (uniform, differing), shape (2,
    2).
    """
    from symderiv.analysis.late.perfect_learning import perfect_learning
    from symderiv.formula import activation

    theory = perfect_learning(activation(committee.activation).text)
    table = theory.coefficients(committee.units, 1, 0).response
    return [[mpmath.mpf(x) for x in row] for row in table]


@lru_cache(maxsize=64)
def overlap_flow(committee: Committee) -> Any:
    """d/dα of the overlaps' deviations by eigenspace, shape (2L, 2L), at first order in η."""
    L = committee.modes
    with at_precision():
        eta = converted(committee.learning_rate, mpmath)
        weight, rho, teacher = (
            [converted(x, mpmath) for x in values]
            for values in (committee.weight, committee.eigenvalue, committee.diagonal)
        )
        found = mpmath.zeros(2 * L)
        for a, k, b, l in itertools.product(range(2), range(L), range(2), range(L)):
            value = teacher[k] * response(committee)[a][b] * weight[l] * rho[l]
            if (a, k) == (b, l):
                value += stiffness(committee)[a]
            found[a * L + k, b * L + l] = -eta * rho[k] * value
        return found


def _second_order(
    committee: Committee, size: Fraction, number: int, numbers: Any
) -> dict[str, Any]:
    """Return what the consistent second order needs, by eigenspace."""
    L = committee.modes
    with at_precision():
        start = start_near(committee, converted(size, mpmath))
        time = mpmath.mpf(late_times(committee)[number])
        flow = mpmath.expm(overlap_flow(committee) * time, method="pade")
        overlap = flow * mpmath.matrix([x for row in start.overlap for x in row])
        response_table = response(committee)

    def table(rows: Any) -> Indexed:
        return Indexed([[numbers.mpf(x) for x in row] for row in rows], (1, 2), (1, len(rows[0])))

    return {
        "D_start": table(start.distance),
        "r_mode": table([[overlap[a * L + k] for k in range(L)] for a in range(2)]),
        "A": Indexed([numbers.mpf(x) for x in stiffness(committee)], (1, 2)),
        "H": table(response_table),
        "w": Indexed([converted(x, numbers) for x in committee.weight], (1, L)),
        "t": Indexed([converted(x, numbers) for x in committee.diagonal], (1, L)),
        "mu": Indexed([1, committee.units - 1], (1, 2)),
    }


def _first_order(
    committee: Committee, state: list[Any], numbers: Any
) -> dict[str, Callable[[], Any]]:
    """Return groups of eigenvectors of A_a and their shares in a state: g, v of equation 122."""
    L = committee.modes
    modes = late_modes(committee)

    def vectors(group: str) -> Any:
        rows = [[numbers.mpf(x) for x in vector] for _, vector in getattr(modes, group)]
        return Indexed(rows, (1, L), (1, 4 * L))

    def amounts(group: str) -> Any:
        with at_precision():
            teacher = committee.teacher()
            deviation = mpmath.matrix([x - y for x, y in zip(state, teacher, strict=True)])
            rows = getattr(modes, group)
            return Indexed([numbers.mpf((row * deviation)[0]) for row in rows], (1, L))

    return {
        "v_1": lambda: vectors("differing"),
        "v_2": lambda: vectors("uniform"),
        "g_1": lambda: amounts("left_differing"),
        "g_2": lambda: amounts("left_uniform"),
    }


def linear_theory(numbers: Any) -> Iterator[Point]:
    """Yield the error to first order in r, s, q, c of the linearised equations, general
    deviations.
    """
    for committee in LATE:
        with at_precision():
            teacher = committee.teacher()
            state = [x + mpmath.mpf(3 + (5 * k) % 7) / (11 + k) for k, x in enumerate(teacher)]
            deviation = mpmath.matrix([x - y for x, y in zip(state, teacher, strict=True)])
            gradient = _gradient(committee)
            for time in late_times(committee):
                flow = mpmath.expm(linearised_late(committee) * mpmath.mpf(time), method="pade")
                error = (gradient * (flow * deviation))[0]
                values = {
                    **sizes(committee, numbers),
                    "alpha": numbers.mpf(time),
                    "epsilon_g": numbers.mpf(error),
                }
                lazy = _first_order(committee, state, numbers)
                yield Point(f"{label(committee)}, alpha = {time:.3g}", Values(values, lazy))


@lru_cache(maxsize=16)
def _gradient(committee: Committee) -> Any:
    """Return derivatives of ε_g by r, s, q, c of all orders, by differences; shape (1, 4L)."""
    step = mpmath.mpf(10) ** -25
    teacher = committee.teacher()
    found = mpmath.zeros(1, len(teacher))
    for k in range(len(teacher)):
        ends = []
        for sign in (1, -1):
            moved = list(teacher)
            moved[k] = moved[k] + sign * step
            ends.append(committee.generalization_error(moved))
        found[k] = (ends[0] - ends[1]) / (2 * step)
    return found
