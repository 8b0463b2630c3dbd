"""Eigen-systems at perfect learning, and which eigenvalues the coupling of modes moves."""

from __future__ import annotations

from typing import Final

from symderiv.verification.claim import Claim
from symderiv_papers.worschech_rosenow.late import ALL_M, late_claim

__all__ = ["CLAIMS"]

_GROUPS: Final = "eigen-systems of the asymptotics"
_H_ROOT: Final = "sqrt(16 + 27*(M - 1))"


def _pair(
    place: int, number: int, value: str, vector: str, right_value: str, right_vector: str
) -> list[Claim]:
    """Value and vector of one eigenspace of G; equal texts mean that the print is right."""
    return [
        late_claim(
            _GROUPS,
            f"lambda_G[{number}] == {value}",
            f"G {place} value",
            printed=0,
            corrected="" if value == right_value else f"lambda_G[{number}] == {right_value}",
            note="" if value == right_value else ALL_M,
        ),
        late_claim(
            _GROUPS,
            f"v_G[{number}] == Vector({vector})",
            f"G {place} vector",
            printed=0,
            corrected="" if vector == right_vector else f"v_G[{number}] == Vector({right_vector})",
            note="" if vector == right_vector else ALL_M,
        ),
    ]


def _group(
    number: int, value: str, vector: str, right_value: str, right_vector: str, note: str
) -> Claim:
    """One group of eigenvalues of G⊗A1."""

    def text(factor: str, entries: str) -> str:
        kron_text = f"kron(Vector({entries}), v[k])"
        return f"kron(G, A1) @ {kron_text} == {factor}*lambda_[k]*{kron_text}"

    right = (value, vector) == (right_value, right_vector)
    return late_claim(
        _GROUPS,
        text(value, vector),
        f"A {number}",
        ranges="k = 1..L",
        printed=1,
        corrected="" if right else text(right_value, right_vector),
        note=note,
    )


_OFF: Final = "-1/(M - 1)"

CLAIMS: Final = (
    *_pair(1, 2, "2 - sqrt(3)", "0, 0, 1, -1", "2 - sqrt(3)", f"0, 0, 1, {_OFF}"),
    *_pair(2, 4, "2 + sqrt(3)", "0, 0, 1, 1", "2 + (M - 1)*sqrt(3)", "0, 0, 1, 1"),
    *_pair(3, 1, "1 - 1/2*sqrt(3)", "1, -1, 2, -2", "1 - 1/2*sqrt(3)", f"1, {_OFF}, 2, 2*{_OFF}"),
    *_pair(4, 3, "1 + 1/2*sqrt(3)", "1, 1, 2, 2", "1 + 1/2*(M - 1)*sqrt(3)", "1, 1, 2, 2"),
    _group(1, "-(2 - sqrt(3))", "0, 0, 1, -1", "-(2 - sqrt(3))", f"0, 0, 1, {_OFF}", ALL_M),
    _group(2, "-(2 + sqrt(3))", "0, 0, 1, 1", "-(2 + (M - 1)*sqrt(3))", "0, 0, 1, 1", ALL_M),
    _group(
        3, "(1 - 1/2*sqrt(3))", "1, -1, 2, -2", "-(1 - 1/2*sqrt(3))", f"1, {_OFF}, 2, 2*{_OFF}",
        "The sign is missing for every M; the vector is right for M = 2.",
    ),
    _group(4, "-(1 + 1/2*sqrt(3))", "1, 1, 2, 2", "-(1 + 1/2*(M - 1)*sqrt(3))", "1, 1, 2, 2",
           ALL_M),
    late_claim(
        _GROUPS, "lambda_H[1] == 1/3 - sqrt(43)/12", "H value 1", printed=2,
        corrected=f"lambda_H[1] == 1/3 - {_H_ROOT}/12", note=ALL_M,
    ),
    late_claim(
        _GROUPS, "lambda_H[2] == 1/3 + sqrt(43)/12", "H value 2", printed=3,
        corrected=f"lambda_H[2] == 1/3 + {_H_ROOT}/12", note=ALL_M,
    ),
    late_claim(
        _GROUPS,
        "v_H[1] == Vector(1, -sqrt(3)/9*(sqrt(43) + 4), 2, -2*sqrt(3)/9*(sqrt(43) + 4))",
        "H vector 1",
        printed=2,
        corrected=f"v_H[1] == Vector(1, -sqrt(3)/(9*(M - 1))*({_H_ROOT} + 4), 2, "
        f"-2*sqrt(3)/(9*(M - 1))*({_H_ROOT} + 4))",
        note=ALL_M,
    ),
    late_claim(
        _GROUPS,
        "v_H[2] == Vector(1, sqrt(3)/9*(sqrt(43) + 4), 2, 2*sqrt(3)/9*(sqrt(43) + 4))",
        "H vector 2",
        printed=3,
        corrected=f"v_H[2] == Vector(1, sqrt(3)/(9*(M - 1))*({_H_ROOT} - 4), 2, "
        f"2*sqrt(3)/(9*(M - 1))*({_H_ROOT} - 4))",
        note="The sign of the 4 is wrong also for M = 2.",
    ),
    late_claim(
        _GROUPS, "w_H[1] == Vector(1, 0, 0, 2*sqrt(3)/9)", "H zero 3", printed=4,
        corrected="w_H[1] == Vector(1, 0, 0, 4*sqrt(3)/(9*(M - 1)))",
        note="Twice as large also for M = 2.",
    ),
    late_claim(_GROUPS, "w_H[2] == Vector(0, 1, 0, 1)", "H zero 4", printed=4),
    late_claim(_GROUPS, "U @ u == T[2]*u", "U", printed=5),
    late_claim(
        _GROUPS, "lambda_B[1] == (1/3 - sqrt(43)/12)*T[2]", "B 1", printed=6,
        corrected=f"lambda_B[1] == (1/3 - {_H_ROOT}/12)*T[2]", note=ALL_M,
    ),
    late_claim(
        _GROUPS, "lambda_B[2] == (1/3 + sqrt(43)/12)*T[2]", "B 2", printed=6,
        corrected=f"lambda_B[2] == (1/3 + {_H_ROOT}/12)*T[2]", note=ALL_M,
    ),
    late_claim(_GROUPS, "zeros_B == 4*L - 2", "B zeros", printed=6),
    late_claim(
        "groups 1 and 2 stay",
        "lambda_1[k] == -(2 - sqrt(3))*lambda_[k]",
        "group 1",
        ranges="k = 1..L",
        note="Eigenvalues of the Jacobian of the full equations over eta a: what they belong to "
        "is q - 2r and c - 2s, which B does not reach.",
    ),
    late_claim(
        "groups 1 and 2 stay",
        "lambda_2[k] == -(2 + sqrt(3))*lambda_[k]",
        "group 2",
        ranges="k = 1..L",
        corrected="lambda_2[k] == -(2 + (M - 1)*sqrt(3))*lambda_[k]",
        note=f"They keep the eigenvalue they have in A. {ALL_M}",
    ),
    late_claim(
        "groups 3 and 4 move",
        "q[k, l] == 2*r[k, l]",
        "q",
        ranges="k = 1..2*L, l = 0..L - 1",
        note="Eigenvectors of the Jacobian of the full equations, any M.",
    ),
    late_claim(
        "groups 3 and 4 move", "c[k, l] == 2*s[k, l]", "c", ranges="k = 1..2*L, l = 0..L - 1"
    ),
)  # fmt: skip
