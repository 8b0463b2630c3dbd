"""Free energies against quadrature, transitions by two routes, and values that others published."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from pairs.activations import ACTIVATIONS
from scipy.optimize import brentq, minimize
from support.sectors import in_sectors

import symderiv as sd
from symderiv.equilibrium.free_energy import FreeEnergy
from symderiv.equilibrium.kinked_means import pair_means, pieces_of
from symderiv.equilibrium.pair_means import pair_mean, square_mean
from symderiv.foundation.errors import NotYetError

# each follows branches of its own
pytestmark = pytest.mark.turns(6)


def by_angles(g: Any, h: Any, a: float, c: float, b: float) -> float:
    """Return E[g(u) h(v)] by polar coordinates, in which kinks are rays."""
    rows = np.array([[np.sqrt(a), 0.0], [c / np.sqrt(a), np.sqrt(b - c**2 / a)]])
    (u, v), weights = in_sectors(rows)
    return float(weights @ (g(u) * h(v)))


@pytest.mark.parametrize(
    ("g", "h"),
    [
        *(("erf", "relu"), ("relu", "relu"), ("tanh", "cubic"), ("softsign", "elu")),
    ],
)
def test_errors_are_those_of_quadrature_with_their_derivatives(g: str, h: str) -> None:
    random = np.random.default_rng(3)
    student, teacher = (sd.activation(ACTIVATIONS[each].text).expression for each in (g, h))
    for sphere in (True, False):
        root = np.array([[1.2, 0.0, 0.0], [0.3, 0.9, 0.0], [-0.2, 0.1, 0.7]])
        T, v, w = root @ root.T, np.array([0.8, -0.5]), np.array([0.6, 0.3, -1.0])
        energy = FreeEnergy(student, teacher, v, w, T, sphere, 0.0 if sphere else 0.4)
        for _ in range(3):
            J, B = 0.5 * random.normal(size=(2, 6)), np.hstack([root, np.zeros((3, 3))])
            if sphere:
                J /= np.linalg.norm(J, axis=1, keepdims=True)
            Q, R = J @ J.T, J @ B.T
            x = energy.free(Q, R)
            C = np.block([[Q, R], [R.T, T]])
            weights = np.concatenate([v, -w])
            functions = [ACTIVATIONS[g].value] * 2 + [ACTIVATIONS[h].value] * 3
            expected = 0.0
            for i, j in np.ndindex(5, 5):
                given = (C[i, i], C[i, j] - (1e-13 if i == j else 0.0), C[j, j])
                mean = by_angles(functions[i], functions[j], *given)
                expected += weights[i] * weights[j] * mean / 2.0
            value, _slope, _bend = energy.error(x)
            assert value == pytest.approx(expected, abs=2e-9)
            whole = energy.at(x, 3.0)
            for n, step in enumerate(1e-5 * np.eye(energy.size)):
                ahead, back = energy.at(x + step, 3.0), energy.at(x - step, 3.0)
                assert whole[1][n] == pytest.approx((ahead[0] - back[0]) / 2e-5, rel=1e-5, abs=1e-6)
                np.testing.assert_allclose(
                    whole[2][n], (ahead[1] - back[1]) / 2e-5, rtol=1e-4, atol=1e-4
                )


def test_means_without_closed_form_are_those_of_the_calculus() -> None:
    tanh, other = (sd.activation(each).expression for each in ("tanh", "erf"))
    found = pair_mean(tanh, other)(np.array(0.8), np.array(0.3), np.array(1.3))[0]
    exact = sd.i2("tanh", "erf", covariance=[["0.8", "0.3"], ["0.3", "1.3"]]).value
    assert float(found) == pytest.approx(float(exact), abs=1e-12)
    square = sd.i2("tanh", "tanh", covariance=[["0.8", "0.8"], ["0.8", "0.8"]]).value
    assert float(square_mean(tanh)(np.array(0.8))[0]) == pytest.approx(float(square), abs=1e-12)


# orders of the derivatives by the variances and the covariance
FIRST = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
ORDERS = [*FIRST, (2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), (0, 0, 2)]


@pytest.mark.parametrize(
    ("g", "h"),
    [
        ("softsign", "elu"),
        ("elu", "tanh"),
        ("selu", "step"),
        # these change within a fifth of a field
        ("tanh(5*x)", "1/(1 + 25*x**2)"),
        ("abs(x)/(1 + 25*x**2)", "tanh(5*x - 1)"),
    ],
)
def test_means_without_closed_form_have_the_digits_of_the_calculus(g: str, h: str) -> None:
    mean = pair_mean(*(sd.activation(each).expression for each in (g, h)))
    assert not mean.closed
    state = np.array([0.8, -0.5, 1.3])
    a, c, b = state
    exact = sd.i2(g, h, covariance=[[str(a), str(c)], [str(c), str(b)]]).value
    value, slope, bend = mean(*state)
    assert float(value) == pytest.approx(float(exact), abs=1e-13)
    for n, step in enumerate(1e-5 * np.eye(3)):
        ahead, back = mean(*(state + step)), mean(*(state - step))
        assert slope[n] == pytest.approx((ahead[0] - back[0]) / 2e-5, abs=1e-8)
        np.testing.assert_allclose(bend[n], (ahead[1] - back[1]) / 2e-5, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(("g", "h"), [("relu", "relu"), ("step", "relu"), ("abs", "erf")])
@pytest.mark.parametrize("correlation", [0.0, -0.4, 0.999])
def test_sums_between_kinks_are_the_closed_means(g: str, h: str, correlation: float) -> None:
    functions = [sd.activation(each).expression for each in (g, h)]
    closed = pair_mean(*functions)
    assert closed.closed
    orders = [(2 * i + j, 2 * k + j) for i, j, k in ORDERS]
    a, b = 0.7, 1.9
    c = correlation * np.sqrt(a * b)
    found = pair_means(pieces_of(functions[0]), pieces_of(functions[1]), a, c, b, orders)
    expected = closed.values(np.array(a), np.array(c), np.array(b))
    halves = [2.0 ** (i + k) for i, _, k in ORDERS]
    np.testing.assert_allclose(found / halves, expected, rtol=2e-11, atol=1e-13)


def test_squares_of_functions_with_kinks_are_those_of_the_calculus() -> None:
    selu = square_mean(sd.activation("selu").expression)
    # its closed form in doubles has no digit left here: it has e⁶⁰ erfc(√60)
    exact = sd.i2("selu", "selu", covariance=[["30", "30"], ["30", "30"]]).value
    value, slope, bend = selu(np.array([30, 1.4])).T[0]
    ahead, back = selu(np.array([30 + 1e-5, 30 - 1e-5])).T
    assert value == pytest.approx(float(exact), abs=1e-13)
    assert slope == pytest.approx((ahead[0] - back[0]) / 2e-5, abs=1e-9)
    assert bend == pytest.approx((ahead[1] - back[1]) / 2e-5, abs=1e-9)


@cache
def equilibrium(activation: str, units: int, most: float, near: float = 0.0) -> Any:
    """Return the equilibria up to an α, also a little above another one."""
    problem = sd.Problem(activation, students=units, teachers=units)
    above = near * (1 + np.geomspace(1e-4, 2e-3, 6)) if near else []
    return problem.equilibrium(alpha=np.sort([*np.linspace(most / 5, most, 5), *above]))


# α/K of "Hidden unit specialization in layered neural networks: ReLU vs. sigmoidal activation"
# (Oostwal, Straat, Biehl, Physica A 564 (2021) 125517): 6.1 and 23.7 with K = 2
@pytest.mark.parametrize(
    ("activation", "published", "near"), [("relu", 6.1, 12.188148), ("erf", 23.7, 47.351914)]
)
def test_two_units_specialise_continuously_where_others_found_it(
    activation: str, published: float, near: float
) -> None:
    found = equilibrium(activation, 2, 5 * published, near)
    (one,) = found.transitions
    assert one["kind"] == "continuous"
    assert one["alpha"] / 2 == pytest.approx(published, abs=0.051)
    # the second route: α of the branch that leaves, in even powers of R_11 - R_12
    branch = found.branches[1]
    R, alpha = np.array(branch["R"]), np.array(branch["alpha"])
    close = (alpha > near) & (alpha < 1.003 * near)
    square = (R[close, 0, 0] - R[close, 0, 1]) ** 2
    assert square.size >= 6
    start = np.polynomial.Polynomial.fit(square, alpha[close], 4)(0.0)
    assert start == pytest.approx(one["alpha"], rel=1e-8)


def test_three_units_have_a_first_order_transition_between_two_spinodals() -> None:
    found = equilibrium("erf", 3, 150.0)
    kinds = [each["kind"] for each in found.transitions]
    assert kinds == ["spinodal", "first-order", "spinodal"]
    low, equal, high = (each["alpha"] for each in found.transitions)
    # the reduced equations of equal and of specialised students end at the same places
    reduced = sd.Problem("erf", students=2, teachers=2).specialisation(units=[3])
    places = (reduced.specialised_from, reduced.alpha_per_unit, reduced.equal_until)
    assert [3 * each[0] for each in places] == pytest.approx([low, equal, high], rel=1e-9)
    energy = _energy(3)

    def lowest(alpha: float, known: float) -> tuple[float, np.ndarray]:
        """Return the minimum that a descent finds from a start."""
        R = np.where(np.eye(3), known, 0.15 if known > 0.3 else known)
        x = energy.free(np.eye(3), R)

        def at(y: np.ndarray) -> tuple[float, np.ndarray]:
            return energy.at(y, alpha)[:2] if energy.inside(y) else (1e9, np.zeros(y.size))

        best = minimize(at, x, method="BFGS", jac=True, options={"gtol": 1e-8})
        return float(best.fun), best.x[3:].reshape(3, 3)

    # below the lower spinodal descents from specialised students forget them, above they do not
    for alpha, special in ((low - 0.5, False), (low + 0.5, True), (high - 0.5, True)):
        R = lowest(alpha, 0.6)[1]
        assert (np.ptp(R) > 0.1) == special
    # the minima exchange at the first-order transition: below it equal students are the lower one
    before, after = (
        lowest(equal + gap, 0.6)[0] - lowest(equal + gap, 0.26)[0] for gap in (-1e-4, 1e-4)
    )
    assert before > 0.0 > after
    assert found.state(120.0)["generalization_error"] < 0.03
    assert np.ptp(found.state(60.0)["R"]) < 1e-9


def _energy(K: int) -> FreeEnergy:
    g = sd.activation("erf").expression
    return FreeEnergy(g, g, np.full(K, K**-0.5), np.full(K, K**-0.5), np.eye(K))


def test_other_numbers_of_units_lengths_and_decay() -> None:
    found = sd.Problem("erf", students=1, teachers=2, weight_decay=0.5).equilibrium(
        alpha=[1, 10], constraint="free", T=[[1, 0.2], [0.2, 2]]
    )
    assert found.branches[0]["stable"] == [True] * 3
    # one state by a descent in (Q, R₁, R₂), by the closed error typed here
    inverse = np.linalg.inv([[1, 0.2], [0.2, 2]])

    def f(y: np.ndarray) -> float:
        Q, R = y[0], y[1:]
        rest = Q - R @ inverse @ R
        if rest <= 0.0:
            return 1e9
        C = np.array([[Q, *R], [R[0], 1, 0.2], [R[1], 0.2, 2]])
        d = 1.0 + np.diag(C)
        means = 2 / np.pi * np.arcsin(C / np.sqrt(np.outer(d, d)))
        w = np.array([2**-0.5, -(2**-0.5), -(2**-0.5)])
        return float(10 * (w @ means @ w) / 2 - np.log(rest) / 2 + 0.25 * Q)

    best = minimize(
        f, [1.0, 0.3, 0.3], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14}
    )
    state = found.state(10.0)
    np.testing.assert_allclose(best.x, [state["Q"][0][0], *state["R"][0]], atol=1e-6)
    assert state["free_energy"] == pytest.approx(best.fun, abs=1e-10)


def test_minima_of_free_lengths_are_looked_for_beside_what_vectors_can_have() -> None:
    found = sd.Problem("erf", students=2, teachers=1, weight_decay=0.5).equilibrium(
        alpha=[10], constraint="free"
    )

    # equal students: Q₁₁, Q₁₂ and R₁ by a descent, by the closed error typed here
    def f(y: np.ndarray) -> float:
        q, c, r = y
        rest = (q - c) * (q + c - 2 * r**2)
        if rest <= 0.0 or q <= abs(c):
            return 1e9
        C = np.array([[q, c, r], [c, q, r], [r, r, 1]])
        d = 1.0 + np.diag(C)
        means = 2 / np.pi * np.arcsin(C / np.sqrt(np.outer(d, d)))
        w = np.array([1, 1, -1])
        return float(10 * (w @ means @ w) / 2 - np.log(rest) / 2 + 0.5 * q)

    best = minimize(
        f, [1.0, 0.1, 0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14}
    )
    assert found.state(10.0)["free_energy"] == pytest.approx(best.fun, abs=1e-10)


def test_equilibria_are_shown_drawn_and_kept() -> None:
    found = equilibrium("relu", 2, 30.5, 12.188148)
    text = found.to_text()
    assert "continuous" in text
    assert "12.18814779" in text
    axes = found.plot("R")
    assert axes.get_ylabel() == "R"
    assert len(axes.get_lines()) > 4
    assert {"alpha", "branches", "transitions", "warnings"} <= set(found.to_dict())


@pytest.mark.parametrize(
    ("given", "asked", "error", "said"),
    [
        ({}, {"alpha": [3, 1]}, sd.InputError, "alpha: must be ascending"),
        ({}, {"alpha": "x"}, sd.InputError, "alpha: 'x' is not a list"),
        ({}, {"alpha": [1], "kind": "ball"}, sd.InputError, "kind: 'ball' is not one of"),
        ({}, {"alpha": [1], "constraint": "ball"}, sd.InputError, "constraint: 'ball' is not"),
        ({}, {"alpha": [1], "constraint": "free"}, sd.InputError, "weight_decay: must be above 0"),
        ({}, {"alpha": [1], "T": [[1]]}, sd.InputError, "T: has shape"),
        ({}, {"alpha": [1], "T": [[1, 1], [1, 1]]}, sd.InputError, "T: must be positive"),
        ({"train_second_layer": True}, {"alpha": [1]}, NotYetError, "train_second_layer"),
        ({"inputs": sd.Spectrum([1.0, 2.0])}, {"alpha": [1]}, NotYetError, "spectrum inputs"),
        ({"activation": "abs(sin(x))"}, {"alpha": [1]}, NotYetError, "zeros of a polynomial"),
        ({"activation": "tanh(50*x)"}, {"alpha": [1]}, NotYetError, "activation: tanh"),
        ({"loss": "logistic", "target": "sign"}, {"alpha": [1]}, NotYetError, "not known yet"),
        ({"students": 7}, {"alpha": [1]}, NotYetError, "students: must be at most 6 for the free"),
    ],
)
def test_what_has_no_free_energy_is_refused(
    given: dict[str, Any], asked: dict[str, Any], error: type[Exception], said: str
) -> None:
    problem = sd.Problem(**{"activation": "erf", "students": 2, "teachers": 2, **given})
    with pytest.raises(error, match=said.replace("(", r"\(")):
        problem.equilibrium(**asked)


@pytest.mark.parametrize(("K", "T"), [(2, np.eye(3)), (3, np.array([[1.0, 0.3], [0.3, 1.0]]))])
def test_units_of_other_numbers_than_teachers_specialise_at_one_place(K: int, T: Any) -> None:
    M = len(T)
    problem = sd.Problem("relu", students=K, teachers=M)
    found = problem.equilibrium(alpha=[20.0, 30.0], T=T)
    (transition,) = found.transitions
    assert transition["kind"] == "continuous"

    # where equal students cease to be minima of the free energy, typed here with its kernel
    def kernel(c: np.ndarray) -> float:
        return float(np.sum(np.sqrt(1 - c * c) + c * (np.pi - np.arccos(c)))) / (2 * np.pi)

    upper = np.triu_indices(K, 1)

    def value(x: np.ndarray, alpha: float) -> float:
        Q, R = np.eye(K), x[len(upper[0]) :].reshape(K, M)
        Q[upper] = Q.T[upper] = x[: len(upper[0])]
        size, rest = np.linalg.slogdet(Q - R @ np.linalg.inv(T) @ R.T)
        if size <= 0.0 or np.abs(x).max() >= 1.0:
            return 1e9
        error = ((kernel(Q) + kernel(T)) / 2 - kernel(R)) / M  # all output weights are 1/√M
        return float(alpha * error - rest / 2)

    def least(alpha: float) -> float:
        """Return the lowest curvature of the free energy where students are equal."""

        def whole(y: np.ndarray) -> np.ndarray:
            return np.repeat(y, (len(upper[0]), K * M))

        alike = minimize(
            lambda y: value(whole(y), alpha),
            [0.05, 0.4],
            method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-15, "maxiter": 4000},
        )
        x, steps = whole(alike.x), 1e-3 * np.eye(len(upper[0]) + K * M)
        pairs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
        bend = [
            [sum(s * t * value(x + s * a + t * b, alpha) for s, t in pairs) for b in steps]
            for a in steps
        ]
        return float(np.linalg.eigvalsh(np.array(bend) / 4e-6)[0])

    place = brentq(least, transition["alpha"] - 0.5, transition["alpha"] + 0.5, xtol=1e-6)
    assert transition["alpha"] == pytest.approx(place, abs=2e-3)
