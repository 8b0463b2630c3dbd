"""A quantity of a run over two keys of a study, computed where it changes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.foundation.derivation_cache import sources_digest
from symderiv.foundation.drawing import drawn
from symderiv.foundation.errors import InputError
from symderiv.foundation.keeping import Kept
from symderiv.foundation.progress import DetailedTask, Tell
from symderiv.foundation.showing import Summary
from symderiv.problem.key_names import by_key
from symderiv.problem.study import Study
from symderiv.storage.checkpoint import Checkpoint
from symderiv.sweeps.box_results import INTERRUPTED
from symderiv.sweeps.refinement import MOST_CELLS, MapLattice, Refined, refined
from symderiv.sweeps.run_grid import Swept
from symderiv.sweeps.study_grid import SweptStudy
from symderiv.sweeps.swept_keys import axis_names

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

# Limits of runs in one call, which bound the memory and the loss after a kill.
_FEWEST_AT_ONCE, _MOST_AT_ONCE = 64, 1024
_SECONDS_AT_ONCE = 1.0
_KEPT = "values"
_NOTHING = np.empty(0)


@dataclass(frozen=True)
class Measure:
    """The quantity of a run that a map shows.

    Args:
        name: its name.
        words: the label of axes.
        of: a function from a run's times and errors, both shape (n,), and its status to the value,
            a number or a text.
        kinds: True if values are kinds, which are only compared for equality.
        logarithmic: True if changes of the logarithm count.
        curve: the variable that is taken as the errors.
    """

    name: str
    words: str
    of: Callable[[np.ndarray, np.ndarray, str], float | str]
    kinds: bool = False
    logarithmic: bool = False
    curve: str = "generalization_error"


class MapRuns:
    """Values of runs at places of the lattice, each computed once and kept in a checkpoint."""

    def __init__(
        self,
        swept: Swept,
        quantity: Measure,
        over: Mapping[str, list[Any]],
        checkpoint: Checkpoint | None,
    ) -> None:
        self._grid = swept.grid(over, lambda task, fraction: None, lazily=True)
        # rounded to whole numbers, values along a side may repeat
        self._first = [
            np.unique(values, return_index=True)[1][np.unique(values, return_inverse=True)[1]]
            for values in over.values()
        ]
        self.quantity, self._checkpoint = quantity, checkpoint
        self._known: dict[int, float | str] = {}
        self._asked: set[int] = set()
        self._kinds: dict[str, int] = {}
        self._at_once = _FEWEST_AT_ONCE
        if checkpoint is not None:
            more = {"quantity": quantity.name, "sides": json.dumps(over)}
            checkpoint.open(swept.identity(_text_of_maps(), **more))
            entry = checkpoint.entry(_KEPT)
            if entry is not None:
                places, values = entry["places"].tolist(), entry["values"].tolist()
                self._known = dict(zip(places, values, strict=True))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of the computed values, in the order of their numbers."""
        return tuple(self._kinds)

    @property
    def made(self) -> int:
        """The number of runs for which values were returned."""
        return len(self._asked)

    def values(self, places: np.ndarray) -> np.ndarray:
        """Return numbers at places (n, 2): of kinds, of the quantity, or of its logarithm."""
        first = tuple(f[p] for f, p in zip(self._first, places.T, strict=True))
        indices = np.ravel_multi_index(first, self._grid.shape).tolist()
        todo = [index for index in dict.fromkeys(indices) if index not in self._known]
        while todo:
            started, count = time.monotonic(), min(self._at_once, len(todo))
            self._compute(todo[:count])
            del todo[:count]
            if time.monotonic() - started < _SECONDS_AT_ONCE:
                self._at_once = min(2 * self._at_once, _MOST_AT_ONCE)
        self._asked.update(indices)
        # kinds are numbered in the order of requests, also if the map was resumed
        return np.array([self._number(self._known[index]) for index in indices])

    def _compute(self, indices: list[int]) -> None:
        curve = self.quantity.curve
        for numbers, ended in self._grid.integrate(np.array(indices), None, lambda count: None):
            for row, n in enumerate(numbers):
                status = str(ended.status[row]).partition(":")[0]
                if status != INTERRUPTED:
                    values = ended.values.get(curve, _NOTHING)
                    error = values[row] if len(values) else np.full(ended.alpha.size, np.nan)
                    self._known[indices[n]] = self.quantity.of(ended.alpha, error, status)
            if ended.interrupted:
                raise KeyboardInterrupt
            if self._checkpoint is not None and self._checkpoint.due:
                self._keep()
                self._checkpoint.write()

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Keep the known runs in the checkpoint, and write it if the map fails or is stopped."""
        try:
            yield
        except BaseException:
            self._keep()
            if self._checkpoint is not None:
                self._checkpoint.write()
            raise
        self._keep()

    def _keep(self) -> None:
        if self._checkpoint is not None and self._known:
            places = np.fromiter(self._known, np.int64, len(self._known))
            entry = {"places": places, "values": np.array(list(self._known.values()))}
            self._checkpoint.keep(_KEPT, entry, f"{places.size} runs")

    def _number(self, value: float | str) -> float:
        if self.quantity.kinds:
            return float(self._kinds.setdefault(str(value), len(self._kinds)))
        number = float(value)
        if not self.quantity.logarithmic:
            return number
        return math.log10(number) if number > 0.0 else math.nan


def _text_of_maps() -> str:
    """Return a digest of the sources on which a map's values depend, beside those of runs."""
    import symderiv_codegen
    import symderiv_kernels

    formulas = ("formula", "gaussian", "learning", "lowering", "numerics", "statement", "system")
    rooms = (*formulas, "api", "show", "sweeps")
    packages = (Path(each.__path__[0]) for each in (symderiv_codegen, symderiv_kernels))
    return sources_digest(*rooms, also=tuple(packages))


