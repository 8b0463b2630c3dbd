"""Equations 16 to 20 and 22 to 26: mixtures as latent laws, how far they matter, and measures."""

from __future__ import annotations

from symderiv.verification.claim import Claim
from symderiv.verification.rules import Converges, Exact, WithinErrorBars
from symderiv_papers.bae_jeong.mixture_points import (
    curves,
    divergences,
    integrals,
    laws,
    measured,
    per_coordinate,
    per_sample,
    standard,
)

__all__ = ["CLAIMS"]

#: Values that come from doubles.
_DOUBLES = Exact(digits=22, lost=10)

_LAWS = [
    Claim(
        "16",
        "KL == Integral(P(x)*log(P(x)/Qd(x)), (x, -far, 0))"
        " + Integral(P(x)*log(P(x)/Qd(x)), (x, 0, far))",
        integrals,
        Exact(digits=20, lost=11),
        definition=True,
        regime="mixtures in one dimension; the line is cut at 12, where the density is below 1e-20",
    ),
    Claim(
        "mixture",
        "one == Sum(p[i], (i, 1, m))",
        laws,
        _DOUBLES,
        definition=True,
    ),
    Claim(
        "17",
        "mean[r] == Sum(p[i]*mu[i, r], (i, 1, m))",
        laws,
        _DOUBLES,
        "r = 1..D",
        part="mean",
        definition=True,
        given="One component is drawn per sample; the print does not say.",
    ),
    Claim(
        "17",
        "second[r, s] == Sum(p[i]*(mu[i, r]*mu[i, s] + delta(r, s)), (i, 1, m))",
        laws,
        _DOUBLES,
        "r = 1..D, s = 1..D",
        part="second moments",
        definition=True,
        given="One component is drawn per sample; the print does not say.",
        where="second[r, s] is E[r_r r_s], covariance and mean of the engine's law",
    ),
    Claim(
        "KL and alpha",
        "KL[h] < KL[h + 1]",
        divergences("scaled"),
        _DOUBLES,
        "h = 0..8",
        part="means drawn once",
        regime="means drawn once and multiplied by alpha = 0, ..., 9; 2, 3 and 5 components",
        note="Exact for all mixtures: adding alpha U to a normal number raises the divergence, for "
        "its derivative by alpha^2/2 is E U^2 less the mean square error of guessing U.",
    ),
    Claim(
        "KL and alpha",
        "KL[h] < KL[h + 1]",
        divergences("standardised"),
        _DOUBLES,
        "h = 0..8",
        part="means drawn once, standardised",
        regime="means drawn once and multiplied by alpha = 0, ..., 9; 2, 3 and 5 components",
    ),
    Claim(
        "KL and alpha",
        "KL[h] < KL[h + 1]",
        divergences("anew"),
        _DOUBLES,
        "h = 0..8",
        part="means drawn anew",
        regime="means drawn anew from [-alpha, alpha) for each alpha",
        corrected="average[h] < average[h + 1]",
        in_words=True,
        note="With new means for each alpha, as 17 reads, a larger alpha may well give a smaller "
        "divergence; it grows in the mean over draws only.",
        where="KL[h] and its average over 20 draws of the means at alpha = h",
    ),
]

_MEASURES = [
    Claim(
        "18",
        "M == 1/T*Sum(sqrt(v[t]**2 - vh[t]**2), (t, 1, T))",
        curves,
        _DOUBLES,
        definition=True,
        regime="curves that cross each other",
        corrected="M == sqrt(1/T*Sum((v[t] - vh[t])**2, (t, 1, T)))",
        note="A root mean square error has the squared difference, not the difference of squares, "
        "and the root outside of the mean. The print has no real value where the simulated size is "
        "the larger one, and goes like the root of a small error elsewhere.",
        where="M is the root of the mean over times of the squared error; vh is the simulation",
    ),
    Claim(
        "19",
        "new[n, r] == (C[n, r] - mean[r])/sqrt(variance[r])",
        standard,
        _DOUBLES,
        "n = 1..P, r = 1..D",
        definition=True,
        given="The exact mean and variance; the paper takes those of samples.",
    ),
    Claim(
        "20",
        "mean == 1/K**2*Sum(entries[k, l], (k, 1, K), (l, 1, K))",
        curves,
        _DOUBLES,
        definition=True,
    ),
]

_OWN = (
    "one component per coordinate, standardised, alpha = 3; f(u) = u^2 + u, whose means follow "
    "from cumulants; K = 6, M = 4, D/N = 1/2 and 2, D up to 1024"
)
_SAME = "one component per sample, standardised, alpha = 3"
_NO_LIMIT = (
    "However each coordinate is standardised, the coordinates depend on each other: their "
    "covariance has eigenvalues of order D along the means. This does not go away with D. (The "
    "paper does not say whether a component is drawn per sample or per coordinate.)"
)
_BARS = WithinErrorBars(errors=5.0)


