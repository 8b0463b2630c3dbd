"""Rules that are only stated, for linear networks, against motion that is written by hand.

With linear activations every mean is a quadratic form, and means over kept units are sums.
"""

from itertools import product

import numpy as np
import pytest
import sympy as sp

from symderiv.checking.recipes import unchecked
from symderiv.foundation.packing import Packing
from symderiv.learning.derivation import steps
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.learning_equations import LearningEquations, derive_equations
from symderiv.learning.narration import narrator
from symderiv.learning.narration.shown_steps import steps_of
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.lowering.means.uncompiled import NO_OVERFLOW, uncompiled

K, M = 3, 2
RHO, SHARE = np.array([1.7, 0.4]), np.array([0.3, 0.7])
NUMBERS = {
    "learning_rate": 0.6,
    "second_layer_learning_rate": 0.4,
    "weight_decay": 0.2,
    "label_noise": 0.3,
    "keep": 0.7,
    "evaluation_scale": 0.8,
    "sobolev_weight": 0.5,
    "consistency_weight": 0.9,
    "averaging_rate": 0.35,
}
EVERYTHING = ("sobolev_weight", "consistency_weight", "averaging_rate")


def by_hand(
    vectors: np.ndarray, v: np.ndarray, c: np.ndarray, numbers: dict[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rates of all overlaps of J, A and B per eigenvalue, and of v.

    Args:
        vectors: Rows J, A, B, shape (2K + M, L, n).
    """
    size, total = len(vectors), 0.0
    gram = np.einsum("akx,bkx->kab", vectors, vectors)
    law, plain = np.tensordot(SHARE * RHO, gram, 1), np.tensordot(SHARE, gram, 1)
    lam, mu = numbers["sobolev_weight"], numbers["consistency_weight"]
    drift, noise = np.zeros((2, size, size)), np.zeros((size, size))
    dv = np.zeros(K)
    for kept in product((0, 1), repeat=K):
        chance = np.prod([numbers["keep"] if each else 1 - numbers["keep"] for each in kept])
        w = v * kept
        # what multiplies the fields of J, A, B in s - t, in s - a and in the gap of gradients
        gap = np.concatenate([w, np.zeros(K), -c])
        behind = np.concatenate([w, -v, np.zeros(M)])
        force = gap + mu * behind
        for k in range(2):
            drift[k, :K] -= chance * w[:, None] * (RHO[k] * force + lam * gap)
        square = force @ law @ force + numbers["label_noise"] ** 2
        noise[:K, :K] += chance * np.outer(w, w) * square
        own = np.zeros((K, size))
        own[:, :K] = np.diag(kept)
        students = np.hstack([np.diag(kept), -np.eye(K), np.zeros((K, M))])
        dv -= chance * (own @ (law + lam * plain) @ gap + mu * students @ law @ behind)
        total += chance
    assert total == pytest.approx(1)
    eta, gamma = numbers["learning_rate"], numbers["averaging_rate"]
    motion = eta * drift
    for i in range(K):
        motion[:, i, i] -= numbers["weight_decay"]
        motion[:, K + i, i] += gamma
        motion[:, K + i, K + i] -= gamma
    rates = np.array([motion[k] @ gram[k] + gram[k] @ motion[k].T for k in range(2)])
    rates += RHO[:, None, None] * eta**2 * noise
    return rates, numbers["second_layer_learning_rate"] * dv


@pytest.mark.days(3)
@pytest.mark.parametrize("stated", [EVERYTHING, EVERYTHING[:1], EVERYTHING[1:]], ids=str)
def test_linear_networks_move_as_written_by_hand(stated: tuple[str, ...]) -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(2 * K + M, 2, 9)) / 3
    v, c = rng.normal(size=K), rng.normal(size=M)
    absent = dict.fromkeys(set(EVERYTHING) - set(stated), 0.0)
    expected, dv = by_hand(vectors, v, c, {**NUMBERS, **absent})
    problem = learning_problem("linear", None, LearningRule(dropout=True, stated=stated))
    module = uncompiled(unchecked("m", problem)[0].readable, NO_OVERFLOW)
    packings = {
        name: Packing.of(module.LAYOUT, name, K=K, M=M, L=2) for name in ("state", "parameters")
    }
    J, A, B = slice(K), slice(K, 2 * K), slice(2 * K, None)
    places = {
        "student_overlap": (J, J),
        "cross_overlap": (J, B),
        "teacher_overlap": (B, B),
        "overlap_J_A": (J, A),
        "overlap_A_A": (A, A),
        "overlap_A_B": (A, B),
    }

    def held(gram: np.ndarray, name: str) -> np.ndarray:
        rows, columns = places[name]
        power = (rows == B) + (columns == B)
        return np.moveaxis(gram[:, rows, columns] * RHO[:, None, None] ** power, 0, -1)

    gram = np.einsum("akx,bkx->kab", vectors, vectors)
    law = np.tensordot(SHARE * RHO, gram, 1)
    known = {name: held(gram, name) for name in places}
    known |= {"v": v, "v_teacher": c, "eigenvalue": RHO, "weight": SHARE, "T": law[B, B]}
    known |= {"second_layer_weight_decay": 0.0, "full_order": 1.0, **NUMBERS}
    state, parameters = (
        packing.packed(**{name: known[name] for name in packing.shapes})
        for packing in packings.values()
    )
    change = np.zeros_like(state)
    sizes = np.array([{"K": K, "M": M, "L": 2}[name] for name in module.LAYOUT["sizes"]])
    module.flat_right_hand_side(0.0, state, sizes, parameters, change)
    for name, found in packings["state"].views(change).items():
        wanted = dv if name == "v" else held(expected, name)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13, err_msg=name)


def _shown(rule: LearningRule, section: str) -> list[steps.LearningStep]:
    return list(steps_of(_derived(rule))[section])


def _derived(rule: LearningRule) -> LearningEquations:
    return derive_equations(learning_problem("erf", None, rule))


def _updates(rule: LearningRule) -> dict[str, sp.Expr]:
    found = [each for each in _shown(rule, "update") if isinstance(each, steps.Updated)]
    return {str(each.weight.base.label): each.value for each in found}


@pytest.mark.turns(2)
def test_what_is_shown_of_an_averaged_teacher_is_its_update() -> None:
    found = _updates(LearningRule(stated=EVERYTHING[1:], trained_biases=True, biases=True))
    gamma = sp.Symbol("averaging_rate", real=True)
    A, J = s.vector("A")[s.i, s.k, s.a], s.J[s.i, s.k, s.a]
    assert sp.expand(found["w_A"] - A - gamma / s.N * (J - A)) == 0
    assert sp.expand(found["student_biases"] - s.bias[s.i] + s.eta_b / s.N * s.F[s.i]) == 0
    named = _shown(LearningRule(stated=EVERYTHING[1:]), "order_parameters")
    defined = {str(each.of.base.label) for each in named if isinstance(each, steps.Defined)}
    assert {"overlap_J_A", "overlap_A_A", "overlap_A_B", "x_A_mode"} <= defined


def test_what_is_shown_of_gradients_of_the_teacher_has_their_gains() -> None:
    found = _updates(LearningRule(stated=EVERYTHING[:1]))["J"]
    along = sp.Sum(s.gain("J")[s.i, s.p] * s.J[s.p, s.k, s.a], (s.p, 0, s.K - 1))
    taught = s.gain("B")[s.i, s.m] * s.phi[s.m, s.k, s.a] / s.eigenvalue[s.k]
    along += sp.Sum(taught, (s.m, 0, s.M - 1))
    noise = s.eta * s.F[s.i] * s.xi[s.k, s.a] / sp.sqrt(s.N)
    J = s.J[s.i, s.k, s.a]
    assert sp.expand(found - (J - noise - s.eta / s.N * along - s.kappa / s.N * J)) == 0
    loss = next(
        each
        for each in _shown(LearningRule(stated=EVERYTHING[:1]), "setup")
        if isinstance(each, steps.LossDefined)
    )
    assert loss.loss.has(s.product("B", "B")[s.m, s.n])
    assert loss.loss.has(s.delta**2)


def test_a_target_that_is_a_sign_is_shown_with_its_noise() -> None:
    rule = LearningRule(target="sign", flips=True)
    defined = [each for each in _shown(rule, "setup") if isinstance(each, steps.Defined)]
    (delta,) = [each.value for each in defined if each.of == s.delta]
    target = s.flip * s.label + s.sigma * s.zeta
    assert sp.expand(delta + target).has(s.StudentActivation)
    assert not sp.expand(delta + target).has(s.flip, s.zeta, s.label)


def _defined(rule: LearningRule) -> dict[str, sp.Expr]:
    found = [each for each in _shown(rule, "order_parameters") if isinstance(each, steps.Defined)]
    return {str(each.of.base.label): each.value for each in found}


def _mean(product: sp.Expr) -> sp.Expr:
    n = s.multiplicity[s.k]
    return sp.Sum(product, (s.a, 1, n)) / n


def test_overlaps_are_shown_as_means_over_coordinates() -> None:
    J, U, phi = s.J, s.U, s.phi[s.c, s.n, s.k, s.a]
    found = _defined(LearningRule(momentum=True))
    assert found["momentum_overlap"] == _mean(U[s.i, s.k, s.a] * J[s.j, s.k, s.a])
    assert found["momentum_square"] == _mean(U[s.i, s.k, s.a] * U[s.j, s.k, s.a])
    assert found["momentum_cross"] == _mean(U[s.i, s.k, s.a] * phi)
    A = s.vector("A")
    found = _defined(LearningRule(stated=EVERYTHING[1:]))
    assert found["overlap_J_A"] == _mean(J[s.i, s.k, s.a] * A[s.j, s.k, s.a])
    assert found["overlap_A_B"] == _mean(A[s.i, s.k, s.a] * phi)


def test_the_mean_gradient_of_a_batch_is_shown_along_students_and_teachers() -> None:
    shown = _shown(LearningRule(batches=True), "motion")
    (gradient,) = [each.value for each in shown if isinstance(each, steps.MeanGradient)]
    along = sp.Sum(s.A[s.i, s.p] * s.J[s.p, s.k, s.a], (s.p, 0, s.K - 1))
    taught = sp.Sum(s.B[s.i, s.m] * s.phi[s.m, s.k, s.a], (s.m, 0, s.M - 1))
    assert sp.expand(gradient - s.eigenvalue[s.k] * along - taught) == 0


def test_what_students_gain_along_vectors_is_defined_where_it_is_shown() -> None:
    """Of λ/2 |Σ v_i g'(x_i) J_i - Σ c_n h'(y_n) B_n|²/N, by J_i with its fields held."""
    rule = LearningRule(stated=EVERYTHING[:1])
    shown = [each for each in _shown(rule, "update") if isinstance(each, steps.Defined)]
    found = {each.of: each.value for each in shown}
    own, other, lam = s.gain("J"), s.gain("B"), sp.Symbol("sobolev_weight", real=True)
    outer = lam * s.v[s.i] * s.StudentActivation(1, s.x[s.i])
    assert set(found) == {own[s.i, s.j], other[s.i, s.n]}
    wanted = outer * s.v[s.j] * s.StudentActivation(1, s.x[s.j])
    assert sp.expand(found[own[s.i, s.j]] - wanted) == 0
    wanted = -outer * s.v_teacher[s.n] * s.TeacherActivation(1, s.y[s.n])
    assert sp.expand(found[other[s.i, s.n]] - wanted) == 0
    told = {each.key: each for each in narrator.sections(_derived(rule))}["update"]
    assert sum("along vectors themselves" in step.statement for step in told.steps) == 2
