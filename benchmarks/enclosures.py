"""Proved runs: their times and radii, random problems against other equations, planted errors.

python -m benchmarks.enclosures [PROBLEMS]
python -m benchmarks.enclosures --only-problems [PROBLEMS]

Random problems are compared with equations typed from a paper (`benchmarks.hand_written`), solved
to 60 digits. Numbers of starts have few bits, so that both begin at the same numbers exactly. The
learning rates of every fourth problem jump at one to three times.

Errors are planted in records of right proofs, and in the program that makes proofs. A table says
who notices them: the checkers, the intervals of the library Codac, or the typed equations.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from flint import arb, ctx

import symderiv as sd
from benchmarks.codac_tube import enclosed_by_codac
from benchmarks.hand_written import HandWritten, Rule, solution
from symderiv.enclosures import proved_run, proved_step, traced_flow
from symderiv.enclosures.check_departure import main as claims_checked
from symderiv.enclosures.check_enclosures import main as checked

_PROBLEMS, _SEED, _DIGITS, _RADIUS = 200, 11, 60, 1e-18
_TIMES = [0.0625, 0.125]

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


def contained(problems: int) -> tuple[int, int]:
    """Return how many values of random problems were compared, and how many are in their balls."""
    random = np.random.default_rng(_SEED)
    drops = np.random.default_rng(_SEED + 1)
    # every fourth learning rate jumps
    found = [
        compared(*drawn(random), {0.0: "1"} if n % 4 else dropping(drops)) for n in range(problems)
    ]
    values, inside = map(int, np.sum(found, axis=0))
    return values, inside


def dropping(random: np.random.Generator) -> dict[float, str]:
    """Return factors of learning rates from times on, as decimals."""
    jumps = sorted(random.choice(np.arange(4, 124), int(random.integers(1, 4)), replace=False))
    times = [0.0, *(float(each) / 1024.0 for each in jumps)]
    return {time: str(random.choice(["1", "0.3", "0.1", "0.7", "1.3"])) for time in times}


def compared(
    problem: sd.Problem,
    start: dict[str, np.ndarray],
    other: HandWritten,
    rates: Mapping[float, str],
) -> tuple[int, int]:
    """Return how many exact values of a problem were compared, and how many are in their balls.

    Args:
        problem, start, other: See :func:`drawn`.
        rates: Factors of the learning rates, from times on.
    """
    if len(rates) > 1:
        factors = [float(each) for each in rates.values()]
        problem = problem.replace(schedule={"times": list(rates), "rates": factors})
    run = problem.solve(alpha=_TIMES, initial=start, certify=True, radius=_RADIUS)
    begin = start["Q"], start["R"], np.ones(len(start["Q"]))
    exact = list(_named(_in_pieces(other, begin, rates)))
    middles, radii = run.enclosure.middles, run.enclosure.radii
    inside = [_inside(value, middles[name][n], radii[name][n]) for name, n, value in exact]
    return len(exact), sum(inside)


def _in_pieces(other: HandWritten, begin: Any, rates: Mapping[float, str]) -> Iterator[Any]:
    """Yield the exact solution at all times, one piece after the other."""
    rule = other.rule
    cuts = sorted({*rates, *_TIMES})
    for now, end in pairwise(cuts):
        if now in rates:
            with ctx.workdps(_DIGITS + 15):
                eta, eta_v = (arb(each) * arb(rates[now]) for each in (rule.eta, rule.eta_v))
            other = replace(other, rule=replace(rule, eta=eta, eta_v=eta_v))
        (found,) = solution(other, begin, [end - now], _DIGITS)
        begin = tuple(np.array(each, object) for each in found[:3])
        if end in _TIMES:
            yield found


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


def refused(record: dict[str, Any], checker: Checker) -> bool:
    """Return whether a checker refuses to prove a record, of which it says so."""
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        path = Path(folder) / "record.json"
        path.write_text(json.dumps(record), encoding="utf-8")
        return checker([str(path)]) == 1


def planted(
    certificate: dict[str, Any], changes: Mapping[str, Change], checker: Checker
) -> dict[str, bool]:
    """Return of each wrong record whether a checker notices it."""
    found = {}
    for name, change in changes.items():
        wrong = json.loads(json.dumps(certificate))
        change(wrong)
        found[name] = refused(wrong, checker)
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


def _small_remainders() -> Any:
    """Plant that a thousandth of what Taylor series leave out is added.

    With a half the sets are still right, because remainders are doubled for the checker, which
    proves it: its own series have more terms.
    """
    right = proved_step._summed
    return patch.object(
        proved_step, "_summed", lambda columns, last, t: right(columns, [x / 1000 for x in last], t)
    )


def _doubled_steps() -> Any:
    """Plant that steps are said to be twice as long as they are."""
    right = proved_run.stepped

    def stepped(field: Any, begin: Any, longest: arb, tolerance: arb) -> Any:
        step = right(field, begin, longest / 2, tolerance)
        return replace(step, time=2 * step.time)

    return patch.object(proved_run, "stepped", stepped)


def _wrong_sign() -> Any:
    """Plant that a sum in the rates is a difference, before anything is proved."""
    right = traced_flow.traced

    def traced(module: Any, name: str, *given: Any) -> Any:
        operations = right(module, name, *given)
        if name == "right_hand_side":
            place = next(n for n, each in enumerate(operations.entries) if each[0] == "sub")
            operations.entries[place] = ("add", *operations.entries[place][1:])
        return operations

    return patch.object(traced_flow, "traced", traced)


PLANTED_IN_PROOFS: dict[str, Callable[[], Any]] = {
    "a thousandth of the remainders": _small_remainders,
    "steps doubled": _doubled_steps,
    "a sign of the rates changed": _wrong_sign,
}
#: Who may notice a wrong proof of one erf unit.
WITNESSES = ("checker", "Codac", "typed equations")


def noticed_by(plant: Callable[[], Any]) -> dict[str, bool | None]:
    """Return who notices an error in proofs of one erf unit; None of what is not installed."""
    eta, T, end = 0.5, 1.25, 0.5
    start = {"Q": np.array([[0.0625]]), "R": np.array([[0.125]]), "T": np.array([[T]])}
    problem = sd.Problem("erf", students=1, teachers=1, learning_rate=eta)
    with plant():
        run = problem.solve(alpha=[end], initial=start, certify=True).enclosure
    other = HandWritten(start["T"], np.ones(1), Rule(eta))
    ((Q, R, *_),) = solution(other, (start["Q"], start["R"], np.ones(1)), [end], _DIGITS)
    pairs = (("Q[1,1]", Q[0][0]), ("R[1,1]", R[0][0]))
    right = [_inside(x, run.middles[name][0], run.radii[name][0]) for name, x in pairs]
    try:
        intervals = enclosed_by_codac((start["Q"][0, 0], start["R"][0, 0]), eta, T, end)
    except ImportError:
        apart = None
    else:
        apart = any(
            run.upper(name)[0] < low or high < run.lower(name)[0]
            for (name, _), (low, high) in zip(pairs, intervals, strict=True)
        )
    found = refused(run.certificate(), checked), apart, not all(right)
    return dict(zip(WITNESSES, found, strict=True))


def wrong_enclosures() -> bool:
    """Print who notices which wrong enclosure; return whether one is noticed by nobody."""
    steps = certified(one_unit("erf"))[0].enclosure.certificate()
    claims = certified(quadratic)[0].enclosure.certificate()
    missed = False
    for program, caught in (
        ("check_enclosures", planted(steps, PLANTED, checked)),
        ("check_departure", planted(claims, PLANTED_CLAIMS, claims_checked)),
    ):
        for name, noticed in caught.items():
            missed |= not noticed
            print(f"in a record, {name}: {'noticed by ' + program if noticed else 'NOT NOTICED'}")
    for name, plant in PLANTED_IN_PROOFS.items():
        found = noticed_by(plant)
        missed |= not any(found.values())
        told = {None: "not installed", True: "notices it", False: "does not"}
        print(f"in proofs, {name}: " + ", ".join(f"{who} {told[x]}" for who, x in found.items()))
    return missed


def main() -> int:
    """Print all rows; 1 if a bound was not met."""
    warnings.simplefilter("ignore")
    given = sys.argv[1:]
    only = "--only-problems" in given
    (problems,) = [int(each) for each in given if each != "--only-problems"] or [_PROBLEMS]
    failed = False if only else proved_runs() | wrong_enclosures()
    values, inside = contained(problems)
    print(
        f"{problems} random problems: {inside} of {values} exact values of {_DIGITS} digits are in "
        f"their balls"
    )
    return int(failed or inside < values)


if __name__ == "__main__":
    sys.exit(main())
