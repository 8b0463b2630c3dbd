"""The result of a sweep, and its store as a dataset."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symderiv.foundation.drawing import drawing
from symderiv.foundation.outputs import Output
from symderiv.foundation.showing import Summary
from symderiv.sweeps.box_results import NOT_YET
from symderiv.sweeps.files.store import Store
from symderiv.sweeps.many_runs import ManyRuns

if TYPE_CHECKING:
    import xarray


@dataclass(repr=False)
class Sweep(ManyRuns):
    """A sweep in its store. ``sweep[name]`` is an xarray array over the swept keys.

    Args:
        output: the folder of the store.
        keys: the swept keys with their values.
        points: the number of points.
        statuses: the number of points for each status, "done" or why the integration ended early;
            points without a result are not counted.
        skipped: the number of points that the store contained before the call.
        errors: the reasons why points failed, by their swept values; only the first few.
        measured: True if the errors of points were measured (``check="auto"``).
    """

    output: str
    keys: dict[str, list[Any]]
    points: int
    statuses: dict[str, int]
    skipped: int = 0
    errors: dict[str, str] = field(default_factory=dict)
    measured: bool = False

    @classmethod
    def _of(cls, store: Store, *, skipped: int | None = None) -> Sweep:
        """Return the current content of a store; without ``skipped``, all points count as old ones.

        Raises:
            InputError: the store is damaged.
        """
        counts, errors = store.outcomes()
        counts.pop(NOT_YET, None)
        points = math.prod(store.layout.shape)
        return cls(
            str(store.path),
            store.manifest.keys,
            points,
            dict(sorted(counts.items())),
            points if skipped is None else skipped,
            errors,
            "tolerance_reached" in store.manifest.arrays,
        )

    @classmethod
    def at(cls, path: str | PathLike[str]) -> Sweep:
        """Return the sweep of an existing store.

        Raises:
            InputError: the store does not exist, or is damaged.
        """
        return cls._of(Store.at(Path(path)))

    @property
    def completed(self) -> int:
        """The number of points that were integrated to their end."""
        return self.statuses.get("done", 0)

    @property
    def failed(self) -> int:
        """The number of points that ended early, or could not start."""
        return sum(self.statuses.values()) - self.completed

    def failure(self) -> str | None:
        """Return one line on runs that did not reach their end, or whose measured errors are above
        the tolerance asked for; None if there are none.
        """
        if not self.failed:
            return self._missed() if self.measured else None
        causes = ", ".join(f"{n} {name}" for name, n in self.statuses.items() if name != "done")
        line = f"{self.failed} of {self.points} points did not reach their end ({causes})"
        for label, message in self.errors.items():
            return f"{line}; {label}: {message}"
        return line

    def to_xarray(self) -> xarray.Dataset:
        """Return the dataset: swept keys are dimensions; arrays are read when they are used.

        Raises:
            InputError: the store is damaged; also when an array is read, of which a part is not as
                the sweep wrote it.
        """
        from symderiv.sweeps.many_runs import as_runs

        return as_runs(Store.at(Path(self.output)).dataset())

    def to_netcdf(self, path: str | PathLike[str], *, force: bool = False) -> Path:
        """Write the dataset as one netCDF-4 file, whatever its name; see :meth:`save`."""
        return Path(self.save(Output(path, "nc", force=force)))

    def page(self, path: str | PathLike[str], *, force: bool = False) -> Path:
        """Write one HTML page with all pictures of the sweep.

        Args:
            path: the file.
            force: replace a file even if symderiv did not write it.
        """
        page = drawing("symderiv.show.pages.sweep_page")
        written: Path = page.write_page(self, Output(path, "html", force=force))
        return written

    def to_dict(self) -> dict[str, Any]:
        """Return what ``symderiv sweep --json`` prints."""
        return {
            "completed": self.completed,
            "failed": self.failed,
            "output": self.output,
            "points": self.points,
            "skipped": self.skipped,
            "statuses": self.statuses,
            "errors": self.errors,
        }

    def _document(self) -> Summary:
        said = f"{self.completed} completed ({self.skipped} before), {self.failed} failed"
        return Summary(notes=[f"{said}; store {self.output}"])

    def _summary(self) -> Summary:
        rows: list[tuple[str, object]] = [
            ("keys", ", ".join(f"{key} ({len(values)})" for key, values in self.keys.items())),
            ("points", f"{self.points}: {self.completed} completed, {self.failed} failed"),
            ("store", self.output),
        ]
        return Summary("Sweep", rows, [f"{k}: {v}" for k, v in self.errors.items()])
