"""Averages that are read are those of the same question: everything they depend on is told."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symderiv as sd
from symderiv.foundation import derivation_cache
from symderiv.foundation.derivation_cache import derived_from_nothing
from symderiv.system import closed_motion

Stated = tuple[sd.System, dict[str, Any]]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = derivation_cache._place

    def place(function: Callable[..., object], *told: str) -> Path:
        found = shared(function, *told)
        own = function.__module__ == closed_motion.__name__
        return tmp_path / found.name if own else found

    monkeypatch.setattr(derivation_cache, "_place", place)


def committee(
    correlation: float = 0.0,
    spectrum: bool = False,
    p: str = "1/3",
    swapped: bool = False,
    jump: int = 2,
    order: str = "full",
) -> Stated:
    """Two tokens, a latent, a jump in time, a scalar and a parameter."""
    P = sd.System(order)
    model = sd.Spectrum([0.5, 1.5]) if spectrum else sd.Isotropic()
    x = P.inputs("x", length=2, model=model)
    y = P.inputs("y", length=2, correlation=[[1, correlation], [correlation, 1]], model=model)
    if swapped:
        B, w = P.vectors("B", fixed=True), P.vectors("w")
    else:
        w, B = P.vectors("w"), P.vectors("B", fixed=True)
    q, u = sp.Rational(p), P.scalars("u")
    eta, c = P.parameter("eta", 0.5), P.latents("c", {1: q, -2: 1 - q})
    factor = 1 + sp.Heaviside(P.alpha - jump)
    out = u * sp.erf(w @ x[0]) + w @ x[1]
    P.descend((out - c * sp.sign(B @ x[1]) - c) ** 2 / 2, {w: eta * factor, u: eta})
    P.observe(error=(out - c) ** 2, alike=(w @ y[0]) * (w @ y[1]))
    state = {"w.w": 0.8, ("B.w" if swapped else "w.B"): 0.3, "B.B": 1.2, "u": 0.4}
    rows = {name: [v, 1.1 * v] if spectrum and "." in name else v for name, v in state.items()}
    return P, rows


def by_quadrature(shift: str = "b") -> Stated:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    b = P.scalars("b") if shift == "b" else P.parameter("b", 0.2)
    loss = (sp.tanh(w @ x + b) - B @ x) ** 2 / 2
    P.descend(loss, {w: 0.5})
    P.observe(error=loss)
    state = {"w.w": 0.8, "w.B": 0.3, "B.B": 1.2}
    return P, {**state, **({"b": 0.2} if shift == "b" else {})}


def rates_of(stated: Callable[..., Stated], **changed: Any) -> dict[str, Any]:
    P, state = stated(**changed)
    found = P.rates(state, **({"alpha": 1.5} if stated is committee else {}))
    return {**found.rates, **found.observables}


def test_everything_that_averages_depend_on_is_told() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"correlation": 0.4},
        {"spectrum": True},
        {"p": "1/4"},
        {"swapped": True},
        {"jump": 1},
        {"order": "small-learning-rate"},
    ]
    kept = [rates_of(committee, **each) for each in changes]
    assert len({repr(each) for each in kept}) == len(changes)
    for each, found in zip(changes, kept, strict=True):
        with derived_from_nothing():
            assert_equal(rates_of(committee, **each), found)


@pytest.mark.parametrize("stated", [committee, by_quadrature])
def test_what_was_read_is_what_was_derived(
    stated: Callable[..., Stated], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = rates_of(stated)
    monkeypatch.setattr(closed_motion, "Averages", None)  # nothing is derived
    assert_equal(rates_of(stated), first)
    P, _ = stated()
    assert P.solver.closed.means.error == stated()[0].solver.closed.means.error


def test_a_scalar_and_a_parameter_of_one_name_are_not_confused() -> None:
    assert_equal(
        {k: v for k, v in rates_of(by_quadrature).items() if k != "b"},
        rates_of(by_quadrature, shift="parameter"),
    )


def assert_equal(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert np.array_equal(value, second[name]), name
