"""Distance of simulated curves from those of the equations, over times evenly spread in ln α."""

from __future__ import annotations

import numpy as np

__all__ = ["printed_log_rmse", "temporal_log_rmse"]


def temporal_log_rmse(simulated: np.ndarray, theory: np.ndarray) -> np.ndarray:
    r"""tLog-RMSE: the root of the mean over times of (simulated - theory)².

    The printed definition (Bae and Jeong 2024, equation 18) has the difference of the squares under
    a root and the mean outside; see :func:`printed_log_rmse`.

    Args:
        simulated, theory: the time axis first, log-spaced times without 0.

    Returns:
        One number per component, in the units of the quantity.
    """
    result: np.ndarray = np.sqrt(np.mean((simulated - theory) ** 2, axis=0))
    return result


def printed_log_rmse(simulated: np.ndarray, theory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Equation 18 as printed, mean of :math:`\sqrt{v^2 - \hat v^2}`, and where it fails.

    Args:
        simulated, theory: as for :func:`temporal_log_rmse`.

    Returns:
        The mean over the times at which the root is real, and the share of times at which it is
        not (the simulated size is the larger one there).
    """
    inside = theory**2 - simulated**2
    real = inside >= 0.0
    roots = np.sqrt(np.where(real, inside, 0.0))
    count = np.maximum(real.sum(axis=0), 1)
    return roots.sum(axis=0) / count, 1.0 - real.mean(axis=0)
