"""Proved runs whose rates change in time, or are means over classes of inputs.

The exact values are closed solutions, equations typed by hand that are solved to 40 digits and more
by mpmath, or the typed equations of :mod:`benchmarks.hand_written`, one piece after the other.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from flint import arb, ctx

import symderiv as sd
from benchmarks.enclosures import PLANTED, planted, quadratic
from benchmarks.hand_written import HandWritten, Rule, solution
from symderiv.enclosures.check_departure import main as departure_checked
from symderiv.enclosures.check_enclosures import main as checked
from symderiv.foundation.errors import NotYetError
from symderiv.problem.state import State

pytestmark = pytest.mark.turns(4)

ONE = {"Q": [[0.0625]], "R": [[0.125]], "T": [[1.25]]}
DROPS = {"times": [0, 0.3, 0.75], "rates": [1, 0.3, 0.7]}


@pytest.fixture(autouse=True)
def many_digits():
    """Put back the precision that the checkers choose, which are programs of their own."""
    with ctx.workprec(ctx.prec), mpmath.workdps(60):
        yield


def away(run: sd.Trajectory, name: str, place: int, exact: Any) -> float:
    """How many radii a number with many digits is from the middle of its ball."""
    middle, radius = run.enclosure.middles[name][place], run.enclosure.radii[name][place]
    return float(abs(mpmath.mpf(exact) - mpmath.mpf(middle)) / radius)


def verified(proof: dict[str, Any], folder: Path) -> int:
    path = folder / "proof.json"
    path.write_text(json.dumps(proof))
    return checked([str(path)])


def mpmath_of(number: arb) -> Any:
    mantissa, exponent = number.mid().man_exp()
    with mpmath.workdps(80):
        return mpmath.mpf(int(mantissa)) * mpmath.mpf(2) ** int(exponent)


def linear_solution(rate: Any, end: Any) -> tuple[Any, Any]:
    """R and Q of a linear unit of :data:`ONE` after a time.

    With D = Q - 2R + T, dR = h (T - R) and dD = (h^2 - 2h) D for the learning rate h, of which
    ``rate`` returns the integrals of h and of h^2.
    """
    T, R, Q = mpmath.mpf("1.25"), mpmath.mpf("0.125"), mpmath.mpf("0.0625")
    first, second = rate(mpmath.mpf(end))
    moved = T + (R - T) * mpmath.exp(-first)
    return moved, (Q - 2 * R + T) * mpmath.exp(second - 2 * first) + 2 * moved - T


def dropping(end: Any) -> tuple[Any, Any]:
    """The integrals for a rate of 0.6 times :data:`DROPS`, whose jumps are at doubles."""
    cuts, first, second = [0.0, 0.3, 0.75, mpmath.inf], mpmath.mpf(0), mpmath.mpf(0)
    for rate, begin, until in zip(("1", "0.3", "0.7"), cuts, cuts[1:], strict=False):
        length = max(mpmath.mpf(0), min(end, mpmath.mpf(until)) - mpmath.mpf(begin))
        h = mpmath.mpf("0.6") * mpmath.mpf(rate)
        first, second = first + h * length, second + h**2 * length
    return first, second


def inverse_time(end: Any) -> tuple[Any, Any]:
    h = mpmath.mpf("0.6")
    return h * mpmath.log(1 + end), h**2 * (1 - 1 / (1 + end))


def decaying(end: Any) -> tuple[Any, Any]:
    h = mpmath.mpf("0.6")
    return 10 * h * (1 - mpmath.exp(-end / 10)), 5 * h**2 * (1 - mpmath.exp(-end / 5))


def powers(end: Any) -> tuple[Any, Any]:
    """Constant up to 0.5, then (alpha / 0.5)^-0.7."""
    h, after = mpmath.mpf("0.6"), mpmath.mpf("0.5")
    if end <= after:
        return h * end, h**2 * end
    one, two = mpmath.mpf("0.3"), mpmath.mpf("-0.4")
    return (
        h * after + h * after * ((end / after) ** one - 1) / one,
        h**2 * after + h**2 * after * ((end / after) ** two - 1) / two,
    )


def cosine(end: Any) -> tuple[Any, Any]:
    h, w = mpmath.mpf("0.6"), mpmath.pi / 4
    once, twice = mpmath.sin(w * end) / w, mpmath.sin(2 * w * end) / (4 * w)
    return h / 2 * (end + once), h**2 / 4 * (3 * end / 2 + 2 * once + twice)


def sine(end: Any) -> tuple[Any, Any]:
    """Of the rate h (1 + sin(alpha) / 2)."""
    h, once = mpmath.mpf("0.6"), 1 - mpmath.cos(mpmath.mpf(end))
    square = (end / 2 - mpmath.sin(2 * mpmath.mpf(end)) / 4) / 4
    return h * (end + once / 2), h**2 * (end + once + square)


def later_powers(end: Any) -> tuple[Any, Any]:
    """Constant up to 0.5, then (alpha + 0.5)^-0.7."""
    h, after = mpmath.mpf("0.6"), mpmath.mpf("0.5")
    if end <= after:
        return h * end, h**2 * end
    one, two = mpmath.mpf("0.3"), mpmath.mpf("-0.4")
    return (
        h * after + h * ((end + after) ** one - 1) / one,
        h**2 * after + h**2 * ((end + after) ** two - 1) / two,
    )


LINEAR: dict[str, tuple[Any, Callable[[Any], tuple[Any, Any]]]] = {
    "drops": (DROPS, dropping),
    "inverse": ("1/(1+alpha)", inverse_time),
    "exponential": ("exp(-alpha/10)", decaying),
    "cosine": ("(1+cos(pi*alpha/4))/2", cosine),
    "power": ({"power": 0.7, "after": 0.5}, powers),
}


@pytest.mark.parametrize("name", list(LINEAR))
def test_balls_contain_the_solution_of_a_linear_unit(name: str, tmp_path: Path) -> None:
    schedule, integrals = LINEAR[name]
    problem = sd.Problem("linear", students=1, teachers=1, learning_rate=0.6, schedule=schedule)
    times = [0.25, 0.3, 0.5, 1.0, 2.0]
    run = problem.solve(alpha=times, initial=ONE, certify=True, digits=25)
    assert run.enclosure.radius <= 1e-25
    assert run.enclosure.difference < 1e-8
    for place, time in enumerate(times):
        R, Q = linear_solution(integrals, time)
        assert away(run, "R[1,1]", place, R) <= 1.0
        assert away(run, "Q[1,1]", place, Q) <= 1.0
        assert away(run, "generalization_error", place, (Q - 2 * R + mpmath.mpf("1.25")) / 2) <= 1
    # a time, or a learning rate, that is another one in its last digits is noticed
    wrong, _ = linear_solution(integrals, mpmath.mpf(2.0) * (1 + mpmath.mpf(10) ** -22))
    assert away(run, "R[1,1]", 4, wrong) > 1.0
    proof = run.certificate()
    assert verified(proof, tmp_path) == 0
    assert proof["version"] == (2 if name in ("drops", "power") else 1)
    assert len(proof["names"]) == len(proof["start"])


def test_balls_contain_typed_equations_one_piece_after_the_other(tmp_path: Path) -> None:
    """Two students, one teacher, T ≠ 1, both layers, noise and decay; decays do not change."""
    start = {"Q": [[0.5, 0.125], [0.125, 0.75]], "R": [[0.25], [-0.125]], "T": [[1.5]]}
    jumps, rates = [0.0, 0.046875, 0.09375], ["1", "0.3", "0.7"]
    problem = sd.Problem(
        "erf",
        students=2,
        teachers=1,
        learning_rate=1.7,
        label_noise=0.25,
        weight_decay=0.0625,
        train_second_layer=True,
        second_layer_learning_rate=0.3,
        student_weights=[1.0, 0.5],
        teacher_weights=[1.25],
        schedule={"times": jumps, "rates": [float(each) for each in rates]},
    )
    run = problem.solve(alpha=[0.046875, 0.125], initial=start, certify=True, radius=1e-20)
    assert run.enclosure.difference < 1e-9

    def by_hand(factors: list[str]) -> list[Any]:
        with ctx.workdps(75):
            now: Any = (np.array(start["Q"]), np.array(start["R"]), np.array([1.0, 0.5]))
            found = []
            for begin, end, factor in zip(jumps, [*jumps[1:], 0.125], factors, strict=True):
                rule = Rule(arb("1.7") * arb(factor), arb("0.3") * arb(factor), 0.0625, 0.25)
                other = HandWritten(np.array(start["T"]), np.array([1.25]), rule)
                ((Q, R, v, error),) = solution(other, now, [end - begin])
                now = (np.array(Q, object), np.array(R, object), np.array(v, object))
                found.append((Q, R, v, error))
            return found

    first, _, last = by_hand(rates)
    for place, (Q, R, v, error) in ((0, first), (1, last)):
        for i, k in ((0, 0), (0, 1), (1, 1)):
            assert away(run, f"Q[{i + 1},{k + 1}]", place, mpmath_of(Q[i][k])) <= 1.0
        for i in range(2):
            assert away(run, f"R[{i + 1},1]", place, mpmath_of(R[i][0])) <= 1.0
            assert away(run, f"v[{i + 1}]", place, mpmath_of(v[i])) <= 1.0
        assert away(run, "generalization_error", place, mpmath_of(error)) <= 1.0
    wrong = by_hand(["1", "0.3000000000000000166", "0.7"])[-1]
    assert away(run, "R[1,1]", 1, mpmath_of(wrong[1][0][0])) > 1.0
    assert verified(run.certificate(), tmp_path) == 0


def erf_means(Q: Any, R: Any, T: Any) -> tuple[Any, Any, Any]:
    """E F x, E F y and E F^2 of F = (g(x) - g(y)) g'(x) with g = erf(x / sqrt 2), typed by hand."""
    half = mpmath.pi / 2
    root, cross = mpmath.sqrt(1 + 2 * Q), mpmath.sqrt((1 + Q) * (1 + T) - R**2)
    along = Q / (1 + Q) / root - R / (1 + Q) / cross
    toward = R / (1 + Q) / root - (T - R**2 / (1 + Q)) / cross
    three = 1 + 2 * Q
    xx, yy = Q / three, T - 2 * R**2 / three
    xy = R / three
    # with the weight g'(x)^2 fields have these covariances
    terms = (
        mpmath.asin(xx / (1 + xx))
        + mpmath.asin(yy / (1 + yy))
        - 2 * mpmath.asin(xy / mpmath.sqrt((1 + xx) * (1 + yy)))
    )
    return along / half, toward / half, terms / half**2 / mpmath.sqrt(three)


