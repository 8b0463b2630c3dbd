"""The derivation and the experiment read one statement: each is held against the other."""

from typing import Any

import numpy as np
import pytest
import sympy as sp
from support.plain_reading import plain_step
from unit.system import statements

import symderiv as sd
from symderiv.experiment.steps.step_chain import MarkovChain, space_of
from symderiv.experiment.steps.step_form import program_of

# SGD, compilation and quadrature: a part of them a day
pytestmark = pytest.mark.turns(16)

SYSTEMS = {
    "autoencoder": statements.autoencoder,
    "reinforcement": statements.reinforcement,
    "components": statements.components,
    "differences": statements.differences,
    "three examples": statements.three_examples,
    "one of two": statements.one_of_two,
}


def _drawn(P: sd.System, N: int, seed: int) -> tuple[Any, ...]:
    random = np.random.default_rng(seed)
    statement = P.statement
    vectors = random.normal(size=(len(statement.vectors), N))
    scalars = random.normal(size=len(statement.symbols.scalars))
    return vectors, scalars


@pytest.mark.parametrize("name", [*SYSTEMS, "student", "two groups"])
def test_a_compiled_step_is_the_step_as_it_is_said(name: str) -> None:
    P = (
        {**SYSTEMS, "two groups": statements.two_groups}[name]()[0]
        if name != "student"
        else statements.student_teacher()
    )
    N = 40
    vectors, scalars = _drawn(P, N, 3)
    statement = P.statement
    # orthonormal to begin with, as constraints have it; groups are not orthogonal to each other
    for first in {"components": [2], "two groups": [0, 2], "one of two": [0]}.get(name, []):
        pair = slice(first, first + 2)
        vectors[pair] = np.linalg.qr(vectors[pair].T)[0].T * np.sqrt(N)
    program = program_of(statement)
    parameters = P.solver.layout.parameter_values({})
    before, kept = vectors.copy(), scalars.copy()
    space = space_of(program, np.array([N]))
    chain = MarkovChain(program, space, (vectors, scalars), np.zeros((0, 0)), parameters, (11,), 1)
    chain.draw()
    z, latents = chain._inputs.copy(), chain._latents[0].copy()
    assert chain.learn(0, 1) == -1
    inputs = dict(zip(program.atoms, program.mixing @ z, strict=True))
    vectors, scalars = chain.vectors, chain.scalars
    after, numbers = plain_step(
        statement,
        {v: before[n] for v, n in program.vectors.items()},
        dict(zip(map(str, statement.symbols.scalars), kept, strict=True)),
        inputs,
        dict(zip(program.latents, latents, strict=True)),
        parameters,
    )
    moved = 0.0
    for vector, place in program.vectors.items():
        # the constraint of the compiled loop is a series in 1/N
        tolerance = 1e-2 if name in ("components", "two groups", "one of two") else 1e-12
        np.testing.assert_allclose(vectors[place], after[vector], atol=tolerance)
        moved = max(moved, float(np.max(np.abs(after[vector] - before[place]))))
    np.testing.assert_allclose(scalars, list(numbers.values()), atol=1e-12)
    assert moved > 1e-3


def test_a_run_says_its_error_and_keeps_the_names() -> None:
    P = statements.student_teacher(K=2, M=2)
    state = statements.gram({"w": 2, "B": 2}, 8) | {"v": [1.0, 0.5]}
    run = P.solve(end=3, initial=state, eta=0.3)
    assert run["w.B"].shape == (200, 2, 2)
    assert run.cause == "done"
    assert 0 <= run.error < 1e-7
    again = P.solve(end=3, initial=state, eta=0.3, relative_tolerance=1e-12)
    assert np.max(np.abs(again["error"] - run["error"])) < 1e-9


def test_forces_on_two_correlated_tokens_share_their_noise() -> None:
    """Moments of four Gaussian numbers by hand; the spectrum weighs the noise."""
    P = sd.System()
    r = sp.Rational(3, 5)
    inputs = sd.Spectrum([2.0, 0.5], weights=[0.25, 0.75])
    x = P.inputs("x", inputs, length=2, correlation=[[1, r], [r, 1]])
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    P.update({w: (B @ x[1]) * x[0] + (B @ x[0]) * x[1]})
    overlaps = {"w.w": [0.7, 0.9], "w.B": [0.2, -0.1], "B.B": [1.1, 0.6]}
    found = P.rates(overlaps)
    rho, weight = np.array([2.0, 0.5]), np.array([0.25, 0.75])
    T = weight @ (rho * overlaps["B.B"])
    noise = rho * T * (2 + 2 * 0.6**2)
    np.testing.assert_allclose(found["w.B"], 2 * 0.6 * rho * overlaps["B.B"], rtol=1e-13)
    wanted = 4 * 0.6 * rho * np.array(overlaps["w.B"]) + noise
    np.testing.assert_allclose(found["w.w"], wanted, rtol=1e-13)


def test_what_is_given_besides_comes_back_and_asks_for_what_it_needs() -> None:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    P.update({w: (B @ x) * x})
    full = P.rates({"w.w": 0.5, "w.B": 0.2, "B.B": 1.5})
    assert full["w.B"] == pytest.approx(1.5)
    assert full["w.w"] == pytest.approx(2 * 0.2 + 1.5)
    with pytest.raises(sd.InputError, match=r"w\.B must be given"):
        P.rates({"w.w": 0.5, "B.B": 1.5})
    assert "w.w" not in P.rates({"B.B": 1.5}).rates
