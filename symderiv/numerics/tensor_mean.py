r"""Means of products of analytic functions of Gaussian fields by rules of equal steps.

The fields are z = L t with independent t of variance one and a triangular L in the order of the
factors; a field that the earlier ones determine has no t of its own. In every t the step is that of
a Gaussian weight, made narrower by as much as factors that grow like exp(y²/2) off the real line do
where all fields move with t; and no field moves by more than the rule's step per step. Points
beyond the sphere are left out. The factor of the last field is averaged over its own t first, on a
grid of what the other t add to its field. Biases are means of fields.

``rule`` is a constant of the module: 0 step in units of the fields, 1 step in t, 2 reach in t (and
radius of the sphere), 3 cell of the grid. Factors are called by number: 0, 1, 2 are the student's
activation, its derivative and half of its second derivative, 3 and 4 the teacher's and its
derivative. Text for modules; the functions without underscore are templates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # what stands in the module
    _Two = tuple[float, float]
    _Three = tuple[float, float, float]
    _Four = tuple[float, float, float, float]
    _Ten = tuple[float, float, float, float, float, float, float, float, float, float]
    _Kinds = tuple[int, int, int, int]

    def factor_0(x: float) -> float:
        """Return a function of the module."""
        return x

    factor_1 = factor_2 = factor_3 = factor_4 = factor_5 = factor_6 = factor_7 = factor_0

    def quadrature_factor(kind: int, x: float) -> float:
        """Return the factors by number."""
        return x * kind


def _root_left(rest: float, variance: float) -> float:
    """Square root of a conditional variance; one that is only rounding is none."""
    return math.sqrt(rest) if rest > 1e-15 * variance else 0.0


def _share_left(covariance: float, root: float, rest: float) -> float:
    """Return an entry of L below the diagonal; rounding cannot make it more than the field's
    rest.
    """
    if root == 0.0:
        return 0.0
    bound = math.sqrt(max(rest, 0.0))
    return min(max(covariance / root, -bound), bound)


def _triangle4(c: _Ten) -> _Ten:
    """L of four fields, column by column; what rounding leaves of a vanishing rest is left out."""
    c11, c12, c13, c14, c22, c23, c24, c33, c34, c44 = c
    l11 = _root_left(c11, c11)
    l21 = _share_left(c12, l11, c22)
    l31 = _share_left(c13, l11, c33)
    l41 = _share_left(c14, l11, c44)
    l22 = _root_left(c22 - l21 * l21, c22)
    l32 = _share_left(c23 - l21 * l31, l22, c33 - l31 * l31)
    l42 = _share_left(c24 - l21 * l41, l22, c44 - l41 * l41)
    l33 = _root_left(c33 - l31 * l31 - l32 * l32, c33)
    l43 = _share_left(c34 - l31 * l41 - l32 * l42, l33, c44 - l41 * l41 - l42 * l42)
    l44 = _root_left(c44 - l41 * l41 - l42 * l42 - l43 * l43, c44)
    return l11, l21, l31, l41, l22, l32, l42, l33, l43, l44


def _equal_steps(m: _Four, rule: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return points and weights of one t; ``m`` is how far the fields move with it."""
    m1, m2, m3, m4 = m
    longest = max(abs(m1), abs(m2), abs(m3), abs(m4))
    if longest == 0.0:
        return np.zeros(1), np.ones(1)
    together = m1 * m1 + m2 * m2 + m3 * m3 + m4 * m4
    step = min(rule[1] / math.sqrt(1.0 + together), rule[0] / longest)
    count = math.ceil(rule[2] / step)
    nodes = np.empty(2 * count + 1)
    weights = np.empty(2 * count + 1)
    for n in range(2 * count + 1):
        t = (n - count) * step
        nodes[n] = t
        weights[n] = step * math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
    return nodes, weights


