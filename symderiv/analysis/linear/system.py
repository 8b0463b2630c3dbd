r"""The linear network as a linear system, for which the linearisation is exact.

With one linear unit on each side the deviation D_k = Q_k - 2 r_k/ρ_k + t_k/ρ_k² of an eigenspace
(the mean of (J_a - B_a)² over its coordinates a) closes on itself,

.. math:: \frac{dD_k}{d\alpha} = -d_k D_k + b_k \sum_h c_h D_h ,\qquad
          \epsilon_g = f \sum_h c_h D_h ,

a diagonal plus a matrix of rank one. M linear students with output weights v = 1/√M are one with
J = Σ_i v_i J_i, and their deviation is that of the *uniform* direction of
:mod:`symderiv.analysis.late.perfect_learning`, u = q + (M-1) c - 2 (r + (M-1) s). That G and F take
u to multiples of itself, that H does not act on it, and that Γ is linear, which makes all of this
exact, is checked. Moments E^(l) = Q^(l) - 2 R^(l) + T^(l) are sums of D_k with weights w_k ρ_k^l.

K students with fixed output weights v are one with the learning rate η Σ_i v_i², M teachers are one
with B = Σ_n ṽ_n B_n.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symderiv.analysis.shipped_derivations import MODULES, SHIPPED
from symderiv.foundation.derivation_cache import derived_once
from symderiv.foundation.errors import SymderivError

if TYPE_CHECKING:
    import sympy as sp


@dataclass(frozen=True)
class LinearSystem:
    """The coefficients of the linear system, which depend on η, ρ_k and w_k.

    Attributes:
        decay: d_k/(η ρ_k); the others are b_k = η² ρ_k and c_k = w_k ρ_k.
        error_factor: f.
    """

    decay: int
    error_factor: Fraction

    def numbers(self, learning_rate: Any, eigenvalue: Any, weight: Any) -> tuple[Any, Any, Any]:
        """Return d, b, c for numbers of any kind: arrays, balls, fractions."""
        noise = learning_rate**2 * eigenvalue
        return self.decay * learning_rate * eigenvalue, noise, eigenvalue * weight

    def moments(self, learning_rate: Any) -> tuple[Any, Any]:
        """Return shift and source of dE^(l)/dα = shift E^(l+1) + source ν_(l+1) E^(1).

        E^(L) = -Σ_l c_l E^(l), l = 0 … L-1, closes it (c_l as in ``closure_coefficients``), and
        ε_g = error_factor E^(1).
        """
        decay, source, _ = self.numbers(learning_rate, 1, 1)
        return -decay, source

    @property
    def factor(self) -> float:
        """The factor ``error_factor`` as a double."""
        return float(self.error_factor)


@derived_once(imports=MODULES, shipped=SHIPPED)
def linear_system() -> LinearSystem:
    """Return the linear system that the deviations of eigenspaces obey.

    Raises:
        SymderivError: The engine's equations do not reduce to such a system (this never happens
            with the linear unit).
    """
    import sympy as sp

    from symderiv.analysis.late.perfect_learning import perfect_learning
    from symderiv.analysis.symmetric import C, Q, R, S
    from symderiv.learning.derivation.symbols import M

    theory = perfect_learning("linear")
    deviation = sp.Matrix([[-2, -2 * (M - 1), 1, M - 1]])

    def factor(matrix: sp.Matrix) -> sp.Expr:
        """Return the factor by which a matrix multiplies the deviation."""
        moved = sp.simplify(deviation * matrix)
        if sp.simplify(moved - moved[2] * deviation) != sp.zeros(1, 4):
            raise SymderivError(f"the deviation of the linear network does not close: {moved}")
        return moved[2]

    linear = all(sp.Poly(sp.expand(e), Q, C, R, S).total_degree() == 1 for e in theory.noise)
    if not linear or factor(theory.H) != 0:
        raise SymderivError("the equations of the linear network are not linear in its deviation")
    decay, square, error = factor(theory.G), factor(theory.F), sp.simplify(theory.error[2])
    # sums with the weights w_k ρ_k^l are moments
    if square != 1 or not (decay.is_Integer and error.is_Rational):
        raise SymderivError(f"the moments of the deviation do not close: {square}, {decay}")
    return LinearSystem(int(decay), Fraction(int(error.p), int(error.q)))
