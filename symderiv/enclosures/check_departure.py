"""Check what a record of a proved run passes and tends to: python check_departure.py RECORD.json

The program needs python-flint and nothing of symderiv. It takes for granted that trajectories stay
in the sets and boxes of the record, which check_enclosures.py proves. From these it proves, with
balls of Arb, what the record claims under "departure" and "limit":

1. Times. The error is above a level until the first of two times, and below it at the second. On
   each piece of time it is above the level, or falls all the way and is above it at the end.
2. The fixed point that is passed. Krawczyk's operator maps a box of twice the width into that of
   the record, which therefore holds exactly one zero of the rates. Gershgorin's discs tell how many
   eigenvalues of the Jacobian have a positive real part; all others have a negative one. At the
   time of the record no coordinate of the run is farther away than claimed.
3. The limit. For y = c + A z, the symmetric part of the Jacobian in z is below -m in the ball
   |z| <= r, and c moves at most at the speed m d, with d < r. So trajectories in the ball stay in
   it and tend to its only fixed point, which has |z| <= d. The run ends in the ball.

It prints one line, and ends with 0 if all was proved, 1 if a claim was not, 2 if the file is no
record or has no claim. That the error is the one which is meant, its operations tell.
"""
# The file stands alone: it is copied beside a record, so it names no types but those of balls.
# ruff: noqa: B905

from __future__ import annotations

import json
import sys
from fractions import Fraction
from itertools import accumulate
from operator import add, methodcaller, mul, neg, sub, truediv
from typing import Any

from flint import acb_mat, arb, arb_mat, arb_series, ctx, fmpq

MORE_TERMS, EXPONENTIAL_TERMS, SHORTEST = 4, 40, Fraction(1, 2**40)
FUNCTIONS = ("sqrt", "asin", "acos", "atan", "exp", "log", "erf", "sin", "cos")
OPERATIONS: dict[str, Any] = {name: methodcaller(name) for name in FUNCTIONS}
OPERATIONS |= {"add": add, "sub": sub, "mul": mul, "div": truediv, "neg": neg}
Balls = list[arb]


def claim(holds: Any, words: str) -> None:
    if not holds:
        raise ArithmeticError(words)


def exact(text: str) -> Fraction:
    """Return the number of a text: m*2^e, a decimal or a fraction."""
    mantissa, power, exponent = text.partition("*2^")
    return Fraction(mantissa) * Fraction(2) ** int(exponent) if power else Fraction(text)


def ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def number(text: str) -> arb:
    return ball(exact(text))


def numbers(texts: list[str]) -> Balls:
    return [number(text) for text in texts]


def column(values: Balls) -> arb_mat:
    return arb_mat(len(values), 1, values)


class Composed:
    """Operations as a function of the state, in balls or in power series of balls."""

    def __init__(self, operations: list[list[Any]], places: list[int]) -> None:
        self.operations, self.places = operations, places

    def all_values(self, state: list[Any]) -> list[Any]:
        leaves: dict[str, Any] = {"state": state.__getitem__, "number": number, "pi": arb.pi}
        known = leaves | OPERATIONS
        values: list[Any] = []
        for name, *given in self.operations:
            claim(name in known, f"the operation {name} is not known here")
            arguments = given if name in leaves else [values[n] for n in given]
            values.append(known[name](*arguments))
        return values

    def __call__(self, state: list[Any]) -> list[Any]:
        return [*map(self.all_values(state).__getitem__, self.places)]

    def slopes(self, state: Balls) -> arb_mat:
        """Return the derivatives of the results over a box, by forward differentiation."""
        values, gradients = self.all_values(state), list[Balls]()
        for place, (name, *arguments) in enumerate(self.operations):
            gradient = [arb(int(name == "state" and arguments[0] == n)) for n in range(len(state))]
            if name in OPERATIONS:
                given = [values[n] for n in arguments]
                for factor, n in zip(factors(name, values[place], *given), arguments):
                    gradient = [x + factor * y for x, y in zip(gradient, gradients[n])]
            gradients.append(gradient)
        return arb_mat([gradients[place] for place in self.places])


def factors(name: str, z: arb, x: arb, y: Any = None) -> list[Any]:
    """Return the derivatives of an operation z(x) or z(x, y) by its arguments."""
    if y is not None:
        by_both = {"add": [1, 1], "sub": [1, -1], "mul": [y, x]}
        return by_both[name] if name in by_both else [1 / y, -z / y]
    one = {"neg": -1, "sqrt": 0.5 / z, "log": 1 / x, "exp": z, "atan": 1 / (1 + x * x)}
    one |= {"asin": 1 / (1 - x * x).sqrt(), "acos": -1 / (1 - x * x).sqrt(), "cos": -x.sin()}
    return [(one | {"erf": 2 / arb.pi().sqrt() * (-x * x).exp(), "sin": x.cos()})[name]]


