"""Orthogonal and almost identical units: equations 49 to 54, and the flow with both classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Converges, Exact
from symderiv_papers.relu_localization.closed_form import EQUATION_43
from symderiv_papers.relu_localization.flow import RESIDUAL, all_points
from symderiv_papers.relu_localization.references import near_points, orthogonal_points
from symderiv_papers.relu_localization.rules import IN_BALLS
from symderiv_papers.relu_localization.splits import with_two_constraints
from symderiv_papers.relu_localization.two_constraints import EVENT, TWO, gaussian

__all__ = ["CLAIMS"]

_SYMMETRIC = ("rho", "rho0", "Sigma1")
_KEPT = f"E1({EVENT}*T[k]*X[i])"
_FLOW = f"-E({RESIDUAL}*theta(S)*X[i])"
_LABEL_TERM = "1/(2*sqrt(2*pi))*rho[1, 1]**(-1/2)*Sw[1, i]"
_NEAR = "k = 2..2, i = 1..n"


def _orthogonal(numbers: Any) -> Iterator[Point]:
    yield from with_two_constraints(orthogonal_points(numbers), numbers)


def _near(numbers: Any) -> Iterator[Point]:
    yield from with_two_constraints(near_points(numbers), numbers)


def _moments(rho: str, image: str) -> str:
    """Sum over all units of the true E[T X 1(S > 0) 1(T > 0)] of a class; that of unit 1 first."""
    return (
        f"1/2*{image}[1, i] + Sum(1/(2*pi)*(sqrt({rho}[1, 1]*{rho}[k, k] - {rho}[1, k]**2)"
        f"/{rho}[1, 1]*{image}[1, i]"
        f" + acos(-{rho}[1, k]/sqrt({rho}[1, 1]*{rho}[k, k]))*{image}[k, i]), (k, 2, K))"
    )


_ORTHOGONAL_MOMENTS = (
    "1/2*Sw[1, i] + Sum(1/(2*pi)*sqrt(rho[k, k]/rho[1, 1])*Sw[1, i] + 1/4*Sw[k, i], (k, 2, K))"
)
_TRUE_ORTHOGONAL = f"{_LABEL_TERM} - 1/(2*K)*({_ORTHOGONAL_MOMENTS} + ({_moments('rho0', 'S0w')}))"
_TRUE_FLOW = f"{_LABEL_TERM} - 1/(2*K)*({_moments('rho', 'Sw')} + ({_moments('rho0', 'S0w')}))"
_EQUATION_51 = (
    f"{_LABEL_TERM} - 1/(2*K)*(Sw[1, i] + Sum(rho[k, k]/(2*rho[1, 1])*Sw[1, i], (k, 2, K)))"
)
_EQUATION_52 = (
    "1/2*(1/sqrt(2*pi)*rho[1, 1]**(-1/2)"
    " - 1/K*(1 + Sum(rho[k, k]/(2*rho[1, 1]), (k, 2, K))))*Sw[1, i]"
)
_EQUATION_54 = (
    "rho[k, k]**2/(2*pi)*(1/eps**2)*((acos(-1) - asin(1))*Sw[1, i]"
    " + rho[k, k]**2*(-acos(-1) + asin(1))*Sw[k, i])"
    " + 1/(2*pi)*(1/eps)*((rho[k, k] - rho[1, k])*Sw[1, i] + (rho[1, 1] - rho[1, k])*Sw[k, i])"
)
_REGIME = "units orthogonal to w_1 in Sigma_1, Sigma_0 different from Sigma_1, K >= 3"
_NEAR_REGIME = "eps -> 0, w_k almost 1.5 w_1"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "49",
        f"{EQUATION_43} == 1/(2*pi)*(1/(rho[1, 1]*rho[k, k]))*(rho[k, k]**2*(pi/2)*Sw[1, i])"
        " == rho[k, k]/(4*rho[1, 1])*Sw[1, i]",
        _orthogonal,
        IN_BALLS,
        TWO,
        part="given 43",
        given="equation 43",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
    ),
    Claim(
        "49",
        f"{_KEPT} == rho[k, k]/(4*rho[1, 1])*Sw[1, i]",
        _orthogonal,
        IN_BALLS,
        TWO,
        part="end",
        corrected=f"{_KEPT} == 1/(2*pi)*sqrt(rho[k, k]/rho[1, 1])*Sw[1, i] + 1/4*Sw[k, i]",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="Because equation 43 is wrong. The events are kept; a fourth of the inputs has S > 0 "
        "and T > 0, and Sigma_1 w_k stays.",
    ),
    Claim(
        "50",
        f"flow[i] == {_FLOW}",
        all_points,
        Exact(),
        "i = 1..n",
        corrected=f"flow[i] == -1/K*E({RESIDUAL}*theta(S)*X[i])",
        regime="any input",
        note="Equation 4 again: a factor 1/K is missing, unless tau stands for K tau.",
    ),
    Claim(
        "51",
        "1/2*E1(theta(S)*X[i])"
        " - 1/K*(1/2*Sw[1, i] + Sum(rho[k, k]/(4*rho[1, 1])*Sw[1, i], (k, 2, K)))"
        f" == {_EQUATION_51}",
        _orthogonal,
        IN_BALLS,
        "i = 1..n",
        part="given 49",
        given="equations 5, 13 and 49, and the mean over both classes replaced by that of Y = 1",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="The factors 1/2 and 1/K are right if Sigma_0 = Sigma_1. If the class Y = 0 were left "
        "out with its probability, the bracket would be half of this.",
    ),
    Claim(
        "51",
        f"{_FLOW} == {_EQUATION_51}",
        _orthogonal,
        IN_BALLS,
        "i = 1..n",
        part="end",
        corrected=f"{_FLOW} == {_TRUE_ORTHOGONAL}",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="The label term is right. In the other terms the class Y = 0 is forgotten, and the "
        "moment of equation 49 is wrong. Units orthogonal in Sigma_1 are in general not orthogonal "
        "in Sigma_0, so that the angles of class 0 stay. K tau dw_1/dt is meant (equation 4).",
    ),
    Claim(
        "52",
        f"{_EQUATION_51} == {_EQUATION_52}",
        _orthogonal,
        IN_BALLS,
        "i = 1..n",
        part="given 51",
        given="equation 51",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
    ),
    Claim(
        "52",
        f"{_FLOW} == {_EQUATION_52}",
        _orthogonal,
        IN_BALLS,
        "i = 1..n",
        part="end",
        corrected=f"{_FLOW} == {_TRUE_ORTHOGONAL}",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="The end of the chain from the loss to the flow in terms of w is wrong, as equation "
        "51: the class Y = 0 is forgotten, and terms along Sigma_1 w_k are missing.",
    ),
    Claim(
        "after 52",
        f"{_KEPT} == E1({EVENT}*T[k]*S)/rho[1, 1]*Sw[1, i]",
        _orthogonal,
        IN_BALLS,
        TWO,
        part="no competition term",
        in_words=True,
        printed=0,
        corrected=f"{_KEPT} == E1({EVENT}*T[k]*S)/rho[1, 1]*Sw[1, i] + 1/4*Sw[k, i]",
        symmetric=_SYMMETRIC,
        regime=_REGIME,
        note="If the update depended on w_k through its norm only, the moment would be along "
        "Sigma_1 w_1. There is a competition term: -1/(8K) Sigma_1 w_k per orthogonal unit (class "
        "1, in the time of equation 4) pushes w_1 away from w_k, because a fourth of the inputs "
        "makes both active. The coefficient of Sigma_1 w_1 depends on the norm of w_k, not on its "
        "square: sqrt(rho_kk/rho_11)/(2 pi).",
    ),
    Claim(
        "after 52",
        f"{_FLOW} == {_TRUE_FLOW}",
        gaussian,
        IN_BALLS,
        "i = 1..n",
        part="flow with both classes",
        printed=1,
        symmetric=_SYMMETRIC,
        regime="Gaussian classes, any Sigma_1, Sigma_0, any units that are no multiples of another",
        note="The answer to the notes' question. Both classes push w_1 in the same way, each with "
        "its own overlaps rho = w_i^T Sigma_1 w_j and rho0 = w_i^T Sigma_0 w_j: these two K x K "
        "matrices are the order parameters that determine loss and flow. They do not close by "
        "themselves (their derivatives contain w_i^T Sigma_a Sigma_b w_j); if Sigma_1 and Sigma_0 "
        "commute, as on a ring, the overlaps per common eigenvector do. In the time of equation 4.",
    ),
    Claim(
        "before 53",
        "E1(S*T[k]) == sqrt(rho[1, 1]*rho[k, k]) + eps**2",
        _near,
        IN_BALLS,
        "k = 2..2",
        corrected="E1(S*T[k]) == sqrt(rho[1, 1]*rho[k, k]) - eps**2",
        symmetric=_SYMMETRIC,
        regime=_NEAR_REGIME,
        note="By Cauchy and Schwarz rho_1k is at most sqrt(rho_11 rho_kk), so that the sign of "
        "eps^2 must be minus.",
    ),
    Claim(
        "53",
        f"{_KEPT} == E1given(T[k]*X[i], {EVENT})*P1({EVENT})",
        _near,
        IN_BALLS,
        _NEAR,
        definition=True,
        note="The left side of equation 54: the events are kept.",
    ),
    Claim(
        "54",
        f"{EQUATION_43} == {_EQUATION_54}",
        _near,
        Converges(1.0),
        _NEAR,
        part="given 43",
        given="equation 43, eps^2 = sqrt(rho_11 rho_kk) - rho_1k",
        corrected=f"{EQUATION_43} == 1/(4*eps**2*sqrt(rho[1, 1]*rho[k, k]))"
        "*((rho[k, k]**2 - rho[1, k]**2/2)*Sw[1, i]"
        " + (-rho[1, k]*rho[k, k] + rho[1, k]*rho[1, 1]/2)*Sw[k, i])",
        symmetric=_SYMMETRIC,
        regime=_NEAR_REGIME,
        note="The leading terms of equation 43 have other coefficients: the determinant is 2 "
        "sqrt(rho_11 rho_kk) eps^2, and rho_11, rho_1k and rho_kk stay different.",
    ),
    Claim(
        "54",
        f"{_KEPT} == {_EQUATION_54}",
        _near,
        Converges(3.0),
        _NEAR,
        part="end",
        corrected=f"{_KEPT} == 1/2*Sw[k, i] + eps/(sqrt(2)*pi)"
        "*((rho[1, 1]*rho[k, k])**(1/4)/rho[1, 1]*Sw[1, i]"
        " - (rho[1, 1]*rho[k, k])**(-1/4)*Sw[k, i])",
        symmetric=_SYMMETRIC,
        regime=_NEAR_REGIME,
        note="Nothing diverges: the moment goes to Sigma_1 w_k/2, as equation 13 has it for the "
        "unit itself, and the two terms of order eps cancel up to order eps^2. An almost identical "
        "unit acts like unit 1 itself; the competition is that of one unit of the summed weight.",
    ),
)
