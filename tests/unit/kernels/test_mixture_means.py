"""Means of sums of error functions in fast modules, which leave out what is the same twice."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from symderiv.checking.recipes import solver_text
from symderiv.lowering.means.uncompiled import uncompiled

# Fields as multiples of two independent ones, and the part of all pairs of rows that is needed.
FIELDS = {
    "all apart": (((0.9, 0.0), (0.3, 0.8), (-0.5, 0.4), (0.2, 1.1)), False, False),
    "two slopes at one field": (((0.9, 0.2), (0.9, 0.2), (-0.5, 0.4), (0.2, 1.1)), True, False),
    "two outputs at one field": (((0.9, 0.2), (0.1, 1.2), (-0.5, 0.4), (-0.5, 0.4)), False, True),
    "twice two": (((0.9, 0.2), (0.9, 0.2), (-0.5, 0.4), (-0.5, 0.4)), True, True),
    "all at one field": (((0.9, 0.2),) * 4, True, True),
    # exchanged without being the same: mirrored at the axis on which the two others are
    "mirrored outputs": (((0.9, 0.0), (0.4, 0.0), (-0.5, 0.4), (-0.5, -0.4)), False, True),
    "equal variances": (((0.6, 0.8), (0.8, 0.6), (1.0, 0.0), (0.0, 1.0)), False, False),
}


@functools.cache
def solver():
    return solver_text("tested", "tanh", tolerance=1e-6)


def by_integration(fields) -> float:
    # sums over a grid, which are as good as integrals for functions without poles nearby
    line = np.arange(-9.0, 9.0, 0.05)
    x, y = np.meshgrid(line, line)
    a, b, c, d = (np.tanh(p * x + q * y) for p, q in fields)
    density = 0.05**2 / (2 * np.pi) * np.exp(-(x**2 + y**2) / 2)
    return float(np.sum((1 - a**2) * (1 - b**2) * c * d * density))


@pytest.mark.parametrize("name", FIELDS)
def test_a_mean_of_four_is_that_of_tanh_and_takes_half_where_fields_are_exchanged(name) -> None:
    fields, slopes, outputs = FIELDS[name]
    covariance = np.array(fields) @ np.array(fields).T
    upper = covariance[np.triu_indices(4)]
    readable, fast = uncompiled(solver().readable), uncompiled(solver().fast)
    asked = []

    def arcsines(values, count) -> None:
        asked.append(count)
        values[:count] = np.arcsin(values[:count])

    fast.i4.__globals__["_arcsines"] = arcsines
    found = fast.i4(*upper)
    assert found == pytest.approx(readable.i4(*upper), rel=1e-13)
    assert found == pytest.approx(by_integration(fields), abs=4 * readable.ACTIVATION_TOLERANCE)
    terms = readable.MIXTURE_TERMS
    halved = terms * (terms + 1) // 2
    assert sum(asked) == (halved if slopes else terms**2) * (halved if outputs else terms**2)
