"""The statements of ``examples/systems``: length, right-hand sides and what does not close."""

import inspect

import numpy as np
import pytest

import symderiv as sd
from benchmarks import systems
from benchmarks.systems import CASES, EXAMPLES, MOST_LINES, Case, difference, distance, lines

# SGD, compilation and quadrature: a part of them a day
pytestmark = pytest.mark.turns(16)

CLOSED = [case for case in CASES if case.closed]


def test_every_statement_is_short_and_every_file_is_in_the_table() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {case.module for case in CASES}
    assert {case.name: lines(case) for case in CASES if lines(case) > MOST_LINES} == {}


@pytest.mark.parametrize("case", CLOSED, ids=lambda case: case.name)
def test_right_hand_sides_are_those_of_quadrature_over_all_fields(case: Case) -> None:
    assert difference(case, case.statement()) <= case.tolerance


def test_temporal_differences_learn_the_value_and_not_the_next_state() -> None:
    """N = 400, steps written out: the error of the value falls, the surprise grows, as derived."""
    N, eta, discount, c, runs = 400, 0.3, 0.8, 0.6, 3
    random, measured = np.random.default_rng(7), []
    for _ in range(runs):
        B, w = np.linalg.qr(random.normal(size=(N, 2)))[0].T * np.sqrt(N) * [[1.0], [0.3**0.5]]
        for _ in range(12 * N):
            x, fresh = random.normal(size=(2, N))
            after = c * x + 0.8 * fresh
            w = w + eta * (B @ x + discount * (w @ after) - w @ x) * x / N
        Q, R, value = w @ w / N, w @ B / N, 1 / (1 - discount * c)
        surprise = 1 + Q * (1 + discount**2 - 2 * discount * c) - 2 * R * (1 - discount * c)
        measured.append([(Q - 2 * value * R + value**2) / 2, surprise / 2])
    P = systems.opened("differences").statement()
    run = P.solve(alpha=[0.0, 12.0], initial={"w.w": 0.3, "w.B": 0.0, "B.B": 1.0})
    for found, name in zip(np.transpose(measured), ("error", "surprise"), strict=True):
        error = 3 * found.std(ddof=1) / np.sqrt(runs) + 0.5 / np.sqrt(N)
        assert abs(found.mean() - run[name][1]) <= error
    assert run["error"][1] < run["error"][0] / 5
    assert run["surprise"][1] > run["surprise"][0]


def test_a_run_of_sgd_follows_a_statement() -> None:
    case = next(each for each in CASES if each.name == "contrastive pairs")
    assert distance(case, case.statement(), 1000) <= systems.LARGEST


def test_episodes_of_five_answers_have_the_rates_written_by_hand() -> None:
    """Five independent examples: a power of P = 1 - θ/π, and E[|h| 1(agree)] = (1 + ρ) √(Q/2π)."""
    T, gain, loss = 5, 1.0, 0.3
    state = systems.opened("reinforcement").STATE
    Q, R, B = state["w.w"], state["w.B"], state["B.B"]
    rho = R / np.sqrt(Q * B)
    P = 1 - np.arccos(rho) / np.pi
    won = (gain + loss) * P ** (T - 1) * (1 + rho) / np.sqrt(2 * np.pi)
    drift = np.sqrt(2 / np.pi) * loss
    noise = (gain**2 * P**T + loss**2 * (1 - P**T)) / T
    rates = systems.opened("reinforcement").statement(T).rates(state)
    by_hand = 2 * np.sqrt(Q) * (won - drift) + noise
    np.testing.assert_allclose(rates["w.w"], by_hand, rtol=1e-12)
    np.testing.assert_allclose(rates["w.B"], np.sqrt(B) * won - drift * R / np.sqrt(Q), rtol=1e-12)
    np.testing.assert_allclose(rates.observables["won"], P**T, rtol=1e-12)


def test_an_inner_step_on_one_example_does_not_close() -> None:
    with pytest.raises(sd.NotClosed, match="x1·x2") as refused:
        systems.opened("metalearning").refused()
    assert "n__x1__x2" in refused.value.average
    assert "x1·x2" in systems.refusal()


def test_error_functions_with_tied_weights_keep_an_error_that_untied_ones_do_not() -> None:
    tied, untied = systems.tied()
    assert tied > untied + 0.1


def test_every_statement_is_on_its_page_of_the_manual_with_a_figure() -> None:
    pages = EXAMPLES.parents[1] / "docs" / "manual" / "systems"
    contents = (pages / "index.md").read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.py"):
        name = {"positions": "attention"}.get(path.stem, path.stem)
        text = (pages / f"{name}.md").read_text(encoding="utf-8")
        body = inspect.getsource(systems.opened(path.stem).statement).partition("\n")[2]
        assert body in text, path.stem
        assert f"figures/{path.stem}.svg" in text
        assert (pages / "figures" / f"{path.stem}.svg").exists()
        assert f"({name}.md)" in contents
