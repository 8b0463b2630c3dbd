"""Equations 1 to 4, 7, 8, 10 to 15 and their repetitions in appendix A: the model and its overlaps.

The teacher's weights are Wt and w here (printed with tildes).
"""

from __future__ import annotations

from dataclasses import replace

from symderiv.verification.claim import Claim
from symderiv.verification.rules import Exact
from symderiv_papers.bae_jeong.cross import cross_points
from symderiv_papers.bae_jeong.samples import (
    UPDATE_OF_V,
    UPDATE_OF_W,
    engine_samples,
    sample_points,
)
from symderiv_papers.references.manifold_points import CENTRED, UNCENTRED, manifold_points

__all__ = ["CLAIMS"]

_ALL = manifold_points((*UNCENTRED, *CENTRED))
_SYMMETRIC = ("Q", "T", "Omega", "Sigma")
_LOSS = "derivatives of the loss by each weight, of a network with K != M and f that is not odd"

_MODEL = [
    Claim(
        "1",
        "X[i] == f(1/sqrt(D)*Sum(C[r]*F[r, i], (r, 1, D))) == f(U[i])",
        engine_samples,
        Exact(digits=22, lost=10),
        "i = 1..N",
        definition=True,
        where="X is what the engine's simulator of the hidden manifold draws",
    ),
    Claim(
        "2",
        "y == Sum(w[m]*gt(1/sqrt(D)*Sum(C[r]*Wt[m, r], (r, 1, D))), (m, 1, M))",
        sample_points,
        Exact(),
        part="label",
        definition=True,
    ),
    Claim(
        "2",
        "y_hat == Sum(v[k]*g(1/sqrt(N)*Sum(X[i]*W[k, i], (i, 1, N))), (k, 1, K))",
        sample_points,
        Exact(),
        part="output",
        definition=True,
    ),
    Claim(
        "3",
        "nu[m] == 1/sqrt(D)*Sum(C[r]*Wt[m, r], (r, 1, D))",
        sample_points,
        Exact(),
        "m = 1..M",
        part="teacher",
        printed=0,
        definition=True,
    ),
    Claim(
        "3",
        "lam[k] == 1/sqrt(N)*Sum(X[i]*W[k, i], (i, 1, N))"
        " == 1/sqrt(N)*Sum(f(U[i])*W[k, i], (i, 1, N))",
        sample_points,
        Exact(),
        "k = 1..K",
        part="student",
        printed=1,
        definition=True,
    ),
    Claim(
        "SGD",
        UPDATE_OF_W,
        sample_points,
        Exact(lost=12),
        "k = 1..K, i = 1..N",
        part="first layer",
        printed=0,
        regime=_LOSS,
    ),
    Claim(
        "SGD",
        UPDATE_OF_V,
        sample_points,
        Exact(lost=12),
        "k = 1..K",
        part="second layer",
        printed=1,
        regime=_LOSS,
    ),
    Claim(
        "layerwise scaling",
        "(v[l] - new_v[l])/(g(lam[l])*(y_hat - y)) == 1/sqrt(N)"
        "*((W[k, i] - new_W[k, i])/(v[k]*(y_hat - y)*dg(lam[k])*f(U[i])))",
        sample_points,
        Exact(lost=12),
        "k = 1..K, i = 1..N, l = 1..K",
        regime=_LOSS,
        note="So are the prefactors as printed. Of that of the first layer 1/sqrt(N) belongs to "
        "the gradient: as factors of the gradients the learning rates are eta and eta/N.",
    ),
    Claim(
        "time",
        "t == 1/N",
        _ALL,
        Exact(),
        corrected="t == steps/N",
        note="1/N is the length dt of one step; the time after some steps is steps/N. The unit of "
        "time is that in which the engine's rates are given.",
        where="t is the time at which a component that decays by the factor 1 - 1/N per step is "
        "followed for a number of steps",
    ),
    Claim(
        "4",
        "dv[k] == eta*(Sum(w[n]*I2(lam[k], nu[m]), (n, 1, M))"
        " - Sum(v[j]*I2(lam[k], lam[j]), (j, 1, K)))",
        _ALL,
        Exact(),
        "k = 1..K, m = 1..M",
        regime="K != M, D/N below, above and at 1; E f != 0 too, with centred inputs",
        corrected="dv[k] == eta*(Sum(w[n]*I2(lam[k], nu[n]), (n, 1, M))"
        " - Sum(v[j]*I2(lam[k], lam[j]), (j, 1, K)))",
        note="The sum runs over n, so that I_2 must have the arguments k, n (as in S9 and S47).",
    ),
    Claim(
        "correlations of 4",
        "corr[k, m] == I2(lam[k], nu[n])",
        _ALL,
        Exact(),
        "k = 1..K, m = 1..M, n = 1..M",
        part="teacher",
        printed=0,
        corrected="corr[k, m] == I2(lam[k], nu[m])",
        note="The index on the left is m, on the right n.",
        where="corr[k, m] is -1 times the derivative of the error by v_k and w_m",
    ),
    Claim(
        "correlations of 4",
        "corr_S[k, j] == I2(lam[k], lam[j])",
        _ALL,
        Exact(),
        "k = 1..K, j = 1..K",
        part="student",
        printed=1,
        definition=True,
        where="corr_S[k, j] is the derivative of the error by v_k and v_j",
    ),
    Claim(
        "S9",
        "dv[k] == eta*(Sum(w[n]*I2(lam[k], nu[n]), (n, 1, M))"
        " - Sum(v[j]*I2(lam[k], lam[j]), (j, 1, K)))",
        _ALL,
        Exact(),
        "k = 1..K",
        regime="K != M, D/N below, above and at 1; E f != 0 too, with centred inputs",
    ),
    Claim("S7", UPDATE_OF_W, sample_points, Exact(lost=12), "k = 1..K, i = 1..N", regime=_LOSS),
    Claim("S8", UPDATE_OF_V, sample_points, Exact(lost=12), "k = 1..K", regime=_LOSS),
]

