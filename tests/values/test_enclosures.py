"""Proved runs against other equations, closed solutions, and planted errors."""

import json
import re
import shutil
from contextlib import nullcontext
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, ctx

import symderiv as sd
from benchmarks.certificates import accepted, exported
from benchmarks.codac_tube import enclosed_by_codac
from benchmarks.enclosures import PLANTED, PLANTED_IN_PROOFS, noticed_by, planted
from benchmarks.hand_written import HandWritten, Rule, solution
from symderiv.enclosures import proved_run
from symderiv.enclosures.check_enclosures import main as checked
from symderiv.foundation.errors import NotYetError, RunWarning, ToleranceError
from symderiv.precision.moments.moment_system import RuleParameters
from symderiv.precision.moments.moment_trajectory import moment_trajectory
from symderiv.problem.state import State

pytestmark = pytest.mark.turns(6)

ONE = {"Q": [[0.0625]], "R": [[0.125]], "T": [[1.25]]}


@pytest.fixture(autouse=True)
def precision_is_put_back():
    """Put back the precision that the checkers choose, which are programs of their own."""
    with ctx.workprec(ctx.prec):
        yield


def inside(run: sd.Trajectory, name: str, place: int, exact: Any, spare: float = 0.0) -> bool:
    """Whether a number with many digits is in its ball."""
    middle, radius = run.enclosure.middles[name][place], run.enclosure.radii[name][place]
    with mpmath.workdps(60):
        return bool(abs(mpmath.mpf(exact) - mpmath.mpf(middle)) <= radius + spare)


def two_eigenvalues() -> State:
    """Two students and three teachers on two eigenvalues, in numbers of few bits."""
    random = np.random.default_rng(5)
    eigenvalue, weight = np.array([2.0, 0.5]), np.array([0.25, 0.75])
    J = np.round(random.normal(0.0, 0.5, (2, 2, 6)) * 8.0) / 8.0
    B = np.round(random.normal(0.0, 0.5, (2, 3, 6)) * 8.0) / 8.0 + np.eye(3, 6)
    overlap = np.einsum("kna,kma->knm", B, B)
    rho = eigenvalue[:, None, None]
    return State(
        eigenvalue=eigenvalue,
        weight=weight,
        student_overlap=np.einsum("kia,kja->kij", J, J),
        cross_overlap=np.einsum("kia,kna->kin", J, B) * rho,
        teacher_overlap=overlap * rho**2,
        teacher_covariance=np.einsum("k,knm->nm", weight * eigenvalue, overlap),
        student_weights=np.array([1.0, 0.5]),
        teacher_weights=np.array([1.0, -0.75, 0.5]),
    )


@pytest.mark.parametrize("rates", [(0.5, 0.25, 0.0625, 0.25), (2.0, 0.0, 0.0, 0.0)])
def test_balls_contain_the_moment_form(rates: tuple[float, ...]) -> None:
    eta, eta_v, decay, noise = rates
    start = two_eigenvalues()
    problem = sd.Problem(
        "erf",
        students=2,
        teachers=3,
        student_weights=[1.0, 0.5],
        teacher_weights=[1.0, -0.75, 0.5],
        learning_rate=eta,
        train_second_layer=eta_v > 0.0,
        second_layer_learning_rate=eta_v or 0.5,
        weight_decay=decay,
        label_noise=noise,
        inputs=sd.Spectrum([2.0, 0.5], weights=[0.25, 0.75], dimension=400),
    )
    times = [0.0625, 0.125]
    run = problem.solve(alpha=times, initial=start, certify=True, radius=1e-22)
    assert run.enclosure.radius <= 1e-22
    assert run.enclosure.difference < 1e-8
    other = moment_trajectory(
        start, RuleParameters(eta, eta_v, decay, 0.0, noise), times, digits=28
    )
    for n in range(2):
        assert inside(run, "generalization_error", n, other.generalization_error[n], 1e-24)
        for i, j in np.ndindex(2, 3):
            assert inside(run, f"R[{i + 1},{j + 1}]", n, other.R[n, i, j], 1e-24)
            if j < 2:
                assert inside(run, f"Q[{i + 1},{j + 1}]", n, other.Q[n, i, j], 1e-24)


