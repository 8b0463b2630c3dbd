r"""The plateau in numbers: its length, its height, and all eigenvalues of the linearised O(η) flow.

Everything is computed in balls from the exact expressions, so that every number has a proved bound.
The length c is a closed form or an enclosed root of φ(c).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from flint import arb

from symderiv.analysis.low_rank import secular_roots
from symderiv.analysis.plateau.closed_plateau import RATES, PlateauForms
from symderiv.analysis.plateau.teacher import HomogeneousTeacher, Modes, rational_ball
from symderiv.formula import evaluate_scalar
from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.precision.balls.expression_balls import ball_at
from symderiv.precision.balls.krawczyk import enclosed_root
from symderiv.precision.balls.working import working_bits

_GRID = [2.0 ** (k / 8) for k in range(-96, 97)]


SYMMETRIC, DIFFERENCE = RATES[:2]
# Symbols of stiffnesses and of responses, the latter with the names of their mode vectors.
_STIFFNESS = {
    (1, 0): "a_s",
    (2, 0): "2 a_s",
    (0, 1): "kappa",
    (0, 2): "2 kappa",
    (1, 1): "(a_s + kappa)",
}
_RESPONSES = {
    "teacher_response": ("B' theta", "difference"),
    "length_response": ("f_s tau", "row_sum"),
    "one_length_response": ("f_d tau", "row_sum"),
}


@dataclass(frozen=True)
class Sector:
    """A symmetry sector of the linearised flow, with matrix -stiffness Λ - response u wᵀ, times η.

    Attributes:
        name: Key in outputs.
        words: A description of the motion.
        multiplicity: The multiplicity, as a formula in M.
        stiffness: The multiples of a_s and κ in the coefficient of -Λ.
        response: The name of the coefficient of the rank-one part, if there is one.
    """

    name: str
    words: str
    multiplicity: str
    stiffness: tuple[int, int]
    response: str | None = None

    @property
    def formula(self) -> str:
        """The matrix over modes, in symbols of :mod:`symderiv.analysis.plateau.plateau_forms`."""
        drift = f"-{_STIFFNESS[self.stiffness]} Lambda"
        return drift if self.response is None else f"{drift} - {_RESPONSES[self.response][0]} w^T"


_OF_TEACHERS, _OF_ALL, _OF_ONE = _RESPONSES
_APART = "every student towards a teacher of its own"
SECTORS = (
    Sector("length", "length of all students", "1", (1, 0), _OF_ALL),
    Sector("norm", "Q off the line of equal students, all alike", "1", (2, 0)),
    Sector("common", "all students alike, teachers told apart", "M - 1", (1, 0), _OF_TEACHERS),
    Sector("specialisation", _APART, "(M - 1)**2", (0, 1), _OF_TEACHERS),
    Sector("one_length", "lengths of the students differ", "M - 1", (0, 1), _OF_ONE),
    Sector("one_norm", "Q of one student with the others off the line", "M - 1", (1, 1)),
    Sector("spread", "Q of differences of students", "M*(M - 1)/2", (0, 2)),
)


@dataclass(frozen=True)
class Group:
    """Eigenvalues of one sector.

    Attributes:
        sector: The symmetry sector.
        multiplicity: The number of independent directions with each of these eigenvalues.
        values: The eigenvalues per unit of α as balls, descending; None if they need the modes.
        slope: The coefficient of ρ_k if the eigenvalues are proportional to ρ_k, else None.
        kind: ``attractive``, ``neutral``, ``escaping`` or ``mixed``; ``unknown`` without values.
    """

    sector: Sector
    multiplicity: int
    values: tuple[arb, ...] | None
    slope: arb | None
    kind: str


@dataclass(frozen=True)
class PlateauNumbers:
    """The plateau for a given teacher, in balls.

    Attributes:
        length: c, with J_i = c times the sum of the teachers.
        R, Q: The order parameters R_in and Q_ij of order 1.
        generalization_error: The height of the plateau.
        rates: The rates a_s, κ, B', f_s, f_d by their names in :class:`PlateauForms`, per unit of
            ηα.
        groups: All eigenvalues of the linearised O(η) flow.
        unstable_eigenvalue: The largest eigenvalue of the specialisation sector per unit of α.
        escape_time: 1 over it, in units of α; None if nothing escapes.
    """

    length: arb
    R: arb
    Q: arb
    generalization_error: arb
    rates: dict[str, Any]
    groups: tuple[Group, ...]
    unstable_eigenvalue: arb
    escape_time: arb | None


def plateau_numbers(
    forms: PlateauForms, teacher: HomogeneousTeacher, learning_rate: Fraction, bits: int
) -> PlateauNumbers:
    """Return the plateau of a teacher with about ``bits`` accurate bits.

    Args:
        forms: The plateau in closed form.
        teacher: The teacher, by its moments or modes.
        learning_rate: η as an exact rational, positive.
        bits: Working precision.

    Raises:
        InputError: Only moments are known, and the escape rate needs the modes.
        ToleranceError: A number could not be enclosed.
    """
    work = bits + 60
    T1, D1, T2, D2 = teacher.moments(work)
    values = {"M": arb(teacher.units), "T": T1, "D": D1}
    length = plateau_length(forms, values, work)
    values["c"] = length

    def at(name: str) -> arb:
        return ball_at(getattr(forms.plain, name), values, work)

    closed = forms.plain.closed or {}
    # Rates that are exactly zero in closed form are exactly zero in numbers.
    rates = {name: arb(0) if closed.get(name) == 0 else at(name) for name in RATES}
    modes = None if teacher.modes is None else teacher.modes(work)
    with working_bits(work):
        eta = rational_ball(learning_rate)
        row = T1 + D1
        R, Q = length * row, length * length * teacher.units * row
        groups = [_group(sector, teacher, modes, rates, eta) for sector in SECTORS]
        escaping = next(group for group in groups if group.sector.name == "specialisation")
        if escaping.values is not None:
            unstable = escaping.values[0]
        elif rates[DIFFERENCE].is_zero():
            unstable = -eta * rates["teacher_response"] * (T2 - D2 / (teacher.units - 1))
        else:
            raise InputError(
                "--T2, --D2: for this activation the escape rate depends on the whole spectrum; "
                "give --distinct-eigenvalues and --exponent, or T2 = T1 and D2 = D1 for isotropic "
                "inputs"
            )
        escape_time = 1 / unstable if unstable > 0 else None
    error = at("generalization_error")
    return PlateauNumbers(length, R, Q, error, rates, tuple(groups), unstable, escape_time)


def _group(
    sector: Sector,
    teacher: HomogeneousTeacher,
    modes: Modes | None,
    rates: dict[str, Any],
    eta: arb,
) -> Group:
    count = int(evaluate_scalar(sector.multiplicity, {"M": teacher.units}))
    along, across = sector.stiffness
    stiffness = eta * (along * rates[SYMMETRIC] + across * rates[DIFFERENCE])
    response = arb(0) if sector.response is None else eta * rates[sector.response]
    slope = -stiffness if response.is_zero() else None
    values: tuple[arb, ...] | None = None
    if modes is not None:
        vector = _RESPONSES[sector.response][1] if sector.response else "eigenvalue"
        values = tuple(mode_rates(modes, stiffness, response, getattr(modes, vector)))
    known = values or (() if slope is None else (slope,))
    return Group(sector, count, values, slope, _kind(known) if known else "unknown")


def mode_rates(modes: Modes, stiffness: arb, response: arb, vector: Sequence[arb]) -> list[arb]:
    """Return the eigenvalues of -stiffness Λ - response u wᵀ over the modes, descending."""
    strengths = [response * u * w for u, w in zip(vector, modes.weight, strict=True)]
    poles = [-stiffness * rho for rho in modes.eigenvalue]
    if response.is_zero():
        values = poles
    elif stiffness.is_zero():
        values = [-sum(strengths, arb(0)), *([arb(0)] * (len(strengths) - 1))]
    else:
        order = sorted(range(len(poles)), key=lambda k: float(poles[k]))
        roots = secular_roots([poles[k] for k in order], [strengths[k] for k in order])
        values = [root for root, _ in roots]
    return sorted(values, key=float, reverse=True)


def _kind(values: Sequence[arb]) -> str:
    kinds = {
        "attractive" if value < 0 else "escaping" if value > 0 else "neutral" for value in values
    }
    if kinds == {"escaping", "neutral"}:
        return "escaping"
    return kinds.pop() if len(kinds) == 1 else "mixed"


def plateau_length(forms: PlateauForms, values: dict[str, arb], bits: int) -> Any:
    """Return the length c as a ball: the closed form, or the lowest stable root of its equation."""
    plain = forms.plain
    if plain.length is not None:
        return ball_at(plain.length, values, bits)
    start = _start(forms, values)
    return enclosed_root([plain.stationarity], ["c"], values, [start], bits, [plain.slope])[0]


def _start(forms: PlateauForms, values: dict[str, arb]) -> float:
    """Return the root of φ that is the lowest minimum of the error in c."""

    def at(name: str, length: float) -> float:
        place = {**values, "c": arb(length)}
        return float(ball_at(getattr(forms.plain, name), place, 80).mid())

    from scipy.optimize import brentq

    heights = [at("stationarity", x) for x in _GRID]
    minima: list[tuple[float, float]] = []
    for (x, f), (y, g) in pairwise(zip(_GRID, heights, strict=True)):
        # a root may be a point of the grid
        if f < 0 <= g:
            root = brentq(lambda length: at("stationarity", length), x, y)
            minima.append((at("generalization_error", root), root))
    if not minima:
        raise ToleranceError(
            "no symmetric plateau was found: the error along equal students has no minimum at a "
            f"length between {_GRID[0]:.1e} and {_GRID[-1]:.1e}"
        )
    _, length = min(minima)
    return length
