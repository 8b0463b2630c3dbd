r"""Means of products of signs of jointly Gaussian variables.

Independent groups factorise. Of one group with s signs:

* s = 1: E[sgn s] = erf(μ/√(2C)); imaginary means (sin, cos) give i erfi.
* s = 2, centred: Price, ∂E/∂C_12 = 4 E[δ(s_1) δ(s_2)] = (2/π)/√(C_11 C_22 - C_12²), integrated
  from C_12 = 0, gives (2/π) arcsin(C_12/√(C_11 C_22)).
* s = 2 with means h_1, h_2 in units of the standard deviations: the same integral with its Gaussian
  factor is Owen's function, E = sgn(h_1 h_2) - 4 T(h_1, a_12) - 4 T(h_2, a_21),
  a_ij = (h_j - ρ h_i)/(h_i √(1 - ρ²)); for h_1 = 0 it is 4 T(h_2, ρ/√(1 - ρ²)).
* odd s, centred: zero by reflection.
* s = 4, centred: Price leaves an arcsine of a partial correlation under a one-dimensional integral,
  kept as the function SignMean4 of the six correlations.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import sympy as sp

from symderiv.foundation.errors import NotYetError
from symderiv.gaussian.functions import OwenT, ShiftedSigns, SignMean2, SignMean4
from symderiv.gaussian.terms.covariance import Conditions, Gaussian
from symderiv.gaussian.terms.views import View


@dataclass
class FormUse:
    """The first use of a closed form, and the number of its uses."""

    gaussian: Gaussian
    given: Conditions
    signs: tuple[int, ...]
    value: sp.Expr
    count: int = 1


FormUses = dict[str, FormUse]


class SignMeans:
    """Closed forms of E[∏ sgn s_a | S] as pairs of real and imaginary part.

    Args:
        view: How covariances are written.
        used: Where the closed forms that were needed are recorded.
    """

    def __init__(self, view: View, used: FormUses) -> None:
        self.view = view
        self.g = view.g
        self.used = used
        self._memo: dict[tuple[Conditions, tuple[int, ...]], tuple[sp.Expr, sp.Expr]] = {}

    def mean(self, given: Conditions, signs: tuple[int, ...]) -> tuple[sp.Expr, sp.Expr]:
        """Return real and imaginary part of E[∏ sgn | S].

        Raises:
            NotYetError: More signs than have a closed form.
        """
        real, imaginary = sp.S.One, sp.S.Zero
        for group in self._groups(given, signs):
            key = (given, group)
            if key not in self._memo:
                self._memo[key] = self._group(given, group)
            x, y = self._memo[key]
            real, imaginary = real * x - imaginary * y, real * y + imaginary * x
        return real, imaginary

    def _groups(self, given: Conditions, signs: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return connected components of the correlation graph."""
        groups: list[set[int]] = []
        for i in signs:
            linked = [s for s in groups if any(not self.g.is_zero(given, i, j) for j in s)]
            merged = {i}.union(*linked)
            groups = [s for s in groups if s not in linked] + [merged]
        return [tuple(sorted(s)) for s in groups]

    def _group(self, given: Conditions, group: tuple[int, ...]) -> tuple[sp.Expr, sp.Expr]:
        g = self.g
        with_real = any(g.n(given, i, g.real) for i in group)
        with_imaginary = any(g.n(given, i, g.imaginary) for i in group)
        if not (with_real or with_imaginary):
            return self._centred(given, group), sp.S.Zero
        if len(group) == 1:
            return self._single(given, group[0], bool(with_real), bool(with_imaginary))
        if len(group) == 2 and not (with_real and with_imaginary):
            row = g.real if with_real else g.imaginary
            return self._owen(given, group[0], group[1], row), sp.S.Zero
        kind = "complex means (sin, cos times signs)" if with_imaginary else "means"
        raise NotYetError(
            f"not yet: no closed form is known here for a product of s = {len(group)} sign factors "
            f"with {kind}"
        )

    def _centred(self, given: Conditions, group: tuple[int, ...]) -> sp.Expr:
        if len(group) % 2:
            return sp.S.Zero
        pairs = combinations(group, 2)
        if len(group) == 2:
            value = 2 / sp.pi * sp.asin(self.view.correlation(given, *group))
            return self._used("arcsine", given, group, value)
        if len(group) == 4:
            value = SignMean4(*(self.view.correlation(given, i, j) for i, j in pairs))
            return self._used("orthant", given, group, value)
        raise NotYetError(f"no closed form: a product of s = {len(group)} correlated sign factors")

    def _single(
        self, given: Conditions, i: int, with_real: bool, with_imaginary: bool
    ) -> tuple[sp.Expr, sp.Expr]:
        g, root = self.g, sp.sqrt(2)
        if not with_imaginary:
            value = sp.erf(self.view.standard_mean(given, i, g.real) / root)
            return self._used("error function", given, (i,), value), sp.S.Zero
        height = self.view.standard_mean(given, i, g.imaginary) / root
        if not with_real:
            value = sp.erfi(height)
            self._used("error function", given, (i,), sp.I * value)
            return sp.S.Zero, value
        value = sp.erf(self.view.standard_mean(given, i, g.real) / root + sp.I * height)
        self._used("error function", given, (i,), value)
        return sp.re(value, evaluate=False), sp.im(value, evaluate=False)

    def _owen(self, given: Conditions, i: int, j: int, row: int) -> sp.Expr:
        g, view = self.g, self.view
        means = [
            view.standard_mean(given, a, row) if g.n(given, a, row) else sp.S.Zero for a in (i, j)
        ]
        if row == g.imaginary and view.folded:
            continued = SignMean2(*means, view.correlation(given, i, j))
            return self._used("Owen's T", given, (i, j), continued)
        if view.shifted:
            # slopes of Owen's function are infinite where fields coincide
            shifted = ShiftedSigns(*means, view.correlation(given, i, j))
            return self._used("Owen's T", given, (i, j), shifted)
        unit = sp.S.One if row == g.real else sp.I
        for a, b in ((i, j), (j, i)):
            if not g.n(given, a, row):
                h = view.standard_mean(given, b, row)
                value = 4 * OwenT(unit * h, view.tangent(given, i, j))
                return self._used("Owen's T", given, (i, j), value)
        total = sp.S.Zero
        for a, b in ((i, j), (j, i)):
            h = view.standard_mean(given, a, row)
            total -= 4 * OwenT(unit * h, view.slope(given, a, b, row))
        product = view.standard_mean(given, i, row) * view.standard_mean(given, j, row)
        # With equal means the product is never negative, so where it vanishes its sign is the limit
        # and not the average of both sides.
        side = sp.S.One if product.is_nonnegative else sp.sign(product)
        if product.is_nonpositive:
            side = -sp.S.One
        return self._used("Owen's T", given, (i, j), side + total)

    def _used(
        self, form: str, given: Conditions, signs: tuple[int, ...], value: sp.Expr
    ) -> sp.Expr:
        if form in self.used:
            self.used[form].count += 1
        else:
            self.used[form] = FormUse(self.g, given, signs, value)
        return value
