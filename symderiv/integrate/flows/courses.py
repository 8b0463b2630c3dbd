"""A run in pieces, cut where something jumps in time; a flow, or steps of order one.

In a piece the constants do not change. Examples of several tasks may be mixed in it, each of which
has constants of its own and sees a part of the state; and some constants may be multiplied by a
formula in α. Derivatives of a run follow its state in the same vector, one after the other.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np

from symderiv.foundation.limits import check_memory
from symderiv.foundation.packing import Packing
from symderiv.integrate.flows.flat_run import FlatProblem, FlatResult, Progress, StepLimits
from symderiv.integrate.flows.implicit_run import LEAST_TOLERANCE, integrate
from symderiv.integrate.steppers.coupled_modes import CoupledModes
from symderiv.integrate.steppers.memory import IMPLICIT
from symderiv.keys.study_tables import Time
from symderiv.storage.checkpoint import Checkpoint

RightHandSide = Callable[..., None]

# Vectors of the size of the state that a stepper works with.
_STAGES = 20
# With larger tolerances the error of a step is not controlled.
_LOOSEST = 0.1

#: Yields each problem with the time at which it begins, is sent its result, returns the whole run.
Walk = Generator[tuple[FlatProblem, float], FlatResult, FlatResult]


class Law(NamedTuple):
    """The equations of the examples of a piece, or of one of the tasks that are mixed in it.

    Attributes:
        constants: The flat constants of the right-hand side.
        share: The probability of an example.
        places: Places in the state of the entries that the right-hand side sees; None for all.
        scale: Factors by which these entries are multiplied; None for ones.
    """

    constants: np.ndarray
    share: float = 1.0
    places: np.ndarray | None = None
    scale: np.ndarray | None = None

    @classmethod
    def together(cls, laws: Sequence[Law]) -> Law:
        """Return laws that see the same entries as one, of states (n, A, S)."""
        scale = None if laws[0].scale is None else np.array([law.scale for law in laws])[:, None]
        return cls(np.array([law.constants for law in laws]), 1.0, laws[0].places, scale)

    def into(self, states: np.ndarray) -> np.ndarray:
        """Return the entries of states (…, n) that the right-hand side sees, rescaled."""
        inside = states if self.places is None else states[..., self.places]
        return inside if self.scale is None else inside * self.scale

    def back(self, inside: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Return states (…, n) whose entries that the right-hand side sees are ``inside``."""
        if self.scale is not None:
            inside = inside * (1.0 / self.scale)
        if self.places is None:
            return inside
        changed = np.broadcast_to(states, (*inside.shape[:-1], states.shape[-1])).copy()
        changed[..., self.places] = inside
        return changed


class Piece(NamedTuple):
    """A part of a run between two jumps.

    Attributes:
        begin, end: Times α.
        laws: The law, or the laws that are mixed.
        formula: A formula in ``alpha`` that multiplies some of the constants; None for none.
        factored: The places of the constants that it multiplies.
    """

    begin: float
    end: float
    laws: tuple[Law, ...]
    formula: str | None = None
    factored: tuple[int, ...] = ()


class Span(NamedTuple):
    """A piece of a run as it is integrated; times are counted in steps if these are of order one.

    Attributes:
        number: The index of the piece.
        begin: The time at which it begins.
        stops: The times of its states, the last of which is its end.
        wanted: The number of these that are results.
    """

    number: int
    begin: float
    stops: np.ndarray
    wanted: int


def _nothing(number: int) -> np.ndarray:
    del number
    return np.empty(0)


