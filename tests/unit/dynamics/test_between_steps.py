"""Polynomials through the ends of steps: exact up to their degree, and of their order."""

import numpy as np
import pytest

from symderiv.integrate.steppers.between_steps import ENDS, hermite_constants, hermite_weights


def through(times, values, slopes, asked):
    """The polynomial at the asked times."""
    constants = np.empty((2, times.size))
    hermite_constants.py_func(times, constants)
    found = []
    for alpha in asked:
        weights = np.zeros((2, times.size))
        hermite_weights.py_func(alpha, times, constants, weights)
        found.append(weights[0] @ values + weights[1] @ slopes)
    return np.array(found)


@pytest.mark.parametrize("count", [1, 2, 3, ENDS])
def test_polynomials_are_met_up_to_the_degree_and_not_beyond(count):
    random = np.random.default_rng(count)
    times = np.cumsum(random.uniform(0.5, 2.0, count))
    asked = np.linspace(times[0] - 0.3, times[-1] + 0.3, 17)
    for degree in range(2 * count + 1):
        # around another point, so that the powers are no larger than one
        centre, scale = 0.5 * (times[0] + times[-1]), 0.5 * (times[-1] - times[0]) + 0.3
        x, at = (times - centre) / scale, (asked - centre) / scale
        slopes = degree * x ** max(degree - 1, 0) / scale
        difference = np.max(np.abs(through(times, x**degree, slopes, asked) - at**degree))
        assert (difference < 1e-11) == (degree < 2 * count), (degree, difference)
