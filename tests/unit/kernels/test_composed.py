"""Right-hand sides that are made of others: translated they are what numba makes of them."""

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

from symderiv.compiled_code.composed import composed
from symderiv.compiled_code.machine_code import MachineCode, can_link
from symderiv.compiled_code.translated_functions import TranslatedModule
from symderiv.integrate.flows.combined import mixed, scheduled
from symderiv.integrate.flows.second_derivatives import _twice_varied_rates
from symderiv.integrate.flows.sensitivities import varied_rates

pytestmark = pytest.mark.skipif(not can_link(), reason="code needs numba on this system")

TEXT = """
import math

from numba import njit


def specialised(K, M):
    @njit(error_model="numpy")
    def right_hand_side(alpha, state, sizes, parameters, derivative):
        for a in range(state.size):
            x = parameters[a % parameters.size] * state[a] + math.sin(alpha + a)
            derivative[a] = math.tanh(x) - sizes[0] * state[a] ** 3

    return right_hand_side
"""
SIZES = np.array([2, 1, 1])
TWICE = 2, (1,), 1, (0.75, -0.15, 1 / 60), 2e-3


@pytest.fixture(scope="module")
def both() -> tuple[MachineCode, Any]:
    """One right-hand side, translated and of numba's."""
    translated = TranslatedModule(TEXT).specialised(2, 1)
    assert translated is not None
    names: dict[str, Any] = {}
    exec(TEXT, names)
    return translated, names["specialised"](2, 1)


def value(function: Any, size: int, parameters: np.ndarray) -> np.ndarray:
    derivative, state = np.empty(size), np.random.default_rng(3).normal(size=size)
    function(0.3, state, SIZES, parameters, derivative)
    return derivative


@pytest.mark.parametrize(
    ("make", "size", "parameters"),
    [
        (lambda f: scheduled(f, "exp(-alpha/3) + sqrt(alpha)/7 + abs(alpha - 1)", (0, 2)), 4, 5),
        (lambda f: mixed(f, 2, 3), 4, np.r_[9.0, 9, 9, 3, 0.2, 0, 2, 3, 1, 2, 0.5, 1.5, -0.4,
                                            0.8, 1, 3, 0, 2, 1, 4, 0.7, 0.1]),
        (lambda f: composed(varied_rates, f, f, 2, 3), 9, 11),
        (lambda f: composed(varied_rates, f, f, 0, 0), 3, 4),
        (
            lambda f: composed(_twice_varied_rates, composed(varied_rates, f, f, 2, 1), f, *TWICE),
            12,
            12,
        ),
    ],
)  # fmt: skip
def test_translated_is_what_numba_makes(
    both: tuple[MachineCode, Any],
    make: Callable[[Any], Any],
    size: int,
    parameters: Any,
) -> None:
    given = (
        np.random.default_rng(5).uniform(0.2, 0.9, parameters)
        if isinstance(parameters, int)
        else parameters
    )
    translated, compiled = (make(each) for each in both)
    assert isinstance(translated, MachineCode)
    assert not isinstance(compiled, MachineCode)
    found = value(translated, size, given)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, value(compiled, size, given), rtol=1e-14, atol=1e-15)


def test_a_schedule_multiplies_the_rates_at_its_places(both: tuple[MachineCode, Any]) -> None:
    parameters, state = np.array([0.4, 0.5, 0.6, 2.0]), np.array([0.3, -0.2, 0.7])
    found, wanted = np.empty(3), np.empty(3)
    scheduled(both[0], "alpha**2/4", (1,))(1.0, state, SIZES, parameters, found)
    both[0](1.0, state, SIZES, np.array([0.4, 0.5 * 9.0 / 4.0, 0.6]), wanted)
    np.testing.assert_array_equal(found, wanted)
    assert math.isfinite(found.sum())


def test_what_numba_compiled_is_composed_by_numba(both: tuple[MachineCode, Any]) -> None:
    made = composed(varied_rates, both[0], both[1], 1, 1)
    assert isinstance(made, numba.core.dispatcher.Dispatcher)


def test_runs_with_derivatives_do_without_numba_once_they_were_made() -> None:
    run = (
        "import sys, symderiv as sd\n"
        "problem = sd.Problem('erf', students=2, teachers=1, learning_rate=0.5, student_std=0.3,\n"
        "                     schedule='1/(1 + alpha)')\n"
        "problem.solve(end=2, points=3, sensitivities=['learning_rate', 'learning_rate'])\n"
        "print('numba' in sys.modules)"
    )
    said = [
        subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert said[1].stdout.split() == ["False"], said[1].stderr
