"""The elementary input models: isotropic, a given spectrum, a power law, mixed spectra."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.limits import check_memory
from symderiv.inputs.latent_teacher import LatentTeacher
from symderiv.inputs.model import Component, DataModel

#: Largest dimension in which inputs of several components can be simulated.
MAX_SIMULATED = 4096
# Doubles per eigenvalue that exist at once while a spectrum is made and checked.
_BYTES = 8 * 8


def isotropic(dimension: int | None = None) -> DataModel:
    """Return inputs with independent coordinates of variance 1."""
    return DataModel("isotropic", (Component(1.0, np.ones(1), np.ones(1)),), dimension)


def spectrum(
    eigenvalues: Sequence[float] | np.ndarray,
    weights: Sequence[float] | np.ndarray | None = None,
    dimension: int | None = None,
) -> DataModel:
    """Return inputs whose covariance has the given eigenvalues.

    Args:
        eigenvalues: shape (L,), >= 0; used as they are, not normalised.
        weights: multiplicities divided by N, shape (L,), sum 1; None for equal ones.
        dimension: N; L must divide it when the weights are equal.

    Raises:
        InputError: see :class:`~symderiv.inputs.model.Component`; or L does not divide N.
    """
    eigenvalue = np.asarray(eigenvalues, dtype=np.float64)
    if weights is None:
        if dimension is not None and eigenvalue.size and dimension % eigenvalue.size:
            raise InputError(
                f"{dimension} is not a multiple of the {eigenvalue.size} eigenvalues; "
                "change it or give weights",
                argument="dimension",
            )
        weights = np.full(eigenvalue.shape, 1.0 / max(eigenvalue.size, 1))
    weight = np.asarray(weights, dtype=np.float64)
    return DataModel("spectrum", (Component(1.0, eigenvalue, weight),), dimension)


def mixed_spectra(
    probabilities: Sequence[float],
    eigenvalues: Sequence[Sequence[float]],
    weights: Sequence[float] | None = None,
    dimension: int | None = None,
) -> DataModel:
    """Return centred inputs of several components, each with its own eigenvalues in a common basis.

    Args:
        probabilities: the probabilities of the components, shape (C,), sum 1.
        eigenvalues: shape (C, L), >= 0.
        weights, dimension: as for :func:`spectrum`.

    Raises:
        InputError: see :func:`spectrum`; or the lists have different lengths.
    """
    if len(eigenvalues) != len(probabilities):
        raise InputError(
            f"{len(eigenvalues)} lists for {len(probabilities)} probabilities; give one for each",
            argument="eigenvalues",
        )
    if len({len(one) for one in eigenvalues}) != 1:
        raise InputError(
            "must have equally many entries for every component, because components share "
            "their eigenspaces",
            argument="eigenvalues",
        )
    components = []
    for probability, one in zip(probabilities, eigenvalues, strict=True):
        model = spectrum(one, weights, dimension)
        components.append(Component(probability, model.single().eigenvalue, model.single().weight))
    made = DataModel("gaussian-mixture", tuple(components), dimension)
    if len(components) == 1 or dimension is None or dimension > MAX_SIMULATED:
        return made
    counts = made.multiplicities()
    edges = np.cumsum([component.probability for component in components])[:-1]
    deviations = np.sqrt([np.repeat(one.eigenvalue, counts) for one in components])
    mean = np.repeat(made.average().eigenvalue, counts)

    def sample(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        chosen = np.searchsorted(edges, random.random(count), side="right")
        x = random.standard_normal((count, mean.size)) * deviations[chosen]
        return x, x

    # the teacher sees the inputs themselves
    share = made.average().eigenvalue ** 2
    spectra = tuple((one.probability, np.repeat(one.eigenvalue, counts)) for one in components)
    latent = LatentTeacher(
        dimension,
        np.eye(mean.size),
        np.diag(mean),
        share,
        sample,
        variance=mean,
        spectra=spectra,
    )
    return replace(made, latent=latent)


def power_law(
    distinct_eigenvalues: int, exponent: float, dimension: int | None = None
) -> DataModel:
    r"""Return inputs with :math:`\lambda_l = \lambda_+ l^{-(1+\beta)}`, l = 1…L, of mean 1.

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
        raise InputError(f"{distinct_eigenvalues} is below 1", argument="distinct_eigenvalues")
    if dimension is not None and dimension % distinct_eigenvalues:
        raise InputError(
            f"{distinct_eigenvalues} does not divide dimension = {dimension}",
            argument="distinct_eigenvalues",
        )
    if not math.isfinite(exponent):
        raise InputError(f"{exponent!r} is not a finite number", argument="exponent")
    check_memory(
        _BYTES * distinct_eigenvalues,
        f"{distinct_eigenvalues} eigenvalues",
        argument="distinct_eigenvalues",
    )
    rank = np.arange(1, distinct_eigenvalues + 1, dtype=np.float64)
    with np.errstate(over="ignore"):
        shape = rank ** -(1.0 + exponent)
    if not np.all(np.isfinite(shape)) or not np.all(shape > 0):
        raise InputError(
            f"{exponent!r} gives eigenvalues that no double can hold; choose an exponent "
            "closer to 0",
            argument="exponent",
        )
    eigenvalue = shape / np.mean(shape)
    weight = np.full(rank.shape, 1.0 / distinct_eigenvalues)
    return DataModel("power-law", (Component(1.0, eigenvalue, weight),), dimension)