def test_balls_contain_the_solution_of_a_linear_unit() -> None:
    # x has Q, y has T: d(R, Q, 1) is linear, so that it is a matrix exponential
    eta, noise = 1.5, 0.25
    problem = sd.Problem(
        "linear", students=1, teachers=1, learning_rate=eta, label_noise=noise, student_weights=0.5
    )
    run = problem.solve(alpha=[1.0, 3.0], initial=ONE, certify=True, digits=25)
    with mpmath.workdps(50):
        e, v, T, s = map(mpmath.mpf, (eta, 0.5, 1.25, noise))
        matrix = mpmath.matrix(
            [
                [-e * v * v, 0, e * v * T],
                [
                    2 * e * v - 2 * e**2 * v**3,
                    -2 * e * v * v + e**2 * v**4,
                    e**2 * v**2 * (T + s**2),
                ],
                [0, 0, 0],
            ]
        )
        for n, time in enumerate((1, 3)):
            found = mpmath.expm(matrix * time) * mpmath.matrix([0.125, 0.0625, 1])
            assert inside(run, "R[1,1]", n, found[0], 1e-40)
            assert inside(run, "Q[1,1]", n, found[1], 1e-40)
            ball = run.enclosures["Q"][n, 0, 0]
            assert ball.contains(mpmath.nstr(found[1], 45))
            assert float(ball.rad) <= 1e-25
            assert not ball.contains(mpmath.nstr(found[1] + mpmath.mpf("1e-23"), 45))
            assert not ball.contains("1/3")
            assert float(ball) == pytest.approx(float(found[1]))
    with pytest.raises(sd.InputError, match="digits: is given together with radius"):
        problem.solve(alpha=[1.0], certify=True, digits=25, radius=1e-10)
    with pytest.raises(sd.InputError, match="digits: 2, a radius of"):
        problem.solve(alpha=[1.0], certify=True, digits=2)


def test_runs_that_end_at_an_event_and_train_output_weights_are_proved() -> None:
    problem = sd.Problem(
        "linear", students=1, teachers=1, student_weights=0.5, train_second_layer=True
    )
    end = sd.event("R[1,1]", above=0.5)
    run = problem.solve(end=20.0, points=3, initial=ONE, until=end, certify=True, digits=18)
    assert run.events["R[1,1]"]["verdict"] == "proved"
    assert run.alpha[-1] == pytest.approx(run.events[0].time, rel=1e-12)
    balls = run.enclosures
    assert balls["v"].shape == (len(run.alpha), 1)
    assert balls["R"].shape == (len(run.alpha), 1, 1)
    for n, value in enumerate(run.v[:, 0]):
        # a double beside the middle of the ball is rounded
        away = abs(float(balls["v"][n, 0]) - value)
        assert away <= run.enclosure.difference + np.spacing(value)
    assert abs(float(balls["R"][-1, 0, 0]) - 0.5) < 1e-12


def test_balls_contain_the_solution_of_a_relu_unit() -> None:
    def rates(_: Any, y: Any) -> list[Any]:
        Q, R = y
        rho = R / mpmath.sqrt(Q * T)
        both = mpmath.pi / 2 + mpmath.asin(rho)
        root = mpmath.sqrt(1 - rho**2)
        xy = mpmath.sqrt(Q * T) / (2 * mpmath.pi) * (root + rho * both)
        yy = T / (2 * mpmath.pi) * (both + rho * root)
        return [2 * eta * (xy - Q / 2) + eta**2 * (Q / 2 - 2 * xy + yy), eta * (yy - R / 2)]

    problem = sd.Problem("relu", students=1, teachers=1, learning_rate=0.75)
    run = problem.solve(alpha=[0.125], initial=ONE, certify=True, radius=1e-20)
    with mpmath.workdps(30):
        eta, T = mpmath.mpf(0.75), mpmath.mpf(1.25)
        exact = mpmath.odefun(rates, 0, [mpmath.mpf("0.0625"), mpmath.mpf("0.125")])(0.125)
        assert inside(run, "Q[1,1]", 0, exact[0], 1e-24)
        assert inside(run, "R[1,1]", 0, exact[1], 1e-24)


