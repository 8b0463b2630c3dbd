"""Pictures of sweeps say the swept values, and show what was computed."""

from pathlib import Path

import numpy as np
import pytest

from symderiv.foundation.errors import InputError
from symderiv.problem.study import Study, parse_study
from symderiv.show.pages import sweep_page
from symderiv.show.pages.job import _subtitle, settings_of, stem_of
from symderiv.show.pages.sweep_page import page_text
from symderiv.show.plots.features import Curve, StudyCase
from symderiv.show.plots.plots import overlap_figure
from symderiv.show.plots.run_quantities import measured, quantity_of
from symderiv.show.plots.sweep_plots import curve_figure, map_figure, status_figure
from symderiv.sweeps.sweep import run_sweep


@pytest.mark.turns(6)
def test_a_page_has_pictures_of_two_keys(
    study: Study, tmp_path: Path, computed: list[Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    # drawing is dear, and looked at elsewhere
    monkeypatch.setattr(sweep_page, "svg_bytes", lambda figure: b"<svg/>")
    over = {"training.learning_rate": [0.1, 5.0, 0.4], "network.activation": ["erf", "relu"]}
    sweep = run_sweep(study, over, tmp_path / "s.zarr")
    text = page_text(sweep)
    assert "η = 0.1, 0.4, 5; g = erf, relu" in text
    assert "4 of 6 points were integrated to their end, 2 ended before" in text
    assert text.count("<figure>") == 6
    data = sweep.to_xarray().sortby("learning_rate")
    lines = curve_figure(data).axes
    assert [axis.get_title() for axis in lines[:2]] == ["g = erf", "g = relu"]
    drawn = [line.get_ydata()[-1] for line in lines[0].lines]
    assert drawn == pytest.approx(np.exp(-10.0 * np.array([0.1, 0.4, 5.0])))
    mesh = map_figure(data, "final_error").axes[0].collections[0]
    assert np.asarray(mesh.get_array())[0] == pytest.approx(drawn)
    phases = np.asarray(status_figure(data).axes[0].collections[0].get_array())
    assert phases.tolist() == [[0, 0, 1], [0, 0, 1]]
    with pytest.raises(InputError, match="'nope' is not one of final_error"):
        sweep.figure("nope")


def test_numbers_of_a_run_are_those_of_a_known_curve() -> None:
    alpha = np.geomspace(0.01, 1e6, 400)
    # a plateau at 0.01 that ends at half its height at about ln 2 * 1e4, then a power law
    error = 0.5 * np.exp(-alpha) + 0.01 / (1.0 + (alpha / 1e4) ** 2)
    found = {name: measured(quantity_of(name), alpha, error) for name in _EXPECTED}
    for name, value in _EXPECTED.items():
        assert found[name] == pytest.approx(value, rel=0.02), name
    cut = np.where(alpha < 1e3, error, np.nan)
    assert measured(quantity_of("plateau_end"), alpha, cut) == np.inf


_EXPECTED = {
    "final_error": 0.01 / (1.0 + 1e4),
    "plateau": 1.0,
    "plateau_height": 0.01,
    # 0.01 + exp(-a)/2 is 10 % above the height at a = ln 500
    "plateau_begin": np.log(500.0),
    "plateau_end": 1e4,
    "exponent": 2.0,
}


def test_files_and_titles_of_a_study_state_the_swept_values(study: Study) -> None:
    text = study.text + '[sweep]\n"training.learning_rate" = [0.1, 0.2]\n"network.students" = [2]\n'
    swept = parse_study(text)
    assert [stem_of(one) for one in settings_of(swept)] == [
        "learning_rate=0.1_students=2",
        "learning_rate=0.2_students=2",
    ]
    said = _subtitle(swept)
    assert "η = 0.1, 0.2" in said
    assert said.count("η =") == 1
    assert said.startswith("student units with g(x)")


def test_output_weights_are_drawn_where_they_are_trained() -> None:
    alpha = np.linspace(0.1, 1.0, 4)
    Q, T = np.ones((4, 2, 2)), np.ones((1, 1))
    for v, panels in ((np.ones((4, 2)), 2), (np.arange(8.0).reshape(4, 2), 3)):
        curve = Curve(alpha, alpha, Q, np.ones((4, 2, 1)), T, v=v)
        figure = overlap_figure([StudyCase("η = 1", {}, curve)])
        assert len(figure.axes) == panels
    np.testing.assert_array_equal(figure.axes[2].lines[1].get_ydata(), v[:, 1])
