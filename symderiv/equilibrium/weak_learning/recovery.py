"""The generative exponent of a target, and the threshold α_c of examples/N for weak recovery.

1/α_c is the largest value of ‖E[A(y) M A(y)]‖ over positive semidefinite M of norm 1, with A(y) =
E[zzᵀ - 1 | y]. M ↦ E[A M A] is symmetric and preserves positivity, so this is its largest
eigenvalue (Troiani, Dandi, Defilippis, Zdeborová, Loureiro, Krzakala, 2024).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp

from symderiv.equilibrium.weak_learning.hermite_tensors import (
    HermiteTensors,
    hermite_product,
    orders_of,
)
from symderiv.equilibrium.weak_learning.level_means import LevelMeans, level_means
from symderiv.equilibrium.weak_learning.stated_target import FewFieldTarget
from symderiv.foundation.errors import SymderivError, ToleranceError
from symderiv.gaussian import expectation

_MOST_SIGNS = 5

#: For each value of y its probability, and E[∏ He(z); y] for each order.
OutputMoments = dict[sp.Expr, tuple[sp.Expr, list[sp.Expr]]]


def finite_moments(target: FewFieldTarget, orders: list[tuple[int, ...]]) -> OutputMoments | None:
    """Return moments for each value of a target that is a function of signs; None for others.

    The probability of a pattern of signs, and the moments of fields on it, are sums of means of
    products of signs, which the Gaussian calculus gives.
    """
    if target.in_signs is None or len(target.in_signs[1]) > _MOST_SIGNS:
        return None
    signs, (sets, values) = target.in_signs[1], target.patterns
    asked = [sp.S.One, *(hermite_product(target.fields, each) for each in orders)]
    means = []
    for chosen in sets:
        product = sp.prod(s for s, taken in zip(signs, chosen, strict=True) if taken)
        try:
            means.append([_mean(product * each, target) for each in asked])
        except (SymderivError, NotImplementedError, ValueError, TypeError):
            return None
    moments: OutputMoments = {}
    for y, factors in values.items():
        p, *rest = (
            sp.expand(sp.Add(*(a * b for a, b in zip(factors, column, strict=True))))
            for column in zip(*means, strict=True)
        )
        if abs(p.evalf(30)) > 1e-25:
            moments[y] = p, rest
    return moments


def _mean(integrand: sp.Expr, target: FewFieldTarget) -> sp.Expr:
    return expectation(integrand, target.variables, sp.eye(len(target.variables))).unfolded()


_NOTHING = 1e-6
_FINEST, _SETTLED = 4, 1e-10


@dataclass(frozen=True)
class Exponent:
    """An exponent (None if none was found), and whether it was decided symbolically."""

    value: int | None
    by_symbols: bool


@dataclass(frozen=True)
class Recovery:
    """The threshold α_c.

    Attributes:
        alpha: The value; infinite if no multiple of N suffices.
        closed: The closed form, if there is one.
        error: The difference from the result with fewer nodes, or the effect of the probability
            that nodes miss, if that is larger; 0 for a closed form.
        curve: y (q,) and A(y) (q, r, r), if means given y were computed.
    """

    alpha: float
    closed: sp.Expr | None
    error: float
    curve: tuple[np.ndarray, np.ndarray] | None = None


def generative_exponent(target: FewFieldTarget, degree: int) -> Exponent:
    """Return the smallest k for which E[He_k(z) | y] is not zero."""
    by_symbols = True
    powers = [
        HermiteTensors(replace(target, expression=sp.expand(target.expression**n)), degree)
        for n in (1, 2, 3)
    ]
    for k in range(1, degree + 1):
        orders = [each for each in orders_of(len(target.fields), k) if not target.vanishes(each)]
        if not orders:
            continue
        # a nonzero coefficient of a power of y suffices
        if any(all(each.coefficient(one)) for each in powers for one in orders):
            return Exponent(k, by_symbols)
        finite = finite_moments(target, orders)
        if finite is not None:
            if any(
                each != 0 and abs(each.evalf(30)) > 1e-20 for _, m in finite.values() for each in m
            ):
                return Exponent(k, by_symbols)
            continue
        by_symbols = False
        if level_means(target, orders, 0).sizes().max() > _NOTHING:
            return Exponent(k, by_symbols)
    return Exponent(None, by_symbols)


def weak_recovery(target: FewFieldTarget, exponent: Exponent) -> Recovery:
    """Return α_c of a target with a given generative exponent.

    Raises:
        NotYetError: The level sets of y are not known.
    """
    r = len(target.fields)
    orders = list(orders_of(r, 2))
    if exponent.value == 1:
        return Recovery(0.0, sp.S.Zero, 0.0)
    if exponent.value is None or exponent.value > 2:
        return Recovery(math.inf, sp.oo, 0.0)
    finite = finite_moments(target, orders)
    if finite is not None:
        return _closed(finite, orders, r)
    before = None
    for fine in range(_FINEST):
        levels = level_means(target, orders, fine)
        alpha = 1.0 / _largest(levels, orders, r)
        missing = abs(levels.weights.sum() - 1.0) * alpha
        error = math.inf if before is None else max(abs(alpha - before), missing)
        if error < _SETTLED * alpha:
            break
        before = alpha
    if error > 1e-6 * alpha:
        raise ToleranceError(f"α_c = {alpha:g} was reached to {error:.1g} only")
    exact = sp.Rational(r, 2)
    # y is a function of |z|² only: A(y) is (|z|²/r - 1) 1
    is_length = abs(alpha - r / 2) < 1e-8 and _of_length(target)
    curve = _curve(levels, orders, r)
    if is_length:
        return Recovery(float(exact), exact, 0.0, curve)
    return Recovery(alpha, None, error, curve)


def _of_length(target: FewFieldTarget) -> bool:
    """Return whether y is an injective function of |z|."""
    if target.noisy:
        return False
    r = sp.Symbol("r", positive=True)
    angle = sp.Symbol("angle", real=True)
    if len(target.fields) == 1:
        on_rays = [target.level_form.subs(target.fields[0], s * r) for s in (1, -1)]
        if sp.simplify(on_rays[0] - on_rays[1]) != 0:
            return False
        slope = sp.diff(on_rays[0], r)
    elif len(target.fields) == 2:
        at = dict(zip(target.fields, (r * sp.cos(angle), r * sp.sin(angle)), strict=True))
        radial = sp.simplify(target.level_form.xreplace(at))
        if radial.has(angle):
            return False
        slope = sp.diff(radial, r)
    else:
        return False
    return bool(slope.is_positive or slope.is_negative)


def _matrices(orders: list[tuple[int, ...]], r: int) -> list[np.ndarray]:
    """Return the symmetric matrix that indicates the entries of each order of degree 2."""
    matrices = []
    for each in orders:
        places = [i for i, n in enumerate(each) for _ in range(n)]
        one = np.zeros((r, r), dtype=int)
        one[places[0], places[1]] = one[places[1], places[0]] = 1
        matrices.append(one)
    return matrices


def _largest(found: LevelMeans, orders: list[tuple[int, ...]], r: int) -> float:
    """Return the largest eigenvalue of M ↦ E[A M A] on symmetric matrices."""
    means = np.array(_matrices(orders, r), dtype=float)
    whole = np.einsum("ab,aij,bkl->iljk", found.squares(), means, means).reshape(r * r, r * r)
    return float(np.linalg.eigvalsh((whole + whole.T) / 2)[-1])


def _curve(
    found: LevelMeans, orders: list[tuple[int, ...]], r: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return A(y) at up to 200 relevant values of y."""
    means = np.array(_matrices(orders, r), dtype=float)
    order = np.argsort(found.y)
    total = np.cumsum(found.weights[order])
    order = order[(total > 1e-4) & (total < 1 - 1e-4)] if order.size > 200 else order
    order = order[:: max(1, order.size // 200)]
    return found.y[order], np.einsum("aq,aij->qij", found.means[:, order], means)


def _closed(
    finite: dict[sp.Expr, tuple[sp.Expr, list[sp.Expr]]], orders: list[tuple[int, ...]], r: int
) -> Recovery:
    """Return α_c of a target with finitely many values."""
    places = [sp.Matrix(each) for each in _matrices(orders, r)]
    basis = [each / sp.sqrt((each * each).trace()) for each in places]
    size = len(basis)
    whole, curve = sp.zeros(size, size), []
    for p, moments in finite.values():
        S = sum((m * each for m, each in zip(moments, places, strict=True)), sp.zeros(r, r))
        curve.append(np.array((S / p).evalf(20), dtype=float))
        for a, b in itertools.product(range(size), repeat=2):
            whole[a, b] += (basis[a] * S * basis[b] * S).trace() / p
    alpha = 1 / _top_eigenvalue(whole)
    closed = alpha if not alpha.is_Float else None
    at = (np.array([float(y) for y in finite]), np.array(curve))
    return Recovery(float(alpha), closed, 0.0 if closed is not None else 1e-15, at)


def _top_eigenvalue(whole: sp.Matrix) -> sp.Expr:
    """Return the largest eigenvalue, exactly if it belongs to a block of at most two rows."""
    numbers = np.array(whole.evalf(20), dtype=float)
    top = float(np.linalg.eigvalsh(numbers)[-1])
    for block in sp.Matrix(whole.applyfunc(sp.simplify)).connected_components():
        part = whole.extract(block, block)
        if len(block) == 1:
            roots = [part[0, 0]]
        elif len(block) == 2:
            half, apart = (part[0, 0] + part[1, 1]) / 2, (part[0, 0] - part[1, 1]) / 2
            roots = [half + sp.sqrt(apart**2 + part[0, 1] ** 2)]
        else:
            continue
        for root in roots:
            if abs(float(root.evalf(20)) - top) < 1e-14:
                return sp.simplify(root)
    return sp.Float(top)
