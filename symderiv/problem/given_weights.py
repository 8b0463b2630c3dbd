"""A start given by weights in the coordinates of the inputs.

Fields are x_i = J_i·ξ/√N and y_n = B_n·ξ/√N: the first layer W of a network that multiplies inputs
by W alone is J = √N W.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError, NotYetError, ShapeError
from symderiv.inputs import DataModel
from symderiv.inputs.covariance_spectrum import read_covariance
from symderiv.inputs.given import source
from symderiv.problem.initial import Initial, latent_vectors, state_of_latent, state_of_vectors
from symderiv.problem.initial import vectors_in_eigenbasis as in_eigenbasis
from symderiv.problem.input_models import (
    Covariance,
    GaussianMixture,
    Isotropic,
    PowerLaw,
    Spectrum,
)
from symderiv.problem.study import Study

WEIGHTS = ("J", "B", "v")
"""Names of first layers of student and teacher, and of the student's output weights."""


def start_of_weights(study: Study, given: Mapping[str, Any]) -> Initial:
    """Return the start of a study whose weights are given.

    Args:
        study: What is learned.
        given: ``J`` (K, N) and ``B`` (M, N), or (M, D) for a teacher of D latent coordinates, in
            the coordinates of the inputs, whose eigenvectors are found here; ``v`` (K,) unless it
            is the study's. Arrays, lists or PyTorch tensors.

    Raises:
        InputError: An array is missing, has another shape, or the inputs have no coordinates.
    """
    for name in ("J", "B"):
        if name not in given:
            raise InputError("is missing; give weights as both J and B", argument=name)
    J, B = (real_array(name, given[name]) for name in ("J", "B"))
    if J.ndim != 2 or J.shape[0] != study.K:
        raise ShapeError(f"has shape {J.shape}, expected ({study.K}, N)", argument="J")
    data = _with_coordinates(study, J.shape[1])
    assert data.dimension is not None
    real_array("J", J, (study.K, data.dimension))
    if data.latent is not None:
        if data.latent.axes is None or data.latent.cross is None:
            raise NotYetError(
                "these inputs are the limit of infinite dimension, which has no coordinates for "
                "weights; give a State",
                argument="inputs",
            )
        real_array("B", B, (study.M, data.latent.cross.shape[1]))
        latent = latent_vectors(J, B, data, data.latent)
        start = Initial(state_of_latent(latent, study, data), latent, data, data.remarks)
    else:
        real_array("B", B, (study.M, data.dimension))
        axes = _eigenvectors(study)
        rows = (J, B) if axes is None else (J @ axes, B @ axes)
        vectors = in_eigenbasis(rows[0], rows[1], data)
        start = Initial(state_of_vectors(vectors, study), vectors, data, data.remarks)
    if "v" not in given:
        return start
    v = real_array("v", given["v"], (study.K,))
    return replace(start, state=replace(start.state, student_weights=v))


def real_array(name: str, values: Any, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Return finite real numbers as an array, of one shape where it is known.

    Raises:
        InputError: The weights are neither arrays nor tensors of numbers.
    """
    if hasattr(values, "detach"):  # a tensor of PyTorch, which may ask for gradients
        values = values.detach().cpu()
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("does not hold real numbers", argument=name) from None
    if shape is not None and array.shape != shape:
        raise ShapeError(f"has shape {array.shape}, expected {shape}", argument=name)
    if not np.all(np.isfinite(array)):
        raise InputError("holds a value that is not a finite number", argument=name)
    return array


def _with_coordinates(study: Study, dimension: int) -> DataModel:
    """Return the inputs, with the dimension of the weights unless the study gives one."""
    data = study.data_model
    if data is None:
        raise InputError(
            "is missing; the overlaps of weights depend on the inputs, so give both",
            argument="inputs",
        )
    if data.dimension is None or "data" not in study.model_fields_set:
        return replace(data, dimension=dimension)
    return data


def _eigenvectors(study: Study) -> np.ndarray | None:
    """Return eigenvectors of the covariance as columns, in the order of its eigenvalues.

    Returns:
        Shape (N, N); None if the coordinates are those of the eigenbasis already.

    Raises:
        NotYetError: The eigenbasis of these inputs is not available.
    """
    model = study.data
    if isinstance(model, Covariance):
        covariance = read_covariance(source(study.base, model.file), model.array)
        _, axes = np.linalg.eigh(covariance)
        # eigenvalues of models are in descending order
        return axes[:, ::-1]
    if isinstance(model, Isotropic | Spectrum | PowerLaw | GaussianMixture):
        return None
    raise NotYetError(
        "these inputs come without their eigenvectors, which weights need; give the covariance "
        "as sd.Covariance(…)",
        argument="inputs",
    )
