"""Appendix B.1: solution for the overlap with the teacher, Eqs. (30)-(38)."""

from __future__ import annotations

from symderiv.verification.claim import Claim
from symderiv_papers.worschech_rosenow.linear_points import (
    EXACT,
    entries,
    entries_from_zero,
    entries_of_any,
    vectors_of_any,
)

_AVERAGES = (
    "any learning rate, R_0 = 0; averages over teachers, so that T^(l) = nu_l; "
    "L = 2 ... 6, power laws, other and nearly degenerate spectra"
)
_ANY = "any learning rate, any teacher and any initial student; L = 2 ... 5"
_SOURCE = "Sum(inverse_V[j, l]*u[l], (l, 1, L))"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "30",
        "R == expm(eta*A_1*alpha)@R_0 + expm(eta*A_1*alpha)@inverse(A_1)@u - inverse(A_1)@u",
        vectors_of_any,
        EXACT,
        regime=_ANY,
    ),
    Claim(
        "31",
        "det_A_1 == Sum(c[i]*(-1)**(L+1+i)*(-1)**(L-1-i)*(-x)**i, (i, 0, L-2))"
        " + (c[L-1] - x)*(-1)**(2*L)*(-x)**(L-1) == Sum(c[i]*(-x)**i, (i, 0, L))",
        entries,
        EXACT,
        regime="any lambda (here x); L = 2 ... 6",
    ),
    Claim(
        "31",
        "0 == Sum(c[i]*(-lam_A_1[k])**i, (i, 0, L))",
        entries,
        EXACT,
        "k = 1..L",
        part="zero",
        regime="at the eigenvalues of A_1, which are found as such",
    ),
    Claim(
        "after 31",
        "lam_A_1[l] == -lam[l]",
        entries,
        EXACT,
        "l = 1..L",
        regime="L = 2 ... 6",
    ),
    Claim(
        "32",
        "v[k, i] == (-1)**(i-1)*lam_A_1[k]**(i-1)*v[k, 1]",
        entries,
        EXACT,
        "k = 1..L, i = 1..L",
        regime="any first entry; L = 2 ... 6",
        note="Here lambda_k is the eigenvalue of A_1, minus that of the covariance.",
    ),
    Claim(
        "33",
        "V[i, k] == lam[k]**(i-1)",
        entries,
        EXACT,
        "i = 1..L, k = 1..L",
        regime="eigenvectors of A_1 with first entry 1",
    ),
    Claim(
        "before 34",
        "inverse_A_1[i, j] == Sum(V[i, k]*Lambda_2[k, l]*inverse_V[l, j], (k, 1, L), (l, 1, L))",
        entries,
        EXACT,
        "i = 1..L, j = 1..L",
        printed=0,
        regime="L = 2 ... 6",
        diagonal=("Lambda_2",),
    ),
    Claim(
        "before 34",
        "Lambda_2[k, j] == -delta(k, j)/lam[k]",
        entries,
        EXACT,
        "k = 1..L, j = 1..L",
        part="Lambda",
        printed=1,
        regime="read with the indices of the left side",
        diagonal=("Lambda_2",),
    ),
    Claim(
        "34",
        "R_end[i] == -Sum(V[i, j]*Sum(Lambda_2[j, k]*Sum(inverse_V[k, l]*u[l], (l, 1, L)),"
        f" (k, 1, L)), (j, 1, L)) == -Sum(V[i, j]*Lambda_2[j, j]*{_SOURCE}, (j, 1, L))"
        f" == -Sum(lam[j]**(i-1)*(1/(-lam[j]))*{_SOURCE}, (j, 1, L))"
        f" == Sum(lam[j]**(i-2)*{_SOURCE}, (j, 1, L))",
        entries_of_any,
        EXACT,
        "i = 1..L",
        regime=_ANY,
        diagonal=("Lambda_2",),
    ),
    Claim(
        "35",
        "Sum(inverse_V[j, l]*V[l, a], (l, 1, L)) == delta(j, a)",
        entries,
        EXACT,
        "j = 1..L, a = 1..L",
        part="inverse",
        printed=0,
        regime="L = 2 ... 6",
    ),
    Claim(
        "35",
        f"{_SOURCE} == Sum(inverse_V[j, l]*T[l], (l, 1, L))"
        " == Sum(inverse_V[j, l]*(1/L)*Sum(lam[a]**l, (a, 1, L)), (l, 1, L))"
        " == 1/L*Sum(lam[a]*Sum(inverse_V[j, l]*lam[a]**(l-1), (l, 1, L)), (a, 1, L))"
        " == 1/L*Sum(lam[a]*Sum(inverse_V[j, l]*V[l, a], (l, 1, L)), (a, 1, L))"
        " == 1/L*lam[j]",
        entries,
        EXACT,
        "j = 1..L",
        printed=1,
        regime=_AVERAGES,
    ),
    Claim(
        "36",
        "R_end[i] == 1/L*Sum(lam[j]**(i-1), (j, 1, L)) == T[i-1]",
        entries,
        EXACT,
        "i = 1..L",
        regime=_AVERAGES,
    ),
    Claim(
        "37",
        "F[i] == Sum(V[i, j]*Sum(exp(-eta*lam[j]*alpha)*delta(j, k)*Sum(Lambda_2[k, l]"
        "*Sum(inverse_V[l, m]*u[m], (m, 1, L)), (l, 1, L)), (k, 1, L)), (j, 1, L))",
        entries_from_zero,
        EXACT,
        "i = 1..L",
        printed=0,
        regime=_ANY.replace("any initial student", "R_0 = 0"),
        diagonal=("Lambda_2",),
    ),
    Claim(
        "37",
        "F[i] == Sum(V[i, j]*exp(-eta*lam[j]*alpha)*(1/(-lam[j]))"
        "*Sum(inverse_V[l, m]*u[m], (m, 1, L)), (j, 1, L))",
        entries,
        EXACT,
        "i = 1..L, l = 1..L",
        part="second form",
        printed=0,
        regime=_AVERAGES,
        corrected="F[i] == Sum(V[i, j]*exp(-eta*lam[j]*alpha)*(1/(-lam[j]))"
        "*Sum(inverse_V[j, m]*u[m], (m, 1, L)), (j, 1, L))",
        note="After the sums over k and l the index l of the inverse of V must be j; the next "
        "line is right.",
    ),
    Claim(
        "37",
        "F[i] == -1/L*Sum(lam[j]**(i-2)*exp(-eta*lam[j]*alpha)*lam[j], (j, 1, L))"
        " == -1/L*Sum(exp(-eta*lam[j]*alpha)*lam[j]**(i-1), (j, 1, L))",
        entries,
        EXACT,
        "i = 1..L",
        part="end",
        printed=1,
        regime=_AVERAGES,
    ),
    Claim(
        "after 37",
        "R_now[i] == F[i] - Sum(inverse_A_1[i, j]*u[j], (j, 1, L)) == T[i-1] + F[i]",
        entries,
        EXACT,
        "i = 1..L",
        regime=_AVERAGES,
    ),
    Claim(
        "38",
        "R[1] == R_now[2] == 1 - 1/L*Sum(exp(-eta*lam[a]*alpha)*lam[a], (a, 1, L))",
        entries,
        EXACT,
        regime=_AVERAGES,
    ),
)
