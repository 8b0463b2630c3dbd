"""What a sweep costs beside its integrations: ``python -m benchmarks.sweep``.

* overhead: 10^5 points whose integration is replaced by arrays that are there at once; everything
  else is done: studies, hashes, boxes, checksums, the store. Seconds per point, and the largest
  memory of the process above that of one that has imported the same.
* ratio: the same runs integrated without a store and swept into one, on the same processors.

``python -m benchmarks.sweep --points 1000000`` sweeps so many points as a user would, integrations
and all, calls again, draws curves of it, and says how much memory each process took at most.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import psutil

STUDY = """
[network]
activation = "erf"
students = 2
teachers = 2
[data]
model = "isotropic"
dimension = 1000
[training]
learning_rate = 0.5
[initial]
student_std = 0.1
[time]
end = 1000.0
points = 50
relative_tolerance = 1e-8
"""
SEEDS = 100
#: Short runs: what is measured is the sweep, not the integrations.
SHORT = (
    STUDY.replace("points = 50", "points = 10")
    .replace("end = 1000.0", "end = 10.0")
    .replace("1e-8", "1e-6")
)


def over(points: int) -> dict[str, list[Any]]:
    """Learning rates in 0.1 … 2 and seeds, so many together."""
    seeds = min(SEEDS, points)
    rates = np.linspace(0.1, 2.0, max(1, points // seeds))
    return {"training.learning_rate": rates.tolist(), "initial.seed": list(range(seeds))}


def at_once(points: Sequence[Any], **options: Any) -> Any:
    """A chunk of numbers that nobody had to wait for."""
    from symderiv.integrate.ensemble import Chunk

    n, A, K = len(points), 50, 2
    values = np.random.default_rng(n).standard_normal((n, A, K, K))
    return Chunk(
        alpha=points[0].alpha,
        status=np.full(n, "done", dtype=object),
        alpha_end=np.full(n, 1000.0),
        error_sum=np.zeros(n),
        tolerance_reached=np.full(n, np.nan),
        steps=np.ones(n, dtype=np.int64),
        rhs_evaluations=np.ones(n, dtype=np.int64),
        wall_seconds=np.zeros(n),
        values={
            "Q": values,
            "R": values,
            "v": values[..., 0],
            "T": values[:, 0],
            "generalization_error": values[..., 0, 0],
        },
    )


def overhead(points: int) -> dict[str, float]:
    """Seconds per point without the integration, again when all is there, and memory in MB."""
    from symderiv.problem.study import parse_study
    from symderiv.sweeps import study_grid
    from symderiv.sweeps.sweep import run_sweep

    study = parse_study(STUDY)
    found = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(study_grid, "integrate_chunk", at_once),
    ):
        run_sweep(study, over(16), Path(folder) / "first.zarr")
        before = _memory()
        for name in ("first call", "second call, all verified"):
            started = time.perf_counter()
            run_sweep(study, over(points), Path(folder) / "sweep.zarr", where=0)
            found[name] = (time.perf_counter() - started) / points
        found["memory"] = _memory()
        found["memory above the imports"] = found["memory"] - before
    return found


def ratio(points: int) -> dict[str, float]:
    """Seconds of the integrations alone, and of the sweep."""
    from symderiv.integrate.ensemble import integrate_chunk
    from symderiv.problem.study import parse_study
    from symderiv.sweeps.study_grid import Grid
    from symderiv.sweeps.sweep import run_sweep

    study = parse_study(STUDY)
    grid = Grid(study, over(points))
    integrate_chunk(list(grid.studies(range(min(16, points)))))
    started = time.perf_counter()
    integrate_chunk(list(grid.studies(range(points))))
    alone = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder:
        run_sweep(study, over(16), Path(folder) / "first.zarr")
        started = time.perf_counter()
        run_sweep(study, over(points), Path(folder) / "sweep.zarr", where=0)
        swept = time.perf_counter() - started
    return {"integrated": alone, "swept": swept}


class Watched:
    """The largest memory in MB of this process and of the largest that it has started."""

    def __init__(self) -> None:
        self.own = self.started = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watched:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        this = psutil.Process()
        while not self._ended.wait(0.5):
            self.own = max(self.own, this.memory_info().rss / 2**20)
            for process in this.children(recursive=True):
                with suppress(psutil.Error):
                    self.started = max(self.started, process.memory_info().rss / 2**20)


def whole(points: int) -> None:
    """Sweep so many points, again when all is there, and draw curves; print times and memory."""
    from symderiv.problem.study import parse_study
    from symderiv.sweeps.sweep import run_sweep

    study = parse_study(SHORT)
    seeds = min(1000, points)
    rates = np.linspace(0.1, 2.0, max(1, points // seeds)).tolist()
    keys: dict[str, list[Any]] = {
        "training.learning_rate": rates,
        "initial.seed": list(range(seeds)),
    }
    count = len(rates) * seeds
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "sweep.zarr"
        run_sweep(study, over(16), Path(folder) / "first.zarr", where=0)
        print(f"{count} points, K = M = 2, erf, full order, 10 outputs to 10, 1e-6")
        print(f"  {'the imports':<28} {_memory():.0f} MB", flush=True)
        for name in ("first call", "second call, all verified"):
            with Watched() as watched:
                started = time.perf_counter()
                found = run_sweep(study, keys, store)
                seconds = time.perf_counter() - started
            print(
                f"  {name:<28} {seconds:.0f} s, {1e3 * seconds / count:.3f} ms per point; at most "
                f"{watched.own:.0f} MB, a worker {watched.started:.0f} MB",
                flush=True,
            )
        with Watched() as watched:
            started = time.perf_counter()
            found.figure().savefig(Path(folder) / "curves.png")
            seconds = time.perf_counter() - started
        print(f"  {'its curves, drawn':<28} {seconds:.0f} s; at most {watched.own:.0f} MB")
        size = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
        print(f"  {'the store':<28} {size / 2**20:.0f} MB; {dict(found.statuses)}")


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _in_new_process(what: str, points: int) -> dict[str, float]:
    words = [sys.executable, "-m", "benchmarks.sweep", "--only", what, "--points", str(points)]
    found: dict[str, float] = json.loads(subprocess.check_output(words))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("overhead", "ratio"))
    parser.add_argument("--points", type=int, help="sweep so many as a user would")
    parser.add_argument("--overhead-points", type=int, default=100_000)
    parser.add_argument("--ratio-points", type=int, default=10_000)
    options = parser.parse_args()
    if options.points and not options.only:
        whole(options.points)
        return
    if options.only:
        measure = {"overhead": overhead, "ratio": ratio}[options.only]
        print(json.dumps(measure(options.points)))
        return
    found = _in_new_process("overhead", options.overhead_points)
    print(f"{options.overhead_points} points, integration replaced:")
    for name in ("first call", "second call, all verified"):
        print(f"  {name:<28} {1e3 * found[name]:.3f} ms per point")
    above = found["memory above the imports"]
    print(f"  {'largest memory':<28} {found['memory']:.0f} MB ({above:.0f} MB above the imports)")
    found = _in_new_process("ratio", options.ratio_points)
    print(f"{options.ratio_points} runs, K = M = 2, erf, full order, 50 outputs to 1000, 1e-8:")
    print(
        f"  integrated {found['integrated']:.2f} s, swept {found['swept']:.2f} s, ratio "
        f"{found['swept'] / found['integrated']:.2f}"
    )


if __name__ == "__main__":
    main()
