"""Numba: one compiled stepper takes the right-hand sides of many modules, and all of it caches.

The dynamics compile their time stepper once, for functions of one fixed signature, and hand it the
right-hand side of whatever module was generated. This rests on three behaviours of numba.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = """
from numba import njit

@njit(cache=True, error_model="numpy")
def rate(x):
    return {factor} * x

@njit("void(float64, float64[::1], int64[::1], float64[::1], float64[::1])",
      cache=True, error_model="numpy")
def flat(alpha, state, sizes, parameters, derivative):
    n = sizes[0]
    block = state[: n * n].reshape((n, n))
    out = derivative[: n * n].reshape((n, n))
    for i in range(n):
        for j in range(n):
            out[i, j] = rate(block[i, j]) + parameters[0]
"""

STEPPER = """
import numpy as np
from numba import njit, types

SIGNATURE = types.void(
    types.float64, types.float64[::1], types.int64[::1], types.float64[::1], types.float64[::1])

@njit(types.float64(types.FunctionType(SIGNATURE), types.float64[::1], types.int64[::1],
      types.float64[::1]), cache=True, nogil=True, error_model="numpy")
def total(f, state, sizes, parameters):
    derivative = np.empty_like(state)
    f(0.0, state, sizes, parameters, derivative)
    return derivative.sum()
"""

DRIVER = """
import numpy as np
import first, second, stepper
state, sizes, parameters = np.ones(4), np.array([2], dtype=np.int64), np.array([0.5])
print([stepper.total(m.flat, state, sizes, parameters) for m in (first, second)])
print([sum(f.stats.cache_hits.values()) for f in (first.flat, second.flat, stepper.total)])
print(len(stepper.total.signatures))
"""


def _run(directory: Path) -> list[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(directory / "cache")}
    command = [sys.executable, "-W", "error", "driver.py"]
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.turns(6)
def test_a_stepper_compiled_once_runs_two_modules_and_everything_is_cached(
    tmp_path: Path,
) -> None:
    (tmp_path / "first.py").write_text(KERNEL.replace("{factor}", "2.0"))
    (tmp_path / "second.py").write_text(KERNEL.replace("{factor}", "-1.0"))
    (tmp_path / "stepper.py").write_text(STEPPER)
    (tmp_path / "driver.py").write_text(DRIVER)
    assert _run(tmp_path) == ["[10.0, -2.0]", "[0, 0, 0]", "1"]
    assert _run(tmp_path) == ["[10.0, -2.0]", "[1, 1, 1]", "1"]