@dataclass(repr=False)
class StudyMap(Kept):
    """A map: a quantity of runs over two keys, and the boundaries between its values.

    Args:
        quantity: the name of the quantity.
        keys: the two keys.
        places: the values of each key, shapes (N_1 + 1,) and (N_2 + 1,).
        tree: the computed values; kinds as numbers, and logarithms for quantities that are refined
            in decades.
        kinds: the names of kinds in the order of their numbers; empty if the quantity is a number.
        runs: the number of runs that were made for the map.
        checked: for the points of ``check``, how many were computed and how many agree with the
            map, and the largest difference.
        study_text: the text of the study that all runs have in common.
        output: the file it was written to, if any.
    """

    quantity: Measure
    keys: tuple[str, str]
    places: tuple[np.ndarray, np.ndarray]
    tree: Refined
    kinds: tuple[str, ...]
    runs: int
    checked: dict[str, float] = field(default_factory=dict)
    study_text: str = ""
    output: str | None = None

    @property
    def full_grid(self) -> int:
        """The number of points on the full grid of the same resolution."""
        return self.tree.known.size

    def filled(self) -> np.ndarray:
        """Return the value at every point of the full grid, shape (N_1 + 1, N_2 + 1), first key
        first.

        Between runs it is bilinear in the numbers of the points, of its logarithm where that was
        refined; of kinds the number in ``kinds``.
        """
        values = self.tree.filled()
        return np.power(10.0, values) if self.quantity.logarithmic else values

    def boundaries(self, level: float | None = None) -> list[np.ndarray]:
        """Return the curves between kinds, or those on which the quantity has a value.

        Each curve is an array of points (first key, second key), shape (n, 2).

        Args:
            level: the value, if the quantity is a number.

        Raises:
            InputError: a level is missing, or given for kinds.
        """
        if bool(self.kinds) == (level is not None):
            raise InputError(
                "is needed if the quantity is a number, and not allowed if it is a kind",
                argument="level",
            )
        from contourpy import contour_generator

        filled = self.tree.filled()
        if level is None:
            # each kind against the others; the last one needs no boundary of its own
            fields = [(filled == n).astype(float) for n in range(len(self.kinds) - 1)]
            heights = [0.5] * len(fields)
        else:
            fields = [np.where(np.isfinite(filled), filled, np.nan)]
            heights = [math.log10(level) if self.quantity.logarithmic else level]
        curves: list[Any] = []
        for values, height in zip(fields, heights, strict=True):
            # masked, because lines would not end at NaN
            generator = contour_generator(z=np.ma.masked_invalid(values))
            curves += list(generator.lines(height))
        steps = [np.arange(points) for points in filled.shape]
        # points of lines are (column, row): second key, first key
        return [
            np.column_stack(
                [
                    np.interp(line[:, 1], steps[0], self.places[0].astype(float)),
                    np.interp(line[:, 0], steps[1], self.places[1].astype(float)),
                ]
            )
            for line in curves
        ]

    def to_xarray(self) -> xarray.Dataset:
        """Return values on the full grid, which were computed, and the keys as coordinates."""
        import xarray

        names = axis_names(self.keys)
        values = self.filled()
        named: Any = values
        if self.kinds:
            named = np.array(self.kinds)[values.astype(int)]
        data = {self.quantity.name: (names, named), "computed": (names, self.tree.known)}
        coordinates = dict(zip(names, self.places, strict=True))
        return xarray.Dataset(data, coordinates, {"study": self.study_text, "runs": self.runs})

    def plot(
        self,
        *,
        label: str | None = None,
        levels: Sequence[float] = (),
        ax: Axes | None = None,
        runs: bool = True,
    ) -> Axes:
        """Draw the map with its boundaries.

        Args:
            label: what the colour bar, or the title of kinds, calls the quantity.
            levels: values of the quantity at which lines are drawn; not for kinds.
            ax: Matplotlib axes to draw into; None makes new ones.
            runs: also draw the points at which runs were made.
        """
        return drawn("map_plots.map_axes", self, ax, runs, label, levels)

    def _saved(self, path: Path) -> Path:
        self.output = str(path)
        return path

    def failure(self) -> str | None:
        """Return one line on where the map differs from the compared points; None if nowhere."""
        differ = self.checked.get("compared", 0) - self.checked.get("agree", 0)
        if not differ:
            return None
        return f"{differ:.0f} of {self.checked['compared']:.0f} points differ from the map"

    def to_dict(self) -> dict[str, Any]:
        """Return what ``symderiv map --json`` prints."""
        first, second = (points - 1 for points in self.tree.known.shape)
        record: dict[str, Any] = {
            "quantity": self.quantity.name,
            "keys": {
                key: [float(places[0]), float(places[-1])]
                for key, places in zip(self.keys, self.places, strict=True)
            },
            "resolution": first if first == second else [first, second],
            "runs": self.runs,
            "full_grid": self.full_grid,
            "fewer": self.full_grid / self.runs,
            "checked": self.checked,
            "output": self.output,
        }
        if self.kinds:
            record["kinds"] = list(self.kinds)
            record["boundaries"] = [line.tolist() for line in self.boundaries()]
        return record

    def _summary(self) -> Summary:
        first, second = (
            f"{key} from {float(places[0]):g} to {float(places[-1]):g}"
            for key, places in zip(self.keys, self.places, strict=True)
        )
        share = self.full_grid / self.runs
        rows: list[tuple[str, object]] = [
            ("quantity", self.quantity.words),
            ("over", f"{first}; {second}"),
            ("runs", f"{self.runs} of {self.full_grid} of the full grid, {share:.3g} times fewer"),
        ]
        if self.kinds:
            rows.append(("kinds", ", ".join(self.kinds)))
        if self.checked:
            checked = self.checked
            rows.append(
                ("checked", f"{checked['agree']} of {checked['compared']} other points agree")
            )
        return Summary("Map", rows)


