"""What statements of a user's own paper can be about, and the points at which they are tried.

A ``reference`` names quantities that the engine derives: the integrals of an activation, a general
expectation, the order-parameter equations of isotropic inputs, the symmetric plateau. Each gives
points in general position: K and M different, teachers neither of length one nor orthogonal,
covariances also near the edge of the cone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from symderiv.errors import FormulaError, InputError
from symderiv.verification.arithmetic import Indexed, Values, evaluate, index_values
from symderiv.verification.claim import Point, Rule
from symderiv.verification.rules import Exact
from symderiv.verification.statement import parse_ranges, parse_statement

__all__ = ["REFERENCES", "Reference", "read_reference"]

#: Names of references, what they are about, and the names that their statements may use.
REFERENCES: Final = {
    "i2": "I2 = E[g(u)g(v)] as I; the covariance C[1, 1], C[1, 2], ...",
    "i3": "I3 = E[g'(u) v g(w)] as I; the covariance C[1, 1], C[1, 2], ...",
    "i4": "I4 = E[g'(u)g'(v)g(w)g(z)] as I; the covariance C[1, 1], C[1, 2], ...",
    "expectation": "the mean of the key 'expression' in x1, x2, ... as I; C[1, 1], C[1, 2], ...",
    "learning": "isotropic inputs: eps_g, dR[i, n], dQ[i, k] (rates per unit of alpha) in K, M, "
    "eta, v[i], w[n] (output weights of student and teacher), Q[i, k], R[i, n], T[n, m]",
    "plateau": "the symmetric plateau of K = M units with output weights 1/sqrt(M) for small "
    "learning rates: R, Q, eps_g, tau (escape time) in M, T, D, T2, D2 (diagonal and sum of the "
    "off-diagonal entries in a row of the teacher's moments of order 1 and 2), eta; teachers = "
    "'isotropic' restricts it to T = T2 = 1, D = D2 = 0",
}

_FIELDS: Final = {"i2": 2, "i3": 3, "i4": 4}
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
_BASES: Final = ("C", "c", "Q", "Sigma")


@dataclass(frozen=True)
class Reference:
    """Points for statements about some quantities of the engine.

    Args:
        points: See :class:`~symderiv.verification.claim.Claim`.
        rule: How statements are tried.
        symmetric: Names whose indices may be exchanged.
        fields: Number of fields, for formulas in the entries of a covariance; 0: there are none.
    """

    points: Callable[[Any], Sequence[Point]]
    rule: Rule
    symmetric: tuple[str, ...] = ()
    fields: int = 0

    def statement_of(self, formula: str) -> str:
        """A pasted formula (LaTeX or text) for the mean as a statement ``I == ...``."""
        if not self.fields:
            raise InputError("a formula goes with i2, i3, i4 or expectation; write a statement")
        return f"I == {_in_entries(formula, self.fields)}"

    def check(self, statement: str, ranges: str) -> None:
        """Refuse a statement with names or functions that are not known, before anything runs."""
        from symderiv.precision.contexts import numbers

        tree = parse_statement(statement)
        with numbers(15, "mpmath") as context:
            point = self.points(context)[0]
            for indices in index_values(parse_ranges(ranges), point.values):
                for side in tree.sides:
                    try:
                        evaluate(side, {**point.values, **indices}, context)
                    except ZeroDivisionError:
                        continue
                return


def read_reference(table: Mapping[str, Any], known: set[str]) -> Reference:
    """The reference of a claim's table, with its parameters.

    Args:
        table: The claim.
        known: Keys that are not parameters.

    Raises:
        InputError: There is no such reference, or a parameter is missing, unknown or wrong.
    """
    name = table.get("reference")
    if name is None and ("not_checkable" in table or "statement" not in table):
        _refuse_others(table, known, ())
        return Reference(lambda _: (), Exact())
    if name not in REFERENCES:
        raise InputError(f"reference must be one of {', '.join(REFERENCES)}, not {name!r}")
    digits = table.get("digits", 30)
    if not isinstance(digits, int) or not 15 <= digits <= 200:
        raise InputError("digits must be an integer from 15 to 200")
    rule = Exact(digits=digits + 10, lost=10)
    if name in _FIELDS:
        _refuse_others(table, known, ("activation", "activations"))
        texts = _activations(table, _FIELDS[name])
        return Reference(
            _kept(lambda n: _integral_points(name, texts, n)), rule, ("C",), _FIELDS[name]
        )
    if name == "expectation":
        _refuse_others(table, known, ("expression", "fields"))
        fields = table.get("fields", 2)
        if not isinstance(fields, int) or not 1 <= fields <= 4:
            raise InputError("fields must be an integer from 1 to 4")
        expression = _required(table, "expression")
        return Reference(_kept(lambda n: _mean_points(expression, fields, n)), rule, ("C",), fields)
    if name == "learning":
        _refuse_others(table, known, ("activation", "teacher_activation", "order"))
        own = _required(table, "activation")
        teacher = str(table.get("teacher_activation", own))
        order = table.get("order", "full")
        if order not in ("full", "small-learning-rate"):
            raise InputError("order is 'full' or 'small-learning-rate'")
        full = order == "full"
        return Reference(_kept(lambda n: _learning_points(own, teacher, full, n)), rule, ("Q", "T"))
    _refuse_others(table, known, ("activation", "teachers"))
    text = _required(table, "activation")
    teachers = table.get("teachers", "general")
    if teachers not in _TEACHERS:
        raise InputError(f"teachers is one of {', '.join(_TEACHERS)}")
    return Reference(_kept(lambda n: _plateau_points(text, _TEACHERS[teachers], n)), rule)


def _kept(make: Callable[[Any], Iterator[Point]]) -> Callable[[Any], Sequence[Point]]:
    return lambda numbers: list(make(numbers))


def _refuse_others(table: Mapping[str, Any], known: set[str], own: Sequence[str]) -> None:
    for key in table:
        if key not in known and key not in own:
            raise InputError(f"unknown key {key!r}")


def _required(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str):
        raise InputError(f"this reference needs {key}, a text")
    return value


def _activations(table: Mapping[str, Any], fields: int) -> tuple[str, ...]:
    slots = {2: 2, 3: 2, 4: 4}[fields]
    if "activations" not in table:
        return (_required(table, "activation"),) * slots
    value = table["activations"]
    if not isinstance(value, list) or len(value) != slots:
        raise InputError(f"activations must be a list of {slots} activations")
    return tuple(str(one) for one in value)


# -- means -------------------------------------------------------------------------------------


def _integral_points(which: str, texts: tuple[str, ...], numbers: Any) -> Iterator[Point]:
    from symderiv import gaussian
    from symderiv.expressions import activation

    functions = [activation(text).expression for text in texts]
    integral: Callable[..., Any] = getattr(gaussian, which)
    yield from _covariance_points(lambda cov: integral(*functions, cov), _FIELDS[which], numbers)


def _mean_points(expression: str, fields: int, numbers: Any) -> Iterator[Point]:
    import sympy as sp

    from symderiv.expressions import parse_formula
    from symderiv.gaussian import expectation

    names = [f"x{k + 1}" for k in range(fields)]
    product = parse_formula(expression, names)
    symbols = [sp.Symbol(name, real=True) for name in names]
    yield from _covariance_points(lambda cov: expectation(product, symbols, cov), fields, numbers)


def _covariance_points(mean: Callable[[Any], Any], fields: int, numbers: Any) -> Iterator[Point]:
    """Exact covariances inside the cone, some of them nearly singular, with the engine's mean."""
    import sympy as sp

    from symderiv.gaussian.covariance import covariance_symbols
    from symderiv.gaussian.evaluate import number
    from symderiv.verification.points import points

    matrix = covariance_symbols(fields)
    closed = mean(matrix).value
    tried = points(matrix)
    inside = [point for point in tried if not point.degenerate]
    near = sp.Rational(1, 10**9)
    cases = [(point.kind, point.values) for point in inside]
    for point in tried:
        if point.degenerate:
            start = inside[0].values
            mixed = {s: (1 - near) * x + near * start[s] for s, x in point.values.items()}
            cases.append((f"nearly: {point.kind}", mixed))
    for kind, values in cases:
        rows = matrix.xreplace(dict(values))
        entries = [[_converted(rows[i, j], numbers) for j in range(fields)] for i in range(fields)]
        value = number(closed.xreplace(dict(values)), numbers.dps, numbers)
        shown = "; ".join(", ".join(map(str, rows.row(i))) for i in range(fields))
        names = {"C": Indexed(entries, (1, fields), (1, fields)), "I": value}
        yield Point(f"{kind}: C = [{shown}]", names)


