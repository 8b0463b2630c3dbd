"""Appendix B up to S40: the averaged update in the eigenbasis of F F^T/N, and the densities.

The second layer of the teacher is w here, its first layer Wt; projected weights are SS and WW.
"""

from __future__ import annotations

from symderiv.verification.claim import Claim
from symderiv.verification.rules import Exact
from symderiv_papers.bae_jeong.samples import UPDATE_OF_V, UPDATE_OF_W, sample_points
from symderiv_papers.bae_jeong.windows import spectra, windows
from symderiv_papers.references.manifold_points import UNCENTRED, manifold_points

__all__ = ["CLAIMS"]

_MODES = manifold_points()
_ALL = manifold_points((*UNCENTRED, "sign"))
REGIME = "K != M, D/N below, above and at 1, E f = 0, eta = 0.7; Gaussian equivalents of the inputs"
_PREACTIVATIONS = "lam and nu are the fields, f(U_i) is replaced by its Gaussian equivalent"


def _bracket(mode: str) -> str:
    """The three means that S31 and S35 have in common."""
    return f"""(
    Sum(v[j]*I3(lam[k], beta[{mode}], lam[j]), (j, 1, K), j != k)
    + v[k]*I3(lam[k], beta[{mode}], lam[k])
    - Sum(w[n]*I3(lam[k], beta[{mode}], nu[n]), (n, 1, M)))
    """


_UPDATES = [
    Claim("S28", UPDATE_OF_W, sample_points, Exact(lost=12), "k = 1..K, i = 1..N"),
    Claim("S29", UPDATE_OF_V, sample_points, Exact(lost=12), "k = 1..K"),
    Claim(
        "S30",
        "force[k, i] == (Sum(v[j]*g(lam[j]), (j, 1, K)) - Sum(w[m]*gt(v[m]), (m, 1, M)))"
        "*dg(lam[k])*f(U[i])",
        sample_points,
        Exact(lost=12),
        "k = 1..K, i = 1..N",
        corrected="force[k, i] == (Sum(v[j]*g(lam[j]), (j, 1, K)) - Sum(w[m]*gt(nu[m]), (m, 1, M)))"
        "*dg(lam[k])*f(U[i])",
        note="The teacher's argument is printed v_m, the name of an output weight; it is the "
        "preactivation nu_m.",
        where="force is the derivative of the loss by W[k, i], without v[k]/sqrt(N)",
    ),
    Claim(
        "S31",
        f"step_S[k, r] == -eta/sqrt(N)*v[k]*{_bracket('r')}",
        _ALL,
        Exact(),
        "k = 1..K, r = 1..D",
        regime=REGIME + "; with E f != 0 the inputs are centred",
        where=_PREACTIVATIONS,
    ),
    Claim(
        "S35",
        f"step_SS[k, tau] == -eta/sqrt(D*N)*v[k]*Sum(psi[tau, r]*{_bracket('r')}, (r, 1, D))",
        _ALL,
        Exact(),
        "k = 1..K, tau = 1..D",
        regime=REGIME + "; with E f != 0 the inputs are centred",
        where=_PREACTIVATIONS,
    ),
]

_BASIS = [
    Claim(
        "S32",
        "G[r, s] == 1/N*Sum(F[r, i]*F[s, i], (i, 1, N))",
        _MODES,
        Exact(),
        "r = 1..D, s = 1..D",
        part="matrix",
        printed=0,
        definition=True,
        where="G is the matrix printed as a calligraphic F",
    ),
    Claim(
        "S32",
        "Sum(G[r, s]*psi[tau, s], (s, 1, D)) == rho[tau]*psi[tau, r]",
        _MODES,
        Exact(),
        "tau = 1..D, r = 1..D",
        part="eigenvectors",
        definition=True,
    ),
    Claim(
        "S32",
        "Sum(psi[tau, s]*psi[u, s], (s, 1, D)) == D*delta(tau, u)",
        _MODES,
        Exact(),
        "tau = 1..D, u = 1..D",
        part="orthogonality",
        definition=True,
    ),
    Claim(
        "S32",
        "Sum(psi[tau, r]*psi[tau, s], (tau, 1, D)) == D*delta(r, s)",
        _MODES,
        Exact(),
        "r = 1..D, s = 1..D",
        part="completeness",
        definition=True,
    ),
    Claim(
        "S33",
        "SS[k, r] == 1/sqrt(D)*Sum(S[k, r]*psi[tau, r], (r, 1, D))",
        _MODES,
        Exact(),
        "k = 1..K, r = 1..D, tau = 1..D",
        part="student",
        corrected="SS[k, tau] == 1/sqrt(D)*Sum(S[k, r]*psi[tau, r], (r, 1, D))",
        note="The index of the left side must be tau; r is summed over.",
    ),
    Claim(
        "S33",
        "WW[m, tau] == 1/sqrt(D)*Sum(Wt[m, r]*psi[tau, r], (r, 1, D))",
        _MODES,
        Exact(),
        "m = 1..M, tau = 1..D",
        part="teacher",
        definition=True,
    ),
    Claim(
        "S34",
        "R[k, m] == b/D*Sum(SS[k, r]*WW[m, tau], (tau, 1, D))",
        _ALL,
        Exact(),
        "k = 1..K, m = 1..M, r = 1..D",
        corrected="R[k, m] == b/D*Sum(SS[k, tau]*WW[m, tau], (tau, 1, D))",
        note="The student's index must be tau, over which the sum runs, not r.",
    ),
    Claim(
        "S36",
        "step_R[k, m] == b/D*Sum(step_SS[k, tau]*Wt[m, r], (tau, 1, D))",
        _ALL,
        Exact(),
        "k = 1..K, m = 1..M, r = 1..D",
        corrected="step_R[k, m] == b/D*Sum(step_SS[k, tau]*WW[m, tau], (tau, 1, D))",
        note="The teacher must be projected: calligraphic W_{m,tau}, not W~_{m,r}.",
    ),
    Claim(
        "S37",
        "TT[m, n] == 1/D*Sum(rho[tau]*Wt[m, r]*Wt[n, r], (tau, 1, D))",
        _MODES,
        Exact(),
        "m = 1..M, n = 1..M, r = 1..D",
        part="teachers",
        corrected="TT[m, n] == 1/D*Sum(rho[tau]*WW[m, tau]*WW[n, tau], (tau, 1, D))",
        note="Both teachers must be projected, with index tau. The left side of the claim is the "
        "sum that occurs in the update, W~ F F^T W~^T/(D N).",
        symmetric=("TT",),
    ),
    Claim(
        "S37",
        "mixed[l, n] == 1/D*Sum(rho[tau]*SS[l, tau]*Wt[n, tau], (tau, 1, D))",
        _MODES,
        Exact(),
        "l = 1..K, n = 1..M",
        part="student and teacher",
        corrected="mixed[l, n] == 1/D*Sum(rho[tau]*SS[l, tau]*WW[n, tau], (tau, 1, D))",
        note="The teacher must be projected. The left side of the claim is the sum that occurs in "
        "the update, S F F^T W~^T/(D N).",
    ),
]

