"""Pages of 375 pixels: nothing leaves the window, and no number is cut."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.examples import importing
from support.narrow import BROWSER, misplaced
from unit.report.synthetic import case, plateau_curve

import symderiv as sd
from symderiv.show.pages.page import study_page, svg_bytes
from symderiv.show.plots import plots
from symderiv.show.plots.claims import findings

pytestmark = pytest.mark.skipif(not BROWSER, reason="no browser is installed")

LINEAR = sd.Problem("linear", students=2, teachers=3, time={"end": 20.0, "points": 9})


def study(folder: Path) -> str:
    found = [
        findings(
            case(f"η = {rate}, N = 1000", {"training.learning_rate": rate}, plateau_curve(9.0))
        )
        for rate in (0.123456789, 1.23456789e-5, 3.0)
    ]
    figures = {"error": svg_bytes(plots.error_figure([each.case for each in found]))}
    derivation = sd.derive("relu").derivation
    name = "a-file-with-a-name-that-is-longer-than-the-page-is-wide-and-has-no-space.nc"
    return study_page(
        title="A study with a title that needs more than one line of such a narrow page",
        subtitle="who learns what",
        found=found,
        figures=figures,
        derivation=derivation,
        study_text=LINEAR.to_toml(),
        files=[name],
    )


def sweep(folder: Path) -> str:
    found = LINEAR.sweep(
        learning_rate=[0.123456789, 1.0], seed=[0, 1], output=folder / "s.zarr", progress=False
    )
    return found.page(folder / "s.html").read_text(encoding="utf-8")


def gallery(folder: Path) -> str:
    with importing("worschech-rosenow") as load:
        panels, pages = load("figure_panels"), load("figures_page")
    panel = panels.Panel([panels.Line([0.0, 1.0], [1.0, 2.0], "exact")])
    figure = panels.panel_figure([panel] * 3)
    statements = [pages.compared("the exponent of a power law", 0.123456789012, 0.12345, 1e-3, 12)]
    words = ["L = 1, 4, 16, 64, 256; β = 0.25; η = 0.1, 0.2, 0.4; N = 1 000 000"]
    entry = pages.Entry(
        "12", "A figure of three panels", words, figure, "Lines: exact.", statements
    )
    return pages.gallery_page(
        "A gallery", "of figures", [entry], [("13", "its data are not there")]
    )


def derivation(folder: Path) -> str:
    return sd.derive("relu", teacher_activation="erf").to_html()


def system(folder: Path) -> str:
    P = sd.System()
    x, eta = P.inputs("x"), P.parameter("learning_rate", 0.123456789)
    w, B = P.vectors("w", 2), P.vectors("B", 2, fixed=True)
    loss = ((w @ x).sum() - (B @ x).sum()) ** 2 / 2
    P.descend(loss, {w: eta})
    P.observe(an_error_with_a_name_that_is_longer_than_a_cell=loss)
    start = {"w.w": [[1.0, 0.2], [0.2, 1.0]], "w.B": [[0.1, 0.0], [0.2, 0.1]]}
    start["B.B"] = [[1.0, 0.0], [0.0, 1.0]]
    path = folder / "system.html"
    P.report(path, initial=start, end=1, dimension=20, runs=2)
    return path.read_text(encoding="utf-8")


def ledger(folder: Path) -> str:
    return (Path(__file__).parents[3] / "docs" / "ledger.html").read_text(encoding="utf-8")


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    "make", [study, sweep, gallery, derivation, system, ledger], ids=lambda made: made.__name__
)
def test_a_page_of_375_pixels_shows_all_of_itself(
    make: Callable[[Path], str], tmp_path: Path
) -> None:
    assert misplaced(make(tmp_path), tmp_path) == []


def test_what_is_cut_or_leaves_the_page_is_found(tmp_path: Path) -> None:
    wide = "<div style='width:500px'>1.2345</div>"
    cut = "<div style='width:50px;overflow:hidden;white-space:nowrap'>123456789012345</div>"
    scrolls = "<div style='overflow-x:auto'><div style='width:500px'>1.2</div></div>"
    assert any("leaves the page" in line for line in misplaced(wide, tmp_path))
    assert [line[:3] for line in misplaced(cut, tmp_path)] == ["cut"]
    assert misplaced(scrolls, tmp_path) == []
