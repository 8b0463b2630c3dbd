"""Problems with equal units, for which plateau and late learning are computed.

Both are derived for output weights 1/√M. A network with output weights v equals one with 1/√M and
the activation c g, c = v √M. Time and error then scale so that Q and R at (c g, η) are those of g
at c² η, with ε_g multiplied by c² and label noise divided by c.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from symderiv.api.arguments.numbers import exact_decimal
from symderiv.api.results.flows.biased_plateau import OF_BIASES, BiasedPlateau, biased_plateau_of
from symderiv.api.results.flows.late import LateLearning, LateSetting, late_learning
from symderiv.api.results.flows.plateau import Plateau, plateau
from symderiv.formula import activation
from symderiv.foundation.errors import InputError
from symderiv.problem.input_models import PowerLaw
from symderiv.problem.study import Study


def plateau_of(
    study: Study, digits: int, full: bool, moments: Mapping[str, Any]
) -> Plateau | BiasedPlateau:
    """Return the plateau of a study, for the mean random teacher unless moments are given."""
    if study.rule_keys and study.rule_keys[0] in OF_BIASES:
        _require_alike_units(study)
        if digits != 15:
            raise InputError(
                "must be left at 15 with biases, whose plateau is computed in doubles",
                argument="digits",
            )
        return biased_plateau_of(study, full, moments)
    _require_alike(study)
    given = {"T1": None, "D1": None, "T2": None, "D2": None}
    for name in moments:
        if name not in given:
            raise InputError("is not one of T1, D1, T2, D2", argument=name)
    data = study.data
    teacher: dict[str, Any] = dict(moments)
    if not moments:
        if isinstance(data, PowerLaw):
            teacher = {"distinct_eigenvalues": data.distinct_eigenvalues, "exponent": data.exponent}
        elif spectrum_of(study)[0].tolist() == [1.0]:
            teacher = {"T1": 1, "D1": 0, "T2": 1, "D2": 0}
        else:
            raise InputError(
                "do not determine a typical teacher; give T1, D1, T2 and D2", argument="inputs"
            )
    return plateau(
        units=study.K,
        activation=_activation(study),
        learning_rate=study.training.learning_rate,
        digits=digits,
        full=full,
        **teacher,
    )


def late_of(study: Study, alpha: Any, T1: Any, D1: Any) -> LateLearning:
    """Return the late learning of a study; an exponent is fitted for power-law inputs."""
    _require_alike(study, noisy=True)
    data, spectrum = study.data, spectrum_of(study)
    full = study.training.order == "full"
    exponent = data.exponent if isinstance(data, PowerLaw) and data.exponent > 0 else None
    setting = LateSetting(
        study.K,
        _activation(study),
        study.training.learning_rate,
        full,
        T1,
        D1,
        # at first order in η the equations do not contain label noise
        label_noise=study.training.label_noise if full else 0.0,
    )
    return late_learning(
        setting,
        (int(spectrum[0].size), exponent),
        spectrum,
        student_std=study.initial.student_std,
        alpha=alpha,
    )


def _activation(study: Study) -> str:
    """Return the activation of the equivalent network with output weights 1/√M."""
    square = study.M * _exact_square(float(study.student_weights[0]))
    if square == 1:
        return study.student_activation
    return f"sqrt({square})*({activation(study.student_activation).text})"


def _exact_square(weight: float) -> Fraction:
    """Return the simple fraction that is a weight's square, or the square of its decimal."""
    simple = Fraction(weight**2).limit_denominator(10**6)
    if abs(simple - weight**2) <= 1e-15 * weight**2:
        return simple
    return exact_decimal(weight) ** 2


def spectrum_of(study: Study) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and weights of Gaussian inputs with one component."""
    data = study.data_model
    if data is None or data.latent is not None or len(data.components) != 1:
        raise InputError(
            "must be Gaussian inputs of one component that the teacher sees too",
            argument="inputs",
        )
    component = data.single()
    return component.eigenvalue, component.weight


def _require_alike(study: Study, noisy: bool = False) -> None:
    """Refuse studies to which the equations of equal units do not apply."""
    study.only_plain("late learning and plateaus")
    _require_alike_units(study, noisy)


def _require_alike_units(study: Study, noisy: bool = False) -> None:
    """Refuse studies whose units differ, or that train output weights.

    The learning rule is not examined; ``noisy`` allows label noise.
    """
    training = study.training
    if study.K != study.M:
        raise InputError(
            f"must equal the number of teachers, {study.M}, for late learning and plateaus; "
            "Problem.fixed_points() finds the plateaus of other numbers as saddles",
            argument="students",
        )
    if study.teacher_activation != study.student_activation:
        raise InputError("must be the activation of the students", argument="teacher_activation")
    first = study.teacher_weights[0]
    for name in ("student_weights", "teacher_weights"):
        if not first or not np.allclose(getattr(study, name), first, rtol=1e-12):
            raise InputError(
                "must be one number for all students and teachers here, as 1 or 1/sqrt(M)",
                argument=name,
            )
    if study.network.train_second_layer:
        raise InputError(
            "must be False for late learning and plateaus", argument="train_second_layer"
        )
    for name in ("label_noise", "weight_decay"):
        if getattr(training, name) and not (noisy and name == "label_noise"):
            raise InputError("must be 0 here", argument=name)
    spectrum_of(study)
