"""One Zarr store for a sweep: swept keys are dimensions, a box of points is written whole.

Beside the arrays, which xarray opens as they are, a folder ``.symderiv`` says what they hold:
``sweep.json`` the studies, the keys, the versions; ``boxes/N.json`` of every box that was written
the SHA-256 of its part of every array, the statuses and what failed. A box without such a file, or
whose arrays are not what it says, was not written.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv import __version__
from symderiv.dynamics.storage.run_files import MORE_OF_RULES
from symderiv.errors import InputError, SymderivError
from symderiv.files import MACHINE, replace_file
from symderiv.seals import is_sealed, sealed
from symderiv.showing import plain
from symderiv.sweeps.box_results import CURVES, SCALARS, BoxResult
from symderiv.sweeps.layout import Box, Layout
from symderiv.sweeps.study_grid import Grid
from symderiv.sweeps.zarr_files import ZarrArray, place_file, write_group

if TYPE_CHECKING:
    import xarray

__all__ = ["Store", "is_store", "open_dataset", "read_manifest"]

_OWN = ".symderiv"
_MANIFEST = f"{_OWN}/sweep.json"
_FORMAT = 1
_MOST_ERRORS = 20

MEANINGS = {
    "generalization_error": "E[(noiseless student - teacher)^2] / 2",
    "Q": "E[x_i x_j], student-student overlap",
    "R": "E[x_i y_n], student-teacher overlap",
    "v": "second-layer weights of the student",
    "T": "E[y_n y_m], teacher covariance",
    "status": "how the integration ended: done, or why it ended early; empty: not computed",
    "alpha_end": "time of the last accepted step",
    "error_sum": "sum of the estimated local errors, relative",
    "steps": "accepted steps",
    "rhs_evaluations": "right-hand sides computed",
    "wall_seconds": "seconds that the integration took",
    "point_hash": "SHA-256 of the study, files and all, 32 digits",
}


class Store:
    """A store that is written to, by one process at a time.

    Args:
        path: its folder, with a manifest in it.
        layout: where everything lies.
    """

    def __init__(self, path: Path, layout: Layout) -> None:
        self.path, self.layout = path, layout
        self._arrays = _arrays_of(layout)
        for name in MORE_OF_RULES:
            with contextlib.suppress(OSError):
                known = json.loads((path / name / ".zarray").read_text(encoding="utf-8"))
                inner = known["shape"][len(layout.shape) :]
                self._arrays[name] = _array(layout, name, np.dtype("<f8"), inner)

    @classmethod
    def create(cls, path: Path, grid: Grid, layout: Layout) -> Store:
        """A new store, there whole or not at all; nothing must have its name.

        Raises:
            InputError: the folder cannot be written to.
        """
        beside = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _make(beside, grid, layout)
            os.rename(beside, path)
        except OSError as error:
            kind = SymderivError if error.errno in MACHINE else InputError
            raise kind(f"{path}: cannot be written: {error.strerror or error}") from None
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        return cls(path, layout)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else writes meanwhile.

        Raises:
            InputError: somebody does.
        """
        with (self.path / _OWN / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(
                    f"{self.path}: another process writes this sweep; wait for its end"
                ) from None
            yield

    def write(self, box: Box, result: BoxResult) -> None:
        """Write a box; it counts from the moment on when its own file is there.

        Raises:
            SymderivError: the disk is full or fails; the box is as if it had never been written.
        """
        digests = {}
        try:
            for name, values in sorted(result.arrays.items()):
                array = self._known(name, values)
                content = array.encoded(values.reshape(*box.lengths, *values.shape[1:]))
                place_file(self.path / self._chunk(array, box), content)
                digests[name] = hashlib.sha256(content).hexdigest()
            said = {
                "start": box.start,
                "stop": box.stop,
                "sha256": digests,
                "status": dict(Counter(result.arrays["status"].tolist())),
                "errors": dict(list(result.errors.items())[:_MOST_ERRORS]),
                "symderiv": __version__,
            }
            place_file(self._file(box), sealed(json.dumps(plain(said)).encode(), "json"))
        except OSError as error:
            raise SymderivError(
                f"{self.path}: cannot be written: {error.strerror or error}; what is whole in it "
                "is kept"
            ) from None

    def has(self, box: Box) -> bool:
        """Whether the box was written, whole or damaged since."""
        return self._file(box).exists()

    def said_of(self, box: Box) -> dict[str, Any] | None:
        """What the box's own file says, if it is there and whole."""
        try:
            content = self._file(box).read_bytes()
        except OSError:
            return None
        if not is_sealed(content):
            return None
        found: dict[str, Any] = json.loads(content)
        return found if found["start"] == list(box.start) else None

    def read(self, box: Box) -> BoxResult | None:
        """A box as it was written; None if it was not, or not all of it is there any more."""
        said = self.said_of(box)
        if said is None:
            return None
        arrays = {}
        for name, digest in said["sha256"].items():
            array = self._arrays.get(name)
            if array is None:
                return None
            try:
                content = (self.path / self._chunk(array, box)).read_bytes()
            except OSError:
                return None
            if hashlib.sha256(content).hexdigest() != digest:
                return None
            inner = array.chunks[len(box.lengths) :]
            found = array.decoded(content, (*box.lengths, *inner))
            arrays[name] = found.reshape(len(box), *inner)
        return BoxResult(arrays, {int(place): why for place, why in said["errors"].items()})

    def counts(self) -> Counter[str]:
        """Numbers of points by status, of all boxes that were written."""
        found: Counter[str] = Counter()
        for box in self.layout.boxes():
            said = self.said_of(box)
            if said is not None:
                found.update(said["status"])
        return found

    def errors(self, grid: Grid) -> dict[str, str]:
        """Why points failed, by their labels; some of them if they are many."""
        found: dict[str, str] = {}
        for box in self.layout.boxes():
            said = self.said_of(box)
            for place, why in (said or {"errors": {}})["errors"].items():
                found[grid.label(int(box.indices[int(place)]))] = why
                if len(found) >= _MOST_ERRORS:
                    return found
        return found

    def _file(self, box: Box) -> Path:
        return self.path / _OWN / "boxes" / f"{box.number}.json"

    def _chunk(self, array: ZarrArray, box: Box) -> str:
        place = [a // b for a, b in zip(box.start, self.layout.box, strict=True)]
        return array.file((*place, *[0] * (len(array.shape) - len(place))))

    def _known(self, name: str, values: np.ndarray) -> ZarrArray:
        """The array of a variable; what only some rules have is made when it is first seen."""
        if name not in self._arrays:
            made = _array(self.layout, name, values.dtype, values.shape[1:])
            self._arrays[name] = made
            constant = [array for array, _ in _coordinates(self.layout)]
            write_group(self.path, [*constant, *self._arrays.values()])
        return self._arrays[name]


def is_store(path: Path) -> bool:
    """Whether a folder is a sweep's store."""
    return (path / _MANIFEST).is_file()


def read_manifest(path: Path) -> dict[str, Any]:
    """What a store says of itself: ``study``, ``keys``, ``box``, ``versions``.

    Raises:
        InputError: it is no store, or its manifest is damaged.
    """
    try:
        content = (path / _MANIFEST).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: is not the store of a sweep ({error.strerror})") from None
    if not is_sealed(content):
        raise InputError(f"{path}: its manifest is not as symderiv wrote it; sweep again elsewhere")
    found: dict[str, Any] = json.loads(content)
    if found["format"] != _FORMAT:
        raise InputError(f"{path}: was written by symderiv {found['versions']['symderiv']}")
    return found


def open_dataset(path: Path) -> xarray.Dataset:
    """The store as a dataset; arrays are read when they are used.

    Raises:
        InputError: it is no store.
    """
    import xarray

    read_manifest(path)
    data: xarray.Dataset = xarray.open_zarr(str(path), chunks=None, consolidated=True)
    return data


def _make(path: Path, grid: Grid, layout: Layout) -> None:
    study = grid.study
    versions = {"symderiv": __version__, "python": platform.python_version()}
    versions |= {name: version(name) for name in ("numpy", "numba")}
    attributes = {
        "title": "Order parameters of online learning, swept",
        "Conventions": "symderiv-1",
        "study": study.text,
        "sweep": ", ".join(f"{axis.key} ({len(axis.values)})" for axis in layout.axes),
        "symderiv_version": __version__,
    }
    if layout.timed:
        attributes["coordinates"] = "alpha"
    coordinates = _coordinates(layout)
    constant = [array for array, _ in coordinates]
    write_group(path, [*constant, *_arrays_of(layout).values()], attributes)
    for array, values in coordinates:
        place_file(path / array.file([0] * values.ndim), array.encoded(values))
    said = {
        "format": _FORMAT,
        "study": study.text,
        "keys": {axis.key: list(axis.values) for axis in layout.axes},
        "shape": layout.shape,
        "box": layout.box,
        "timed": layout.timed,
        "inner": [layout.alpha.shape[-1], layout.K, layout.M],
        "alpha": hashlib.sha256(layout.alpha.tobytes()).hexdigest(),
        "versions": versions,
    }
    replace_file(path / _MANIFEST, sealed(json.dumps(plain(said), indent=1).encode(), "json"))
    (path / _OWN / "boxes").mkdir()


def same_layout(manifest: Mapping[str, Any], layout: Layout) -> bool:
    """Whether a store has the points of a layout at their places."""
    keys = [(axis.key, plain(axis.values)) for axis in layout.axes]
    return (
        list(manifest["keys"].items()) == keys
        and manifest["box"] == list(layout.box)
        and manifest["inner"] == [layout.alpha.shape[-1], layout.K, layout.M]
        and manifest["alpha"] == hashlib.sha256(layout.alpha.tobytes()).hexdigest()
    )


def _coordinates(layout: Layout) -> list[tuple[ZarrArray, np.ndarray]]:
    """Arrays that are the same for all points, each one chunk, with their values."""
    found = []

    def add(name: str, dimensions: tuple[str, ...], values: np.ndarray, **more: str) -> None:
        array = ZarrArray(name, values.shape, values.shape, values.dtype, dimensions, more)
        found.append((array, values))

    for axis in layout.axes:
        add(axis.name, (axis.name,), axis.coordinate(), key=axis.key)
    time = (*(layout.names[n] for n in layout.timed), layout.time)
    add("alpha", time, layout.alpha, long_name="time, examples / input dimension", units="1")
    for name in ("student", "student_2", "teacher", "teacher_2"):
        add(name, (name,), np.arange(1, layout.sizes[name] + 1))
    return found


def _arrays_of(layout: Layout) -> dict[str, ZarrArray]:
    """Arrays of the points that every rule has."""
    found = {name: _array(layout, name, np.dtype(kind)) for name, (kind, _) in SCALARS.items()}
    return found | {name: _array(layout, name, np.dtype("<f8")) for name in CURVES}


def _array(
    layout: Layout, name: str, kind: np.dtype[Any], inner: Sequence[int] | None = None
) -> ZarrArray:
    """An array of the grid's points, whose chunks are boxes.

    Args:
        inner: lengths of the axes of one point; those of the layout where it knows them.
    """
    own = layout.dimensions(name)
    if inner is not None and len(own) != len(inner):  # of a rule that is not known here
        own = (layout.time, *(f"{name}_{n}" for n in range(1, len(inner))))[: len(inner)]
    lengths = tuple(
        layout.sizes[axis] if axis in layout.sizes else int((inner or ())[place])
        for place, axis in enumerate(own)
    )
    meaning = {"long_name": MEANINGS[name]} if name in MEANINGS else {}
    return ZarrArray(
        name,
        (*layout.shape, *lengths),
        (*layout.box, *lengths),
        kind,
        (*layout.names, *own),
        meaning,
    )
