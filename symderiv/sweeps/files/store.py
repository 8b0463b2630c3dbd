"""One Zarr store for a sweep: swept keys are dimensions, and boxes of points are written whole.

Beside the arrays, which xarray can open, every box that was written has a file
``.symderiv/boxes/N.json`` with the SHA-256 of its part of every array, the statuses and the
failures. ``zarr.json`` (:mod:`symderiv.sweeps.files.manifest`) has the SHA-256 of all other files.
Everything is read through :meth:`Store.content`, which verifies it: a file that differs from what
was written is damaged, and one that was never written does not exist.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr
from zarr import Array
from zarr.codecs import BloscCodec, Crc32cCodec

from symderiv import __version__
from symderiv.foundation.errors import SymderivError
from symderiv.foundation.files import writing
from symderiv.foundation.seals import is_sealed, sealed
from symderiv.foundation.showing import plain
from symderiv.storage.run_files import NUMBERS, TIME, axes_of
from symderiv.sweeps.box_results import SCALARS, BoxResult
from symderiv.sweeps.files.manifest import OWN, ROOT, DamagedError, Manifest, read_manifest
from symderiv.sweeps.files.sealed_files import SealedFiles, place_file
from symderiv.sweeps.run_grid import Box, SweepLayout

if TYPE_CHECKING:
    import xarray

_MOST_ERRORS = 20


class Store:
    """The store of a sweep, to which one process at a time may write.

    Args:
        path: its folder.
        manifest: its description.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path, self.manifest = path, manifest
        self.layout = manifest.layout
        self._files = SealedFiles(path, self.content)
        self._arrays: dict[str, Array[Any]] = {}

    @classmethod
    def create(cls, path: Path, study: str, layout: SweepLayout) -> Store:
        """Make a new store, whole or not at all; nothing may exist at its path.

        Raises:
            InputError: the folder cannot be written to.
        """
        beside = path.with_name(f".{path.name}.new")
        try:
            with writing(path):
                shutil.rmtree(beside, ignore_errors=True)
                (beside / OWN / "boxes").mkdir(parents=True)
                made = cls(beside, Manifest.of(study, layout))
                make_arrays(made._files, layout)
                made._take_files()
                os.rename(beside, path)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        return cls(path, made.manifest)

    @classmethod
    def at(cls, path: Path) -> Store:
        """Return the store in a folder for reading; its metadata and coordinates are verified.

        Raises:
            InputError: there is no store, or it is damaged.
        """
        store = cls(path, read_manifest(path))
        for key in store.manifest.wrong_files(path):
            raise store._damaged(key)
        return store

    def mend(self, layout: SweepLayout, notice: Callable[[str], None]) -> None:
        """Rewrite damaged metadata and coordinates.

        Args:
            layout: the layout of the store, with the output times.
            notice: called with one line for each damaged file.
        """
        wrong = self.manifest.wrong_files(self.path)
        for key in wrong:
            notice(f"{self._damaged(key).damage}; it is written again")
            name, _, rest = key.rpartition("/")
            if rest == ROOT:
                self._files.place(key, json.dumps(self.manifest.arrays[name]).encode())
            else:
                name = key.partition("/c/")[0]
                self._array(name)[...] = coordinates(layout)[name][0]
        if wrong or not self.manifest.is_saved(self.path):
            self._take_files()

    # reading ------------------------------------------------------------------------------------

    def content(self, key: str) -> bytes | None:
        """Return the verified content of a file, or None if it was never written.

        Raises:
            DamagedError: the file differs from what was written, or is missing.
        """
        if key == ROOT:
            return self.manifest.content
        name, _, rest = key.rpartition("/")
        if rest == ROOT:
            metadata = self.manifest.arrays.get(name)
            return None if metadata is None else json.dumps(metadata).encode()
        digest = self.manifest.files.get(key)
        if digest is None:
            box = self._box_of(key)
            record = None if box is None else self.record(box)
            digest = None if record is None else record["sha256"].get(key.partition("/c/")[0])
        if digest is None:
            return None
        try:
            content = (self.path / key).read_bytes()
        except FileNotFoundError:
            raise self._damaged(key, "is missing") from None
        except OSError as error:
            raise self._damaged(key, f"cannot be read ({error.strerror})") from None
        if hashlib.sha256(content).hexdigest() != digest:
            raise self._damaged(key)
        return content

    def record(self, box: Box) -> dict[str, Any] | None:
        """Return the content of a box's own file, or None if the box was never written.

        Raises:
            DamagedError: the file differs from what was written, or is missing.
        """
        try:
            content = self._record(box).read_bytes()
        except FileNotFoundError:
            if self.manifest.complete:
                raise self._damaged_box(box, "its record is missing") from None
            return None
        except OSError as error:
            raise self._damaged_box(box, f"its record cannot be read ({error.strerror})") from None
        if is_sealed(content):
            record: dict[str, Any] = json.loads(content)
            if record.get("sweep") == self.manifest.identity and record["box"] == box.number:
                return record
        raise self._damaged_box(box, "its record was changed")

    def read(self, box: Box) -> BoxResult | None:
        """Return the result of a box, or None if the box was never written.

        Raises:
            DamagedError: a part of it differs from what was written.
        """
        record = self.record(box)
        if record is None:
            return None
        arrays = {}
        for name in record["sha256"]:
            if name not in self.manifest.arrays:
                raise self._damaged_box(box, f"the store has no {name}")
            array = self._array(name)
            values = np.asarray(array[box.slices])
            if name in SCALARS:
                values = values.astype(SCALARS[name][0])
            arrays[name] = values.reshape(len(box), *values.shape[len(box.lengths) :])
        return BoxResult(arrays, {int(place): why for place, why in record["errors"].items()})

    def outcomes(self) -> tuple[Counter[str], dict[str, str]]:
        """Return the number of points by status, and some reasons of failures by label."""
        counts, errors = Counter[str](), dict[str, str]()
        for box in self.layout.boxes():
            record = self.record(box)
            if record is None:
                continue
            counts.update(record["status"])
            for place, why in record["errors"].items():
                if len(errors) < _MOST_ERRORS:
                    errors[self.layout.label(int(box.indices[int(place)]))] = why
        return counts, errors

    def dataset(self) -> xarray.Dataset:
        """Return the store as a dataset, whose arrays are read and verified when they are used."""
        import xarray

        files = SealedFiles(self.path, self.content, read_only=True)
        data: xarray.Dataset = xarray.open_zarr(files, chunks=None, consolidated=True)
        data.attrs = dict(self.manifest.attributes)
        return data

    # writing ------------------------------------------------------------------------------------

    def write(self, box: Box, result: BoxResult) -> None:
        """Write a box; it counts as written as soon as its own file exists.

        Raises:
            SymderivError: the disk is full or fails; the box then counts as never written.
        """
        try:
            if self.manifest.complete:
                self._save(replace(self.manifest, complete=False))
            # the box does not count until it is whole again
            self._record(box).unlink(missing_ok=True)
            digests = {}
            for name, values in sorted(result.arrays.items()):
                array = self._made(name, values)
                inner = array.shape[len(box.lengths) :]
                if values.shape[1:] != inner:
                    whole = np.full((len(box), *inner), np.nan)
                    whole[(slice(None), *(slice(n) for n in values.shape[1:]))] = values
                    values = whole
                array[box.slices] = values.reshape(*box.lengths, *inner)
                digests[name] = self._files.written.pop(self._chunk(box, array))
            said = {
                "sweep": self.manifest.identity,
                "box": box.number,
                "sha256": digests,
                "status": dict(Counter(result.arrays["status"].tolist())),
                "errors": dict(list(result.errors.items())[:_MOST_ERRORS]),
                "symderiv": __version__,
            }
            place_file(self._record(box), sealed(json.dumps(plain(said)).encode(), "json"))
        except OSError as error:
            raise SymderivError(
                f"{self.path}: cannot be written: {error.strerror or error}; its complete parts "
                "are intact"
            ) from None

    def complete(self) -> None:
        """Record that every box was written, so that a missing one is damage."""
        if not self.manifest.complete:
            self._save(replace(self.manifest, complete=True))

    def _made(self, name: str, values: np.ndarray) -> Array[Any]:
        """Return the array of a variable, which is made if only some learning rules have it."""
        if name not in self.manifest.arrays:
            make_array(self._files, self.layout, name, values.dtype.kind, values.shape[1:])
            self._take_files()
        return self._array(name)

    def _array(self, name: str) -> Array[Any]:
        if name not in self._arrays:
            self._arrays[name] = open_array(self._files, name)
        return self._arrays[name]

    def _take_files(self) -> None:
        """Add metadata and coordinates that were written to the manifest."""
        files = self._files.taken()
        arrays = {
            key.rpartition("/")[0]: json.loads((self.path / key).read_bytes())
            for key in files
            if key.endswith(ROOT)
        }
        known = self.manifest
        self._save(replace(known, files=known.files | files, arrays=known.arrays | arrays))

    def _save(self, manifest: Manifest) -> None:
        manifest.save(self.path)
        self.manifest = manifest

    # places -------------------------------------------------------------------------------------

    def _record(self, box: Box) -> Path:
        return self.path / OWN / "boxes" / f"{box.number}.json"

    def _chunk(self, box: Box, array: Array[Any]) -> str:
        """Return the key of the chunk in which an array holds a box."""
        place = [a // b for a, b in zip(box.start, self.layout.box, strict=True)]
        place += [0] * (array.ndim - len(place))
        return f"{array.basename}/c/{'/'.join(map(str, place))}"

    def _box_of(self, key: str) -> Box | None:
        """Return the box whose chunk a file is, or None if it is no chunk."""
        name, _, place = key.partition("/c/")
        if name not in self.manifest.arrays:
            return None
        with suppress(ValueError):
            along = [int(part) for part in place.split("/")][: len(self.layout.shape)]
            return self.layout.box_at(int(np.ravel_multi_index(along, self.layout.boxes_along)))
        return None

    def _damaged(self, key: str, how: str = "was changed") -> DamagedError:
        name = key.partition("/c/")[0].removesuffix(f"/{ROOT}")
        box = self._box_of(key) if key not in self.manifest.files else None
        if box is None:
            kind = "metadata" if key.endswith(ROOT) else "values"
            return DamagedError(self.path, f"of the {kind} of {name}: {key} {how}")
        return self._damaged_box(box, f"{key} {how}")

    def _damaged_box(self, box: Box, how: str) -> DamagedError:
        return DamagedError(self.path, f"at {self.layout.labels(box)}: {how}")


_HASH = "SHA-256 of what is integrated, files and all, 32 digits"

#: For each kind of type: its name in Zarr, and the fill value of chunks.
_TYPES: dict[str, tuple[str, Any]] = {
    "f": ("float64", np.nan),
    "i": ("int64", -1),
    "b": ("bool", False),
    "U": ("string", ""),
}


def make_arrays(files: SealedFiles, layout: SweepLayout) -> None:
    """Make coordinates, and arrays without points for the variables that every rule has."""
    for name, (values, dimensions, attributes) in coordinates(layout).items():
        shape = values.shape
        array = _create(files, name, values.dtype.kind, shape, shape, dimensions, attributes)
        array[...] = values
    for name, (kind, _) in SCALARS.items():
        make_array(files, layout, name, np.dtype(kind).kind)
    for name in layout.inner.curves:
        make_array(files, layout, name, "f")


#: Values, dimensions and attributes.
_Coordinate = tuple[np.ndarray, tuple[str, ...], dict[str, Any]]


def coordinates(layout: SweepLayout) -> dict[str, _Coordinate]:
    """Return by name the coordinates, which are the same for all points."""
    axes_stored: dict[str, _Coordinate] = {
        axis.name: (axis.coordinate(), (axis.name,), {"key": axis.key}) for axis in layout.axes
    }
    time = (*(layout.names[n] for n in layout.timed), layout.time)
    axes_stored["alpha"] = layout.alpha, time, TIME
    for name, size in layout.inner.sizes.items():
        axes_stored[name] = np.arange(1, size + 1), (name,), {}
    return axes_stored


def make_array(
    files: SealedFiles, layout: SweepLayout, name: str, kind: str, inner: Sequence[int] = ()
) -> Array[Any]:
    """Make an array over the points of the grid, with one chunk per box.

    Args:
        files: the store.
        layout: the layout of the sweep.
        name: the name of the variable.
        kind: the kind of its type: "f", "i" or "U".
        inner: lengths of the axes of one point, if the layout does not know them.
    """
    own = layout.dimensions(name)
    if inner and len(own) != len(inner):  # a variable that only some learning rules have
        own = (layout.time, *(f"{name}_{n}" for n in range(1, len(inner))))
    lengths = [
        layout.sizes[axis] if axis in layout.sizes else inner[place]
        for place, axis in enumerate(own)
    ]
    attributes = {}
    if name in SCALARS or name in NUMBERS:
        attributes = {"long_name": NUMBERS.get(name, _HASH)}
    elif layout.inner.study:
        attributes = {"long_name": axes_of(name)[1]}
    shape, chunk = (*layout.shape, *lengths), (*layout.box, *lengths)
    return _create(files, name, kind, shape, chunk, (*layout.names, *own), attributes)


def _create(
    files: SealedFiles,
    name: str,
    kind: str,
    shape: tuple[int, ...],
    chunk: tuple[int, ...],
    dimensions: tuple[str, ...],
    attributes: dict[str, Any],
) -> Array[Any]:
    type_name, fill = _TYPES[kind]
    return zarr.create_array(
        files,
        name=name,
        shape=shape,
        chunks=chunk,
        dtype=type_name,
        fill_value=fill,
        # compression that takes little time compared with the integration
        compressors=[BloscCodec(cname="lz4", clevel=1, shuffle="shuffle"), Crc32cCodec()],
        dimension_names=dimensions,
        attributes=attributes,
        # a missing chunk was never computed
        config={"write_empty_chunks": True},
        zarr_format=3,
    )


def open_array(files: SealedFiles, name: str) -> Array[Any]:
    """Open an existing array for reading and writing."""
    array = zarr.open_array(files, path=name, mode="r+", zarr_format=3)
    return array.with_config({"write_empty_chunks": True})
