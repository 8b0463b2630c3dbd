"""Equations 100 to 108: the flow linearised at the plateau and its eigen-systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mpmath

from symderiv.verification.claim import Claim
from symderiv.verification.rules import Exact
from symderiv_papers.references.committee import Committee
from symderiv_papers.worschech_rosenow.escape_modes import (
    eigenpairs,
    kron,
    linearised,
    normalised_matrices,
    null_vectors,
    nullity,
    vector_u,
)
from symderiv_papers.worschech_rosenow.escape_points import (
    GENERAL,
    TYPICAL,
    Series,
    UnitSeries,
    cases,
    companion,
    powers,
)

__all__ = ["CLAIMS"]

_REGIME: Final = "D^(l) = 0, T^(1) = 1, first order in the learning rate; M = 2, 3, 5"
_RULE: Final = Exact(digits=30)
_FACTOR: Final = "2/(pi*M)*sqrt((2*M - 1)/(2*M + 1))"
_ROOT: Final = "2*sqrt(M)/sqrt(2*M - 1)"


def _eigen_systems(committee: Committee) -> Mapping[str, Any]:
    """Of G and H (4 × 4), and of A = G⊗A1 and B = H⊗U."""

    def G() -> Any:
        return normalised_matrices(committee)[0]

    def H() -> Any:
        return normalised_matrices(committee)[1]

    def U() -> Any:
        found = mpmath.zeros(committee.modes)
        for i, value in enumerate(vector_u(committee)):
            found[i, 1] = value
        return found

    def A() -> Any:
        return kron(G(), companion(committee))

    def B() -> Any:
        return kron(H(), U())

    def zeros_of_A(block: int) -> Any:
        """Vectors that A maps to zero, equal to v_k in one block and zero in its partner."""
        L = committee.modes
        given = [*range(L), *range(2 * L, 3 * L)]
        values = [
            [*power, *[0] * L] if block == 0 else [*[0] * L, *power] for power in powers(committee)
        ]
        return Series(1, null_vectors(A(), given, values))

    pairs = [(1, 0), (0, 1)]
    return {
        "G": G,
        "H": H,
        "U": U,
        "J": lambda: linearised(committee),
        "lambda_G": lambda: Series(1, [value for value, _ in eigenpairs(G())]),
        "v_G": lambda: Series(1, [vector for _, vector in eigenpairs(G())]),
        "w_G": lambda: Series(1, null_vectors(G(), (0, 2), pairs)),
        "lambda_H": lambda: Series(1, [value for value, _ in eigenpairs(H())]),
        "v_H": lambda: Series(1, [vector for _, vector in eigenpairs(H())]),
        "w_H": lambda: Series(1, null_vectors(H(), (0, 2), pairs)),
        "w_3": lambda: zeros_of_A(0),
        "w_4": lambda: zeros_of_A(1),
        "lambda_B": lambda: Series(1, [value for value, _ in eigenpairs(B())]),
        "zerosB": lambda: nullity(B()),
    }


def _ansatz(committee: Committee) -> Mapping[str, Any]:
    """Rates of all units, and those of one pair of them, away from the plateau."""
    state = [
        value + mpmath.mpf(k + 1) / 70 / (1 + k % 5) for k, value in enumerate(committee.plateau())
    ]
    L = committee.modes

    def block(number: int) -> Series:
        return Series(0, committee.rates(state)[number * L : (number + 1) * L])

    def of_units(kind: int) -> Any:
        return UnitSeries(committee.unit_rates(state)[kind])

    return {
        "r": lambda: block(0),
        "s": lambda: block(1),
        "q": lambda: block(2),
        "c": lambda: block(3),
        "dR": lambda: of_units(0),
        "dQ": lambda: of_units(1),
    }


def _claim(equation: str, statement: str, part: str = "", **more: Any) -> Claim:
    """A claim of the typical teacher on the eigen-systems."""
    more = {"points": cases(TYPICAL, _eigen_systems), "rule": _RULE, "regime": _REGIME, **more}
    return Claim(equation, statement, part=part, **more)


_GROUPS: Final = "eigenvalue groups of A, B"


CLAIMS: Final = (
    _claim(
        "ansatz of the escape",
        "dR[l, i, m] == r[l]*delta(i, m) + s[l]*(1 - delta(i, m))",
        "R",
        ranges="l = 0..L - 1, i = 1..M, m = 1..M",
        printed=0,
        points=cases(GENERAL, _ansatz),
        regime="homogeneous teacher, any order in the learning rate",
        definition=True,
        note="The full equations keep this form: rates of all units from a state of this form.",
    ),
    _claim(
        "ansatz of the escape",
        "dQ[l, i, j] == q[l]*delta(i, j) + c[l]*(1 - delta(i, j))",
        "Q",
        ranges="l = 0..L - 1, i = 1..M, j = 1..M",
        printed=1,
        points=cases(GENERAL, _ansatz),
        regime="homogeneous teacher, any order in the learning rate",
        definition=True,
    ),
    _claim(
        "100",
        f"J == {_FACTOR}*(kron(G, A1) + kron(H, u @ transpose(e[2])))",
        corrected=f"J == eta*{_FACTOR}*(kron(G, A1) + kron(H, u @ transpose(e[2])))",
        note="The learning rate is missing in front (it is there in equations 14 and 112); the "
        "print is right in the time eta alpha. The left side is the Jacobian of the full "
        "equations; L is 2 or more, for L = 1 there is no e_2.",
    ),
    _claim(
        "101",
        "G == Matrix(4, 4, 1, M - 1, 0, 0, 1, M - 1, 0, 0, "
        "-2*sqrt(M/(2*M - 1)), -2*sqrt(M/(2*M - 1))*(M - 1), 2, 2*(M - 1), "
        "-2*sqrt(M/(2*M - 1)), -2*sqrt(M/(2*M - 1))*(M - 1), 2, 2*(M - 1))",
        given="the factor in front of equation 100: the first entry is 1",
    ),
    _claim(
        "102",
        "H == Matrix(4, 4, -M/((2*M + 1)*(2*M - 1)), -2*M*(M - 1)/((2*M + 1)*(2*M - 1)), "
        "1/2*(2*M**2 + 3*M - 2)/(sqrt(M)*(2*M + 1)*sqrt(2*M - 1)), "
        "(M - 1)*sqrt(2*M - 1)/(sqrt(M)*(2*M + 1)), "
        "-2*M/((2*M + 1)*(2*M - 1)), -M*(2*M - 3)/((2*M + 1)*(2*M - 1)), "
        "1/2*(2*M**2 + 3*M - 2)/(sqrt(M)*(2*M + 1)*sqrt(2*M - 1)), "
        "(M - 1)*sqrt(2*M - 1)/(sqrt(M)*(2*M + 1)), "
        "-2*sqrt(M)/((2*M + 1)*sqrt(2*M - 1)), -2*(M - 1)*sqrt(M)/((2*M + 1)*sqrt(2*M - 1)), "
        "(M + 2)/(2*M + 1), 2*(M - 1)/(2*M + 1), "
        "-2*sqrt(M)/((2*M + 1)*sqrt(2*M - 1)), -2*(M - 1)*sqrt(M)/((2*M + 1)*sqrt(2*M - 1)), "
        "(M + 2)/(2*M + 1), 2*(M - 1)/(2*M + 1))",
        given="the factor in front of equation 100",
    ),
    _claim("A_1 and v_k", "A1 @ v[k] == -lambda_[k]*v[k]", ranges="k = 1..L"),
    _claim("103", "lambda_G[1] == M", "value"),
    _claim("103", f"v_G[1] == Vector(1, 1, {_ROOT}, {_ROOT})", "vector"),
    _claim("104", "lambda_G[2] == 2*M", "value"),
    _claim("104", "v_G[2] == Vector(0, 0, 1, 1)", "vector"),
    _claim("105", "w_G[1] == Vector(1, -1/(M - 1), 0, 0)", "v3"),
    _claim("105", "w_G[2] == Vector(0, 0, 1, -1/(M - 1))", "v4"),
    _claim("106", "lambda_H[1] == M/(4*M**2 - 1)", "value"),
    _claim("106", "v_H[1] == Vector(1, -1/(M - 1), 0, 0)", "vector"),
    _claim("107", "lambda_H[2] == 2*M/(2*M + 1)", "value"),
    _claim("107", f"v_H[2] == Vector(1, 1, {_ROOT}, {_ROOT})", "vector"),
    _claim(
        "108",
        "w_H[1] == Vector(1, 1, 0, M**(3/2)*sqrt(2*M - 1)/(2*M**2 - 3*M + 1))",
        "v3",
    ),
    _claim(
        "108",
        "w_H[2] == Vector(0, 0, 1, -1/2*(2*M**2 + 3*M - 2)/(2*M**2 - 3*M + 1))",
        "v4",
    ),
    _claim(
        _GROUPS,
        "kron(G, A1) @ kron(Vector(1, 1, 2*sqrt(M/(2*M - 1)), 2*sqrt(M/(2*M - 1))), v[k]) == "
        "-M*lambda_[k]*kron(Vector(1, 1, 2*sqrt(M/(2*M - 1)), 2*sqrt(M/(2*M - 1))), v[k])",
        "A 1",
        ranges="k = 1..L",
        printed=0,
    ),
    _claim(
        _GROUPS,
        "kron(G, A1) @ kron(Vector(0, 0, 1, 1), v[k]) == "
        "-2*M*lambda_[k]*kron(Vector(0, 0, 1, 1), v[k])",
        "A 2",
        ranges="k = 1..L",
        printed=1,
    ),
    _claim(
        _GROUPS,
        "w_3[k] == kron(Vector(1, -1/(M - 1), 0, 0), v[k])",
        "A 3",
        ranges="k = 1..L",
        printed=2,
    ),
    _claim(
        _GROUPS,
        "w_4[k] == kron(Vector(0, 0, 1, -1/(M - 1)), v[k])",
        "A 4",
        ranges="k = 1..L",
        printed=2,
    ),
    _claim(
        _GROUPS, "U @ u == T[2]*u", "U", printed=3,
        note="Rows of U are the entries of u in the column of order 1, so its trace is T^(2).",
    ),
    _claim(_GROUPS, "zerosB == 4*L - 2", "B 1", printed=4),
    _claim(_GROUPS, "lambda_B[1] == M*T[2]/(4*M**2 - 1)", "B 2 value", printed=5),
    _claim(
        _GROUPS,
        "kron(H, U) @ kron(Vector(1, -1/(M - 1), 0, 0), u) == "
        "M*T[2]/(4*M**2 - 1)*kron(Vector(1, -1/(M - 1), 0, 0), u)",
        "B 2 vector",
        printed=5,
    ),
    _claim(_GROUPS, "lambda_B[2] == 2*M*T[2]/(2*M + 1)", "B 3 value", printed=6),
    _claim(
        _GROUPS,
        f"kron(H, U) @ kron(Vector(1, 1, {_ROOT}, {_ROOT}), u) == "
        f"2*M*T[2]/(2*M + 1)*kron(Vector(1, 1, {_ROOT}, {_ROOT}), u)",
        "B 3 vector",
        printed=6,
    ),
)  # fmt: skip
