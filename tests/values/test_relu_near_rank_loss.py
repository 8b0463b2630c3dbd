"""ReLU kernels where fields align, as at the end of learning, against the same closed forms at
many digits. The covariances' binary numbers are taken as exact; where those of a singular matrix
are rounded, the reference is the singular matrix itself.
"""

from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
from support.plain_module import checked_in
from symderiv_codegen import print_mpmath

from symderiv.learning.rule.learning_rule import PLAIN
from symderiv.lowering.programs.exported import kept_program

pytestmark = pytest.mark.turns(9)

kernel, fast = checked_in("relu"), checked_in("fast/relu")


DIGITS = 50
# Of three fields, and of four; with a tolerance where rounding took the matrix out of the cone.
FUNCTIONS = {"i4": 4, "i4_aabc": 3, "i4_abac": 3, "i4_abcc": 3}
EPSILONS = (0.0, 1e-14, 1e-12, 1e-10, 1e-6)
TOLERANCE = 5e-15
SINGULAR_TOLERANCE = 1e-8


@pytest.fixture(scope="module")
def reference() -> SimpleNamespace:
    program = kept_program("Max(0, x)", "Max(0, x)", PLAIN)
    namespace: dict[str, Any] = {}
    exec(compile(print_mpmath(program), "generated", "exec"), namespace)
    return SimpleNamespace(**namespace)


@pytest.fixture(scope="module")
def mp() -> Any:
    context = mpmath.MPContext()
    context.dps = DIGITS
    return context


def loadings(rng: np.random.Generator, kind: str, size: int) -> np.ndarray:
    """Rows whose inner products are a covariance that has lost rank."""
    columns = {"plane": 2, "space": 3, "line": 1}.get(kind, size)
    rows = rng.normal(size=(size, columns))
    if kind == "pair":
        rows[2] = -rows[0]
    elif kind == "two pairs":
        rows[2], rows[size - 1] = 1.5 * rows[0], rows[1]
    elif kind == "triple":
        rows[1], rows[size - 1] = 1.5 * rows[0], -rows[0]
    return rows[rng.permutation(size)]


def upper(matrix: Any) -> list[Any]:
    return [matrix[i][j] for i in range(len(matrix)) for j in range(i, len(matrix))]


@pytest.mark.parametrize("kind", ["plane", "space", "line", "pair", "two pairs", "triple"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_means_keep_all_digits_where_fields_align(
    reference: SimpleNamespace, mp: Any, name: str, kind: str
) -> None:
    seed = 20 + FUNCTIONS[name]
    print("seed", seed)
    rng = np.random.default_rng(seed)
    size = FUNCTIONS[name]
    for epsilon in EPSILONS:
        rows = loadings(rng, kind, size)
        covariance = rows @ rows.T + epsilon * np.diag(rng.uniform(0.5, 1.5, size))
        found = getattr(fast, name)(*upper(covariance))
        if epsilon:
            exact = [mp.mpf(float(entry)) for entry in upper(covariance)]
        else:
            matrix = mp.matrix(rows.tolist())
            exact = upper((matrix * matrix.T + mp.mpf(10) ** -36 * mp.eye(size)).tolist())
        expected = getattr(reference, name)(mp, *exact)
        tolerance = TOLERANCE if epsilon else SINGULAR_TOLERANCE
        assert abs(found - expected) <= tolerance * max(1, covariance.max()), epsilon


@pytest.mark.parametrize("distance", [1e-3, 1e-6])
def test_the_noise_of_students_that_have_almost_learned_is_right(
    reference: SimpleNamespace, mp: Any, distance: float
) -> None:
    rng = np.random.default_rng(5)
    teachers = rng.normal(size=(2, 6))
    fields = np.vstack([teachers + distance * rng.normal(size=(2, 6)), teachers])
    covariance = fields @ fields.T
    Q, R, T = covariance[:2, :2], covariance[:2, 2:], covariance[2:, 2:]
    v = np.ones(2)
    found = np.empty((2, 2))
    kernel.noise(Q, R, T, v, v, 0.0, found)
    expected = [[mp.zero] * 2 for _ in range(2)]
    exact = [mp.matrix(part.tolist()).tolist() for part in (Q, R, T)]
    reference.noise(mp, *exact, [mp.one] * 2, [mp.one] * 2, mp.zero, expected)
    np.testing.assert_allclose(
        found, np.array(expected, dtype=float), rtol=0, atol=20 * TOLERANCE * covariance.max()
    )
    # The noise itself is of the order of the squared distance.
    assert 0 < found[0, 0] < 100 * distance**2


def test_equal_opposite_and_vanishing_fields_give_the_means_of_fewer_fields() -> None:
    c11, c12, c22 = 1.3, 0.4, 0.9
    pairs = {
        "i4_aabb": kernel.i4(c11, c11, c12, c12, c11, c12, c12, c22, c22, c22),
        "i4_abab": kernel.i4(c11, c12, c11, c12, c22, c12, c22, c11, c12, c22),
        "i4_abaa": kernel.i4(c11, c12, c11, c11, c22, c12, c12, c11, c11, c11),
    }
    for name, value in pairs.items():
        assert value == pytest.approx(getattr(fast, name)(c11, c12, c22), abs=1e-14)
    one = kernel.i4(*[c11] * 10)
    assert one == pytest.approx(fast.i4_aaaa(c11), abs=1e-14)
    # g(x) g(-x) = 0, and a field without variance leaves g' its mean 1/2 and g nothing.
    opposite = kernel.i4(c11, c12, c12, -c12, c22, c22, -c22, c22, -c22, c22)
    assert opposite == pytest.approx(0, abs=1e-14)
    assert kernel.i4(c11, c12, 0.0, c12, c22, 0.0, c22, 0.0, 0.0, c22) == 0
    still = kernel.i4(0.0, 0.0, 0.0, 0.0, c11, c12, c12, c22, c22, c22)
    assert still == pytest.approx(fast.i4_aabb(c11, c12, c22) / 2, abs=1e-14)


def test_nothing_is_undefined_at_the_edge_of_the_cone_and_a_little_outside() -> None:
    rng = np.random.default_rng(8)
    for _ in range(300):
        rows = rng.integers(-2, 3, size=(4, 2)).astype(float)
        covariance = rows @ rows.T
        rounding = 1e-15 * rng.normal(size=(4, 4))
        for matrix in (covariance, covariance * (1 + rounding + rounding.T)):
            for name, size in FUNCTIONS.items():
                value = getattr(fast, name)(*upper(matrix[:size, :size]))
                scale = matrix.max() + 1e-12
                assert abs(value) <= 2 * scale
                limit = getattr(fast, name)(*upper(covariance[:size, :size]))
                assert value == pytest.approx(limit, abs=1e-6 * scale)