def _converted(value: Any, numbers: Any) -> Any:
    return numbers.mpf(int(value.p)) / int(value.q)


def _in_entries(formula: str, fields: int) -> str:
    """A formula in C_{12}, c12, ... as text of the statement language."""
    import sympy as sp

    from symderiv.expressions.pasted import build_formula, read_definitions

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


@lru_cache(maxsize=8)
def _module(student: str, teacher: str) -> Any:
    from symderiv.precision.moment_system import moment_module

    return moment_module(student, teacher)


def _learning_points(student: str, teacher: str, full: bool, numbers: Any) -> Iterator[Point]:
    """Random overlaps of isotropic inputs, and the rates from the generated moment form."""
    import numpy as np

    from symderiv.dynamics.state import State
    from symderiv.precision.moment_system import MomentSystem, Rates

    rng = random.Random(1)
    for K, M, eta in ((2, 3, 0.75), (3, 2, 1.5), (1, 1, 0.25), (2, 2, 2.0)):
        size = K + M
        rows = [[rng.randint(-8, 8) / 8 for _ in range(size + 1)] for _ in range(size)]
        gram = [[sum(a * b for a, b in zip(p, q, strict=True)) for q in rows] for p in rows]
        for i in range(size):
            gram[i][i] += 0.25
        G = np.array(gram)
        v = [rng.randint(2, 12) / 8 for _ in range(K)]
        w = [rng.randint(2, 12) / 8 for _ in range(M)]
        state = State(
            np.ones(1), np.ones(1), G[None, :K, :K], G[None, :K, K:], G[None, K:, K:], G[K:, K:],
            np.array(v), np.array(w),
        )  # fmt: skip
        system = MomentSystem(
            _module(student, teacher), state, Rates(eta, full_order=full), numbers
        )
        rates = system.right_hand_side(system.start)
        dQ, dR, _ = system.split(rates)
        Q, R, _, error = system.observables(system.start)
        exact = [[numbers.mpf(float(x)) for x in row] for row in G[K:, K:]]
        values = {
            "K": K, "M": M, "eta": numbers.mpf(eta), "eps_g": error,
            "v": Indexed([numbers.mpf(x) for x in v], (1, K)),
            "w": Indexed([numbers.mpf(x) for x in w], (1, M)),
            "Q": Indexed(Q, (1, K), (1, K)), "R": Indexed(R, (1, K), (1, M)),
            "T": Indexed(exact, (1, M), (1, M)),
            "dQ": Indexed(dQ[0], (1, K), (1, K)), "dR": Indexed(dR[0], (1, K), (1, M)),
        }  # fmt: skip
        yield Point(f"K = {K}, M = {M}, eta = {eta:g}", Values(values))


