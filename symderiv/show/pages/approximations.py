"""The Gaussian integrals of a derivation: closed, with steps, or how they are computed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symderiv.foundation.documents.written_derivation import Section, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    import sympy as sp

    from symderiv.gaussian import DerivedExpectation
    from symderiv.gaussian.erf_mixture import ErfMixture, SlopeSquare
    from symderiv.learning.rule.learning_problem import LearningProblem
    from symderiv.lowering.means.approximation import Mixtures
    from symderiv.lowering.means.mixture_integrals import Tables
    from symderiv.lowering.means.quadrature_means import Quadrature

_FIELDS = "uvwz"
_INDICES = "klmn"
_DERIVATIVES = {"i2": 0, "i3": 1, "i4": 2}


def integral_parts(problem: LearningProblem, tolerance: float | None) -> list[Section]:
    """Return sections on a problem's Gaussian integrals: closed, by mixtures, or by quadrature.

    Args:
        problem: The problem with its activations.
        tolerance: The bound on the error of integrals without closed form; None for the default.

    Raises:
        InputError: The dynamics does not exist.
        ToleranceError: The tolerance is out of reach.
    """
    from symderiv.foundation.errors import NotYetError
    from symderiv.lowering.means.approximation import (
        DEFAULT_TOLERANCE,
        has_holes,
        mixtures,
        quadrature,
    )

    if not has_holes(problem):
        of_problem = mixtures(problem, DEFAULT_TOLERANCE if tolerance is None else tolerance)
        tables, own = (
            ({}, []) if of_problem is None else (of_problem.tables, [_mixtures(of_problem)])
        )
        try:
            return [*own, *(_integral(problem, tables, *each) for each in _wanted(problem))]
        except NotYetError:
            pass  # another method remains
    rules = quadrature(problem, tolerance, limited=False)
    return [_rules(rules), *(_defined(*each) for each in _wanted(problem))]


def _rules(rules: Quadrature) -> Section:
    """Return the section on means by quadrature, with the largest error that was found."""
    from symderiv.lowering.means.quadrature_error import LARGEST_VARIANCE

    reach = rules.rule.four[2]
    how = (
        "Gauss' rule in panels between the kinks of the activations. Where fields are nearly "
        "aligned the kinks of one are seen by the other in a thin layer; panels grow geometrically "
        "out of it."
        if rules.kinked
        else "Equal steps in every $t_a$, fine enough for every field that moves with it; what "
        "lies beyond a sphere is left out."
    )
    longest = rules.rule.four[0 if rules.kinked else 1]
    steps = [
        Step(
            "no closed form",
            "The means of products of these activations are outside the class that the rules of "
            "the Gaussian calculus close; they stay integrals.",
            "",
            r"z = L t ,\quad L L^{T} = C ,\quad \left\langle f(z) \right\rangle = \int f(L t) "
            r"\prod_a \frac{e^{- t_a^2/2}}{\sqrt{2 \pi}} dt_a",
        ),
        Step(
            "quadrature",
            how,
            "",
            rf"h_a \le \min\left({_number(longest)}, "
            rf"\frac{{{_number(rules.rule.step)}}}{{\max_b \left|L_{{ba}}\right|}}\right) ,\quad "
            rf"\left|t\right| \le {_number(reach)}",
        ),
        Step(
            "largest error found",
            "The largest difference from a much finer rule that a search over covariances found, "
            "times a safety factor: random, aligned and opposite, almost singular and singular "
            f"ones with variances up to {LARGEST_VARIANCE:g}.",
            "",
            rf"\left|\Delta I_2\right| , \left|\Delta I_4\right| \le {_number(rules.error)}",
        ),
    ]
    return Section("Means by quadrature", "approximation", tuple(steps))


def _defined(name: str, kind: str, key: str, teachers: Sequence[bool]) -> Section:
    """Return the section on an integral without closed form: its definition."""
    mean = rf"\left\langle {' '.join(_product(kind, teachers))} \right\rangle"
    step = Step("definition", "The mean over the jointly Gaussian fields.", f"I_{kind[1]}", mean)
    return Section(f"Gaussian integral {name}", key, (step,))


def _product(kind: str, teachers: Sequence[bool]) -> list[str]:
    """Return the factors of I2, I3 or I4."""
    fields = _fields_of(kind)
    factors = []
    for number, teacher in enumerate(teachers):
        mark = "'" if number < _DERIVATIVES[kind] else ""
        factors.append(rf"{_letter(teacher)}{mark}({fields[number]})")
        if kind == "i3" and number == 0:
            factors.append("v")
    return factors


def _fields_of(kind: str) -> str:
    """Return the letters of an integral's fields; the second slot of I3 is a field itself."""
    return "uw" if kind == "i3" else _FIELDS


