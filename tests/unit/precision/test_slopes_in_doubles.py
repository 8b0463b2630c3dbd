"""Derivatives in doubles of lists of operations are those of power series of balls."""

import numpy as np
import pytest
from flint import arb

from symderiv.enclosures.proved_step import gradients
from symderiv.enclosures.slopes_in_doubles import slopes_in_doubles
from symderiv.precision.balls.operations import FUNCTIONS, Operations, Recorder


@pytest.fixture
def operations() -> Operations:
    """Every operation with state and constants on either side, and results that do not move."""
    numbers = Recorder()
    x, y, z = (numbers.input() for _ in range(3))
    two, tenth = numbers.mpf(2), numbers.mpf(0.1)
    waves = [getattr(numbers, name)(tenth * (x + two) / (y + 1)) for name in FUNCTIONS]
    mixed = [x * y - z, two - x, x - two, two / y, y / two, -z * x / (y - z), two + z, tenth, x]
    return numbers.recording([*waves, *mixed, numbers.pi * x, two * tenth])


def test_slopes_are_those_of_power_series(operations: Operations) -> None:
    states = np.random.default_rng(5).uniform(0.2, 0.9, (4, 3))
    constants, rates = operations.compiled()
    given = constants()
    found = slopes_in_doubles(operations, states)
    for state, slopes in zip(states, found, strict=True):
        matrix = gradients(lambda s: rates(s, given), [arb(float(each)) for each in state])
        expected = np.array([float(each) for each in matrix.entries()]).reshape(slopes.shape)
        np.testing.assert_allclose(slopes, expected, rtol=1e-13, atol=1e-15)


def test_infinite_slopes_are_not_numbers() -> None:
    numbers = Recorder()
    operations = numbers.recording([numbers.sqrt(numbers.input())])
    slopes = slopes_in_doubles(operations, np.array([[0.0], [4.0]]))
    np.testing.assert_array_equal(slopes, [[[np.nan]], [[0.25]]])
