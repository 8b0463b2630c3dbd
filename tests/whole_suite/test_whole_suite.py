"""The run of all tests goes on where it was, and says what has not passed."""

from pathlib import Path

import pytest

from whole_suite.campaign import Campaign

GOOD = """
import pytest

def test_a():
    pass

def test_b():
    pytest.skip("no compiler")
"""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Two files of tests, of which one fails, of an engine of one module."""
    folder = tmp_path / "tests" / "unit"
    folder.mkdir(parents=True)
    (tmp_path / "symderiv").mkdir()
    (tmp_path / "symderiv" / "engine.py").write_text("x = 1\n")
    (folder / "test_good.py").write_text(GOOD)
    (folder / "test_rotten.py").write_text("def test_c():\n    assert 1 == 2\n")
    return tmp_path


def campaign(top: Path) -> Campaign:
    """As a new call of the command finds it."""
    return Campaign(top / "tests", top / "results")


def test_what_failed_or_changed_is_run_again_and_what_passed_is_not(
    top: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = campaign(top)
    assert first.open == ["unit/test_good.py", "unit/test_rotten.py"]
    first.run(2)
    assert "/2] unit/test_good.py: 1 passed, 1 skipped" in capsys.readouterr().out
    assert not first.passed
    assert "FAILED unit/test_rotten.py: 1 failed" in first.summary()
    assert "    FAILED unit/test_rotten.py::test_c" in first.summary()
    printed = top / "results" / "unit-test_rotten.py.txt"
    assert "assert 1 == 2" in printed.read_text()

    # only the other one is run again, also by a process that begins anew
    assert campaign(top).open == ["unit/test_rotten.py"]
    (top / "tests" / "unit" / "test_rotten.py").write_text("def test_c():\n    pass\n")
    second = campaign(top)
    second.run(1)
    assert "good" not in capsys.readouterr().out
    assert "all passed" in second.summary()
    assert "test_good.py:8: no compiler" in second.summary()
    assert not printed.exists()
    assert campaign(top).open == campaign(top).older == []

    # a changed engine opens nothing before all have passed, and then all of it
    (top / "symderiv" / "engine.py").write_text("x = 2\n")
    third = campaign(top)
    assert third.passed
    assert third.older == third.files
    assert "2 files passed with another engine" in third.summary()
    (top / "tests" / "unit" / "test_good.py").write_text("def test_a():\n    pass\n")
    assert campaign(top).open == ["unit/test_good.py"]


def test_a_file_that_cannot_be_imported_has_not_passed(top: Path) -> None:
    (top / "tests" / "unit" / "test_rotten.py").write_text("import no_such_module\n")
    broken = Campaign(top / "tests", top / "results", ("unit/test_r",))
    broken.run(1)
    assert not broken.passed
    assert "    ERROR unit/test_rotten.py" in broken.summary()
    with pytest.raises(SystemExit, match="begin with nowhere"):
        Campaign(top / "tests", top / "results", ("nowhere",))
