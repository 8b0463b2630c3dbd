"""Fits of problems to curves, against SciPy's fits of runs without derivatives."""

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.optimize import curve_fit

import symderiv as sd
from symderiv.compiled_code.composed import composed

NAMES = ["learning_rate", "label_noise", "student_std"]
TIMES = np.geomspace(0.5, 60.0, 12)
TRUE = np.array([0.9, 0.3, 0.5])


def problem(numbers: Any = TRUE) -> sd.Problem:
    """Return a problem with K ≠ M, T ≠ 1 and two eigenvalues."""
    inputs = sd.PowerLaw(exponent=1.0, dimension=400, distinct_eigenvalues=2)
    given = dict(zip(NAMES, map(float, numbers), strict=True))
    return sd.Problem("erf", students=2, teachers=3, inputs=inputs, **given)


def curves(numbers: Any) -> np.ndarray:
    """Return the error and an overlap, one behind the other."""
    run = problem(numbers).solve(alpha=TIMES.tolist())
    return np.concatenate([run.generalization_error, run.Q[:, 0, 1]])


def measured(values: np.ndarray, errors: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Return these as data."""
    names = "generalization_error", "Q[1,2]"
    data = {"alpha": TIMES, **dict(zip(names, np.split(values, 2), strict=True))}
    if errors is not None:
        ends = (f"{name}_standard_error" for name in names)
        data |= dict(zip(ends, np.split(errors, 2), strict=True))
    return data


@pytest.mark.turns(2)
def test_rates_that_change_in_time_are_found_too() -> None:
    schedule = {"times": [0.0, 2.0], "rates": [1.0, 0.3]}
    truth, begun = (
        problem(numbers).replace(schedule=schedule) for numbers in (TRUE, TRUE * [0.9, 0.8, 1])
    )
    run = truth.solve(alpha=TIMES.tolist())
    data = {"alpha": TIMES, "generalization_error": run.generalization_error}
    found = begun.fit(data, parameters=NAMES[:2])
    np.testing.assert_allclose([found.parameters[name] for name in NAMES[:2]], TRUE[:2], rtol=1e-6)


@pytest.mark.turns(3)
def test_exact_curves_give_the_numbers_back() -> None:
    compiled = composed.cache_info().misses
    found = problem([0.5, 0.1, 0.3]).fit(measured(curves(TRUE)), parameters=NAMES)
    # all evaluations of a fit run the same code
    assert composed.cache_info().misses <= compiled + 1
    np.testing.assert_allclose([found.parameters[name] for name in NAMES], TRUE, rtol=1e-6)
    assert found.degrees_of_freedom == 2 * TIMES.size - 3


@pytest.mark.days(2)
@pytest.mark.parametrize("weighted", [True, False])
def test_numbers_and_their_errors_are_those_of_a_fit_without_derivatives(weighted: bool) -> None:
    random = np.random.default_rng(3)
    exact = curves(TRUE)
    errors = 0.02 * np.abs(exact) + 1e-3
    values = exact + errors * random.standard_normal(exact.size)
    data = measured(values, errors if weighted else None)
    found = problem([0.7, 0.2, 0.4]).fit(data, parameters=NAMES)
    expected, covariance = curve_fit(
        lambda _, *numbers: curves(numbers),
        np.arange(values.size),
        values,
        p0=TRUE,
        sigma=errors if weighted else None,
        absolute_sigma=weighted,
        epsfcn=1e-10,
    )
    own = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(
        [found.parameters[name] for name in NAMES], expected, atol=1e-3 * own.min()
    )
    np.testing.assert_allclose([found.standard_errors[name] for name in NAMES], own, rtol=1e-3)
    np.testing.assert_allclose(found.covariance, covariance, rtol=5e-3, atol=1e-3 * own.min() ** 2)
    assert pickle.loads(pickle.dumps(found)).parameters == found.parameters
    assert len(found.plot().lines) >= 4
    assert "learning_rate" in found.to_text()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"generalization_error": [1.0]}, "no 'alpha'"),
        ({"alpha": [2.0, 1.0], "v[1]": [1.0, 1.0]}, "ascending"),
        ({"alpha": [1.0, 2.0], "v[1]": [1.0]}, "one finite number"),
        ({"alpha": [1.0, 2.0]}, "no curve"),
        ({"alpha": [1.0, 2.0], "v[3]": [1.0, 1.0]}, "not an order parameter"),
        ({"alpha": [1.0], "v[1]": [1.0], "v[1]_standard_error": [0.0]}, "must be positive"),
    ],
)
def test_data_that_cannot_be_read_are_refused(data: dict[str, Any], said: str) -> None:
    with pytest.raises(sd.InputError, match=said) as error:
        problem().fit(data, parameters=NAMES)
    assert error.value.argument == "curves"
