"""Equations 16, 118 to 120: the flow linearised at perfect learning and its eigen-systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
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
)
from symderiv_papers.worschech_rosenow.escape_points import (
    TYPICAL,
    Series,
    UnitSeries,
    cases,
)
from symderiv_papers.worschech_rosenow.late_modes import (
    LateModes,
    blocks,
    forced,
    late_matrices,
    late_modes,
    linearised_late,
)

__all__ = ["ALL_M", "CLAIMS", "EQUAL_MOMENTS", "late_claim", "late_values"]

_RULE: Final = Exact(digits=30)
_FIRST: Final = "T^(1) = 1, D^(l) = 0, first order in the learning rate; M = 2, 3, 5"
#: Teachers with T^(l) = ν_l, as typical ones have, and the terms of second order in η.
EQUAL_MOMENTS: Final = tuple(
    replace(
        committee,
        diagonal=(Fraction(1),) * committee.modes,
        learning_rate=Fraction(1, 2 + committee.units),
        full=True,
    )
    for committee in TYPICAL
)


def late_values(committee: Committee) -> Mapping[str, Any]:
    """Matrices at perfect learning, their eigen-systems, the fixed point."""

    def matrix(name: str) -> Any:
        return lambda: late_matrices(committee)[name]

    def state(*parts: int) -> Any:
        """Blocks of perfect learning."""
        L = committee.modes
        return [Series(0, committee.teacher()[n * L : (n + 1) * L]) for n in parts]

    def units() -> Any:
        (same, other), size = state(0, 1), committee.units
        return UnitSeries(
            [
                [[same.values[l] if i == m else other.values[l] for m in range(size)]
                 for i in range(size)]
                for l in range(committee.modes)
            ]
        )  # fmt: skip

    def eigen(name: str) -> Any:
        return eigenpairs(late_matrices(committee)[name])

    def B() -> Any:
        return kron(late_matrices(committee)["H"], forced(committee))

    def main_text() -> Any:
        """The Jacobian with r, q, s, c in this order."""
        L, full = committee.modes, linearised_late(committee)
        order = [n * L + l for n in (0, 2, 1, 3) for l in range(L)]
        found = mpmath.matrix(4 * L, 4 * L)
        for i, row in enumerate(order):
            for j, column in enumerate(order):
                found[i, j] = full[row, column]
        return found

    def in_main_text() -> Any:
        eta = mpmath.mpf(committee.learning_rate.numerator) / committee.learning_rate.denominator
        return main_text() / (late_matrices(committee)["a"] * eta)

    def modes() -> LateModes:
        return late_modes(committee)

    rest = {
        name: (lambda name=name: blocks([v for _, v in modes().rest], committee)[name])
        for name in "rsqc"
    }
    pairs = [(1, 0), (0, 1)]
    return {
        "G": matrix("G"),
        "H": matrix("H"),
        "F": matrix("F"),
        "g": matrix("g"),
        "U": lambda: forced(committee),
        "J": lambda: linearised_late(committee),
        "J_main": main_text,
        "A_asym": in_main_text,
        "R_star": units,
        "S_star": lambda: state(1)[0],
        "C_star": lambda: state(3)[0],
        "lambda_G": lambda: Series(1, [value for value, _ in eigen("G")]),
        "v_G": lambda: Series(1, [vector for _, vector in eigen("G")]),
        "lambda_H": lambda: Series(1, [value for value, _ in eigen("H")]),
        "v_H": lambda: Series(1, [vector for _, vector in eigen("H")]),
        "w_H": lambda: Series(1, null_vectors(late_matrices(committee)["H"], (0, 1), pairs)),
        "lambda_B": lambda: Series(1, [value for value, _ in eigenpairs(B())]),
        "zeros_B": lambda: nullity(B()),
        "lambda_1": lambda: Series(1, [value for value, _ in modes().differing]),
        "lambda_2": lambda: Series(1, [value for value, _ in modes().uniform]),
        **rest,
    }


def late_claim(equation: str, statement: str, part: str = "", **more: Any) -> Claim:
    """A claim on points of typical teachers."""
    more = {"points": cases(TYPICAL, late_values), "rule": _RULE, "regime": _FIRST, **more}
    return Claim(equation, statement, part=part, **more)


ALL_M: Final = "The print is right for M = 2."
_A: Final = "2*sqrt(3)/(3*pi*M)"
_G: Final = (
    "G == Matrix(4, 4, 1, {0}sqrt(3)/2, 0, 0, sqrt(3)/2, 1{1}, 0, 0, "
    "-2, -{0}sqrt(3), 2, {0}sqrt(3), -sqrt(3), -2{2}, sqrt(3), 2{3})"
)
_H: Final = (
    "H == Matrix(4, 4, -1/3, -{0}sqrt(3)/4, 1/2, {0}sqrt(3)/4, 0, 0, sqrt(3)/8, 0, "
    "-2/3, -{0}sqrt(3)/2, 1, {0}sqrt(3)/2, 0, 0, sqrt(3)/4, 0)"
)
_F1: Final = "(sqrt(6) + M - 2)"
_F: Final = (
    "F == Matrix(4, 4, 0, 0, 0, 0, 0, 0, 0, 0, "
    f"-2, -{_F1}*(15*(M - 1)/b)/sqrt(3), 1, 1/2*{_F1}*(15*(M - 1)/b)/sqrt(3), "
    f"-{_F1}*(15/b)/sqrt(3), -(4*(M - 2)*{{0}} + 3*M**2 - 15*M + 26)*(5/b)/2, "
    f"1/2*{_F1}*(15/b)/sqrt(3), (4*(M - 2)*{{0}} + 3*M**2 - 15*M + 26)*(5/b)/4)"
).replace("/b)", "/(sqrt(45) + 5*(M - 1)))")


CLAIMS: Final = (
    late_claim(
        "fixed point of the asymptotics",
        "R_star[l, i, m] == T[l]*delta(i, m)",
        "R",
        ranges="l = 0..L - 1, i = 1..M, m = 1..M",
        printed=0,
        note="Rates of all orders vanish there, also with the terms of second order in the "
        "learning rate.",
    ),
    late_claim(
        "perturbations of the asymptotics",
        "S_star[l] == T[l]",
        "S",
        ranges="l = 0..L - 1",
        printed=0,
        corrected="S_star[l] == 0",
        note="Off the diagonal the fixed point is zero: S = s.",
    ),
    late_claim(
        "perturbations of the asymptotics",
        "C_star[l] == T[l]",
        "C",
        ranges="l = 0..L - 1",
        printed=0,
        corrected="C_star[l] == 0",
        note="C = c.",
    ),
    late_claim(
        "16",
        f"J_main == {_A}*A_asym",
        corrected=f"J_main == eta*{_A}*A_asym",
        given="A_asym with 1 as its first entry that does not vanish",
        note="The learning rate is missing, as in equation 100; in the time eta alpha it is right.",
    ),
    late_claim(
        "118",
        f"J == {_A}*(kron(G, A1) + kron(H, u @ transpose(e[2])) "
        "+ g*kron(F, u @ transpose(e[2])))",
        "flow",
        printed=0,
        points=cases(EQUAL_MOMENTS, late_values),
        regime="T^(l) = nu_l, D^(l) = 0, with the terms of second order in the learning rate",
        corrected=f"J == eta*{_A}*(kron(G, A1) + kron(H, u @ transpose(e[2])) "
        "+ g*kron(F, u @ transpose(e[2])))",
        note="The learning rate is missing in front (it is right in the time eta alpha). "
        "The noise carries the moments nu_l of the "
        "inputs, which are T^(l) for typical teachers.",
    ),
    late_claim(
        "118",
        "g == eta*2*sqrt(3)*(sqrt(45) + 5*(M - 1))/(15*pi*M)",
        "g",
        printed=1,
        points=cases(EQUAL_MOMENTS, late_values),
        regime="any learning rate",
        given="the entry 1 of F",
        reading="reconstructed",
        note="With eta 2 sqrt(3); read as eta^2 sqrt(3) it does not fit.",
    ),
    late_claim(
        "119",
        _G.format("", "", "", ""),
        "G",
        printed=0,
        corrected=_G.format(
            "(M - 1)*", " + (M - 2)*sqrt(3)/2", " - (M - 2)*sqrt(3)", " + (M - 2)*sqrt(3)"
        ),
        note=f"{ALL_M} Sums over the M - 1 other units are missing otherwise.",
    ),
    late_claim(
        "119", _H.format(""), "H", printed=0, corrected=_H.format("(M - 1)*"), note=ALL_M
    ),
    late_claim(
        "119", _G.format("", "", "", ""), "G for M = 2", printed=0,
        points=cases(TYPICAL[:1], late_values), regime="T^(1) = 1, D^(l) = 0; M = 2",
    ),
    late_claim(
        "119", _H.format(""), "H for M = 2", printed=0,
        points=cases(TYPICAL[:1], late_values), regime="T^(1) = 1, D^(l) = 0; M = 2",
    ),
    late_claim(
        "120",
        _F.format("sqrt(6)"),
        points=cases(EQUAL_MOMENTS, late_values),
        regime="T^(1) = 1, D = 0; M = 2, 3, 5",
        given="b = f_2, which the print leaves open and which makes all other entries right",
        corrected=_F.format("sqrt(12)"),
        note="f_5 has sqrt(12) = 2 sqrt(3) where sqrt(6) was read; for M = 2 there is no "
        "difference.",
    ),
)  # fmt: skip
