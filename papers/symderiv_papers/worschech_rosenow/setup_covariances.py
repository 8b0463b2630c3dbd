"""Equations 20 to 22: the covariances of the fields in I2, I3 and I4.

x_i^(l) = xi Sigma^l J_i/sqrt(N) as the paper defines it; plain fields have order 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from symderiv.verification.claim import Claim
from symderiv.verification.rules import Exact
from symderiv_papers.worschech_rosenow.setup_points import points_on

__all__ = ["CLAIMS"]

_MATRIX_2 = "Matrix(2, 2, Q[1, i, i], Q[1, i, j], Q[1, i, j], Q[1, j, j])"
_MATRIX_3 = """Matrix(3, 3,
    Q[1, i, i], {first}, R[1, i, n],
    Q[l + 1, i, j], Q[2*l + 1, j, j], R[l + 1, j, n],
    R[1, i, n], R[l + 1, j, n], T[1, n, n])
"""
_MATRIX_3_PRINTED = _MATRIX_3.format(first="Q[1, i, j]")
_MATRIX_3_TRUE = _MATRIX_3.format(first="Q[l + 1, i, j]")
_MATRIX_4 = """Matrix(4, 4,
    Q[1, i, i], Q[1, i, j], R[1, i, n], R[1, i, m],
    Q[1, i, j], Q[1, j, j], R[1, j, n], R[1, j, m],
    R[1, i, n], R[1, j, n], T[1, n, n], T[1, n, m],
    R[1, i, m], R[1, j, m], T[1, n, m], T[1, m, m])
"""
_STATES = points_on()

_UNITS = {
    "20": "i = 1..K, j = 1..K",
    "21": "i = 1..K, j = 1..K, n = 1..M, l = 0..L - 1",
    "22": "i = 1..K, j = 1..K, n = 1..M, m = 1..M",
}
_MATRICES = [
    Claim(
        "20",
        f"C(x[i, 0], x[j, 0]) == {_MATRIX_2}",
        _STATES,
        Exact(),
        _UNITS["20"],
        part="matrix",
        symmetric=("Q",),
    ),
    Claim(
        "21",
        f"C(x[i, 0], x[j, l], y[n, 0]) == {_MATRIX_3_PRINTED}",
        _STATES,
        Exact(),
        _UNITS["21"],
        part="matrix",
        corrected=f"C(x[i, 0], x[j, l], y[n, 0]) == {_MATRIX_3_TRUE}",
        note="A covariance matrix is symmetric: the entry 1, 2 must be Q_ij^(l+1) like the entry "
        "2, 1. As printed it is right for l = 0 only.",
        symmetric=("Q",),
    ),
    Claim(
        "22",
        f"C(x[i, 0], x[j, 0], y[n, 0], y[m, 0]) == {_MATRIX_4}",
        _STATES,
        Exact(),
        _UNITS["22"],
        part="matrix",
        symmetric=("Q", "T"),
    ),
]

#: Per equation the matrix and the fields that the sentence before it names, {a} the first index
#: and {o} the order of those with the superscript (1).
_NAMED = {
    "20": (_MATRIX_2, "x[{a}, {o}], x[j, {o}]"),
    "21": (_MATRIX_3_TRUE, "x[{a}, {o}], x[j, l], y[n, {o}]"),
    "22": (_MATRIX_4, "x[{a}, {o}], x[j, {o}], y[n, {o}], y[m, {o}]"),
}


def _fields(equation: str) -> Iterator[Claim]:
    matrix, fields = _NAMED[equation]
    given = "The entry 1, 2 is Q_ij^(l+1). " if equation == "21" else ""

    def statement(index: str, order: int) -> str:
        return f"{matrix} == C({fields.format(a=index, o=order)})"

    yield Claim(
        equation,
        statement("j", 0),
        _STATES,
        Exact(),
        _UNITS[equation],
        part="indices of the fields",
        given=given + "Fields with the superscript (1) are the plain ones.",
        corrected=statement("i", 0),
        note="The first field has index i.",
    )
    yield Claim(
        equation,
        statement("i", 1),
        _STATES,
        Exact(),
        _UNITS[equation],
        part="orders of the fields",
        given=given + "The first field has index i.",
        corrected=statement("i", 0),
        note="By the paper's own x_i^(l) = xi Sigma^l J_i/sqrt(N) the plain fields are those of "
        "order 0. Read as labels of the covariances the superscripts (1) do no harm.",
    )


_FIELDS = [claim for equation in _NAMED for claim in _fields(equation)]

CLAIMS = (*_MATRICES, *_FIELDS)