@pytest.mark.parametrize("schedule", ["1/(1+alpha/3)", "exp(-alpha/4)", "sqrt(1+alpha)"])
def test_balls_contain_the_solution_of_an_erf_unit(schedule: str) -> None:
    """Equations typed by hand, integrated by Taylor series of mpmath at 45 digits."""
    text = schedule.replace("exp", "mpmath.exp").replace("sqrt", "mpmath.sqrt")
    T, eta = mpmath.mpf("1.25"), mpmath.mpf("0.9")

    def rates(alpha: Any, state: Any, eta: Any = eta) -> list[Any]:
        Q, R = state
        h = eta * eval(text, {"mpmath": mpmath, "alpha": alpha})
        along, toward, square = erf_means(Q, R, T)
        return [-2 * h * along + h**2 * square, -h * toward]

    problem = sd.Problem("erf", students=1, teachers=1, learning_rate=0.9, schedule=schedule)
    run = problem.solve(alpha=[0.25], initial=ONE, certify=True, radius=1e-24)
    with mpmath.workdps(45):
        begin = [mpmath.mpf("0.0625"), mpmath.mpf("0.125")]
        Q, R = mpmath.odefun(rates, 0, begin)(0.25)
        assert away(run, "Q[1,1]", 0, Q) <= 1.0
        assert away(run, "R[1,1]", 0, R) <= 1.0
        frozen = mpmath.odefun(lambda _, y: rates(mpmath.mpf("1e-20"), y), 0, begin)(0.25)
        assert away(run, "R[1,1]", 0, frozen[1]) > 1.0


