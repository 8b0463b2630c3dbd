"""Owen's function with an mpmath context, as text for generated modules."""

from __future__ import annotations

from typing import Any


def _owen_t_mpmath(mp: Any, h: Any, a: Any) -> Any:
    """Return Owen's function T(h, a), integrated over the angle (tangent x), where it is entire."""

    def density(angle: Any) -> Any:
        return mp.exp(-h * h / (2 * mp.cos(angle) ** 2))

    return mp.quad(density, mp.linspace(0, mp.atan(a), 7)) / (2 * mp.pi)
