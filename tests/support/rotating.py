"""What tests sample is another part every day; the same day tries the same again.

SYMDERIV_TEST_DAY, a number, repeats the sample of another day.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any, TypeVar

DAY = int(os.environ.get("SYMDERIV_TEST_DAY", date.today().toordinal()))

T = TypeVar("T")


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
    there is one a day, and a test that has no cases is of every day. Marked ``turns(n)``: every
    n-th test of a file is of the same day.
    """
    groups: defaultdict[tuple[str, int], list[Any]] = defaultdict(list)
    for test in tests:
        if (mark := test.get_closest_marker("turns")) is not None:
            groups[test.nodeid.partition("::")[0], mark.args[0]].append(test)
        elif (mark := test.get_closest_marker("days")) is not None and hasattr(test, "callspec"):
            groups[test.nodeid.partition("[")[0], mark.args[0]].append(test)
    later = []
    for (_, most), group in groups.items():
        days = min(most, len(group))
        later += [test for i, test in enumerate(group) if i % days != day % days]
    return later
