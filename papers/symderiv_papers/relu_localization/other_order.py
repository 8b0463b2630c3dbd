"""The first moment again, integrated in the other order: equations 55 to 58."""

from __future__ import annotations

from symderiv.verification.claim import Claim
from symderiv.verification.rules import Exact
from symderiv_papers.relu_localization.quadrant import UNITS, density
from symderiv_papers.relu_localization.references import gaussian_points, moderate_points
from symderiv_papers.relu_localization.rules import IN_DOUBLES
from symderiv_papers.relu_localization.two_constraints import DETERMINANT, EVENT

__all__ = ["CLAIMS"]

_SYMMETRIC = ("rho",)
_REGIME = "every k > 1, both signs of rho_1k, rho_11 different from rho_kk and from 1"


def _double(first: str, last: str) -> str:
    return f"Integral(s**2*{density(first, last)}, (s, 0, oo), (t, 0, oo))"


def _equation_57(last: str, factor: str = "") -> str:
    return (
        "Integral(1/sqrt(2*pi)*Integral("
        f"s**2*(1/(sqrt(2*pi)*sqrt({DETERMINANT})))*exp(-1/(2*{DETERMINANT})"
        f"*((rho[1, 1]*s - rho[1, k]*t)**2 - rho[1, k]**2*t**2 + {last}*t**2){factor}),"
        " (s, 0, oo)), (t, 0, oo))"
    )


_EQUATION_56 = _double("rho[1, 1]", "rho[k, k]")
_PRINTED_57 = _equation_57("rho[k, k]")
_RIGHT_57 = _equation_57("rho[k, k]*rho[1, 1]", "/rho[1, 1]")
_EQUATION_58 = (
    "Integral(1/(sqrt(2*pi)*rho[1, 1])"
    f"*exp(-(rho[k, k] - rho[1, k]**2)/(2*{DETERMINANT})*t**2)"
    f"*Integral(s**2*(rho[1, 1]/(sqrt(2*pi)*sqrt({DETERMINANT})))"
    f"*exp(-rho[1, 1]**2/(2*{DETERMINANT})*(s - rho[1, k]/rho[1, 1]*t)**2), (s, 0, oo)),"
    " (t, 0, oo))"
)
_TRUE_58 = (
    "Integral(1/(sqrt(2*pi)*sqrt(rho[k, k]))*exp(-1/(2*rho[k, k])*t**2)"
    f"*Integral(s**2*(sqrt(rho[k, k])/(sqrt(2*pi)*sqrt({DETERMINANT})))"
    f"*exp(-rho[k, k]/(2*{DETERMINANT})*(s - rho[1, k]/rho[k, k]*t)**2), (s, 0, oo)),"
    " (t, 0, oo))"
)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "55",
        f"E1({EVENT}*S**2) == E1given(S**2, {EVENT})*P1({EVENT})",
        gaussian_points,
        Exact(),
        UNITS,
        definition=True,
        note="As equation 21: the event is kept.",
    ),
    Claim(
        "56",
        f"E1({EVENT}*S**2) == {_EQUATION_56}",
        moderate_points,
        IN_DOUBLES,
        UNITS,
        corrected=f"E1({EVENT}*S**2) == {_double('rho[k, k]', 'rho[1, 1]')}",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="As in equation 22, rho_11 and rho_kk are exchanged in the exponent.",
    ),
    Claim(
        "57",
        f"{_EQUATION_56} == {_PRINTED_57}",
        moderate_points,
        IN_DOUBLES,
        UNITS,
        given="equation 56",
        corrected=f"{_EQUATION_56} == {_RIGHT_57}",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="Completing the square gives a factor 1/rho_11 in front of the bracket, and rho_11 "
        "rho_kk t^2 in it. The line is right only if rho_11 = 1.",
    ),
    Claim(
        "58",
        f"{_PRINTED_57} == {_EQUATION_58}",
        moderate_points,
        IN_DOUBLES,
        UNITS,
        part="given 57",
        given="equation 57",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
    ),
    Claim(
        "58",
        f"E1({EVENT}*S**2) == {_EQUATION_58}",
        moderate_points,
        IN_DOUBLES,
        UNITS,
        part="end",
        corrected=f"E1({EVENT}*S**2) == {_TRUE_58}",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="With the right density and square the outer factor is the density of T, N(0, "
        "rho_kk), and the inner integral runs over the density of S given T. Completed, it gives "
        "the corrected equation 25.",
    ),
)
