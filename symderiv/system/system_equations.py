"""A statement and its derivation in words and in the field's usual notation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.printing.latex import LatexPrinter

from symderiv.foundation.documents.written_derivation import Derivation, Section, Step
from symderiv.foundation.errors import InputError, errors_about
from symderiv.keys.study_tables import letter_of
from symderiv.lowering.means.closed_means import X, field_symbols
from symderiv.lowering.means.joint_means import LARGEST_CONSTANT
from symderiv.lowering.means.quadrature_error import LARGEST_VARIANCE
from symderiv.statement.field_law import FieldLaw
from symderiv.statement.register import Field, LearningTime, Mean, Overlap, Size
from symderiv.statement.stated_motion import ALL, Average
from symderiv.statement.stated_problem import Constraint, Descent, Inputs
from symderiv.statement.vector_expressions import SlowVector, VectorExpression
from symderiv.system.census import CensusTerm, census
from symderiv.system.closed_motion import Closed
from symderiv.system.system_runs import Solver


class SystemEquations:
    """The equations of a system, shown: text, LaTeX, HTML.

    Args:
        solver: The derived equations.
    """

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self.closed: Closed = solver.closed
        self._letters = Letters(self.closed.equations.law)

    @cached_property
    def census(self) -> tuple[CensusTerm, ...]:
        """Every term of every update with what it adds to the equations."""
        return census(self.closed)

    @cached_property
    def derivation(self) -> Derivation:
        """The statement, the step, the motion, the means and the conditions, step by step."""
        conditions = (
            Step("condition", each, "", r"N \to \infty") for each in conditions_of(self.closed)
        )
        sections = (
            Section("What is stated", "statement", tuple(self._stated())),
            Section("One step", "step", tuple(self._changes())),
            Section("The motion of the order parameters", "motion", tuple(self._motion())),
            Section("Their means", "means", tuple(self._means())),
            Section("The census of terms", "census", tuple(self._counted())),
            Section("Conditions", "conditions", tuple(conditions)),
        )
        return Derivation("A stated learning problem", tuple(s for s in sections if s.steps))

    def to_text(self, width: int = 88) -> str:
        """Return the derivation as plain text for a terminal."""
        return self.derivation.to_text(width)

    def to_latex(self) -> str:
        """Return the derivation as a LaTeX article."""
        return self.derivation.to_latex()

    def _repr_html_(self) -> str:
        return self.derivation.to_html()

    def _repr_latex_(self) -> str:
        lines = [step.latex for step in self._motion()]
        return "$$\\begin{gathered}" + "\\\\".join(lines) + "\\end{gathered}$$"

    def __repr__(self) -> str:
        names = ", ".join(self._solver.layout.names)
        return f"equations of {names}: .to_text(), .to_latex()"

    def motion_of(self, name: str) -> tuple[Step, ...]:
        """Return the equations of one order parameter as steps.

        Args:
            name: The name as in states, e.g. ``"w.B"``.

        Raises:
            InputError: There is no such order parameter.
        """
        layout = self._solver.layout
        if name not in layout.names:
            known = ", ".join(layout.names)
            raise InputError(
                f"{name!r} is not an order parameter; choose one of {known}", argument="name"
            )
        return tuple(self._rates_of(name))

    def explain(self, name: str, state: Mapping[str, Any] | None = None) -> str:
        """Return the equations of one order parameter with every mean by name.

        Args:
            name: The name as in states, e.g. ``"w.B"``.
            state: The state at which rates and means are evaluated; None leaves values out.
        """
        section = Section(name, "motion", self.motion_of(name))
        text = Derivation(f"The motion of {name}", (section,)).to_text()
        if state is None:
            return text
        with errors_about("state", "initial"):
            rates = self._solver.rates(state, {})
        return f"{text}\nRate at the state:\n{rates[name]}\n"

    def _stated(self) -> Iterator[Step]:
        statement, letters = self.closed.equations.statement, self._letters
        for inputs in statement.inputs:
            kind = "independent examples of an episode" if inputs.episode else "tokens"
            many = f", {len(inputs.atoms)} {kind}" if len(inputs.atoms) > 1 else ""
            words = f"Fresh Gaussian inputs {inputs.name}{many}, {inputs.model!r}."
            after = (
                rf"\langle {letters.name(inputs.name)}_a\, {letters.name(inputs.name)}_b \rangle"
            )
            law = self.closed.equations.law
            value = r"\delta_{ab}" if law.isotropic(inputs.name) else r"\rho_a \delta_{ab}"
            yield Step("inputs", words, after, value)
        for line in statement.lines:
            if isinstance(line, Descent):
                names = ", ".join(
                    f"${letters.name(getattr(k, 'name', str(k)))}$ at the rate "
                    f"${letters.doprint(rate)}$"
                    for k, rate in line.rates.items()
                )
                verb = "Descend" if line.sign > 0 else "Ascend"
                yield Step(
                    "statement", f"{verb} the loss by {names}.", r"\ell", letters.doprint(line.loss)
                )
            else:
                for key, change in line.changes.items():
                    letter = letters.name(getattr(key, "name", str(key)))
                    moved = isinstance(change, VectorExpression)
                    what, head = ("vector", r"\sqrt N\,") if moved else ("scalar", r"N\,")
                    value = letters.vector(change) if moved else letters.doprint(change)
                    head = rf"{head} \Delta {letter}"
                    yield Step("statement", f"A step adds to the {what}.", head, value)
        for constraint in statement.constraints:
            names = ", ".join(v.name for v in constraint.vectors)
            what = f"the variances of the fields of {names} on {constraint.inputs}"
            words = (
                f"After each step {what if constraint.inputs else f'the lengths of {names}'} "
                "are what they were."
                if constraint.kind == "sphere"
                else f"After each step {names} are made orthonormal."
            )
            first = constraint.vectors[0]
            name = letters.name(first.name)
            square = rf"{name} \cdot {name}"
            if constraint.inputs:
                law = self.closed.equations.law
                square = letters.doprint(
                    law.covariance_of_vectors((constraint.inputs,), first, first)
                )
            yield Step("constraint", words, square, r"\mathrm{const}")

    def _changes(self) -> Iterator[Step]:
        letters = self._letters
        step = self.closed.equations.step
        for vector, change in step.vectors.items():
            for atom, force in change.inputs.items():
                yield Step(
                    "gradient" if step.source[vector][0].startswith(("desc", "asc")) else "update",
                    f"The factor F of {atom.name}/√N in the change of {vector.name}.",
                    f"F_{{{letters.name(vector.name)}, {letters.name(atom.name)}}}",
                    # SymPy distributes the half of a squared loss over its terms
                    letters.doprint(sp.factor_terms(force)),
                )
            for other, rate in change.vectors.items():
                yield Step(
                    "update",
                    f"The factor G of {other.name}/N in the change of {vector.name}.",
                    f"G_{{{letters.name(vector.name)} {letters.name(other.name)}}}",
                    letters.doprint(sp.factor_terms(rate)),
                )
        for symbol, change in step.scalars.items():
            yield Step(
                "update",
                f"N times the change of {symbol}.",
                f"g_{{{letters.name(str(symbol))}}}",
                letters.doprint(sp.factor_terms(change.scalar)),
            )

    def _motion(self) -> Iterator[Step]:
        for name in self._solver.layout.names:
            if self._solver.layout.moves(name):
                yield from self._rates_of(name)

    def _rates_of(self, name: str) -> Iterator[Step]:
        equations, letters = self.closed.equations, self._letters
        layout = self._solver.layout

        def changing(letter: str) -> str:
            if equations.by_steps:
                return rf"\Delta {letter}"
            return rf"\frac{{\mathrm{{d}} {letter}}}{{\mathrm{{d}}\alpha}}"

        if name in layout.scalars:
            for symbol in layout.scalars[name]:
                rate = equations.scalars.get(symbol, sp.S.Zero)
                head = changing(letters.name(str(symbol)))
                yield Step("average", "The mean of its change.", head, letters.doprint(rate))
            return
        first, second = name.split(".")
        seen: set[tuple[SlowVector, SlowVector]] = set()
        for a in layout.families[first]:
            for b in layout.families[second]:
                pair = self.closed.ordered(a, b)
                if pair in seen:
                    continue
                words = "Likewise." if seen else _STEIN
                seen.add(pair)
                head = changing(letters.overlap(*pair))
                yield Step("Stein", words, head, letters.doprint(equations.overlap_rate(*pair)))

    def _means(self) -> Iterator[Step]:
        means, letters = self.closed.means, self._letters
        for name, function in means.functions.items():
            number = name.partition("_")[2]
            arguments = ", ".join(sp.latex(a) for a in function.arguments)
            value = function.value
            for symbol, definition in reversed(function.definitions):
                value = value.xreplace({symbol: definition})
            words = f"In closed form by the Gaussian calculus: $I_{{{number}}}$ is {function.doc}"
            yield Step(
                "mean",
                words.replace("**", "^"),
                rf"I_{{{number}}}({arguments})",
                letters.doprint(value),
            )
        reach = f"variances up to {LARGEST_VARIANCE:g}"
        for joint, name in means.joints.names.items():
            scalars = f" and scalars up to {LARGEST_CONSTANT:g}" if joint.constants else ""
            words = (
                f"By quadrature over the joint fields; largest error found, for {reach}{scalars}"
            )
            yield self._by_quadrature("J", name, words, joint.fields, joint.function)
        for name, factors in means.products.told.items():
            words = (
                "By quadrature, one function of each field, with or without kinks; largest error"
            )
            fields = field_symbols(len(factors))
            product = sp.Mul(*(f.xreplace({X: z}) for f, z in zip(factors, fields, strict=True)))
            yield self._by_quadrature("P", name, f"{words} found, for {reach}", fields, product)

    def _by_quadrature(
        self, letter: str, name: str, words: str, fields: Iterable[sp.Symbol], function: sp.Expr
    ) -> Step:
        """Return the step of a mean over fields that is computed with the stated error."""
        head = f"{letter}_{{{name.partition('_')[2]}}}"
        among = ", ".join(map(sp.latex, fields))
        inner = rf"\left\langle {self._letters.doprint(function)} \right\rangle_{{{among}}}"
        return Step("mean", f"{words}: {self.closed.means.error:.1e}.", head, inner)

    def _counted(self) -> Iterator[Step]:
        letters = self._letters
        for term in self.census:
            name = getattr(term.target, "name", str(term.target))
            along = f" along {term.direction.name}" if term.direction is not None else ""
            if term.drift:
                parts = ", ".join(
                    getattr(vector, "name", name) for _, vector in term.drift if vector is not None
                )
                words = f"A term of the change of {name}{along}: it moves it" + (
                    f" along {parts}." if parts else "."
                )
            else:
                words = f"A term of the change of {name}{along} without drift: {term.reason}."
            yield Step("term", words, "", letters.doprint(term.term))


def conditions_of(closed: Closed) -> list[str]:
    """Return the assumptions of the limit for this statement, one sentence each."""
    statement, law = closed.equations.statement, closed.equations.law
    conditions = [
        "Every step draws fresh inputs: no example is used twice.",
        "The number of vectors, and of steps over N, stays finite while N grows; overlaps and "
        "scalars are of order one.",
    ]
    if statement.order != "full":
        conditions.append(
            "Steps are many and small: terms quadratic in forces that depend on the example, the "
            "noise of the steps, are left out."
        )
    if statement.batch_ratio is not None:
        conditions.append(
            f"A step takes cN fresh examples with c = {statement.batch_ratio} and moves weights by "
            "amounts of order one; averages over a batch are those over an example, up to "
            "N^(-1/2)."
        )
    conditions += _conditions_of_inputs(statement.inputs, law)
    expressions = [f for c in closed.equations.step.vectors.values() for f in c.inputs.values()]
    if any(e.has(sp.sign, sp.Heaviside) for e in expressions):
        conditions.append(
            "Forces jump where a field crosses a kink. Their mean slopes contain the density of "
            "this field at the kink, so that its variance must not vanish."
        )
    if closed.means.by_quadrature:
        conditions.append(
            "Means without closed form are integrated numerically; their stated error is the "
            f"largest found for variances up to {LARGEST_VARIANCE:g}: "
            f"{closed.means.error:.1e}."
        )
    conditions += [_kept_by(constraint) for constraint in statement.constraints]
    if closed.equations.law.covariances or any(
        key[0] != ALL for rates in closed.drift.values() for key in rates
    ):
        conditions.append(
            "The squared norm of an input over N is replaced by its mean, the mean eigenvalue of "
            "the inputs: it fluctuates by N^(-1/2) only."
        )
    return conditions


def _conditions_of_inputs(inputs: Iterable[Inputs], law: FieldLaw) -> Iterator[str]:
    spectral = [each.name for each in inputs if not law.isotropic(each.name)]
    if spectral:
        yield (
            f"The covariances of {', '.join(spectral)} have common eigenspaces, each with a number "
            "of coordinates that grows with N."
        )
    for each in inputs:
        if each.episode:
            yield (
                f"The {len(each.atoms)} examples of an episode of {each.name} are independent, "
                "so that means over them are products."
            )
        if each.correlation is not None:
            yield (
                f"The tokens of {each.name} are correlated coordinate by coordinate, by the same "
                "matrix in every coordinate."
            )


def _kept_by(constraint: Constraint) -> str:
    names = ", ".join(v.name for v in constraint.vectors)
    if constraint.kind != "sphere":
        return f"{names} start orthonormal: w_a·w_b = N δ_ab."
    if constraint.inputs:
        return f"The fields of {names} on {constraint.inputs} keep their initial variances."
    return f"{names} start on the sphere of their initial length and stay there."


_STEIN = (
    "Stein's rule turns means with an input into mean slopes; the squares of the changes add the "
    "noise."
)


class Letters(LatexPrinter):  # type: ignore[misc]
    """A printer of fields as h_{w_1}, overlaps as Q_{w_1 w_2}, averages in angle brackets."""

    def __init__(self, law: FieldLaw) -> None:
        super().__init__({"ln_notation": True})
        self.law = law
        self._alone = len(law.statement.inputs) == 1 and len(law.statement.inputs[0].atoms) == 1

    def name(self, text: str) -> str:
        """Return the name of a vector, an input or a scalar with its number as an index.

        Parameters with usual names, such as ``learning_rate``, get their usual letters, unless the
        statement uses the letter for something else.
        """
        head = text.rstrip("0123456789")
        letter, index = letter_of(head)
        if letter and not self.law.symbols.knows(letter.removeprefix("\\")):
            indices = ",".join(filter(None, (index, text[len(head) :])))
            return f"{letter}_{{{indices}}}" if indices else letter
        parts = re.fullmatch(r"([A-Za-z]+)_?(\d*)(.*)", text)
        if not parts or parts[3]:
            return rf"\operatorname{{{text.replace('_', chr(92) + '_')}}}"
        letters = parts[1]
        greek = sp.latex(sp.Symbol(letters))
        head = (
            greek if len(letters) == 1 or greek.startswith("\\") else rf"\operatorname{{{letters}}}"
        )
        return f"{head}_{{{parts[2]}}}" if parts[2] else head

    def _print_Symbol(self, expr: sp.Symbol, style: str = "") -> str:
        meaning = self.law.symbols.meaning.get(expr)
        if isinstance(meaning, Field):
            upper = "" if self._alone else f"^{{{self.name(meaning.input.name)}}}"
            return f"h{upper}_{{{self.name(meaning.vector.name)}}}"
        if isinstance(meaning, Overlap):
            return self.overlap(meaning.first, meaning.second)
        if isinstance(meaning, Size):
            first, second = self.name(meaning.first.name), self.name(meaning.second.name)
            return rf"{first} \cdot {second}"
        if expr in self.law.covariances:
            covariance = self.law.covariances[expr]
            pair = f"{self.name(covariance.first.name)} {self.name(covariance.second.name)}"
            inputs = " ".join(map(self.name, covariance.inputs))
            return f"C^{{{inputs}}}_{{{pair}}}"
        if expr in self.law.jumps:
            return rf"\Theta\left({self.doprint(self.law.jumps[expr])}\right)"
        if isinstance(meaning, LearningTime):
            return r"\alpha"
        if isinstance(meaning, Mean):
            return rf"\left\langle {self.doprint(meaning.expression)} \right\rangle"
        if expr.name.startswith("trace__"):
            names = expr.name.removeprefix("trace__").split("__")
            product = " ".join(rf"\rho_{{{self.name(name)}}}" for name in names)
            return rf"\overline{{{product}}}" if names[1:] else rf"\bar{product}"
        return self.name(expr.name)

    def overlap(self, first: SlowVector, second: SlowVector) -> str:
        """Return the overlap of two vectors."""
        return f"Q_{{{self.name(first.name)} {self.name(second.name)}}}"

    def _print_Function(self, expr: sp.Function, exp: object = None) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        if isinstance(expr, Average):
            inner = self.doprint(sp.factor_terms(expr.args[0]))
            return rf"\left\langle {inner} \right\rangle{power}"
        if isinstance(expr, AppliedUndef):
            head, _, number = str(expr.func).partition("_")
            letter = {"mean": "I", "joint": "J"}.get(head, head)
            arguments = ", ".join(self.doprint(a) for a in expr.args)
            return rf"{letter}_{{{number}}}{power}\left({arguments}\right)"
        return str(super()._print_Function(expr, exp))

    def vector(self, vector: VectorExpression) -> str:
        """Return a vector expression."""
        terms = []
        for atom, coefficient in vector.terms.items():
            name = self.name(atom.name)
            over = rf"\frac{{{name}}}{{\sqrt N}}" if isinstance(atom, SlowVector) else name
            factor = self.doprint(coefficient)
            if abs(coefficient) == 1:
                terms.append(over if coefficient == 1 else f"- {over}")
            elif coefficient.is_Add:
                terms.append(rf"\left({factor}\right) {over}")
            else:
                terms.append(f"{factor} {over}")
        return " + ".join(terms).replace("+ - ", "- ") or "0"
