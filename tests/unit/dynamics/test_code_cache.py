"""Compiled code and derived modules on disk: damage, kills, two processes, no room, no folder."""

import gc
import logging
import os
import pickle
import resource
import shutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import numba
import pytest
from support.commands import Done, python
from support.forked import forked

from symderiv.compiled_code import code_cache
from symderiv.compiled_code.code_cache import kept_code
from symderiv.storage import kernels

SOURCE = """
from numba import njit
@njit("float64(float64)", cache=True)
def twice(x):
    return {factor} * x
@njit(cache=True)
def thrice(x):
    return 3.0 * x
"""

# As a solver module, but made in a moment instead of derived.
STAND_IN = """
import os, signal, sys, time
from symderiv.checking import recipes
COPY = '''
from symderiv_kernels.erf import *
FORMAT = 3
STUDENT_ACTIVATION = {{student!r}}
TEACHER_ACTIVATION = {{teacher!r}}
'''
def solver_text(name, student, teacher, *_, **__):
    time.sleep({pause})
    readable = COPY.format(student=student, teacher=teacher)
    fast = "from symderiv_kernels.fast.erf import specialised"
    return recipes.SolverText(readable, fast)
recipes.solver_text = solver_text
from symderiv.storage.kernels import load_kernel
{before}
kernel = load_kernel("x**2 - 7")
print(kernel.path, kernel.student_activation, kernel.student_activation_derivative(0.0))
"""


def _stand_in(cache: Path, pause: float = 0.0, before: str = "") -> Done:
    """Load a module that is made in a moment, in a process of its own."""
    code = STAND_IN.format(pause=pause, before=before)
    return forked(lambda: exec(code, {}), XDG_CACHE_HOME=str(cache))


def test_functions_of_one_name_differ_in_all_processes() -> None:
    """Else a process that loads two of them calls one for the other; a fork counts anew, too."""

    def name() -> str:
        with kept_code():
            identity = numba.core.bytecode.FunctionIdentity.from_function(lambda: None)
        return str(identity.unique_name)

    first = name()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, name().encode())
        os._exit(0)
    os.waitpid(child, 0)
    forked = os.read(reading, 1000).decode()
    os.close(reading), os.close(writing)
    names = [first, name(), forked]
    numbers = sorted(int(each.rpartition("$")[2]) for each in names)
    assert numbers[0] > 2**32
    assert len({number >> 20 for number in numbers}) == 2, "one process, one run of numbers"


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_collected_again_after_the_last_of_several_compilations(enabled: bool) -> None:
    before, collector = gc.isenabled(), code_cache._Collector()
    try:
        for _ in range(2):
            (gc.enable if enabled else gc.disable)()
            with collector.paused():
                with collector.paused():
                    assert not gc.isenabled()
                assert not gc.isenabled()
            assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


def load(path: Path) -> ModuleType:
    """The module of a file, anew, with its functions kept as those of a solver module."""
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    try:
        with kept_code():
            exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
        assert module.thrice(1.0) == 3.0
    finally:
        del sys.modules[path.stem]
    return module