def identity(size: int) -> arb_mat:
    return arb_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])


def taylor(rates: Composed, start: Balls, order: int) -> list[Balls]:
    """Return Taylor coefficients of the solution from a start, up to this order."""
    columns = [start]
    for n in range(1, order + 1):
        ctx.cap = n
        moved = rates([arb_series(list(each), n) for each in zip(*columns)])
        columns.append([arb_series(x, n)[n - 1] / n for x in moved])
    return columns


def exponential(matrix: arb_mat) -> arb_mat:
    """Return a bound on the exponential series of products of matrices from a ball of matrices."""
    norm = sum((abs(x).upper() for x in matrix.entries()), arb(0)).upper()
    claim(norm < EXPONENTIAL_TERMS / 2, "a step is too long for the Jacobian of its flow")
    term = total = identity(matrix.nrows())
    bound = arb(1)
    for order in range(1, EXPONENTIAL_TERMS):
        term, bound = term * matrix / order, bound * norm / order
        total = total + term
    # the remaining terms are less than a geometric series of ratio 1/2
    rest = (2 * bound * norm / EXPONENTIAL_TERMS).upper()
    return arb_mat([[x + arb(0, rest) for x in row] for row in total.tolist()])


class TubeStep:
    """A step of the record, with the states at all its times."""

    def __init__(self, rates: Composed, record: dict[str, Any], begin: Fraction) -> None:
        self.rates, self.begin, self.time = rates, begin, exact(record["time"])
        self.centre, self.axes, self.box = region(record["region"])
        self.hull = spread(self.centre, self.axes, self.box)
        outer = [low.union(high) for low, high in map(numbers, record["box"])]
        whole = arb(0).union(ball(self.time))
        self.rough = [x + whole * f for x, f in zip(self.hull, rates(outer))]
        self.order = record["terms"] + MORE_TERMS
        self.series: list[Balls] = []

    def states(self, time: arb) -> tuple[Balls, arb_mat]:
        """Return centre and axes of the set of states after a time, or at all times of a ball."""
        if not self.series:
            last = taylor(self.rates, self.rough, self.order)[-1]
            self.series = [*taylor(self.rates, self.centre, self.order - 1), last]
            self.slopes = self.rates.slopes(self.rough)
        centre = self.series[-1]
        for each in reversed(self.series[:-1]):
            centre = [x + time * y for x, y in zip(each, centre)]
        return centre, exponential(self.slopes * time) * self.axes

    def at(self, function: Composed, time: Fraction) -> Any:
        """Return a bound on a function at a time, from its value at the centre and its slopes."""
        centre, axes = self.states(ball(time))
        slopes = function.slopes(spread(centre, axes, self.box))
        return function(centre)[0] + (slopes * axes * column(self.box)).entries()[0]

    def stays_above(self, function: Composed, level: arb, low: Fraction, high: Fraction) -> None:
        """Prove that a function is above a level at all times from ``low`` to ``high``."""
        centre, axes = self.states(ball(low).union(ball(high)))
        hull = spread(centre, axes, self.box)
        speed = (function.slopes(hull) * column(self.rates(hull))).entries()[0]
        if function(hull)[0] > level or (speed < 0 and self.at(function, high) > level):
            return
        claim(high - low > SHORTEST, "the error is not above its level before the time given")
        middle = (low + high) / 2
        self.stays_above(function, level, low, middle)
        self.stays_above(function, level, middle, high)


def region(record: dict[str, Any]) -> tuple[Balls, arb_mat, Balls]:
    centre = numbers(record["centre"])
    axes = arb_mat(len(centre), len(centre), numbers(record["axes"]))
    return centre, axes, [arb(0, x) for x in numbers(record["box"])]


def spread(centre: Balls, axes: arb_mat, box: Balls) -> Balls:
    return [c + x for c, x in zip(centre, (axes * column(box)).entries())]


def check_time(steps: list[TubeStep], error: Composed, level: arb, ends: list[str]) -> None:
    begin, end = map(exact, ends)
    for step in steps:
        if step.begin < begin and not error(step.rough)[0] > level:
            step.stays_above(error, level, Fraction(0), min(step.time, begin - step.begin))
    reached = [s.at(error, end - s.begin) for s in steps if s.begin <= end <= s.begin + s.time]
    claim(reached and reached[0] < level, "the error is not below its level at the time given")


