"""The runs of a map: a number or kind of each, computed once and kept in a checkpoint."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from symderiv.foundation.derivation_cache import sources_digest
from symderiv.storage.checkpoint import Checkpoint
from symderiv.sweeps.box_results import INTERRUPTED
from symderiv.sweeps.run_grid import Swept

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
