"""The functions of ``waves.py`` with an mpmath context, as text for generated modules."""

from __future__ import annotations

from typing import Any


def _dawson_mpmath(mp: Any, x: Any) -> Any:
    """Return Dawson's integral."""
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def _tilted_signs_mpmath(mp: Any, exponent: Any, h1: Any, h2: Any, r: Any) -> Any:
    """Return exp(exponent) times the mean of two signs of correlation r with imaginary means h1,
    h2.

    Fields whose correlation is 1 up to rounding count as the same field.
    """
    r = r if abs(r) < 1 - 8 * mp.eps else mp.sign(r)
    root = mp.sqrt((1 - r) * (1 + r))
    k1, k2 = ((h2 - r * h1) / root, (h1 - r * h2) / root) if root else (mp.zero, mp.zero)
    m = (h1 * h1 + k1 * k1) / 2

    def slope(t: Any) -> Any:
        waves = (h * _dawson_mpmath(mp, t * k / mp.sqrt(2)) for h, k in ((h1, k1), (h2, k2)))
        return mp.exp(exponent + t * t * m) * mp.fsum(waves)

    centred = 2 / mp.pi * mp.exp(exponent) * mp.asin(r)
    return centred - 2 * mp.sqrt(2) / mp.pi * mp.quad(slope, mp.linspace(0, 1, 5))


def _exp_difference_mpmath(mp: Any, first: Any, second: Any) -> Any:
    """Return exp(first) - exp(second)."""
    return mp.exp(second) * mp.expm1(first - second)
