"""S41 to S48: the equations of motion of the densities, against the engine's projected rates."""

from __future__ import annotations

from symderiv.verification.claim import Claim
from symderiv.verification.rules import Converges, Exact
from symderiv_papers.bae_jeong.euler import euler_points
from symderiv_papers.bae_jeong.motion import REGIME
from symderiv_papers.references.manifold_points import UNCENTRED, manifold_points

__all__ = ["CLAIMS"]

_CENTRED = manifold_points()
_UNCENTRED = manifold_points(UNCENTRED)
_ALIKE = manifold_points(alike=True)
_ALIKE_UNCENTRED = manifold_points(UNCENTRED, alike=True)
_SYMMETRIC = ("Q", "T", "TT", "Omega", "Sigma")
_PER_MODE = (
    REGIME + "; r and sigma at one eigenvalue, so that R = b/D times the sum of r over eigenvalues"
)
_D_OF_RHO = "((c - b**2)*D/N + b**2*rho[tau])"
_D_TRUE = "((c - a**2 - b**2)*D/N + b**2*rho[tau])"


def _own(k: str) -> str:
    """The coefficient of the own unit in students' terms, over j."""
    return (
        f"(Q[j, j]*I3(lam[{k}], lam[{k}], lam[j]) - Q[{k}, j]*I3(lam[{k}], lam[j], lam[j]))"
        f"/(Q[j, j]*Q[{k}, {k}] - Q[{k}, j]**2)"
    )


def _other(k: str) -> str:
    """The coefficient of the other unit j."""
    return (
        f"(Q[{k}, {k}]*I3(lam[{k}], lam[j], lam[j]) - Q[{k}, j]*I3(lam[{k}], lam[{k}], lam[j]))"
        f"/(Q[j, j]*Q[{k}, {k}] - Q[{k}, j]**2)"
    )


def _own_teacher(k: str) -> str:
    """The coefficient of the own unit in teachers' terms, over n."""
    return (
        f"(T[n, n]*I3(lam[{k}], lam[{k}], nu[n]) - R[{k}, n]*I3(lam[{k}], nu[n], nu[n]))"
        f"/(Q[{k}, {k}]*T[n, n] - R[{k}, n]**2)"
    )


def _teacher(k: str) -> str:
    """The coefficient of teacher n."""
    return (
        f"(Q[{k}, {k}]*I3(lam[{k}], nu[n], nu[n]) - R[{k}, n]*I3(lam[{k}], lam[{k}], nu[n]))"
        f"/(Q[{k}, {k}]*T[n, n] - R[{k}, n]**2)"
    )


def _rate_of_r(teachers: str, d: str = _D_OF_RHO) -> str:
    return f"""dr[k, m, tau] == -eta/(D/N)*v[k]*{d}*(
    r[k, m, tau]*Sum(v[j]*{_own("k")}, (j, 1, K), j != k)
    + Sum(v[j]*r[j, m, tau]*{_other("k")}, (j, 1, K), j != k)
    + v[k]*r[k, m, tau]*1/Q[k, k]*I3(lam[k], lam[k], lam[k])
    - r[k, m, tau]*Sum(w[n]*{_own_teacher("k")}, (n, 1, M))
    - b*rho[tau]/{d}*Sum(w[n]*{teachers}*{_teacher("k")}, (n, 1, M)))
    """


def _drift_of_sigma(k: str, l: str, d: str) -> str:
    return f"""{d}*v[{k}]*sigma[{k}, {l}, tau]*Sum(v[j]*{_own(k)}, (j, 1, K), j != {k})
    + v[{k}]*Sum(v[j]*{d}*sigma[j, {l}, tau]*{_other(k)}, (j, 1, K), j != {k})
    + {d}*v[{k}]*sigma[{k}, {l}, tau]*v[{k}]*1/Q[{k}, {k}]*I3(lam[{k}], lam[{k}], lam[{k}])
    - {d}*v[{k}]*sigma[{k}, {l}, tau]*Sum(w[n]*{_own_teacher(k)}, (n, 1, M))
    - b*rho[tau]*v[{k}]*Sum(w[n]*r[{l}, n, tau]*{_teacher(k)}, (n, 1, M))
    """


_FORCES = """(
    Sum(v[j]*v[i]*I4(lam[k], lam[l], lam[j], lam[i]), (j, 1, K), (i, 1, K))
    - 2*Sum(Sum(v[j]*w[m]*I4(lam[k], lam[l], lam[j], nu[m]), (m, 1, M)), (j, 1, K))
    + Sum(w[n]*w[m]*I4(lam[k], lam[l], nu[n], nu[m]), (n, 1, M), (m, 1, M)))
"""


def _half_of_sigma(d: str) -> str:
    return f"half[k, l, tau] == -eta/(D/N)*({_drift_of_sigma('k', 'l', d)})"


