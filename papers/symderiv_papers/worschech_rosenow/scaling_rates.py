"""Equations 54 to 57: the linear network at any learning rate through a companion matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from symderiv.verification.arithmetic import extended
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Exact
from symderiv_papers.references.companion import companions

Points = Callable[[Any], Iterator[Point]]

# a and ε: larger and smaller than each other, also negative
_GENERAL = (
    (Fraction(2), Fraction(7, 10)),
    (Fraction(1), Fraction(8, 5)),
    (Fraction(3, 2), Fraction(-1, 5)),
    (Fraction(1, 3), Fraction(2, 5)),
)
_NETWORK = ((Fraction(2), Fraction(7, 10)), (Fraction(2), Fraction(8, 5)))
_SMALL = ((Fraction(2), Fraction(0)), (Fraction(3, 2), Fraction(0)))


def _general(smallest: int = 2) -> Points:
    return lambda numbers: companions(numbers, _GENERAL, smallest)


def _network(numbers: Any) -> Iterator[Point]:
    """a = 2 and ε = η, the matrix of the network."""
    return companions(numbers, _NETWORK)


def _small(numbers: Any) -> Iterator[Point]:
    """Without the terms of order η²."""
    return companions(numbers, _SMALL)


_ENTRY = "-1/(a**(L - 2)*(epsilon - a))*({}lambda_B[k]**(L - 1) + epsilon*Sum({}, (i, 1, L - 2)))"
_INNER = "(-1)**i*a**(L - 2 - i)*lambda_B[k]**i*T[L - i]"
_COEFFICIENT = (
    "c_B[j] == 1/a**(j - 1)*(-1)**(j + 1)/(epsilon - a)"
    "*(a*c[j] + epsilon*Sum(c[L - l]*T[L + 1 - j - l], (l, 0, L - 1 - {})))"
)
_B_K = "b[k] == Sum({}[k, l]*T[{}], (l, 1, L))"
_MOMENTS = (
    "The vector that is expanded in eigenvectors is (T^(0), ..., T^(L-1)), so that T^(l-1) belongs "
    "to l."
)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "before 54",
        "exponential == V_4 @ exponentials @ inverse(V_4)",
        _network,
        Exact(40, lost=18),
        part="exponential",
        printed=0,
        where="the left side is exp(eta B alpha), V_4 has the eigenvectors as columns, "
        "exponentials is diagonal",
    ),
    Claim(
        "before 54",
        "generator == eta*(a*A_1 + epsilon*U)",
        _network,
        Exact(),
        part="B",
        printed=1,
        regime="a = 2 and epsilon = eta, against the engine's equations of the deviation's moments",
        definition=True,
        where="generator is that of the moments, per unit of alpha",
    ),
    Claim(
        "eigenvectors of B",
        "v_B[1, k] == 1",
        _general(),
        Exact(),
        ranges="k = 1..L",
        part="first entry",
        printed=0,
        definition=True,
    ),
    Claim(
        "eigenvectors of B",
        "v_B[2, k] == lambda_B[k]/(epsilon - a)",
        _general(),
        Exact(),
        ranges="k = 1..L",
        part="second entry",
        printed=1,
        regime="mean eigenvalue 1",
    ),
    Claim(
        "eigenvectors of B",
        "v_B[3, k] == 1/a*1/(epsilon - a)*(epsilon*T[2] - lambda_B[k])",
        _general(3),
        Exact(),
        ranges="k = 1..L",
        part="third entry",
        printed=2,
        corrected="v_B[3, k] == 1/a*lambda_B[k]/(epsilon - a)*(epsilon*T[2] - lambda_B[k])",
        note="A factor lambda_{B,k} is missing, the second entry's.",
    ),
    Claim(
        "eigenvectors of B",
        f"v_B[L, k] == {_ENTRY.format('-', _INNER)}",
        _general(3),
        Exact(),
        ranges="k = 1..L",
        part="last entry",
        printed=3,
        corrected=f"v_B[L, k] == {_ENTRY.format('(-1)**(L - 1)*', _INNER)}",
        note="The sign of the highest power is right for even L only.",
    ),
    Claim(
        "B v - lambda v",
        "rows[l, k] == 0",
        _general(),
        Exact(),
        ranges="k = 1..L, l = 1..L-1",
        part="first rows",
        where="rows[l, k] is the l-th entry for the k-th eigenvector",
    ),
    Claim(
        "B v - lambda v",
        "rows[L, k] == Sum(c_B[j]*lambda_B[j]**j, (j, 1, L))",
        _general(),
        Exact(),
        ranges="k = 1..L",
        part="last row",
        corrected="rows[L, k] == Sum(c_B[j]*lambda_B[k]**j, (j, 0, L))",
        note="The sum starts at j = 0 (with c_{B,0} of equation 54); the eigenvalue is the k-th.",
        where="rows[l, k] is the l-th entry for the k-th eigenvector",
    ),
    Claim("54", "c_B[0] == a*c[0]", _general(), Exact(), part="constant", printed=0),
    Claim(
        "54",
        "c_B[L] == (-1)**(L + 1)/a**(L - 2)*1/(epsilon - a)",
        _general(),
        Exact(),
        part="highest",
        printed=1,
    ),
    Claim(
        "55",
        _COEFFICIENT.format("i"),
        _general(),
        Exact(),
        ranges="j = 1..L-1, i = 1..L-1",
        printed=0,
        corrected=_COEFFICIENT.format("j"),
        note="The upper limit contains an i that is not defined; it is j.",
    ),
    Claim(
        "55",
        "Product(x - lambda_B[k], (k, 1, L)) == Sum(c_B[j]*x**j, (j, 0, L))/c_B[L]",
        lambda numbers: (
            Point(point.label, extended(point.values, {"x": numbers.mpf(x)}))
            for point in _general()(numbers)
            for x in ("0.37", "-2.1")
        ),
        Exact(),
        part="roots",
        printed=1,
    ),
    Claim(
        "56",
        "epsilon_g == (1 + sigma_J**2)*1/(2*L)"
        "*Sum(b[k]*lambda_B[k]*exp(-2*eta*lambda_B[k]*alpha), (k, 1, L))",
        _network,
        Exact(),
        printed=0,
        given="b_k with T^(l-1), see the next claim",
        corrected="epsilon_g == (1 + sigma_J**2)*1/(2*(eta - 2))"
        "*Sum(b[k]*lambda_B[k]*exp(eta*lambda_B[k]*alpha), (k, 1, L))",
        note="The rates lambda_{B,k} are negative and contain the 2 already; 1/L is in the b_k, "
        "and the second entry of the eigenvectors is lambda_{B,k}/(eta - 2). As printed the "
        "error grows.",
    ),
    Claim(
        "56",
        _B_K.format("V_inverse", "l"),
        _network,
        Exact(),
        ranges="k = 1..L",
        part="b",
        printed=1,
        corrected=_B_K.format("V_inverse", "l - 1"),
        note=_MOMENTS,
        where="V_inverse is the inverse of V_B",
    ),
    Claim(
        "companion of B",
        "B_2[L, i + 1] == c_B[i]",
        _general(),
        Exact(),
        ranges="i = 0..L-1",
        part="last row",
        corrected="B_2[L, i + 1] == -c_B[i]/c_B[L]",
        note="c_{B,L} is not 1. With this S the entries beside the diagonal of B_2 are +1, not -1 "
        "as in A_1; with the other sign of every second column the last row has other signs, but "
        "the factor 1/c_{B,L} stays.",
    ),
    Claim(
        "S",
        "S[1, 1] == 1/(a - eta)*(a - eta)",
        _general(),
        Exact(),
        part="first entry",
        given="eta stands for epsilon",
    ),
    Claim(
        "S",
        "S[i, j] == 0",
        _general(),
        Exact(),
        ranges="i = 1..L-1, j = i+1..L",
        part="zeros",
    ),
    Claim(
        "S",
        "S[i, i] == 1/(a - eta)*(-1)**(i - 1)*1/a**(i - 2)",
        lambda numbers: (
            Point(point.label, extended(point.values, {"last": min(4, point.values["L"])}))
            for point in _general()(numbers)
        ),
        Exact(),
        ranges="i = 2..last",
        part="diagonal of the first four rows",
        given="eta stands for epsilon",
    ),
    Claim(
        "S",
        "S[i, j] == 1/(a - eta)*(-1)**(j - 1)*T[i - j + 1]*eta/a**(j - 1)",
        _general(),
        Exact(),
        ranges="i = 3..L, j = 2..i-1",
        part="below the diagonal",
        given="eta stands for epsilon",
    ),
    Claim(
        "S",
        "S[L, L] == 1/(a - eta)*(-1)**(L - 1)*1/a**(L - 1)",
        _general(),
        Exact(),
        part="last entry",
        given="eta stands for epsilon",
        corrected="S[L, L] == 1/(a - eta)*(-1)**(L - 1)*1/a**(L - 2)",
        note="The power is L - 2, as in the rows printed above it.",
    ),
    Claim(
        "inverse of S",
        "S_inverse[i, i] == 1/S[i, i]",
        _general(),
        Exact(),
        ranges="i = 1..L",
        part="diagonal",
    ),
    Claim(
        "inverse of S",
        "S_inverse[i, j] == -1/S[i, i]*Sum(S[i, k]*S_inverse[k, j], (k, i, j - 1))",
        _general(3),
        Exact(),
        ranges="j = 1..L-1, i = j+1..L",
        part="below the diagonal",
        corrected="S_inverse[i, j] == -1/S[i, i]*Sum(S[i, k]*S_inverse[k, j], (k, j, i - 1))",
        note="The limits are exchanged: for i > j the printed sum is empty.",
    ),
    Claim(
        "57",
        _B_K.format("SV_inverse", "l"),
        _network,
        Exact(),
        ranges="k = 1..L",
        corrected=_B_K.format("SV_inverse", "l - 1"),
        note=_MOMENTS,
        where="SV_inverse is the inverse of S times the Vandermonde matrix",
    ),
    Claim(
        "after 57",
        "b[k] == 1/L",
        _small,
        Exact(),
        ranges="k = 1..L",
        part="b",
        printed=0,
        regime="without the terms of order eta squared; with the corrected b_k",
    ),
    Claim(
        "after 57",
        "lambda_B[k] == -a*lambda_[k]",
        _small,
        Exact(),
        ranges="k = 1..L",
        part="rates",
        printed=1,
        regime="without the terms of order eta squared",
    ),
)