def test_numbers_that_momentum_and_batches_change_are_exact() -> None:
    """A rate of 0.1 with momentum 0.9 is 1; in doubles it is larger by 2e-16."""
    problem = sd.Problem("linear", students=1, teachers=1, learning_rate=0.1, momentum=0.9)
    run = problem.solve(alpha=[2.0], initial=ONE, certify=True, digits=25)
    R, Q = linear_solution(lambda end: (end, end), 2)
    assert away(run, "R[1,1]", 0, R) <= 1.0
    assert away(run, "Q[1,1]", 0, Q) <= 1.0
    batches = sd.Problem("linear", students=1, teachers=1, learning_rate=0.7, batch=3)
    run = batches.solve(alpha=[2.0], initial=ONE, certify=True, digits=25)
    third = mpmath.mpf("0.7") / 3
    R, Q = linear_solution(lambda end: (third * end, third**2 * end), 2)
    assert away(run, "R[1,1]", 0, R) <= 1.0
    assert away(run, "Q[1,1]", 0, Q) <= 1.0


def test_errors_planted_in_records_with_stages_are_noticed(tmp_path: Path) -> None:
    problem = sd.Problem("erf", students=1, teachers=1, learning_rate=0.9, schedule=DROPS)
    proof = problem.solve(alpha=[1.0], initial=ONE, certify=True, radius=1e-15).certificate()
    assert len(proof["stages"]) == 3
    assert verified(proof, tmp_path) == 0

    def sign(record: dict[str, Any]) -> None:
        operations = record["stages"][1]["operations"]
        place = next(n for n, each in enumerate(operations) if each[0] == "sub")
        operations[place][0] = "add"

    def later(record: dict[str, Any]) -> None:
        mantissa, exponent = record["stages"][1]["begin"].split("*2^")
        record["stages"][1]["begin"] = f"{2 * int(mantissa) + 1}*2^{int(exponent) - 1}"

    def earlier(record: dict[str, Any]) -> None:
        mantissa, exponent = record["stages"][1]["begin"].split("*2^")
        record["stages"][1]["begin"] = f"{2 * int(mantissa) - 1}*2^{int(exponent) - 1}"

    changes = {
        **{name: each for name, each in PLANTED.items() if name != "a sign changed"},
        "a sign changed in one stage": sign,
        "a jump a little later": later,
        "a jump a little earlier, within a step": earlier,
        "no jump": lambda r: r["stages"].pop(1),
        "stages exchanged": lambda r: r["stages"][0].update(
            operations=r["stages"][1]["operations"], rates=r["stages"][1]["rates"]
        ),
    }
    assert planted(proof, changes, checked) == dict.fromkeys(changes, True)


