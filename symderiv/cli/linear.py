"""The command ``symderiv linear``: exact error curves of linear networks."""

from __future__ import annotations

import math
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symderiv.cli.figures import plot_output, read_times
from symderiv.cli.linear_inputs import Basis, Inputs, exact_decimal, named
from symderiv.cli.output import Force, Json, emit_json, status, tell_written, written
from symderiv.errors import InputError
from symderiv.outputs import Output

if TYPE_CHECKING:
    import numpy as np

    from symderiv.analysis.linear import Directions
    from symderiv.analysis.linear_answer import LinearAnswer
    from symderiv.analysis.linear_exact import Spectrum
    from symderiv.analysis.power_law import PowerLaw

# Double precision gives this many digits; more, and other methods, are computed with balls.
DOUBLE = 15
_CURVE_POINTS = 240


class Method(StrEnum):
    """How rates and error are computed."""

    secular = "secular"
    companion = "companion"
    moments = "moments"


def linear(
    learning_rate: Annotated[
        float, typer.Option("--learning-rate", metavar="H", help="Learning rate η.")
    ],
    alpha: Annotated[
        str, typer.Option("--alpha", metavar="A1,A2,…", help="Times α at which ε_g is wanted.")
    ],
    distinct_eigenvalues: Annotated[
        int | None,
        typer.Option("--distinct-eigenvalues", metavar="L", help="Number of eigenvalues."),
    ] = None,
    exponent: Annotated[
        float | None,
        typer.Option("--exponent", metavar="BETA", help="β > 0; eigenvalues ∝ l^-(1+β), mean 1."),
    ] = None,
    student_std: Annotated[
        float,
        typer.Option("--student-std", metavar="S", help="Standard deviation of initial weights."),
    ] = 0.0,
    trainable: Annotated[
        int | None,
        typer.Option("--trainable", metavar="NL", help="Train only the first NL directions."),
    ] = None,
    basis: Annotated[
        Basis,
        typer.Option(
            "--basis",
            help="What the NL directions are: eigenvectors, coordinates in a random orthonormal "
            "basis (seed 0), or the inputs of the file.",
        ),
    ] = Basis.eigenbasis,
    covariance: Annotated[
        Path | None,
        typer.Option("--covariance", metavar="FILE", help="Covariance or samples (.npz, .npy)."),
    ] = None,
    method: Annotated[
        Method,
        typer.Option(
            "--method",
            help="Secular equation; companion matrix of the moments; moments followed in time.",
        ),
    ] = Method.secular,
    digits: Annotated[
        int,
        typer.Option("--digits", metavar="N", help="Digits of every number; beyond 15 as strings."),
    ] = DOUBLE,
    working_digits: Annotated[
        int | None,
        typer.Option(
            "--working-digits",
            metavar="W",
            help="Compute with W digits (15: double precision) instead of a planned number.",
        ),
    ] = None,
    dimension: Annotated[
        int | None,
        typer.Option("--dimension", metavar="N", help="Also the exact mean of SGD at this N."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FIG", help="Draw the curve (.svg, .png or .pdf)."),
    ] = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Exact error of a linear network, averaged over teacher and initial weights, at any η.

    Example:  symderiv linear --distinct-eigenvalues 64 --exponent 1 --learning-rate 0.5 --student-std 0.1 --alpha 1,10,100
    """  # noqa: E501
    import numpy as np

    from symderiv.analysis.linear_answer import linear_answer

    times = read_times(alpha)
    deviation = 1.0 + _student_variance(student_std)
    figure = plot_output(plot, inputs=[covariance] if covariance else [], force=force)
    inputs = Inputs(distinct_eigenvalues, exponent, covariance)
    directions = named(lambda: inputs.directions(trainable, basis))
    law = inputs.law(trainable) if basis is Basis.eigenbasis else None
    values = np.array(times)
    answer = named(lambda: linear_answer(directions, learning_rate, values, deviation, law))
    record = _record(answer, times) | _one_coordinate(directions, learning_rate, basis)
    if method is not Method.secular or digits > DOUBLE or working_digits is not None:
        if basis is not Basis.eigenbasis:
            raise InputError("--digits and --method need --basis eigenbasis")
        numbers = (learning_rate, 1 + exact_decimal(student_std) ** 2, times)
        exact = inputs.exact(trainable)
        record |= _many_digits(exact, numbers, method, digits, working_digits)
    if dimension is not None:
        if basis is not Basis.eigenbasis:
            raise InputError("--dimension needs --basis eigenbasis")
        record |= _finite(inputs, dimension, learning_rate, deviation, trainable, values, answer)
    if figure is not None:
        _draw(figure, times, answer, directions, learning_rate, deviation, law)
    if json_:
        emit_json(record | written(plot=figure))
    else:
        _print(record, inputs, directions)
        tell_written(figure)


def _student_variance(std: float) -> float:
    if not (math.isfinite(std) and std >= 0.0) or math.isinf(std * std):
        raise InputError(f"--student-std: {std!r} is not a finite number >= 0")
    return std * std


def _record(answer: LinearAnswer, times: list[float]) -> dict[str, Any]:
    def listed(values: np.ndarray | None) -> list[float] | None:
        return None if values is None else values.tolist()

    ends = answer.window
    return {
        "alpha": times,
        "generalization_error": listed(answer.generalization_error),
        "small_learning_rate": listed(answer.small_learning_rate),
        "integral_approximation": listed(answer.integral),
        "integral_error_estimate": listed(answer.integral_error_estimate),
        "integral_error_bound": listed(answer.integral_error_bound),
        "window": None if ends is None else {"lower": ends[0], "upper": ends[1]},
        "stability_limit": answer.stability_limit,
        "final_error": answer.curve.limit,
        "method": "secular",
        "digits": DOUBLE,
        "digits_used": DOUBLE,
        "rates": listed(answer.curve.rate),
        "weights": listed(answer.curve.weight),
    }


def _one_coordinate(directions: Directions, learning_rate: float, basis: Basis) -> dict[str, Any]:
    """The stability of SGD where every eigenvalue has one coordinate, which is not the limit's."""
    import numpy as np

    from symderiv.analysis.linear import finite_stability_limit

    if basis is not Basis.eigenbasis:
        return {}
    rho = directions.eigenvalue
    # the largest multiplicity there can be if the rarest eigenvalue has one coordinate
    counts = directions.weight / float(np.min(directions.weight))
    limit = finite_stability_limit(rho, counts, 1.0 / float(np.min(directions.weight)))
    warnings = []
    if learning_rate >= limit:
        warnings.append(
            f"with one coordinate per eigenvalue (L = N) the mean error of SGD grows for η ≥ "
            f"{limit:.6g}; the equations, which are the limit of many coordinates, do not show it"
        )
    return {"stability_limit_one_coordinate": limit, "warnings": warnings}


def _many_digits(
    exact: tuple[Spectrum, int], numbers: tuple[float, Fraction, list[float]], method: Method,
    digits: int, working_digits: int | None,
) -> dict[str, Any]:  # fmt: skip
    from symderiv.analysis.linear_digits import linear_digits, text_of
    from symderiv.analysis.linear_exact import ExactLinear

    learning_rate, deviation, times = numbers
    problem = ExactLinear(*exact, exact_decimal(learning_rate), deviation)
    alpha = [exact_decimal(time) for time in times]
    with status("Computing with many digits", quiet=False):
        found = named(lambda: linear_digits(problem, alpha, method.value, digits, working_digits))

    def listed(values: list[Any]) -> list[Any]:
        texts = [text_of(value, digits) for value in values]
        return texts if digits > DOUBLE else [float(text) for text in texts]

    (final,) = listed([found.final_error])
    return {
        "generalization_error": listed(found.generalization_error),
        "small_learning_rate": listed(found.small_learning_rate),
        "final_error": final,
        "method": method.value,
        "digits": digits,
        "digits_used": found.digits_used,
        "digits_reason": found.reason,
        "agreement_digits": found.agreement,
        "difference_from_secular": found.difference_from_secular,
        "rates": listed(found.rates),
        "weights": listed(found.weights),
    }


def _finite(
    inputs: Inputs, N: int, learning_rate: float, deviation: float, trainable: int | None,
    alpha: np.ndarray, answer: LinearAnswer,
) -> dict[str, Any]:  # fmt: skip
    import numpy as np

    from symderiv.analysis.linear import finite_dimension, finite_stability_limit
    from symderiv.analysis.linear_answer import departure

    component = inputs.model().single()
    if N < 1 or (inputs.file is None and N % component.eigenvalue.size):
        raise InputError(f"--dimension: {N} is not a multiple of the number of eigenvalues")
    rho, counts = component.eigenvalue, component.weight * N
    curve = named(lambda: finite_dimension(rho, counts, learning_rate, deviation, trainable))
    exact = curve.after(np.rint(alpha * N))
    kept = slice(trainable)
    return {
        "finite_dimension": exact.tolist(),
        "finite_stability_limit": finite_stability_limit(rho[kept], counts[kept], N),
        "departure": departure(exact, answer.generalization_error),
    }


def _draw(
    figure: Output, times: list[float], answer: LinearAnswer, directions: Directions,
    learning_rate: float, deviation: float, law: PowerLaw | None,
) -> None:  # fmt: skip
    import numpy as np

    from symderiv.analysis.linear import small_learning_rate
    from symderiv.analysis.power_law import integral_approximation
    from symderiv.report.linear_plots import linear_figure
    from symderiv.report.plots import save

    positive = [time for time in times if time > 0.0]
    if not positive:
        raise InputError("--plot: needs a positive α among those of --alpha")
    first, last = min(positive), max(positive)
    if first == last:
        first = last / 1000.0
    grid = np.geomspace(first, last, _CURVE_POINTS)
    curves = {
        "exact": answer.curve(grid),
        "η → 0": small_learning_rate(directions, learning_rate, grid, deviation),
    }
    if law is not None:
        found = integral_approximation(law, learning_rate, grid, deviation)
        curves["integral approximation"] = found.value
    save(linear_figure(grid, curves, answer.window), figure)


def _print(record: dict[str, Any], inputs: Inputs, directions: Directions) -> None:
    from symderiv.cli.linear_text import linear_lines

    for line in linear_lines(record, inputs.describe(), directions.eigenvalue.size):
        print(line)


def register(app: typer.Typer) -> None:
    """Add the command of this module to the application."""
    app.command()(linear)
