"""Results whose attributes have the names of their JSON keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from symderiv.foundation.documents.document import Node, Part, Verbatim
from symderiv.foundation.drawing import drawn
from symderiv.foundation.errors import InputError
from symderiv.foundation.showing import Shown, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Names and values.
Rows = list[tuple[str, object]]


class Answer(Shown):
    """A record of named values: ``answer.rates`` is ``answer.to_dict()["rates"]``.

    Lists of numbers are given as NumPy arrays; numbers with more digits than a double are texts.
    """

    _title = "Answer"
    #: Keys of the record that are shown first.
    _first: Sequence[str] = ()
    #: How a warning of the record is shown.
    _warned = "warning: {}"

    def __init__(self, record: Mapping[str, Any], shown: Node | str | None = None) -> None:
        """Keep a record.

        Args:
            record: the JSON object of the command.
            shown: the command's readable output, a text if that is a file; the summary when left
                out.
        """
        self._record = dict(record)
        self._shown = Verbatim(shown) if isinstance(shown, str) else shown

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._record:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        value = self._record[name]
        if isinstance(value, list) and value and all(isinstance(v, float | int) for v in value):
            import numpy as np

            return np.array(value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._record})

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the command."""
        return dict(self._record)

    def _document(self) -> Node:
        summary, tables = self._summary(), self._tables()
        return self._shown or (Part("", [summary, *tables]) if tables else summary)

    def _tables(self) -> Sequence[Node]:
        """Return what is shown below the summary."""
        return ()

    def _summary(self) -> Summary:
        notes = [self._warned.format(each) for each in self._record.get("warnings") or ()]
        return Summary(self._title, self._rows(), notes)

    def _rows(self) -> Rows:
        """Return the rows of the summary."""
        return [(name, _short(self._record[name])) for name in self._first if name in self._record]


#: Times (n,), curves (n,) by label, and the window of a power law or None.
Curves = tuple[Any, dict[str, Any], "tuple[float, float] | None"]


class DrawnAnswer(Answer):
    """A result with an error curve, which is computed when it is drawn or pickled."""

    def __init__(
        self, record: Mapping[str, Any], shown: Node, curves: Callable[[], Curves]
    ) -> None:
        super().__init__(record, shown)
        self._curves = curves

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the exact error curve and its approximations on logarithmic axes.

        Args:
            ax: Matplotlib axes to draw into; None makes new ones.

        Returns:
            The axes.

        Raises:
            InputError: there is no curve to draw.
        """
        return drawn("analysis_plots.run_plots.linear_axes", *self._curves(), ax)

    def __getstate__(self) -> dict[str, Any]:
        known: Curves | InputError
        try:
            known = self._curves()
        except InputError as error:
            known = error
        return {**vars(self), "_curves": partial(_known, known)}


def _known(curves: Curves | InputError) -> Curves:
    """Return curves that were computed already, or raise the error that prevents it."""
    if isinstance(curves, InputError):
        raise curves
    return curves


def _short(value: Any) -> Any:
    """Return a long list shortened to its ends."""
    if isinstance(value, list) and len(value) > 5:
        first, last = value[0], value[-1]
        ends = [f"{v:.6g}" if isinstance(v, float) else str(v) for v in (first, last)]
        return f"{ends[0]} … {ends[1]} ({len(value)} values)"
    return value
