r"""Special functions left in closed forms: ``SignMean4`` (orthants of four fields) and ``OwenT``.

``SignMean4`` is the only thing a centred expectation with four sign factors needs beyond
arcsines. Its one-dimensional integral is obtained here as follows. Price's theorem gives

.. math:: \partial E / \partial r_{ij} = \frac{2}{\pi}\,\frac{1}{\sqrt{1-r_{ij}^2}}\,
          \frac{2}{\pi}\arcsin \rho_{kl\cdot ij}

with the partial correlation of the two other fields. Multiply the correlations of one field (call
it 4) with the others by t and integrate from t = 0, where the mean vanishes because field 4 is
independent of the rest, to t = 1. All determinants are linear in t², so with
:math:`\sigma = t/\sqrt{1-t^2}` the mean is

.. math:: E = \frac{4}{\pi^2} \int_0^\infty \frac{d\sigma}{1+\sigma^2} \sum_j
   \frac{r_{4j}}{\sqrt{1+p_j\sigma^2}}
   \arctan\frac{N_j + \sigma^2 N'_j}{\sqrt{(1+p_j\sigma^2)(d_3+\sigma^2 d_4)}} ,

:math:`p_j = 1-r_{4j}^2`, d3 and d4 the determinants of the correlations without and with field 4,
N_j = r_kl - r_kj r_lj and N'_j the minor (4jk, 4jl). Every term of every sum is formed without
cancellation once these minors are known, and every singularity lies on the imaginary axis, at
distances between 1 and sqrt(d3/d4) from 0: in the variable log(sigma) none is closer than pi/2
to the path. Gauss-Legendre panels of fixed length in log(sigma) therefore converge at a rate that
does not depend on the correlations, even when fields align.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations
from typing import Any

import flint
import mpmath
import sympy as sp
from mpmath import mp
from mpmath.libmp import from_man_exp
from sympy.core.sorting import default_sort_key

from symderiv.foundation.errors import ToleranceError
from symderiv.gaussian.orthant import sign_mean4
from symderiv.gaussian.owen_balls import owen_t

_PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
_SLOT = {pair: slot for slot, pair in enumerate(_PAIRS)} | {
    (j, i): slot for slot, (i, j) in enumerate(_PAIRS)
}
# z_i -> -z_i for the fields with a -1; an overall flip changes nothing, so the first stays.
_FLIPS = tuple((1, a, b, c) for a in (1, -1) for b in (1, -1) for c in (1, -1))
_ORDERS = tuple(
    tuple(_SLOT[order[i], order[j]] for i, j in _PAIRS) for order in permutations(range(4))
)
_FLIP_SIGNS = tuple(
    (flip[0] * flip[1] * flip[2] * flip[3], tuple(flip[i] * flip[j] for i, j in _PAIRS))
    for flip in _FLIPS
)


def _others(i: int, j: int) -> tuple[int, int]:
    """Return the two of the four fields that are neither ``i`` nor ``j``, in order."""
    k, m = (a for a in range(4) if a not in (i, j))
    return k, m


class SignMean4(sp.Function):  # type: ignore[misc]
    r"""The mean of four signs, E[sgn z1 sgn z2 sgn z3 sgn z4], of centred Gaussian fields.

    Args:
        r12, r13, r14, r23, r24, r34: Correlations, in [-1, 1], of a positive semidefinite
            correlation matrix; dimensionless.

    Special cases that are exact evaluate at once: two fields equal or opposite (an arcsine
    remains), one field independent of the other three (zero), two independent pairs (product of
    arcsines). Otherwise the arguments are put in a canonical order under exchanges of fields and
    changes of sign. ``evalf`` gives any number of digits, uniformly as fields align;
    ``rewrite(sympy.Integral)`` gives the one-dimensional integral. Numbers that are no correlation
    matrix evaluate to ``nan``.

    Accuracy: the mean changes by at most the sum of the changes of :math:`(2/\pi)\arcsin r_{ij}`,
    so correlations are evaluated with twice the asked bits and the result then carries them all;
    see ``tests/unit/gaussian/test_functions.py``.
    """

    nargs = 6

    @classmethod
    def eval(cls, *r: sp.Expr) -> sp.Expr | None:
        for i, j in _PAIRS:
            value = r[_SLOT[i, j]]
            if value in (sp.S.One, sp.S.NegativeOne):
                return value * _sign_mean2(r[_SLOT[_others(i, j)]])
        zero = [value.is_zero is True for value in r]
        for i in range(4):
            if all(zero[_SLOT[i, j]] for j in range(4) if j != i):
                return sp.S.Zero
        for j in range(1, 4):
            k, m = _others(0, j)
            if all(zero[_SLOT[a, b]] for a in (0, j) for b in (k, m)):
                return _sign_mean2(r[_SLOT[0, j]]) * _sign_mean2(r[_SLOT[k, m]])
        sign, ordered = _canonical(r)
        if ordered != r:
            return sign * cls(*ordered)
        return None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return the derivative with respect to one correlation (Price's theorem)."""
        if not 1 <= argindex <= 6:
            raise sp.ArgumentIndexError(self, argindex)
        i, j = _PAIRS[argindex - 1]
        k, m = _others(i, j)
        r = {pair: self.args[slot] for pair, slot in _SLOT.items()}
        x = r[i, j]
        numerator = (
            r[k, m] * (1 - x**2)
            - r[k, i] * r[m, i]
            - r[k, j] * r[m, j]
            + x * (r[k, i] * r[m, j] + r[k, j] * r[m, i])
        )
        variances = [
            1 - x**2 - r[a, i] ** 2 - r[a, j] ** 2 + 2 * x * r[a, i] * r[a, j] for a in (k, m)
        ]
        partial = numerator / (sp.sqrt(variances[0]) * sp.sqrt(variances[1]))
        return 4 / sp.pi**2 / sp.sqrt(1 - x**2) * sp.asin(partial)

    def _eval_rewrite_as_Integral(self, *r: sp.Expr, **hints: Any) -> sp.Expr:
        matrix = sp.Matrix(4, 4, lambda i, j: sp.S.One if i == j else r[_SLOT[i, j]])
        t = sp.Dummy("t", real=True)
        scaled = matrix[:3, :3].det() * (1 - t**2) + matrix.det() * t**2
        total = sp.S.Zero
        for j in range(3):
            k, m = (a for a in range(3) if a != j)
            start = matrix[k, m] - matrix[k, j] * matrix[m, j]
            end = matrix.extract([3, j, k], [3, j, m]).det()
            x = 1 - t**2 * matrix[3, j] ** 2
            angle = sp.atan((start * (1 - t**2) + end * t**2) / sp.sqrt(x * scaled))
            total += matrix[3, j] / sp.sqrt(x) * angle
        return 4 / sp.pi**2 * sp.Integral(total, (t, 0, 1))

    def _eval_evalf(self, prec: int) -> sp.Expr | None:
        r = [_real_number(value, 2 * prec + 60) for value in self.args]
        if any(value is None for value in r):
            return None
        return sp.Float._new(_sign_mean4(tuple(v for v in r if v is not None), prec)._mpf_, prec)

    def _eval_is_extended_real(self) -> bool | None:
        return True if all(value.is_extended_real for value in self.args) else None

    def _eval_is_finite(self) -> bool | None:
        return self._eval_is_extended_real()

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        inside = ",\\, ".join(printer._print(value) for value in self.args)
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"\mathrm{{S}}_4{power}\!\left({inside}\right)"


