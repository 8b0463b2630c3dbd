"""Trials of one gradient step, kept one by one: what was computed once is not computed again.

A trial is ``sd.OneStep(..., trials=1, seed=s)``; a line of the file says its keys and its errors.
Panels that share a setting share its trials, and a run that was stopped goes on where it was. Of
``models = ["asymptotic"]`` nothing is drawn, or with a seed only the strengths of that trial.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from symderiv_models.one_step.asymptotic import asymptotic_errors
from symderiv_models.one_step.comparison import trial_strengths

import symderiv as sd

Keys = dict[str, Any]


@dataclass(frozen=True)
class Mean:
    """A mean over trials and its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        count = len(values)
        spread = float(np.std(values, ddof=1)) / math.sqrt(count) if count > 1 else math.nan
        return cls(float(np.mean(values)), spread)


@dataclass(frozen=True)
class Point:
    """Errors E(y - ŷ)² of a setting: by model, one per trial."""

    found: Mapping[str, Sequence[float]]

    @property
    def trials(self) -> int:
        """How many."""
        return len(self.found["network"])

    @property
    def errors(self) -> dict[str, Mean]:
        """Their means."""
        return {model: Mean.of(values) for model, values in self.found.items()}

    def difference(self, model: str, reference: str = "network") -> Mean:
        """The paired difference of two models in per cent of the second's mean."""
        pairs = zip(self.found[model], self.found[reference], strict=True)
        size = float(np.mean(self.found[reference])) / 100.0
        return Mean.of([(ours - theirs) / size for ours, theirs in pairs])


class Trials:
    """The trials of a file.

    Args:
        path: a file of JSON lines, made when it is first written to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: dict[str, dict[str, float]] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        # a run that was stopped may have left the beginning of a line
        self._start = "" if not text or text.endswith("\n") else "\n"
        for line in text.splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            self._found[_name(entry["keys"], entry["seed"])] = entry["errors"]

    def run(self, wanted: Iterable[tuple[Keys, int | None]], processes: int) -> None:
        """Compute what is missing, in this order."""
        missing = {_name(*each): each for each in wanted if _name(*each) not in self._found}
        if not missing:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file, ProcessPoolExecutor(processes) as pool:
            file.write(self._start)
            self._start = ""
            for done, (keys, seed, errors) in enumerate(pool.map(_trial, missing.values()), 1):
                self._found[_name(keys, seed)] = errors
                line = json.dumps({"keys": keys, "seed": seed, "errors": errors})
                file.write(line + "\n")
                file.flush()
                if done % 50 == 0:
                    print(f"{done} of {len(missing)} trials", flush=True)

    def point(self, keys: Keys, seeds: Iterable[int]) -> Point | None:
        """What the trials that there are say of a setting."""
        found = [self._found[name] for seed in seeds if (name := _name(keys, seed)) in self._found]
        if not found:
            return None
        return Point({model: [each[model] for each in found] for model in found[0]})

    def limit(self, keys: Keys, seed: int | None = None) -> float:
        """The asymptotic error of a setting, nan where it was not computed."""
        own = {**keys, "models": ["asymptotic"]}
        return self._found.get(_name(own, seed), {}).get("asymptotic", math.nan)


def _name(keys: Keys, seed: int | None) -> str:
    return json.dumps([sorted(keys.items()), seed])


def _trial(wanted: tuple[Keys, int | None]) -> tuple[Keys, int | None, dict[str, float]]:
    keys, seed = wanted
    if keys["models"] == ["asymptotic"]:
        return keys, seed, {"asymptotic": _asymptotic({**keys, "models": ["network"]}, seed)}
    assert seed is not None
    found = sd.OneStep(**keys, trials=1, seed=seed).run(progress=False)
    return keys, seed, {model: each["mean"] for model, each in found.errors.items()}


def _asymptotic(keys: Keys, seed: int | None) -> float:
    if seed is None:
        return sd.OneStep(**keys).asymptotic().test
    setting = sd.OneStep(**keys, seed=seed)
    return asymptotic_errors(setting, trial_strengths(setting, 0)).test


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
