"""One proved step: from a set of states to a set that contains all of them a time later.

A set is a point, a matrix and a box, ``c + A r``. Trajectories from it stay in a rough box over the
whole step, because Picard's operator maps that box into itself. The point moves by its Taylor
series, whose remainder is the next Taylor coefficient over the rough box; differences to it move by
the Jacobian of the flow, which is the time-ordered exponential of a matrix of balls. An orthogonal
matrix for the next set keeps boxes from growing where the flow only rotates or shears them
(Lohner's method).

R. J. Lohner, "Computation of guaranteed enclosures for the solutions of ordinary initial and
boundary value problems", in Computational Ordinary Differential Equations, 1992.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from flint import arb, arb_mat, arb_series, ctx

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.krawczyk import coefficient, gradients
from symderiv.precision.balls.operations import Operations
from symderiv.precision.balls.working import largest_of

_INFLATIONS, _HALVINGS = 12, 40
_MOST_TERMS = 60
_BITS_OF_TIMES = 30
_SPARE = arb(1) + arb(2) ** -40
_TERMS_OF_EXPONENTIAL = 30


@dataclass(frozen=True)
class VectorField:
    """A vector field over balls.

    Attributes:
        rates: Takes a list of n balls, or power series of balls, and returns n of them.
        size: n.
    """

    rates: Callable[[Sequence[Any]], list[Any]]
    size: int

    @classmethod
    def of(cls, rates: Operations) -> VectorField:
        """Return the field of recorded rates, at the present precision."""
        return cls(rates.in_balls(), len(rates.outputs))

    def taylor(self, start: Sequence[arb], enough: Callable[[int, list[arb]], bool]) -> Columns:
        """Return Taylor coefficients in time of the solution from a start, each a list of n.

        Args:
            start: n balls.
            enough: Called with the number of the last coefficient and its n balls; returns whether
                to
                stop.
        """
        columns = [list(start)]
        while not enough(len(columns) - 1, columns[-1]):
            order = len(columns)
            ctx.cap = order
            series = [arb_series([c[n] for c in columns], order) for n in range(self.size)]
            rates = self.rates(series)
            columns.append([coefficient(each, order - 1) / order for each in rates])
        return columns

    def slopes(self, box: Sequence[arb]) -> arb_mat:
        """Return the Jacobian of the rates over a box, n × n."""
        return gradients(self.rates, box)


Columns = list[list[arb]]


@dataclass(frozen=True)
class StateSet:
    """The set of all states ``c + A r`` with r in a box.

    Attributes:
        centre: c, n exact numbers.
        axes: A, n × n exact numbers.
        box: r, n balls that hold 0.
    """

    centre: list[arb]
    axes: arb_mat
    box: list[arb]

    @classmethod
    def around(cls, values: Sequence[arb]) -> StateSet:
        """Return the box of some balls as a set, with the unit matrix as axes."""
        size = len(values)
        one = arb_mat(size, size, [int(n == m) for n in range(size) for m in range(size)])
        return cls([x.mid() for x in values], one, [x - x.mid() for x in values])

    @property
    def hull(self) -> list[arb]:
        """Return the smallest ball around each coordinate."""
        return [c + x for c, x in zip(self.centre, _applied(self.axes, self.box), strict=True)]

    @property
    def radius(self) -> arb:
        """Return the largest radius of a coordinate."""
        return largest_of([x.rad() for x in self.hull])


@dataclass(frozen=True)
class ProvedStep:
    """A proved step.

    Attributes:
        begin, end: Sets of states.
        time: The length of the step, an exact number.
        outer: A box of n balls that Picard's operator maps into itself.
        rough: The image of that box: every trajectory stays there from begin to end.
        columns: Taylor coefficients of the trajectory of the centre.
        last: Balls for the next Taylor coefficient, anywhere in the step.
        slopes: The Jacobian of the rates over the rough box.
    """

    begin: StateSet
    end: StateSet
    time: arb
    outer: list[arb]
    rough: list[arb]
    columns: Columns
    last: list[arb]
    slopes: arb_mat

    def at(self, time: arb) -> list[arb]:
        """Return balls that hold the state at a time of the step, or at all times of a ball."""
        moved = _applied(_exponential(self.slopes, time) * self.begin.axes, self.begin.box)
        centre = _summed(self.columns, self.last, time)
        return [_meet(c + x, rough) for c, x, rough in zip(centre, moved, self.rough, strict=True)]


def short(time: arb) -> arb:
    """Return a time rounded down to few bits, so that sums of times are exact.

    Raises:
        ToleranceError: It would be zero.
    """
    shortened: arb = (time.lower() * 2**_BITS_OF_TIMES).floor().lower() / 2**_BITS_OF_TIMES
    if not shortened > 0:
        raise ToleranceError("steps became too short to be proved")
    return shortened


def stepped(field: VectorField, begin: StateSet, longest: arb, tolerance: arb) -> ProvedStep:
    """Return the longest proved step that was found with an error below a tolerance.

    Args:
        field: The field of the rates.
        begin: The set of states at its begin.
        longest: An exact number; the step is not longer.
        tolerance: The tolerance on the remainder of the Taylor series.

    Raises:
        ToleranceError: No step is short enough.
    """
    time = longest
    for _ in range(_HALVINGS):
        time, outer, rough = _rough_box(field, begin.hull, time)
        try:
            over = field.taylor(rough, partial(_small, time, tolerance))
        except ValueError:  # a power series whose first coefficient may be zero has no inverse
            over = []
        order = len(over) - 1
        if 0 < order < _MOST_TERMS and all(x.is_finite() for x in over[-1]):
            columns = field.taylor(begin.centre, partial(_at_order, order - 1))
            return _finished(field, begin, time, (outer, rough), columns, over[-1])
        # in a smaller box the coefficients are smaller, too
        time = short(time * arb(0.5))
    raise ToleranceError("no step was short enough to be proved")


def _at_order(last: int, order: int, column: list[arb]) -> bool:
    del column
    return order == last


def _small(time: arb, tolerance: arb, order: int, last: list[arb]) -> bool:
    size = largest_of([abs(x) for x in last])
    if order >= _MOST_TERMS or not size.is_finite():
        return True
    return order > 3 and bool(size * time**order < tolerance)


def _rough_box(
    field: VectorField, hull: Sequence[arb], longest: arb
) -> tuple[arb, list[arb], list[arb]]:
    """Return a time, a box that Picard's operator over it maps into itself, and the image."""
    time = longest
    for _ in range(_HALVINGS):
        box = list(hull)
        for _ in range(_INFLATIONS):
            rates = field.rates(box)
            if not all(x.is_finite() for x in rates):
                break
            again = _moved(hull, time, rates)
            if all(x.contains(y) for x, y in zip(box, again, strict=True)):
                return time, box, again
            spare = largest_of([abs(x) for x in rates]) * time / 1000
            box = [
                x.union(y) + arb(0, x.union(y).rad() / 4) + arb(0, spare.upper())
                for x, y in zip(box, again, strict=True)
            ]
        time = short(time * arb(0.6))
    raise ToleranceError("no box was found that trajectories stay in")


