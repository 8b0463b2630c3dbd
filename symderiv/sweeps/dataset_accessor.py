"""Pictures, features and files of xarray datasets of many runs."""

from __future__ import annotations

from typing import Any

import xarray
from xarray.plot.accessor import DatasetPlotAccessor

from symderiv.foundation.errors import InputError
from symderiv.foundation.showing import Summary
from symderiv.sweeps.many_runs import ManyRuns

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
