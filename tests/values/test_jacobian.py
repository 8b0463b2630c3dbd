"""Jacobians of problems against differences of their rates, and against known linearisations."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest

import symderiv as sd
from symderiv.foundation.errors import NotYetError
from symderiv.integrate.rules.solving import rule_of_study
from symderiv.lowering.programs.exported import tangent_program

# each compiles equations of its own
pytestmark = pytest.mark.turns(3)


def general(**others: Any) -> sd.Problem:
    """Return a problem with K ≠ M, T ≠ 1 and noise; two eigenvalues unless inputs are given."""
    inputs = sd.PowerLaw(exponent=1.0, dimension=400, distinct_eigenvalues=2)
    given = {"activation": "erf", "learning_rate": 0.7, "student_std": 0.5, "inputs": inputs}
    return sd.Problem(students=2, teachers=3, label_noise=0.1, **{**given, **others})


def by_differences(problem: sd.Problem, names: tuple[str, ...]) -> np.ndarray:
    """Return the Jacobian by central differences of fourth order."""
    rates = problem.rhs()
    start, entries, step = rates.initial, list(rates.names), 1e-4
    kept = [entries.index(name) for name in names]
    columns = []
    for name in names:
        direction = np.zeros(start.size)
        direction[[entries.index(name), entries.index(_mirrored(name))]] = 1.0

        def at(steps: int, along: np.ndarray = direction) -> np.ndarray:
            return rates(0.0, start + steps * step * along)[kept]

        columns.append((8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step))
    return np.stack(columns, axis=1)


def _mirrored(name: str) -> str:
    family, _, places = name.rstrip("]").partition("[")
    if family not in ("student_overlap", "momentum_square", "overlap_A_A"):
        return name
    mode, i, j = places.split(",")
    return f"{family}[{mode},{j},{i}]"


def test_entries_are_those_of_differences() -> None:
    problem = general()
    found = problem.jacobian()
    assert found.matrix.shape == (20, 20)
    np.testing.assert_allclose(
        found.matrix, by_differences(problem, found.names), rtol=1e-8, atol=1e-10
    )
    rates, entries = problem.rhs(), list(problem.rhs().names)
    kept = [entries.index(name) for name in found.names]
    np.testing.assert_array_equal(found.rates, rates(0.0, rates.initial)[kept])
    # the rates are quadratic in the learning rate, linear in the decay and in the noise's variance,
    # so that differences are exact
    for key, ends, power in (
        ("learning_rate", (0.6, 0.8), 1),
        ("label_noise", (0.0, 0.2), 2),
        ("weight_decay", (0.0, 0.1), 1),
    ):
        there = [problem.replace(**{key: end}).rhs()(0.0, rates.initial)[kept] for end in ends]
        expected = (there[1] - there[0]) / (ends[1] ** power - ends[0] ** power)
        if power == 2:
            expected *= 2 * problem.label_noise
        np.testing.assert_allclose(found.parameters[key], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "others",
    [
        {"momentum": 0.3},
        {"activation": "linear", "input_noise": 0.2},
        {"activation": "linear", "averaging_rate": 1.0, "consistency_weight": 0.3},
    ],
    ids=["momentum", "noise on inputs", "averages"],
)
def test_more_digits_are_those_of_differences(others: dict[str, Any]) -> None:
    problem = general(inputs=sd.Isotropic(400), **others)
    found = problem.jacobian(digits=20)
    np.testing.assert_allclose(
        found.matrix.astype(float), by_differences(problem, found.names), rtol=1e-7, atol=1e-9
    )
    # two entries of a symmetric array are one order parameter
    mirrored = {_mirrored(name) for name in found.names}
    assert mirrored & set(found.names) == {name for name in found.names if _mirrored(name) == name}


def test_modes_of_a_saddle_are_those_of_its_catalogue() -> None:
    problem = sd.Problem(
        "erf", students=2, teachers=2, learning_rate=0.5, teacher="orthogonal", draw="mean"
    )
    plateau = problem.plateau(full=True).full_flow_equal_students
    Q, R, C = (float(plateau[name]) for name in "QRC")
    found = problem.linearise({"Q": [[Q, C], [C, Q]], "R": [[R, R], [R, R]], "T": np.eye(2)})
    assert found.largest_rate < 1e-15
    assert found.unstable == 3  # the index of this state in docs/manual/how-to/fixed-points.md
    assert found.eigenvalues[0][0] == pytest.approx(float(plateau["unstable_eigenvalue"]), rel=1e-9)
    # students specialise: the differences of R grow, with opposite signs
    grows = found.modes[0]
    assert sorted(grows) == [f"cross_overlap[1,{i},{n}]" for i in (1, 2) for n in (1, 2)]
    assert sorted(round(each, 9) for each in grows.values()) == [-1, -1, 1, 1]
    assert "cross_overlap[1,1,2]" in found.to_text()


def _by_exact_differences(rates: Any, steps: int = 10, size: float = 2.0**-10) -> Any:
    """Return the derivative at 0 of exact rates by a number, with an error of order size^20."""
    total: Any = 0
    for k in range(1, steps + 1):
        below = k * math.factorial(steps - k) * math.factorial(steps + k)
        weight = mpmath.mpf((-1) ** (k + 1) * math.factorial(steps) ** 2) / below
        total = total + weight * (rates(k * size) - rates(-k * size))
    return total / size


@pytest.mark.turns(3)
def test_jacobians_of_systems_are_those_of_differences_with_fifty_digits() -> None:
    system = sd.System()
    x, g = system.inputs("x"), sd.activation("erf")
    first, teacher = system.vectors("a", fixed=True), system.vectors("B", fixed=True)
    v, u = system.vectors("v"), system.scalars("u")
    eta = system.parameter("eta", 0.5)
    system.descend((g(first @ x + u * (v @ x)) - g(teacher @ x)) ** 2 / 2, {v: eta, u: eta})
    start = {"a.a": 1, "a.v": 0.125, "a.B": 0.5, "v.v": 0.25, "B.v": 0.125, "B.B": 1, "u": 0.375}
    moving = ("a.v", "B.v", "v.v", "u")

    with mpmath.workdps(50):

        def rates(name: str, step: float) -> np.ndarray:
            numbers = {"eta": 0.5 + step} if name == "eta" else {}
            state = {**start, **({} if name == "eta" else {name: start[name] + step})}
            found = system.precise_rates(state, 50, **numbers)
            return np.array([np.asarray(found[each]).item() for each in moving], dtype=object)

        found = system.jacobian(start, digits=50)
        assert sorted(found.names) == sorted(moving)
        rows = [found.names.index(name) for name in moving]
        for name in (*moving, "eta"):
            expected = _by_exact_differences(lambda step, n=name: rates(n, step))
            column = (
                found.parameters["p__eta"]
                if name == "eta"
                else found.matrix[:, found.names.index(name)]
            )
            assert max(abs(column[rows] - expected)) < 1e-40
            assert max(abs(expected)) > 1e-3
    doubles = system.jacobian(start)
    np.testing.assert_allclose(doubles.matrix, found.matrix.astype(float), rtol=1e-13, atol=1e-15)
    eigenvalues = np.linalg.eigvals(found.matrix.astype(float))
    modes = system.linearise(start)
    assert modes.eigenvalues[0][0] == pytest.approx(max(eigenvalues.real), rel=1e-12)
    assert set(modes.modes[0]) <= set(moving)


@pytest.mark.filterwarnings("ignore::symderiv.foundation.errors.RunWarning")
@pytest.mark.parametrize(
    ("student", "teacher", "K", "M"),
    [
        ("silu", "erf", 2, 1),
        pytest.param("elu", "elu", 1, 1, marks=pytest.mark.turns(15)),
    ],
)
def test_jacobians_of_means_that_are_integrals_are_those_of_differences(
    student: str, teacher: str, K: int, M: int
) -> None:
    """Along a path of vectors, with students that are nearly equal and nearly a teacher."""
    draw = np.random.default_rng(5)
    W, V, B = (draw.normal(size=(rows, 7)) / 2.2 for rows in (K, K, M))
    W[-1] = W[0] + 1e-5 * draw.normal(size=7)
    B[0] = W[0] + 1e-5 * draw.normal(size=7)
    problem = sd.Problem(
        student,
        teacher_activation=teacher,
        students=K,
        teachers=M,
        learning_rate=1.7,
        label_noise=0.3,
        inputs=sd.Isotropic(400),
    )

    def state(step: float) -> dict[str, np.ndarray]:
        moved = W + step * V
        return {"Q": moved @ moved.T, "R": moved @ B.T, "T": B @ B.T}

    def at(step: float) -> np.ndarray:
        found = problem.jacobian(state(step))
        place = {"student_overlap": "Q", "cross_overlap": "R"}
        there = []
        for name in found.names:
            family, _, entry = name.rstrip("]").partition("[")
            # output weights stay as they are
            there.append(
                state(step)[place[family]][tuple(int(each) - 1 for each in entry.split(",")[1:])]
                if family in place
                else 0.0
            )
        return np.stack([there, found.rates])

    step, weights = 1e-2, (45 / 60, -9 / 60, 1 / 60)
    direction, expected = (
        sum(w * (at(n * step) - at(-n * step)) for n, w in enumerate(weights, 1)) / step
    )
    found = problem.jacobian(state(0.0)).matrix @ direction
    scale = np.abs(expected).max()
    assert scale > 1e-2
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-8 * scale)


@pytest.mark.parametrize(
    ("student", "loss", "words"),
    [("abs(tanh(x))", "squared", "take an activation with"), ("erf", "huber", "^loss: .*leave it")],
)
def test_what_has_no_jacobian_is_refused(student: str, loss: str, words: str) -> None:
    # the rates themselves are not compiled, which takes long and refuses nothing
    rule = rule_of_study(sd.Problem("erf", students=1, teachers=1, loss=loss)._study)
    with pytest.raises(NotYetError, match=words) as refused:
        tangent_program(student, "erf", rule, 1e-4, ("learning_rate",))
    assert "has no Jacobian yet: " in str(refused.value)


def test_digits_of_a_jacobian_are_at_least_one() -> None:
    with pytest.raises(sd.InputError, match="digits"):
        general().jacobian(digits=0)


@pytest.mark.turns(5)
def test_systems_have_slopes_of_products_of_smooth_functions() -> None:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", 2, fixed=True)
    u, eta, g = P.scalars("u"), P.parameter("eta", 0.5), sd.activation("silu")
    P.descend((u * g(w @ x) - g(B @ x).sum()) ** 2 / 2, {w: eta, u: eta})
    solver, vectors = P.solver, np.random.default_rng(5).normal(size=(3, 12)) / 3
    start = {"w": vectors[0], "B": vectors[1:], "u": 0.5}
    state, constants = solver.layout.packed(start, {})
    found = P.jacobian(start).matrix

    def rates(values: np.ndarray) -> np.ndarray:
        slope = np.empty_like(values)
        solver.right_hand_side(0.0, values, solver.layout.sizes, constants, slope)
        return slope

    weights = {1: 45, 2: -9, 3: 1}
    for place, step in enumerate(2e-3 * np.eye(state.size)):
        changes = (
            w * (rates(state + n * step) - rates(state - n * step)) for n, w in weights.items()
        )
        np.testing.assert_allclose(found[:, place], sum(changes) / 0.12, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "rule",
    [
        {"batch": 3, "label_noise": 0.2},
        {"momentum": 0.6, "batch": 2, "weight_decay": 0.3},
        {"momentum_rate": 0.7, "batch": 3, "weight_decay": 0.2},
    ],
    ids=lambda rule: " and ".join(rule),
)
def test_batches_and_momentum_have_derivatives_by_the_numbers_of_the_problem(
    rule: dict[str, float],
) -> None:
    """They were those by the numbers of single examples, and velocities had their units."""
    own: dict[str, Any] = {"learning_rate": 0.6, "student_std": 0.5, **rule}
    problem = sd.Problem("erf", students=2, teachers=1, **own)
    run = problem.solve(alpha=[0, 0.8])
    state = run.final
    rates, found = problem.rhs(), problem.jacobian(state)
    vector = rates.pack(state)
    places = [rates.names.index(name) for name in found.names]
    np.testing.assert_allclose(found.rates, rates(0.0, vector)[places], rtol=1e-12)
    for key in own.keys() - {"batch", "momentum", "student_std"}:
        size = own[key]
        more, less = (problem.replace(**{key: size + step}).rhs() for step in (1e-5, -1e-5))
        slope = (more(0.0, vector) - less(0.0, vector))[places] / 2e-5
        expected = pytest.approx(slope, rel=1e-6, abs=1e-9)
        assert found.parameters[key] == expected, key
    if "momentum_rate" in rule:
        shown = rates.unpack(vector)["momentum_overlap"][0]
        np.testing.assert_allclose(shown, run.further["P"][-1], rtol=1e-12)
        differences = by_differences(problem, found.names)
        np.testing.assert_allclose(problem.jacobian().matrix, differences, rtol=1e-7, atol=1e-9)
