"""Vectors that keep the variances of their fields: files, words, digits, exports and ensembles."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symderiv as sd

pytestmark = pytest.mark.turns(6)

RHO, WEIGHT = np.array([2.0, 0.5]), np.array([0.25, 0.75])


@pytest.fixture(scope="module")
def sphere() -> tuple[sd.System, dict[str, Any]]:
    P = sd.System()
    x = P.inputs("x", sd.Spectrum(list(RHO), weights=list(WEIGHT)))
    w, B, g = P.vectors("w", 2), P.vectors("B", fixed=True), sd.activation("erf")
    P.descend((g(w @ x).sum() - g(B @ x)) ** 2 / 2, {w: P.parameter("eta", 0.7)})
    P.constrain(w, "sphere", inputs=x)
    P.observe(error=(g(w @ x).sum() - g(B @ x)) ** 2 / 2)
    squares = np.array([[1.2, 0.3], [0.3, 0.8]])
    along = np.array([[0.2, 0.5], [-0.1, 0.4]])
    state = {"w.w": np.stack([squares, 1.5 * squares]), "w.B": along, "B.B": 1.0}
    return P, state


def _kept(squares: Any) -> np.ndarray:
    """Σ_k w_k ρ_k of the diagonals of (…, k, i, j)."""
    found: np.ndarray = np.einsum("k,...kii->...i", WEIGHT * RHO, squares)
    return found


def test_a_sphere_of_inputs_comes_back_from_a_file(sphere: Any, tmp_path: Path) -> None:
    P, state = sphere
    P.save(tmp_path / "sphere.json")
    again = sd.open(tmp_path / "sphere.json")
    (constraint,) = again.statement.constraints
    assert constraint.inputs == "x"
    one, other = P.rates(state), again.rates(state)
    np.testing.assert_array_equal(one["w.w"], other["w.w"])
    np.testing.assert_allclose(_kept(one["w.w"]), 0, atol=1e-14)


@pytest.mark.parametrize("method", ["vectors", "gram"])
def test_steps_keep_variances_of_fields_and_no_norms(sphere: Any, method: str) -> None:
    P, state = sphere
    run = P.simulate(400, runs=2, alpha=[0, 0.5, 1.5], initial=state, method=method)
    kept = _kept(run.mean["w.w"])
    np.testing.assert_allclose(kept, np.broadcast_to(_kept(state["w.w"]), kept.shape), rtol=1e-7)
    norms = np.einsum("k,akii->ai", WEIGHT, run.mean["w.w"])
    assert np.max(np.abs(norms[-1] / norms[0] - 1)) > 0.01


def test_what_is_kept_is_told_as_a_covariance(sphere: Any) -> None:
    P, _ = sphere
    text, latex = " ".join(P.equations.to_text().split()), P.equations.to_latex()
    assert "the variances of the fields of w1, w2 on x are what they were" in text
    assert r"C^{x}_{w_{1} w_{1}} = \mathrm{const}" in latex
    assert any("keep their initial variances" in each for each in P.conditions)
    assert "Rate at the state" in P.explain("w.w", sphere[1])


def test_digits_and_ensembles_keep_variances_of_fields(sphere: Any) -> None:
    P, state = sphere
    digits, doubles = P.precise_rates(state, 30), P.rates(state)
    np.testing.assert_allclose(np.array(digits["w.w"], float), doubles["w.w"], atol=1e-14)
    kept = sum(f * digits["w.w"][k, 0, 0] for k, f in enumerate([0.5, 0.375]))
    assert abs(kept) < 1e-28
    found = P.ensemble(alpha=[0.0, 1.0], initial=state, eta=[0.3, 0.9])
    for n, eta in enumerate((0.3, 0.9)):
        squares = found["w.w"].values[n]
        np.testing.assert_allclose(_kept(squares), _kept(squares[:1]).repeat(2, 0), rtol=1e-8)
        run = P.solve(alpha=[0.0, 1.0], initial=state, eta=eta)
        np.testing.assert_allclose(squares, run["w.w"], rtol=1e-7)


def test_a_sphere_of_inputs_is_exported(sphere: Any) -> None:
    P, state = sphere
    space: dict[str, Any] = {"__name__": "exported"}
    exec(compile(P.export("python"), "exported", "exec"), space)
    a, b = state["w.w"], state["w.B"]
    overlaps = (a[:, 0, 0], a[:, 0, 1], b[:, 0], a[:, 1, 1], b[:, 1], np.ones(2))
    rates = [np.array(each) for each in space["right_hand_side"](*overlaps, WEIGHT, RHO, 0.7)]
    wanted = P.rates(state)
    np.testing.assert_allclose(rates[0], wanted["w.w"][:, 0, 0], atol=1e-14)
    np.testing.assert_allclose(rates[1], wanted["w.w"][:, 0, 1], atol=1e-14)
    np.testing.assert_allclose(rates[4], wanted["w.B"][:, 1], atol=1e-14)
    assert np.max(np.abs(wanted["w.B"])) > 0.01
