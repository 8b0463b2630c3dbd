"""Compiled code from a file: numba's numbers to the last bit, and nothing that is not certain."""

import ast
import functools
import os
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.plain_stepper import plain_stepper
from symderiv_kernels.layout import LAYOUT

from symderiv.analysis.low_rank import all_roots
from symderiv.compiled_code import elf_symbols, machine_code, object_code, shipped_code, target
from symderiv.compiled_code.linked import Linked
from symderiv.compiled_code.machine_code import MachineCode
from symderiv.experiment.steps import step_normals
from symderiv.experiment.steps.step_loop import learn
from symderiv.experiment.steps.step_normals import fill_normals
from symderiv.foundation.seals import sealed
from symderiv.integrate.control.controlled_flow import backward, forward
from symderiv.integrate.flows import flat_run
from symderiv.integrate.flows.flat_run import FlatProblem, StepLimits, integrate_flat
from symderiv.integrate.flows.study_flow import modes_of_layout
from symderiv.integrate.steppers import run_code, stepper_sources
from symderiv.integrate.steppers.memory import EXPLICIT, IMPLICIT
from symderiv.precision.balls.forms import narrow
from symderiv.problem.flat_layout import pack_parameters, pack_state, sizes_of
from symderiv.storage.kernels import load_kernel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="compiled code is kept on Linux")


def _keep(path: Path, functions: dict[str, Any]) -> Path:
    """Keep the code of compiled functions."""
    if not object_code.keep(path, functions):
        # another process wrote the index of the cache at the same moment: compile once more
        for function in functions.values():
            function.recompile()
        assert object_code.keep(path, functions)
    return path


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    """The code of one function, as a run leaves it."""
    error, one = load_kernel("erf").module.generalization_error, np.eye(2)
    # what was called in another way before is compiled twice; the one that can be kept is
    error(one, one, one, one[:, 0], one[1].copy())
    error(one, one, one, one[0].copy(), one[1].copy())
    path = tmp_path_factory.mktemp("code") / "run.bin"
    return _keep(path, {"generalization_error": error})


@pytest.mark.parametrize("method", [EXPLICIT, IMPLICIT])
def test_steppers_that_came_with_the_package_are_those_of_the_sources(
    method, tmp_path, monkeypatch
):
    """A long run with ten modes, by the package's code and by Python, which reads the sources."""
    problem, limits = _ten_modes(1e3), StepLimits(1e-10, 1e-14, 1e-6)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    stepper = run_code.LinkedStepper(method)
    monkeypatch.setattr(flat_run, "stepper_for", lambda rhs, _: stepper.for_function(rhs))
    shipped = integrate_flat(problem, limits, kinds=(method,))
    assert isinstance(stepper.without_compiler(), MachineCode)
    assert isinstance(run_code.LinkedStepper(method).without_compiler(), MachineCode)
    assert len(list(tmp_path.rglob("code_*.bin"))) == 1
    read = functools.partial(plain_stepper, monkeypatch)
    monkeypatch.setattr(flat_run, "stepper_for", lambda rhs, method: (read(method), rhs))
    plain = integrate_flat(problem, limits, kinds=(method,))
    assert shipped.cause == plain.cause == "done"
    assert method in shipped.method
    assert abs(shipped.steps - plain.steps) <= 0.03 * plain.steps
    largest = np.max(np.abs(plain.results), axis=1, keepdims=True)
    assert np.max(np.abs(shipped.results - plain.results) / largest) < 1e-9


def _ten_modes(end: float) -> FlatProblem:
    L, one = 10, np.ones(1)
    rho = np.arange(1, L + 1) ** -2.0
    rho /= rho.mean()
    weight, overlap = np.full(L, 1.0 / L), (rho**2)[:, None, None] * np.ones((L, 1, 1))
    T = np.array([[np.sum(weight * rho)]])
    training = {"learning_rate": 0.3, "full_order": 1.0}
    parameters = pack_parameters(rho, weight, overlap, T, one, training)
    state = pack_state(np.full((L, 1, 1), 1e-2), np.zeros((L, 1, 1)), one)
    rhs = load_kernel("erf").right_hand_side_for(1, 1)
    sizes, asked = sizes_of(1, 1, L), np.geomspace(1e-2, end, 60)
    modes = modes_of_layout(LAYOUT, sizes, parameters, state.size)
    return FlatProblem(rhs, state, sizes, parameters, asked, modes)


