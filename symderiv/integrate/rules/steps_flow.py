"""Runs of batches that grow with the input dimension: a map from step to step."""

from __future__ import annotations

import math

import numpy as np

from symderiv.integrate.flows.flat_run import FlatResult, Progress
from symderiv.integrate.rules.rule_functions import schedule_of
from symderiv.integrate.rules.rule_run import RuleFlow
from symderiv.integrate.steppers.walk import CONE_LEFT, DONE, NOT_A_NUMBER, STEP_LIMIT
from symderiv.keys.study_tables import LEARNING_RATES


class StepsFlow(RuleFlow):
    """Steps of cN examples; between two of them nothing changes, and nothing is integrated."""

    def looser(self, tolerance: float, times: float) -> float:
        """Return the tolerance plays no part: only rounding makes a run worse."""
        del times
        return tolerance

    def least_tolerance(self, result: FlatResult | None = None) -> float:
        """Return a run that is made follows no smaller one."""
        return super().least_tolerance() if result is None else math.inf

    def run(self, tolerance: float, most: int, progress: Progress | None) -> FlatResult:
        """Make as many steps as come nearest to the times; the tolerance plays no part."""
        self.check_memory()
        ratio = float(self.rule.parameters["batch_ratio"])
        wanted = np.rint(self.study.alpha / ratio).astype(np.int64)
        add = self.kernel.right_hand_side_for(self.state.K, self.state.M)
        state, change = self.begin.copy(), np.zeros_like(self.begin)
        constants, factor = self.parameters.copy(), schedule_of(self.study.training.schedule)
        places_of = self.packing("parameters").slices
        rates = [places_of[name].start for name in LEARNING_RATES if name in places_of]
        rows: list[np.ndarray] = []
        made, code = 0, DONE
        for goal in wanted:
            while made < goal and code == DONE:
                constants[rates] = factor(made * ratio) * self.parameters[rates]
                add(made * ratio, state, self.sizes, constants, change)
                state += change
                made += 1
                code = self._checked(state, tolerance, made >= most)
                if progress is not None and made % _SHOWN_EVERY == 0:
                    progress(made * ratio, made)
            if code != DONE:
                break
            rows.append(state.copy())
        return FlatResult(
            results=np.array(rows).reshape(len(rows), state.size),
            reached=len(rows),
            last_alpha=made * ratio,
            last_state=state,
            code=code,
            steps=made,
            rejected=0,
            rhs_evaluations=made,
            error_sum=made * float(np.finfo(float).eps),
            method="steps",
        )

    def _checked(self, state: np.ndarray, tolerance: float, enough: bool) -> int:
        """Return whether a state can be gone on from."""
        if not np.isfinite(state).all():
            return NOT_A_NUMBER
        # here, because numba is loaded by what computes with it
        from symderiv.integrate.steppers.cone import is_outside

        if is_outside(state, self.sizes, self.parameters, 1e-10 + 1e3 * min(tolerance, 1e-5)):
            return CONE_LEFT
        return STEP_LIMIT if enough else DONE


_SHOWN_EVERY = 100
