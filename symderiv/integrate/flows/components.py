r"""Inputs of several components with a common eigenbasis: the averaged equations.

An example comes from component c with probability p_c and has the eigenvalues ρ_k^c; the teacher
sees the inputs. The order parameters per eigenspace are the means over its coordinates of J J, J B
and B B, which all components share. Each component has its own Q^c, R^c, T^c, hence its own
gradients and noise, from the functions of the generated module; the rates are their averages:

    dQ_k = Σ_c p_c [-η ρ_k^c (A^c Q_k + B^c s_kᵀ + transpose) + η² ρ_k^c Γ^c],
    ds_k = -η Σ_c p_c ρ_k^c (A^c s_k + B^c b_k).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.packing import Packing
from symderiv.inputs import DataModel
from symderiv.integrate.flows.compression import Mode
from symderiv.integrate.flows.flat_run import FlatResult, Progress
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.steppers.walk import (
    DONE,
    INTERRUPTED,
    NOT_A_NUMBER,
    RUNNING,
    STEP_LIMIT,
    STEP_UNDERFLOW,
)
from symderiv.problem.flat_layout import pack_state, split_flat
from symderiv.problem.state import State
from symderiv.problem.study import Study
from symderiv.storage.kernels import Kernel

__all__ = ["ComponentsFlow", "components_flow"]

_PROGRESS_SECONDS = 0.1
# SciPy's steps keep a mean over all overlaps, and exceed it at the largest one; no less than 3e-14.
_TIGHTER, _LEAST = 10.0, 3e-13


def components_flow(study: Study, kernel: Kernel, state: State, data: DataModel) -> ComponentsFlow:
    """Return the flow of a study whose inputs have several components.

    Args:
        study: The study.
        kernel: Its solver module.
        state: Overlaps at the averaged eigenvalues.
        data: At least two components.

    Raises:
        InputError: The study asks for what is not there for several components.
    """
    if study.time.method == "implicit" or study.time.compression == "on":
        raise InputError(
            "inputs of several components need explicit steps and all eigenvalues",
            argument="time",
        )
    return ComponentsFlow(study, kernel, state, None, data)


def rates_of_components(
    study: Study, kernel: Kernel, state: State, data: DataModel
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Time derivatives of Q_k (L, K, K), r_k (L, K, M), v (K) at a state, and the error there."""
    flow = ComponentsFlow(study, kernel, state, None, data)
    students, cross, dv = flow.split(flow.rates(0.0, flow.begin))
    return students, cross, dv, flow.error(flow.begin)


