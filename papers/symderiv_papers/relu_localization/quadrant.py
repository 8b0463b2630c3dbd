"""The two scalar moments over the quadrant S > 0, T > 0: equations 21 to 30.

Integrals are tried in doubles; what they are equal to with all digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from symderiv.verification.arithmetic import extended
from symderiv.verification.claim import Claim, Point
from symderiv_papers.relu_localization.references import gaussian_points, moderate_points
from symderiv_papers.relu_localization.rules import IN_BALLS, IN_DOUBLES
from symderiv_papers.relu_localization.two_constraints import DETERMINANT, EVENT

__all__ = ["CLAIMS", "COSINE", "FIRST_MOMENT", "SECOND_MOMENT", "UNITS", "density"]

UNITS = "k = 2..K"
_SYMMETRIC = ("rho",)
_BOTH = "every k > 1, both signs of rho_1k, rho_11 different from rho_kk"

COSINE = "rho[1, k]/sqrt(rho[1, 1]*rho[k, k])"
_PREFACTOR = f"1/(2*pi*sqrt({DETERMINANT}))"


def density(first: str, last: str) -> str:
    """The density of (S, T) as printed: equation 22 has first = rho_11, last = rho_kk."""
    return f"{_PREFACTOR}*exp(-1/(2*{DETERMINANT})*({first}*s**2 - 2*rho[1, k]*s*t + {last}*t**2))"


def _double(factor: str, first: str = "rho[1, 1]", last: str = "rho[k, k]") -> str:
    return f"Integral({factor}*{density(first, last)}, (s, 0, oo), (t, 0, oo))"


_OUTER = (
    f"1/(sqrt(2*pi)*sqrt(rho[k, k]))*exp(-1/(2*{DETERMINANT})"
    "*(-rho[1, k]**2/rho[k, k]*s**2 + rho[1, 1]*s**2))"
)
_VARIANCE = f"({DETERMINANT}/rho[k, k])"
_NORMAL = f"1/(sqrt(2*pi)*sqrt({_VARIANCE}))*exp(-1/(2*{_VARIANCE})*(t - rho[1, k]/rho[k, k]*s)**2)"
_EQUATION_23 = f"Integral(s**2*{_OUTER}*Integral({_NORMAL}, (t, 0, oo)), (s, 0, oo))"
_EQUATION_24 = (
    f"Integral(s**2*{_OUTER}*1/2"
    f"*(1 + erf(rho[1, k]/sqrt(2*rho[k, k]*{DETERMINANT})*s)), (s, 0, oo))"
)


def _squared(variance: str) -> str:
    return (
        f"{variance}/(2*pi)*(acos(-{COSINE}) + rho[1, k]/(rho[1, 1]*rho[k, k])*sqrt({DETERMINANT}))"
    )


_EQUATION_28 = f"Integral(s*{_OUTER}*Integral(t*{_NORMAL}, (t, 0, oo)), (s, 0, oo))"
_MEAN = "(rho[1, k]/rho[k, k]*s)"
_EQUATION_29 = (
    f"Integral(s*{_OUTER}*(1/2*{_MEAN}*(1 + erf({_MEAN}/sqrt(2*{_VARIANCE})))"
    f" + 1/sqrt(2*pi)*exp(-1/2*{_MEAN}**2/{_VARIANCE})*sqrt({_VARIANCE})), (s, 0, oo))"
)

#: The printed closed forms 25 and 30.
FIRST_MOMENT = _squared("rho[k, k]")
SECOND_MOMENT = (
    f"rho[1, k]/(2*pi)*(asin({COSINE}) + rho[1, k]/(rho[1, 1]*rho[k, k])*sqrt({DETERMINANT}))"
)
_TRUE_SECOND = f"rho[1, k]/(2*pi)*(acos(-{COSINE}) + 1/rho[1, k]*sqrt({DETERMINANT}))"


def _at_some_s(numbers: Any) -> Iterator[Point]:
    """The outer variable of nested integrals fixed."""
    for point in moderate_points(numbers):
        for s in (0.1, 0.5):
            yield Point(f"{point.label}, s = {s}", extended(point.values, {"s": numbers.mpf(s)}))


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "21",
        f"E1({EVENT}*S**2) == E1given(S**2, {EVENT})*P1({EVENT})",
        gaussian_points,
        IN_BALLS,
        UNITS,
        definition=True,
        note="The left side of equations 22 to 25, which integrate over the quadrant without "
        "dividing: the event is kept. The conditional mean, which equation 20 needs, is this over "
        "P(S > 0, T > 0 | Y = 1).",
    ),
    Claim(
        "22",
        f"E1({EVENT}*S**2) == {_double('s**2')}",
        moderate_points,
        IN_DOUBLES,
        UNITS,
        corrected=f"E1({EVENT}*S**2) == {_double('s**2', 'rho[k, k]', 'rho[1, 1]')}",
        symmetric=_SYMMETRIC,
        regime=_BOTH,
        note="The inverse covariance of (S, T) has rho_kk beside s^2 and rho_11 beside t^2; they "
        "are exchanged. The line is right only if rho_11 = rho_kk; as printed it is the mean of "
        "T^2.",
    ),
    Claim(
        "23",
        f"{_double('s**2')} == {_EQUATION_23}",
        moderate_points,
        IN_DOUBLES,
        UNITS,
        given="equation 22",
        symmetric=_SYMMETRIC,
        regime=_BOTH,
    ),
    Claim(
        "24",
        f"{_EQUATION_23} == {_EQUATION_24}",
        moderate_points,
        IN_DOUBLES,
        UNITS,
        given="equation 23",
        symmetric=_SYMMETRIC,
        regime=_BOTH,
    ),
    Claim(
        "25",
        f"{_EQUATION_24} == {FIRST_MOMENT}",
        moderate_points,
        IN_DOUBLES,
        UNITS,
        part="given 24",
        given="equation 24",
        symmetric=_SYMMETRIC,
        regime=_BOTH,
    ),
    Claim(
        "25",
        f"E1({EVENT}*S**2) == {FIRST_MOMENT}",
        gaussian_points,
        IN_BALLS,
        UNITS,
        part="end",
        corrected=f"E1({EVENT}*S**2) == {_squared('rho[1, 1]')}",
        symmetric=_SYMMETRIC,
        regime=_BOTH,
        note="The chain's end has rho_kk where the mean of S^2 needs rho_11, because of the "
        "exchange in equation 22; as printed it is the mean of T^2 (events kept). That is what "
        "the corrected equation 20 asks for as its second entry.",
    ),
    Claim(
        "26",
        f"E1({EVENT}*S*T[k]) == E1given(S*T[k], {EVENT})*P1({EVENT})",
        gaussian_points,
        IN_BALLS,
        UNITS,
        definition=True,
        note="The left side of equations 27 to 30: the event is kept.",
    ),
    Claim(
        "27",
        f"E1({EVENT}*S*T[k]) == {_double('s*t')}",
        moderate_points,
        IN_DOUBLES,
        UNITS,
        symmetric=_SYMMETRIC,
        regime=_BOTH,
        note="The density has rho_11 and rho_kk exchanged, as in equation 22, but the integral is "
        "right: st does not change when s and t are exchanged.",
    ),
    Claim(
        "28",
        f"{_double('s*t')} == {_EQUATION_28}",
        moderate_points,
        IN_DOUBLES,
        UNITS,
        given="equation 27",
        symmetric=_SYMMETRIC,
        regime=_BOTH,
    ),
    Claim(
        "28",
        f"({_MEAN} + sqrt({_VARIANCE})*sqrt(2/pi)*exp(-{_MEAN}**2/(2*{_VARIANCE}))"
        f"/(1 + erf({_MEAN}/sqrt(2*{_VARIANCE})))) == Integral(t*{_NORMAL}, (t, 0, oo))",
        _at_some_s,
        IN_DOUBLES,
        UNITS,
        part="underbrace",
        in_words=True,
        corrected=f"({_MEAN} + sqrt({_VARIANCE})*sqrt(2/pi)*exp(-{_MEAN}**2/(2*{_VARIANCE}))"
        f"/(1 + erf({_MEAN}/sqrt(2*{_VARIANCE})))) == Integral(t*{_NORMAL}, (t, 0, oo))"
        "*2/(1 + erf(rho[1, k]*s/rho[k, k]/sqrt(2*" + _VARIANCE + ")))",
        symmetric=_SYMMETRIC,
        regime=_BOTH,
        note="The underbrace calls the inner integral the mean of a truncated normal. It is that "
        "mean times the probability of t > 0; equation 29 uses the integral rightly.",
    ),
    Claim(
        "29",
        f"{_EQUATION_28} == {_EQUATION_29}",
        moderate_points,
        IN_DOUBLES,
        UNITS,
        given="equation 28",
        symmetric=_SYMMETRIC,
        regime=_BOTH,
    ),
    Claim(
        "30",
        f"E1({EVENT}*S*T[k]) == {SECOND_MOMENT}",
        gaussian_points,
        IN_BALLS,
        UNITS,
        corrected=f"E1({EVENT}*S*T[k]) == {_TRUE_SECOND}",
        symmetric=_SYMMETRIC,
        regime=_BOTH,
        note="The integral 29 is right, its closed form is not: the arcsine must be the angle "
        "arccos(-rho_1k/sqrt(rho_11 rho_kk)), pi/2 more, and the root has the factor 1/rho_1k "
        "instead of rho_1k/(rho_11 rho_kk). At rho_1k = 0 the print gives 0, the mean is "
        "sqrt(rho_11 rho_kk)/(2 pi).",
    ),
)
