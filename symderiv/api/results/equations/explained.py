"""The equation of one order parameter, with all means that occur in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from symderiv.api.questions.means import mean as gaussian_mean
from symderiv.api.results.equations.rates import Rates, rates_at
from symderiv.api.results.equations.shown_equations import Equations, equations_of
from symderiv.api.results.followed import entry_of
from symderiv.formula import activation
from symderiv.foundation.documents.document import Formula, Node, Paragraph, Part
from symderiv.foundation.documents.html_writer import fragment
from symderiv.foundation.errors import InputError, NotYetError, errors_about
from symderiv.foundation.showing import Shown, Summary
from symderiv.learning.derivation import symbols as s
from symderiv.learning.narration.learning_latex import latex
from symderiv.problem.initial import Initial
from symderiv.problem.study import Study

#: Symbols in equations, with the short names of their definitions and the indices of these.
_DEFINED = {
    "A": ("A", (s.i, s.j)),
    "B": ("B", (s.i, s.n)),
    "Gamma": ("Gamma", (s.i, s.j)),
    "dv": ("vepsilon", (s.i,)),
}
_SYMMETRIC = ("Q", "T", "Gamma")
_ORDERS = {"I_2": (0, 0), "I_4": (1, 1, 0, 0)}
_INDICES: dict[str, tuple[Any, ...]] = {"Q": (s.i, s.j), "R": (s.i, s.n), "v": (s.i,)}

#: One factor of a mean: whether of a teacher, order of the derivative, number of the unit.
_Factor = tuple[bool, int, int]


@dataclass(frozen=True)
class ExplainedMean:
    """A mean of products of activations.

    Args:
        name: The mean as it occurs in the equation, in LaTeX.
        value: The value at the state.
        closed_form: The closed form in the overlaps Q11, R12, T22, …; None if it has none.
    """

    name: str
    value: float
    closed_form: sp.Expr | None


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """The equation of one order parameter at a state.

    Attributes:
        name: The name of the order parameter, as ``"Q[1,2]"``.
        equation: The order parameter's derivative by α, or the error, as a SymPy expression with
            sums over units written out; units are counted from 0.
        definitions: The entries of A, B and Γ that occur in it.
        means: All means in these, by SymPy expression.
        value: The value of the rate or error at the state; one number per eigenvalue if the
            equation holds for each eigenvalue.
    """

    name: str
    left: str
    equation: sp.Expr
    definitions: Mapping[sp.Expr, sp.Expr]
    means: Mapping[sp.Expr, ExplainedMean]
    value: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """Return LaTeX of the equation and definitions, with values and closed forms of means."""
        return {
            "name": self.name,
            "equation": f"{self.left} = {_shown(self.equation)}",
            "definitions": {_shown(of): _shown(each) for of, each in self.definitions.items()},
            "means": [
                {
                    "name": each.name,
                    "value": each.value,
                    "closed_form": None if each.closed_form is None else str(each.closed_form),
                }
                for each in self.means.values()
            ],
            "value": self.value.tolist(),
        }

    def _document(self) -> Part:
        nodes: list[Node] = [Formula(_shown(self.equation), self.left)]
        if self.definitions:
            nodes.append(Paragraph("with"))
            nodes += [Formula(_shown(each), _shown(of)) for of, each in self.definitions.items()]
        nodes.append(Paragraph("Means at the state:"))
        for each in self.means.values():
            form = "" if each.closed_form is None else f" = {sp.latex(each.closed_form)}"
            nodes.append(Formula(f"{each.value:.10g}{form}", each.name))
        values = ", ".join(f"{each:.10g}" for each in np.atleast_1d(self.value))
        nodes.append(Paragraph(f"Value at the state: {values}"))
        return Part(f"The equation of {self.name}", nodes)

    def _summary(self) -> Summary:
        rows: list[tuple[str, object]] = [("value", self.value)]
        rows.append(("means", f"{len(self.means)}, with their closed forms in .to_text()"))
        return Summary(f"The equation of {self.name}", rows)

    def _repr_html_(self) -> str:
        return fragment(self._document(), 4)


def explained(study: Study, name: str, start: Initial) -> Explanation:
    """Return the equation of an order parameter, or of the error, at a state.

    Raises:
        InputError: There is no such order parameter, or it does not move.
        NotYetError: Means contain more than activations at fields without bias.
    """
    with errors_about("name"):
        letter, place = entry_of(name, study.K, study.M)
    equations = equations_of(study)
    shorts = {"generalization_error": ("error",), "R": ("dR", "dr")}.get(letter, (f"d{letter}",))
    known = [short for short in shorts if short in equations.names]
    if not known:
        raise InputError(f"{name!r} does not change under this rule", argument="name")
    chosen = dict(zip(_INDICES.get(letter, ()), map(sp.Integer, place), strict=False))
    asked = equations[known[0]]
    sizes = {s.K: study.K, s.M: study.M}
    equation = _written_out(asked.value, chosen, sizes)
    definitions = dict(_definitions(equation, equations, sizes))
    means = {
        mean: _at_state(mean, study, start)
        for mean in sorted(_means_in(equation, *definitions.values()), key=str)
    }
    left = _left(asked.left, place)
    value = _value(rates_at(study, start), letter, place, equation)
    return Explanation(name, left, equation, definitions, means, value)


def _left(text: str, place: tuple[int, ...]) -> str:
    """Return the left side of an equation with numbers of units in place of its indices."""
    numbers = "".join(str(each + 1) for each in place)
    return re.sub(r"_\{(k,)?i[jn]?\}", lambda found: f"_{{{found[1] or ''}{numbers}}}", text)


def _written_out(expression: sp.Expr, chosen: Mapping[Any, Any], sizes: Mapping[Any, int]) -> Any:
    """Return an expression with sums over units written out and free indices replaced."""
    if isinstance(expression, sp.Sum):
        *further, (index, low, high) = expression.limits
        if set(high.free_symbols) & set(sizes):
            inner = sp.Sum(expression.function, *further) if further else expression.function
            last = int(high.xreplace({k: sp.Integer(n) for k, n in sizes.items()}))
            terms = range(int(low), last + 1)
            each = (_written_out(inner, {**chosen, index: sp.Integer(n)}, sizes) for n in terms)
            return sp.Add(*each)
    if isinstance(expression, sp.Indexed):
        indices = [chosen.get(each, each) for each in expression.indices]
        if str(expression.base.label) in _SYMMETRIC and all(each.is_Integer for each in indices):
            indices.sort()
        return expression.base[tuple(indices)]
    if not expression.args or isinstance(expression, sp.Idx):
        return chosen.get(expression, expression)
    parts = [_written_out(each, chosen, sizes) for each in expression.args]
    if str(expression.func) in _ORDERS:
        # factors of one kind are sorted, so that equal means are identical
        half = len(parts) // 2
        parts = sorted(parts[:half], key=str) + sorted(parts[half:], key=str)
        parts = sorted(parts, key=str) if half == 1 else parts
    return expression.func(*parts)


def _definitions(
    equation: sp.Expr, equations: Equations, sizes: Mapping[Any, int]
) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """Yield the entries of A, B and Γ in an equation with their definitions."""
    entries = sorted(equation.atoms(sp.Indexed), key=str)
    for entry in entries:
        short, indices = _DEFINED.get(str(entry.base.label), ("", ()))
        if short in equations.names:
            chosen = dict(zip(indices, entry.indices, strict=True))
            yield entry, _written_out(equations[short].value, chosen, sizes)


def _means_in(*expressions: sp.Expr) -> set[sp.Expr]:
    return {
        each
        for one in expressions
        for each in one.atoms(sp.Function)
        if isinstance(each, s.Average | s.ComponentAverage) or str(each.func) in _ORDERS
    }


def _factors(mean: sp.Expr) -> list[_Factor]:
    """Return the factors of a mean of activations.

    Raises:
        NotYetError: The mean contains other functions than activations.
    """
    if str(mean.func) in _ORDERS:
        pairs = list(zip(_ORDERS[str(mean.func)], mean.args, strict=True))
        return [_factor(order, field, str(field.base.label) == "y") for order, field in pairs]
    factors: list[_Factor] = []
    for factor in sp.Mul.make_args(mean.args[0]):
        base, power = factor.as_base_exp()
        if not isinstance(base, s.StudentActivation) or not power.is_Integer:
            raise _not_yet(mean)
        order, field = base.args
        factors += [_factor(order, field, isinstance(base, s.TeacherActivation))] * int(power)
    return factors


def _factor(order: Any, field: sp.Expr, teacher: bool) -> _Factor:
    if not isinstance(field, sp.Indexed) or str(field.base.label) not in ("x", "y"):
        raise _not_yet(field)
    return teacher, int(order), int(field.indices[0])


def _not_yet(part: sp.Expr) -> NotYetError:
    return NotYetError(
        f"the mean of {part} cannot be shown with its closed form yet, because it contains more "
        "than activations at fields without bias; problem.system.explain shows its equations",
        argument="name",
    )


def _at_state(mean: sp.Expr, study: Study, start: Initial) -> ExplainedMean:
    """Return a mean with its closed form and its value."""
    functions = [activation(study.student_activation), activation(study.teacher_activation)]
    x = sp.Symbol("x", real=True)
    factors = _factors(mean)
    fields = sorted({(teacher, unit) for teacher, _, unit in factors})
    product = sp.Mul(
        *(
            sp.diff(functions[teacher].expression, x, order).subs(
                x, sp.Symbol(f"x{fields.index((teacher, unit)) + 1}", real=True)
            )
            for teacher, order, unit in factors
        )
    )
    state = start.state
    blocks = np.block([[state.Q, state.R], [state.R.T, state.T]])
    places = [unit + teacher * study.K for teacher, unit in fields]
    numbers = blocks[np.ix_(places, places)]
    names = [[_overlap(a, b) for b in fields] for a in fields]
    value = gaussian_mean(product, numbers.tolist())
    closed = gaussian_mean(product, names).closed_form
    return ExplainedMean(_shown(mean), float(value.value), closed)


def _overlap(a: tuple[bool, int], b: tuple[bool, int]) -> str:
    """Return the name of the overlap of two fields: Q12, R12, T12."""
    first, second = sorted((a, b))
    letter = "QRT"[first[0] + second[0]]
    return f"{letter}{first[1] + 1}{second[1] + 1}"


def _value(rates: Rates, letter: str, place: tuple[int, ...], equation: sp.Expr) -> np.ndarray:
    """Return the rate of an entry, per eigenvalue if its equation holds for each eigenvalue."""
    if letter == "generalization_error":
        return np.array(rates.generalization_error)
    modes = {"Q": rates.d_student_overlap, "R": rates.d_cross_overlap}
    if letter in modes and equation.has(s.k):
        return np.array(modes[letter].transpose(1, 2, 0)[place])
    return np.array(getattr(rates, f"d{letter}")[place])


def _shown(expression: sp.Expr) -> str:
    """Return LaTeX with the usual symbols; units are counted from 1."""
    return str(latex(expression.replace(lambda part: isinstance(part, sp.Indexed), _counted)))


def _counted(part: sp.Indexed) -> sp.Expr:
    return part.base[tuple(n + 1 if n.is_Integer else n for n in part.indices)]
