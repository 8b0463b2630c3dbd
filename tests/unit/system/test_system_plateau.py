"""Plateaus of systems: those of problems, and what grows there in solve."""

from typing import Any

import numpy as np
import pytest

import symderiv as sd
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.system.system_flow import SystemFlow

# SGD, compilation and quadrature: a part of them a day
pytestmark = pytest.mark.turns(16)


def subspace_rule() -> tuple[sd.System, dict[str, Any]]:
    """Two neurons that learn the directions of two hidden signs."""
    P = sd.System()
    c, U = P.latents("c", "rademacher", 2), P.vectors("U", 2, fixed=True)
    x, w = P.inputs("a") + 2 * (c @ U), P.vectors("w", 2)
    s, tau = w @ x, P.parameter("tau", 0.05)
    decay = [s[0] ** 2 * w[0] + s[0] * s[1] * w[1], s[1] ** 2 * w[1] + s[0] * s[1] * w[0]]
    P.update({w[i]: tau * (s[i] * x - decay[i]) for i in range(2)})
    P.observe(size=s[0] ** 2)
    return P, {"U.U": np.eye(2), "U.w": 0.3 * np.ones((2, 2)), "w.w": 0.4 * np.eye(2)}


@pytest.mark.parametrize(("M", "order"), [(2, "full"), (2, "small-learning-rate")])
def test_the_plateau_of_a_problem_is_that_of_its_statement(M: int, order: str) -> None:
    problem = sd.Problem("erf", students=M, teachers=M, learning_rate=0.4, order=order)
    start = {"J.J": 0.02 * np.eye(M) + 0.001, "J.B": np.full((M, M), 0.001), "B.B": np.eye(M)}
    found = problem.system.plateau(start)
    proved = problem.plateau(full=order == "full").to_dict()
    expected = proved["full_flow"] if order == "full" else proved
    assert found["J.J"][0, 0] == pytest.approx(expected["Q"], rel=1e-10)
    assert found["J.J"][0, 1] == pytest.approx(expected.get("C", expected["Q"]), rel=1e-10)
    assert found["J.B"][0, 1] == pytest.approx(expected["R"], rel=1e-10)
    height = expected["generalization_error"]
    assert found.observables["error"] == pytest.approx(height, rel=1e-10)
    rate = expected["unstable_eigenvalue"]
    assert found.unstable_eigenvalue == pytest.approx(rate, rel=1e-10)
    assert found.escape_time == pytest.approx(1 / rate, rel=1e-10)
    assert found.direction == "J and B"
    assert sum(each.size for each in found.eigenvalues.values()) == 7
    assert found.eigenvalue_error < 1e-9


def test_what_the_jacobian_says_grows_in_a_run() -> None:
    P, start = subspace_rule()
    found = P.plateau(start)
    assert found.direction == "U and w"
    apart = 1e-6 * np.array([[1, -1], [-1, 1]])
    begin = {**found.state, "U.w": found["U.w"] + apart}
    run = P.solve(alpha=[0, 20, 30], initial=begin, relative_tolerance=1e-12)
    grown = run["U.w"][:, 0, 0] - run["U.w"][:, 0, 1]
    assert np.log(grown[2] / grown[1]) / 10 == pytest.approx(found.unstable_eigenvalue, rel=1e-5)
    rates = P.rates(found.state)
    assert max(np.max(np.abs(rates[name])) for name in ("U.w", "w.w")) < 1e-12
    # by hand: U.w = a, w.w = b on the diagonal, tau the rate
    assert found.observables["size"] == pytest.approx(
        found["w.w"][0, 0] + 8 * found["U.w"][0, 0] ** 2, rel=1e-12
    )


def test_what_may_be_exchanged_is_found() -> None:
    P, start = subspace_rule()
    flow = SystemFlow.of(P.solver, start, {})
    assert [each.families for each in flow.exchanges] == [("U",), ("w",)]
    # directions of different lengths are not alike
    other = SystemFlow.of(P.solver, {**start, "U.U": np.diag([1.0, 2.0])}, {})
    assert [each.families for each in other.exchanges] == [("w",)]


def test_scalars_go_with_their_vectors() -> None:
    P = sd.System()
    x, w, v = P.inputs("x"), P.vectors("w", 2), P.scalars("v", 2)
    B = P.vectors("B", fixed=True)
    P.descend(((v * (w @ x)).sum() - B @ x) ** 2 / 2, {w: 0.1, v: 0.1})
    start = {"w.w": np.eye(2), "w.B": [0.1, 0.1], "B.B": 1, "v": [1, 1]}
    flow = SystemFlow.of(P.solver, start, {})
    assert [each.families for each in flow.exchanges] == [("w", "v")]


def test_what_has_no_symmetric_state_is_refused() -> None:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w", 2), P.vectors("B", fixed=True)
    P.descend((w[0] @ x + 2 * (w[1] @ x) - B @ x) ** 2 / 2, {w: 0.1})
    start = {"w.w": np.eye(2), "w.B": [0.1, 0.1], "B.B": 1}
    with pytest.raises(InputError, match="no permutation of vectors leaves the equations"):
        P.plateau(start)
    Q = sd.System()
    y, u = Q.inputs("x"), Q.vectors("u", 2)
    Q.update({u: Q.alpha * (u @ y) * y})
    with pytest.raises(NotYetError, match="depend on time"):
        Q.plateau({"u.u": np.eye(2)})
