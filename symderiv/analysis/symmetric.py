r"""Symmetric reduction: sums over units become sums over classes of indices, for symbolic K, M.

In a permutation-symmetric state an entry of an array depends only on which of its indices coincide.
A sum over p of such entries is then a sum over the classes of p: p is one of the units that are
named already, or none of them; the latter class has K - (named) members. Here the engine's own
equations (``LearningEquations``) are reduced in this way; the means in them are evaluated by the
Gaussian calculus at the covariance of the state.

Two states are provided. In the *site-symmetric* one students are exchangeable among themselves and
so are teachers: Q_ii = Q, Q_ij = C, R_in = R. In the *specialising* one (K = M) student i belongs
to teacher i: R_ii = R, R_in = S. Teachers are homogeneous, T_nn = T and T_nm = D/(M - 1): D is the
sum of a row without its diagonal entry. All output weights are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.functions.special.tensor_functions import KroneckerDelta

from symderiv.foundation.errors import SymderivError
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.learning_equations import LearningEquations
from symderiv.learning.derivation.mean_factors import Slot, slots

Q, C, R, S, T, D = sp.symbols("Q C R S T D", real=True)
V, V_TEACHER = sp.symbols("v v_teacher", real=True)
A_SAME, A_OTHER, B_SAME, B_OTHER, GAMMA_SAME, GAMMA_OTHER = sp.symbols(
    "A_same A_other B_same B_other Gamma_same Gamma_other", real=True
)

_INDICES = {
    "Q": "ss",
    "R": "st",
    "T": "tt",
    "A": "ss",
    "B": "st",
    "Gamma": "ss",
    "v": "s",
    "v_teacher": "t",
    "dv": "s",
    "student_overlap": "kss",
    "cross_overlap": "kst",
    "teacher_overlap": "ktt",
    "eigenvalue": "k",
    "weight": "k",
}
# Symbols of an entry whose units coincide and of one whose units differ.
_NAMES = {
    "Q": ("Q", "C"),
    "R": ("R", "S"),
    "T": ("T", "D"),
    "A": ("A_same", "A_other"),
    "B": ("B_same", "B_other"),
    "Gamma": ("Gamma_same", "Gamma_other"),
    "student_overlap": ("Q", "C"),
    "cross_overlap": ("R", "S"),
    "teacher_overlap": ("T", "D"),
}


@dataclass(frozen=True, order=True)
class Unit:
    """A unit of one network, as far as permutation-symmetric states distinguish units."""

    teacher: bool
    site: int


class SymmetricState:
    """A permutation-symmetric state of students and teachers.

    Args:
        equations: The engine's equations, whose activations determine the means.
        paired: True for the specialising ansatz, in which student i belongs to teacher i (K = M).
    """

    def __init__(self, equations: LearningEquations, *, paired: bool) -> None:
        # here, so that stored results are read without importing the code that lowers means
        from symderiv.lowering.means.mean_functions import Integrals

        self.equations = equations
        self.paired = paired
        self.students = s.M if paired else s.K
        self.teachers = s.M
        self._integrals = Integrals(equations.problem)

    def size(self, teacher: bool) -> sp.Expr:
        """Return the number of units of a network."""
        return self.teachers if teacher else self.students

    def choices(self, teacher: bool, named: set[Unit]) -> Iterator[tuple[Unit, sp.Expr]]:
        """Yield the classes of a summation index with the number of members of each."""
        sites = sorted({u.site for u in named if self.paired or u.teacher == teacher})
        for site in sites:
            yield Unit(teacher, site), sp.Integer(1)
        new = max(sites, default=-1) + 1
        yield Unit(teacher, new), self.size(teacher) - len(sites)

    def same(self, first: Unit, second: Unit) -> bool:
        """Return whether two units coincide, or belong together in the specialising state."""
        if first.teacher == second.teacher or self.paired:
            return first.site == second.site
        return True  # all R_in have one common value, written with the first symbol

    def entry(self, element: sp.Indexed, units: Mapping[sp.Basic, Unit]) -> sp.Expr:
        """Return an array element in the symbols of the state."""
        name = str(element.base.label)
        kinds = _INDICES.get(name)
        if kinds is None or len(kinds) != len(element.indices):
            raise SymderivError(f"{element} has no symmetric form")
        labels = [index for kind, index in zip(kinds, element.indices, strict=True) if kind == "k"]
        at = [units[i] for kind, i in zip(kinds, element.indices, strict=True) if kind in "st"]
        if len(at) < 2:
            symbol = {"v": V, "v_teacher": V_TEACHER}.get(name)
            return element if symbol is None else symbol
        same = self.same(at[0], at[1])
        letter = _NAMES[name][0 if same else 1]
        value = sp.Symbol(letter, real=True)
        if labels:
            value = sp.IndexedBase(value)[tuple(labels)]
        return value / (s.M - 1) if letter == "D" else value

    def covariance(self, first: Unit, second: Unit) -> sp.Expr:
        """Return the covariance of two units' fields."""
        if first.teacher and second.teacher:
            return T if first == second else D / (s.M - 1)
        if first.teacher or second.teacher:
            return R if self.same(first, second) else S
        return Q if first == second else C

    def mean(self, average: sp.Expr, units: Mapping[sp.Basic, Unit]) -> sp.Expr:
        """Return a mean of products of activations, by the Gaussian calculus at this state."""
        from symderiv.lowering.means.closed_means import ClosedMean, upper_triangle
        from symderiv.lowering.means.patterns import arrange

        groups: dict[Unit, list[Any]] = {}
        by_name = {(str(index), index in s.TEACHERS): unit for index, unit in units.items()}
        for slot in slots(average):
            groups.setdefault(by_name[slot.index, slot.teacher], []).append(slot)
        arranged = arrange(list(groups.values()), self.equations.problem.same_activation)
        integral = self._integrals.integral(arranged.pattern)
        # No mixtures of activations: these occur only where their tables are given.
        assert isinstance(integral, ClosedMean)
        fields = [by_name[slot.index, slot.teacher] for slot in arranged.representatives]
        entries = [self.covariance(fields[a], fields[b]) for a, b in upper_triangle(len(fields))]
        known = dict(zip(integral.arguments, entries, strict=True))
        for symbol, definition in integral.definitions:
            known[symbol] = definition.xreplace(known)
        return integral.value.xreplace(known)

    def collapsed(self, expression: sp.Expr, units: Mapping[sp.Basic, Unit]) -> sp.Expr:
        """Return an expression with all sums over units carried out.

        Args:
            expression: Sums and products of array elements, Kronecker deltas and means.
            units: The unit that each free index denotes.
        """
        if isinstance(expression, sp.Sum):
            return self._sum(expression, units)
        if isinstance(expression, s.Average):
            return self.mean(expression, units)
        if isinstance(expression, KroneckerDelta):
            first, second = (units[index] for index in expression.args)
            return sp.Integer(first == second)
        if isinstance(expression, sp.Indexed):
            return self.entry(expression, units)
        if expression.is_Add or expression.is_Mul or expression.is_Pow:
            return expression.func(*(self.collapsed(part, units) for part in expression.args))
        return expression

    def _sum(self, total: sp.Sum, units: Mapping[sp.Basic, Unit]) -> sp.Expr:
        *inner, (index, lower, upper) = total.limits
        body = sp.Sum(total.function, *inner) if inner else total.function
        teacher = index in s.TEACHERS
        if not teacher and index not in s.STUDENTS:
            return sp.Sum(self.collapsed(body, units), (index, lower, upper))
        # Units that do not occur need not be distinguished.
        scope = {key: unit for key, unit in units.items() if body.has(key)}
        return sp.Add(
            *(
                count * self.collapsed(body, {**scope, index: unit})
                for unit, count in self.choices(teacher, set(scope.values()))
                if count != 0
            )
        )


