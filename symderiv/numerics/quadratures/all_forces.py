r"""Means of the forces of any loss for a rule: sums over dropout masks, over as few fields as
possible.

With dropout the means are sums over all choices of units that are kept. Where outputs are linear in
fields, they depend on one field, the sum. The remaining fields are integrated variable by variable
(``force_mean``) or, if they are many or if kinks or labels are surfaces in several of them, along a
lattice (``lattice_mean``). Pasted into generated modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.quadratures.force_mean import _forces
from symderiv.numerics.quadratures.lattice_mean import _lattice_forces

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    _Array = np.ndarray
    _Overlaps = tuple[_Array, _Array, _Array, _Array, _Array, _Array, _Array]
    _Means = tuple[_Array, _Array, _Array, _Array]
    _Rates = tuple[_Array, _Array, _Array, _Array, _Array]
    from symderiv.numerics.quadratures.force_mean import (
        KINKED,
        SIGN_TARGET,
        STUDENT_LINEAR,
        TEACHER_KEEPS_SIGN,
        TEACHER_LINEAR,
        _Network,
        _Three,
    )

_MOST_SMOOTH = 4  # the most variables that are integrated one by one, else along a lattice
_MOST_KINKED = 2


def _over_lattice(kinked: bool, sign: bool, labels: bool, students: int, others: int) -> bool:
    """Return whether means use a lattice: where variables are many, or surfaces of kinks or labels
    depend on several of them.

    Args:
        kinked, sign: Whether an integrand is not smooth, and whether targets are signs.
        labels: Whether targets are the sign of one field, over which means are exact.
        students: The number of students' fields.
        others: The number of further variables: teachers' fields, unless labels are exact, and
            label noise.
    """
    crossed = (sign and not labels) or (kinked and students > 1)
    return crossed or students + others > (_MOST_KINKED if kinked else _MOST_SMOOTH)


def _is_one_teacher(M: int) -> bool:
    """Return whether the target is a function of a single sum of the teachers' fields."""
    return TEACHER_LINEAR == 1 or (TEACHER_KEEPS_SIGN == 1 and M == 1)


def _fields_of_kept(
    overlaps: _Overlaps, kept: np.ndarray, one_student: bool, one_teacher: bool
) -> tuple[tuple[_Array, _Array], tuple[_Array, _Array]]:
    """Return the fields that outputs depend on, as sums over units, with biases and output weights.

    The first pair has a row of coefficients for each student field and each teacher field; the
    second pair has the biases of all these fields and the output weights of the students.
    """
    _, R, _, v, v_teacher, b, c = overlaps
    K, M = R.shape[0], R.shape[1]
    units = int(kept[K])
    # if no unit is kept, one with output zero stands for them
    k, m = 1 if one_student else max(1, units), 1 if one_teacher else M
    students, teachers = np.zeros((k, K)), np.zeros((m, M))
    biases, weights = np.zeros(k + m), np.zeros(k)
    for a in range(max(1, units)):
        i = int(kept[a])
        output = v[i] if a < units else 0.0
        students[0 if one_student else a, i] = output if one_student else 1.0
        biases[0 if one_student else a] += (output if one_student else 1.0) * b[i]
        weights[0 if one_student else a] = 1.0 if one_student else output
    for a in range(M):
        teachers[0 if one_teacher else a, a] = v_teacher[a] if one_teacher else 1.0
        biases[k if one_teacher else k + a] += (v_teacher[a] if one_teacher else 1.0) * c[a]
    return (students, teachers), (biases, weights)


