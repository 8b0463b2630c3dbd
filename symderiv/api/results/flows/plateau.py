"""The symmetric plateau: height, linearisation and escape, with certified numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from symderiv.analysis.plateau.closed_plateau import BASIS
from symderiv.api.arguments.numbers import check_digits, exact
from symderiv.api.results.answer import Answer
from symderiv.foundation.drawing import drawn
from symderiv.foundation.errors import InputError, errors_about
from symderiv.foundation.named_arguments import public
from symderiv.foundation.progress import following

if TYPE_CHECKING:
    from flint import arb
    from matplotlib.axes import Axes

    from symderiv.analysis.plateau.plateau_report import PlateauReport
    from symderiv.analysis.plateau.stability import Group
    from symderiv.analysis.plateau.teacher import HomogeneousTeacher

_MOMENTS = ("T1", "D1", "T2", "D2")
_NUMBERS = ("R", "Q", "generalization_error", "unstable_eigenvalue", "escape_time")
_LINE = 96
_FORMULA = "eta (-G x Lambda + H_row x tau w^T + H_difference x theta w^T)"
_SPREAD = (
    "equal students (Q = C) are themselves unstable for this activation (kappa < 0, group spread): "
    "small random students approach the plateau with Q > C in spread_plateau"
)
_STATES = {
    "spread_plateau": "spread plateau",
    "full_flow": "full flow",
    "full_flow_equal_students": "same, Q = C",
}


class Plateau(Answer):
    """The symmetric plateau, at which all students are alike, and the escape from it.

    Attributes:
        R, Q, generalization_error: the fixed point; texts if there are more than 15 digits.
        unstable_eigenvalue: the rate of escape per unit α, or None.
        escape_time: the inverse of the rate of escape, or None.
        eigenvalues: the eigenvalues of the linearised flow in groups.
        closed_forms: R, Q, … symbolic in M, T and D.
        matrices: the linearised matrices, or None.
        full_flow: the plateau with the terms of order η², if ``full`` asked for it. Its unstable
            eigenvalue is the largest rate of specialisation; at large η the students' common
            overlaps may grow faster.
    """

    _title = "Symmetric plateau"
    _first = (
        *("activation", "units", "teacher", "learning_rate", "R", "Q", "generalization_error"),
        *("unstable_eigenvalue", "escape_time"),
    )

    def __init__(self, report: PlateauReport) -> None:
        from symderiv.precision.balls.decimals import Outward
        from symderiv.precision.balls.working import working_bits

        # Eigenvalues of neutral directions are zero up to a proved bound, which needs more bits.
        with working_bits(4 * report.digits + 200):
            outward = Outward(report.digits)
            record = _record(report, outward.number) | outward.record()
            lines = _lines(report, record, outward.text)
            super().__init__(record, "\n".join(lines) + "\n")
        self._groups = [
            (
                group.sector.name.replace("_", " "),
                group.kind,
                group.multiplicity,
                [float(value.mid()) for value in group.values],
            )
            for group in report.numbers.groups
            if group.values
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the linearised spectrum, group by group.

        Raises:
            InputError: moments were given, which do not fix the rates of single modes.
        """
        if not self._groups:
            raise InputError(
                "these moments do not give the rates of single modes; give distinct_eigenvalues "
                "and exponent",
                argument="plot",
            )
        return drawn("analysis_plots.run_plots.spectrum_axes", self._groups, ax)


def _record(report: PlateauReport, number: Callable[[arb], float | str]) -> dict[str, Any]:
    """Return the record for JSON, without what is proved of its numbers."""

    def shown(value: arb | None) -> float | str | None:
        return None if value is None else number(value)

    numbers, states = report.numbers, (report.spread, report.full, report.equal)
    matrices: dict[str, Any] | None = None
    if report.matrices is not None:
        matrices = {"basis": list(BASIS), "formula": _FORMULA}
        for name, rows in report.matrix_numbers.items():
            matrices[name] = report.matrices.plain.texts[name]
            matrices[f"{name}_values"] = [[number(x) for x in row] for row in rows]
    return {
        "activation": report.activation,
        "units": report.teacher.units,
        "learning_rate": str(report.learning_rate),
        "teacher": report.teacher.words,
        **{name: shown(getattr(numbers, name)) for name in _NUMBERS},
        "eigenvalues": [
            {
                "group": group.sector.name,
                "moves": group.sector.words,
                "kind": group.kind,
                "multiplicity": group.multiplicity,
                "matrix": group.sector.formula,
                "values": None if group.values is None else [number(v) for v in group.values],
                "per_eigenvalue": shown(group.slope),
            }
            for group in numbers.groups
        ],
        "closed_forms": dict(report.forms.plain.texts),
        "matrices": matrices,
        "rates": {name: number(value) for name, value in numbers.rates.items()},
        **{
            name: state and {part: shown(x) for part, x in vars(state).items()}
            for name, state in zip(_STATES, states, strict=True)
        },
        "warnings": [_SPREAD] if report.spread is not None else [],
        "digits": report.digits,
    }