def _plateau_points(
    text: str, cases: Sequence[tuple[int, str, str, str, str]], numbers: Any
) -> Iterator[Point]:
    import sympy as sp

    from symderiv.analysis.report import derived
    from symderiv.expressions import activation
    from symderiv.gaussian.evaluate import number

    forms, _ = derived(activation(text))
    closed = forms.closed
    if closed is None or closed["difference_stiffness"] != 0:
        raise InputError(f"the plateau of {text} has no closed form that statements could be about")
    eta = sp.Rational(1, 3)
    for units, *moments in cases:
        T, D, T2, D2 = (sp.Rational(moment) for moment in moments)
        known = {"M": sp.Integer(units), "T": T, "D": D}
        at = [
            {s: known[s.name] for s in value.free_symbols if s.name in known}
            for value in closed.values()
        ]
        here = {
            name: number(value.xreplace(point), numbers.dps, numbers)
            for (name, value), point in zip(closed.items(), at, strict=True)
            if not value.xreplace(point).free_symbols
        }
        rate = -here["teacher_response"] * _converted(eta * (T2 - D2 / (units - 1)), numbers)
        values = {
            "M": units, "R": here["R"], "Q": here["Q"], "eps_g": here["generalization_error"],
            "tau": 1 / rate,
            **{
                name: _converted(value, numbers)
                for name, value in (("T", T), ("D", D), ("T2", T2), ("D2", D2), ("eta", eta))
            },
        }  # fmt: skip
        yield Point(f"M = {units}, T = {T}, D = {D}, T2 = {T2}, D2 = {D2}", values)
