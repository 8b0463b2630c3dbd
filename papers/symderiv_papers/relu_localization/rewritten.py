"""The closed form rewritten with the cosine gamma: equations 44 to 48."""

from __future__ import annotations

from symderiv.verification.claim import Claim
from symderiv_papers.relu_localization.closed_form import EQUATION_43
from symderiv_papers.relu_localization.quadrant import UNITS
from symderiv_papers.relu_localization.rules import IN_BALLS
from symderiv_papers.relu_localization.two_constraints import EVENT, TWO, gaussian

__all__ = ["CLAIMS"]

_SYMMETRIC = ("rho", "Sigma1")
_G = "gamma[k]"
_ONE_MINUS = f"(1 - {_G}**2)"
_DIFFERENCES = "((rho[k, k] - rho[1, k])*Sw[1, i] + (rho[1, 1] - rho[1, k])*Sw[k, i])"


def _equation_44(angle: str) -> str:
    return (
        f"1/(2*pi*{_ONE_MINUS}*rho[1, 1]*rho[k, k])"
        f"*((rho[k, k]**2*acos(-{_G}) - rho[1, k]**2*asin({_G}))*Sw[1, i]"
        f" + (-rho[1, k]*rho[k, k]*acos({angle}) + rho[1, k]*rho[1, 1]*asin({_G}))*Sw[k, i])"
        f" + 1/(2*pi*sqrt({_ONE_MINUS}))*(rho[1, k]/sqrt(rho[1, 1]*rho[k, k])**3)*{_DIFFERENCES}"
    )


def _equation_45(root_part: str) -> str:
    return (
        f"1/(2*pi*{_ONE_MINUS})"
        f"*((rho[k, k]/rho[1, 1]*acos(-{_G}) - {_G}**2*asin({_G}))*Sw[1, i]"
        f" + (-rho[1, k]/rho[1, 1]*acos({_G}) + rho[1, k]/rho[k, k]*asin({_G}))*Sw[k, i])"
        f" + {root_part}*{_DIFFERENCES}"
    )


