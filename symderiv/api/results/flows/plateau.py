"""The symmetric plateau: height, linearisation and escape, with certified numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symderiv.api.arguments.numbers import check_digits, exact
from symderiv.api.results.answer import Answer
from symderiv.foundation.drawing import drawn
from symderiv.foundation.errors import InputError, errors_about
from symderiv.foundation.named_arguments import public
from symderiv.foundation.progress import following

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symderiv.analysis.plateau.plateau_report import PlateauReport
    from symderiv.analysis.plateau.teacher import HomogeneousTeacher

_MOMENTS = ("T1", "D1", "T2", "D2")


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
        super().__init__(report.to_json(), report.to_text())
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
