"""Arrays given directly, in place of a file that a study names."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.outputs import Output, as_output


class Given:
    """Read-only arrays in place of a file: one without a name (.npy) or several with (.npz).

    Two are equal if all their numbers are.

    Raises:
        InputError: not numbers, or not a matrix.
    """

    def __init__(self, arrays: Any) -> None:
        named = arrays if isinstance(arrays, Mapping) else {"": arrays}
        self.arrays: dict[str, np.ndarray] = {
            str(name): _matrix(array) for name, array in named.items()
        }
        digest = hashlib.sha256()
        for name, array in self.arrays.items():
            digest.update(f"{name} {array.shape} {array.dtype.str}\0".encode())
            digest.update(array.tobytes())
        self.sha256 = digest.hexdigest()

    @property
    def numbers(self) -> int:
        """The number of entries."""
        return sum(array.size for array in self.arrays.values())

    @property
    def name(self) -> str:
        """The text in messages in place of a file's name."""
        return "the array given" if "" in self.arrays else "the arrays given"

    def value(self) -> Any:
        """Return nested lists, or a dictionary of them, as a study's text holds."""
        lists = {name: array.tolist() for name, array in self.arrays.items()}
        return lists.get("", lists)

    def save(self, path: Path | Output) -> None:
        """Write the arrays as an .npz file or, without names, an .npy file, whole or not at all."""
        target = as_output(path, self.ending[1:])
        content = BytesIO()
        if "" in self.arrays:
            np.save(content, self.arrays[""])
        else:
            np.savez(content, **cast(Any, self.arrays))
        target.write(content.getvalue())

    @property
    def ending(self) -> str:
        """The ending of the name of its file."""
        return ".npy" if "" in self.arrays else ".npz"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Given) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        shapes = ", ".join(
            " x ".join(map(str, array.shape)) + (f" {name}" if name else "")
            for name, array in self.arrays.items()
        )
        return f"<array {shapes}, SHA-256 {self.sha256[:12]}>"


#: A file of arrays, or arrays.
Source = Path | Given


def source(base: Path, value: str | Given) -> Source:
    """Return the arrays of a study's key, or its file relative to the study's folder."""
    return value if isinstance(value, Given) else base / value


def _matrix(values: Any) -> np.ndarray:
    try:
        array = np.array(values)
    except (ValueError, TypeError):
        raise InputError("rows of different lengths are not a matrix") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"holds {array.dtype}, not real numbers")
    if array.ndim != 2 or array.size == 0:
        raise InputError(
            f"has shape {array.shape}, expected a matrix (a covariance of shape (N, N) or "
            "samples of shape (P, N))"
        )
    array = np.ascontiguousarray(array, dtype=np.float64)
    array.setflags(write=False)
    return array
