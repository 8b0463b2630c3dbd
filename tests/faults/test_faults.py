"""A sample of ``make faults``; the whole of it is a campaign of its own."""

import random
from pathlib import Path

import pytest
from support.forked import forked
from support.rotating import DAY

from faults.__main__ import main
from faults.changed_bytes import formats, try_damages
from faults.damaged_stores import damaged_stores

pytestmark = pytest.mark.turns(3)


def test_a_damaged_file_never_gives_a_wrong_number(tmp_path: Path) -> None:
    seed = DAY
    print(f"seed {seed}")
    source = random.Random(seed)
    for name, (path, read) in formats(tmp_path).items():
        endings = try_damages(path, read, 20, source)
        assert set(endings) <= {"refused", "not used", "the same"}, name


def test_a_damaged_store_is_refused_and_mended(tmp_path: Path) -> None:
    print(f"seed {DAY}")
    for kind, endings, _ in damaged_stores(tmp_path, 2, random.Random(DAY)):
        # an opening before and one after; the copy of zarr.json is for those that go on
        refused = 0 if kind == "copy of zarr.json" else 2
        right = {"refused": refused, "mended": 2, "the same": 4 - refused}
        assert {ending: n for ending, n in endings.items() if n} == {
            ending: n for ending, n in right.items() if n
        }, kind


def test_other_faults_are_met() -> None:
    kinds = ("--only", "disk", "folder", "rivals")
    done = forked(main, *kinds, "--others", "4", "--disk", "2", "--seed", str(DAY))
    print(f"seed {DAY}\n{done.stdout}{done.stderr}")
    assert done.returncode == 0
    for met in ("full disk ", "read-only folder ", "two processes"):
        assert met in done.stdout
