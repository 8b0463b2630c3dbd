"""Derivatives of the special functions of Gaussian means by each of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import sympy as sp

__all__ = ["DERIVATIVES"]

Slopes = tuple[sp.Expr, ...]


def _exp_difference(first: sp.Expr, second: sp.Expr) -> Slopes:
    return sp.exp(first), -sp.exp(second)


def _owen_t(h: sp.Expr, a: sp.Expr) -> Slopes:
    inside = sp.exp(-(h**2) * (1 + a**2) / 2) / (2 * sp.pi * (1 + a**2))
    by_h = -sp.exp(-(h**2) / 2) * sp.erf(a * h / sp.sqrt(2)) / (2 * sp.sqrt(2 * sp.pi))
    return by_h, inside


def _shifted_signs(h: sp.Expr, k: sp.Expr, r: sp.Expr) -> Slopes:
    left = 1 - r**2

    def by(one: sp.Expr, other: sp.Expr) -> sp.Expr:
        rest = sp.erf((other - r * one) / sp.sqrt(2 * left))
        return sp.sqrt(2 / sp.pi) * sp.exp(-(one**2) / 2) * rest

    density = sp.exp(-(h**2 - 2 * r * h * k + k**2) / (2 * left)) / sp.sqrt(left)
    return by(h, k), by(k, h), 2 / sp.pi * density


DERIVATIVES: Final[Mapping[str, Callable[..., Slopes]]] = MappingProxyType(
    {
        "ExpDifference": _exp_difference,
        "OwenT": _owen_t,
        "ShiftedSigns": _shifted_signs,
    }
)
"""Those of waves (Dawson's integral, tilted signs) are refused by their names."""
