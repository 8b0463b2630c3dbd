"""Runs of a system, whose errors are measured as those of studies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from time import process_time

import numpy as np

from symderiv.foundation.errors import warn_caller
from symderiv.integrate.flows.courses import Course, Goal, Law, Piece, PiecewiseRun, RightHandSide
from symderiv.integrate.flows.flat_run import FlatResult, Progress
from symderiv.integrate.flows.run_errors import (
    first_tolerance,
    measured,
    missing_warnings,
    why_missed,
)
from symderiv.system.closed_motion import BEGIN, overlap_name, scalar_name
from symderiv.system.means_extent import LONG, RunOfMeans
from symderiv.system.system_trajectory import SystemRun
from symderiv.system.varied_system import SystemPoint


@dataclass(frozen=True)
class PointRun(PiecewiseRun):
    """A run of a system.

    Attributes:
        point: The equations, and where the run begins.
        asked: The times and tolerances of the run.
    """

    point: SystemPoint
    asked: Goal
    checkpoint: None = field(default=None, init=False)

    @property
    def goal(self) -> Goal:
        return self.asked

    @cached_property
    def course(self) -> Course:
        point, layout = self.point, self.point.solver.layout
        cuts, pieces = [0.0, *layout.jumps(point.parameters)], []
        for start, end in pairwise([*cuts, math.inf]):
            inside = (start + end) / 2 if end < math.inf else start + 1.0
            held = layout.at_time(point.constants, inside, point.parameters)
            pieces.append(Piece(start, end, (Law(held),)))
        constants = layout.packing("parameters")
        clock = constants.slices.get(BEGIN)
        return Course(
            point.state,
            layout.sizes,
            tuple(pieces),
            layout.packing("state"),
            constants,
            lambda _, held: point.solver.modes(held),
            point.constants,
            1.0 if point.solver.closed.equations.by_steps else 0.0,
            None if clock is None else clock.start,
        )

    @property
    def right_hand_side(self) -> RightHandSide:
        return self.point.solver.right_hand_side

    @property
    def extent(self) -> tuple[str, str]:
        words = f"{self.goal.alpha.size} points of {self.point.state.size} order parameters"
        return words, "alpha"

    def errors(self, result: FlatResult, alpha: np.ndarray | None = None) -> np.ndarray:
        del alpha
        return np.zeros(len(result.results))

    def shaken(self, result: FlatResult, size: float, seed: int) -> PointRun:
        """Return the run from a perturbed start: every moving vector gets random parts of all
        others.

        Numbers that stay equal along the run are perturbed equally, and those that stay zero are
        not. Overlaps that are not integrated count as zero.
        """
        layout = self.point.solver.layout
        rows = self.point.state[None]
        if result.cause == "done":  # lengths are meaningless if it diverges
            rows = np.vstack([rows, result.results, result.last_state])
        largest, rng = np.max(np.abs(rows), axis=0), np.random.default_rng([seed, rows.shape[1]])
        change = size * largest * rng.standard_normal(largest.size)  # for slow scalars
        begin, ends, moving = (layout.packing("state").views(a) for a in (rows[0], largest, change))
        vectors = layout.statement.vectors
        fixed = layout.packing("parameters").views(self.point.constants)
        names, nothing = layout.pair_names(vectors), np.zeros(layout.classes)
        none = dict.fromkeys(chain(*names), nothing)
        gram, most = (layout.gram(vectors, none | fixed | known) for known in (begin, ends))
        lengths = np.sqrt(np.abs(np.diagonal(most, axis1=1, axis2=2)))
        parts = size * lengths[:, :, None] * rng.standard_normal(gram.shape)
        parts *= np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)[:, None]
        parts[:, [n for n, each in enumerate(vectors) if each.fixed]] = 0.0
        turned = np.eye(len(vectors)) + parts
        moved = turned @ gram @ np.swapaxes(turned, 1, 2) - gram
        for i, row in enumerate(names):
            for j, name in enumerate(row):
                if name in moving:
                    moving[name][...] = moved[:, i, j]
        _, same = np.unique(rows, axis=1, return_inverse=True)
        same = same.ravel()
        change = (np.bincount(same, change) / np.bincount(same))[same]
        begun = np.where(largest > 0, self.point.state + change, 0.0)
        return replace(self, point=replace(self.point, state=begun))

    def compared(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        yield rows, self._scales(rows)

    def _scales(self, rows: np.ndarray) -> np.ndarray:
        """Return the scales of state entries: for an overlap the product of the largest lengths in
        its two families, for scalars the largest of the family.
        """
        layout, scales = self.point.solver.layout, np.zeros_like(rows)
        state = layout.packing("state").views(rows)
        known = layout.fields(rows, self.point.constants)
        lengths: dict[str, np.ndarray] = {}
        for each in layout.statement.vectors:
            square = known.get(overlap_name((each, each)))
            if square is not None:
                before = lengths.get(each.family, 0.0)
                lengths[each.family] = np.maximum(before, np.max(np.abs(square), axis=-1))
        fields = layout.packing("state").views(scales)
        for a, b in layout.closed.moving:
            name = overlap_name((a, b))
            one, other = (
                lengths.get(each.family, np.max(np.abs(state[name]), axis=-1)) for each in (a, b)
            )
            fields[name][...] = (np.sqrt(one) * np.sqrt(other))[:, None]
        for members in layout.scalars.values():
            names = [scalar_name(each) for each in members]
            largest = np.max([np.abs(state[name]) for name in names], axis=0)
            for name in names:
                fields[name][...] = largest
        return scales

    def _begin(self) -> None:
        """Evaluate the rates at the start, and warn if this takes long.

        Raises:
            NotYetError: A mean by quadrature would take too many points there.
        """
        _ = self.right_hand_side  # compiles
        begun = process_time()
        self.point.solver.slope(self.point.state, self.course.held(np.zeros(1))[0], 0.0)
        once = process_time() - begun
        if once > LONG:
            warn_caller(
                f"rates take {once:.1f} seconds at the start, and a run needs hundreds of them: "
                "means over several fields take fewer points of smaller scalars and overlaps"
            )

    def solved(self, max_steps: int = 100_000_000, progress: Progress | None = None) -> SystemRun:
        """Return the trajectory, or the steps that are nearest to the times.

        Raises:
            NotYetError: A mean by quadrature would take too many points at the start.
        """
        solver, layout = self.point.solver, self.point.solver.layout
        self._begin()
        first = self.run(first_tolerance(self, "auto"), max_steps, progress)
        best = measured(self, first, self.errors(first), "auto", [first], max_steps, progress)
        rows, names = best.result, layout.shown(self.point.given)
        times = self.goal.alpha[: rows.reached]
        values = layout.unpacked(rows.results, self.point.constants, names)
        held = self.course.held(times)
        values |= solver.observed(rows.results, held, times)
        # runs start at a state, also if no result was asked for there
        passed = np.append(0.0, times)
        states = np.vstack([self.point.state, rows.results])
        means = RunOfMeans(solver, passed, states, self.course.held(passed))
        tolerance = self.goal.relative_tolerance
        missed = best.reached > tolerance and rows.cause == "done"
        return SystemRun(
            times,
            values,
            rows.cause,
            rows.steps,
            rows.rhs_evaluations,
            best.reached,
            layout.parameter_values(self.point.parameters),
            {name: layout.dimensions(name) for name in names},
            attributes=means.attributes,
            missed=why_missed(tolerance, best) if missed else "",
            warnings=(*missing_warnings(self.goal.alpha, rows), *means.warnings(tolerance)),
            error_method=best.method,
        )
