"""Late learning: everything linearised around perfect learning, Q = R = T."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from symderiv.api.arguments.numbers import exact, times_of
from symderiv.api.results.answer import Curves, DrawnAnswer
from symderiv.foundation.documents.document import Node, Part, Summary, Tabular
from symderiv.foundation.errors import InputError, errors_about
from symderiv.foundation.named_arguments import public
from symderiv.foundation.progress import following

if TYPE_CHECKING:
    from symderiv.analysis.late.late_dynamics import LateDynamics

_MOMENTS = {"T": "T1", "D": "D1"}
_CURVE_POINTS = 200
_SHOWN_RATES = 4


Spectrum = tuple[np.ndarray, np.ndarray]
"""Eigenvalues of inputs, and their multiplicities over N."""


class LateLearning(DrawnAnswer):
    """Rates, error curve and exponent close to perfect learning.

    Attributes:
        rates: the 4 L decay rates per unit α, ascending; a deviation with a negative rate grows.
        groups: name, direction (r, s, q, c) and rates of each group.
        stable: True if no rate is negative.
        critical_learning_rate: the largest η at which no rate is negative.
        alpha, generalization_error: times and ε_g, shape (n,), with the terms of second order in
            the distance if ``accuracy`` says so.
        generalization_error_first_order: ε_g without these terms.
        exponent: the exponent fitted in the power-law window, or None.
        steady_state: the state in which learning ends with label noise, None without:
            generalization_error (~ η σ² at small η), and distance, the diagonal and the other
            entries of Q - R T⁻¹ Rᵀ.
        matrices: G, H, F of the linearised equations, symbolic in M.
    """

    _title = "Late learning, linearised around Q = R = T"
    _first = (
        "activation",
        "rates",
        "stable",
        "critical_learning_rate",
        "alpha",
        "generalization_error",
    )


@public
@following("linearising around perfect learning")
def late(
    *,
    units: int,
    distinct_eigenvalues: int,
    exponent: float,
    activation: str = "erf",
    learning_rate: float = 1.0,
    full: bool = False,
    student_std: float = 0.0,
    alpha: float | Iterable[float] | None = None,
    T1: Any = "1",
    D1: Any = "0",
    label_noise: float = 0.0,
) -> LateLearning:
    """Analyse late learning of M students and M teachers with output weights 1/√M and power-law
    inputs.

    With output weights v the activation is v √M g; :meth:`symderiv.Problem.late` makes this change
    by itself.

    Args:
        units: number of students and of teachers, M ≥ 2.
        distinct_eigenvalues, exponent: L and β > 0; eigenvalues ∝ l^-(1+β), mean 1.
        activation: a name or a formula in ``x``.
        learning_rate: η; rates are per unit of α.
        full: keep the terms of order η².
        student_std: standard deviation of the initial weights.
        alpha: times; a few in the power-law window when left out.
        T1, D1: the diagonal entry of the teachers' covariance, and the sum of the other entries of
            a row.
        label_noise: σ ≥ 0, only with ``full``; learning then ends in a steady state near the
            teachers.

    Raises:
        InputError: an argument is not acceptable.

    >>> import symderiv as sd
    >>> sd.late(units=2, distinct_eigenvalues=8, exponent=1, learning_rate=0.1).stable
    True
    """
    if not (math.isfinite(exponent) and exponent > 0):
        raise InputError(f"{exponent:g} is not positive", argument="exponent")
    setting = LateSetting(units, activation, learning_rate, full, T1, D1, label_noise)
    return late_learning(
        setting, (distinct_eigenvalues, exponent), student_std=student_std, alpha=alpha
    )


class LateSetting(NamedTuple):
    """The problem of :func:`late`, given by its arguments."""

    units: int
    activation: str
    learning_rate: float
    full: bool
    T1: Any
    D1: Any
    label_noise: float


def late_learning(
    setting: LateSetting,
    law: tuple[int, float | None],
    spectrum: Spectrum | None = None,
    *,
    student_std: float,
    alpha: float | Iterable[float] | None,
) -> LateLearning:
    """Return :func:`late` for any inputs.

    Args:
        setting: the problem.
        law: the number of eigenvalues and the exponent of a power law; None if they follow none.
        spectrum: eigenvalues and weights that follow no power law.
        student_std, alpha: see :func:`late`.
    """
    from symderiv.analysis.low_rank import check_count

    L, exponent = law
    check_count(L)

    from symderiv.analysis.late.late_dynamics import LateDynamics
    from symderiv.formula import activation as read_activation

    with errors_about("activation"):
        chosen = read_activation(setting.activation)
    if not (math.isfinite(student_std) and 0 <= student_std < 1e100):
        raise InputError(f"{student_std:g} is not a number >= 0", argument="student_std")
    times = None if alpha is None else times_of(alpha)
    teachers = _moment("T1", setting.T1), _moment("D1", setting.D1)
    order: Literal["full", "small-learning-rate"] = (
        "full" if setting.full else "small-learning-rate"
    )

    def theory(size: int) -> LateDynamics:
        inputs = spectrum if exponent is None else _power_law(size, exponent)
        assert inputs is not None
        units, rate = setting.units, setting.learning_rate
        return LateDynamics(chosen.text, units, *inputs, rate, order, teachers, setting.label_noise)

    try:
        learning = theory(L)
        lower, upper = learning.window
        values = np.geomspace(lower, upper, 5) if times is None else np.array(times)
        record = {"activation": chosen.text, **_record(learning, values, student_std)}
        if exponent is None or setting.label_noise:
            record["exponent"] = None
        else:
            smaller = {size: theory(size) for size in (L // 2, L // 4) if size >= 8}
            theories = {L: learning, **smaller} if L >= 8 else {}
            record["exponent"] = _exponent(theories, exponent, student_std)
    except InputError as error:
        raise error.renamed(_MOMENTS.get(error.argument or "", error.argument)) from None
    return LateLearning(
        record, _shown(record, learning), partial(_curves, learning, values, student_std)
    )


def _power_law(L: int, exponent: float) -> Spectrum:
    from symderiv.inputs import power_law

    component = power_law(L, exponent).single()
    return component.eigenvalue, component.weight


def _moment(name: str, given: Any) -> Fraction:
    """Return a moment of the teachers, which later is a double, too."""
    number = exact(name, given)
    if abs(number) >= 10**100:
        raise InputError("is too large; give a number below 1e100", argument=name)
    return number


def _curves(late: LateDynamics, alpha: np.ndarray, student_std: float) -> Curves:
    """Return times and ε_g(α), to first and to second order in the distance, for a figure."""
    if not late.stable:
        raise InputError(
            f"there is no curve to draw: η = {late.learning_rate:g} is not below "
            f"{late.critical_learning_rate:.6g}, so deviations grow",
            argument="plot",
        )
    positive = alpha[alpha > 0]
    ends = late.window if positive.size < 2 else (positive.min(), positive.max())
    grid = np.geomspace(0.3 * ends[0], 3.0 * ends[1], _CURVE_POINTS)
    curves = {}
    second = _second_order(late, grid, student_std)
    if second is not None:
        curves["second order in the distance"] = second
    curves["first order"] = late.generalization_error(grid, student_std, second_order=False)
    return grid, curves, late.window


def _second_order(late: LateDynamics, alpha: np.ndarray, student_std: float) -> np.ndarray | None:
    """Return ε_g to second order, or None if it takes too long (η² terms, many eigenvalues)."""
    from symderiv.analysis.late.late_dynamics import MOST_DRIVEN

    if late.order == "full" and late.eigenvalue.size > MOST_DRIVEN:
        return None
    return late.generalization_error(alpha, student_std)


def _record(late: LateDynamics, alpha: np.ndarray, student_std: float) -> dict[str, Any]:
    first = second = None
    if late.stable:
        first = late.generalization_error(alpha, student_std, second_order=False)
        second = _second_order(late, alpha, student_std)
    best = first if second is None else second
    groups = late.groups()  # the spectrum of the error gives the rates too, if there is one
    return {
        "order": late.order,
        "rates": sorted(rate for group in groups for rate in group.rates.tolist()),
        "groups": [
            {"name": g.name, "direction": g.direction, "rates": g.rates.tolist()} for g in groups
        ],
        "critical_learning_rate": late.critical_learning_rate,
        "stable": late.stable,
        "matrices": _matrices(late),
        "alpha": alpha.tolist(),
        "generalization_error": None if best is None else best.tolist(),
        "generalization_error_first_order": None if first is None else first.tolist(),
        "accuracy": "first order" if second is None else "second order in the distance",
        "steady_state": _steady_state(late),
    }


def _steady_state(late: LateDynamics) -> dict[str, Any] | None:
    """Return the state in which label noise and drift balance, or None if there is none."""
    if not (late.source.any() and late.stable):
        return None
    uniform, differing = late.mean_eigenvalue * late.rest
    other = (uniform - differing) / late.units
    return {
        "generalization_error": late.plateau,
        "distance": {"same": float(differing + other), "other": float(other)},
    }


def _matrices(late: LateDynamics) -> dict[str, Any]:
    """Return G, H, F at these T and D, symbolic in M, with the equation that contains them."""
    from symderiv.analysis.late.perfect_learning import matrix_texts

    texts: dict[str, Any] = {**matrix_texts(late.theory.plain.activation, *late.teacher_moments)}
    texts["equation"] = (
        "dx_k/d alpha = -eta*rho_k*(G*x_k + H*X) + eta**2*rho_k*F*X, X = sum_k w_k*rho_k*x_k, "
        "x = (r, s, q, c)"
    )
    return texts


def _exponent(
    theories: dict[int, LateDynamics], beta: float, student_std: float
) -> dict[str, Any] | None:
    """Return the fitted exponent, and its dependence on the number of eigenvalues."""
    from symderiv.analysis.late.late_dynamics import fitted_exponent

    fits = []
    for size, theory_of_size in theories.items():
        if not theory_of_size.stable:
            return None
        lower, upper = theory_of_size.window
        alpha = np.geomspace(lower, upper, 40)
        error = theory_of_size.generalization_error(
            alpha, student_std, second_order=theory_of_size.order != "full"
        )
        fits.append((size, fitted_exponent(alpha, error, theory_of_size.window)))
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


def _shown(record: dict[str, Any], late: LateDynamics) -> Part:
    groups = Tabular(
        ["rates per unit α", "direction", "values"],
        [[each["name"], each["direction"], _ends(each["rates"])] for each in record["groups"]],
        sides="ll",
    )
    summary = Summary(rows=tuple(_rows(record, late)), notes=tuple(_notes(record, late)))
    nodes: list[Node] = [summary, groups]
    if record["generalization_error"] is not None:
        heads = ["α", f"ε_g, {record['accuracy']}", "first order in the order parameters"]
        names = ("alpha", "generalization_error", "generalization_error_first_order")
        curve = [
            [f"{at:.6g}", f"{best:.8e}", f"{first:.8e}"]
            for at, best, first in zip(*(record[name] for name in names), strict=True)
        ]
        nodes.append(Tabular(heads, curve, sides="rr"))
    return Part("", nodes)


def _ends(rates: list[float]) -> str:
    ends = [f"{rate:.6g}" for rate in rates[:_SHOWN_RATES]]
    return ", ".join([*ends, "…", f"{rates[-1]:.6g}"] if len(rates) > _SHOWN_RATES else ends)


def _notes(record: dict[str, Any], late: LateDynamics) -> Iterator[str]:
    if not record["stable"]:
        yield (
            f"unstable: η = {late.learning_rate:g} is not below it, deviations from perfect "
            "learning grow (a negative rate); there is no late ε_g"
        )
    elif not late.learning_rate < record["critical_learning_rate"]:
        yield (
            f"η = {late.learning_rate:g} is not below it: SGD does not come to perfect learning; "
            "what follows is the flow without η² terms"
        )


def _rows(record: dict[str, Any], late: LateDynamics) -> Iterator[tuple[str, str]]:
    eta_squared = " with η² terms" if record["order"] == "full" else ""
    yield (
        "problem",
        f"g(x) = {record['activation']}, K = M = {late.units}, L = {late.eigenvalue.size}, "
        f"η = {late.learning_rate:g}{eta_squared}",
    )
    yield "stable", f"for η < {record['critical_learning_rate']:.10g} (with η² terms)"
    steady = record["steady_state"]
    if steady is not None:
        apart = steady["distance"]
        yield (
            "steady state",
            f"with label noise ε_g = {steady['generalization_error']:.8e}, Q - R T⁻¹ Rᵀ "
            f"{apart['same']:.6e} on the diagonal, {apart['other']:.6e} beside it (first order)",
        )
    fit = record["exponent"]
    if fit is not None:
        others = ", ".join(
            f"{one['value']:.4f} (L = {one['distinct_eigenvalues']})"
            for one in fit["by_distinct_eigenvalues"][1:]
        )
        yield (
            "exponent",
            f"{fit['value']:.4f} ± {fit['error']:.4f} for α from {fit['window'][0]:.4g} to "
            f"{fit['window'][1]:.4g}; {fit['infinitely_many_eigenvalues']:.4f} for L → ∞"
            + (f"; {others}" if others else ""),
        )
