"""Whether drawn numbers have the law of others, by their means and variances."""

import numpy as np


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """Return the largest difference of means and of variances over draws, in standard errors.

    Args:
        one, other: Draws along the first axis.
    """
    largest = 0.0
    for a, b in ((one, other), ((one - one.mean(0)) ** 2, (other - other.mean(0)) ** 2)):
        error = np.sqrt(a.var(0) / len(a) + b.var(0) / len(b))
        largest = max(largest, float(np.max(np.abs(a.mean(0) - b.mean(0)) / (error + 1e-12))))
    return largest
