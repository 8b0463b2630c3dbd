"""The reduced equations against the right-hand side of the generated modules, unit by unit."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import sympy as sp
from flint import arb
from support.plain_module import checked_in, module_rates

from symderiv.analysis import symmetric as state
from symderiv.analysis.plateau.plateau_forms import full_flow
from symderiv.analysis.symmetric import ReducedEquations, reduced_equations
from symderiv.checking.recipes import RECIPES
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.precision.balls.expression_balls import ball_at

ETA, KAPPA, SIGMA = 0.37, 0.05, 0.2
RHO = np.array([1.6, 0.4])
WEIGHT = np.array([0.25, 0.75])
# Per mode: Q, C, R, S, T, D (D a row sum divided by M - 1 below).
MODES = {
    "Q": np.array([0.5, 0.9]),
    "C": np.array([0.21, 0.05]),
    "R": np.array([0.31, 0.12]),
    "S": np.array([-0.07, 0.1]),
    "T": np.array([1.7, 0.9]),
    "D": np.array([0.3, -0.11]),
}


def _matrix(size: int, other: int, same: float, off: float) -> np.ndarray:
    return np.where(np.eye(size, other, dtype=bool), same, off)


def _full(name: str, K: int, M: int, paired: bool, v: float, w: float) -> dict[str, np.ndarray]:
    """Time derivatives of one entry per class from the generated module, each per mode."""
    module = checked_in(name)
    q = np.array([_matrix(K, K, a, b) for a, b in zip(MODES["Q"], MODES["C"], strict=True)])
    cross = MODES["S"] if paired else MODES["R"]
    r = np.array([_matrix(K, M, a, b) for a, b in zip(MODES["R"], cross, strict=True)])
    off = MODES["D"] / (M - 1)
    t = np.array([_matrix(M, M, a, b) for a, b in zip(MODES["T"], off, strict=True)])
    T = np.einsum("k,knm->nm", WEIGHT / RHO, t)
    # Modules have the eigenvalues last.
    q, r, t = (np.ascontiguousarray(np.moveaxis(x, 0, -1)) for x in (q, r, t))
    arrays = (q, r, np.full(K, v), RHO, WEIGHT, t, T, np.full(M, w))
    dq, dr, _ = module_rates(module, arrays, (ETA, 0.0, KAPPA, 0.0, SIGMA, 1.0))
    found = {"Q": dq[0, 0], "C": dq[0, 1], "R": dr[0, 0]}
    if paired:
        found["S"] = dr[0, 1]
    return found


def _reduced(equations: ReducedEquations, K: int, M: int, v: float, w: float) -> dict[str, Any]:
    def total(letter: str, power: float) -> float:
        return float(np.sum(WEIGHT * RHO**power * MODES[letter]))

    order = {
        state.Q: total("Q", 1),
        state.C: total("C", 1),
        state.R: total("R", 0),
        state.S: total("S", 0),
        state.T: total("T", -1),
        state.D: total("D", -1),
        state.V: v,
        state.V_TEACHER: w,
        s.K: K,
        s.M: M,
        s.sigma: SIGMA,
        s.eta: ETA,
        s.kappa: KAPPA,
    }
    gradients = {
        name: float(ball_at(value, {x: arb(y) for x, y in order.items()}, 80).mid())
        for name, value in {**equations.gradients, **equations.noise}.items()
    }
    found = {}
    for letter, rate in equations.spectral.items():
        values = []
        for k in range(2):
            places = {
                element: RHO[k]
                if str(element.base.label) == "eigenvalue"
                else MODES[str(element.base.label)][k]
                for element in rate.atoms(sp.Indexed)
            }
            values.append(float(rate.xreplace(places).xreplace(gradients).xreplace(order)))
        found[letter] = np.array(values)
    return found


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    ("name", "paired"),
    [*product(("erf", "relu", "quadratic"), (False, True)), ("erf_sign", True)],
)
def test_reduced_equations_are_those_of_the_module(name: str, paired: bool) -> None:
    equations = reduced_equations(derive_equations(learning_problem(*RECIPES[name])), paired=paired)
    sizes = [(2, 2), (3, 3), (5, 5)] if paired else [(2, 2), (3, 2), (2, 5)]
    for K, M in sizes:
        v, w = 0.8 / K, 1.1 / np.sqrt(M)
        expected = _full(name, K, M, paired, v, w)
        found = _reduced(equations, K, M, v, w)
        assert found.keys() == expected.keys()
        for letter, value in expected.items():
            np.testing.assert_allclose(found[letter], value, rtol=2e-12, atol=1e-13)


@pytest.mark.parametrize(("name", "eta"), [("erf", 0.3), ("erf", 1.7), ("quadratic", 0.6)])
def test_the_flow_of_symmetric_states_is_that_of_the_module(name: str, eta: float) -> None:
    """One eigenvalue 1: sums over units of dQ, differences of dQ, and dR, with their factors."""
    M, q, c, r, t, d = 3, 0.8, 0.15, 0.3, 1.1, 0.22
    flow = full_flow(derive_equations(learning_problem(name)))
    values = {state.Q: q, state.C: c, state.R: r, state.T: t, state.D: d, s.M: M}
    values |= {sp.Symbol("eta", positive=True): eta, sp.Symbol("nu", positive=True): 1}
    balls = {x: arb(y) for x, y in values.items()}
    cross, total, spread = (float(ball_at(e, balls, 80).mid()) for e in flow.equations)
    module = checked_in(name)
    Q, R = _matrix(M, M, q, c)[..., None].copy(), np.full((M, M, 1), r)
    T, one, v = _matrix(M, M, t, d / (M - 1)), np.ones(1), np.full(M, 1 / np.sqrt(M))
    arrays = (Q, R, v, one, one, T[..., None].copy(), T, v)
    dQ, dR, _ = module_rates(module, arrays, (eta, 0.0, 0.0, 0.0, 0.0, 1.0))
    assert -eta * cross == pytest.approx(dR[0, 1, 0], rel=1e-12)
    assert -2 * eta * total == pytest.approx(dQ[0, :, 0].sum(), rel=1e-11)
    assert -2 * eta * spread == pytest.approx(dQ[0, 0, 0] - dQ[0, 1, 0], rel=1e-11)
    error = float(ball_at(flow.generalization_error, balls, 80).mid())
    full = module.generalization_error(Q[..., 0], R[..., 0], T, v, v)
    assert error == pytest.approx(full, rel=1e-12)