def test_code_that_came_with_the_package_is_refused_for_anything_else(tmp_path, monkeypatch):
    path, digest = forward.shipped_path(), forward.digest()
    assert shipped_code.shipped(path, "other sources") is None
    assert shipped_code.shipped(tmp_path / "none", digest) is None
    damaged = tmp_path / "damaged"
    damaged.write_bytes(path.read_bytes()[:2_000])
    assert shipped_code.shipped(damaged, digest) is None
    monkeypatch.setattr(shipped_code, "version", lambda name: "0.61.0")
    assert shipped_code.shipped(path, digest) is None
    monkeypatch.undo()
    # other processors get theirs from the bitcode
    monkeypatch.setattr(target, "_LEVEL_THREE", frozenset(("an extension of the future",)))
    assert shipped_code.shipped(path, digest) is not None
    # code that needs more than it may call
    monkeypatch.setattr(elf_symbols, "UNUSED", frozenset())
    assert shipped_code.shipped(path, digest) is None


@pytest.mark.turns(2)
def test_what_was_changed_or_could_have_been_is_not_run(kept, tmp_path):
    content = kept.read_bytes()
    path = tmp_path / kept.name
    for damaged in (content[:-1], b"x" + content[1:], b"", content[: len(content) // 2]):
        path.write_bytes(damaged)
        assert machine_code.load(path) is None
    path.write_bytes(content)
    assert machine_code.load(path) is not None
    other = tmp_path / "other.bin"
    other.write_bytes(content)
    assert machine_code.load(other) is None
    path.chmod(0o666)
    assert machine_code.load(path) is None
    path.chmod(0o600)
    tmp_path.chmod(0o777)
    assert machine_code.load(path) is None
    tmp_path.chmod(0o700)
    # sealed, and no object code
    path.write_bytes(sealed(content.partition(b"\n")[0] + b"\n" + b"no code", "pickle"))
    assert machine_code.load(path) is None
    assert machine_code.load(tmp_path / "none") is None


def test_the_file_is_named_by_all_that_the_code_depends_on(monkeypatch):
    names = {machine_code.code_path("run 2 2", ("a", "b"))}
    names |= {machine_code.code_path("run 2 3", ("a", "b")), machine_code.code_path("run 2 2", "a")}
    monkeypatch.setenv("NUMBA_OPT", "1")
    machine_code._surroundings.cache_clear()
    names.add(machine_code.code_path("run 2 2", ("a", "b")))
    machine_code._surroundings.cache_clear()
    assert len(names) == 4


def test_arguments_are_checked(kept):
    error = machine_code.load(kept)["generalization_error"]
    one, half = np.eye(2), np.full(2, 0.5)
    assert isinstance(error(one, one, one, half, half), float)
    for wrong in (np.eye(2, dtype=np.float32), np.eye(4)[::2, ::2], half, [[1.0]]):
        with pytest.raises(TypeError, match="was expected"):
            error(wrong, one, one, half, half)
    with pytest.raises(ValueError, match="zip"):
        error(one)


def test_code_that_needs_more_than_the_c_library_is_not_kept(kept, tmp_path, monkeypatch):
    assert kept.exists()
    functions = {"generalization_error": load_kernel("erf").module.generalization_error}
    path = tmp_path / "code.bin"
    monkeypatch.setattr(elf_symbols, "CALLED", frozenset())
    assert not object_code.keep(path, functions)
    monkeypatch.undo()
    monkeypatch.setenv("SYMDERIV_CACHE", "off")
    assert not object_code.keep(path, functions)
    assert os.listdir(tmp_path) == []


STEPPERS = run_code.explicit, run_code.implicit, run_code.explicit_8
LOOPS = all_roots, narrow, learn, fill_normals, forward, backward


@pytest.mark.parametrize("function", [*STEPPERS, *LOOPS])
def test_code_of_loops_came_with_the_package_of_these_sources(function):
    came = shipped_code.shipped(function.shipped_path(), function.digest())
    assert came is not None, "make stepper-code writes it anew"


def test_a_function_that_came_with_the_package_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tables, found = step_normals._tables(), []
    assert tables is not None
    drawn = np.random.Generator(np.random.SFC64(5))
    state = np.array(drawn.bit_generator.state["state"]["state"], dtype=np.uint64)
    for shipped in (True, False):
        function = Linked("symderiv.experiment.steps.normal_loop", "fill_normals", shipped=shipped)
        filled = np.empty(5000)
        function(state.copy(), filled, *tables)
        assert function._code is not None
        found.append(filled)
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(found[0], drawn.standard_normal(5000))


def test_the_stepper_is_named_by_all_that_it_is_compiled_from():
    """Every module of these rooms that the stepper's modules import is a source of it."""
    rooms = "symderiv.integrate", "symderiv.problem", "symderiv_kernels"
    sources = {path.resolve() for path in stepper_sources.SOURCES}
    for path in sources:
        assert path.is_file()
    names_them = Path(stepper_sources.__file__).resolve()
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.ImportFrom) and str(node.module).startswith(rooms)):
                continue
            for name in (node.module, *(f"{node.module}.{each.name}" for each in node.names)):
                with suppress(ModuleNotFoundError):
                    found = find_spec(name)
                    if found and found.origin and not found.origin.endswith("__init__.py"):
                        own = Path(found.origin).resolve()
                        assert own in {*sources, names_them}, name
