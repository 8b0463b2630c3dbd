"""Equations 109 to 111: what is left of the linearised flow after its fast parts have decayed."""

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
    null_vectors,
    nullity,
    plateau_modes,
    reduced_flow,
    reduced_matrices,
    vector_u,
)
from symderiv_papers.worschech_rosenow.escape_points import (
    GENERAL,
    TYPICAL,
    Series,
    cases,
    companion,
    powers,
)

__all__ = ["CLAIMS"]

_REGIME: Final = "D^(l) = 0, T^(1) = 1, first order in the learning rate; M = 2, 3, 5"
_RULE: Final = Exact(digits=30)
_FACTOR: Final = "2/(pi*M)*sqrt((2*M - 1)/(2*M + 1))"
_REDUCED_GROUPS: Final = "eigenvalue groups of A, B (reduced)"


def _reduced(committee: Committee) -> Mapping[str, Any]:
    """Of the system of r and s alone."""

    def A() -> Any:
        return kron(reduced_matrices(committee)[0], companion(committee))

    def B() -> Any:
        found = mpmath.zeros(committee.modes)
        for i, value in enumerate(vector_u(committee)):
            found[i, 1] = value
        return kron(reduced_matrices(committee)[1], found)

    def zeros_of_A() -> Any:
        """Vectors that A maps to zero, by their part r, which is v_k."""
        return Series(1, null_vectors(A(), range(committee.modes), powers(committee)))

    def column(position: int) -> Any:
        return mpmath.matrix([int(k == position) for k in range(committee.modes)])

    def numbers_of_eigenvalues() -> list[int]:
        values = [value for value, _ in eigenpairs(reduced_flow(committee))]
        growing = sum(1 for value in values if value > 0)
        return [2 * committee.modes - len(values), growing, len(values) - growing]

    def unit_of_rate() -> Any:
        """The factor in front of A_rs: what makes the first entry of G one."""
        matrices = reduced_matrices(committee, normalised=False)
        return matrices[0][0, 0]

    return {
        "G": lambda: reduced_matrices(committee)[0],
        "H": lambda: reduced_matrices(committee)[1],
        "Jrs": lambda: reduced_flow(committee),
        "A": A,
        "B": B,
        "w_A": zeros_of_A,
        "f": lambda: Series(1, [column(k) for k in range(committee.modes) if k != 1]),
        "zerosB": lambda: nullity(B()),
        "lambda_B": lambda: Series(1, [value for value, _ in eigenpairs(B())]),
        "zeros": lambda: numbers_of_eigenvalues()[0],
        "positive": lambda: numbers_of_eigenvalues()[1],
        "largest": lambda: plateau_modes(committee).escape[0] / unit_of_rate(),
        "lambda_length": lambda: Series(1, [value for value, _ in plateau_modes(committee).length]),
    }


def _deviation(committee: Committee) -> Mapping[str, Any]:
    """A deviation made of all modes that do not leave the states of equal norms."""

    def deviation() -> Any:
        modes = plateau_modes(committee)
        total = modes.escape[1]
        for k, (_, vector) in enumerate(modes.length, start=2):
            total = total + vector / k
        return total

    def part(block: int) -> Series:
        L = committee.modes
        return Series(0, list(deviation()[block * L : (block + 1) * L]))

    L = committee.modes
    return {
        "r": lambda: part(0),
        "s": lambda: part(1),
        "q": lambda: part(2),
        "c": lambda: part(3),
        "R": lambda: Series(0, committee.plateau()[:L]),
        "growing": lambda: Series(0, list(plateau_modes(committee).escape[1][:L])),
        "growing_s": lambda: Series(0, list(plateau_modes(committee).escape[1][L : 2 * L])),
    }


_ATTAINED: Final = (
    "combinations of all eigenvectors of the linearised flow but those of -2 a_s lambda_k, which "
    "are what relaxes to this relation"
)

_REDUCTIONS: Final = (
    Claim(
        "first reduction",
        "q[l] == c[l] == 2*R[l]*(r[l] + (M - 1)*s[l])",
        cases(TYPICAL, _deviation),
        _RULE,
        "l = 0..L - 1",
        part="typical teacher",
        printed=0,
        regime=f"{_REGIME}; {_ATTAINED}",
        corrected="q[l] == c[l] == 2*R[1]*(r[l] + (M - 1)*s[l])",
        note="Students that are c times the sum of the teachers give 2c (r + (M - 1) s) in every "
        "order with the same c = R^(1)/(T^(1) + D^(1)). R^(l) in its place is right for l = 0 and "
        "1 only; the reduced system of order 1 (109 to 111) is not touched by this.",
    ),
    Claim(
        "first reduction",
        "q[l] == c[l] == 2*T[l]/(T[1] + D[1])*R[l]*(r[l] + (M - 1)*s[l])",
        cases(GENERAL, _deviation),
        _RULE,
        "l = 0..L - 1",
        part="any teacher",
        printed=1,
        regime=f"general D and T; {_ATTAINED}",
        corrected="q[l] == c[l] == 2/(T[1] + D[1])*R[1]*(r[l] + (M - 1)*s[l])",
        note="The factor 2 R^(1)/(T^(1) + D^(1)) is the same in all orders.",
    ),
    Claim(
        "second reduction",
        "growing_s[l] == -1/(M - 1)*growing[l]",
        cases((*TYPICAL, *GENERAL), _deviation),
        _RULE,
        "l = 0..L - 1",
        regime="the growing eigenvector, any D and T",
    ),
)


