"""Check a record of a proved run: python check_enclosures.py RECORD.json

The program needs python-flint and nothing of symderiv. A record claims that the exact solution of
y' = f(y) from its start lies, at the begin of each step and at the end of the last one, in a set
c + A r, with r in the box [-b, b]. Where f jumps at times, the record has stages: each f holds from
its "begin" to that of the next. For each step the program proves, with balls of Arb:

1. No trajectory from the set leaves a box B before the step ends: hull + [0, h] f(B) lies inside B.
2. The point c moves to the value of its Taylor series, with the next Taylor coefficient, over B, as
   remainder. Coefficients follow from recursions over the list of operations.
3. The Jacobian of the flow is a time-ordered exponential of a matrix in Df(B), whose terms are
   means of products of matrices in Df(B).
4. The image of the set, turned into the axes of the next set, lies inside the box of the next set.

It prints one line, and ends with 0 if everything was proved, 1 if a step was not, 2 if the file is
no such record. Prove f itself by other means: the operations are listed in the record.
"""
# The file stands alone: it is copied beside a record, so it names no types but those of balls.
# ruff: noqa: B905

from __future__ import annotations

import json
import sys
from fractions import Fraction
from functools import reduce
from typing import Any

from flint import arb, arb_mat, ctx, fmpq

MORE_TERMS = 30
EXPONENTIAL_TERMS = 40
BINARY = {"add", "sub", "mul", "div"}
Balls = list[arb]
Operations = list[list[Any]]


class NotProvedError(Exception):
    """A claim of the record could not be proved."""


def dyadic(text: str) -> arb:
    mantissa, exponent = text.split("*2^")
    return arb((int(mantissa), int(exponent)))


def between(ends: list[str]) -> arb:
    return dyadic(ends[0]).union(dyadic(ends[1]))


def rational(text: str) -> arb:
    value = Fraction(text)
    return arb(fmpq(value.numerator, value.denominator))


def product(x: Balls, y: Balls, n: int) -> arb:
    """Return coefficient n of a product of two series."""
    return sum((x[k] * y[n - k] for k in range(n + 1)), arb(0))


def derived(x: Balls, factor: Balls, n: int) -> arb:
    """Return coefficient n of z with z' = x' factor, from coefficients of x and factor."""
    return sum((k * x[k] * factor[n - k] for k in range(1, n + 1)), arb(0)) / n


class Series:
    """Taylor coefficients of every operation along the solution, one order after the other."""

    def __init__(self, operations: Operations, outputs: list[int], start: Balls) -> None:
        self.operations, self.outputs = operations, outputs
        self.values: list[Balls] = [[] for _ in operations]
        self.helpers: list[Balls] = [[] for _ in operations]
        self.series: list[tuple[Balls, Balls, Balls]] = [([], [], []) for _ in operations]
        self.state = [[x] for x in start]
        self.order = 0

    def advance(self) -> None:
        """Append the next coefficient to every operation and to the state."""
        n = self.order
        for place, (name, *arguments) in enumerate(self.operations):
            self.values[place].append(self.coefficient(place, name, arguments, n))
        for coordinate, output in zip(self.state, self.outputs):
            coordinate.append(self.values[output][n] / (n + 1))
        self.order += 1

    def coefficient(self, place: int, name: str, arguments: list[Any], n: int) -> Any:
        if name == "state":
            return self.state[arguments[0]][n]
        if name in ("number", "pi"):
            constant = arb.pi() if name == "pi" else rational(arguments[0])
            return constant if n == 0 else arb(0)
        x = self.values[arguments[0]]
        z = self.values[place]
        if name == "neg":
            return -x[n]
        if name in BINARY:
            y = self.values[arguments[1]]
            if name == "add":
                return x[n] + y[n]
            if name == "sub":
                return x[n] - y[n]
            if name == "mul":
                return product(x, y, n)
            return (x[n] - sum((z[k] * y[n - k] for k in range(n)), arb(0))) / y[0]
        if name == "sqrt":
            if n == 0:
                return x[0].sqrt()
            return (x[n] - sum((z[k] * z[n - k] for k in range(1, n)), arb(0))) / (2 * z[0])
        if n == 0:
            return getattr(x[0], name)()
        return derived(x, self.slope(place, name, x, z, n), n)

    def slope(self, place: int, name: str, x: Balls, z: Balls, n: int) -> Balls:
        """Return coefficients 0 to n - 1 of dz/dx for z a function of x."""
        if name == "exp":
            return z
        coefficients = self.helpers[place]
        if name == "log":
            for m in range(len(coefficients), n):
                rest = sum((coefficients[k] * x[m - k] for k in range(m)), arb(0))
                coefficients.append((arb(int(m == 0)) - rest) / x[0])
            return coefficients
        square, root, inverse = self.series[place]
        if name in ("sin", "cos"):
            for m in range(len(square), n):
                square.append(derived(x, root, m) if m else x[0].sin())
                root.append(-derived(x, square, m) if m else x[0].cos())
            return root if name == "sin" else [-each for each in square]
        for m in range(len(inverse), n):
            square.append(product(x, x, m))
            one = arb(1) if m == 0 else arb(0)
            if name in ("asin", "acos"):
                inside = one - square[m]
                rest = sum((root[k] * root[m - k] for k in range(1, m)), arb(0))
                root.append((inside - rest) / (2 * root[0]) if m else inside.sqrt())
                sign = one if name == "asin" else -one
            elif name == "atan":
                root.append(one + square[m])
                sign = one
            elif name == "erf":
                first = 2 / arb.pi().sqrt() * (-square[0]).exp()
                terms = (k * -square[k] * inverse[m - k] for k in range(1, m + 1))
                inverse.append(sum(terms, arb(0)) / m if m else first)
                continue
            else:
                raise NotProvedError(f"the function {name} is not known here")
            rest = sum((inverse[k] * root[m - k] for k in range(m)), arb(0))
            inverse.append((sign - rest) / root[0])
        return inverse


