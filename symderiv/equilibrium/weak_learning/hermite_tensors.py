"""Hermite coefficients E[y ∏ He(z)] of a target, and the leaps by which directions are learned."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import sympy as sp

from symderiv.equilibrium.weak_learning.stated_target import FewFieldTarget
from symderiv.foundation.errors import SymderivError
from symderiv.gaussian import expectation
from symderiv.numerics.nodes import normal_steps
from symderiv.precision.quadrature.numeric_mean import numeric_mean

_ZERO = 1e-9


def orders_of(fields: int, degree: int) -> Iterator[tuple[int, ...]]:
    """Yield the orders of all products of Hermite polynomials of a total degree."""
    for orders in itertools.product(range(degree + 1), repeat=fields):
        if sum(orders) == degree:
            yield orders


def hermite_product(fields: tuple[sp.Symbol, ...], orders: tuple[int, ...]) -> sp.Expr:
    """Return ∏ He_n(z), where He_n has leading coefficient 1."""
    product = sp.S.One
    for z, n in zip(fields, orders, strict=True):
        product *= sp.expand(2 ** sp.Rational(-n, 2) * sp.hermite(n, z / sp.sqrt(2)))
    return sp.expand(product)


@dataclass(frozen=True)
class HermiteTensors:
    """The tensors C_n = E[y He_n(z)] of a target up to a degree.

    Attributes:
        target: The target.
        degree: The largest degree that is examined.
    """

    target: FewFieldTarget
    degree: int

    def coefficient(self, orders: tuple[int, ...]) -> tuple[float, bool]:
        """Return E[y ∏ He(z)], and whether it is known in closed form or by symmetry."""
        return _coefficient(self.target, orders)

    @cached_property
    def exact(self) -> bool:
        """True if all computed coefficients are exact."""
        return all(self.coefficient(each)[1] for n in self._looked for each in self._orders(n))

    @cached_property
    def information_exponent(self) -> int | None:
        """The smallest degree with a nonzero coefficient; None if there is none up to the largest
        degree.
        """
        return next((n for n in range(1, self.degree + 1) if np.any(self._tensor(n))), None)

    @cached_property
    def leaps(self) -> tuple[list[int], int]:
        """The degrees by which directions are learned one after the other, and the number of
        directions.

        Each is the smallest degree in unknown directions of a nonzero coefficient, given the known
        ones.
        """
        r = len(self.target.fields)
        known, leaps = np.zeros((r, 0)), []
        while known.shape[1] < r:
            rest = _complement(known)
            for k in range(1, self.degree + 1):
                new = self._directions(known, rest, k)
                if new.shape[1]:
                    break
            else:
                break
            leaps.append(k)
            known = np.hstack([known, new])
        return leaps, known.shape[1]

    def _directions(self, known: np.ndarray, rest: np.ndarray, k: int) -> np.ndarray:
        """Return an orthonormal basis of the new directions in tensors with k indices in
        the rest.
        """
        rows = []
        for n in range(k, self.degree + 1):
            if n > k and not known.shape[1]:
                break
            tensor = self._tensor(n)
            for slot in range(n):
                basis = rest if slot < k else known
                tensor = np.moveaxis(np.tensordot(tensor, basis, axes=(slot, 0)), -1, slot)
            rows.append(tensor.reshape(rest.shape[1], -1))
        left, sizes, _ = np.linalg.svd(np.hstack(rows), full_matrices=False)
        new: np.ndarray = rest @ left[:, sizes > _ZERO]
        return new

    def _orders(self, n: int) -> Iterator[tuple[int, ...]]:
        return orders_of(len(self.target.fields), n)

    @property
    def _looked(self) -> range:
        last = self.degree
        if len(self.target.fields) == 1 and self.information_exponent:
            last = self.information_exponent
        return range(1, last + 1)

    def _tensor(self, n: int) -> np.ndarray:
        r = len(self.target.fields)
        tensor = np.zeros((r,) * n)
        for places in itertools.combinations_with_replacement(range(r), n):
            orders = tuple(places.count(i) for i in range(r))
            value = self.coefficient(orders)[0]
            for each in set(itertools.permutations(places)):
                tensor[each] = value
        return tensor


def _complement(known: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the complement of some directions."""
    if not known.shape[1]:
        return np.eye(known.shape[0])
    return np.linalg.svd(known)[0][:, known.shape[1] :]


@lru_cache(maxsize=4096)
def _coefficient(target: FewFieldTarget, orders: tuple[int, ...]) -> tuple[float, bool]:
    if target.vanishes(orders):
        return 0.0, True
    asked = target.expression * hermite_product(target.fields, orders)
    size = len(target.variables)
    try:
        value = expectation(asked, target.variables, sp.eye(size)).unfolded()
        return _settled(float(value.evalf(30))), True
    except (SymderivError, NotImplementedError, ValueError, TypeError):
        pass
    try:
        return float(
            numeric_mean(asked, target.variables, sp.eye(size)).evaluate(12).value.value
        ), False
    except (SymderivError, NotImplementedError, ValueError, TypeError):
        return _settled(_summed(target, asked)), False


def _settled(value: float) -> float:
    return 0.0 if abs(value) < _ZERO else value


def _summed(target: FewFieldTarget, asked: sp.Expr) -> float:
    """Return a mean by a lattice in up to three dimensions, exact up to rounding for analytic
    targets.
    """
    size = len(target.variables)
    nodes, weights = normal_steps(8.7, {1: 0.002, 2: 0.02}.get(size, 0.15))
    points = np.array(np.meshgrid(*(nodes,) * size, indexing="ij"))
    whole = math.prod(np.meshgrid(*(weights,) * size, indexing="ij", sparse=True))
    return float(np.sum(whole * target.values(points, asked)))
