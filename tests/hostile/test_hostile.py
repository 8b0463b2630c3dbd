"""A sample of ``make hostile``; the whole of it is a campaign of its own."""

import pytest
from support.forked import forked
from support.rotating import DAY

from hostile.__main__ import main
from hostile.refusals import main as refusals

pytestmark = pytest.mark.turns(2)


def test_twenty_five_hostile_calls_end_in_time_and_in_one_line() -> None:
    done = forked(main, "--calls", "25", "--seed", str(DAY))
    print(f"seed {DAY}\n{done.stdout}{done.stderr}")
    assert done.returncode == 0
    assert "25 calls" in done.stdout


@pytest.mark.turns(2)
def test_what_can_be_refused_is_refused_at_once_and_leaves_nothing() -> None:
    # ``make hostile`` judges the second; here a call only has to end before it is stopped
    done = forked(refusals, "--part", str(DAY % 500), "500", "--soon", "5")
    print(f"part {DAY % 500} of 500\n{done.stdout}{done.stderr}")
    assert done.returncode == 0
    assert "faults: none" in done.stdout