LENGTH = sp.Symbol("length", positive=True)
"""The ratio of the first student's field to those of the others."""
FIRST = Unit(False, 0)
_STUDENT = sp.Symbol("x1", real=True)


class CollinearState(SymmetricState):
    """Students with one common field x = c u, of which the first is longer by ``LENGTH``.

    Here u is the sum of the teachers' fields; covariances are written in Q = E[x²], R = E[x y_n], T
    and D.

    At a site-symmetric fixed point of the O(η) flow all J_i are equal and lie along the sum of the
    teachers (see :mod:`symderiv.analysis.plateau.plateau_forms`). All student fields are then
    multiples of one Gaussian field, so means of products of student activations are means over
    that field alone: no singular correlation matrix occurs, also not for activations with a kink.

    The longer student gives the response of the gradients to a student that runs ahead of the rest,
    also where the derivative by the single overlaps does not exist (a kink makes them depend on the
    root of Q_ii Q_jj - Q_ij²).
    """

    def __init__(self, equations: LearningEquations) -> None:
        super().__init__(equations, paired=False)
        self._means: dict[sp.Expr, sp.Expr] = {}

    def choices(self, teacher: bool, named: set[Unit]) -> Iterator[tuple[Unit, sp.Expr]]:
        """Yield the classes of the base class, with the first student as one of its own."""
        if teacher:
            yield from super().choices(teacher, named)
            return
        others = sorted(u.site for u in named if not u.teacher and u != FIRST)
        yield FIRST, sp.Integer(1)
        for site in others:
            yield Unit(False, site), sp.Integer(1)
        yield Unit(False, max(others, default=0) + 1), self.students - 1 - len(others)

    def mean(self, average: sp.Expr, units: Mapping[sp.Basic, Unit]) -> sp.Expr:
        """Return a mean over the common student field and the fields of teachers that occur."""
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


