"""The command ``symderiv linear``: exact error curves of linear networks."""

from __future__ import annotations

import math
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symderiv.cli.output import Json, check_directory, emit_json, status
from symderiv.errors import InputError, ToleranceError

if TYPE_CHECKING:
    import numpy as np

    from symderiv.analysis.linear import Directions
    from symderiv.analysis.linear_answer import LinearAnswer
    from symderiv.analysis.linear_exact import Spectrum
    from symderiv.analysis.power_law import PowerLaw

# Double precision gives this many digits; more, and other methods, are computed with balls.
DOUBLE = 15
_CURVE_POINTS = 240


class Basis(StrEnum):
    """In which basis the trained directions are the first ones."""

    eigenbasis = "eigenbasis"
    random = "random"
    input = "input"


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
    json_: Json = False,
) -> None:
    """Exact error of a linear network, averaged over teacher and initial weights, at any η.

    Example:  symderiv linear --distinct-eigenvalues 64 --exponent 1 --learning-rate 0.5 --student-std 0.1 --alpha 1,10,100
    """  # noqa: E501
    import numpy as np

    from symderiv.analysis.linear_answer import linear_answer

    times = _times(alpha)
    deviation = 1.0 + _student_variance(student_std)
    if plot is not None:
        _check_plot(plot)
    inputs = _Inputs(distinct_eigenvalues, exponent, covariance)
    directions = _named(lambda: inputs.directions(trainable, basis))
    law = inputs.law(trainable) if basis is Basis.eigenbasis else None
    values = np.array(times)
    answer = _named(lambda: linear_answer(directions, learning_rate, values, deviation, law))
    record = _record(answer, times) | _one_coordinate(directions, learning_rate, basis)
    if method is not Method.secular or digits > DOUBLE or working_digits is not None:
        if basis is not Basis.eigenbasis:
            raise InputError("--digits and --method need --basis eigenbasis")
        numbers = (learning_rate, 1 + _exact(student_std) ** 2, times)
        exact = inputs.exact(trainable)
        record |= _many_digits(exact, numbers, method, digits, working_digits)
    if dimension is not None:
        if basis is not Basis.eigenbasis:
            raise InputError("--dimension needs --basis eigenbasis")
        record |= _finite(inputs, dimension, learning_rate, deviation, trainable, values, answer)
    if plot is not None:
        _draw(plot, times, answer, directions, learning_rate, deviation, law)
    if json_:
        emit_json(record)
    else:
        _print(record, inputs, directions)


class _Inputs:
    """A power law or the covariance of a file, as the options give it."""

    def __init__(self, L: int | None, exponent: float | None, file: Path | None) -> None:
        if file is None:
            for name, value in (("--distinct-eigenvalues", L), ("--exponent", exponent)):
                if value is None:
                    raise InputError(f"option {name} is missing (or give --covariance FILE)")
        elif exponent is not None:
            raise InputError("--exponent is given together with --covariance; remove one")
        self.L, self.exponent, self.file = L, exponent, file

    def model(self) -> Any:
        """The spectrum as a data model."""
        from symderiv.analysis.linear import MAX_EIGENVALUES
        from symderiv.data import covariance, power_law

        if self.file is not None:
            return covariance(self.file, distinct_eigenvalues=self.L)
        assert self.L is not None
        assert self.exponent is not None
        if not (math.isfinite(self.exponent) and self.exponent > 0.0):
            raise InputError(f"exponent: {self.exponent!r} is not a positive number")
        if self.L > MAX_EIGENVALUES:
            raise InputError(
                f"distinct_eigenvalues: {self.L} are more than the {MAX_EIGENVALUES} that are "
                "treated one by one"
            )
        return power_law(self.L, self.exponent)

    def directions(self, trainable: int | None, basis: Basis) -> Directions:
        from symderiv.analysis.linear import coordinate_directions, eigendirections

        if basis is Basis.eigenbasis:
            component = self.model().single()
            return eigendirections(component.eigenvalue, component.weight, trainable)
        matrix = self._matrix(basis)
        return coordinate_directions(matrix, matrix.shape[0] if trainable is None else trainable)

    def _matrix(self, basis: Basis) -> np.ndarray:
        """The covariance as a matrix: of the file, or of one input per eigenvalue, rotated."""
        from symderiv.analysis.linear import rotated_covariance

        if basis is Basis.input:
            if self.file is None:
                raise InputError("--basis input needs --covariance FILE")
            from symderiv.data.covariance import read_covariance

            return read_covariance(self.file)
        component = self.model().single()
        if self.file is None:
            return rotated_covariance(component.eigenvalue, seed=0)
        from symderiv.data.covariance import read_spectrum

        return rotated_covariance(read_spectrum(self.file).eigenvalue, seed=0)

    def exact(self, trainable: int | None) -> tuple[Spectrum, int]:
        """The spectrum for any number of digits, and how many of its eigenvalues are trained."""
        from symderiv.analysis.linear_exact import exact_power_law, exact_spectrum

        component = self.model().single()
        count = component.eigenvalue.size if trainable is None else trainable
        if self.exponent is not None:
            return exact_power_law(component.eigenvalue.size, _exact(self.exponent)), count
        positive = int((component.eigenvalue > 0.0).sum())
        spectrum = exact_spectrum(component.eigenvalue, component.weight)
        return spectrum, min(count, positive)

    def law(self, trainable: int | None) -> PowerLaw | None:
        if self.exponent is None or self.L is None:
            return None
        from symderiv.analysis.power_law import PowerLaw

        largest = float(self.model().single().eigenvalue[0])
        return PowerLaw(self.L, self.exponent, largest, trainable or self.L)

    def describe(self) -> str:
        if self.file is not None:
            return f"covariance of {self.file.name}"
        return f"power law, L = {self.L}, β = {self.exponent:g}"


