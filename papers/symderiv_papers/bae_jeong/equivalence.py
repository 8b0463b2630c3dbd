"""Equations 5, 6 and 9, Property II.3, and appendix A: weak correlations and what follows."""

from __future__ import annotations

from typing import Any

from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Converges, Exact
from symderiv_papers.bae_jeong.weak import (
    blocks,
    growth_points,
    large,
    nearly_orthogonal,
    pair_points,
    quadratic_forms,
    two_functions,
    vector_functions,
)
from symderiv_papers.references.manifold_points import UNCENTRED, manifold_points

__all__ = ["CLAIMS"]

_ALL = manifold_points((*UNCENTRED, "sign"))
_ANY_INDICES = (
    "With equal indices the sum of an even number of weights and of features is N times a mean "
    "that is not zero, so that the left side grows like sqrt(N). It must ask for indices that "
    "differ; the text lists r_1, ..., r_p where there are q of them."
)
_GROWTH = (
    "growth[p, q] is the exponent of N in the root mean square of the left side for independent "
    "normal entries, all k equal and all r equal"
)


def _bounded(number: str) -> Claim:
    return Claim(
        number,
        "growth[p, q] == 0",
        growth_points,
        Exact(),
        "p = 1..4, q = 1..4",
        regime="independent normal weights and features",
        corrected="growth[p, q] == (1 + (-1)**p)*(1 + (-1)**q)/8",
        note=_ANY_INDICES,
        in_words=True,
        where=_GROWTH,
    )


_MAIN = [
    Claim(
        "5",
        "both == first*second",
        two_functions,
        Converges(),
        regime="ReLU, erf, sgn and a polynomial, also discontinuous: the error is of first order",
        where="both is E[u(x1) v(x2)], first E[u(x1)], second E[v(x2)]",
    ),
    _bounded("6"),
    Claim(
        "Property II.3",
        "kurtosis == 0",
        quadratic_forms,
        Converges(slack=0.3),
        regime="f(u) = u^2, whose fields are quadratic forms with known cumulants; random features "
        "and weights, D/N = 1/2 and 2",
        where="kurtosis is the fourth cumulant of a field over its squared variance",
        note="Necessary, not sufficient, for a Gaussian law; it falls like 1/D.",
    ),
]


def _q(number: str) -> Claim:
    return Claim(
        number,
        "Q[k, l] == (c - a**2 - b**2)*Omega[k, l] + b**2*Sigma[k, l]",
        large,
        Converges(slack=0.3),
        "k = 1..K, l = 1..K",
        regime="random features, f = sgn and ReLU, D/N = 1/2 and 2, D up to 768; 1/D is small",
        symmetric=("Q", "Omega", "Sigma"),
        where="Q is the mean over normal latent vectors by the closed form for pairs of inputs",
    )


_BLOCK = "inverse(block(Q, eps*S, eps*transpose(S), R))"

_EXPANSION = [
    Claim("S1", definition=True),
    Claim(
        "S2",
        "means == block(Q, eps*S, eps*transpose(S), R)",
        blocks,
        Exact(),
        definition=True,
        where="means are the second moments of both vectors as mixed from independent numbers",
    ),
    Claim(
        "S3",
        f"P == 1/Z*exp(-1/2*entry(transpose(z) @ {_BLOCK} @ z, 1, 1))",
        blocks,
        Exact(),
        definition=True,
        where="P is the density and Z its normalisation by conditioning one component at a time",
    ),
    Claim(
        "S4",
        f"{_BLOCK} == inverse(block(Q, zero, transpose(zero), R)) - eps*block(none,"
        " inverse(Q) @ S @ inverse(R), transpose(inverse(Q) @ S @ inverse(R)), nothing)",
        blocks,
        Converges(order=2.0),
        regime="eps small, vectors of 3 and 2 components; the error is of second order",
    ),
    Claim(
        "S5",
        "P == 1/Z*exp(-1/2*entry(transpose(x) @ inverse(Q) @ x"
        " + transpose(y) @ inverse(R) @ y, 1, 1))"
        "*(1 + eps*Sum(Sum(xs[i]*entry(inverse(Q) @ S @ inverse(R), i, j)*ys[j], (j, 1, J)),"
        " (i, 1, I)))",
        blocks,
        Converges(order=2.0),
        regime="eps small; the error is of second order as printed",
    ),
    Claim(
        "S6",
        "both == f*g + eps*Sum(Sum(xf[i]*entry(inverse(Q) @ S @ inverse(R), i, j)*yg[j],"
        " (j, 1, J)), (i, 1, I))",
        vector_functions,
        Converges(order=2.0),
        regime="polynomials of two components each; the error is of second order as printed",
        where="both = E[f g], xf[i] = E[x_i f], yg[j] = E[y_j g]",
    ),
]