def rates(operations: Operations, outputs: list[int], state: Balls) -> Balls:
    series = Series(operations, outputs, state)
    series.advance()
    return [series.values[output][0] for output in outputs]


def differential(name: str, z: arb, x: arb, y: arb | None) -> Balls:
    """Return the derivatives of one operation by its arguments, at z(x) or z(x, y)."""
    if y is not None:
        by_both = {"add": [arb(1), arb(1)], "sub": [arb(1), arb(-1)], "mul": [y, x]}
        return by_both.get(name) or [1 / y, -x / (y * y)]
    arc = (1 - x * x).sqrt()
    one = {"neg": arb(-1), "sqrt": 1 / (2 * z), "log": 1 / x, "exp": z, "asin": 1 / arc}
    one |= {"acos": -1 / arc, "atan": 1 / (1 + x * x), "sin": x.cos(), "cos": -x.sin()}
    return [(one | {"erf": 2 / arb.pi().sqrt() * (-x * x).exp()})[name]]


def slopes(operations: Operations, outputs: list[int], state: Balls) -> arb_mat:
    """Return the Jacobian Df over a box, by forward differentiation."""
    size = len(state)
    series = Series(operations, outputs, state)
    series.advance()
    values = [each[0] for each in series.values]
    gradients: list[Balls] = []
    for place, (name, *arguments) in enumerate(operations):
        gradient = [arb(0)] * size
        if name == "state":
            gradient[arguments[0]] = arb(1)
        elif name not in ("number", "pi"):
            given = [values[each] for each in arguments]
            by = differential(name, values[place], given[0], given[1] if given[1:] else None)
            for factor, each in zip(by, arguments):
                gradient = [x + factor * y for x, y in zip(gradient, gradients[each])]
        gradients.append(gradient)
    return arb_mat(len(outputs), size, [x for output in outputs for x in gradients[output]])


def exponential(matrix: arb_mat, time: arb) -> arb_mat:
    """Return sum_k (time matrix)^k / k!, with a bound on its remainder by the norm."""
    size = matrix.nrows()
    scaled = matrix * time
    rows = [sum((abs(scaled[i, j]) for j in range(size)), arb(0)).upper() for i in range(size)]
    norm = reduce(arb.max, rows).upper()
    term = arb_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])
    total, bound = term, arb(1)
    for order in range(1, EXPONENTIAL_TERMS):
        term, bound = term * scaled / order, bound * norm / order
        total = total + term
    ratio = norm / EXPONENTIAL_TERMS
    if not ratio < 1:
        raise NotProvedError("the step is too long for the Jacobian of its flow")
    rest = (bound * ratio / (1 - ratio)).upper()
    return total + arb_mat(size, size, [arb(0, rest)] * (size * size))


