"""A study as a :class:`symderiv.System`: its rule's statement with its numbers.

Whatever changes in time is an expression in the time of the statement. A schedule is a factor of
the learning rates. Tasks that follow each other are one statement on the same vectors: the output
weights of teachers and heads have factors that are 1 while a task is taught and 0 otherwise; in a
mixture of tasks a fresh latent variable assigns each example to a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import sympy as sp

from symderiv.experiment.studies.rule_tasks import Tasks, tasks_of
from symderiv.formula import activation, parse_formula
from symderiv.foundation.errors import NotClosed
from symderiv.keys.study_tables import LEARNING_RATES, STATED_KEYS
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.learning.rule.stated_rule import RuleNumbers, exact, state_rule
from symderiv.problem.initial import initial
from symderiv.problem.input_models import Spectrum
from symderiv.problem.rule_of import rule_of
from symderiv.problem.state import State
from symderiv.problem.study import Study
from symderiv.statement.language import Language
from symderiv.system.stated_system import StatedSystem

_AS_NUMBERS = ("keep", "label_flip", "evaluation_scale", "momentum_rate", "batch_ratio")

AnySystem = TypeVar("AnySystem", bound=StatedSystem)


@dataclass(frozen=True)
class _Law:
    """The law of the inputs as stated.

    Args:
        model: The input model.
        hidden: Whether the teacher depends on variables that the inputs do not determine.
        variance: The mean variance of a coordinate.
    """

    model: Any
    hidden: bool
    variance: float


def _law_of(study: Study) -> _Law:
    """Return the law of the inputs; for a state file alone, Gaussian inputs with its spectrum.

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
    """Return quotients, 0 where the divisor is 0."""
    quotients: np.ndarray = np.divide(values, by, out=np.zeros_like(values), where=by > 0.0)
    return quotients


def shown_covariance(state: State) -> np.ndarray:
    """Return the part of the teachers' covariance that inputs determine, shape (M, M)."""
    rho = state.eigenvalue[:, None, None]
    covariance: np.ndarray = np.einsum(
        "k,kij->ij", state.weight, divided(state.teacher_overlap, rho)
    )
    return covariance


def stated_in(P: AnySystem, study: Study) -> AnySystem:
    """State in an empty system the problem of a study; names are those of ``state_rule``.

    Tasks that follow each other are one statement, with factors that depend on time. Inputs that
    the teacher does not see directly are stated by their Gaussian equivalents: fields of vectors
    ``B`` on the inputs and ``H`` on variables that the inputs do not determine.

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

    They are parameters of the statement, so that other values need no new derivation, but numbers
    where a function without closed mean may contain them, as quadrature takes numbers only.

    Args:
        study: The study.
        P: The statement, in which parameters are declared.
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

    # with momentum β, a velocity adds up every step 1/(1 - β) times
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


def schedule_of(study: Study, P: Language, examples: sp.Expr) -> sp.Expr:
    """Return the factor of the learning rates in time.

    Args:
        study: The study, whose schedule is in examples over N.
        P: The statement, which declares its time only if it is needed.
        examples: The number of examples over N in a unit of the statement's time.
    """
    given = study.training.schedule
    if given is None:
        return sp.S.One
    time = examples * P.alpha
    if isinstance(given, str):
        return parse_formula(given, ("alpha",)).xreplace({P.alpha: time})
    if "times" in given:
        times, rates = given["times"], given["rates"]
        assert isinstance(times, list)
        assert isinstance(rates, list)
        rate = exact(rates[0])
        for after, now, before in zip(times[1:], rates[1:], rates, strict=False):
            rate += (exact(now) - exact(before)) * sp.Heaviside(time - exact(after))
        return rate
    assert isinstance(given["after"], float)
    return sp.Max(1, time / exact(given["after"])) ** -exact(given["power"])


@dataclass(frozen=True)
class StatedTasks:
    """The tasks of a study as factors in its statement.

    Args:
        study: The study with at least one task.
        P: The statement; latents of mixtures are declared in it.
        examples: The number of examples over N in a unit of the statement's time.
    """

    study: Study
    P: Language
    examples: sp.Expr

    @cached_property
    def _tasks(self) -> Tasks:
        return tasks_of(self.study, self.study.teacher_weights)

    @cached_property
    def _phases(self) -> tuple[sp.Expr, ...]:
        """Indicators of the phases: 1 in a phase, 0 outside of it."""
        time = self.examples * self.P.alpha
        ends = [sp.Heaviside(time - exact(end)) for end in self._tasks.ends[:-1]]
        pairs = zip([sp.S.One, *ends], [*ends, sp.S.Zero], strict=True)
        return tuple(begun - ended for begun, ended in pairs)

    @cached_property
    def taught(self) -> tuple[sp.Expr, ...]:
        """Indicators of the tasks: 1 for an example that belongs to a task, else 0."""
        parts = [sp.S.Zero] * self._tasks.count
        for number, phase in enumerate(self._phases):
            shares = self._tasks.shares[number]
            there = [n for n, share in enumerate(shares) if share > 0.0]
            chosen = self._chosen(number, [shares[n] for n in there])
            for n, one in zip(there, chosen, strict=True):
                parts[n] += phase * one
        return tuple(parts)

    def _chosen(self, number: int, shares: Sequence[float]) -> list[sp.Expr]:
        """Return indicators of the tasks of a phase, which a fresh latent chooses."""
        if len(shares) == 1:
            return [sp.S.One]
        law = {n: exact(share) for n, share in enumerate(shares)}
        law[0] = 1 - sum(p for n, p in law.items() if n)
        latent = self.P.latents(f"task{number + 1}", law)
        values = range(len(shares))
        return [
            sp.Mul(*((latent - m) / sp.Integer(n - m) for m in values if m != n)) for n in values
        ]

    @cached_property
    def teacher_weights(self) -> np.ndarray:
        """Output weights of the teachers, shape (M,), as expressions."""
        return self._mixed([[exact(w) for w in row] for row in self._tasks.teachers])

    @cached_property
    def heads(self) -> tuple[sp.Expr, ...]:
        """Factors of the output weights of the heads."""
        factors = [sp.S.Zero] * self._tasks.heads
        for head, factor in zip(self._tasks.head, self.taught, strict=True):
            factors[int(head)] += factor
        return tuple(factors) if len(factors) > 1 else (sp.S.One,)

    def _mixed(self, rows: Sequence[Sequence[sp.Expr]]) -> np.ndarray:
        columns = zip(*rows, strict=True)
        mixed: Any = [
            sp.Add(*(factor * each for factor, each in zip(self.taught, column, strict=True)))
            for column in columns
        ]
        return np.array(mixed, dtype=object)

    @cached_property
    def inputs(self) -> tuple[tuple[Any, sp.Expr], ...]:
        """Input models with the factors of their tasks; the study's own model is first."""
        numbers = [n for n, task in enumerate(self.study.task) if task.teachers is not None]
        models: list[list[Any]] = [[self.study.data, sp.S.Zero]]
        for number, factor in zip(numbers, self.taught, strict=True):
            model = self.study.task[number].data or self.study.data
            known = next((each for each in models if each[0] == model), None)
            if known is None:
                models.append([model, factor])
            else:
                known[1] += factor
        if len(models) == 1:
            return ((self.study.data, sp.S.One),)
        return tuple((model, factor) for model, factor in models if factor != 0)
