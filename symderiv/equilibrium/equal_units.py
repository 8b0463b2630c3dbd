r"""The α at which equal units of a committee cease to be stable, in symbols and proved digits.

Of equal students every overlap with a teacher is R and every one of two students is C, while Q_ii
and T_nn are 1. With the mean h(c) of g(x) g(y) at correlation c, a = 1 − C,
b = 1 + (K − 1)C − K²R² and α per unit, the free energy of :mod:`symderiv.equilibrium.committee` is
stationary, and its second derivative by the difference of overlaps vanishes, where

    α a h''(R) = 1,   b h'(R) = a R h''(R),   K b h'(C) = (a − b) h''(R).
"""

from __future__ import annotations

from functools import lru_cache

import sympy as sp

from symderiv.foundation.errors import InputError, NotYetError, ToleranceError
from symderiv.gaussian.distributions import variable_of
from symderiv.gaussian.student_integrals import i2
from symderiv.gaussian.terms.covariance import covariance_symbols

#: C, R and α/K, in the order in which starts are given.
UNKNOWNS = sp.symbols("C R alpha", real=True)
_UNITS = sp.Symbol("K", positive=True)
_BITS = 160


def limit_of_equal_units(g: sp.Expr) -> sp.Expr | None:
    """Return α/K up to which infinitely many equal units are stable, 1/E[g''(x)]²; None if the
    mean has no closed form.

    Raises:
        NotYetError: E[g'(x)] = 0, so that equal units learn nothing, or g is linear.
    """
    x = variable_of(g)
    if sp.diff(g, x, 2) == 0:
        raise NotYetError(
            "is linear, so that students never specialise; take another activation",
            argument="activation",
        )
    # by parts: E[g'] = E[x g] and E[g''] = E[(x² - 1) g]
    means = [_moment(g, weight) for weight in (x, x**2 - 1)]
    slope = means[0]
    if slope is not None and slope == 0:
        raise NotYetError(
            f"{g} has E[g'(x)] = 0, so that equal students learn nothing; take another activation",
            argument="activation",
        )
    bend = means[1]
    return None if bend is None else sp.oo if bend == 0 else sp.simplify(1 / bend**2)


def _moment(g: sp.Expr, weight: sp.Expr) -> sp.Expr | None:
    try:
        value = i2(g, weight, fields=(0, 0)).unfolded()
    except (InputError, NotYetError, NotImplementedError, ValueError):
        return None
    return sp.simplify(value.subs(covariance_symbols(2)[0, 0], 1))


@lru_cache(maxsize=16)
def equations_of_equal_units(g: sp.Expr) -> tuple[sp.Expr, ...] | None:
    """Return three expressions in C, R, α/K and K that vanish where equal units cease to be
    stable; None if h has no closed form.
    """
    covariance = covariance_symbols(2)
    C, R, alpha = UNKNOWNS
    try:
        value = i2(g, g).unfolded()
    except (InputError, NotYetError, NotImplementedError, ValueError):
        return None
    mean = value.subs({covariance[0, 0]: 1, covariance[1, 1]: 1})
    slope, bend = (sp.simplify(sp.diff(mean, covariance[0, 1], n)) for n in (1, 2))
    of_C, of_R, bend_R = (
        f.subs(covariance[0, 1], at) for f, at in ((slope, C), (slope, R), (bend, R))
    )
    a, b = 1 - C, 1 + (_UNITS - 1) * C - _UNITS**2 * R**2
    return (
        alpha * a * bend_R - 1,
        b * of_R - a * R * bend_R,
        _UNITS * b * of_C - (a - b) * bend_R,
    )


def digits_of_equal_units(
    g: sp.Expr, K: int, start: tuple[float, float, float], digits: int
) -> str | None:
    """Return α/K, rounded, from a ball in which the equations are proved to have one solution.

    Args:
        g: The activation.
        K: The number of units.
        start: C, R and α/K in doubles.
        digits: How many digits are returned, at most 30.

    Returns:
        None if there are no equations, or the solution is not enclosed.
    """
    from symderiv.precision.balls.krawczyk import enclosed_root

    equations = equations_of_equal_units(g)
    if equations is None:
        return None
    own = [each.subs(_UNITS, K) for each in equations]
    try:
        alpha = enclosed_root(own, UNKNOWNS, {}, start, _BITS)[2]
    except (NotYetError, ToleranceError):
        return None
    return alpha.str(digits, radius=False)
