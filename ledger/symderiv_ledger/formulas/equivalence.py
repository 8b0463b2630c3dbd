"""Proofs that a mutant says the same as the statement it came from.

A mutant that no point can tell from the original is either the same statement written otherwise
(Q is symmetric, K = M in the claim's regime), which is proved here, or shows that the points are
too special.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final

from symderiv.foundation.errors import SymderivError
from symderiv_ledger.claims.statement import BINDERS, Relation

__all__ = ["are_equivalent"]

#: Numbers of units, eigenvalues and dimensions: integers, as powers of -1 need to know.
_SIZES: Final = frozenset("KLMN")


def are_equivalent(
    first: Relation,
    second: Relation,
    symmetric: Sequence[str] = (),
    equal: Sequence[tuple[str, str]] = (),
    diagonal: Sequence[str] = (),
) -> bool:
    """Return whether two statements with the same left side are proved to be the same.

    Args:
        first: One statement.
        second: The other.
        symmetric: Names whose two indices may be exchanged.
        equal: Pairs of names with one value.
        diagonal: Names of diagonal matrices.
    """
    if len(first.sides) != len(second.sides):
        return False
    translate = _Translation(symmetric, dict(equal), diagonal)
    if len(first.sides) == 2 and ast.unparse(first.sides[0]) == "0":
        return _multiple(translate, first.sides[1], second.sides[1])
    return all(
        _same(translate, one, other) for one, other in zip(first.sides, second.sides, strict=True)
    )


def _multiple(translate: _Translation, one: ast.expr, other: ast.expr) -> bool:
    """Do both vanish together, the one being a number times the other?"""
    import sympy as sp

    try:
        ratio = sp.simplify(translate.expression(one) / translate.expression(other))
    except SymderivError:
        raise
    except (TypeError, ValueError, AttributeError, NotImplementedError, RecursionError):
        return False
    return bool(ratio.is_number and ratio.is_finite and ratio != 0)


def _same(translate: _Translation, one: ast.expr, other: ast.expr) -> bool:
    import sympy as sp

    if ast.unparse(one) == ast.unparse(other):
        return True
    try:
        difference = _with_deltas(translate.expression(one) - translate.expression(other))
        return bool(difference == 0 or sp.simplify(difference) == 0)
    except SymderivError:
        raise
    except (TypeError, ValueError, AttributeError, NotImplementedError, RecursionError):
        # SymPy could not digest it: then nothing is proved
        return False


class _Translation:
    """Statements as SymPy's expressions; every entry and every unknown function is opaque."""

    def __init__(
        self, symmetric: Sequence[str], equal: dict[str, str], diagonal: Sequence[str] = ()
    ) -> None:
        self.symmetric = set(symmetric)
        self.equal = equal
        self.diagonal = set(diagonal)

    def expression(self, node: ast.expr, bound: dict[str, str] | None = None) -> Any:
        import sympy as sp

        bound = bound or {}
        if isinstance(node, ast.Constant):
            return sp.Rational(str(node.value))
        if isinstance(node, ast.Name):
            name = bound.get(node.id, self.equal.get(node.id, node.id))
            if name in _SIZES:
                return sp.Symbol(name, positive=True, integer=True)
            return sp.pi if name == "pi" else sp.Symbol(name, positive=True)
        if isinstance(node, ast.UnaryOp):
            value = self.expression(node.operand, bound)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp):
            return self._binary(node, bound)
        if isinstance(node, ast.Subscript):
            return self._entry(node, bound)
        if isinstance(node, ast.Call):
            return self._call(node, bound)
        raise ValueError(ast.unparse(node))

    def _binary(self, node: ast.BinOp, bound: dict[str, str]) -> Any:
        import sympy as sp

        left, right = self.expression(node.left, bound), self.expression(node.right, bound)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Div):
            return left / right
        if isinstance(node.op, ast.Pow):
            return _sign(right) if left == -1 else left**right
        # a product of matrices, neither commuting nor multiplied out
        return sp.Function("matrix_product")(left, right)

    def _entry(self, node: ast.Subscript, bound: dict[str, str]) -> Any:
        import sympy as sp

        assert isinstance(node.value, ast.Name)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = [self.expression(part, bound) for part in parts]
        if node.value.id in self.symmetric and len(indices) >= 2:
            # the last two indices are those of units
            indices[-2:] = sorted(indices[-2:], key=sp.default_sort_key)
        if node.value.id in self.diagonal and len(indices) == 2:
            entry = sp.Function(f"{node.value.id}_entry", real=True)(indices[0])
            return entry * sp.Function("delta", real=True)(*indices)
        return sp.Function(f"{node.value.id}_entry", real=True)(*indices)

    def _call(self, node: ast.Call, bound: dict[str, str]) -> Any:
        import sympy as sp

        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if name in BINDERS:
            return self._binder(node, bound)
        arguments = [
            self.expression(argument, bound)
            for argument in node.args
            if not isinstance(argument, ast.Compare)
        ]
        known = ("sqrt", "exp", "log", "sin", "cos", "asin", "acos", "atan", "erf", "tanh")
        if name in known and len(arguments) == 1:
            return getattr(sp, name)(*arguments)
        conditions = "_".join(
            ast.unparse(argument) for argument in node.args if isinstance(argument, ast.Compare)
        )
        return sp.Function(f"{name}{conditions}", real=True)(*arguments)

    def _binder(self, node: ast.Call, bound: dict[str, str]) -> Any:
        """Return a sum as an opaque function of its expanded term, one term of a sum at a time."""
        import sympy as sp

        assert isinstance(node.func, ast.Name)
        if node.func.id == "Derivative":
            return sp.Function("Derivative")(*(self.expression(part, bound) for part in node.args))
        inside, limits = dict(bound), []
        for part in node.args[1:]:
            if isinstance(part, ast.Compare):
                sides = sorted(
                    str(self.expression(side, inside)) for side in (part.left, *part.comparators)
                )
                limits.append(sp.Symbol(f"{type(part.ops[0]).__name__} {sides}"))
                continue
            assert isinstance(part, ast.Tuple)
            assert isinstance(part.elts[0], ast.Name)
            ends = [self.expression(end, inside) for end in part.elts[1:]]
            inside[part.elts[0].id] = f"bound {len(inside)}"
            limits += ends
        body = self.expression(node.args[0], inside)
        head = sp.Function(f"{node.func.id}_over")
        if node.func.id == "Product":
            return head(body, *limits)
        if len(inside) - len(bound) == 2:
            body = _symmetrised(body, inside, bound, limits)
        own = {sp.Symbol(inside[name], positive=True) for name in inside if name not in bound}
        own |= {sp.Symbol(inside[n], positive=True) for n in bound if inside[n] != bound[n]}
        total = sp.S.Zero
        for term in sp.Add.make_args(_with_deltas(body)):
            outside, within = term.as_independent(*own, as_Add=False)
            total += outside * head(within, *limits)
        return total


def _with_deltas(expression: Any) -> Any:
    """Return the expression expanded, and beside delta(a, b) every b written as a."""
    import sympy as sp

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
    """(-1)^n for an exponent n made of whole numbers, of which only the parity counts."""
    import sympy as sp

    total = sp.S.Zero
    for term in sp.Add.make_args(sp.expand(exponent)):
        factor, rest = term.as_coeff_Mul()
        if not factor.is_Integer:
            return sp.S.NegativeOne**exponent
        total += (factor % 2) * rest
    return sp.S.NegativeOne**total


def _symmetrised(
    body: Any, inside: dict[str, str], bound: dict[str, str], limits: list[Any]
) -> Any:
    """Return the mean over both orders of two bound names that run over the same range."""
    import sympy as sp

    names = [sp.Symbol(inside[n], positive=True) for n in inside if inside[n] != bound.get(n)]
    ends = [limit for limit in limits if limit.is_Symbol is not None]
    if len(names) != 2 or len(ends) != 4 or ends[:2] != ends[2:]:
        return body
    first, second = names
    swapped = body.xreplace({first: second, second: first})
    return (body + swapped) / 2
