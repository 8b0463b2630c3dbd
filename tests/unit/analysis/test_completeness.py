"""Boxes that are proved to hold all fixed points: enclosures, made-up equations, and the flow."""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb
from scipy import optimize

import symderiv as sd
from symderiv.analysis.fixed_points.completeness import BoxedEquations, _holds, census
from symderiv.analysis.fixed_points.search import spaces_of
from symderiv.analysis.fixed_points.symmetric_states import SymmetricStates, contained
from symderiv.api.results.flows.stationary_flow import StationaryFlow
from symderiv.foundation.errors import InputError, NotYetError, SymderivError
from symderiv.precision.balls import box_search
from symderiv.precision.balls.forms import narrowed
from symderiv.precision.balls.krawczyk import gradients
from symderiv.precision.balls.operations import Recorder


def expressions(mp: Any, x: Any, y: Any) -> list[Any]:
    """Return numbers that need every operation, in a context."""
    return [
        mp.asin(x * y / 3) / (2 + y) + mp.pi * x,
        mp.exp(-x * x / 2) - mp.sqrt(y + 3) * (x - y) ** 2,
        1 / (x * y * y + 9) - 0.3,
    ]


@pytest.mark.turns(2)
def test_boxes_hold_values_and_derivatives_of_the_numbers_in_them() -> None:
    recorder, random = Recorder(), np.random.default_rng(4)
    recording = recorder.recording(expressions(recorder, recorder.input(), recorder.input()))
    constants, results = recording.compiled()
    given = constants()
    low = random.uniform(-1.0, 0.9, (10, 2))
    high = low + 10.0 ** random.uniform(-12, -0.5, (10, 2))
    # one with zero in it, where squares are least
    low[0], high[0] = -0.5, 0.5
    with mpmath.workdps(40):
        for n in range(10):
            box = [arb(a).union(arb(b)) for a, b in zip(low[n], high[n], strict=True)]
            values = results(box, given)
            slopes = gradients(lambda state: results(state, given), box)
            for share in random.uniform(0, 1, (2, 2)):
                x, y = (mpmath.mpf(b) for b in low[n] + share * (high[n] - low[n]))
                for k, value in enumerate(expressions(mpmath.mp, x, y)):
                    assert float(values[k].lower()) <= value <= float(values[k].upper())
                    for axis in range(2):
                        partial = (int(axis == 0), int(axis == 1))
                        slope = mpmath.diff(
                            lambda a, b, k=k: expressions(mpmath.mp, a, b)[k], (x, y), partial
                        )
                        bounds = slopes[k, axis]
                        assert float(bounds.lower()) <= slope <= float(bounds.upper())
            # and they are narrow in narrow boxes
            if np.max(high[n] - low[n]) < 1e-9:
                assert max(float(each.rad()) for each in [*values, *slopes.entries()]) < 1e-7


def test_a_box_with_one_root_is_as_large_as_that_is_true() -> None:
    """x² = y, y = 1/4: the other root has x = -1/2, and Krawczyk's operator sees to the middle."""
    recorder = Recorder()
    x, y = recorder.input(), recorder.input()
    roots = box_search._Roots(recorder.recording([x * x - y, y - Fraction(1, 4)]))
    low, high = roots.around(np.array([0.5, 0.25]))
    assert np.all(low > [0.0, -0.25])
    assert np.all(high - low > 0.1)
    # no box around a point that is far from roots, nor around a double root
    assert roots.around(np.array([0.7, 0.25])) is None
    double = box_search._Roots(recorder.recording([x * x - y, y]))
    assert double.around(np.array([0.0, 0.0])) is None


def test_no_box_loses_the_point_where_functions_vanish() -> None:
    # expressions of x and y less three further numbers, which are given the values at a point
    recorder, random = Recorder(), np.random.default_rng(5)
    x, y, *others = (recorder.input() for _ in range(5))
    found = expressions(recorder, x, y)
    recording = recorder.recording([f - z for f, z in zip(found, others, strict=True)])
    count = 600
    point = random.uniform(-1.2, 1.2, (count, 2))
    values = np.array([[float(f) for f in expressions(mpmath.mp, a, b)] for a, b in point])
    root = np.concatenate([point, values], axis=1)
    width = 10.0 ** random.uniform(-9, 0.2, (count, 1)) * random.uniform(0.1, 1, (count, 5))
    width[:, 2:] *= 1e-3
    # in corners errors are largest; values are known with an error
    low = root - width * random.choice([0.0, 1.0], (count, 5)) - 1e-13
    high = low + width + 2e-13
    below, above, left = narrowed(recording, low, high)
    assert np.all(left > 0)
    assert np.all((below <= root + 1e-13) & (root - 1e-13 <= above))
    assert np.all((below >= low) & (above <= high))
    # most are smaller than before, and without the value of a function nothing is left
    assert np.median(np.prod((above - below) / (high - low), axis=1)) < 0.1
    narrow = np.max(high - low, axis=1) < 1e-4
    low[:, 3], high[:, 3] = high[:, 3] + 0.02, high[:, 3] + 0.03
    assert np.all(narrowed(recording, low[narrow], high[narrow])[2] == -1.0)


