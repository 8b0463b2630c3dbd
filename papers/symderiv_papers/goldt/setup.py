"""G1 to G7 and G13 to G16: errors, fields, generators, and the definitions of section 4."""

from __future__ import annotations

from symderiv.verification.claim import Claim
from symderiv.verification.rules import Converges, Exact
from symderiv_papers.goldt.points import network_points
from symderiv_papers.goldt.setup_points import (
    correlation_points,
    eigenbasis_points,
    field_points,
    generator_points,
    isotropic_points,
    manifold_points,
)

__all__ = ["CLAIMS"]

_ERROR = """2*eps_g == mean((
    Sum(v[k]*g(lam[k]), (k, 1, K)) - Sum(tilde_v[m]*{teacher}(nu[m]), (m, 1, M)))**2)"""
_ONE_ACTIVATION = """2*eps_g ==
    Sum(v[k]*v[l]*I2(lam[k], lam[l]), (k, 1, K), (l, 1, K))
    - 2*Sum(Sum(v[k]*tilde_v[m]*I2(lam[k], nu[m]), (k, 1, K)), (m, 1, M))
    + Sum(tilde_v[m]*tilde_v[n]*I2(nu[m], nu[n]), (m, 1, M), (n, 1, M))"""
_HALF = (
    "The left side is twice the engine's error, which has the factor 1/2 of the loss: pmse is the "
    "mean squared error itself."
)
_PAIRS = "k = 1..K, l = 1..K"

_SETUP = [
    Claim(
        "G1",
        _ONE_ACTIVATION,
        network_points(("erf", "erf")),
        Exact(),
        definition=True,
        where=_HALF + " The square is written out; w x and tilde w x are the normalised fields.",
        note="Both networks carry g here; the argument of g must be of order one, so the "
        "factors 1/sqrt(N) and 1/sqrt(D) are understood in the weights.",
    ),
    *(
        Claim(
            equation,
            _ERROR.format(teacher="tilde_g"),
            field_points,
            Exact(),
            definition=True,
            regime="g quadratic and tilde g cubic, so that means over a grid are exact; K and M "
            "different.",
            where=_HALF + " The fields stand on a Gauss-Hermite grid." + more,
        )
        for equation, more in (("G2", " w x and tilde w x are the normalised fields."), ("G3", ""))
    ),
    *(
        Claim(
            "G4",
            statement,
            isotropic_points,
            Exact(),
            ranges,
            part=part,
            definition=True,
            where="sim is read as 1/sqrt(N) times the sum; D = N.",
        )
        for part, statement, ranges in (
            ("Q", "Q[k, l] == 1/N*Sum(w[k, i]*w[l, i], (i, 1, N))", _PAIRS),
            ("R", "R[k, m] == 1/N*Sum(w[k, i]*tilde_w[m, i], (i, 1, N))", "k = 1..K, m = 1..M"),
            ("T", "T[m, n] == 1/N*Sum(tilde_w[m, i]*tilde_w[n, i], (i, 1, N))",
             "m = 1..M, n = 1..M"),
        )
    ),
    *(
        Claim(
            "G5",
            statement,
            field_points,
            Exact(),
            ranges,
            part=part,
            definition=True,
            where="The left side is the engine's, from overlaps per eigenvalue (of T: from the "
            "weights).",
        )
        for part, statement, ranges in (
            ("Q", "Q[k, l] == mean(lam[k]*lam[l])", _PAIRS),
            ("R", "R[k, m] == mean(lam[k]*nu[m])", "k = 1..K, m = 1..M"),
            ("T", "T[m, n] == mean(nu[m]*nu[n])", "m = 1..M, n = 1..M"),
        )
    ),
    Claim(
        "G6",
        "Q[k, l] == mean(Sum(w[k, i]*sigma(Sum(a[i, r]*c[r], (r, 1, D))), (i, 1, N))"
        "*Sum(w[l, i]*x[i], (i, 1, N)))/N",
        generator_points,
        Exact(),
        _PAIRS,
        part="student",
        definition=True,
        where="Q = w Omega w/N with Omega by the engine; c stands on a Gauss-Hermite grid.",
    ),
    Claim(
        "G6",
        "R[k, m] == mean(Sum(w[k, i]*x[i], (i, 1, N))*Sum(tilde_w[m, r]*c[r], (r, 1, D)))"
        "/sqrt(N*D)",
        generator_points,
        Exact(),
        "k = 1..K, m = 1..M",
        part="teacher",
        definition=True,
        where="R = w Phi tilde w/sqrt(N D) with Phi by the engine; sim is read as 1/sqrt(N) and "
        "1/sqrt(D) times the sums.",
    ),
    Claim(
        "G13",
        "Omega[i, j] == mean(x[i]*x[j])",
        generator_points,
        Exact(),
        "i = 1..N, j = 1..N",
        part="Omega",
        definition=True,
        printed=0,
        where="x = sigma(a c) of polynomials sigma; the left side is the engine's closed form.",
    ),
    Claim(
        "G13",
        "Phi[i, r] == mean(x[i]*c[r])",
        generator_points,
        Exact(),
        "i = 1..N, r = 1..D",
        part="Phi",
        definition=True,
        printed=0,
        where="As for Omega.",
    ),
    Claim(
        "G14",
        definition=True,
        note="A composition of maps. Of the networks in the figure only Phi of the dcGAN is "
        "available; Omega, and so everything that needs the spectrum, is not.",
    ),
    Claim(
        "G15",
        "C[a, b] == If(a <= M, If(b <= M, Psi[a, b], Phi[a, b - M]), "
        "If(b <= M, Phi[b, a - M], Omega[a - M, b - M]))",
        eigenbasis_points,
        Exact(),
        "a = 1..M + K, b = 1..M + K",
        part="fields",
        given="Omega and Phi are those of G13, Psi the covariance of c.",
        where="C is the covariance of the stacked fields (nu, lambda), R_T the transpose of R.",
        corrected="C[a, b] == If(a <= M, If(b <= M, T[a, b], R_T[a, b - M]), "
        "If(b <= M, R_T[b, a - M], Q[a - M, b - M]))",
        note="A vector of the K + M fields has the covariance T, R^T, R, Q. Omega and Phi of G13 "
        "are the covariances of x and c, of dimensions N and D, before the projection on the "
        "weights.",
        symmetric=("T", "Q"),
    ),
    Claim(
        "G15",
        "C_all[a, b] == If(a <= D, If(b <= D, Psi[a, b], Phi[a, b - D]), "
        "If(b <= D, Phi[b, a - D], Omega[a - D, b - D]))",
        eigenbasis_points,
        Exact(),
        "a = 1..D + N, b = 1..D + N",
        part="vectors",
        given="The vector is (c, x) of dimension D + N, not that of the fields.",
        where="C_all is the covariance of the stacked vectors (c, x), Phi_T the transpose of Phi.",
        corrected="C_all[a, b] == If(a <= D, If(b <= D, Psi[a, b], Phi_T[a, b - D]), "
        "If(b <= D, Phi_T[b, a - D], Omega[a - D, b - D]))",
        note="With Phi = E x c^T of G13 the upper right block is Phi^T. As printed it is right if "
        "Phi stands for E c x^T.",
        symmetric=("Psi", "Omega"),
    ),
    Claim(
        "G16",
        not_checkable="The constants, the functions under the expectation and the conditions of "
        "the theorem are not defined on the slides, and the exponents cannot be read surely.",
        reading="reconstructed",
    ),
]  # fmt: skip

