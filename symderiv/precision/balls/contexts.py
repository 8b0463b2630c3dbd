"""One interface for the numbers of generated modules: mpmath, balls of Arb, or doubles.

The modules that ``symderiv_codegen.print_mpmath`` writes take a context as their first argument and
use of it what :class:`Numbers` lists. mpmath is the reference that is easy to read; balls are an
order of magnitude faster, and a ball that comes out contains the exact value for every input in
the balls that went in, as long as the module consists of closed formulas (a quadrature in it is
accurate, but not enclosed). Doubles are there to show what they can not do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

import mpmath
from flint import arb, arb_series, ctx, fmpz

from symderiv.formula.known_functions import KNOWN
from symderiv.foundation.errors import InputError
from symderiv.precision.balls.expression_balls import arcsine
from symderiv.precision.balls.working import bits_of, working_bits

#: Names of the back ends: "arb", "mpmath", "float64".
BACKENDS: Final = ("arb", "mpmath", "float64")


class RealNumber(Protocol):
    """Operations that numbers of all kinds have; numbers of different kinds are not mixed."""

    def __add__(self, other: Any, /) -> RealNumber: ...
    def __radd__(self, other: Any, /) -> RealNumber: ...
    def __sub__(self, other: Any, /) -> RealNumber: ...
    def __rsub__(self, other: Any, /) -> RealNumber: ...
    def __mul__(self, other: Any, /) -> RealNumber: ...
    def __rmul__(self, other: Any, /) -> RealNumber: ...
    def __truediv__(self, other: Any, /) -> RealNumber: ...
    def __rtruediv__(self, other: Any, /) -> RealNumber: ...
    def __pow__(self, other: Any, /) -> RealNumber: ...
    def __neg__(self) -> RealNumber: ...
    def __abs__(self) -> RealNumber: ...
    def __lt__(self, other: Any, /) -> bool: ...
    def __gt__(self, other: Any, /) -> bool: ...
    def __float__(self) -> float: ...


#: A function of one number.
Function = Callable[[Any], RealNumber]


class Numbers(Protocol):
    """Numbers of one kind at one precision, and the functions that generated modules call.

    Numbers support arithmetic, comparison, ``abs`` and ``float``. All are real: a root of a
    negative number is "not a number".
    """

    prec: int
    """Working precision in bits."""
    zero: RealNumber
    one: RealNumber
    pi: RealNumber
    mpf: Function
    """A number from an int, a float (exactly) or a decimal text."""
    sqrt: Function
    exp: Function
    log: Function
    erf: Function
    asin: Function
    acos: Function
    acosh: Function
    asinh: Function
    atan: Function
    atanh: Function
    cos: Function
    cosh: Function
    erfc: Function
    gamma: Function
    sin: Function
    sinh: Function
    tan: Function
    tanh: Function
    atan2: Callable[[Any, Any], RealNumber]
    sign: Function
    ceil: Function
    fsum: Callable[[Iterable[Any]], RealNumber]

    def point(self, value: Any) -> RealNumber:
        """Return the number itself, or the exact middle of a ball."""

    def as_mpf(self, value: Any) -> Any:
        """Return the number (of a ball its middle) as an mpmath number with all its digits."""


@contextmanager
def numbers(digits: int, backend: str = "arb") -> Iterator[Any]:
    """Yield numbers with this many decimal digits as a :class:`Numbers`, valid inside the block.

    The precision of balls is a setting of the whole thread, so blocks of different digits may be
    nested but not interleaved.

    Args:
        digits: At least 1; "float64" accepts more digits than it has.
        backend: One of :data:`BACKENDS`.

    Raises:
        InputError: There is no such back end, or ``digits`` is not positive.
    """
    if digits < 1:
        raise InputError(f"digits must be at least 1, not {digits}")
    if backend == "mpmath":
        context = _Reference()
        context.dps = digits
        yield context
    elif backend == "arb":
        with working_bits(bits_of(digits)):
            yield _BallNumbers()
    elif backend == "float64":
        yield _DoubleNumbers()
    else:
        raise InputError(f"backend: {backend!r} is not one of {', '.join(BACKENDS)}")


class _Reference(mpmath.MPContext):  # type: ignore[misc]
    """mpmath restricted to real values: outside of a real domain the result is NaN."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("acos", "asin", "log", "sqrt"):
            setattr(self, name, self._real(getattr(self, name)))

    def _real(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def of_real_numbers(x: Any, *base: Any) -> Any:
            value = function(x, *base)
            return self.nan if isinstance(value, self.mpc) else value

        return of_real_numbers

    def point(self, value: Any) -> Any:
        return value

    def as_mpf(self, value: Any) -> Any:
        return mpmath.mp.make_mpf(self.mpf(value)._mpf_)


class _BallNumbers:
    """Balls of Arb at the precision of the thread, and power series of balls."""

    zero = arb(0)
    one = arb(1)

    @property
    def prec(self) -> int:
        return int(ctx.prec)

    @prec.setter
    def prec(self, bits: int) -> None:
        ctx.prec = bits

    @property
    def pi(self) -> arb:
        return arb.pi()

    @property
    def e(self) -> arb:
        return arb.const_e()

    def mpf(self, value: arb | float | str) -> arb:
        return arb(value)

    def asin(self, x: arb | arb_series | float) -> arb | arb_series:
        if isinstance(x, arb_series):
            return x.asin()
        return arcsine(x if isinstance(x, arb) else arb(x))

    def atan2(self, y: arb | float, x: arb | float) -> arb:
        return arb.atan2(arb(y), arb(x))

    def ceil(self, x: arb | float) -> fmpz | None:
        return arb(x).mid().ceil().unique_fmpz()

    def fsum(self, terms: Iterable[arb]) -> arb:
        return sum(terms, self.zero)

    def point(self, value: arb) -> arb:
        return value.mid()

    def as_mpf(self, value: arb | float) -> Any:
        mantissa, exponent = arb(value).mid().man_exp()
        # all bits are kept, even if the global context has fewer: the caller may round
        return mpmath.mp.make_mpf(mpmath.libmp.from_man_exp(int(mantissa), int(exponent)))


class _DoubleNumbers:
    """Python's floats."""

    prec = 53
    zero, one = 0.0, 1.0
    pi, e = math.pi, math.e
    mpf = float
    atan2, ceil, fsum = staticmethod(math.atan2), staticmethod(math.ceil), staticmethod(math.fsum)

    def point(self, value: float) -> float:
        return value

    def as_mpf(self, value: float) -> Any:
        return mpmath.mp.mpf(value)


def _of_balls(method: str) -> Callable[..., arb]:
    def function(self: object, x: arb | arb_series | float) -> Any:
        return getattr(x if isinstance(x, arb | arb_series) else arb(x), method)()

    return function


def _nan_outside(function: Callable[..., float]) -> Callable[[object, float], float]:
    def of_domain(_: object, x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return math.nan

    return of_domain


for _name, _known in KNOWN.items():
    if _known.ball and not hasattr(_BallNumbers, _name):
        setattr(_BallNumbers, _name, _of_balls(_known.ball))
    if _known.ball:
        setattr(_DoubleNumbers, _name, _nan_outside(_known.numeric))
