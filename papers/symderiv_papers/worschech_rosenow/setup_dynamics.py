"""Equations 4, 18 and 19: the hierarchy of order parameters and the generalisation error.

x_i^(l) = ξ·Σ^l J_i/√N as the paper defines it; unlabelled fields are those of equation 2, x_i^(0).
The teacher is 1/√M times the sum of its units, which is the student's architecture with M units;
the teacher of section 3 has no factor. What holds for which is told by claims of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

from symderiv.verification.claim import Claim
from symderiv.verification.rules import Exact
from symderiv_papers.worschech_rosenow.setup_points import points_on

__all__ = ["CLAIMS", "Q_RATE", "R_RATE", "Rate"]

REGIME = "K and M arbitrary, also different; eta = 0.7; exact rational states, also degenerate"
#: A polynomial has every integral in closed form, so that g is not always erf.
BOTH = ("erf", "x**3 - x/3")
MEANS = points_on(activations=BOTH)
SUM = points_on(weights="sum")

_Q_RANGES = "i = 1..K, j = 1..K, l = 0..L - 1"
_R_RANGES = "i = 1..K, n = 1..M, l = 0..L - 1"

_DRIFT_OF_Q = """
    Sum(I3(x[i, 0], x[j, l], y[m, 0]), (m, 1, M)){teacher}
    - {ratio}*Sum(I3(x[i, 0], x[j, l], x[k, 0]), (k, 1, K))
    + Sum(I3(x[j, 0], x[i, l], y[m, 0]), (m, 1, M)){teacher}
    - {ratio}*Sum(I3(x[j, 0], x[i, l], x[k, 0]), (k, 1, K))
"""
_DRIFT = _DRIFT_OF_Q.format(ratio="M/K", teacher="")
_NOISE_OF_STUDENTS = "Sum(I4(x[i, 0], x[j, 0], x[k, 0], x[l, 0]), (k, 1, K), (l, 1, K))"
_NOISE = f"""
    {{students}}*{_NOISE_OF_STUDENTS}
    + Sum(I4(x[i, 0], x[j, 0], y[n, 0], y[m, 0]), (n, 1, M), (m, 1, M))
    - {{cross}}*Sum(I4(x[i, 0], x[j, 0], x[k, 0], y[n, 0]), (k, 1, K), (n, 1, M))
"""
_NOISE_PRINTED = _NOISE.format(students="M/K**2", cross="2/K")
_NOISE_TRUE = _NOISE.format(students="M**2/K**2", cross="2*M/K")
_NOISE_SUM = _NOISE.format(students="M/K**2", cross="2*sqrt(M)/K")


def _drift_of_r(order: str, students: str) -> str:
    return f"""
    Sum(I3(x[i, 0], y[n, {order}], y[m, 0]), (m, 1, M))
    - {students}Sum(I3(x[i, 0], y[n, {order}], x[j, 0]), (j, 1, K))
    """


@dataclass(frozen=True)
class Rate:
    """A rate of 18 as printed and as it must read, for the teacher 1/sqrt(M) Sum g(y_n)."""

    printed: str
    true: str
    ranges: str
    reading: str = ""


_Q_FIRST = f"dQ[l, i, j] == eta/K*({_DRIFT}) + eta**2/K**2*nu[l + 1]"
Q_RATE = Rate(
    f"{_Q_FIRST}*({_NOISE_PRINTED})", f"{_Q_FIRST}*({_NOISE_TRUE})", _Q_RANGES, "reconstructed"
)
R_RATE = Rate(
    f"dR[l, i, n] == eta*({_drift_of_r('l + 1', '')})",
    f"dR[l, i, n] == eta*({_drift_of_r('l', 'M/K*')})/K",
    _R_RANGES,
)

_F1 = """
    Sum(I3(x[i, 0], y[n, l], y[m, 0]), (m, 1, M))
    - M/K*Sum(I3(x[i, 0], y[n, l], x[j, 0]), (j, 1, K))
