"""Trajectories in long doubles (64 bits of mantissa), by another integrator than any run has.

The right-hand side is the C export of the equations, with every ``double`` a ``long double``; the
integrator is Gragg's midpoint rule with extrapolation (Hairer, Norsett and Wanner 1993, II.9) to
order 16. What it knows itself is told by a second integration with a larger tolerance.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from symderiv_codegen import print_c

from symderiv.integrate.flows.components import ComponentsFlow
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.rules.phases import PhasedFlow
from symderiv.integrate.steppers.walk import DONE
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.learning.rule.learning_rule import PLAIN, LearningRule
from symderiv.lowering.programs.exported import exported_program
from symderiv.problem.flat_layout import pack_state, split_flat

Rates = Callable[[np.ndarray], np.ndarray]
LONG = np.longdouble

_COLUMNS = 8
_MOST_STEPS = 5_000

# Gragg's midpoint rule over one step, beside the exported equations.
_MIDPOINT = """
void midpoint(
    const double *y, const double *slope, double size, int n, int count, const int *sizes,
    const double *parameters, double *room, double *found
)
{
    double *before = room, *here = room + count, *rate = room + 2 * count, h = size / n;
    for (int c = 0; c < count; ++c) {
        before[c] = y[c];
        here[c] = y[c] + h * slope[c];
    }
    for (int step = 1; step < n; ++step) {
        flat_right_hand_side(0.0, here, sizes, parameters, rate);
        for (int c = 0; c < count; ++c) {
            const double next = before[c] + 2.0 * h * rate[c];
            before[c] = here[c];
            here[c] = next;
        }
    }
    flat_right_hand_side(0.0, here, sizes, parameters, rate);
    for (int c = 0; c < count; ++c) {
        found[c] = 0.5 * (before[c] + here[c] + h * rate[c]);
    }
}
"""


class NoReferenceError(Exception):
    """The reference cannot follow the solution."""


@cache
def library(student: str, teacher: str, rule: LearningRule = PLAIN) -> ctypes.CDLL:
    """The exported equations, compiled with long doubles."""
    text = print_c(exported_program(learning_problem(student, teacher, rule), "exported"))
    text += _MIDPOINT
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    number = r"(?<![\w.])(\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)(?![\w.])"
    text = re.sub(number, r"\1L", text)
    text = text.replace("#include <math.h>", "#include <tgmath.h>")
    text = re.sub(r"\bdouble\b", "long double", text)
    folder = Path(mkdtemp())
    source, built = folder / "exported.c", folder / "exported.so"
    source.write_text(text, encoding="utf-8")
    command = ["gcc", "-O2", "-std=gnu11", "-shared", "-fPIC", "-o", built, source, "-lm"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(built))


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


@dataclass(frozen=True)
class Compiled:
    """Exported equations with their constants: the derivative of a flat state, and a rule."""

    found: ctypes.CDLL
    sizes: np.ndarray
    parameters: np.ndarray

    @classmethod
    def of(cls, found: ctypes.CDLL, sizes: np.ndarray, parameters: np.ndarray) -> Compiled:
        """From doubles."""
        return cls(found, sizes.astype(np.intc), parameters.astype(LONG))

    def __call__(self, y: np.ndarray) -> np.ndarray:
        slope = np.empty_like(y)
        rest = _at(y), _at(self.sizes), _at(self.parameters), _at(slope)
        self.found.flat_right_hand_side(ctypes.c_longdouble(0.0), *rest)
        return slope

    def midpoint(self, y: np.ndarray, slope: np.ndarray, size: np.longdouble, n: int) -> np.ndarray:
        """See :func:`_midpoint`."""
        found, room, length = np.empty_like(y), np.empty(3 * y.size, LONG), np.array([size], LONG)
        self.found.midpoint(
            _at(y),
            _at(slope),
            ctypes.c_longdouble.from_buffer(length),
            n,
            y.size,
            *(_at(each) for each in (self.sizes, self.parameters, room, found)),
        )
        return found


def averaged_rates(flow: ComponentsFlow) -> Rates:
    """The same of inputs of several components: the mean of what each does by itself."""
    state, training = flow.state, flow.study.training
    K, M, L = state.K, state.M, state.L
    found = library(flow.kernel.student_activation, flow.kernel.teacher_activation)
    rho = flow.eigenvalues.astype(LONG)
    probability, mean = flow.probabilities.astype(LONG), flow.mean.astype(LONG)[:, 0, 0]
    weight, w = state.weight.astype(LONG), flow.teacher_weights.astype(LONG)
    seen = np.where(mean > 0, mean, 1)
    beta = state.teacher_overlap.astype(LONG) / seen[:, None, None] ** 2
    eta, eta_v = LONG(training.learning_rate), LONG(flow.study.second_layer_learning_rate)
    decay, decay_v = LONG(training.weight_decay), LONG(flow.study.second_layer_weight_decay)
    noise = ctypes.c_longdouble(training.label_noise)
    A, B, dv = np.empty((K, K), LONG), np.empty((K, M), LONG), np.empty(K, LONG)
    G, full = np.zeros((K, K), LONG), training.order == "full"

    def rates(y: np.ndarray) -> np.ndarray:
        Q, r, v = split_flat(y, K, M, L)
        s, v = r / seen[:, None, None], np.ascontiguousarray(v)
        dQ, ds, change = -2 * decay * Q, -decay * s, -decay_v * v
        for p, own in zip(probability, rho, strict=True):
            each = weight * own
            of = [(each[:, None, None] * part).sum(axis=0) for part in (Q, s, beta)]
            kept = [np.ascontiguousarray(part) for part in of]
            pointers = [_at(part) for part in (*kept, v, w)]
            found.gradients(K, M, *pointers, _at(A), _at(B), _at(dv))
            for k in range(L):
                force = -eta * p * own[k] * (A.dot(Q[k]) + B.dot(s[k].T))
                dQ[k] += force + force.T
                ds[k] -= eta * p * own[k] * (A.dot(s[k]) + B.dot(beta[k]))
            change = change - eta_v * p * dv
            if full:
                found.noise(K, M, *pointers, noise, _at(G))
                dQ += eta**2 * p * own[:, None, None] * G
        return _packed(dQ, ds * mean[:, None, None], change)

    return rates


def _packed(Q: np.ndarray, r: np.ndarray, v: np.ndarray) -> np.ndarray:
    parts = (np.moveaxis(Q, 0, -1).ravel(), np.moveaxis(r, 0, -1).ravel(), v)
    found: np.ndarray = np.concatenate(parts)
    assert found.size == pack_state(Q.astype(float), r.astype(float), v.astype(float)).size
    return found


def long_results(flow: Flow, tolerance: float) -> np.ndarray:
    """The states of a flow at all times of its study.

    Raises:
        NoReferenceError: The solution cannot be followed.
    """
    alpha = flow.study.alpha
    if isinstance(flow, ComponentsFlow):
        return extrapolated(averaged_rates(flow), flow.begin.astype(LONG), alpha, tolerance)
    rule = getattr(flow, "rule", None)
    found = library(
        flow.kernel.student_activation,
        flow.kernel.teacher_activation,
        PLAIN if rule is None else rule.rule,
    )
    if isinstance(flow, PhasedFlow):
        return _in_phases(flow, found, tolerance)
    rates = Compiled.of(found, flow.sizes, flow.parameters)
    return extrapolated(rates, flow.begin.astype(LONG), alpha, tolerance)


def _in_phases(flow: PhasedFlow, found: ctypes.CDLL, tolerance: float) -> np.ndarray:
    """Phase by phase, as the flow cuts and packs them, each piece in long doubles."""

    def segment(
        begin: np.ndarray, parameters: np.ndarray, asked: np.ndarray, *_: object, **__: object
    ) -> FlatResult:
        rates = Compiled.of(found, flow.sizes, parameters)
        rows = extrapolated(rates, begin.astype(LONG), asked, tolerance)
        return FlatResult(rows, len(rows), float(asked[-1]), rows[-1], DONE, 0, 0, 0, 0.0)

    vars(flow)["segment"] = segment
    try:
        return flow.run(tolerance, _MOST_STEPS, None).results
    finally:
        del vars(flow)["segment"]


def extrapolated(
    rates: Rates, y: np.ndarray, times: Sequence[float] | np.ndarray, tolerance: float
) -> np.ndarray:
    """The solution at ascending times from 0; ``tolerance`` is of each step, relative to max |y|.

    Raises:
        NoReferenceError: Steps become tiny, too many, or not a number.
    """
    now, step, rows, taken = 0.0, 0.1, [], 0
    for target in times:
        while now < target:
            last = now + step >= target
            size = target - now if last else step
            made, error = _step(rates, y, LONG(target) - LONG(now) if last else LONG(size))
            taken += 1
            if not error <= tolerance:
                step = size * (0.5 if np.isfinite(error) else 0.1)
                if step < 1e-9 or taken > _MOST_STEPS:
                    raise NoReferenceError(f"at {now}: {error}")
                continue
            y, now = made, float(target) if last else now + size
            if not last or error > 0.01 * tolerance:
                grow = 0.85 * (tolerance / max(error, 1e-30)) ** (1 / 15)
                step = size * min(2.0, max(0.6, grow))
            if taken > _MOST_STEPS:
                raise NoReferenceError(f"at {now}: too many steps")
        rows.append(y)
    return np.array(rows)


def _step(rates: Rates, y: np.ndarray, size: np.longdouble) -> tuple[np.ndarray, float]:
    slope = rates(y)
    table: list[np.ndarray] = []
    for j in range(_COLUMNS):
        n = 2 * (j + 1)
        one = rates.midpoint if isinstance(rates, Compiled) else partial(_midpoint, rates)
        row = [one(y, slope, size, n)]
        for m in range(1, j + 1):
            ratio = LONG(n) / LONG(2 * (j + 1 - m))
            row.append(row[m - 1] + (row[m - 1] - table[m - 1]) / (ratio * ratio - 1))
        table = row
    apart = np.abs(table[-1] - table[-2])
    return table[-1], float(np.max(apart) / max(float(np.max(np.abs(y))), 1e-300))


def _midpoint(
    rates: Rates, y: np.ndarray, slope: np.ndarray, size: np.longdouble, n: int
) -> np.ndarray:
    """A step by Gragg's rule in n parts, smoothed."""
    h = size / n
    before, here = y, y + h * slope
    for _ in range(n - 1):
        before, here = here, before + 2 * h * rates(here)
    found: np.ndarray = (before + here + h * rates(here)) / 2
    return found
