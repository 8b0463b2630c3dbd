"""The description of a sweep's store in its own ``zarr.json``, which carries a seal.

``zarr.json`` is the metadata of the Zarr group, with those of all arrays in it. Its attributes hold
the study and, as one text, the keys, how points lie in chunks, and the SHA-256 of every file that
no box has written (metadata and coordinates). The last attribute is the seal, the SHA-256 of all
the rest. A copy lies in the folder ``.symderiv``: it takes the place of a damaged one.
"""

from __future__ import annotations

import hashlib
import json
import platform
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
from symderiv.sweeps.layout import SweepLayout
from symderiv.sweeps.point_arrays import PointArrays
from symderiv.sweeps.swept_keys import Axis, axis_names

ROOT = "zarr.json"
#: The folder of what is not Zarr's.
OWN = ".symderiv"
_COPY = f"{OWN}/{ROOT}"
_FORMAT = 2
_MANIFEST = "symderiv_manifest"
#: Fields of a manifest that are one text in the attributes.
_HELD = ("keys", "box", "timed", "inner", "alpha", "versions", "files", "complete")


class DamagedError(InputError):
    """A part of a store is not as it was written, or is gone.

    Args:
        path: the store.
        what: is damaged, and how.

    Attributes:
        damage: the same in words, without what to do.
    """

    def __init__(self, path: Path, what: str) -> None:
        self.damage = f"{path}: damage {what}"
        super().__init__(f"{self.damage}; run the sweep again into this store to repair it")


@dataclass(frozen=True)
class Manifest:
    """The content of a store.

    Args:
        study: its text.
        keys: the swept keys with their values.
        box, timed, inner: lengths of a box; axes that times depend on; what one point has, for
            studies the numbers of times, students and teachers.
        alpha: SHA-256 of the output times.
        versions: the versions of the programs that made the store.
        files: SHA-256 of metadata and coordinates, by their keys in the store.
        arrays: Zarr's metadata of all arrays.
        attributes: those of the group.
        complete: every box was written; none may be missing.
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
        """Return that of a store that is to be made, without files yet."""
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
        """A digest of the study and of the places of the points; every box of the store has it."""
        said = [self.study, self.keys, self.box, self.timed, self.inner, self.alpha]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]

    @cached_property
    def layout(self) -> SweepLayout:
        """The layout of the store, except the values of the output times."""
        axes = tuple(
            Axis(key, name, tuple(self.keys[key]))
            for key, name in zip(self.keys, axis_names(list(self.keys)), strict=True)
        )
        inner = PointArrays.read(self.inner)
        return SweepLayout(axes, np.empty(inner.times), tuple(self.timed), inner, tuple(self.box))

    def has_layout(self, layout: SweepLayout) -> bool:
        """Return whether the store has the points of a layout at their places."""
        return self.identity == Manifest.of(self.study, layout).identity

    def with_files(self, files: dict[str, str], arrays: dict[str, Any]) -> Self:
        """Return the same with more files."""
        return replace(self, files=self.files | files, arrays=self.arrays | arrays)

    def wrong_files(self, path: Path) -> list[str]:
        """Return keys of a store's metadata and coordinates that are not as they were written."""
        return [key for key, digest in self.files.items() if not holds(path / key, digest)]

    @property
    def content(self) -> bytes:
        """The bytes of ``zarr.json``."""
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
        """Return whether it is there, and its copy."""
        digest = hashlib.sha256(self.content).hexdigest()
        return all(holds(path / name, digest) for name in (ROOT, _COPY))

    def save(self, path: Path) -> None:
        """Write it, and its copy."""
        for name in (ROOT, _COPY):
            place_file(path / name, self.content)


def is_store(path: Path) -> bool:
    """Return whether a folder is a sweep's store, damaged or not."""
    return (path / OWN / "boxes").is_dir()


def read_manifest(path: Path, *, copy: bool = False) -> Manifest:
    """Return the description of a store.

    Args:
        path: the store.
        copy: where the manifest is damaged, read its copy.

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
        # one is whole, but of another store
        manifests.sort(key=lambda one: len(one.wrong_files(path)))
    return manifests[0]


def holds(file: Path, digest: str) -> bool:
    """Return whether a file is there, with the content of this SHA-256."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest() == digest
    except OSError:
        return False


def _parsed(content: bytes) -> Manifest:
    """Return the manifest in the bytes of a ``zarr.json``; ValueError if they are none."""
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
