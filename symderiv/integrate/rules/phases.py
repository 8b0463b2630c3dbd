"""Flows of rules in phases: tasks that follow each other or are mixed, changing rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from symderiv.formula import parse_formula
from symderiv.foundation.errors import InputError
from symderiv.integrate.flows.components import OtherInputs, inputs_of_tasks
from symderiv.integrate.flows.courses import Law, Piece
from symderiv.integrate.flows.study_flow import ErrorsOf
from symderiv.integrate.rules.rule_run import RuleFlow
from symderiv.keys.study_tables import LEARNING_RATES, Training
from symderiv.problem.initial import Initial
from symderiv.problem.rule_of import rule_of
from symderiv.problem.state import State
from symderiv.problem.study import Study
from symderiv.problem.timetable import Phase, heads, numbered_tasks, task_weights, timetable
from symderiv.storage.checkpoint import Checkpoint
from symderiv.storage.kernels import Kernel
from symderiv.storage.study_kernel import kernel_for

if TYPE_CHECKING:
    import sympy as sp

IN_PHASES = (
    "training.batch",
    "training.batch_ratio",
    "training.momentum",
    "training.schedule",
    "task",
)
"""Keys that leave the equations alone and change only learning rates and tasks."""

DECAYS = ("weight_decay", "second_layer_weight_decay")


@dataclass(frozen=True)
class PhasedFlow(RuleFlow):
    """A flow cut at the times at which something jumps, or steps of cN examples.

    Output weights of further heads follow the state; a task's law maps those of its head to their
    usual place.
    """

    @cached_property
    def heads(self) -> dict[int, int]:
        """The index of each task's head, from 0 without gaps."""
        given = heads(self.study)
        numbers = {head: place for place, head in enumerate(sorted(set(given.values())))}
        return {task: numbers[head] for task, head in given.items()}

    @cached_property
    def inputs(self) -> dict[int, OtherInputs]:
        """The inputs of tasks that have their own, by the number of the task."""
        return inputs_of_tasks(self.study, self.state)

    @classmethod
    def begun(cls, flows: Sequence[Self]) -> np.ndarray:
        """Return the flat states at alpha = 0; all heads have the same initial weights."""
        plain, weights = super().begun(flows), [flow.state.student_weights for flow in flows]
        return np.hstack([plain, *[weights] * max(flows[0].heads.values(), default=0)])

    @property
    def size(self) -> int:
        """The length of the flat state, with the output weights of all heads."""
        return super().size + self.state.K * max(self.heads.values(), default=0)

    @classmethod
    def constants_of(cls, flows: Sequence[Self]) -> np.ndarray:
        """Return the constants; small batches and heavy-ball momentum enter as changed rates."""
        constants = super().constants_of(flows)
        fields = flows[0].packing("parameters").views(constants)
        factors = [equivalent_factors(flow.study, flow._in_updates) for flow in flows]
        for name in set().union(*factors) & fields.keys():
            own = np.array([each.get(name, 1.0) for each in factors])
            fields[name][...] *= own.reshape(-1, *[1] * (fields[name].ndim - 1))
        return constants

    @property
    def _in_updates(self) -> list[str]:
        names: list[str] = getattr(self.kernel.module, "IN_UPDATES", "").split()
        return names

    @property
    def unfactored(self) -> np.ndarray:
        constants: np.ndarray = super().constants_of([self])[0]
        return constants

    @property
    def factors(self) -> list[tuple[float, dict[str, sp.Expr]]]:
        usual = equivalent_factors(self.study, self._in_updates, exact=True)
        factors = []
        for phase in timetable(self.study, math.inf):
            rate = exact_rate(phase.rate)
            changed = {name: rate * usual.get(name, 1) for name in LEARNING_RATES}
            factors.append((phase.begin, {**usual, **changed}))
        return factors

    @property
    def step(self) -> float:
        return float(self.rule.parameters["batch_ratio"]) if self.rule.rule.batches else 0.0

    @property
    def is_constant(self) -> bool:
        """True if nothing changes within phases: one task is taught, at constant rates."""
        return not self.step and all(
            len(phase.shares) <= 1 and not isinstance(phase.rate, str) for phase in self._phases
        )

    @cached_property
    def _phases(self) -> tuple[Phase, ...]:
        return timetable(self.study)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        return tuple(self._piece(phase) for phase in self._phases)

    def _piece(self, phase: Phase) -> Piece:
        places = self.packing("parameters").slices
        rates = [places[name].start for name in LEARNING_RATES if name in places]
        formula = phase.rate if isinstance(phase.rate, str) else None
        base = self.parameters.copy()
        if not isinstance(phase.rate, str):
            base[rates] *= phase.rate
        alone = len(phase.shares) == 1
        laws = [self._law(base, number, share, alone) for number, share in phase.shares]
        return Piece(phase.begin, phase.end, tuple(laws) or (Law(base),), formula, tuple(rates))

    def _law(self, base: np.ndarray, number: int, share: float, alone: bool) -> Law:
        """Return the law of a task, with its head and its teacher's weights in the usual places.

        Args:
            base: The constants without a task.
            number, share: The number of the task, and its probability.
            alone: False in mixtures, all of whose tasks have the inputs of the study.
        """
        state, constants, head = self.packing("state"), base.copy(), self.heads[number]
        places, K, scale = np.arange(state.size), self.state.K, None
        if head > 0:
            first = state.size + (head - 1) * K
            places[state.slices["v"]] = np.arange(first, first + K)
        weights = task_weights(self.study, number, self.state.teacher_weights)
        constants[self.packing("parameters").slices["v_teacher"]] = weights
        if alone and number in self.inputs:
            packings = state, self.packing("parameters")
            own = self.inputs[number].law(constants, share, packings)
            constants, scale = own.constants, own.scale
        return Law(constants, share, places, scale)

    @classmethod
    def further_of(
        cls, flows: Sequence[Self], states: np.ndarray, errors: ErrorsOf
    ) -> dict[str, np.ndarray]:
        """Return what the rule adds, errors on all tasks and output weights of all heads."""
        packing, lead = flows[0].packing("state"), states.shape[:2]
        further = super().further_of(flows, states[..., : packing.size], errors)
        scales = [_rate_factors(flow.study.training).get("velocity", 1.0) for flow in flows]
        for name, values in further.items():
            if name in ("P", "C") or name.startswith("U."):
                values *= np.reshape(scales, (-1, *[1] * (values.ndim - 1)))
            elif name == "W":
                values *= np.reshape(scales, (-1, *[1] * (values.ndim - 1))) ** 2
        if flows[0].study.task:
            others, first = states[..., packing.size :], states[..., packing.slices["v"]]
            taught = []
            for number in numbered_tasks(flows[0].study):
                laws = [flow._law(flow.parameters, number, 1.0, True) for flow in flows]
                seen = [law.into(rows) for law, rows in zip(laws, states, strict=True)]
                taught.append(errors(np.array(seen), np.array([law.constants for law in laws])))
            further["task_error"] = np.stack(taught, axis=-1)
            heads = np.concatenate([first, others], axis=-1)
            further["heads"] = heads.reshape(*lead, -1, flows[0].state.K)
        return further


