"""Systems that are swept: a statement with its start, its parameters and its times."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.progress import Tell
from symderiv.foundation.showing import plain
from symderiv.integrate.ensemble import Chunk
from symderiv.storage.checkpoint import identity_of_text
from symderiv.sweeps.box_results import SCALARS
from symderiv.sweeps.run_grid import PointsTold, RunGrid
from symderiv.sweeps.swept_keys import Axis, PointArrays, axes_of_lists, is_whole, lists_of
from symderiv.system.stated_system import StatedSystem
from symderiv.system.system_ensembles import Wanted, integrate_points, point_or_error
from symderiv.system.system_files import read_system, system_text
from symderiv.system.varied_system import VariedSystem

_FORMAT = "symderiv-swept-system"
_TAKEN = frozenset({*SCALARS, "alpha", "time_index"})


@dataclass(frozen=True)
class SweptSystem:
    """A system with the settings that its runs share.

    Args:
        system: The statement.
        initial: The state at α = 0 by name.
        parameters: Values of parameters that differ from their defaults.
        wanted: The times and tolerances.
    """

    system: StatedSystem
    initial: Mapping[str, Any]
    parameters: Mapping[str, Any]
    wanted: Wanted

    def __post_init__(self) -> None:
        times = self.system.solver.times(self.wanted.alpha)
        object.__setattr__(self, "wanted", replace(self.wanted, alpha=times))

    @classmethod
    def read(cls, text: str) -> SweptSystem:
        """Return the system that a text states; its equations are derived again."""
        said = json.loads(text)
        system = read_system(json.dumps(said["system"]), StatedSystem())
        time = said["time"]
        wanted = Wanted(
            np.array(time["alpha"], dtype=float),
            time["relative_tolerance"],
            time["absolute_tolerance"],
        )
        return cls(system, said["initial"], said["parameters"], wanted)

    @cached_property
    def varied(self) -> VariedSystem:
        """The system with its start, for runs with other values."""
        return VariedSystem(self.system.solver, self.initial, self.parameters)

    @cached_property
    def tables(self) -> dict[str, dict[str, Any]]:
        """The keys that may vary, by table and name."""
        layout = self.varied.solver.layout
        defaults = {str(p): v for p, v in layout.symbols.parameters.items()}
        parameters = {
            name: float(self.parameters.get(name, value))
            for name, value in defaults.items()
            if name in self.parameters or (value.is_number and value.is_finite)
        }
        inputs = {
            f"{each.name}.{name}": value
            for each in layout.statement.inputs
            for name, value in each.model.model_dump(mode="json", exclude_unset=True).items()
        }
        return {
            "parameters": parameters,
            "initial": dict(plain(layout.overlaps(self.initial))),
            "inputs": inputs,
            "time": {
                "alpha": self.wanted.alpha.tolist(),
                "relative_tolerance": self.wanted.relative_tolerance,
                "absolute_tolerance": self.wanted.absolute_tolerance,
            },
        }

    @cached_property
    def text(self) -> str:
        """The JSON of the statement and of the settings that its runs share."""
        system = json.loads(system_text(self.system))
        return json.dumps({"format": _FORMAT, "version": 1, "system": system, **self.tables})

    def measured(self, checked: bool) -> SweptSystem:
        """Return the same with the error of each run measured, or not."""
        if checked == self.wanted.check:
            return self
        return replace(self, wanted=replace(self.wanted, check=checked))

    def without_sweep(self) -> SweptSystem:
        """Return the system itself: it has no values of its own to sweep over."""
        return self

    def checked_keys(self, over: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Return keys and values, with ranges written out.

        Raises:
            InputError: A key is not that of something that can vary, or it has no values.
        """
        return lists_of(over, self.varied.key_of)

    def grid(
        self, over: Mapping[str, Sequence[Any]], tell: Tell, *, lazily: bool = False
    ) -> SystemGrid:
        """Return the grid over keys and values."""
        del tell
        axes = axes_of_lists(self.checked_keys(over))
        grid = SystemGrid(self, axes)
        grid.check(lazily)
        return grid

    def is_whole(self, key: str) -> bool:
        """Return whether a key takes whole numbers only."""
        table, _, rest = self.varied.key_of(key).partition(".")
        name, _, argument = rest.partition(".")
        if table != "inputs":
            return False
        models = {each.name: each.model for each in self.varied.solver.layout.statement.inputs}
        return is_whole(models[name], argument)

    def identity(self, sources: str, **more: str) -> dict[str, str]:
        """Return everything on which the results of its runs depend."""
        return identity_of_text(self.text, sources, **more)


