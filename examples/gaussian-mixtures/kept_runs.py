"""Runs kept one by one: what was computed once is not computed again.

A point is a repetition and a law: the curves of SGD for all activations, or of the equations. Each
finished one is a line of ``runs.jsonl``; a command that was killed goes on where it was.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from learning_runs import ACTIVATIONS, Setting, repetition
from mixture_laws import NORMAL, Law

from symderiv.foundation.errors import InputError

EQUATIONS = "equations"
COMPONENTS = (2, 4, 8)
SEPARATIONS = range(1, 10)
Point = tuple[int, Law | None]


def laws() -> list[Law]:
    """All that the figures and tables need, those of a first look first."""
    per_coordinate = [
        Law(m, a, standardised)
        for m in COMPONENTS
        for a in (9, 6, 3, 1, 5, 7, 2, 8, 4)
        for standardised in (True, False)
    ]
    per_sample = [Law(2, a, kind, "sample") for a in (9, 6, 3) for kind in (True, False)]
    common = [Law(2, 9, True, "sample", "common"), Law(2, 9, True, "coordinate", "common")]
    common.append(Law(2, 9, False, "coordinate", "common"))
    first = [NORMAL, *per_coordinate[:6], *per_sample[:2], *common]
    return first + [law for law in per_coordinate + per_sample if law not in first]


#: So many laws, the first ones, let every figure and table be drawn.
FIRST_LOOK = 12


def wanted(repetitions: int) -> list[Point]:
    """All points, so ordered that every figure can be drawn early and is then refined."""
    every = laws()
    groups: list[tuple[range, list[Law | None]]] = [
        (range(4), [None, *every[:FIRST_LOOK]]),
        (range(4), [*every]),
        (range(20), [None, *every[:FIRST_LOOK]]),
        (range(10), [*every]),
        (range(repetitions), [None, *(law for law in every if law.components <= 2)]),
        (range(repetitions), [None, *every]),
    ]
    points = ((seed, law) for seeds, chosen in groups for seed in seeds for law in chosen)
    return list(dict.fromkeys(point for point in points if point[0] < repetitions))


class Runs:
    """The runs of a file.

    Args:
        path: a file of JSON lines, made when it is first written to.
        setting: what they must have been made with.

    Raises:
        InputError: the file has runs of another setting.
    """

    def __init__(self, path: Path, setting: Setting) -> None:
        self.path, self.setting = path, setting
        self._found: dict[tuple[int, str], dict[str, np.ndarray]] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        # a run that was killed may have left the beginning of a line
        self._start = "" if not text or text.endswith("\n") else "\n"
        for line in text.splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry["setting"] != asdict(setting):
                raise InputError(
                    f"{path} has runs of {entry['setting']}; choose another folder",
                    argument="output",
                )
            curves = {name: np.array(entry[name], dtype=np.float64) for name in ACTIVATIONS}
            self._found[entry["repetition"], entry["law"]] = curves

    def __contains__(self, point: Point) -> bool:
        return (point[0], _name(point[1])) in self._found

    def curves(self, activation: str, seed: int, law: Law | None) -> np.ndarray | None:
        """Shape (times, columns) of :data:`learning_runs.NAMES`; law None: the equations."""
        found = self._found.get((seed, _name(law)))
        return None if found is None else found[activation]

    def repetitions(self, law: Law) -> list[int]:
        """Those that have runs of a law and the equations."""
        seeds = sorted({seed for seed, name in self._found if name == law.name})
        return [seed for seed in seeds if (seed, None) in self]

    def run(self, points: Iterable[Point], processes: int, out: TextIO = sys.stdout) -> int:
        """Compute what is missing, in this order; how many points that was."""
        missing = [point for point in points if point not in self]
        if not missing:
            return 0
        self.path.parent.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        with self.path.open("a", encoding="utf-8") as file:
            file.write(self._start)
            self._start = ""
            for done, (point, curves) in enumerate(_made(self.setting, missing, processes), 1):
                self._keep(file, point, curves)
                if done % 20 == 0 or done == len(missing):
                    left = (time.monotonic() - started) / done * (len(missing) - done)
                    words = f"{done} of {len(missing)} runs, {_clock(left)} left"
                    print(words, file=out, flush=True)
        return len(missing)

    def _keep(self, file: TextIO, point: Point, curves: dict[str, np.ndarray]) -> None:
        name = _name(point[1])
        entry: dict[str, Any] = {"setting": asdict(self.setting)}
        entry |= {"repetition": point[0], "law": name}
        for activation, values in curves.items():
            rows = [[float(f"{number:.7g}") for number in row] for row in values]
            entry[activation] = rows
            curves[activation] = np.array(rows)
        self._found[point[0], name] = curves
        file.write(json.dumps(entry) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _name(law: Law | None) -> str:
    return EQUATIONS if law is None else law.name


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _made(
    setting: Setting, points: Sequence[Point], processes: int
) -> Iterator[tuple[Point, dict[str, np.ndarray]]]:
    if processes == 1:
        yield from ((point, _curves(setting, point)) for point in points)
        return
    with ProcessPoolExecutor(processes, initializer=_end_with, initargs=(os.getpid(),)) as pool:
        try:
            futures = {pool.submit(_curves, setting, point): point for point in points}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _end_with(parent: int) -> None:
    """Let this process end when its parent does: that may be killed and tell nobody."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _curves(setting: Setting, point: Point) -> dict[str, np.ndarray]:
    seed, law = point
    made = repetition(setting, seed)
    if law is None:
        return {name: made.equations(name) for name in ACTIVATIONS}
    return made.sgd(law)


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
