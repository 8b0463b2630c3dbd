"""Quantities for statements of a user's own paper, and the points at which they are tried.

A ``reference`` names quantities that the engine derives: the integrals of an activation, a general
expectation, the order-parameter equations of isotropic inputs, the symmetric plateau. Each gives
points in general position: K and M different, teachers neither of length one nor orthogonal,
covariances also near the edge of the cone. Reading a reference computes nothing; what turns out to
have no value when it is needed concerns its claim only and is no error of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from symderiv.foundation.errors import FormulaError, InputError, NotYetError
from symderiv_ledger.claims.claim import ComparisonRule, Point
from symderiv_ledger.claims.statement import parse_ranges, parse_statement
from symderiv_ledger.rules.arithmetic import Indexed, evaluate, index_values
from symderiv_ledger.rules.comparison_rules import Exact
from symderiv_ledger.rules.enclosed import deferred
from symderiv_ledger.rules.exact_means import GUARD, GaussianMean, exactly
from symderiv_ledger.rules.learning_rates import WEIGHTS, LearningRates

if TYPE_CHECKING:
    from symderiv.precision.balls.contexts import Numbers

#: Names of references, what they are about, and the names that their statements may use.
REFERENCES: Final = {
    "i2": "I2 = E[g(u)g(v)] as I; the covariance C[1, 1], C[1, 2], ...",
    "i3": "I3 = E[g'(u) v g(w)] as I; the covariance C[1, 1], C[1, 2], ...",
    "i4": "I4 = E[g'(u)g'(v)g(w)g(z)] as I; the covariance C[1, 1], C[1, 2], ...",
    "expectation": "the mean of the key 'expression' in x1, x2, ... as I; C[1, 1], C[1, 2], ...",
    "learning": "isotropic inputs: eps_g, dR[i, n], dQ[i, k] (rates per unit of alpha) in K, M, "
    "eta, v[i], w[n] (output weights of student and teacher; 1 where a statement has neither), "
    "Q[i, k], R[i, n], T[n, m]",
    "plateau": "the symmetric plateau of K = M units with output weights 1/sqrt(M) for small "
    "learning rates: R, Q, eps_g, tau (escape time) in M, T, D, T2, D2 (diagonal and sum of the "
    "off-diagonal entries in a row of the teacher's moments of order 1 and 2), eta; teachers = "
    "'isotropic' restricts it to T = T2 = 1, D = D2 = 0",
}

#: The number of activations in each integral.
_INTEGRALS: Final = {"i2": 2, "i3": 2, "i4": 4}
#: M, T, D, T2, D2 of the teachers at which the plateau is tried.
_TEACHERS: Final = {
    "general": (
        (2, "1", "0", "1", "0"),
        (3, "1", "0", "2", "0"),
        (2, "3/2", "1/5", "2", "1/3"),
        (4, "2/3", "-1/6", "5/4", "1/7"),
        (7, "2", "1", "9", "-1"),
    ),
    "isotropic": tuple((units, "1", "0", "1", "0") for units in (2, 3, 5, 12)),
}
#: Output weights of the plateau; with 1, rates (and errors found from them) are M times as large.
_PLATEAU_WEIGHTS: Final = ("1/sqrt(M)", "1")
_BASES: Final = ("C", "c", "Q", "Sigma")


@dataclass(frozen=True)
class Reference:
    """Points for statements about some quantities of the engine.

    Args:
        points: See :class:`~symderiv_ledger.claims.claim.Claim`.
        rule: How statements are tried.
        example: The names that statements may use, with values of the right kind that mean nothing.
        symmetric: Names whose indices may be exchanged.
        fields: Number of fields, for formulas in the entries of a covariance; 0: there are none.
        conventions: The same points under every convention on output weights, by its words.
        weights: The convention of ``points``; empty if there are none.
        unless: The convention of statements without any of these names, with the names.
    """

    points: Callable[[Any], Iterable[Point]]
    rule: ComparisonRule
    example: Callable[[Any], Mapping[str, Any]]
    symmetric: tuple[str, ...] = ()
    fields: int = 0
    conventions: Mapping[str, Callable[[Any], Iterable[Point]]] = field(default_factory=dict)
    weights: str = ""
    unless: tuple[str, frozenset[str]] | None = None

    def meant(self, names: frozenset[str]) -> Reference:
        """Return the reference for a statement with these names, in its convention."""
        if self.unless is None or self.unless[1] & names:
            return self
        weights = self.unless[0]
        return replace(self, points=self.conventions[weights], weights=weights)

    def statement_of(self, formula: str) -> str:
        """Return a pasted formula (LaTeX or text) for the mean as a statement ``I == ...``."""
        if not self.fields:
            raise InputError(
                "a formula needs i2, i3, i4 or expectation as reference; otherwise write a "
                "statement"
            )
        return f"I == {_in_entries(formula, self.fields)}"

    def check(self, statement: str, ranges: str) -> None:
        """Refuse a statement with names or functions that are not known, before anything runs."""
        from symderiv.precision.balls.contexts import numbers

        tree = parse_statement(statement)
        with numbers(15, "mpmath") as context:
            values = self.example(context)
            for indices in index_values(parse_ranges(ranges), values):
                for side in tree.sides:
                    try:
                        evaluate(side, {**values, **indices}, context)
                    except ArithmeticError:
                        continue
                return


def read_reference(table: Mapping[str, Any]) -> Reference:
    """Return a reference from a table that has its name and its parameters only."""
    name = table.get("reference")
    if not isinstance(name, str) or name not in REFERENCES:
        raise InputError(f"reference must be one of {', '.join(REFERENCES)}, not {name!r}")
    digits = table.get("digits", 30)
    if not isinstance(digits, int) or not 4 <= digits <= 200:
        raise InputError("digits must be an integer from 4 to 200")
    if name in _INTEGRALS or name == "expectation":
        product, symbols = (_integrand if name in _INTEGRALS else _expression)(table)
        return _of_mean(GaussianMean(product, symbols, digits, "digits" in table))
    if name == "learning":
        _refuse_others(table, ("activation", "teacher_activation", "order", "weights"))
        own = _named(_required(table, "activation"))
        teacher = _named(str(table.get("teacher_activation", own)))
        order = table.get("order", "full")
        if order not in ("full", "small-learning-rate"):
            raise InputError("order must be 'full' or 'small-learning-rate'")
        rates = LearningRates(own, teacher, order == "full", digits)
        return _of_rates(rates, _weights(table, tuple(WEIGHTS)))
    return _of_plateau(table, digits)


def _of_plateau(table: Mapping[str, Any], digits: int) -> Reference:
    _refuse_others(table, ("activation", "teachers", "weights"))
    text = _named(_required(table, "activation"))
    teachers = table.get("teachers", "general")
    if teachers not in _TEACHERS:
        raise InputError(f"teachers must be one of {', '.join(_TEACHERS)}")
    conventions = {
        f"output weights {weights}": partial(_plateau_points, text, _TEACHERS[teachers], weights)
        for weights in _PLATEAU_WEIGHTS
    }
    weights = f"output weights {_weights(table, _PLATEAU_WEIGHTS) or _PLATEAU_WEIGHTS[0]}"
    return Reference(
        conventions[weights],
        Exact(digits=digits + GUARD, lost=GUARD),
        _plateau_example,
        conventions=conventions,
        weights=weights,
    )


def _weights(table: Mapping[str, Any], known: tuple[str, ...]) -> str:
    value = str(table.get("weights", ""))
    if value and value not in known:
        raise InputError(f"weights must be one of {', '.join(known)}, not {value!r}")
    return value


def _of_rates(rates: LearningRates, weights: str) -> Reference:
    """Return a reference to rates.

    Statements without output weights mean that these are 1, unless the file says otherwise.
    """
    conventions = {words: replace(rates, weights=name).points for name, words in WEIGHTS.items()}
    chosen = WEIGHTS[weights or "any"]
    replace(rates, weights=weights or "any").check_weights()
    return Reference(
        conventions[chosen],
        deferred(lambda: rates.rule),
        _rates_example,
        ("Q", "T"),
        conventions=conventions,
        weights=chosen,
        unless=None if weights else (WEIGHTS["one"], frozenset("vw")),
    )


def _refuse_others(table: Mapping[str, Any], own: Sequence[str]) -> None:
    for key in table:
        if key not in ("reference", "digits", *own):
            raise InputError(f"unknown key {key!r}")


def _required(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str):
        raise InputError(f"this reference needs {key}, a text")
    return value


def _named(text: str) -> str:
    """Return an activation's text; refuse one that cannot be read."""
    from symderiv.formula import activation

    activation(text)
    return text