@dataclass(frozen=True)
class ReducedEquations:
    """The order-parameter equations of a symmetric state, symbolic in M (and K).

    Attributes:
        generalization_error: ε_g in Q, C, R, S, T, D, M (and K), v, v_teacher.
        gradients: A_ii, A_ij, B_ii, B_in in the same symbols, by symbol.
        noise: Γ_ii and Γ_ij, by symbol.
        spectral: dQ/dα, dC/dα, dR/dα, dS/dα of one eigenspace in the symbols of ``gradients`` and
            ``noise``, the eigenvalue and Q[k], C[k], R[k], S[k], T[k], D[k], by letter.
    """

    generalization_error: sp.Expr
    gradients: Mapping[sp.Symbol, sp.Expr]
    noise: Mapping[sp.Symbol, sp.Expr]
    spectral: Mapping[str, sp.Expr]

    def mode_rates(
        self, places: Mapping[str, sp.Expr], order: int, factors: Mapping[str, sp.Expr]
    ) -> list[sp.Expr]:
        """Return the coefficients of a power of η in an eigenspace's rates without weight decay.

        Args:
            places: Expressions to be substituted for Q[k], C[k], R[k], S[k], T[k], D[k] and the
                eigenvalue, by name.
            order: The power of η.
            factors: Factors of the rates by letter, in the order of the result.
        """
        rates = {
            letter: self.spectral[letter]
            .xreplace({s.kappa: sp.Integer(0)})
            .replace(lambda e: isinstance(e, sp.Indexed), lambda e: places[str(e.base.label)])
            for letter in factors
        }
        return [
            sp.expand(rates[x].expand().coeff(s.eta, order) * factor)
            for x, factor in factors.items()
        ]


def linearised(
    rates: Sequence[sp.Expr],
    at_modes: Mapping[sp.Symbol, sp.Expr],
    values: Mapping[sp.Symbol, sp.Expr],
    slopes: Mapping[sp.Symbol, Sequence[sp.Expr]],
) -> tuple[sp.Matrix, sp.Matrix]:
    """Return the derivatives of an eigenspace's rates by its own deviation, and by that of all.

    Args:
        rates: The n rates, in the overlaps of the eigenspace and the gradients (or noise).
        at_modes: The n overlaps of the eigenspace at the fixed point.
        values: The gradients at the fixed point; those that are left out stay symbols.
        slopes: The derivatives of the gradients there by the n order parameters.
    """
    local = [[sp.diff(rate, own).xreplace(values) for own in at_modes] for rate in rates]
    forced = [
        [
            sp.Add(
                *(
                    sp.expand(sp.diff(rate, name)).xreplace(at_modes) * changes[column]
                    for name, changes in slopes.items()
                )
            )
            for column in range(len(at_modes))
        ]
        for rate in rates
    ]
    return sp.Matrix(local), sp.Matrix(forced)


def reduced_equations(
    equations: LearningEquations, *, paired: bool, noise: bool = True
) -> ReducedEquations:
    """Return the engine's equations, reduced to a symmetric state.

    Args:
        equations: The result of :func:`~symderiv.learning.derive_equations`.
        paired: True for the specialising ansatz (K = M), False for the site-symmetric one with any
            K and M.
        noise: True includes the terms of second order in the learning rate (means of four fields).

    Raises:
        DivergentError: A mean does not exist for these activations.
        NotYetError: A mean has no closed form with the present rules.
    """
    state = SymmetricState(equations, paired=paired)
    same = {s.i: Unit(False, 0), s.j: Unit(False, 0)}
    other = {s.i: Unit(False, 0), s.j: Unit(False, 1)}
    own = {s.i: Unit(False, 0), s.n: Unit(True, 0)}
    cross = {s.i: Unit(False, 0), s.n: Unit(True, 1)}
    gradients = {
        A_SAME: state.collapsed(equations.student_gradient, same),
        A_OTHER: state.collapsed(equations.student_gradient, other),
        B_SAME: state.collapsed(equations.teacher_gradient, own),
    }
    if paired:
        gradients[B_OTHER] = state.collapsed(equations.teacher_gradient, cross)
    noises = {}
    if noise:
        noises = {
            GAMMA_SAME: state.collapsed(equations.noise, same),
            GAMMA_OTHER: state.collapsed(equations.noise, other),
        }

    motion = equations.spectral
    spectral = {
        "Q": state.collapsed(motion.student_overlap, same),
        "C": state.collapsed(motion.student_overlap, other),
        "R": state.collapsed(motion.cross_overlap, own),
    }
    if paired:
        spectral["S"] = state.collapsed(motion.cross_overlap, cross)
    return ReducedEquations(
        generalization_error=state.collapsed(equations.generalization_error, {}),
        gradients=gradients,
        noise=noises,
        spectral=spectral,
    )
