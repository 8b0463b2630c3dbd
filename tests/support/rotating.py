"""What tests sample is another part every day; the same day tries the same again.

SYMDERIV_TEST_DAY, a number, repeats the sample of another day; ``every`` tries the samples of all
days, as far as these come to an end, and whatever is drawn with the seed of today.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any, TypeVar
from zlib import crc32

GIVEN = "SYMDERIV_TEST_DAY"
_DAY = os.environ.get(GIVEN, "")
#: Whether what is dealt to other days is tried as well.
EVERY = _DAY == "every"
DAY = date.today().toordinal() if EVERY or not _DAY else int(_DAY)

T = TypeVar("T")


def is_today(share: int, days: int) -> bool:
    """Whether a share of what is dealt to so many days is tried today."""
    return EVERY or share % days == DAY % days


def dealt(items: Iterable[T], cost: Callable[[T], float], days: int) -> list[list[T]]:
    """All items over so many days, none of them much dearer than another."""
    shares: list[list[T]] = [[] for _ in range(days)]
    costs = [0.0] * days
    for item in sorted(items, key=cost, reverse=True):
        day = costs.index(min(costs))
        shares[day].append(item)
        costs[day] += cost(item)
    return shares


def of_other_days(tests: Iterable[Any], day: int) -> list[Any]:
    """Tests that are not of this day, of those that are dealt to several.

    Marked ``days(n)``: every n-th case of a test is of the same day; with fewer cases than days
    there is one a day. A test that has no cases is of every day where its file is marked so, and
    must not be marked so itself. Marked ``turns(n)``: an n-th
    of the tests of a file that are marked so, neighbours, which share what they derive; of fewer
    than n there are days without one.
    """
    turns: defaultdict[tuple[str, int], list[Any]] = defaultdict(list)
    cases: defaultdict[tuple[str, int], list[Any]] = defaultdict(list)
    for test in tests:
        if any(mark.name == "days" for mark in test.own_markers) and not hasattr(test, "callspec"):
            raise ValueError(f"{test.nodeid} has no cases that days(n) could deal; use turns(n)")
        if (mark := test.get_closest_marker("turns")) is not None:
            turns[test.nodeid.partition("::")[0], mark.args[0]].append(test)
        elif (mark := test.get_closest_marker("days")) is not None and hasattr(test, "callspec"):
            cases[test.nodeid.partition("[")[0], mark.args[0]].append(test)
    later = []
    for (file, days), group in turns.items():
        # files begin on days of their own, so that short ones do not meet
        today = (day + crc32(file.encode())) % days
        later += [test for i, test in enumerate(group) if i * days // len(group) != today]
    for (_, most), group in cases.items():
        days = min(most, len(group))
        later += [test for i, test in enumerate(group) if i % days != day % days]
    return later