def check_departure(steps: list[TubeStep], record: dict[str, Any]) -> str:
    error = Composed(record["error"]["operations"], [record["error"]["place"]])
    for name in ("entered", "left"):
        check_time(steps, error, number(record["levels"][name]), record[name])
    (a, b), (c, d) = (map(exact, record[name]) for name in ("entered", "left"))
    least, most = map(exact, record["length"])
    claim(b <= c and least <= c - b and d - a <= most, "the length of the plateau is another one")
    told = f"leaves its plateau between {' and '.join(record['left'])}"
    if record["passes"] is None:
        return told
    time = exact(record["passes"]["time"])
    near = [step for step in steps if step.begin == time]
    claim(near and b <= time <= c, "no step of the plateau begins at the time given")
    point, index = check_point(near[0].rates, record["passes"])
    away, distance = zip(near[0].hull, point), number(record["passes"]["distance"])
    claim(all(abs(x - y) <= distance for x, y in away), "the run is farther away than claimed")
    return f"passes a fixed point of index {index}, {told}"


def check_point(rates: Composed, record: dict[str, Any]) -> tuple[Balls, int]:
    box = [low.union(high) for low, high in map(numbers, record["box"])]
    size, middle = len(box), [x.mid() for x in box]
    wide = [m + 2 * (x - m) for x, m in zip(box, middle)]
    inverse = rates.slopes(middle).inv().mid()
    left = identity(size) - inverse * rates.slopes(wide)
    moved = left * column([x - m for x, m in zip(wide, middle)])
    image = (column(middle) - inverse * column(rates(middle)) + moved).entries()
    inside = [x.contains(y) and w.contains_interior(x) for w, x, y in zip(wide, box, image)]
    claim(all(inside), "there may be no fixed point, or several, in the box")
    matrix = acb_mat(rates.slopes(box))
    basis = matrix.mid().eig(right=True, algorithm="approx")[1].mid()
    similar = basis.inv() * matrix * basis
    others = [sum((abs(similar[n, m]) for m in range(size) if m != n), arb(0)) for n in range(size)]
    discs = [similar[n, n].real + arb(0, each.upper()) for n, each in enumerate(others)]
    claim(all(x > 0 or x < 0 for x in discs), "the sign of an eigenvalue is not proved")
    index = sum(bool(x > 0) for x in discs)
    claim(index == record["index"] > 0, f"the index of the fixed point is {index}")
    return box, index


def check_limit(rates: Composed, end: Balls, record: dict[str, Any]) -> str:
    centre, size = numbers(record["centre"]), len(end)
    axes = arb_mat(size, size, numbers(record["axes"]))
    radius, rate, distance = numbers([record[name] for name in ("radius", "rate", "distance")])
    inverse = axes.inv()

    def length(values: Balls) -> arb:
        sizes = [abs(x).upper() for x in (inverse * column(values)).entries()]
        return sum((x * x for x in sizes), arb(0)).sqrt()

    reach = [sum((axes[n, m] ** 2 for m in range(size)), arb(0)).sqrt() for n in range(size)]
    box = [c + arb(0, (x * radius).upper()) for c, x in zip(centre, reach)]
    matrix = inverse * rates.slopes(box) * axes
    for n in range(size):
        others = (abs(matrix[n, m] + matrix[m, n]) / 2 for m in range(size) if m != n)
        claim(matrix[n, n] + sum(others, arb(0)) < -rate, "the flow may not contract the ball")
    claim(rate > 0 and distance < radius, "the ball or its rate is too small")
    claim(length(rates(centre)) <= rate * distance, "the fixed point may be farther away")
    claim(length([x - c for x, c in zip(end, centre)]) <= radius, "the run ends elsewhere")
    return "tends to a fixed point"


def check(record: dict[str, Any]) -> str:
    """Prove the claims of a record; return them in words."""
    ctx.prec, told = int(record["bits"]) + 20, []
    given = record.get("stages") or [{**record, "begin": "0"}]
    stages = [(exact(x["begin"]), Composed(x["operations"], x["rates"])) for x in given]
    if "departure" in record:
        begins = [Fraction(0), *accumulate(exact(each["time"]) for each in record["steps"])]
        rates = [[each for at, each in stages if at <= begin][-1] for begin in begins]
        steps = [TubeStep(*each) for each in zip(rates, record["steps"], begins)]
        told.append(check_departure(steps, record["departure"]))
    if "limit" in record:
        end = spread(*region(record["end"]))
        claim(stages[-1][0] < sum(exact(x["time"]) for x in record["steps"]), "rates jump later")
        told.append(check_limit(stages[-1][1], end, record["limit"]))
    return ", ".join(told)


def main(arguments: list[str]) -> int:
    try:
        with open(arguments[0], encoding="utf-8") as file:
            record = json.load(file)
        known = record.get("format") == "symderiv enclosures" and record.get("version") in (1, 2)
        if not known or not record.keys() & {"departure", "limit"}:
            raise ValueError("no record of version 1 or 2 with a departure or a limit")
    except (IndexError, OSError, ValueError) as reason:
        print(f"no record that can be read: {reason}")
        return 2
    try:
        told = check(record)
    except (ArithmeticError, ValueError) as reason:
        print(f"not proved: {reason}")
        return 1
    print(f"proved, if the steps are: {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