_ROOT_PART = f"1/(2*pi*{_G}*sqrt({_ONE_MINUS})*rho[1, 1]*rho[k, k])"
_ANGLES_1 = f"1/(2*pi*{_ONE_MINUS})*(rho[k, k]/rho[1, 1]*acos(-{_G}) - {_G}**2*asin({_G}))"
_ANGLES_K = (
    f"1/(2*pi*{_ONE_MINUS})*(-rho[1, k]/rho[1, 1]*acos({_G}) + rho[1, k]/rho[k, k]*asin({_G}))"
)
_BELOW = f"(2*pi*{_G}*sqrt({_ONE_MINUS})*rho[1, 1]*rho[k, k])"
_EQUATION_46 = (
    f"({_ANGLES_1} + (rho[k, k] - rho[1, k])/{_BELOW})*Sw[1, i]"
    f" + ({_ANGLES_K} + (rho[1, 1] - rho[1, k])/{_BELOW})*Sw[k, i]"
)
_GEOMETRIC = "1/sqrt(rho[1, 1]*rho[k, k])"
_FIRST_47 = f"({_ANGLES_1} + (1/({_G}*rho[1, 1]) - {_GEOMETRIC})/(2*pi*sqrt({_ONE_MINUS})))"
_SECOND_47 = (
    f"(-{_G}/(2*pi*{_ONE_MINUS})*sqrt(rho[1, 1]/rho[k, k])"
    f"*(rho[k, k]/rho[1, 1]*acos({_G}) - asin({_G}))"
    f" + (1/({_G}*rho[k, k]) - {_GEOMETRIC})/(2*pi*sqrt({_ONE_MINUS})))"
)
_FIRST_48 = (
    f"(({_G}**2 - rho[k, k]/rho[1, 1])/(2*pi*{_ONE_MINUS})*acos({_G})"
    f" + (2*(rho[k, k]/rho[1, 1]) - {_G}**2)/(4*{_ONE_MINUS})"
    f" + (1/({_G}*rho[1, 1]) - {_GEOMETRIC})/(2*pi*sqrt({_ONE_MINUS})))"
)
#: The coefficient that the print leaves open, if equation 47 is taken as given.
_OPEN_48 = (
    f"(-{_G}/(2*pi*{_ONE_MINUS})*sqrt(rho[1, 1]/rho[k, k])"
    f"*((rho[k, k]/rho[1, 1] + 1)*acos({_G}) - pi/2)"
    f" + (1/({_G}*rho[k, k]) - {_GEOMETRIC})/(2*pi*sqrt({_ONE_MINUS})))"
)
_TRUE = (
    f"sqrt({_ONE_MINUS})/(2*pi)*sqrt(rho[k, k]/rho[1, 1])*Sw[1, i]"
    f" + (1/2 - acos({_G})/(2*pi))*Sw[k, i]"
)
_REGIME = "every k > 1, both signs of gamma, rho_11 different from rho_kk"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "before 44",
        "E1(S*T[k])/sqrt(E1(S**2)*E1(T[k]**2)) == rho[1, k]/sqrt(rho[1, 1]*rho[k, k])",
        gaussian,
        IN_BALLS,
        UNITS,
        part="gamma",
        printed=0,
        definition=True,
        symmetric=_SYMMETRIC,
    ),
    Claim(
        "before 44",
        "acos(-gamma[k]) == pi - acos(gamma[k])",
        gaussian,
        IN_BALLS,
        UNITS,
        part="cosine identity",
        printed=1,
        regime=_REGIME,
        note="The answer to the notes' question is yes: Sigma_1 is a scalar product, so |gamma| <= "
        "1 by Cauchy and Schwarz (< 1 unless w_k is a multiple of w_1), and the identities "
        "arccos(-gamma) = pi - arccos(gamma) and arcsin(gamma) = pi/2 - arccos(gamma) hold as for "
        "any cosine. gamma is the correlation of S and T given Y = 1.",
    ),
    Claim(
        "44",
        f"{EQUATION_43} == {_equation_44(_G)}",
        gaussian,
        IN_BALLS,
        TWO,
        given="equation 43",
        corrected=f"{EQUATION_43} == {_equation_44('-' + _G)}",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="In the coefficient of Sigma_1 w_k the minus in arccos(-gamma) of equation 43 is "
        "lost; it stays lost in equations 45 to 47.",
    ),
    Claim(
        "45",
        f"{_equation_44(_G)} == {_equation_45(_ROOT_PART)}",
        gaussian,
        IN_BALLS,
        TWO,
        given="equation 44",
        corrected=f"{_equation_44(_G)} == "
        + _equation_45(f"{_G}/(2*pi*sqrt({_ONE_MINUS})*rho[1, 1]*rho[k, k])"),
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="rho_1k/(rho_11 rho_kk)^(3/2) is gamma/(rho_11 rho_kk): gamma belongs above the line, "
        "not below. The error stays in equations 46 to 48.",
    ),
    Claim(
        "46",
        f"{_equation_45(_ROOT_PART)} == {_EQUATION_46}",
        gaussian,
        IN_BALLS,
        TWO,
        given="equation 45",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
    ),
    Claim(
        "47",
        f"{_EQUATION_46} == {_FIRST_47}*Sw[1, i] + {_SECOND_47}*Sw[k, i]",
        gaussian,
        IN_BALLS,
        TWO,
        given="equation 46",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
    ),
    Claim(
        "48",
        f"{_FIRST_47} == {_FIRST_48}",
        gaussian,
        IN_BALLS,
        UNITS,
        part="first coefficient",
        given="equation 47",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="The cosine identities are used rightly. True is another coefficient, see part 'end'.",
    ),
    Claim(
        "48",
        f"{_SECOND_47} == {_OPEN_48}",
        gaussian,
        IN_BALLS,
        UNITS,
        part="second coefficient",
        given="equation 47",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="The print leaves [??]. Stated is what follows from equation 47, which is itself "
        "wrong; the true second coefficient is 1/2 - arccos(gamma)/(2 pi) = P(S > 0, T > 0 | "
        "Y = 1), see part 'end'.",
    ),
    Claim(
        "48",
        f"E1({EVENT}*T[k]*X[i]) == {_FIRST_48}*Sw[1, i] + {_OPEN_48}*Sw[k, i]",
        gaussian,
        IN_BALLS,
        TWO,
        part="end",
        corrected=f"E1({EVENT}*T[k]*X[i]) == {_TRUE}",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="The end of equations 14 to 48, with the open coefficient as equation 47 gives it. "
        "True are, events kept, sqrt(1 - gamma^2)/(2 pi) sqrt(rho_kk/rho_11) for Sigma_1 w_1 and "
        "1/2 - arccos(gamma)/(2 pi) for Sigma_1 w_k: no quotient grows as gamma goes to 0 or 1.",
    ),
)
