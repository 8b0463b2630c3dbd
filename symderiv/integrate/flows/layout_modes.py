"""The modes of states that are packed by the layout of a solver module, and their sums."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from symderiv.foundation.packing import COVARIANCES, Packing, families_of
from symderiv.integrate.steppers.coupled_modes import Modes, Row, rows_of

#: Pairs of families whose covariances every module sums over the modes.
FIELDS: Collection[tuple[str, ...]] = frozenset(COVARIANCES)


def modes_of_layout(
    layout: Mapping[str, Any],
    sizes: np.ndarray,
    parameters: np.ndarray,
    size: int,
    summed: Collection[tuple[str, ...]] = FIELDS,
    *,
    moments: bool = False,
) -> Modes:
    """Return the modes of a state.

    Args:
        layout: ``LAYOUT`` of the module.
        sizes: K, M, L.
        parameters: that begin as the layout says.
        size: numbers of the state, which begins as the layout says.
        summed: the pairs of families whose overlaps are summed over the modes.
        moments: True if they are also summed with one more power of the eigenvalue.
    """
    named = dict(zip(layout["sizes"], map(int, sizes), strict=False))
    state = Packing.of(layout, "state", **named)
    packing = Packing.of(layout, "parameters", **named)
    known = packing.views(parameters[: packing.size])
    weight = known["weight"].copy()
    variance = weight * (known["eigenvalue"] + known.get("input_noise", 0.0) ** 2)
    rows: list[Row] = []
    weights: tuple[np.ndarray, ...]
    for name, axes in layout["state"].items():
        if axes[-1:] == ("L",):
            families = families_of(name)
            # overlaps with teachers have the eigenvalue in them
            weights = (weight,) if "B" in families else (variance, weight)
            if families in FIELDS:
                further = (weights[0] * known["eigenvalue"],) if moments else ()
                weights = (weights[0], *further)
            rows += rows_of(
                state.slices[name].start,
                state.shapes[name],
                weights if families in summed else (),
                len(set(families)) == 1,
            )
    return Modes(size, named["L"], tuple(rows))
