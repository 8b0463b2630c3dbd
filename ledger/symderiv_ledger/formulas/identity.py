r"""A symbolic test of whether the difference of two closed forms simplifies to zero.

Roots are split into roots of irreducible factors, inverse sines whose arguments agree become one
symbol, and the rest is rational. Each factor is taken as positive, as it is inside the cone of
covariances for the roots that occur there; so a success is evidence, to which numbers are added.
"""

from __future__ import annotations

from typing import Final

import sympy as sp

#: Most operations in a difference that is tried: factoring a larger one could take long.
MAX_OPERATIONS: Final = 500

_ODD: Final = (sp.asin, sp.atan)


def is_identity(left: sp.Expr, right: sp.Expr) -> bool:
    """Return True if the difference is found to vanish; False proves nothing."""
    if left == right:
        return True
    difference = left - right
    if difference.count_ops() > MAX_OPERATIONS:
        return False
    try:
        return _Tidier().vanishes(difference)
    except (sp.PolynomialError, NotImplementedError, ValueError, RecursionError):
        return False


class _Tidier:
    def __init__(self) -> None:
        self.roots: dict[sp.Expr, sp.Symbol] = {}
        self.calls: list[tuple[sp.Expr, sp.Symbol]] = []

    def vanishes(self, expression: sp.Expr) -> bool:
        return self._is_zero(self._rational(expression))

    def _rational(self, e: sp.Expr) -> sp.Expr:
        """Return the expression with roots and functions as symbols."""
        if not e.args:
            return e
        if e.is_Pow and e.exp.is_Rational and not e.exp.is_Integer and e.exp.q == 2:
            return self._root(self._rational(e.base)) ** e.exp.p
        arguments = [self._rational(argument) for argument in e.args]
        if isinstance(e, sp.Function):
            return self._call(e.func, arguments)
        return e.func(*arguments)

    def _root(self, base: sp.Expr) -> sp.Expr:
        constant, factors = sp.factor_list(sp.together(base))
        result = sp.sqrt(abs(constant))
        if constant < 0:
            # the first factor takes the sign
            factors = [(-factors[0][0], factors[0][1]), *factors[1:]]
        for factor, power in factors:
            symbol = self.roots.setdefault(factor, sp.Dummy(positive=True))
            result *= symbol**power
        return result

    def _call(self, function: type[sp.Function], arguments: list[sp.Expr]) -> sp.Expr:
        if len(arguments) != 1:
            return function(*arguments)
        (argument,) = arguments
        for known, symbol in self.calls:
            if known.func is function:
                if self._is_zero(argument - known.args[0]):
                    return symbol
                if function in _ODD and self._is_zero(argument + known.args[0]):
                    return -symbol
        symbol = sp.Dummy()
        call = function(argument, evaluate=False)
        self.calls.append((call, symbol))
        return symbol

    def _is_zero(self, e: sp.Expr) -> bool:
        numerator = sp.numer(sp.together(e))
        symbols = set(self.roots.values())
        poly = sp.expand(numerator)
        while True:
            reduced = sp.expand(
                sp.Add(*(self._reduced(term, symbols) for term in sp.Add.make_args(poly)))
            )
            if reduced == poly:
                return bool(poly == 0)
            poly = reduced

    def _reduced(self, term: sp.Expr, symbols: set[sp.Symbol]) -> sp.Expr:
        """Return the term with squares of root symbols replaced by what is under the roots."""
        powers = term.as_powers_dict()
        if not any(abs(p) >= 2 for b, p in powers.items() if b in symbols):
            return term
        under = {symbol: factor for factor, symbol in self.roots.items()}
        return sp.Mul(
            *(
                under[b] ** (p // 2) * b ** (p % 2) if b in symbols else b**p
                for b, p in powers.items()
            )
        )
