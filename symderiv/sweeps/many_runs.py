"""Results with many runs: pictures, features, tables and files, also of a plain dataset."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import xarray
from xarray.plot.accessor import DatasetPlotAccessor

from symderiv.foundation.drawing import drawing
from symderiv.foundation.errors import InputError
from symderiv.foundation.keeping import Kept
from symderiv.foundation.showing import Summary
from symderiv.sweeps.run_grid import tables_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class ManyRuns(Kept):
    """Base of results with one run for each combination of swept values."""

    def features(self) -> xarray.Dataset:
        """Return the numbers read off each error curve, over the swept keys.

        Variables are ``plateau_length``, ``plateau_height``, ``plateau_begin``, ``plateau_end``,
        ``plateau`` (1 or 0), ``slowest``, ``rate``, ``exponent`` and ``final_error``, as
        :attr:`Trajectory.features` has them of one run; not a number where there is none.
        """
        features: xarray.Dataset = drawing("sweep_plots").features_of(self.to_xarray())
        return features

    def failure(self) -> str | None:
        """Return one line on runs that did not reach their end, or whose measured errors are above
        the tolerance asked for; None if there are none.
        """
        statuses = self.to_xarray()["status"].values.ravel().tolist()
        causes = Counter(name.partition(":")[0] for name in statuses if name not in ("done", ""))
        if not causes:
            return self._missed()
        said = ", ".join(f"{count} {name}" for name, count in sorted(causes.items()))
        return f"{causes.total()} of {len(statuses)} runs did not reach their end ({said})"

    def _missed(self) -> str | None:
        """Return one line on runs with errors above the tolerance asked for; None if there are
        none, or if errors were not measured.
        """
        data, key = self.to_xarray(), "relative_tolerance"
        if "tolerance_reached" not in data:
            return None
        asked = data.attrs.get(key)
        if asked is None:
            asked = tables_of(data.attrs["study"])["time"][key]
        missed = data["tolerance_reached"] > (data[key] if key in data.coords else asked)
        if not missed.any():
            return None
        most = float(data["tolerance_reached"].max())
        return (
            f"the errors of {int(missed.sum())} of {missed.size} runs are estimated to be above "
            f"{key}; the largest is {f'{most:.1e}' if math.isfinite(most) else 'unknown'}"
        )

    def __getitem__(self, name: str) -> xarray.DataArray:
        data = self.to_xarray()
        return data[name] if name in data.variables else self.features()[name]

    def plot(
        self,
        quantity: str = "generalization_error",
        *,
        label: str | Sequence[str] | None = None,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> Any:
        """Draw all runs: curves coloured by a key, small multiples, or a map, as keys are many.

        Args:
            quantity: what has a value at each time ("generalization_error", "Q", "R[1,2]"); or a
                number of each run: "final_error", "plateau", "plateau_length", "plateau_height",
                "plateau_begin", "plateau_end", "slowest", "exponent", "rate"; or "status".
            label: what the legend or the colour bar calls the coloured key or the number; a list
                names the values in the legend.
            ax: Matplotlib axes to draw into, several for small multiples; None makes a figure.

        Returns:
            The figure, or the axes that were given.

        Raises:
            InputError: there is no such quantity, or there are fewer axes than pictures.
        """
        figure = drawing("sweep_plots").sweep_figure(self.to_xarray(), quantity, label, ax)
        return figure if ax is None else ax

    def figure(self, quantity: str = "generalization_error") -> Figure:
        """Return the figure of :meth:`plot`."""
        figure: Figure = self.plot(quantity)
        return figure

    def _rows(self, data: xarray.Dataset) -> Sequence[str]:
        return [*map(str, data["status"].dims), str(data["alpha"].dims[-1])]


_RUN_VARIABLES = {"status", "alpha"}


@xarray.register_dataset_accessor("symderiv")  # type: ignore[no-untyped-call]
class EnsembleView(ManyRuns):
    """Pictures, features and files of the runs in a dataset, as sweeps have them.

    Raises:
        InputError: the dataset has no runs.
    """

    def __init__(self, data: xarray.Dataset) -> None:
        if not set(data.variables) >= _RUN_VARIABLES:
            raise InputError(
                "has no status and alpha of runs; give a dataset of an ensemble or a sweep",
                argument="dataset",
            )
        self._data = data

    def to_xarray(self) -> xarray.Dataset:
        """Return the dataset itself."""
        return self._data

    def to_dict(self) -> dict[str, Any]:
        """Return the number of runs, and how many ended in which way."""
        endings = self._data["status"].values.ravel().tolist()
        return {
            "runs": len(endings),
            "statuses": {name: endings.count(name) for name in sorted(set(endings))},
        }

    def _summary(self) -> Summary:
        sizes = ", ".join(f"{name} ({size})" for name, size in self._data["status"].sizes.items())
        record = self.to_dict()
        ended = ", ".join(f"{count} {name}" for name, count in record["statuses"].items())
        return Summary("Runs", [("keys", sizes), ("runs", f"{record['runs']}: {ended}")])


class RunsDataset(xarray.Dataset):  # type: ignore[no-untyped-call]
    """An xarray dataset of runs whose ``plot`` can be called to draw the runs."""

    __slots__ = ()

    @property
    def plot(self) -> RunsPlot:  # type: ignore[override]
        """The plots: ``runs.plot("R")`` draws the runs, ``runs.plot.scatter(…)`` is xarray's."""
        return RunsPlot(self)


class RunsPlot(DatasetPlotAccessor):
    """xarray's plots of a dataset, and a call that draws the runs."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Draw the runs; see :meth:`symderiv.Sweep.plot`."""
        return EnsembleView(self._ds).plot(*args, **kwargs)


def as_runs(data: xarray.Dataset) -> xarray.Dataset:
    """Return a dataset that draws itself, if it contains runs; any other one as it is."""
    if not set(data.variables) >= _RUN_VARIABLES:
        return data
    runs = RunsDataset(data.data_vars, data.coords, data.attrs)
    runs.encoding = data.encoding
    return runs
