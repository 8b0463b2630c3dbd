"""Closed forms of plateaus as they are kept: their numbers are computed without SymPy.

Derived in :mod:`symderiv.analysis.plateau.plateau_forms`, with names from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symderiv.formula.kept_trees import KeptTrees, kept_property

if TYPE_CHECKING:
    import sympy as sp

BASIS = ("r", "s", "q", "c")
"""Deviations of R_ii, R_in, ρ Q_ii, ρ Q_ij."""

MATRICES = ("G", "H", "H_row", "H_difference")
RATES = (
    *("symmetric_stiffness", "difference_stiffness"),
    *("teacher_response", "length_response", "one_length_response"),
)


@dataclass(frozen=True)
class PlateauForms(KeptTrees):
    """Parts of the plateau as expressions in c, M, T, D (K = M, all output weights 1/√M).

    All rates are per unit of ηα. A name of the table in
    :mod:`symderiv.analysis.plateau.plateau_forms` each.

    Attributes:
        stationarity: φ(c), which vanishes on the plateau.
        symmetric_stiffness: a_s.
        difference_stiffness: κ.
        teacher_response: B' = ∂B_in/∂R_in; -B' θ^(2) is the escape rate where κ = 0.
        length_response: f_s.
        one_length_response: f_d.
        generalization_error: ε_g along the line of states.
        length: c in closed form, or None where its equation has no closed solution.
    """

    stationarity: sp.Expr
    symmetric_stiffness: sp.Expr
    difference_stiffness: sp.Expr
    teacher_response: sp.Expr
    length_response: sp.Expr
    one_length_response: sp.Expr
    generalization_error: sp.Expr
    length: sp.Expr | None

    @kept_property
    def closed(self) -> Mapping[str, sp.Expr] | None:
        """R, Q, ε_g and the responses with the closed c put in, simplified; None without it."""
        from symderiv.analysis.plateau.plateau_algebra import closed_expressions

        parts = {name: getattr(self, name) for name in ("generalization_error", *RATES)}
        return None if self.length is None else closed_expressions(parts, self.length)

    @kept_property
    def texts(self) -> dict[str, str]:
        """Write closed forms by name as SymPy text, in M, T, D, T2, D2, eta, and c if it occurs."""
        if self.closed is None:
            return {
                "R": "c*(T + D)",
                "Q": "M*c**2*(T + D)",
                "equation_of_c": f"0 = {self.stationarity}",
            }
        from symderiv.analysis.plateau.plateau_algebra import escape_forms

        return {k: str(v) for k, v in (*self.closed.items(), *escape_forms(self.closed).items())}

    @kept_property
    def slope(self) -> sp.Expr:
        """Return the derivative of φ by c."""
        from symderiv.analysis.plateau.plateau_algebra import c

        return self.stationarity.diff(c)


@dataclass(frozen=True)
class LinearisedMatrices(KeptTrees):
    """The matrices in M, T, D, each 4 × 4 in the basis r, s, q, c.

    Attributes:
        G: Coefficient of -Λ.
        H_row: H_τ.
        H_difference: H_θ.
        H: Their sum, which alone matters where teachers are uncorrelated in all orders.
    """

    G: sp.Matrix
    H_row: sp.Matrix
    H_difference: sp.Matrix
    H: sp.Matrix

    @kept_property
    def texts(self) -> dict[str, list[list[str]]]:
        """Their entries as SymPy text."""
        return {
            name: [[str(entry) for entry in row] for row in getattr(self, name).tolist()]
            for name in MATRICES
        }


@dataclass(frozen=True)
class FullFlow(KeptTrees):
    """The three equations, symbolic in Q, C, R, M, T, D, η, ν_1 (K = M, weights 1/√M)."""

    equations: tuple[sp.Expr, sp.Expr, sp.Expr]
    generalization_error: sp.Expr
    difference_stiffness: sp.Expr
    teacher_response: sp.Expr
    noise: bool

    @kept_property
    def slopes(self) -> list[sp.Expr]:
        """Their derivatives by Q, C, R, shape (3, 3) row by row."""
        from symderiv.analysis.symmetric import C, Q, R
        from symderiv.precision.balls.krawczyk import slopes_of

        return slopes_of(self.equations, (Q, C, R))

    @kept_property
    def text(self) -> str:
        """Equations and slopes as a function of doubles, as text: of Q, C, R, η, M, T, D, ν_1."""
        from symderiv.analysis.plateau.plateau_algebra import text_of

        return text_of([*self.equations, *self.slopes])

    @kept_property
    def equal(self) -> tuple[list[sp.Expr], list[sp.Expr]] | None:
        """Equations of equal students, Q = C: two equations, and their derivatives by Q and R;
        None where they are singular.
        """
        import sympy as sp

        from symderiv.analysis.symmetric import C, Q, R
        from symderiv.precision.balls.krawczyk import slopes_of

        equations = [e.xreplace({C: Q}) for e in self.equations[:2]]
        if any(e.has(sp.zoo, sp.nan) for e in equations):
            return None
        return equations, slopes_of(equations, (Q, R))
