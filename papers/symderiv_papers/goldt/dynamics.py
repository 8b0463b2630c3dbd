"""G8 to G13 and the definitions behind them: overlaps per eigenvalue, their rates, functions h.

The rates are the engine's, in general position: Ω and Φ without structure, D ≠ N, teachers that
are neither orthogonal nor of length one, η = 0.7, activations that differ between the networks.
"""

from __future__ import annotations

from symderiv.verification.claim import Claim
from symderiv.verification.rules import Exact
from symderiv_papers.goldt.points import network_points

__all__ = ["CLAIMS"]

POINTS = network_points(("erf", "erf"), ("x**2/2 + x", "erf"))
REGIME = (
    "K and M different, Omega and Phi without structure, D/N = 2/3, 1/2 and 4/3, T with "
    "off-diagonal entries, eta = 0.7"
)
_H = "h are the functions of section 4, which are claims of their own."
_WHERE = (
    "q[s, k, l] and r[s, k, m] at the eigenvalue rho[s] of weight mu[s], dq and dr are the "
    "engine's rates."
)
_UNITS = "s = 1..L, k = 1..K, l = 1..K"

_HALF = """
    rho[s]*Sum(v[k]*v[j]*q[s, k, l]*h1[k, j] + v[k]*v[j]*q[s, j, l]*h2[k, j],
        (j, 1, K), j != k)
    + rho[s]*v[k]*v[k]*q[s, k, l]*h3[k]
    - v[k]*Sum(rho[s]*tilde_v[n]*q[s, k, l]*h4[k, n]
        + 1/sqrt(delta)*tilde_v[n]*r[s, l, n]*h5[k, n], (n, 1, M))
"""
_OTHER = """
    rho[s]*Sum(v[l]*v[j]*q[s, l, k]*h1[l, j] + v[l]*v[j]*q[s, j, k]*h2[l, j],
        (j, 1, K), j != l)
    + rho[s]*v[l]*v[l]*q[s, l, k]*h3[l]
    - v[l]*Sum(rho[s]*tilde_v[n]*q[s, l, k]*h4[l, n]
        + 1/sqrt(delta)*tilde_v[n]*r[s, k, n]*h5[l, n], (n, 1, M))
"""
_NOISE = "eta**2*rho[s]*v[k]*v[l]*h6[k, l]"


def _rate_of_r(doubled: str, teacher: str) -> str:
    return f"""
    dr[s, k, m] == -eta*v[k]*(
        rho[s]*Sum(v[j]*r[s, k, m]*h1[k, j] + v[j]*{doubled}r[s, j, m]*h2[k, j],
            (j, 1, K), j != k)
        + v[k]*rho[s]*r[s, k, m]*h3[k]
        - Sum(rho[s]*tilde_v[n]*r[s, k, m]*h4[k, n] + 1/sqrt(delta)*tilde_v[n]*{teacher}h5[k, n],
            (n, 1, M)))
    """


_RATES = [
    Claim(
        "G8",
        """
        dr[s, k, m] == -eta*v[k]*(
            Sum(v[j]*rho[s]*(h1[k, j]*r[s, k, m] + h2[k, j]*r[s, j, m]), (j, 1, K), j != k)
            + v[k]*rho[s]*h3[k]*r[s, k, m]
            - Sum(tilde_v[n]*(rho[s]*h4[k, n]*r[s, k, m] + 1/sqrt(delta)*h5[k, n]*tilde_T[s, n, m]),
                (n, 1, M)))
        """,
        POINTS,
        Exact(),
        "s = 1..L, k = 1..K, m = 1..M",
        part="mean step",
        regime=REGIME,
        definition=True,
        given="The loss is half the square of the difference, the learning rate of the first "
        "layer eta/sqrt(N), dt = 1/N.",
        where=_WHERE,
        note="The mean of -eta grad L along r: the loss of which G8 takes the gradient has the "
        "factor 1/2 that G1 to G3 do not have.",
        symmetric=("tilde_T", "h2"),
    ),
    Claim(
        "G9",
        "Q[k, l] == Sum(mu[s]*rho[s]*q[s, k, l], (s, 1, L))",
        POINTS,
        Exact(),
        "k = 1..K, l = 1..K",
        regime=REGIME,
        definition=True,
        where=_WHERE,
        symmetric=("q",),
    ),
    Claim(
        "G10",
        f"dq1[s, k, l] == -eta*({_HALF} + {_OTHER})",
        POINTS,
        Exact(),
        _UNITS,
        part="first order",
        regime=REGIME,
        given=_H,
        where=_WHERE + " dq1 is dq without its part of order eta squared.",
        symmetric=("q", "h2"),
    ),
    Claim(
        "G10",
        f"dq[s, k, l] == -eta*({_HALF} + {_OTHER}) + {_NOISE}",
        POINTS,
        Exact(),
        _UNITS,
        part="with gamma = rho",
        regime=REGIME,
        given=_H + " gamma, which is not defined on the slides, is the eigenvalue rho.",
        where=_WHERE,
        note="In the units of G8 gamma must be rho itself, not a number that is the same for all "
        "eigenvalues (their mean, say): see the part about gamma.",
        symmetric=("q", "h2", "h6"),
    ),
    Claim(
        "G10",
        "dq[s, k, l] - dq1[s, k, l] == eta**2*rho[s]*v[k]*v[l]*h6[k, l]",
        POINTS,
        Exact(),
        _UNITS,
        part="what gamma must be",
        regime=REGIME,
        definition=True,
        given=_H,
        where=_WHERE + " dq1 is dq without its part of order eta squared.",
        note="gamma is used without being defined; the second order is right if and only if it is "
        "the eigenvalue rho.",
        symmetric=("h6",),
    ),
    Claim(
        "G11",
        "R[k, m] == 1/sqrt(delta)*Sum(mu[s]*r[s, k, m], (s, 1, L))",
        POINTS,
        Exact(),
        "k = 1..K, m = 1..M",
        regime=REGIME,
        definition=True,
        where=_WHERE,
    ),
    Claim(
        "G12",
        _rate_of_r("rho[s]*", ""),
        POINTS,
        Exact(),
        "s = 1..L, k = 1..K, m = 1..M",
        regime=REGIME,
        given=_H,
        where=_WHERE,
        corrected=_rate_of_r("", "tilde_T[s, n, m]*"),
        note="Two errors: in the term with h_(2) rho stands twice (before the sum and in the "
        "bracket), and the last term lacks the teachers' overlap at that eigenvalue, "
        "tilde T^{nm}(rho), without which the teacher m does not enter it.",
        symmetric=("tilde_T", "h2"),
    ),
    Claim(
        "G12",
        _rate_of_r("rho[s]*", "tilde_T[s, n, m]*"),
        POINTS,
        Exact(),
        "s = 1..L, k = 1..K, m = 1..M",
        part="doubled rho",
        regime=REGIME,
        given=_H + " The last term has its factor tilde T^{nm}(rho).",
        where=_WHERE,
        corrected=_rate_of_r("", "tilde_T[s, n, m]*"),
        note="Also when the missing overlap of the teachers is put in, the doubled rho is wrong.",
        symmetric=("tilde_T", "h2"),
    ),
]