def _sign_mean2(r: sp.Expr) -> sp.Expr:
    return 2 / sp.pi * sp.asin(r)


def _canonical(r: Sequence[sp.Expr]) -> tuple[int, tuple[sp.Expr, ...]]:
    """Return sign and arguments of the smallest of the 192 equivalent ways to write the mean."""
    signs = [-1 if value.could_extract_minus_sign() else 1 for value in r]
    sizes = [-value if sign < 0 else value for value, sign in zip(r, signs, strict=True)]
    ranked = sorted(set(sizes), key=default_sort_key)
    rank = [ranked.index(size) for size in sizes]
    best: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    best_sign = 1
    for order in _ORDERS:
        key = tuple(rank[slot] for slot in order)
        if best is not None and key > best[0]:
            continue
        for total, flip in _FLIP_SIGNS:
            # Prefer few minus signs, as late as possible; the sign of 0 is free.
            minus = tuple(
                int(signs[slot] * f < 0 and sizes[slot] != 0)
                for slot, f in zip(order, flip, strict=True)
            )
            candidate = (key, (sum(minus), *minus))
            if best is None or candidate < best:
                best, best_sign = candidate, total
    assert best is not None
    arguments = tuple(
        -ranked[k] if minus else ranked[k] for k, minus in zip(best[0], best[1][1:], strict=True)
    )
    return best_sign, arguments


