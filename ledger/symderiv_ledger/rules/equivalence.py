"""Proofs that a mutant says the same as the statement it came from.

A mutant that no point can tell from the original is either the same statement written otherwise
(Q is symmetric, K = M in the claim's regime), which is proved here, or shows that the points are
too special.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Final

import sympy as sp

from symderiv.foundation.errors import SymderivError
from symderiv_ledger.claims.statement import BINDERS, Relation, name_of, parts_of
from symderiv_ledger.rules.arithmetic import Evaluator

#: Names of numbers of units, eigenvalues and dimensions: integers, which matters for powers of -1.
_SIZES: Final = frozenset("KLMN")


def are_equivalent(
    first: Relation,
    second: Relation,
    symmetric: Sequence[str] = (),
    equal: Sequence[tuple[str, str]] = (),
    diagonal: Sequence[str] = (),
) -> bool:
    """Return whether two statements with the same left side are proved to be the same.

    Names may be said to have indices that can be exchanged, the same value, or no entries off the
    diagonal: see :class:`~symderiv_ledger.claims.claim.Claim`.
    """
    if len(first.sides) != len(second.sides):
        return False
    translate = _Translation(symmetric, dict(equal), diagonal)
    pairs = list(zip(first.sides, second.sides, strict=True))
    try:
        if len(pairs) == 2 and ast.unparse(first.sides[0]) == "0":
            # if one side is a nonzero number times the other, both vanish together
            one, other = map(translate.expression, pairs[1])
            ratio = sp.simplify(one / other)
            return bool(ratio.is_number and ratio.is_finite and ratio != 0)
        return all(_same(translate, *pair) for pair in pairs)
    except SymderivError:
        raise
    except (TypeError, ValueError, AttributeError, NotImplementedError, RecursionError):
        # SymPy could not handle the expressions: then nothing is proved
        return False


def _same(translate: _Translation, one: ast.expr, other: ast.expr) -> bool:
    if ast.unparse(one) == ast.unparse(other):
        return True
    difference = _with_deltas(translate.expression(one) - translate.expression(other))
    return bool(difference == 0 or sp.simplify(difference) == 0)


class _Translation(Evaluator):
    """Translates statements to SymPy; entries and unknown functions become opaque functions.

    The mapping of an evaluator's values has here the symbols' names for bound names.
    """

    def __init__(
        self, symmetric: Sequence[str], equal: Mapping[str, str], diagonal: Sequence[str]
    ) -> None:
        super().__init__(None)
        self.symmetric, self.equal, self.diagonal = symmetric, equal, diagonal

    def expression(self, node: ast.expr) -> Any:
        return sp.sympify(self.value(node, {}))

    def number(self, value: Any) -> Any:
        return sp.Rational(value)

    def name(self, name: str, values: Mapping[str, Any]) -> Any:
        name = values.get(name, self.equal.get(name, name))
        if name in _SIZES:
            return sp.Symbol(name, positive=True, integer=True)
        return sp.pi if name == "pi" else sp.Symbol(name, positive=True)

    def power(self, base: Any, exponent: Any) -> Any:
        return _sign(exponent) if base == -1 else sp.sympify(base) ** exponent

    def matrix_product(self, left: Any, right: Any) -> Any:
        """Return an opaque product, which neither commutes nor is multiplied out."""
        return sp.Function("matrix_product")(left, right)

    def entry(self, node: ast.Subscript, values: Mapping[str, Any]) -> Any:
        name = name_of(node)
        indices = [sp.sympify(self.value(part, values)) for part in parts_of(node.slice)]
        if name in self.symmetric and len(indices) >= 2:
            # the last two indices count units
            indices[-2:] = sorted(indices[-2:], key=sp.default_sort_key)
        entry = sp.Function(f"{name}_entry", real=True)
        if name in self.diagonal and len(indices) == 2:
            return entry(indices[0]) * sp.Function("delta", real=True)(*indices)
        return entry(*indices)

    def call(self, node: ast.Call, values: Mapping[str, Any]) -> Any:
        name = name_of(node)
        if name in BINDERS:
            return self._binder(node, values)
        arguments = [self.value(a, values) for a in node.args if not isinstance(a, ast.Compare)]
        known = ("sqrt", "exp", "log", "sin", "cos", "asin", "acos", "atan", "erf", "tanh")
        if name in known and len(arguments) == 1:
            return getattr(sp, name)(*arguments)
        conditions = "_".join(ast.unparse(a) for a in node.args if isinstance(a, ast.Compare))
        return sp.Function(f"{name}{conditions}", real=True)(*arguments)

    def _binder(self, node: ast.Call, bound: Mapping[str, Any]) -> Any:
        """Return a sum as an opaque function of each expanded term, free factors in front."""
        kind = name_of(node)
        if kind == "Derivative":
            return sp.Function(kind)(*(self.value(part, bound) for part in node.args))
        inside: dict[str, str] = dict(bound)
        limits: list[Any] = []
        for part in node.args[1:]:
            if isinstance(part, ast.Compare):
                both = (self.value(side, inside) for side in (part.left, *part.comparators))
                limits.append(sp.Symbol(f"{type(part.ops[0]).__name__} {sorted(map(str, both))}"))
                continue
            name, *ends = parts_of(part)
            limits += [sp.sympify(self.value(end, inside)) for end in ends]
            inside[name_of(name)] = f"bound {len(inside)}"
        body = sp.sympify(self.value(node.args[0], inside))
        head = sp.Function(f"{kind}_over")
        if kind == "Product":
            return head(body, *limits)
        own = [sp.Symbol(inside[n], positive=True) for n in inside if inside[n] != bound.get(n)]
        if len(own) == len(inside) - len(bound) == 2 and limits[:2] == limits[2:]:
            # the mean over both orders of two names that run over the same range
            exchanged = dict(zip(own, reversed(own), strict=True))
            body = (body + body.xreplace(exchanged)) / 2
        terms = sp.Add.make_args(_with_deltas(body))
        parts = (term.as_independent(*own, as_Add=False) for term in terms)
        return sp.Add(*(outside * head(within, *limits) for outside, within in parts))


def _with_deltas(expression: Any) -> Any:
    """Return the expanded expression, with b written as a in terms with delta(a, b)."""
    total = sp.S.Zero
    for term in sp.Add.make_args(sp.expand(expression)):
        factors = list(sp.Mul.make_args(term))
        for place, factor in enumerate(factors):
            if str(factor.func) != "delta" or not all(a.is_Symbol for a in factor.args):
                continue
            first, second = sorted(factor.args, key=str)
            others = [f.xreplace({second: first}) for f in factors]
            others[place] = factor.func(first, second)
            factors = others
        total += sp.Mul(*factors)
    return sp.expand(total)


def _sign(exponent: Any) -> Any:
    """Return (-1)^n, with integer coefficients in the exponent n reduced modulo 2."""
    total = sp.S.Zero
    for term in sp.Add.make_args(sp.expand(exponent)):
        factor, rest = term.as_coeff_Mul()
        if not factor.is_Integer:
            return sp.S.NegativeOne**exponent
        total += (factor % 2) * rest
    return sp.S.NegativeOne**total
