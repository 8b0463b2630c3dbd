"""Exported sources compute what the solver modules compute; all cases: ``make exports``."""

import importlib.util
import runpy
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support import julia, wolfram
from support.exported import (
    CASES,
    STRICT,
    Case,
    Numbers,
    difference,
    general_state,
    loaded,
    of_arrays,
    of_c,
    reference,
)
from symderiv_codegen import (
    Program,
    is_unchanged,
    print_array_python,
    print_julia,
    print_mathematica,
)
from symderiv_codegen.printers.languages import mathematica

import symderiv as sd

pytestmark = pytest.mark.turns(6)

# four signs, tables, cases of coinciding indices
RELU = Case("relu", "relu", K=2, M=3)


@pytest.fixture(scope="module", params=[RELU], ids=["relu"])
def known(request: pytest.FixtureRequest) -> tuple[Program, Numbers, np.ndarray]:
    program = request.param.program()
    numbers = general_state(request.param, program)
    return program, numbers, reference(program, numbers, "relu")


def test_numpy_agrees_with_the_solver_module(
    known: tuple[Program, Numbers, np.ndarray],
) -> None:
    program, numbers, expected = known
    assert of_arrays(program, numbers, "python") == pytest.approx(expected, rel=0, abs=1e-13)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
def test_c_compiles_without_warnings_and_agrees(
    known: tuple[Program, Numbers, np.ndarray],
) -> None:
    program, numbers, expected = known
    assert of_c(program, numbers) == pytest.approx(expected, rel=0, abs=1e-13)


@pytest.mark.skipif(importlib.util.find_spec("casadi") is None, reason="casadi is not installed")
def test_casadi_agrees_and_has_a_jacobian() -> None:
    case = Case("erf", "erf", K=2, M=1)
    assert difference(case, "casadi", "erf") < 1e-13
    program = case.program()
    numbers = general_state(case, program)
    flow, jacobian, _ = loaded(print_array_python(program, "casadi", numbers.example()))[
        "functions"
    ](numbers.sizes)
    state, parameters = (numbers.column(vector.fields) for vector in program.vectors)
    direction = np.linspace(-1.0, 1.0, state.size)
    moved = [np.asarray(flow(0.0, state + h * direction, parameters)) for h in (1e-6, -1e-6)]
    slope = (moved[0] - moved[1]) / 2e-6
    found = np.asarray(jacobian(0.0, state, parameters)) @ direction[:, None]
    assert found == pytest.approx(slope, rel=1e-7, abs=1e-8)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
def test_the_examples_of_c_and_numpy_print_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = sd.Problem("linear", students=1, teachers=1, learning_rate=0.5, seed=1)
    source, program = tmp_path / "dynamics.c", tmp_path / "dynamics"
    problem.export("c", source)
    source.write_text(source.read_text("utf-8").replace("steps = 200", "steps = 20"), "utf-8")
    subprocess.run(["gcc", *STRICT, "-DEXAMPLE", "-o", program, source, "-lm"], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in printed.splitlines()]
    source = tmp_path / "dynamics.py"
    problem.export("python", source)
    source.write_text(source.read_text("utf-8").replace("10.0, 200", "10.0, 20"), "utf-8")
    runpy.run_path(str(source), run_name="__main__")
    others = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == [row[0] for row in others]
    assert len(rows) == 11
    errors = [float(error) for _, error in rows]
    assert errors == pytest.approx([float(error) for _, error in others], rel=1e-10)


Slopes = Callable[[np.ndarray], list[float]]


def _heavy_ball(y: np.ndarray) -> list[float]:
    """Three examples in a step, with momentum 0.4: each moves J as one of rate η/(3 · 0.6) does."""
    R, Q = y
    eta, kappa, noise = 0.5 / 1.8, 0.2 / 3, 0.3**2 / (3 * 0.6**2)
    squares = eta**2 * (Q - 2 * R + 1) + noise
    return [eta * (1 - R) - kappa * R, 2 * eta * (R - Q) - 2 * kappa * Q + squares]


def _velocities(y: np.ndarray) -> list[float]:
    """Two examples in a step of dU = -γ U - η ∇, with U counted in steps of one example."""
    R, Q, C, P, W = y
    eta, gamma, kappa, noise = 0.5 / 4, 1.5 / 2, 0.2 / 2, 0.3**2 / 8
    return [
        C - kappa * R,
        2 * P - 2 * kappa * Q,
        eta * (1 - R) - gamma * C,
        W - (gamma + kappa) * P + eta * (R - Q),
        2 * eta * (C - P) - 2 * gamma * W + eta**2 * (Q - 2 * R + 1) + noise,
    ]


def _averages(y: np.ndarray) -> list[float]:
    """Two examples in a step towards the teacher and the average A, to first order in η."""
    R, Q, S, JA, AA = y
    eta, gamma, weight = 0.5 / 2, 0.7 / 2, 0.8
    return [
        eta * (1 - R + weight * (S - R)),
        2 * eta * (R - Q + weight * (JA - Q)),
        gamma * (R - S),
        eta * (S - JA + weight * (AA - JA)) + gamma * (Q - JA),
        2 * gamma * (JA - AA),
    ]


