"""The command ``symderiv asymptotics``: late learning, linearised around perfect learning."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symderiv.cli.figures import plot_output, read_times
from symderiv.cli.output import Force, Json, emit_json, status, tell_written, written
from symderiv.errors import InputError
from symderiv.outputs import Output

if TYPE_CHECKING:
    import numpy as np

    from symderiv.analysis.asymptotics import Asymptotics

_CURVE_POINTS = 200
_SHOWN_RATES = 4


def asymptotics(
    units: Annotated[
        int, typer.Option("--units", metavar="M", help="Number of students and of teachers.")
    ],
    distinct_eigenvalues: Annotated[
        int, typer.Option("--distinct-eigenvalues", metavar="L", help="Number of eigenvalues.")
    ],
    exponent: Annotated[
        float,
        typer.Option("--exponent", metavar="BETA", help="β > 0; eigenvalues ∝ l^-(1+β), mean 1."),
    ],
    activation: Annotated[
        str,
        typer.Option("--activation", metavar="G", help="Activation: a name or an expression in x."),
    ] = "erf",
    learning_rate: Annotated[
        float, typer.Option("--learning-rate", metavar="H", help="η; rates are per unit of α.")
    ] = 1.0,
    full: Annotated[bool, typer.Option("--full", help="With the terms of order η².")] = False,
    student_std: Annotated[
        float,
        typer.Option("--student-std", metavar="S", help="Standard deviation of initial weights."),
    ] = 0.0,
    alpha: Annotated[
        str | None,
        typer.Option(
            "--alpha",
            metavar="A1,A2,…",
            help="Times α at which ε_g is wanted.",
            show_default="a few in the power-law window",
        ),
    ] = None,
    T1: Annotated[
        str, typer.Option("--T1", metavar="X", help="Diagonal of the teachers' covariance.")
    ] = "1",
    D1: Annotated[
        str, typer.Option("--D1", metavar="X", help="Sum of the rest of a row of it.")
    ] = "0",
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FIG", help="Draw ε_g(α) (.svg, .png or .pdf)."),
    ] = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Late learning of M students and M teachers: rates, error curve, exponent, largest stable η.

    Everything is linearised around Q = R = T; output weights are 1/√M.

    Example:  symderiv asymptotics --units 2 --distinct-eigenvalues 64 --exponent 1 --learning-rate 0.1
    """  # noqa: E501
    import numpy as np

    from symderiv.data import power_law
    from symderiv.expressions import activation as read_activation
    from symderiv.expressions import parse_number

    chosen = read_activation(activation)
    if not (math.isfinite(exponent) and exponent > 0):
        raise InputError(f"--exponent {exponent:g}: must be positive")
    if not (math.isfinite(student_std) and 0 <= student_std < 1e100):
        raise InputError(f"--student-std {student_std:g}: must be a number >= 0")
    times = None if alpha is None else read_times(alpha)
    figure = plot_output(plot, force=force)
    moments = {}
    for name, text in (("T1", T1), ("D1", D1)):
        try:
            moments[name] = parse_number(text)
        except InputError as error:
            raise InputError(f"--{name}: {error}") from None

    def theory(L: int) -> Asymptotics:
        from symderiv.analysis.asymptotics import Asymptotics

        component = power_law(L, exponent).single()
        return Asymptotics(
            chosen.text, units, component.eigenvalue, component.weight, learning_rate,
            "full" if full else "small-learning-rate", **moments,
        )  # fmt: skip

    with status("Linearising around perfect learning", quiet=json_):
        found = _named(lambda: theory(distinct_eigenvalues))
    lower, upper = found.window
    values = np.geomspace(lower, upper, 5) if times is None else np.array(times)
    record = {"activation": chosen.text, **_record(found, values, student_std)}
    record["exponent"] = _exponent(theory, distinct_eigenvalues, exponent, student_std)
    if figure is not None:
        if not found.stable:
            raise InputError(
                f"there is no curve: η = {learning_rate:g} is not below "
                f"{found.critical_learning_rate:.6g}, deviations grow",
                argument="--plot",
            )
        _draw(figure, found, values, student_std)
    if json_:
        emit_json(record | written(plot=figure))
    else:
        _print(record, found)
        tell_written(figure)


def _named(task: Any) -> Any:
    """Messages name arguments; on the command line these are options."""
    try:
        return task()
    except InputError as error:
        head, colon, rest = str(error).partition(": ")
        names = {"T": "T1", "D": "D1"}
        if not colon or not head.replace("_", "").isalpha():
            raise
        raise type(error)(f"--{names.get(head, head.replace('_', '-'))}: {rest}") from None


def _second_order(found: Asymptotics, alpha: np.ndarray, student_std: float) -> np.ndarray | None:
    """None where it takes too long: with the η² terms and many eigenvalues."""
    from symderiv.analysis.asymptotics import MOST_DRIVEN

    if found.order == "full" and found.eigenvalue.size > MOST_DRIVEN:
        return None
    return found.generalization_error(alpha, student_std)


