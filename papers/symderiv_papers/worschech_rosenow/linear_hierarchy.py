"""Appendix B.1, first half: the hierarchy of one linear unit as a linear system, Eqs. (23)-(29)."""

from __future__ import annotations

from symderiv.verification.claim import Claim
from symderiv_papers.worschech_rosenow.linear_points import (
    EXACT,
    entries,
    entries_of_any,
    vectors,
    vectors_of_any,
)
from symderiv_papers.worschech_rosenow.linear_units import units

_AVERAGES = (
    "any learning rate; averages over teachers, so that T^(l) = nu_l and T^(1) = 1; L = 2 ... 6, "
    "power laws, other and nearly degenerate spectra"
)
_ANY = "any learning rate, any teacher and any state; L = 2 ... 5"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "before 23",
        "eps_g == curve(eta, sigma_J**2)",
        units("1/sqrt"),
        EXACT,
        regime="K, M in 1 ... 3, student and teacher divided by sqrt(K) and sqrt(M)",
        note="With the factor 1/sqrt(K) for the student, as the appendix says of the teacher, the "
        "mean error of a committee is that of one unit.",
    ),
    Claim(
        "23",
        "eps_g == 1/2*(Q[1] - 2*R[1] + T[1])",
        entries_of_any,
        EXACT,
        regime=_ANY,
    ),
    Claim(
        "24",
        "dR[l] == eta*(T[l+1] - R[l+1])",
        entries_of_any,
        EXACT,
        "l = 0..L-2",
        part="R",
        regime=_ANY,
    ),
    Claim(
        "24",
        "dQ[l] == 2*eta*(R[l+1] - Q[l+1]) + eta**2*T[l+1]*(T[1] + Q[1] - 2*R[1])",
        entries,
        EXACT,
        "l = 0..L-2",
        part="Q",
        regime=_AVERAGES,
    ),
    Claim(
        "24",
        "dQ[l] == 2*eta*(R[l+1] - Q[l+1]) + eta**2*T[l+1]*(T[1] + Q[1] - 2*R[1])",
        entries_of_any,
        EXACT,
        "l = 0..L-2",
        part="Q, one teacher",
        regime=_ANY,
        corrected="dQ[l] == 2*eta*(R[l+1] - Q[l+1]) + eta**2*nu[l+1]*(T[1] + Q[1] - 2*R[1])",
        note="For one teacher, outside of the averages that the appendix works with, the noise "
        "carries nu_(l+1) as in Eq. (4), not T^(l+1).",
    ),
    Claim(
        "25",
        "dR[L-1] == eta*Sum(c[k]*(T[k] - R[k]), (k, 0, L-1))",
        entries_of_any,
        EXACT,
        part="R",
        printed=0,
        regime=_ANY,
        corrected="dR[L-1] == -eta*Sum(c[k]*(T[k] - R[k]), (k, 0, L-1))",
        note="The closure R^(L) = -sum c_k R^(k) brings a sign that the print lost; the last row "
        "of Eq. (27) has it.",
    ),
    Claim(
        "25",
        "dQ[L-1] == 2*eta*Sum(c[k]*(R[k] - Q[k]), (k, 0, L-1))"
        " + eta**2*T[L]*(T[1] + Q[1] - 2*R[1])",
        entries,
        EXACT,
        part="Q",
        printed=1,
        regime=_AVERAGES,
        corrected="dQ[L-1] == -2*eta*Sum(c[k]*(R[k] - Q[k]), (k, 0, L-1))"
        " + eta**2*T[L]*(T[1] + Q[1] - 2*R[1])",
        note="The sign of the closure is lost here too; the noise term is right.",
    ),
    Claim(
        "26",
        "dR == eta*A_1@R + eta*u",
        vectors,
        EXACT,
        part="R",
        regime=_AVERAGES,
        given="Eq. (27)",
    ),
    Claim(
        "26",
        "dQ == eta*((-2*A_1 - 2*eta*U)@R + (2*A_1 + eta*U)@Q) + eta*(eta*u)",
        vectors,
        EXACT,
        part="Q",
        regime=_AVERAGES,
        given="Eq. (27)",
    ),
    Claim(
        "27",
        "A_1[i, j] == If(i < L, -delta(j, i+1), c[j-1])",
        entries_of_any,
        EXACT,
        "i = 1..L, j = 1..L",
        part="A_1",
        regime=_ANY,
        note="The engine's matrix is read off its moment form, the print's is written out.",
    ),
    Claim(
        "27",
        "U[i, j] == u[i]*delta(j, 2)",
        entries,
        EXACT,
        "i = 1..L, j = 1..L",
        part="U",
        regime=_AVERAGES,
        note="For L = 1 there is no e_2; then R^(1) = lambda_1 R^(0) closes the equations.",
    ),
    Claim(
        "28",
        "dR == eta*A_1@R + eta*u",
        vectors_of_any,
        EXACT,
        printed=0,
        regime=_ANY,
    ),
    Claim(
        "28",
        "A_3 == -2*A_1 - 2*eta*U",
        vectors,
        EXACT,
        part="A_3",
        printed=1,
        regime=_AVERAGES,
        definition=True,
    ),
    Claim(
        "28",
        "A_4 == 2*A_1 + eta*U",
        vectors,
        EXACT,
        part="A_4",
        printed=2,
        regime=_AVERAGES,
        definition=True,
    ),
    Claim(
        "29",
        "dQ == eta*A_3@R + eta*A_4@Q + eta**2*u",
        vectors,
        EXACT,
        regime=_AVERAGES,
        given="A_3 and A_4",
    ),
)
