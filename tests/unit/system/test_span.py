"""Runs in the span of the slow vectors have the law of those on explicit vectors, at every N."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy as sp
from support.laws import apart
from unit.system import statements

import symderiv as sd
from symderiv.experiment.steps.step_chain import MarkovChain, Space
from symderiv.experiment.steps.step_form import program_of
from symderiv.foundation.errors import InputError
from symderiv.system.system_sgd import gram_of, roots_of, space_of

# SGD, compilation and quadrature: a part of them a day
pytestmark = pytest.mark.turns(16)


def _networks() -> tuple[sd.System, dict[str, Any]]:
    inputs = sd.Spectrum([1.6, 0.4, 1.0], weights=[0.5, 0.375, 0.125])
    P = statements.student_teacher("relu", "erf", K=4, M=2, model=inputs)
    return P, statements.gram({"w": 4, "B": 2}, 3) | {"v": [0.7, -0.4, 0.5, 1.0]}


def _tokens() -> tuple[sd.System, dict[str, Any]]:
    P = sd.System()
    r = sp.Rational(3, 5)
    x = P.inputs("x", sd.Spectrum([1.5, 0.5]), length=2, correlation=[[1, r], [r, 1]])
    w, B = P.vectors("w", 2), P.vectors("B", fixed=True)
    noise = P.latents("z") * P.latents("s", "rademacher")
    g, a, b = sd.activation("erf"), w @ x, B @ x
    gaps = sum((g(a[:, t]).sum() - g(b[t]) - noise / 4) ** 2 for t in range(2))
    P.descend(gaps / 2, {w: 0.5})
    P.update({w[0]: 0.4 * B - 0.3 * w[0] + 0.2 * w[1], w[1]: -0.6 * w[1]})
    return P, statements.gram({"w": 2, "B": None}, 5)


CASES: dict[str, tuple[Callable[[], tuple[sd.System, dict[str, Any]]], int, float]] = {
    # six vectors in 28, 21 and 7 coordinates: the last eigenspace is kept whole
    "networks": (_networks, 56, 2.0),
    "tokens": (_tokens, 24, 2.0),
    "components": (statements.components, 200, 0.3),
    "reinforcement": (statements.reinforcement, 16, 2.0),
}


@pytest.mark.parametrize("name", CASES)
def test_means_and_variances_of_all_overlaps_are_those_of_vectors(name: str) -> None:
    make, N, alpha = CASES[name]
    P, state = make()
    runs = [
        P.simulate(N, runs=400, alpha=[0.0, alpha], initial=state, seed=seed, method=method)
        for seed, method in ((1, "vectors"), (2, "gram"))
    ]
    assert [run.method for run in runs] == ["vectors", "gram"]
    for key in P.solver.layout.names:
        one, other = (np.asarray(run.runs[key]) for run in runs)
        np.testing.assert_allclose(one[:, 0], other[:, 0], atol=1e-11)
        # a hundred numbers, twice: beyond 4.5 standard errors once in a thousand tests
        assert apart(one[:, 1], other[:, 1]) < 4.5, key


def _coordinates(whole: MarkovChain, span: MarkovChain, fixed: dict[int, np.ndarray]) -> np.ndarray:
    """Inputs drawn for vectors of all coordinates, in the basis of those in the span."""
    order, D = np.array(span.space.order), span.space.vectors
    found = np.zeros_like(span._inputs)
    for k, n in enumerate(span.space.counts):
        part = slice(*whole.space.bounds[k : k + 2])
        own = slice(*span.space.bounds[k : k + 2])
        drawn = whole._inputs[:, part]
        if k in fixed:
            found[:, own] = drawn @ fixed[k]
            continue
        rows = np.concatenate([whole.vectors[order, part], drawn])
        lower = np.linalg.qr(rows.T)[1].T
        signs = np.sign(np.diag(lower))
        signs[:D] = np.sign(np.diag(span.vectors[order, own][:, :D])) * signs[:D]
        assert n > len(rows)
        found[:, own] = lower[D:] * signs
    return found


@pytest.mark.parametrize("together", [1, 2])
@pytest.mark.parametrize("name", ["networks", "tokens"])
def test_with_the_coordinates_of_real_inputs_overlaps_are_those_of_the_vectors(
    name: str, together: int
) -> None:
    make, N, _ = CASES[name]
    P, state = make()
    program, layout = program_of(P.statement), P.solver.layout
    packed, constants = layout.packed(state, {})
    counts = np.diff(layout.class_bounds(N))
    gram, random = gram_of(P.solver, packed, constants), np.random.default_rng(4)
    scalars = np.array(state.get("v", ()), dtype=float)
    roots = roots_of(program, layout.spectrum[1])
    space = space_of(program, counts)
    whole, span = (
        MarkovChain(
            program,
            each,
            (each.drawn_vectors(gram, random), scalars),
            roots,
            layout.parameter_values({}),
            (1,),
            together,
        )
        for each in (space, replace(space, together=together))
    )
    fixed = {}
    for k in np.flatnonzero(~span.space.open):
        one, other = (
            each.vectors[:, each.space.bounds[k] : each.space.bounds[k + 1]]
            for each in (whole, span)
        )
        left, _, right = np.linalg.svd(one.T @ other)
        fixed[k] = left @ right
        np.testing.assert_allclose(one @ fixed[k], other, atol=1e-10)
    for _ in range(12):
        whole.draw()
        span._inputs[:] = _coordinates(whole, span, fixed)
        span._latents[:] = whole._latents
        assert whole.learn(0, together) == span.learn(0, together) == -1
        one, other = (each.space.overlaps(each.vectors) for each in (whole, span))
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(whole.scalars, span.scalars, rtol=1e-9)
    assert np.max(np.abs(one - gram)) > 1e-2


@pytest.mark.parametrize("together", [1, 3])
def test_bringing_vectors_back_keeps_their_gram_matrices(together: int) -> None:
    """Steps too small to matter; what is left is the rounding of reflections."""
    P = statements.student_teacher(K=3, M=2)
    program = program_of(P.statement)
    space = replace(Space(np.array([50, 200]), (3, 4, 0, 1, 2), 1), together=together)
    random = np.random.default_rng(3)
    drawn = random.standard_normal((2, 5, 12))
    gram = drawn @ drawn.swapaxes(1, 2) / 12
    vectors = space.drawn_vectors(gram, random)
    np.testing.assert_allclose(space.overlaps(vectors), gram, rtol=1e-12)
    start = vectors, np.full(3, 1e-30)
    chain = MarkovChain(program, space, start, np.zeros((0, 0)), {"eta": 1e-30}, (1,), 30_000)
    assert chain.reach(30_000)
    np.testing.assert_allclose(space.overlaps(chain.vectors), gram, rtol=1e-11)
    np.testing.assert_array_equal(chain.vectors[3:], vectors[3:])
    for first, _ in space.table:
        rows = chain.vectors[[3, 4, 0, 1, 2], first : first + 5]
        assert not np.any(np.triu(rows, 1))


def test_the_cheaper_method_is_taken() -> None:
    P, state = _tokens()
    assert P.simulate(8, runs=1, alpha=[0.1], initial=state).method == "vectors"
    assert P.simulate(800, runs=1, alpha=[0.1], initial=state).method == "gram"
    with pytest.raises(InputError, match=r"'grim' is unknown"):
        P.simulate(8, runs=1, alpha=[0.1], initial=state, method="grim")
