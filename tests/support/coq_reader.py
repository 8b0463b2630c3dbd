"""A Coq file of a fixed point, read back and checked in intervals of mpmath.

Nothing of the writer is used: formulas are read from the definitions, slopes are derivatives
carried along with values, and Krawczyk's inclusion is worked out from the numbers in the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mpmath import iv

_TERM = re.compile(r"\(t(\d+) y\)|\bt(\d+)\b")


@dataclass(frozen=True)
class Slope:
    """An interval with the derivatives by all coordinates."""

    value: Any
    slopes: list[Any]

    def __add__(self, other: Slope) -> Slope:
        pairs = zip(self.slopes, other.slopes, strict=True)
        return Slope(self.value + other.value, [a + b for a, b in pairs])

    def __neg__(self) -> Slope:
        return Slope(-self.value, [-a for a in self.slopes])

    def __sub__(self, other: Slope) -> Slope:
        return self + -other

    def __mul__(self, other: Slope) -> Slope:
        pairs = zip(self.slopes, other.slopes, strict=True)
        slopes = [a * other.value + self.value * b for a, b in pairs]
        return Slope(self.value * other.value, slopes)

    def of(self, value: Any, derivative: Any) -> Slope:
        return Slope(value, [derivative * a for a in self.slopes])

    def __truediv__(self, other: Slope) -> Slope:
        inverse = 1 / other.value
        return self * other.of(inverse, -inverse * inverse)


def _arctangent(x: Any) -> Any:
    """Return the arctangent of an interval, from its ends to many digits."""
    from mpmath import mp

    ends = [mp.atan(mp.mpf(end)) for end in (x.a, x.b)]
    spare = mp.mpf(2) ** (8 - mp.prec)
    return iv.mpf([ends[0] - spare, ends[1] + spare])


@dataclass(frozen=True)
class Claim:
    """What a file claims.

    Attributes:
        middle, radius: The box, each a list of intervals of no width.
        rates: A function of a list of intervals, that returns values with slopes.
        inverse: What the rates are multiplied by in the map that contracts, row by row.
    """

    middle: list[Any]
    radius: list[Any]
    rates: Callable[[Sequence[Any]], list[Slope]]
    inverse: list[list[Any]]

    def holds(self) -> bool:
        """Whether the map takes the box into its interior, and has one fixed point there."""
        size = len(self.middle)
        box = [m + iv.mpf([-1, 1]) * r for m, r in zip(self.middle, self.radius, strict=True)]
        try:
            slopes = [each.slopes for each in self.rates(box)]
            at = [each.value for each in self.rates(self.middle)]
        except ValueError:  # a root of a negative number
            return False
        for a in range(size):
            moved = sum((c * f for c, f in zip(self.inverse[a], at, strict=True)), iv.mpf(0))
            spread = iv.mpf(0)
            for b in range(size):
                products = zip(self.inverse[a], slopes, strict=True)
                entry = int(a == b) - sum((c * row[b] for c, row in products), iv.mpf(0))
                spread += abs(entry) * self.radius[b]
            if not (abs(moved) + spread).b < self.radius[a].a:
                return False
        return True


def claim_of(source: str) -> Claim:
    """Return what the theorem of a file says."""
    middle, radius = (_cases(source, name) for name in ("middle", "radius"))
    size = len(middle)
    stated = re.search(rf"Theorem fixed_point : exists y,\n  inside {size} middle radius y", source)
    assert stated is not None
    outputs = [
        int(k) for k in re.findall(r"Definition rate_\d+ \(y : nat -> R\) : R := t(\d+) y", source)
    ]
    assert len(outputs) == size
    formulas = re.findall(r"Definition t(\d+)(?: \(y : nat -> R\))? : R := (.*)\.\n", source)
    compiled = {int(k): compile(_python(text), f"t{k}", "eval") for k, text in formulas}

    def rates(state: Sequence[Any]) -> list[Slope]:
        zeros = [iv.mpf(0)] * size
        y = [Slope(x, [iv.mpf(int(a == b)) for b in range(size)]) for a, x in enumerate(state)]
        known: dict[int, Slope] = {}
        functions = {
            "number": lambda a, b=1: Slope(iv.mpf(a) / iv.mpf(b), zeros),
            "PI": Slope(iv.pi, zeros),
            "sqrt": lambda x: x.of(iv.sqrt(x.value), 1 / (2 * iv.sqrt(x.value))),
            "atan": lambda x: x.of(_arctangent(x.value), 1 / (1 + x.value * x.value)),
            "exp": lambda x: x.of(iv.exp(x.value), iv.exp(x.value)),
            "ln": lambda x: x.of(iv.log(x.value), 1 / x.value),
            "y": y,
            "t": known,
        }
        for k, code in compiled.items():
            known[k] = eval(code, functions)
        return [known[k] for k in outputs]

    text = re.search(r"Definition corrected .*\n  match i with (.*) \| _ => 0 end\.", source)
    assert text is not None
    rows = [
        re.findall(r"(\(?-? ?\(?\d+(?: / \d+\))?\)?) \* \(t(\d+) y\)", row)
        for row in text[1].split(" | ")
    ]
    assert all([int(k) for _, k in row] == outputs for row in rows)
    return Claim(middle, radius, rates, [[_interval(c) for c, _ in row] for row in rows])


def _cases(source: str, name: str) -> list[Any]:
    text = re.search(
        rf"Definition {name} \(i : nat\) : R := match i with (.*) \| _ => 0 end\.", source
    )
    assert text is not None
    return [_interval(case.split("=>")[1]) for case in text[1].split(" | ")]


def _interval(text: str) -> Any:
    numbers = [int(each) for each in re.findall(r"\d+", text)]
    size = iv.mpf(numbers[0]) / iv.mpf(numbers[1] if len(numbers) > 1 else 1)
    return -size if "-" in text else size


def _python(text: str) -> str:
    """Return a formula of one operation in Python."""
    state = re.fullmatch(r"y (\d+)%nat", text)
    if state:
        return f"y[{state[1]}]"
    number = re.fullmatch(r"(\(- )?\(?(\d+)(?: / (\d+))?\)*", text)
    if number:
        return f"{'-' if number[1] else ''}number({number[2]}, {number[3] or 1})"
    applied = re.sub(r"^(sqrt|atan|exp|ln) (.*)$", r"\1(\2)", text)
    return _TERM.sub(lambda found: f"t[{found[1] or found[2]}]", applied)
