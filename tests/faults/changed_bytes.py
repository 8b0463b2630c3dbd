"""Single damages of a file that is read back: refused, computed anew or of no effect.

A byte is changed anywhere, the file is zeroed, cut off, removed, or is another one of its format
where its name says what it must hold.
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from support.session_derivations import USERS_PLACE
from support.studies import toml

from symderiv.compiled_code.code_cache import _CheckedFiles
from symderiv.compiled_code.machine_code import load
from symderiv.experiment.studies.simulating import simulate
from symderiv.experiment.studies.simulation import write_simulation
from symderiv.foundation import derivation_cache
from symderiv.foundation.derivation_cache import cache_folder, derived_once, is_on
from symderiv.foundation.errors import SymderivError
from symderiv.foundation.seals import sealed
from symderiv.integrate.flows.trajectory import write_run
from symderiv.integrate.rules.solving import solve
from symderiv.problem.initial import initial
from symderiv.problem.state import load_state
from symderiv.problem.study import parse_study
from symderiv.storage.checkpoint import Checkpoint
from symderiv.storage.kernels import _read_sealed, _seal
from symderiv.storage.run_files import read_run

STUDY = toml(
    network={"activation": "erf", "students": 2, "teachers": 2},
    data={"model": "power-law", "dimension": 60, "distinct_eigenvalues": 3, "exponent": 0.5},
    training={"learning_rate": 0.5},
    initial={"student_std": 0.1},
    simulation={"runs": 2, "end": 2.0},
    time={"end": 5.0, "points": 8},
)

WAYS = ("changed", "zeroed", "cut", "removed", "foreign")

#: Reads a file to what it says; raises InputError or gives None where it must not be used.
Reader = Callable[[Path], Any]


def formats(folder: Path) -> dict[str, tuple[Path, Reader]]:
    """A file of every format that is read back, and how it is read."""
    study = parse_study(STUDY)
    run = write_run(folder / "run.nc", solve(study))
    simulation = write_simulation(folder / "sim.nc", simulate(study, workers=1))
    state = folder / "state.npz"
    initial(study).state.save(state)
    return {
        "RUN.nc": (run, read_run),
        "SIM.nc": (simulation, read_run),
        "state .npz": (state, lambda path: vars(load_state(path))),
        "array .npy": _array(folder, ".npy"),
        "arrays .npz": _array(folder, ".npz"),
        "checkpoint": _checkpoint(folder, study),
        "derived solver": _solver(folder),
        **(
            {"derived result": _derived(folder), "machine code": _machine_code(folder)}
            if is_on()
            else {}
        ),
        "compiled code, index": _compiled(folder, "nbi"),
        "compiled code, data": _compiled(folder, "nbc"),
    }


def _array(folder: Path, ending: str) -> tuple[Path, Reader]:
    from symderiv.inputs.array_files import read_matrix
    from symderiv.inputs.given import Given

    values = np.random.default_rng(1).standard_normal((9, 9))
    path = folder / f"array{ending}"
    Given({"": values} if ending == ".npy" else {"covariance": values}).save(path)
    return path, lambda path: read_matrix(path, ("covariance",))[1]


def _checkpoint(folder: Path, study: Any) -> tuple[Path, Reader]:
    path = folder / "run.checkpoint"
    kept = Checkpoint(path)
    kept.open({"study": study.text})
    kept.keep("key", {"a": np.arange(200.0)}, "alpha = 1")
    assert kept.write()

    def read(path: Path) -> Any:
        again = Checkpoint(path)
        again.open({"study": study.text})
        return again.entry("key")

    return path, read


def _solver(folder: Path) -> tuple[Path, Reader]:
    from symderiv.checking.recipes import generate

    path = folder / "solver.py"
    for place, activation in ((path, "linear"), (other_of(path), "quadratic")):
        text = generate("solver", activation)
        place.write_bytes(text.encode() + _seal(text, place))
    return path, _read_sealed


def _derived(folder: Path) -> tuple[Path, Reader]:
    """A result that is kept in the user's cache, and that of other arguments."""
    asked: list[int] = []

    def result(number: int) -> int:
        asked.append(number)
        return 1000 + number

    own = folder / "cache"

    @contextmanager
    def kept_there() -> Iterator[None]:
        # a session of tests keeps its derivations elsewhere
        with (
            mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(own)}),
            mock.patch.object(derivation_cache, "_place", USERS_PLACE),
        ):
            yield

    with kept_there():
        for number in (1, 2):
            derived_once()(result)(number)
        first, second = sorted(own.rglob("*.pickle"), key=lambda path: path.stat().st_mtime_ns)
    second.rename(other_of(first))

    def read(_: Path) -> Any:
        with kept_there():
            return derived_once()(result)(1)

    return first, read