def test_events_are_found_through_jumps() -> None:
    """The error of a linear unit is D / 2, and its time has a closed form in each piece."""
    problem = sd.Problem("linear", students=1, teachers=1, learning_rate=0.6, schedule=DROPS)
    levels = ["generalization_error < 0.45", "generalization_error < 0.35"]
    run = problem.solve(alpha=[2.0], initial=ONE, certify=True, digits=20, events=levels)
    D = mpmath.mpf("1.0625")
    for event, level in zip(run.enclosure.events, ("0.45", "0.35"), strict=True):
        assert event["verdict"] == "proved"

        def gap(end: Any, level: str = level) -> Any:
            first, second = dropping(end)
            return D * mpmath.exp(second - 2 * first) / 2 - mpmath.mpf(level)

        time = mpmath.findroot(gap, (0.2, 1.9), solver="anderson", tol=1e-50)
        assert mpmath.mpf(event["begin"]) <= time <= mpmath.mpf(event["end"])
        assert mpmath.mpf(event["end"]) - mpmath.mpf(event["begin"]) < mpmath.mpf("1e-16")


def test_what_a_run_tends_to_is_claimed_where_rates_do_not_change_any_more(tmp_path: Path) -> None:
    near = {"Q": [[0.998046875]], "R": [[0.998046875]], "T": [[1.0]]}

    def limit(schedule: Any, end: float) -> Any:
        problem = sd.Problem("erf", students=1, teachers=1, learning_rate=1.0, schedule=schedule)
        return problem.solve(alpha=[end], initial=near, certify=True)

    drops = {"times": [0, 0.25], "rates": [1, 0.5]}
    assert limit(drops, 0.25).enclosure.limit is None
    after = limit(drops, 0.5)
    assert after.enclosure.limit["radii"]["R[1,1]"] < 1e-20
    assert limit("1/(1+alpha)", 0.5).enclosure.limit is None
    proof = after.certificate()
    path = tmp_path / "limit.json"
    path.write_text(json.dumps(proof))
    assert departure_checked([str(path)]) == 0
    proof["stages"][1]["begin"] = "1*2^0"
    path.write_text(json.dumps(proof))
    assert departure_checked([str(path)]) == 1


