"""Runs in phases: tasks that follow each other or are mixed, rates that change in time."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from symderiv.integrate.flows.flat_run import FlatResult, Progress
from symderiv.integrate.rules.combined import Mixing, RightHandSide, mixed, scheduled
from symderiv.integrate.rules.rule_run import RuleFlow
from symderiv.integrate.rules.task_inputs import TaskInputs, inputs_of_tasks
from symderiv.keys.study_tables import LEARNING_RATES
from symderiv.problem.timetable import Phase, heads, numbered_tasks, task_weights, timetable

IN_PHASES = ("training.batch", "training.momentum", "training.schedule", "task")
"""Keys of rules that change no equation, only rates and what is taught."""

DECAYS = ("weight_decay", "second_layer_weight_decay")


@dataclass(frozen=True)
class PhasePiece:
    """The part of an integration that belongs to one phase.

    Args:
        begin: The flat state of the module at the begin of the phase.
        parameters: Its flat constants in the phase.
        asked: Times since the begin.
        right_hand_side: The module's own, or one made of it.
        since: The begin of the phase.
    """

    begin: np.ndarray
    parameters: np.ndarray
    asked: np.ndarray
    right_hand_side: RightHandSide
    since: float


@dataclass(frozen=True)
class PhasedFlow(RuleFlow):
    """A flow cut at the times at which something jumps.

    The output weights of further heads lie behind the state; those of the head that is taught are
    at their usual place while it is.
    """

    @cached_property
    def heads(self) -> dict[int, int]:
        """The head of each task, numbered from 0 without gaps."""
        given = heads(self.study)
        numbers = {head: place for place, head in enumerate(sorted(set(given.values())))}
        return {task: numbers[head] for task, head in given.items()}

    @cached_property
    def inputs(self) -> dict[int, TaskInputs]:
        """The inputs of tasks that have their own."""
        return inputs_of_tasks(self.study, self.state)

    def _inputs_in(self, phase: Phase) -> TaskInputs | None:
        """Return those of a phase; mixtures have the study's."""
        return self.inputs.get(phase.shares[0][0]) if len(phase.shares) == 1 else None

    @cached_property
    def begin(self) -> np.ndarray:
        """The flat state at alpha = 0; all heads begin alike."""
        others = max(self.heads.values(), default=0)
        return np.concatenate([super().begin, np.tile(self.state.student_weights, others)])

    @cached_property
    def parameters(self) -> np.ndarray:
        """Constants, small batches and heavy-ball momentum taken as what they do to the rates."""
        constants: np.ndarray = super().parameters.copy()
        fields, factors = self.packing("parameters").views(constants), self._factors
        in_updates = getattr(self.kernel.module, "IN_UPDATES", "").split()
        for names, kind in (
            (LEARNING_RATES, "rate"),
            ((*DECAYS, *in_updates), "decay"),
            (("update_noise",), "noise"),
            (("momentum_rate",), "memory"),
        ):
            for name in names:
                if name in fields:
                    fields[name][...] *= factors.get(kind, 1.0)
        return constants

    @cached_property
    def _factors(self) -> dict[str, float]:
        """Factors of the rates in small batches and with momentum; empty without these."""
        training = self.study.training
        if training.batch is None and training.momentum == 0.0:
            return {}
        return _rate_factors(training.batch, training.momentum, training.momentum_rate is not None)

    @property
    def is_constant(self) -> bool:
        """True if nothing changes inside its phases: one task is taught, at constant rates."""
        return all(
            len(phase.shares) <= 1 and not isinstance(phase.rate, str)
            for phase in timetable(self.study)
        )

    def run(self, tolerance: float, most: int, progress: Progress | None) -> FlatResult:
        """Return the phases, one after the other."""
        self.check_memory()
        pieces = self.pieces()
        piece, left = next(pieces), most
        while True:
            result = self.segment(
                piece.begin,
                piece.parameters,
                piece.asked,
                tolerance,
                left,
                _told(progress, piece.since),
                right_hand_side=piece.right_hand_side,
            )
            left -= result.steps + result.rejected
            try:
                piece = pieces.send(result)
            except StopIteration as end:
                whole: FlatResult = end.value
                return whole

    def pieces(self) -> Generator[PhasePiece, FlatResult, FlatResult]:
        """Yield the phases, one after the other, each for what it comes to; returns the whole."""
        state = self.begin
        parts: list[FlatResult] = []
        for phase in timetable(self.study):
            parts.append((yield from self._phase(phase, state)))
            state = parts[-1].last_state
            if parts[-1].cause != "done":
                break
        return _joined(parts)

    def _phase(
        self, phase: Phase, state: np.ndarray
    ) -> Generator[PhasePiece, FlatResult, FlatResult]:
        """Return one phase; its results are those at the times asked for in it."""
        times = self.study.alpha
        wanted = times[(times > phase.begin) & (times <= phase.end)]
        if phase.begin == 0.0 and times[0] == 0.0:
            wanted = np.concatenate([[0.0], wanted])
        asked = wanted if wanted.size and wanted[-1] == phase.end else np.append(wanted, phase.end)
        rhs, parameters = self._at_rate(phase)
        begin, own, packing = state, self._inputs_in(phase), self.packing("state")
        if own is not None:
            begin = own.states(begin, packing)
        if len(phase.shares) == 1:
            begin = self._swapped(begin, phase)
            # only the head that is taught changes
            begin, idle = begin[: self.packing("state").size], begin[self.packing("state").size :]
        elif phase.shares:
            rhs, parameters = self._mixed(phase, rhs, parameters)
        result = yield PhasePiece(begin, parameters, asked - phase.begin, rhs, phase.begin)
        results, last = result.results[: wanted.size], result.last_state
        if len(phase.shares) == 1:
            rows = np.concatenate([results, np.tile(idle, (len(results), 1))], axis=1)
            results = self._swapped(rows, phase)
            last = self._swapped(np.concatenate([last, idle]), phase)
        if own is not None:
            results, last = (own.states(each, packing, back=True) for each in (results, last))
        return replace(
            result,
            results=results,
            reached=len(results),
            last_state=last,
            last_alpha=phase.begin + result.last_alpha,
        )

    def _taught_weights(self, number: int) -> np.ndarray:
        """Return the output weights of the teacher in a task."""
        return task_weights(self.study, number, self.state.teacher_weights)

    def _at_rate(self, phase: Phase) -> tuple[RightHandSide, np.ndarray]:
        """Return the right-hand side and the constants of a phase of one task, in time since its
        begin.
        """
        rhs: RightHandSide = self.kernel.right_hand_side_for(self.state.K, self.state.M)
        parameters, packing = self.parameters.copy(), self.packing("parameters")
        own = self._inputs_in(phase)
        if own is not None:
            parameters = own.parameters(parameters, packing)
        rates = [packing.slices[name].start for name in LEARNING_RATES if name in packing.slices]
        if len(phase.shares) == 1:
            parameters[packing.slices["v_teacher"]] = self._taught_weights(phase.shares[0][0])
        if isinstance(phase.rate, str):
            rhs = scheduled(rhs, phase.rate, tuple(rates))
            return rhs, np.append(parameters, phase.begin)
        parameters[rates] *= phase.rate
        return rhs, parameters

    def _swapped(self, states: np.ndarray, phase: Phase) -> np.ndarray:
        """Return states (…, n), output weights of the head taught exchanged with those of head
        0.
        """
        head, packing = self.heads[phase.shares[0][0]], self.packing("state")
        if head == 0:
            return states
        swapped, K = states.copy(), self.state.K
        usual = packing.slices["v"]
        own = slice(packing.size + (head - 1) * K, packing.size + head * K)
        swapped[..., usual], swapped[..., own] = states[..., own], states[..., usual]
        return swapped

    def _mixed(
        self, phase: Phase, rhs: RightHandSide, parameters: np.ndarray
    ) -> tuple[RightHandSide, np.ndarray]:
        """Return the same of several tasks."""
        weights = self.packing("state").slices["v"]
        teachers = self.packing("parameters").slices["v_teacher"]
        numbers = [number for number, _ in phase.shares]
        mixing = Mixing(
            max(self.heads.values()),
            len(numbers),
            (weights.start, weights.stop),
            (teachers.start, teachers.stop),
            parameters.size,
        )
        packed = mixing.packed(
            parameters,
            np.array([share for _, share in phase.shares]),
            np.array([self.heads[number] for number in numbers]),
            np.array([self._taught_weights(number) for number in numbers]),
        )
        return mixed(rhs, mixing), packed

    def task_errors(self, result: FlatResult) -> np.ndarray:
        """Return the generalisation errors on all tasks at every row, shape (P, tasks)."""
        tasks = numbered_tasks(self.study)
        return np.array([self._errors_of_task(result.results, number) for number in tasks]).T

    def _errors_of_task(self, rows: np.ndarray, number: int) -> np.ndarray:
        """Return the errors as those of one task: its head and its teachers in their usual
        places.
        """
        state = self.packing("state")
        own, head = rows[:, : state.size].copy(), self.heads[number]
        if head > 0:
            K = self.state.K
            own[:, state.slices["v"]] = rows[:, state.size + (head - 1) * K :][:, :K]
        parameters, constants = self.parameters.copy(), self.packing("parameters")
        parameters[constants.slices["v_teacher"]] = self._taught_weights(number)
        if number in self.inputs:
            inputs = self.inputs[number]
            own, parameters = inputs.states(own, state), inputs.parameters(parameters, constants)
        return self.errors_at(own, parameters)

    def errors(self, result: FlatResult) -> np.ndarray:
        """Return the generalisation error on what is taught at the time, before a switch at a
        switch.
        """
        if not self.study.task:
            return super().errors(result)
        places = {number: place for place, number in enumerate(numbered_tasks(self.study))}
        errors, shared = self.task_errors(result), []
        for alpha, row in zip(self.study.alpha, errors, strict=False):
            phases = timetable(self.study)
            phase = next((p for p in phases if alpha <= p.end), phases[-1])
            shared.append(sum(share * row[places[number]] for number, share in phase.shares))
        return np.array(shared)

    def further(self, result: FlatResult) -> dict[str, np.ndarray]:
        """Return what the rule adds, errors on all tasks and output weights of all heads."""
        further = super().further(
            replace(result, results=result.results[:, : self.packing("state").size])
        )
        scale = self._factors.get("velocity", 1.0)
        for name in further:
            if name in ("P", "C") or name.startswith("U."):
                further[name] *= scale
            elif name == "W":
                further[name] *= scale**2
        if self.study.task:
            others = result.results[:, self.packing("state").size :]
            first = result.results[:, self.packing("state").slices["v"]]
            count = len(result.results)
            further["task_error"] = self.task_errors(result).reshape(count, -1)
            further["heads"] = np.concatenate([first, others], axis=1).reshape(
                count, -1, self.state.K
            )
        return further


@lru_cache(maxsize=1024)
def _rate_factors(batch: int | None, momentum: float, velocities: bool) -> dict[str, float]:
    from symderiv.learning.derivation.equivalent_rates import BATCH, BETA, rate_factors

    factors = rate_factors(
        batches=batch is not None, remembering=momentum > 0.0, velocities=velocities
    )
    numbers = {BATCH: batch or 1, BETA: momentum}
    return {name: float(value.subs(numbers)) for name, value in vars(factors).items()}


def _told(progress: Progress | None, since: float) -> Progress | None:
    """Return what tells of a phase as of the run."""
    if progress is None:
        return None
    watch = progress
    return lambda alpha, steps: watch(since + alpha, steps)


def _joined(parts: list[FlatResult]) -> FlatResult:
    last = parts[-1]
    return replace(
        last,
        results=np.concatenate([part.results for part in parts]),
        reached=sum(part.reached for part in parts),
        steps=sum(part.steps for part in parts),
        rejected=sum(part.rejected for part in parts),
        rhs_evaluations=sum(part.rhs_evaluations for part in parts),
        error_sum=sum(part.error_sum for part in parts),
    )
