"""Values of statements, in mpmath numbers, in balls, or in SymPy's expressions."""

from __future__ import annotations

import ast
import functools
import itertools
import operator
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from flint import arb

from symderiv.foundation.errors import FormulaError
from symderiv.precision.balls.contexts import numbers as arithmetic
from symderiv_ledger.claims.statement import Range, bounds_of, name_of, parts_of

_SAFETY: Final = 10
_LAST_DIGITS: Final = 3
_BITS_PER_DIGIT: Final = 3.3219280948873626
MAX_TERMS: Final = 2_000_000
MAX_POWER: Final = 100_000

_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
COMPARE: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
#: Functions whose integers stay integers.
_OF_INTEGERS: Final = ("factorial", "binomial", "bernoulli", "zeta")


class OutOfRangeError(FormulaError):
    """An index is outside the range that its quantity has."""


class Indexed:
    """A quantity with indices that start where the paper starts them, each with its range.

    ``values`` are a nested sequence, a matrix, or a function of the indices.
    """

    def __init__(self, values: Any, *ranges: tuple[int, int]) -> None:
        self.values = values
        self.ranges = ranges

    def __getitem__(self, indices: tuple[int, ...]) -> Any:
        if len(indices) != len(self.ranges):
            raise OutOfRangeError(f"{len(self.ranges)} indices are needed, not {len(indices)}")
        for index, (first, last) in zip(indices, self.ranges, strict=True):
            if not first <= index <= last:
                raise OutOfRangeError(f"index {index} is outside {first}..{last}")
        value = self.values
        if callable(value):
            return value(*indices)
        offsets = [i - first for i, (first, _) in zip(indices, self.ranges, strict=True)]
        if hasattr(value, "rows") and len(offsets) == 2:
            return value[offsets[0], offsets[1]]
        return functools.reduce(operator.getitem, offsets, value)


class Values(Mapping[str, Any]):
    """Values of names at one point; a value given as ``lazy`` is computed once, when asked for."""

    def __init__(
        self,
        known: Mapping[str, Any] | None = None,
        lazy: Mapping[str, Callable[[], Any]] | None = None,
    ) -> None:
        self._known = dict(known or {})
        self._lazy = dict(lazy or {})

    def __getitem__(self, name: str) -> Any:
        if name not in self._known and name in self._lazy:
            self._known[name] = self._lazy[name]()
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        """Return whether there is a value of this name, without computing it."""
        return name in self._known or name in self._lazy

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._known, *self._lazy]))

    def __len__(self) -> int:
        return len(list(iter(self)))


class _Extended(ChainMap[str, Any]):
    """Names in front of other values; asking whether a name is known computes nothing."""


