"""Inputs whose covariance comes from a file: as a matrix, or estimated from samples.

In the eigenbasis of the covariance this is a spectrum like any other: students and teachers drawn
with independent normal entries have the same law in every basis, so only eigenvalues matter.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.files import why_unread
from symderiv.inputs.array_files import printable, read_matrix
from symderiv.inputs.given import Given, Source
from symderiv.inputs.model import Component, DataModel

#: Largest dimension whose covariance is diagonalised: minutes and about a gigabyte.
MAX_DIMENSION = 8192
#: Default relative distance within which two eigenvalues count as equal.
GROUPING_TOLERANCE = 1e-9

_EPSILON = float(np.finfo(np.float64).eps)
# Relative asymmetry that rounding explains: a covariance summed over millions of samples in double
# or in single precision.
_ASYMMETRY, _ASYMMETRY_SINGLE = 1e-9, 1e-4
# Samples are not this close to a symmetric matrix by accident.
_NEARLY_SYMMETRIC = 0.01
# Bounds on entries: their squares, and products of those with overlaps, must stay far from the
# limits of doubles.
_SMALLEST, _LARGEST = 1e-100, 1e100
_BLOCK_NUMBERS = 1 << 22
# Smaller relative changes of eigenvalues are rounding and not reported.
_WORTH_A_WORD = 1e-6


@dataclass(frozen=True)
class FileSpectrum:
    """The eigenvalues of the covariance in a file.

    Args:
        eigenvalue: all N of them, descending, >= 0, shape (N,).
        remarks: notes for readers of results on how they were obtained.
    """

    eigenvalue: np.ndarray
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Grouping:
    """Groups of eigenvalues: their means and their multiplicities.

    Args:
        eigenvalue: descending, shape (L,).
        multiplicity: int64, shape (L,), sum N.
    """

    eigenvalue: np.ndarray
    multiplicity: np.ndarray


def covariance(
    path: str | os.PathLike[str] | Given,
    array: str | None = None,
    *,
    distinct_eigenvalues: int | None = None,
    grouping_tolerance: float | None = None,
    normalise: bool = False,
    dimension: int | None = None,
    name: str | None = None,
) -> DataModel:
    """Return inputs with the covariance that a file holds.

    Args:
        path: an .npz file with the array ``covariance`` (N, N) or ``samples`` (P, N), or an .npy
            file: a symmetric matrix is a covariance, any other one samples. Or such arrays.
        array: the name of the array in an .npz file, if it has another one; its kind is decided as
            for an .npy file.
        distinct_eigenvalues: L, see :func:`group_evenly`.
        grouping_tolerance: see :func:`group_close`; 1e-9 unless L is given.
        normalise: whether to divide by the mean eigenvalue, which is then 1.
        dimension: N, to check the dimension of the file.
        name: the name of the file in messages.

    Raises:
        InputError: the file or a value cannot be used; the message starts with the name of the
            argument, ``file`` for the path.
    """
    if distinct_eigenvalues is not None and grouping_tolerance is not None:
        raise InputError(
            "is given together with distinct_eigenvalues; remove one", argument="grouping_tolerance"
        )
    spectrum = read_spectrum(path, array, name=name)
    values, remarks = spectrum.eigenvalue, list(spectrum.remarks)
    N = values.size
    if dimension is not None and dimension != N:
        raise InputError(
            f"is {dimension}, but the covariance has {N} inputs; correct dimension or leave it out",
            argument="dimension",
        )
    if normalise:
        mean = float(np.mean(values))
        values = values / mean
        remarks.append(f"divided by its mean eigenvalue {mean:.6g}")
    if distinct_eigenvalues is not None:
        grouping = group_evenly(values, distinct_eigenvalues)
    else:
        tolerance = GROUPING_TOLERANCE if grouping_tolerance is None else grouping_tolerance
        grouping = group_close(values, tolerance)
    effect = effect_of_grouping(values, grouping)
    if effect:
        remarks.append(effect)
    model = DataModel(
        "covariance",
        (Component(1.0, grouping.eigenvalue, grouping.multiplicity / N),),
        N,
        (f"data.file: {'; '.join(remarks)}",) if remarks else (),
    )
    return model


def read_spectrum(
    path: str | os.PathLike[str] | Given, array: str | None = None, *, name: str | None = None
) -> FileSpectrum:
    """Return the eigenvalues of the covariance in a file; see :func:`covariance` for the file.

    The matrix is diagonalised once per file as long as the file does not change.

    Raises:
        InputError: the file cannot be used; the message starts with ``file`` or ``array``.
    """
    if isinstance(path, Given):
        return _read_spectrum(path, array, path.name, 0, 0)
    path = Path(path)
    name = printable(name or path.name, 200)
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: {why_unread(path, error)}", argument="file") from None
    return _read_spectrum(path.absolute(), array, name, status.st_mtime_ns, status.st_size)


def read_covariance(path: str | os.PathLike[str] | Given, array: str | None = None) -> np.ndarray:
    """Return the covariance in a file as a matrix, in the coordinates of the file.

    Args:
        path: see :func:`covariance`; samples give their sample covariance.
        array: see :func:`covariance`.

    Returns:
        Shape (N, N), exactly symmetric.

    Raises:
        InputError: the file cannot be used; the message starts with ``file`` or ``array``.
    """
    if not isinstance(path, Given):
        path = Path(path)
    read = _matrix_in(path, array, printable(path.name, 200))
    eigenvalues_of(read.matrix, read.where)
    with np.errstate(over="ignore", under="ignore"):
        matrix: np.ndarray = read.matrix.astype(np.float64) * read.unit * read.unit
    _scale(matrix, read.where)
    symmetric: np.ndarray = 0.5 * (matrix + matrix.T)
    return symmetric


@dataclass(frozen=True)
class _Found:
    """The matrix in a file; the covariance is this matrix times ``unit`` squared."""

    matrix: np.ndarray
    unit: float
    where: str
    remarks: tuple[str, ...]


def _matrix_in(path: Source, array: str | None, name: str) -> _Found:
    called, matrix = read_matrix(path, ("covariance", "samples"), array, name=name)
    where = f"{name}: {called}" if called else name
    dimension = matrix.shape[1]
    if dimension > MAX_DIMENSION:
        raise InputError(
            f"{where}: has {dimension} inputs, more than the {MAX_DIMENSION} that can be "
            "diagonalised here; give their eigenvalues as a spectrum",
            argument="file",
        )
    scale = _scale(matrix, where)
    if called == "samples":
        is_covariance = False
    elif called == "covariance":
        _refuse_asymmetric(matrix, scale, where)
        is_covariance = True
    else:
        is_covariance = _looks_like_covariance(matrix, scale, where)
    if is_covariance:
        return _Found(matrix, 1.0, where, ())
    samples = matrix.shape[0]
    remarks = (
        f"covariance estimated from {samples} samples of {dimension} inputs, "
        "their mean removed" + (f" (its rank is below {samples})" if samples <= dimension else ""),
    )
    return _Found(sample_covariance(matrix, scale, where), scale, where, remarks)


@lru_cache(maxsize=8)
def _read_spectrum(
    path: Source, array: str | None, name: str, _time: int, _size: int
) -> FileSpectrum:
    read = _matrix_in(path, array, name)
    where = read.where
    values = eigenvalues_of(read.matrix, where)
    if read.unit != 1.0:
        with np.errstate(over="ignore", under="ignore"):
            values = values * read.unit * read.unit
    with np.errstate(over="ignore"):
        mean = float(np.mean(values))
    if not _SMALLEST <= mean <= _LARGEST:
        reason = (
            "is zero or too small for a double"
            if mean == 0.0
            else f"is {mean:.3g}; scale the inputs"
        )
        raise InputError(f"{where}: the mean variance of an input {reason}", argument="file")
    values.setflags(write=False)
    return FileSpectrum(values, read.remarks)


def _scale(matrix: np.ndarray, where: str) -> float:
    """Return the largest modulus of an entry, or 1 for a zero matrix; refuse numbers that are not
    finite.
    """
    if matrix.dtype.kind == "f":
        rows, columns = np.nonzero(~np.isfinite(matrix))
        if rows.size:
            raise InputError(
                f"{where}: entry [{rows[0]}, {columns[0]}] is "
                f"{float(matrix[rows[0], columns[0]])}, not a finite number",
                argument="file",
            )
    # as floats: the modulus of the smallest integer does not exist in its own type
    scale = max(abs(float(np.max(matrix))), abs(float(np.min(matrix))))
    if math.isinf(scale):
        raise InputError(f"{where}: an entry is larger than a double can hold", argument="file")
    return scale if scale > 0.0 else 1.0


def _single(matrix: np.ndarray) -> bool:
    return matrix.dtype.kind == "f" and matrix.dtype.itemsize < 8


def _asymmetry(matrix: np.ndarray, scale: float) -> tuple[float, bool]:
    """Return the largest relative asymmetry of a matrix, and whether rounding explains it."""
    scaled = matrix.astype(np.float64) / scale
    largest = float(np.max(np.abs(scaled - scaled.T)))
    return largest, largest <= (_ASYMMETRY_SINGLE if _single(matrix) else _ASYMMETRY)


def _refuse_asymmetric(matrix: np.ndarray, scale: float, where: str) -> None:
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"{where}: has shape {matrix.shape}, but a covariance is square; "
            'samples are read from an array named "samples"',
            argument="file",
        )
    difference, symmetric = _asymmetry(matrix, scale)
    if not symmetric:
        raise InputError(
            f"{where}: is not symmetric (entries differ by {difference:.1e} of the largest)",
            argument="file",
        )


def _looks_like_covariance(matrix: np.ndarray, scale: float, where: str) -> bool:
    if matrix.shape[0] != matrix.shape[1]:
        return False
    difference, symmetric = _asymmetry(matrix, scale)
    if not symmetric and difference < _NEARLY_SYMMETRIC:
        raise InputError(
            f"{where}: is nearly symmetric (entries differ by {difference:.1e} of the largest): "
            'neither a covariance nor samples; say which in an .npz file, "covariance" or '
            '"samples"',
            argument="file",
        )
    return symmetric


def sample_covariance(samples: np.ndarray, scale: float = 1.0, where: str = "") -> np.ndarray:
    """Return the unbiased estimate of the covariance of samples divided by ``scale``.

    Sum of (x - mean)(x - mean)^T over the P samples, divided by P - 1.

    Args:
        samples: shape (P, N), P at least 2.
        scale: keeps squares of large numbers within the range of a double.

    Raises:
        InputError: there is only one sample.
    """
    P, N = samples.shape
    if P < 2:
        raise InputError(
            f"{where}: has one sample; a covariance needs at least two", argument="file"
        )
    block = max(1, _BLOCK_NUMBERS // N)
    starts = range(0, P, block)

    def piece(start: int) -> np.ndarray:
        numbers: np.ndarray = samples[start : start + block].astype(np.float64)
        return numbers / scale

    mean = sum((piece(start).sum(axis=0) for start in starts), np.zeros(N)) / P
    total = np.zeros((N, N))
    for start in starts:
        centred = piece(start) - mean
        total += centred.T @ centred
    total /= P - 1
    return total


def eigenvalues_of(matrix: np.ndarray, where: str = "") -> np.ndarray:
    r"""Return the eigenvalues of a covariance, descending, shape (N,).

    :func:`numpy.linalg.eigh` knows an eigenvalue to about :math:`N \epsilon \lambda_1`,
    :math:`\epsilon` = 2.2e-16, :math:`\lambda_1` the largest: within that bound it counts as zero.
    Negative ones count as zero, too, down to the same bound with the :math:`\epsilon` of the matrix
    as given, which is larger for single precision.

    Args:
        matrix: shape (N, N), symmetric up to rounding; half of it and its transpose is used.

    Raises:
        InputError: an eigenvalue is below that bound, so that the matrix is not a covariance.
    """
    epsilon = float(np.finfo(matrix.dtype).eps) if _single(matrix) else _EPSILON
    scale = _scale(matrix, where)
    scaled = matrix.astype(np.float64) / scale
    try:
        ascending = np.linalg.eigvalsh(0.5 * (scaled + scaled.T))
    except np.linalg.LinAlgError:
        raise InputError(f"{where}: its eigenvalues cannot be computed", argument="file") from None
    values = ascending[::-1].copy()
    size = float(np.max(np.abs(values)))
    if values[-1] < -values.size * epsilon * size:
        raise InputError(
            f"{where}: is not a covariance: it has the eigenvalue {values[-1] * scale:.3g} (the "
            f"largest is {values[0] * scale:.3g}); a variance cannot be negative",
            argument="file",
        )
    values[values <= _rounding(values)] = 0.0
    with np.errstate(over="ignore", under="ignore"):
        result: np.ndarray = values * scale
    return result


def _rounding(values: np.ndarray) -> float:
    return values.size * _EPSILON * float(np.max(np.abs(values)))


def group_close(values: np.ndarray, tolerance: float = GROUPING_TOLERANCE) -> Grouping:
    r"""Replace groups of nearly equal eigenvalues by their means.

    From the largest down, a group takes every eigenvalue that is within the relative distance
    ``tolerance`` of the group's first, or within :math:`N \epsilon \lambda_1`, where rounding
    cannot tell them apart. No eigenvalue changes by more than about ``tolerance``. Zeros stay
    zeros. With tolerance 0 only equal numbers form a group.

    Args:
        values: descending, >= 0, shape (N,).
        tolerance: in [0, 1).

    Raises:
        InputError: the tolerance is outside its range.
    """
    if not 0.0 <= tolerance < 1.0:
        raise InputError(f"{tolerance!r} is not in [0, 1)", argument="grouping_tolerance")
    rounding = _rounding(values) if tolerance > 0.0 else 0.0
    sizes: list[int] = []
    first = values[0]
    for value in values:
        alone = value == 0.0 and first > 0.0
        if sizes and not alone and first - value <= tolerance * first + rounding:
            sizes[-1] += 1
        else:
            sizes.append(1)
            first = value
    return _grouped(values, sizes)


def group_evenly(values: np.ndarray, distinct_eigenvalues: int) -> Grouping:
    """Return the sorted eigenvalues in L groups of N/L neighbours, each replaced by its mean.

    When L does not divide N, the first N mod L groups have one member more. The trace is kept;
    zero eigenvalues are grouped like all others.

    Args:
        values: descending, shape (N,).
        distinct_eigenvalues: L, from 1 to N.

    Raises:
        InputError: L is outside its range.
    """
    N = values.size
    if not 1 <= distinct_eigenvalues <= N:
        raise InputError(
            f"{distinct_eigenvalues} is not between 1 and the {N} inputs of the covariance",
            argument="distinct_eigenvalues",
        )
    quotient, rest = divmod(N, distinct_eigenvalues)
    return _grouped(values, [quotient + (l < rest) for l in range(distinct_eigenvalues)])


def _grouped(values: np.ndarray, sizes: list[int]) -> Grouping:
    multiplicity = np.array(sizes, dtype=np.int64)
    ends = np.cumsum(multiplicity)
    means = [
        # the mean of equal numbers can differ from them in the last digit
        group[0] if group[0] == group[-1] else float(np.mean(group))
        for group in np.split(values, ends[:-1])
    ]
    return Grouping(np.array(means), multiplicity)


def effect_of_grouping(values: np.ndarray, grouping: Grouping) -> str:
    """Return, in words, how grouping changes the eigenvalues; empty if only by rounding."""
    used = np.repeat(grouping.eigenvalue, grouping.multiplicity)
    change = np.abs(used - values)
    change[change <= _rounding(values)] = 0.0
    positive = values > 0.0
    relative = np.divide(change, values, out=np.zeros_like(change), where=positive)
    lifted = int(np.count_nonzero(change[~positive]))
    worst = int(np.argmax(relative))
    if relative[worst] <= _WORTH_A_WORD and not lifted:
        return ""
    moved = 0.5 * float(np.sum(change)) / float(np.sum(values))
    groups = grouping.eigenvalue.size
    text = (
        f"its {values.size} eigenvalues are replaced by the means of {groups} "
        f"group{'s' if groups > 1 else ''}, in the equations and in the simulation alike: "
        f"the largest relative change is {relative[worst]:.3g} "
        f"(eigenvalue {worst + 1}, {values[worst]:.3g} to {used[worst]:.3g})"
    )
    if lifted:
        largest = float(np.max(used[~positive]))
        text += f", {lifted} zero eigenvalue{'s' if lifted > 1 else ''} became up to {largest:.3g}"
    return f"{text}, {moved:.2%} of the input variance is moved between eigenvalues"