_INTEGRALS = [
    Claim(
        "correlations",
        statement,
        correlation_points,
        Exact(),
        ranges,
        part=part,
        definition=True,
        printed=0,
        where="Units 1 to K are students, the next M teachers; z, y and dy are a unit's field, "
        "activation and slope on a Gauss-Hermite grid. The left side is the engine's.",
    )
    for part, statement, ranges in (
        ("I2", "I_2[a, b] == mean(y[a]*y[b])", "a = 1..K + M, b = 1..K + M"),
        ("I3", "I_3[a, b, d] == mean(dy[a]*z[b]*y[d])", "a = 1..K, b = 1..K + M, d = 1..K + M"),
        (
            "I4",
            "I_4[a, b, d, e] == mean(dy[a]*dy[b]*y[d]*y[e])",
            "a = 1..K, b = 1..K, d = 1..K + M, e = 1..K + M",
        ),
    )
]

_GROUP = "(tau, first[s], last[s])"
_BASIS = [
    Claim(
        "local fields",
        "Q[k, l] == Sum(w[k, i]*w[l, j]*Omega[i, j], (i, 1, N), (j, 1, N))/N",
        eigenbasis_points,
        Exact(),
        _PAIRS,
        part="student",
        printed=0,
        definition=True,
        symmetric=("Omega",),
    ),
    Claim(
        "local fields",
        "R[k, m] == Sum(w[k, i]*Phi[i, r]*tilde_w[m, r], (i, 1, N), (r, 1, D))/(sqrt(N)*sqrt(D))",
        eigenbasis_points,
        Exact(),
        "k = 1..K, m = 1..M",
        part="teacher",
        printed=1,
        definition=True,
    ),
    Claim(
        "eigenbasis",
        "Sum(Omega[i, j]*psi[tau, j], (j, 1, N)) == rho_tau[tau]*psi[tau, i]",
        eigenbasis_points,
        Exact(),
        "tau = 1..N, i = 1..N",
        part="eigenvectors",
        printed=0,
        definition=True,
        where="Eigenvectors by diagonalisation, eigenvalues with their multiplicities.",
    ),
    Claim(
        "eigenbasis",
        "Sum(psi[tau, i]*psi[sigma, i], (i, 1, N)) == N*delta(tau, sigma)",
        eigenbasis_points,
        Exact(),
        "tau = 1..N, sigma = 1..N",
        part="orthogonality",
        printed=1,
        definition=True,
    ),
    Claim(
        "eigenbasis",
        "Sum(psi[tau, i]*psi[tau, j], (tau, 1, N)) == N*delta(i, j)",
        eigenbasis_points,
        Exact(),
        "i = 1..N, j = 1..N",
        part="completeness",
        printed=2,
        definition=True,
    ),
    Claim(
        "projected weights",
        f"q[s, k, l] == Sum(Sum(psi[tau, i]*w[k, i], (i, 1, N))/sqrt(N)"
        f"*Sum(psi[tau, i]*w[l, i], (i, 1, N))/sqrt(N), {_GROUP})/(last[s] - first[s] + 1)",
        eigenbasis_points,
        Exact(),
        "s = 1..L, k = 1..K, l = 1..K",
        part="student",
        printed=1,
        definition=True,
        where="q by the projectors on eigenspaces, without eigenvectors; the mean over the "
        "eigenvectors first to last of the eigenvalue s.",
    ),
    Claim(
        "projected weights",
        f"r[s, k, m] == Sum(Gamma[k, tau]*Sum(Sum(psi[tau, i]*Phi[i, n]*tilde_w[m, n], (n, 1, D)), "
        f"(i, 1, N))/sqrt(N), {_GROUP})/(last[s] - first[s] + 1)",
        eigenbasis_points,
        Exact(),
        "s = 1..L, k = 1..K, m = 1..M",
        part="student and teacher",
        printed=2,
        definition=True,
        where="As for the student; Gamma by eigenvectors.",
    ),
    Claim(
        "projected weights",
        f"tilde_T[s, n, m] == Sum("
        f"Sum(Sum(psi[tau, i]*Phi[i, r]*tilde_w[n, r], (r, 1, D)), (i, 1, N))/sqrt(N)"
        f"*Sum(Sum(psi[tau, i]*Phi[i, r]*tilde_w[m, r], (r, 1, D)), (i, 1, N))/sqrt(N), "
        f"{_GROUP})/(last[s] - first[s] + 1)",
        eigenbasis_points,
        Exact(),
        "s = 1..L, n = 1..M, m = 1..M",
        part="teacher",
        printed=3,
        definition=True,
        where="As for the student.",
    ),
    Claim(
        "projected weights",
        "cov_T[m, n] == 1/D*Sum(tilde_w[m, r]*tilde_w[n, r], (r, 1, D))".replace("cov_T", "T"),
        eigenbasis_points,
        Exact(),
        "m = 1..M, n = 1..M",
        part="T",
        printed=4,
        definition=True,
    ),
    Claim(
        "spectral density",
        "mu[s] == 1/N*Sum(1, (tau, 1, N), abs(rho_tau[tau] - rho[s]) < 1e-20)",
        eigenbasis_points,
        Exact(),
        "s = 1..L",
        definition=True,
        where="The weight of the measure at each of its points; rho_tau by diagonalisation.",
    ),
    *(
        Claim(
            "hidden manifold",
            "Omega[i, j] == (c_f - b**2)*delta(i, j) + b**2*Sum(F[i, r]*F[j, r], (r, 1, D))/D",
            manifold_points(function),
            Converges(order),
            "i = 1..N, j = 1..N",
            part=f"Omega, {part}",
            printed=0,
            regime=f"Small parameter 1/D; f = {function}; overlaps of rows of order 1/sqrt(D), "
            "which are the scale of the entries off the diagonal.",
            note="The diagonal is exact.",
        )
        for part, function, order in (
            ("odd f", "sign", 1.0),
            ("f with an even part", "x**2 + 3*x/2 - 1", 0.5),
        )
    ),
    Claim(
        "hidden manifold",
        "Phi[i, r] == b*F[i, r]/sqrt(D)",
        manifold_points("sign", "x**2 + 3*x/2 - 1"),
        Exact(40),
        "i = 1..N, r = 1..D",
        part="Phi",
        printed=1,
        note="Exact for rows of squared length D, not to leading order only.",
    ),
]

CLAIMS = (*_SETUP, *_INTEGRALS, *_BASIS)