def extended(values: Mapping[str, Any], names: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values with more names in front; lazy ones stay lazy.

    There are two maps at most, because sums look up every name at every term.
    """
    maps: Sequence[Any] = values.maps if isinstance(values, _Extended) else [{}, values]
    return _Extended({**maps[0], **names}, maps[1])


def evaluate(node: ast.AST, values: Mapping[str, Any], numbers: Any) -> Any:
    """Return the value of a part of a statement.

    Integers stay integers (they may be indices) until a division or a function meets them.

    Args:
        node: The part.
        values: What its names stand for: numbers, functions, :class:`Indexed`, matrices.
        numbers: The arithmetic; see :mod:`symderiv.precision.balls.contexts`.

    Raises:
        OutOfRangeError: An index is outside its range.
        FormulaError: A name or function is not known, or a division by zero.
    """
    return Evaluator(numbers).value(node, values)


def index_values(ranges: tuple[Range, ...], values: Mapping[str, Any]) -> Iterator[dict[str, int]]:
    """Yield all values of free indices, the last one fastest.

    Bounds of a range may contain earlier indices.
    """
    for bound in Evaluator(None).bindings(ranges, values):
        yield {free.name: bound[free.name] for free in ranges}


class Evaluator:
    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers

    def value(self, node: ast.AST, values: Mapping[str, Any]) -> Any:
        try:
            return self._value(node, values)
        except ZeroDivisionError:
            raise FormulaError(f"division by zero in {ast.unparse(node)}") from None

    def _value(self, node: ast.AST, values: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=number):
                return number if isinstance(number, int) else self.number(repr(number))
            case ast.Name(id=name):
                return self.name(name, values)
            case ast.Subscript():
                return self.entry(node, values)
            case ast.UnaryOp(op=sign, operand=operand):
                value = self._value(operand, values)
                return -value if isinstance(sign, ast.USub) else value
            case ast.BinOp(op=op):
                return self.binary(
                    op, self._value(node.left, values), self._value(node.right, values)
                )
            case ast.Compare():
                return self.holds(node, values)
            case ast.Call():
                return self.call(node, values)
        raise FormulaError(f"{ast.unparse(node)} has no value")

    def integer(self, node: ast.AST, values: Mapping[str, Any]) -> int:
        value = self._value(node, values)
        if not isinstance(value, int):
            raise OutOfRangeError(f"{ast.unparse(node)} = {value} is not an integer")
        return value

    def holds(self, node: ast.Compare, values: Mapping[str, Any]) -> bool:
        sides = [self._value(side, values) for side in (node.left, *node.comparators)]
        pairs = zip(node.ops, sides, sides[1:], strict=False)
        return all(bool(COMPARE[type(op)](a, b)) for op, a, b in pairs)

    def number(self, value: Any) -> Any:
        return self.numbers.mpf(value)

    def name(self, name: str, values: Mapping[str, Any]) -> Any:
        if name in values:
            return values[name]
        if name == "pi":
            return +self.numbers.pi
        if name == "oo":
            return self.numbers.mpf("inf")
        raise FormulaError(f"{name} is not known here; known are {', '.join(sorted(values))}")

    def entry(self, node: ast.Subscript, values: Mapping[str, Any]) -> Any:
        name = name_of(node)
        array = self.name(name, values)
        indices = tuple(self.integer(part, values) for part in parts_of(node.slice))
        if not isinstance(array, Indexed):
            raise FormulaError(f"{name} has no indices")
        return array[indices]

    def binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(op, ast.MatMult):
            return self.matrix_product(left, right)
        if isinstance(op, ast.Pow):
            return self.power(left, right)
        if isinstance(op, ast.Div) and isinstance(left, int):
            left = self.number(left)
        return _BINARY[type(op)](left, right)

    def power(self, base: Any, exponent: Any) -> Any:
        if isinstance(exponent, int) and abs(exponent) > MAX_POWER:
            raise FormulaError(f"the exponent {exponent} is too large")
        if isinstance(base, int) and not (isinstance(exponent, int) and 0 <= exponent <= 64):
            base = self.number(base)
        return base**exponent

    def matrix_product(self, left: Any, right: Any) -> Any:
        if hasattr(left, "rows") and hasattr(right, "rows") and left.cols != right.rows:
            raise OutOfRangeError(
                f"matrices of shapes {left.rows} x {left.cols} and {right.rows} x {right.cols} "
                "have no product"
            )
        return left * right

    def call(self, node: ast.Call, values: Mapping[str, Any]) -> Any:
        name = name_of(node)
        if name in ("Sum", "Product"):
            combine, start = (operator.add, 0) if name == "Sum" else (operator.mul, 1)
            return functools.reduce(combine, self._terms(node, values), start)
        if name in _BINDING:
            return _BINDING[name](self, node, values)
        arguments = [self._value(argument, values) for argument in node.args]
        if name in values:
            if not callable(values[name]):
                raise FormulaError(f"{name} is not a function")
            return values[name](*arguments)
        if name in _MATRIX:
            self._need("matrix", "matrices")
            return _MATRIX[name](self.numbers, *arguments)
        if name in ("Max", "Min"):
            return (max if name == "Max" else min)(arguments)
        if name == "abs":
            return abs(arguments[0])
        if name == "delta" and len(arguments) == 2:
            return int(arguments[0] == arguments[1])
        if name == "Gamma" and len(arguments) > 1:  # the upper incomplete Gamma(s, x)
            self._need("gammainc", "incomplete gamma functions")
            name = "gammainc"
        function = getattr(self.numbers, "gamma" if name == "Gamma" else name, None)
        if function is None or not callable(function):
            raise FormulaError(f"there is no function {name} here")
        return function(*(a if name in _OF_INTEGERS else self._converted(a) for a in arguments))

    def _need(self, function: str, what: str) -> None:
        if not hasattr(self.numbers, function):
            raise FormulaError(f"{what} need mpmath numbers")

    def _converted(self, value: Any) -> Any:
        return self.number(value) if isinstance(value, int) else value

    def _terms(self, node: ast.Call, values: Mapping[str, Any]) -> Iterator[Any]:
        conditions = [part for part in node.args[1:] if isinstance(part, ast.Compare)]
        for count, bound in enumerate(self.bindings(bounds_of(node), values)):
            if count > MAX_TERMS:
                raise FormulaError(f"a sum has more than {MAX_TERMS} terms")
            if all(self.holds(condition, bound) for condition in conditions):
                yield self._value(node.args[0], bound)

    def bindings(
        self, ranges: Sequence[Range], values: Mapping[str, Any]
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the values extended by bound names, for all values of these, the last fastest."""
        if not ranges:
            yield values
            return
        (name, first, last), *rest = ranges
        for index in range(self.integer(first, values), self.integer(last, values) + 1):
            yield from self.bindings(rest, extended(values, {name: index}))

    def _if(self, node: ast.Call, values: Mapping[str, Any]) -> Any:
        condition, yes, no = node.args
        if not isinstance(condition, ast.Compare):
            raise FormulaError("If(condition, a, b) needs a relation as condition")
        return self._value(yes if self.holds(condition, values) else no, values)

    def _integral(self, node: ast.Call, values: Mapping[str, Any]) -> Any:
        doubles = isinstance(self.numbers.zero, float)
        balls = hasattr(self.numbers.zero, "mid")
        if not doubles and not balls and not hasattr(self.numbers, "quad"):
            raise FormulaError("integrals need numbers, not expressions")
        bounds = bounds_of(node)
        names = [name for name, _, _ in bounds]
        limits = [
            [self._converted(self._value(end, values)) for end in ends] for _, *ends in bounds
        ]
        depth = getattr(self.numbers, "depth", 0)

        def integrand(numbers: Any, values: Mapping[str, Any]) -> Callable[..., Any]:
            inside = Evaluator(numbers)
            return lambda *points: inside._value(
                node.args[0], extended(values, dict(zip(names, points, strict=True)))
            )

        if doubles:
            from symderiv_ledger.rules.double_integrals import Arrays, integral

            return integral(integrand(Arrays(depth + len(names)), values), limits, depth)
        if balls:
            return _ball_integral(integrand, values, limits, self.numbers)
        return self.numbers.quad(integrand(self.numbers, values), *limits)

    def _derivative(self, node: ast.Call, values: Mapping[str, Any]) -> Any:
        self._need("diff", "derivatives")
        name = name_of(node.args[1])
        order = self.integer(node.args[2], values) if len(node.args) > 2 else 1
        at = self._converted(self.name(name, values))

        def of_the_name(x: Any) -> Any:
            return self._value(node.args[0], extended(values, {name: x}))

        return self.numbers.diff(of_the_name, at, order)


def _ball_integral(
    integrand: Callable[[Any, Mapping[str, Any]], Callable[..., Any]],
    values: Mapping[str, Any],
    limits: Sequence[Sequence[Any]],
    balls: Any,
) -> Any:
    """Return a ball around an integral that a statement writes out.

    It is computed in mpmath at the same number of digits, twice with different nodes. The ball is
    not proved: its radius is ten times the difference of both and of mpmath's own estimate, and
    never less than the last three digits. ``values`` that are functions are not supported.
    """
    digits = int(balls.prec / _BITS_PER_DIGIT)
    with arithmetic(digits, "mpmath") as context:

        def middle(name: str) -> Any:
            return _middle(values[name], context)

        lazy = {name: partial(middle, name) for name in values}
        function = integrand(context, Values({}, lazy))
        ends = [[_middle(end, context) for end in pair] for pair in limits]
        split = [[low, _between(low, high, context), high] for low, high in ends]
        one, estimate = context.quad(function, *ends, error=True)
        two = context.quad(function, *split)
        least = abs(two) * context.mpf(10) ** (_LAST_DIGITS - digits)
        off = _SAFETY * (abs(one - two) + abs(estimate)) + least
        return arb(str(two)) + arb(0, arb(str(off)).abs_upper())


def _middle(value: Any, context: Any) -> Any:
    if isinstance(value, Indexed):
        return Indexed(lambda *place: _middle(value[place], context), *value.ranges)
    if not hasattr(value, "mid"):
        return value
    if not value.is_finite():
        return -context.inf if value < 0 else context.inf
    mantissa, exponent = value.mid().man_exp()
    return context.ldexp(context.mpf(int(mantissa)), int(exponent))


def _between(low: Any, high: Any, context: Any) -> Any:
    if context.isinf(low) and context.isinf(high):
        return context.mpf(1) / 3
    if context.isinf(high):
        return low + 1
    if context.isinf(low):
        return high - 1
    return low + (high - low) * 4 / 9


def _matrix(numbers: Any, rows: Any, columns: Any, *entries: Any) -> Any:
    """Return Matrix(rows, columns, entries by rows)."""
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise FormulaError("Matrix(rows, columns, entries) needs two integers first")
    if len(entries) != rows * columns:
        raise FormulaError(f"{rows} x {columns} entries are needed, not {len(entries)}")
    matrix = numbers.matrix(rows, columns)
    for position, entry in enumerate(entries):
        matrix[position // columns, position % columns] = entry
    return matrix


def _kron(numbers: Any, first: Any, second: Any) -> Any:
    rows, columns = second.rows, second.cols
    result = numbers.matrix(first.rows * rows, first.cols * columns)
    for i, j in itertools.product(range(result.rows), range(result.cols)):
        result[i, j] = first[i // rows, j // columns] * second[i % rows, j % columns]
    return result


#: Functions that bind names, or that evaluate some of their arguments only.
_BINDING: Final = {
    "Integral": Evaluator._integral,
    "Derivative": Evaluator._derivative,
    "If": Evaluator._if,
}
#: Functions of matrices by their names in statements; the first argument is the arithmetic.
_MATRIX: Final[dict[str, Callable[..., Any]]] = {
    "Matrix": _matrix,
    "Vector": lambda numbers, *entries: _matrix(numbers, len(entries), 1, *entries),
    "transpose": lambda numbers, matrix: matrix.T,
    "inverse": lambda numbers, matrix: numbers.inverse(matrix),
    "det": lambda numbers, matrix: numbers.det(matrix),
    "trace": lambda numbers, matrix: sum((matrix[i, i] for i in range(matrix.rows)), numbers.zero),
    "kron": _kron,
    "identity": lambda numbers, size: numbers.eye(size),
    "expm": lambda numbers, matrix: numbers.expm(matrix, method="pade"),
}
