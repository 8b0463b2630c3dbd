"""Bands of single runs at finite N in the report of a study."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from unit.report.synthetic import plateau_curve, simulated

import symderiv as sd
from symderiv.show.plots import features
from symderiv.show.plots.claims import describe_band


def _case(deviations: float, since: float = np.inf) -> features.StudyCase:
    """Runs whose means are off by so many predicted standard errors; single runs scatter by 2 %."""
    base = plateau_curve()
    points = simulated(base, np.array([deviations]), runs=4)
    # with a shift of 3 % of the mean, which is no deviation
    band = features.Band(base.alpha, 1.03 * base.error, 0.02 * base.error, 500, since)
    points = replace(points, error=points.error + 0.03 * base.error[::10])
    return features.StudyCase("", {}, base, points, band=band)


def test_means_are_compared_with_the_predicted_mean_and_scatter() -> None:
    found = features.agreement_within(_case(2.0))
    assert found.deviations == pytest.approx([2.0] * 10, rel=1e-3)
    near, away = _case(2.0), _case(4.0)
    said = describe_band(near, near.band)
    assert "within 3 of the predicted standard errors at 10 of 10 times" in said
    said = describe_band(away, away.band)
    assert "at 0 of 10 times" in said
    assert "N = 500 scatter around their mean by up to 1.9 % of it" in said


def test_times_without_a_gaussian_picture_are_not_compared() -> None:
    late = _case(0.0, since=100.0)
    found = features.agreement_within(late)
    assert max(found.alpha) < 100.0
    assert "from α = 100 on this is a guess" in describe_band(late, late.band)
    never = _case(0.0, since=0.0)
    assert features.agreement_within(never) is None
    assert "N = 500 scatter is a guess from the start" in describe_band(never, never.band)


def test_a_study_shows_the_scatter_of_its_runs(tmp_path: Path) -> None:
    problem = sd.Problem(
        "erf", students=1, teachers=1, learning_rate=0.5, inputs=sd.Isotropic(200), student_std=0.3
    )
    timed = problem.replace(end=3, points=40)
    result = timed.study(tmp_path / "report", bands=True)
    case = result.found[0].case
    alone = timed.fluctuations()
    assert case.band.dimension == 200
    assert np.array_equal(case.band.deviation, alone.deviation_of("generalization_error"))
    assert np.array_equal(case.band.mean, alone.mean_of("generalization_error"))
    assert any("scatter around their mean" in each["text"] for each in result.claims_json())
    assert "single runs at N = 200" in result.figures[0].read_text()
    heavy = timed.replace(momentum=0.5).study(tmp_path / "momentum", bands=True)
    assert heavy.found[0].case.band is None
    page = heavy.report.read_text()
    assert "No band of runs at finite N: " in page
    assert "fluctuations are not known yet with momentum" in page