@dataclass(frozen=True)
class Course:
    """The pieces of a run, one after the other; the last one has no end.

    Attributes:
        begin: The flat state at α = 0.
        sizes: The sizes that compiled code is called with.
        pieces: The pieces, at least one.
        state, constants: The packings of states and of constants.
        modes: A function from a state and constants to the coupling of the state's entries.
        shown: The constants with which states are interpreted if laws are mixed.
        step: The time of a step of order one; 0 for a flow.
        clock: The place of the constant that holds the time at which an integration begins, if any.
    """

    begin: np.ndarray
    sizes: np.ndarray
    pieces: tuple[Piece, ...]
    state: Packing
    constants: Packing
    modes: Callable[[np.ndarray, np.ndarray], CoupledModes | None]
    shown: np.ndarray
    step: float = 0.0
    clock: int | None = None

    @cached_property
    def flat(self) -> np.ndarray:
        """The constants of all laws, one after the other."""
        return np.concatenate([law.constants for piece in self.pieces for law in piece.laws])

    @property
    def cuts(self) -> tuple[float, ...]:
        """The times at which something jumps."""
        return tuple(piece.begin for piece in self.pieces[1:])

    @property
    def plain(self) -> bool:
        """True if the run has one piece, with one law that sees the whole state."""
        (first, *others), law = self.pieces, self.pieces[0].laws[0]
        mixed = len(first.laws) > 1 or law.places is not None or law.scale is not None
        return not (others or mixed or first.formula)

    def same(self, other: Course) -> bool:
        """Return whether another course has the same cuts, steps and laws but for constants."""
        laws, others = (
            [law for piece in each.pieces for law in piece.laws] for each in (self, other)
        )
        return (
            self.step == other.step
            and len(self.cuts) == len(other.cuts)
            and np.allclose(self.cuts, other.cuts, rtol=1e-12, atol=0.0)
            and len(laws) == len(others)
            and all(
                _equal(one.scale, two.scale) and one.share == two.share
                for one, two in zip(laws, others, strict=True)
            )
        )

    def laws_of(self, number: int) -> range:
        """Return the indices of a piece's laws among the laws of all pieces."""
        first = sum(len(piece.laws) for piece in self.pieces[:number])
        return range(first, first + len(self.pieces[number].laws))

    def seen(self, alpha: np.ndarray) -> np.ndarray:
        """Return the times of results; with steps of order one, those of the nearest steps."""
        return np.rint(alpha / self.step) * self.step if self.step else alpha

    def number_at(self, alpha: float) -> int:
        """Return the index of the piece at a time.

        At a jump, a flow belongs to the piece before it, and steps of order one to that after it.
        """
        cuts = [self._end(piece) for piece in self.pieces[:-1]]
        if self.step:
            return int(np.searchsorted(cuts, round(alpha / self.step), side="right"))
        return int(np.searchsorted(cuts, alpha, side="left"))

    def held(self, alpha: np.ndarray) -> np.ndarray:
        """Return the constants at times, shape (P, constants), of a course without mixtures."""
        numbers = [self.number_at(float(time)) for time in alpha]
        return np.array([piece.laws[0].constants for piece in self.pieces])[numbers]

    def _end(self, piece: Piece) -> float:
        """Return the end of a piece, counted in steps if these are of order one."""
        if not self.step or math.isinf(piece.end):
            return piece.end
        return math.ceil(piece.end / self.step - 1e-9)

    def spans(self, asked: np.ndarray, since: float = 0.0) -> Iterator[Span]:
        """Yield the spans of a run that begins at a time, for results at ascending times α."""
        times = np.rint(asked / self.step) if self.step else asked
        now = round(since / self.step) if self.step else since
        last, begun = float(times[-1]), False
        for number, piece in enumerate(self.pieces):
            whole = number == len(self.pieces) - 1
            end = last if whole else min(last, self._end(piece))
            if end <= now and (begun or end < last):
                continue
            wanted = times[(times > now) & (times <= end)]
            if not begun:
                wanted = np.concatenate([times[times == now], wanted])
            ends = wanted.size > 0 and wanted[-1] == end
            yield Span(number, now, wanted if ends else np.append(wanted, end), wanted.size)
            now, begun = end, True

    def walk(
        self,
        asked: np.ndarray,
        right_hand_side: RightHandSide,
        state: np.ndarray | None = None,
        since: float = 0.0,
        behind: Callable[[int], np.ndarray] = _nothing,
        further: tuple[int, ...] = (),
    ) -> Walk:
        """Yield the problem of each piece and receive its result; return the whole run.

        Args:
            asked: Ascending times α.
            right_hand_side: The rates of the state and of the derivatives that follow it.
            state: The initial state, with derivatives; that of the course by default.
            since: The time α at which the run begins.
            behind: A function from the index of a law to the numbers that follow its constants.
            further: Places of those of these numbers that a formula multiplies.
        """
        unit, parts = self.step or 1.0, list[FlatResult]()
        state = self.begin if state is None else state
        for span in self.spans(asked, since):
            piece, now = self.pieces[span.number], span.begin
            problem = self._problem(
                span.number, right_hand_side, state, now * unit, behind, further
            )
            result = yield replace(problem, asked=span.stops - now), now * unit
            rows, state = (
                self._back(piece, each, state) for each in (result.results, result.last_state)
            )
            parts.append(
                replace(
                    result,
                    results=rows[: span.wanted],
                    reached=min(len(rows), span.wanted),
                    last_state=state,
                    last_alpha=now * unit + result.last_alpha,
                )
            )
            if result.cause != "done":
                break
        return _joined(parts)

    def _problem(
        self,
        number: int,
        right_hand_side: RightHandSide,
        state: np.ndarray,
        begin: float,
        behind: Callable[[int], np.ndarray],
        further: tuple[int, ...],
    ) -> FlatProblem:
        """Return the initial value problem of a piece that begins at a state and a time."""
        piece, laws = self.pieces[number], self.laws_of(number)
        copies, rhs = state.size // self.begin.size, right_hand_side
        packed = [
            np.concatenate([law.constants, behind(n)])
            for n, law in zip(laws, piece.laws, strict=True)
        ]
        if self.clock is not None:
            packed[0][self.clock] = begin
        first, constants, inside = piece.laws[0], packed[0], state
        if piece.formula is not None:
            # every solve reads this module, and few have formulas or mixtures
            from symderiv.integrate.flows.combined import scheduled

            rhs = scheduled(rhs, piece.formula, (*piece.factored, *further))
            packed = [np.append(each, begin) for each in packed]
            constants = packed[0]
        if len(piece.laws) > 1:
            from symderiv.integrate.flows.combined import mixed

            rhs = mixed(rhs, len(packed), self.shown.size)
            told = [
                np.concatenate([_seen(law, copies, self.begin.size), own])
                for law, own in zip(piece.laws, packed, strict=True)
            ]
            seen = copies * (self.begin.size if first.places is None else first.places.size)
            constants = np.concatenate([self.shown, [seen], *told])
        else:
            inside = first.into(state.reshape(copies, -1)).ravel()
        modes = self.modes(inside[: inside.size // copies], first.constants)
        modes = modes.repeated(copies) if modes and copies > 1 else modes
        return FlatProblem(rhs, inside, self.sizes, constants, np.empty(0), modes, self.step)

    def _back(self, piece: Piece, inside: np.ndarray, state: np.ndarray) -> np.ndarray:
        """Return results of a piece's integration as states of the run."""
        first, copies = piece.laws[0], state.size // self.begin.size
        if len(piece.laws) > 1 or (first.places is None and first.scale is None):
            return inside
        lead, size = inside.shape[:-1], inside.shape[-1] // copies
        rows = first.back(inside.reshape(*lead, copies, size), state.reshape(copies, -1))
        return rows.reshape(*lead, state.size)

    def slope(self, alpha: float, state: np.ndarray, right_hand_side: RightHandSide) -> np.ndarray:
        """Return the time derivative of a state at a time."""
        piece, rates = self.pieces[self.number_at(alpha)], np.zeros_like(state)
        for law in piece.laws:
            inside, constants, rhs = law.into(state), law.constants.copy(), right_hand_side
            if self.clock is not None:
                constants[self.clock] = alpha
            if piece.formula is not None:
                from symderiv.integrate.flows.combined import scheduled

                rhs = scheduled(rhs, piece.formula, piece.factored)
                constants = np.append(constants, alpha)
            change = np.empty_like(inside)
            rhs(0.0, inside, self.sizes, constants, change)
            rates += law.share * law.back(change, np.zeros_like(state))
        return rates


class Goal(NamedTuple):
    """The times and tolerances that are asked of a run.

    Attributes:
        alpha: The times of results.
        relative_tolerance, absolute_tolerance: The tolerances of the results.
        method: The kinds of steps; see :mod:`symderiv.integrate.flows.implicit_run`.
    """

    alpha: np.ndarray
    relative_tolerance: float = 1e-9
    absolute_tolerance: float = 1e-14
    method: str = "auto"

    @classmethod
    def asked(cls, alpha: np.ndarray, relative: float, absolute: float = 1e-14) -> Goal:
        """Return the goal for tolerances given by a user, in the ranges that studies allow.

        Raises:
            InputError: A tolerance is not a number of its range.
        """
        Time.model_construct(relative_tolerance=relative, absolute_tolerance=absolute)
        return cls(alpha, relative, absolute)


class PiecewiseRun(ABC):
    """Base of runs along a course that are integrated to tolerances.

    Attributes:
        checkpoint: The file from which integrations resume; None without one.
    """

    checkpoint: Checkpoint | None

    @property
    @abstractmethod
    def goal(self) -> Goal:
        """The times and tolerances that are asked for."""

    @property
    @abstractmethod
    def course(self) -> Course:
        """The pieces of the run."""

    @property
    @abstractmethod
    def right_hand_side(self) -> RightHandSide:
        """The compiled rates of states, or the changes in one step of order one."""

    @property
    @abstractmethod
    def extent(self) -> tuple[str, str]:
        """The size of the results in words, and the argument that determines it."""

    def check_memory(self) -> None:
        """Refuse a run whose results do not fit into memory."""
        # two runs are compared, and arrays are made of the better one
        rows, (words, argument) = _STAGES + 3 * self.goal.alpha.size, self.extent
        check_memory(8.0 * self.course.begin.size * rows, words, argument=argument)

    @abstractmethod
    def errors(self, result: FlatResult, alpha: np.ndarray | None = None) -> np.ndarray:
        """Return the generalisation error at every row of a result, or zeros if there is none.

        Args:
            result: The states.
            alpha: The times of the states; those of the run when left out.
        """

    @abstractmethod
    def shaken(self, result: FlatResult, size: float, seed: int) -> PiecewiseRun:
        """Return the run from an initial state with small random changes.

        Args:
            result: The run as it was; symmetries that it kept to the last bit are kept.
            size: The size of the changes, relative to the largest entries along the run.
            seed: The seed of the random numbers.
        """

    @abstractmethod
    def compared(self, rows: np.ndarray) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """Yield the arrays whose errors are measured at flat states, each with its scale."""

    def apart(self, first: FlatResult, second: FlatResult) -> float:
        """Return the largest difference of two runs at common times, in scales of the second.

        Where a result is missing there is nothing to compare.
        """
        common, worst = min(first.reached, second.reached), 0.0
        missing = np.isnan(np.hstack([run.results[:common] for run in (first, second)]))
        known = ~missing.any(axis=1)
        if not np.any(known):
            return math.inf
        ours, theirs = (self.compared(run.results[:common][known]) for run in (first, second))
        with np.errstate(over="ignore", invalid="ignore"):  # if runs diverge
            for (one, _), (other, scale) in zip(ours, theirs, strict=True):
                apart = np.abs(one - other) / np.where(scale > 0, scale, 1.0)
                worst = float(np.maximum(worst, np.max(apart, initial=0.0)))
        return worst

    def looser(self, tolerance: float, times: float) -> float:
        """Return a tolerance that is ``times`` larger, but not above the largest useful one.

        Steps of order one have no tolerance: only rounding makes a worse run of them worse.
        """
        looser = max(tolerance, min(times * tolerance, _LOOSEST))
        return tolerance if self.course.step else looser

    def least_tolerance(self, result: FlatResult | None = None) -> float:
        """Return the smallest tolerance that steps can keep, in a given run or at its start."""
        if result is not None and self.course.step:
            return math.inf
        implicit = self.goal.method == "implicit" if result is None else IMPLICIT in result.method
        return LEAST_TOLERANCE if implicit else 1e-14

    def step_limits(
        self, tolerance: float, most: int = 100_000_000, between: float = math.inf
    ) -> StepLimits:
        """Return limits of steps whose absolute tolerance is scaled as the relative one."""
        absolute = self.goal.absolute_tolerance * tolerance / self.goal.relative_tolerance
        # rounding and the tolerance may move a matrix on the edge of the cone just outside
        return StepLimits(tolerance, absolute, min(1e-2, 1e-10 + 1e3 * tolerance), most, between)

    def run(
        self,
        tolerance: float,
        most: int,
        progress: Progress | None,
        between: float = math.inf,
        followed: Sequence[np.ndarray] = (),
    ) -> FlatResult:
        """Integrate with a relative tolerance, in at most so many steps and with at most so many
        evaluations for results ``between`` them.

        Implicit steps are longer than those of another run that is ``followed``, piece by piece.
        """
        self.check_memory()
        pieces = self.course.walk(self.goal.alpha, self.right_hand_side)
        limits = self.step_limits(tolerance, most, between)
        return driven(pieces, self.goal.method, limits, progress, self.checkpoint, followed)


def driven(
    walk: Walk,
    method: str,
    limits: StepLimits,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
    followed: Sequence[np.ndarray] = (),
) -> FlatResult:
    """Integrate a run piece by piece, and return it whole.

    Args:
        walk: The generator that :meth:`Course.walk` returns.
        method, limits, progress, checkpoint: See
            :func:`symderiv.integrate.flows.implicit_run.integrate`; the numbers of steps and of
            evaluations are those of all pieces together.
        followed: The lengths of another run, see :class:`FlatResult`.
    """
    (problem, begin), left, between = next(walk), limits.max_steps, limits.between
    for own in chain(followed, repeat(limits.followed)):
        result = integrate(
            method,
            problem,
            replace(limits, max_steps=left, between=between, followed=own),
            progress=_told(progress, begin),
            checkpoint=checkpoint,
        )
        left -= result.steps + result.rejected
        between -= result.between
        try:
            problem, begin = walk.send(result)
        except StopIteration as end:
            whole: FlatResult = end.value
            break
    return whole


def _told(progress: Progress | None, since: float) -> Progress | None:
    """Return progress of a piece that is reported in times of the whole run."""
    if progress is None:
        return None
    watch = progress
    return lambda alpha, steps: watch(since + alpha, steps)


def _joined(parts: list[FlatResult]) -> FlatResult:
    last = parts[-1]
    if len(parts) == 1:
        return last
    return replace(
        last,
        results=np.concatenate([part.results for part in parts]),
        reached=sum(part.reached for part in parts),
        steps=sum(part.steps for part in parts),
        rejected=sum(part.rejected for part in parts),
        rhs_evaluations=sum(part.rhs_evaluations for part in parts),
        error_sum=sum(part.error_sum for part in parts),
        between=sum(part.between for part in parts),
        lengths=tuple(own for part in parts for own in part.lengths),
    )


def _seen(law: Law, copies: int, size: int) -> np.ndarray:
    """Return a law's probability, then places and factors of what it sees, in all copies.

    The copies are the state and the derivatives that follow it.
    """
    own = np.arange(size) if law.places is None else law.places
    scale = np.ones(own.size) if law.scale is None else law.scale
    places = [own + copy * size for copy in range(copies)]
    return np.concatenate([[law.share], *places, np.tile(scale, copies)])


def _equal(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))