def test_a_search_that_loses_a_known_point_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = exact_of(1, 1)
    equations = BoxedEquations.of(SymmetricStates(stated.flow, np.eye(2)), *stated.in_balls())

    def wrong(*given: Any) -> tuple[Any, Any, Any]:
        low, high, left = narrowed(*given)
        # all with P = 0 and R = 1 are thrown away
        return low, high, np.where((low[:, 1] <= 1.0) & (high[:, 1] >= 1.0), -1.0, left)

    monkeypatch.setattr(box_search, "narrowed", wrong)
    with pytest.raises(SymderivError, match="holds a known root"):
        census(equations, [np.array([0.0, 1.0])], 1.7)


def test_an_equation_that_compares_numbers_is_refused() -> None:
    recorder = Recorder()
    x = recorder.input()
    with pytest.raises(NotYetError, match="comparison"):
        max(x, 0)


def exact_of(students: int, teachers: int, **others: Any) -> StationaryFlow:
    given = {"learning_rate": 0.7, "teacher": "orthogonal", "draw": "mean", **others}
    problem = sd.Problem("erf", students=students, teachers=teachers, **given)
    return StationaryFlow.of(problem._study, others.pop("initial", None))


@pytest.mark.parametrize("decay", [0.0, 0.03])
def test_the_equations_are_the_rates_of_the_flow_in_other_coordinates(decay: float) -> None:
    stated = exact_of(2, 1, weight_decay=decay, label_noise=0.4)
    flow = stated.flow
    states = SymmetricStates(flow, spaces_of(flow)[-1])
    equations = BoxedEquations.of(states, *stated.in_balls())
    for state in flow.samples(3, seed=8):
        values = state[flow.place]
        numbers = states.numbers(values, equations.inverse)
        assert np.allclose(states.values(numbers, equations.inverse), values)
        constants, results = equations.recording.compiled()
        found = [float(each) for each in results([arb(x) for x in numbers], constants())]
        slope = flow.slope(values)
        P, R = (np.array(each) for each in states.filled(list(numbers), 0.0))
        dP, dR = (np.array(each) for each in states.filled(found, 0.0))
        change = slope[states.entries[0]], slope[states.entries[1]]
        # rates of R, and of Q = P + R T⁻¹ Rᵀ
        assert np.allclose(change[1], -dR, atol=1e-13)
        along = dR @ equations.inverse @ R.T
        assert np.allclose(change[0], -dP - along - along.T, atol=1e-13)
        assert np.allclose(P, (values[states.entries[0]] - R @ equations.inverse @ R.T))


def test_a_fixed_point_that_is_not_known_is_met() -> None:
    stated = exact_of(1, 1)
    flow = stated.flow
    states = SymmetricStates(flow, np.eye(2))
    equations = BoxedEquations.of(states, *stated.in_balls())
    found = census(equations, [], 1.7)
    assert found.complete
    (point,) = found.points
    # perfect learning: P = 0, R = 1
    assert np.all((point[:, 0] <= [0.0, 1.0]) & (point[:, 1] >= [0.0, 1.0]))
    assert not census(equations, [], 1.7, most=20).complete
    # a box without it has none
    assert census(equations, [], 0.9).points == []
    assert census(equations, [], 0.9).complete


def test_roots_on_a_circle_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    # x² + y² = 1 and y = x³ meet twice; the orbit and vectors do not cut this box
    recorder = Recorder()
    x, y = recorder.input(), recorder.input()
    recording = recorder.recording([x * x + y * y - 1, y - x * x * x])
    states = SymmetricStates(exact_of(1, 1).flow, np.eye(2))
    equations = BoxedEquations(states, recording, np.eye(1))
    monkeypatch.setattr(BoxedEquations, "cut", lambda *_: np.ones(len(_[1]), dtype=bool))
    found = census(equations, [], 2.0)
    assert found.complete
    root = 0.8260313576541870
    for sign in (1.0, -1.0):
        place = sign * np.array([root, root**3])
        assert any(np.all((p[:, 0] < place) & (place < p[:, 1])) for p in found.points)
    assert {np.sign(p.mean(axis=1)[0]) for p in found.points} == {1.0, -1.0}