def _noise_of_sigma(rest: str) -> str:
    return (
        "dsigma[k, l, tau] - half[k, l, tau] - half[l, k, tau] == "
        f"eta**2*v[k]*v[l]*({rest}*rho[tau] + b**2/(D/N)*rho[tau]**2)*{_FORCES}"
    )


def _rate_of_overlap(c: str) -> str:
    return f"""dOmega[k, l] ==
    - eta*v[k]*(Sum(v[j]*I3(lam[k], lam[l], lam[j]), (j, 1, K))
    - Sum(w[n]*I3(lam[k], lam[l], nu[n]), (n, 1, M)))
    - eta*v[l]*(Sum(v[j]*I3(lam[l], lam[k], lam[j]), (j, 1, K))
    - Sum(w[n]*I3(lam[l], lam[k], nu[n]), (n, 1, M)))
    + {c}*eta**2*v[k]*v[l]*{_FORCES}
    """


_MEANS = "I3(lam[k], nu[m], nu[n]) stands for E[g'(lam_k) nu_m g~(nu_n)], and so on"
_DELTA = (
    "delta is used once and not defined; it must be D/N. A bracket of an expectation is not closed."
)
_E_F = (
    "Where E f != 0 the inputs are centred, and c must be the variance: c - a^2 - b^2 for c - b^2"
)

_R = [
    Claim(
        "S41",
        _rate_of_r("TT[n, m]"),
        _CENTRED,
        Exact(),
        "k = 1..K, m = 1..M, tau = 1..D",
        regime=_PER_MODE,
        corrected=_rate_of_r("WW[n, tau]*WW[m, tau]"),
        note="The term with b rho/d(rho) needs the teachers' overlap at this eigenvalue, "
        "WW_n(rho) WW_m(rho). What is printed is the number of S37, a mean over all eigenvalues "
        "with a factor rho of its own, beside which rho occurs again. It is right only where the "
        "teachers' overlaps do not depend on the eigenvalue (next part).",
        symmetric=_SYMMETRIC,
        where=_MEANS,
    ),
    Claim(
        "S41",
        _rate_of_r("TT[n, m]"),
        _ALIKE,
        Exact(),
        "k = 1..K, m = 1..M, tau = 1..D",
        part="teachers alike in all modes",
        regime=_PER_MODE + "; the teachers' overlaps are the same at all eigenvalues, as in the "
        "limit of teachers that know nothing of F; then the sum of S37 is T",
        symmetric=_SYMMETRIC,
        where=_MEANS,
    ),
    Claim(
        "S41",
        _rate_of_r("TT[n, m]"),
        _ALIKE_UNCENTRED,
        Exact(),
        "k = 1..K, m = 1..M, tau = 1..D",
        part="E f != 0",
        regime=_PER_MODE.replace("E f = 0", "E f != 0"),
        corrected=_rate_of_r("TT[n, m]", _D_TRUE),
        note=_E_F + " in d(rho). The appendix started with any E f.",
        symmetric=_SYMMETRIC,
        where=_MEANS,
    ),
    Claim(
        "S41",
        "d[tau] == (c - b**2)*D/N + b**2*rho[tau]",
        _CENTRED,
        Exact(),
        "tau = 1..D",
        part="d(rho)",
        printed=5,
        definition=True,
        where="d is D/N times the variance of the inputs along the eigenvector",
    ),
]

_OVERLAPS = [
    Claim(
        "S42",
        "Q[k, l] == (c - b**2)*Omega[k, l] + b**2*Sigma[k, l]",
        _CENTRED,
        Exact(),
        "k = 1..K, l = 1..K",
        regime="E f = 0",
        symmetric=_SYMMETRIC,
    ),
    Claim(
        "S42",
        "second[k, l] == (c - b**2)*Omega[k, l] + b**2*Sigma[k, l]",
        _UNCENTRED,
        Exact(),
        "k = 1..K, l = 1..K",
        part="E f != 0",
        regime="E f != 0: lam is not centred here, as printed",
        corrected="second[k, l] == (c - a**2 - b**2)*Omega[k, l] + b**2*Sigma[k, l]"
        " + a**2/N*Sum(W[k, i], (i, 1, N))*Sum(W[l, i], (i, 1, N))",
        note="With E f != 0 the means of the preactivations come in. Centred ones have (9) with "
        "c - a^2 - b^2.",
        symmetric=_SYMMETRIC,
        where="second[k, l] is E[lam_k lam_l], not centred",
    ),
    Claim(
        "S43",
        _rate_of_overlap("c"),
        _CENTRED,
        Exact(),
        "k = 1..K, l = 1..K",
        regime=REGIME,
        symmetric=_SYMMETRIC,
        where=_MEANS,
    ),
    Claim(
        "S43",
        _rate_of_overlap("c"),
        _UNCENTRED,
        Exact(),
        "k = 1..K, l = 1..K",
        part="E f != 0",
        regime="E f != 0, inputs centred",
        corrected=_rate_of_overlap("(c - a**2)"),
        note="With centred inputs their variance is c - a^2.",
        symmetric=_SYMMETRIC,
        where=_MEANS,
    ),
    Claim(
        "S44",
        "Sigma[k, l] == 1/D*Sum(S[k, r]*S[l, r], (r, 1, D))"
        " == 1/D*Sum(SS[k, tau]*SS[l, tau], (tau, 1, D))",
        _CENTRED,
        Exact(),
        "k = 1..K, l = 1..K",
    ),
]