def test_a_plateau_is_left_after_a_jump(tmp_path: Path) -> None:
    """The rate of a quadratic unit jumps before it enters its plateau, and once it has left it."""
    problem, asked = quadratic()
    schedule = {"times": [0, 1, 130], "rates": [0.5, 1, 0.5]}
    run = problem.replace(schedule=schedule).solve(certify=True, **asked)
    passes = run.enclosure.departure["passes"]
    assert passes["index"] == 1
    eta = mpmath.mpf("0.02")
    u = mpmath.findroot(lambda u: eta * (15 * u**2 - 6 * u + 3) - (3 * u - 1), 0.35)
    assert abs(mpmath.mpf(passes["middles"]["Q[1,1]"]) - u) < 1e-14
    path = tmp_path / "departure.json"
    run.certificate(path)
    assert departure_checked([str(path)]) == 0
    wrong = json.loads(path.read_text())
    wrong["stages"][1] = {**wrong["stages"][0], "begin": wrong["stages"][1]["begin"]}
    path.write_text(json.dumps(wrong))
    assert departure_checked([str(path)]) == 1
    schedule = {"times": [0, 60], "rates": [1, 0.95]}
    within = problem.replace(schedule=schedule).solve(certify=True, **asked)
    assert within.enclosure.departure["passes"] is None


#: Eigenvalues of two classes on two eigenspaces, in numbers of few bits whose means are not.
EIGENVALUES = [[2.0, 0.5], [0.375, 1.625]]
WEIGHTS, OWN = [0.25, 0.75], {"JJ": [0.5, 0.75], "JB": [0.25, -0.125], "BB": [1.0, 1.5]}


def of_classes(
    activation: str, probabilities: list[float], **others: Any
) -> tuple[sd.Problem, State]:
    """A problem with one student and one teacher, and its start from overlaps per coordinate."""
    mean = np.array(probabilities) @ np.array(EIGENVALUES)
    JJ, JB, BB = (np.array(OWN[name])[:, None, None] for name in ("JJ", "JB", "BB"))
    rho = mean[:, None, None]
    start = State(
        eigenvalue=mean,
        weight=np.array(WEIGHTS),
        student_overlap=JJ,
        cross_overlap=JB * rho,
        teacher_overlap=BB * rho**2,
        teacher_covariance=np.einsum("k,knm->nm", np.array(WEIGHTS) * mean, BB),
        student_weights=np.ones(1),
        teacher_weights=np.ones(1),
    )
    inputs = sd.GaussianMixture(
        probabilities=probabilities, eigenvalues=EIGENVALUES, weights=WEIGHTS, dimension=400
    )
    problem = sd.Problem(
        activation, students=1, teachers=1, learning_rate=0.75, inputs=inputs, **others
    )
    return problem, start