def _between(values: np.ndarray, place: float) -> float:
    """Interpolation by the polynomial through six points of a grid around 0 of cell one."""
    x = place + values.size // 2
    left = math.floor(x)
    u = x - left
    a, b, c, d, e = u + 2.0, u + 1.0, u - 1.0, u - 2.0, u - 3.0
    far: float = b * d * (values[left + 3] * a - values[left - 2] * e) / 120.0
    near: float = a * e * (values[left - 1] * d - values[left + 2] * b) / 24.0
    middle: float = a * b * d * e * (values[left + 1] * u - values[left] * c) / 12.0
    return u * c * (far + near) + middle


def _mean_of_2(rule: np.ndarray, kinds: tuple[int, int], c: _Three, b: _Two) -> float:
    """E[factor(kinds[0], x) factor(kinds[1], y)] of fields with covariances c and means b."""
    (c11, c12, c22), (b1, b2) = c, b
    l11 = _root_left(c11, c11)
    l21 = _share_left(c12, l11, c22)
    l22 = _root_left(c22 - l21 * l21, c22)
    t1, w1 = _equal_steps((l11, l21, 0.0, 0.0), rule)
    t2, w2 = _equal_steps((l22, 0.0, 0.0, 0.0), rule)
    total = 0.0
    for n1 in range(t1.size):
        inner = 0.0
        for n2 in range(t2.size):
            inner += w2[n2] * quadrature_factor(kinds[1], b2 + l21 * t1[n1] + l22 * t2[n2])
        total += w1[n1] * quadrature_factor(kinds[0], b1 + l11 * t1[n1]) * inner
    return total


def _mean_of_4(rule: np.ndarray, kinds: _Kinds, c: _Ten, b: _Four) -> float:
    """Return the same of four factors and fields; c row by row, from the diagonal on."""
    l11, l21, l31, l41, l22, l32, l42, l33, l43, l44 = _triangle4(c)
    b1, b2, b3, b4 = b
    t1, w1 = _equal_steps((l11, l21, l31, l41), rule)
    t2, w2 = _equal_steps((l22, l32, l42, 0.0), rule)
    t3, w3 = _equal_steps((l33, l43, 0.0, 0.0), rule)
    t4, w4 = _equal_steps((l44, 0.0, 0.0, 0.0), rule)
    reach, cell = rule[2], rule[3]
    half = math.ceil(reach * math.sqrt(l41 * l41 + l42 * l42 + l43 * l43) / cell) + 3
    averaged = np.empty(2 * half + 1)
    for n in range(2 * half + 1):
        value = 0.0
        for n4 in range(t4.size):
            value += w4[n4] * quadrature_factor(kinds[3], b4 + (n - half) * cell + l44 * t4[n4])
        averaged[n] = value
    sphere = reach * reach
    total = 0.0
    for n1 in range(t1.size):
        first = w1[n1] * quadrature_factor(kinds[0], b1 + l11 * t1[n1])
        radius1 = t1[n1] * t1[n1]
        for n2 in range(t2.size):
            radius2 = radius1 + t2[n2] * t2[n2]
            if radius2 > sphere:
                continue
            shift3 = b3 + l31 * t1[n1] + l32 * t2[n2]
            shift4 = l41 * t1[n1] + l42 * t2[n2]
            inner = 0.0
            for n3 in range(t3.size):
                if radius2 + t3[n3] * t3[n3] > sphere:
                    continue
                smooth = _between(averaged, (shift4 + l43 * t3[n3]) / cell)
                inner += w3[n3] * quadrature_factor(kinds[2], shift3 + l33 * t3[n3]) * smooth
            second = quadrature_factor(kinds[1], b2 + l21 * t1[n1] + l22 * t2[n2])
            total += first * w2[n2] * second * inner
    return total


def factor_of(kind: int, x: float) -> float:
    """Return the factors by number."""
    if kind == 0:
        return factor_0(x)
    if kind == 1:
        return factor_1(x)
    if kind == 2:
        return factor_2(x)
    if kind == 3:
        return factor_3(x)
    return factor_4(x)


def any_factor_of(kind: int, x: float) -> float:
    """Return the factors by number, of rules with higher derivatives in their means."""
    if kind < 5:
        return factor_of(kind, x)
    if kind == 5:
        return factor_5(x)
    if kind == 6:
        return factor_6(x)
    return factor_7(x)
