"""States and constants of runs as the flat vectors of the solver modules.

What lies where in a vector is stated once, by the modules' ``LAYOUT``. There the index of the
eigenvalue is the last one: for one pair of units the eigenvalues are neighbours in memory. State
files, ``RUN.nc`` and :class:`~symderiv.problem.state.State` have it first; everything that
converts between the two is in this file. ``field_covariance`` of the stepper reads the vectors as
they are, from where :func:`places` says.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from symderiv_kernels.layout import LAYOUT

from symderiv.foundation.packing import Packing


def sizes_of(K: int, M: int, L: int) -> np.ndarray:
    """Return the sizes as the modules' functions take them."""
    return np.array([{"K": K, "M": M, "L": L}[name] for name in LAYOUT["sizes"]], dtype=np.int64)


def place_of(field: str) -> int:
    """Return the number of a field in what :func:`places` gives; behind it stands where it ends."""
    return [*LAYOUT["state"], "", *LAYOUT["parameters"], ""].index(field)


def places(sizes: np.ndarray) -> np.ndarray:
    """Return where the fields of a flat state begin, and its length; then the same of
    parameters.
    """
    named = dict(zip(LAYOUT["sizes"], map(int, sizes), strict=False))
    starts: list[int] = []
    for vector in ("state", "parameters"):
        packing = Packing.of(LAYOUT, vector, **named)
        starts += [*(part.start for part in packing.slices.values()), packing.size]
    return np.array(starts, dtype=np.int64)


def state_size(K: int, M: int, L: int) -> int:
    """Length of a flat state."""
    return _state(K, M, L).size


def pack_state(student_overlap: np.ndarray, cross_overlap: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return vectors from Q_k (…, L, K, K), r_k (…, L, K, M) and v (…, K)."""
    *lead, L, K, M = cross_overlap.shape
    return _state(K, M, L).packed(
        tuple(lead),
        student_overlap=_eigenvalues_last(student_overlap),
        cross_overlap=_eigenvalues_last(cross_overlap),
        v=v,
    )


def split_flat(
    flat: np.ndarray, K: int, M: int, L: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q_k (…, L, K, K), r_k (…, L, K, M) and v (…, K) of flat states (…, n).

    Views: writing to them changes ``flat``.
    """
    fields = _state(K, M, L).views(flat)
    return (
        np.moveaxis(fields["student_overlap"], -1, -3),
        np.moveaxis(fields["cross_overlap"], -1, -3),
        fields["v"],
    )


def fields_of(
    flat: np.ndarray, weight: np.ndarray, eigenvalue: np.ndarray, K: int, M: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Q_k, r_k, v, Q, R at every row of ``flat``; a rule may keep more behind them.

    Args:
        flat: states, shape (…, n).
        weight, eigenvalue: of the inputs, shape (L,).
        K, M: students and teachers.
    """
    L = eigenvalue.size
    Q_k, r_k, v = split_flat(flat[..., : state_size(K, M, L)], K, M, L)
    Q = np.ascontiguousarray(np.tensordot(Q_k, weight * eigenvalue, axes=([-3], [0])))
    R = np.tensordot(r_k, weight, axes=([-3], [0]))
    return Q_k, r_k, v, Q, R


def pack_parameters(
    eigenvalue: np.ndarray,
    weight: np.ndarray,
    teacher_overlap: np.ndarray,
    teacher_covariance: np.ndarray,
    teacher_weights: np.ndarray,
    rates: Mapping[str, float | np.ndarray],
) -> np.ndarray:
    """Return vectors from the constants of runs; ``teacher_overlap`` is (…, L, M, M).

    ``rates``: ``learning_rate`` and ``weight_decay``, both also with ``second_layer_`` in front,
    ``label_noise``, and ``full_order``, 1 with terms of order learning_rate**2 and 0 without; what
    is not there is 0.
    """
    *lead, L, M, _ = teacher_overlap.shape
    packing = _parameters(M, L)
    zero = {name: np.zeros(lead) for name, shape in packing.shapes.items() if not shape}
    return packing.packed(
        tuple(lead),
        eigenvalue=eigenvalue,
        weight=weight,
        teacher_overlap=_eigenvalues_last(teacher_overlap),
        T=teacher_covariance,
        v_teacher=teacher_weights,
        **{**zero, **rates},
    )


def _eigenvalues_last(overlap: np.ndarray) -> np.ndarray:
    """Return arrays (…, L, K, M) as (…, K, M, L); a fifth of the time of ``np.moveaxis``."""
    return overlap.swapaxes(-3, -2).swapaxes(-2, -1)


def _state(K: int, M: int, L: int) -> Packing:
    return Packing.of(LAYOUT, "state", K=K, M=M, L=L)


def _parameters(M: int, L: int) -> Packing:
    return Packing.of(LAYOUT, "parameters", M=M, L=L)
