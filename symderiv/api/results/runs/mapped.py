"""Maps as users ask for them: a quantity by name or as a function, and keys with ranges."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.progress import Progress, progress_bar
from symderiv.problem.study import Study
from symderiv.show.plots.run_quantities import measured, quantity_of
from symderiv.sweeps.refinement import MapLattice
from symderiv.sweeps.study_map import Measure, StudyMap, map_of
from symderiv.sweeps.swept_keys import parse_over
from symderiv.sweeps.system_grid import SweptSystem

#: A name, or a function from the times and errors of a run to a number or the name of a kind.
Quantity = str | Callable[[np.ndarray, np.ndarray], float | str]


def mapped(
    study: Study | SweptSystem,
    quantity: Quantity,
    over: Mapping[str, Sequence[Any]],
    progress: Progress,
    *,
    curve: str = "generalization_error",
    **options: Any,
) -> StudyMap:
    """Return the map of a quantity of a curve; see :func:`~symderiv.sweeps.study_map.map_of`.

    Raises:
        InputError: there is no such quantity, or a checkpoint is given for a function; or as
            ``map_of``.
    """
    if callable(quantity) and options.get("checkpoint") is not None:
        raise InputError(
            "needs a quantity with a name, because symderiv cannot know later whether a function "
            "is the same; give the name of a quantity",
            argument="checkpoint",
        )
    asked = study.time if isinstance(study, Study) else study.wanted
    measure = _measure(quantity, asked.relative_tolerance, options.pop("kinds", None))
    words = measure.words.replace("generalisation error", curve.replace("_", " "))
    if isinstance(study, Study):
        words = measure.words
    measure = replace(measure, words=words, curve=curve)
    sides = {key: options.pop(key) for key in ("resolution", "coarse", "change") if key in options}
    with progress_bar(progress) as tell:
        return map_of(study, measure, over, lattice=MapLattice(**sides), tell=tell, **options)


def ends_of(over: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Return keys with ranges from ``key=low:high`` and ``key=log:low:high``, others with points.

    Points have the form that :func:`~symderiv.sweeps.swept_keys.parse_over` reads.

    Raises:
        InputError: a text is none of these, or has fewer than three points.
    """
    by_key: dict[str, tuple[Any, ...]] = {}
    for text in over:
        key, equals, ends = text.partition("=")
        key = key.strip()
        scale = ("log",) if ends.startswith("log:") else ()
        parts = ends.removeprefix("log:").split(":")
        if not equals or len(parts) != 2:
            points = parse_over(text)[1] if equals else []
            if len(points) < 3:
                raise InputError(
                    f"{text!r} must have the form key=low:high or key=log:low:high, or list three "
                    "or more points",
                    argument="over",
                )
            values, scale = tuple(points), ()
        else:
            values = _typed_ends(text, parts)
        if key in by_key:
            raise InputError(f"{key} is given twice; give another key", argument="over")
        by_key[key] = (*values, *scale)
    return by_key


def _typed_ends(text: str, parts: Sequence[str]) -> tuple[Any, ...]:
    """Return the two ends of a range that is given as text."""
    try:
        return tuple(tomllib.loads(f"value = {part}")["value"] for part in parts)
    except tomllib.TOMLDecodeError:
        raise InputError(f"{text!r}: its ends must be numbers", argument="over") from None


def _measure(quantity: Quantity, tolerance: float, kinds: bool | None) -> Measure:
    if callable(quantity):
        own: Callable[..., Any] = quantity
        name = getattr(quantity, "__name__", "quantity")
        return Measure(
            name, name.replace("_", " "), lambda a, e, s: own(*_reached(a, e)), bool(kinds)
        )
    if not isinstance(quantity, str):
        quantity_of(quantity)  # an array equals no name
    if quantity == "status":
        return Measure("status", "end of the integration", lambda a, e, s: s, kinds=True)
    if quantity == "stable":
        words = "does learning stay bounded"
        return Measure(
            "stable", words, lambda a, e, s: "stable" if s == "done" else "unstable", kinds=True
        )
    one = quantity_of(quantity)
    if quantity == "plateau":
        return Measure(
            "plateau",
            "plateau or none",
            lambda a, e, s: "plateau" if measured(one, a, e, tolerance) else "none",
            kinds=True,
        )
    return Measure(
        one.name,
        one.words,
        lambda a, e, s: measured(one, a, e, tolerance),
        logarithmic=one.logarithmic,
    )


def _reached(alpha: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    there = np.isfinite(error)
    return alpha[there], error[there]
