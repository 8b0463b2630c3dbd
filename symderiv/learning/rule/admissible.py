"""Activations and losses whose equations do not exist in double precision, refused at once.

A formula may be acceptable as text and still be complex on half of the axis (``x**x``,
``log(1+x)``) or made of numbers whose products no double holds (``1e-320``). The means that would
be derived from it do not exist, or a module would compute with zero or infinity in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt
import sympy as sp

from symderiv.formula import Activation
from symderiv.formula.as_function import as_function
from symderiv.formula.reader import quoted
from symderiv.foundation.errors import FormulaError, NotYetError
from symderiv.gaussian import existence
from symderiv.learning.rule.loss import Loss

X = sp.Symbol("x", real=True)

CONSTANTS = (1e-60, 1e60)
"""Bounds on the modulus of constants: products of four are far from the limits of doubles."""

OUTPUTS = (1e-3, 1e5)
"""Bounds on the largest modulus for |x| < 3. Beyond these, rounding of label noise of order one
next to fourth powers of the activation, or vice versa, would spoil what a module computes."""

LARGEST_POWER = 6
"""The largest power of x: means of four factors have powers four times as high, and for more there
are too many terms."""

_DIGITS = 20
_ROUNDING = 1e-6
# no point is a simple fraction, as jumps and holes of formulas often are
_NEAR = [(16 * n + 5) / 128 for n in range(-48, 48)]
_FAR = [37 * n / 8 for n in range(-9, 10) if abs(n) > 1]


def check_for_modules(student: Activation, teacher: Activation) -> None:
    """Refuse activations for which no module can be made.

    Raises:
        FormulaError: A constant, or the largest value, is too large or too small for doubles.
        NotYetError: A power is too high, or has x in base and exponent.
    """
    for argument, each in (("activation", student), ("teacher_activation", teacher)):
        _check_range(each, argument)
        _check_power(each, argument)


def check_real(activation: Activation, argument: str) -> None:
    """Refuse an activation that is complex at a real x.

    Args:
        activation: g.
        argument: its name in the error.

    Raises:
        FormulaError: with an x at which g is complex; only some points are tried.
    """
    place = _complex_at(activation.expression, (X,))
    if place is not None:
        raise FormulaError(
            f"{quoted(activation.text)} is not real at x = {place[0]:g}; an activation must be "
            "real for every x (Abs(x) in place of x may help)",
            argument=argument,
        )


def check_real_loss(loss: Loss) -> None:
    """Refuse a loss that is complex at a real output and a real target.

    Args:
        loss: ℓ(s, t).

    Raises:
        FormulaError: with s and t at which ℓ is complex; only some points are tried.
    """
    place = _complex_at(loss.expression, sp.symbols("s t", real=True))
    if place is not None:
        raise FormulaError(
            f"{quoted(loss.name)} is not real at s = {place[0]:g}, t = {place[1]:g}; a loss must "
            "be real for every s and t (Abs(s) or Max(s, 0) in place of s may help)",
            argument="loss",
        )


def _check_range(activation: Activation, argument: str) -> None:
    """Refuse an activation whose numbers are too large or too small for a generated module.

    Args:
        activation: g.
        argument: its name in the error.

    Raises:
        FormulaError: a constant in g is outside of CONSTANTS, or the largest |g| outside of
            OUTPUTS.
    """
    g = activation.expression
    for constant in sorted(_constants(g), key=sp.default_sort_key):
        if not _within(constant, CONSTANTS):
            raise FormulaError(
                f"{_shown(constant)} in {quoted(activation.text)}: constants of activations must "
                f"be zero or between {CONSTANTS[0]:g} and {CONSTANTS[1]:g} in modulus",
                argument=argument,
            )
    near = [(place,) for place in _NEAR if abs(place) < 3]
    sizes = np.abs(_values(g, near))
    largest = float(np.max(sizes[~np.isnan(sizes)], initial=0.0))
    if largest > OUTPUTS[1] and existence(g**2, X).variance_limit != sp.oo:
        return  # it grows so fast that means do not exist, which is reported when they are derived
    if g != 0 and not OUTPUTS[0] <= largest <= OUTPUTS[1]:
        raise FormulaError(
            f"{quoted(activation.text)} is at most {largest:.3g} in double precision for |x| < 3; "
            f"solver modules are made for {OUTPUTS[0]:g} to {OUTPUTS[1]:g}: scale output weights "
            "instead",
            argument=argument,
        )


def _check_power(activation: Activation, argument: str) -> None:
    """Refuse an activation with a power for which no module can be made.

    Args:
        activation: g.
        argument: its name in the error.

    Raises:
        NotYetError: base and exponent of a power contain x, or a power of x outside of functions
            is above LARGEST_POWER.
    """
    for each in activation.expression.atoms(sp.Pow):
        if each.base.has(X) and each.exp.has(X):
            raise NotYetError(
                f"not yet: {quoted(activation.text)} has x in base and exponent of a power, whose "
                "growth is not known; write it with exp",
                argument=argument,
            )
    power = _power(activation.expression)
    if power > LARGEST_POWER:
        raise NotYetError(
            f"not yet: {quoted(activation.text)} has x to the power {power}; modules are made for "
            f"powers up to {LARGEST_POWER}",
            argument=argument,
        )


def _power(g: sp.Expr) -> int:
    """Return the largest power of x, also inside of Abs, Max and Min but of no other function."""
    if g == X:
        return 1
    if isinstance(g, sp.Mul):
        return sum(_power(part) for part in g.args)
    if isinstance(g, sp.Pow):
        times = max(0, int(sp.ceiling(g.exp))) if g.exp.is_number else 0
        return times * _power(g.base)
    if isinstance(g, sp.Add | sp.Abs | sp.Max | sp.Min):
        return max(_power(part) for part in g.args)
    return 0


@lru_cache(maxsize=64)
def _complex_at(g: sp.Expr, symbols: tuple[sp.Symbol, ...]) -> tuple[float, ...] | None:
    """Return the tried point closest to 0 at which g is complex, or None."""
    each = sorted([*_NEAR, *_FAR], key=abs)
    places = sorted(product(each, repeat=len(symbols)), key=lambda place: sum(map(abs, place)))
    values = _values(g, places, symbols)
    with np.errstate(all="ignore"):
        seen = np.isfinite(values) & (np.abs(values.imag) > _ROUNDING * (1 + np.abs(values)))
    return next((p for p, complex_ in zip(places, seen, strict=True) if complex_), None)


def _values(
    g: sp.Expr, places: Sequence[tuple[float, ...]], symbols: tuple[sp.Symbol, ...] = (X,)
) -> npt.NDArray[np.complex128]:
    """Return values in complex doubles, so that roots and logarithms of negative numbers exist."""
    regular = g.replace(sp.Heaviside, lambda z, *_: (1 + sp.sign(z)) / 2)
    regular = regular.replace(sp.DiracDelta, lambda *_: sp.S.Zero)
    function = as_function(symbols, regular)
    with np.errstate(all="ignore"):
        values = function(*np.array(places, dtype=complex).T)
        return np.broadcast_to(values, len(places)).astype(complex)


def _constants(g: sp.Expr) -> set[sp.Expr]:
    """Return all subexpressions without x, and the subexpressions of these."""
    return {part for part in sp.preorder_traversal(g) if part.is_number}


def _within(number: sp.Expr, limits: tuple[float, float]) -> bool:
    return bool(number == 0 or limits[0] <= abs(sp.N(number, _DIGITS)) <= limits[1])


def _shown(number: sp.Expr) -> str:
    return str(sp.N(number, 3))
