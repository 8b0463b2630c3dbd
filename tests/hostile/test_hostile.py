"""A sample of ``make hostile``; the whole of it is a campaign of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.rotating import DAY

pytestmark = pytest.mark.turns(2)


def test_twenty_five_hostile_calls_end_in_time_and_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hostile", "--calls", "25", "--seed", str(DAY)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"seed {DAY}\n{done.stdout}{done.stderr}")
    assert done.returncode == 0
    assert "25 calls" in done.stdout


@pytest.mark.turns(2)
def test_what_can_be_refused_is_refused_within_a_second_and_leaves_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hostile.refusals", "--part", str(DAY % 500), "500"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"part {DAY % 500} of 500\n{done.stdout}{done.stderr}")
    assert done.returncode == 0
    assert "faults: none" in done.stdout