def _of_components(left: str, indices: str) -> str:
    return f"{left}P[{indices}] == Sum({left}C[h, {indices}]*p[h], (h, 1, H))"


_COVARIANCES = [
    Claim(
        "22",
        "QP[k, l] == Q[k, l]",
        per_coordinate,
        Converges(slack=0.4),
        "k = 1..K, l = 1..K",
        part="component per coordinate",
        regime=_OWN,
        symmetric=("Q", "QP"),
        note="What is left falls like 1/D, with the fourth cumulant of the coordinates.",
    ),
    Claim(
        "23",
        "RP[k, m] == R[k, m]",
        per_coordinate,
        Converges(slack=0.4),
        "k = 1..K, m = 1..M",
        part="component per coordinate",
        regime=_OWN,
        note="What is left falls like 1/D, with the third cumulant of the coordinates.",
    ),
    Claim(
        "24",
        "TP[m, n] == T[m, n]",
        per_coordinate,
        _DOUBLES,
        "m = 1..M, n = 1..M",
        part="component per coordinate",
        regime=_OWN,
        symmetric=("T", "TP"),
        note="Exact at every D: independent coordinates of variance 1 have the covariance I.",
    ),
    Claim(
        "22",
        "QP[k, l] == Q[k, l]",
        measured("sample"),
        _BARS,
        "k = 1..K, l = 1..K",
        part="component per sample",
        regime=_SAME + "; f = sgn, N = 120, D = 60, 40000 draws",
        corrected=_of_components("Q", "k, l"),
        note=_NO_LIMIT,
        symmetric=("Q", "QP"),
        where="QC[h, k, l] is the second moment within component h",
        in_words=True,
    ),
    Claim(
        "23",
        "RP[k, m] == R[k, m]",
        measured("sample"),
        _BARS,
        "k = 1..K, m = 1..M",
        part="component per sample",
        regime=_SAME + "; f = sgn, N = 120, D = 60, 40000 draws",
        corrected=_of_components("R", "k, m"),
        note=_NO_LIMIT,
        where="RC[h, k, m] is the second moment within component h",
        in_words=True,
    ),
    Claim(
        "24",
        "TP[m, n] == T[m, n]",
        per_sample,
        _DOUBLES,
        "m = 1..M, n = 1..M",
        part="component per sample",
        regime=_SAME + "; exact",
        corrected="TP[m, n] == 1/D*Sum(Wt[m, r]*Wt[n, s]*Sum(p[h]*(mu[h, r]*mu[h, s]"
        " + delta(r, s)/s_[r]**2), (h, 1, H)), (r, 1, D), (s, 1, D))",
        note=_NO_LIMIT,
        symmetric=("T", "TP"),
        where="mu[h, r] and 1/s_[r] are means and deviations of the standardised components",
        in_words=True,
    ),
    Claim(
        "25",
        "cumulant[p, q] == normal[p, q]",
        per_coordinate,
        Converges(slack=0.4),
        "p = 1..K + M, q = 1..K + M",
        part="component per coordinate",
        regime=_OWN,
        note="All covariances of the fields at once; their means are 0 exactly. The sums over many "
        "independent coordinates even become Gaussian.",
        symmetric=("cumulant", "normal"),
    ),
    Claim(
        "25",
        "QP[k, l] == Q[k, l]",
        measured("sample"),
        _BARS,
        "k = 1..K, l = 1..K",
        part="component per sample",
        regime=_SAME + "; f = sgn, N = 120, D = 60, 40000 draws",
        corrected=_of_components("Q", "k, l"),
        note="Second cumulants differ, see 22 to 24.",
        symmetric=("Q", "QP"),
        in_words=True,
    ),
    Claim(
        "26",
        "IP[k, n] == I[k, n]",
        measured("coordinate"),
        WithinErrorBars(errors=5.0, systematic=0.02),
        "k = 1..K, n = 1..M",
        part="component per coordinate",
        regime="one component per coordinate, standardised, alpha = 3; f = sgn, g = erf, N = 120, "
        "D = 60; 0.02 is allowed for finite D",
        where="IP is E[g(lam_k) g~(nu_n)] under the mixture, I its closed form in Q, R, T",
    ),
    Claim(
        "26",
        "IP[k, n] == I[k, n]",
        measured("sample"),
        _BARS,
        "k = 1..K, n = 1..M",
        part="component per sample",
        regime=_SAME + "; f = sgn, g = erf, N = 120, D = 60, 40000 draws",
        corrected=_of_components("I", "k, n"),
        note=_NO_LIMIT,
        where="IC[h, k, n] is the mean within component h",
        in_words=True,
    ),
]

CLAIMS = (*_LAWS, *_MEASURES, *_COVARIANCES)
