"""The arrays of a sweep's store: names, axes, types and codecs.

Texts and numbers are of types that Zarr 3 specifies. Every chunk ends with its CRC-32C, which any
reader of Zarr verifies. Values that were not computed are NaN, -1 or an empty text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import zarr
from zarr import Array
from zarr.codecs import BloscCodec, Crc32cCodec

from symderiv.storage.run_files import NUMBERS, TIME, axes_of
from symderiv.sweeps.box_results import SCALARS
from symderiv.sweeps.files.sealed_files import SealedFiles
from symderiv.sweeps.layout import SweepLayout

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