def _covariance_of(overlaps: _Overlaps, students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    """Return the covariance of sums of fields; each row of coefficients is one sum."""
    Q, R, T = overlaps[0], overlaps[1], overlaps[2]
    (k, K), (m, M) = students.shape, teachers.shape
    covariance = np.zeros((k + m, k + m))
    for a in range(k):
        for e in range(k):
            for i in range(K):
                for j in range(K):
                    covariance[a, e] += students[a, i] * Q[i, j] * students[e, j]
        for e in range(m):
            for i in range(K):
                for j in range(M):
                    part = students[a, i] * R[i, j] * teachers[e, j]
                    covariance[a, k + e] += part
                    covariance[k + e, a] += part
    for a in range(m):
        for e in range(m):
            for i in range(M):
                for j in range(M):
                    covariance[k + a, k + e] += teachers[a, i] * T[i, j] * teachers[e, j]
    return covariance


def _means_of(
    network: _Network, numbers: _Three, means: _Means, valued: bool
) -> tuple[float, float]:
    """Write means computed variable by variable, or along the lattice; return error and loss."""
    k, m = network[2].size, network[3].size
    # labels are then the sign of the one teacher field, whatever its activation
    labels = SIGN_TARGET == 1 and m == 1 and (TEACHER_LINEAR == 1 or TEACHER_KEEPS_SIGN == 1)
    others = (0 if labels else m) + (1 if numbers[0] != 0.0 else 0)
    if _over_lattice(KINKED == 1, SIGN_TARGET == 1, labels, k, others):
        return _lattice_forces(network, numbers, means, valued)
    return _forces(network, numbers, means, valued)


def _add_of_kept(
    overlaps: _Overlaps, kept: np.ndarray, share: float, means: _Means, rates: _Rates
) -> None:
    """Add ``share`` times the means over fields to the rates of the units that are kept."""
    Q, R, v, v_teacher, b = overlaps[0], overlaps[1], overlaps[3], overlaps[4], overlaps[5]
    moments, force, mean, square = means
    A, B, dv, Gamma, db = rates
    K, M = R.shape[0], R.shape[1]
    units, k = int(kept[K]), force.size
    one_student, one_teacher = STUDENT_LINEAR == 1, _is_one_teacher(M)
    for first in range(units):
        i = int(kept[first])
        a, scale = (0, v[i]) if one_student else (first, 1.0)
        for second in range(units):
            j = int(kept[second])
            e, other = (0, v[j]) if one_student else (second, 1.0)
            A[i, j] += share * scale * other * moments[a, e]
            Gamma[i, j] += share * scale * other * square[a, e]
        for j in range(M):
            along = v_teacher[j] * moments[a, k] if one_teacher else moments[a, k + j]
            B[i, j] += share * scale * along
        db[i] += share * scale * mean[a]
        if one_student:
            dv[i] += share * b[i] * mean[0]
            for second in range(units):
                j = int(kept[second])
                dv[i] += share * Q[i, j] * v[j] * moments[0, 0]
            for j in range(M):
                along = v_teacher[j] * moments[0, k] if one_teacher else moments[0, k + j]
                dv[i] += share * R[i, j] * along
        else:
            dv[i] += share * force[a]


def _of_kept(
    overlaps: _Overlaps,
    kept: np.ndarray,
    numbers: _Three,
    share: float,
    rates: _Rates,
    valued: bool,
) -> tuple[float, float]:
    """Add ``share`` times the means for one choice of kept units; return error and loss.

    ``kept`` lists the units that contribute to the output, and its last entry is their number.
    ``numbers`` are label noise, the chance of a flip, and the shift of the lattice.
    """
    noise, flip, turn = numbers
    one_teacher = _is_one_teacher(overlaps[4].size)
    fields, (biases, weights) = _fields_of_kept(overlaps, kept, STUDENT_LINEAR == 1, one_teacher)
    covariance, k = _covariance_of(overlaps, fields[0], fields[1]), weights.size
    known = 0.0
    if TEACHER_LINEAR and not SIGN_TARGET:
        # the teacher's output plus label noise is one Gaussian field
        covariance[k, k] += noise * noise
        known, noise = 0.5 * noise * noise, 0.0
    network = covariance, biases, weights, np.ones(1) if one_teacher else overlaps[4]
    means = np.empty((k, biases.size)), np.empty(k), np.empty(k), np.empty((k, k))
    error, loss = _means_of(network, (noise, flip, turn), means, valued)
    _add_of_kept(overlaps, kept, share, means, rates)
    return error - known, loss


def _all_forces(
    overlaps: _Overlaps,
    numbers: _Three,
    keep: float,
    scale: float,
    rates: _Rates,
    valued: bool,
) -> tuple[float, float]:
    """Write rates averaged over all choices of kept units, each kept with probability ``keep``.

    Returned are error and mean loss; the error is that of all units, with output weights times
    ``scale``.
    """
    Q, R, T, v, v_teacher, b, c = overlaps
    A, B, dv, Gamma, db = rates
    K = v.size
    A[:] = 0.0
    B[:] = 0.0
    dv[:] = 0.0
    Gamma[:] = 0.0
    db[:] = 0.0
    error, loss = 0.0, 0.0
    active = np.zeros(K + 1, np.int64)
    one = 1
    for mask in range(1 if keep == 1.0 else one << K):
        units, share = 0, 1.0
        for i in range(K):
            if keep == 1.0 or (mask >> i) & 1:
                active[units] = i
                units += 1
                share *= keep
            else:
                share *= 1.0 - keep
        active[K] = units
        if units == 0 and not valued:
            continue
        means = _of_kept(overlaps, active, numbers, share, rates, valued)
        error = means[0]
        loss += share * means[1]
    if keep < 1.0 or scale != 1.0:
        # the last choice was that of all units; the weight zero leaves the rates as they are
        scaled = Q, R, T, scale * v, v_teacher, b, c
        means = _of_kept(scaled, active, (0.0, 0.0, numbers[2]), 0.0, rates, False)
        error = means[0]
    return error, loss