def _real_number(value: sp.Expr, prec: int) -> mpmath.mpf | None:
    """Return the number ``value`` with ``prec`` bits, or None when it is not a real number."""
    if isinstance(value, sp.Float):
        return mp.make_mpf(value._mpf_)  # exact, whatever the precision
    number = value.evalf(int(prec / 3.3219) + 3)
    if not number.is_Float and not number.is_Rational:
        return None
    with mp.workprec(prec):
        return mp.mpf(number._to_mpmath(prec))


@lru_cache(maxsize=256)  # SymPy asks for the same number several times
def _sign_mean4(r: tuple[mpmath.mpf, ...], prec: int) -> mpmath.mpf:
    """Return the mean of four signs with an absolute error below 2**-prec.

    NaN if no fields have these correlations.
    """
    try:
        return _midpoint(sign_mean4([_arb(value) for value in r], prec + 10))
    except ToleranceError:
        return mp.nan


def _midpoint(ball: flint.arb) -> mpmath.mpf:
    mantissa, exponent = ball.mid().man_exp()
    return mp.make_mpf(from_man_exp(int(mantissa), int(exponent)))


def _arb(number: mpmath.mpf) -> flint.arb:
    sign, mantissa, exponent, _ = number._mpf_
    return flint.arb((int(-mantissa if sign else mantissa), int(exponent)))


def _along_waves(pairs: list[tuple[mpmath.mpf, mpmath.mpf]], prec: int) -> mpmath.mpf:
    """Return the sum over pairs of the integral over 0 < t < 1 of h exp(t² h²/2) erfi(t k/√2)."""
    with flint.ctx.workprec(prec + 40):
        half = flint.arb(2).rsqrt()
        exact = [tuple(_arb(x) for x in pair) for pair in pairs]

        def slope(t: flint.acb, _: bool) -> flint.acb:
            terms = (h * ((t * h) ** 2 / 2).exp() * (t * k * half).erfi() for h, k in exact)
            return sum(terms, flint.acb(0))

        return _midpoint(flint.acb.integral(slope, 0, 1, abs_tol=flint.arb((1, -prec - 20))).real)


def _along_angles(h: mpmath.mpf, k: mpmath.mpf, rho: mpmath.mpf, prec: int) -> mpmath.mpf:
    """Return the integral over 0 < a < asin(rho) of exp(-(h² + k² - 2 h k sin a) / (2 cos² a)).

    It is computed as an integral over c = π/2 - a, without cancellation for rho near 1.
    """
    if rho < 0:
        return -_along_angles(h, -k, -rho, prec)
    with flint.ctx.workprec(prec + 40):
        apart, product = (_arb(h) - _arb(k)) ** 2 / 2, _arb(h) * _arb(k) / 2

        def density(angle: flint.acb, _: bool) -> flint.acb:
            return (-apart / angle.sin() ** 2 - product / (angle / 2).cos() ** 2).exp()

        begin, end = _arb(rho).acos(), flint.arb.pi() / 2
        integral = flint.acb.integral(density, begin, end, abs_tol=flint.arb((1, -prec - 20)))
        return _midpoint(integral.real)


class SignMean2(sp.Function):  # type: ignore[misc]
    r"""The continuation E[sgn(x + i h_1) sgn(y + i h_2)] of standard normal x, y with correlation
    rho.

    It is what a product of two signs becomes next to sin and cos. Symmetric in h_1, h_2, even under
    h -> -h; for rho = ±1 (h_1 = ±h_2) it is ±1.

    Args:
        h1, h2: Real expressions.
        rho: Between -1 and 1.
    """

    nargs = 3

    def _eval_evalf(self, prec: int) -> sp.Expr | None:
        h1, h2, rho = (_real_number(argument, prec + 20) for argument in self.args)
        if h1 is None or h2 is None or rho is None:
            return None
        with mp.workprec(prec + 20):
            if abs(rho) >= 1:
                return sp.Float._new(mp.mpf(mp.sign(rho))._mpf_, prec)
            root = mp.sqrt((1 - rho) * (1 + rho))
            pairs = [(h1, (h2 - rho * h1) / root), (h2, (h1 - rho * h2) / root)]

            value = 2 / mp.pi * mp.asin(rho) - mp.sqrt(2 / mp.pi) * _along_waves(pairs, prec)
            return sp.Float._new(value._mpf_, prec)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        inside = ",\\, ".join(printer._print(value) for value in self.args)
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"S_2{power}\!\left({inside}\right)"


