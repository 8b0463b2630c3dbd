r"""Linearisation of the order-parameter equations around perfect learning, Q = R = T, K = M.

Everything is taken from the engine's equations in the specialising state
(:mod:`symderiv.analysis.symmetric`). R_ii, R_in, Q_ii, Q_ij of an eigenspace are divided by the
powers of its eigenvalue that make them overlaps of weights; r, s, q, c are their deviations from
those of the teachers, and

.. math::
    \frac{dx_k}{d\alpha} = -\eta\rho_k \Big(G x_k + H_k \sum_l w_l\rho_l x_l\Big)
        + \eta^2 \rho_k F \sum_l w_l\rho_l x_l , \qquad x = (r, s, q, c).

Matrices that commute with all permutations of units are a number on the diagonal and one off it;
their product becomes a product of numbers in the basis (uniform, differing): a + (M-1) b, the value
on equal units, and a - b, on units that differ. In it three small objects hold all of G, H and F:

* ``stiffness``, A at the fixed point (there B = -A: the gradient vanishes);
* ``response``, the change of A + B when every student moves along the teachers, q = 2r;
* ``noise_slope``, the change of Γ with the squared distance q - 2r.

They suffice because ε_g and Γ vanish with the distance to the teacher like its square: d = q - 2r
(and c - 2s), which is J·J - 2 J·B + B·B, obeys equations of its own, and only F acts on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import numpy.typing as npt

from symderiv.analysis.shipped_derivations import MODULES, SHIPPED
from symderiv.formula.kept_trees import KeptTrees
from symderiv.foundation.derivation_cache import derived_once
from symderiv.foundation.errors import InputError
from symderiv.gaussian.forms.evaluate import number

if TYPE_CHECKING:
    import sympy as sp

#: Working digits when the coefficients are needed as doubles.
_DIGITS = 40
#: Second derivatives of Γ are differences with steps of 10**-(this).
_STEP_DIGITS = 15


@dataclass(frozen=True)
class Coefficients:
    """Numbers of a linearisation at given M, T, D, in the basis (uniform, differing).

    Attributes:
        stiffness: eigenvalues of A, (2,).
        response: (2, 2); rows: the component of A + B that changes.
        noise_slope: (2, 2); rows: the component of Γ.
        label_noise: the contribution of label noise of variance 1 to Γ at Q = R = T.
        critical_learning_rate: largest stable η times the mean eigenvalue of the inputs.
    """

    stiffness: tuple[Any, Any]
    response: tuple[tuple[Any, Any], tuple[Any, Any]]
    noise_slope: tuple[tuple[Any, Any], tuple[Any, Any]]
    label_noise: tuple[Any, Any]
    critical_learning_rate: Any


@dataclass(frozen=True)
class PerfectLearning(KeptTrees):
    """The linearisation around Q = R = T, output weights 1/√M, symbolic in M, T, D.

    T is the diagonal of the teachers' covariance, D the sum of a row without it.

    Attributes:
        activation: the formula of the activation of student and teacher.
        stiffness: A in the basis (uniform, differing), shape (2, 1).
        response, noise_slope: shape (2, 2), same basis; see the module.
        label_noise: the contribution of label noise of variance 1 to Γ there, same basis, shape (2,
            1).
        G, H, F: the matrices of the linearised equations for x = (r, s, q, c), shape (4, 4). H is
            given for an eigenspace whose teacher overlaps are T and D.
        error: coefficients of r, s, q, c in the first-order change of ε_g, shape (1, 4).
        noise: Γ_ii and Γ_ij in Q, C, R, S, M, T, D.
    """

    activation: str
    stiffness: sp.Matrix
    response: sp.Matrix
    noise_slope: sp.Matrix
    label_noise: sp.Matrix
    G: sp.Matrix
    H: sp.Matrix
    F: sp.Matrix
    error: sp.Matrix
    noise: tuple[sp.Expr, sp.Expr]

    def at(self, expression: sp.Expr, units: int, T1: Any, D1: Any, digits: int = _DIGITS) -> Any:
        """Return a closed form at given M, T, D as an mpmath number."""
        values = {"M": Fraction(units), "T": _exact(T1), "D": _exact(D1)}
        return number(expression, digits, values=values)

    def coefficients(
        self, units: int, T1: Any = 1, D1: Any = 0, digits: int = _DIGITS
    ) -> Coefficients:
        """Return the numbers at M units and teachers with diagonal T1 and off-diagonal row sum D1.

        Args:
            units: M, at least 2.
            T1, D1: exact numbers (int, str, rational) or doubles.
            digits: correct digits of the mpmath numbers returned.

        Raises:
            InputError: the teachers' covariance is not positive definite; M is below 2.
        """
        known = self.__dict__.setdefault("_coefficients", {})
        asked = units, *map(_exact, (T1, D1)), digits
        if asked not in known:
            known[asked] = self._coefficients_of(*asked)
        numbers: Coefficients = known[asked]
        return numbers

    def _coefficients_of(self, units: int, T1: Any, D1: Any, digits: int) -> Coefficients:
        check_teacher(units, T1, D1)

        def table(name: str) -> Any:
            rows = getattr(self.plain, name)
            return tuple(tuple(self.at(e, units, T1, D1, digits) for e in row) for row in rows)

        stiffness = tuple(row[0] for row in table("stiffness"))
        if not all(abs(a) > abs(stiffness[0]) * mpmath.mpf(10) ** -14 for a in stiffness):
            raise InputError(
                f"{self.plain.activation} does not tell units apart at Q = R = T (the error "
                "does not change when they are mixed), so it has no isolated solution",
                argument="activation",
            )
        noise_slope = table("noise_slope")
        context = mpmath.MPContext()
        context.dps = digits
        # Γ raises dᵢ by η² ρ Φ d, the drift lowers it by 2 η ρ A d: the largest η for which the sum
        # over eigenspaces does not grow (Σ w ρ = mean eigenvalue).
        (a, b), (c, d) = (
            tuple(entry / (2 * stiffness[row]) for entry in noise_slope[row]) for row in range(2)
        )
        largest = (a + d + context.sqrt((a - d) ** 2 + 4 * b * c)) / 2
        noise = tuple(row[0] for row in table("label_noise"))
        return Coefficients(stiffness, table("response"), noise_slope, noise, 1 / largest)

    def noise_curvature(
        self, units: int, T1: Any = 1, D1: Any = 0, digits: int = 20
    ) -> npt.NDArray[np.float64]:
        """Return second derivatives of Γ along r, s (q = 2r, c = 2s), in (uniform, differing).

        Returns:
            Shape (2, 2, 2): component of Γ, and the two components of the deviation.
        """
        values = {"M": Fraction(units), "T": _exact(T1), "D": _exact(D1)}
        off = values["D"] / (units - 1)
        step = Fraction(1, 10**_STEP_DIGITS)

        def noise(entry: Any, uniform: int, differing: int) -> Any:
            same = step * (uniform + (units - 1) * differing) / units
            other = step * (uniform - differing) / units
            state = {"R": values["T"] + same, "S": off + other}
            state |= {"Q": values["T"] + 2 * same, "C": off + 2 * other}
            return number(entry, digits + 3 * _STEP_DIGITS, values={**values, **state})

        # Γ vanishes at the teacher, so that four differences give a second derivative to step².
        # Differentiating the expression itself would take minutes.
        tables = []
        for entry in self.plain.noise:
            first, second, both = (
                (noise(entry, *at) + noise(entry, -at[0], -at[1])) * 10 ** (2 * _STEP_DIGITS)
                for at in ((1, 0), (0, 1), (1, 1))
            )
            mixed = (both - first - second) / 2
            tables.append(np.array([[first, mixed], [mixed, second]]))
        same, other = tables
        return np.array([same + (units - 1) * other, same - other], dtype=float)


def check_teacher(units: int, T1: Any, D1: Any) -> None:
    """Refuse numbers of units and covariances that no teacher has.

    Raises:
        InputError: M < 2, T ≤ 0, or D outside its admissible range.
    """
    if units < 2:
        raise InputError(
            f"{units} is below 2; a specialised state needs two units or more", argument="units"
        )
    if not T1 > 0:
        raise InputError(f"{T1} is not positive", argument="T")
    if not -T1 < D1 < (units - 1) * T1:
        raise InputError(
            f"{D1} is outside ({-T1}, {(units - 1) * T1}): the teachers' covariance with "
            f"T = {T1} on the diagonal would not be positive definite",
            argument="D",
        )


def _exact(value: Any) -> Any:
    return Fraction(str(value)) if isinstance(value, int | float | str) else value


@derived_once(imports=MODULES, shipped=SHIPPED)
def perfect_learning(activation: str) -> PerfectLearning:
    """Return the linearisation of an activation (a name or a formula in ``x``).

    Raises:
        InputError: ε_g has no second derivatives at Q = R = T (activations with a kink).
        DivergentError, NotYetError: see :func:`~symderiv.learning.solver_program`.
    """
    from symderiv.analysis.late.perfect_equations import derived_linearisation

    return PerfectLearning(**derived_linearisation(activation))


@derived_once(imports=MODULES, shipped=SHIPPED)
def matrix_texts(activation: str, T1: Any = 1, D1: Any = 0) -> dict[str, list[list[str]]]:
    """Return G, H and F of an activation at given T and D, symbolic in M, as texts.

    At T = 1, D = 0 they are simplified. At other values T and D are only substituted: simplifying
    the roots of such numbers takes minutes.
    """
    from symderiv.analysis.late.perfect_equations import written

    theory = perfect_learning(activation)
    return written({"G": theory.G, "H": theory.H, "F": theory.F}, T1, D1)
