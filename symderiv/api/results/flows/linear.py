"""Exact error curves of linear networks, averaged over teacher and initial weights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from symderiv.api.arguments.numbers import check_digits, exact_decimal, times_of
from symderiv.api.results.answer import Curves, DrawnAnswer
from symderiv.foundation.documents.document import Part, Summary, Tabular
from symderiv.foundation.errors import InputError, check_one_of, errors_about
from symderiv.foundation.named_arguments import public
from symderiv.foundation.progress import following
from symderiv.inputs.given import Given, Source

if TYPE_CHECKING:
    import numpy.typing as npt

    from symderiv.analysis.linear.decay import ExponentialSum
    from symderiv.analysis.linear.error_curve import Directions
    from symderiv.analysis.linear.exact_spectrum import Spectrum
    from symderiv.analysis.linear.power_law import PowerLawSum

    Matrix = npt.NDArray[np.float64]

# Digits of double precision; more digits, and other methods, are computed with balls.
_DOUBLE = 15
_CURVE_POINTS = 240


class LinearCurve(DrawnAnswer):
    """The mean generalisation error ⟨ε_g⟩(α) of a linear network.

    Attributes:
        alpha, generalization_error: times and exact means, shape (n,); texts if there are more
            than 15 digits.
        small_learning_rate: the limit η → 0, shape (n,).
        integral_approximation, integral_error_estimate, integral_error_bound: for a power law the
            integral that approximates this limit, with an estimate and a bound of its error, shape
            (n,); otherwise None.
        window: the α between which the power law holds (``lower``, ``upper``), or None.
        rates, weights: decay rates per unit α, positive, and their weights, which sum to 1.
        stability_limit: the largest η at which the error does not grow.
        final_error: the error for α → ∞.
        digits_used: number of digits with which the numbers were computed.
        relative_error_bound, zero_bound: with ``digits`` or another method than "secular", proved
            bounds of the relative error of these numbers, and of the size of those that are shown
            as zero.
        arithmetic: the libraries of ball arithmetic that prove these bounds.
    """

    _title = "Exact mean error of a linear network"
    _first = ("alpha", "generalization_error", "rates", "window", "stability_limit", "digits_used")


@public
@following("solving the linear network")
def linear(
    *,
    learning_rate: float,
    alpha: float | Iterable[float],
    distinct_eigenvalues: int | None = None,
    exponent: float | None = None,
    student_std: float = 0.0,
    trainable: int | None = None,
    basis: Literal["eigenbasis", "random", "input"] = "eigenbasis",
    covariance: str | PathLike[str] | Matrix | None = None,
    method: Literal["secular", "companion", "moments"] = "secular",
    digits: int = 15,
    working_digits: int | None = None,
    dimension: int | None = None,
) -> LinearCurve:
    """Return the exact error of a linear network, averaged over teacher and initial weights.

    Args:
        learning_rate: η, positive and below the stability limit.
        alpha: times ≥ 0, examples / N.
        distinct_eigenvalues, exponent: L and β > 0 of inputs with eigenvalues ∝ l^-(1+β), mean 1.
        student_std: standard deviation of the initial weights; that of the teacher is 1.
        trainable: the number of directions that are trained, from the first; all when left out.
        basis: the directions: eigenvectors, a random orthonormal basis (seed 0), or the
            coordinates of the inputs of ``covariance``.
        covariance: covariance (N, N) or samples (P, N), or a file, instead of a power law.
        method: "secular" uses the secular equation, "companion" the companion matrix of the
            moments, "moments" integrates the moments in time.
        digits: number of digits of the results; beyond 15 they are texts.
        working_digits: digits of the computation (15 is double precision); when left out, symderiv
            chooses them.
        dimension: N, for which the exact mean of SGD is computed, too (``finite_dimension``).

    Raises:
        InputError: an argument is not acceptable.
        ToleranceError: the digits were not reached.

    >>> import symderiv as sd
    >>> curve = sd.linear(distinct_eigenvalues=4, exponent=1, learning_rate=0.5, alpha=[0, 10])
    >>> curve.generalization_error.round(6)
    array([0.5     , 0.008616])
    """
    check_digits(digits, working_digits)
    times, deviation = times_of(alpha), 1.0 + _variance(student_std)
    with errors_about("covariance", "file", "array"):
        inputs = _Inputs(distinct_eigenvalues, exponent, covariance)
        directions, law = inputs.directions(trainable, basis), inputs.law(trainable, basis)
        curve, record = _in_doubles(directions, learning_rate, deviation, law, times)
        record |= _one_coordinate(directions, learning_rate, basis)
        if method != "secular" or digits > _DOUBLE or working_digits is not None:
            _check_eigenbasis(basis, "digits and method need")
            numbers = learning_rate, 1 + exact_decimal(student_std) ** 2, times
            record |= _many_digits(inputs.exact(trainable), numbers, method, digits, working_digits)
        if dimension is not None:
            _check_eigenbasis(basis, "dimension needs")
            record |= _finite(inputs, dimension, learning_rate, deviation, trainable, curve, times)
    shown = linear_document(record, inputs.describe(), directions.eigenvalue.size)
    curves = partial(_curves, curve, directions, learning_rate, deviation, law, times)
    return LinearCurve(record, shown, curves)


def _check_eigenbasis(basis: str, what: str) -> None:
    if basis != "eigenbasis":
        raise InputError(f'{what} "eigenbasis"', argument="basis")


def _curves(
    curve: ExponentialSum,
    directions: Directions,
    learning_rate: float,
    deviation: float,
    law: PowerLawSum | None,
    times: list[float],
) -> Curves:
    """Return the exact curve and its approximations between the first and the last time."""
    from symderiv.analysis.linear.error_curve import small_learning_rate
    from symderiv.analysis.linear.power_law import integral_approximation, window

    positive = [time for time in times if time > 0.0]
    if not positive:
        raise InputError("needs a time above 0; give at least one in alpha", argument="plot")
    first, last = min(positive), max(positive)
    if first == last:
        first = last / 1000.0
    grid = np.geomspace(first, last, _CURVE_POINTS)
    curves = {
        "exact": curve(grid),
        "η → 0": small_learning_rate(directions, learning_rate, grid, deviation),
    }
    if law is None:
        return grid, curves, None
    approximation = integral_approximation(law, learning_rate, grid, deviation)
    curves["integral approximation"] = approximation.value
    return grid, curves, window(law, learning_rate)


class _Inputs:
    """The inputs that the arguments state: a power law or a covariance."""

    def __init__(self, L: int | None, exponent: float | None, covariance: Any) -> None:
        if covariance is None:
            for name, value in (("distinct_eigenvalues", L), ("exponent", exponent)):
                if value is None:
                    raise InputError(f"is missing; give {name}, or a covariance", argument=name)
        elif exponent is not None:
            raise InputError("is given together with covariance; remove one", argument="exponent")
        self.L, self.exponent = L, exponent
        self.source: Source | None = None
        if covariance is not None:
            named = isinstance(covariance, str | PathLike)
            self.source = Path(fspath(covariance)) if named else Given(covariance)

    def model(self) -> Any:
        """Return the inputs as a data model."""
        from symderiv.analysis.linear.error_curve import MAX_EIGENVALUES
        from symderiv.inputs import covariance, power_law

        if self.source is not None:
            return covariance(self.source, distinct_eigenvalues=self.L)
        assert self.L is not None
        assert self.exponent is not None
        if not (math.isfinite(self.exponent) and self.exponent > 0.0):
            raise InputError(f"{self.exponent!r} is not a positive number", argument="exponent")
        if self.L > MAX_EIGENVALUES:
            raise InputError(
                f"{self.L} are more than the {MAX_EIGENVALUES} that this analysis treats one "
                "by one; give fewer",
                argument="distinct_eigenvalues",
            )
        return power_law(self.L, self.exponent)

    def directions(self, trainable: int | None, basis: str) -> Directions:
        from symderiv.analysis.linear.error_curve import coordinate_directions, eigendirections

        check_one_of("basis", basis, ("eigenbasis", "random", "input"))
        if basis == "eigenbasis":
            component = self.model().single()
            return eigendirections(component.eigenvalue, component.weight, trainable)
        matrix = self._matrix(basis)
        return coordinate_directions(matrix, matrix.shape[0] if trainable is None else trainable)

    def _matrix(self, basis: str) -> np.ndarray:
        """Return the covariance as given, or in a random basis with one input per eigenvalue."""
        from symderiv.analysis.linear.error_curve import rotated_covariance
        from symderiv.inputs.covariance_spectrum import read_covariance, read_spectrum

        if basis == "input":
            if self.source is None:
                raise InputError("input needs a covariance", argument="basis")
            return read_covariance(cast(Any, self.source))
        component = self.model().single()
        if self.source is None:
            return rotated_covariance(component.eigenvalue, seed=0)
        return rotated_covariance(read_spectrum(self.source).eigenvalue, seed=0)

    def exact(self, trainable: int | None) -> tuple[Spectrum, int]:
        """Return the spectrum for any number of digits, and the number of trained eigenvalues."""
        from symderiv.analysis.linear.exact_spectrum import exact_power_law, exact_spectrum

        component = self.model().single()
        count = component.eigenvalue.size if trainable is None else trainable
        if self.exponent is not None:
            return exact_power_law(component.eigenvalue.size, exact_decimal(self.exponent)), count
        positive = int((component.eigenvalue > 0.0).sum())
        spectrum = exact_spectrum(component.eigenvalue, component.weight)
        return spectrum, min(count, positive)

    def law(self, trainable: int | None, basis: str) -> PowerLawSum | None:
        if self.exponent is None or self.L is None or basis != "eigenbasis":
            return None
        from symderiv.analysis.linear.power_law import PowerLawSum

        largest = float(self.model().single().eigenvalue[0])
        return PowerLawSum(self.L, self.exponent, largest, trainable or self.L)

    def describe(self) -> str:
        if self.source is not None:
            return f"covariance of {self.source.name}"
        return f"power law, L = {self.L}, β = {self.exponent:g}"


def _variance(std: float) -> float:
    if not (math.isfinite(std) and std >= 0.0) or math.isinf(std * std):
        raise InputError(f"{std!r} is not a finite number >= 0", argument="student_std")
    return std * std


def _in_doubles(
    directions: Directions,
    learning_rate: float,
    deviation: float,
    law: PowerLawSum | None,
    times: list[float],
) -> tuple[ExponentialSum, dict[str, Any]]:
    """Return the curve, and the record of its values and bounds."""
    from symderiv.analysis.linear.error_curve import (
        check_learning_rate,
        generalization_error,
        small_learning_rate,
        stability_limit,
    )
    from symderiv.analysis.linear.power_law import integral_approximation, window

    check_learning_rate(directions, learning_rate)
    curve, alpha = generalization_error(directions, learning_rate, deviation), np.array(times)
    integral = estimate = bound = ends = None
    if law is not None:
        approximation = integral_approximation(law, learning_rate, alpha, deviation)
        integral, estimate = approximation.value.tolist(), approximation.error_estimate.tolist()
        bound = approximation.error_bound.tolist()
        ends = dict(zip(("lower", "upper"), window(law, learning_rate), strict=True))
    return curve, {
        "alpha": times,
        "generalization_error": curve(alpha).tolist(),
        "small_learning_rate": small_learning_rate(
            directions, learning_rate, alpha, deviation
        ).tolist(),
        "integral_approximation": integral,
        "integral_error_estimate": estimate,
        "integral_error_bound": bound,
        "window": ends,
        "stability_limit": stability_limit(directions),
        "final_error": curve.limit,
        "method": "secular",
        "digits": _DOUBLE,
        "digits_used": _DOUBLE,
        "rates": curve.rate.tolist(),
        "weights": curve.weight.tolist(),
    }


def _one_coordinate(directions: Directions, learning_rate: float, basis: str) -> dict[str, Any]:
    """Return the stability limit of SGD with one coordinate per eigenvalue, with a warning.

    It differs from that of the equations, which are the limit of many coordinates.
    """
    from symderiv.analysis.linear.error_curve import finite_stability_limit

    if basis != "eigenbasis":
        return {}
    rho = directions.eigenvalue
    # multiplicities if the rarest eigenvalue has one coordinate
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
    exact: tuple[Spectrum, int],
    numbers: tuple[float, Any, list[float]],
    method: str,
    digits: int,
    working_digits: int | None,
) -> dict[str, Any]:
    from symderiv.analysis.linear.exact_spectrum import ExactLinear
    from symderiv.analysis.linear.many_digits import linear_digits
    from symderiv.precision.balls.decimals import Outward

    learning_rate, deviation, times = numbers
    problem = ExactLinear(*exact, exact_decimal(learning_rate), deviation)
    alpha = [exact_decimal(time) for time in times]
    answer = linear_digits(problem, alpha, cast(Any, method), digits, working_digits)

    outward = Outward(digits)

    def listed(values: list[Any], enclosures: list[Any]) -> list[float | str]:
        return [outward.number(*pair) for pair in zip(values, enclosures, strict=True)]

    number, rest = len(answer.rates), answer.enclosures
    shown = {
        "generalization_error": listed(answer.generalization_error, rest[2 * number :]),
        "small_learning_rate": listed(answer.small_learning_rate, answer.small_learning_rate),
        "final_error": outward.number(answer.final_error),
        "rates": listed(answer.rates, rest[:number]),
        "weights": listed(answer.weights, rest[number : 2 * number]),
    }
    return {
        **shown,
        "method": method,
        "digits": digits,
        "digits_used": answer.digits_used,
        "digits_reason": answer.reason,
        "agreement_digits": answer.agreement,
        "difference_from_secular": answer.difference_from_secular,
        **outward.record(),
    }


def _finite(
    inputs: _Inputs,
    N: int,
    learning_rate: float,
    deviation: float,
    trainable: int | None,
    limit: ExponentialSum,
    times: list[float],
) -> dict[str, Any]:
    from symderiv.analysis.linear.error_curve import finite_dimension, finite_stability_limit

    component = inputs.model().single()
    if N < 1 or (inputs.source is None and N % component.eigenvalue.size):
        raise InputError(
            f"{N} is not a multiple of the number of eigenvalues", argument="dimension"
        )
    rho, counts = component.eigenvalue, component.weight * N
    curve = finite_dimension(rho, counts, learning_rate, deviation, trainable)
    exact = curve.after(np.rint(np.array(times) * N))
    learnt, expected = slice(trainable), limit(np.array(times))
    there = expected > 0.0
    return {
        "finite_dimension": exact.tolist(),
        "finite_stability_limit": finite_stability_limit(rho[learnt], counts[learnt], N),
        "departure": float(np.max(np.abs(exact[there] / expected[there] - 1.0), initial=0.0)),
    }


_COLUMNS = (
    ("alpha", "α"),
    ("generalization_error", "ε_g"),
    ("small_learning_rate", "η → 0"),
    ("integral_approximation", "integral"),
    ("integral_error_bound", "± at most"),
    ("finite_dimension", "SGD at N"),
)


def linear_document(record: dict[str, Any], inputs: str, trained: int) -> Part:
    """Return the summary and the table.

    Args:
        record: the record that ``--json`` prints.
        inputs: a description of the inputs.
        trained: the number of trained directions.
    """
    columns = [(key, title) for key, title in _COLUMNS if record.get(key) is not None]
    cells = [[_short(value) for value in record[key]] for key, _ in columns]
    rows = tuple(_rows(record, inputs, trained))
    curve = Tabular([title for _, title in columns], list(zip(*cells, strict=True)), sides="rr")
    return Part("", (Summary(rows=rows), curve))


def _rows(record: dict[str, Any], inputs: str, trained: int) -> Iterator[tuple[str, str]]:
    rates = record["rates"]
    yield "inputs", inputs
    yield "trained", f"{trained} directions; stable for η < {record['stability_limit']:.6g}"
    one = record.get("stability_limit_one_coordinate")
    if one is not None:
        yield "if L = N", f"SGD is stable for η < {one:.6g} only (see --dimension)"
    yield "rates", f"{len(rates)} per unit of α, {_short(rates[0])} to {_short(rates[-1])}"
    if float(record["final_error"]):
        final = _short(record["final_error"])
        yield "final error", f"{final}, left by frozen directions and their noise"
    ends = record["window"]
    if ends is not None:
        if ends["lower"] < ends["upper"]:
            yield "power law", f"between α = {ends['lower']:.4g} and {ends['upper']:.4g}"
        else:
            yield "power law", "at no α: the spectrum is too short"
    yield "method", _method(record)
    if "relative_error_bound" in record:
        yield (
            "certified",
            f"relative error of ε_g, η → 0, rates and weights up to "
            f"{record['relative_error_bound']}, with balls of {record['arithmetic']}",
        )
    if "finite_dimension" in record:
        yield (
            "finite N",
            f"exact mean of SGD, stable for η < {record['finite_stability_limit']:.6g}; departs "
            f"from the limit N → ∞ by up to {record['departure']:.2g} of it",
        )
    yield from (("warning", warning) for warning in record.get("warnings", ()))


def _method(record: dict[str, Any]) -> str:
    if "agreement_digits" not in record:
        return f"{record['method']}, double precision"
    text = (
        f"{record['method']}, computed with {record['digits_used']} digits; a second computation "
        f"with more agrees in {record['agreement_digits']}"
    )
    difference = record["difference_from_secular"]
    return text if difference is None else f"{text}; {difference:.1e} from the secular equation"


def _short(value: Any) -> str:
    return str(value) if isinstance(value, str) else f"{value:.6g}"