@pytest.mark.parametrize(
    ("activation", "probabilities"),
    [("linear", [0.25, 0.75]), ("linear", [1 / 3, 2 / 3]), ("erf", [0.25, 0.75])],
)
def test_balls_contain_the_solution_with_two_classes_of_inputs(
    activation: str, probabilities: list[float], tmp_path: Path
) -> None:
    """By Stein's lemma E F x_i = rho_k (J_i A + B_i C) in each class, typed by hand.

    Decimals of thirds are divided by their sum, which is not one.
    """
    problem, start = of_classes(activation, probabilities)
    run = problem.solve(alpha=[0.25], initial=start, certify=True, radius=1e-22)
    assert run.enclosure.difference < 1e-9
    w, h = [mpmath.mpf(each) for each in WEIGHTS], mpmath.mpf("0.75")
    shares = [mpmath.mpf(repr(each)) for each in probabilities]
    shares = [each / mpmath.fsum(shares) for each in shares]
    classes = list(zip(shares, EIGENVALUES, strict=True))
    mean = [mpmath.fsum(p * rho[k] for p, rho in classes) for k in range(2)]
    JJ, JB, BB = (
        [mpmath.mpf(repr(float(x))) / each**n for x, each in zip(overlap.flat, mean, strict=True)]
        for n, overlap in enumerate(
            (start.student_overlap, start.cross_overlap, start.teacher_overlap)
        )
    )

    def covariances(rho: Any, state: Any) -> tuple[Any, Any, Any]:
        return tuple(
            mpmath.fsum(a * b * c for a, b, c in zip(w, rho, each, strict=True))
            for each in (state[:2], state[2:], BB)
        )

    def rates(_: Any, state: Any) -> list[Any]:
        found = [mpmath.mpf(0)] * 4
        for p, rho in classes:
            Q, R, T = covariances(rho, state)
            if activation == "linear":
                A, C, square = mpmath.mpf(1), mpmath.mpf(-1), Q - 2 * R + T
            else:
                along, toward, square = erf_means(Q, R, T)
                A = (along * T - toward * R) / (Q * T - R**2)
                C = (toward * Q - along * R) / (Q * T - R**2)
            for k in range(2):
                JJ, JB, part = state[k], state[2 + k], p * h * rho[k]
                found[k] += -2 * part * (A * JJ + C * JB) + part * h * square
                found[2 + k] += -part * (A * JB + C * BB[k])
        return found

    with mpmath.workdps(42):
        state = mpmath.odefun(rates, 0, [*JJ, *JB])(0.25)
        Q, R, _ = covariances(mean, state)
        assert away(run, "Q[1,1]", 0, Q) <= 1.0
        assert away(run, "R[1,1]", 0, R) <= 1.0
        error = mpmath.mpf(0)
        for p, rho in classes:
            Q, R, T = covariances(rho, state)
            own = (Q - 2 * R + T) / 2
            if activation == "erf":
                pairs = ((Q, Q, Q, 1), (T, T, T, 1), (R, Q, T, -2))
                own = mpmath.fsum(
                    n * mpmath.asin(a / mpmath.sqrt((1 + b) * (1 + c))) for a, b, c, n in pairs
                )
                own /= mpmath.pi
            error += p * own
        assert away(run, "generalization_error", 0, error) <= 1.0
        # equations at averaged eigenvalues are others
        Q, R, T = covariances(mean, state)
        assert away(run, "generalization_error", 0, (Q - 2 * R + T) / 2) > 1.0 or (
            activation == "linear"
        )
    assert verified(run.certificate(), tmp_path) == 0


def test_balls_contain_runs_in_doubles_of_many_kinds() -> None:
    """The doubles have equations, jumps and mixtures of their own."""
    two = sd.GaussianMixture(
        probabilities=[0.3, 0.7], eigenvalues=[[2.0, 0.5], [0.3, 1.7]], dimension=400
    )
    start = {"Q": [[0.2, 0.1], [0.1, 0.25]], "R": [[0.3, 0.1], [0.1, 0.2]], "T": np.eye(2)}
    kinds: list[dict[str, Any]] = [
        {"inputs": two, "seed": 3},
        {"inputs": two, "seed": 3, "train_second_layer": True, "weight_decay": 0.05},
        # only output weights move
        {
            "inputs": two,
            "student_std": 0.5,
            "learning_rate": 0.0,
            "train_second_layer": True,
            "second_layer_learning_rate": 0.5,
        },
        {"schedule": DROPS, "momentum": 0.9, "learning_rate": 0.07},
        {"schedule": "1/(1+alpha)**0.6", "train_second_layer": True},
        {"schedule": {"times": [0, 0.5], "rates": [1, 0]}},
        {"schedule": "exp(-alpha)", "inputs": sd.Spectrum([2.0, 0.5], dimension=60), "seed": 1},
        {"schedule": DROPS, "order": "small-learning-rate", "label_noise": 0.3},
    ]
    for each in kinds:
        given = {"learning_rate": 0.5, **each}
        problem = sd.Problem("erf", students=2, teachers=2, **given)
        begin = {} if "inputs" in each else {"initial": start}
        run = problem.solve(alpha=[0.5, 1.0], certify=True, relative_tolerance=1e-12, **begin)
        assert run.enclosure.difference < 1e-10, each


