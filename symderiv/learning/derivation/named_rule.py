"""A learning rule stated for a few units, with symbols in place of activations and loss.

All numbers of the rule are symbols, too. Equations derived from such a statement hold for all
activations and losses and, as units are exchangeable, for all numbers of units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import sympy as sp

from symderiv.learning.derivation import symbols as s
from symderiv.learning.rule.learning_problem import OUTPUT, TARGET
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.learning.rule.stated_rule import AnySpectrum, RuleNumbers, state_rule
from symderiv.statement.language import Language
from symderiv.statement.register import Field, Overlap
from symderiv.statement.stated_motion import Average
from symderiv.statement.stated_problem import Descent, Statement, Update
from symderiv.statement.vector_expressions import SlowVector

FEW = {"K": 4, "M": 2}
"""The numbers of units that represent any number: means contain at most four units of the student,
free ones included, and two of the teacher."""

Unit = tuple[str, int]
"""A unit: its range, "K" or "M", and its number from 0."""

_X = sp.Symbol("x", real=True)


class NamedLoss(sp.Function):  # type: ignore[misc]
    """``NamedLoss(a, b, s, t)``: ℓ differentiated a times by s and b times by t, at outputs.

    If the target is the sign of a sum, t is the sum.
    """

    nargs = 4
    is_real = True

    @classmethod
    def eval(cls, a: sp.Expr, b: sp.Expr, s_: sp.Expr, t: sp.Expr) -> sp.Expr | None:
        """Replace a target that is the sign of a sum by the sum."""
        signs = t.atoms(sp.sign)
        if not signs:
            return None
        (sign,) = signs
        return cls(a, b, s_, sign.args[0])

    def fdiff(self, argindex: int = 3) -> sp.Expr:
        """Return the derivative by one of the outputs."""
        a, b, *outputs = self.args
        return type(self)(a + (argindex == 3), b + (argindex == 4), *outputs)


class _NamedActivation:
    """An activation as an undefined function."""

    def __init__(self, function: type[s.StudentActivation]) -> None:
        self.expression = function(0, _X)

    def __call__(self, fields: Any) -> Any:
        return np.array([self.expression.xreplace({_X: each}) for each in fields], dtype=object)


@dataclass(frozen=True)
class NamedRule:
    """A rule as a statement for a few units.

    Args:
        rule: The rule with its features.
        statement: The statement.
        entries: The array entries that symbols of the statement stand for.
        sizes: The numbers of students "K" and teachers "M".
    """

    rule: LearningRule
    statement: Statement
    entries: Mapping[sp.Symbol, sp.Expr]
    sizes: Mapping[str, int]

    @property
    def explicit(self) -> bool:
        """True if slopes of the loss are written out, because they are linear in the outputs."""
        return self.rule.loss.quadratic and self.rule.target == "sum"

    def families(self) -> dict[str, tuple[SlowVector, ...]]:
        """Return the vectors by family."""
        families: dict[str, tuple[SlowVector, ...]] = {}
        for vector in self.statement.vectors:
            families[vector.family] = (*families.get(vector.family, ()), vector)
        return families

    @property
    def in_updates(self) -> tuple[str, ...]:
        """The numbers in the rule's own lines that change vectors at every step, whatever the loss.

        As a batch of b examples is one step, they act once in b examples.
        """
        updates = (line for line in self.statement.lines if isinstance(line, Update))
        texts = {
            str(symbol)
            for line in updates
            for change in line.changes.values()
            for value in getattr(change, "terms", {"": change}).values()
            for symbol in value.free_symbols
        }
        return tuple(name for name in self.rule.stated if name in texts)

    @property
    def descent(self) -> Descent:
        """The line that states the descent of the loss."""
        return next(line for line in self.statement.lines if isinstance(line, Descent))

    def in_arrays(self, expression: sp.Expr) -> sp.Expr:
        """Return an averaged expression in terms of array entries, with products expanded.

        Slopes of a quadratic loss are written out, as they are linear in the outputs. Fields of
        inputs with the student's noise are named as those of the inputs.
        """
        written = expression.replace(Average, lambda inside: inside)
        written = written.replace(NamedLoss, self._slope)
        written = written.xreplace(dict.fromkeys(self._noisy(written), 0))
        written = written.xreplace({**self.entries, **self._products(written)})
        output = self._label
        if output is not None:
            written = written.xreplace({output.xreplace(self.entries): s.label})
            written = sp.expand(written).xreplace({s.label**2: sp.S.One})
        return sp.expand(written)

    def _slope(self, a: sp.Expr, b: sp.Expr, output: sp.Expr, target: sp.Expr) -> sp.Expr:
        if not self.explicit:
            return s.LossSlope(a, b)
        slope = sp.diff(self.rule.loss.expression, (OUTPUT, a), (TARGET, b))
        return slope.xreplace({OUTPUT: output, TARGET: target})

    def _noisy(self, expression: sp.Expr) -> list[sp.Symbol]:
        meaning = self.statement.symbols.meaning
        return [
            symbol
            for symbol in expression.free_symbols
            if isinstance(each := meaning.get(symbol), Field) and each.input.source != "x"
        ]

    def _products(self, expression: sp.Expr) -> dict[sp.Symbol, sp.Expr]:
        """Return the array entries that stand for the products w·v/N in an expression."""
        products = {}
        meaning = self.statement.symbols.meaning
        for symbol in expression.free_symbols:
            if isinstance(each := meaning.get(symbol), Overlap):
                one, two = each.first, each.second
                families = s.in_order(one.family, two.family)
                if families != (one.family, two.family):
                    one, two = two, one
                products[symbol] = s.product(*families)[one.index, two.index]
        return products

    @property
    def _label(self) -> sp.Expr | None:
        """The sign that is the label; None if the target is a sum."""
        if self.rule.target == "sum":
            return None
        (label,) = self.statement.observables["error"].atoms(sp.sign)
        return label


def named_rule(rule: LearningRule, sizes: Mapping[str, int] = FEW) -> NamedRule:
    """Return a rule as a statement with named functions and parameters.

    Args:
        rule: The rule with its features.
        sizes: The numbers of students "K" and teachers "M".
    """
    P = Language("full")
    entries: dict[sp.Symbol, sp.Expr] = {}

    def array(name: str, base: sp.IndexedBase, size: int, present: bool = True) -> Any:
        if not present:
            return [0] * size
        symbols = [P.parameter(f"{name}{n + 1}", 1) for n in range(size)]
        entries.update({symbol: base[n] for n, symbol in enumerate(symbols)})
        return np.array(symbols, dtype=object)

    K, M = sizes["K"], sizes["M"]
    problem: Any = SimpleNamespace(
        student=_NamedActivation(s.StudentActivation),
        teacher=_NamedActivation(s.TeacherActivation),
        loss=SimpleNamespace(expression=NamedLoss(0, 0, OUTPUT, TARGET)),
        rule=rule,
    )
    weights = array("teacher", s.v_teacher, M)
    teacher_biases = array("teacher_bias", s.teacher_bias, M, rule.biases)
    student_biases = None if rule.trained_biases else array("bias", s.bias, K, rule.biases)
    numbers = RuleNumbers(
        K=K,
        M=M,
        teacher_weights=weights,
        teacher_biases=teacher_biases,
        student_biases=student_biases,
        sizes=_sizes(P, rule),
        input_variance=P.parameter("input_variance", 1) if rule.normalise == "gradient" else 1,
    )
    state_rule(P, problem, numbers, AnySpectrum())
    statement = P.statement
    for symbol, name in statement.symbols.scalars.items():
        base = {"v": s.v, "b": s.bias, "v_velocity": s.v_velocity, "b_velocity": s.b_velocity}[name]
        entries[symbol] = base[int(str(symbol)[len(name) :]) - 1]
    for symbol, meaning in statement.symbols.meaning.items():
        if isinstance(meaning, Field) and meaning.input.source == "x":
            entries[symbol] = s.field(meaning.vector.family)[meaning.vector.index]
        elif str(symbol).startswith("kept"):
            entries[symbol] = s.mask[int(str(symbol)[4:]) - 1]
    return NamedRule(rule, statement, entries, sizes)


def _sizes(P: Language, rule: LearningRule) -> dict[str, sp.Expr]:
    """Declare the numbers of a rule as parameters."""
    third = sp.Rational(1, 3)  # stands for any probability
    present = (
        *(s.eta, s.eta_v),
        *((s.eta_b,) if rule.trained_biases else ()),
        *(("batch_ratio",) if rule.batches else (s.kappa, s.kappa_v)),
        s.sigma,
        *((s.input_noise,) if rule.input_noise else ()),
        *((s.update_noise,) if rule.update_noise else ()),
        *((s.evaluation_scale,) if rule.dropout else ()),
        *((s.gamma,) if rule.momentum else ()),
        *rule.stated,
    )
    return {
        **{str(name): P.parameter(str(name), 1) for name in present},
        **({"label_flip": third} if rule.flips else {}),
        **({"keep": third} if rule.dropout else {}),
    }


def judged_and_taught(error: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Return the student's output and the target in an error (s - t)²/2."""
    (square,) = error.atoms(sp.Pow) & set(sp.Mul.make_args(error))
    terms = sp.Add.make_args(square.base)
    student = sp.Add(*(term for term in terms if not term.has(s.TeacherActivation)))
    return student, student - square.base