@pytest.fixture(scope="module")
def run() -> sd.Trajectory:
    """A unit with events; the exact numbers of the start are decimals, 1/10 among them."""
    problem = sd.Problem("erf", students=1, teachers=1, learning_rate=1.0)
    start = {"Q": [[0.1]], "R": [[0.02]], "T": [[1.0]]}
    events = ["generalization_error < 5e-2", "R[1,1] > 2", "Q[1,1] > R[1,1]/10"]
    return problem.solve(
        alpha=[0.5, 1.5, 3.0], initial=start, certify=True, radius=1e-15, events=events
    )


def test_steps_of_relu_students_that_hardly_differ_are_shortened_and_proved() -> None:
    """Boxes of longer steps hold covariances at which a root in a denominator vanishes."""
    problem = sd.Problem("relu", students=2, teachers=1, learning_rate=0.2)
    run = problem.solve(alpha=[0.125], certify=True, radius=1e-9)
    assert run.enclosure.radius < 1e-9
    assert run.enclosure.difference < 2e-9


def test_a_proof_that_ends_early_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    right, made = proved_run.stepped, []

    def stepped(*given: Any) -> Any:
        made.append(right(*given))
        if len(made) > 3:
            raise ToleranceError("steps became too short to be proved")
        return made[-1]

    monkeypatch.setattr(proved_run, "stepped", stepped)
    problem = sd.Problem("erf", students=1, teachers=1, learning_rate=1.0)
    with pytest.raises(ToleranceError, match=r"^proved up to alpha = 0\.\d+ only, because steps"):
        problem.solve(alpha=[3.0], initial=ONE, certify=True)


def test_a_run_whose_balls_are_wider_than_its_tolerance_says_so() -> None:
    problem = sd.Problem("erf", students=1, teachers=1, learning_rate=1.0)
    asked = {"alpha": [0.5], "initial": ONE, "certify": True}
    with pytest.warns(RunWarning, match="the error is proved to be at most"):
        wide = problem.solve(**asked, radius=1e-5, relative_tolerance=1e-11)
    assert not wide.succeeded
    assert "the balls have radii up to" in wide.failure()
    fine = problem.solve(**asked, relative_tolerance=1e-11)
    assert fine.succeeded
    assert fine.warnings == ()


def test_events_are_enclosed(run: sd.Trajectory) -> None:
    crossed, never, before = run.enclosure.events
    assert crossed["verdict"] == "proved"
    begin, end = float(crossed["begin"]), float(crossed["end"])
    assert end - begin < 1e-12
    assert abs(run.events[0]["alpha"] - begin) < 1e-7
    assert [each["verdict"] for each in run.events] == ["proved", "never", "proved"]
    event = run.events["generalization_error < 5e-2"]
    assert event.time - event.error_bound <= begin <= end <= event.time + event.error_bound
    assert event.error_bound < 1e-12
    assert event.error_method == "bound"
    assert run.events[1].time == np.inf
    problem = sd.Problem("erf", students=1, teachers=1, learning_rate=1.0)
    # the error falls, so that at times a little before and after it is on both sides
    ends = problem.solve(
        alpha=[begin - 1e-9, end + 1e-9],
        initial={"Q": [[0.1]], "R": [[0.02]], "T": [[1.0]]},
        certify=True,
    ).enclosure
    error = "generalization_error"
    assert ends.lower(error)[0] > 0.05 > ends.upper(error)[1]
    assert never["verdict"] == "never"
    assert (before["verdict"], before["begin"], before["end"]) == ("proved", "0", "0")


