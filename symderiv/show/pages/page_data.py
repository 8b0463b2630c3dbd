"""The numbers behind figures, for CSV files inside the page that shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from symderiv.show.plots.claims import Findings
    from symderiv.show.plots.curves import Floats, StudyCase

__all__ = ["figure_numbers"]


def figure_numbers(name: str, found: Sequence[Findings]) -> list[list[object]]:
    """Return what the figure of that name draws, in long form with a head; empty if there is
    nothing.

    Columns: case, "equations" or "SGD", quantity, alpha, value and its standard error (empty for
    equations). All digits of doubles.
    """
    rows = [row for one in found for row in _rows(name, one.case)]
    head: list[object] = ["case", "from", "quantity", "alpha", "value", "standard error"]
    return [head, *rows] if rows else []


def _rows(name: str, case: StudyCase) -> Iterator[list[object]]:
    label, curve, points = case.label, case.curve, case.points
    if name == "error":
        yield from _series(label, "equations", "generalization_error", curve.alpha, curve.error)
        if points is not None:
            errors = (points.error, points.error_se)
            yield from _series(label, "SGD", "generalization_error", points.alpha, *errors)
    if name == "overlaps":
        for letter in "QR":
            values = getattr(curve, letter)
            for i, j in np.ndindex(values.shape[1:]):
                quantity = f"{letter}[{i}, {j}]"
                yield from _series(label, "equations", quantity, curve.alpha, values[:, i, j])
                if points is not None:
                    mean, spread = getattr(points, letter), getattr(points, f"{letter}_se")
                    both = (mean[:, i, j], spread[:, i, j])
                    yield from _series(label, "SGD", quantity, points.alpha, *both)


def _series(
    label: str,
    source: str,
    quantity: str,
    alpha: Floats,
    values: Floats,
    spread: Floats | None = None,
) -> Iterator[list[object]]:
    for index, (time, value) in enumerate(zip(alpha, values, strict=True)):
        width = "" if spread is None or np.isnan(spread[index]) else repr(float(spread[index]))
        yield [label, source, quantity, repr(float(time)), repr(float(value)), width]