def map_of(
    study: Study | Swept,
    quantity: Measure,
    over: Mapping[str, Sequence[Any]],
    *,
    lattice: MapLattice | None = None,
    check: int = 0,
    checkpoint: Checkpoint | None = None,
    tell: Tell = lambda task, fraction: None,
) -> StudyMap:
    """Map a quantity of a run over two keys.

    Args:
        study: the study, or the system with its start and times, whose runs are mapped.
        quantity: the quantity that is mapped.
        over: two keys, each with its ends (low, high) or (low, high, "log"), or with three or more
            ascending points.
        lattice: the lattice and its refinement.
        check: the number of random points of the full grid that are computed for comparison.
        checkpoint: the checkpoint that keeps values of runs; known ones are not computed again.
        tell: called with the number of runs made.

    Raises:
        InputError: there are not two keys, or ends are missing or not acceptable.
        KeyboardInterrupt: the map was interrupted; the checkpoint has the known values.
    """
    lattice = lattice or MapLattice()
    if quantity.kinds:
        lattice = replace(lattice, change=0.0)
    if len(over) != 2:
        raise InputError(
            f"must be two keys, each with its ends or points; got {len(over)}", argument="over"
        )
    if check < 0:
        raise InputError(f"must be at least 0; got {check}", argument="check")
    if isinstance(study, Study):
        over = by_key(over)
    first, second = over
    swept = SweptStudy(study) if isinstance(study, Study) else study
    places = tuple(_places(swept, key, over[key], lattice.resolution) for key in over)
    lattice = replace(lattice, cells=(places[0].size - 1, places[1].size - 1))
    values = {key: each.tolist() for key, each in zip(over, places, strict=True)}
    runs = MapRuns(swept, quantity, values, checkpoint)
    with runs.keeping():
        tree = refined(runs.values, lattice, _counting(tell, lattice))
        result = StudyMap(
            quantity,
            (first, second),
            (places[0], places[1]),
            tree,
            runs.kinds,
            runs.made,
            study_text=swept.text,
        )
        if check:
            result.checked = _compared(tree, runs, check)
            result.kinds = runs.kinds
    return result


