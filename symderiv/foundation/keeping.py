"""Results that write themselves as one table, or as a file in the format of its ending."""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.limits import check_memory
from symderiv.foundation.outputs import Output, check_path
from symderiv.foundation.seals import is_sealed
from symderiv.foundation.showing import Shown

if TYPE_CHECKING:
    import xarray

ANOTHER_RUN = "{}: holds another run; choose another name, or replace it with --force (force=True)"

KEPT = "kept"
"""The attribute of files that names their kind of result."""

_ENDINGS = (".nc", ".csv", ".zarr")


class Kept(Shown):
    """Base of results that are kept as files; subclasses give the dataset and the rows of the
    table.
    """

    @abstractmethod
    def to_xarray(self) -> xarray.Dataset:
        """Return the arrays with named dimensions and meanings."""

    def _rows(self, data: xarray.Dataset) -> Sequence[str]:
        """Return the dimensions whose combinations are the rows of the table."""
        return [str(name) for name in data.dims]

    def _table(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the columns of the table with their names, ``R[1,2]`` for an entry of an array."""
        import xarray

        data = self.to_xarray()
        check_memory(3.0 * data.nbytes, "a table of all results")
        rows = list(self._rows(data))
        shape = tuple(data.sizes[name] for name in rows)
        frame = xarray.DataArray(np.zeros(shape), dims=rows)
        for name in (*(row for row in rows if row in data.coords), *data.data_vars):
            if name not in rows and not set(rows) & set(data[name].dims):
                continue
            whole = data[name].drop_vars(list(data[name].coords)).broadcast_like(frame)
            values = whole.transpose(*rows, ...).values
            values = values.reshape(-1, *values.shape[len(rows) :])
            for place in np.ndindex(values.shape[1:]):
                index = f"[{','.join(str(n + 1) for n in place)}]" if place else ""
                yield f"{name}{index}", values[(slice(None), *place)]

    def to_csv(self, path: str | PathLike[str] | None = None, *, force: bool = False) -> str:
        """Return the result as a table, with one row per time (and swept value, or task).

        Entries of arrays are columns such as ``R[1,2]``.

        Args:
            path: also write the file, whole or not at all.
            force: replace an existing file. A table carries no mark of who wrote it.

        Returns:
            The text, in which numbers have all their digits.
        """
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        names, columns = zip(*self._table(), strict=True)
        writer.writerow(names)
        writer.writerows(zip(*(np.asarray(each).tolist() for each in columns), strict=True))
        text = buffer.getvalue()
        if path is not None:
            # a comment with a seal would be a row to other programs
            Output(path, "csv", force=force).write_text(text, seal=False)
        return text

    def save(self, path: str | PathLike[str] | Output, *, force: bool = False) -> Any:
        """Write the result in the format of the ending, whole or not at all.

        Args:
            path: the file: ``.nc`` (netCDF-4) and ``.zarr`` (a Zarr group), which
                :func:`symderiv.open` and xarray read, or ``.csv`` (:meth:`to_csv`). Its folder is
                made if needed.
            force: replace what is there also if it is the file of another run, or none that
                symderiv wrote. Without it a netCDF file is replaced only by a run of the same
                problem, and tables and Zarr groups never.

        Returns:
            The same result, which knows where it was written; of sweeps and maps the path.

        Raises:
            InputError: another ending, or the file must not be replaced.
        """
        check_path(path)
        if isinstance(path, Output):
            self._write_netcdf(path)
            return self._saved(path.path)
        ending = Path(path).suffix.lower()
        if ending == ".csv":
            self.to_csv(path, force=force)
        elif ending == ".nc":
            self._write_netcdf(Output(path, "nc", force=force, ours=self._ours(Path(path))))
        elif ending == ".zarr":
            _write_zarr(self._marked(), Path(path), force)
        else:
            said = f"{Path(path).name!r}: must end in {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}"
            raise InputError(said, argument="path")
        return self._saved(Path(path))

    def _saved(self, path: Path) -> Any:
        return path

    def _marked(self) -> xarray.Dataset:
        """Return the dataset with the attribute that names its kind of result, for opening the
        file.
        """
        return self.to_xarray().assign_attrs({KEPT: type(self).__name__})

    def _write_netcdf(self, target: Output) -> None:
        data = self._marked()
        check_memory(3.0 * data.nbytes, "a file of all results")
        content = io.BytesIO()
        data.load().drop_encoding().to_netcdf(content, engine="h5netcdf")
        target.write(content.getbuffer())

    def _check_same(self, path: Path, content: bytes) -> None:
        """Raise an error if a netCDF file of symderiv holds another run than this."""
        import xarray

        own = self._marked()
        try:
            with xarray.open_dataset(io.BytesIO(content), engine="h5netcdf") as held:
                names = (KEPT, "study")
                same = all(held.attrs.get(name) == own.attrs.get(name) for name in names)
                if same and set(held.variables) == set(own.variables):
                    same = all(held[each].equals(own[each]) for each in own.coords)
                else:
                    same = False
        except (OSError, ValueError):
            same = False
        if not same:
            raise InputError(ANOTHER_RUN.format(path))

    def _ours(self, path: Path) -> Callable[[bytes], bool]:
        def replaceable(content: bytes) -> bool:
            if not is_sealed(content):
                return False
            self._check_same(path, content)
            return True

        return replaceable


def _write_zarr(data: xarray.Dataset, path: Path, force: bool) -> None:
    """Write a Zarr group, which is moved to its place when it is complete.

    Raises:
        InputError: something is there.
    """
    if path.exists() and not force:
        raise InputError(
            f"{path}: exists; choose another name, or replace it with --force (force=True)"
        )
    if path.exists() and not (path / "zarr.json").is_file():
        raise InputError(f"{path}: is not a Zarr group; remove it, or choose another name")
    # texts of a fixed length have no specification in Zarr 3
    texts = [name for name in data.variables if data[name].dtype.kind == "U"]
    data = data.assign({name: data[name].astype(object) for name in texts})
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
        made = Path(folder) / path.name
        data.drop_encoding().to_zarr(made, zarr_format=3, consolidated=False)
        if path.exists():
            shutil.move(path, Path(folder) / "before")
        shutil.move(made, path)
