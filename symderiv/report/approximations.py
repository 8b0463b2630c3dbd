"""The part of a derivation that says how activations without closed means enter the equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symderiv.derivation import Section, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symderiv.gaussian.mixture import Mixture
    from symderiv.learning import LearningProblem
    from symderiv.learning.approximation import Approximation

_FIELDS = "uvwz"
_INDICES = "klmn"


def approximate_sections(problem: LearningProblem, tolerance: float) -> list[Section]:
    """The approximated activations and their integrals; nothing if all means are closed.

    Raises:
        ToleranceError: The tolerance is out of reach.
    """
    from symderiv.learning.approximation import approximation

    found = approximation(problem, tolerance)
    if found is None:
        return []
    return [_mixtures(found), *_integrals(problem, found)]


def _letter(teacher: bool) -> str:
    return r"\tilde g" if teacher else "g"


def _mixtures(found: Approximation) -> Section:
    """The mixture of every approximated activation with its errors."""
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
    for teacher, table in found.tables.items():
        letter, mixture = _letter(teacher), table.mixture
        rest = mixture.form.rest
        right = rf"\sum_{{k=1}}^{{{mixture.terms}}} w_k \operatorname{{erf}}\left(a_k x\right)"
        if rest != 0:
            right = f"{sp.latex(rest)} + {right}"
        steps.append(
            Step(
                "approximation",
                f"With {mixture.terms} terms, chosen for the tolerance {found.tolerance:g}. It is "
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
                r" ,\ ".join(
                    rf"\left({_number(w)}, {_number(a)}\right)"
                    for w, a in zip(mixture.weights, mixture.scales, strict=True)
                ),
            )
        )
        steps.append(_bound(letter, mixture))
    return Section("Activation as a sum of error functions", "approximation", tuple(steps))


def _bound(letter: str, mixture: Mixture) -> Step:
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
    """A double with all its digits; powers of ten as people write them."""
    mantissa, _, exponent = repr(value).partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def _integrals(problem: LearningProblem, found: Approximation) -> list[Section]:
    """I2, I3 and I4: the definition, the sum, and the closed form of its summand."""
    if problem.same_activation:
        wanted = [("I2", "i2", ""), ("I3", "i3", ""), ("I4", "i4", "")]
        patterns = [(False,) * 2, (False,) * 2, (False,) * 4]
    else:
        wanted = [
            ("I2, student and student", "i2", "_student"),
            ("I2, student and teacher", "i2", "_cross"),
            ("I2, teacher and teacher", "i2", "_teacher"),
            ("I4, four students", "i4", "_student"),
            ("I4, one teacher", "i4", "_cross"),
            ("I4, two teachers", "i4", "_teacher"),
        ]
        patterns = [
            (False, False),
            (False, True),
            (True, True),
            (False,) * 4,
            (False, False, False, True),
            (False, False, True, True),
        ]
    return [
        _integral(problem, found, name, kind, kind + suffix, teachers)
        for (name, kind, suffix), teachers in zip(wanted, patterns, strict=True)
    ]


def _integral(
    problem: LearningProblem,
    found: Approximation,
    name: str,
    kind: str,
    key: str,
    teachers: Sequence[bool],
) -> Section:
    import sympy as sp

    from symderiv import gaussian
    from symderiv.report.derivations import expectation_steps

    x = sp.Symbol("x", real=True)
    derivatives = {"i2": 0, "i3": 1, "i4": 2}[kind]
    # I3 has a field of its own in its second slot.
    fields = "uw" if kind == "i3" else _FIELDS
    product, summed, weights, scaled, slots = [], [], [], [], []
    for number, teacher in enumerate(teachers):
        field, mark = fields[number], "'" if number < derivatives else ""
        product.append(rf"{_letter(teacher)}{mark}({field})")
        if kind == "i3" and number == 0:
            product.append("v")
        table = found.tables.get(teacher)
        if table is None:
            slots.append((problem.teacher if teacher else problem.student).expression)
            continue
        index = _INDICES[number]
        summed.append(index)
        weights.append(f"w_{index}" + (f" a_{index}" if mark else ""))
        scaled.append(rf"{field} \to a_{index} {field}")
        slots.append(sp.erf(x))
    mean = rf"\left\langle {' '.join(product)} \right\rangle"
    steps = [Step("definition", "The mean over the jointly Gaussian fields.", f"I_{kind[1]}", mean)]
    functions: dict[str, Callable[..., Any]] = {
        "i2": gaussian.i2,
        "i3": gaussian.i3,
        "i4": gaussian.i4,
    }
    closed = functions[kind](*slots, folded=True)
    if not summed:
        return Section(f"Gaussian integral {name}", key, *expectation_steps(closed))
    derived, result = expectation_steps(closed)
    affine = any(table.mixture.form.rest != 0 for table in found.tables.values())
    steps.append(
        Step(
            "linearity",
            "The mixture in every slot; each summand is the mean F with erf in the place of the "
            "activation, of fields scaled by the slots' $a$."
            + (" The affine part is multiplied out beside it." if affine else ""),
            f"I_{kind[1]}",
            rf"\sum_{{{' '.join(summed)}}} {' '.join(weights)} F({' , '.join(scaled)})"
            + (r" + \ldots" if affine else ""),
        )
    )
    return Section(f"Gaussian integral {name}", key, (*steps, *derived), result)
