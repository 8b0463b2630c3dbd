"""What figures and tables need of the runs: means, standard errors, discrepancies; a small file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from kept_runs import Runs, laws
from learning_runs import ACTIVATIONS, NAMES, Setting
from mixture_laws import NORMAL, Law, divergence

from symderiv.foundation.files import replace_file

#: Columns with a printed discrepancy, and where Q, R and v are among them.
ORDER_PARAMETERS = NAMES[:10]
GROUPS = {"Q": slice(0, 4), "R": slice(4, 8), "v": slice(8, 10)}
#: Laws whose mean curves are kept, those of figures 2 and 4.
DRAWN = tuple(Law(2, 9, kind, each) for kind in (True, False) for each in ("coordinate", "sample"))


@dataclass(frozen=True)
class Mean:
    """A mean over repetitions and its standard error (NaN for a single one)."""

    value: np.ndarray
    error: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray) -> Mean:
        """Repetitions first."""
        count = len(values)
        if count < 2:
            return cls(values.mean(axis=0), np.full(values.shape[1:], np.nan))
        return cls(values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(count))


@dataclass(frozen=True)
class Measured:
    """SGD on one law with one activation against the equations, paired by repetition.

    Args:
        seeds: the repetitions.
        diverged: those in which SGD diverged, left out of everything.
        discrepancy: root of the mean over times of (SGD - equations)², by component (10).
        excess: the same less that on normal latent vectors, in repetitions that have both.
        printed: mean over times of √|equations² - SGD²|: equation 18 with the size of what is
            under its root, by component.
        imaginary: share of times and components at which that is negative.
        grouped: ``discrepancy``, mean over the entries of Q, R, v, shape (repetitions, 3).
    """

    seeds: tuple[int, ...]
    diverged: tuple[int, ...]
    discrepancy: Mean
    excess: Mean
    printed: Mean
    imaginary: float
    grouped: np.ndarray


@dataclass(frozen=True)
class Curves:
    """Mean curves with the columns ``NAMES``: equations, and SGD less equations, paired."""

    equations: np.ndarray
    difference: Mean

    @property
    def sgd(self) -> np.ndarray:
        """The mean of SGD."""
        found: np.ndarray = self.equations + self.difference.value
        return found


@dataclass(frozen=True)
class Summary:
    """Of all runs; inner keys are names of laws.

    Args:
        setting: sizes.
        measured, curves: by activation and law.
        divergence: from N(0, 1) per coordinate, mean over the repetitions.
        size: mean over times of |equations|, shape (repetitions, 10), by activation.
    """

    setting: Setting
    measured: dict[str, dict[str, Measured]]
    curves: dict[str, dict[str, Curves]]
    divergence: dict[str, float]
    size: dict[str, np.ndarray]

    def of(self, activation: str, law: Law) -> Measured | None:
        """What was measured on a law, or None if nothing was."""
        return self.measured[activation].get(law.name)


def summarise(runs: Runs) -> Summary:
    """The summary of the runs that there are."""
    found = Summary(
        runs.setting, {name: {} for name in ACTIVATIONS}, {name: {} for name in ACTIVATIONS}, {}, {}
    )
    for law in laws():
        seeds = runs.repetitions(law)
        if not seeds:
            continue
        values = [divergence(law, runs.setting.latent, seed) for seed in seeds]
        found.divergence[law.name] = float(np.mean(values))
        for name in ACTIVATIONS:
            _add(found, runs, name, law, seeds)
    for name in ACTIVATIONS:
        exact = [_pair(runs, name, seed, NORMAL)[1] for seed in runs.repetitions(NORMAL)]
        found.size[name] = np.array([np.abs(each[:, :10]).mean(axis=0) for each in exact])
    return found


def _pair(runs: Runs, name: str, seed: int, law: Law) -> tuple[np.ndarray, np.ndarray]:
    sgd, exact = runs.curves(name, seed, law), runs.curves(name, seed, None)
    assert sgd is not None
    assert exact is not None
    return sgd, exact


def _discrepancy(runs: Runs, name: str, seed: int, law: Law) -> np.ndarray:
    """Equation 18 with the mean under the root, over times that are evenly spread in ln α."""
    sgd, exact = _pair(runs, name, seed, law)
    return np.sqrt(np.mean((sgd[:, :10] - exact[:, :10]) ** 2, axis=0))


def _add(found: Summary, runs: Runs, name: str, law: Law, seeds: Sequence[int]) -> None:
    pairs = {seed: _pair(runs, name, seed, law) for seed in seeds}
    kept = tuple(seed for seed in seeds if np.all(np.isfinite(pairs[seed][0])))
    if not kept:
        return
    sgd, exact = (np.array([pairs[seed][k] for seed in kept]) for k in (0, 1))
    inside = exact[..., :10] ** 2 - sgd[..., :10] ** 2
    discrepancy = np.array([_discrepancy(runs, name, seed, law) for seed in kept])
    normal = set(runs.repetitions(NORMAL))
    both = [k for k, seed in enumerate(kept) if seed in normal]
    excess = [discrepancy[k] - _discrepancy(runs, name, kept[k], NORMAL) for k in both]
    found.measured[name][law.name] = Measured(
        kept,
        tuple(seed for seed in seeds if seed not in kept),
        Mean.of(discrepancy),
        Mean.of(np.array(excess)),
        Mean.of(np.sqrt(np.abs(inside)).mean(axis=1)),
        float((inside < 0.0).mean()),
        np.stack([discrepancy[:, part].mean(axis=1) for part in GROUPS.values()], axis=1),
    )
    if law in DRAWN:
        found.curves[name][law.name] = Curves(exact.mean(axis=0), Mean.of(sgd - exact))


# -- the file -----------------------------------------------------------------------------------


def write(summary: Summary, path: Path) -> None:
    """Write the summary as JSON, four digits."""
    text = json.dumps(_plain(asdict(summary)), separators=(",", ":")) + "\n"
    replace_file(path, text.encode())


def read(path: Path) -> Summary:
    """A summary that :func:`write` wrote."""
    data = json.loads(path.read_text(encoding="utf-8"))

    def tables(key: str, make: Any) -> Any:
        return {
            name: {law: make(each) for law, each in by_law.items()}
            for name, by_law in data[key].items()
        }

    return Summary(
        Setting(**data["setting"]),
        tables("measured", _measured),
        tables("curves", lambda each: Curves(_array(each["equations"]), _mean(each["difference"]))),
        data["divergence"],
        {name: _array(each) for name, each in data["size"].items()},
    )


def _measured(each: dict[str, Any]) -> Measured:
    discrepancy, excess, printed = (
        _mean(each[key]) for key in ("discrepancy", "excess", "printed")
    )
    return Measured(
        tuple(each["seeds"]), tuple(each["diverged"]), discrepancy, excess, printed,
        each["imaginary"], _array(each["grouped"]),
    )  # fmt: skip


def _mean(each: dict[str, Any]) -> Mean:
    return Mean(_array(each["value"]), _array(each["error"]))


def _array(values: Any) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return None if np.isnan(value) else float(f"{value:.4g}")
    return value