_NORM = "(Q[k, k]*Q[j, j] - Q[k, j]**2)"
_NORM_T = "(Q[k, k]*T[n, n] - R[k, n]**2)"


def _i3(*names: str) -> str:
    fields = ((f"nu[{name}]" if name == "n" else f"lam[{name}]") for name in names)
    return f"I3({', '.join(fields)})"


_FUNCTIONS = (
    ("h1[k, j]", f"(Q[j, j]*{_i3('k', 'k', 'j')} - Q[k, j]*{_i3('k', 'j', 'j')})/{_NORM}"),
    ("h2[k, j]", f"(Q[k, k]*{_i3('k', 'j', 'j')} - Q[k, j]*{_i3('k', 'k', 'j')})/{_NORM}"),
    ("h3[k]", f"{_i3('k', 'k', 'k')}/Q[k, k]"),
    ("h4[k, n]", f"(T[n, n]*{_i3('k', 'k', 'n')} - R[k, n]*{_i3('k', 'n', 'n')})/{_NORM_T}"),
    ("h5[k, n]", f"(Q[k, k]*{_i3('k', 'n', 'n')} - R[k, n]*{_i3('k', 'k', 'n')})/{_NORM_T}"),
    (
        "h6[k, l]",
        "Sum(v[j]*v[i]*I4(lam[k], lam[l], lam[j], lam[i]), (j, 1, K), (i, 1, K)) "
        "- 2*Sum(Sum(v[j]*tilde_v[m]*I4(lam[k], lam[l], lam[j], nu[m]), (m, 1, M)), (j, 1, K)) "
        "+ Sum(tilde_v[n]*tilde_v[m]*I4(lam[k], lam[l], nu[n], nu[m]), (n, 1, M), (m, 1, M))",
    ),
)
#: Pairs of different students; where j = k the quotient is 0/0.
_PAIRS = "k = 1..K - 1, j = k + 1..K"
_RANGES = (_PAIRS, _PAIRS, "k = 1..K", "k = 1..K, n = 1..M", "k = 1..K, n = 1..M")

_DEFINITIONS = [
    *(
        Claim(
            "functions h",
            f"{left} == {right}",
            POINTS,
            Exact(),
            ranges,
            part=f"h_({number})",
            printed=number - 1,
            regime=REGIME,
            definition=True,
            where="The left side is the coefficient of exact regression, E[g'' g] or E[g' g'], in "
            "the general engine." if number < 6 else "The left side is E[g'g' Delta^2].",
            symmetric=("Q", "T"),
        )
        for number, ((left, right), ranges) in enumerate(
            zip(_FUNCTIONS, (*_RANGES, "k = 1..K, l = 1..K"), strict=True), start=1
        )
    ),
    Claim(
        "regression",
        "I3(lam[k], lam[i], lam[j]) == h1[k, j]*cov(lam[k], lam[i]) + h2[k, j]*cov(lam[j], lam[i])",
        POINTS,
        Exact(),
        "k = 1..K, j = 1..K, i = 1..K",
        part="students",
        regime=REGIME,
        where="z is another student's field.",
        note="For jointly Gaussian fields this is exact for any correlation, not to first order.",
        symmetric=("h2",),
    ),
    Claim(
        "regression",
        "I3(lam[k], nu[m], nu[n]) == h4[k, n]*cov(lam[k], nu[m]) + h5[k, n]*cov(nu[n], nu[m])",
        POINTS,
        Exact(),
        "k = 1..K, n = 1..M, m = 1..M",
        part="teachers",
        regime=REGIME,
        where="z is another teacher's field, and (h_(4), h_(5)) are the coefficients.",
    ),
]  # fmt: skip

CLAIMS = (*_RATES, *_DEFINITIONS)
