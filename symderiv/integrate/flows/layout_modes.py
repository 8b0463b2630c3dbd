"""The modes of states that are packed by the layout of a solver module, and sums over them."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from symderiv.foundation.packing import COVARIANCES, Packing, families_of
from symderiv.integrate.steppers.coupled_modes import CoupledModes, ModeRow, rows_of

#: Names of the sums over modes that every module computes.
FIELDS: Set[str] = frozenset(COVARIANCES.values())


def modes_of_layout(
    layout: Mapping[str, Any],
    sizes: np.ndarray,
    parameters: np.ndarray,
    size: int,
    summed: Set[str] = FIELDS,
    *,
    moments: bool = False,
) -> CoupledModes:
    """Return how the entries of a state are coupled through sums over modes.

    Args:
        layout: ``LAYOUT`` of the module.
        sizes: K, M, L.
        parameters: flat constants, which begin as the layout says.
        size: the length of the state, which begins as the layout says.
        summed: the names of the sums over modes that the module computes.
        moments: True if Q and R are also summed with one more power of the eigenvalue.
    """
    named = dict(zip(layout["sizes"], map(int, sizes), strict=False))
    state = Packing.of(layout, "state", **named)
    packing = Packing.of(layout, "parameters", **named)
    known = packing.views(parameters[: packing.size])
    weight = known["weight"].copy()
    # only sums with teachers divide by eigenvalues; without them some may be zero
    eigenvalue = np.where(known["eigenvalue"] == 0.0, 1.0, known["eigenvalue"])
    variance = weight * (known["eigenvalue"] + known.get("input_noise", 0.0) ** 2)
    rows: list[ModeRow] = []
    for name, axes in layout["state"].items():
        if axes[-1:] == ("L",):
            families = families_of(name)
            # overlaps with teachers contain the eigenvalue already
            weights = (weight, weight / eigenvalue) if "B" in families else (variance, weight)
            names = sums_of(families)
            chosen = [w for w, given in zip(weights, names, strict=True) if given & summed]
            if moments and families in COVARIANCES:
                chosen.append(weights[0] * known["eigenvalue"])
            rows += rows_of(
                state.slices[name].start,
                state.shapes[name],
                tuple(chosen),
                len(set(families)) == 1,
            )
    return CoupledModes(size, named["L"], tuple(rows))


def sums_of(families: tuple[str, ...]) -> tuple[set[str], set[str]]:
    """Return possible names of two sums of an overlap: its covariance and its product."""
    orders = {"_".join(each) for each in (families, families[::-1])}
    own = {name for pair, name in COVARIANCES.items() if pair == families}
    return own or {f"covariance_{each}" for each in orders}, {f"product_{each}" for each in orders}
