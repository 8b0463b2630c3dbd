"""Runs that are killed at any moment end with the numbers of an undisturbed run, bit for bit."""

import os
import random
import signal
from pathlib import Path

import pytest
from faults.__main__ import GOOD
from faults.changed_bytes import same_numbers
from faults.processes import LONG, Started, kills, numbers, warm_up, write_study
from support.rotating import DAY

from symderiv.foundation.seals import sealed
from symderiv.storage.run_files import read_run

pytestmark = pytest.mark.turns(3)


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    warm_up()


@pytest.mark.days(2)
@pytest.mark.parametrize("case", ["solve", "simulate, vectors", "simulate, Gram"])
def test_a_run_killed_many_times_ends_with_the_same_numbers(case: str) -> None:
    endings = kills(case, 6, random.Random(DAY))
    print(f"seed {DAY}: {dict(endings)}")
    assert {ending for ending, count in endings.items() if count} <= GOOD


def test_signals_leave_a_state_to_go_on_from_and_say_how(tmp_path: Path) -> None:
    write_study(tmp_path, **LONG["solve"][0])
    words = ("solve", "s.toml", "--output", "my run.nc")
    whole = Started(tmp_path, "solve", "s.toml", "--output", "whole.nc", "--json").wait()
    for number in (signal.SIGINT, signal.SIGTERM):
        # before the work begins and after its end no part is computed; in between, wherever that
        # is on this machine today, times that lie ever closer hit it
        for n in range(60):
            after = whole.seconds * ((0.5 + 0.618034 * n) % 1.0)
            (tmp_path / "my run.nc").unlink(missing_ok=True)
            answer = Started(tmp_path, *words, "--fresh").wait(after, number)
            if answer.code == 128 + number and "the computed part" in answer.err:
                break
        assert answer.code == 128 + number
        (line,) = answer.err.splitlines()
        assert line.startswith("symderiv: error: ")
        assert "interrupted" in line
        # what was there is started over, so --fresh is not part of it
        assert line.endswith("resume with: symderiv solve s.toml --output 'my run.nc'")
        # what was computed is kept, as a whole file
        variables, _ = read_run(tmp_path / "my run.nc")
        assert 0 < variables["alpha"].size <= 30
        assert (tmp_path / "my run.nc.checkpoint").exists()
    answer = Started(tmp_path, *words).wait()
    assert answer.code == 0
    assert "resuming at alpha = " in answer.err
    assert same_numbers(numbers(tmp_path / "whole.nc"), numbers(tmp_path / "my run.nc"))
    assert not (tmp_path / "my run.nc.checkpoint").exists()


def test_a_full_disk_is_told_and_costs_neither_the_old_file_nor_the_run(tmp_path: Path) -> None:
    write_study(tmp_path, simulated=20.0)
    whole = Started(tmp_path, "solve", "s.toml", "--output", "whole.nc").wait()
    assert whole.code == 0
    size = (tmp_path / "whole.nc").stat().st_size
    output = tmp_path / "s-run.nc"
    for old in (None, sealed(b"an older result", "nc")):
        if old is not None:
            output.write_bytes(old)
        # nothing can be written at all
        answer = Started(tmp_path, "solve", "s.toml", largest=2000).wait()
        assert answer.code == 1
        assert answer.out == ""
        assert answer.err.splitlines()[-1] == (
            "symderiv: error: s-run.nc: cannot be written: File too large"
        )
        assert sorted(os.listdir(tmp_path)) == ["s-run.nc"] * (old is not None) + [
            "s.toml",
            "whole.nc",
        ]
        assert old is None or output.read_bytes() == old
    # there is room for the checkpoint, which holds the finished run
    answer = Started(tmp_path, "solve", "s.toml", largest=size - 1).wait()
    assert answer.code == 1
    assert "the computed part is stored in s-run.nc.checkpoint" in answer.err
    answer = Started(tmp_path, "solve", "s.toml").wait()
    assert answer.code == 0
    assert "resuming at alpha = 50" in answer.err
    assert same_numbers(numbers(tmp_path / "whole.nc"), numbers(output))
    answer = Started(tmp_path, "simulate", "s.toml", largest=2000).wait()
    assert answer.code == 1
    assert answer.err.endswith("s-sim.nc: cannot be written: File too large\n")
    assert sorted(os.listdir(tmp_path)) == ["s-run.nc", "s.toml", "whole.nc"]
