r"""Learning equations in LaTeX, in the letters of the literature; sums run from 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.functions.special.tensor_functions import KroneckerDelta
from sympy.printing.latex import LatexPrinter

from symderiv.keys.study_tables import Training, letter_of
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.indexed_sums import Limit


@dataclass(frozen=True)
class _Style:
    """The LaTeX style of an array element: positions of the indices below and above the letter."""

    letter: str
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    comma_after: int = 0  # a comma after this many lower indices
    mark: str = ""  # above the letter, before indices


_STYLES: Mapping[tuple[str, int], _Style] = {
    ("J", 3): _Style("J", (0, 2)),
    ("U", 3): _Style("U", (0, 2)),
    ("update_zeta", 3): _Style(r"\zeta", (0, 2)),
    ("v_velocity", 1): _Style("U^v", (0,)),
    ("b_velocity", 1): _Style("U^b", (0,)),
    ("u_mode", 2): _Style("u", (1,), (0,)),
    ("phi", 3): _Style(r"\varphi", (0, 2)),
    ("phi", 4): _Style(r"\varphi", (1, 3), (0,)),
    ("xi", 2): _Style(r"\xi", (1,)),
    ("multiplicity", 1): _Style("n", (0,)),
    ("input_epsilon", 2): _Style(r"\varepsilon", (1,)),
    ("x", 1): _Style("x", (0,)),
    ("y", 1): _Style("y", (0,)),
    ("x_mode", 2): _Style("x", (1,), (0,)),
    ("y_mode", 3): _Style("y", (2,), (1, 0)),
    ("xi_square", 1): _Style("s", (0,)),
    ("F", 1): _Style("F", (0,)),
    ("weight", 1): _Style("w", (0,)),
    ("eigenvalue", 1): _Style(r"\rho", (0,)),
    ("eigenvalue", 2): _Style(r"\rho", (1,), (0,)),
    ("probability", 1): _Style("p", (0,)),
    ("v", 1): _Style("v", (0,)),
    ("v_teacher", 1): _Style(r"\tilde v", (0,)),
    ("mask", 1): _Style(r"\theta", (0,)),
    ("kept_pair", 2): _Style(r"\pi", (0, 1)),
    ("kept", 3): _Style(r"\pi", (0, 1, 2), (), 2),
    ("student_biases", 1): _Style("b", (0,)),
    ("teacher_biases", 1): _Style("c", (0,)),
    ("db", 1): _Style(r"\partial_b\epsilon", (0,)),
    ("dv", 1): _Style(r"\partial_v\epsilon", (0,)),
    ("stretch", 1): _Style(r"\lambda", (0,)),
    ("gradient", 3): _Style("g", (0, 2)),
    ("spectral_moment", 1): _Style(r"\nu", (0,)),
    ("closure", 1): _Style("c", (0,)),
    # overlaps per eigenvalue; those with teachers also per component
    **{
        (f"{name}_overlap", 3): _Style(letter, (0, 1, 2), (), 1)
        for name, letter in (("student", "Q"), ("cross", "r"), ("teacher", "t"))
    },
    ("cross_overlap", 4): _Style("r", (1, 2, 3), (0,), 1),
    ("teacher_overlap", 4): _Style("t", (1, 2, 3), (0,), 1),
    ("teacher_overlap", 5): _Style("t", (2, 3, 4), (0, 1), 1),
    **{
        (f"momentum_{name}", count): _Style(letter, tuple(range(count)), (), int(count == 3))
        for name, letter in (("overlap", "P"), ("square", "W"), ("cross", "C"))
        for count in (2, 3)
    },
    ("momentum_cross", 4): _Style("C", (1, 2, 3), (0,), 1),
    **{
        (name, count): _Style(letter, (count - 2, count - 1), tuple(range(count - 2)))
        for name, letter in (*((each, each) for each in "QRTABGH"), ("Gamma", r"\Gamma"))
        for count in (2, 3)
    },
    **{
        (f"{name}_moment", 3): _Style(letter, (1, 2), (0,))
        for name, letter in (("student", "Q"), ("cross", "R"), ("teacher", "T"))
    },
}
_KINDS = {
    "overlap": "O",
    "product": "O",
    "covariance": "C",
    "drift": "D",
    "gain": "G",
    "x": "x",
    "w": "w",
}


def _of_families(element: sp.Indexed) -> _Style:
    """Return the style of an array named after families of vectors, whose names go above the
    letter.
    """
    kind, *families = str(element.base.label).removesuffix("_of_all").split("_")
    above = "".join(name for name in families if name != "mode")
    if str(element.base.label).endswith("_of_all"):
        above += r"\mathbb{1}"
    letter, count = _KINDS[kind], len(element.indices)
    if "mode" in families:
        return _Style(letter, (1,), (0,), mark=above)
    if kind == "w":
        return _Style(letter, (0, 2), mark=above)
    own = {"overlap": min(count, 3), "x": 1}.get(kind, 2)
    upper, lower = tuple(range(count - own)), tuple(range(count - own, count))
    return _Style(letter, lower, upper, int(own == 3), above)


_MOMENTS = frozenset({"student_moment", "cross_moment", "teacher_moment"})
_SYMBOLS = {
    **{
        name: "_".join(filter(None, letter_of(name)))
        for name, record in Training.RECORDS.items()
        if record.letter
    },
    "zeta": r"\zeta",
    "flip": "f",
    "label": r"\tau",
    "label_flip": "p_f",
    "mean_flip": r"\langle f \rangle",
    "keep": r"\langle \theta \rangle",
    **{f"keep_{order}": rf"\kappa_{order}" for order in (2, 3, 4)},
    "evaluation_scale": r"\lambda",
    "gradient_size": r"\bar g",
    "generalization_error": r"\epsilon_g",
}


_FIRST = ("probability", "weight", "eigenvalue", "v", "v_teacher")


_LAST = 9


def _factor_rank(factor: sp.Expr) -> tuple[int, int, str]:
    base = factor.as_base_exp()[0]
    if base == s.delta:  # an abbreviation for a sum
        return _LAST, 0, ""
    kinds = (sp.Symbol, sp.Indexed, sp.Function, sp.Add, sp.Sum)
    rank = next((number for number, kind in enumerate(kinds) if isinstance(base, kind)), -1)
    name = str(base.base.label) if isinstance(base, sp.Indexed) else ""
    return rank, _FIRST.index(name) if name in _FIRST else len(_FIRST), str(factor)


class _LearningPrinter(LatexPrinter):  # type: ignore[misc]
    """LaTeX in the letters of the literature."""

    _settings: dict[str, Any]

    def _print_Symbol(self, symbol: sp.Symbol, style: str = "plain") -> str:
        return _SYMBOLS.get(str(symbol)) or str(super()._print_Symbol(symbol, style))

    def _print_Mul(self, product: sp.Mul) -> str:
        # Usual order: numbers, parameters, array elements, functions, sums.
        if not isinstance(product, sp.Mul):  # a lone negative power is printed as a product
            return str(super()._print_Mul(product))
        ordered = sorted(product.args, key=_factor_rank)
        sums = [factor for factor in ordered if isinstance(factor, sp.Sum)]
        if sums:
            # Sums stand outside of fractions: one half times a sum, not a sum over two.
            rest = sp.Mul(*(factor for factor in ordered if not isinstance(factor, sp.Sum)))
            signs = {sp.Integer(1): "", sp.Integer(-1): "- "}
            text = rf"\left({self._print(rest)}\right)" if rest.is_Add else self._print(rest)
            head = signs.get(rest, f"{text} ")
            return head + r" \, ".join(self._print(factor) for factor in sums)
        order = self._settings["order"]
        self._settings["order"] = "none"
        text = str(super()._print_Mul(sp.Mul(*ordered, evaluate=False)))
        self._settings["order"] = order
        return text

    def _print_Add(self, total: sp.Add, order: str | None = None) -> str:
        # The order "none" must apply to the factors of products only.
        return str(super()._print_Add(total, order="lex"))

    def _print_Indexed(self, element: sp.Indexed, exp: str | None = None) -> str:
        name = str(element.base.label)
        style = _STYLES.get((name, len(element.indices))) or _of_families(element)
        letters = [self._print(index) for index in element.indices]
        lower = [letters[position] for position in style.lower]
        if style.comma_after and len(lower) > style.comma_after:
            lower[style.comma_after - 1] += ","
        upper = [letters[position] for position in style.upper]
        if style.mark:
            upper.insert(0, style.mark)
        if name in _MOMENTS:
            upper = [f"({letter})" for letter in upper]
        text = style.letter
        if lower:
            text += f"_{{{''.join(lower)}}}"
        if upper:
            text += f"^{{{','.join(upper)}}}"
        if exp is None:
            return text
        return f"\\left({text}\\right)^{{{exp}}}" if upper else f"{text}^{{{exp}}}"

    def _print_Idx(self, index: sp.Idx) -> str:
        return str(index.label)

    def _print_Sum(self, expression: sp.Sum) -> str:
        limits = [self.sum_sign(*limit) for limit in reversed(expression.limits)]
        body = expression.function
        text = self._print(body)
        if isinstance(body, sp.Add):
            text = rf"\left({text}\right)"
        return " ".join([*limits, text])

    def sum_sign(self, index: Any, lower: Any, upper: Any) -> str:
        """Return the sign of a sum with its range."""
        if index in s.COORDINATES:
            mode = upper.indices[0] if isinstance(upper, sp.Indexed) else "k"
            return rf"\sum_{{{index} \in \mathcal{{E}}_{{{mode}}}}}"
        if lower == 0 and isinstance(index, sp.Idx):
            if str(index) == "l":
                return rf"\sum_{{l=0}}^{{{self._print(upper)}}}"
            return rf"\sum_{{{index}=1}}^{{{self._print(upper + 1)}}}"
        return rf"\sum_{{{index}={self._print(lower)}}}^{{{self._print(upper)}}}"

    def _activation(self, letter: str, call: sp.Expr, exp: str | None) -> str:
        order, field = call.args
        marks = "'" * int(order)
        power = f"^{{{exp}}}" if exp else ""
        if marks and power:
            return rf"\left({letter}{marks}({self._print(field)})\right){power}"
        return f"{letter}{marks}{power}({self._print(field)})"

    def _print_StudentActivation(self, call: sp.Expr, exp: str | None = None) -> str:
        return self._activation("g", call, exp)

    def _print_TeacherActivation(self, call: sp.Expr, exp: str | None = None) -> str:
        return self._activation(r"\tilde g", call, exp)

    def _print_Average(self, call: sp.Expr, exp: str | None = None) -> str:
        text = rf"\left\langle {self._print(call.args[0])} \right\rangle"
        return rf"{text}^{{{exp}}}" if exp else text

    def _print_ComponentAverage(self, call: sp.Expr, exp: str | None = None) -> str:
        text = rf"\left\langle {self._print(call.args[0])} \right\rangle_{{{call.args[1]}}}"
        return rf"{text}^{{{exp}}}" if exp else text

    def _print_LossSlope(self, call: sp.Expr, exp: str | None = None) -> str:
        a, b = (int(order) for order in call.args)
        lower = f"_{{{a * 's' + b * 't'}}}" if a or b else ""
        return rf"\ell{lower}" + (f"^{{{exp}}}" if exp else "")

    def _print_Partial(self, call: sp.Expr) -> str:
        function, *variables = call.args
        power = f"^{len(variables)}" if len(variables) > 1 else ""
        above = self._print(function)
        if function.is_Mul:
            above = rf"\left({above}\right)"
        below = " ".join(rf"\partial {self._print(variable)}" for variable in variables)
        return rf"\frac{{\partial{power} {above}}}{{{below}}}"

    def _print_Change(self, call: sp.Expr) -> str:
        return rf"\Delta {self._print(call.args[0])}"

    def _print_Rate(self, call: sp.Expr) -> str:
        return rf"\frac{{d}}{{d \alpha}} {self._print(call.args[0])}"

    def _print_KroneckerDelta(self, delta: KroneckerDelta, exp: str | None = None) -> str:
        # No power is printed: a Kronecker delta is its own square.
        first, second = (self._print(argument) for argument in delta.args)
        return rf"\delta_{{{first}{second}}}"


def latex(expression: sp.Basic) -> str:
    """Return the expression in LaTeX, in the project's letters."""
    return str(_LearningPrinter({}).doprint(expression))


