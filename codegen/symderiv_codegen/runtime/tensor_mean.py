r"""Means of products of functions of Gaussian fields by rules of equal steps, as text for modules.

The functions ``mean_of_*`` are templates: ``factor_1`` ... stand for functions of the module, the
``QUADRATURE_`` names for its constants. The fields are z = L t with independent t of variance one
and a triangular L in the order of the factors; a field that the earlier ones determine has no t of
its own. In every t the step is QUADRATURE_WIDTH or, where a field moves by more than
QUADRATURE_STEP per step, less; points beyond the sphere of radius QUADRATURE_REACH are left out.

Functions with kinks have the templates ``split_mean_of_*``: between the places where the factor of
a t has its kinks (``kinks_1`` ...), Gauss' rule with eight points in panels, which are eight steps
wide.
"""

from __future__ import annotations

import math

import numpy as np

QUADRATURE_STEP = 0.5
QUADRATURE_WIDTH = 0.9
QUADRATURE_REACH = 6.5
QUADRATURE_CELL = 0.05


def factor_1(x: float) -> float:
    """Stands for a function of the module."""
    return x


factor_2 = factor_3 = factor_4 = factor_1
kinks_1 = kinks_2 = kinks_3 = kinks_4 = np.zeros(1)


def _quadrature_root(rest: float, variance: float) -> float:
    """Square root of a conditional variance; one that is only rounding is none."""
    return math.sqrt(rest) if rest > 1e-13 * variance else 0.0


def _quadrature_share(covariance: float, root: float, rest: float) -> float:
    """An entry of L below the diagonal; rounding cannot make it more than the field's rest."""
    if root == 0.0:
        return 0.0
    bound = math.sqrt(max(rest, 0.0))
    return min(max(covariance / root, -bound), bound)


