"""A study as a :class:`symderiv.System`: its rule's statement with its numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import sympy as sp

from symderiv.formula import activation
from symderiv.foundation.errors import NotClosed
from symderiv.keys.study_tables import LEARNING_RATES, STATED_KEYS
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.learning.rule.stated_rule import RuleNumbers, exact, state_rule
from symderiv.problem.initial import initial
from symderiv.problem.input_models import Spectrum
from symderiv.problem.rule_of import rule_of
from symderiv.statement.language import Language
from symderiv.system.stated_system import StatedSystem
from symderiv.system.stated_times import StatedTasks, schedule_of

if TYPE_CHECKING:
    from symderiv.problem.state import State
    from symderiv.problem.study import Study

_AS_NUMBERS = ("keep", "label_flip", "evaluation_scale", "momentum_rate", "batch_ratio")

AnySystem = TypeVar("AnySystem", bound=StatedSystem)


@dataclass(frozen=True)
class _Law:
    """The stated law of the inputs.

    Args:
        model: Their law.
        hidden: Whether the teacher sees what they do not show.
        variance: The mean variance of a coordinate.
    """

    model: Any
    hidden: bool
    variance: float


def _law_of(study: Study) -> _Law:
    """Return the law of the inputs; of a state file alone, that of Gaussian ones with its spectrum.

    Raises:
        NotClosed: The inputs have no equations.
    """
    data = study.data_model
    if data is None:
        state = initial(study).state
        model = Spectrum(state.eigenvalue.tolist(), weights=state.weight.tolist())
        hidden = not np.allclose(
            shown_covariance(state), state.teacher_covariance, rtol=1e-9, atol=1e-12
        )
        return _Law(model, hidden, float(state.weight @ state.eigenvalue))
    if data.latent is not None and data.latent.no_equations:
        raise NotClosed(data.latent.no_equations, average="E[f(w·ξ/√N)]", statement="inputs")
    mean = data.average()
    return _Law(study.data, data.has_latent_teacher, float(mean.weight @ mean.eigenvalue))


def divided(values: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Return quotients, 0 where both are 0."""
    quotients: np.ndarray = np.divide(values, by, out=np.zeros_like(values), where=by > 0.0)
    return quotients


def shown_covariance(state: State) -> np.ndarray:
    """Return the covariance of teachers that inputs show, shape (M, M)."""
    rho = state.eigenvalue[:, None, None]
    covariance: np.ndarray = np.einsum(
        "k,kij->ij", state.weight, divided(state.teacher_overlap, rho)
    )
    return covariance


def stated_in(P: AnySystem, study: Study) -> AnySystem:
    """State in an empty system what a study says; names are those of ``state_rule``.

    Tasks that follow each other are one statement, with factors that depend on time. Inputs that
    the teacher does not see itself are stated by their Gaussian equivalents: fields with vectors
    ``B`` on the inputs and ``H`` on what the inputs do not show.

    Raises:
        NotClosed: The inputs have no equations.
    """
    law = _law_of(study)
    numbers = replace(numbers_of(study, P), hidden=law.hidden, input_variance=law.variance)
    state_rule(P, problem_of(study), numbers, law.model)
    return P


def problem_of(study: Study) -> LearningProblem:
    """Return the activations and the rule of a study."""
    g, h = activation(study.student_activation), activation(study.teacher_activation)
    return LearningProblem(g, h, rule_of(study).rule)


def numbers_of(study: Study, P: Language) -> RuleNumbers:
    """Return the numbers of a study's rule.

    They are parameters of the statement, so that other values need no new derivation, unless a
    function without closed mean may contain them: quadrature takes numbers only.

    Args:
        study: What is stated.
        P: Where parameters are declared.
    """
    training, network = study.training, study.network
    linear = training.loss == "squared" and training.target == "sum"

    def rate(name: str, value: float) -> Any:
        return P.parameter(name, exact(value)) if value else 0

    def size(name: str, value: float) -> Any:
        return rate(name, value) if linear else value

    def weights(name: str, values: np.ndarray) -> np.ndarray:
        named = [size(f"{name}{n + 1}", value) for n, value in enumerate(values)]
        return np.array([exact(each) for each in named], dtype=object)

    # a velocity that remembers β of itself adds every step up 1/(1 - β) times
    memory = 1 / (1 - exact(training.momentum))
    examples = exact(training.batch_ratio or training.batch or 1)
    times = memory * schedule_of(study, P, examples)
    eta, eta_v = (rate(name, study.size(name)) for name in LEARNING_RATES[:2])
    apart = training.bias_learning_rate is not None
    eta_b = rate("bias_learning_rate", training.size("bias_learning_rate")) if apart else eta
    tasks = StatedTasks(study, P, examples) if study.task else None
    taught = weights("c", study.teacher_weights) if tasks is None else tasks.teacher_weights
    student = None if network.train_second_layer else weights("v", study.student_weights)
    stated = [name for key, others in STATED_KEYS.items() for name in (key, *others)]
    decays = "weight_decay", "second_layer_weight_decay"
    return RuleNumbers(
        K=study.K,
        M=study.M,
        teacher_weights=taught,
        teacher_biases=study.teacher_biases,
        student_weights=student,
        student_biases=None if network.train_biases else study.student_biases,
        sizes={
            **{
                name: times * each
                for name, each in zip(LEARNING_RATES, (eta, eta_v, eta_b), strict=True)
            },
            **{name: rate(name, study.size(name)) for name in (*decays, "input_noise", *stated)},
            **{name: training.size(name) for name in _AS_NUMBERS},
            "label_noise": size("label_noise", training.label_noise),
            "update_noise": rate("update_noise", training.update_noise) * memory,
        },
        batch=training.batch or 1,
        heads=(sp.S.One,) if tasks is None else tasks.heads,
        inputs=() if tasks is None else tasks.inputs,
    )