def test_an_event_late_in_learning_is_enclosed() -> None:
    """The error is a small difference of order parameters, which boxes around each would lose."""
    start = {
        "Q": [[0.99656, 0.00178], [0.00178, 0.99621]],
        "R": [[0.99827, 0.00094], [0.00085, 0.9981]],
        "T": [[1, 0], [0, 1]],
    }
    problem = sd.Problem(
        "erf", students=2, teachers=2, learning_rate=0.5, student_weights=1, teacher_weights=1
    )
    event = "generalization_error < 1.8e-6"
    run = problem.solve(alpha=[0.75], initial=start, certify=True, radius=1e-14, events=[event])
    (found,) = run.enclosure.events
    assert found["verdict"] == "proved"
    begin, end = float(found["begin"]), float(found["end"])
    assert end - begin < 1e-7
    other = HandWritten(np.eye(2), np.ones(2), Rule(0.5))
    values = tuple(np.array(start[name], dtype=float) for name in ("Q", "R"))
    before, after = solution(other, (*values, np.ones(2)), [begin - 1e-7, end + 1e-7], digits=20)
    assert before[3] > 1.8e-6 > after[3]


def test_balls_contain_equations_typed_from_a_paper() -> None:
    """Two students, one teacher, T ≠ 1, both layers, noise and decay; 60 digits."""
    rule = Rule(eta=2.0, eta_v=0.25, decay=0.0625, noise=0.25)
    start = {"Q": [[0.5, 0.125], [0.125, 0.75]], "R": [[0.25], [-0.125]], "T": [[1.5]]}
    problem = sd.Problem(
        "erf",
        students=2,
        teachers=1,
        learning_rate=rule.eta,
        label_noise=rule.noise,
        weight_decay=rule.decay,
        train_second_layer=True,
        second_layer_learning_rate=rule.eta_v,
        student_weights=[1.0, 0.5],
        teacher_weights=[1.25],
    )
    times = [0.125]
    run = problem.solve(alpha=times, initial=start, certify=True, radius=1e-20)
    other = HandWritten(np.array(start["T"]), np.array([1.25]), rule)
    begin = (np.array(start["Q"]), np.array(start["R"]), np.array([1.0, 0.5]))
    ((Q, R, _, error),) = solution(other, begin, times)
    ((Q2, R2, _, error2),) = solution(other, begin, times, shorter=0.7)
    for one, two in ((Q[0][1], Q2[0][1]), (R[1][0], R2[1][0]), (error, error2)):
        assert abs(one - two) < 1e-59
    assert inside(run, "Q[1,2]", 0, mpmath_of(Q[0][1]))
    assert inside(run, "R[2,1]", 0, mpmath_of(R[1][0]))
    assert inside(run, "generalization_error", 0, mpmath_of(error))


def mpmath_of(number: Any) -> Any:
    """A number of python-flint in mpmath, which it is the same as."""
    mantissa, exponent = number.mid().man_exp()
    with mpmath.workdps(75):
        return mpmath.mpf(int(mantissa)) * mpmath.mpf(2) ** int(exponent)


def test_what_a_run_tends_to_is_proved(run: sd.Trajectory) -> None:
    assert run.enclosure.limit is None
    problem = sd.Problem("erf", students=1, teachers=1, learning_rate=1.0)
    start = {"Q": [[0.998046875]], "R": [[0.998046875]], "T": [[1.0]]}
    near = problem.solve(alpha=[0.25], initial=start, certify=True)
    limit = near.enclosure.limit
    for name, exact in (("Q[1,1]", 1), ("R[1,1]", 1), ("generalization_error", 0)):
        assert limit["radii"][name] < 1e-20
        assert abs(mpmath.mpf(limit["middles"][name]) - exact) <= limit["radii"][name] + 1e-50
    # the Jacobian at Q = R = T, whose slowest mode bounds the rate
    matrix = np.array(
        [[-0.186303753599856, 0.127572442567804], [0.183776298473931, -0.490070129426315]]
    )
    slowest = -np.max(np.linalg.eigvals(matrix).real)
    assert 0.0 < limit["rate"] < slowest
    assert limit["rate"] > 0.3 * slowest
    # on the plateau of a student that is orthogonal to the teacher nothing is proved
    still = {"Q": [[0.25]], "R": [[0.0]], "T": [[1.0]]}
    assert problem.solve(alpha=[0.25], initial=still, certify=True).enclosure.limit is None


