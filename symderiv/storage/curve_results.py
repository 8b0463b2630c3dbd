"""The base of results with curves over time: plots by name, tables, files by ending."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from symderiv.foundation.drawing import drawing, drawn
from symderiv.foundation.errors import InputError, check_one_of
from symderiv.foundation.keeping import Kept

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

ERROR = "_standard_error"
"""The suffix of the names of standard errors."""


class CurveResult(Kept):
    """Base of results with arrays over time, which subclasses name."""

    alpha: np.ndarray
    output: str | None

    @abstractmethod
    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the arrays by name, time first; standard errors under names with ``ERROR``."""

    @abstractmethod
    def usual(self) -> Sequence[str]:
        """Return the names of the curves that are drawn by default."""

    def times(self) -> np.ndarray:
        """Return the times of the arrays, shape (P,)."""
        return self.alpha

    def columns(self, names: Sequence[str] | None = None) -> Iterator[tuple[str, np.ndarray]]:
        """Yield curves with their names, ``R[1,2]`` for an entry of an array, each of shape (P,).

        Args:
            names: the names of arrays or of single entries; all arrays when left out.

        Raises:
            InputError: nothing has this name.
        """
        arrays = self.arrays()
        for asked in arrays if names is None else names:
            name, _, entry = asked.partition("[")
            if name not in arrays:
                check_one_of("names", asked, (n for n in arrays if not n.endswith(ERROR)))
            value, any_column = arrays[name], False
            for place in np.ndindex(value.shape[1:]):
                index = f"[{','.join(str(n + 1) for n in place)}]" if place else ""
                if not entry or index == f"[{entry.replace(' ', '')}":
                    any_column = True
                    yield f"{name}{index}", value[(slice(None), *place)]
            if not any_column:
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
        return drawn("axes.curve_axes", self, what, names, label, ax)

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

    def _table(self) -> Iterator[tuple[str, np.ndarray]]:
        yield "alpha", self.alpha
        yield from self.columns()

    def _marked(self) -> xarray.Dataset:
        # files of runs are recognised by their attributes
        return self.to_xarray()

    def _saved(self, path: Path) -> Self:
        return replace(self, output=str(path))  # type: ignore[type-var]
