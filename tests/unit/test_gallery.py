"""The gallery of examples/worschech-rosenow: its page, and verdicts that can turn."""

import numpy as np
import pytest
from support.examples import importing

from symderiv.foundation.documents.html_writer import with_indices

with importing() as load_shared:
    pages = load_shared("figures_page")


@pytest.fixture
def gallery():
    with importing("worschech-rosenow") as load:
        yield load("gallery")


@pytest.mark.turns(6)
def test_two_figures_are_made_into_one_page(gallery, tmp_path, capsys):
    target = gallery.main(
        ["--quick", "--figure", "12", "--figure", "14", "--output", str(tmp_path)]
    )
    text = target.read_text(encoding="utf-8")
    assert text.count("data:image/svg+xml;base64,") == 2
    assert 'id="figure-12"' in text
    assert 'id="figure-14"' in text
    assert "✓ agrees" in text
    assert "http" not in text.split("</style>")[1].replace("http://www.w3.org", "")
    assert "figure 12: 4 agree, 0 differ" in capsys.readouterr().out


def test_a_wrong_spectrum_turns_the_verdicts_of_a_figure(gallery, monkeypatch):
    import gallery_linear

    def wrong(L, beta, eta):
        rho = gallery_linear.power_law(L, beta).single().eigenvalue
        return rho, 1.01 * rho**1.5, rho

    monkeypatch.setattr(gallery_linear, "weights", wrong)
    words = [statement.word for statement in gallery.FIGURES[12](True).statements]
    assert words.count("differs") == 4


def test_printed_heights_and_escape_time_differ_from_the_engine_if_a_letter_changes(gallery):
    import gallery_plateau
    import gallery_runs

    moments = (1.25, 0.125, 3.0, 0.25)
    report = gallery_runs.plateau_of(3, moments, 0.5)
    R, Q = gallery_plateau.printed_heights(3, *moments[:2])
    assert pages.compared("R", R, float(report.numbers.R), 1e-12).agrees
    assert pages.compared("Q", Q, float(report.numbers.Q), 1e-12).agrees
    tau = gallery_runs.escape_time(3, moments, 0.5)
    assert pages.compared(
        "tau", gallery_plateau.printed_escape(3, *moments, 0.5), tau, 1e-12
    ).agrees
    # D^(2) left out
    wrong = gallery_plateau.printed_escape(3, *moments[:3], 0.0, 0.5)
    assert pages.compared("tau", wrong, tau, 1e-3).word == "differs"


@pytest.mark.parametrize(
    ("measured", "word"),
    [
        *((1.0, "agrees"), (1.009, "agrees"), (1.02, "differs"), (0.98, "differs")),
        *((float("nan"), "differs"), (float("inf"), "differs")),
    ],
)
def test_a_number_agrees_within_its_tolerance_only(measured, word):
    assert pages.compared("x", measured, 1.0, 0.01).word == word


def test_orders_are_told_apart():
    assert pages.ordered("x", [3.0, 2.0, 1.0], falling=True)
    assert not pages.ordered("x", [3.0, 3.0, 1.0], falling=True)
    assert pages.ordered("x", [3.0, 3.0, 1.0], falling=True, strictly=False)
    assert not pages.ordered("x", [1.0, 2.0], falling=True)
    with pytest.raises(ValueError, match="at least two"):
        pages.ordered("x", [1.0], falling=True)


def test_the_page_counts_verdicts_and_names_what_is_missing(gallery):
    import figure_panels

    x = np.array([0.0, 1.0, 2.0])
    figure = figure_panels.panel_figure(
        [
            figure_panels.Panel(
                [figure_panels.Line(x, x, "a"), figure_panels.Line(x, x - 1, "", "--")],
                xscale="log",
                yscale="log",
                levels=[(1.0, 0)],
                times=[(1.0, 1)],
                window=(0.5, 1.5),
                names=[("--", "b")],
            )
        ]
    )
    statements = [
        pages.FigureRemark("one", True),
        pages.FigureRemark("two <b>", False),
        pages.FigureRemark("three"),
    ]
    entry = pages.Entry("1", "Title", ["K = 2"], figure, "Caption", statements)
    page = pages.gallery_page("Figures", "all", [entry], [("2", "no data")])
    assert "1 statements agree, 1 differ, 1 are observations" in page
    assert "two &lt;b&gt;" in page
    assert "no data" in page


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("N_l = -2", "N<sub>l</sub> = −2"),
        ("η_{min} ε_g", "η<sub>min</sub> ε<sub>g</sub>"),
        ("E_sigma(a), E_slope of C_12", "E<sub>σ</sub>(a), E<sub>slope</sub> of C<sub>12</sub>"),
        ("Q_inverse, E_is_none", "Q<sub>inverse</sub>, E_is_none"),
        ("R^(4), k^x, L^{−β}", "R<sup>(4)</sup>, k<sup>x</sup>, L<sup>−β</sup>"),
        (
            "σ_J² and α_0 of student_std < 1",
            "σ<sub>J</sub>² and α<sub>0</sub> of student_std &lt; 1",
        ),
    ],
)
def test_indices_and_powers_are_set(text, shown):
    assert with_indices(text) == shown


@pytest.mark.turns(6)
def test_experiments_on_mixtures_are_made_into_one_page(tmp_path, capsys):
    with importing("gaussian-mixtures") as load:
        target = load("experiments").main(
            ["--quick", "--only", "S1", "--only", "S2", "--output", str(tmp_path)]
        )
    text = target.read_text(encoding="utf-8")
    assert text.count("data:image/svg+xml;base64,") == 2
    printed = capsys.readouterr().out
    assert "S1: 3 agree, 4 differ" in printed
    assert "S2: 2 agree, 0 differ" in printed
