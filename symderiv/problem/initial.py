"""The initial state of a study: from drawn vectors, their mean overlaps, or a state file."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.limits import check_memory
from symderiv.foundation.packing import order_name
from symderiv.inputs import DataModel
from symderiv.inputs.latent_teacher import LatentTeacher
from symderiv.problem.state import State, load_state, unchecked_state
from symderiv.problem.study import Study

# Streams of random numbers: one per purpose for each study seed, so that more runs, another student
# or another teacher leave the other numbers unchanged.
TEACHER, STUDENT, RUNS, FRAMES = range(4)

# Above this many numbers (400 MB) overlaps are drawn from their exact law, without vectors.
_MOST_NUMBERS = 5 * 10**7


def stream(seed: int, *purpose: int) -> np.random.Generator:
    """Return a random generator with a stream of its own for each seed and purpose."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=purpose)))


@dataclass(frozen=True)
class Vectors:
    """Weight vectors in the eigenbasis of the inputs.

    Args:
        student: J, shape (K, N).
        teacher: B, shape (M, N).
        variance: eigenvalue of each coordinate, shape (N,).
        first: index of the first coordinate of each distinct eigenvalue and N, shape (L + 1,).
    """

    student: np.ndarray
    teacher: np.ndarray
    variance: np.ndarray
    first: np.ndarray


@dataclass(frozen=True)
class LatentVectors:
    """Weight vectors of a student of inputs and of a teacher of the latent vectors behind them.

    Args:
        student: J, shape (K, N), in the coordinates of the inputs.
        teacher: W, shape (M, D).
        student_axes: J in the eigenbasis of the inputs, shape (K, N).
        teacher_axes: φ there, shape (M, N).
        variance: eigenvalue of each axis, shape (N,).
        latent: how the inputs are made.
    """

    student: np.ndarray
    teacher: np.ndarray
    student_axes: np.ndarray
    teacher_axes: np.ndarray
    variance: np.ndarray
    latent: LatentTeacher


@dataclass(frozen=True)
class Initial:
    """The start of a study: the state, the vectors behind it if any were drawn, the inputs.

    ``further`` has the given fields that the learning rule adds to the state, by their names in
    solver modules.
    """

    state: State
    vectors: Vectors | LatentVectors | None
    data: DataModel | None
    warnings: tuple[str, ...] = ()
    further: Mapping[str, np.ndarray] = field(default_factory=dict)


def check_equations(start: Initial) -> None:
    """Refuse inputs that can be drawn but have no equations.

    Raises:
        InputError: they have none.
    """
    latent = None if start.data is None else start.data.latent
    if latent is not None and latent.no_equations:
        raise InputError(f"data.{latent.no_equations}")


def initial(study: Study) -> Initial:
    """Return the initial state of a study.

    ``draw = "sampled"`` gives the overlaps of the vectors returned with them; ``"mean"`` and a
    state file come without vectors. Where the vectors would be very large and the simulation is not
    asked to use any, overlaps are drawn from their exact law without vectors.

    Raises:
        InputError: the state file cannot be used for this study.
    """
    data = study.data_model
    if study.state_file is not None:
        return start_from(study, load_state(study.state_file))
    assert data is not None
    # All that a start depends on in addition to the inputs: the same problem is often solved with
    # other learning rates.
    asked = (
        study.K,
        study.M,
        study.student_weights.tobytes(),
        study.teacher_weights.tobytes(),
        study.initial,
        study.simulation.method == "vectors",
    )
    for known, inputs, made in _last:
        if known == asked and inputs is data:
            return made
    made = _made(study, data)
    vectors = made.vectors
    if vectors is None or vectors.student.nbytes + vectors.teacher.nbytes <= _KEPT_BYTES:
        _last.appendleft((asked, data, made))
    return made


# The last starts, each with what it depends on: settings, inputs, start.
_last: deque[tuple[tuple[Any, ...], DataModel, Initial]] = deque(maxlen=4)
_KEPT_BYTES = 16 * 2**20


def _check_sizes(study: Study, data: DataModel) -> None:
    """Refuse sizes that do not fit into memory, before anything is drawn."""
    K, M = study.K, study.M
    L = sum(part.eigenvalue.size for part in data.components)
    # rates at the start need no times
    points = study.alpha.size if study.time.given else 0
    check_memory(
        8.0 * (_STATES * L * (K * K + K * M + M * M) + points * (K * K + K * M)),
        f"{L} eigenvalues, {K} students, {M} teachers and {points} points",
    )
    if data.latent is None and study.simulation.method == "vectors" and data.dimension:
        check_memory(
            8.0 * _VECTORS * data.dimension * (K + M),
            f"vectors of dimension {data.dimension} for {K} students and {M} teachers",
            argument="data.dimension",
        )


