"""Section 4, linear activation: the closed system and the error, Eqs. (5)-(8)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from symderiv.verification.claim import Claim
from symderiv.verification.rules import Converges
from symderiv_papers.worschech_rosenow.linear_points import (
    EXACT,
    drawn,
    first_order,
    modes,
    slower,
    vectors,
    vectors_of_any,
)
from symderiv_papers.worschech_rosenow.linear_units import units

_AVERAGES = (
    "any learning rate; averages over teachers and initial students; L = 2 ... 6, power laws, "
    "other and nearly degenerate spectra"
)
_SMALL = "eta -> 0 at fixed eta*alpha; L = 2 ... 6, sigma_J^2 from 0.01 to 2"


def _many_times(numbers: Any) -> Any:
    return drawn(numbers, (Fraction(1, 100), Fraction(1), Fraction(4), Fraction(20)))


SIX: Final = (
    "eps_g == (1 + sigma_J**2)/(2*L)*Sum("
    "Sum(entry(inverse(eigenvectors(A_1 + eta*U)), k, l)*T[l], (l, 1, L))"
    "*eigenvalue(A_1 + eta*U, k)*exp(-2*eta*eigenvalue(A_1 + eta*U, k)*alpha), (k, 1, L))"
)
SIX_CORRECTED: Final = (
    "eps_g == (1 + sigma_J**2)/(2 - eta)*Sum("
    "Sum(entry(inverse(eigenvectors(-A_1 - eta/2*U)), k, l)*T[l-1], (l, 1, L))"
    "*eigenvalue(-A_1 - eta/2*U, k)*exp(-2*eta*eigenvalue(-A_1 - eta/2*U, k)*alpha),"
    " (k, 1, L))"
)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "before 5",
        "eps_g == curve(eta, sigma_J**2)",
        units("sqrt(M)/K"),
        EXACT,
        regime="K, M in 1 ... 3, student of Eq. (2), teacher divided by sqrt(M)",
        corrected="eps_g == curve(eta*M/K, sigma_J**2*M/K)",
        note="With the student sqrt(M)/K sum x_i of Eq. (2) the error of a committee is that of "
        "one unit with the learning rate eta M/K and the initial variance sigma_J^2 M/K: it does "
        "not depend on the sizes for K = M, or with 1/sqrt(K) as student's factor.",
        in_words=True,
    ),
    Claim(
        "5",
        "dR == eta*A_1@R + eta*u",
        vectors_of_any,
        EXACT,
        part="R",
        regime="any learning rate, any teacher and any state; L = 2 ... 5",
        given="A_1 of Eq. (27)",
    ),
    Claim(
        "5",
        "dQ == eta*((-2*A_1 - 2*eta*u@transpose(e_2))@R + (2*A_1 + eta*u@transpose(e_2))@Q)"
        " + eta*(eta*u)",
        vectors,
        EXACT,
        part="Q",
        regime=_AVERAGES,
        given="A_1 of Eq. (27)",
    ),
    Claim(
        "6",
        SIX,
        modes,
        EXACT,
        regime=_AVERAGES,
        corrected=SIX_CORRECTED,
        note="The matrix is -(A_1 + eta/2 U), half of -A_4; b_k is made of T^(0) ... T^(L-1); with "
        "eigenvectors that start with 1, as in Eq. (33), the prefactor is (1 + sigma_J^2)/"
        "(2 - eta). As printed the exponents grow, and no normalisation of W mends that.",
    ),
    Claim(
        "6",
        "rate[k] == 2*eta*eigenvalue(A_1 + eta*U, k)",
        modes,
        EXACT,
        "k = 1..L",
        part="decay rates",
        regime=_AVERAGES,
        corrected="rate[k] == 2*eta*eigenvalue(-A_1 - eta/2*U, k)",
        note="The decay rates of the error, enclosed as roots of the secular equation, do not "
        "depend on how W is normalised.",
    ),
    Claim(
        "after 6",
        not_checkable="The remark that perturbation theory in eta U is not applicable names no "
        "size. (U has the eigenvalue T^(2), which grows like lambda_1; at eta = 1, beta = 1 and "
        "L = 8 ... 128 the first order gives the largest rate to 2 to 3 %.)",
    ),
    Claim(
        "7",
        "R[1] == 1 - 1/L*Sum(lam[k]*exp(-eta*lam[k]*alpha), (k, 1, L))",
        drawn,
        EXACT,
        part="R",
        printed=0,
        regime=_AVERAGES,
        note="Exact at any learning rate.",
    ),
    Claim(
        "7",
        "Q[1] == 1 + (1 + sigma_J**2)/L*Sum(lam[k]*exp(-2*eta*lam[k]*alpha), (k, 1, L))"
        " - 2/L*Sum(lam[k]*exp(-eta*lam[k]*alpha), (k, 1, L))",
        first_order,
        EXACT,
        part="Q, first order",
        printed=1,
        regime="Eq. (5) without the terms of order eta^2; " + _AVERAGES,
    ),
    Claim(
        "7",
        "Q[1] == 1 + (1 + sigma_J**2)/L*Sum(lam[k]*exp(-2*eta*lam[k]*alpha), (k, 1, L))"
        " - 2/L*Sum(lam[k]*exp(-eta*lam[k]*alpha), (k, 1, L))",
        slower,
        Converges(1),
        part="Q",
        printed=1,
        regime=_SMALL,
    ),
    Claim(
        "8",
        "eps_g == (1 + sigma_J**2)/(2*L)*Sum(lam[k]*exp(-2*eta*lam[k]*alpha), (k, 1, L))",
        first_order,
        EXACT,
        part="first order",
        regime="Eq. (5) without the terms of order eta^2; " + _AVERAGES,
    ),
    Claim(
        "8",
        "eps_g == (1 + sigma_J**2)/(2*L)*Sum(lam[k]*exp(-2*eta*lam[k]*alpha), (k, 1, L))",
        slower,
        Converges(1),
        regime=_SMALL,
    ),
    Claim(
        "after 8",
        "eps_g - (1 + sigma_J**2)/(2*L)*Sum(lam[k]*exp(-2*eta*lam[k]*alpha), (k, 1, L)) > 0",
        _many_times,
        EXACT,
        regime="alpha > 0, eta from 0.05 to 1.9; " + _AVERAGES,
        note="The error at any learning rate lies above Eq. (8) at all times: the noise term that "
        "Eq. (8) leaves out is positive.",
    ),
)
