r"""Means of two factors with kinks of fields without biases: a line and a table.

With x = σ t and y = a t + s ξ the mean is that of f(σ t) F(a t), where F(y) = E[g(y + s ξ)]
(``smoothed``). The line is cut where x has its kinks, and where those of y are seen over the width
s (``plane_lines``).

``rule`` is a constant of the module: 7 points of a piece of usual length; the numbers before are
those of ``kinked_mean``. Pasted into generated modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.quadratures.kinked_mean import _apart
from symderiv.numerics.quadratures.plane_lines import (
    _LINE,
    _cut_at,
    _most_kinks,
    _points,
    _write_kinks,
)
from symderiv.numerics.quadratures.smoothed import _TABLE, _placed, _powers, _smoothed_table
from symderiv.numerics.quadratures.tensor_mean import _root_left, _share_left

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    from symderiv.numerics.quadratures.tensor_mean import _Three, _Two, quadrature_factors


def _line_mean_of_2(rule: np.ndarray, kinds: tuple[int, int], c: _Three, b: _Two) -> float:
    """Return E[factor(kinds[0], x) factor(kinds[1], y)] of fields with covariances c, without
    biases.
    """
    own, numbers = np.empty(2, np.int64), np.ones(9)
    own[0], own[1] = kinds[0], kinds[1]
    several = _most_kinks(own)
    kinks, table, reach = np.empty((2, several)), np.empty(several * _TABLE), rule[2]
    _write_kinks(own, kinks)
    along1 = _root_left(c[0], c[0])
    along2, rest = _share_left(c[1], along1, c[2]), _apart(c[0], c[1], c[2])
    numbers[0], numbers[2], numbers[4] = rule[7], reach, rule[4]
    cuts, line = np.zeros((2 * several + 1, 2)), np.empty((2, _LINE))
    cut = _cut_at(cuts, 0, kinks[0], (0.0, along1, 0.0), numbers, 1.0)
    cut = _cut_at(cuts, cut, kinks[1], (0.0, along2, rest), numbers, 1.0)
    count = _points(cuts, cut, 0.0, numbers, line)
    places, first, second = np.empty(count), np.empty(count), np.empty(count)
    for p in range(count):
        places[p] = along1 * line[0, p]
    quadrature_factors(own[0], places, first)
    for p in range(count):
        places[p] = along2 * line[0, p]
    if rest > rule[4]:
        at, x = np.empty(count, np.int64), np.empty(count)
        _smoothed_table(own[1], kinks[1], rest, reach * abs(along2), 1.0, table)
        _placed(table, places, -kinks[1, 0], at, x)
        _powers(table, 0, at, x, second)
    else:
        quadrature_factors(own[1], places, second)
    total = 0.0
    for p in range(count):
        total += line[1, p] * first[p] * second[p]
    return total
