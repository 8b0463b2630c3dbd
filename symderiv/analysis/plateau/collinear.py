r"""The plateau state: every student sees the same field x = c u, u the sum of the teachers' fields.

At a site-symmetric fixed point of the O(η) flow all J_i are equal and lie along the sum of the
teachers (shown in :mod:`symderiv.analysis.plateau.plateau_forms`). All student fields are then
multiples of one Gaussian field, so means of products of student activations are means over that
field alone: no singular correlation matrix occurs, also not for activations with a kink. Teacher
fields keep their own covariances.

One student may be longer than the others by a factor: this is how the response of the gradients to
a student that runs ahead of the rest is found, also where the derivative with respect to the single
overlaps does not exist (a kink makes them depend on the root of Q_ii Q_jj - Q_ij²).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sympy as sp

from symderiv.analysis.symmetric import D, Q, R, SymmetricState, T, Unit
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.learning_equations import LearningEquations
from symderiv.learning.derivation.mean_factors import Slot, slots

LENGTH = sp.Symbol("length", positive=True)
"""The first student's field is this multiple of the others'."""

FIRST = Unit(False, 0)
_STUDENT = sp.Symbol("x1", real=True)


class CollinearState(SymmetricState):
    """Students with one common field, the first of them longer by the factor ``LENGTH``.

    Covariances are written in Q = E[x²], R = E[x y_n], T and D.
    """

    def __init__(self, equations: LearningEquations) -> None:
        super().__init__(equations, paired=False)
        self._means: dict[sp.Expr, sp.Expr] = {}

    def choices(self, teacher: bool, named: set[Unit]) -> Iterator[tuple[Unit, sp.Expr]]:
        """Yield those of the base class, with the first student always told apart."""
        if teacher:
            yield from super().choices(teacher, named)
            return
        others = sorted(u.site for u in named if not u.teacher and u != FIRST)
        yield FIRST, sp.Integer(1)
        for site in others:
            yield Unit(False, site), sp.Integer(1)
        yield Unit(False, max(others, default=0) + 1), self.students - 1 - len(others)

    def mean(self, average: sp.Expr, units: Mapping[sp.Basic, Unit]) -> sp.Expr:
        """Return a mean over the common student field and the fields of the teachers that occur."""
        from symderiv.lowering.means.closed_means import X, almost_everywhere

        by_name = {(str(index), index in s.TEACHERS): unit for index, unit in units.items()}
        placed = [(slot, by_name[slot.index, slot.teacher]) for slot in slots(average)]
        sites = sorted({unit.site for _, unit in placed if unit.teacher})
        fields = [_STUDENT, *(sp.Symbol(f"y{n + 1}", real=True) for n in range(len(sites)))]
        integrand = sp.Mul(
            *(
                self._factor(slot).xreplace(
                    {X: fields[1 + sites.index(unit.site)]}
                    if unit.teacher
                    else {X: (LENGTH if unit == FIRST else 1) * _STUDENT}
                )
                for slot, unit in placed
            )
        )
        integrand = almost_everywhere(integrand)
        if integrand not in self._means:
            self._means[integrand] = self._expectation(integrand, fields)
        return self._means[integrand]

    def _factor(self, slot: Slot) -> sp.Expr:
        from symderiv.gaussian import derivative

        problem = self.equations.problem
        activation = problem.teacher if slot.teacher else problem.student
        return derivative(activation.expression, slot.order)

    @staticmethod
    def _expectation(integrand: sp.Expr, fields: list[sp.Symbol]) -> sp.Expr:
        from symderiv.gaussian import expectation

        left = [number for number, field in enumerate(fields) if integrand.has(field)]
        if not left:
            return integrand
        q, t = sp.symbols("q t", positive=True)
        r, d = sp.symbols("r d", real=True)
        size = len(fields)
        covariance = sp.Matrix(
            size,
            size,
            lambda a, b: (q if a == 0 else t) if a == b else (r if 0 in (a, b) else d),
        )
        value = expectation(
            integrand, [fields[a] for a in left], covariance.extract(left, left)
        ).value
        return value.xreplace({q: Q, t: T, r: R, d: D / (s.M - 1)})