def exact_rate(rate: float | str) -> sp.Expr:
    """Return the factor of learning rates in a phase: the decimal, or the formula in ``alpha``."""
    import sympy as sp

    if isinstance(rate, str):
        return parse_formula(rate, ("alpha",))
    return sp.Rational(repr(float(rate)))


def equivalent_factors(
    study: Study, in_updates: Iterable[str] = (), *, exact: bool = False
) -> dict[str, Any]:
    """Return factors by which batches and momentum change numbers of single-example learning.

    With these numbers single examples do the same as small batches and heavy-ball momentum. Without
    both, no number is changed.

    Args:
        study: The study that states the batch and the momentum.
        in_updates: Names of numbers of a stated rule that act once in a step, as weight decays do.
        exact: Return expressions for the decimals of the study, and not doubles.
    """
    factors = _rate_factors(study.training, exact=exact)
    kinds = (
        (LEARNING_RATES, "rate"),
        ((*DECAYS, *in_updates), "decay"),
        (("update_noise",), "noise"),
        (("momentum_rate",), "memory"),
    )
    return {name: factors[kind] for names, kind in kinds for name in names if kind in factors}


def _rate_factors(training: Training, *, exact: bool = False) -> dict[str, Any]:
    if training.batch is None and training.momentum == 0.0:
        return {}
    given = training.batch, training.momentum, training.momentum_rate is not None
    return _factors_of(*given, exact=exact)


@lru_cache(maxsize=1024)
def _factors_of(
    batch: int | None, momentum: float, velocities: bool, *, exact: bool
) -> dict[str, Any]:
    import sympy as sp

    from symderiv.learning.derivation.equivalent_rates import BATCH, BETA, rate_factors

    factors = rate_factors(
        batches=batch is not None, remembering=momentum > 0.0, velocities=velocities
    )
    # the decimal that was typed: doubles would round 1 - momentum
    numbers = {BATCH: batch or 1, BETA: sp.Rational(repr(momentum))}
    known = {name: sp.sympify(value).subs(numbers) for name, value in vars(factors).items()}
    return known if exact else {name: float(value) for name, value in known.items()}


def rule_flow(
    study: Study,
    start: Initial,
    kernel: Kernel | None = None,
    notice: Callable[[str], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Callable[[State], RuleFlow]:
    """Return a function from an initial state to the flow of a study's learning rule.

    See :func:`symderiv.integrate.rules.solving.solve`.

    Raises:
        InputError: The rule uses overlaps in eigenspaces in which inputs do not vary.
    """
    rule = rule_of(study)
    rule = replace(rule, state={**rule.state, **start.further})
    if rule.rule.stated and np.any(start.state.eigenvalue == 0.0):
        raise InputError(
            "has eigenvalues that are zero, where overlaps of weights and teachers are not known; "
            "leave those inputs out",
            argument="data",
        )
    chosen = kernel or kernel_for(study, notice=notice, rule=rule.rule)
    phased = any(key in study.rule_keys for key in IN_PHASES)
    flow: type[RuleFlow] = PhasedFlow if phased else RuleFlow
    return lambda state: flow(study, chosen, state, checkpoint, rule)