def _machine_code(folder: Path) -> tuple[Path, Reader]:
    """Compiled functions of the user's cache, where the runs that were made have left two files."""
    path = folder / "code.bin"
    files = [file for file in (cache_folder() / "code").glob("*.bin") if load(file)][:2]
    assert files, "the runs that were made keep their code"
    for place, file in zip((path, other_of(path)), files, strict=False):
        own = file.name.encode(), place.name.encode()
        head, _, rest = file.read_bytes().partition(b"\n")
        rest = rest[: rest.rindex(b"\nwritten by symderiv")]
        place.write_bytes(sealed(head.replace(*own) + b"\n" + rest, "pickle"))

    def read(path: Path) -> Any:
        return None if (found := load(path)) is None else sorted(found)

    return path, read


def other_of(path: Path) -> Path:
    """Where another file of the format lies that must not take the place of this one."""
    return path.with_name(f"other-{path.name}")


def _compiled(folder: Path, ending: str) -> tuple[Path, Reader]:
    own = folder / ending
    own.mkdir()
    stamp, key, data = ("stamp", 3), ("signature", "target"), {"code": bytes(range(256)) * 4}
    _CheckedFiles(str(own), "function", stamp).save(key, data)
    (path,) = own.glob(f"*.{ending}")

    def read(_: Path) -> Any:
        return _CheckedFiles(str(own), "function", stamp).load(key)

    return path, read


def same_numbers(first: Any, second: Any) -> bool:
    """Whether arrays, texts and what holds them are equal, to the last bit."""
    try:
        np.testing.assert_equal(first, second)
    except AssertionError:
        return False
    return True


def try_damages(path: Path, read: Reader, count: int, source: random.Random) -> Counter[str]:
    """How reading ends with so many single damages at random places, the ways in turn."""
    whole = path.read_bytes()
    right = read(path)
    assert right is not None
    foreign = other_of(path)
    ways = [way for way in WAYS if way != "foreign" or foreign.exists()]
    endings: Counter[str] = Counter()
    for trial in range(count):
        # most are changes of a byte: there are so many of them
        way = ways[trial // 2 % len(ways)] if trial % 2 else "changed"
        changed = bytearray(whole)
        if way == "changed":
            changed[source.randrange(len(whole))] ^= source.randrange(1, 256)
        elif way == "zeroed":
            changed[:] = bytes(len(whole))
        elif way == "cut":
            del changed[source.randrange(len(whole)) :]
        elif way == "foreign":
            changed = bytearray(foreign.read_bytes())
        path.write_bytes(changed)
        if way == "removed":
            path.unlink()
        try:
            found = read(path)
        except SymderivError as error:
            endings["several lines" if "\n" in str(error) else "refused"] += 1
        except Exception as error:
            endings[f"{type(error).__name__}: {error}"[:80]] += 1
        else:
            if found is None:
                endings["not used"] += 1
            else:
                endings["the same" if same_numbers(found, right) else "WRONG"] += 1
    path.write_bytes(whole)
    return endings
