r"""The linear network as a linear system, taken out of the engine's own equations.

With one linear unit on each side the deviation D_k = Q_k - 2 r_k/ρ_k + t_k/ρ_k² of an eigenspace
(the mean of (J_a - B_a)² over its coordinates a) closes on itself,

.. math:: \frac{dD_k}{d\alpha} = -d_k D_k + b_k \sum_h c_h D_h ,\qquad
          \epsilon_g = f \sum_h c_h D_h ,

a diagonal plus a matrix of rank one. The coefficients d, b, c, f are found here by reducing
:func:`symderiv.learning.derive_equations` to that case; that everything else drops out is checked
while it happens. The same is done for the moments E^(l) = Q^(l) - 2 R^(l) + T^(l).

K linear students with fixed output weights v are one with J = Σ_i v_i J_i and the learning rate
η Σ_i v_i², M teachers are one with B = Σ_n ṽ_n B_n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sympy as sp
from symderiv_codegen import ScalarFunction
from sympy.core.function import AppliedUndef

from symderiv.formula.as_function import as_function
from symderiv.foundation.derivation_cache import derived_once
from symderiv.foundation.errors import SymderivError
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.indexed_sums import Term, map_terms, spread, terms
from symderiv.learning.derivation.learning_equations import LearningEquations, derive_equations
from symderiv.learning.derivation.moment_hierarchy import (
    cross_moment,
    spectral_moment,
    student_moment,
    teacher_moment,
)
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.programs.lowered_equations import lower

_deviation = sp.IndexedBase(sp.Symbol("deviation", real=True))
_moment_of_deviation = sp.IndexedBase(sp.Symbol("deviation_moment", real=True))
_ETA, _RHO, _WEIGHT = s.eta, sp.Symbol("rho", positive=True), sp.Symbol("weight", positive=True)


@dataclass(frozen=True)
class LinearSystem:
    """Coefficients of dD_k/dα = -decay_k D_k + source_k Σ_h readout_h D_h.

    Expressions in ``learning_rate`` (η), ``rho`` (ρ_k) and ``weight`` (w_k).

    Attributes:
        decay: d_k.
        source: b_k.
        readout: c_k, with E[δ²] = Σ_k c_k D_k.
        error_factor: ε_g / E[δ²].
    """

    decay: sp.Expr
    source: sp.Expr
    readout: sp.Expr
    error_factor: sp.Expr

    def numbers(self, learning_rate: Any, eigenvalue: Any, weight: Any) -> tuple[Any, Any, Any]:
        """d, b, c for numbers of any kind: arrays, balls, fractions."""
        decay, source, readout = _functions(self)(learning_rate, eigenvalue, weight)
        return decay, source, readout

    @property
    def factor(self) -> float:
        """``error_factor`` as a double."""
        return float(self.error_factor)


@lru_cache(maxsize=4)
def _functions(system: LinearSystem) -> Callable[..., Any]:
    parts = (system.decay, system.source, system.readout)
    # No library: the coefficients are polynomials, and the numbers bring their own arithmetic.
    return as_function((_ETA, _RHO, _WEIGHT), parts, "any")


@dataclass(frozen=True)
class DeviationMoments:
    """Coefficients of dE^(l)/dα = shift E^(l+1) + source ν_(l+1) E^(1), l = 0 … L-1.

    E^(L) = -Σ_l c_l E^(l) closes it (c_l as in ``closure_coefficients``) and
    ε_g = error_factor E^(1). Expressions in ``learning_rate``.
    """

    shift: sp.Expr
    source: sp.Expr
    error_factor: sp.Expr

    def numbers(self, learning_rate: Any) -> tuple[Any, Any]:
        """shift and source for a number of any kind."""
        function = as_function((_ETA,), (self.shift, self.source), "any")
        shift, source = function(learning_rate)
        return shift, source


@derived_once("formula", "gaussian", "numerics", "learning", "lowering", "analysis")
def linear_system() -> LinearSystem:
    """Return the system of the eigenspaces.

    Raises:
        SymderivError: The engine's equations do not reduce to it (never with the linear unit).
    """
    equations = derive_equations(learning_problem("linear"))
    one = _OneUnit(equations)
    # A sum of its own, so that the free index k stays free.
    covariances = {
        s.Q[0, 0]: _over_other_modes(one.reduced(equations.student_covariance)),
        s.R[0, 0]: _over_other_modes(one.reduced(equations.cross_covariance)),
        # A teacher that sees the inputs themselves: its correlations are ρ_k times its weights.
        s.T[0, 0]: sp.Sum(
            s.weight[s.h] * s.teacher_overlap[s.h, 0, 0] / s.eigenvalue[s.h], (s.h, 0, s.L - 1)
        ),
    }
    rate = one.student_rate(equations.spectral.student_overlap) - sp.Integer(2) / s.eigenvalue[
        s.k
    ] * one.student_rate(equations.spectral.cross_overlap)
    rate = _in_deviations(rate.xreplace(covariances))
    (square,) = terms(_in_deviations(one.mean_square.xreplace(covariances)))
    (error,) = terms(_in_deviations(one.error.xreplace(covariances)))
    decay, product = sp.Integer(0), sp.Integer(0)
    for term in terms(rate):
        if term.limits:
            product += _coefficient(term)
        else:
            decay -= _coefficient(term)
    readout = _coefficient(square)
    return LinearSystem(
        _named(decay),
        _named(sp.cancel(product / readout)),
        _named(readout),
        sp.cancel(_coefficient(error) / readout),
    )


@derived_once("formula", "gaussian", "numerics", "learning", "lowering", "analysis")
def moment_system() -> DeviationMoments:
    """Return the system of the moments.

    Raises:
        SymderivError: The engine's equations do not reduce to it (never with the linear unit).
    """
    equations = derive_equations(learning_problem("linear"))
    moments = equations.moments
    one = _OneUnit(equations)
    first = sp.Integer(1)
    named = {
        s.Q[0, 0]: student_moment[first, 0, 0],
        s.R[0, 0]: cross_moment[first, 0, 0],
        s.T[0, 0]: teacher_moment[first, 0, 0],
    }
    student = one.student_rate(moments.student_moment).xreplace(named)
    cross = one.student_rate(moments.cross_moment).xreplace(named)
    rate = _in_deviation_moments(student - 2 * cross)
    error = _in_deviation_moments(one.error.xreplace(named))
    highest = _moment_of_deviation[s.l + 1]
    noise = spectral_moment[s.l + 1] * _moment_of_deviation[first]
    shift, source = rate.coeff(highest), rate.coeff(noise)
    factor = error.coeff(_moment_of_deviation[first])
    left = sp.expand(rate - shift * highest - source * noise)
    left += sp.expand(error - factor * _moment_of_deviation[first])
    closures = {
        one.reduced(closure).xreplace({cross_moment[s.l, 0, 0]: student_moment[s.l, 0, 0]})
        for closure in (moments.student_closure, moments.cross_closure)
    }
    if left != 0 or len(closures) != 1:
        raise SymderivError(f"the moments of the deviation do not close: {left} is left")
    return DeviationMoments(shift, source, factor)


class _OneUnit:
    """The equations with one unit on each side, output weights 1, neither decay nor label noise."""

    def __init__(self, equations: LearningEquations) -> None:
        lowered = lower(equations)
        self._means = {function.name: function for function in lowered.functions}
        gradient = lowered.student_gradient + sp.KroneckerDelta(0, 0) * lowered.curvature
        self.mean_square = self.reduced(lowered.noise)
        self.error = self.reduced(lowered.generalization_error)
        self._gradients = {
            s.A[0, 0]: self.reduced(gradient),
            s.B[0, 0]: self.reduced(lowered.teacher_gradient),
            s.Gamma[0, 0]: self.mean_square,
        }

    def reduced(self, expression: sp.Expr) -> sp.Expr:
        """Give sums over units one term, with the index 0."""
        units = {index: sp.Integer(0) for index in (*s.STUDENTS, *s.TEACHERS)}
        values = {
            s.v[0]: sp.Integer(1),
            s.v_teacher[0]: sp.Integer(1),
            s.kappa: sp.Integer(0),
            s.sigma: sp.Integer(0),
        }

        def single(term: Term) -> Term:
            kept = tuple(limit for limit in term.limits if limit[0] not in units)
            return Term(term.factor.xreplace(units).xreplace(values), kept)

        return map_terms(expression, single).replace(
            lambda e: isinstance(e, AppliedUndef) and str(e.func) in self._means, self._mean
        )

    def student_rate(self, expression: sp.Expr) -> sp.Expr:
        """Return the reduced right-hand side of an overlap or moment, its gradients put in."""
        return spread(self.reduced(expression).xreplace(self._gradients))

    def _mean(self, call: Any) -> sp.Expr:
        function = self._means[str(call.func)]
        assert isinstance(function, ScalarFunction)  # linear networks have closed means
        value = function.value
        for name, definition in reversed(function.definitions):
            value = value.xreplace({name: definition})
        return value.xreplace(dict(zip(function.arguments, call.args, strict=True)))


def _over_other_modes(total: sp.Expr) -> sp.Expr:
    return total.xreplace({s.k: s.h})


def _in_deviations(expression: sp.Expr) -> sp.Expr:
    """Student overlaps written as deviations; the teacher must drop out.

    D_k is the mean of (J_a - B_a)² over an eigenspace, with r_k = ρ_k J·B and t_k = ρ_k² B·B.
    """
    swaps = {}
    for element in expression.atoms(sp.Indexed):
        if element.base == s.student_overlap:
            mode = element.indices[0]
            rho = s.eigenvalue[mode]
            swaps[element] = (
                _deviation[mode]
                + 2 * s.cross_overlap[mode, 0, 0] / rho
                - s.teacher_overlap[mode, 0, 0] / rho**2
            )
    result = spread(expression.xreplace(swaps))
    if result.has(s.cross_overlap, s.teacher_overlap):
        raise SymderivError(f"the deviation of the linear network does not close: {result}")
    return result


def _in_deviation_moments(expression: sp.Expr) -> sp.Expr:
    swaps = {}
    for element in expression.atoms(sp.Indexed):
        if element.base == student_moment:
            order = element.indices[0]
            swaps[element] = (
                _moment_of_deviation[order]
                + 2 * cross_moment[order, 0, 0]
                - teacher_moment[order, 0, 0]
            )
    return sp.expand(expression.xreplace(swaps))


def _coefficient(term: Term) -> sp.Expr:
    """Return what multiplies the deviation of the term's own mode."""
    mode = term.bound[0] if term.limits else s.k
    return sp.cancel(term.factor / _deviation[mode])


def _named(expression: sp.Expr) -> sp.Expr:
    """Eigenvalue and weight as plain symbols, whatever the index of their mode."""
    elements = expression.atoms(sp.Indexed)
    names = {s.eigenvalue: _RHO, s.weight: _WEIGHT}
    return expression.xreplace({element: names[element.base] for element in elements})
