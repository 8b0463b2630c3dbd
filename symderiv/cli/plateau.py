"""The command ``symderiv plateau``: symmetric fixed point, its stability, its escape."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symderiv.cli.figures import plot_output
from symderiv.cli.output import Force, Json, emit_json, status, tell_written, written
from symderiv.errors import InputError
from symderiv.outputs import Output

if TYPE_CHECKING:
    import sympy as sp

    from symderiv.analysis.report import PlateauReport
    from symderiv.analysis.teacher import HomogeneousTeacher

_MAX_DIGITS = 1000


def _moment(name: str, words: str) -> Any:
    return typer.Option(f"--{name}", metavar="X", help=words, show_default=False)


def plateau(
    units: Annotated[
        int, typer.Option("--units", metavar="M", help="Number of students and of teachers.")
    ],
    activation: Annotated[
        str,
        typer.Option("--activation", metavar="G", help="Activation: a name or an expression in x."),
    ] = "erf",
    learning_rate: Annotated[
        str,
        typer.Option("--learning-rate", metavar="H", help="η; rates are per unit of α."),
    ] = "1",
    T1: Annotated[str | None, _moment("T1", "Diagonal of T, order 1.")] = None,
    D1: Annotated[
        str | None, _moment("D1", "Sum of the off-diagonal entries of a row of T, order 1.")
    ] = None,
    T2: Annotated[str | None, _moment("T2", "Diagonal of the moment of order 2.")] = None,
    D2: Annotated[str | None, _moment("D2", "Off-diagonal row sum of order 2.")] = None,
    distinct_eigenvalues: Annotated[
        int | None,
        typer.Option(
            "--distinct-eigenvalues",
            metavar="L",
            help="Instead of moments: power-law inputs and the mean random teacher.",
            show_default=False,
        ),
    ] = None,
    exponent: Annotated[
        str | None,
        typer.Option(
            "--exponent", metavar="BETA", help="β, eigenvalues ~ k^-(1+β).", show_default=False
        ),
    ] = None,
    digits: Annotated[
        int, typer.Option("--digits", metavar="N", help="Significant digits, all proved.")
    ] = 15,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Also the plateau of the flow with the terms of order η² (full_flow)."
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FIG", help="Draw the spectrum (.svg, .png or .pdf)."),
    ] = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Symmetric plateau of M students and M teachers: height, linearisation, escape.

    Output weights are 1/√M. The flow is that of first order in η; every number is certified. A
    learning rate above 1 is refused where the full flow has no stationary plateau.

    Example:  symderiv plateau --units 4 --learning-rate 0.1 --distinct-eigenvalues 10 --exponent 1
    """
    from symderiv.expressions import activation as read_activation

    chosen = read_activation(activation)
    if not 1 <= digits <= _MAX_DIGITS:
        raise InputError(f"--digits {digits}: must be from 1 to {_MAX_DIGITS}")
    eta = _number("--learning-rate", learning_rate)
    if not eta > 0:
        raise InputError(f"--learning-rate {learning_rate}: must be positive")
    teacher = _teacher(
        units, {"T1": T1, "D1": D1, "T2": T2, "D2": D2}, distinct_eigenvalues, exponent
    )
    figure = plot_output(plot, force=force)
    with status("Deriving the plateau", quiet=json_):
        from symderiv.analysis.report import plateau_report

        report = plateau_report(chosen, teacher, eta, digits, full=full)
    if figure is not None:
        _draw(figure, report)
    if json_:
        emit_json(report.to_json() | written(plot=figure))
    else:
        typer.echo(report.to_text(), nl=False)
        tell_written(figure)


def _draw(figure: Output, report: PlateauReport) -> None:
    from symderiv.report.plateau_plots import SpectrumGroup, plateau_figure
    from symderiv.report.plots import save

    groups = [
        SpectrumGroup(
            group.sector.name.replace("_", " "), group.kind, group.multiplicity,
            [float(value.mid()) for value in group.values],
        )
        for group in report.numbers.groups
        if group.values
    ]  # fmt: skip
    if not groups:
        raise InputError(
            "--plot: these moments do not give the rates of single modes; give "
            "--distinct-eigenvalues and --exponent"
        )
    save(plateau_figure(groups), figure)


def _number(option: str, text: str) -> sp.Rational:
    """The exact rational that an option means."""
    from symderiv.expressions import parse_number

    try:
        value = parse_number(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None
    if not value.is_Rational:
        raise InputError(f"{option} {text}: give a decimal number or a fraction")
    return value


def _teacher(
    units: int, moments: Mapping[str, str | None], count: int | None, exponent: str | None
) -> HomogeneousTeacher:
    """The teacher of the options; the two ways to give one exclude each other."""
    from symderiv.analysis.teacher import teacher_of_moments, teacher_of_power_law

    given = [name for name, text in moments.items() if text is not None]
    if count is None and exponent is None:
        missing = [f"--{name}" for name in moments if name not in given]
        if missing:
            raise InputError(
                f"{', '.join(missing)} missing: give --T1, --D1, --T2 and --D2, or "
                "--distinct-eigenvalues and --exponent"
            )
        exact = {name: _number(f"--{name}", text or "") for name, text in moments.items()}
        return teacher_of_moments(units, exact["T1"], exact["D1"], exact["T2"], exact["D2"])
    if given:
        raise InputError(
            f"--{given[0]} and --distinct-eigenvalues/--exponent exclude each other: the spectrum "
            "fixes the moments"
        )
    if count is None:
        raise InputError("--distinct-eigenvalues is missing: --exponent needs it")
    if exponent is None:
        raise InputError("--exponent is missing: --distinct-eigenvalues needs it")
    return teacher_of_power_law(units, count, _number("--exponent", exponent))


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(plateau)
