"""Appendix B.1: solution for the student's own overlap, Eqs. (39)-(47)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Converges
from symderiv_papers.references.linear_networks import LinearNetwork
from symderiv_papers.worschech_rosenow.linear_points import (
    DRAWN,
    EXACT,
    entries,
    first_order,
    slower,
    vectors,
)

_AVERAGES = (
    "any learning rate, R_0 = 0, any Q_0; averages over teachers, so that T^(l) = nu_l; "
    "L = 2 ... 6, power laws, other and nearly degenerate spectra"
)
_SMALL = "eta -> 0 at fixed eta*alpha; L = 2 ... 6, sigma_J^2 from 0.01 to 2"


def _small_matrices(numbers: Any) -> Iterator[Point]:
    """A_4 and A_1 with η → 0; differences are compared with 1, as entries may vanish."""
    for power in (2, 3, 4):
        case = replace(DRAWN[1], rate=Fraction(1, 10**power))
        network = LinearNetwork(case, numbers)
        values = {"A_4": network.blocks.QQ, "A_1": network.blocks.RR, "scale": numbers.one}
        yield Point(str(case), values, 10.0**-power)


def _all_equal_starts(numbers: Any) -> Iterator[Point]:
    return vectors(numbers, DRAWN)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "39",
        "dQ == eta*A_3@(expm(eta*A_1*alpha)@inverse(A_1)@u - inverse(A_1)@u) + eta*A_4@Q"
        " + eta**2*u",
        vectors,
        EXACT,
        regime=_AVERAGES,
    ),
    Claim(
        "40",
        "inverse_A_1[i, j] == If(i > 1, -delta(i, j+1), c[j]/c[0])",
        entries,
        EXACT,
        "i = 1..L, j = 1..L",
        regime="L = 2 ... 6; c_L = 1",
    ),
    Claim(
        "after 40",
        "-A_3@inverse(A_1)@u == 2*(eta - 1)*u",
        vectors,
        EXACT,
        printed=0,
        regime=_AVERAGES,
        corrected="-A_3@inverse(A_1)@u == 2*(1 - eta)*u",
        note="The sign is lost; Eqs. (43) and (45) follow from the right one. The text announces "
        "the product with T, it means u.",
    ),
    Claim(
        "after 40",
        "eta*u - A_3@inverse(A_1)@u == (eta - 2)*u",
        vectors,
        EXACT,
        part="sum",
        printed=1,
        regime=_AVERAGES,
        corrected="eta*u - A_3@inverse(A_1)@u == (2 - eta)*u",
        note="The same sign; Eq. (41) has the right one.",
    ),
    Claim(
        "41",
        "dQ == eta*A_3@expm(A_1*alpha)@inverse(A_1)@u + (2 - eta)*u + eta*A_4@Q",
        vectors,
        EXACT,
        regime=_AVERAGES,
        corrected="dQ == eta*A_3@expm(eta*A_1*alpha)@inverse(A_1)@u + eta*(2 - eta)*u + eta*A_4@Q",
        note="A factor eta is missing in the exponent and before (2 - eta)u; Eqs. (42) and (43) "
        "have both.",
    ),
    Claim(
        "42",
        "Q == expm(eta*A_4*alpha)@Q_0 + expm(eta*A_4*alpha)@inverse(A_1 - A_4)"
        "@(expm((eta*A_1 - eta*A_4)*alpha) - identity(L))@A_3@inverse(A_1)@u"
        " + (2 - eta)*expm(eta*A_4*alpha)@inverse(A_4)@(identity(L) - expm(-eta*A_4*alpha))@u",
        vectors,
        EXACT,
        regime=_AVERAGES,
        corrected="Q == expm(eta*A_4*alpha)@Q_0"
        " + 2*(expm(eta*A_1*alpha) - expm(eta*A_4*alpha))@inverse(A_1)@u"
        " + (2 - eta)*expm(eta*A_4*alpha)@inverse(A_4)@(identity(L) - expm(-eta*A_4*alpha))@u",
        note="Eqs. (42) and (43) are one formula. The exponentials of A_1 and A_4 are multiplied "
        "as if the matrices commuted. With A_3 = 2(A_1 - A_4) the integral can be done without "
        "that, and Eq. (45) is right.",
    ),
    Claim(
        "43",
        "forced == (2 - eta)*expm(eta*A_4*alpha)@inverse(A_4)@(identity(L) - expm(-eta*A_4*alpha))"
        "@u",
        vectors,
        EXACT,
        regime=_AVERAGES,
        given="dQ/dalpha = eta A_4 Q + eta (2 - eta) u with Q = 0 at the start",
    ),
    Claim(
        "after 43",
        "A_1 - A_4 == 1/2*A_3",
        vectors,
        EXACT,
        printed=0,
        regime=_AVERAGES,
    ),
    Claim(
        "after 43",
        "inverse(A_1 - A_4)@A_3 == 2*identity(L)",
        vectors,
        EXACT,
        part="inverse",
        printed=1,
        regime=_AVERAGES,
    ),
    Claim(
        "44",
        "inverse_A_4[i, j] == If(i < 2, c[j]/(2*c[0]) - delta(j, 1)*eta/(2 - eta), If(j > 1,"
        " -delta(i, j+1)*1/2, If(i < 3, 1/(eta - 2), eta*T[i-1]/(2*(eta - 2)))))",
        entries,
        EXACT,
        "i = 1..L, j = 1..L",
        regime=_AVERAGES,
        corrected="inverse_A_4[i, j] == If(i < 2, c[j]/(2*c[0]) - delta(j, 1)*eta/(2*(2 - eta)),"
        " If(j > 1, -delta(i, j+1)*1/2, If(i < 3, 1/(eta - 2), eta*T[i-1]/(2*(eta - 2)))))",
        note="A factor 1/2 is missing in the first entry.",
    ),
    Claim(
        "after 44",
        "(2 - eta)*inverse(A_4)@u == -T",
        vectors,
        EXACT,
        regime=_AVERAGES,
    ),
    Claim(
        "45",
        "Q == T + expm(eta*A_4*alpha)@Q_0 + (expm(eta*A_4*alpha) - 2*expm(eta*A_1*alpha))@T",
        vectors,
        EXACT,
        regime=_AVERAGES,
    ),
    Claim(
        "after 45",
        "A_4 == 2*A_1",
        _small_matrices,
        Converges(1),
        printed=0,
        regime=_SMALL,
    ),
    Claim(
        "after 45",
        "Q_0 == sigma_J**2*T",
        _all_equal_starts,
        EXACT,
        part="Q_0",
        printed=1,
        regime="averages over initial students",
        definition=True,
    ),
    Claim(
        "46",
        "Q[1] == Q_now[2] == 1 + (1 + sigma_J**2)*1/L*Sum(exp(-2*eta*lam[a]*alpha)*lam[a],"
        " (a, 1, L)) - 2*1/L*Sum(exp(-eta*lam[a]*alpha)*lam[a], (a, 1, L))",
        first_order,
        EXACT,
        part="first order",
        regime="without the terms of order eta^2; L = 2 ... 6",
    ),
    Claim(
        "46",
        "Q[1] == Q_now[2] == 1 + (1 + sigma_J**2)*1/L*Sum(exp(-2*eta*lam[a]*alpha)*lam[a],"
        " (a, 1, L)) - 2*1/L*Sum(exp(-eta*lam[a]*alpha)*lam[a], (a, 1, L))",
        slower,
        Converges(1),
        regime=_SMALL,
    ),
    Claim(
        "47",
        "eps_g == (1 + sigma_J**2)*1/(2*L)*Sum(lam[a]*exp(-2*eta*lam[a]*alpha), (a, 1, L))",
        first_order,
        EXACT,
        part="first order",
        regime="without the terms of order eta^2; L = 2 ... 6",
    ),
    Claim(
        "47",
        "eps_g == (1 + sigma_J**2)*1/(2*L)*Sum(lam[a]*exp(-2*eta*lam[a]*alpha), (a, 1, L))",
        slower,
        Converges(1),
        regime=_SMALL,
    ),
)
