"""Proved runs: their times and radii, random problems against other equations, planted errors.

python -m benchmarks.enclosures [PROBLEMS]
python -m benchmarks.enclosures --only-problems [PROBLEMS]

Random problems are compared with equations typed from a paper (`benchmarks.hand_written`), solved
to 60 digits. Numbers of starts have few bits, so that both begin at the same numbers exactly.

A problem takes half a CPU minute, so that what was found is kept in `enclosures_problems.csv`, a
row per problem, and another call goes on with the problem after the last row. Remove the file to
compare all of them again, as is necessary when the proofs have changed.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, ctx

import symderiv as sd
from benchmarks.hand_written import HandWritten, Rule, solution
from symderiv.enclosures.check_departure import main as claims_checked
from symderiv.enclosures.check_enclosures import main as checked

_PROBLEMS, _SEED, _DIGITS, _RADIUS = 200, 11, 60, 1e-18
_TIMES = [0.0625, 0.125]
_KEPT = Path(__file__).with_name("enclosures_problems.csv")
_COLUMNS = ["problem", "students", "teachers", "values", "contained", "cpu_seconds"]

Change = Callable[[dict[str, Any]], None]
Checker = Callable[[list[str]], int]
Certified = Callable[[], tuple[sd.Problem, dict[str, Any]]]


def one_unit(activation: str) -> Certified:
    start = {"Q": [[0.01]], "R": [[0.02]], "T": [[1.0]]}
    end = 24.0 if activation == "erf" else 20.0
    problem = sd.Problem(activation, students=1, teachers=1, learning_rate=1.0)
    return lambda: (problem, {"alpha": [end / 2, end], "initial": start, "radius": 1e-20})


def plateau() -> tuple[sd.Problem, dict[str, Any]]:
    """Two units that leave their plateau and learn until the error is 1e-6."""
    start = {
        "Q": [[0.01, 0.001], [0.001, 0.012]],
        "R": [[0.003, 0.001], [0.002, 0.0025]],
        "T": [[1.0, 0.0], [0.0, 1.0]],
    }
    problem = sd.Problem(
        "erf", students=2, teachers=2, learning_rate=0.5, student_weights=1, teacher_weights=1
    )
    level = "generalization_error < 1e-6"
    found = problem.solve(end=2000, initial=start, events=[level]).events[0]["alpha"]
    asked = {"initial": start, "radius": 1e-12, "alpha": [found / 2, float(np.ceil(found))]}
    return problem, {**asked, "events": [level]}


def quadratic() -> tuple[sd.Problem, dict[str, Any]]:
    """A unit that falls to the saddle without overlap, and leaves it for its teacher."""
    start = {"Q": [[1.5]], "R": [[0.001]], "T": [[1]]}
    problem = sd.Problem("x**2", students=1, teachers=1, learning_rate=0.02)
    ends = ["plateau-begin", "plateau-end"]
    return problem, {"alpha": [160], "initial": start, "events": ends, "radius": 1e-9}


def drawn(
    random: np.random.Generator,
) -> tuple[sd.Problem, dict[str, np.ndarray], HandWritten]:
    """Return a problem with at most four units, a start of few bits, and the same by hand."""
    K = int(random.integers(1, 4))
    M = int(random.integers(1, 5 - K))
    vectors = np.round(random.normal(0.0, 0.6, (K + M, K + M + 1)) * 8.0) / 8.0
    vectors[K:] += np.eye(M, K + M + 1)
    overlaps = vectors @ vectors.T
    start = {"Q": overlaps[:K, :K], "R": overlaps[:K, K:], "T": overlaps[K:, K:]}
    eta, noise, decay = (
        float(random.choice(each)) for each in ([0.25, 1.0, 2.5], [0.0, 0.25], [0.0, 0.125])
    )
    activation = str(random.choice(["erf", "erf", "linear"]))
    both = bool(random.integers(2))
    problem = sd.Problem(
        activation,
        students=K,
        teachers=M,
        student_weights=1,
        teacher_weights=1,
        learning_rate=eta,
        label_noise=noise,
        weight_decay=decay,
        train_second_layer=both,
        second_layer_learning_rate=0.25,
    )
    rule = Rule(eta, 0.25 if both else 0.0, decay, noise)
    return problem, start, HandWritten(start["T"], np.ones(M), rule, activation == "linear")


def certified(stated: Certified) -> tuple[sd.Trajectory, float]:
    """Return a certified run and the CPU seconds of the proof with the run."""
    problem, asked = stated()
    begin = time.process_time()
    run = problem.solve(certify=True, **asked)
    return run, time.process_time() - begin


def contained(problems: int) -> tuple[int, int, int]:
    """Return how many problems and values were compared, and how many were in their balls."""
    if not _KEPT.exists():
        _KEPT.write_text(",".join(_COLUMNS) + "\n", encoding="utf-8")
    with _KEPT.open(encoding="utf-8") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    random = np.random.default_rng(_SEED)
    for n in range(problems):
        # all problems are drawn, so that the one with a number is always the same
        problem, start, other = drawn(random)
        if n >= len(rows):
            begin = time.process_time()
            values, inside = compared(problem, start, other)
            found = [n, *start["R"].shape, values, inside, round(time.process_time() - begin, 1)]
            rows.append(dict(zip(_COLUMNS, map(float, found), strict=True)))
            with _KEPT.open("a", encoding="utf-8") as file:
                file.write(",".join(map(str, found)) + "\n")
    rows = rows[:problems]
    values, inside = (int(sum(row[name] for row in rows)) for name in ("values", "contained"))
    return len(rows), values, inside


def compared(
    problem: sd.Problem, start: dict[str, np.ndarray], other: HandWritten
) -> tuple[int, int]:
    """Return how many exact values of a problem were compared, and how many are in their balls."""
    run = problem.solve(alpha=_TIMES, initial=start, certify=True, radius=_RADIUS)
    begin = start["Q"], start["R"], np.ones(len(start["Q"]))
    exact = list(_named(solution(other, begin, _TIMES, _DIGITS)))
    middles, radii = run.enclosure.middles, run.enclosure.radii
    inside = [_inside(value, middles[name][n], radii[name][n]) for name, n, value in exact]
    return len(exact), sum(inside)


def _inside(exact: arb, middle: str, radius: float) -> bool:
    before, ctx.dps = ctx.dps, _DIGITS + 10
    try:
        # the numbers compared with have so many digits
        return bool(abs(exact - arb(middle)) <= arb(radius) + arb(10) ** (3 - _DIGITS))
    finally:
        ctx.dps = before


def _named(exact: Any) -> Iterator[tuple[str, int, arb]]:
    for place, (Q, R, _, error) in enumerate(exact):
        yield "generalization_error", place, error
        for letter, rows in (("Q", Q), ("R", R)):
            for i, row in enumerate(rows):
                for j, value in enumerate(row):
                    yield f"{letter}[{i + 1},{j + 1}]", place, value


def planted(
    certificate: dict[str, Any], changes: Mapping[str, Change], checker: Checker
) -> dict[str, bool]:
    """Return of each wrong record whether a checker notices it."""
    found = {}
    for name, change in changes.items():
        wrong = json.loads(json.dumps(certificate))
        change(wrong)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "record.json"
            path.write_text(json.dumps(wrong), encoding="utf-8")
            found[name] = checker([str(path)]) == 1
    return found


def _smaller(box: list[str], bits: int) -> None:
    for n, text in enumerate(box):
        mantissa, exponent = text.split("*2^")
        box[n] = f"{mantissa}*2^{int(exponent) - bits}"


def _middle(record: dict[str, Any]) -> dict[str, Any]:
    step: dict[str, Any] = record["steps"][len(record["steps"]) // 2]
    return step


def _sign(record: dict[str, Any]) -> None:
    place = next(n for n, each in enumerate(record["operations"]) if each[0] == "sub")
    record["operations"][place][0] = "add"


def _twice(record: dict[str, Any]) -> None:
    step = _middle(record)
    mantissa, exponent = step["time"].split("*2^")
    step["time"] = f"{mantissa}*2^{int(exponent) + 1}"


def _outside(record: dict[str, Any]) -> None:
    for ends in _middle(record)["box"]:
        ends[1] = ends[0]


PLANTED: dict[str, Change] = {
    "the box of a set halved": lambda r: _smaller(_middle(r)["region"]["box"], 1),
    "the last box halved": lambda r: _smaller(r["end"]["box"], 1),
    "a step made twice as long": _twice,
    "a sign changed": _sign,
    "a box that trajectories leave": _outside,
    "another start": lambda r: r["start"].__setitem__(0, "1/7"),
}


def _number(text: str) -> Fraction:
    mantissa, exponent = text.split("*2^")
    return int(mantissa) * Fraction(2) ** int(exponent)


def _dyadic(value: Fraction) -> str:
    return f"{value.numerator}*2^{1 - value.denominator.bit_length()}"


def _point_box(change: Callable[[Fraction, Fraction], tuple[Fraction, Fraction]]) -> Change:
    """Return the change of a side of the box of the fixed point that is passed."""

    def changed(record: dict[str, Any]) -> None:
        box = record["departure"]["passes"]["box"]
        box[0] = [_dyadic(each) for each in change(*map(_number, box[0]))]

    return changed


def _later(end: str, by: str) -> Change:
    """Return the change of both times between which an end of the plateau lies."""

    def changed(record: dict[str, Any]) -> None:
        departure = record["departure"]
        departure[end] = [str(Decimal(each) + Decimal(by)) for each in departure[end]]
        # the length follows, so that it is not what gives the change away
        departure["length"] = ["0", "1000"]

    return changed


def _scaled(claim: str, name: str, factor: Fraction) -> Change:
    def changed(record: dict[str, Any]) -> None:
        given = record["limit"] if claim == "limit" else record["departure"]["passes"]
        given[name] = _dyadic(_number(given[name]) * factor)

    return changed


def _error_sign(record: dict[str, Any]) -> None:
    operations = record["departure"]["error"]["operations"]
    place = next(n for n, each in enumerate(operations) if each[0] == "sub")
    operations[place][0] = "add"


def _moved(record: dict[str, Any]) -> None:
    centre = record["limit"]["centre"]
    centre[0] = _dyadic(_number(centre[0]) + Fraction(1, 2**100))


def _exchanged(record: dict[str, Any]) -> None:
    box = record["departure"]["passes"]["box"]
    record["limit"]["centre"] = [_dyadic(sum(map(_number, ends)) / 2) for ends in box]


def _mirrored(record: dict[str, Any]) -> None:
    """Claim the mirror image of the teacher, which is as stable, for a quadratic unit."""
    limit = record["limit"]
    for name in ("centre", "axes"):
        texts = limit[name]
        half = len(texts) // 2
        limit[name] = texts[:half] + [_dyadic(-_number(each)) for each in texts[half:]]


PLANTED_CLAIMS: dict[str, Change] = {
    "a fixed point moved by the width of its box": _point_box(
        lambda low, high: (high, 2 * high - low)
    ),
    "a box around it without width": _point_box(lambda low, _: (low, low)),
    "a box around it that is too wide": _point_box(lambda low, high: (low / 4, high + 1)),
    "no unstable direction": lambda r: r["departure"]["passes"].__setitem__("index", 0),
    "one more unstable direction": lambda r: r["departure"]["passes"].__setitem__("index", 2),
    "a quarter of its distance": _scaled("passes", "distance", Fraction(1, 4)),
    "another time of it": _scaled("passes", "time", Fraction(1, 8)),
    "a plateau that begins earlier": _later("entered", "-1e-10"),
    "a plateau that begins later": _later("entered", "1e-10"),
    "a plateau that ends earlier": _later("left", "-1e-10"),
    "a plateau that ends later": _later("left", "1e-10"),
    "a shorter plateau": lambda r: r["departure"].__setitem__("length", ["89", "89.3"]),
    "the point that is passed for the limit": _exchanged,
    "the mirror image of the limit": _mirrored,
    "a ball around the limit that is too wide": _scaled("limit", "radius", Fraction(2**14)),
    "a ball around the limit without the end": _scaled("limit", "radius", Fraction(1, 2)),
    "twice the rate": _scaled("limit", "rate", Fraction(2)),
    "a limit moved by 1e-30": _moved,
    "a sign of the rates changed": _sign,
    "a sign of the error changed": _error_sign,
}


def proved_runs() -> bool:
    """Print radii and times of three proved runs; return whether a bound was not met."""
    failed = False
    for what, stated, radius, seconds in (
        ("erf, K = M = 1, to alpha = 24", one_unit("erf"), 1e-20, 60.0),
        ("ReLU, K = M = 1, to alpha = 20", one_unit("relu"), 1e-20, 60.0),
        ("erf, K = M = 2, through the plateau to 1e-6", plateau, 1e-12, 600.0),
    ):
        run, spent = certified(stated)
        failed |= run.enclosure.radius > radius or spent > seconds
        told = ", ".join(
            f"{e['event']}: {e['verdict']} {e['begin']} to {e['end']}" for e in run.enclosure.events
        )
        print(
            f"{what}: radius {run.enclosure.radius:.1e} (at most {radius:.0e}), {spent:.1f} CPU s "
            f"(at most {seconds:.0f}), {run.enclosure.steps} steps; doubles are off by at most "
            f"{run.enclosure.difference:.1e} {told}",
            flush=True,
        )
    return failed


def wrong_records() -> bool:
    """Print which wrong enclosures the checker notices; return whether one is missed."""
    steps = certified(one_unit("erf"))[0].enclosure.certificate()
    claims = certified(quadratic)[0].enclosure.certificate()
    caught = planted(steps, PLANTED, checked) | planted(claims, PLANTED_CLAIMS, claims_checked)
    for name, noticed in caught.items():
        print(f"{name}: {'noticed' if noticed else 'NOT NOTICED'}")
    return not all(caught.values())


def main() -> int:
    """Print all rows; 1 if a bound was not met."""
    warnings.simplefilter("ignore")
    given = sys.argv[1:]
    only = "--only-problems" in given
    numbers = [int(each) for each in given if each != "--only-problems"]
    failed = False if only else proved_runs() | wrong_records()
    problems, values, inside = contained(*numbers or [_PROBLEMS])
    print(
        f"{problems} random problems: {inside} of {values} exact values of {_DIGITS} digits are in "
        f"their balls"
    )
    return int(failed or inside < values)


if __name__ == "__main__":
    sys.exit(main())
