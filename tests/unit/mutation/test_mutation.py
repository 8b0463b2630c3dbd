"""The changes that mutation testing makes, what it leaves alone, and the list of equivalents."""

from pathlib import Path

import pytest

from mutation.moved import follow
from mutation.operators import changed_text, is_change, mutants
from mutation.reach import _Naming
from mutation.record import Record, equivalents, noticed_by_none_left, table
from mutation.snapshot import Snapshot
from mutation.trial import Outcome

TOP = Path(__file__).resolve().parents[3]

SOURCE = '''"""Docstring with a + b and 1."""
import logging
LIMIT: int = 3

def f(a, b, eta=0.5):
    """Never a < b."""
    if a < b and eta:
        raise ValueError(f"{a + b} is 1")
    total = -a * b[a, b]
    for i in range(a):
        total += min(i, b)
    logging.info(a + b)
    return total + g(a, b, key=2) + len([x for x in b if x])
'''


def changes(source: str = SOURCE) -> set[tuple[str, str]]:
    found = [m for m in mutants("f.py", source) if is_change(source, m)]
    assert len({m.identity for m in found}) == len(found)
    return {(m.before, m.after) for m in found}


@pytest.mark.parametrize(
    "change",
    [
        ("-a", "(a)"),
        ("-a * b[a, b]", "(-a / b[a, b])"),
        ("-a * b[a, b]", "(b[a, b])"),
        ("b[a, b]", "(b[a - 1, b])"),
        ("b[a, b]", "(b[b, a])"),
        ("a < b", "(a <= b)"),
        ("a < b", "(a >= b)"),
        ("a < b and eta", "(a < b or eta)"),
        ("a < b and eta", "(eta)"),
        ("a < b and eta", "False"),
        ("a < b and eta", "(not (a < b and eta))"),
        ("0.5", "(1.0)"),
        ("3", "(4)"),
        ("3", "(2)"),
        ("range(a)", "(range(1, a))"),
        ("range(a)", "(range(0, a - 1))"),
        ("total += min(i, b)", "pass"),
        ("total += min(i, b)", "total -= min(i, b)"),
        ("total += min(i, b)", "total = min(i, b)"),
        ("min(i, b)", "(max(i, b))"),
        ("g(a, b, key=2)", "(g(b, a, key=2))"),
        ("g(a, b, key=2)", "(g(a, b))"),
        ("[x for x in b if x]", "([x for x in b])"),
    ],
)
def test_what_is_changed(change: tuple[str, str]) -> None:
    assert change in changes()


def test_words_for_readers_are_left_alone() -> None:
    assert not any("a + b" in before for before, _ in changes())
    words = '__all__ = ["f"]\nassert 1 < 2\nfrom typing import Any\nx: list[1] = []\n'
    assert changes(words) == set()


def test_names_of_outer_variables_are_no_places() -> None:
    inner = "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 2\n    return g\n"
    assert ("2", "(3)") in changes(inner)


def test_a_change_is_made_at_its_place_only() -> None:
    source = "é = 1 + 1; y = 1\nz = (1 +\n     1)\n"
    made = {changed_text(source, m) for m in mutants("f.py", source) if m.before == "1"}
    assert "é = 1 + (2); y = 1\nz = (1 +\n     1)\n" in made
    assert "é = 1 + 1; y = 1\nz = (1 +\n     (0))\n" in made
    assert len(made) == 10


def test_what_is_said_to_be_equivalent_is_still_in_the_source() -> None:
    """Else the proof is about something that is no longer there."""
    places: dict[str, set[tuple[str, ...]]] = {}
    for (file, *change), excused in equivalents().items():
        if file not in places:
            every = mutants(file, (TOP / file).read_text(encoding="utf-8"))
            found = {(m.function, m.before, m.after, str(m.occurrence)) for m in every}
            places[file] = found | {place[:3] for place in found}
        for one in excused:
            place = change if one.occurrence is None else [*change, str(one.occurrence)]
            assert tuple(place) in places[file], one


def test_an_equivalent_may_be_meant_at_one_place_only(tmp_path: Path) -> None:
    listed = tmp_path / "equivalent.toml"
    listed.write_text(
        '[[equivalent]]\nfile = "f"\nfunction = "g"\nchanges = ["1 -> (2)"]\noccurrence = 3\n'
        'proof = "It is multiplied by zero."\n'
    )
    (only,) = equivalents(listed)["f", "g", "1", "(2)"]
    assert only.occurrence == 3


def test_the_table_of_the_manual_is_that_of_the_kept_results() -> None:
    manual = (TOP / "docs" / "manual" / "benchmarks.md").read_text(encoding="utf-8")
    assert table(Record(TOP / "mutation" / "results.jsonl")) in manual


def test_what_only_a_test_that_is_gone_noticed_is_open(tmp_path: Path) -> None:
    (mutant, *_) = mutants("f.py", SOURCE)
    (tmp_path / "t.py").write_text("def test_here() -> None: ...\n")
    record = Record(tmp_path / "results.jsonl")
    for by, still in (("t.py::test_here[a]", 0), ("t.py::test_gone[a]", 1), ("u.py::test_here", 1)):
        record.add("data", "1", mutant, Outcome("noticed", by, "", 1, 0, 1.0))
        assert len(noticed_by_none_left(record, "data", tmp_path)) == still


def test_tests_that_name_what_is_made_at_import_are_asked(tmp_path: Path) -> None:
    """No line of theirs is seen: the number was there before, and compiled code is not watched."""
    (tmp_path / "tree" / "tests").mkdir(parents=True)
    (tmp_path / "tree" / "tests" / "test_a.py").write_text(
        "from package import numbers\nfrom package.other import LIMIT\n"
        "def test_one(): assert numbers.LIMIT\ndef test_two(): assert numbers.OTHER\n"
    )
    ids = [
        "tests/test_a.py::test_one[1]",
        "tests/test_a.py::test_one[2]",
        "tests/test_a.py::test_two",
    ]
    naming = _Naming(Snapshot(tmp_path), ids)
    assert naming.tests("package/numbers.py", ["LIMIT", "_OWN"]) == set(ids[:2])
    assert naming.tests("package/third.py", ["LIMIT"]) == set()


def test_results_follow_code_to_other_files(tmp_path: Path) -> None:
    """Where it is there once, or in one file of the old name; else they are left out."""
    one, two, three = (f"def {n}(a):\n    return a + 1\n" for n in ("one", "two", "three"))
    old = {"old/a.py": one + two + three, "old/b.py": one, "b.py": one + two, "gone.py": three}
    new = {"new/a.py": one, "new/b.py": one, "c.py": two, "b.py": one}
    rooms = {file: f"room of {file}" for file in new}
    results = tmp_path / "results.jsonl"
    record = Record(results)
    outcome = Outcome("noticed", "test", "", 1, 0, 0.5)
    for file, text in old.items():
        for mutant in mutants(file, text):
            record.add("room", "1", mutant, outcome)
    each = len(mutants("a.py", one))
    moved, lost = follow(results, rooms, new.__getitem__)
    # one() of a.py and two() of both files are in one place; two files named b.py have one()
    assert moved == 3 * each
    assert sorted(lost) == ["gone.py"] * each + ["old/a.py"] * each + ["old/b.py"] * each
    wanted = {
        (m.identity, f"room of {file}")
        for file in ("new/a.py", "c.py", "b.py")
        for m in mutants(file, new[file])
    }
    assert {(key, entry["room"]) for key, entry in record.read().items()} == wanted
    assert len(results.read_text().splitlines()) == 4 * each
    assert follow(results, rooms, new.__getitem__) == (0, [])
