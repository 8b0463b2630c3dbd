"""Trajectories in long doubles (64 bits of mantissa), by another integrator than any run has.

The right-hand side is the C export of the equations, with every ``double`` a ``long double``; the
integrator is Gragg's midpoint rule with extrapolation (Hairer, Norsett and Wanner 1993, II.9) to
order 16. What it knows itself is told by a second integration with a larger tolerance.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from symderiv_codegen import print_c

from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.steppers.memory import DONE
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.learning.rule.learning_rule import PLAIN, LearningRule
from symderiv.lowering.programs.exported import exported_program

LONG = np.longdouble

_COLUMNS = 8
_MOST_STEPS = 40_000

# Gragg's midpoint rule over one step, beside the exported equations.
_MIDPOINT = """
typedef void (*rates)(double, const double *, const int *, const double *, double *);

void midpoint(
    rates own, const double *y, const double *slope, double size, int n, int count,
    const int *sizes, const double *parameters, double *room, double *found
)
{
    double *before = room, *here = room + count, *rate = room + 2 * count, h = size / n;
    for (int c = 0; c < count; ++c) {
        before[c] = y[c];
        here[c] = y[c] + h * slope[c];
    }
    for (int step = 1; step < n; ++step) {
        own(0.0, here, sizes, parameters, rate);
        for (int c = 0; c < count; ++c) {
            const double next = before[c] + 2.0 * h * rate[c];
            before[c] = here[c];
            here[c] = next;
        }
    }
    own(0.0, here, sizes, parameters, rate);
    for (int c = 0; c < count; ++c) {
        found[c] = 0.5 * (before[c] + here[c] + h * rate[c]);
    }
}
"""


# Inputs of several components: the mean of what each does by itself, from its own fields.
# Sizes: K, M, L and the number of components; parameters as :func:`_averaged` packs them.
_AVERAGED = """
static double fields(int L, const double *y, const double *scale, int i)
{
    double sum = 0.0;
    for (int k = 0; k < L; ++k) sum += scale[k] * y[i * L + k];
    return sum;
}

void averaged(
    double alpha, const double *y, const int *sizes, const double *parameters, double *slope
)
{
    const int K = sizes[0], M = sizes[1], L = sizes[2], C = sizes[3];
    const double eta = parameters[0], eta_v = parameters[1], decay = parameters[2];
    const double decay_v = parameters[3], label_noise = parameters[4], full = parameters[5];
    const double *p = parameters + 6, *weight = p + C, *mean = weight + L, *rho = mean + L;
    const double *beta = rho + C * L, *w = beta + M * M * L;
    const double *Q = y, *r = y + K * K * L, *v = r + K * M * L;
    double *dQ = slope, *dr = slope + K * K * L, *dv = dr + K * M * L;
    double A[K * K], B[K * M], G[K * K], change[K], q[K * K], s[K * M], t[M * M], scale[L];
    for (int n = 0; n < K * K * L; ++n) dQ[n] = -2.0 * decay * Q[n];
    for (int n = 0; n < K * M * L; ++n) dr[n] = -decay * r[n];
    for (int n = 0; n < K; ++n) dv[n] = -decay_v * v[n];
    for (int c = 0; c < C; ++c) {
        const double *own = rho + c * L;
        for (int k = 0; k < L; ++k) scale[k] = weight[k] * own[k];
        for (int i = 0; i < K * K; ++i) q[i] = fields(L, Q, scale, i);
        for (int i = 0; i < M * M; ++i) t[i] = fields(L, beta, scale, i);
        for (int k = 0; k < L; ++k) scale[k] = mean[k] > 0.0 ? scale[k] / mean[k] : scale[k];
        for (int i = 0; i < K * M; ++i) s[i] = fields(L, r, scale, i);
        gradients(K, M, q, s, t, v, w, A, B, change);
        for (int n = 0; n < K; ++n) dv[n] -= eta_v * p[c] * change[n];
        if (full != 0.0) noise(K, M, q, s, t, v, w, label_noise, G);
        for (int k = 0; k < L; ++k) {
            const double rate = p[c] * own[k] * eta, seen = mean[k] > 0.0 ? mean[k] : 1.0;
            for (int i = 0; i < K; ++i) {
                for (int j = 0; j < K; ++j) {
                    double force = 0.0;
                    for (int n = 0; n < K; ++n) force += A[i * K + n] * Q[(n * K + j) * L + k];
                    for (int m = 0; m < M; ++m)
                        force += B[i * M + m] * r[(j * M + m) * L + k] / seen;
                    dQ[(i * K + j) * L + k] -= rate * force;
                    dQ[(j * K + i) * L + k] -= rate * force;
                    if (full != 0.0) dQ[(i * K + j) * L + k] += eta * rate * G[i * K + j];
                }
                for (int m = 0; m < M; ++m) {
                    double force = 0.0;
                    for (int n = 0; n < K; ++n)
                        force += A[i * K + n] * r[(n * M + m) * L + k] / seen;
                    for (int n = 0; n < M; ++n)
                        force += B[i * M + n] * beta[(n * M + m) * L + k];
                    dr[(i * M + m) * L + k] -= rate * force * mean[k];
                }
            }
        }
    }
}
"""


class NoReferenceError(Exception):
    """The reference cannot follow the solution."""


@cache
def library(student: str, teacher: str, rule: LearningRule = PLAIN) -> ctypes.CDLL:
    """The exported equations, compiled with long doubles."""
    text = print_c(exported_program(learning_problem(student, teacher, rule), "exported"))
    text += _MIDPOINT + (_AVERAGED if rule == PLAIN else "")
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
    name: str = "flat_right_hand_side"

    @classmethod
    def of(cls, found: ctypes.CDLL, sizes: np.ndarray, parameters: np.ndarray) -> Compiled:
        """From doubles."""
        return cls(found, sizes.astype(np.intc), parameters.astype(LONG))

    def __call__(self, y: np.ndarray) -> np.ndarray:
        slope = np.empty_like(y)
        rest = _at(y), _at(self.sizes), _at(self.parameters), _at(slope)
        self.found[self.name](ctypes.c_longdouble(0.0), *rest)
        return slope

    def midpoint(self, y: np.ndarray, slope: np.ndarray, size: np.longdouble, n: int) -> np.ndarray:
        """A step by Gragg's rule in n parts, smoothed."""
        found, room, length = np.empty_like(y), np.empty(3 * y.size, LONG), np.array([size], LONG)
        self.found.midpoint(
            self.found[self.name],
            _at(y),
            _at(slope),
            ctypes.c_longdouble.from_buffer(length),
            n,
            y.size,
            *(_at(each) for each in (self.sizes, self.parameters, room, found)),
        )
        return found