def _named(task: Any) -> Any:
    """Messages name arguments; on the command line these are options."""
    try:
        return task()
    except (InputError, ToleranceError) as error:
        head, colon, rest = str(error).partition(": ")
        if not colon or not head.replace("_", "").isalpha():
            raise
        option = "covariance" if head in ("file", "array") else head.replace("_", "-")
        raise type(error)(f"--{option}: {rest}") from None


def _times(text: str) -> list[float]:
    try:
        times = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--alpha {text!r}: must be numbers separated by commas") from None
    for time in times:
        if not (math.isfinite(time) and time >= 0.0):
            raise InputError(f"--alpha: {time!r} is not a finite number >= 0")
    return times


def _student_variance(std: float) -> float:
    if not (math.isfinite(std) and std >= 0.0) or math.isinf(std * std):
        raise InputError(f"--student-std: {std!r} is not a finite number >= 0")
    return std * std


def _check_plot(plot: Path) -> None:
    from symderiv.report.files import FIGURE_FORMATS

    check_directory(plot)
    if plot.suffix.lower().removeprefix(".") not in FIGURE_FORMATS:
        endings = ", .".join(FIGURE_FORMATS)
        raise InputError(f"--plot {plot.name!r}: the name must end in .{endings}")


def _record(answer: LinearAnswer, times: list[float]) -> dict[str, Any]:
    def listed(values: np.ndarray | None) -> list[float] | None:
        return None if values is None else values.tolist()

    ends = answer.window
    return {
        "alpha": times,
        "generalization_error": listed(answer.generalization_error),
        "small_learning_rate": listed(answer.small_learning_rate),
        "integral_approximation": listed(answer.integral),
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


def _exact(number: float) -> Fraction:
    """The decimal that was typed: the shortest one that gives the double."""
    return Fraction(repr(number))


def _many_digits(
    exact: tuple[Spectrum, int], numbers: tuple[float, Fraction, list[float]], method: Method,
    digits: int, working_digits: int | None,
) -> dict[str, Any]:  # fmt: skip
    from symderiv.analysis.linear_digits import linear_digits, text_of
    from symderiv.analysis.linear_exact import ExactLinear

    learning_rate, deviation, times = numbers
    problem = ExactLinear(*exact, _exact(learning_rate), deviation)
    alpha = [_exact(time) for time in times]
    with status("Computing with many digits", quiet=False):
        found = _named(lambda: linear_digits(problem, alpha, method.value, digits, working_digits))

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
    inputs: _Inputs, N: int, learning_rate: float, deviation: float, trainable: int | None,
    alpha: np.ndarray, answer: LinearAnswer,
) -> dict[str, Any]:  # fmt: skip
    import numpy as np

    from symderiv.analysis.linear import finite_dimension, finite_stability_limit
    from symderiv.analysis.linear_answer import departure

    component = inputs.model().single()
    if N < 1 or (inputs.file is None and N % component.eigenvalue.size):
        raise InputError(f"--dimension: {N} is not a multiple of the number of eigenvalues")
    rho, counts = component.eigenvalue, component.weight * N
    curve = _named(lambda: finite_dimension(rho, counts, learning_rate, deviation, trainable))
    exact = curve.after(np.rint(alpha * N))
    kept = slice(trainable)
    return {
        "finite_dimension": exact.tolist(),
        "finite_stability_limit": finite_stability_limit(rho[kept], counts[kept], N),
        "departure": departure(exact, answer.generalization_error),
    }


def _draw(
    plot: Path, times: list[float], answer: LinearAnswer, directions: Directions,
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
    save(linear_figure(grid, curves, answer.window), plot)


def _print(record: dict[str, Any], inputs: _Inputs, directions: Directions) -> None:
    from symderiv.cli.linear_text import linear_lines

    for line in linear_lines(record, inputs.describe(), directions.eigenvalue.size):
        print(line)


def register(app: typer.Typer) -> None:
    """Add the command of this module to the application."""
    app.command()(linear)
