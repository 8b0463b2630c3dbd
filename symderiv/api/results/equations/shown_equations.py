"""The order-parameter equations of a problem, as shown, and as copied into a paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from symderiv.foundation.documents.document import Formula, Paragraph, Part
from symderiv.foundation.documents.html_writer import fragment
from symderiv.foundation.documents.latex_writer import align, starred
from symderiv.foundation.documents.text_writer import formula_lines, text
from symderiv.foundation.errors import InputError
from symderiv.foundation.showing import Shown, Summary

if TYPE_CHECKING:
    import sympy as sp

    from symderiv.learning.rule.learning_rule import LearningRule
    from symderiv.problem.study import Study


@dataclass(frozen=True)
class Equation:
    """An equation: both sides as LaTeX without dollars, and the right side in SymPy.

    Attributes:
        left, right: the two sides as LaTeX.
        value: the right side as a SymPy expression; None if it only explains what a mean is.
    """

    left: str
    right: str
    value: sp.Expr | None = None

    @property
    def latex(self) -> str:
        return f"{self.left} = {self.right}"


@dataclass(frozen=True, repr=False)
class Equations(Shown):
    r"""The order-parameter equations of a problem, and the definitions of their terms.

    Attributes:
        title: the title of the equations.
        equations: time derivatives of the order parameters per unit of α, and ε_g.
        definitions: A, B, Γ and the overlaps, in means of products of activations; those with a
            name are the integrals of :func:`symderiv.i2` and :func:`symderiv.i4` of the named
            fields' covariance.
    """

    title: str
    equations: tuple[Equation, ...]
    definitions: tuple[Equation, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The short names of all equations: dQ, dR, dv, error, A, B, Gamma, …"""
        return tuple(self._named)

    @property
    def _named(self) -> dict[str, Equation]:
        return named([*self.equations, *self.definitions])

    def __getitem__(self, name: str) -> Equation:
        """Return one equation by its short name; that of Q is ``"Q"`` or ``"dQ"``.

        Raises:
            InputError: nothing has this name.
        """
        known = self._named
        moving = f"d{name}"
        if moving in known or name in known:
            return known.get(moving) or known[name]
        raise InputError(f"{name!r} is not one of {', '.join(known)}", argument="name")

    def __iter__(self) -> Iterator[Equation]:
        return iter((*self.equations, *self.definitions))

    def to_sympy(self) -> dict[str, sp.Expr]:
        """Return the right-hand sides by short name ("dQ", "dR", "error", "A", …) in SymPy.

        Overlaps are indexed symbols such as Q[i, j], sums are ``sympy.Sum``; means of activations
        are functions I2, I4, … of the names of their fields, which ``definitions`` explain.
        """
        return {n: each.value for n, each in self._named.items() if each.value is not None}

    def _document(self) -> Part:
        shown = [Formula(each.right, each.left) for each in self.equations]
        below = [Formula(each.right, each.left) for each in self.definitions]
        return Part(self.title, (*shown, Paragraph("where"), *below))

    def to_text(self, width: int = 88) -> str:
        """Return Unicode text for a terminal of ``width`` columns."""
        return text(self._document(), width)

    def to_latex(self) -> str:
        """Return an ``align`` block for a paper, which needs amsmath only."""
        numbered = [(each.left, each.right, "") for each in self.equations]
        # definitions have no number
        return align([*numbered, *((each.left, each.right, None) for each in self.definitions)])

    def to_dict(self) -> dict[str, Any]:
        """Return the title, and the left and right sides as LaTeX."""
        return {
            "title": self.title,
            "equations": [{"left": e.left, "right": e.right} for e in self.equations],
            "definitions": [{"left": e.left, "right": e.right} for e in self.definitions],
        }

    def _summary(self) -> Summary:
        lines = [line for each in self.equations for line in formula_lines(each.latex, 104, "  ")]
        return Summary(f"{self.title}  (all of it: .to_text(), .to_latex())", (), lines[:8])

    def _repr_latex_(self) -> str:
        return starred(self.to_latex())

    def _repr_html_(self) -> str:
        return fragment(self._document(), 4)


def named(equations: Iterable[Equation]) -> dict[str, Equation]:
    """Return equations by short name: dQ, dR, dv, error, A, B, Gamma, I2, I4, g, …"""
    by_name: dict[str, Equation] = {}
    for each in equations:
        left = each.left
        if left.startswith(r"\frac{d"):
            left = "d" + left.removeprefix(r"\frac{d").strip()
        if left == r"\epsilon_g":
            left = "error"
        name = re.sub(r"\\(?:partial_|tilde ?)?", "", left)
        name = re.sub(r"_\{(\d)\}.*", r"\1", name)
        name = re.sub(r"[_^({ ].*", "", name)
        while name in by_name:
            name += "'"
        by_name[name] = each
    return by_name


