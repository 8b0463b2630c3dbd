"""What proved runs pass and tend to, and the program that checks their records."""

import ast
import copy
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest
from flint import arb, arb_mat, arb_series, ctx

import symderiv as sd
from benchmarks.enclosures import PLANTED_CLAIMS, certified, planted, quadratic
from symderiv.enclosures import check_departure, check_enclosures
from symderiv.enclosures.check_departure import main as checked
from symderiv.precision.balls.working import working_bits

pytestmark = pytest.mark.turns(3)

#: A list with every operation; the state has two numbers between 0 and 1.
EVERY = [
    ["state", 0],
    ["state", 1],
    ["number", "1/3"],
    ["pi"],
    *(["mul", 0, 2], ["add", 1, 4], ["asin", 4], ["acos", 4], ["atan", 5], ["exp", 6]),
    *(["log", 5], ["erf", 7], ["sqrt", 8], ["div", 9, 12], ["sub", 11, 13], ["neg", 10]),
    *(["mul", 14, 15], ["add", 16, 3], ["sin", 17], ["cos", 16], ["mul", 18, 19]),
]


@pytest.fixture(autouse=True)
def precision_is_put_back():
    """Put back the precision that the checkers choose, which are programs of their own."""
    with ctx.workprec(ctx.prec):
        yield


@pytest.fixture(scope="module")
def run() -> sd.Trajectory:
    return certified(quadratic)[0]


@pytest.fixture
def record(run: sd.Trajectory) -> dict[str, Any]:
    return copy.deepcopy(run.certificate())


def test_when_a_run_leaves_its_plateau_and_where_it_goes_is_proved(run: sd.Trajectory) -> None:
    """A quadratic unit falls to the saddle without overlap, and leaves it for its teacher.

    For u = Q and no overlap the rate of Q, by E[z^2] = u and the moments 3 u^2 and 15 u^3 of z, is
    -4 eta u (3 u - 1) + 4 eta^2 u (15 u^2 - 6 u + 3), typed by hand for a teacher of length one.
    """
    eta = 0.02
    departure, limit = run.enclosure.departure, run.enclosure.limit
    passes = departure["passes"]
    u = mpmath.findroot(lambda u: eta * (15 * u**2 - 6 * u + 3) - (3 * u - 1), 0.35)
    assert abs(mpmath.mpf(passes["middles"]["Q[1,1]"]) - u) < 1e-14
    assert float(passes["middles"]["R[1,1]"]) == 0.0
    assert passes["index"] == 1
    assert 0.0 < passes["distance"] < 0.02
    problem, asked = quadratic()
    again = {name: asked[name] for name in ("initial", "events")}
    fine = problem.solve(end=160, relative_tolerance=1e-12, **again)
    (begin, end), length = (fine.events[each].time for each in asked["events"]), departure["length"]
    for time, pair in ((begin, departure["entered"]), (end, departure["left"])):
        assert float(pair[1]) - float(pair[0]) < 1e-10
        # levels are parts of the height of the run, which its output times move a little
        assert abs(time - float(pair[0])) < 1e-2
    assert float(length.rad) < 1e-10
    assert abs(float(length) - (end - begin)) < 1e-2
    assert abs(float(limit["middles"]["Q[1,1]"]) - 1.0) <= limit["radii"]["Q[1,1]"] < 1e-30
    assert "fixed point of index 1" in str(run.enclosure._document())


def test_the_record_claims_what_the_result_states(
    run: sd.Trajectory, record: dict[str, Any]
) -> None:
    """The record has what the result shows, with the same times and a box around its point."""
    shown, claimed = run.enclosure.departure, record["departure"]
    assert (claimed["entered"], claimed["left"]) == (shown["entered"], shown["left"])
    least, most = map(Fraction, claimed["length"])
    middle, radius = Fraction(shown["length"].mid), Fraction(shown["length"].rad)
    assert middle - radius <= least <= most <= middle + radius
    passes, point = claimed["passes"], shown["passes"]
    assert passes["index"] == point["index"]
    assert float(check_departure.exact(passes["time"])) == point["alpha"]
    assert float(check_departure.exact(passes["distance"])) == point["distance"]
    low, high = map(check_departure.exact, passes["box"][0])
    assert low <= Fraction(point["middles"]["Q[1,1]"]) <= high
    assert high - low < Fraction(1, 10**36)
    assert (
        run.events["plateau-end"].condition == f"generalization_error < {claimed['levels']['left']}"
    )
    rate = check_departure.exact(record["limit"]["rate"])
    assert 0 <= rate - Fraction(run.enclosure.limit["rate"]) < Fraction(1, 10**15)


def test_a_departure_is_checked_by_another_program(
    run: sd.Trajectory, tmp_path: Path, capsys: Any
) -> None:
    path = tmp_path / "run.json"
    run.certificate(path)
    assert checked([str(path)]) == 0
    told = capsys.readouterr().out
    assert "passes a fixed point of index 1" in told
    assert " and ".join(run.enclosure.departure["left"]) in told
    assert "tends to a fixed point" in told