def test_spaces_are_contained_up_to_symmetry() -> None:
    flow = exact_of(2, 2).flow
    by_size = {basis.shape[1]: basis for basis in spaces_of(flow)}
    assert contained(by_size[2], by_size[4], flow)
    assert not contained(by_size[4], by_size[2], flow)


@pytest.mark.parametrize(
    ("activation", "students", "teachers"),
    [("erf", 3, 3), ("erf", 3, 2), ("relu", 2, 2), ("linear", 2, 1)],
)
def test_one_image_of_every_state_is_in_the_part_that_is_searched(
    activation: str, students: int, teachers: int
) -> None:
    problem = sd.Problem(
        activation, students=students, teachers=teachers, teacher="orthogonal", draw="mean"
    )
    flow = StationaryFlow.of(problem._study, None).flow
    for basis in spaces_of(flow)[-4:]:
        states = SymmetricStates(flow, basis)
        first = states.firsts()
        for drawn in np.random.default_rng(6).standard_normal((20, states.size)):
            labels, own = states.classes
            values = np.where(labels < 0, 0.0, own * drawn[labels])
            images = [v for v in flow.images(values) if states.holds(v)]
            numbers = np.array([v[first] * own[first] for v in images])
            kept = [
                each
                for each in np.unique(np.round(numbers, 9), axis=0)
                if all(each[a] >= sign * each[o] for a, o, sign in states.orders)
            ]
            # numbers in general position have no symmetry, so that no second image is searched
            assert len(kept) == 1


@pytest.mark.parametrize(
    ("students", "teachers", "largest", "points"),
    [(3, 3, 0.1, []), (2, 3, 0.3, []), (3, 1, 0.05, [])],
)
def test_spaces_of_many_dimensions_are_searched_where_they_are_small(
    students: int, teachers: int, largest: float, points: list[int]
) -> None:
    problem = sd.Problem(
        "erf",
        students=students,
        teachers=teachers,
        learning_rate=0.5,
        teacher="orthogonal",
        draw="mean",
    )
    found = problem.fixed_points(complete=largest, unconnected=True, starts=1)
    (proved,) = found.proved_spaces
    assert (found.complete, proved["whole"], proved["points"]) == (True, True, points)
    K = students
    assert proved["dimension"] == K * (K + 1) // 2 + K * teachers


def test_parts_beside_a_root_are_divided_until_they_are_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """x (1 - 50000 x) has roots at 0 and 2e-5; around 0 it is proved to have one within 1e-5."""

    def undivided(functions: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
        ends = np.array([low * (1 - 5e4 * low), high * (1 - 5e4 * high)])[..., 0]
        top = np.where((low[:, 0] <= 1e-5) & (high[:, 0] >= 1e-5), 5e-6, np.max(ends, axis=0))
        return low, high, np.where((np.min(ends, axis=0) > 0) | (top < 0), -1.0, 1.0)

    monkeypatch.setattr(box_search, "narrowed", undivided)
    recorder = Recorder()
    x = recorder.input()
    found = box_search.roots_in_box(
        recorder.recording([x * (1 - 50000 * x)]),
        np.array([0.9]),
        [np.array([0.0])],
        lambda low, high: np.ones(len(low), dtype=bool),
        10_000,
        lambda share: None,
    )
    assert found.complete
    assert any(p[0, 0] < 2e-5 < p[0, 1] for p in found.points)


def test_a_search_that_would_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_search, "_PACE", 1_000)
    stated = exact_of(3, 3, learning_rate=0.5)
    states = SymmetricStates(stated.flow, np.eye(15))
    equations = BoxedEquations.of(states, *stated.in_balls())
    found = census(equations, [], 3.0, most=100_000)
    assert not found.complete
    assert found.boxes < 50_000


def test_one_student_has_one_fixed_point_in_the_whole_box() -> None:
    problem = sd.Problem(
        "erf", students=1, teachers=2, learning_rate=0.5, teacher="orthogonal", draw="mean"
    )
    found = problem.fixed_points(complete=3, unconnected=True, starts=2)
    assert found.complete
    assert found.warnings == []
    (proved,) = found.proved_spaces
    assert (proved["whole"], proved["left"], proved["points"]) == (True, 0, [1])
    # it has Q = 2.0086
    smaller = problem.fixed_points(complete=2, unconnected=True, starts=2)
    assert [each["points"] for each in smaller.proved_spaces] == [[]]
    assert smaller.complete
    assert "all states" in str(found._document())


