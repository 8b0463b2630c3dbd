"""Closed forms of plateaus as they are stored, so that numbers are computed without SymPy.

They are derived in :mod:`symderiv.analysis.plateau.plateau_forms`, which explains the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symderiv.formula.kept_trees import KeptTrees, kept_property

if TYPE_CHECKING:
    import sympy as sp

BASIS = ("r", "s", "q", "c")
"""Names of the deviations of R_ii, R_in, ρ Q_ii, ρ Q_ij."""

MATRICES = ("G", "H", "H_row", "H_difference")
RATES = (
    *("symmetric_stiffness", "difference_stiffness"),
    *("teacher_response", "length_response", "one_length_response"),
)


@dataclass(frozen=True)
class PlateauForms(KeptTrees):
    """Parts of the plateau as expressions in c, M, T, D (K = M, all output weights 1/√M).

    All rates are per unit of ηα; :mod:`symderiv.analysis.plateau.plateau_forms` explains their
    names.

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
        """Return R, Q, ε_g and the responses with c in closed form, or None without such a c."""
        from symderiv.analysis.plateau.plateau_algebra import closed_expressions

        parts = {name: getattr(self, name) for name in ("generalization_error", *RATES)}
        return None if self.length is None else closed_expressions(parts, self.length)

    @kept_property
    def texts(self) -> dict[str, str]:
        """Return closed forms by name as SymPy text, in M, T, D, T2, D2, eta, and perhaps c."""
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
    """The matrices of the linearised flow in M, T, D, 4 × 4 in the basis r, s, q, c.

    Attributes:
        G: Coefficient of -Λ.
        H_row: H_τ.
        H_difference: H_θ.
        H: The sum H_τ + H_θ, which alone matters if teachers are uncorrelated in all orders.
    """

    G: sp.Matrix
    H_row: sp.Matrix
    H_difference: sp.Matrix
    H: sp.Matrix

    @kept_property
    def texts(self) -> dict[str, list[list[str]]]:
        """Return the entries of the matrices as SymPy text."""
        return {
            name: [[str(entry) for entry in row] for row in getattr(self, name).tolist()]
            for name in MATRICES
        }


@dataclass(frozen=True)
class FullFlow(KeptTrees):
    """The three equations of the symmetric state, in Q, C, R, M, T, D, η, ν_1.

    They are symbolic, with K = M and output weights 1/√M.
    """

    equations: tuple[sp.Expr, sp.Expr, sp.Expr]
    generalization_error: sp.Expr
    difference_stiffness: sp.Expr
    teacher_response: sp.Expr
    noise: bool

    @kept_property
    def slopes(self) -> list[sp.Expr]:
        """Return the derivatives of the equations by Q, C, R, shape (3, 3) row by row."""
        from symderiv.analysis.symmetric import C, Q, R
        from symderiv.precision.balls.krawczyk import slopes_of

        return slopes_of(self.equations, (Q, C, R))

    @kept_property
    def text(self) -> str:
        """Return equations and derivatives as text of a function of Q, C, R, η, M, T, D, ν_1."""
        from symderiv.analysis.plateau.plateau_algebra import text_of

        return text_of([*self.equations, *self.slopes])

    @kept_property
    def equal(self) -> tuple[list[sp.Expr], list[sp.Expr]] | None:
        """Return the two equations of equal students, Q = C, with derivatives by Q and R.

        The result is None where they are singular.
        """
        import sympy as sp

        from symderiv.analysis.symmetric import C, Q, R
        from symderiv.precision.balls.krawczyk import slopes_of

        equations = [e.xreplace({C: Q}) for e in self.equations[:2]]
        if any(e.has(sp.zoo, sp.nan) for e in equations):
            return None
        return equations, slopes_of(equations, (Q, R))