def _small(equation: str, statement: str, part: str = "", **more: Any) -> Claim:
    """A claim of the typical teacher on the system of r and s."""
    more = {
        "points": cases(TYPICAL, _reduced),
        "rule": _RULE,
        "regime": _REGIME,
        "given": "q^(1) = c^(1) = 2 R^(1) (r^(1) + (M - 1) s^(1))",
        **more,
    }
    return Claim(equation, statement, part=part, **more)


_TWO_BLOCKS: Final = (
    _small(
        "109",
        f"Jrs == {_FACTOR}*(A + B)",
        corrected=f"Jrs == eta*{_FACTOR}*(A + B)",
        note="The learning rate is missing in front, as in equation 100; in the time eta alpha "
        "it is right.",
    ),
    _small("110", "A == kron(G, A1)", "A", printed=0, definition=True),
    _small("110", "B == kron(H, u @ transpose(e[2]))", "B", printed=0, definition=True),
    _small(
        "111",
        "H == 1/((2*M + 1)*(2*M - 1))*Matrix(2, 2, 5*M - 3, 4*M**2 - 7*M + 3, "
        "(4*M**2 - 7*M + 3)/(M - 1), 4*M**2 - 6*M + 3)",
        "H",
    ),
    _small("111", "G == Matrix(2, 2, 1, M - 1, 1, M - 1)", "G"),
    _small(
        _REDUCED_GROUPS,
        "A @ kron(Vector(1, 1), v[k]) == -M*lambda_[k]*kron(Vector(1, 1), v[k])",
        "A 1",
        ranges="k = 1..L",
        printed=0,
    ),
    _small(
        _REDUCED_GROUPS,
        "w_A[k] == kron(Vector(1, -1/(M - 1)), v[k])",
        "A 2",
        ranges="k = 1..L",
        printed=1,
    ),
    _small(_REDUCED_GROUPS, "lambda_B[1] == M*T[2]/((2*M - 1)*(2*M + 1))", "B 1 value", printed=2),
    _small(
        _REDUCED_GROUPS,
        "B @ kron(Vector(1, -1/(M - 1)), u) == "
        "M*T[2]/((2*M - 1)*(2*M + 1))*kron(Vector(1, -1/(M - 1)), u)",
        "B 1 vector",
        printed=2,
    ),
    _small(_REDUCED_GROUPS, "lambda_B[2] == 2*M*T[2]/(2*M + 1)", "B 2 value", printed=3),
    _small(
        _REDUCED_GROUPS,
        "B @ kron(Vector(1, 1), u) == 2*M*T[2]/(2*M + 1)*kron(Vector(1, 1), u)",
        "B 2 vector",
        printed=3,
    ),
    _small(_REDUCED_GROUPS, "zerosB == 2*(L - 1)", "zeros of B", printed=4),
    _small(
        _REDUCED_GROUPS,
        "B @ kron(Vector(1, -1/(M - 1)), f[m]) + kron(Vector(1, -1/(M - 1)), f[m]) == "
        "kron(Vector(1, -1/(M - 1)), f[m])",
        "zero vectors of B, m",
        ranges="m = 1..L - 1",
        printed=4,
        note="f are the e without e_2; B maps the vector to zero.",
    ),
    _small(
        _REDUCED_GROUPS,
        "B @ kron(Vector(1, 1), f[n]) + kron(Vector(1, 1), f[n]) == kron(Vector(1, 1), f[n])",
        "zero vectors of B, n",
        ranges="n = 1..L - 1",
        printed=4,
    ),
    _small(
        "zero eigenvalues of A_rs",
        "zeros == 2*L - 2",
        corrected="zeros == L - 1",
        in_words=True,
        note="Of the 2L eigenvalues L - 1 vanish, L are negative and one is positive.",
    ),
    _small("zero eigenvalues of A_rs", "positive == 1", "positive"),
    _small(
        "first eigenvalue of A_rs",
        "largest == M*T[2]/((2*M - 1)*(2*M + 1)) > 0",
        note="The growing eigenvalue of the full equations over the factor in front of A_rs.",
    ),
    _small(
        "second group of A_rs",
        "A @ kron(Vector(1, 1), v[k]) + kron(Vector(1, 1), u) == "
        "-lambda_[k]*kron(Vector(1, 1), v[k]) - M*kron(Vector(1, 1), u_plus)",
        printed=0,
        ranges="k = 1..L",
        corrected="A @ (kron(Vector(1, 1), v[k]) + kron(Vector(1, 1), u)) == "
        "-M*lambda_[k]*kron(Vector(1, 1), v[k]) - M*kron(Vector(1, 1), u_plus)",
        note="A acts on the sum, and the first term has the factor M that its eigenvalue has.",
    ),
    _small(
        "second group of A_rs",
        "abs(lambda_length[k]) == -lambda_length[k]",
        "sign",
        printed=1,
        ranges="k = 1..L",
        note="Eigenvalues of the full equations; the print's argument (A alone on a sum of two "
        "vectors) does not prove it, but they are negative.",
    ),
)

CLAIMS: Final = (*_REDUCTIONS, *_TWO_BLOCKS)
