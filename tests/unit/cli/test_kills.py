"""Runs that are killed at any moment end with the numbers of an undisturbed run, bit for bit."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.rotating import DAY

from symderiv.foundation.seals import sealed
from symderiv.storage.run_files import read_run

pytestmark = pytest.mark.turns(3)

SUPPORT = Path(__file__).parents[2] / "support"

# The integration is repeated three times to measure its error; two layers, so that all of the
# stepper's memory matters; noise, so that all generators do.
STUDY = """
[network]
activation = "erf"
students = 2
teachers = 2
train_second_layer = true
[data]
model = "power-law"
dimension = 60
distinct_eigenvalues = {modes}
exponent = 0.5
[training]
learning_rate = 0.5
label_noise = 0.1
weight_decay = 1e-3
[initial]
student_std = 0.1
[simulation]
runs = 3
method = "{method}"
end = {simulated}
[time]
end = {end}
points = 30
relative_tolerance = {tolerance}
"""

CASES = {
    "solve": ("solve", "run", {"modes": 2, "end": 1000000.0, "tolerance": 1e-11}),
    "vectors": ("simulate", "sim", {"method": "vectors", "simulated": 5000.0, "end": 5000.0}),
    "gram": ("simulate", "sim", {"method": "gram", "simulated": 9000.0, "end": 9000.0}),
}


class Commands:
    """The other end of ``forked_commands``."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, SUPPORT / "forked_commands.py", SUPPORT / "smoke.toml"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(
        self,
        folder: Path,
        *words: str,
        after: float = 0.0,
        number: int | None = None,
        largest_file: int | None = None,
    ) -> dict[str, Any]:
        request = {
            "words": words,
            "folder": str(folder),
            "signal": number,
            "after": after,
            "largest_file": largest_file,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    running = Commands()
    yield running
    running.close()


def _write_study(folder: Path, values: dict[str, Any]) -> None:
    defaults = {"modes": 2, "method": "auto", "simulated": 1.0, "tolerance": 1e-9}
    (folder / "s.toml").write_text(STUDY.format(**{**defaults, **values}))


def _assert_same_numbers(first: Path, second: Path) -> None:
    expected, attributes = read_run(first)
    found, others = read_run(second)
    assert list(found) == list(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
    for name in {*attributes, *others} - {"wall_seconds"}:
        np.testing.assert_array_equal(others[name], attributes[name], err_msg=name)


@pytest.mark.days(2)
@pytest.mark.parametrize("case", CASES)
def test_a_run_killed_many_times_ends_with_the_same_numbers(
    case: str, commands: Commands, tmp_path: Path
) -> None:
    command, kind, values = CASES[case]
    _write_study(tmp_path, values)
    for _ in range(2):  # the second tells the time it takes once everything is compiled
        undisturbed = commands(tmp_path, command, "s.toml", "--output", "whole.nc", "--json")
        assert undisturbed["code"] == 0, undisturbed["err"]
    seconds = json.loads(undisturbed["out"])["wall_seconds"]
    start = 0.9 * (undisturbed["seconds"] - seconds)
    print(f"seed {DAY}")
    moments = random.Random(DAY)
    output, checkpoint = tmp_path / f"s-{kind}.nc", tmp_path / f"s-{kind}.nc.checkpoint"
    kills = resumed = 0
    while not output.exists():
        after = start + moments.uniform(0.0, 0.2) * seconds
        number = int(signal.SIGKILL) if kills < 6 else None
        answer = commands(
            tmp_path, command, "s.toml", "--checkpoint-every", "0", after=after, number=number
        )
        resumed += "resuming at alpha = " in answer["err"]
        assert "not used" not in answer["err"]
        assert "Traceback" not in answer["err"]
        if answer["code"] == 0:
            break
        assert answer["code"] == -signal.SIGKILL, answer["err"]
        kills += 1
        # whole or absent
        if output.exists():
            read_run(output)
    print(f"{kills} kills, {resumed} resumed, {seconds} s")
    # fewer than all only if the machine became much faster after the first run
    assert kills >= 1
    assert not checkpoint.exists()
    _assert_same_numbers(tmp_path / "whole.nc", output)


def test_a_process_of_its_own_killed_after_its_first_checkpoint_goes_on(
    commands: Commands, tmp_path: Path
) -> None:
    _write_study(tmp_path, CASES["gram"][2])
    assert commands(tmp_path, "simulate", "s.toml", "--output", "whole.nc")["code"] == 0
    words = [sys.executable, "-m", "symderiv", "simulate", "s.toml", "--checkpoint-every", "0"]
    process = subprocess.Popen(words, cwd=tmp_path)
    checkpoint = tmp_path / "s-sim.nc.checkpoint"
    while process.poll() is None and not checkpoint.exists():
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    answer = commands(tmp_path, "simulate", "s.toml")
    assert answer["code"] == 0
    assert "resuming at alpha = " in answer["err"]
    _assert_same_numbers(tmp_path / "whole.nc", tmp_path / "s-sim.nc")


def test_signals_leave_a_state_to_go_on_from_and_say_how(
    commands: Commands, tmp_path: Path
) -> None:
    _write_study(tmp_path, CASES["solve"][2])
    words = ("solve", "s.toml", "--output", "my run.nc")
    whole = commands(tmp_path, "solve", "s.toml", "--output", "whole.nc", "--json")
    for number in (signal.SIGINT, signal.SIGTERM):
        # before the work begins and after its end no part is computed; in between, wherever that
        # is on this machine today, times that lie ever closer hit it
        for n in range(60):
            after = whole["seconds"] * ((0.5 + 0.618034 * n) % 1.0)
            (tmp_path / "my run.nc").unlink(missing_ok=True)
            answer = commands(tmp_path, *words, "--fresh", after=after, number=int(number))
            if answer["code"] == 128 + number and "the computed part" in answer["err"]:
                break
        assert answer["code"] == 128 + number
        (line,) = answer["err"].splitlines()
        assert line.startswith("symderiv: error: ")
        assert "interrupted" in line
        # what was there is started over, so --fresh is not part of it
        assert line.endswith("resume with: symderiv solve s.toml --output 'my run.nc'")
        # what was computed is kept, as a whole file
        variables, _ = read_run(tmp_path / "my run.nc")
        assert 0 < variables["alpha"].size <= 30
        assert (tmp_path / "my run.nc.checkpoint").exists()
    answer = commands(tmp_path, *words)
    assert answer["code"] == 0
    assert "resuming at alpha = " in answer["err"]
    _assert_same_numbers(tmp_path / "whole.nc", tmp_path / "my run.nc")
    assert not (tmp_path / "my run.nc.checkpoint").exists()


def test_a_full_disk_is_told_and_costs_neither_the_old_file_nor_the_run(
    commands: Commands, tmp_path: Path
) -> None:
    _write_study(tmp_path, {"end": 50.0, "simulated": 20.0})
    whole = commands(tmp_path, "solve", "s.toml", "--output", "whole.nc")
    assert whole["code"] == 0
    size = (tmp_path / "whole.nc").stat().st_size
    output = tmp_path / "s-run.nc"
    for old in (None, sealed(b"an older result", "nc")):
        if old is not None:
            output.write_bytes(old)
        # nothing can be written at all
        answer = commands(tmp_path, "solve", "s.toml", largest_file=2000)
        assert answer["code"] == 1
        assert answer["out"] == ""
        assert answer["err"].splitlines()[-1] == (
            "symderiv: error: s-run.nc: cannot be written: File too large"
        )
        assert sorted(os.listdir(tmp_path)) == ["s-run.nc"] * (old is not None) + [
            "s.toml",
            "whole.nc",
        ]
        assert old is None or output.read_bytes() == old
    # there is room for the checkpoint, which holds the finished run
    answer = commands(tmp_path, "solve", "s.toml", largest_file=size - 1)
    assert answer["code"] == 1
    assert "the computed part is stored in s-run.nc.checkpoint" in answer["err"]
    answer = commands(tmp_path, "solve", "s.toml")
    assert answer["code"] == 0
    assert "resuming at alpha = 50" in answer["err"]
    _assert_same_numbers(tmp_path / "whole.nc", output)
    answer = commands(tmp_path, "simulate", "s.toml", largest_file=2000)
    assert answer["code"] == 1
    assert answer["err"].endswith("s-sim.nc: cannot be written: File too large\n")
    assert sorted(os.listdir(tmp_path)) == ["s-run.nc", "s.toml", "whole.nc"]
