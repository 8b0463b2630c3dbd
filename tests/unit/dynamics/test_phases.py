"""Runs in phases: tasks, schedules, batches and momentum, against runs in pieces by hand."""

import numpy as np
import pytest

import symderiv as sd
from symderiv.foundation.errors import FormulaError
from symderiv.foundation.packing import Packing
from symderiv.integrate.flows.combined import mixed
from symderiv.integrate.flows.components import inputs_of_tasks, with_eigenvalues
from symderiv.integrate.flows.courses import Law
from symderiv.problem.state import State
from symderiv.problem.timetable import timetable

# every form of a step is compiled once: a part of them a day
pytestmark = pytest.mark.turns(6)

BASE = {
    "students": 2,
    "teachers": 3,
    "student_weights": [0.8, -0.6],
    "teacher_weights": [1.0, 0.7, -0.5],
    "learning_rate": 0.6,
    "student_std": 0.5,
    "seed": 3,
    "inputs": sd.Isotropic(200),
    "train_second_layer": True,
}


def solved(alpha: list[float], **more: object) -> sd.Trajectory:
    return sd.Problem("linear", **{**BASE, **more}).solve(alpha=alpha, relative_tolerance=1e-10)


def test_two_tasks_are_two_runs_with_their_own_heads() -> None:
    tasks = [{"until": 2.0, "teachers": [0]}, {"teachers": [1, 2]}]
    run = solved([0.0, 1.0, 2.0, 3.0, 5.0], tasks=tasks)
    first = solved([0.0, 1.0, 2.0], teacher_weights=[1.0, 0.0, 0.0])
    assert np.allclose(run.Q[:3], first.Q, rtol=1e-9)
    assert np.allclose(run.v[:3], first.v, rtol=1e-9)
    final = first.final
    begin = {"Q": final.Q, "R": final.R, "T": final.T, "v": [0.8, -0.6]}
    second = sd.Problem("linear", **{**BASE, "teacher_weights": [0.0, 0.7, -0.5]}).solve(
        alpha=[1.0, 3.0], initial=begin, relative_tolerance=1e-10
    )
    assert np.allclose(run.Q[3:], second.Q, rtol=1e-8)
    heads, errors = run.further["heads"], run.further["task_error"]
    assert np.allclose(heads[3:, 1], second.v, rtol=1e-8)
    assert np.allclose(heads[2:, 0], first.v[-1], rtol=1e-9)  # idle heads keep their values
    assert errors.shape == (5, 2)
    assert np.allclose(run.generalization_error, [*errors[:3, 0], *errors[3:, 1]])
    assert errors[-1, 0] > errors[2, 0]  # forgotten


def test_times_are_cut_where_something_jumps() -> None:
    problem = sd.Problem(
        "linear",
        **BASE,
        schedule={"power": 0.5, "after": 1.5},
        tasks=[
            {"until": 0.0, "teachers": [0], "head": "shared"},
            {"until": 3.0, "teachers": [1], "head": "shared"},
            {"mixture": {"0": 0.25, "1": 0.75}},
        ],
        time={"end": 4.0},
    )
    found = timetable(problem._study)
    assert [(phase.begin, phase.end) for phase in found] == [(0.0, 1.5), (1.5, 3.0), (3.0, 4.0)]
    assert [phase.shares for phase in found] == [((1, 1.0),)] * 2 + [((0, 0.25), (1, 0.75))]
    assert [phase.rate for phase in found] == [1.0, *["(alpha/1.5)**(-(0.5))"] * 2]


def test_a_power_that_formulas_do_not_have_is_refused_where_it_is_stated() -> None:
    """Once only a run refused it, without the name of the key."""
    for power in (1 / 3, 700.0):
        with pytest.raises(FormulaError, match=r"^schedule: the exponent of"):
            sd.Problem("linear", **BASE, schedule={"power": power, "after": 0.5})