@pytest.mark.parametrize(
    ("rule", "slopes", "copied"),
    [
        ({"batch": 3, "momentum": 0.4}, _heavy_ball, []),
        ({"batch": 2, "momentum_rate": 1.5}, _velocities, [0.0, 0.0, 0.0]),
        (
            {"batch": 2, "consistency_weight": 0.8, "averaging_rate": 0.7},
            _averages,
            [0.0, 0.49, 0.49],
        ),
    ],
    ids=["momentum", "velocities", "averages"],
)
def test_an_example_has_the_rates_of_batches_momentum_and_averages(
    rule: dict[str, float],
    slopes: Slopes,
    copied: list[float],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One linear unit learns from another, whose equations are written by hand above."""
    own: dict[str, Any] = {"weight_decay": 0.2, "update_noise": 0.3}
    if "averaging_rate" in rule:
        own = {"order": "small-learning-rate"}
    problem = sd.Problem(
        "linear",
        students=1,
        teachers=1,
        learning_rate=0.5,
        student_std=0.7,
        draw="mean",
        inputs=sd.Isotropic(50),
        **own,
        **rule,
    )
    source = problem.export("python").to_source().replace("10.0, 200", "10.0, 100")
    exec(compile(source, "exported", "exec"), {"__name__": "__main__"})
    rows = np.array([line.split() for line in capsys.readouterr().out.splitlines()], dtype=float)
    begin = [0.0, 0.49, *copied]
    run = solve_ivp(
        lambda _, y: slopes(y), (0, 10), begin, t_eval=rows[:, 0], rtol=1e-9, atol=1e-12
    )
    errors = (run.y[1] - 2 * run.y[0] + 1) / 2
    assert len(rows) == 11
    assert rows[:, 1] == pytest.approx(errors, rel=1e-6)


@pytest.mark.parametrize(
    ("activation", "changes", "argument", "said"),
    [
        ("log(1+exp(x))", {}, "activation", "cannot be exported: means of"),
        ("relu", {"student_biases": 0.3}, "activation", "with biases are integrals.*or no biases"),
        ("erf", {"target": "sign"}, "target", "sign of a target.*or the target"),
        ("linear", {"loss": "huber"}, "loss", "slopes of this loss.*or the squared loss"),
    ],
)
def test_what_makes_means_integrals_is_named(
    activation: str, changes: dict[str, Any], argument: str, said: str, tmp_path: Path
) -> None:
    problem = sd.Problem(activation, students=1, teachers=1, learning_rate=0.1, **changes)
    with pytest.raises(sd.SymderivError, match=said) as caught:
        problem.export("c", tmp_path / "no.c")
    assert caught.value.argument == argument
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_julia_and_wolfram_language_of_every_case(case: Case) -> None:
    """The grammar reads Julia; Wolfram language has the numbers of the solver module."""
    program = case.program()
    numbers = general_state(case, program)
    text = print_julia(program, numbers.example())
    assert not julia.errors(text)
    assert not julia.unknown_names(text)
    text = print_mathematica(program, numbers.example())
    assert len(wolfram.statements(text)) > 15
    # a mean of four tanh is a sum of 6561 terms
    if case.student != "tanh":
        found = np.concatenate([np.ravel(each) for each in wolfram.evaluated(text)["printed"]])
        assert found == pytest.approx(reference(program, numbers)[:-1], rel=0, abs=1e-13)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("end\n\n", "\n\n"),
        (" * ", " * * "),
        ("for i in 1:K", "for i 1:K"),
        ("i2(", "i2["),
        ("c_s2_s2_given_s1 = ", "begin = "),
    ],
)
def test_what_is_no_julia_is_found(right: str, wrong: str) -> None:
    text = print_julia(Case("erf", "erf").program())
    assert right in text
    assert julia.errors(text.replace(right, wrong, 1))


def test_a_name_that_there_is_not_is_found() -> None:
    text = print_julia(Case("erf", "erf").program())
    assert julia.unknown_names(text.replace("asin(", "arcsin(")) == {"arcsin"}
    assert julia.unknown_names(text.replace("using StaticArrays", "")) == set()
    assert julia.unknown_names(text.replace("using SpecialFunctions: erf,", "using A:")) == {"erf"}


def test_numbers_in_wolfram_language_are_doubles() -> None:
    """With a point: without one they would be exact numbers, and sums of them slow."""
    written = [mathematica._double(value) for value in (1e-07, -2.5e22, 3.0, 0.1)]
    assert written == ["1.*^-7", "-2.5*^22", "3.0", "0.1"]


def test_a_generated_module_ends_with_an_example_that_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    problem = sd.Problem(
        "linear", students=1, teachers=1, learning_rate=0.5, inputs=sd.Isotropic(dimension=50)
    )
    text = problem.generate("lin", output=None).to_source()
    assert is_unchanged(text)
    plain = text.replace("from numba import njit\n", "def njit(*_, **__): return lambda f: f\n")
    plain = plain.replace("200", "20")
    exec(compile(plain, "lin", "exec"), {"__name__": "__main__"})
    own = capsys.readouterr().out.splitlines()
    source = problem.export("python").to_source().replace("10.0, 200", "10.0, 20")
    exec(compile(source, "exported", "exec"), {"__name__": "__main__"})
    exported = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert own[-1].split()[0] == exported[-1][0] == "10.0000"
    assert float(own[-1].split()[1]) == pytest.approx(float(exported[-1][1]), rel=1e-10)
