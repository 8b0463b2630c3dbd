"""Gaussian data, two positivity constraints: the split of X, equations 14 to 20 and 34."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Exact
from symderiv_papers.relu_localization.flow import all_points
from symderiv_papers.relu_localization.references import gaussian_points
from symderiv_papers.relu_localization.splits import with_two_constraints

__all__ = ["CLAIMS", "DETERMINANT", "EVENT", "TWO", "gaussian"]

#: The event S > 0, T > 0, and the ranges of most claims.
EVENT = "theta(S)*theta(T[k])"
TWO = "k = 2..K, i = 1..n"
#: Determinant of the covariance of S and T.
DETERMINANT = "(rho[1, 1]*rho[k, k] - rho[1, k]**2)"
_REST = "Sum((delta(i, j) - C[k, i, 1]*w[1, j] - C[k, i, 2]*w[k, j])*X[j], (j, 1, n))"
_SYMMETRIC = ("Sigma1", "rho")
_GAUSSIAN = "Gaussian X given Y = 1, every k > 1"


def gaussian(numbers: Any) -> Iterator[Point]:
    """Gaussian classes with the split by S and T_k."""
    yield from with_two_constraints(gaussian_points(numbers), numbers)


def _any_input(numbers: Any) -> Iterator[Point]:
    yield from with_two_constraints(all_points(numbers), numbers)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "14",
        f"E1({EVENT}*T[k]*X[i]) == E1given(T[k]*E1of(X[i], S, T[k]), {EVENT})*P1({EVENT})",
        all_points,
        Exact(),
        TWO,
        regime="any input",
        note="Left the events are kept. Right the outer mean must be read as conditional, although "
        "its condition stands before the bar: with the events kept in it the probability would be "
        "counted twice.",
    ),
    Claim(
        "15",
        "Covmat(k) == Umat(k)@Sigma1mat@transpose(Umat(k))",
        gaussian,
        Exact(),
        "k = 2..K",
        definition=True,
        note="With b = UX the covariance of (S, T) is U Sigma_1 U^T, of shape 2 x 2.",
    ),
    Claim(
        "16",
        "E1(E1of(X[i], S, T[k])*X[l]) == E1((C[k, i, 1]*S + C[k, i, 2]*T[k])*X[l])",
        gaussian,
        Exact(),
        "k = 2..K, i = 1..n, l = 1..n",
        regime=_GAUSSIAN,
        note="C[k, i, a] is C for the unit k. The mean of X given UX = b is Cb, with the C of "
        "the corrected equation 18.",
    ),
    Claim(
        "17",
        "x[i] == Sum(A[k, i, j]*x[j], (j, 1, n)) + C[k, i, 1]*u[1] + C[k, i, 2]*u[k]",
        _any_input,
        Exact(),
        TWO,
        given="C, and A of equation 19",
        regime="an identity for every x; u = Wx",
    ),
    Claim(
        "18",
        "Cmat(k) == Sigma1mat@transpose(Umat(k))@inverse(transpose(Umat(k))@Sigma1mat@Umat(k))",
        gaussian,
        Exact(),
        "k = 2..K",
        corrected="Cmat(k) == Sigma1mat@transpose(Umat(k))"
        "@inverse(Umat(k)@Sigma1mat@transpose(Umat(k)))",
        regime=_GAUSSIAN,
        note="U is 2 x n, so that U^T Sigma_1 U has no value; U Sigma_1 U^T is meant, as equation "
        "34 writes its inverse out.",
    ),
    Claim(
        "19",
        "E1((X[i] - C[k, i, 1]*S - C[k, i, 2]*T[k])*X[l])"
        " == Sum((delta(i, j) - Sum(C[k, i, a]*U[k, a, j], (a, 1, 2)))*Sigma1[j, l],"
        " (j, 1, n))",
        _any_input,
        Exact(),
        "k = 2..K, i = 1..n, l = 1..n",
        definition=True,
        symmetric=_SYMMETRIC,
        note="AX is what regression on S and T leaves of X.",
    ),
    Claim(
        "after 19",
        f"0 == E1({_REST}*b[k, a])",
        _any_input,
        Exact(),
        "k = 2..K, i = 1..n, a = 1..2",
        part="zero covariance",
        regime="any input",
    ),
    Claim(
        "after 19",
        f"E1({_REST}**2*{EVENT}) == E1({_REST}**2)*P1({EVENT})",
        gaussian,
        Exact(),
        TWO,
        part="independent, Gaussian X",
        regime=_GAUSSIAN,
    ),
    Claim(
        "20",
        f"E1({EVENT}*T[k]*X[i]) == (C[k, i, 1]*E1given(S**2, {EVENT})"
        f" + C[k, i, 2]*E1given(S*T[k], {EVENT}))*P1({EVENT})",
        gaussian,
        Exact(),
        TWO,
        corrected=f"E1({EVENT}*T[k]*X[i]) == (C[k, i, 1]*E1given(S*T[k], {EVENT})"
        f" + C[k, i, 2]*E1given(T[k]**2, {EVENT}))*P1({EVENT})",
        regime=_GAUSSIAN,
        note="T E[X | S, T] = C T b has the entries ST and T^2, not S^2 and ST: the printed vector "
        "gives the mean of SX. Right the mean must be read as conditional, because the probability "
        "is written out; equations 22 to 33 compute it with the events kept and then leave the "
        "probability out, which is consistent.",
    ),
    Claim(
        "before 21",
        "Matrix(1, 1, rho[a, b]) == transpose(W(a))@Sigma1mat@transpose(W(b))",
        gaussian,
        Exact(),
        "a = 1..K, b = 1..K",
        definition=True,
        corrected="Matrix(1, 1, rho[a, b]) == transpose(W(a))@Sigma1mat@W(b)",
        note="The second weight vector is a column too (no transposition), and Sigma is Sigma_1, "
        "as before equation 59.",
    ),
    Claim(
        "34",
        "Cmat(k) == Sigma1mat@transpose(Umat(k))"
        "@inverse(transpose(Umat(k))@Sigma1mat@Umat(k))"
        f" == 1/{DETERMINANT}*SW(k)@Matrix(2, 2, rho[k, k], -rho[1, k], -rho[1, k], rho[1, 1])",
        gaussian,
        Exact(),
        "k = 2..K",
        corrected="Cmat(k) == Sigma1mat@transpose(Umat(k))"
        "@inverse(Umat(k)@Sigma1mat@transpose(Umat(k)))"
        f" == 1/{DETERMINANT}*SW(k)@Matrix(2, 2, rho[k, k], -rho[1, k], -rho[1, k], rho[1, 1])",
        symmetric=("rho",),
        regime=_GAUSSIAN,
        note="The right side is C; on the left U^T Sigma_1 U stands for U Sigma_1 U^T, as in "
        "equation 18.",
    ),
)