@dataclass(frozen=True)
class ComponentsFlow(Flow):
    """The averaged equations, integrated by SciPy's DOP853."""

    data: DataModel | None = None

    @property
    def compression(self) -> Mode:
        """All eigenvalues are kept."""
        return "off"

    @property
    def follows_tolerance(self) -> bool:
        """Errors of rounding in averaged rates, which are many sums, do not go with tolerances."""
        return False

    def least_tolerance(self, result: FlatResult | None = None) -> float:
        """Return the smallest tolerance that SciPy's steps follow."""
        return _LEAST

    @cached_property
    def _parts(self) -> DataModel:
        assert self.data is not None
        return self.data

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """ρ_k^c, shape (C, L)."""
        return np.stack([component.eigenvalue for component in self._parts.components])

    @cached_property
    def probabilities(self) -> np.ndarray:
        return np.array([component.probability for component in self._parts.components])

    @cached_property
    def mean(self) -> np.ndarray:
        """The averaged eigenvalues, shape (L, 1, 1)."""
        return self._parts.average().eigenvalue[:, None, None]

    @cached_property
    def teachers(self) -> np.ndarray:
        """Means of B B, shape (L, M, M); 0 where no component has inputs."""
        means: np.ndarray = _divided(self.state.teacher_overlap, self.mean**2)
        return means

    @cached_property
    def teacher_weights(self) -> np.ndarray:
        """Output weights of the teacher, shape (M,)."""
        packing = Packing.of(self.layout, "parameters", M=self.state.M, L=self.state.L)
        return packing.views(self.parameters)["v_teacher"].copy()

    def split(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        Q, s, v = split_flat(flat, self.state.K, self.state.M, self.state.L)
        return np.ascontiguousarray(Q), np.ascontiguousarray(s), v.copy()

    def fields(self, c: int, Q: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, ...]:
        """Q^c, R^c, T^c."""
        variance = self.state.weight * self.eigenvalues[c]
        return tuple(np.einsum("k,kij->ij", variance, part) for part in (Q, s, self.teachers))

    @cached_property
    def _gradients(self) -> Callable[..., Any]:
        """The mean gradients at the fields of one component."""
        return self.kernel.function("gradients")

    @cached_property
    def _noise(self) -> Callable[..., Any]:
        """The covariance of gradients there."""
        return self.kernel.function("noise")

    def rates(self, _: float, flat: np.ndarray) -> np.ndarray:
        study = self.study
        K, M = self.state.K, self.state.M
        Q, cross, v = self.split(flat)
        s = _divided(cross, self.mean)
        eta, full = study.training.learning_rate, study.training.order == "full"
        dQ, ds = np.zeros_like(Q), np.zeros_like(s)
        dv = np.zeros(K)
        A, B, slope, noise = np.empty((K, K)), np.empty((K, M)), np.empty(K), np.zeros((K, K))
        v_teacher = self.teacher_weights
        for c, probability in enumerate(self.probabilities):
            Qc, Rc, Tc = self.fields(c, Q, s)
            self._gradients(Qc, Rc, Tc, v, v_teacher, A, B, slope)
            rho = probability * self.eigenvalues[c][:, None, None]
            force = -eta * rho * (A @ Q + B @ s.swapaxes(1, 2))
            dQ += force + force.swapaxes(1, 2)
            ds -= eta * rho * (A @ s + B @ self.teachers)
            dv -= study.second_layer_learning_rate * probability * slope
            if full:
                self._noise(Qc, Rc, Tc, v, v_teacher, study.training.label_noise, noise)
                dQ += eta**2 * rho * noise
        decay = study.training.weight_decay
        dQ -= 2.0 * decay * Q
        ds -= decay * s
        dv -= study.second_layer_weight_decay * v
        return pack_state(dQ, self.mean * ds, dv)

    def run(self, tolerance: float, most: int, progress: Progress | None) -> FlatResult:
        """Integrate in at most so many steps; the absolute tolerance goes with the relative one."""
        from scipy.integrate import DOP853

        self.check_memory()
        asked, alpha = self.study.time, self.study.alpha
        results, reached = np.empty((alpha.size, self.begin.size)), 0
        if alpha[0] == 0.0:
            results[0], reached = self.begin, 1
        code, steps = RUNNING, 0
        if not np.all(np.isfinite(self.rates(0.0, self.begin))):
            code = NOT_A_NUMBER
        elif reached == alpha.size:
            code = DONE
        relative = tolerance / _TIGHTER
        absolute = asked.absolute_tolerance * relative / asked.relative_tolerance
        solver = DOP853(self.rates, 0.0, self.begin, float(alpha[-1]), rtol=relative, atol=absolute)
        told = time.perf_counter()
        try:
            while code == RUNNING:
                if steps >= most:
                    code = STEP_LIMIT
                    break
                solver.step()
                if solver.status == "failed":
                    code = STEP_UNDERFLOW
                    break
                steps += 1
                inside: Any = solver.dense_output() if alpha[reached] <= solver.t else None
                while reached < alpha.size and alpha[reached] <= solver.t:
                    results[reached] = inside(alpha[reached])
                    reached += 1
                if solver.status == "finished":
                    code = DONE
                if progress is not None and time.perf_counter() - told > _PROGRESS_SECONDS:
                    progress(float(solver.t), steps)
                    told = time.perf_counter()
        except KeyboardInterrupt:
            code = INTERRUPTED
        return FlatResult(
            results=results[:reached],
            reached=reached,
            last_alpha=float(solver.t),
            last_state=np.array(solver.y),
            code=code,
            steps=steps,
            rejected=0,
            rhs_evaluations=int(solver.nfev),
            # SciPy keeps its estimates to itself; each is at most the tolerance
            error_sum=steps * relative,
        )

    def errors(self, result: FlatResult, alpha: np.ndarray | None = None) -> np.ndarray:
        del alpha
        return np.array([self.error(row) for row in result.results])

    def error(self, flat: np.ndarray) -> float:
        """Return that of one flat state: the mean over components."""
        Q, cross, v = self.split(flat)
        s, total = _divided(cross, self.mean), 0.0
        for c, probability in enumerate(self.probabilities):
            error = self.kernel.generalization_error(*self.fields(c, Q, s), v, self.teacher_weights)
            total += float(probability * error)
        return total


def _divided(values: np.ndarray, by: np.ndarray) -> Any:
    return np.divide(values, by, out=np.zeros_like(values), where=by > 0.0)
