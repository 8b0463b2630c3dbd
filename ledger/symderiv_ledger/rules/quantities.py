"""Quantities for statements of a user's own paper, and the points at which they are tried.

A ``reference`` names quantities that the engine derives. Each gives points in general position: K
and M different, teachers neither of length one nor orthogonal, covariances also near the edge of
the cone. Reading a reference computes nothing; what turns out to have no value when it is needed
concerns its claim only and is no error of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, cast

from symderiv.foundation.errors import FormulaError, InputError, NotYetError
from symderiv_ledger.claims.claim import ComparisonRule, Point
from symderiv_ledger.claims.statement import parse_ranges, parse_statement
from symderiv_ledger.claims.tables import Table, one_of, refuse_unknown, required
from symderiv_ledger.rules.arithmetic import Indexed, evaluate, index_values
from symderiv_ledger.rules.comparison_rules import Exact
from symderiv_ledger.rules.exact_means import GUARD, GaussianMean, exactly
from symderiv_ledger.rules.learning_rates import WEIGHTS, LearningRates

if TYPE_CHECKING:
    from symderiv.precision.balls.contexts import Numbers

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

Points = Callable[[Any], Iterable[Point]]


@dataclass(frozen=True)
class Reference:
    """Points for statements about some quantities of the engine."""

    rule: ComparisonRule  # how statements are tried
    # the points under every convention on output weights, by its words; with empty words where
    # there is no convention
    conventions: Mapping[str, Points]
    weights: str  # the convention that is meant
    # the names that statements may use, with values of the right kind that mean nothing
    example: Callable[[Any], Mapping[str, Any]]
    symmetric: tuple[str, ...] = ()  # names whose indices may be exchanged
    # number of fields, for formulas in the entries of a covariance; 0: there are none
    fields: int = 0
    # the convention of statements without any of these names, with the names
    unless: tuple[str, frozenset[str]] | None = None

    @property
    def points(self) -> Points:
        return self.conventions[self.weights]

    def meant(self, names: frozenset[str]) -> Reference:
        """Return the reference for a statement with these names, in its convention."""
        if self.unless is None or self.unless[1] & names:
            return self
        return replace(self, weights=self.unless[0])

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


class _Deferred:
    """A rule that is chosen when first needed, as finding closed means takes time."""

    def __init__(self, choose: Callable[[], ComparisonRule]) -> None:
        self._choose = choose

    @cached_property
    def _rule(self) -> ComparisonRule:
        return self._choose()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rule, name)


def read_reference(table: Table) -> Reference:
    """Return a reference from a table that has its name and its parameters only."""
    name = table.get("reference")
    if not isinstance(name, str) or name not in _READERS:
        raise InputError(f"reference must be one of {', '.join(_READERS)}, not {name!r}")
    keys, read = _READERS[name]
    refuse_unknown(table, ("reference", "digits", *keys))
    digits = table.get("digits", 30)
    if not isinstance(digits, int) or not 4 <= digits <= 200:
        raise InputError("digits must be an integer from 4 to 200")
    return read(table, digits)


def _activation(table: Table, key: str = "activation") -> str:
    """Return the text of an activation that can be read."""
    from symderiv.formula import activation

    text = required(table, [key], "this reference")[key]
    activation(text)
    return text


# -- means -------------------------------------------------------------------------------------


def _of_integral(table: Table, digits: int) -> Reference:
    from symderiv import gaussian
    from symderiv.formula import activation

    which, slots = table["reference"], _INTEGRALS[table["reference"]]
    texts = table.get("activations")
    if "activations" not in table:
        texts = [_activation(table)] * slots
    if not isinstance(texts, list) or len(texts) != slots:
        raise InputError(f"activations must be a list of {slots} activations")
    functions = [activation(str(text)).expression for text in texts]
    return _of_mean(*gaussian.integrand(which, functions), digits, "digits" in table)


def _of_expression(table: Table, digits: int) -> Reference:
    import sympy as sp

    from symderiv.formula import parse_formula

    fields = table.get("fields", 2)
    if not isinstance(fields, int) or not 1 <= fields <= 4:
        raise InputError("fields must be an integer from 1 to 4")
    names = [f"x{k + 1}" for k in range(fields)]
    text = required(table, ["expression"], "this reference")["expression"]
    symbols = tuple(sp.Symbol(name, real=True) for name in names)
    return _of_mean(parse_formula(text, names), symbols, digits, "digits" in table)


def _of_mean(integrand: Any, fields: tuple[Any, ...], digits: int, insist: bool) -> Reference:
    mean, n = GaussianMean(integrand, fields, digits, insist), len(fields)

    def example(numbers: Numbers) -> dict[str, Any]:
        rows = [[numbers.mpf(3 if i == j else 1) / 2 for j in range(n)] for i in range(n)]
        return {"I": numbers.mpf(1) / 3, "C": Indexed(rows, (1, n), (1, n))}

    rule = cast("ComparisonRule", _Deferred(lambda: mean.rule))
    return Reference(rule, {"": mean.points}, "", example, ("C",), n)


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


def _of_rates(table: Table, digits: int) -> Reference:
    """Return a reference to rates.

    Statements without output weights mean that these are 1, unless the file says otherwise.
    """
    own = _activation(table)
    teacher = _activation(table, "teacher_activation") if "teacher_activation" in table else own
    order = one_of(table, "order", ("full", "small-learning-rate"), "full")
    weights = one_of(table, "weights", tuple(WEIGHTS))
    rates = LearningRates(own, teacher, order == "full", digits, weights or "any")
    rates.check_weights()
    return Reference(
        cast("ComparisonRule", _Deferred(lambda: rates.rule)),
        {words: replace(rates, weights=name).points for name, words in WEIGHTS.items()},
        WEIGHTS[rates.weights],
        _rates_example,
        ("Q", "T"),
        unless=None if weights else (WEIGHTS["one"], frozenset("vw")),
    )


def _rates_example(numbers: Numbers) -> dict[str, Any]:
    K, M = 2, 3
    sizes = {"v": (K,), "w": (M,), "Q": (K, K), "R": (K, M), "T": (M, M), "dQ": (K, K)}
    tables = {
        name: Indexed(lambda *at: numbers.mpf(4 - max(at)) / 2, *((1, k) for k in size))
        for name, size in {**sizes, "dR": (K, M)}.items()
    }
    return {"K": K, "M": M, "eta": numbers.mpf(1) / 2, "eps_g": numbers.mpf(1) / 3, **tables}


def _of_plateau(table: Table, digits: int) -> Reference:
    text = _activation(table)
    teachers = _TEACHERS[one_of(table, "teachers", _TEACHERS, "general")]
    weights = one_of(table, "weights", _PLATEAU_WEIGHTS, _PLATEAU_WEIGHTS[0])
    conventions = {
        f"output weights {each}": partial(_plateau_points, text, teachers, each)
        for each in _PLATEAU_WEIGHTS
    }
    rule = Exact(digits=digits + GUARD, lost=GUARD)
    return Reference(rule, conventions, f"output weights {weights}", _plateau_example)


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


_LEARNING_KEYS: Final = ("activation", "teacher_activation", "order", "weights")
#: Keys of a reference beside its name and digits, and its reader. Statements about i2, i3, i4 and
#: expectations have the mean ``I`` and ``C[1, 1]``, ``C[1, 2]``, ...; the names of the others are
#: those of their examples: rates are per unit of alpha with isotropic inputs, the plateau is that
#: of K = M units for small learning rates, with the teacher's moments T, D and T2, D2.
_READERS: Final[Mapping[str, tuple[Sequence[str], Callable[[Table, int], Reference]]]] = {
    **dict.fromkeys(_INTEGRALS, (("activation", "activations"), _of_integral)),
    "expectation": (("expression", "fields"), _of_expression),
    "learning": (_LEARNING_KEYS, _of_rates),
    "plateau": (("activation", "teachers", "weights"), _of_plateau),
}
