"""The numbers that a report holds behind its figures and tables."""

import base64
import csv

import numpy as np
import pytest

from symderiv.foundation.documents.document import Tabular
from symderiv.foundation.documents.html_writer import csv_uri, fragment, plain_cell
from symderiv.show.pages.page import figure_numbers
from symderiv.show.plots.claims import Findings
from symderiv.show.plots.features import Curve, SimulatedPoints, StudyCase

ALPHA = np.array([0.0, 0.1, 2.0])


def _found() -> list[Findings]:
    Q = np.arange(12.0).reshape(3, 2, 2) / 7
    R = np.arange(6.0).reshape(3, 2, 1) / 3
    curve = Curve(ALPHA, np.array([1.0, 0.1 + 0.2, 1e-17]), Q, R, np.eye(1))
    points = SimulatedPoints(
        ALPHA[1:],
        np.array([0.5, 0.25]),
        np.array([0.125, np.nan]),
        *(Q[1:], Q[1:] / 2, R[1:], R[1:] / 2),
        runs=2,
    )
    case = StudyCase("η = 0.5", {}, curve, points)
    one = object.__new__(Findings)
    object.__setattr__(one, "case", case)
    return [one]


def _read(uri: str) -> list[list[str]]:
    head, content = uri.split(",", 1)
    assert head == "data:text/csv;charset=utf-8;base64"
    return list(csv.reader(base64.b64decode(content).decode("utf-8").splitlines()))


def test_the_numbers_of_a_figure_are_those_drawn_with_all_their_digits() -> None:
    head, *rows = _read(csv_uri(figure_numbers("error", _found())))
    assert head == ["case", "from", "quantity", "alpha", "value", "standard error"]
    assert [row[:3] for row in rows[:1]] == [["η = 0.5", "equations", "generalization_error"]]
    assert [float(row[4]) for row in rows] == [1.0, 0.1 + 0.2, 1e-17, 0.5, 0.25]
    assert [row[5] for row in rows] == ["", "", "", "0.125", ""]
    assert [float(row[3]) for row in rows if row[1] == "SGD"] == [0.1, 2.0]


def test_every_overlap_is_there_by_its_indices() -> None:
    _, *rows = figure_numbers("overlaps", _found())
    of_q = {row[2] for row in rows if row[1] == "SGD"}
    assert of_q == {"Q[0, 0]", "Q[0, 1]", "Q[1, 0]", "Q[1, 1]", "R[0, 0]", "R[1, 0]"}
    (row,) = (r for r in rows if r[1:4] == ["SGD", "Q[1, 0]", "2.0"])
    assert row[4:] == [repr(10 / 7), repr(5 / 7)]
    assert figure_numbers("nothing", _found()) == []


@pytest.mark.parametrize(
    ("shown", "plain"),
    [("−9.75×10⁻⁴", "-9.75e-4"), ("1.5×10¹²", "1.5e12"), ("≥ 12", "≥ 12"), ("—", ""), ("2", "2")],
)
def test_cells_of_a_copied_table_are_numbers(shown: str, plain: str) -> None:
    assert plain_cell(shown) == plain
    page = fragment(Tabular(["a, b"], [[shown]], "t", export=True))
    assert _read(page.partition('href="')[2].partition('"')[0]) == [
        ["a, b"],
        *([[plain]] if plain else [[""]]),
    ]
