"""Reading one matrix from an untrusted .npy or .npz file.

The header is checked before anything is read, so that a wrong or hostile file does no harm: pickled
objects are never loaded, and a shape that does not fit into memory is refused unread.
"""

from __future__ import annotations

import stat
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from typing import IO

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.files import why_unread
from symderiv.foundation.seals import is_broken
from symderiv.inputs.given import Given, Source

#: Largest size of an array that is read, in bytes.
MAX_BYTES = 2 * 1024**3

_NPY_MAGIC = b"\x93NUMPY"
# errors of NumPy and zipfile for damaged files; KeyError: a listed member is missing
_DAMAGED = (
    ValueError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    RuntimeError,
    KeyError,
    SyntaxError,
    tokenize.TokenError,
)


def read_matrix(
    path: Source, names: Sequence[str], array: str | None = None, *, name: str | None = None
) -> tuple[str | None, np.ndarray]:
    """Return one matrix of a file, with the name it has there.

    Args:
        path: an .npy file (told by its content), an .npz archive, or arrays in place of them.
        names: the names an array of an archive may have; exactly one of them must be there.
        array: take the array of this name instead.
        name: the name of the file in messages; None for its own name.

    Returns:
        The name, None for an .npy file, and the array as stored: two axes, at most
        :data:`MAX_BYTES`, of bool, integer or float numbers that are not checked further.

    Raises:
        InputError: anything else; the message starts with ``file`` or ``array``.
    """
    name = name or path.name
    if isinstance(path, Given):
        if "" in path.arrays:
            return None, path.arrays[""]
        chosen = _choose([*path.arrays], names, array, name)
        return chosen, path.arrays[chosen]
    try:
        # reading a device or a pipe might never end
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{name}: is not a file", argument="file")
        if is_broken(path):
            raise InputError(
                f"{name}: was changed since symderiv wrote it, or is damaged", argument="file"
            )
        with path.open("rb") as file:
            start = file.read(len(_NPY_MAGIC))
            file.seek(0)
            if start != _NPY_MAGIC:
                return _of_archive(file, names, array, name)
            if array is not None:
                raise InputError(
                    f"{printable(array)} is given, but {name} is an .npy file, "
                    "which holds one array without a name; leave the key out",
                    argument="array",
                )
            return None, _read_array(file, path.stat().st_size, name)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{name}: {why_unread(path, error)}", argument="file") from None
    except _DAMAGED as error:
        reason = printable((str(error).splitlines() or [type(error).__name__])[0], 120)
        raise InputError(f"{name}: is damaged ({reason})", argument="file") from None
    except MemoryError:
        raise InputError(
            f"{name}: does not fit into the memory of this machine", argument="file"
        ) from None


def _of_archive(
    file: IO[bytes], names: Sequence[str], array: str | None, name: str
) -> tuple[str, np.ndarray]:
    """Return the matrix of an .npz archive."""
    if not zipfile.is_zipfile(file):
        raise InputError(
            f"{name}: is neither an .npy nor an .npz file; numpy.save writes one", argument="file"
        )
    file.seek(0)
    with zipfile.ZipFile(file) as archive:
        members = archive.namelist()
        there = [m.removesuffix(".npy") for m in members if m.endswith(".npy")]
        chosen = _choose(there, names, array, name)
        member = archive.getinfo(f"{chosen}.npy")
        with archive.open(member) as stream:
            return chosen, _read_array(stream, member.file_size, f"{name}: {chosen}")


def printable(text: str, most: int = 60) -> str:
    """Return a text from outside in a form that fits into a message of one line."""
    shown = text if text.isprintable() else repr(text)[1:-1]
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


def _choose(there: Sequence[str], names: Sequence[str], array: str | None, name: str) -> str:
    shown = ", ".join(printable(entry) for entry in there[:6]) or "nothing"
    if array is not None:
        if array not in there:
            raise InputError(
                f"{name} has no array {printable(array)}; it holds {shown}", argument="array"
            )
        return array
    present = [candidate for candidate in names if candidate in there]
    wanted = " or ".join(f'"{candidate}"' for candidate in names)
    if not present:
        raise InputError(
            f"{name}: has no array {wanted}; it holds {shown}: name one of them with the key array",
            argument="file",
        )
    if len(present) > 1:
        raise InputError(f"{name}: holds both {wanted}; choose with the key array", argument="file")
    return present[0]


def _read_array(file: IO[bytes], size: int, name: str) -> np.ndarray:
    with warnings.catch_warnings():
        # headers of other versions of Python can be read, too
        warnings.simplefilter("ignore")
        return _read_checked(file, size, name)


def _read_checked(file: IO[bytes], size: int, name: str) -> np.ndarray:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise InputError(f"{name}: does not hold plain numbers", argument="file")
    if dtype.hasobject or dtype.kind not in "biuf":
        raise InputError(f"{name}: holds {dtype}, not real numbers", argument="file")
    if len(shape) != 2:
        raise InputError(
            f"{name}: has shape {shape}, expected a matrix (a covariance of shape (N, N) or "
            "samples of shape (P, N))",
            argument="file",
        )
    if min(shape) < 1:
        raise InputError(f"{name}: has shape {shape}, which holds no numbers", argument="file")
    needed = shape[0] * shape[1] * dtype.itemsize
    if needed > MAX_BYTES:
        raise InputError(
            f"{name}: an array of shape {shape} is larger than {MAX_BYTES >> 30} GiB",
            argument="file",
        )
    if needed > size:
        raise InputError(
            f"{name}: is damaged (shorter than its shape {shape} says)", argument="file"
        )
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)
