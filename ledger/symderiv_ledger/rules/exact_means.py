"""Gaussian means that statements are about: at exact covariances, in closed form or enclosed.

A mean that the calculus finds in closed form is known to as many digits as are asked for. Any other
one is enclosed at every covariance by certified quadrature
(:mod:`symderiv.precision.quadrature.numeric_mean`), to fewer digits the more variables it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import sympy as sp

from symderiv.foundation.errors import DivergentError, NotYetError, SymderivError, ToleranceError
from symderiv.precision.balls.contexts import Numbers
from symderiv_ledger.claims.claim import ComparisonRule, Point
from symderiv_ledger.formulas.points import points
from symderiv_ledger.rules.arithmetic import Indexed
from symderiv_ledger.rules.comparison_rules import Enclosed, Exact

#: Number of extra digits, against rounding in the statement.
GUARD: Final = 10
#: By number of variables: digits of quadrature, unless all are insisted on, and covariances ...
_EFFORT: Final = {1: (30, 30), 2: (12, 12), 3: (8, 6), 4: (6, 4)}
#: ... and the least digits that do where these are not reached (very different scales).
_AT_LEAST: Final = 5
#: A singular covariance is approached up to this fraction of the way to a regular one.
_NEAR: Final = sp.Rational(1, 10**9)


@dataclass(frozen=True)
class GaussianMean:
    """E[integrand] over centred Gaussian fields, as a function of their covariance."""

    integrand: sp.Expr  # what is averaged
    fields: tuple[sp.Symbol, ...]  # the n fields
    digits: int  # the number of digits asked for; a mean without closed form may have fewer
    insist: bool = False  # whether it must have them all

    @cached_property
    def _derived(self) -> sp.Expr | SymderivError:
        from symderiv.gaussian import expectation

        try:
            return expectation(self.integrand, self.fields, self._covariance).value
        except (DivergentError, NotYetError) as error:
            # the rules look at factors one by one: a mean that they call divergent may exist
            return error

    @property
    def _covariance(self) -> sp.Matrix:
        from symderiv.gaussian import covariance_symbols

        return covariance_symbols(len(self.fields))

    @property
    def closed(self) -> sp.Expr | None:
        """The mean in the symbols of the covariance; None if there is no closed form."""
        return None if isinstance(self._derived, SymderivError) else self._derived

    @property
    def rule(self) -> ComparisonRule:
        """The rule by which statements about it are tried."""
        if self.closed is None:
            return Enclosed(self.digits + GUARD)
        return Exact(digits=self.digits + GUARD, lost=GUARD)

    def points(self, numbers: Any) -> Iterator[Point]:
        """Yield covariances inside the cone, some nearly singular, with the mean as ``I``."""
        if self.closed is None:
            yield from self._enclosed(numbers)
            return
        from symderiv.gaussian.forms.evaluate import number

        for kind, covariance in self._covariances():
            at = dict(zip(self._covariance, covariance, strict=True))
            value = number(self.closed.xreplace(at), numbers.dps, numbers)
            yield _point(kind, covariance, value, numbers)

    def _enclosed(self, numbers: Numbers) -> Iterator[Point]:
        variables = sum(not self.integrand.is_polynomial(x) for x in self.fields)
        most, count = _EFFORT[max(variables, 1)]
        tried = [self.digits] if self.insist else [min(self.digits, most), _AT_LEAST]
        for kind, covariance in list(self._covariances())[:count]:
            try:
                value = self._enclosed_at(covariance, tried)
            except ToleranceError:
                if self.insist or not kind.startswith("nearly"):
                    raise
                continue  # the summary states the number of points
            except (DivergentError, NotYetError) as error:
                derived = self._derived
                raise derived if isinstance(derived, DivergentError) else error from None
            yield _point(kind, covariance, value, numbers)

    def _enclosed_at(self, covariance: sp.Matrix, digits: Sequence[int]) -> Any:
        """Return the mean to the first number of digits, or the next one where it is smaller."""
        try:
            return enclosed_mean(self.integrand, self.fields, covariance, digits[0])
        except ToleranceError:
            if digits[-1] >= digits[0]:
                raise
            return enclosed_mean(self.integrand, self.fields, covariance, digits[-1])

    def _covariances(self) -> Iterator[tuple[str, sp.Matrix]]:
        tried = points(self._covariance)
        inside = [point for point in tried if not point.degenerate]
        for point in inside:
            yield point.kind, point.covariance
        for point in tried:
            if point.degenerate:
                mixed = (1 - _NEAR) * point.covariance + _NEAR * inside[0].covariance
                yield f"nearly: {point.kind}", mixed


def _point(kind: str, covariance: sp.Matrix, value: Any, numbers: Numbers) -> Point:
    n = covariance.rows
    rows = [[exactly(covariance[i, j], numbers) for j in range(n)] for i in range(n)]
    shown = "; ".join(", ".join(map(str, covariance.row(i))) for i in range(n))
    names = {"C": Indexed(rows, (1, n), (1, n)), "I": value}
    return Point(f"{kind}: C = [{shown}]", names)


def exactly(value: sp.Rational, numbers: Numbers) -> Any:
    """Return a rational as a number of an arithmetic."""
    return numbers.mpf(int(value.p)) / int(value.q)


def enclosed_mean(
    integrand: sp.Expr, fields: Sequence[sp.Symbol], covariance: sp.Matrix, digits: int
) -> Any:
    """Return a ball (``arb``) around E[integrand] of centred fields with a rational covariance.

    Raises:
        SymderivError: The mean does not exist, or so many significant digits are not reached.
    """
    from flint import arb, fmpq

    from symderiv.precision.quadrature.numeric_mean import numeric_mean

    mean = numeric_mean(integrand, fields, covariance).evaluate(digits).value
    if mean.interval is None:
        raise ToleranceError(f"the bound of {mean.method} is not proved")
    low, high = (arb(fmpq(end.numerator, end.denominator)) for end in mean.interval)
    return low.union(high)
