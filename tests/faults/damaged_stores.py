"""Single damages of a sweep's store, of every kind of file in it: opened, and gone on with.

A file is changed in one byte, zeroed, cut off, removed, replaced by another file of the store or by
that of another sweep at the same place. What is opened has the right numbers or is refused in one
line; what goes on has the right numbers and says what it mended.
"""

import itertools
import random
import shutil
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from support.quick_integrations import integrated
from unit.sweeps.conftest import STUDY

from symderiv.api.opening import open_file
from symderiv.foundation.errors import SymderivError
from symderiv.problem.study import parse_study
from symderiv.sweeps import run_grid, study_grid
from symderiv.sweeps.sweep import run_sweep
from symderiv.sweeps.sweep_result import Sweep

OVER: dict[str, Any] = {
    "training.learning_rate": [0.1, 0.2, 4.0, 0.3],
    "initial.seed": list(range(3)),
    "network.teacher_activation": ["erf", "relu"],
}
OTHER: dict[str, Any] = {**OVER, "training.learning_rate": [0.1, 0.25, 4.0, 0.3]}

WAYS = ("changed", "zeroed", "cut", "removed", "swapped", "foreign")


def kinds(store: Path) -> dict[str, list[Path]]:
    """The files of a store by their kind, relative to it."""
    found: dict[str, list[Path]] = {}
    coordinates = {"alpha", "student", "student_2", "teacher", "teacher_2"}
    coordinates |= {key.rpartition(".")[2] for key in OVER}
    for path in sorted(p for p in store.rglob("*") if p.is_file()):
        own = path.relative_to(store)
        name = own.parts[0]
        if name == ".symderiv":
            kind = "record of a box" if own.parts[1] == "boxes" else "copy of zarr.json"
        elif own.name == "zarr.json":
            kind = "metadata of an array" if len(own.parts) > 1 else "zarr.json"
        elif name in coordinates:
            kind = "coordinate"
        elif name in ("status", "point_hash", "steps", "rhs_evaluations"):
            kind = "status and counts"
        else:
            kind = "chunk of data"
        found.setdefault(kind, []).append(own)
    return found


def damage(store: Path, other: Path, own: Path, way: str, source: random.Random) -> bool:
    """Damage one file; whether its bytes are others now."""
    path = store / own
    before = path.read_bytes()
    content = bytearray(before)
    if way == "changed":
        content[source.randrange(len(content))] ^= source.randrange(1, 256)
    elif way == "zeroed":
        content[:] = bytes(len(content))
    elif way == "cut":
        del content[source.randrange(len(content)) :]
    elif way == "swapped":
        (alike,) = (files for files in kinds(store).values() if own in files)
        content = bytearray((store / source.choice(alike)).read_bytes())
    elif way == "foreign":
        content = bytearray((other / own).read_bytes())
    if way == "removed":
        path.unlink()
    else:
        path.write_bytes(content)
    return way == "removed" or bytes(content) != before


def numbers(sweep: Sweep) -> dict[str, str]:
    """All that a sweep holds, in words that are equal if it is; but for the times that it took."""
    data = sweep.to_xarray().load()
    return {
        **values_of(data),
        "its points": repr((sweep.points, sweep.statuses, sweep.keys, data.sizes)),
    }


def values_of(data: Any) -> dict[str, str]:
    """The numbers and texts of a dataset."""
    return {
        str(name): repr((one.dims, one.values.tolist()))
        for name, one in data.variables.items()
        if name != "wall_seconds"
    }


def opened(store: Path, right: dict[str, str]) -> str:
    """How ``sd.open`` of a store ends, everything in it read."""
    try:
        found = open_file(store)
        assert isinstance(found, Sweep)
        return "the same" if numbers(found) == right else "WRONG"
    except SymderivError as error:
        return "refused" if "\n" not in str(error) else "several lines"
    except Exception as error:
        return f"opening: {type(error).__name__}: {error}"[:80]


def gone_on(study: Any, store: Path, right: dict[str, str]) -> str:
    """How sweeping into the store ends."""
    told: list[str] = []
    try:
        found = run_sweep(study, OVER, store, notice=told.append)
        if numbers(found) != right:
            return "WRONG"
        if any("\n" in line for line in told):
            return "several lines"
        return "mended" if told else "mended, not told"
    except SymderivError as error:
        return f"going on: {error}"[-80:]
    except Exception as error:
        return f"going on: {type(error).__name__}: {error}"[:80]


def plainly(store: Path, right: dict[str, str]) -> str:
    """How plain xarray reads the numbers, through the store's own codecs."""
    import xarray

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = values_of(xarray.open_zarr(str(store), chunks=None).load())
    except Exception:
        return "refused"
    return "the same" if all(right.get(name) == said for name, said in found.items()) else "other"


def damaged_stores(
    folder: Path, count: int, source: random.Random
) -> Iterator[tuple[str, Counter[str], Counter[str]]]:
    """Damage each kind of file so many times, the ways in turn.

    Args:
        folder: for stores.
        count: damages of each kind.
        source: of the places.

    Yields:
        The kind; how opening the store and going on with it ended; how plain xarray read it, which
        sees no records and takes for a chunk whatever has its shape and a right checksum.
    """
    study = parse_study(STUDY)
    with (
        mock.patch.object(study_grid, "integrate_chunk", lambda points, **_: integrated(points)),
        mock.patch.object(run_grid, "_PARTS", 4),
    ):
        whole, other, store = (folder / f"{name}.zarr" for name in ("whole", "other", "s"))
        right = numbers(run_sweep(study, OVER, whole))
        run_sweep(study, OTHER, other)
        for kind, files in kinds(whole).items():
            endings, plain = Counter[str](), Counter[str]()
            ways = itertools.cycle(source.sample(WAYS, len(WAYS)))
            done = 0
            while done < count:
                if not store.exists():
                    shutil.copytree(whole, store)
                way = next(ways)
                # the file that takes its place may be equal to it
                if not damage(store, other, source.choice(files), way, source):
                    continue
                done += 1
                plain[f"{plainly(store, right)} ({way})"] += 1
                found = opened(store, right), gone_on(study, store, right), opened(store, right)
                endings.update(found)
                if found[1:] != ("mended", "the same"):
                    shutil.rmtree(store)
            yield kind, endings, plain