def _counting(tell: Tell, lattice: MapLattice) -> Callable[[int], None]:
    """Return a function that reports the number of runs, relative to the largest possible."""
    most = math.prod(lattice.shape)

    def told(count: int) -> None:
        tell(DetailedTask("map", f"{count} runs"), min(1.0, count / most))

    return told


def _compared(tree: Refined, runs: MapRuns, count: int) -> dict[str, float]:
    """Return how the map agrees with random points that were not computed before."""
    others = np.argwhere(~tree.known)
    chosen = others[np.random.default_rng(0).permutation(len(others))[:count]]
    if not chosen.size:
        return {"compared": 0, "agree": 0, "largest_difference": 0.0}
    said, computed = tree.filled()[tuple(chosen.T)], runs.values(chosen)
    same = (said == computed) | (np.isnan(said) & np.isnan(computed))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, np.abs(said - computed))
    difference = np.where(np.isnan(difference), np.inf, difference)
    return {
        "compared": len(chosen),
        "agree": int((difference <= tree.change).sum()),
        "largest_difference": float(difference.max()),
    }


def _places(swept: Swept, key: str, given: Sequence[Any], resolution: int) -> np.ndarray:
    """Return the values of a key along its side, rounded if the key takes whole numbers only."""
    sided = not isinstance(given, str) and hasattr(given, "__len__") and len(given) > 1
    if not sided:
        raise InputError(
            "must be its ends (low, high) or (low, high, 'log'), or three or more points",
            argument=key,
        )
    if len(given) > 2 and not isinstance(given[2], str):
        return _points(given, key, whole=swept.is_whole(key))
    scale = given[2] if len(given) == 3 else "linear"
    if len(given) > 3 or scale not in ("linear", "log"):
        raise InputError("must be (low, high) or (low, high, 'log')", argument=key)
    low, high = _ascending(given[:2], key, "must have two ends, the lower one first").tolist()
    if scale == "log" and not low > 0.0:
        raise InputError("must have ends above 0 for a logarithmic side", argument=key)
    spread = np.geomspace if scale == "log" else np.linspace
    values = spread(low, high, resolution + 1)
    values[0], values[-1] = low, high
    return np.rint(values).astype(np.int64) if swept.is_whole(key) else values


def _points(given: Sequence[Any], key: str, *, whole: bool) -> np.ndarray:
    """Return the points of a side that are given one by one."""
    points = _ascending(given, key, "must be ascending numbers, each once")
    if points.size > MOST_CELLS + 1:
        raise InputError(f"has {points.size} points; give at most {MOST_CELLS + 1}", argument=key)
    if not whole:
        return points
    if (points != np.rint(points)).any():
        raise InputError("must be whole numbers", argument=key)
    return points.astype(np.int64)


def _ascending(given: Sequence[Any], key: str, wanted: str) -> np.ndarray:
    """Return ascending finite numbers; refuse others with the message ``wanted``."""
    numbers = all(isinstance(each, int | float | np.number) for each in given)
    values = np.array(given, dtype=float) if numbers else np.array([np.nan])
    if not np.isfinite(values).all() or (np.diff(values) <= 0.0).any():
        raise InputError(wanted, argument=key)
    return values