class SystemGrid(RunGrid):
    """The runs of a system over keys and values.

    Args:
        swept: The system with the settings that all runs share.
        axes: One axis per key.
    """

    def __init__(self, swept: SweptSystem, axes: tuple[Axis, ...]) -> None:
        self.swept, self.axes = swept, axes

    def over(self, axes: tuple[Axis, ...]) -> SystemGrid:
        return SystemGrid(self.swept, axes)

    def __reduce__(self) -> tuple[Any, ...]:
        # other processes get the statement and derive its equations once
        return _again, (self.text, self.axes, self.checked)

    @property
    def text(self) -> str:
        """The text of what all points share."""
        return self.swept.text

    @property
    def checked(self) -> bool:
        return self.swept.wanted.check

    def check(self, lazily: bool) -> None:
        """Refuse repeated values, and values with which no run can start.

        Args:
            lazily: True tests only the first and the last value of each key, and allows repeated
                ones.

        Raises:
            InputError: A value is repeated or cannot start a run, or an observable has the name of
                another variable of the results.
        """
        layout = self.swept.varied.solver.layout
        dimensions = {axis.name for axis in self.axes}
        for name in (*layout.scalars, *layout.closed.observables):
            if name in _TAKEN | dimensions:
                raise InputError(
                    f"{name!r} is the name of another variable of the results; rename it"
                )
        first = {axis.key: axis.values[0] for axis in self.axes}
        for axis in self.axes:
            if not lazily and len(set(map(json.dumps, axis.values))) < len(axis.values):
                raise InputError("names a value twice", argument=axis.key)
            for value in (axis.values[0], axis.values[-1]) if lazily else axis.values:
                self.swept.varied.point({**first, axis.key: value})

    def hashes(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return 32 hexadecimal digits of each point, from the statement and all its numbers."""
        said = json.loads(system_text(self.swept.system))
        for declaration in said["declarations"]:
            declaration.pop("value", None)
            declaration.pop("model", None)
        models = [each.model.model for each in self.swept.system.statement.inputs]
        statement = json.dumps([said, models])
        leaves = {
            f"{table}.{name}": value
            for table, own in self.swept.tables.items()
            for name, value in own.items()
        }
        digests = []
        for index in indices:
            whole = json.dumps(_floats({**leaves, **self.settings(int(index))}), sort_keys=True)
            digests.append(hashlib.sha256((statement + whole).encode()).hexdigest()[:32])
        return np.array(digests, dtype="U32")

    def extent(self) -> tuple[tuple[int, ...], np.ndarray, PointArrays]:
        """Return the times, and order parameters and observables with their dimensions."""
        sizes: dict[str, int] = {}
        curves: dict[str, tuple[str, ...]] = {}
        over = [axis for axis in self.axes if axis.key.startswith("inputs.")]
        first = {axis.key: axis.values[0] for axis in self.axes}
        for axis in over or self.axes[:1]:
            for value in axis.values:
                point = point_or_error(self.swept.varied, {**first, axis.key: value})
                if isinstance(point, Exception):
                    continue
                layout = point.solver.layout
                for name in layout.shown(point.given):
                    axes = layout.dimensions(name)
                    shape = layout.shape(name)
                    lengths = (layout.classes, *shape)[-len(axes) :] if axes else ()
                    for dimension, length in zip(axes, lengths, strict=True):
                        sizes[dimension] = max(length, sizes.get(dimension, 1))
                    if len(axes) >= len(curves.get(name, ())):
                        curves[name] = ("time", *axes)
                if not over:
                    break
        if not curves:  # no run can start
            self.swept.varied.point(first)
        observed = dict.fromkeys(self.swept.varied.solver.closed.observables, ("time",))
        alpha = self.swept.wanted.alpha
        return (), alpha, PointArrays(alpha.size, sizes, {**observed, **curves})

    def derive(self, tell: Tell) -> None:
        """Compile the equations once, before many workers need them."""
        tell("deriving", 0.0)
        _ = self.swept.system.solver

    def integrate(
        self, indices: np.ndarray, threads: int | None, told: PointsTold
    ) -> Iterator[tuple[np.ndarray, Chunk]]:
        """Integrate the runs with flat indices, all together."""
        varied = self.swept.varied
        points = [point_or_error(varied, self.settings(int(index))) for index in indices]
        wanted = replace(self.swept.wanted, threads=threads)
        yield np.arange(len(points)), integrate_points(points, wanted, told)


@lru_cache(maxsize=8)
def _swept(text: str) -> SweptSystem:
    return SweptSystem.read(text)


def _again(text: str, axes: tuple[Axis, ...], checked: bool) -> SystemGrid:
    return SystemGrid(_swept(text).measured(checked), axes)


def _floats(value: Any) -> Any:
    """Return numbers as floats, so that 1 and 1.0 are the same value."""
    if isinstance(value, dict):
        return {key: _floats(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_floats(each) for each in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
