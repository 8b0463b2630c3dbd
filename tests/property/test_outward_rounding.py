"""What is shown of a certified number contains the exact number, whatever way it is shown.

The judge is exact: balls are made from integers, every shown interval is read back as fractions.
``python tests/property/test_outward_rounding.py 1000000`` tries that many balls.
"""

import json
import math
import random
import re
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from flint import arb, fmpz

import symderiv as sd
from symderiv.api.questions.expectation import Expectation, Question
from symderiv.api.questions.law import LawOfFields
from symderiv.foundation.outputs import Output
from symderiv.gaussian import Value
from symderiv.gaussian.erf_mixture import _rounded_up
from symderiv.precision.balls.decimals import (
    Digits,
    Outward,
    ends,
    nearest_float,
    upwards,
    written,
    zero,
)
from symderiv.precision.balls.working import working_bits
from symderiv.storage.run_files import Contents, read_run, write

pytestmark = pytest.mark.turns(6)

SEED = 2026
BALLS = 100_000


def balls(rng: random.Random, count: int) -> Iterator[tuple[Any, Fraction, Fraction, int]]:
    """Balls with their exact ends, and digits to show: all sizes, widths, and nasty middles."""
    for _ in range(count):
        exponent = rng.choice((-4, 0, 4, rng.randint(-1100, 1100), rng.randint(-60, 60)))
        digits = rng.choice((1, 2, 3, 15, 16, 17, rng.randint(1, 40), rng.randint(1, 120)))
        kind = rng.randrange(5)
        if kind == 0:  # next to a decimal that is short, from below or above
            short = Fraction(rng.randint(-999, 999) or 1, 1000) * Fraction(10) ** (exponent // 4)
            bits = rng.randint(20, 400)
            size = max(abs(short.numerator) // short.denominator, 1).bit_length()
            small = -min(0, abs(short.numerator).bit_length() - short.denominator.bit_length())
            power = size - bits - small
            mantissa = round(short / Fraction(2) ** power) + rng.choice((-1, 0, 1))
        elif kind == 1:  # next to the middle between two doubles
            mantissa = (rng.getrandbits(53) << 60) + (1 << 59) + rng.choice((-1, 0, 1))
            power = exponent - 60
        elif kind == 2:  # around a power of ten
            mantissa = 10 ** rng.randint(0, 60) + rng.choice((-1, 0, 1))
            power = 0
        else:
            mantissa = rng.getrandbits(rng.randint(1, 400)) * rng.choice((-1, 1))
            power = exponent
        radius, radius_power = rng.getrandbits(30), power - rng.randint(-10, 200)
        if rng.random() < 0.15:
            radius = 0
        with working_bits(2000):
            middle = arb((fmpz(mantissa), fmpz(power)))
            spread = arb((fmpz(radius), fmpz(radius_power)))
            ball = arb(middle, spread)
        low = Fraction(mantissa) * Fraction(2) ** power
        width = Fraction(radius) * Fraction(2) ** radius_power
        yield ball, low - width, low + width, digits


def shown(value: str, error: str) -> tuple[Fraction, Fraction]:
    return Fraction(value) - Fraction(error), Fraction(value) + Fraction(error)


QUESTION = Question(
    sp.Integer(1),
    (),
    LawOfFields(sp.ImmutableMatrix([[1]]), None, {}),
    15,
    {"formula": "1", "covariance": [["1"]]},
)


def through_accessors(number: Value) -> dict[str, tuple[Fraction, Fraction]]:
    """The interval as every way of showing a result shows it."""
    result = Expectation(QUESTION, "E", None, number, "a method", None, ())
    record = json.loads(json.dumps(result.to_dict()))
    found = re.search(r"value +(\S+)  \(certified error (\S+)\)", result.to_text())
    assert found is not None
    short = re.search(r"value +(\S+) \(certified error (\S+)\)", repr(result))
    texts = {
        "json": (record["value"], record["error_bound"]),
        "text": found.groups(),
        "attributes": (str(result.value), str(result.error_bound)),
        "format": (f"{result.value}", f"{result.error_bound}"),
    }
    if short is not None:  # long numbers are cut, with a mark, in the short form
        texts["repr"] = short.groups()
    intervals = {name: shown(*pair) for name, pair in texts.items()}
    value, error = Fraction(result.value), Fraction(result.error_bound or 0)
    intervals["decimals"] = (value - error, value + error)
    return intervals


def through_an_answer(ball: Any, digits: int) -> dict[str, tuple[Fraction, Fraction]]:
    """The interval that an answer with one bound for all of its numbers shows of one of them."""
    outward = Outward(digits)
    shown_as = {"in an answer": outward.text(ball)}
    number = outward.number(ball)
    if isinstance(number, float):
        # as it is, and as JSON writes it
        shown_as |= {"a double in an answer": number, "its JSON": json.dumps(number)}  # type: ignore[dict-item]
    record = outward.record()
    return {name: around(Fraction(value), record) for name, value in shown_as.items()}


def around(value: Fraction, record: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """What the bounds of an answer say of a number in it."""
    bound = abs(value) * Fraction(record["relative_error_bound"])
    bound = bound if value else Fraction(record["zero_bound"])
    return value - bound, value + bound


def tried(rng: random.Random, count: int, *, every: int = 20) -> dict[str, int]:
    """How often each way was tried; raises at the first interval that does not contain."""
    counts: dict[str, int] = {}

    def holds(name: str, inside: tuple[Fraction, Fraction], low: Fraction, high: Fraction) -> None:
        counts[name] = counts.get(name, 0) + 1
        assert inside[0] <= low <= high <= inside[1], (SEED, name, inside, low, high)

    for index, (ball, low, high, digits) in enumerate(balls(rng, count)):
        middle, radius = (low + high) / 2, (high - low) / 2
        got = ends(ball)
        # Arb keeps 30 bits of a radius, rounded up
        holds("ends", got, low, high)
        assert got[1] - got[0] <= (high - low) * (1 + Fraction(1, 2**20))
        with working_bits(rng.choice((53, 200, 1500))):
            number = written(ball, None, digits, "a method")
            holds("written", shown(number.value, number.error_bound), low, high)
            if Fraction(1, 10**300) < abs(high) < 10**300:
                bound = Fraction(_rounded_up(abs(ball)))
                holds("as a float", (-bound, bound), low, high)
            bound = Fraction(upwards(abs(ball)))
            holds("upwards", (-bound, bound), low, high)
            for name, within in through_an_answer(ball, digits).items():
                holds(name, within, low, high)
            nought = zero(ball, "a method")
            holds("zero", shown(nought.value, nought.error_bound), low, high)
        exact = sp.Rational(middle.numerator, middle.denominator)
        if index % every == 0:
            rational = written(arb(ball.mid()), exact, digits, "a method")
            holds("rational", shown(rational.value, rational.error_bound), middle, middle)
            for name, interval in through_accessors(number).items():
                holds(name, interval, low, high)
        # the bound is not idle: within the rounding to the digits and the radius, upwards
        assert Fraction(number.error_bound) <= (_unit(middle, digits) + radius) * Fraction(12, 10)
        nearest = nearest_float(got)
        if nearest is not None:
            counts["float"] = counts.get("float", 0) + 1
            assert nearest == _nearest(got[0]) == _nearest(got[1])
    return counts


def _unit(number: Fraction, digits: int) -> Fraction:
    """Not less than one unit of the last of so many digits, and less than ten."""
    if not number:
        return Fraction(0)
    bits = abs(number.numerator).bit_length() - number.denominator.bit_length()
    return Fraction(10) ** (math.floor((bits + 1) * math.log10(2)) + 1 - digits)


def _nearest(number: Fraction) -> float:
    """The nearest double, ties to even, from the definition."""
    if number == 0:
        return 0.0
    size = abs(number)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - 52, -1074)
    units = size / unit
    whole = units.numerator // units.denominator
    rest = units - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2):
        whole += 1
    rounded = whole * unit
    if rounded >= Fraction(2) ** 1024:
        return math.inf if number > 0 else -math.inf
    return math.copysign(math.ldexp(float(whole), max(exponent - 52, -1074)), number)


def test_every_way_of_showing_a_certified_number_contains_it() -> None:
    counts = tried(random.Random(SEED), BALLS // 25)
    assert min(counts.values()) >= BALLS // 1000


def test_numbers_read_back_from_netcdf_contain_the_exact_ones(tmp_path: Path) -> None:
    """Doubles as variables, bounds as attributes; read by symderiv and by xarray."""
    import xarray

    outward, exact, sizes, shown_doubles = Outward(15), [], [], []
    for ball, low, high, _ in balls(random.Random(SEED + 1), 3000):
        number = outward.number(ball)
        if isinstance(number, float) and abs(high) < 10**300:
            exact.append((low, high))
            shown_doubles.append(number)
            sizes.append(_rounded_up(abs(ball)))
    assert len(exact) > 1000
    variables = {"alpha": np.array(sizes), "generalization_error": np.array(shown_doubles)}
    bounds = {key: value for key, value in outward.record().items() if key != "certified"}
    contents = Contents(variables, {}, {**bounds, "largest": max(sizes)})
    path = write(Output(tmp_path / "run.nc", "nc"), contents)
    found, record = read_run(path)
    with xarray.open_dataset(path, engine="h5netcdf") as opened:
        others = {name: opened[name].to_numpy() for name in variables}
        assert opened.attrs["largest"] == record["largest"] == max(sizes)
    for values in (found, others):
        for index, (low, high) in enumerate(exact):
            within = around(Fraction(values["generalization_error"][index]), record)
            assert within[0] <= low <= high <= within[1]
            bound = Fraction(values["alpha"][index])
            assert -bound <= low <= high <= bound


LINEAR = {"learning_rate": 0.5, "exponent": 1, "distinct_eigenvalues": 5, "student_std": 0.1}
NUMBERS = ("generalization_error", "small_learning_rate", "rates", "weights")


@pytest.mark.parametrize("method", ["secular", "companion", "moments"])
def test_digits_of_linear_networks_contain_those_with_more_digits(method: Any) -> None:
    alpha, digits = [0, 3, 40], 24
    many = sd.linear(**LINEAR, alpha=alpha, digits=70).to_dict()  # type: ignore[arg-type]
    for asked in (16, digits) if method == "secular" else (4, 15, digits):
        curve = sd.linear(**LINEAR, alpha=alpha, method=method, digits=asked)  # type: ignore[arg-type]
        record = json.loads(json.dumps(curve.to_dict()))
        assert "FLINT" in record["arithmetic"]
        assert record["arithmetic"] in curve.to_text()
        assert record["relative_error_bound"] in curve.to_text()
        for name in NUMBERS:
            for shown_as in (record[name], list(getattr(curve, name))):
                for value, exact in zip(shown_as, many[name], strict=True):
                    low, high = around(Fraction(value), record)
                    assert low <= Fraction(exact) <= high
        for text, exact in zip(record["generalization_error"], many[NUMBERS[0]], strict=True):
            assert str(text)[:6] in curve.to_text()
            assert abs(Fraction(text) / Fraction(exact) - 1) < Fraction(1, 10 ** (asked - 1))


def test_a_plateau_contains_that_with_more_digits() -> None:
    def numbers(digits: int) -> dict[str, Any]:
        found = sd.plateau(units=3, distinct_eigenvalues=3, exponent=1, digits=digits).to_dict()
        return dict(json.loads(json.dumps(found)))

    many = numbers(60)
    for digits in (15, 25):
        record = numbers(digits)
        values = dict(leaves(record))
        exact = dict(leaves(many))
        assert set(values) == set(exact)
        assert len(values) > 40
        for place, value in values.items():
            low, high = around(Fraction(value), record)
            if value and not exact[place]:
                continue  # below what the one with more digits resolves
            assert low <= Fraction(exact[place]) <= high, place


#: What an answer says of itself, and what was asked.
OTHERS = {"relative_error_bound", "zero_bound", "digits", "units", "multiplicity", "learning_rate"}


def leaves(tree: Any, *place: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The numbers of a JSON object, texts of numbers included, with their places."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key not in OTHERS and not isinstance(value, bool):
                yield from leaves(value, *place, key)
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from leaves(value, *place, index)
    elif isinstance(tree, float) or (
        isinstance(tree, str) and re.fullmatch(r"-?\d+\.\d+(e\S+)?|0", tree)
    ):
        yield place, tree


def test_decimals_keep_their_text_and_mix_with_floats() -> None:
    rng = random.Random(SEED)
    for ball, _, _, digits in balls(rng, 500):
        text = written(ball, None, digits, "").value
        number = Digits(text)
        assert str(number) == repr(number) == f"{number}" == text
        assert Fraction(number) == Fraction(text)
        assert isinstance(number * 0.5, float)
        assert isinstance(0.5 - number, float)
        assert number == Digits(str(number))


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else BALLS
    start = time.process_time()
    for name, number in tried(random.Random(SEED), wanted, every=1).items():
        print(f"{name:20}{number:9} intervals, all contain the exact number")
    print(f"{time.process_time() - start:.1f} CPU s")
