"""The files of a Zarr group, format 2: what is needed to write and to read whole chunks.

A chunk is one file, the compressed bytes of its part of the array in C order; everything else is
JSON. Written here and not through the library, because a box of a sweep is exactly one chunk of
each array, whose bytes are to be hashed, and because that takes a tenth of the time. The library,
and xarray with it, reads what is written.

Source: https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["ZarrArray", "place_file", "write_group"]

# fast enough not to be felt beside the integration
_BLOSC = {"id": "blosc", "cname": "lz4", "clevel": 1, "shuffle": 1, "blocksize": 0}


@dataclass(frozen=True)
class ZarrArray:
    """An array of a group.

    Args:
        name: its folder.
        shape, chunks: of the array, and of one chunk.
        dtype: of numbers or texts of fixed length.
        dimensions: their names.
        attributes: further ones.
    """

    name: str
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype[Any]
    dimensions: tuple[str, ...]
    attributes: Mapping[str, str]

    def metadata(self) -> dict[str, Any]:
        """What ``.zarray`` and ``.zattrs`` hold."""
        array = {
            "zarr_format": 2,
            "shape": self.shape,
            "chunks": self.chunks,
            "dtype": self.dtype.str,
            "compressor": _BLOSC,
            # integers and texts have no value that means "missing"
            "fill_value": "NaN" if self.dtype.kind == "f" else None,
            "order": "C",
            "filters": None,
        }
        return {
            f"{self.name}/.zarray": array,
            f"{self.name}/.zattrs": {
                "_ARRAY_DIMENSIONS": self.dimensions,
                **self.attributes,
            },
        }

    def file(self, place: Sequence[int]) -> str:
        """Of a chunk, within the group."""
        return f"{self.name}/{'.'.join(map(str, place)) or '0'}"

    def encoded(self, values: np.ndarray) -> bytes:
        """The bytes of a chunk; at the end of an axis values may be fewer than a chunk has."""
        if values.shape != self.chunks:
            missing = np.nan if self.dtype.kind == "f" else np.zeros((), self.dtype)
            whole = np.full(self.chunks, missing, dtype=self.dtype)
            whole[tuple(slice(n) for n in values.shape)] = values
            values = whole
        values = np.ascontiguousarray(values, dtype=self.dtype)
        found: bytes = _codec().encode(values)
        return found

    def decoded(self, content: bytes, lengths: Sequence[int]) -> np.ndarray:
        """The first corner of a chunk, an array that may be written to."""
        flat = np.frombuffer(_codec().decode(content), dtype=self.dtype)
        return flat.reshape(self.chunks)[tuple(slice(n) for n in lengths)].copy()


def write_group(
    path: Path, arrays: Sequence[ZarrArray], attributes: Mapping[str, Any] | None = None
) -> None:
    """Write what describes the group and all its arrays, the latter again if they are there.

    Args:
        path: the folder.
        arrays: all of them.
        attributes: of the group; those that it has when left out.
    """
    metadata: dict[str, Any] = {".zgroup": {"zarr_format": 2}}
    if attributes is None:
        attributes = json.loads((path / ".zattrs").read_text(encoding="utf-8"))
    metadata[".zattrs"] = dict(attributes)
    for array in arrays:
        metadata |= array.metadata()
    for name, content in metadata.items():
        place_file(path / name, json.dumps(content, indent=1).encode())
    whole = {"metadata": metadata, "zarr_consolidated_format": 1}
    place_file(path / ".zmetadata", json.dumps(whole).encode())


def place_file(path: Path, content: bytes) -> None:
    """Give the file its content, at once: a reader or a kill never meets half of it.

    Nothing waits for the disk: what a loss of power leaves is found out by its checksum. For one
    writer at a time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.tmp")
    beside.write_bytes(content)
    beside.replace(path)


def _codec() -> Any:
    module: Any = import_module("numcodecs")
    options = {key: value for key, value in _BLOSC.items() if key != "id"}
    return module.Blosc(**options)