@pytest.mark.parametrize("checker", [check_enclosures, check_departure])
def test_a_checker_is_one_short_file_that_needs_balls_alone(
    checker: Any, record: dict[str, Any], tmp_path: Path
) -> None:
    """It is copied beside a record, and runs where nothing else can be imported."""
    source = Path(checker.__file__).read_text(encoding="utf-8")
    assert len(source.splitlines()) < 300
    imports = [each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.Import)]
    froms = [each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.ImportFrom)]
    names = {name.name for each in imports for name in each.names} | {e.module for e in froms}
    assert names - set(sys.stdlib_module_names) == {"flint"}
    copied, proof = tmp_path / "checker.py", tmp_path / "proof.json"
    copied.write_text(source, encoding="utf-8")
    proof.write_text(json.dumps(record), encoding="utf-8")
    found = subprocess.run(
        [sys.executable, "-I", str(copied), str(proof)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("proved")


def test_wrong_claims_are_noticed(record: dict[str, Any]) -> None:
    assert planted(record, PLANTED_CLAIMS, checked) == dict.fromkeys(PLANTED_CLAIMS, True)


def test_claims_that_are_weaker_are_proved_too(record: dict[str, Any]) -> None:
    """A wider box that holds no other fixed point, wider times, and a smaller rate are true."""
    passes = record["departure"]["passes"]
    passes["box"] = [["2879*2^-13", "2882*2^-13"], ["-1*2^-13", "1*2^-13"]]
    passes["distance"] = "1*2^-5"
    record["departure"]["left"] = ["96.3", "96.4"]
    record["departure"]["length"] = ["89", "90"]
    record["limit"]["rate"] = "1/8"
    assert "index 1" in check_departure.check(record)


def test_records_without_claims_are_refused(
    record: dict[str, Any], tmp_path: Path, capsys: Any
) -> None:
    path = tmp_path / "record.json"
    only = {name: each for name, each in record.items() if name not in ("departure", "limit")}
    for wrong in (only, {"format": "something else"}, {**record, "version": 3}):
        path.write_text(json.dumps(wrong))
        assert checked([str(path)]) == 2
    assert checked([str(tmp_path / "missing.json")]) == 2
    assert "proved" not in capsys.readouterr().out


def test_a_plateau_whose_fixed_point_is_not_proved_has_times_alone(record: dict[str, Any]) -> None:
    record["departure"]["passes"] = None
    del record["limit"]
    told = check_departure.check(record)
    assert told == f"leaves its plateau between {' and '.join(record['departure']['left'])}"


def test_what_an_erf_unit_tends_to_is_checked() -> None:
    problem = sd.Problem("erf", students=1, teachers=1, learning_rate=1.0)
    start = {"Q": [[0.998046875]], "R": [[0.998046875]], "T": [[1.0]]}
    proof = problem.solve(alpha=[0.25], initial=start, certify=True).certificate()
    assert "departure" not in proof
    assert check_departure.check(proof) == "tends to a fixed point"


def test_slopes_of_both_checkers_are_those_of_power_series() -> None:
    places = list(range(len(EVERY)))
    function = check_departure.Composed(EVERY, places)
    with working_bits(120):
        for box in ([arb("0.3"), arb("0.6")], [arb("0.3", "1e-3"), arb("0.6", "1e-3")]):
            found = function.slopes(box)
            other = check_enclosures.slopes(EVERY, places, box)
            ctx.cap = 2
            for n in range(2):
                moved = [arb_series([x, int(m == n)], 2) for m, x in enumerate(box)]
                for place, series in enumerate(function(moved)):
                    expected = arb_series(series, 2)[1]
                    assert found[place, n].overlaps(expected)
                    assert found[place, n].overlaps(other[place, n])
                    # the same rules, so that neither is much wider
                    assert found[place, n].rad() <= expected.rad() * 1.01 + arb("1e-30")


def test_the_jacobian_of_a_flow_holds_the_exponential() -> None:
    with working_bits(120):
        matrix = arb_mat([[arb("-0.5"), 3], [arb("0.25"), arb("0.75")]])
        found = check_departure.exponential(matrix)
        exact = matrix.exp()
        assert all(x.contains(y) for x, y in zip(found.entries(), exact.entries(), strict=True))
        assert all(float(x.rad()) < 1e-20 for x in found.entries())
        with pytest.raises(ArithmeticError, match="too long"):
            check_departure.exponential(matrix * 10)


@pytest.mark.parametrize(
    ("rows", "index"),
    [
        (([1, 0, 0], [0, 1, 0], [0, 0, -2]), 2),  # a double eigenvalue
        (([1, -2, 0], [2, 1, 0], [0, 0, -1]), 2),  # a complex pair
        (([-1, 1, 0], [1, -1, 3], [0, 3, -1]), 1),
    ],
)
def test_the_index_of_a_linear_flow(rows: Any, index: int) -> None:
    """The rates are the rows times the state."""
    operations: list[Any] = [["state", n] for n in range(3)]
    places = []
    for row in rows:
        terms = []
        for n, factor in enumerate(row):
            operations += [["number", str(factor)], ["mul", len(operations), n]]
            terms.append(len(operations) - 1)
        operations += [["add", *terms[:2]], ["add", len(operations), terms[2]]]
        places.append(len(operations) - 1)
    box = {"box": [["-1*2^-90", "1*2^-90"]] * 3, "index": index}
    with working_bits(120):
        flow = check_departure.Composed(operations, places)
        assert check_departure.check_point(flow, box)[1] == index
        with pytest.raises(ArithmeticError, match=f"is {index}"):
            check_departure.check_point(flow, {**box, "index": 3})
