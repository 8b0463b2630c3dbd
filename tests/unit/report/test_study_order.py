"""What a study tells and writes while it goes on, in its order."""

from pathlib import Path

import pytest

import symderiv as sd
from symderiv.show.plots import plots

STUDY = """
[network]
activation = "erf"
students = 1
teachers = 2
[data]
model = "isotropic"
dimension = 40
[training]
learning_rate = 0.3
[initial]
student_std = 0.3
[simulation]
runs = 2
end = 5.0
[time]
end = 20.0
points = 30
[sweep]
"training.learning_rate" = [0.3, 0.6]
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, float]]:
    """Lines and tasks in their order, with the page as it is when a line comes."""
    folder = tmp_path_factory.mktemp("study") / "out"
    page = folder / "report.html"
    found: list[tuple[str, str, float]] = []

    def notice(line: str) -> None:
        found.append((line, page.read_text(encoding="utf-8") if page.exists() else "", -1.0))

    def progress(task: str, fraction: float) -> None:
        found.append((str(task), getattr(task, "detail", ""), fraction))

    with pytest.MonkeyPatch.context() as patch:
        # what figures look like is no part of the order
        empty = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
        patch.setattr(plots, "write", lambda figure, target, kind: target.write(empty))
        result = sd.Problem.from_toml(STUDY).study(folder, progress=progress, notice=notice)
    assert result.to_text().splitlines()[-1] == f"Open {page} in a browser."
    found.append(("end", Path(result.report).read_text(encoding="utf-8"), -1.0))
    return found


@pytest.mark.turns(2)
def test_a_study_says_at_once_what_it_is_going_to_do(told) -> None:
    line, page, _ = told[0]
    assert "2 cases, η = 0.3 to η = 0.6: the equations to α = 20, then 2 SGD runs of each" in line
    assert "to α = 5; results in" in line
    assert page == ""


def test_the_page_shows_the_equations_before_anything_is_simulated(told) -> None:
    tasks = [task for task, _, _ in told]
    (place,) = [n for n, task in enumerate(tasks) if "shows the curves of the equations" in task]
    assert "simulating" not in tasks[:place]
    assert "solving" not in tasks[place:]
    early, late = told[place][1], told[-1][1]
    assert "Generalisation error over log α" in early
    assert "SGD is under way" in early
    assert "Equations and simulation" not in early
    assert "SGD is under way" not in late
    assert "Equations and simulation" in late


def test_simulations_of_all_cases_are_one_task(told) -> None:
    seen = [(detail, fraction) for task, detail, fraction in told if task == "simulating"]
    fractions = [fraction for _, fraction in seen]
    assert fractions[0] == 0.0
    assert fractions[-1] == pytest.approx(1.0)
    assert fractions == sorted(fractions)
    assert ("η = 0.6", 0.5) in seen