def test_a_plateau_that_a_run_does_not_show_is_undecided(run: sd.Trajectory) -> None:
    problem = sd.Problem("erf", students=1, teachers=1, learning_rate=1.0)
    alone = problem.solve(alpha=[0.5], initial=ONE, events=["plateau-end"], certify=True)
    assert alone.events["plateau-end"]["verdict"] == "undecided"
    assert "no such end of a plateau up to alpha = 0.5" in alone.events["plateau-end"]["reason"]
    assert "undecided: the run in doubles has no" in alone.enclosure.to_text()
    assert "undecided" in repr(alone)
    assert "never" not in repr(alone)
    assert alone.enclosure.departure is None
    assert run.enclosure.departure is None


def test_a_level_that_is_only_touched_is_undecided_and_said_where() -> None:
    """At the fixed point R is 1 at all times: balls around 1 are not known to be below it."""
    problem = sd.Problem("erf", students=1, teachers=1, learning_rate=1.0)
    still = {"Q": [[1.0]], "R": [[1.0]], "T": [[1.0]]}
    run = problem.solve(alpha=[0.5], initial=still, events=["R[1,1] > 1"], certify=True)
    (event,) = run.events
    assert event["verdict"] == "undecided"
    assert "leave open whether it holds between alpha = 0 and" in event["reason"]


def test_the_stated_error_of_a_proved_run_is_a_bound(run: sd.Trajectory) -> None:
    assert run.tolerance_method.startswith("bound")
    scale = np.sqrt(run.Q[:, 0, 0])
    balls = run.enclosures
    for n in range(len(run.alpha)):
        away = abs(float(balls["R"][n, 0, 0]) - run.R[n, 0, 0])
        assert away <= run.tolerance_reached * scale[n] + np.spacing(1.0)
    least = min(float(np.min(run.Q)), float(np.min(scale)))
    assert 0.0 < run.tolerance_reached <= run.enclosure.difference / least * (1 + 1e-12)