# -- means -------------------------------------------------------------------------------------


def _of_mean(mean: GaussianMean) -> Reference:
    n = len(mean.fields)

    def example(numbers: Numbers) -> dict[str, Any]:
        rows = [[numbers.mpf(3 if i == j else 1) / 2 for j in range(n)] for i in range(n)]
        return {"I": numbers.mpf(1) / 3, "C": Indexed(rows, (1, n), (1, n))}

    return Reference(mean.points, deferred(lambda: mean.rule), example, ("C",), n)


def _integrand(table: Mapping[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    from symderiv import gaussian
    from symderiv.formula import activation

    _refuse_others(table, ("activation", "activations"))
    which, slots = table["reference"], _INTEGRALS[table["reference"]]
    texts = table.get("activations")
    if "activations" not in table:
        texts = [_required(table, "activation")] * slots
    if not isinstance(texts, list) or len(texts) != slots:
        raise InputError(f"activations must be a list of {slots} activations")
    return gaussian.integrand(which, [activation(str(text)).expression for text in texts])


def _expression(table: Mapping[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    import sympy as sp

    from symderiv.formula import parse_formula

    _refuse_others(table, ("expression", "fields"))
    fields = table.get("fields", 2)
    if not isinstance(fields, int) or not 1 <= fields <= 4:
        raise InputError("fields must be an integer from 1 to 4")
    names = [f"x{k + 1}" for k in range(fields)]
    product = parse_formula(_required(table, "expression"), names)
    return product, tuple(sp.Symbol(name, real=True) for name in names)


def _in_entries(formula: str, fields: int) -> str:
    """Return a formula in C_{12}, c12, ... as text of the statement language."""
    import sympy as sp

    from symderiv.formula.pasted import build_formula, read_definitions

    count = range(1, fields + 1)
    names = {
        f"{base}{i}{j}": f"c{min(i, j)}{max(i, j)}" for base in _BASES for i in count for j in count
    }
    _, tree = read_definitions(formula, names)
    built = build_formula(tree, sorted(set(names.values())))
    text = sp.sstr(built)
    if "SignMean4" in text or "OwenT" in text:
        raise FormulaError("SignMean4 and OwenT are not known in statements")
    return re.sub(r"\bc(\d)(\d)\b", r"C[\1, \2]", text)


# -- learning ----------------------------------------------------------------------------------


def _rates_example(numbers: Numbers) -> dict[str, Any]:
    K, M = 2, 3

    def table(*sizes: int) -> Indexed:
        return Indexed(lambda *place: numbers.mpf(4 - max(place)) / 2, *((1, k) for k in sizes))

    return {
        "K": K,
        "M": M,
        "eta": numbers.mpf(1) / 2,
        "eps_g": numbers.mpf(1) / 3,
        "v": table(K),
        "w": table(M),
        "Q": table(K, K),
        "R": table(K, M),
        "T": table(M, M),
        "dQ": table(K, K),
        "dR": table(K, M),
    }


def _plateau_example(numbers: Numbers) -> dict[str, Any]:
    names = ("R", "Q", "eps_g", "tau", "T", "D", "T2", "D2", "eta")
    return {"M": 3, **{name: numbers.mpf(k + 2) / 3 for k, name in enumerate(names)}}


def _plateau_points(
    text: str, cases: Sequence[tuple[int, str, str, str, str]], weights: str, numbers: Any
) -> Iterator[Point]:
    import sympy as sp

    from symderiv.analysis.plateau.plateau_report import derived
    from symderiv.formula import activation
    from symderiv.gaussian.forms.evaluate import number

    forms, _ = derived(activation(text))
    closed = forms.closed
    if closed is None or closed["difference_stiffness"] != 0:
        raise NotYetError(f"the plateau of {text} has no closed form")
    eta = sp.Rational(1, 3)
    for units, *moments in cases:
        T, D, T2, D2 = (sp.Rational(moment) for moment in moments)
        known = {"M": sp.Integer(units), "T": T, "D": D}
        here = {}
        for name, value in closed.items():
            at = value.xreplace({s: known[s.name] for s in value.free_symbols if s.name in known})
            if not at.free_symbols:
                here[name] = number(at, numbers.dps, numbers)
        squares = units if weights == "1" else 1
        rate = -here["teacher_response"] * exactly(squares * eta * (T2 - D2 / (units - 1)), numbers)
        exact = {"T": T, "D": D, "T2": T2, "D2": D2, "eta": eta}
        values = {
            "M": units,
            "R": here["R"],
            "Q": here["Q"],
            "eps_g": squares * here["generalization_error"],
            "tau": 1 / rate,
            **{name: exactly(value, numbers) for name, value in exact.items()},
        }
        yield Point(f"M = {units}, T = {T}, D = {D}, T2 = {T2}, D2 = {D2}", values)