class Region:
    """The set c + A r, with r in [-b, b]."""

    def __init__(self, record: dict[str, Any], size: int) -> None:
        self.centre = [dyadic(x) for x in record["centre"]]
        self.axes = arb_mat(size, size, [dyadic(x) for x in record["axes"]])
        self.box = [arb(0, dyadic(x)) for x in record["box"]]

    def hull(self) -> Balls:
        moved = (self.axes * arb_mat(len(self.box), 1, self.box)).entries()
        return [c + x for c, x in zip(self.centre, moved)]


def check_step(
    operations: Operations, outputs: list[int], step: dict[str, Any], begin: Region, end: Region
) -> None:
    size, time = len(outputs), dyadic(step["time"])
    if not time > 0:
        raise NotProvedError("its time is not positive")
    box, hull = [between(x) for x in step["box"]], begin.hull()
    whole = arb(0).union(time)
    image = [x + whole * f for x, f in zip(hull, rates(operations, outputs, box))]
    if not all(x.contains(y) for x, y in zip(box, image)):
        raise NotProvedError("trajectories may leave the box")
    flow = exponential(slopes(operations, outputs, image), time)
    inverse = end.axes.inv()
    moved = (inverse * (flow * begin.axes)) * arb_mat(size, 1, begin.box)
    centre, over = (Series(operations, outputs, start) for start in (begin.centre, image))
    for terms in range(1, step["terms"] + MORE_TERMS):
        centre.advance()
        over.advance()
        if terms >= step["terms"]:
            reached = [coordinate[terms] for coordinate in over.state]
            for n in reversed(range(terms)):
                reached = [coordinate[n] + time * x for coordinate, x in zip(centre.state, reached)]
            error = inverse * arb_mat(size, 1, [x - c for x, c in zip(reached, end.centre)])
            if all(x.contains(y) for x, y in zip(end.box, (moved + error).entries())):
                return
    raise NotProvedError("its end is not in the next set")


def stage_of(stages: list[dict[str, Any]], begin: arb, time: arb) -> dict[str, Any]:
    """Return the stage in which a step lies."""
    begun = [each for each in stages if dyadic(each["begin"]) <= begin]
    if not all(begin + time <= dyadic(each["begin"]) for each in stages[len(begun) :]):
        raise NotProvedError("the rates jump within it")
    return begun[-1]


def check(record: dict[str, Any]) -> int:
    """Prove every step of a record; return the number of steps."""
    if record.get("format") != "symderiv enclosures" or record.get("version") not in (1, 2):
        raise ValueError("not a record of enclosures of version 1 or 2")
    ctx.prec = int(record["bits"]) + 20
    stages = record.get("stages") or [{**record, "begin": "0*2^0"}]
    size, steps, now = len(stages[0]["rates"]), record["steps"], arb(0)
    regions = [Region(each["region"], size) for each in steps] + [Region(record["end"], size)]
    start = [rational(x) for x in record["start"]]
    inverse = regions[0].axes.inv()
    error = arb_mat(size, 1, [x - c for x, c in zip(start, regions[0].centre)])
    if not all(x.contains(y) for x, y in zip(regions[0].box, (inverse * error).entries())):
        raise NotProvedError("the start is not in the first set")
    for number, step in enumerate(steps):
        try:
            stage = stage_of(stages, now, dyadic(step["time"]))
            pair = regions[number : number + 2]
            check_step(stage["operations"], stage["rates"], step, *pair)
            now += dyadic(step["time"])
        except NotProvedError as reason:
            raise NotProvedError(f"step {number + 1} of {len(steps)}: {reason}") from None
    return len(steps)


def main(arguments: list[str]) -> int:
    try:
        with open(arguments[0], encoding="utf-8") as file:
            record = json.load(file)
        count = check(record)
    except NotProvedError as reason:
        print(f"not proved: {reason}")
        return 1
    except (IndexError, OSError, ValueError, KeyError) as reason:
        print(f"no record that can be read: {reason}")
        return 2
    print(f"proved: {count} steps, {len(record['start'])} order parameters")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