def sum_sign(limit: Limit) -> str:
    """Return the sign of a sum with its range."""
    return _LearningPrinter({}).sum_sign(*limit)


def coefficient_first(expression: sp.Expr) -> str:
    """Return the expression in LaTeX with its numerical factor in front."""
    number, rest = expression.as_coeff_Mul()
    return latex(rest) if number == 1 else f"{latex(number)} {latex(rest)}"


def by_rates(expression: sp.Expr) -> str:
    """Return a sum in LaTeX: first the term without a rate, then descent, then decay.

    Each term begins with its rate and the power of N.
    """

    def order(term: sp.Expr) -> int:
        return next((n for n, rates in enumerate(_RATES, 1) if term.has(*rates)), 0)

    text = ""
    for term in sorted(sp.Add.make_args(expression), key=order):
        negative = term.could_extract_minus_sign()
        parts = sp.Mul.make_args(-term if negative else term)
        rate = sp.Mul(*(part for part in parts if part.free_symbols <= _SCALES))
        rest = sp.Mul(*(part for part in parts if not part.free_symbols <= _SCALES))
        sign = ("- " if negative else "") if not text else " - " if negative else " + "
        body = rf"\left({latex(rest)}\right)" if rest.is_Add and rate != 1 else latex(rest)
        text += sign + (f"{latex(rate)} " if rate != 1 else "") + body
    return text


_RATES = ((s.eta, s.eta_v, s.eta_b), (s.kappa, s.kappa_v))
_SCALES = {s.N, *_RATES[0], *_RATES[1]}