def _averaged(flow: Flow) -> Compiled:
    """The rates of inputs of several components."""
    state, training = flow.state, flow.study.training
    numbers = (
        [training.learning_rate, flow.study.second_layer_learning_rate],
        [training.weight_decay, flow.study.second_layer_weight_decay],
        [training.label_noise, float(training.order == "full")],
        [each.probability for each in flow.data.components],
        state.weight,
    )
    mean = flow.data.average().eigenvalue.astype(LONG)
    beta = state.teacher_overlap.astype(LONG) / np.where(mean > 0, mean, 1)[:, None, None] ** 2
    packed = (
        mean,
        np.concatenate([each.eigenvalue for each in flow.data.components]),
        np.moveaxis(beta, 0, -1).ravel(),
    )
    parts = (*numbers, *packed, flow.packing("parameters").views(flow.parameters)["v_teacher"])
    sizes = np.array([state.K, state.M, state.L, len(flow.data.components)], np.intc)
    found = library(flow.kernel.student_activation, flow.kernel.teacher_activation)
    together = np.concatenate([np.asarray(each, LONG) for each in parts])
    return Compiled(found, sizes, together, "averaged")


def long_results(flow: Flow, tolerance: float) -> np.ndarray:
    """The states of a flow at all times of its study.

    Raises:
        NoReferenceError: The solution cannot be followed.
    """
    alpha = flow.study.alpha
    if flow.data is not None:
        return extrapolated(_averaged(flow), flow.begin.astype(LONG), alpha, tolerance)
    kernel = flow.kernel
    found = library(kernel.student_activation, kernel.teacher_activation, flow.rule.rule)
    # phase by phase, as the flow cuts and packs them
    walk = flow.course.walk(flow.goal.alpha, flow.right_hand_side)
    piece, _ = next(walk)
    while True:
        rates = Compiled.of(found, flow.sizes, piece.parameters)
        rows = extrapolated(rates, piece.state.astype(LONG), piece.asked, tolerance)
        result = FlatResult(rows, len(rows), float(piece.asked[-1]), rows[-1], DONE, 0, 0, 0, 0.0)
        try:
            piece, _ = walk.send(result)
        except StopIteration as end:
            whole: np.ndarray = end.value.results
            return whole


def extrapolated(
    rates: Compiled, y: np.ndarray, times: Sequence[float] | np.ndarray, tolerance: float
) -> np.ndarray:
    """The solution at ascending times from 0; ``tolerance`` is of each step, relative to max |y|
    of what moves.

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


def _step(rates: Compiled, y: np.ndarray, size: np.longdouble) -> tuple[np.ndarray, float]:
    slope = rates(y)
    table: list[np.ndarray] = []
    for j in range(_COLUMNS):
        n = 2 * (j + 1)
        row = [rates.midpoint(y, slope, size, n)]
        for m in range(1, j + 1):
            ratio = LONG(n) / LONG(2 * (j + 1 - m))
            row.append(row[m - 1] + (row[m - 1] - table[m - 1]) / (ratio * ratio - 1))
        table = row
    apart = np.abs(table[-1] - table[-2])
    moving = np.abs(y[slope != 0])
    return table[-1], float(np.max(apart) / max(float(np.max(moving, initial=0.0)), 1e-300))
