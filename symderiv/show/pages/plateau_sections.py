"""The plateau in a derivation: symmetric states, their linearisation, and the escape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from symderiv.foundation.documents.written_derivation import Section, Step
from symderiv.foundation.errors import NotYetError, SymderivError

if TYPE_CHECKING:
    import sympy as sp

    from symderiv.analysis.plateau.closed_plateau import LinearisedMatrices, PlateauForms
    from symderiv.formula import Activation
    from symderiv.learning.derivation.learning_equations import LearningEquations

_LETTERS = {
    "A_same": r"A_{ii}",
    "A_other": r"A_{ij}",
    "B_same": r"B_{in}",
    "Gamma_same": r"\Gamma_{ii}",
    "Gamma_other": r"\Gamma_{ij}",
    "learning_rate": r"\eta",
    "eigenvalue": r"\rho",
    "weight_decay": r"\kappa_{w}",
    "v_teacher": r"\tilde v",
}
_LHS = {"Q": r"Q_{ii}", "C": r"Q_{ij}", "R": r"R_{in}"}


def plateau_sections(activation: Activation, equations: LearningEquations) -> list[Section]:
    """Return sections on the symmetric plateau of equal activations, for general M, T and D.

    If the plateau of an activation cannot be derived with the present rules, one section says why;
    without a stable state of equal students, there are no numbers.
    """
    from symderiv.analysis.plateau.plateau_report import derived

    try:
        forms, matrices = derived(activation)
    except SymderivError as error:
        reason = (
            "Not derived: a mean on the plateau has no closed form with the present rules."
            if isinstance(error, NotYetError)
            else f"There is none: {error}"
        )
        step = Step("plateau", reason, "", r"K = M")
        return [Section("Symmetric fixed points", "symmetric_fixed_points", (step,))]
    return [
        _fixed_points(equations, forms),
        _matrices(forms, matrices),
        _escape(forms),
    ]


def _latex(value: Any) -> str:
    import sympy as sp

    free = {symbol: str(symbol) for symbol in sp.sympify(value).free_symbols}
    symbols = {each: _LETTERS[name] for each, name in free.items() if name in _LETTERS}
    text: str = sp.latex(value, symbol_names=symbols)
    return re.sub(r"\\operatorname\{a(sin|cos|tan)\}", r"\\arc\1", text)


def _fixed_points(equations: LearningEquations, forms: PlateauForms) -> Section:
    from symderiv.analysis.symmetric import reduced_equations

    reduced = reduced_equations(equations, paired=False, noise=False)
    steps = [
        Step(
            "symmetric state",
            "Students are exchangeable, and so are teachers; D is the sum of "
            "a row of T without its diagonal entry.",
            "",
            r"Q_{ii} = Q ,\quad Q_{ij} = C ,\quad R_{in} = R ,\quad T_{nn} = T ,\quad "
            r"T_{nm} = \frac{D}{M - 1}",
        )
    ]
    for name, value in reduced.gradients.items():
        steps.append(
            Step(
                "classes of indices",
                "Sums over units become sums over the classes "
                "that coincide with a free index or do not.",
                _LETTERS[str(name)],
                _latex(value),
            )
        )
    for letter, rate in reduced.spectral.items():
        steps.append(
            Step(
                "classes of indices",
                "One eigenspace; t and d are the teacher's overlaps in it, d a row sum like D.",
                rf"\frac{{d}}{{d \alpha}} {_LHS[letter]}^{{k}}",
                _mode_text(rate),
            )
        )
    steps.append(
        Step(
            "first order",
            "Without the terms of order $\\eta^2$ the stationary state "
            "has equal students along the sum of the teachers; c is their length.",
            r"J_{i}",
            r"c \sum_{n=1}^{M} B_{n}",
        )
    )
    steps.append(
        Step(
            "stationarity",
            "With $K = M$ and output weights $1/\\sqrt{M}$, c is a root "
            "of $c a_s + B_{in}$, $a_s = A_{ii} + (M-1) A_{ij}$.",
            "0",
            _latex(forms.stationarity),
        )
    )
    solved, result = _solution(forms)
    title, key = "Symmetric fixed points", "symmetric_fixed_points"
    return Section(title, key, (*steps, *solved), result)


def _solution(forms: PlateauForms) -> tuple[list[Step], str]:
    """Return the fixed point as expressions in closed form, if there are any, and as LaTeX."""
    closed = forms.closed
    if closed is None:
        return [], r"R = c \left(T + D\right) ,\quad Q = C = c^{2} M \left(T + D\right)"
    letters = {"c": "c", "R": "R", "Q": "Q", "generalization_error": r"\epsilon_g"}
    steps = [
        Step(
            "height" if name == "generalization_error" else "solution",
            "In closed form.",
            letter,
            _latex(closed[name]),
        )
        for name, letter in letters.items()
    ]
    return steps, rf"R = {_latex(closed['R'])} ,\quad Q = C = {_latex(closed['Q'])}"


def _mode_text(rate: sp.Expr) -> str:
    """Return the rate of one eigenspace in LaTeX, with the usual letters."""
    import sympy as sp

    replaced = {}
    for element in rate.atoms(sp.Indexed):
        name = str(element.base.label)
        letter = {
            "eigenvalue": r"\rho_{k}",
            "Q": "Q_{ii}^{k}",
            "C": "Q_{ij}^{k}",
            "R": "r^{k}",
            "T": "t^{k}",
            "D": "d^{k}",
        }[name]
        replaced[element] = sp.Symbol(letter, real=True)
    return _latex(rate.xreplace(replaced))


def _matrices(forms: PlateauForms, matrices: LinearisedMatrices | None) -> Section:
    from symderiv.analysis.plateau.stability import SECTORS
    from symderiv.formula import parse_formula

    steps = [
        Step(
            "sectors",
            "Permutations of students and of teachers split the flow linearised around "
            "the plateau; $\\Lambda$ holds the eigenvalues of the inputs, $\\tau$ the row sums of "
            "the teacher's overlaps, $\\theta$ their differences, w the weights.",
            "",
            r"a_s = A_{ii} + \left(M - 1\right) A_{ij} ,\quad \kappa = A_{ii} - A_{ij} ,\quad "
            r"B' = \frac{\partial B_{in}}{\partial R_{in}}",
        )
    ]
    for sector in SECTORS:
        formula = sector.formula
        for plain, letter in (
            ("Lambda", r"\Lambda"),
            ("kappa", r"\kappa"),
            ("theta", r"\theta"),
            ("tau", r"\tau"),
            ("w^T", r"w^{T}"),
        ):
            formula = formula.replace(plain, letter)
        statement = f"{sector.words[0].upper()}{sector.words[1:]}; times the multiplicity."
        steps.append(
            Step(
                sector.name.replace("_", " "),
                statement,
                "",
                rf"\left({_latex(parse_formula(sector.multiplicity, ['M']))}\right) \times \eta "
                rf"\left({formula}\right)",
            )
        )
    closed = forms.closed or {}
    for name, letter in (
        ("symmetric_stiffness", "a_s"),
        ("difference_stiffness", r"\kappa"),
        ("teacher_response", "B'"),
        ("length_response", "f_s"),
        ("one_length_response", "f_d"),
    ):
        if name in closed:
            steps.append(Step("coefficient", "On the plateau.", letter, _latex(closed[name])))
    if matrices is not None:
        steps += _kronecker_rows(matrices)
    return Section(
        "Linearised matrices",
        "linearised_matrices",
        tuple(steps),
        r"\frac{dx}{d\alpha} = \eta \left(- G \otimes \Lambda + H_{\tau} \otimes \tau w^{T} + "
        r"H_{\theta} \otimes \theta w^{T}\right) x",
    )


def _kronecker_rows(matrices: LinearisedMatrices) -> Iterator[Step]:
    """Yield the rows of the matrices, in the basis of the deviations."""
    letters = {
        "G": "G",
        "H_row": r"\left(H_{\tau}\right)",
        "H_difference": r"\left(H_{\theta}\right)",
    }
    words = (
        "One row in the basis of the deviations of $R_{ii}$, $R_{in}$, $\\rho Q_{ii}$, "
        "$\\rho Q_{ij}$."
    )
    for name, letter in letters.items():
        for place, row in enumerate(getattr(matrices, name).tolist(), start=1):
            entries = r" ,\; ".join(_latex(x) for x in row)
            left = rf"{letter}_{{{place} \cdot}}"
            yield Step("Kronecker form", words, left, rf"\left({entries}\right)")


def _escape(forms: PlateauForms) -> Section:
    import sympy as sp

    from symderiv.analysis.plateau.plateau_algebra import escape_forms

    steps = [
        Step(
            "specialisation",
            "Every student towards a teacher of its own; the other sectors do "
            "not tell the units apart.",
            r"\frac{dr}{d\alpha}",
            r"\eta \left(- \kappa \Lambda - B' \theta w^{T}\right) r",
        ),
        Step(
            "secular equation",
            "Its largest root is the escape rate.",
            "0",
            r"1 + \eta B' \sum_{k=1}^{L} \frac{w_{k} \theta_{k}}{\lambda + \eta \kappa \rho_{k}}",
        ),
    ]
    closed = forms.closed
    result = r"\tau_{esc} = \frac{1}{\lambda}"
    if closed is not None:
        rate = next(iter(escape_forms(closed).values()))
        letters = {"T2": "T^{(2)}", "D2": "D^{(2)}", "eta": r"\eta"}
        own = (each for each in rate.free_symbols if each.name in letters)
        rate = rate.xreplace({each: sp.Symbol(letters[each.name]) for each in own})
        words = "For isotropic inputs, a single eigenvalue 1."
        if closed["difference_stiffness"] == 0:
            words = "As $\\kappa = 0$ the matrix has rank one; $w^{T} \\theta$ is of order 2."
        steps.append(Step("closed form", words, r"\lambda", _latex(rate)))
        result = r"\lambda = 0"
        if rate != 0:
            result = rf"\tau_{{esc}} = {_latex(1 / rate)}"
    return Section("Escape time", "escape_time", tuple(steps), result)
