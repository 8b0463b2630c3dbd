"""The input models of this version: isotropic, a given spectrum, a power law."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from symderiv.data.model import Component, DataModel
from symderiv.errors import InputError


def isotropic(dimension: int | None = None) -> DataModel:
    """Inputs with independent coordinates of variance 1."""
    return DataModel("isotropic", (Component(1.0, np.ones(1), np.ones(1)),), dimension)


def spectrum(
    eigenvalues: Sequence[float] | np.ndarray,
    weights: Sequence[float] | np.ndarray | None = None,
    dimension: int | None = None,
) -> DataModel:
    """Inputs whose covariance has the given eigenvalues.

    Args:
        eigenvalues: shape (L,), >= 0; used as they are, not normalised.
        weights: multiplicities divided by N, shape (L,), sum 1; None for equal ones.
        dimension: N; L must divide it when the weights are equal.

    Raises:
        InputError: see :class:`~symderiv.data.model.Component`; or L does not divide N.
    """
    eigenvalue = np.asarray(eigenvalues, dtype=np.float64)
    if weights is None:
        if dimension is not None and eigenvalue.size and dimension % eigenvalue.size:
            raise InputError(
                f"dimension: {dimension} is not a multiple of the {eigenvalue.size} eigenvalues; "
                "change it or give weights"
            )
        weights = np.full(eigenvalue.shape, 1.0 / max(eigenvalue.size, 1))
    weight = np.asarray(weights, dtype=np.float64)
    return DataModel("spectrum", (Component(1.0, eigenvalue, weight),), dimension)


def power_law(
    distinct_eigenvalues: int, exponent: float, dimension: int | None = None
) -> DataModel:
    r"""Inputs with :math:`\lambda_l = \lambda_+ l^{-(1+\beta)}`, l = 1…L, of mean 1.

    Each eigenvalue has N/L coordinates; :math:`\lambda_+` follows from the mean.

    Args:
        distinct_eigenvalues: L, at least 1; must divide N.
        exponent: :math:`\beta`, finite; 1 + β is the exponent of the eigenvalues.
        dimension: N.

    Raises:
        InputError: L does not divide N, or a value is outside its range.

    Source:
        :cite:`WorschechRosenow2024`, eq. (1).
    """
    if distinct_eigenvalues < 1:
        raise InputError(f"distinct_eigenvalues: {distinct_eigenvalues} is below 1")
    if dimension is not None and dimension % distinct_eigenvalues:
        raise InputError(
            f"distinct_eigenvalues: {distinct_eigenvalues} does not divide dimension = {dimension}"
        )
    if not math.isfinite(exponent):
        raise InputError(f"exponent: {exponent!r} is not a finite number")
    rank = np.arange(1, distinct_eigenvalues + 1, dtype=np.float64)
    with np.errstate(over="ignore"):
        shape = rank ** -(1.0 + exponent)
    if not np.all(np.isfinite(shape)) or not np.all(shape > 0):
        raise InputError(f"exponent: {exponent!r} makes eigenvalues that no double can hold")
    eigenvalue = shape / np.mean(shape)
    weight = np.full(rank.shape, 1.0 / distinct_eigenvalues)
    return DataModel("power-law", (Component(1.0, eigenvalue, weight),), dimension)
