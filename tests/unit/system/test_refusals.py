"""What does not close is refused by the average that does not close, with the line it came from."""

from collections.abc import Callable

import numpy as np
import pytest
import sympy as sp

import symderiv as sd
from symderiv.lowering.means.joint_means import MOST_NONLINEAR


def _plain() -> tuple[sd.System, object, object, object]:
    P = sd.System()
    return P, P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)


def _coordinate_wise_adam() -> None:
    P, x, w, B = _plain()
    g = ((w @ x) - (B @ x)) * x
    P.update({w: -0.1 * g / sp.sqrt(g**2)})


def _sign_of_coordinates() -> None:
    P, x, w, B = _plain()
    P.update({w: -0.1 * sp.sign(((w @ x) - (B @ x)) * x)})


def _decay_of_absolute_values() -> None:
    P, _, w, _ = _plain()
    P.update({w: -0.1 * abs(w)})


def _example_used_twice() -> None:
    P, x, w, B = _plain()
    P.update({w: 0.1 * ((B @ x) - (w @ x)) * x.again()})


def _growing_number() -> None:
    P = sd.System()
    P.inputs("x")
    P.vectors("w", sp.Symbol("N"))


def _covariances_that_do_not_commute() -> None:
    random = np.random.default_rng(1)
    one, other = (np.cov(random.normal(size=(6, 20))) for _ in range(2))
    P = sd.System()
    x, y = P.inputs("x", model=sd.Covariance(one)), P.inputs("y", model=sd.Covariance(other))
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    P.update({w: 0.1 * (B @ x) * x + 0.1 * (B @ y) * y})
    P.rates({"w.w": 1, "w.B": 0.2, "B.B": 1})


def _gradient_of_a_jump() -> None:
    P, x, w, B = _plain()
    P.descend((sp.sign(w @ x) - B @ x) ** 2 / 2, {w: 0.1})


def _mean_that_does_not_exist() -> None:
    P, x, w, _ = _plain()
    P.descend(sp.exp((w @ x) ** 2), {w: 0.1})
    _ = P.solver


def _too_many_fields() -> None:
    P = sd.System()
    x = P.inputs("x")
    w = P.vectors("w", MOST_NONLINEAR + 1)
    z = w @ x
    P.descend(1 / (1 + sp.Add(*(sp.exp(each) for each in z))), {w: 0.1})
    _ = P.solver


def _order_of_n_in_a_loss() -> None:
    P = sd.System()
    x, w, b = P.inputs("x"), P.vectors("w"), P.scalars("b")
    P.descend(sd.norm2(x - b * x - sp.erf(w @ x) * w) / 2, {w: 0.1, b: 0.1})


REFUSED: dict[str, tuple[Callable[[], None], str, str]] = {
    "Adam by coordinates": (_coordinate_wise_adam, "coordinate", "update"),
    "sign of coordinates": (_sign_of_coordinates, "coordinate", "update"),
    "decay of absolute values": (_decay_of_absolute_values, "coordinate", "update"),
    "an example used twice": (_example_used_twice, "twice", "again"),
    "grows with N or is not known": (_growing_number, "grows with N", "vectors"),
    "covariances that do not commute": (_covariances_that_do_not_commute, "eigenspaces", "inputs"),
    "gradient of a jump": (_gradient_of_a_jump, "jumps", "descend"),
    "a mean that does not exist": (_mean_that_does_not_exist, "exist", "descend"),
    "too many joint fields": (_too_many_fields, "joint fields", "descend"),
    "order N in a loss": (_order_of_n_in_a_loss, "order N", "descend"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_close_is_refused_by_its_average(name: str) -> None:
    state, reason, line = REFUSED[name]
    with pytest.raises(sd.NotClosed) as refusal:
        state()
    error = refusal.value
    assert reason in str(error)
    assert line in error.statement
    assert error.average
    assert "\n" not in str(error)
    assert len(str(error)) < 900


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda P: P.solve(end=1), "initial: is missing; System.solve needs it: initial=…"),
        (lambda P: P.report("x.html", end=1), "initial: is missing; System.report needs it"),
        (lambda P: P.observe("e", 1), "System.observe takes no arguments without a name; write"),
        (lambda P: P.vectors("w", fix=True), "not an argument of System.vectors; did you mean fix"),
        (lambda _: sd.System(ordr="full"), "not an argument of System; did you mean order?"),
        (lambda P: P.inputs("x", 1, 2, 3, 4, 5, 6, 7), "System.inputs takes 6 arguments, not 8"),
    ],
)
def test_calls_with_wrong_arguments_are_answered_in_a_line(
    call: Callable[[sd.System], object], line: str
) -> None:
    with pytest.raises(sd.InputError) as refusal:
        call(sd.System())
    assert line in str(refusal.value)
