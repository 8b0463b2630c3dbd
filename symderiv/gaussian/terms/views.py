r"""Properties of a conditional Gaussian that the closed forms of signs need.

Two views answer the same questions: :class:`unfolded.Unfolded` writes everything in the entries of
the original covariance, :class:`folded.Folded` names the conditional covariances.
"""

from __future__ import annotations

from typing import Protocol

import sympy as sp

from symderiv.gaussian.terms.covariance import Conditions, Gaussian
from symderiv.gaussian.terms.weights import Weight


class View(Protocol):
    """Properties of a conditional Gaussian that the closed forms need."""

    g: Gaussian
    folded: bool
    """True if the forms are written for generated code."""
    shifted: bool
    """True if that code gets means of signs as arguments, of any size and at any alignment."""

    def weight(self, weight: Weight, symbolic: dict[int, sp.Expr], given: Conditions) -> sp.Expr:
        """Return a polynomial in conditional entries, which multiplies the density of ``given``."""

    def correlation(self, given: Conditions, i: int, j: int) -> sp.Expr:
        """Return C_ij / sqrt(C_ii C_jj)."""

    def standard_mean(self, given: Conditions, i: int, row: int) -> sp.Expr:
        """Return the mean over the standard deviation, from the real or imaginary mean row."""

    def slope(self, given: Conditions, i: int, j: int, row: int) -> sp.Expr:
        """Return Owen's second argument (h_j - ρ h_i)/(h_i sqrt(1 - ρ²)) of scaled means h."""

    def tangent(self, given: Conditions, i: int, j: int) -> sp.Expr:
        """Return ρ / sqrt(1 - ρ²)."""

    def density(self, given: Conditions) -> tuple[sp.Expr, sp.Expr]:
        """Return the density of ``given`` at zero, and its phase."""