def equations_of(study: Study) -> Equations:
    """Return the equations of a study, without terms whose rate is zero."""
    from symderiv.problem.rule_of import rule_of

    training = study.training
    data = study.data_model
    isotropic = (
        data is not None
        and data.latent is None
        and len(data.components) == 1
        and data.single().eigenvalue.tolist() == [1.0]
    )
    return _equations(
        _Terms(
            student=study.student_activation,
            teacher=study.teacher_activation,
            isotropic=isotropic,
            mixed=data is not None and len(data.components) > 1,
            second_layer=study.network.train_second_layer,
            full=training.order == "full",
            noisy=training.label_noise != 0.0,
            decays=training.weight_decay != 0.0,
            second_layer_decays=study.second_layer_weight_decay != 0.0,
            rule=rule_of(study).rule if study.rule_keys else None,
            batches=training.batch is not None,
            remembering=training.momentum != 0.0,
        )
    )


class _Terms(NamedTuple):
    """The properties of a study that determine which terms its equations have."""

    student: str
    teacher: str
    isotropic: bool
    mixed: bool
    second_layer: bool
    full: bool
    noisy: bool
    decays: bool
    second_layer_decays: bool
    rule: LearningRule | None
    batches: bool
    remembering: bool


@lru_cache(maxsize=32)
def _equations(terms: _Terms) -> Equations:
    from symderiv.learning.derivation.learning_equations import derive_equations
    from symderiv.learning.rule.learning_problem import learning_problem
    from symderiv.learning.rule.learning_rule import PLAIN

    pair = learning_problem(terms.student, terms.teacher, terms.rule or PLAIN)
    derived = derive_equations(pair)
    reduced = _reducer(terms, derived.problem.rule)
    definitions = [*_definitions(terms, derived, reduced), *_moments(derived)]
    definitions += _integrals(terms.full)
    definitions.append(Equation("g(x)", _activation(pair.student)))
    words = pair.student.name or pair.student.text
    if terms.teacher != terms.student:
        definitions.append(Equation(r"\tilde g(x)", _activation(pair.teacher)))
        words += f", teacher {pair.teacher.name or pair.teacher.text}"
    title = f"Order-parameter equations, {words}"
    return Equations(title, (*_motion(terms, derived, reduced),), (*definitions,))


def _reducer(terms: _Terms, rule: LearningRule) -> Callable[[sp.Expr], sp.Expr]:
    """Return a function that removes terms from expressions that a study does not have."""
    from symderiv.learning.derivation import symbols as s

    present = {s.sigma: terms.noisy, s.kappa: terms.decays, s.kappa_v: terms.second_layer_decays}
    none = {symbol: 0 for symbol, there in present.items() if not there}
    rates = _equivalent_rates(terms.batches, terms.remembering, rule)

    def reduced(expression: sp.Expr) -> sp.Expr:
        left = (expression.subs(none) if none else expression).xreplace(rates)
        if not terms.full:
            left = left.subs(s.eta**2, 0)
        return _without_modes(left) if terms.isotropic else left

    return reduced


def _equation(left: str, value: sp.Expr) -> Equation:
    from symderiv.learning.narration.learning_latex import latex

    return Equation(left, latex(value), value)


def _motion(
    terms: _Terms, derived: Any, reduced: Callable[[sp.Expr], sp.Expr]
) -> Iterator[Equation]:
    """Yield the equations of motion of the order parameters, and the generalisation error."""
    from symderiv.learning.derivation import symbols as s
    from symderiv.learning.derivation.mean_factors import with_integral_names
    from symderiv.learning.narration.learning_latex import latex

    rate = _step if derived.problem.rule.batches else _rate
    flow = derived.motion.rates
    if terms.mixed:
        several = derived.components
        values = (several.student_overlap, several.cross_overlap, several.second_layer)
        names = (s.student_overlap[s.k, s.i, s.j], s.cross_overlap[s.c, s.k, s.i, s.n], s.v[s.i])
        flow = tuple(zip(names, values, strict=True))
    fixed = () if terms.second_layer else (s.v[s.i], s.v_velocity[s.i])
    for of, value in flow:
        if of not in fixed:
            yield _equation(rate(latex(reduced(of))), reduced(value))
    error = with_integral_names(derived.generalization_error)
    yield _equation(r"\epsilon_g", reduced(error))