_ASSUMPTIONS = [
    Claim(
        "S10",
        "overlap[i, j] == 0",
        growth_points,
        Exact(),
        "i = 1..3, j = i + 1..3",
        part="overlaps",
        regime="independent normal features, i != j as the second equation implies",
        where="overlap[i, j] is the exponent of D in the root mean square of the left side",
    ),
    Claim(
        "S10",
        "Sum(F[r, i]**2, (r, 1, D)) == D",
        _ALL,
        Exact(),
        "i = 1..N",
        part="lengths",
        definition=True,
    ),
    _bounded("S11"),
]

_OVERLAP = "1/D*Sum(F[r, 1]*F[r, 2], (r, 1, D))*b**2"
_TWO = "f = ReLU, sgn, erf and a polynomial, two features with small overlap; second order"
_PAIR = "b**2*1/D*Sum(F[r, i]*F[r, j], (r, 1, D))"
_DIAGONAL = "1/N*Sum(W[k, i]*W[l, i], (i, 1, N))"
_OFF = f"1/N*Sum(W[k, i]*W[l, j]*({_PAIR}), (i, 1, N), (j, 1, N), i != j)"
_FULL = f"1/N*Sum(W[k, i]*W[l, j]*({_PAIR}), (i, 1, N), (j, 1, N))"


def _quadratic(numbers: Any) -> list[Point]:
    return [point for point in nearly_orthogonal(numbers) if point.series == "x**2 + x"]


_STEPS = [
    Claim(
        "S14",
        "Q[k, l] == 1/N*Sum(W[k, i]*W[l, j]*centred[i, j], (i, 1, N), (j, 1, N))",
        _quadratic,
        Exact(),
        "k = 1..K, l = 1..K",
        definition=True,
        symmetric=("Q", "centred"),
    ),
    Claim(
        "S15",
        "Q[k, l] == 1/N*Sum(W[k, i]*W[l, j]*shifted[i, j], (i, 1, N), (j, 1, N))",
        _quadratic,
        Exact(),
        "k = 1..K, l = 1..K",
        regime="f = x^2 + x, for which a = 1",
        corrected="Q[k, l] == 1/N*Sum(W[k, i]*W[l, j]*centred[i, j], (i, 1, N), (j, 1, N))",
        note="The bracket of f(U_i closes too late: f(U_i) - a is meant, not f(U_i - a).",
        symmetric=("Q", "centred"),
        where="shifted[i, j] is the mean of f(U_i - a) (f(U_j) - a), centred[i, j] that of "
        "(f(U_i) - a) (f(U_j) - a)",
    ),
    Claim(
        "S16",
        "pair == pair + overlap*b*b",
        pair_points,
        Converges(order=2.0),
        regime=_TWO,
        corrected="pair == mean*mean + overlap*b*b",
        note="The first term on the right must be E[f(U_i)] E[f(U_j)].",
        where="pair is E[f(U_i) f(U_j)], overlap E[U_i U_j]",
    ),
    Claim("S17", f"pair == a**2 + {_OVERLAP}", pair_points, Converges(order=2.0), regime=_TWO),
    Claim("S18", f"pair - a**2 == {_OVERLAP}", pair_points, Converges(order=2.0), regime=_TWO),
    Claim(
        "S19",
        f"Q[k, l] == (c - a**2)*{_DIAGONAL} + {_OFF}",
        nearly_orthogonal,
        Converges(order=2.0),
        "k = 1..K, l = 1..K",
        regime="features with small overlaps; second order in them",
        symmetric=("Q",),
    ),
    Claim(
        "S20",
        f"(c - a**2)*{_DIAGONAL} + {_OFF} == (c - a**2 - b**2)*{_DIAGONAL} + {_FULL}",
        nearly_orthogonal,
        Exact(),
        "k = 1..K, l = 1..K",
        regime="features of squared length D",
    ),
]


CLAIMS = (*_MAIN, _q("9"), *_EXPANSION, *_ASSUMPTIONS, *_STEPS, _q("S22"))