def _letter(teacher: bool) -> str:
    return r"\tilde g" if teacher else "g"


def _mixtures(fitted: Mixtures) -> Section:
    """Return the section on mixtures of approximated activations, with their errors."""
    import sympy as sp

    steps = [
        Step(
            "mixture",
            "The hyperbolic tangent is a scale mixture of error functions, because "
            r"$1/\cosh^2 \sqrt{t}$ is completely monotone in $t$: it is the Laplace transform of a "
            r"positive measure $\nu$.",
            r"\tanh x",
            r"\int_0^{\infty} \sqrt{\frac{\pi}{4 s}} \operatorname{erf}\left(\sqrt{s} x\right) "
            r"d\nu(s)",
        )
    ]
    for teacher, table in fitted.tables.items():
        letter, mixture = _letter(teacher), table.mixture
        rest = mixture.form.rest
        right = rf"\sum_{{k=1}}^{{{mixture.terms}}} w_k \operatorname{{erf}}\left(a_k x\right)"
        if rest != 0:
            right = f"{sp.latex(rest)} + {right}"
        steps.append(
            Step(
                "approximation",
                f"With {mixture.terms} terms, chosen for the tolerance {fitted.tolerance:g}. It is "
                f"the function {sp.sstr(mixture.form.expression)} that is approximated.",
                rf"{letter}(x) = {sp.latex(mixture.form.expression)} \approx {letter}_n(x)",
                right,
            )
        )
        steps.append(
            Step(
                "numbers",
                "Weights and scales; the errors below hold for exactly these numbers.",
                r"\left(w_k, a_k\right)_k",
                _listed(mixture.weights, mixture.scales),
            )
        )
        steps.append(_bound(letter, mixture))
        if table.square is not None:
            steps += _square(letter, table.square)
    return Section("Activation as a sum of error functions", "approximation", tuple(steps))


def _square(letter: str, square: SlopeSquare) -> list[Step]:
    """Return the steps on the sum for the square of a slope at one field, with its error."""
    return [
        Step(
            "two slopes at one field",
            "The fourth power of $1/\\cosh$ is such a mixture, too. In means of four factors the "
            f"product of two slopes at one field is a sum of {square.terms} terms of its own, in "
            f"place of all pairs of terms; its error is at most ${_number(square.error)}$, proved "
            "in the same way.",
            f"{letter}'(x)^2",
            rf"\sum_{{k=1}}^{{{square.terms}}} v_k \left(\frac{{d}}{{dx}} "
            r"\operatorname{erf}\left(b_k x\right)\right)^2",
        ),
        Step(
            "numbers",
            "Weights and scales.",
            r"\left(v_k, b_k\right)_k",
            _listed(square.weights, square.scales),
        ),
    ]


def _listed(weights: Sequence[float], scales: Sequence[float]) -> str:
    return r" ,\ ".join(
        rf"\left({_number(w)}, {_number(a)}\right)" for w, a in zip(weights, scales, strict=True)
    )


def _bound(letter: str, mixture: ErfMixture) -> Step:
    return Step(
        "certified error",
        "Proved by ball arithmetic: Taylor polynomials with enclosed remainders near the origin, "
        "monotone tails beyond.",
        "",
        rf"\sup_x \left|{letter}(x) - {letter}_n(x)\right| \le {_number(mixture.error)} ,\quad "
        rf"\sup_x \left|{letter}'(x) - {letter}_n'(x)\right| \le "
        rf"{_number(mixture.derivative_error)}",
    )


