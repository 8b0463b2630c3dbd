"""The sealed description of a sweep's store, in its own ``zarr.json``.

``zarr.json`` is the metadata of the Zarr group and of all arrays in it. Its attributes contain the
study and, as one text, the keys, the arrangement of points in chunks, and the SHA-256 of every file
that belongs to no box (metadata and coordinates). The last attribute is the seal, the SHA-256 of
all the rest. A copy in the folder ``.symderiv`` replaces it if it is damaged.
"""

from __future__ import annotations

import hashlib
import json
import platform
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np

from symderiv import __version__
from symderiv.foundation.errors import InputError
from symderiv.foundation.seals import is_sealed, sealed
from symderiv.foundation.showing import plain
from symderiv.sweeps.files.sealed_files import place_file
from symderiv.sweeps.run_grid import SweepLayout
from symderiv.sweeps.swept_keys import Axis, PointArrays, axis_names

ROOT = "zarr.json"
#: The folder of symderiv's own files in a store.
OWN = ".symderiv"
_COPY = f"{OWN}/{ROOT}"
_FORMAT = 2
_MANIFEST = "symderiv_manifest"
#: Fields of a manifest that are written as one text into the attributes.
_HELD = ("keys", "box", "timed", "inner", "alpha", "versions", "files", "complete")


class DamagedError(InputError):
    """A part of a store is not as it was written, or is gone.

    Args:
        path: the store.
        what: the damaged part, and its damage.

    Attributes:
        damage: the damage in words, without a remedy.
    """

    def __init__(self, path: Path, what: str) -> None:
        self.damage = f"{path}: damage {what}"
        super().__init__(f"{self.damage}; run the sweep again into this store to repair it")


@dataclass(frozen=True)
class Manifest:
    """The description of a store's content.

    Args:
        study: the text of the study.
        keys: the swept keys with their values.
        box, timed, inner: the lengths of a box; the axes on which times depend; the sizes of one
            point, for studies the numbers of times, students and teachers.
        alpha: SHA-256 of the output times.
        versions: the versions of the programs that made the store.
        files: SHA-256 of metadata and coordinates, by their keys in the store.
        arrays: Zarr's metadata of all arrays.
        attributes: the attributes of the group.
        complete: True if every box was written, so that a missing one is damage.
    """

    study: str
    keys: dict[str, list[Any]]
    box: list[int]
    timed: list[int]
    inner: Any
    alpha: str
    versions: dict[str, str]
    files: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    complete: bool = False

    @classmethod
    def of(cls, study: str, layout: SweepLayout) -> Self:
        """Return the manifest of a new store, without files yet."""
        versions = {"symderiv": __version__, "python": platform.python_version()}
        versions |= {name: version(name) for name in ("numpy", "numba", "zarr")}
        attributes = {
            "title": "Order parameters of online learning, swept",
            "Conventions": "symderiv-1",
            "study": study,
            "sweep": ", ".join(f"{axis.key} ({len(axis.values)})" for axis in layout.axes),
            "symderiv_version": __version__,
        }
        if layout.timed:
            attributes["coordinates"] = "alpha"
        return cls(
            study,
            {axis.key: plain(list(axis.values)) for axis in layout.axes},
            list(layout.box),
            list(layout.timed),
            layout.inner.said,
            hashlib.sha256(layout.alpha.tobytes()).hexdigest(),
            versions,
            attributes=attributes,
        )

    @cached_property
    def identity(self) -> str:
        """A digest of the study and of the arrangement of points, which every box repeats."""
        said = [self.study, self.keys, self.box, self.timed, self.inner, self.alpha]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]

    @cached_property
    def layout(self) -> SweepLayout:
        """The layout of the store, without the values of the output times."""
        axes = tuple(
            Axis(key, name, tuple(self.keys[key]))
            for key, name in zip(self.keys, axis_names(list(self.keys)), strict=True)
        )
        inner = PointArrays.read(self.inner)
        return SweepLayout(axes, np.empty(inner.times), tuple(self.timed), inner, tuple(self.box))

    def has_layout(self, layout: SweepLayout) -> bool:
        """Return whether the store has a layout: the same points at the same places."""
        return self.identity == Manifest.of(self.study, layout).identity

    def wrong_files(self, path: Path) -> list[str]:
        """Return the keys of metadata and coordinates in a store that are damaged or missing."""
        return [key for key, digest in self.files.items() if not holds(path / key, digest)]

    @property
    def content(self) -> bytes:
        """The content of ``zarr.json`` in bytes."""
        own = {"format": _FORMAT, **{name: getattr(self, name) for name in _HELD}}
        group = {
            "zarr_format": 3,
            "node_type": "group",
            "consolidated_metadata": {
                "kind": "inline",
                "must_understand": False,
                "metadata": self.arrays,
            },
            "attributes": {**self.attributes, _MANIFEST: json.dumps(own)},
        }
        return sealed(json.dumps(group, indent=1).encode(), "zarr.json")

    def is_saved(self, path: Path) -> bool:
        """Return whether the manifest and its copy are on disk, undamaged."""
        digest = hashlib.sha256(self.content).hexdigest()
        return all(holds(path / name, digest) for name in (ROOT, _COPY))

    def save(self, path: Path) -> None:
        """Write the manifest and its copy."""
        for name in (ROOT, _COPY):
            place_file(path / name, self.content)


def is_store(path: Path) -> bool:
    """Return whether a folder is a sweep's store, damaged or not."""
    return (path / OWN / "boxes").is_dir()


def read_manifest(path: Path, *, copy: bool = False) -> Manifest:
    """Return the description of a store.

    Args:
        path: the store.
        copy: True reads the copy if the manifest is damaged.

    Raises:
        InputError: the folder is not a store.
        DamagedError: the manifest is damaged.
    """
    if not is_store(path):
        raise InputError(f"{path}: is not the store of a sweep")
    if (path / OWN / "sweep.json").exists():
        raise InputError(
            f"{path}: was written by an earlier symderiv, in another format; sweep again with "
            "--force (force=True)"
        )
    manifests = []
    for name in (ROOT, _COPY) if copy else (ROOT,):
        with suppress(OSError, ValueError, KeyError, TypeError):
            manifests.append(_parsed((path / name).read_bytes()))
    if not manifests:
        raise DamagedError(path, f"of the description of the store: {ROOT} was changed or removed")
    if len({one.identity for one in manifests}) > 1:
        # one is undamaged, but belongs to another store
        manifests.sort(key=lambda one: len(one.wrong_files(path)))
    return manifests[0]


def holds(file: Path, digest: str) -> bool:
    """Return whether a file exists and its content has this SHA-256."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest() == digest
    except OSError:
        return False


def _parsed(content: bytes) -> Manifest:
    """Return the manifest in a ``zarr.json``'s bytes; raise ValueError if they hold none."""
    if not is_sealed(content):
        raise ValueError("no seal")
    group = json.loads(content)
    attributes = dict(group["attributes"])
    del attributes["seal"]
    own = json.loads(attributes.pop(_MANIFEST))
    if own.pop("format") != _FORMAT:
        raise ValueError("another format")
    arrays = group["consolidated_metadata"]["metadata"]
    return Manifest(study=attributes["study"], arrays=arrays, attributes=attributes, **own)
