"""The base of results with many runs: pictures, features of each run, tables and files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from symderiv.foundation.drawing import drawing
from symderiv.foundation.keeping import Kept
from symderiv.sweeps.run_grid import tables_of

if TYPE_CHECKING:
    import xarray
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
