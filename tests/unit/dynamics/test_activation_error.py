"""What runs ask of approximated activations, and what they say of them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from symderiv.dynamics.activation_error import (
    activation_attributes,
    activation_tolerance,
    activation_warnings,
)
from symderiv.dynamics.kernels import Kernel


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


def test_closed_modules_have_nothing_to_say() -> None:
    assert activation_attributes(kernel()) == {}
    assert activation_warnings(kernel(), 1e-14) == []
