"""What runs ask of approximated activations, and what they say of them."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from symderiv.integrate.flows.activation_error import (
    Beyond,
    activation_attributes,
    activation_warnings,
    beyond_range,
    range_warnings,
    searched,
)
from symderiv.lowering.means import quadrature_means
from symderiv.storage.kernels import Kernel
from symderiv.storage.study_kernel import activation_tolerance


def kernel(**constants: object) -> Kernel:
    module = ModuleType("approximate")
    vars(module).update(constants)
    return Kernel(module, Path("approximate.py"), "", "g", "g", False)


@pytest.mark.parametrize(
    ("asked", "found"),
    [(1e-6, 1e-7), (3e-6, 1e-7), (9.9e-7, 1e-8), (1e-9, 1e-10), (1e-13, 1e-10), (0.1, 1e-4)],
)
def test_the_tolerance_is_a_decade_below_that_of_the_run(asked: float, found: float) -> None:
    assert activation_tolerance(asked) == found


def test_errors_are_attributes_and_warnings_where_they_matter() -> None:
    used = kernel(
        ACTIVATION_METHOD="quadrature", ACTIVATION_ERROR=2e-8, ACTIVATION_DERIVATIVE_ERROR=3e-8
    )
    assert activation_attributes(used) == {
        "activation_method": "quadrature",
        "activation_error": 2e-8,
        "activation_derivative_error": 3e-8,
    }
    assert activation_warnings(used, 1e-6) == []
    (warning,) = activation_warnings(used, 1e-8)
    assert "3.0e-08" in warning
    assert "time.relative_tolerance = 1e-08" in warning


QUADRATURE = kernel(
    ACTIVATION_METHOD="quadrature",
    ACTIVATION_ERROR=2e-8,
    ACTIVATION_DERIVATIVE_ERROR=3e-8,
    ACTIVATION_PAIR_ERROR=1e-6,
    ACTIVATION_LARGEST_VARIANCE=4.0,
)


def run(students: list[float], teacher: float, errors: list[float]) -> Any:
    """Two students, one of them of variance 1/2, and two teachers at times 0, 10, 20, ..."""
    return SimpleNamespace(
        alpha=10.0 * np.arange(len(students)),
        Q=np.array([[[0.5, 9.0], [9.0, q]] for q in students]).reshape(-1, 2, 2),
        T=np.array([[teacher, 9.0], [9.0, 0.3]]),
        v=np.tile([0.5, -1.0], (len(students), 1)),
        teacher_weights=np.array([1.0, -0.5]),
        generalization_error=np.array(errors),
    )


def test_nothing_is_said_within_the_range_and_above_the_error() -> None:
    # (0.5 + 1 + 1 + 0.5)^2 / 2 pairs of factors: 4.5e-6, and ten times that
    assert range_warnings(QUADRATURE, run([1.0, 4.0], 4.0, [1.0, 4.6e-5])) == []
    assert beyond_range(QUADRATURE, run([1.0, 4.0], 4.0, [1.0, 4.6e-5])) is None
    assert beyond_range(QUADRATURE, run([], 5.0, [])) is None
    assert beyond_range(kernel(), run([9.0], 9.0, [0.0])) is None
    assert range_warnings(QUADRATURE, run([], 5.0, [])) == []
    assert range_warnings(kernel(), run([9.0], 9.0, [0.0])) == []


@pytest.mark.parametrize(
    ("students", "teacher", "words"),
    [
        (
            [1.0, 3.9, 4.5, 4.2],
            1.0,
            "alpha = 20 on there are larger ones, up to variance 4.5,",
        ),
        ([1.0, 3.9, 4.5, 4.2], 5.0, "from alpha = 0 on there are larger ones, up to variance 5,"),
        ([1.0, 3.9], 5.0, "from alpha = 0 on there are larger ones, up to variance 5,"),
        ([4.1, 6.5], 1.0, "from alpha = 0 on there are larger ones, up to variance 6.5,"),
    ],
)
def test_fields_beyond_the_range_are_told(
    students: list[float], teacher: float, words: str
) -> None:
    found = run(students, teacher, [1.0] * len(students))
    beyond = beyond_range(QUADRATURE, found)
    # a module without the numbers of its rule: nothing can be searched for
    assert searched(QUADRATURE, beyond, None) == beyond
    (line,) = range_warnings(QUADRATURE, found, beyond)
    assert "for which it was not measured" in line
    assert "2.0e-08, is that for fields of variance up to 4;" in line
    assert words in line


BIASED = kernel(**{**vars(QUADRATURE.module), "ACTIVATION_LARGEST_BIAS": 2.0})


@pytest.mark.parametrize(
    ("trained", "fixed", "since"), [([0.1, -2.5, 1.0], 0.0, 1), ([0.1, 1.9, 0.3], 2.1, 0)]
)
def test_biases_beyond_the_range_are_told(trained: list[float], fixed: float, since: int) -> None:
    found = run([1.0, 1.0, 1.0], 1.0, [1.0, 1.0, 1.0])
    found.further = {"b": np.array([[0.0, each] for each in trained])}
    beyond = beyond_range(BIASED, found, fixed)
    assert (beyond.since, beyond.bias) == (since, max(fixed, 2.5 if since else 0.0))
    (line,) = range_warnings(BIASED, found, replace(beyond, error=7e-7))
    assert "for fields of variance up to 4 and biases up to 2;" in line
    assert f"from alpha = {10 * since} on there are larger ones" in line
    assert "a wider search finds up to 7.0e-07" in line
    assert beyond_range(BIASED, run([1.0], 1.0, [1.0]), 2.0) is None
    (warning,) = activation_warnings(BIASED, 1e-6, replace(beyond, error=7e-7))
    assert "7.0e-07" in warning


def test_the_search_goes_as_far_as_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    module = {**vars(BIASED.module), "QUADRATURE_RULE": (1.0, 2.0), "QUADRATURE_PAIR_RULE": (3.0,)}
    asked: list[tuple[float, float]] = []

    def error_within(*given: Any) -> float:
        assert given[:2] == ("g", "g")
        assert given[3] == ((1.0, 2.0), (3.0,))
        asked.append(given[4:])
        return 1e-8 if len(asked) == 1 else 5e-7

    monkeypatch.setattr(quadrature_means, "error_within", error_within)
    used = kernel(**module)
    # never better than within the range that was known
    assert searched(used, Beyond(0, 1.0, 3.0), None).error == 2e-8
    assert searched(used, Beyond(0, 9.0, 1.0), None).error == 5e-7
    assert asked == [(4.0, 4.0), (16.0, 2.0)]
    assert np.isnan(searched(used, Beyond(0, 1e6, 1.0), None).error)
    assert len(asked) == 2


def test_an_error_near_that_of_its_means_is_told() -> None:
    found = run([1.0, 1.0, 1.0], 1.0, [1.0, 4.4e-5, 1e-7])
    found.v[0] = 100.0  # far from there, and not asked
    (line,) = range_warnings(QUADRATURE, found)
    assert "from alpha = 10 on" in line
    assert "by up to 4.5e-06" in line
