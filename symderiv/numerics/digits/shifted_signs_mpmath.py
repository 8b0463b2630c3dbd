"""The mean of two signs with means with an mpmath context, as text for generated modules."""

from __future__ import annotations

from typing import Any


def _shifted_signs_mpmath(mp: Any, h: Any, k: Any, r: Any) -> Any:
    """Return the mean of sgn(x + h) sgn(y + k) of standard normal x, y with correlation r.

    It is the integral of its slope by r, four times the density at (-h, -k). With r = sin(angle)
    the density is exp(-(h² + k² - 2 h k r)/(2 cos²)) times a constant. Fields whose correlation is
    1 up to rounding count as the same field.
    """
    if abs(r) >= 1 - 8 * mp.eps:
        return mp.sign(r) * (1 - abs(mp.erf(h / mp.sqrt(2)) - mp.sign(r) * mp.erf(k / mp.sqrt(2))))

    def density(angle: Any) -> Any:
        square = mp.cos(angle) ** 2
        return mp.exp(-(h * h + k * k - 2 * h * k * mp.sin(angle)) / (2 * square))

    apart = mp.erf(h / mp.sqrt(2)) * mp.erf(k / mp.sqrt(2))
    return apart + 2 / mp.pi * mp.quad(density, mp.linspace(0, mp.asin(r), 9))
