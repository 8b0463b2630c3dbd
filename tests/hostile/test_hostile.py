"""A sample of ``make hostile``; the whole of it is a campaign of its own."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path


def test_a_hundred_hostile_calls_end_in_time_and_in_one_line() -> None:
    seed = random.randrange(10**6)
    done = subprocess.run(
        [sys.executable, "-m", "hostile", "--calls", "100", "--seed", str(seed)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"seed {seed}\n{done.stdout}{done.stderr}")
    assert done.returncode == 0
    assert "100 calls" in done.stdout
