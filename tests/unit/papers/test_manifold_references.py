"""Small hidden manifolds against the engine's data model and its compiled spectral equations."""

import numpy as np
import pytest
from support.plain_module import checked_in, module_rates
from symderiv_papers.references.manifold import manifold

from symderiv.inputs.latent import hidden_manifold


def _doubles(matrix: object, rows: int, columns: int) -> np.ndarray:
    return np.array([[float(matrix[i, j]) for j in range(columns)] for i in range(rows)])  # type: ignore[index]


@pytest.mark.turns(6)
@pytest.mark.parametrize(("K", "M", "D", "N", "f"), [(3, 2, 4, 7, "sign"), (2, 3, 6, 4, "relu")])
def test_rates_are_those_of_the_compiled_equations(K: int, M: int, D: int, N: int, f: str) -> None:
    state = manifold(K, M, D, N, f, "erf", 20, 5)
    F = _doubles(state.features, D, N)
    W, B = _doubles(state.student, K, N), _doubles(state.teacher, M, D)
    model = hidden_manifold(N, D, f, F.T)
    latent, component = model.latent, model.components[0]
    assert latent.axes is not None
    eigenvalue, copies = component.eigenvalue, np.rint(component.weight * N).astype(int)
    ends = np.cumsum(copies)[:-1]
    students = np.split(W @ latent.axes, ends, axis=1)
    teachers = np.split(B @ latent.cross.T, ends, axis=1)

    def overlaps(left: list[np.ndarray], right: list[np.ndarray]) -> np.ndarray:
        pairs = zip(left, right, copies, strict=True)
        return np.stack([a @ b.T / count for a, b, count in pairs], axis=-1)

    r, t = overlaps(students, teachers), overlaps(teachers, teachers)
    q = overlaps(students, students)
    T = B @ B.T / D
    v, w = (np.array([float(x) for x in values]) for values in (state.v, state.v_teacher))
    eta, arrays = float(state.eta), (q, r, v, eigenvalue, component.weight, t, T, w)
    dq, dr, dv = module_rates(checked_in("erf"), arrays, (eta, eta, 0.0, 0.0, 0.0, 1.0))
    rate = _doubles(state.student_rate, K, N) @ W.T / N
    trace = float(sum(state.input_covariance[i, i] for i in range(N))) / N
    overlap_rate = rate + rate.T + eta**2 * trace * _doubles_of(state.noise)
    np.testing.assert_allclose((dq * component.weight).sum(axis=-1), overlap_rate, rtol=1e-10)
    cross_rate = _doubles(state.student_rate, K, N) @ _doubles(
        state.cross_covariance * state.teacher.T, N, M
    )
    np.testing.assert_allclose(
        (dr * component.weight).sum(axis=-1), cross_rate / np.sqrt(N * D), rtol=1e-10
    )
    np.testing.assert_allclose(dv, [-eta * float(x) for x in state.gradients[2]], rtol=1e-10)


def _doubles_of(rows: list[list[object]]) -> np.ndarray:
    return np.array([[float(x) for x in row] for row in rows])  # type: ignore[arg-type]