"""

_SHAPE = [
    Claim(
        "4",
        f"dR[l, i, n] == eta/K*({_F1})",
        MEANS,
        Exact(),
        _R_RANGES,
        part="R",
        printed=0,
        regime=REGIME,
        given="F_1 is the bracket of equation 18 for R as it must read (see there).",
        note="The prefactor eta/K is the one that equation 18 lacks.",
    ),
    Claim(
        "4",
        Q_RATE.true,
        MEANS,
        Exact(),
        _Q_RANGES,
        part="Q",
        printed=1,
        regime=REGIME,
        given="F_2 and F_3 are the brackets of equation 18 as they must read (see there).",
        symmetric=("x",),
    ),
]

_EIGHTEEN = [
    Claim(
        "definitions of 18",
        "nu[l] == 1/N*Sum(lambda_[k]**l, (k, 1, N))",
        MEANS,
        Exact(),
        "l = 0..L + 1",
        part="nu",
        printed=0,
        definition=True,
    ),
    Claim(
        "18",
        f"dQ1[l, i, j] == eta/K*({_DRIFT})",
        MEANS,
        Exact(),
        _Q_RANGES,
        part="Q, first order",
        printed=0,
        regime=REGIME,
        note="With the teacher 1/sqrt(M) Sum g(y_n), the student's architecture with M units.",
    ),
    Claim(
        "18",
        f"dQ1[l, i, j] == eta/K*({_DRIFT})",
        SUM,
        Exact(),
        _Q_RANGES,
        part="Q, first order, teacher of section 3",
        printed=0,
        regime=REGIME,
        corrected="dQ1[l, i, j] == eta/K*("
        + _DRIFT_OF_Q.format(ratio="M/K", teacher="*sqrt(M)")
        + ")",
        note="With the teacher of section 3, Sum g(y_n) without 1/sqrt(M), the terms with teachers "
        "need a factor sqrt(M).",
    ),
    Claim(
        "18",
        f"dQ2[l, i, j] == eta**2/K**2*nu[l + 1]*({_NOISE_PRINTED})",
        MEANS,
        Exact(),
        _Q_RANGES,
        part="Q, second order",
        printed=1,
        regime=REGIME,
        reading="reconstructed",
        corrected=f"dQ2[l, i, j] == eta**2/K**2*nu[l + 1]*({_NOISE_TRUE})",
        note="With the teacher 1/sqrt(M) Sum g(y_n), for which the first order holds, the "
        "prefactors of the sums over students and over both networks need one more factor M. With "
        "output weights w of the teacher the three sums have the prefactors M**2/K**4, M w**2/K**2 "
        "and 2 M**(3/2) w/K**3: the printed one of the students is right for M = 1 only, that of "
        "the teachers for w = 1/sqrt(M), the mixed one for w = M**(-3/2).",
    ),
    Claim(
        "18",
        f"dQ2[l, i, j] == eta**2/K**2*nu[l + 1]*({_NOISE_PRINTED})",
        SUM,
        Exact(),
        _Q_RANGES,
        part="Q, second order, teacher of section 3",
        printed=1,
        regime=REGIME,
        reading="reconstructed",
        corrected=f"dQ2[l, i, j] == eta**2/K**2*nu[l + 1]*({_NOISE_SUM})*M",
        note="With the teacher of section 3 the sums over two students and over two teachers are "
        "right relative to each other; the mixed one needs sqrt(M) and all a common factor M.",
    ),
    Claim(
        "18",
        f"dQ2[l, i, j] == eta**2/K**2*nu[l + 1]*(M/K**2*{_NOISE_OF_STUDENTS})",
        points_on(weights="alone", activations=BOTH),
        Exact(),
        _Q_RANGES,
        part="Q, second order, students alone",
        printed=1,
        regime=REGIME + "; a teacher with output weights 0",
        reading="reconstructed",
        corrected=f"dQ2[l, i, j] == eta**2/K**2*nu[l + 1]*(M**2/K**2*{_NOISE_OF_STUDENTS})",
        note="Without a teacher only the sum over students is left: its prefactor does not depend "
        "on how the teacher is scaled.",
    ),
    Claim(
        "18",
        R_RATE.printed,
        MEANS,
        Exact(),
        _R_RANGES,
        part="R",
        printed=2,
        regime=REGIME,
        corrected=R_RATE.true,
        note="Three errors: the factor 1/K, the factor M/K of the students (both are in the "
        "equation of Q), and the order: y_n^(l), as in equation 92, where T^(l+1) occurs.",
    ),
    Claim(
        "18",
        f"dR[l, i, n] == eta/K*({_drift_of_r('l + 1', 'M/K*')})",
        MEANS,
        Exact(),
        _R_RANGES,
        part="R, order of y_n",
        printed=2,
        regime=REGIME,
        given="The prefactors 1/K and M/K.",
        note="dR^(l) needs y_n^(l), just as dQ^(l) in the same display has x_j^(l).",
        corrected=f"dR[l, i, n] == eta/K*({_drift_of_r('l', 'M/K*')})",
    ),
    Claim(
        "18",
        f"dR[l, i, n] == eta*({_drift_of_r('l', '')})",
        MEANS,
        Exact(),
        _R_RANGES,
        part="R, prefactors",
        printed=2,
        regime=REGIME,
        given="The order l of y_n.",
        corrected=f"dR[l, i, n] == eta*({_drift_of_r('l', 'M/K*')})/K",
    ),
    Claim(
        "18",
        R_RATE.printed,
        SUM,
        Exact(),
        _R_RANGES,
        part="R, teacher of section 3",
        printed=2,
        regime=REGIME,
        corrected="dR[l, i, n] == eta*(" + _drift_of_r("l", "sqrt(M)/K*") + ")*sqrt(M)/K",
        note="Also with the teacher of section 3 the prefactors and the order are not right.",
    ),
    Claim(
        "18",
        "dR[l, i, n] == eta*(" + _drift_of_r("l", "") + ")",
        points_on(weights="ones"),
        Exact(),
        _R_RANGES,
        part="R, output weights 1",
        printed=2,
        regime=REGIME,
        given="The order of y_n is l.",
        note="The printed prefactors belong to output weights 1 of both networks.",
    ),
]

_ERROR_TERMS = """
    {teachers}Sum(I2(y[n, 0], y[m, 0]), (m, 1, M), (n, 1, M))
    + {students}Sum(I2(x[j, 0], x[i, 0]), (i, 1, K), (j, 1, K))
    - {cross}*Sum(Sum(I2(x[i, 0], y[n, 0]), (n, 1, M)), (i, 1, K))
"""
_ERROR_PRINTED = _ERROR_TERMS.format(teachers="", students="", cross="2")

_ERROR = [
    Claim(
        "19",
        f"epsilon_g == 1/2*({_ERROR_PRINTED})",
        MEANS,
        Exact(),
        regime=REGIME,
        corrected="epsilon_g == 1/2*("
        + _ERROR_TERMS.format(teachers="1/M*", students="M/K**2*", cross="2/K")
        + ")",
        note="The output weights are missing. (The superscripts (1) are read as those of the "
        "covariances, not as orders of the fields; see 20, orders of the fields.)",
    ),
    Claim(
        "19",
        f"epsilon_g == 1/2*({_ERROR_PRINTED})",
        points_on(weights="ones", activations=BOTH),
        Exact(),
        part="output weights 1",
        regime=REGIME,
        note="What is printed is right for output weights 1 of both networks.",
    ),
]

CLAIMS = (*_SHAPE, *_EIGHTEEN, *_ERROR)
