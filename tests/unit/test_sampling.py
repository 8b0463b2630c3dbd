"""What tests are measured and dealt by."""

from types import SimpleNamespace
from typing import Any

import pytest
from support import rotating
from support.room_times import room_of
from support.rotating import dealt, is_today, of_other_days


def test_everything_is_dealt_once_and_no_day_is_dearer_by_more_than_one_item() -> None:
    costs = [7, 1, 1, 4, 2, 9, 3, 3, 1, 5, 2, 2]
    days = dealt(range(len(costs)), lambda item: costs[item], 3)
    assert sorted(item for day in days for item in day) == list(range(len(costs)))
    totals = [sum(costs[item] for item in day) for day in days]
    assert max(totals) - min(totals) <= 2


def test_a_share_has_its_day_and_all_have_every(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotating, "EVERY", False)
    for day in (7, 8, 9, 10):
        monkeypatch.setattr(rotating, "DAY", day)
        assert [share for share in range(8) if is_today(share, 4)] == [day % 4, day % 4 + 4]
    monkeypatch.setattr(rotating, "EVERY", True)
    assert all(is_today(share, 4) for share in range(8))


def test_rooms_are_the_folders_of_tests() -> None:
    assert room_of("tests/unit/cli/test_x.py::test_y[a::b/c]") == "unit/cli"
    assert room_of("tests/values/test_x.py::test_y") == "values"
    assert room_of("tests/test_x.py::test_y") == "tests"


def case(test: str, name: str, **marks: int) -> Any:
    def marker(name: str) -> Any:
        return SimpleNamespace(args=(marks[name],)) if name in marks else None

    return SimpleNamespace(
        nodeid=f"{test}[{name}]", callspec=name, get_closest_marker=marker, own_markers=[]
    )


def test_every_case_has_its_day_and_no_test_is_left_out_on_any() -> None:
    many = [case("many", str(i), days=3) for i in range(7)]
    few = [case("few", str(i), days=3) for i in range(2)]
    plain = [case("plain", str(i)) for i in range(4)]
    whole = case("whole", "", days=3)
    whole.nodeid = "whole"
    del whole.callspec
    tried: set[str] = set()
    for day in range(6):
        later = {test.nodeid for test in of_other_days([*many, *few, *plain, whole], day)}
        today = {test.nodeid for test in [*many, *few, *plain, whole]} - later
        assert {name.partition("[")[0] for name in today} == {"many", "few", "plain", "whole"}
        assert not any(name.startswith("plain") for name in later)
        tried |= today
    assert len(tried) == 7 + 2 + 4 + 1
    # cases are dealt, of which this one has none
    whole.own_markers = [SimpleNamespace(name="days")]
    with pytest.raises(ValueError, match=r"use turns\(n\)"):
        of_other_days([whole], 0)


def test_tests_of_a_file_come_in_turns() -> None:
    tests = [case(f"file.py::test_{i}", "a", turns=3) for i in range(8)]
    tried = [
        {t.nodeid for t in tests} - {t.nodeid for t in of_other_days(tests, d)} for d in (0, 1, 2)
    ]
    assert sum(map(len, tried)) == 8
    assert set.union(*tried) == {t.nodeid for t in tests}
    assert all(len(today) >= 2 for today in tried)
    # neighbours on one day; few tests on days of their own, which other files do not share
    assert {"file.py::test_0[a]", "file.py::test_1[a]"} <= next(
        t for t in tried if min(t) == "file.py::test_0[a]"
    )
    begun = set()
    for file in map(str, range(20)):
        few = [case(f"{file}::test_{i}", "a", turns=6) for i in range(2)]
        left = [day for day in range(6) if len(of_other_days(few, day)) < 2]
        assert left[1] - left[0] == 3
        begun.add(left[0])
    assert begun == {0, 1, 2}
