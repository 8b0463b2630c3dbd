"""Derivatives of the special functions of Gaussian means by each of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import sympy as sp

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


def _dawson(x: sp.Expr) -> Slopes:
    return (1 - 2 * x * _call("Dawson", x),)


def _tilted_signs(exponent: sp.Expr, h: sp.Expr, k: sp.Expr, r: sp.Expr) -> Slopes:
    """Return the derivatives, those of shifted signs at imaginary shifts, in forms that do not
    overflow.
    """
    left = 1 - r**2
    density = sp.exp(exponent + (h**2 - 2 * r * h * k + k**2) / (2 * left))

    def by(one: sp.Expr, other: sp.Expr) -> sp.Expr:
        rest = _call("Dawson", (other - r * one) / sp.sqrt(2 * left))
        return -2 * sp.sqrt(2) / sp.pi * density * rest

    by_r = 2 / sp.pi * density / sp.sqrt(left)
    return _call("TiltedSigns", exponent, h, k, r), by(h, k), by(k, h), by_r


def _call(name: str, *arguments: sp.Expr) -> sp.Expr:
    return type(name, (sp.Function,), {})(*arguments)


DERIVATIVES: Final[Mapping[str, Callable[..., Slopes]]] = MappingProxyType(
    {
        "Dawson": _dawson,
        "ExpDifference": _exp_difference,
        "OwenT": _owen_t,
        "ShiftedSigns": _shifted_signs,
        "TiltedSigns": _tilted_signs,
    }
)
