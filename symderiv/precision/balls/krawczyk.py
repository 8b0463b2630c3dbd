"""Proved roots: Krawczyk's operator on balls maps a box into its own interior.

A root of one function is enclosed by a change of sign between the ends of a ball.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from symderiv.foundation.errors import ToleranceError

if TYPE_CHECKING:
    import sympy as sp
    from flint import arb, arb_mat, arb_series


def slopes_of(equations: Sequence[sp.Expr], unknowns: Sequence[sp.Symbol]) -> list[sp.Expr]:
    """Return the derivatives of expressions, row by row of their Jacobian."""
    return [e.diff(x) for e in equations for x in unknowns]


def enclosed_root(
    equations: Sequence[sp.Expr],
    unknowns: Sequence[sp.Symbol],
    values: Mapping[sp.Symbol, arb],
    start: Sequence[float],
    bits: int,
    slopes: Sequence[sp.Expr] | None = None,
) -> list[arb]:
    """Return a box that holds exactly one solution of equations that are expressions.

    Args:
        equations: Expressions that vanish.
        unknowns: As many symbols.
        values: Balls for all other symbols.
        start: A solution in doubles.
        bits: Working precision.
        slopes: The result of :func:`slopes_of`, if it is known.

    Raises:
        ToleranceError: No solution could be enclosed.
    """
    from symderiv.precision.balls.expression_balls import balls_at

    derivatives = slopes or slopes_of(equations, unknowns)

    def at(expressions: Sequence[sp.Expr], state: Sequence[arb]) -> list[Any]:
        place = {**values, **dict(zip(unknowns, state, strict=True))}
        return balls_at(expressions, place, bits)

    return proved_root(lambda y: at(equations, y), lambda y: at(derivatives, y), start, bits)


def proved_root(
    equations: Callable[[Sequence[arb]], list[arb]],
    slopes: Callable[[Sequence[arb]], list[arb]],
    start: Sequence[float],
    bits: int,
) -> list[arb]:
    """Return a box that holds exactly one root.

    Args:
        equations: Values over a box, shape (n,).
        slopes: Their derivatives over it, row by row, shape (n n,).
        start: A root in doubles.
        bits: Working precision.

    Raises:
        ToleranceError: No root could be enclosed.
    """
    from flint import arb, arb_mat

    from symderiv.precision.balls.working import working_bits

    size = len(start)
    middle = [arb(float(x)) for x in start]
    try:
        with working_bits(bits):
            for _ in range(2 + bits.bit_length()):
                slope = arb_mat(size, size, slopes(middle))
                step = slope.solve(arb_mat(size, 1, equations(middle)))
                middle = [(x - step[a, 0]).mid() for a, x in enumerate(middle)]
                # Newton's method squares the error, so the next step would be rounding
                if all(abs(step[a, 0]) < _radius(x, -bits // 2 - 8) for a, x in enumerate(middle)):
                    break
            slope = arb_mat(size, size, slopes(middle))
            inverse = arb_mat(size, size, [x.mid() for x in slope.inv().entries()])
            values = arb_mat(size, 1, equations(middle))
            for spare in (16, 32, 48, 60):
                radii = [_radius(x, spare - bits) for x in middle]
                box = [x + arb(0, r) for x, r in zip(middle, radii, strict=True)]
                over = arb_mat(size, size, slopes(box))
                image = krawczyk_image(middle, values, over, inverse, box)
                if all(b.contains_interior(x) for b, x in zip(box, image, strict=True)):
                    return image
    except (ZeroDivisionError, ValueError):
        pass
    raise ToleranceError("the fixed point could not be enclosed")


def krawczyk_image(
    middle: Sequence[arb], values: arb_mat, slopes: arb_mat, inverse: arb_mat, box: Sequence[arb]
) -> list[arb]:
    """Return the image of a box under Krawczyk's operator; if it is inside, the box holds one root.

    Args:
        middle: A point of the box, n numbers.
        values: The equations at it, a column.
        slopes: Their derivatives over the box.
        inverse: Any matrix; it should be close to the inverse of the slopes.
        box: n balls.
    """
    from flint import arb_mat

    size = len(middle)
    identity = arb_mat(size, size, [int(a == b) for a in range(size) for b in range(size)])
    apart = arb_mat(size, 1, [x - y for x, y in zip(box, middle, strict=True)])
    moved = (identity - inverse * slopes) * apart - inverse * values
    return [x + moved[a, 0] for a, x in enumerate(middle)]


def gradients(values: Callable[[Sequence[Any]], list[Any]], box: Sequence[arb]) -> arb_mat:
    """Return the Jacobian of functions over a box, a row for each function.

    Args:
        values: Takes a list of n balls, or power series of balls, and returns one of them for each
            function.
        box: n balls.
    """
    from flint import arb, arb_mat, arb_series, ctx

    ctx.cap = 2
    columns = []
    for n in range(len(box)):
        moved = [
            arb_series([x, arb(1)], 2) if m == n else arb_series([x], 2) for m, x in enumerate(box)
        ]
        columns.append([coefficient(each, 1) for each in values(moved)])
    rows = len(columns[0])
    entries = [column[row] for row in range(rows) for column in columns]
    return arb_mat(rows, len(box), entries)


def coefficient(series: arb_series | arb, place: int) -> arb:
    """Return a coefficient of a power series; a number counts as a constant series."""
    from flint import arb, arb_series

    if isinstance(series, arb_series):
        return series[place]
    return arb(series) if place == 0 else arb(0)


def enclosed_zero(function: Callable[[arb], tuple[arb, arb]], start: arb) -> arb | None:
    """Return a ball at whose ends a function has opposite signs, or None if none was found nearby.

    Args:
        function: Returns value and slope, at the present working precision.
        start: A zero nearby.
    """
    from flint import arb, ctx

    at, smallest = start, arb((1, -ctx.prec // 2 - 4))
    for _ in range(4 + ctx.prec.bit_length()):
        value, slope = function(at)
        step = value / slope
        at = (at - step).mid()
        # Newton's method doubles the digits: the next step would change none
        if abs(step) <= abs(at) * smallest:
            break
    value, slope = function(at)
    # the uncertainty of the zero from the function's balls, and rounding
    radius = abs(value / slope).upper() + abs(at).upper() * arb((1, 3 - ctx.prec))
    for _ in range(10):
        radius = 2 * radius
        low, high = (at - radius).lower(), (at + radius).upper()
        if function(low)[0] * function(high)[0] < 0:
            return low.union(high)
    return None


def _radius(x: arb, exponent: int) -> arb:
    """Return a radius proportional to a number's size, with a small positive minimum."""
    from flint import arb

    return ((abs(x) + arb((1, exponent // 4))) * arb((1, exponent))).mid()