def test_inputs_of_a_task_are_those_of_vectors_that_stay() -> None:
    """State and constants in a task with other eigenvalues, against overlaps of the vectors."""
    random, own = np.random.default_rng(3), [0.4, 1.8, 0.7, 1.1]
    tasks = [{"until": 0.5, "teachers": [0, 1], "data": {"model": "spectrum", "eigenvalues": own}}]
    problem = sd.Problem(
        "erf", students=2, teachers=2, learning_rate=0.5, inputs=sd.PowerLaw(4, exponent=0.5),
        tasks=[*tasks, {"teachers": [0, 1], "head": 0}],
    )  # fmt: skip
    rho, new = problem._study.data_model.single().eigenvalue, np.array(own)
    J, B = random.standard_normal((2, 4, 9)), random.standard_normal((2, 4, 9))

    def packed(eigenvalue: np.ndarray) -> dict[str, np.ndarray]:
        return {
            "Q_k": np.einsum("ika,jka->kij", J, J) / 9,
            "r_k": np.einsum("ika,k,nka->kin", J, eigenvalue, B) / 9,
            "t_k": np.einsum("nka,k,mka->knm", B, eigenvalue**2, B) / 9,
            "T": np.einsum("nka,k,mka->nm", B, eigenvalue, B) / 36,
        }

    before, after = packed(rho), packed(new)
    state = State(rho, np.full(4, 0.25), before["Q_k"], before["r_k"], before["t_k"],
                  before["T"], np.ones(2), np.ones(2))  # fmt: skip
    layout = {"state": {"cross_overlap": ["K", "M", "L"]}, "parameters": {
        "eigenvalue": ["L"], "teacher_overlap": ["M", "M", "L"], "T": ["M", "M"]}}  # fmt: skip
    packings = {name: Packing.of(layout, name, K=2, M=2, L=4) for name in layout}
    last = lambda array: np.moveaxis(array, 0, -1)  # noqa: E731
    flat = packings["state"].packed(cross_overlap=last(before["r_k"]))
    constants = packings["parameters"].packed(
        eigenvalue=rho, teacher_overlap=last(before["t_k"]), T=before["T"]
    )
    eigenvalue = inputs_of_tasks(problem._study, state)[0]
    law = with_eigenvalues(Law(constants), eigenvalue, rho, state.weight, [*packings.values()])
    np.testing.assert_allclose(law.into(flat), last(after["r_k"]).ravel())
    np.testing.assert_allclose(law.back(law.into(flat), flat), flat)
    found = packings["parameters"].views(law.constants)
    np.testing.assert_allclose(found["teacher_overlap"], last(after["t_k"]))
    np.testing.assert_allclose(found["T"], after["T"])


def test_mixed_tasks_add_their_changes() -> None:
    """With a right-hand side that is easily told apart: of v, of the teacher's weights and of Q."""

    def rhs(alpha, state, sizes, parameters, derivative):  # type: ignore[no-untyped-def]
        derivative[:2] = state[:2] * parameters[1]
        derivative[2:4] = state[2:4] + parameters[1]

    import numba

    found = mixed(numba.njit(rhs), 2, 3)
    first, second = [9.0, 2.0, 9.0], [9.0, 5.0, 9.0]
    places = [0, 1, 2, 3], [0, 1, 4, 5]
    # the second kind sees twice the numbers, and its rates are halved again
    kinds = [0.25, *places[0], 1, 1, 1, 1, *first], [0.75, *places[1], 2, 2, 2, 2, *second]
    parameters = np.array([9.0, 9.0, 9.0, 4, *kinds[0], *kinds[1]])
    state, change = np.array([1.0, 10.0, 3.0, 4.0, 6.0, 7.0]), np.empty(6)
    found(0.0, state, np.zeros(3, dtype=np.int64), parameters, change)
    share = 0.25 * 2.0 + 0.75 * 5.0
    assert np.allclose(change[:2], [share, 10.0 * share])
    assert np.allclose(change[2:4], 0.25 * (np.array([3.0, 4.0]) + 2.0))
    assert np.allclose(change[4:], 0.75 * (np.array([6.0, 7.0]) + 5.0 / 2))


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ([{"teachers": [0]}, {"teachers": [1]}], "until"),
        ([{"teachers": [3]}], "numbered from 0"),
        ([{"until": 1.0, "teachers": [0]}, {"mixture": {"0": 0.5}}], "sum to 1"),
        ([{"until": 1.0, "teachers": [0]}, {"mixture": {"7": 1.0}}], "not the number of a task"),
        ([{"until": 2.0, "teachers": [0]}, {"until": 1.0, "teachers": [1]}], "before"),
        ([{"until": 2.0}], "needs either teachers or a mixture"),
    ],
)
def test_tasks_that_mean_nothing_are_refused(tasks: list[dict[str, object]], words: str) -> None:
    with pytest.raises(sd.InputError, match=words):
        sd.Problem("linear", **BASE, tasks=tasks)


@pytest.mark.parametrize("key", ["weight_decay", "second_layer_weight_decay"])
def test_decays_vanish_in_steps_of_order_one_and_are_refused(key: str) -> None:
    with pytest.raises(sd.InputError, match=f"batch_ratio: .* training.{key}; remove one"):
        sd.Problem("linear", **BASE, batch_ratio=0.5, **{key: 0.1})
