"""Means of sums of error functions in fast modules, which leave out what is the same twice."""

import functools

import numpy as np
import pytest
from scipy.special import erf

from symderiv.checking.recipes import generate, solver_text
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.means.approximation import mixtures
from symderiv.lowering.means.uncompiled import uncompiled
from symderiv.lowering.programs.program import solver_program
from symderiv.lowering.solver_files import solver_of

# Fields as multiples of two independent ones, and the part of all pairs of rows that is needed.
FIELDS = {
    "all apart": (((0.9, 0.0), (0.3, 0.8), (-0.5, 0.4), (0.2, 1.1)), False, False),
    "two slopes at one field": (((0.9, 0.2), (0.9, 0.2), (-0.5, 0.4), (0.2, 1.1)), True, False),
    "two outputs at one field": (((0.9, 0.2), (0.1, 1.2), (-0.5, 0.4), (-0.5, 0.4)), False, True),
    "twice two": (((0.9, 0.2), (0.9, 0.2), (-0.5, 0.4), (-0.5, 0.4)), True, True),
    "all at one field": (((0.9, 0.2),) * 4, True, True),
    # exchanged without being the same: mirrored at the axis on which the two others are
    "mirrored outputs": (((0.9, 0.0), (0.4, 0.0), (-0.5, 0.4), (-0.5, -0.4)), False, True),
    "equal variances": (((0.6, 0.8), (0.8, 0.6), (1.0, 0.0), (0.0, 1.0)), False, False),
}


TOLERANCE = 1e-6


@functools.cache
def solver():
    """Modules with a function for each mean, as those of other activations beside tanh have."""
    problem = learning_problem("tanh")
    program = solver_program(derive_equations(problem), "tested", mixtures(problem, TOLERANCE))
    return solver_of(program, lanes=False)


@functools.cache
def over_planes():
    """Modules of the same problem in which means come from points of planes."""
    return solver_text("tested", "tanh", tolerance=TOLERANCE, lanes=False)


def by_integration(fields) -> float:
    # sums over a grid, which are as good as integrals for functions without poles nearby
    line = np.arange(-9.0, 9.0, 0.05)
    x, y = np.meshgrid(line, line)
    a, b, c, d = (np.tanh(p * x + q * y) for p, q in fields)
    density = 0.05**2 / (2 * np.pi) * np.exp(-(x**2 + y**2) / 2)
    return float(np.sum((1 - a**2) * (1 - b**2) * c * d * density))


@pytest.mark.parametrize("name", FIELDS)
def test_a_mean_of_four_is_that_of_tanh_and_takes_half_where_fields_are_exchanged(name) -> None:
    fields, slopes, outputs = FIELDS[name]
    covariance = np.array(fields) @ np.array(fields).T
    upper = covariance[np.triu_indices(4)]
    readable, fast = uncompiled(solver().readable), uncompiled(solver().fast)
    asked = []

    def arcsines(values, count) -> None:
        asked.append(count)
        values[:count] = np.arcsin(values[:count])

    fast.i4.__globals__["_arcsines"] = arcsines
    found = fast.i4(*upper)
    assert found == pytest.approx(readable.i4(*upper), rel=1e-13)
    assert found == pytest.approx(by_integration(fields), abs=4 * readable.ACTIVATION_TOLERANCE)
    terms = readable.MIXTURE_TERMS
    halved = terms * (terms + 1) // 2
    assert sum(asked) == (halved if slopes else terms**2) * (halved if outputs else terms**2)


@pytest.mark.parametrize("name", FIELDS)
def test_means_over_planes_are_those_of_tanh(name) -> None:
    """Two students and two teachers that have the four fields."""
    covariance = np.array(FIELDS[name][0]) @ np.array(FIELDS[name][0]).T
    module = uncompiled(over_planes().readable)
    shapes = (2,) * 4, (2,) * 4, (2,) * 4
    found = tuple(np.full(shape, np.nan) for shape in shapes)
    overlaps = covariance[:2, :2], covariance[:2, 2:], covariance[2:, 2:]
    module.noise_means(*overlaps, np.zeros(2), np.zeros(2), *found, np.empty((2, 2)))
    fields = np.array(FIELDS[name][0])
    for i, j, a, b in np.ndindex(2, 2, 2, 2):
        for of, places in zip(found, ((a, b), (a, 2 + b), (2 + a, 2 + b)), strict=True):
            expected = by_integration(fields[[i, j, *places]])
            assert of[i, j, a, b] == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize("name", ["two slopes at one field", "twice two", "all at one field"])