_MODE_RANGES = "k = 1..K, l = 1..K, tau = 1..D"
_HALF = "half is the mean change of SS[k, tau] times SS[l, tau]"
_NOT_CENTRED = _PER_MODE.replace("E f = 0", "E f != 0")

_SIGMA = [
    Claim(
        "S46",
        _half_of_sigma(_D_OF_RHO),
        _CENTRED,
        Exact(),
        _MODE_RANGES,
        part="drift",
        regime=_PER_MODE,
        symmetric=_SYMMETRIC,
        where=f"{_MEANS}; {_HALF}",
    ),
    Claim(
        "S46",
        "drift[k, l, tau] == half[k, l, tau] + half[l, k, tau]",
        _CENTRED,
        Exact(),
        _MODE_RANGES,
        part="with k and l exchanged",
        printed=5,
        regime=_PER_MODE,
        where=f"{_HALF}; drift is the mean change of their product to first order",
    ),
    Claim(
        "S46",
        _noise_of_sigma("(c - b**2)"),
        _CENTRED,
        Exact(),
        _MODE_RANGES,
        part="noise",
        regime=_PER_MODE,
        given="delta = D/N; the drift.",
        note=_DELTA + " For the density of S45, which counts eigenvalues, this term needs a factor "
        "p(rho).",
        symmetric=_SYMMETRIC,
        where=_HALF,
    ),
    Claim(
        "S46",
        _half_of_sigma(_D_OF_RHO),
        _UNCENTRED,
        Exact(),
        _MODE_RANGES,
        part="drift, E f != 0",
        regime=_NOT_CENTRED,
        corrected=_half_of_sigma(_D_TRUE),
        note=_E_F + " in d(rho).",
        symmetric=_SYMMETRIC,
        where=f"{_MEANS}; {_HALF}",
    ),
    Claim(
        "S46",
        _noise_of_sigma("(c - b**2)"),
        _UNCENTRED,
        Exact(),
        _MODE_RANGES,
        part="noise, E f != 0",
        regime=_NOT_CENTRED,
        given="delta = D/N; the drift.",
        corrected=_noise_of_sigma("(c - a**2 - b**2)"),
        note=_E_F + ".",
        symmetric=_SYMMETRIC,
        where=_HALF,
    ),
]

_UNITS = [
    Claim(
        "Euler step of S41",
        "Q[k, l] == stepped[k, l]",
        euler_points,
        Converges(),
        "k = 1..K, l = 1..K",
        regime="t = 1, both layers trained, N = 100 and 1000",
        note="A step of the length 1/N makes an error of first order in 1/N.",
        symmetric=("Q", "stepped"),
        where="Q is the accurate solution, stepped the one by Euler steps of the length 1/N",
    ),
    Claim(
        "S47",
        "dv[k] == eta*(Sum(w[n]*I2(lam[k], nu[n]), (n, 1, M))"
        " - Sum(v[j]*I2(lam[k], lam[j]), (j, 1, K)))",
        _CENTRED,
        Exact(),
        "k = 1..K",
        regime=REGIME,
    ),
    Claim(
        "S48",
        "eps_g == 1/2*Sum(u[p]*u[q]*I2(z[p], z[q]), (p, 1, K + M), (q, 1, K + M))",
        _CENTRED,
        Exact(),
        part="mean square",
        printed=0,
        definition=True,
        where="z are all fields, lam then nu, and u their output weights, v then -w",
    ),
    Claim(
        "S48",
        "eps_g == 1/2*Sum(v[k]*v[l]*I2(lam[k], lam[l]), (k, 1, K), (l, 1, K))"
        " + 1/2*Sum(w[n]*w[m]*I2(nu[n], nu[m]), (n, 1, M), (m, 1, M))"
        " - Sum(v[k]*w[n]*I2(lam[k], nu[n]), (k, 1, K), (n, 1, M))",
        _CENTRED,
        Exact(),
        part="written out",
        printed=1,
        regime=REGIME,
    ),
]

CLAIMS = (*_R, *_OVERLAPS, *_SIGMA, *_UNITS)