_BAR = Claim(
    "7",
    "bar[k] == 1/sqrt(N)*Sum(W[k, i]*(f(U[i]) - a), (i, 1, N))",
    sample_points,
    Exact(),
    "k = 1..K",
    definition=True,
)

_COEFFICIENTS = Claim(
    "12",
    "moments[p, q] == Integral(1/sqrt(2*pi)*exp(-u**2/2)*u**p*f(u)**q, (u, -oo, 0))"
    " + Integral(1/sqrt(2*pi)*exp(-u**2/2)*u**p*f(u)**q, (u, 0, oo))",
    cross_points,
    Exact(lost=14),
    "p = 0..1, q = 1..2 - p",
    definition=True,
    where="moments are a (p = 0, q = 1), b (1, 1) and c (0, 2) in closed form",
)

_MEANS = [
    Claim(
        "8",
        "mean_bar[k] == 0",
        cross_points,
        Exact(),
        "k = 1..K",
        part="student",
        regime="columns of F of squared length D; every f",
    ),
    Claim(
        "8",
        "mean_nu[m] == 0",
        cross_points,
        Exact(),
        "m = 1..M",
        part="teacher",
    ),
]

_R = Claim(
    "10",
    "R[k, m] == b*1/D*Sum(S[k, r]*Wt[m, r], (r, 1, D))",
    cross_points,
    Exact(),
    "k = 1..K, m = 1..M",
    regime="columns of F of squared length D: then exact at every size, by Stein's lemma",
    where="R is the mean of f(U_i) nu_m in closed form, summed with the weights",
)
_T = Claim(
    "11",
    "T[m, n] == 1/D*Sum(Wt[m, r]*Wt[n, r], (r, 1, D))",
    _ALL,
    Exact(),
    "m = 1..M, n = 1..M",
    symmetric=_SYMMETRIC,
)
_S = Claim(
    "13",
    "S[k, r] == 1/sqrt(N)*Sum(W[k, i]*F[r, i], (i, 1, N))",
    _ALL,
    Exact(),
    "k = 1..K, r = 1..D",
    definition=True,
)
_OMEGA = Claim(
    "14",
    "Omega[k, l] == 1/N*Sum(W[k, i]*W[l, i], (i, 1, N))",
    _ALL,
    Exact(),
    "k = 1..K, l = 1..K",
    definition=True,
    symmetric=_SYMMETRIC,
)
_SIGMA = Claim(
    "15",
    "Sigma[k, l] == 1/D*Sum(S[k, r]*S[l, r], (r, 1, D))",
    _ALL,
    Exact(),
    "k = 1..K, l = 1..K",
    definition=True,
    symmetric=_SYMMETRIC,
)

_AGAIN = [
    replace(claim, equation=number)
    for number, claims in (
        ("S12", [_BAR]),
        ("S13", [_COEFFICIENTS]),
        ("S21", _MEANS),
        ("S23", [_R]),
        ("S24", [_T]),
        ("S25", [_S]),
        ("S26", [_OMEGA]),
        ("S27", [_SIGMA]),
    )
    for claim in claims
]

CLAIMS = (*_MODEL, _BAR, *_MEANS, _R, _T, _COEFFICIENTS, _S, _OMEGA, _SIGMA, *_AGAIN)
