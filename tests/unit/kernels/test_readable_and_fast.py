"""The modules of a solver compute the same, and the readable one needs no other."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.forked import forked
from support.kernel_states import state

from symderiv.checking.recipes import RECIPES
from symderiv.lowering.means.uncompiled import uncompiled

KERNELS = Path(__file__).parents[3] / "generated" / "symderiv_kernels"
# means of four signs, and vectors for products of them, are many short functions, all of them used
MOST_LINES = {"erf": 600, "gelu": 1000, "relu": 1000}


def module(path: str) -> SimpleNamespace:
    return uncompiled((KERNELS / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RECIPES)
def test_the_readable_and_the_fast_module_agree(name: str) -> None:
    readable, fast = module(f"{name}.py"), module(f"fast/{name}.py")
    # cases of coinciding students and teachers, which only the fast one has, are all met
    for K, M, L, near in ((3, 2, 1, 1.0), (2, 3, 3, 1.0), (1, 2, 3, 1.0), (2, 1, 1, 1e-3)):
        unknown, parameters = state(K, M, L, near, seed=K + 10 * M)
        sizes = np.array([K, M, L])
        found, expected = np.full(unknown.size, np.nan), np.full(unknown.size, np.nan)
        readable.flat_right_hand_side(0.0, unknown, sizes, parameters, expected)
        fast.flat_right_hand_side(0.0, unknown, sizes, parameters, found)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * scale)


@pytest.mark.parametrize("name", RECIPES)
def test_a_readable_module_is_short_and_has_nothing_of_a_compiler(name: str) -> None:
    text = (KERNELS / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES.get(name, 900)
    for word in ("numba.core", "numba.extending", "intrinsic", "llvm", "cgutils", "specialised"):
        assert word not in text


@pytest.mark.turns(3)
def test_code_for_several_sizes_is_read_from_caches_of_several_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # numba counts functions from the same number in each process, and names code by it
    for name in ("__init__.py", "linear.py", "runtime.py"):
        (tmp_path / "kept_sizes").mkdir(exist_ok=True)
        shutil.copy(KERNELS / "fast" / name, tmp_path / "kept_sizes")
    monkeypatch.syspath_prepend(tmp_path)
    fast = importlib.import_module("kept_sizes.linear")
    readable = module("linear.py")
    for sizes in ((1, 1), (2, 1)):
        assert forked(lambda sizes=sizes: fast.specialised(*sizes)).returncode == 0  # type: ignore[misc]
    symbols = set()
    for K, M in ((1, 1), (2, 1)):
        compiled = fast.specialised(K, M)
        assert sum(compiled.stats.cache_hits.values()) == 1
        (code,) = compiled.overloads.values()
        symbols.add(code.fndesc.llvm_func_name)
        unknown, parameters = state(K, M, 1, 1.0, seed=K)
        found, expected = np.empty_like(unknown), np.empty_like(unknown)
        readable.flat_right_hand_side(0.0, unknown, np.array([K, M, 1]), parameters, expected)
        compiled(0.0, unknown, np.array([K, M, 1]), parameters, found)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max())
    assert len(symbols) == 2  # compiled code that calls both would take one for the other


ALONE = """
import json, sys
import numpy as np
from scipy.integrate import solve_ivp
import solver
given = json.load(sys.stdin)
sizes, start, parameters = (np.array(given[name]) for name in ("sizes", "start", "parameters"))
def slope(alpha, state):
    derivative = np.empty_like(state)
    solver.flat_right_hand_side(alpha, state, sizes, parameters, derivative)
    return derivative
found = solve_ivp(slope, (0, 0.1), start, rtol=1e-8, atol=1e-12)
other = [m for m in sys.modules if m.split(".")[0].startswith("symderiv")]
print(json.dumps({"success": bool(found.success), "end": found.y[:, -1].tolist(), "other": other}))
"""


@pytest.mark.turns(2)
def test_the_readable_module_alone_is_integrated_by_scipy(tmp_path: Path) -> None:
    from symderiv.integrate.flows.flat_run import FlatProblem, StepLimits, integrate_flat
    from symderiv.storage.kernels import load_kernel

    shutil.copy(KERNELS / "erf.py", tmp_path / "solver.py")
    K, M, L = 2, 2, 1
    start, parameters = state(K, M, L, 1.0, seed=4)
    sizes = np.array([K, M, L])
    given = {"sizes": [K, M, L], "start": start.tolist(), "parameters": parameters.tolist()}
    # interpreted: what is compiled is the same text, and compiling takes seconds
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{ALONE}"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    answer = json.loads(done.stdout)
    assert answer["success"]
    assert answer["other"] == []
    rhs = load_kernel("erf").right_hand_side_for(K, M)
    problem = FlatProblem(rhs, start, sizes, parameters, np.array([0.1]))
    ours = integrate_flat(problem, StepLimits(1e-9, 1e-14, 1e-6))
    np.testing.assert_allclose(answer["end"], ours.last_state, rtol=1e-7, atol=1e-9)