@pytest.mark.parametrize(
    ("rate", "integrals"),
    [
        (lambda a: sp.Rational(3, 5) / (1 + a), inverse_time),
        (lambda a: sp.Rational(3, 5) * sp.exp(-a / 10), decaying),
        (lambda a: sp.Rational(3, 5) * (1 + sp.sin(a) / 2), sine),
        (
            lambda a: sp.Piecewise(
                (sp.Rational(3, 5), a < 0.5),
                (sp.Rational(3, 5) * (a + sp.S.Half) ** sp.Rational(-7, 10), True),
            ),
            later_powers,
        ),
    ],
)
def test_systems_in_time_are_proved(rate: Any, integrals: Any, tmp_path: Path) -> None:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    gap = w @ x - B @ x
    P.descend(gap**2 / 2, {w: rate(P.alpha)})
    P.observe(error=(1 + P.alpha) * gap**2)
    start = {"w.w": 0.0625, "w.B": 0.125, "B.B": 1.25}
    run = P.solve(alpha=[0.25, 2.0], initial=start, certify=True, digits=20)
    for place, time in enumerate((0.25, 2.0)):
        R, Q = linear_solution(integrals, time)
        error = (1 + time) * (Q - 2 * R + mpmath.mpf("1.25"))
        for name, exact in (("w.B", R), ("w.w", Q), ("error", error)):
            ball = run.enclosures[name].ravel()[place]
            assert abs(mpmath.mpf(ball.mid) - exact) <= mpmath.mpf(ball.rad)
            assert mpmath.mpf(ball.rad) < 1e-19
    assert verified(run.certificate(), tmp_path) == 0


def test_order_parameters_in_sines_and_cosines_are_proved(tmp_path: Path) -> None:
    """u' = k cos(u) and c' = k sin(c), of two biases that tend to pi / 2 and to pi."""
    P = sd.System()
    x, w = P.inputs("x"), P.vectors("w", fixed=True)
    u, c, eta = P.scalars("u"), P.scalars("c"), P.parameter("eta", 0.75)
    P.descend(sp.cos(w @ x + c) - sp.sin(w @ x + u), {u: eta, c: eta})
    start = {"w.w": 0.5, "u": 0.25, "c": 2.5}
    run = P.solve(alpha=[0.5, 18.0], initial=start, certify=True, digits=20)
    k = mpmath.mpf("0.75") * mpmath.exp(mpmath.mpf("-0.25"))
    for place, time in enumerate((0.5, 18.0)):
        exact = {
            "u": mpmath.asin(mpmath.tanh(k * time + mpmath.atanh(mpmath.sin(0.25)))),
            "c": 2 * mpmath.atan(mpmath.tan(mpmath.mpf("1.25")) * mpmath.exp(k * time)),
        }
        for name, value in exact.items():
            ball = run.enclosures[name].ravel()[place]
            assert abs(mpmath.mpf(ball.mid) - value) <= mpmath.mpf(ball.rad)
    proof = run.certificate()
    assert verified(proof, tmp_path) == 0
    assert run.enclosure.limit is not None
    assert departure_checked([str(tmp_path / "proof.json")]) == 0


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"tasks": [{"until": 0.5, "teachers": [0]}, {"teachers": [0]}]}, r"^task.* certify$"),
        ({"schedule": "min(1, alpha/5)"}, r"^certify: has no enclosure: Min"),
        (
            {
                "inputs": sd.GaussianMixture(
                    dimension=4, probabilities=[0.5] * 2, eigenvalues=[[3, 1.5], [2, 0]]
                )
            },
            "^inputs: has a class with an eigenvalue of zero",
        ),
    ],
)
def test_what_is_not_proved_in_time_is_refused(asked: dict[str, Any], words: str) -> None:
    start = {} if "inputs" in asked else {"initial": ONE}
    problem = sd.Problem("erf", students=1, teachers=1, learning_rate=1.0, **asked)
    with pytest.raises((sd.InputError, NotYetError), match=words):
        problem.solve(alpha=[1.0], certify=True, **start)