# The number of simultaneous copies of a state, and of the vectors, while a start is made.
_STATES = 6
_VECTORS = 2


def _made(study: Study, data: DataModel) -> Initial:
    _check_sizes(study, data)
    if study.initial.draw == "mean":
        return Initial(_mean_state(study, data), None, data, data.remarks)
    dimension = int(data.multiplicities().sum())
    if data.latent is not None:
        assert data.latent.cross is not None
        student, teacher = _drawn(study, dimension, data.latent.cross.shape[1])
        latent = latent_vectors(student, teacher, data, data.latent)
        return Initial(state_of_latent(latent, study, data), latent, data, data.remarks)
    if study.simulation.method != "vectors" and dimension * (study.K + study.M) > _MOST_NUMBERS:
        return Initial(drawn_state(study, data), None, data, data.remarks)
    vectors = vectors_in_eigenbasis(*_drawn(study, dimension, dimension), data)
    return Initial(state_of_vectors(vectors, study), vectors, data, data.remarks)


def _drawn(study: Study, student_size: int, teacher_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return students and teachers drawn with these numbers of coordinates."""
    seed = study.initial.seed
    teacher = stream(seed, TEACHER).standard_normal((study.M, teacher_size))
    if study.initial.teacher == "orthogonal":
        teacher = orthogonal_rows(teacher)
    student = stream(seed, STUDENT).standard_normal((study.K, student_size))
    return study.initial.student_std * student, teacher


def vectors_in_eigenbasis(student: np.ndarray, teacher: np.ndarray, data: DataModel) -> Vectors:
    """Return vectors with coordinates in the order of the eigenvalues of the inputs."""
    counts = data.multiplicities()
    variance = np.repeat(data.average().eigenvalue, counts)
    return Vectors(student, teacher, variance, np.concatenate(([0], np.cumsum(counts))))


def latent_vectors(
    student: np.ndarray, teacher: np.ndarray, data: DataModel, latent: LatentTeacher
) -> LatentVectors:
    """Return latent-teacher vectors, with students and φ in the eigenbasis of the inputs."""
    assert latent.axes is not None
    assert latent.cross is not None
    variance = np.repeat(data.average().eigenvalue, data.multiplicities())
    J, phi = student @ latent.axes, teacher @ latent.cross.T
    return LatentVectors(student, teacher, J, phi, variance, latent)


def state_of_latent(vectors: LatentVectors, study: Study, data: DataModel) -> State:
    """Return the overlaps of given vectors, for a teacher of latent vectors."""
    component = data.average()
    counts = data.multiplicities()
    first = np.concatenate(([0], np.cumsum(counts)[:-1]))

    def overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        means: np.ndarray = np.add.reduceat(a[:, None] * b[None, :], first, axis=2) / counts
        return np.ascontiguousarray(np.moveaxis(means, 2, 0))

    J, phi, W = vectors.student_axes, vectors.teacher_axes, vectors.teacher
    variance = vectors.latent.variance
    T = (W if variance is None else W * variance) @ W.T / W.shape[1]
    return State(
        eigenvalue=component.eigenvalue,
        weight=component.weight,
        student_overlap=_symmetric(overlap(J, J)),
        cross_overlap=overlap(J, phi),
        teacher_overlap=_symmetric(overlap(phi, phi)),
        teacher_covariance=_symmetric(T),
        student_weights=study.student_weights,
        teacher_weights=study.teacher_weights,
    )


def orthogonal_rows(rows: np.ndarray) -> np.ndarray:
    """Return orthogonal rows of squared norm N with the span of the given ones, shape (M, N), M <=
    N.
    """
    orthonormal, triangle = np.linalg.qr(rows.T)
    # without the signs the directions would not be uniformly distributed
    signs = np.where(np.diag(triangle) < 0, -1.0, 1.0)
    scaled: np.ndarray = np.sqrt(rows.shape[1]) * (orthonormal * signs).T
    return np.ascontiguousarray(scaled)


def state_of_vectors(vectors: Vectors, study: Study) -> State:
    """Return the overlaps of given vectors, for a teacher that sees the inputs themselves."""
    counts = np.diff(vectors.first)
    eigenvalue = vectors.variance[vectors.first[:-1]]

    def overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if counts.size > 1 and np.all(counts == counts[0]):
            # the usual case: a loop over tens of thousands of eigenvalues would be slow
            spaces = (counts.size, int(counts[0]))
            left = a.reshape(a.shape[0], *spaces).swapaxes(0, 1)
            right = b.reshape(b.shape[0], *spaces).transpose(1, 2, 0)
            means: np.ndarray = left @ right / counts[0]
            return means
        pieces = [
            a[:, begin:end] @ b[:, begin:end].T
            for begin, end in zip(vectors.first[:-1], vectors.first[1:], strict=True)
        ]
        means = np.stack(pieces) / counts[:, None, None]
        return means

    J, B = vectors.student, vectors.teacher
    return _state(study, eigenvalue, counts, overlap(J, J), overlap(J, B), overlap(B, B))


def drawn_state(study: Study, data: DataModel) -> State:
    """Return overlaps with the law of those of drawn vectors, at a cost independent of the
    dimension.

    In the orthonormal basis that normal vectors span one after the other, their coordinates below
    the diagonal are normal; those on it are the lengths of the residuals, roots of chi-squared
    numbers (Bartlett's decomposition). Teachers are made orthogonal as drawn vectors are, which
    keeps the matrices triangular.
    """
    counts = data.multiplicities()
    K, M, L, N = study.K, study.M, counts.size, int(counts.sum())

    def rows(purpose: int, first: int, count: int) -> np.ndarray:
        random = stream(study.initial.seed, purpose)
        column = np.arange(K + M)
        row = first + np.arange(count)
        coordinates = random.standard_normal((L, count, K + M))
        coordinates *= (column < row[:, None]) & (column < counts[:, None, None])
        freedom = np.maximum(counts[:, None] - row, 0)
        lengths = np.sqrt(2.0 * random.standard_gamma(0.5 * freedom))
        coordinates[:, np.arange(count), row] = lengths
        return coordinates

    B = rows(TEACHER, 0, M)
    if study.initial.teacher == "orthogonal":
        triangle = np.linalg.cholesky(np.einsum("kna,kma->nm", B, B))
        B = np.sqrt(N) * np.linalg.solve(triangle, B)
    J = study.initial.student_std * rows(STUDENT, M, K)

    def overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        means: np.ndarray = np.einsum("kia,kja->kij", a, b) / counts[:, None, None]
        return means

    eigenvalue = data.average().eigenvalue
    return _state(study, eigenvalue, counts, overlap(J, J), overlap(J, B), overlap(B, B))


def _state(
    study: Study,
    eigenvalue: np.ndarray,
    counts: np.ndarray,
    students: np.ndarray,
    cross: np.ndarray,
    teachers: np.ndarray,
) -> State:
    """Return the state with the given mean products J J, J B and B B over coordinates."""
    rho = eigenvalue[:, None, None]
    weight = counts / counts.sum()
    arrays = (
        eigenvalue,
        weight,
        _symmetric(students),
        rho * cross,
        _symmetric(rho**2 * teachers),
        _symmetric(np.einsum("k,kij->ij", weight * eigenvalue, teachers)),
        study.student_weights,
        study.teacher_weights,
    )
    if not all(np.isfinite(array.sum()) for array in arrays):
        return State(*arrays)  # raises with what overflows
    # overlaps of vectors are in the cone, and checking it would take longer than drawing them
    return unchecked_state(*(_kept(array) for array in arrays))


def _kept(array: np.ndarray) -> np.ndarray:
    """Return a read-only copy."""
    copy = np.array(array, dtype=np.float64, order="C")
    copy.setflags(write=False)
    return copy


def _symmetric(matrices: np.ndarray) -> np.ndarray:
    halves: np.ndarray = 0.5 * (matrices + np.swapaxes(matrices, -1, -2))
    return halves


def _mean_state(study: Study, data: DataModel) -> State:
    component = data.average()
    rho, weight = component.eigenvalue, component.weight
    students = study.initial.student_std**2 * np.eye(study.K)
    teachers = np.eye(study.M)
    share, total = rho**2, float(weight @ rho)
    if data.latent is not None:
        share = data.latent.share
        if data.latent.variance is None:
            total = 1.0
    return State(
        eigenvalue=rho,
        weight=weight,
        student_overlap=np.tile(students, (rho.size, 1, 1)),
        cross_overlap=np.zeros((rho.size, study.K, study.M)),
        teacher_overlap=share[:, None, None] * teachers,
        teacher_covariance=total * teachers,
        student_weights=study.student_weights,
        teacher_weights=study.teacher_weights,
    )


def start_from(study: Study, state: State) -> Initial:
    """Return the start of a study in a given state.

    Raises:
        InputError: the state is not one of this study's units and inputs.
    """
    data = study.data_model
    for key, expected, in_file in (
        ("students", study.K, state.K),
        ("teachers", study.M, state.M),
    ):
        if expected != in_file:
            raise InputError(
                f"is {expected}, but the state file has {in_file}; make them equal",
                argument=f"network.{key}",
            )
    if data is not None:
        component = data.average()
        same = (
            component.eigenvalue.shape == state.eigenvalue.shape
            and np.allclose(component.eigenvalue, state.eigenvalue, rtol=1e-9, atol=0.0)
            and np.allclose(component.weight, state.weight, rtol=1e-9, atol=0.0)
        )
        if not same:
            raise InputError(
                "has another spectrum than the state file initial.state; correct [data] or "
                "leave it out",
                argument="data",
            )
    warnings = tuple(
        f"network.{key} is overridden by initial.state"
        for key, stated, used in (
            ("student_weights", study.student_weights, state.student_weights),
            ("teacher_weights", study.teacher_weights, state.teacher_weights),
        )
        if key in study.network.model_fields_set and not np.allclose(stated, used, rtol=1e-9)
    )
    if data is not None:
        warnings += data.remarks
    return Initial(state, None, data, warnings, _further_of(study, state))


def _further_of(study: Study, state: State) -> dict[str, np.ndarray]:
    """Return what a state holds of the arrays that the study's rule adds."""
    if not state.further or not study.rule_keys:
        return {}
    # imported here: the arrays of a rule need SymPy, plain descent does not
    from symderiv.problem.rule_of import added_arrays

    sizes = {"K": state.K, "M": state.M, "L": state.L}
    further = {}
    for array in added_arrays(study):
        if array.name not in state.further:
            continue
        value, shape = state.further[array.name], tuple(sizes[axis] for axis in array.shape)
        if not np.isfinite(value).all():
            raise InputError(
                "is not known in this state: files of runs keep it only in sum over the "
                "eigenvalues; save the state at the end, or solve again",
                argument=order_name(array.name),
            )
        if value.shape != shape:
            raise InputError(f"has shape {value.shape}, expected {shape}", argument=array.name)
        further[array.name] = value
    return further


def coordinates_of(data: DataModel | None) -> np.ndarray:
    """Return the number of coordinates of each eigenvalue in a simulation, shape (L,).

    Raises:
        InputError: there is no dimension, or it does not fit the weights.
    """
    if data is None or data.dimension is None:
        raise InputError(
            "is missing; a simulation needs the number of inputs, even if initial.state is given",
            argument="data.dimension",
        )
    return data.multiplicities()


def require_linear_teacher(state: State) -> None:
    """Raise an InputError if the teacher's fields are more than linear in the inputs."""
    alive = state.eigenvalue > 0
    explained = np.einsum(
        "k,kij->ij", state.weight[alive] / state.eigenvalue[alive], state.teacher_overlap[alive]
    )
    if not np.allclose(explained, state.T, rtol=1e-7, atol=1e-7 * np.max(np.abs(state.T))):
        raise InputError(
            "teacher_covariance is larger than the overlaps with the inputs explain; such a "
            "teacher cannot be simulated from overlaps",
            argument="initial.state",
        )


def vectors_with_overlaps(state: State, data: DataModel | None, seed: int) -> Vectors:
    """Return vectors whose overlaps are exactly those of a state, in random directions.

    In each eigenspace a random orthonormal frame is multiplied with a factor of the Gram matrix of
    (J, phi).

    Raises:
        InputError: there is no dimension, an eigenspace has fewer than K + M coordinates, or the
            teacher's fields are more than a linear function of the inputs.
    """
    K, M = state.K, state.M
    counts = coordinates_of(data)
    if counts.min() < K + M:
        raise InputError(
            f"an eigenvalue has only {counts.min()} coordinates; vectors with "
            f"given overlaps need at least students + teachers = {K + M}",
            argument="data.dimension",
        )
    require_linear_teacher(state)
    random = stream(seed, FRAMES)
    student, teacher = [], []
    for k, count in enumerate(counts):
        rho = state.eigenvalue[k]
        # teacher vectors are B = phi / rho; where the inputs vanish they do not matter
        scale = np.concatenate([np.ones(K), np.full(M, 1.0 / rho if rho > 0 else 0.0)])
        gram = np.block(
            [
                [state.student_overlap[k], state.cross_overlap[k]],
                [state.cross_overlap[k].T, state.teacher_overlap[k]],
            ]
        )
        values, axes = np.linalg.eigh(gram * scale[:, None] * scale[None, :])
        factor = axes * np.sqrt(np.clip(values, 0.0, None))
        frame, _ = np.linalg.qr(random.standard_normal((count, K + M)))
        rows = factor @ (np.sqrt(count) * frame.T)
        student.append(rows[:K])
        teacher.append(rows[K:])
    return Vectors(
        np.ascontiguousarray(np.concatenate(student, axis=1)),
        np.ascontiguousarray(np.concatenate(teacher, axis=1)),
        np.repeat(state.eigenvalue, counts),
        np.concatenate(([0], np.cumsum(counts))),
    )