def _definitions(
    terms: _Terms, derived: Any, reduced: Callable[[sp.Expr], sp.Expr]
) -> Iterator[Equation]:
    """Yield the definitions in the equations: overlaps, means of forces, sums over modes."""
    import sympy as sp

    from symderiv.learning.derivation.mean_factors import with_integral_names
    from symderiv.learning.narration.learning_latex import latex

    if not terms.isotropic and not terms.mixed:
        yield _equation("Q_{ij}", reduced(derived.student_covariance))
        yield _equation("R_{in}", reduced(derived.cross_covariance))
    for name, mean, there in (
        ("A_{ij}", derived.student_gradient, True),
        ("B_{in}", derived.teacher_gradient, True),
        (r"\Gamma_{ij}", derived.noise, terms.full),
        (r"\partial_v\epsilon_{i}", derived.second_layer_gradient, terms.second_layer),
        (r"\partial_b\epsilon_{i}", derived.mean_force, derived.mean_force is not None),
    ):
        if there:
            yield _equation(name, reduced(with_integral_names(mean)))
    further = [(of, with_integral_names(value)) for of, value in derived.further]
    used = sp.Tuple(*(value for _, value in further), derived.student_gradient, derived.noise)
    sums = [] if terms.isotropic else [each for each in derived.sums if used.has(each[0].base)]
    for of, value in (*further, *sums, *derived.motion.before):
        yield _equation(latex(of), reduced(value))


def _equivalent_rates(
    batches: bool, remembering: bool, rule: LearningRule
) -> dict[sp.Expr, sp.Expr]:
    """Return equivalent rates of single examples for small batches and momentum, by symbol.

    Args:
        batches: True for batches of b = O(1) examples.
        remembering: True for momentum with a fixed β.
        rule: the learning rule; for momentum with 1 - β = γ/N and batches, velocities are divided
            by b.
    """
    import sympy as sp

    from symderiv.learning.derivation import symbols as s
    from symderiv.learning.derivation.equivalent_rates import rate_factors
    from symderiv.learning.derivation.rule_equations import equations_of

    updates = [sp.Symbol(name, real=True) for name in equations_of(rule).named.in_updates]
    factors = rate_factors(batches=batches, remembering=remembering, velocities=rule.momentum)
    equivalents = {
        **dict.fromkeys((s.eta, s.eta_v, s.eta_b), factors.rate),
        **dict.fromkeys((s.kappa, s.kappa_v, *updates), factors.decay),
        s.gamma: factors.memory,
        s.update_noise: factors.noise,
    }
    return {symbol: factor * symbol for symbol, factor in equivalents.items() if factor != 1}


def _moments(derived: Any) -> list[Equation]:
    """Return means and cumulants of an example's noise, as they occur in the rule's equations."""
    from symderiv.learning.derivation import symbols as s
    from symderiv.learning.derivation.example_noise import MOMENTS, kept_definitions
    from symderiv.learning.narration.learning_latex import latex

    means = derived.noise, derived.student_gradient, derived.teacher_gradient
    moments = [*kept_definitions()] if derived.noise.has(s.kept_pair) else []
    moments += [each for each in MOMENTS.items() if any(mean.has(each[0]) for mean in means)]
    return [_equation(latex(name), value) for name, value in moments]


def _step(name: str) -> str:
    return rf"\Delta {name}"


def _rate(name: str) -> str:
    return rf"\frac{{d {name}}}{{d \alpha}}"


def _integrals(full: bool) -> list[Equation]:
    mean = r"\left\langle {} \right\rangle"
    integrals = [Equation("I_{2}(x, y)", mean.replace("{}", "g(x) g(y)"))]
    if full:
        integrals.append(Equation("I_{4}(x, y, z, w)", mean.replace("{}", "g'(x) g'(y) g(z) g(w)")))
    return integrals


def _activation(which: Any) -> str:
    import sympy as sp

    text: str = sp.latex(which.expression)
    return text


def _without_modes(expression: sp.Expr) -> sp.Expr:
    """Return an expression for a single eigenvalue 1, whose overlaps are the order parameters."""
    import sympy as sp

    from symderiv.learning.derivation import symbols as s

    ones = ("eigenvalue", "weight")
    plain = {"student_overlap": s.Q, "cross_overlap": s.R, "teacher_overlap": s.T}

    def is_mode(part: sp.Expr) -> bool:
        return isinstance(part, sp.Indexed) and (
            str(part.base.label) in ones or bool(s.families_of(part.base))
        )

    def only(part: sp.Expr) -> sp.Expr:
        name = str(part.base.label)
        if name in ones:
            return sp.S.One
        if name.startswith("product"):
            # for an eigenvalue of 1 the product is the covariance
            return s.covariance(*s.families_of(part.base))[part.indices]
        return plain.get(name, part.base)[part.indices[-2:]]

    def is_sum_over_modes(part: sp.Expr) -> bool:
        return isinstance(part, sp.Sum) and any(limit[0] in s.MODES for limit in part.limits)

    whole = expression.replace(is_sum_over_modes, lambda part: part.function)
    return whole.replace(is_mode, only)
