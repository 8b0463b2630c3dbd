"""Owen's function with an mpmath context, as text for generated modules."""

from __future__ import annotations

from typing import Any


def _owen_t_mpmath(mp: Any, h: Any, a: Any) -> Any:
    """Owen's function; with x = tan(angle) the integrand is entire in the angle up to its ends."""

    def density(angle: Any) -> Any:
        return mp.exp(-h * h / (2 * mp.cos(angle) ** 2))

    return mp.quad(density, mp.linspace(0, mp.atan(a), 7)) / (2 * mp.pi)
