"""Equations 100 to 111: the flow linearised at the plateau, its eigen-systems, its reductions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mpmath

from symderiv.papers.claim import Claim
from symderiv.papers.committee import Committee
from symderiv.papers.library.worschech_rosenow.escape_points import (
    GENERAL,
    TYPICAL,
    Series,
    UnitSeries,
    cases,
    companion,
    eigenpairs,
    linearised,
    normalised_matrices,
    null_vectors,
    nullity,
    plateau_modes,
    powers,
    reduced_flow,
    reduced_matrices,
    vector_u,
)
from symderiv.papers.rules import Exact

__all__ = ["CLAIMS"]

_REGIME: Final = "D^(l) = 0, T^(1) = 1, first order in the learning rate; M = 2, 3, 5"
_RULE: Final = Exact(digits=30)
_FACTOR: Final = "2/(pi*M)*sqrt((2*M - 1)/(2*M + 1))"
_ROOT: Final = "2*sqrt(M)/sqrt(2*M - 1)"


def _kron(first: Any, second: Any) -> Any:
    found = mpmath.matrix(first.rows * second.rows, first.cols * second.cols)
    for i in range(found.rows):
        for j in range(found.cols):
            found[i, j] = (
                first[i // second.rows, j // second.cols] * second[i % second.rows, j % second.cols]
            )
    return found


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
        return _kron(G(), companion(committee))

    def B() -> Any:
        return _kron(H(), U())

    def zeros_of_A(block: int) -> Any:
        """Vectors that A maps to zero, equal to v_k in one block and zero in its partner."""
        L = committee.modes
        given = [*range(L), *range(2 * L, 3 * L)]
        values = [
            [*power, *[0] * L] if block == 0 else [*[0] * L, *power]
            for power in powers(committee)
        ]
        return Series(1, null_vectors(A(), given, values))

    pairs = [(1, 0), (0, 1)]
    return {
        "G": G,
        "H": H,
        "U": U,
        "J": lambda: linearised(committee),
        "valueG": lambda: Series(1, [value for value, _ in eigenpairs(G())]),
        "vectorG": lambda: Series(1, [vector for _, vector in eigenpairs(G())]),
        "nullG": lambda: Series(1, null_vectors(G(), (0, 2), pairs)),
        "valueH": lambda: Series(1, [value for value, _ in eigenpairs(H())]),
        "vectorH": lambda: Series(1, [vector for _, vector in eigenpairs(H())]),
        "nullH": lambda: Series(1, null_vectors(H(), (0, 2), pairs)),
        "zeroA3": lambda: zeros_of_A(0),
        "zeroA4": lambda: zeros_of_A(1),
        "valueB": lambda: Series(1, [value for value, _ in eigenpairs(B())]),
        "zerosB": lambda: nullity(B()),
    }


def _reduced(committee: Committee) -> Mapping[str, Any]:
    """Of the system of r and s alone."""

    def A() -> Any:
        return _kron(reduced_matrices(committee)[0], companion(committee))

    def B() -> Any:
        found = mpmath.zeros(committee.modes)
        for i, value in enumerate(vector_u(committee)):
            found[i, 1] = value
        return _kron(reduced_matrices(committee)[1], found)

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
        "zeroA": zeros_of_A,
        "f": lambda: Series(1, [column(k) for k in range(committee.modes) if k != 1]),
        "zerosB": lambda: nullity(B()),
        "valueB": lambda: Series(1, [value for value, _ in eigenpairs(B())]),
        "zeros": lambda: numbers_of_eigenvalues()[0],
        "positive": lambda: numbers_of_eigenvalues()[1],
        "largest": lambda: plateau_modes(committee).escape[0] / unit_of_rate(),
        "group": lambda: Series(1, [value for value, _ in plateau_modes(committee).length]),
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


def _claim(equation: str, statement: str, part: str = "", **more: Any) -> Claim:
    """A claim of the typical teacher on the eigen-systems."""
    more = {"points": cases(TYPICAL, _eigen_systems), "rule": _RULE, "regime": _REGIME, **more}
    return Claim(equation, statement, part=part, **more)


_GROUPS: Final = "eigenvalue groups of A, B"
_REDUCED_GROUPS: Final = "eigenvalue groups of A, B (reduced)"

_LINEARISED: Final = (
    _claim(
        "ansatz of the escape",
        "dR[l, i, m] == r[l]*delta(i, m) + s[l]*(1 - delta(i, m))",
        "R",
        ranges="l = 0..L - 1, i = 1..M, m = 1..M",
        printed=0,
        points=cases(GENERAL, lambda c: _ansatz(c)),
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
        points=cases(GENERAL, lambda c: _ansatz(c)),
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
    _claim("103", "valueG[1] == M", "value"),
    _claim("103", f"vectorG[1] == Vector(1, 1, {_ROOT}, {_ROOT})", "vector"),
    _claim("104", "valueG[2] == 2*M", "value"),
    _claim("104", "vectorG[2] == Vector(0, 0, 1, 1)", "vector"),
    _claim("105", "nullG[1] == Vector(1, -1/(M - 1), 0, 0)", "v3"),
    _claim("105", "nullG[2] == Vector(0, 0, 1, -1/(M - 1))", "v4"),
    _claim("106", "valueH[1] == M/(4*M**2 - 1)", "value"),
    _claim("106", "vectorH[1] == Vector(1, -1/(M - 1), 0, 0)", "vector"),
    _claim("107", "valueH[2] == 2*M/(2*M + 1)", "value"),
    _claim("107", f"vectorH[2] == Vector(1, 1, {_ROOT}, {_ROOT})", "vector"),
    _claim(
        "108",
        "nullH[1] == Vector(1, 1, 0, M**(3/2)*sqrt(2*M - 1)/(2*M**2 - 3*M + 1))",
        "v3",
    ),
    _claim(
        "108",
        "nullH[2] == Vector(0, 0, 1, -1/2*(2*M**2 + 3*M - 2)/(2*M**2 - 3*M + 1))",
        "v4",
    ),
    _claim(
        _GROUPS,
        "kron(G, A1) @ kron(Vector(1, 1, 2*sqrt(M/(2*M - 1)), 2*sqrt(M/(2*M - 1))), v[k]) == "
        "-M*lam[k]*kron(Vector(1, 1, 2*sqrt(M/(2*M - 1)), 2*sqrt(M/(2*M - 1))), v[k])",
        "A 1",
        ranges="k = 1..L",
        printed=0,
    ),
    _claim(
        _GROUPS,
        "kron(G, A1) @ kron(Vector(0, 0, 1, 1), v[k]) == "
        "-2*M*lam[k]*kron(Vector(0, 0, 1, 1), v[k])",
        "A 2",
        ranges="k = 1..L",
        printed=1,
    ),
    _claim(
        _GROUPS,
        "zeroA3[k] == kron(Vector(1, -1/(M - 1), 0, 0), v[k])",
        "A 3",
        ranges="k = 1..L",
        printed=2,
    ),
    _claim(
        _GROUPS,
        "zeroA4[k] == kron(Vector(0, 0, 1, -1/(M - 1)), v[k])",
        "A 4",
        ranges="k = 1..L",
        printed=2,
    ),
    _claim(
        _GROUPS, "U @ u == T[2]*u", "U", printed=3,
        note="Rows of U are the entries of u in the column of order 1, so its trace is T^(2).",
    ),
    _claim(_GROUPS, "zerosB == 4*L - 2", "B 1", printed=4),
    _claim(_GROUPS, "valueB[1] == M*T[2]/(4*M**2 - 1)", "B 2 value", printed=5),
    _claim(
        _GROUPS,
        "kron(H, U) @ kron(Vector(1, -1/(M - 1), 0, 0), u) == "
        "M*T[2]/(4*M**2 - 1)*kron(Vector(1, -1/(M - 1), 0, 0), u)",
        "B 2 vector",
        printed=5,
    ),
    _claim(_GROUPS, "valueB[2] == 2*M*T[2]/(2*M + 1)", "B 3 value", printed=6),
    _claim(
        _GROUPS,
        f"kron(H, U) @ kron(Vector(1, 1, {_ROOT}, {_ROOT}), u) == "
        f"2*M*T[2]/(2*M + 1)*kron(Vector(1, 1, {_ROOT}, {_ROOT}), u)",
        "B 3 vector",
        printed=6,
    ),
)  # fmt: skip

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
        note="The learning rate is missing in front, as in equation 100.",
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
        "A @ kron(Vector(1, 1), v[k]) == -M*lam[k]*kron(Vector(1, 1), v[k])",
        "A 1",
        ranges="k = 1..L",
        printed=0,
    ),
    _small(
        _REDUCED_GROUPS,
        "zeroA[k] == kron(Vector(1, -1/(M - 1)), v[k])",
        "A 2",
        ranges="k = 1..L",
        printed=1,
    ),
    _small(_REDUCED_GROUPS, "valueB[1] == M*T[2]/((2*M - 1)*(2*M + 1))", "B 1 value", printed=2),
    _small(
        _REDUCED_GROUPS,
        "B @ kron(Vector(1, -1/(M - 1)), u) == "
        "M*T[2]/((2*M - 1)*(2*M + 1))*kron(Vector(1, -1/(M - 1)), u)",
        "B 1 vector",
        printed=2,
    ),
    _small(_REDUCED_GROUPS, "valueB[2] == 2*M*T[2]/(2*M + 1)", "B 2 value", printed=3),
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
        printed=5,
    ),
    _small(
        "zero eigenvalues of A_rs",
        "zeros == 2*L - 2",
        corrected="zeros == L - 1",
        words=True,
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
        "-lam[k]*kron(Vector(1, 1), v[k]) - M*kron(Vector(1, 1), uplus)",
        ranges="k = 1..L",
        corrected="A @ (kron(Vector(1, 1), v[k]) + kron(Vector(1, 1), u)) == "
        "-M*lam[k]*kron(Vector(1, 1), v[k]) - M*kron(Vector(1, 1), uplus)",
        note="A acts on the sum, and the first term has the factor M that its eigenvalue has.",
    ),
    _small(
        "second group of A_rs",
        "abs(group[k]) == -group[k]",
        "sign",
        ranges="k = 1..L",
        note="Eigenvalues of the full equations; the print's argument (A alone on a sum of two "
        "vectors) does not prove it, but they are negative.",
    ),
)

CLAIMS: Final = (*_LINEARISED, *_REDUCTIONS, *_TWO_BLOCKS)


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
