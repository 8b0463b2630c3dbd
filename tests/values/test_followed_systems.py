"""Derivatives and events of runs of stated systems, against differences of runs."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symderiv as sd

TIMES = [0.0, 1.0, 3.0]
EVENTS = ["error < 0.3", "w.B[1,2,1] > 0.35 + alpha/50", "u > 2 + alpha"]
BEGIN: dict[str, Any] = {
    "w.w": [[0.3, 0.05], [0.05, 0.4]],
    "w.B": [[0.1], [0.2]],
    "B.B": [[1.2]],
    "u": 0.8,
}


@cache
def system(exponent: float) -> Any:
    """Return a system with K ≠ M, two classes, a moving number and a rate that changes in time."""
    P = sd.System()
    model = sd.PowerLaw(dimension=2, distinct_eigenvalues=2, exponent=exponent)
    x = P.inputs("x", model=model)
    w, B, u = P.vectors("w", 2), P.vectors("B", 1, fixed=True), P.scalars("u")
    eta, decay = P.parameter("eta", 0.5), P.parameter("decay", 0.1)
    s, t = u * sd.activation("erf")(w @ x).sum(), sd.activation("relu")(B @ x).sum()
    P.descend((s - t) ** 2 / 2, {w: eta / (1 + P.alpha / 4), u: decay})
    P.update({w[0]: -decay * w[0]})
    P.observe(error=(s - t) ** 2 / 2 + P.alpha / 100)
    return P


def changed(P: Any, name: str, value: float) -> Any:
    """Return the run with another number."""
    asked: dict[str, Any] = {"alpha": TIMES, "relative_tolerance": 1e-12, "events": EVENTS}
    if name == "inputs.x.exponent":
        return system(value).solve(initial=BEGIN, **asked)
    if name == "initial.u":
        return P.solve(initial={**BEGIN, "u": value}, **asked)
    return P.solve(initial=BEGIN, **asked, **{name: value})


WEIGHTS = {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}


def differences(name: str, value: float) -> tuple[float, dict[int, float]]:
    """Return a step and weights: two runs for an exponent, which is another system to derive."""
    if name == "inputs.x.exponent":
        return 2e-4 * value, {-1: -1 / 2, 1: 1 / 2}
    return 2e-3 * value, WEIGHTS


NUMBERS = {"eta": 0.5, "decay": 0.1, "initial.u": 0.8, "inputs.x.exponent": 1.0}


@pytest.mark.turns(3)
def test_derivatives_and_times_are_those_of_differences(tmp_path: Path) -> None:
    P = system(1.0)
    run = P.solve(
        alpha=TIMES,
        initial=BEGIN,
        relative_tolerance=1e-11,
        sensitivities=list(NUMBERS),
        events=EVENTS,
    )
    error, overlap, never = run.events
    assert 0.1 < error.time < 3.0
    assert 0.1 < overlap.time < 3.0
    assert np.isinf(never.time)
    assert max(error.error_bound, overlap.error_bound) < 1e-9
    for name, value in NUMBERS.items():
        step, weights = differences(name, value)
        runs = {n: changed(P, name, value + n * step) for n in weights}
        for field in ("w.w", "w.B", "u", "error"):
            expected = sum(weights[n] * runs[n][field] for n in runs) / step
            found = run.sensitivity(field, name)
            np.testing.assert_allclose(found, expected, atol=3e-8 * (1 + np.abs(expected).max()))
            assert np.abs(found).max() > 1e-3
        for n, each in enumerate((error, overlap)):
            slope = sum(weights[k] * runs[k].events[n].time for k in runs) / step
            assert each.derivatives[name] == pytest.approx(slope, rel=1e-6, abs=1e-8)
    run.save(tmp_path / "run.nc")
    again = sd.open(tmp_path / "run.nc")
    assert again.events == run.events
    np.testing.assert_array_equal(again["w.B_by_eta"], run.sensitivity("w.B", "eta"))
    assert again.dimensions == run.dimensions


def test_an_event_ends_a_run() -> None:
    P = system(1.0)
    run = P.solve(6.0, initial=BEGIN, until=sd.event("error", below=0.3))
    end = run.events["error"].time
    assert run.alpha[-1] == end < 6.0
    assert run["error"][-1] == pytest.approx(0.3, abs=1e-9)
    with pytest.warns(Warning, match="does not happen up to alpha = 1"):
        assert P.solve(1.0, initial=BEGIN, until="u > 9").alpha[-1] == 1.0


def test_what_cannot_be_followed_is_refused() -> None:
    P = system(1.0)
    for asked, said in (
        ({"events": ["eror < 1"]}, "did you mean error"),
        ({"events": ["w.B[1,3,1] > 0"]}, r"has no place in w.B of shape \(2, 2, 1\)"),
        ({"events": ["u"]}, "is a quantity"),
        ({"until": "plateau-end"}, "ends of plateaus"),
        ({"sensitivities": ["rate"]}, "is not a name that can vary"),
        ({"sensitivities": ["initial.w.B"]}, "is not one number"),
    ):
        with pytest.raises(sd.InputError, match=said):
            P.solve(1.0, initial=BEGIN, **asked)
    jumping = sd.System()
    x, w, late = jumping.inputs("x"), jumping.vectors("w"), jumping.parameter("late", 1)
    jump = sd.activation("Heaviside(x)")(jumping.alpha - late)
    jumping.descend((w @ x - 1) ** 2 / 2, {w: jump / 9})
    with pytest.raises(sd.SymderivError, match="'late' changes the time of a jump"):
        jumping.solve(2.0, initial={"w.w": 1.0}, sensitivities=["late"])


@cache
def in_time(batches: bool) -> Any:
    """Return a system whose rate falls and jumps, in time or by steps of batches."""
    P = sd.System()
    model = sd.PowerLaw(dimension=2, distinct_eigenvalues=2, exponent=0.7)
    x = P.inputs("x", model, batch_ratio=2 if batches else None)
    w, B, u = P.vectors("w", 2), P.vectors("B", 3, fixed=True), P.scalars("u")
    eta, g = P.parameter("eta", 0.4), sd.activation("erf")
    rate = eta * (1 - sp.Heaviside(P.alpha - 3) / 2) / (1 + P.alpha / 10)
    gap = u * g(w @ x).sum() - g(B @ x).sum()
    loss = gap**2 / 2
    P.descend(x.mean(loss) if batches else loss, {w: rate, u: eta / 5})
    P.observe(error=loss, weighted=rate * gap**2)
    return P


@pytest.mark.turns(3)
@pytest.mark.parametrize("batches", [True, False])
def test_steps_and_jumps_have_the_derivatives_of_differences(batches: bool) -> None:
    random = np.random.default_rng(1)
    vectors = random.normal(size=(2, 5, 30))
    gram = np.einsum("kan,kbn->kab", vectors, vectors) / 30
    start = {"w.w": gram[:, :2, :2], "w.B": gram[:, :2, 2:], "B.B": gram[:, 2:, 2:], "u": 0.7}
    numbers = {"eta": 0.4, "initial.u": 0.7}
    events = ["error < 0.3", "weighted < 0.15"]

    def solved(name: str, value: float, **asked: Any) -> Any:
        begin = {**start, "u": value if name == "initial.u" else 0.7}
        return in_time(batches).solve(
            alpha=[0, 2, 3, 4, 7],
            initial=begin,
            relative_tolerance=1e-12,
            events=events,
            eta=value if name == "eta" else 0.4,
            **asked,
        )

    run = solved("", 0.0, sensitivities=list(numbers))
    error, weighted = run.events
    for name, value in numbers.items():
        step, weights = differences(name, value)
        runs = {n: solved(name, value + n * step) for n in weights}
        for field in ("w.w", "w.B", "u", "error", "weighted"):
            expected = sum(weights[n] * runs[n][field] for n in runs) / step
            found = run.sensitivity(field, name)
            np.testing.assert_allclose(found, expected, atol=3e-8 * (1 + np.abs(expected).max()))
        assert np.abs(run.sensitivity("w.w", name)).max() > 1e-3
        if not batches:
            slope = sum(weights[n] * runs[n].events[0].time for n in runs) / step
            assert error.derivatives[name] == pytest.approx(slope, rel=1e-6, abs=1e-8)
    if batches:  # the first step after which it holds
        every = in_time(batches).solve(alpha=range(8), initial=start)
        assert error.time == np.flatnonzero(every["error"] < 0.3)[0]
        assert error.derivatives == {}
    else:
        # the jump alone makes it hold, at a time that no number changes
        assert weighted.time == 3.0
        assert weighted.derivatives == dict.fromkeys(numbers, 0.0)
    end = in_time(batches).solve(alpha=[7], initial=start, until=events[0])
    assert end.alpha[-1] == pytest.approx(error.time, rel=1e-12)
