"""What long work tells in logs."""

import re
import time

import pytest
from support.commands import symderiv

from symderiv.foundation import progress


@pytest.fixture
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST_LINE", 0.01)
    monkeypatch.setattr(progress, "_NEXT_LINE", 0.02)


@pytest.mark.usefixtures("_soon")
def test_lines_come_where_nobody_watches_and_end_with_the_work(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress.progress_bar("lines") as tell:
        time.sleep(0.1)
        tell("solving", 0.371)
        time.sleep(0.1)
    written = capsys.readouterr().err.splitlines()
    assert written[0] == "symderiv: preparing, 0 s"
    assert written[-1] == "symderiv: solving, 37 %, 0 s"
    time.sleep(0.05)
    assert not capsys.readouterr().err


@pytest.mark.usefixtures("_soon")
@pytest.mark.parametrize("wanted", [None, False])
def test_calls_are_silent_unless_lines_are_wanted(
    wanted: progress.Progress, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.progress_bar(wanted) as tell:
        tell("solving", 0.5)
        time.sleep(0.05)
    assert not capsys.readouterr().err


@pytest.mark.usefixtures("_soon")
def test_a_command_says_what_it_does_but_not_beside_json() -> None:
    words = ("plateau", "--units", "3", "--T1", "1", "--D1", "0", "--T2", "1", "--D2", "0")
    told = symderiv(*words)
    assert told.returncode == 0
    assert set(re.sub(r"\d+ s", "", told.stderr).splitlines()) == {
        "symderiv: deriving the plateau, "
    }
    assert symderiv(*words, "--json").stderr == ""


def test_a_run_of_a_day_writes_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    now = [0.0]

    class Ended:
        def wait(self, seconds: float) -> bool:
            waits.append(seconds)
            now[0] += seconds
            return now[0] > 86_400

    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "FIRST_LINE", 2.0)
    written = progress._Lines("solving")
    monkeypatch.setattr(written, "ended", Ended())
    written.write()
    assert waits[:4] == [2.0, 10.0, 10.0, 10.0]
    assert len(waits) < 50
