r"""Analytic strips: where a function is analytic beside the real line, and how large it is there.

The rectangle |Re z| <= reach, |Im z| <= width is covered with cells; ball arithmetic on a cell
proves that the function is analytic on it and bounds it. Cells whose bounds are too weak are
halved. The functions are real on the real line, so the upper half suffices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import sympy as sp
from flint import acb, arb

from symderiv.foundation.errors import NotYetError
from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature.growth import growth
from symderiv.precision.quadrature.one_variable import OneVariable, Undefined

_BITS: Final = 64
_DEPTH: Final = 15
_SLACK: Final = 2.3  # a cell's bound may exceed the values found so far by exp(this + width)
_MAX_CELLS: Final = 6000
_LONGEST: Final = 1_000_000  # cells of a strip, at most
# Widths, in units of the largest that is useful, or as factors between neighbours.
_START: Final = 0.02
_NARROWEST: Final = 1e-5
_STEP: Final = 1.5
_HALVINGS: Final = 4


@dataclass(frozen=True)
class Strip:
    """The bound |f(x + iy)| <= factor exp(rate |x|) for |y| <= width, |x| <= reach, and for all
    real x.
    """

    width: float
    reach: float
    factor: arb
    rate: arb


def strips_for(
    function: OneVariable, widest: float, reach: float, deviation: float, accuracy: float
) -> tuple[Strip, ...]:
    """Return :func:`strips` for a rule, with rounded arguments so that similar requests share them.

    Args:
        function: The function that is averaged.
        widest, reach: The largest width of strips, and their extent along the real line.
        deviation: The standard deviation of the function's field.
        accuracy: Natural logarithm of the accuracy of the rule.
    """
    return strips(
        function.expression,
        function.variable,
        2.0 ** (math.ceil(2 * math.log2(widest)) / 2),
        2.0 ** (math.ceil(4 * math.log2(reach)) / 4),
        2.0 ** math.floor(math.log2(0.5 / deviation)),
        10.0 * math.ceil(accuracy / 10),
    )


@lru_cache(maxsize=256)
def strips(
    g: sp.Expr, x: sp.Symbol, widest: float, reach: float, extra: float, largest: float = math.inf
) -> tuple[Strip, ...]:
    """Return strips of ``g``, the widest first: the largest provable width, and smaller ones.

    The last one is narrow: its factor is about the size of the function on the real line.

    Args:
        g: Function of ``x``, analytic on the real line.
        x: Its variable.
        widest: No strip needs to be wider.
        reach: The strips' extent along the real line; made larger if the growth asks for it.
        extra: Powers of x are covered by exp(extra |x|).
        largest: Strips need not be wider than where the function is exp(largest) times as large
            as on the real line.

    Raises:
        NotYetError: No strip was found, or no bound of the growth on the real line.
    """
    with working_bits(_BITS):
        tail = growth(g, x)
        factor, rate = tail.exponential(arb(extra))
        reach = max(reach, float(tail.start))
        search = _Search(OneVariable(g, x), reach, factor, rate)
        width, strip = _START * widest, None
        while strip is None:
            strip = search.strip(width)
            if strip is None and width < _NARROWEST * widest:
                raise NotYetError(
                    f"not yet: no strip around the real line was found in which {g} is analytic; "
                    "quadrature of it cannot be certified"
                )
            if strip is None:
                width /= 8
        result, failed = [strip], math.inf
        while failed == math.inf and result[-1].width < widest and _useful(result, largest):
            width = min(_STEP * result[-1].width, widest)
            strip = search.strip(width)
            if strip is None:
                failed = width
            else:
                result.append(strip)
        for _ in range(_HALVINGS if failed < math.inf else 0):
            middle = (result[-1].width + failed) / 2
            strip = search.strip(middle)
            if strip is None:
                failed = middle
            else:
                result.append(strip)
        return tuple(reversed(result))


def _useful(found: list[Strip], largest: float) -> bool:
    """Return whether a wider strip may help: the function has grown by less than exp(largest)."""
    return float((found[-1].factor / found[0].factor).log()) < largest


class _Search:
    """A search that covers rectangles of different widths by cells."""

    def __init__(self, g: OneVariable, reach: float, factor: arb, rate: arb) -> None:
        self.value = g.on_complex(_BITS)
        self.reach, self.factor, self.rate = reach, factor, rate

    def strip(self, width: float) -> Strip | None:
        """Return the strip of this width, or None if it could not be proved."""
        try:
            return Strip(width, self.reach, self._largest(width), self.rate)
        except (Undefined, ZeroDivisionError):
            return None

    def _largest(self, width: float) -> arb:
        """Return an upper bound of |f| exp(-rate |x|) over the strip."""
        half = min(max(width, 0.25), 1.0) / 2
        columns = math.ceil(self.reach / (2 * half))
        rows = max(1, math.ceil(width / (2 * half)))
        if columns * rows > _LONGEST:
            raise NotYetError(
                f"not yet: the mean or spread of a field is so large that {columns * rows:.0e} "
                "cells would be needed to bound the function"
            )
        tall = width / rows / 2
        slack = math.exp(_SLACK + width)
        cells = [
            (side * (2 * i + 1) * half, (2 * j + 1) * tall, half, tall, 0)
            for i in range(columns)
            for j in range(rows)
            for side in (1, -1)
        ]
        cells.reverse()
        seen = largest = arb(self.factor)
        count = 0
        while cells:
            u, v, p, q, depth = cells.pop()
            count += 1
            if count > _MAX_CELLS + 4 * columns * rows:
                raise Undefined
            try:
                bound, inner = self._cell(u, v, p, q)
            except Undefined:
                bound = inner = None  # type: ignore[assignment]
            if inner is not None:
                seen = seen.max(inner)
            if bound is not None and (bound <= slack * seen or depth >= _DEPTH):
                largest = largest.max(bound)
                continue
            if depth >= _DEPTH:
                raise Undefined
            if p >= q:
                cells += [(u + s * p / 2, v, p / 2, q, depth + 1) for s in (1, -1)]
            else:
                cells += [(u, v + s * q / 2, p, q / 2, depth + 1) for s in (1, -1)]
        return largest.upper()

    def _cell(self, u: float, v: float, p: float, q: float) -> tuple[arb, arb]:
        """Return a bound of |f| exp(-rate |x|) on a cell, and a lower bound of its value at the
        centre.
        """
        # radii a little larger, so that rounding of the corners leaves no gaps
        margin = 1e-12 * (1 + abs(u) + abs(v))
        wide, tall = arb(u, p + margin), arb(v, q + margin)
        near = max(abs(u) - p - margin, 0.0)
        bound = abs(acb(self.value(acb(wide, tall)))).abs_upper() * (-self.rate * near).exp()
        middle = abs(acb(self.value(acb(u, v)))).abs_lower() * (-self.rate * abs(u)).exp()
        return bound.upper(), middle.lower()
