"""SymPy expressions as expressions of a programming language, by default Python.

One dispatch by the name of the node's class; a node without a rule is an error. The dialects differ
in how numbers, functions, cases and array elements are written, and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import sympy as sp
from sympy.core.function import Application, AppliedUndef

from symderiv_codegen.errors import PrinterError
from symderiv_codegen.ir.walk import Temporary, Total, array_name
from symderiv_codegen.printers.lines import Bracket, Chain, Piece, Text, parenthesised

# Binding strength of the outermost operation of a printed expression.
CONDITIONAL, SUM, PRODUCT, SIGN, POWER, ATOM = range(6)

RELATIONS = {
    "Equality": "==",
    "Unequality": "!=",
    "StrictLessThan": "<",
    "LessThan": "<=",
    "StrictGreaterThan": ">",
    "GreaterThan": ">=",
}

# SymPy function -> function of the dialect's mathematical namespace.
ELEMENTARY = frozenset(
    {"acosh", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "erf", "erfc", "exp", "floor"}
    | {"gamma", "log", "sin", "sinh", "tan", "tanh"}
)
# SymPy function -> helper that the module defines when it is used.
HELPERS = {"Heaviside": "_unit_step", "sign": "_sign", "SoftPlus": "_softplus"}
GUARDED = {"asin": "_clipped_asin", "acos": "_clipped_acos"}
BUILTIN = {"Abs": "abs", "Max": "max", "Min": "min"}


class PrintedExpression(NamedTuple):
    """A printed expression with the binding strength of its outermost operation."""

    piece: Piece
    binding: int


class ExpressionPrinter:
    """The rules common to all dialects; subclasses define how details are written."""

    name = "expressions"
    namespace = "math"
    context: tuple[Piece, ...] = ()
    words: Mapping[str, str] = MappingProxyType({"And": " and ", "Or": " or ", "Not": "not "})
    # Whether the words for "and" and "or" bind stronger than relations.
    relations_bind_less = False

    def __init__(
        self,
        functions: Iterable[str] = (),
        guarded: bool = False,
        special: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Make a printer.

        Args:
            functions: Names of the functions that the module defines.
            guarded: Whether roots, arcsines and quotients must tolerate the edge of a domain.
            special: The functions of the program's extension, by the names of SymPy functions.
        """
        self._functions = frozenset(functions)
        self._guarded = guarded
        self._special = special
        self.helpers: set[str] = set()
        self.pasted: set[str] = set()

    # Details of a dialect.

    def number(self, value: sp.Rational) -> PrintedExpression:
        """Return an exact number that is not negative."""
        raise NotImplementedError

    def splits_fractions(self, value: sp.Rational) -> bool:
        """Return whether a rational coefficient is written as a factor and a divisor."""
        raise NotImplementedError

    def element(self, name: str, indices: tuple[str, ...]) -> str:
        """Return an array element."""
        raise NotImplementedError

    def helper_call(self, name: str, arguments: tuple[Piece, ...]) -> PrintedExpression:
        """Return a call of a function that the module itself defines."""
        return PrintedExpression(Bracket(f"{name}(", (*self.context, *arguments)), ATOM)

    def applied(self, function: str, arguments: tuple[Piece, ...]) -> PrintedExpression:
        """Return a call of an elementary function, by its name in SymPy."""
        return PrintedExpression(Bracket(f"{self.namespace}.{function}(", arguments), ATOM)

    def constant(self, name: str) -> PrintedExpression:
        """Return pi or e."""
        return PrintedExpression(Text(f"{self.namespace}.{name}"), ATOM)

    def builtin(self, name: str, arguments: tuple[Piece, ...]) -> PrintedExpression:
        """Return a call of Abs, Max or Min."""
        return PrintedExpression(Bracket(f"{BUILTIN[name]}(", arguments), ATOM)

    def raised(self, base: Piece, exponent: Piece) -> PrintedExpression:
        """Return a power of two atoms."""
        return PrintedExpression(Chain((("", base), ("**", exponent))), POWER)

    def cases(self, cases: list[tuple[sp.Expr, sp.Basic]], last: sp.Expr) -> PrintedExpression:
        """Return a conditional expression."""
        links: list[tuple[str, Piece]] = []
        for value, when in cases:
            links.append((" else " if links else "", self._operand(value, SUM)))
            links.append((" if ", self.condition(when)))
        links.append((" else ", self._operand(last, SUM)))
        return PrintedExpression(parenthesised(Chain(tuple(links))), ATOM)

    def total(self, node: Total) -> PrintedExpression:
        """Return a sum over an index, in dialects whose expressions have sums."""
        raise self._unknown(node)

    # Entry points.

    def expression(self, node: sp.Basic) -> Piece:
        """Return the expression as a piece of text."""
        return self.printed(node).piece

    def text(self, node: sp.Basic) -> str:
        """Return the expression on one line."""
        return self.expression(node).flat()

    def index(self, node: sp.Basic) -> str:
        """Return an expression over indices and ranges, in integers."""
        if isinstance(node, sp.Integer | sp.Symbol | sp.Idx):
            return str(node)
        if isinstance(node, sp.Add):
            # Names first, as in "i + 1", and no leading sign, as in "k - first".
            terms = sorted(
                node.as_ordered_terms(),
                key=lambda t: (t.could_extract_minus_sign(), t.is_number, str(t)),
            )
            text = self.index(terms[0])
            for term in terms[1:]:
                minus = term.could_extract_minus_sign()
                text += (" - " if minus else " + ") + self.index(-term if minus else term)
            return text
        if isinstance(node, sp.Mul) and all(a.is_Integer or a.is_Symbol for a in node.args):
            return " * ".join(str(a) for a in node.as_ordered_factors())
        if isinstance(node, sp.Min):
            return f"min({', '.join(sorted(self.index(a) for a in node.args))})"
        raise self._unknown(node)

    def condition(self, node: sp.Basic) -> Piece:
        """Return a condition, as it stands after ``if``."""
        return self._condition(node).piece

    @cached_property
    def _rules(self) -> Mapping[str, Callable[[sp.Basic], PrintedExpression]]:
        """Return the functions that print nodes, by the names of the nodes' classes."""
        return {
            "Add": self._sum,
            "Mul": self._product,
            "Pow": self._power,
            "Symbol": lambda s: PrintedExpression(Text(s.name), ATOM),
            "Temporary": lambda s: PrintedExpression(Text(s.name), ATOM),
            "Dummy": self._refuse,
            "Indexed": self._element,
            "Piecewise": self._cases,
            "Pi": lambda _: self.constant("pi"),
            "Exp1": lambda _: self.constant("e"),
            "Total": self.total,
            "KroneckerDelta": lambda d: self._cases(sp.Piecewise((1, sp.Eq(*d.args)), (0, True))),
        }

    def printed(self, node: sp.Basic) -> PrintedExpression:
        """Return the expression and its binding."""
        if isinstance(node, sp.Rational):
            return self._rational(node)
        rule = self._rules.get(type(node).__name__)
        if rule is not None:
            return rule(node)
        if isinstance(node, Application):
            return self._call(node)
        raise self._unknown(node)

    # Rules.

    def _unknown(self, node: sp.Basic) -> PrinterError:
        return PrinterError(
            f"the {self.name} printer does not know {type(node).__name__} (in {str(node)[:80]}); "
            "rewrite it before it reaches the program, or give the printer a rule"
        )

    def _refuse(self, node: sp.Basic) -> PrintedExpression:
        raise self._unknown(node)

    def _operand(self, node: sp.Basic, binding: int) -> Piece:
        """Return the expression, in parentheses if it binds less strongly than ``binding``."""
        printed = self.printed(node)
        return printed.piece if printed.binding >= binding else parenthesised(printed.piece)

    def _rational(self, value: sp.Rational) -> PrintedExpression:
        if value >= 0:
            return self.number(value)
        return PrintedExpression(Chain((("-", self.number(-value).piece),)), SIGN)

    def _element(self, node: sp.Indexed) -> PrintedExpression:
        indices = tuple(self.index(index) for index in node.indices)
        return PrintedExpression(Text(self.element(array_name(node), indices)), ATOM)

    def _sum(self, node: sp.Add) -> PrintedExpression:
        terms = list(node.as_ordered_terms())
        # Start with a positive term if there is one: "b - a" instead of "-a + b".
        leading = next((t for t in terms if not t.could_extract_minus_sign()), terms[0])
        terms.remove(leading)
        links: list[tuple[str, Piece]] = [("", self._operand(leading, PRODUCT))]
        for term in terms:
            minus = term.could_extract_minus_sign()
            operand = self._operand(-term if minus else term, PRODUCT)
            links.append((" - " if minus else " + ", operand))
        return PrintedExpression(Chain(tuple(links)), SUM)

    def _product(self, node: sp.Mul) -> PrintedExpression:
        coefficient, factors = node.as_coeff_Mul()
        if coefficient < 0:
            positive = self.printed(-node)
            piece = positive.piece
            if positive.binding < PRODUCT:
                piece = parenthesised(piece)
            links = piece.links if isinstance(piece, Chain) else (("", piece),)
            return PrintedExpression(Chain((("-" + links[0][0], links[0][1]), *links[1:])), PRODUCT)
        above: list[sp.Expr] = []
        below: list[sp.Expr] = []
        constants: list[sp.Expr] = []
        for factor in sp.Mul.make_args(factors):
            if factor.is_number and not factor.is_Rational:
                constants.append(factor)
            elif isinstance(factor, sp.Pow) and factor.exp.is_Rational and factor.exp < 0:
                below.append(factor.base**-factor.exp)
            elif factor != 1:
                above.append(factor)
        above.sort(key=_reading_order)
        below = self._one_root(below)
        if constants and (above or below):
            return self._with_constant(coefficient, constants, above, below)
        return self._quotient(coefficient, [*constants, *above], below)

    def _one_root(self, factors: list[sp.Expr]) -> list[sp.Expr]:
        """Return roots in a denominator as the root of their product, unless a domain's edge is
        near.
        """
        half = sp.Rational(1, 2)
        roots = [f for f in factors if isinstance(f, sp.Pow) and f.exp == half]
        if self._guarded or len(roots) < 2 or any(f.is_number for f in roots):
            return factors
        inside = sp.Mul(*(root.base for root in roots), evaluate=False)
        return [*(f for f in factors if f not in roots), sp.Pow(inside, half, evaluate=False)]

    def _with_constant(
        self,
        coefficient: sp.Rational,
        constants: list[sp.Expr],
        above: list[sp.Expr],
        below: list[sp.Expr],
    ) -> PrintedExpression:
        """Return a product with constants such as 2/pi in one leading bracket, which the compiler
        folds.
        """
        inverse = [1 / c for c in constants if isinstance(c, sp.Pow) and c.exp < 0]
        direct = [c for c in constants if not (isinstance(c, sp.Pow) and c.exp < 0)]
        number = self._quotient(coefficient, direct, inverse)
        piece = parenthesised(number.piece) if number.binding < ATOM else number.piece
        if not above:
            return self._divided(PrintedExpression(piece, ATOM), below)
        rest = self._quotient(sp.Integer(1), above, below)
        if rest.binding < PRODUCT:
            rest = PrintedExpression(parenthesised(rest.piece), ATOM)
        links = rest.piece.links if isinstance(rest.piece, Chain) else (("", rest.piece),)
        return PrintedExpression(Chain((("", piece), (" * ", links[0][1]), *links[1:])), PRODUCT)

    def _quotient(
        self, coefficient: sp.Rational, above: list[sp.Expr], below: list[sp.Expr]
    ) -> PrintedExpression:
        divisor = sp.Integer(1)
        if above and self.splits_fractions(coefficient):
            coefficient, divisor = sp.Integer(coefficient.p), sp.Integer(coefficient.q)
        if coefficient == 1 and divisor == 1 and len(above) == 1:
            return self._divided(self.printed(above[0]), below)
        factors: list[Piece] = []
        if coefficient != 1 or not above:
            number = self.number(coefficient)
            factors.append(
                number.piece if number.binding >= PRODUCT else parenthesised(number.piece)
            )
        factors += [self._operand(factor, PRODUCT) for factor in above]
        links: list[tuple[str, Piece]] = []
        for factor in factors:
            inner = factor.links if isinstance(factor, Chain) else (("", factor),)
            links.append((" * " if links else "", inner[0][1]))
            links.extend(inner[1:])
        numerator = (
            PrintedExpression(Chain(tuple(links)), PRODUCT)
            if len(links) > 1
            else PrintedExpression(links[0][1], self._binding_of(coefficient, above))
        )
        if divisor != 1:
            numerator = self._over(numerator, self.number(divisor).piece)
        return self._divided(numerator, below)

    def _binding_of(self, coefficient: sp.Rational, above: list[sp.Expr]) -> int:
        if above:
            return max(self.printed(above[0]).binding, PRODUCT) if coefficient == 1 else PRODUCT
        return self.number(coefficient).binding

    def _over(self, numerator: PrintedExpression, divisor: Piece) -> PrintedExpression:
        piece = numerator.piece
        if numerator.binding < PRODUCT:
            piece = parenthesised(piece)
        links = piece.links if isinstance(piece, Chain) else (("", piece),)
        return PrintedExpression(Chain((*links, (" / ", divisor))), PRODUCT)

    def _divided(self, numerator: PrintedExpression, below: list[sp.Expr]) -> PrintedExpression:
        if not below:
            return numerator
        denominator = sp.Mul(*below, evaluate=False) if len(below) > 1 else below[0]
        if self._guarded and not denominator.is_number:
            self.helpers.add("_ratio")
            return self.helper_call("_ratio", (numerator.piece, self.expression(denominator)))
        return self._over(numerator, self._operand(denominator, POWER))

    def _power(self, node: sp.Pow) -> PrintedExpression:
        base, exponent = node.args
        if base == sp.E:
            return self._elementary("exp", (exponent,))
        if exponent.is_Rational and exponent < 0:
            return self._divided(self.number(sp.Integer(1)), [base**-exponent])
        if exponent == sp.Rational(1, 2):
            return self._root(base)
        if exponent.is_Rational and exponent.q == 2:
            whole = self._operand(base ** sp.Integer(exponent.p // 2), PRODUCT)
            links = whole.links if isinstance(whole, Chain) else (("", whole),)
            return PrintedExpression(Chain((*links, (" * ", self._root(base).piece))), PRODUCT)
        if exponent in (2, 3) and isinstance(base, sp.Symbol | sp.Indexed):
            factor = self.expression(base)
            links = (("", factor), *((" * ", factor),) * (int(exponent) - 1))
            return PrintedExpression(Chain(links), PRODUCT)
        whole_number = exponent.is_Integer
        shown = Text(str(exponent)) if whole_number else self._operand(exponent, ATOM)
        return self.raised(self._operand(base, ATOM), shown)

    def _root(self, base: sp.Expr) -> PrintedExpression:
        if self._guarded and not base.is_number:
            self.helpers.add("_clipped_sqrt")
            return self.helper_call("_clipped_sqrt", (self.expression(base),))
        return self._elementary("sqrt", (base,))

    def _elementary(self, name: str, arguments: tuple[sp.Basic, ...]) -> PrintedExpression:
        pieces = tuple(self.expression(argument) for argument in arguments)
        return self.applied(name, pieces)

    def _call(self, node: Application) -> PrintedExpression:
        name = node.func.__name__
        arguments = tuple(self.expression(argument) for argument in node.args)
        if isinstance(node, AppliedUndef):
            if name not in self._functions:
                raise self._unknown(node)
            return self.helper_call(name, arguments)
        if name in self._special:
            self.pasted.add(self._special[name])
            return self.helper_call(self._special[name], arguments)
        if name in HELPERS and (name != "Heaviside" or node.args[1:] in ((), (sp.Rational(1, 2),))):
            self.helpers.add(HELPERS[name])
            return self.helper_call(HELPERS[name], arguments[:1])
        if name in GUARDED:
            if self._guarded and not node.args[0].is_number:
                self.helpers.add(GUARDED[name])
                return self.helper_call(GUARDED[name], arguments)
            return self._elementary(name, node.args)
        if name in BUILTIN:
            ordered = sorted(node.args, key=sp.default_sort_key)
            pieces = tuple(self.expression(argument) for argument in ordered)
            return self.builtin(name, pieces)
        if name in ELEMENTARY:
            return self._elementary(name, node.args)
        raise self._unknown(node)

    def _cases(self, node: sp.Piecewise) -> PrintedExpression:
        """Return a conditional expression for cases whose last condition is True."""
        *cases, (last, condition) = node.args
        if condition != sp.true:
            raise PrinterError(f"the {self.name} printer: {str(node)[:80]} has no last case (True)")
        return self.cases([(value, when) for value, when in cases], last)

    def _condition(self, node: sp.Basic) -> PrintedExpression:
        kind = type(node).__name__
        if kind in RELATIONS:
            left, right = node.args
            if _integers(left) and _integers(right):
                sides: tuple[Piece, Piece] = (Text(self.index(left)), Text(self.index(right)))
            else:
                sides = (self._operand(left, SUM), self._operand(right, SUM))
            return PrintedExpression(
                Chain((("", sides[0]), (f" {RELATIONS[kind]} ", sides[1]))), SUM
            )
        if kind == "Not":
            inner = parenthesised(self.condition(node.args[0]))
            return PrintedExpression(Chain(((self.words["Not"], inner),)), SIGN)
        if kind in ("And", "Or"):
            word = self.words[kind]
            links: list[tuple[str, Piece]] = []
            for argument in sorted(node.args, key=sp.default_sort_key):
                printed = self._condition(argument)
                nested = self.relations_bind_less or type(argument).__name__ in ("And", "Or")
                piece = parenthesised(printed.piece) if nested else printed.piece
                links.append((word if links else "", piece))
            return PrintedExpression(Chain(tuple(links)), CONDITIONAL)
        if kind in ("BooleanTrue", "BooleanFalse"):
            return PrintedExpression(Text(str(node)), ATOM)
        raise self._unknown(node)


def _integers(node: sp.Basic) -> bool:
    return bool(node.is_integer) and not node.has(sp.Indexed)


def _reading_order(factor: sp.Basic) -> tuple[int, object]:
    """Return a sort key in the usual order of factors: weights, quantities, brackets, calls."""
    ranks = (sp.Piecewise, Temporary, (sp.Symbol, sp.Indexed), sp.Pow, sp.Add, sp.Function)
    kind = next((n for n, types in enumerate(ranks) if isinstance(factor, types)), len(ranks))
    # Piecewise is a Function and Temporary a Symbol; temporaries follow their scale factors.
    return (3 if kind == 1 else kind), sp.default_sort_key(factor)