@pytest.fixture(autouse=True)
def beside_the_module(monkeypatch):
    """Whoever runs the tests may have named a folder for all compiled code; numba has read it."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.py"
    path.write_text(SOURCE.format(factor=2.0))
    assert load(path).twice(1.0) == 2.0
    return path


def files(path: Path, ending: str) -> list[Path]:
    found = sorted((path.parent / "__pycache__").glob(f"*.{ending}"))
    assert len(found) == 2
    return found


def hits(path: Path) -> int:
    module = load(path)
    return sum(
        sum(function.stats.cache_hits.values()) for function in (module.twice, module.thrice)
    )


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["empty", "half", "flipped", "nonsense"])
def test_damaged_files_are_compiled_anew_and_then_whole_again(small, ending, damage):
    for file in files(small, ending):
        content = file.read_bytes()
        middle = len(content) // 2
        file.write_bytes(
            {
                "empty": b"",
                "half": content[:middle],
                "flipped": content[:middle]
                + bytes([content[middle] ^ 255])
                + content[middle + 1 :],
                "nonsense": pickle.dumps(["nonsense"]) * 3,
            }[damage]
        )
    assert load(small).twice(1.0) == 2.0
    assert hits(small) == 2


def test_an_entry_that_leads_to_another_function_is_not_used(small):
    twice, thrice = sorted(files(small, "nbc"), key=lambda file: "twice" not in file.name)
    twice.write_bytes(thrice.read_bytes())
    assert load(small).twice(1.0) == 2.0


def test_a_kill_between_index_and_data_does_not_bring_back_old_code(small):
    small.write_text(SOURCE.format(factor=5.0))

    def killed() -> None:
        code_cache._CheckedFiles._save_data = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        load(small)

    assert forked(killed).returncode == -signal.SIGKILL
    assert load(small).twice(1.0) == 5.0


def test_a_full_disk_costs_the_kept_code_but_not_the_run(tmp_path):
    path = tmp_path / "small.py"
    path.write_text(SOURCE.format(factor=2.0))

    def with_little_room() -> None:
        # indices fit, compiled code does not
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        print(load(path).twice(1.0))

    done = forked(with_little_room)
    assert (done.returncode, done.stdout) == (0, "2.0\n"), done.stderr
    (line,) = done.stderr.splitlines()
    assert "File too large" in line
    assert "the run goes on" in line
    assert str(tmp_path) in line
    assert not list((tmp_path / "__pycache__").glob("*.tmp*"))
    assert load(path).twice(1.0) == 2.0
    assert hits(path) == 2


def test_without_room_beside_the_module_the_users_folder_is_used(tmp_path, monkeypatch, caplog):
    path = tmp_path / "package" / "small.py"
    path.parent.mkdir()
    path.write_text(SOURCE.format(factor=2.0))
    # no folder can be made where a file is, whoever asks
    (path.parent / "__pycache__").write_text("")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert hits(path) == 0
    assert hits(path) == 2
    assert list((tmp_path / "cache" / "numba").rglob("*.nbc"))
    # nor in the user's folder: a temporary one, with one line
    monkeypatch.setenv("XDG_CACHE_HOME", str(path))
    code_cache.tell_once.cache_clear()
    with caplog.at_level(logging.WARNING, logger="symderiv"):
        assert hits(path) == 0
    (record,) = caplog.records
    assert "cannot be kept there" in record.getMessage()
    assert "XDG_CACHE_HOME" in record.getMessage()
    assert list(code_cache.temporary_folder().rglob("*.nbc"))


def test_the_temporary_folder_ends_with_the_process():
    done = python(
        "from symderiv.compiled_code.code_cache import temporary_folder\nprint(temporary_folder())"
    )
    folder = Path(done.stdout.strip())
    assert folder.name.startswith("symderiv-")
    assert not folder.exists()


def test_processes_that_derive_the_same_module_at_once_all_succeed(tmp_path):
    with ThreadPoolExecutor(3) as threads:
        running = [threads.submit(_stand_in, tmp_path, pause=0.3) for _ in range(3)]
    ended = [each.result() for each in running]
    assert [each.returncode for each in ended] == [0, 0, 0]
    (answer,) = {each.stdout for each in ended}
    path = Path(answer.split()[0])
    assert path.parent == tmp_path / "symderiv" / "kernels"
    assert kernels._read_sealed(path) is not None
    kept = {path.name, kernels.fast_path(path).name}
    assert {file.name for file in path.parent.glob("*kernel_*")} == kept


def test_a_kill_while_a_module_is_written_is_survived(tmp_path):
    kill = "os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)"
    assert _stand_in(tmp_path, before=kill).returncode == -signal.SIGKILL
    done = _stand_in(tmp_path)
    assert done.returncode == 0, done.stderr
    assert kernels._read_sealed(Path(done.stdout.split()[0])) is not None


def test_without_a_folder_for_it_a_module_is_derived_for_the_moment(tmp_path):
    (tmp_path / "file").write_text("")
    done = _stand_in(tmp_path / "file")
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert "the derived solver cannot be kept there (Not a directory)" in line
    folder = Path(done.stdout.split()[0]).parent
    # an end of the process without more ado leaves it
    assert folder.name.startswith("symderiv-")
    shutil.rmtree(folder)