def _record(found: Asymptotics, alpha: np.ndarray, student_std: float) -> dict[str, Any]:
    groups = found.groups()
    first = second = None
    if found.stable:
        first = found.generalization_error(alpha, student_std, second_order=False)
        second = _second_order(found, alpha, student_std)
    best = first if second is None else second
    return {
        "order": found.order,
        "rates": sorted(rate for group in groups for rate in group.rates.tolist()),
        "groups": [
            {"name": g.name, "direction": g.direction, "rates": g.rates.tolist()} for g in groups
        ],
        "critical_learning_rate": found.critical_learning_rate,
        "stable": found.stable,
        "matrices": _matrices(found),
        "alpha": alpha.tolist(),
        "generalization_error": None if best is None else best.tolist(),
        "generalization_error_first_order": None if first is None else first.tolist(),
        "accuracy": "first order" if second is None else "second order in the distance",
    }


def _matrices(found: Asymptotics) -> dict[str, Any]:
    """G, H, F symbolic in M at these T and D, and the equation they stand in."""
    from symderiv.analysis.perfect_learning import tidied

    theory = found.theory
    named = {"G": theory.G, "H": theory.H, "F": theory.F}
    texts: dict[str, Any] = {
        name: [[str(entry) for entry in matrix.row(i)] for i in range(4)]
        for name, matrix in ((n, tidied(m, found.teacher_moments)) for n, m in named.items())
    }
    texts["equation"] = (
        "dx_k/d alpha = -eta*rho_k*(G*x_k + H*X) + eta**2*rho_k*F*X, X = sum_k w_k*rho_k*x_k, "
        "x = (r, s, q, c)"
    )
    return texts


def _exponent(theory: Any, L: int, beta: float, student_std: float) -> dict[str, Any] | None:
    """The fitted exponent, and how it depends on the number of eigenvalues."""
    import numpy as np

    from symderiv.analysis.asymptotics import fitted_exponent

    fits = []
    for size in (L, L // 2, L // 4):
        if size < 8:
            continue
        found = theory(size)
        if not found.stable:
            return None
        lower, upper = found.window
        alpha = np.geomspace(lower, upper, 40)
        error = found.generalization_error(alpha, student_std, second_order=found.order != "full")
        fits.append((size, fitted_exponent(alpha, error, found.window)))
    if not fits:
        return None
    fit = fits[0][1]
    return {
        "value": fit.exponent,
        "error": fit.error,
        "window": list(fit.window),
        "infinitely_many_eigenvalues": -beta / (1 + beta),
        "by_distinct_eigenvalues": [
            {"distinct_eigenvalues": size, "value": one.exponent} for size, one in fits
        ],
    }


def _draw(figure: Output, found: Asymptotics, alpha: np.ndarray, student_std: float) -> None:
    import numpy as np

    from symderiv.report.linear_plots import linear_figure
    from symderiv.report.plots import save

    positive = alpha[alpha > 0]
    ends = found.window if positive.size < 2 else (positive.min(), positive.max())
    grid = np.geomspace(0.3 * ends[0], 3.0 * ends[1], _CURVE_POINTS)
    curves = {}
    second = _second_order(found, grid, student_std)
    if second is not None:
        curves["second order in the distance"] = second
    curves["first order"] = found.generalization_error(grid, student_std, second_order=False)
    save(linear_figure(grid, curves, found.window), figure)


def _print(record: dict[str, Any], found: Asymptotics) -> None:
    eta_squared = " with η² terms" if record["order"] == "full" else ""
    print(f"g(x) = {record['activation']}, K = M = {found.units}, L = {found.eigenvalue.size}, "
          f"η = {found.learning_rate:g}{eta_squared}")  # fmt: skip
    print(f"largest stable learning rate (with η² terms)  {record['critical_learning_rate']:.10g}")
    critical = record["critical_learning_rate"]
    if not record["stable"]:
        print(
            f"unstable: η = {found.learning_rate:g} is not below it, deviations from perfect "
            "learning grow (a negative rate); there is no late ε_g"
        )
    elif not found.learning_rate < critical:
        print(
            f"η = {found.learning_rate:g} is not below it: SGD does not come to perfect learning; "
            "what follows is the flow without η² terms"
        )
    print("rates per unit α")
    for group in record["groups"]:
        rates = group["rates"]
        ends = [f"{rate:.6g}" for rate in rates[:_SHOWN_RATES]]
        if len(rates) > _SHOWN_RATES:
            ends += ["…", f"{rates[-1]:.6g}"]
        print(f"  {group['name']:<20} {group['direction']:<18} {', '.join(ends)}")
    if record["generalization_error"] is None:
        return
    print(f"ε_g ({record['accuracy']}; to first order in the order parameters beside it)")
    for at, second, first in zip(
        record["alpha"], record["generalization_error"],
        record["generalization_error_first_order"], strict=True,
    ):  # fmt: skip
        print(f"  α = {at:<12.6g} {second:.8e}   {first:.8e}")
    fit = record["exponent"]
    if fit is not None:
        others = ", ".join(
            f"{one['value']:.4f} (L = {one['distinct_eigenvalues']})"
            for one in fit["by_distinct_eigenvalues"][1:]
        )
        print(
            f"exponent {fit['value']:.4f} ± {fit['error']:.4f} for α from {fit['window'][0]:.4g} "
            f"to {fit['window'][1]:.4g}; {fit['infinitely_many_eigenvalues']:.4f} for L → ∞"
            + (f"; {others}" if others else "")
        )


def register(app: typer.Typer) -> None:
    """Add the command of this module to the application."""
    app.command()(asymptotics)