def test_two_slopes_at_one_field_have_sums_of_their_own(name) -> None:
    """They are the mean that the general function has by pairs, in a fraction of the terms."""
    fields, _, _ = FIELDS[name]
    covariance = np.array(fields) @ np.array(fields).T
    three = covariance[1:, 1:][np.triu_indices(3)]
    readable, fast = uncompiled(solver().readable), uncompiled(solver().fast)
    asked = []

    def arcsines(values, count) -> None:
        asked.append(count)
        values[:count] = np.arcsin(values[:count])

    fast.i4_aabc.__globals__["_arcsines"] = arcsines
    found = fast.i4_aabc(*three)
    assert found == pytest.approx(readable.i4_aabc(*three), rel=1e-13)
    assert found == pytest.approx(by_integration(fields), abs=2 * readable.ACTIVATION_TOLERANCE)
    assert sum(asked) == readable.MIXTURE_SQUARE_TERMS * readable.MIXTURE_TERMS**2
    assert readable.MIXTURE_SQUARE_TERMS <= readable.MIXTURE_TERMS


def test_noise_of_a_unit_by_itself_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other means of two units at the same field keep the sums over pairs."""
    module = uncompiled(solver().readable)
    asked = []

    def noted(name):
        own = getattr(module, name)

        def mean(*moments):
            asked.append(name)
            return own(*moments)

        return mean

    space = module.noise.__globals__
    for name in ("i4", "i4_aabc"):
        monkeypatch.setitem(space, name, noted(name))
    Q, R, T = np.array([[0.5, 0.2], [0.2, 0.5]]), np.array([[0.3], [0.1]]), np.eye(1)
    Gamma = np.empty((2, 2))
    module.noise(Q, R, T, np.ones(2), np.ones(1), 0.0, Gamma)
    # of each pair of units: three of the students' outputs, two of both, one of the teacher's
    assert (asked.count("i4_aabc"), asked.count("i4")) == (12, 6)
    root = np.linalg.cholesky(np.block([[Q, R], [R.T, T]]))
    line, weights = np.polynomial.hermite_e.hermegauss(50)
    grid = np.stack(np.meshgrid(line, line, line)).reshape(3, -1)
    x, y, z = np.tanh(root @ grid)
    weight = np.prod(np.stack(np.meshgrid(*[weights] * 3)).reshape(3, -1), axis=0)
    forces = np.array([1 - x**2, 1 - y**2]) * (x + y - z)
    expected = np.einsum("it,jt,t->ij", forces, forces, weight) / (2 * np.pi) ** 1.5
    np.testing.assert_allclose(Gamma, expected, atol=4 * module.ACTIVATION_TOLERANCE)


@pytest.mark.parametrize(("teacher", "tolerance"), [("sign", 1e-10), ("erf", 1e-10)])
def test_other_factors_may_coincide_as_well(teacher: str, tolerance: float) -> None:
    """sign² is one: the arcsine of two signs at one field has lost half of the digits."""
    module = uncompiled(generate("tested", "tanh", teacher, tolerance))
    c11, c12, c22 = 0.10958818489941595, -0.03533561668266755, 0.556708301068864
    Gamma = np.empty((1, 1))
    given = np.array([[c11]]), np.array([[c12]]), np.array([[c22]])
    module.noise(*given, np.ones(1), np.ones(1), 0.0, Gamma)
    x = np.arange(-9.0, 9.0, 0.02)
    weight = 0.02 / np.sqrt(2 * np.pi) * np.exp(-(x**2) / 2)
    g, mean, rest = np.tanh(np.sqrt(c11) * x), c12 / np.sqrt(c11) * x, c22 - c12**2 / c11
    if teacher == "sign":
        first, second = erf(mean / np.sqrt(2 * rest)), 1.0
    else:
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        h = erf((mean[:, None] + np.sqrt(rest) * nodes) / np.sqrt(2))
        first, second = (h**n @ weights / np.sqrt(2 * np.pi) for n in (1, 2))
    expected = np.sum(weight * (1 - g**2) ** 2 * (g**2 - 2 * g * first + second))
    assert Gamma[0, 0] == pytest.approx(expected, abs=4 * tolerance)
