"""Random variables and references of the localisation notes, against quadrature and differences."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from symderiv_papers.relu_localization.populations import population_points, single_pulses
from symderiv_papers.relu_localization.references import cases, gaussian_points, values_of
from symderiv_papers.relu_localization.training import (
    neighbour_correlation,
    participation,
)
from symderiv_papers.relu_localization.variables import Variable, step

from symderiv.foundation.errors import FormulaError
from symderiv.precision.balls.contexts import numbers


def test_kept_moments_are_integrals_over_a_quadrant() -> None:
    case = cases()[0]
    w, sigma = np.array(case.w, float), np.array(case.sigma1, float)
    # polar coordinates of whitened (S, T): the radius integrates to a constant for second moments
    u = w[:2]
    c = np.linalg.cholesky(u @ sigma @ u.T)
    angle, weight = np.polynomial.legendre.leggauss(400)
    # T > 0 and S > 0 cut out one interval of angles
    low = -np.arctan2(c[1, 0], c[1, 1]) if c[1, 1] > 0 else 0.0
    low, high = max(-np.pi / 2, low), np.pi / 2
    angle = low + (high - low) * (angle + 1) / 2
    weight = weight * (high - low) / 2
    s = c[0, 0] * np.cos(angle)
    t = c[1, 0] * np.cos(angle) + c[1, 1] * np.sin(angle)
    assert np.all(s > 0)
    assert np.all(t > 0)
    moments = np.array([weight @ (t * s), weight @ (t * t)]) / np.pi
    expected = sigma @ u.T @ np.linalg.solve(u @ sigma @ u.T, moments)
    with numbers(20, "mpmath") as context:
        v = values_of(case, context)
        event = v["theta"](v["S"]) * v["theta"](v["T"][(2,)])
        found = [float(v["E1"](event * v["T"][(2,)] * v["X"][(i,)])) for i in (1, 2, 3)]
    assert found == pytest.approx(expected, rel=1e-10)


def test_the_flow_is_the_derivative_of_the_loss() -> None:
    def changed(case: Any, i: int, by: Fraction) -> Any:
        row = list(case.w[0])
        row[i] += by
        return type(case)(case.label, (tuple(row), *case.w[1:]), case.sigma1, case.sigma0)

    step_size = Fraction(1, 10**10)
    with numbers(40, "mpmath") as context:
        for case in cases():
            flow = values_of(case, context)["flow"]
            for i in range(len(case.sigma1)):
                up, down = (
                    values_of(changed(case, i, sign * step_size), context)["loss"]
                    for sign in (1, -1)
                )
                slope = (up - down) * 10**10 / 2
                assert float(flow[(i + 1,)]) == pytest.approx(-float(slope), rel=1e-12)


def test_points_have_both_signs_of_overlaps_and_different_classes() -> None:
    with numbers(20, "mpmath") as context:
        signs = {
            float(point.values["gamma"][(k,)]) > 0
            for point in gaussian_points(context)
            for k in range(2, point.values["K"] + 1)
        }
    assert signs == {True, False}
    assert all(case.sigma1 != case.sigma0 for case in cases())


def test_steps_are_of_one_form() -> None:
    x, y = Variable.linear((Fraction(1), Fraction(0))), Variable.linear((Fraction(0), Fraction(1)))
    assert step(x * 2).terms == step(x).terms
    assert step(-x).terms != step(x).terms
    with pytest.raises(FormulaError, match="one linear form"):
        step(x + y)


def test_populations_are_counted_exactly() -> None:
    assert len(single_pulses(5, (2, 3))) == 20
    assert [1, 0, 0, 0, 1] in single_pulses(5, (2,))
    with numbers(20, "mpmath") as context:
        first = next(iter(population_points(context))).values
        assert first["E1"](first["X"][(1,)]) == pytest.approx(0.5)
        assert first["E0"](first["X"][(1,)]) == pytest.approx(0.5)
        regressed = first["E1of"](first["X"][(2,)], first["S"])
        assert first["E1"](regressed) == pytest.approx(0.5)


def test_measures_of_localisation_of_known_weights() -> None:
    n = 40
    site, flat = np.zeros((1, n)), np.ones((1, n))
    site[0, 3] = 2.0
    wave = np.cos(2 * np.pi * 3 * np.arange(n) / n)[None, :]
    assert participation(site) == pytest.approx(1)
    assert participation(flat) == pytest.approx(1 / n)
    assert participation(wave) == pytest.approx(1.5 / n)
    assert neighbour_correlation(wave) == pytest.approx(np.cos(2 * np.pi * 3 / n))
    assert neighbour_correlation(flat * (-1.0) ** np.arange(n)) == pytest.approx(-1)
