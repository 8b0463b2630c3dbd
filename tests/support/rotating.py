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
    """Cases of tests marked ``days(n)`` that are not of this day.

    Every n-th case of a test is of the same day; with fewer cases than days there is one a day, and
    a test that has no cases is of every day.
    """
    cases: defaultdict[str, list[Any]] = defaultdict(list)
    for test in tests:
        if test.get_closest_marker("days") is not None and hasattr(test, "callspec"):
            cases[test.nodeid.partition("[")[0]].append(test)
    later = []
    for group in cases.values():
        days = min(group[0].get_closest_marker("days").args[0], len(group))
        later += [test for i, test in enumerate(group) if i % days != day % days]
    return later
