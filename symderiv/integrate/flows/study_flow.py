"""A study with the state to start from, as the compiled code wants it, and its integration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from symderiv_kernels.layout import LAYOUT

from symderiv.foundation.limits import check_memory
from symderiv.integrate.flows.compression import Mode
from symderiv.integrate.flows.flat_run import FlatProblem, FlatResult, Progress, StepLimits
from symderiv.integrate.flows.implicit_run import LEAST_TOLERANCE, integrate
from symderiv.integrate.flows.layout_modes import modes_of_layout
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.integrate.steppers.coupled_modes import CoupledModes
from symderiv.integrate.steppers.run_code import RunCode, keep_code, run_code
from symderiv.integrate.steppers.walk import IMPLICIT
from symderiv.problem.flat_layout import fields_of, pack_parameters, sizes_of
from symderiv.problem.state import State
from symderiv.problem.study import Study
from symderiv.storage.checkpoint import Checkpoint
from symderiv.storage.kernels import Kernel

if TYPE_CHECKING:
    from symderiv.learning.rule.learning_rule import LearningRule

__all__ = ["Flow", "flat_parameters", "looser_tolerance"]

# Steps with larger tolerances follow none.
_LOOSEST = 0.1

# Vectors of the size of the state that a stepper works with.
_STAGES = 20


def looser_tolerance(tolerance: float, times: float) -> float:
    """Return a tolerance so many times larger, which steps still follow."""
    return max(tolerance, min(times * tolerance, _LOOSEST))


@dataclass(frozen=True)
class Flow:
    """A study with the state to start from, as the compiled code wants it."""

    study: Study
    kernel: Kernel
    state: State
    checkpoint: Checkpoint | None = None

    @property
    def layout(self) -> Mapping[str, Any]:
        """Layout of the flat vectors."""
        layout: Mapping[str, Any] = LAYOUT
        return layout

    @property
    def learning_rule(self) -> LearningRule | None:
        """The rule for which the module is derived; None for plain descent."""
        return None

    @property
    def fixed_bias(self) -> float:
        """The largest bias, in modulus, of those that are not trained."""
        return 0.0

    @property
    def compression(self) -> Mode:
        """Mode of the compression of the spectrum: ``"on"``, ``"off"`` or ``"auto"``."""
        return self.study.time.compression

    @property
    def follows_tolerance(self) -> bool:
        """True if errors of explicit steps go with tolerances."""
        return True

    def looser(self, tolerance: float, times: float) -> float:
        """Return a tolerance so many times larger, of a run that is worse."""
        return looser_tolerance(tolerance, times)

    def least_tolerance(self, result: FlatResult | None = None) -> float:
        """Return the smallest tolerance that steps still follow: of a run, or to begin with."""
        implicit = (
            self.study.time.method == "implicit" if result is None else IMPLICIT in result.method
        )
        return LEAST_TOLERANCE if implicit else 1e-14

    @cached_property
    def sizes(self) -> np.ndarray:
        return sizes_of(self.state.K, self.state.M, self.state.L)

    @cached_property
    def parameters(self) -> np.ndarray:
        """The constants of the run."""
        return flat_parameters(self.study, self.state)

    @cached_property
    def begin(self) -> np.ndarray:
        """The flat state at alpha = 0."""
        return self.state.flat()

    @cached_property
    def code(self) -> RunCode:
        """The compiled functions that are called."""
        return run_code(self.kernel, self.state.K, self.state.M)

    def mean_warnings(self, trajectory: Trajectory) -> list[str]:
        """Return lines on the means that a run was made with, where they have errors of its own."""
        del trajectory
        return []

    def run(self, tolerance: float, most: int, progress: Progress | None) -> FlatResult:
        """Integrate in at most so many steps; the absolute tolerance goes with the relative one."""
        self.check_memory()
        rhs, start, asked = self.code.right_hand_side, self.begin, self.study.alpha
        return integrate(
            self.study.time.method,
            FlatProblem(
                rhs, start, self.sizes, self.parameters, asked, self.modes(start, self.parameters)
            ),
            self.step_limits(tolerance, most),
            progress=progress,
            checkpoint=self.checkpoint,
        )

    def modes(self, begin: np.ndarray, parameters: np.ndarray) -> CoupledModes:
        """Return how a flat state is coupled, of a run with these constants."""
        return modes_of_layout(self.layout, self.sizes, parameters, begin.size)

    def step_limits(self, tolerance: float, most: int) -> StepLimits:
        """Tolerances of steps, the absolute one with the relative one, and their number."""
        asked = self.study.time
        absolute = asked.absolute_tolerance * tolerance / asked.relative_tolerance
        # rounding and the tolerance may put a matrix on the edge of the cone just outside
        return StepLimits(tolerance, absolute, min(1e-2, 1e-10 + 1e3 * tolerance), most)

    def keep_code(self) -> None:
        """Keep the compiled code for the next process."""
        if "code" in self.__dict__:
            keep_code(self.kernel, self.state.K, self.state.M, self.code)

    def check_memory(self) -> None:
        """Refuse a run whose results do not fit into memory."""
        # two runs are compared, and the better one is taken apart
        check_memory(
            8.0 * self.begin.size * (_STAGES + 3 * self.study.alpha.size),
            f"{self.study.alpha.size} points of {self.state.L} eigenvalues, {self.state.K} "
            f"students and {self.state.M} teachers",
            argument="time.points",
        )

    def errors(self, result: FlatResult) -> np.ndarray:
        """Return the generalisation error at every row of a result."""
        state, error = self.state, self.code.generalization_error
        _, _, v, Q, R = fields_of(result.results, state.weight, state.eigenvalue, state.K, state.M)
        # compiled functions take writable arrays in C order
        T, v_teacher = state.T.copy(), state.teacher_weights.copy()
        rows = zip(Q, np.ascontiguousarray(R), np.ascontiguousarray(v), strict=True)
        return np.array([error(*row[:2], T, row[2], v_teacher) for row in rows])

    def further(self, result: FlatResult) -> dict[str, np.ndarray]:
        """Return what else is known at every row of a result, by its name in ``RUN.nc``."""
        return {}


def flat_parameters(study: Study, state: State) -> np.ndarray:
    """Return the constants of a run in the layout of the generated modules."""
    training = study.training
    return pack_parameters(
        state.eigenvalue,
        state.weight,
        state.teacher_overlap,
        state.teacher_covariance,
        state.teacher_weights,
        {
            "learning_rate": training.learning_rate,
            "second_layer_learning_rate": study.second_layer_learning_rate,
            "weight_decay": training.weight_decay,
            "second_layer_weight_decay": study.second_layer_weight_decay,
            "label_noise": training.label_noise,
            "full_order": 1.0 if training.order == "full" else 0.0,
        },
    )
