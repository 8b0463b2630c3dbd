"""The numbers behind figures and tables, as CSV files inside the page that shows them."""

from __future__ import annotations

import base64
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from symderiv.show.plots.claims import Findings
    from symderiv.show.plots.curves import Case, Floats

__all__ = ["csv_uri", "figure_numbers", "plain_cell"]

_EXPONENT = re.compile(r"×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")


def plain_cell(cell: str) -> str:
    """A cell as other programs read it: ``−9.75×10⁻⁴`` is -9.75e-4, and a cell that says that there
    is no number is empty.
    """
    text = _EXPONENT.sub(lambda found: "e" + found[1], cell).translate(_PLAIN)
    return "" if text == "—" else text


def csv_uri(rows: Iterable[Sequence[object]]) -> str:
    """Rows as a CSV file in UTF-8, in a data URI."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    content = base64.b64encode(buffer.getvalue().encode("utf-8")).decode("ascii")
    return f"data:text/csv;charset=utf-8;base64,{content}"


def figure_numbers(name: str, found: Sequence[Findings]) -> list[list[object]]:
    """What the figure of that name draws, in long form with a head; empty if there is nothing.

    Columns: case, "equations" or "SGD", quantity, alpha, value and its standard error (empty for
    equations). All digits of doubles.
    """
    rows = [row for one in found for row in _rows(name, one.case)]
    head: list[object] = ["case", "from", "quantity", "alpha", "value", "standard error"]
    return [head, *rows] if rows else []


def _rows(name: str, case: Case) -> Iterator[list[object]]:
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