def _quadrature_nodes(longest: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of one t; ``longest`` is how far a field moves with it at most."""
    if longest == 0.0:
        return np.zeros(1), np.ones(1)
    step = min(QUADRATURE_WIDTH, QUADRATURE_STEP / longest)
    count = math.ceil(QUADRATURE_REACH / step)
    nodes = np.empty(2 * count + 1)
    weights = np.empty(2 * count + 1)
    for n in range(2 * count + 1):
        t = (n - count) * step
        nodes[n] = t
        weights[n] = step * math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
    return nodes, weights


def _quadrature_between(values: np.ndarray, place: float, half: int) -> float:
    """Interpolation by the polynomial through six points of a grid around 0."""
    x = place / QUADRATURE_CELL + half
    left = math.floor(x)
    u = x - left
    a, b, c, d, e = u + 2.0, u + 1.0, u - 1.0, u - 2.0, u - 3.0
    far: float = b * d * (values[left + 3] * a - values[left - 2] * e) / 120.0
    near: float = a * e * (values[left - 1] * d - values[left + 2] * b) / 24.0
    middle: float = a * b * d * e * (values[left + 1] * u - values[left] * c) / 12.0
    return u * c * (far + near) + middle


def mean_of_2(c11: float, c12: float, c22: float) -> float:
    """E[factor_1(a) factor_2(b)]."""
    l11 = _quadrature_root(c11, c11)
    l21 = _quadrature_share(c12, l11, c22)
    l22 = _quadrature_root(c22 - l21 * l21, c22)
    t1, w1 = _quadrature_nodes(max(l11, abs(l21)))
    t2, w2 = _quadrature_nodes(l22)
    total = 0.0
    for n1 in range(t1.size):
        inner = 0.0
        for n2 in range(t2.size):
            inner += w2[n2] * factor_2(l21 * t1[n1] + l22 * t2[n2])
        total += w1[n1] * factor_1(l11 * t1[n1]) * inner
    return total


def mean_of_4(
    c11: float,
    c12: float,
    c13: float,
    c14: float,
    c22: float,
    c23: float,
    c24: float,
    c33: float,
    c34: float,
    c44: float,
) -> float:
    """E[factor_1(a) factor_2(b) factor_3(c) factor_4(d)]."""
    l11 = _quadrature_root(c11, c11)
    l21 = _quadrature_share(c12, l11, c22)
    l31 = _quadrature_share(c13, l11, c33)
    l41 = _quadrature_share(c14, l11, c44)
    l22 = _quadrature_root(c22 - l21 * l21, c22)
    l32 = _quadrature_share(c23 - l21 * l31, l22, c33 - l31 * l31)
    l42 = _quadrature_share(c24 - l21 * l41, l22, c44 - l41 * l41)
    l33 = _quadrature_root(c33 - l31 * l31 - l32 * l32, c33)
    l43 = _quadrature_share(c34 - l31 * l41 - l32 * l42, l33, c44 - l41 * l41 - l42 * l42)
    l44 = _quadrature_root(c44 - l41 * l41 - l42 * l42 - l43 * l43, c44)
    t1, w1 = _quadrature_nodes(max(l11, abs(l21), abs(l31), abs(l41)))
    t2, w2 = _quadrature_nodes(max(l22, abs(l32), abs(l42)))
    t3, w3 = _quadrature_nodes(max(l33, abs(l43)))
    t4, w4 = _quadrature_nodes(l44)
    # The last factor, averaged over its own t, on a grid of what the other t add to its field.
    spread = QUADRATURE_REACH * math.sqrt(l41 * l41 + l42 * l42 + l43 * l43)
    half = math.ceil(spread / QUADRATURE_CELL) + 3
    averaged = np.empty(2 * half + 1)
    for n in range(2 * half + 1):
        centre = (n - half) * QUADRATURE_CELL
        value = 0.0
        for n4 in range(t4.size):
            value += w4[n4] * factor_4(centre + l44 * t4[n4])
        averaged[n] = value
    sphere = QUADRATURE_REACH * QUADRATURE_REACH
    total = 0.0
    for n1 in range(t1.size):
        first = w1[n1] * factor_1(l11 * t1[n1])
        radius1 = t1[n1] * t1[n1]
        for n2 in range(t2.size):
            radius2 = radius1 + t2[n2] * t2[n2]
            if radius2 > sphere:
                continue
            shift3 = l31 * t1[n1] + l32 * t2[n2]
            shift4 = l41 * t1[n1] + l42 * t2[n2]
            inner = 0.0
            for n3 in range(t3.size):
                if radius2 + t3[n3] * t3[n3] > sphere:
                    continue
                smooth = _quadrature_between(averaged, shift4 + l43 * t3[n3], half)
                inner += w3[n3] * factor_3(shift3 + l33 * t3[n3]) * smooth
            total += first * w2[n2] * factor_2(l21 * t1[n1] + l22 * t2[n2]) * inner
    return total


_PANEL_NODES = np.polynomial.legendre.leggauss(8)[0]
_PANEL_WEIGHTS = np.polynomial.legendre.leggauss(8)[1]


def _quadrature_panels(
    mean: float, scale: float, longest: float, kinks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of one t whose field mean + scale t meets kinks."""
    if longest == 0.0:
        return np.zeros(1), np.ones(1)
    ends = np.empty(kinks.size + 2)
    ends[0] = -QUADRATURE_REACH
    ends[1] = QUADRATURE_REACH
    for k in range(kinks.size):
        # A kink out of reach is put on the edge.
        t = (kinks[k] - mean) / scale if scale > 0.0 else QUADRATURE_REACH
        ends[2 + k] = min(max(t, -QUADRATURE_REACH), QUADRATURE_REACH)
    ends.sort()
    width = 8.0 * min(QUADRATURE_WIDTH, QUADRATURE_STEP / longest)
    count = 0
    for k in range(ends.size - 1):
        count += math.ceil((ends[k + 1] - ends[k]) / width)
    nodes = np.empty(8 * count)
    weights = np.empty(8 * count)
    n = 0
    for k in range(ends.size - 1):
        panels = math.ceil((ends[k + 1] - ends[k]) / width)
        for panel in range(panels):
            half = 0.5 * (ends[k + 1] - ends[k]) / panels
            middle = ends[k] + (2 * panel + 1) * half
            for j in range(8):
                t = middle + half * _PANEL_NODES[j]
                nodes[n] = t
                weights[n] = (
                    half * _PANEL_WEIGHTS[j] * math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
                )
                n += 1
    return nodes, weights


def split_mean_of_2(c11: float, c12: float, c22: float) -> float:
    """E[factor_1(a) factor_2(b)] of functions with kinks."""
    l11 = _quadrature_root(c11, c11)
    l21 = _quadrature_share(c12, l11, c22)
    l22 = _quadrature_root(c22 - l21 * l21, c22)
    t1, w1 = _quadrature_panels(0.0, l11, max(l11, abs(l21)), kinks_1)
    total = 0.0
    for n1 in range(t1.size):
        inner = 0.0
        t2, w2 = _quadrature_panels(l21 * t1[n1], l22, l22, kinks_2)
        for n2 in range(t2.size):
            inner += w2[n2] * factor_2(l21 * t1[n1] + l22 * t2[n2])
        total += w1[n1] * factor_1(l11 * t1[n1]) * inner
    return total


def split_mean_of_4(
    c11: float,
    c12: float,
    c13: float,
    c14: float,
    c22: float,
    c23: float,
    c24: float,
    c33: float,
    c34: float,
    c44: float,
) -> float:
    """E[factor_1(a) factor_2(b) factor_3(c) factor_4(d)] of functions with kinks."""
    l11 = _quadrature_root(c11, c11)
    l21 = _quadrature_share(c12, l11, c22)
    l31 = _quadrature_share(c13, l11, c33)
    l41 = _quadrature_share(c14, l11, c44)
    l22 = _quadrature_root(c22 - l21 * l21, c22)
    l32 = _quadrature_share(c23 - l21 * l31, l22, c33 - l31 * l31)
    l42 = _quadrature_share(c24 - l21 * l41, l22, c44 - l41 * l41)
    l33 = _quadrature_root(c33 - l31 * l31 - l32 * l32, c33)
    l43 = _quadrature_share(c34 - l31 * l41 - l32 * l42, l33, c44 - l41 * l41 - l42 * l42)
    l44 = _quadrature_root(c44 - l41 * l41 - l42 * l42 - l43 * l43, c44)
    longest2, longest3 = max(l22, abs(l32), abs(l42)), max(l33, abs(l43))
    t1, w1 = _quadrature_panels(0.0, l11, max(l11, abs(l21), abs(l31), abs(l41)), kinks_1)
    # The last factor, averaged over its own t, on a grid of what the other t add to its field.
    spread = QUADRATURE_REACH * math.sqrt(l41 * l41 + l42 * l42 + l43 * l43)
    half = math.ceil(spread / QUADRATURE_CELL) + 3
    averaged = np.empty(2 * half + 1)
    for n in range(2 * half + 1):
        centre = (n - half) * QUADRATURE_CELL
        value = 0.0
        t4, w4 = _quadrature_panels(centre, l44, l44, kinks_4)
        for n4 in range(t4.size):
            value += w4[n4] * factor_4(centre + l44 * t4[n4])
        averaged[n] = value
    sphere = QUADRATURE_REACH * QUADRATURE_REACH
    total = 0.0
    for n1 in range(t1.size):
        first = w1[n1] * factor_1(l11 * t1[n1])
        radius1 = t1[n1] * t1[n1]
        t2, w2 = _quadrature_panels(l21 * t1[n1], l22, longest2, kinks_2)
        for n2 in range(t2.size):
            radius2 = radius1 + t2[n2] * t2[n2]
            if radius2 > sphere:
                continue
            shift3 = l31 * t1[n1] + l32 * t2[n2]
            shift4 = l41 * t1[n1] + l42 * t2[n2]
            t3, w3 = _quadrature_panels(shift3, l33, longest3, kinks_3)
            inner = 0.0
            for n3 in range(t3.size):
                if radius2 + t3[n3] * t3[n3] > sphere:
                    continue
                smooth = _quadrature_between(averaged, shift4 + l43 * t3[n3], half)
                inner += w3[n3] * factor_3(shift3 + l33 * t3[n3]) * smooth
            total += first * w2[n2] * factor_2(l21 * t1[n1] + l22 * t2[n2]) * inner
    return total