@pytest.mark.turns(3)
def test_teachers_that_overlap_and_unequal_weights_leave_one_fixed_point_in_a_small_box() -> None:
    # T has lengths of its own and D != 0; nothing is exchanged, and labels are noisy
    problem = sd.Problem(
        "erf",
        students=2,
        teachers=2,
        learning_rate=0.7,
        label_noise=0.1,
        inputs=sd.Isotropic(30),
        seed=1,
        student_weights=[1.0, 0.7],
        teacher_weights=[0.8, 1.1],
    )
    found = problem.fixed_points(complete=0.8, unconnected=True, starts=1)
    (proved,) = found.proved_spaces
    assert (found.complete, proved["left"]) == (True, 0)
    searched = problem.fixed_points(unconnected=True, starts=60)
    inside = [each for each in searched.points if each["physical"] and np.max(each["Q"]) <= 0.8]
    assert [found.points[n - 1]["Q"] for n in proved["points"]] == [
        pytest.approx(np.array(each["Q"]), abs=1e-9) for each in inside
    ]
    assert len(inside) == 1


def test_all_states_of_two_students_of_one_teacher_have_three_fixed_points() -> None:
    stated = exact_of(2, 1, learning_rate=0.5)
    flow = stated.flow
    states = SymmetricStates(flow, spaces_of(flow)[-1])
    equations = BoxedEquations.of(states, *stated.in_balls())
    # none is known before
    found = census(equations, [], 1.1)
    assert states.size == 5
    assert found.complete
    boxes = [each for each in found.points if each[0, 1] > -1e-9]
    roots = _roots_from_many_starts(stated, 1.1)
    assert len(roots) == 3
    for box in boxes:
        assert any(_holds(box, equations, image) for r in roots for image in flow.images(r))
    for root in roots:
        images = flow.images(root)
        assert any(_holds(box, equations, image) for box in boxes for image in images)


def _roots_from_many_starts(stated: StationaryFlow, largest: float) -> list[Any]:
    """Return what SciPy's root finder reaches from 300 drawn states, one for all images."""
    flow = stated.flow
    roots: list[Any] = []
    for state in flow.samples(300, seed=11):
        reached = optimize.root(flow.slope, state[flow.place], jac=stated.jacobian, tol=1e-13)
        values = reached.x
        still = np.max(np.abs(flow.slope(values))) < 1e-11
        if not still or not flow.physical(values) or np.max(np.abs(values)) > largest:
            continue
        if not any(flow.same(values, each) for each in roots):
            roots.append(values)
    return roots


@pytest.mark.turns(3)
def test_all_states_of_two_students_and_two_teachers_have_three_fixed_points() -> None:
    problem = sd.Problem(
        "erf", students=2, teachers=2, learning_rate=0.5, teacher="orthogonal", draw="mean"
    )
    found = problem.fixed_points(complete=1.1, unconnected=True, starts=2)
    assert found.complete
    assert found.warnings == []
    (proved,) = found.proved_spaces
    # two more solve the equations, but have no vectors
    assert (proved["whole"], proved["dimension"], proved["left"]) == (True, 7, 0)
    assert proved["points"] == [1, 2, 3]
    assert not any(each["physical"] for each in found.points[3:])
    stated = exact_of(2, 2, learning_rate=0.5)
    roots = _roots_from_many_starts(stated, 1.1)
    errors = sorted(float(stated.error_at(each)) for each in roots)
    known = sorted(float(each["generalization_error"]) for each in found.points[:3])
    assert np.allclose(errors, known, atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"activation": "relu"}, "comparison"),
        ({"activation": "gelu"}, "^complete: has no enclosure: a mean has no closed form"),
        ({"train_second_layer": True}, "no order parameters but Q and R"),
        ({"momentum": 0.5}, "plain descent"),
    ],
)
def test_what_cannot_be_enclosed_is_refused(changes: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"activation": "erf", "learning_rate": 0.2, "draw": "mean"}
    problem = sd.Problem(students=1, teachers=1, **{**given, **changes})
    with pytest.raises(NotYetError, match=words) as caught:
        problem.fixed_points(complete=2.0, unconnected=True, starts=1)
    assert caught.value.argument == "complete"


def test_a_box_without_size_is_refused() -> None:
    problem = sd.Problem("erf", students=1, teachers=1, learning_rate=0.2)
    with pytest.raises(InputError, match="largest Q_ii"):
        problem.fixed_points(complete=0.0)