def _lines(
    report: PlateauReport, record: Mapping[str, Any], text: Callable[[arb], str]
) -> Iterator[str]:
    """Yield the lines for a terminal."""
    numbers = report.numbers
    yield f"activation   {report.activation}"
    yield f"units        M = {report.teacher.units}, {report.teacher.words}"
    yield f"rates        per unit of alpha at learning rate {report.learning_rate}"
    yield ""
    for name in _NUMBERS:
        value = getattr(numbers, name)
        label = name.replace("_", " ").replace("generalization", "generalisation")
        yield f"{label:<22}{'none: nothing escapes' if value is None else text(value)}"
    for name, label in _STATES.items():
        if record[name] is not None:
            parts = ", ".join(f"{key} = {value}" for key, value in record[name].items())
            yield from textwrap.wrap(f"{label:<22}{parts}", _LINE, subsequent_indent=" " * 22)
    yield (
        f"{'certified':<22}relative error up to {record['relative_error_bound']}, zeros up to "
        f"{record['zero_bound']}; {record['arithmetic']}"
    )
    yield ""
    yield "eigenvalues of the linearised flow (order η), in groups"
    for group in numbers.groups:
        sector = group.sector
        yield f"  {sector.name:<15}{group.kind:<11}x {group.multiplicity:<6}{sector.words}"
        yield f"      {sector.formula}: {_values(group, text)}"
    yield ""
    yield "closed forms"
    for name, form in record["closed_forms"].items():
        yield from textwrap.wrap(
            f"{name} = {form}",
            _LINE,
            initial_indent="  ",
            subsequent_indent="      ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    if report.matrices is not None:
        yield ""
        yield f"linearised matrices here (symbolic with --json), {_FORMULA}"
        for name in ("G", "H_row", "H_difference"):
            rows = zip((name, "", "", ""), BASIS, report.matrix_numbers[name], strict=True)
            for label, letter, row in rows:
                yield f"  {label:<13}{letter}{''.join(f'{float(x):>12.5g}' for x in row)}"


def _values(group: Group, text: Callable[[arb], str]) -> str:
    if group.values is None:
        if group.slope is None:
            return "needs the spectrum"
        return "0" if group.slope.is_zero() else f"{text(group.slope)} rho_k"
    values = [text(value) for value in group.values]
    if len(values) > 6:
        values[3:-1] = [f"... ({len(values) - 4} more) ..."]
    return ", ".join(values)


@public
@following("deriving the plateau")
def plateau(
    *,
    units: int,
    activation: str = "erf",
    learning_rate: Any = "1",
    T1: Any = None,
    D1: Any = None,
    T2: Any = None,
    D2: Any = None,
    distinct_eigenvalues: int | None = None,
    exponent: Any = None,
    digits: int = 15,
    full: bool = False,
) -> Plateau:
    """Return the symmetric plateau of M students and M teachers with output weights 1/√M.

    For output weights v, give the activation v √M g, as in "sqrt(2)*erf(x/sqrt(2))" for v = 1 and
    M = 2; :meth:`symderiv.Problem.plateau` does this by itself.

    The flow is that of first order in η. A learning rate above 1 is refused if the full flow has no
    stationary plateau. Numbers are exact: give decimals and fractions as texts ("1/3"); a float
    means the shortest decimal that shows it.

    Args:
        units: number of students and of teachers, M ≥ 2.
        activation: a name or a formula in ``x``.
        learning_rate: η > 0; rates are per unit of α.
        T1: diagonal entry of the teachers' covariance T.
        D1: sum of the other entries of a row of T.
        T2, D2: the same numbers for the moment of order 2, Σ_k w_k ρ_k t_k.
        distinct_eigenvalues: L, for power-law inputs and the mean over random teachers, instead of
            the four moments.
        exponent: β > 0, with ``distinct_eigenvalues``; eigenvalues ∝ l^-(1+β), mean 1.
        digits: significant digits, all proved, 1 to 1000.
        full: add the plateau of the flow with the terms of order η² (``full_flow``).

    Raises:
        InputError: an argument is not acceptable.
        ToleranceError: the digits were not reached.

    >>> import symderiv as sd
    >>> found = sd.plateau(units=2, T1=1, D1=0, T2=1, D2=0, digits=6)
    >>> found.R, found.Q
    (0.408248, 0.333333)
    """
    check_digits(digits)
    eta = exact("learning_rate", learning_rate)
    if not eta > 0:
        raise InputError(f"{learning_rate} is not positive", argument="learning_rate")
    moments = {"T1": T1, "D1": D1, "T2": T2, "D2": D2}
    teacher = _teacher(units, moments, distinct_eigenvalues, exponent)

    from symderiv.analysis.plateau.plateau_report import plateau_report
    from symderiv.formula import activation as read_activation

    with errors_about("activation"):
        chosen = read_activation(activation)
    return Plateau(plateau_report(chosen, teacher, eta, digits, full=full))


def _teacher(
    units: int, moments: dict[str, Any], count: int | None, exponent: Any
) -> HomogeneousTeacher:
    """Return the teacher that the arguments state, by moments or by a power law."""
    from symderiv.analysis.plateau.teacher import teacher_of_moments, teacher_of_power_law

    given = [name for name, value in moments.items() if value is not None]
    if count is None and exponent is None:
        missing = [name for name in moments if name not in given]
        if missing:
            raise InputError(
                "is missing; give T1, D1, T2 and D2, or distinct_eigenvalues and exponent",
                argument=missing[0],
            )
        numbers = (exact(name, moments[name]) for name in _MOMENTS)
        return teacher_of_moments(units, *numbers)
    if given:
        raise InputError(
            f"is given together with {given[0]}, but the spectrum fixes the moments; remove one",
            argument="distinct_eigenvalues" if exponent is None else "exponent",
        )
    if count is None:
        raise InputError("is missing; exponent needs it", argument="distinct_eigenvalues")
    if exponent is None:
        raise InputError("is missing; distinct_eigenvalues needs it", argument="exponent")
    return teacher_of_power_law(units, count, exact("exponent", exponent))
