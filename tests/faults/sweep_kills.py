"""``python -m faults.sweep_kills``: kill -9 of the processes of a sweep at random moments.

Workers, the scheduler and the process that writes are killed while a sweep runs on processes of
this machine; whoever is gone is started again by the others or by the same command. In the end the
store holds, bit for bit, what an undisturbed one holds. Times that integrations took are left out.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from support.studies import toml

STUDY = toml(
    network={"activation": "erf", "students": 3, "teachers": 3},
    data={"model": "power-law", "dimension": 60, "distinct_eigenvalues": 3, "exponent": 0.5},
    training={"learning_rate": 0.5},
    initial={"student_std": 0.1},
    time={"end": 2000.0, "points": 30, "relative_tolerance": 1e-10},
)
PROGRAM = ("-c", "from symderiv.cli import main; main()")
OVER = ("--over", "training.learning_rate=0.1:1:20", "--over")


def started(folder: Path, store: str, seeds: int, *more: str) -> subprocess.Popen[bytes]:
    """The sweep on two processes, with a group of its own."""
    words = ["sweep", "s.toml", *OVER, f"initial.seed=0:{seeds - 1}:{seeds}", *more]
    return subprocess.Popen(
        [sys.executable, *PROGRAM, *words, "--output", store, "--json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def processes(writer: subprocess.Popen[bytes]) -> dict[str, list[psutil.Process]]:
    """Those of a sweep by what they do."""
    found: dict[str, list[psutil.Process]] = {"worker": [], "nanny": [], "scheduler": []}
    with suppress(psutil.Error):
        for one in psutil.Process(writer.pid).children(recursive=True):
            with suppress(psutil.Error):
                words = " ".join(one.cmdline())
                if "-m dask scheduler" in words:
                    found["scheduler"].append(one)
                elif "-m dask worker" in words:
                    found["nanny"].append(one)
                elif "multiprocessing.spawn" in words or "spawn_main" in words:
                    found["worker"].append(one)
    return found


def at_work(folder: Path, store: str, before: int) -> bool:
    """Whether boxes have been written since."""
    return len(list((folder / store / ".symderiv" / "boxes").glob("*.json"))) > before


def killed(
    folder: Path, seeds: int, kinds: list[str], source: random.Random
) -> tuple[Counter[str], dict[str, Any]]:
    """One kill of each kind at random moments; the last life goes to its end."""
    endings: Counter[str] = Counter()
    left = list(kinds)
    while True:
        writer = started(folder, "killed.zarr", seeds, "--workers", "2")
        boxes = len(list((folder / "killed.zarr" / ".symderiv" / "boxes").glob("*.json")))
        while left and writer.poll() is None:
            if not at_work(folder, "killed.zarr", boxes):
                time.sleep(0.05)
                continue
            time.sleep(source.uniform(0.0, 1.0))
            kind = left[0]
            there = processes(writer)
            chosen = [psutil.Process(writer.pid)] if kind == "writer" else there[kind]
            if not chosen or writer.poll() is not None:
                continue
            with suppress(psutil.Error):
                os.kill(source.choice(chosen).pid, signal.SIGKILL)
                endings[f"{kind} killed"] += 1
                left.pop(0)
            if kind in ("writer", "scheduler"):
                break
        out, err = writer.communicate()
        if writer.returncode == 0 and not left:
            return endings, json.loads(out)
        told = writer.returncode == 1 and b"scheduler stopped" in err
        endings["told of the scheduler" if told else f"exit code {writer.returncode}"] += 1
        if writer.returncode == 0:  # too quick for the kills that are left
            endings["too quick"] += len(left)
            return endings, json.loads(out)
        if writer.returncode not in (-signal.SIGKILL, 1) or (writer.returncode == 1 and not told):
            raise SystemExit(err.decode()[-2000:])


def contents(store: Path) -> dict[str, bytes]:
    """Every array of a store as bytes, but the times that integrations took."""
    import xarray

    def in_bytes(values: Any) -> bytes:
        # texts are kept by their places in memory
        return bytes(values) if values.dtype.kind in "fib" else repr(values.tolist()).encode()

    data = xarray.open_zarr(str(store), chunks=None).load()
    return {str(n): in_bytes(data[n].values) for n in data.variables if n != "wall_seconds"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="faults.sweep_kills", description=__doc__)
    parser.add_argument("--workers", type=int, default=20, help="workers to be killed")
    parser.add_argument("--others", type=int, default=2, help="of each: scheduler, writer, nanny")
    parser.add_argument("--seeds", type=int, default=600, help="the sweep has 20 times as many")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    source = random.Random(options.seed)
    kinds = ["worker"] * options.workers
    for kind in ("scheduler", "writer", "nanny"):
        kinds += [kind] * options.others
    source.shuffle(kinds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "s.toml").write_text(STUDY)
        whole = started(folder, "whole.zarr", options.seeds, "--workers", "0")
        out, err = whole.communicate()
        assert whole.returncode == 0, err.decode()[-2000:]
        endings, found = killed(folder, options.seeds, kinds, source)
        first, second = contents(folder / "whole.zarr"), contents(folder / "killed.zarr")
        different = [name for name in first if first[name] != second.get(name)]
    points = json.loads(out)["points"]
    print(f"{points} points: " + ", ".join(f"{n} {kind}" for kind, n in sorted(endings.items())))
    same = first.keys() == second.keys() and not different
    print(f"the same dataset, bit for bit: {'yes' if same else f'NO: {different}'}")
    sys.exit(not same or found["completed"] != points)


if __name__ == "__main__":
    main()
