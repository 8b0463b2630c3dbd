"""A study solved by the moment form, in arbitrary precision: the check of the spectral form."""

from __future__ import annotations

from typing import Any

from symderiv.foundation.errors import InputError
from symderiv.integrate.flows.study_flow import rates_of
from symderiv.precision.moments.moment_system import RuleParameters
from symderiv.precision.moments.moment_trajectory import MomentTrajectory, moment_trajectory
from symderiv.problem.initial import initial
from symderiv.problem.study import Study


def solve_moments(study: Study, *, digits: int = 12) -> MomentTrajectory:
    """Integrate a study by the moment hierarchy with its Cayley-Hamilton closure.

    Its cost grows with the digits that the moments lose, so it is meant for checks at up to some
    hundred eigenvalues and short times; :func:`~symderiv.integrate.rules.solving.solve` is the
    solver. The study's tolerances are not used, and all eigenvalues are kept.

    Args:
        study: A study without [sweep].
        digits: See :func:`~symderiv.precision.moment_trajectory`.

    Raises:
        InputError: The study cannot be run as it is.
        ToleranceError: The digits were not reached, or doubles are refused.
    """
    if study.sweep:
        raise InputError("a study with [sweep] is several runs; expand it first", argument="sweep")
    study.only_plain("the moment form")
    rates: dict[str, Any] = rates_of(study)
    return moment_trajectory(
        initial(study).state,
        RuleParameters(**rates),
        study.alpha,
        study.student_activation,
        study.teacher_activation,
        digits=digits,
    )
