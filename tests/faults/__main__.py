"""``make faults``: what machines do to files and processes, and how it ended."""

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from faults.changed_bytes import formats, try_damages
from faults.damaged_stores import damaged_stores
from faults.processes import (
    LONG,
    crowd,
    full_disk,
    kills,
    read_only,
    rivals,
    warm_up,
)

GOOD = {
    *("refused", "not used", "the same", "killed", "too late", "gone on", "begun again", "told"),
    *("exit code 0", "one of the two", "recomputed", "told of the other", "mended"),
}
"""Endings that are as they should be."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bytes", type=int, default=200, help="damages of each kind of file")
    parser.add_argument("--kills", type=int, default=200, help="over all long commands")
    parser.add_argument("--case", nargs="+", choices=list(LONG), help="kill these only")
    parser.add_argument("--others", type=int, default=20, help="of every other fault")
    parser.add_argument("--disk", type=int, default=60, help="disks that are full")
    parser.add_argument("--crowd", type=int, default=50, help="processes on one empty cache")
    kinds = ["bytes", "kills", "disk", "folder", "rivals", "crowd", "stores"]
    parser.add_argument("--only", nargs="+", choices=kinds, default=kinds)
    options = parser.parse_args()

    def wanted(kind: str) -> bool:
        return kind in options.only

    source = random.Random(options.seed)
    bad: Counter[str] = Counter()

    def show(name: str, endings: Counter[str]) -> None:
        found = {key: count for key, count in endings.items() if count}
        print(f"{name:<26}" + ", ".join(f"{n} {key}" for key, n in found.items()), flush=True)
        bad.update({key: count for key, count in found.items() if key not in GOOD})

    warm_up()
    if wanted("bytes"):
        print("single damages of files: changed bytes, zeroed, cut off, removed, another file")
        with tempfile.TemporaryDirectory() as folder:
            for name, (path, read) in formats(Path(folder)).items():
                show(name, try_damages(path, read, options.bytes, source))
    if wanted("kills"):
        print("kill -9 at random moments")
        for case, (*_, share) in LONG.items():
            if case in (options.case or LONG):
                show(case, kills(case, options.kills * share // 10, source))
    if wanted("disk"):
        show("full disk", full_disk(options.disk, source))
    if wanted("folder"):
        show("read-only folder", read_only())
    if wanted("rivals"):
        show("two processes, one output", rivals(options.others // 2))
    if wanted("crowd"):
        show(f"{options.crowd} on an empty cache", crowd(options.crowd))
    if wanted("stores"):
        print("stores of sweeps, single damages: opened, gone on with, opened again")
        with tempfile.TemporaryDirectory() as folder:
            for name, endings, plain in damaged_stores(Path(folder), options.bytes, source):
                show(name, endings)
                print(f"{'':<26}plain xarray: " + ", ".join(f"{n} {k}" for k, n in plain.items()))
    print(f"faults that were not met: {dict(bad) or 'none'}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
