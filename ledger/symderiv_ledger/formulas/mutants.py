"""Small changes that could repair a wrong formula: the misprints that occur most often."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Final

import mpmath
import sympy as sp

MAX_MUTANTS: Final = 500


def repaired(formula: sp.Expr, agrees: Callable[[sp.Expr], bool], ratio: Any) -> str:
    """Return a sentence that says how the formula becomes right, or an empty one.

    Args:
        formula: The wrong formula.
        agrees: Is a changed formula right?
        ratio: Formula over expectation if that is one number, else None.
    """
    if ratio is not None:
        factor = _recognised(ratio)
        if factor == 1:
            # closer to one than the numbers that are recognised
            return f"the formula is {mpmath.nstr(ratio, 20)} times the expectation"
        if factor == -1:
            return "the sign of the whole is wrong"
        return f"the formula is {factor} times the expectation"
    for what, mutant in itertools.islice(_mutants(formula), MAX_MUTANTS):
        if agrees(mutant):
            return f"it holds with {what}"
    return ""


def _recognised(ratio: Any) -> sp.Expr:
    """Return the number as a rational, its square root, or those with pi."""
    number = sp.Float(ratio._mpf_, 25)
    for unit in (sp.S.One, sp.sqrt(2), sp.pi, 1 / sp.pi, sp.sqrt(sp.pi), 1 / sp.sqrt(sp.pi)):
        rational = sp.nsimplify(
            sp.N(number / unit, 25), rational=True, tolerance=sp.Rational(1, 10**18)
        )
        if abs(rational.p) < 1000 and rational.q < 1000:
            return rational * unit
    return sp.Float(number, 15)


def _mutants(formula: sp.Expr) -> Iterator[tuple[str, sp.Expr]]:
    pieces = [e for e in sp.preorder_traversal(formula) if e.args]
    symbols = sorted(formula.free_symbols, key=lambda s: s.name)
    pieces = list(dict.fromkeys(pieces))
    for piece in pieces:
        for what, other in itertools.chain(_signs(piece), _powers(piece)):
            yield what, formula.xreplace({piece: other})
    for a, b in itertools.combinations(symbols, 2):
        yield f"{a} and {b} exchanged", formula.xreplace({a: b, b: a})
    for piece in pieces:
        for what, other in _indices(piece, symbols):
            yield what, formula.xreplace({piece: other})


def _signs(piece: sp.Expr) -> Iterator[tuple[str, sp.Expr]]:
    if piece.is_Add:
        for i, term in enumerate(piece.args):
            others = piece.args[:i] + piece.args[i + 1 :]
            yield f"the sign of {term} flipped", sp.Add(*others, -term)


def _powers(piece: sp.Expr) -> Iterator[tuple[str, sp.Expr]]:
    """Squares and roots too many or missing, a factor above instead of below."""
    if piece.is_Pow:
        base, exponent = piece.args
        for power in (2 * exponent, exponent / 2, -exponent):
            yield f"{base**power} for {piece}", base**power
    if piece.is_Mul or piece.is_Add:
        for i, part in enumerate(piece.args):
            if part.is_Symbol or part.is_Add:
                rest = (*piece.args[:i], *piece.args[i + 1 :])
                for power in (2, sp.S.Half, -1):
                    yield f"{part**power} for {part} in {piece}", piece.func(part**power, *rest)


def _indices(piece: sp.Expr, symbols: list[sp.Symbol]) -> Iterator[tuple[str, sp.Expr]]:
    """Yield one symbol for another at one place."""
    for i, part in enumerate(piece.args):
        base = part.base if part.is_Pow else part
        if base.is_Symbol:
            for other in symbols:
                if other != base:
                    changed = part.xreplace({base: other})
                    arguments = (*piece.args[:i], changed, *piece.args[i + 1 :])
                    yield f"{other} for {base} in {piece}", piece.func(*arguments)
