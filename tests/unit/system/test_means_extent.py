"""How far the error of means by quadrature is known along runs of systems."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy import integrate, stats

import symderiv as sd
from symderiv.foundation.errors import NotYetError, RunWarning
from symderiv.system import means_extent, point_run
from symderiv.system.means_extent import RunOfMeans

pytestmark = pytest.mark.turns(4)


def _logistic(activation: str = "erf") -> sd.System:
    """Two clusters, told apart by one unit with a trained output weight."""
    P = sd.System()
    label, U = P.latents("label", "rademacher"), P.vectors("U", fixed=True)
    x, g = P.inputs("x") + label * U, sd.activation(activation)
    w, a = P.vectors("w"), P.scalars("a")
    P.descend(sp.log(1 + sp.exp(-label * a * g(w @ x))), {w: 1.0, a: 1.0})
    return P


START = {"U.U": 1.0, "U.w": 0.3, "w.w": 0.5, "a": 0.4}


def _followed(P: sd.System, alpha: list[float]) -> tuple[Any, RunOfMeans]:
    run = P.solve(alpha=alpha, initial=START)
    layout = P.solver.layout
    names = {name: run[name] for name in layout.shown(START)}
    rows = [layout.packed({n: v[t] for n, v in names.items()}, {}) for t in range(run.alpha.size)]
    states, constants = (np.array([row[n] for row in rows]) for n in (0, 1))
    return run, RunOfMeans(P.solver, run.alpha, states, constants)


def test_a_run_tells_how_large_its_fields_and_scalars_became() -> None:
    """erf is a sign with noise of its own, so that its argument is the field over the root of 2."""
    run, means = _followed(_logistic("tanh"), [0.0, 2.0, 40.0])
    assert means.extents["variance"] == pytest.approx(run["w.w"])
    assert means.extents["mean"] == pytest.approx(np.abs(run["U.w"]))
    assert means.extents["scalar"] == pytest.approx(np.abs(run["a"]))
    assert list(means.outside) == [2]
    assert run.attributes["means_error"] == f"{means.error:.2g}"


def test_a_rule_that_is_too_coarse_for_a_run_is_noticed() -> None:
    P = _logistic("tanh")
    _, means = _followed(P, [0.0, 40.0])
    assert means.changed < 1e-9
    joints = P.solver.closed.means.joints
    before = P.rates({**START, "a": 3.0, "w.w": 4.0})["a"]
    rules = dict(joints.rules)
    joints.rules = dict.fromkeys(rules, (2.5, 9.0))
    closed = replace(P.solver.closed)  # whose program is not written yet
    coarse = replace(means, solver=type(P.solver)(closed))
    joints.rules = dict.fromkeys(rules, (1.2, 9.0))
    assert coarse.changed > 1e-6
    assert any("rates may be off by" in line for line in coarse.warnings(1e-9))
    joints.rules = rules
    assert before == pytest.approx(P.rates({**START, "a": 3.0, "w.w": 4.0})["a"])


def test_an_error_above_the_tolerance_is_said_and_kept(tmp_path) -> None:  # type: ignore[no-untyped-def]
    P = _logistic("tanh")
    with pytest.warns(RunWarning, match="means in the equations .* above relative_tolerance"):
        run = P.solve(alpha=[1.0], initial=START, relative_tolerance=1e-13)
    assert "warning: means" in run.to_text()
    run.save(tmp_path / "run.nc")
    again = sd.open(tmp_path / "run.nc")
    assert (again.warnings, again.attributes) == (run.warnings, run.attributes)


def test_products_of_functions_with_jumps_are_right_or_refused_beyond_their_range() -> None:
    """The rate is that of two nested integrals: over the teacher's field, then the student's.

    A rule with more points than fit must not give zero.
    """
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    P.update({w: sp.tanh(w @ x) * sp.sign(B @ x - 1) * x})

    def mean(function: Callable[[float], float], first: float = -9.0, last: float = 9.0) -> float:
        found = integrate.quad(lambda z: function(z) * stats.norm.pdf(z), first, last, epsabs=1e-13)
        return float(found[0])

    def of_teacher(b: float, root: float) -> float:
        return b * mean(lambda z: float(np.tanh(b + root * z)))

    for variance in (6.0, 200.0):
        of_field = partial(of_teacher, root=np.sqrt(variance - 1))
        exact = mean(of_field, 1) - mean(of_field, last=1)
        rate = P.rates({"w.w": variance, "w.B": 1.0, "B.B": 1.0})["w.B"]
        assert rate == pytest.approx(exact, abs=1e-10)
    with pytest.raises(NotYetError, match=r"too many points, .* variance 2e.04, mean 1"):
        P.rates({"w.w": 2e4, "w.B": 1.0, "B.B": 1.0})


def test_a_mean_that_would_take_minutes_is_refused() -> None:
    P, sharp = _logistic("tanh"), {**START, "w.w": 1e10, "a": 1e3}
    for asked in (P.rates, lambda state: P.solve(end=1, initial=state)):
        with pytest.raises(NotYetError, match=r"too sharp there: .* variance 1e.10, .* scalar 1e"):
            asked(sharp)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(P.rates(START)["a"])


def test_a_run_whose_rates_take_long_says_so_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point_run, "LONG", 0.0)
    with pytest.warns(RunWarning, match="seconds at the start, and a run needs hundreds"):
        _logistic("tanh").solve(end=0.1, points=2, initial=START)


def test_rates_that_take_long_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(means_extent, "LONG", 0.0)
    P, large = _logistic("tanh"), {**START, "w.w": 4.0, "a": 3.0}
    for asked in (P.rates, lambda state: P.solve(alpha=[0.0], initial=state)):
        with pytest.warns(RunWarning, match="comparing rates with those of a much finer rule"):
            found = asked(large)
    assert found.attributes["means_error"] == "not known"


def test_closed_means_have_no_error() -> None:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    P.descend((sp.erf(w @ x) - sp.erf(B @ x)) ** 2, {w: 0.1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = P.solve(end=1, points=2, initial={"w.w": 9.0, "w.B": 0.1, "B.B": 9.0})
    assert run.attributes == {}
    assert run.warnings == ()
