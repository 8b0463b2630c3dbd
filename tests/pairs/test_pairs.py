"""Some of all pairs, others every day; ``make pairs`` tries all of them.

The pairs are dealt to two hundred and fifty days so that all of these take about the same time.
``SYMDERIV_PAIRS_SEED=n`` tries a whole tenth of the pairs with the scrambles of seed n.
"""

import os
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest
from support.rotating import DAY, dealt

from pairs import engine, reference
from pairs.activations import ACTIVATIONS, PAIRS
from pairs.campaign import judge, tenth
from pairs.states import PRECISE, SAMPLED, Rates, State
from symderiv.lowering.solver_files import SolverText

SEED = int(os.environ.get("SYMDERIV_PAIRS_SEED", DAY))

WHOLE = "SYMDERIV_PAIRS_SEED" in os.environ


DAYS = 250

#: CPU seconds by the kind of the dearer activation, as ``make pairs`` measures them.
SECONDS = {
    "quadrature": 35.0,
    "oscillating": 20.0,
    "four signs": 18.0,
    "mixture": 15.0,
    "sign": 3.0,
}


def _seconds(pair: tuple[str, str]) -> float:
    student, teacher = (ACTIVATIONS[name].kind for name in pair)
    if student == "sign":
        return 1.5  # refused
    return max(SECONDS.get(kind, 6.0) for kind in (student, teacher))


def _dealt() -> list[list[tuple[str, str]]]:
    order = np.random.default_rng(12).permutation(len(PAIRS))
    return dealt([PAIRS[index] for index in order], _seconds, DAYS)


def _today() -> list[tuple[str, str]]:
    return tenth(SEED) if WHOLE else _dealt()[SEED % DAYS]


@pytest.mark.parametrize("pair", _today(), ids="|".join)
def test_the_rates_of_a_pair_are_those_of_the_update(pair: tuple[str, str]) -> None:
    first = SEED % len(SAMPLED)
    states = [SAMPLED[first], SAMPLED[(first + 2) % len(SAMPLED)]]
    verdict = judge(*pair, seed=SEED, sgd=True, sampled=states)
    assert verdict.status != "wrong", f"SYMDERIV_PAIRS_SEED={SEED}: {verdict}"


def test_every_pair_has_its_day_and_no_day_takes_much_longer() -> None:
    days = _dealt()
    assert sorted(pair for day in days for pair in day) == sorted(PAIRS)
    assert sorted(pair for seed in range(10) for pair in tenth(seed)) == sorted(PAIRS)
    assert max(sum(map(_seconds, day)) for day in days) < 60


@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name not in ("sign", "step")])
def test_slopes_written_by_hand_are_derivatives(name: str) -> None:
    each, h = ACTIVATIONS[name], 1e-5
    x = np.linspace(-3.013, 3.0, 61)
    difference = (each.value(x + h) - each.value(x - h)) / (2 * h)
    np.testing.assert_allclose(each.slope(x), difference, atol=1e-8)


def test_all_references_are_exact_where_the_mean_is_known() -> None:
    # Linear units: one step has the mean -η v δ-correlations, and E[F²] is Isserlis' theorem.
    linear, rates, none = ACTIVATIONS["linear"], Rates(), reference.StatedError()
    for state in (*PRECISE, *SAMPLED):
        K, mode = len(state.J), state.mode
        C = state.factor @ state.factor.T
        u = np.concatenate([state.v, -state.v_teacher])
        error = u @ C @ u
        weights = state.v @ (state.J * state.eigenvalue[mode]) - state.v_teacher @ state.phi
        dJ = -rates.learning_rate * np.outer(state.v, weights) - rates.weight_decay * state.J
        half = state.overlap(dJ, state.J)
        noise = np.outer(state.v, state.v) * (error + rates.label_noise**2)
        dQ = half + half.transpose(1, 0, 2)
        dQ += rates.learning_rate**2 * noise[:, :, None] * state.eigenvalue
        dv = -rates.second_layer_learning_rate * (C @ u)[:K]
        dv -= rates.second_layer_weight_decay * state.v
        dr = state.overlap(dJ, state.phi)
        exact = np.concatenate([dQ.ravel(), dr.ravel(), dv, [error / 2]])
        if state in PRECISE:
            found = reference.by_nested_quadrature(state, rates, linear, linear, none)
            assert np.max(np.abs(found.value - exact) / found.scale) < 1e-12
        else:
            found = reference.by_hermite(state, rates, linear, linear, 6)
            assert np.max(np.abs(found.value - exact) / found.scale) < 1e-12
            found = reference.by_sampling(state, rates, linear, linear, none)
            assert np.all(np.abs(found.value - exact) <= 6 * found.error + 1e-12)
            assert np.max(found.error / found.scale) < 1e-3


# Small changes of what a module computes with, as a wrong factor in it would be.
CHANGES = {
    "noise of the labels": (Rates(label_noise=0.31), 1.0),
    "weight decay": (Rates(weight_decay=0.131), 1.0),
    "decay of the output weights": (Rates(second_layer_weight_decay=0.211), 1.0),
    "quadratic terms": (Rates(learning_rate=0.702), 1.0),
    "the teacher's part": (Rates(), 1.002),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_factor_that_is_wrong_by_little_is_noticed(change: str) -> None:
    kernels = resources.files("symderiv_kernels")
    files = (kernels.joinpath("erf.py"), kernels.joinpath("fast", "erf.py"))
    text = SolverText(*(file.read_text(encoding="utf-8") for file in files))
    m, erf, state = engine.module(text), ACTIVATIONS["erf"], SAMPLED[0]
    known = reference.by_sampling(state, Rates(), erf, erf, reference.StatedError(), 16)

    def worst(state: State, rates: Rates) -> float:
        found = engine.readable_rates(m, state, rates)
        written_out = engine.written_out_rates(m, state, rates)
        np.testing.assert_allclose(written_out, found[:-1], rtol=1e-9, atol=1e-12)
        return float(np.max(np.abs(found - known.value) / (5 * known.error + 1e-9 * known.scale)))

    rates, factor = CHANGES[change]
    changed = replace(state, v_teacher=factor * state.v_teacher)
    assert worst(state, Rates()) <= 1 < worst(changed, rates)