class ShiftedSigns(sp.Function):  # type: ignore[misc]
    r"""The mean E[sgn(x + h) sgn(y + k)] of standard normal x, y with correlation rho.

    In folded results it stands for a product of two signs with means, which is Owen's T of both
    without their quotients. Symmetric in h, k, even under (h, k) -> -(h, k).

    Args:
        h, k: Real expressions.
        rho: Between -1 and 1.
    """

    nargs = 3

    def _eval_evalf(self, prec: int) -> sp.Expr | None:
        h, k, rho = (_real_number(argument, prec + 20) for argument in self.args)
        if h is None or k is None or rho is None:
            return None
        with mp.workprec(prec + 20):
            root2, side = mp.sqrt(2), mp.sign(rho)
            if abs(rho) >= 1:
                value = side * (1 - abs(mp.erf(h / root2) - side * mp.erf(k / root2)))
                return sp.Float._new(mp.mpf(value)._mpf_, prec)

            apart = mp.erf(h / root2) * mp.erf(k / root2)
            value = apart + 2 / mp.pi * _along_angles(h, k, rho, prec)
            return sp.Float._new(mp.mpf(value)._mpf_, prec)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        inside = ",\\, ".join(printer._print(value) for value in self.args)
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"S{power}\!\left({inside}\right)"


class OwenT(sp.Function):  # type: ignore[misc]
    r"""Owen's function :math:`T(h, a) = \frac{1}{2\pi}\int_0^a e^{-h^2(1+x^2)/2}/(1+x^2)\,dx`.

    The probability of 0 < Y < a X, X > h of independent standard normal X, Y (h, a > 0). Entire
    and even in h (also imaginary h, which a tilt by an imaginary amount produces), odd in a.

    Args:
        h: Any expression.
        a: Any expression; numbers must be real (infinite allowed) to be evaluated.

    Source: Owen (1956), Ann. Math. Stat. 27, 1075, same normalisation.
    """

    nargs = 2

    @classmethod
    def eval(cls, h: sp.Expr, a: sp.Expr) -> sp.Expr | None:
        if a.is_zero or h in (sp.oo, -sp.oo):
            return sp.S.Zero
        if a.could_extract_minus_sign():
            return -cls(h, -a)
        if h.could_extract_minus_sign():
            return cls(-h, a)
        if h.is_zero:
            return sp.atan(a) / (2 * sp.pi)
        if a is sp.S.One:
            return (1 - sp.erf(h / sp.sqrt(2)) ** 2) / 8
        if a is sp.oo and h.is_extended_real:
            return sp.erfc(sp.Abs(h) / sp.sqrt(2)) / 4
        return None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return the derivative with respect to h (1) or a (2)."""
        h, a = self.args
        if argindex == 1:
            decay = sp.exp(-(h**2) / 2) / (2 * sp.sqrt(2 * sp.pi))
            return -decay * sp.erf(a * h / sp.sqrt(2))
        if argindex == 2:
            return sp.exp(-(h**2) * (1 + a**2) / 2) / (2 * sp.pi * (1 + a**2))
        raise sp.ArgumentIndexError(self, argindex)

    def _eval_rewrite_as_Integral(self, h: sp.Expr, a: sp.Expr, **hints: Any) -> sp.Expr:
        x = sp.Dummy("x", real=True)
        integrand = sp.exp(-(h**2) * (1 + x**2) / 2) / (1 + x**2)
        return sp.Integral(integrand, (x, 0, a)) / (2 * sp.pi)

    def _eval_evalf(self, prec: int) -> sp.Expr | None:
        a = _real_number(self.args[1], prec + 20)
        square = (self.args[0] ** 2).evalf(int((prec + 20) / 3.3219) + 3)
        real, imaginary = square.as_real_imag()
        if a is None or not (real.is_number and imaginary.is_number):
            return None
        parts = [_arb(_real_number(each, prec + 20)) for each in (real, imaginary)]
        with flint.ctx.workprec(prec + 40):
            h = flint.acb(*parts).sqrt()
            if mp.isinf(a):
                value = mp.sign(a) * (h / flint.arb(2).sqrt()).erfc() / 4
            else:
                value = flint.acb(owen_t(h, _arb(a), prec + 20))
            real, imaginary = (
                sp.Float._new(_midpoint(x)._mpf_, prec) for x in (value.real, value.imag)
            )
        return real + sp.I * imaginary if parts[1] != 0 else real

    def _eval_is_extended_real(self) -> bool | None:
        return True if all(value.is_extended_real for value in self.args) else None

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        inside = ",\\, ".join(printer._print(value) for value in self.args)
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"T{power}\!\left({inside}\right)"