def test_a_record_is_checked_by_another_program(run: sd.Trajectory, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    run.enclosure.save(path)
    assert checked([str(path)]) == 0
    assert json.loads(path.read_text())["start"] == ["1/10", "1/50"]


def test_planted_errors_are_noticed(run: sd.Trajectory) -> None:
    assert planted(run.enclosure.certificate(), PLANTED, checked) == dict.fromkeys(PLANTED, True)


@pytest.mark.parametrize(
    ("plant", "by"),
    [
        (nullcontext, set()),
        (PLANTED_IN_PROOFS["a thousandth of the remainders"], {"checker", "typed equations"}),
        (PLANTED_IN_PROOFS["steps doubled"], {"checker", "Codac", "typed equations"}),
        # the checker proves what the record says, and cannot know the equations
        (PLANTED_IN_PROOFS["a sign of the rates changed"], {"Codac", "typed equations"}),
    ],
)
def test_errors_planted_in_proofs_are_noticed_by_a_witness(plant: Any, by: set[str]) -> None:
    found = noticed_by(plant)
    assert {who for who, noticed in found.items() if noticed} | {"Codac"} == by | {"Codac"}
    assert found["Codac"] in (None, "Codac" in by)


@pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is not installed")
def test_coq_proves_exported_bounds() -> None:
    assert accepted(exported("linear"))


def test_bounds_for_coq_hold_what_other_equations_give() -> None:
    """Theorems of the rates at the start, against equations typed from a paper."""
    problem = sd.Problem(
        "erf", students=2, teachers=1, learning_rate=2.0, label_noise=0.25, student_std=1.0
    )
    problem = problem.replace(inputs=sd.Isotropic(20), seed=1, student_weights=1, teacher_weights=1)
    source = problem.export("coq").to_source()
    state = problem.solve(end=0.1, points=2).initial
    other = HandWritten(state.T, np.ones(1), Rule(2.0, noise=0.25))
    numbers = [[[arb(float(x)) for x in row] for row in array] for array in (state.Q, state.R)]
    dQ, dR, _ = other.rates(*numbers, [arb(1), arb(1)])
    for name, exact in (("student_overlap_1_1_2", dQ[0][1]), ("cross_overlap_1_2_1", dR[1][0])):
        claim = re.search(rf"Theorem rate_of_{name} : (.*) <= \w+ <= (.*)\.\n", source)
        assert claim is not None
        low, high = (Fraction(re.sub(r"[() ]", "", each)) for each in claim.groups())
        assert high - low < Fraction(1, 10**20)
        assert abs(float(exact) - float(low)) < 1e-14


def test_intervals_of_another_library_contain_the_balls() -> None:
    if find_spec("codac") is None:
        pytest.skip("Codac is not installed")
    problem = sd.Problem("erf", students=1, teachers=1, learning_rate=0.5)
    run = problem.solve(alpha=[0.5], initial=ONE, certify=True)
    intervals = enclosed_by_codac((0.0625, 0.125), 0.5, 1.25, 0.5)
    for name, (low, high) in zip(("Q[1,1]", "R[1,1]"), intervals, strict=True):
        assert low <= run.enclosure.lower(name)[0] < run.enclosure.upper(name)[0] <= high
        assert high - low < 5e-5


def test_the_checker_refuses_what_is_no_record(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"format": "something else"}')
    assert checked([str(path)]) == 2
    assert checked([str(tmp_path / "missing.json")]) == 2
    assert "no record" in capsys.readouterr().out


def test_bounds_are_on_both_sides(run: sd.Trajectory) -> None:
    lower, upper = run.enclosure.lower("R[1,1]"), run.enclosure.upper("R[1,1]")
    assert np.all(lower < upper)
    assert np.all((lower <= run.R[:, 0, 0] + 1e-8) & (run.R[:, 0, 0] - 1e-8 <= upper))
    with pytest.raises(sd.InputError, match="is not enclosed; there are"):
        run.enclosure.lower("S[1,1]")


@pytest.mark.parametrize(
    ("activation", "radius", "words"),
    [
        ("tanh", 1e-12, "has no enclosure"),
        ("gelu", 1e-12, "has no enclosure"),
        ("softplus", 1e-12, "^certify: has no enclosure: a mean has no closed form; take"),
        ("erf", 0.5, "is not between"),
    ],
)
def test_what_cannot_be_proved_is_refused_before_it_is_solved(
    monkeypatch: pytest.MonkeyPatch, activation: str, radius: float, words: str
) -> None:
    monkeypatch.setattr("symderiv.api.results.runs.solved.solve", None)
    problem = sd.Problem(activation, students=1, teachers=1, learning_rate=1.0)
    with pytest.raises((sd.InputError, NotYetError), match=words):
        problem.solve(alpha=[0.1], initial=ONE, certify=True, radius=radius)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"student_biases": [0.25]}, r"^certify: has no enclosure: .* without biases$"),
        ({"batch_ratio": 0.5}, r"^batch_ratio: .* without certify$"),
        ({"learning_rate": 5.0}, r"^alpha: has no time after 0 to be proved: stopped at alpha"),
    ],
)
def test_a_refusal_names_what_stands_in_the_way(asked: dict[str, Any], words: str) -> None:
    activation = "linear" if "learning_rate" in asked else "erf"
    keys = {"students": 1, "teachers": 1, "learning_rate": 1.0, **asked}
    asked = {"initial": ONE, "certify": True, "progress": False}
    with pytest.raises(sd.SymderivError, match=words):
        sd.Problem(activation, **keys).solve(alpha=[200], **asked)
