"""What ``make systems`` says of the cost of the room, on a tree of which everything is known."""

from pathlib import Path

import pytest

from benchmarks import system_budget


def _tree(folder: Path, listed: str) -> None:
    for name, text in {
        "symderiv/learning/rule/one.py": "a = 1\n\nb = 2\n",
        "symderiv/integrate/rules/two.py": "c = 3\n",
        "symderiv/experiment/three.py": "d = 4\n" * 5,
        "symderiv/integrate/flows/apart.py": "e = 5\n" * 100,
        "symderiv/system/four.py": "f = 6\n" * 7,
        "symderiv/system/notes.txt": "no source\n",
        "benchmarks/new_rules.toml": f'[[rule]]\nname = "a rule"\nfiles = [{listed}]\n',
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_rows_count_lines_by_room_and_files_by_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tree(tmp_path, '"symderiv/system/four.py", "symderiv/integrate/rules/two.py"')
    monkeypatch.setattr(system_budget, "PROJECT", tmp_path)
    monkeypatch.setattr(system_budget, "cold_seconds", {"quick": 0.5, "slow": 2.5}.__getitem__)
    found, failed = system_budget.rows(["quick", "slow"])
    assert "learning 3, rules, experiment 6, system 7: 16, 0.00 of 14189" in found[0]
    assert found[0].endswith("15 of them code")
    assert "a rule: 2 files" in found[1]
    assert "slow, 2.50 CPU s" in found[2]
    assert failed == 0
    monkeypatch.setattr(system_budget, "LINES_BEFORE", 20)
    assert system_budget.rows(["slow"])[1] == 1
    monkeypatch.setattr(system_budget, "cold_seconds", lambda name: 3.0)
    assert system_budget.rows(["slow"])[1] == 2


@pytest.mark.parametrize("listed", ['"nowhere.py"', ", ".join(2 * ['"symderiv/system/four.py"'])])
def test_files_of_a_rule_must_exist_and_be_listed_once(
    listed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tree(tmp_path, listed)
    monkeypatch.setattr(system_budget, "PROJECT", tmp_path)
    with pytest.raises(ValueError, match="a rule lists"):
        system_budget.new_rules()


def test_the_listed_rules_are_in_the_project() -> None:
    assert len(system_budget.new_rules()) == 2


def test_lines_of_code_are_told_from_those_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text('"""A\ntext."""\nimport os\n\n# a note\nx = (\n    1,  # one\n)\n"""Of x."""\n')
    assert system_budget.code_lines(path) == 3