def _moved(hull: Sequence[arb], time: arb, rates: Sequence[arb]) -> list[arb]:
    whole = time * arb(0.5, 0.5)
    return [x + whole * rate for x, rate in zip(hull, rates, strict=True)]


def _finished(
    field: VectorField,
    begin: StateSet,
    time: arb,
    boxes: tuple[list[arb], list[arb]],
    columns: Columns,
    last: list[arb],
) -> ProvedStep:
    outer, rough = boxes
    slopes = field.slopes(rough)
    moved = _exponential(slopes, time) * begin.axes
    reached = _summed(columns, last, time)
    centre = [x.mid() for x in reached]
    axes = _orthogonal(moved, begin.box)
    inverse = axes.inv()
    turned = inverse * moved
    # doubled, so that a checking program, whose rounding differs, can prove it too
    error = [2 * (x - c) for x, c in zip(reached, centre, strict=True)]
    box = [
        one + other
        for one, other in zip(_applied(turned, begin.box), _applied(inverse, error), strict=True)
    ]
    end = StateSet(centre, axes, [arb(0, (abs(x) * _SPARE).upper()) for x in box])
    return ProvedStep(begin, end, time, outer, rough, columns, last, slopes)


def _orthogonal(moved: arb_mat, box: Sequence[arb]) -> arb_mat:
    """Return nearly orthogonal axes, the first one along the longest side of the moved box."""
    size = moved.nrows()
    middle = np.array([float(x.mid()) for x in moved.entries()]).reshape(size, size)
    widths = np.array([float(abs(x).upper().log().mid()) if x != 0 else -np.inf for x in box])
    lengths = np.linalg.norm(middle, axis=0)
    order = np.argsort(-(widths + np.log(np.maximum(lengths, 1e-300))), kind="stable")
    axes, _ = np.linalg.qr(middle[:, order])
    return arb_mat(size, size, [arb(float(x)) for x in axes.ravel()])


def _exponential(slopes: arb_mat, time: arb) -> arb_mat:
    """Return the Jacobian of the flow over a time during which the rates have these slopes.

    The terms of the time-ordered exponential are means of products of matrices in the ball; the
    remainder of the series is bounded by the norm.
    """
    size = slopes.nrows()
    scaled = slopes * time
    norm = largest_of(
        [sum((abs(scaled[n, m]) for m in range(size)), arb(0)).upper() for n in range(size)]
    )
    term = arb_mat(size, size, [int(n == m) for n in range(size) for m in range(size)])
    total, bound, order = term, arb(1), 0
    while order < _TERMS_OF_EXPONENTIAL and not bound < arb(2) ** (-60):
        order += 1
        term = term * scaled / order
        total = total + term
        bound = bound * norm / order
    ratio = norm / (order + 1)
    if not ratio < 1:
        raise ToleranceError("a step is too long for the Jacobian of its flow")
    rest = (bound * ratio / (1 - ratio)).upper()
    return total + arb_mat(size, size, [arb(0, rest)] * (size * size))


def _summed(columns: Columns, last: Sequence[arb], time: arb) -> list[arb]:
    """Return the sum of the Taylor series with its remainder."""
    total = list(last)
    for column in reversed(columns):
        total = [c + time * x for c, x in zip(column, total, strict=True)]
    return total


def _applied(matrix: arb_mat, box: Sequence[arb]) -> list[arb]:
    size = matrix.nrows()
    return list((matrix * arb_mat(size, 1, list(box))).entries())


def _meet(one: arb, other: arb) -> arb:
    return one.intersection(other) if one.overlaps(other) else one
