"""The integration of one box of the grid: arrays with one row per point."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.sweeps.run_grid import PointsTold, RunGrid, SweepLayout

if TYPE_CHECKING:
    from symderiv.integrate.ensemble import Chunk

#: Statuses of points beside the causes for which integrations end.
NOT_YET, FAILED, INTERRUPTED = "", "failed", "interrupted"

#: Variables with one number or text per point: type, and the value of points not computed.
SCALARS: dict[str, tuple[str, object]] = {
    "status": ("<U24", NOT_YET),
    "alpha_end": ("<f8", np.nan),
    "error_sum": ("<f8", np.nan),
    "steps": ("<i8", 0),
    "rhs_evaluations": ("<i8", 0),
    "wall_seconds": ("<f8", np.nan),
    "point_hash": ("<U32", ""),
}


@dataclass
class BoxResult:
    """Results of n points, in the order of their flat indices.

    Args:
        arrays: the arrays by variable, first axis n; padded with not-a-number.
        errors: why points failed, by index among the n.
        interrupted: points are missing because of an interrupt from the keyboard.
    """

    arrays: dict[str, np.ndarray]
    errors: dict[int, str] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def missing(self) -> np.ndarray:
        """Indices of points that were not computed, or whose failure may be temporary."""
        return np.flatnonzero(np.isin(self.arrays["status"], (NOT_YET, FAILED)))

    @property
    def unmeasured(self) -> np.ndarray:
        """Indices of points whose errors were not measured."""
        unknown = np.full(self.arrays["status"].size, np.nan)
        return np.flatnonzero(np.isnan(self.arrays.get("tolerance_reached", unknown)))


def empty(layout: SweepLayout, count: int, hashes: np.ndarray) -> BoxResult:
    """Return a result that contains nothing but the hashes of the points."""
    arrays = {name: np.full(count, fill, dtype=kind) for name, (kind, fill) in SCALARS.items()}
    arrays["point_hash"] = hashes
    for name in layout.inner.curves:
        shape = (layout.sizes[axis] for axis in layout.dimensions(name))
        arrays[name] = np.full((count, *shape), np.nan)
    return BoxResult(arrays)


def compute(
    grid: RunGrid,
    layout: SweepLayout,
    indices: np.ndarray,
    *,
    known: BoxResult | None = None,
    threads: int | None = None,
    told: PointsTold = lambda done: None,
) -> BoxResult:
    """Integrate the points with given flat indices, except those that are known already.

    After an interrupt from the keyboard the result contains the points that have ended.

    Args:
        grid, layout: the grid and layout of the sweep.
        indices: the flat indices of the points, shape (n,).
        known: earlier results of the same points.
        threads: the threads of one chunk; see :func:`~symderiv.integrate.ensemble.integrate_chunk`.
        told: called with the number of finished points.
    """
    result = known or empty(layout, indices.size, grid.hashes(indices))
    todo = result.missing
    done = indices.size - todo.size
    try:
        parts = grid.integrate(indices[todo], threads, lambda count: told(done + count))
        for numbers, chunk in parts:
            _fill(result, todo[numbers], chunk)
            if chunk.interrupted:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        result.interrupted = True
    return result


def _fill(result: BoxResult, places: np.ndarray, chunk: Chunk) -> None:
    """Store the runs that have ended; the status comes last, so that an interrupt is harmless."""
    ended = np.flatnonzero(chunk.status != INTERRUPTED)
    places = places[ended]
    arrays = result.arrays
    for name, values in chunk.arrays.items():
        if name in SCALARS:
            arrays[name][places] = values[ended]
        else:
            put(arrays, name, places, values[ended])
    status = [str(text) for text in chunk.status[ended]]
    for place, text in zip(places, status, strict=True):
        result.errors.pop(int(place), None)
        if text.startswith(FAILED):
            result.errors[int(place)] = text.partition(":")[2].strip()
    arrays["status"][places] = [text.partition(":")[0] for text in status]


def put(arrays: dict[str, np.ndarray], name: str, places: np.ndarray, values: np.ndarray) -> None:
    """Write rows of a variable, padded with NaN; its inner axes grow if rows are longer."""
    if name not in arrays:
        arrays[name] = np.full((arrays["status"].size, *values.shape[1:]), np.nan)
    target = arrays[name]
    longest = np.maximum(target.shape[1:], values.shape[1:])
    if any(longest > target.shape[1:]):
        grown = np.full((target.shape[0], *longest), np.nan)
        grown[tuple(slice(n) for n in target.shape)] = target
        arrays[name] = target = grown
    if target.shape[1:] != values.shape[1:]:
        target[places] = np.nan
    corner: tuple[Any, ...] = (places, *(slice(n) for n in values.shape[1:]))
    target[corner] = values