def _number(value: float) -> str:
    """Return a double with all its digits, and powers of ten in the usual form."""
    mantissa, _, exponent = repr(value).partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def _wanted(problem: LearningProblem) -> list[tuple[str, str, str, tuple[bool, ...]]]:
    """Return for each integral name, kind, key, and which of its factors are the teacher's."""
    if problem.same_activation:
        return [
            ("I2", "i2", "i2", (False,) * 2),
            ("I3", "i3", "i3", (False,) * 2),
            ("I4", "i4", "i4", (False,) * 4),
        ]
    return [
        ("I2, student and student", "i2", "i2_student", (False, False)),
        ("I2, student and teacher", "i2", "i2_cross", (False, True)),
        ("I2, teacher and teacher", "i2", "i2_teacher", (True, True)),
        ("I4, four students", "i4", "i4_student", (False,) * 4),
        ("I4, one teacher", "i4", "i4_cross", (False, False, False, True)),
        ("I4, two teachers", "i4", "i4_teacher", (False, False, True, True)),
    ]


def _integral(
    problem: LearningProblem,
    tables: Tables,
    name: str,
    kind: str,
    key: str,
    teachers: Sequence[bool],
) -> Section:
    """Return the section on I2, I3 or I4 with its closed form, for mixtures as a sum."""
    import sympy as sp

    from symderiv import gaussian

    x = sp.Symbol("x", real=True)
    fields = _fields_of(kind)
    summed, weights, scaled, slots = [], [], [], []
    for number, teacher in enumerate(teachers):
        table = tables.get(teacher)
        if table is None:
            slots.append((problem.teacher if teacher else problem.student).expression)
            continue
        index, steep = _INDICES[number], number < _DERIVATIVES[kind]
        summed.append(index)
        weights.append(f"w_{index}" + (f" a_{index}" if steep else ""))
        scaled.append(rf"{fields[number]} \to a_{index} {fields[number]}")
        slots.append(sp.erf(x))
    derived, result = expectation_steps(getattr(gaussian, kind)(*slots, folded=True))
    if not summed:
        return Section(f"Gaussian integral {name}", key, derived, result)
    steps = [*_defined(name, kind, key, teachers).steps]
    affine = any(table.mixture.form.rest != 0 for table in tables.values())
    steps.append(
        Step(
            "linearity",
            "The mixture in every slot; each summand is the mean F with erf in place of the "
            "activation, of fields scaled by the slots' $a$."
            + (" The affine part is multiplied out beside it." if affine else ""),
            f"I_{kind[1]}",
            rf"\sum_{{{' '.join(summed)}}} {' '.join(weights)} F({' , '.join(scaled)})"
            + (r" + \ldots" if affine else ""),
        )
    )
    return Section(f"Gaussian integral {name}", key, (*steps, *derived), result)


def expectation_steps(mean: DerivedExpectation) -> tuple[tuple[Step, ...], str]:
    """Return the steps to an expectation and their result, in LaTeX."""
    result = f"{mean.statement} = {_latex(mean.value)}"
    for symbol, value in mean.definitions:
        result += rf" ,\quad {_latex(symbol)} = {_latex(value)}"
    steps = tuple(
        Step(step.rule, step.statement, _readable(step.before), _readable(step.after))
        for step in mean.steps
    )
    return steps, _readable(result)


def _latex(value: sp.Expr) -> str:
    import sympy as sp

    text: str = sp.latex(value)
    return text


_CONDITIONAL = re.compile(r"c_\{([s\d ]+) given ([s\d ]+)\}")


def _readable(latex: str) -> str:
    """Return LaTeX with conditional covariances and inverse functions in their printed form."""
    latex = re.sub(r"\\operatorname\{a(sin|cos|tan)\}", r"\\arc\1", latex)
    return _CONDITIONAL.sub(
        lambda match: rf"c_{{{_fields(match[1])} \mid {_fields(match[2])}}}", latex
    )


def _fields(names: str) -> str:
    return re.sub(r"s(\d+)", r"s_{\1}", names)
