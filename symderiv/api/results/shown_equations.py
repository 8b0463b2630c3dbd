"""The order-parameter equations of a problem, to be read, copied into a paper, or shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from symderiv.foundation.documents.document import Formula, Paragraph, Part
from symderiv.foundation.documents.html_writer import fragment
from symderiv.foundation.documents.latex_writer import align
from symderiv.foundation.documents.text_writer import formula_lines, text
from symderiv.foundation.showing import Shown, Summary

if TYPE_CHECKING:
    import sympy as sp

    from symderiv.learning.rule.learning_rule import LearningRule
    from symderiv.problem.study import Study


__all__ = ["Equation", "Equations", "equations_of"]


@dataclass(frozen=True)
class Equation:
    """left = right, both as LaTeX without dollars."""

    left: str
    right: str

    @property
    def latex(self) -> str:
        return f"{self.left} = {self.right}"


@dataclass(frozen=True, repr=False)
class Equations(Shown):
    r"""The equations, one a line, and beneath them what stands in them.

    Attributes:
        title: who learns what.
        equations: time derivatives of the order parameters per unit of α, and ε_g.
        definitions: A, B, Γ and the overlaps, in means of products of activations; those with a
            name are the integrals of :func:`symderiv.i2` and :func:`symderiv.i4` of the named
            fields' covariance.
    """

    title: str
    equations: tuple[Equation, ...]
    definitions: tuple[Equation, ...]

    def _document(self) -> Part:
        shown = [Formula(each.right, each.left) for each in self.equations]
        below = [Formula(each.right, each.left) for each in self.definitions]
        return Part(self.title, (*shown, Paragraph("where"), *below))

    def to_text(self, width: int = 88) -> str:
        """Unicode text for a terminal of ``width`` columns."""
        return text(self._document(), width)

    def to_latex(self) -> str:
        """An ``align`` block for a paper, which needs amsmath only."""
        numbered = [(each.left, each.right, "") for each in self.equations]
        # definitions carry no number
        return align([*numbered, *((each.left, each.right, None) for each in self.definitions)])

    def to_dict(self) -> dict[str, Any]:
        """Title, and left and right sides as LaTeX."""
        return {
            "title": self.title,
            "equations": [{"left": e.left, "right": e.right} for e in self.equations],
            "definitions": [{"left": e.left, "right": e.right} for e in self.definitions],
        }

    def _summary(self) -> Summary:
        lines = [line for each in self.equations for line in formula_lines(each.latex, 104, "  ")]
        return Summary(f"{self.title}  (all of it: .to_text(), .to_latex())", (), lines[:8])

    def _repr_latex_(self) -> str:
        return self.to_latex().replace("{align}", "{align*}").replace(r" \nonumber", "")

    def _repr_html_(self) -> str:
        return fragment(self._document(), 4)


def equations_of(study: Study) -> Equations:
    """The equations of a study: terms whose rate is zero are left out."""
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
        study.student_activation,
        study.teacher_activation,
        isotropic,
        data is not None and len(data.components) > 1,
        study.network.train_second_layer,
        training.order == "full",
        training.label_noise != 0.0,
        training.weight_decay != 0.0,
        study.second_layer_weight_decay != 0.0,
        rule_of(study).rule if study.rule_keys else None,
        training.batch is not None,
        training.momentum != 0.0,
    )


@lru_cache(maxsize=32)
def _equations(
    student: str,
    teacher: str,
    isotropic: bool,
    mixed: bool,
    second_layer: bool,
    full: bool,
    noisy: bool,
    decays: bool,
    second_layer_decays: bool,
    rule: LearningRule | None,
    batches: bool,
    remembering: bool,
) -> Equations:
    import sympy as sp

    from symderiv.learning.derivation import symbols as s
    from symderiv.learning.derivation.learning_equations import derive_equations
    from symderiv.learning.derivation.mean_factors import with_integral_names
    from symderiv.learning.narration.learning_latex import latex
    from symderiv.learning.rule.learning_problem import learning_problem
    from symderiv.learning.rule.learning_rule import PLAIN

    pair = learning_problem(student, teacher, rule or PLAIN)
    derived = derive_equations(pair)
    none: dict[sp.Expr, int] = {}
    for present, symbol in (
        (noisy, s.sigma),
        (decays, s.kappa),
        (second_layer_decays, s.kappa_v),
    ):
        if not present:
            none[symbol] = 0

    rates = _equivalent_rates(batches, remembering, derived.problem.rule)

    def shown(expression: sp.Expr) -> str:
        left = (expression.subs(none) if none else expression).xreplace(rates)
        if not full:
            left = left.subs(s.eta**2, 0)
        text: str = latex(_without_modes(left) if isotropic else left)
        return text

    rate = _step if derived.problem.rule.batches else _rate
    flow = derived.motion.rates
    if mixed:
        several = derived.components
        values = (several.student_overlap, several.cross_overlap, several.second_layer)
        names = (s.student_overlap[s.k, s.i, s.j], s.cross_overlap[s.c, s.k, s.i, s.n], s.v[s.i])
        flow = tuple(zip(names, values, strict=True))
    fixed = () if second_layer else (s.v[s.i], s.v_velocity[s.i])
    equations = [Equation(rate(shown(of)), shown(value)) for of, value in flow if of not in fixed]
    error = with_integral_names(derived.generalization_error)
    equations.append(Equation(r"\epsilon_g", shown(error)))
    definitions = []
    if not isotropic and not mixed:
        definitions += [
            Equation("Q_{ij}", shown(derived.student_covariance)),
            Equation("R_{in}", shown(derived.cross_covariance)),
        ]
    definitions += [
        Equation("A_{ij}", shown(with_integral_names(derived.student_gradient))),
        Equation("B_{in}", shown(with_integral_names(derived.teacher_gradient))),
    ]
    if full:
        definitions.append(Equation(r"\Gamma_{ij}", shown(with_integral_names(derived.noise))))
    if second_layer:
        gradient = with_integral_names(derived.second_layer_gradient)
        definitions.append(Equation(r"\partial_v\epsilon_{i}", shown(gradient)))
    if derived.mean_force is not None:
        gradient = with_integral_names(derived.mean_force)
        definitions.append(Equation(r"\partial_b\epsilon_{i}", shown(gradient)))
    further = [(of, with_integral_names(value)) for of, value in derived.further]
    definitions += [Equation(latex(of), shown(value)) for of, value in further]
    used = sp.Tuple(*(value for _, value in further), derived.student_gradient, derived.noise)
    if not isotropic:
        sums = [each for each in derived.sums if used.has(each[0].base)]
        definitions += [Equation(latex(of), shown(value)) for of, value in sums]
    definitions += [Equation(latex(of), shown(value)) for of, value in derived.motion.before]
    definitions += _moments(derived)
    definitions += _integrals(full)
    definitions.append(Equation("g(x)", _activation(pair.student)))
    if teacher != student:
        definitions.append(Equation(r"\tilde g(x)", _activation(pair.teacher)))
    words = pair.student.name or pair.student.text
    other = "" if teacher == student else f", teacher {pair.teacher.name or pair.teacher.text}"
    return Equations(f"Order-parameter equations, {words}{other}", (*equations,), (*definitions,))


def _equivalent_rates(
    batches: bool, remembering: bool, rule: LearningRule
) -> dict[sp.Expr, sp.Expr]:
    """The rates at which small batches and heavy balls are other rules.

    Args:
        batches: of b = O(1) examples.
        remembering: momentum with a fixed β.
        rule: with momentum of 1 - β = γ/N and batches velocities are those over b.
    """
    import sympy as sp

    from symderiv.learning.derivation import symbols as s
    from symderiv.learning.derivation.equivalent_rates import rate_factors
    from symderiv.learning.derivation.rule_equations import equations_of

    updates = [sp.Symbol(name, real=True) for name in equations_of(rule).named.in_updates]
    factors = rate_factors(batches=batches, remembering=remembering, velocities=rule.momentum)
    found = {
        **dict.fromkeys((s.eta, s.eta_v, s.eta_b), factors.rate),
        **dict.fromkeys((s.kappa, s.kappa_v, *updates), factors.decay),
        s.gamma: factors.memory,
        s.update_noise: factors.noise,
    }
    return {symbol: factor * symbol for symbol, factor in found.items() if factor != 1}


def _moments(derived: Any) -> list[Equation]:
    """Means and cumulants of the noise of an example, by what the rule is given."""
    from symderiv.learning.derivation import symbols as s
    from symderiv.learning.derivation.example_noise import MOMENTS, kept_definitions
    from symderiv.learning.narration.learning_latex import latex

    means = derived.noise, derived.student_gradient, derived.teacher_gradient
    found = [*kept_definitions()] if derived.noise.has(s.kept_pair) else []
    found += [each for each in MOMENTS.items() if any(mean.has(each[0]) for mean in means)]
    return [Equation(latex(name), latex(value)) for name, value in found]


def _step(name: str) -> str:
    return rf"\Delta {name}"


def _rate(name: str) -> str:
    return rf"\frac{{d {name}}}{{d \alpha}}"


def _integrals(full: bool) -> list[Equation]:
    mean = r"\left\langle {} \right\rangle"
    found = [Equation("I_{2}(x, y)", mean.replace("{}", "g(x) g(y)"))]
    if full:
        found.append(Equation("I_{4}(x, y, z, w)", mean.replace("{}", "g'(x) g'(y) g(z) g(w)")))
    return found


def _activation(which: Any) -> str:
    import sympy as sp

    text: str = sp.latex(which.expression)
    return text


def _without_modes(expression: sp.Expr) -> sp.Expr:
    """One eigenvalue, 1: overlaps of the only eigenspace are the order parameters."""
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
            # with eigenvalues that are one it is the covariance
            return s.covariance(*s.families_of(part.base))[part.indices]
        return plain.get(name, part.base)[part.indices[-2:]]

    def is_sum_over_modes(part: sp.Expr) -> bool:
        return isinstance(part, sp.Sum) and any(limit[0] in s.MODES for limit in part.limits)

    whole = expression.replace(is_sum_over_modes, lambda part: part.function)
    return whole.replace(is_mode, only)
