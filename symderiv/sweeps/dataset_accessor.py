"""What every xarray dataset of many runs has under the name ``symderiv``."""

from __future__ import annotations

from typing import Any

import xarray

from symderiv.foundation.errors import InputError
from symderiv.foundation.showing import Summary
from symderiv.sweeps.many_runs import ManyRuns

__all__ = ["EnsembleView"]


@xarray.register_dataset_accessor("symderiv")  # type: ignore[no-untyped-call]
class EnsembleView(ManyRuns):
    """Pictures, features and files of the runs in a dataset, as a sweep has them.

    Raises:
        InputError: the dataset has no runs.
    """

    def __init__(self, data: xarray.Dataset) -> None:
        if not {"status", "alpha"} <= set(data.variables):
            raise InputError(
                "has no status and alpha of runs; give a dataset of an ensemble or a sweep",
                argument="dataset",
            )
        self._data = data

    def to_xarray(self) -> xarray.Dataset:
        """Return the dataset itself."""
        return self._data

    def to_dict(self) -> dict[str, Any]:
        """Return how many runs there are, and how they ended."""
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
