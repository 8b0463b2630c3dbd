"""Abilities of every result with curves over time: plots by name, tables, files by their ending."""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from symderiv.foundation.drawing import drawing
from symderiv.foundation.errors import InputError
from symderiv.foundation.nearest import did_you_mean
from symderiv.foundation.outputs import Output
from symderiv.foundation.seals import is_sealed
from symderiv.foundation.showing import Shown

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

__all__ = ["ERROR", "CurveResult"]

ERROR = "_standard_error"
"""What the names of standard errors end in."""

_ENDINGS = (".nc", ".csv", ".zarr")


class CurveResult(Shown):
    """Base of results with arrays over time; a subclass says which, and writes netCDF."""

    alpha: np.ndarray
    output: str | None

    @abstractmethod
    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the arrays by name, time first; standard errors under names with ``ERROR``."""

    @abstractmethod
    def usual(self) -> Sequence[str]:
        """Return the names of what is drawn when nothing is asked for."""

    @abstractmethod
    def to_xarray(self) -> xarray.Dataset:
        """Return the arrays with named dimensions and meanings."""

    @abstractmethod
    def _write_netcdf(self, target: Output) -> None: ...

    @abstractmethod
    def _check_same(self, path: Path, content: bytes) -> None:
        """Refuse to replace a netCDF file of symderiv that is of another run."""

    def times(self) -> np.ndarray:
        """Return the times of the arrays, shape (P,)."""
        return self.alpha

    def columns(self, names: Sequence[str] | None = None) -> Iterator[tuple[str, np.ndarray]]:
        """Yield curves with their names, ``R[1,2]`` for an entry of an array, each of shape (P,).

        Args:
            names: of arrays or of single entries; all arrays when left out.

        Raises:
            InputError: nothing has this name.
        """
        arrays = self.arrays()
        for asked in arrays if names is None else names:
            name, _, entry = asked.partition("[")
            if name not in arrays:
                known = [each for each in arrays if not each.endswith(ERROR)]
                raise InputError(
                    f"{asked!r} is not one of {', '.join(known)}{did_you_mean(asked, known)}",
                    argument="names",
                )
            value, found = arrays[name], False
            for place in np.ndindex(value.shape[1:]):
                index = f"[{','.join(str(n + 1) for n in place)}]" if place else ""
                if not entry or index == f"[{entry.replace(' ', '')}":
                    found = True
                    yield f"{name}{index}", value[(slice(None), *place)]
            if not found:
                raise InputError(
                    f"{asked!r} has no place in {name} of shape {value.shape[1:]}; places count "
                    "from 1",
                    argument="names",
                )

    def plot(
        self,
        *what: Any,
        names: Sequence[str] | None = None,
        label: str | Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw curves over α: of equations as lines, of simulations as means with standard errors.

        Args:
            what: names of quantities ("Q", "R[1,2]", "generalization_error", …), and other results
                whose curves of these names are drawn into the same axes. Without names the
                generalisation error is drawn, or of systems what was observed.
            names: the names, where a list of them is at hand.
            label: what the legend calls this result, or a list for it and the others.
            ax: Matplotlib axes to draw into; None makes new ones. Nothing that is there is removed,
                and further curves have other colours.

        Returns:
            The axes.

        Raises:
            InputError: something is neither the name of a curve nor a result.
        """
        axes: Axes = drawing("axes").curve_axes(self, what, names, label, ax)
        return axes

    @property
    def features(self) -> Any:
        """The plateau, the final decay and the local exponent of the curve that is drawn first.

        That is the generalisation error, of simulations its mean, or what a system observed first.
        Attributes: ``exists``, ``begins``, ``ends``, ``length``, ``height`` of the plateau,
        ``slowest``, ``rate``, ``exponent``, ``final_error``, and the arrays ``alpha`` and
        ``local_exponent`` (n,).
        """
        (_, values), *_ = self.columns(self.usual()[:1])
        tolerance = float(getattr(self, "relative_tolerance", 0.0))
        return drawing("run_quantities").Features(self.times(), values, tolerance)

    def to_csv(self, path: str | PathLike[str] | None = None, *, force: bool = False) -> str:
        """Return the arrays as a table with one row per time, and columns such as ``R[1,2]``.

        Args:
            path: also write the file, whole or not at all.
            force: replace an existing file. A table carries no mark of who wrote it.

        Returns:
            The text, numbers with all their digits.
        """
        buffer = io.StringIO()
        columns = list(self.columns())
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(["alpha", *(name for name, _ in columns)])
        for n, alpha in enumerate(self.alpha.tolist()):
            writer.writerow([repr(alpha), *(repr(float(values[n])) for _, values in columns)])
        text = buffer.getvalue()
        if path is not None:
            # a comment with a seal would be a row to other programs
            Output(path, "csv", force=force).write_text(text, seal=False)
        return text

    def save(self, path: str | PathLike[str] | Output, *, force: bool = False) -> Self:
        """Write the result in the format of the ending, whole or not at all.

        Args:
            path: the file: ``.nc`` (netCDF-4) and ``.zarr`` (a Zarr group), which
                :func:`symderiv.open` and xarray read, or ``.csv`` (:meth:`to_csv`). Its folder is
                made if needed.
            force: replace what is there also if it is the file of another run, or none that
                symderiv wrote. Without it a file is replaced only by a run of the same problem.

        Returns:
            The same result, which knows where it was written.

        Raises:
            InputError: another ending, or the file must not be replaced.
        """
        if isinstance(path, Output):
            self._write_netcdf(path)
            return self._saved(path.path)
        ending = Path(path).suffix.lower()
        if ending == ".csv":
            self.to_csv(path, force=force)
        elif ending == ".nc":
            self._write_netcdf(Output(path, "nc", force=force, ours=self._ours(Path(path))))
        elif ending == ".zarr":
            _write_zarr(self.to_xarray(), Path(path), force)
        else:
            said = f"{Path(path).name!r}: must end in {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}"
            raise InputError(said, argument="path")
        return self._saved(Path(path))

    def _ours(self, path: Path) -> Any:
        def replaceable(content: bytes) -> bool:
            if not is_sealed(content):
                return False
            self._check_same(path, content)
            return True

        return replaceable

    def _saved(self, path: Path) -> Self:
        return replace(self, output=str(path))  # type: ignore[type-var]


def _write_zarr(data: xarray.Dataset, path: Path, force: bool) -> None:
    """Write a Zarr group, which takes its place when it is whole.

    Raises:
        InputError: something is there.
    """
    if path.exists() and not force:
        raise InputError(
            f"{path}: exists; choose another name, or replace it with --force (force=True)"
        )
    if path.exists() and not (path / "zarr.json").is_file():
        raise InputError(f"{path}: is not a Zarr group; remove it, or choose another name")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
        made = Path(folder) / path.name
        data.drop_encoding().to_zarr(made, zarr_format=3, consolidated=False)
        if path.exists():
            shutil.move(path, Path(folder) / "before")
        shutil.move(made, path)
