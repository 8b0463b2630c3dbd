"""The state of the dynamics: overlaps per distinct eigenvalue, their file, their checks."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.files import kind_of, why_unread
from symderiv.foundation.named_arguments import public_methods
from symderiv.foundation.outputs import Output, as_output
from symderiv.foundation.packing import of_rule
from symderiv.foundation.seals import is_broken
from symderiv.foundation.showing import Shown, Summary
from symderiv.problem.flat_layout import pack_state, split_flat

ARRAYS = (
    "eigenvalue",
    "weight",
    "student_overlap",
    "cross_overlap",
    "teacher_overlap",
    "teacher_covariance",
    "student_weights",
    "teacher_weights",
)

# Overlaps carry rounding errors of about 1e-16 per coordinate, and files may come from
# single-precision work: a covariance is refused if its relative eigenvalue is below minus this.
_CONE_TOLERANCE = 1e-7


@public_methods
@dataclass(frozen=True, repr=False, eq=False)
class State(Shown):
    r"""Overlaps per distinct eigenvalue :math:`\rho_k` of the input covariance, k = 1…L.

    Args:
        eigenvalue: :math:`\rho_k \ge 0`, shape (L,).
        weight: :math:`w_k > 0`, multiplicity over N, shape (L,), sum 1.
        student_overlap: Q_k, shape (L, K, K), symmetric.
        cross_overlap: r_k, shape (L, K, M).
        teacher_overlap: t_k, shape (L, M, M), symmetric.
        teacher_covariance: T, shape (M, M), symmetric.
        student_weights: v, shape (K,).
        teacher_weights: shape (M,).
        further: what a learning rule adds, by the names of solver modules, with the eigenvalue's
            index last; what is left out begins as it does without a given state.

    All arrays are float64, in C order and read-only. With :math:`\varphi_n = \sqrt N E[\xi y_n]`,
    Q_k, r_k and t_k are the means of :math:`J_i J_j`, :math:`J_i \varphi_n` and
    :math:`\varphi_n \varphi_m` over the coordinates of the eigenspace, so that Q = Σ w_k ρ_k Q_k
    and R = Σ w_k r_k.

    Raises:
        InputError: an array is not admissible; the message starts with its name.
    """

    eigenvalue: np.ndarray
    weight: np.ndarray
    student_overlap: np.ndarray
    cross_overlap: np.ndarray
    teacher_overlap: np.ndarray
    teacher_covariance: np.ndarray
    student_weights: np.ndarray
    teacher_weights: np.ndarray
    further: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ARRAYS:
            array = np.asarray(getattr(self, name))
            if array.dtype.kind not in "fiu":
                raise InputError(f"holds {array.dtype}, expected real numbers", argument=name)
            array = np.array(array, dtype=np.float64, order="C")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        self._check_shapes()
        self._check_values()

    @property
    def K(self) -> int:
        """The number of students."""
        return int(self.student_weights.size)

    @property
    def M(self) -> int:
        """The number of teachers."""
        return int(self.teacher_weights.size)

    @property
    def L(self) -> int:
        """The number of distinct eigenvalues."""
        return int(self.eigenvalue.size)

    @property
    def Q(self) -> np.ndarray:
        """E[x_i x_j], shape (K, K)."""
        Q: np.ndarray = np.einsum("k,kij->ij", self.weight * self.eigenvalue, self.student_overlap)
        return Q

    @property
    def R(self) -> np.ndarray:
        """E[x_i y_n], shape (K, M)."""
        R: np.ndarray = np.einsum("k,kin->in", self.weight, self.cross_overlap)
        return R

    @property
    def T(self) -> np.ndarray:
        """E[y_n y_m], shape (M, M)."""
        return self.teacher_covariance

    def to_dict(self) -> dict[str, Any]:
        """Return all arrays as nested lists."""
        return {name: array.tolist() for name, array in self._arrays().items()}

    def _arrays(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ARRAYS} | dict(self.further)

    def _summary(self) -> Summary:
        rows: list[tuple[str, object]] = [
            ("units", f"students K = {self.K}, teachers M = {self.M}, eigenvalues L = {self.L}"),
            *((name, getattr(self, name)) for name in ("Q", "R", "T")),
            ("v", self.student_weights),
        ]
        return Summary("State", rows)

    def flat(self) -> np.ndarray:
        """Q_k, r_k, v in one vector, as the generated modules pack them."""
        return pack_state(self.student_overlap, self.cross_overlap, self.student_weights)

    def with_flat(self, flat: np.ndarray, further: Mapping[str, np.ndarray] | None = None) -> State:
        """Return the state of the same problem at another time, from a vector as :meth:`flat` gives
        it.
        """
        Q_k, r_k, v = split_flat(flat, self.K, self.M, self.L)
        # the integration itself watches the cone; a failed run may be outside
        return unchecked_state(
            self.eigenvalue,
            self.weight,
            np.array(Q_k, order="C"),
            np.array(r_k, order="C"),
            self.teacher_overlap,
            self.teacher_covariance,
            v.copy(),
            self.teacher_weights,
            further=further,
        )

    def save(self, path: str | Path | Output) -> None:
        """Write the arrays as an ``.npz`` file, whole or not at all.

        Raises:
            InputError: the file is there and symderiv did not write it.
        """
        target = as_output(path, "npz")
        content = io.BytesIO()
        np.savez(content, **self._arrays())
        target.write(content.getvalue())

    def _check_shapes(self) -> None:
        for name, axes in (
            ("eigenvalue", 1),
            ("weight", 1),
            ("student_overlap", 3),
            ("cross_overlap", 3),
            ("teacher_overlap", 3),
            ("teacher_covariance", 2),
            ("student_weights", 1),
            ("teacher_weights", 1),
        ):
            array = getattr(self, name)
            if array.ndim != axes or array.size == 0:
                raise InputError(f"has shape {array.shape}, expected {axes} axes", argument=name)
        K, M, L = self.K, self.M, self.L
        for name, shape in (
            ("weight", (L,)),
            ("student_overlap", (L, K, K)),
            ("cross_overlap", (L, K, M)),
            ("teacher_overlap", (L, M, M)),
            ("teacher_covariance", (M, M)),
        ):
            given = getattr(self, name).shape
            if given != shape:
                raise InputError(
                    f"has shape {given}, expected {shape} "
                    f"for L = {L} eigenvalues, K = {K} students, M = {M} teachers",
                    argument=name,
                )

    def _check_values(self) -> None:
        for name in ARRAYS:
            if not np.all(np.isfinite(getattr(self, name))):
                raise InputError("holds a value that is not a finite number", argument=name)
        if np.any(self.eigenvalue < 0) or not np.any(self.eigenvalue > 0):
            raise InputError("variances must be >= 0 and not all zero", argument="eigenvalue")
        if np.any(self.weight <= 0) or abs(self.weight.sum() - 1.0) > 1e-9:
            raise InputError(
                f"must be positive with sum 1; the sum is {self.weight.sum():.12g}",
                argument="weight",
            )
        for name in ("student_overlap", "teacher_overlap", "teacher_covariance"):
            array = getattr(self, name)
            scale = np.max(np.abs(array))
            if np.max(np.abs(array - np.swapaxes(array, -1, -2))) > _CONE_TOLERANCE * scale:
                raise InputError("is not symmetric", argument=name)
        dead = self.eigenvalue == 0.0
        if np.any(self.cross_overlap[dead]) or np.any(self.teacher_overlap[dead]):
            raise InputError(
                "cross_overlap, teacher_overlap: must be zero where the eigenvalue is zero"
            )
        per_mode = _block(self.student_overlap, self.cross_overlap, self.teacher_overlap)
        # the whole block first, which nearly always suffices: with tens of thousands of eigenvalues
        # these checks are slow
        suspects = (
            ()
            if first_outside(per_mode) is None
            else (
                ("student_overlap", self.student_overlap),
                ("teacher_overlap", self.teacher_overlap),
                ("cross_overlap", per_mode),
            )
        )
        for name, gram in suspects:
            k = first_outside(gram)
            if k is not None:
                raise InputError(
                    f"the overlaps at eigenvalue {k + 1} of {self.L} are not those of any "
                    "vectors (the matrix is not positive semi-definite)",
                    argument=name,
                )
        alive = ~dead
        explained = np.einsum(
            "k,kij->ij", self.weight[alive] / self.eigenvalue[alive], self.teacher_overlap[alive]
        )
        scale = np.max(np.abs(self.teacher_covariance))
        rest = self.teacher_covariance - explained
        if np.linalg.eigvalsh(rest)[0] < -_CONE_TOLERANCE * scale:
            raise InputError(
                "is smaller than teacher_overlap implies "
                "(T must be at least the sum of w_k t_k / rho_k)",
                argument="teacher_covariance",
            )


def unchecked_state(*arrays: np.ndarray, further: Mapping[str, np.ndarray] | None = None) -> State:
    """Return a state of the given arrays, in the order of :data:`ARRAYS`, without checks."""
    state = object.__new__(State)
    for name, array in zip(ARRAYS, arrays, strict=True):
        object.__setattr__(state, name, array)
    object.__setattr__(state, "further", further or {})
    return state


def _block(a: np.ndarray, b: np.ndarray, d: np.ndarray) -> np.ndarray:
    top = np.concatenate([a, b], axis=-1)
    bottom = np.concatenate([np.swapaxes(b, -1, -2), d], axis=-1)
    return np.concatenate([top, bottom], axis=-2)


def first_outside(gram: np.ndarray) -> int | None:
    """Return the index of the first matrix with an eigenvalue clearly below zero, or None.

    Rows and columns are scaled to a unit diagonal first, so that small students next to large
    teachers are checked as strictly as the teachers.
    """
    diagonal = np.sqrt(np.abs(np.einsum("kii->ki", gram)))
    safe = np.where(diagonal > 0, diagonal, 1.0)
    scaled = gram / safe[:, :, None] / safe[:, None, :]
    tolerance = _CONE_TOLERANCE * gram.shape[-1]
    try:
        # four times faster than eigenvalues, and sufficient for matrices that are fine
        np.linalg.cholesky(scaled + tolerance * np.eye(gram.shape[-1]))
        return None
    except np.linalg.LinAlgError:
        pass
    bad = np.linalg.eigvalsh(scaled)[:, 0] < -tolerance
    return int(np.argmax(bad)) if np.any(bad) else None


def load_state(path: str | Path) -> State:
    """Read a state file.

    Raises:
        InputError: the file cannot be read, an array is missing or not admissible; pickled
            objects are never loaded.
    """
    path = Path(path)
    try:
        if kind := kind_of(path.stat()):
            raise InputError(f"is a {kind}, not a file")
        if is_broken(path):
            raise InputError("was changed since symderiv wrote it, or is damaged")
        # np.load would try other formats too; only a zip of arrays is a state file
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise InputError("is not an .npz archive")
            file.seek(0)
            archive = np.load(file, allow_pickle=False)
            arrays: dict[str, np.ndarray] = {}
            for name in ARRAYS:
                if name not in archive.files:
                    raise InputError(
                        f'the array "{name}" is missing; State.save writes files of states'
                    )
                try:
                    arrays[name] = archive[name]
                except ValueError:
                    raise InputError("does not hold plain numbers", argument=name) from None
            added = {name: archive[name] for name in archive.files if of_rule(name)}
        return State(**arrays, further=added)
    except InputError as error:
        raise InputError(f"{path.name}: {error}", argument="initial.state") from None
    except OSError as error:
        reason = why_unread(path, error)
        raise InputError(f"{path}: {reason}", argument="initial.state") from None
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{path.name}: is not an .npz file of numbers ({error})", argument="initial.state"
        ) from None