_WINDOW = "(tau, 1, D), first[h] <= rho[tau], rho[tau] <= first[h] + width"
_IN_WINDOWS = "windows of a width that holds one or several eigenvalues, D < N"

_DENSITIES = [
    Claim(
        "S38",
        f"density[h, k, m] == 1/width*1/D*Sum(S[k, tau]*Wt[m, tau], {_WINDOW})",
        windows,
        Exact(lost=12),
        "h = 1..H, k = 1..K, m = 1..M",
        regime=_IN_WINDOWS,
        corrected=f"density[h, k, m] == 1/width*1/D*Sum(SS[k, tau]*WW[m, tau], {_WINDOW})",
        note="Both weights must be the projected ones of S33 (printed S~ and W~). The left side of "
        "the claim is S P W~^T/(D epsilon), P the projector on the eigenspaces in the window.",
    ),
    Claim(
        "S39",
        "R[k, m] == b*Sum(width*share[h]*density[h, k, m], (h, 1, H))",
        windows,
        Exact(lost=12),
        "k = 1..K, m = 1..M",
        regime=_IN_WINDOWS,
        given="r is the density defined in S38, with projected weights.",
        corrected="R[k, m] == b*Sum(width*density[h, k, m], (h, 1, H))",
        note="The density of S38 counts the eigenvalues in the window already: p(rho) must not be "
        "there. With p(rho) it is right for the mean of S W over the eigenvalues near rho, which "
        "is what S41 and S46 are about (see the part about means).",
        where="share[h] is p in window h: eigenvalues in it over D epsilon",
    ),
    Claim(
        "S39",
        "R[k, m] == b*Sum(width*share[h]*mean[h, k, m], (h, 1, H))",
        windows,
        Exact(lost=12),
        "k = 1..K, m = 1..M",
        part="r as the mean over eigenvalues near rho",
        regime=_IN_WINDOWS,
    ),
    Claim(
        "S45",
        f"density_S[h, k, l] == 1/width*1/D*Sum(SS[k, tau]*SS[l, tau], {_WINDOW})",
        windows,
        Exact(lost=12),
        "h = 1..H, k = 1..K, l = 1..K",
        regime=_IN_WINDOWS,
        definition=True,
    ),
]

_MASS = """
    Integral(rho**q*(1/(2*pi*D/N)
    *sqrt(((1 + sqrt(D/N))**2 - rho)*(rho - (1 - sqrt(D/N))**2))/rho),
    (rho, (1 - sqrt(D/N))**2, (1 + sqrt(D/N))**2))
"""

_SPECTRUM = [
    Claim(
        "S40",
        f"moment[q] == {_MASS}",
        spectra("D < N"),
        Exact(digits=22, lost=10),
        "q = 0..3",
        part="D < N",
        regime="D/N = 1/4, 25/64, 9/16: total mass 1, mean 1, second and third moment",
        note="A bracket under the root is not closed in print.",
        where="moment[q] is the mean of rho^q over all D eigenvalues, from the engine's nodes",
    ),
    Claim(
        "S40",
        f"moment[q] == {_MASS}",
        spectra("D > N"),
        Exact(digits=22, lost=10),
        "q = 0..3",
        part="D > N",
        regime="D/N = 25/16, 9/4, 4",
        corrected=f"moment[q] == {_MASS} + (1 - N/D)*delta(q, 0)",
        note="For D > N the density has the mass N/D only: the atom at rho = 0 of weight 1 - N/D "
        "is missing. (The modes in it do not move: rho = 0 has no part in the inputs.)",
    ),
]

CLAIMS = (*_UPDATES, *_BASIS, *_DENSITIES, *_SPECTRUM)
