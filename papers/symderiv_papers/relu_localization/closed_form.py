"""The vector moment in closed form: equations 31 to 43."""

from __future__ import annotations

from symderiv.verification.claim import Claim
from symderiv.verification.rules import Exact
from symderiv_papers.relu_localization.quadrant import (
    COSINE,
    FIRST_MOMENT,
    SECOND_MOMENT,
    UNITS,
)
from symderiv_papers.relu_localization.rules import IN_BALLS
from symderiv_papers.relu_localization.two_constraints import (
    DETERMINANT,
    EVENT,
    TWO,
    gaussian,
)

__all__ = ["CLAIMS", "EQUATION_43", "TRUE_MOMENT"]

_SYMMETRIC = ("rho", "Sigma1")
_KEPT = f"E1({EVENT}*T[k]*X[i])"
_ROOT = f"sqrt({DETERMINANT})"
_INVERSE = "Matrix(2, 2, rho[k, k], -rho[1, k], -rho[1, k], rho[1, 1])"
_ANGLES = f"Vector(rho[k, k]*acos(-{COSINE}), rho[1, k]*asin({COSINE}))"
_ON_FIRST = f"(rho[k, k]**2*acos(-{COSINE}) - rho[1, k]**2*asin({COSINE}))"
_ON_OTHER = f"(-rho[1, k]*rho[k, k]*acos(-{COSINE}) + rho[1, k]*rho[1, 1]*asin({COSINE}))"
_RATIO = "rho[1, k]/(rho[1, 1]*rho[k, k])"
_EQUATION_38 = f"1/{DETERMINANT}*({_ON_FIRST}*Sw[1, i] + {_ON_OTHER}*Sw[k, i])"
_EQUATION_40 = (
    f"{_RATIO}*(1/{_ROOT})*((rho[k, k] - rho[1, k])*Sw[1, i] + (rho[1, 1] - rho[1, k])*Sw[k, i])"
)
#: The printed result.
EQUATION_43 = (
    f"1/(2*pi)*(1/{DETERMINANT})*({_ON_FIRST}*Sw[1, i] + {_ON_OTHER}*Sw[k, i])"
    f" + 1/(2*pi)*{_EQUATION_40}"
)
#: What the moment is.
TRUE_MOMENT = f"1/(2*pi)*({_ROOT}/rho[1, 1]*Sw[1, i] + acos(-{COSINE})*Sw[k, i])"
_PRINTED_ENTRIES = f"Vector({FIRST_MOMENT}, {SECOND_MOMENT})"
_REGIME = "Gaussian X given Y = 1, every k > 1, both signs of rho_1k"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "31",
        "TX(k) == Cmat(k)@TX(k)",
        gaussian,
        Exact(),
        UNITS,
        corrected="TX(k) == Cmat(k)@Tb(k)",
        regime=_REGIME,
        note="C multiplies the two scalar moments E[Tb], not E[TX], which has n entries; with them "
        "the result is E[TX] itself. The events are kept; TX(k) and Tb(k) are the vectors of "
        "these means.",
    ),
    Claim(
        "32",
        f"E1({EVENT}*S*T[k]) == {FIRST_MOMENT}",
        gaussian,
        IN_BALLS,
        UNITS,
        corrected=f"E1({EVENT}*S*T[k]) == 1/(2*pi)*(rho[1, k]*acos(-{COSINE}) + {_ROOT})",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="The first entry of what C multiplies in E[TX] is E[ST], events kept (see the "
        "corrected equation 20). What is printed there is equation 25, in fact the mean of T^2: "
        "the true second entry.",
    ),
    Claim(
        "33",
        f"E1({EVENT}*T[k]**2) == {SECOND_MOMENT}",
        gaussian,
        IN_BALLS,
        UNITS,
        corrected=f"E1({EVENT}*T[k]**2) == rho[k, k]/(2*pi)*(acos(-{COSINE}) + {_RATIO}*{_ROOT})",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="The second entry is E[T^2], events kept; printed is equation 30. The plus sign in "
        "front stands for the next entry of the column.",
    ),
    Claim(
        "35",
        f"2*pi*{_PRINTED_ENTRIES} - {_RATIO}*{_ROOT}*Vector(rho[k, k], rho[1, k]) == {_ANGLES}",
        gaussian,
        Exact(),
        UNITS,
        given="equations 32 and 33",
        symmetric=_SYMMETRIC,
        note="The angles of the printed vector; those of the true one are rho_1k and rho_kk, both "
        "times arccos(-rho_1k/sqrt(rho_11 rho_kk)).",
    ),
    Claim(
        "36",
        f"Cmat(k)@{_ANGLES} == 1/{DETERMINANT}*SW(k)@{_INVERSE}@{_ANGLES}",
        gaussian,
        Exact(),
        UNITS,
        given="equations 34 and 35",
        symmetric=_SYMMETRIC,
    ),
    Claim(
        "37",
        f"Cmat(k)@{_ANGLES} == 1/{DETERMINANT}*SW(k)@Vector({_ON_FIRST}, {_ON_OTHER})",
        gaussian,
        Exact(),
        UNITS,
        given="equation 36",
        symmetric=_SYMMETRIC,
    ),
    Claim(
        "38",
        f"C[k, i, 1]*(rho[k, k]*acos(-{COSINE})) + C[k, i, 2]*(rho[1, k]*asin({COSINE}))"
        f" == {_EQUATION_38}",
        gaussian,
        IN_BALLS,
        TWO,
        given="equation 37",
        symmetric=_SYMMETRIC,
        note="Sw[k, i] is entry i of Sigma_1 w_k.",
    ),
    Claim(
        "39",
        f"{_RATIO}*{_ROOT}*Cmat(k)@Vector(1, 1)"
        f" == {_RATIO}*(1/{_ROOT})*SW(k)@Vector(rho[k, k] - rho[1, k], rho[1, 1] - rho[1, k])",
        gaussian,
        Exact(),
        UNITS,
        part="given the left side",
        given="the left side",
        symmetric=_SYMMETRIC,
    ),
    Claim(
        "39",
        f"2*pi*{_PRINTED_ENTRIES} - {_ANGLES} == {_RATIO}*{_ROOT}*Vector(1, 1)",
        gaussian,
        Exact(),
        UNITS,
        part="left side from 32 and 33",
        given="equations 32 and 33",
        corrected=f"2*pi*{_PRINTED_ENTRIES} - {_ANGLES}"
        f" == {_RATIO}*{_ROOT}*Vector(rho[k, k], rho[1, k])",
        symmetric=_SYMMETRIC,
        note="The factors rho_kk and rho_1k in front of the brackets of equations 32 and 33 are "
        "lost for the roots (they are kept for the angles), so equation 43 does not follow even "
        "from equations 32 and 33; its second part has other dimensions than its first.",
    ),
    Claim(
        "40",
        f"{_RATIO}*{_ROOT}*(C[k, i, 1] + C[k, i, 2]) == {_EQUATION_40}",
        gaussian,
        IN_BALLS,
        TWO,
        given="equation 39",
        symmetric=_SYMMETRIC,
    ),
    Claim(
        "41",
        f"{_KEPT} == E1given(T[k]*X[i], {EVENT})*P1({EVENT})",
        gaussian,
        IN_BALLS,
        TWO,
        definition=True,
        note="The events are kept, as in the second term of equation 5.",
    ),
    Claim(
        "42",
        "TX(k) == Cmat(k)@TX(k)",
        gaussian,
        Exact(),
        UNITS,
        corrected="TX(k) == Cmat(k)@Tb(k)",
        regime=_REGIME,
        note="As in equation 31: C multiplies E[Tb], that is E[ST] and E[T^2].",
    ),
    Claim(
        "43",
        f"1/(2*pi)*({_EQUATION_38}) + 1/(2*pi)*({_EQUATION_40}) == {EQUATION_43}",
        gaussian,
        IN_BALLS,
        TWO,
        part="given 38 and 40",
        given="equations 38 and 40",
        symmetric=_SYMMETRIC,
    ),
    Claim(
        "43",
        f"{_KEPT} == {EQUATION_43}",
        gaussian,
        IN_BALLS,
        TWO,
        part="end",
        corrected=f"{_KEPT} == {TRUE_MOMENT}",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="The chain's end is wrong: it multiplies by C the vector (S^2, ST) instead of "
        "(ST, T^2) (equation 20), with rho_11 and rho_kk exchanged (22), a wrong closed form (30) "
        "and lost factors (39). True is, with the events kept, E[TX] = sqrt(rho_11 rho_kk - "
        "rho_1k^2)/(2 pi rho_11) Sigma_1 w_1 + arccos(-gamma)/(2 pi) Sigma_1 w_k; the second "
        "coefficient is P(S > 0, T > 0 | Y = 1). It holds for k = 1 too, where it is equation 13.",
    ),
)
