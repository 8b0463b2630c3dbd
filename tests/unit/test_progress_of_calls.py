"""Every public call that may take long shows one bar, before it does anything."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import symderiv as sd
from symderiv.foundation import progress

#: Calls that read or write a file, state something, or compare what is there: moments each. The
#: last two are other names, or go on from results of calls that show a bar.
QUICK = {
    *("activation", "event", "norm2", "open", "compare"),
    *("Problem.from_toml", "Problem.to_toml", "Problem.to_dict", "Problem.save", "Problem.replace"),
    *("Problem.grid", "Problem.timed"),
    *("Problem.cite", "Problem.asymptotics"),
}

CURVED = sd.Problem("x+x**3/9", students=2, teachers=2)
PROBLEM = sd.Problem("linear", students=1, teachers=1, inputs=sd.Isotropic(100))
PLATEAU = {"units": 2, "T1": 1, "D1": 0, "T2": 1, "D2": 0}
CALLS: dict[str, Callable[[], Any]] = {
    "solve": lambda: PROBLEM.solve(end=1),
    "simulate": lambda: PROBLEM.simulate(end=1, runs=2),
    "fit": lambda: PROBLEM.fit(
        {"alpha": [1.0, 2.0], "generalization_error": [0.4, 0.3]}, parameters=["learning_rate"]
    ),
    "optimise": lambda: PROBLEM.optimise(bounds=(0, 1), end=1, pieces=1),
    "equilibrium": lambda: PROBLEM.equilibrium(alpha=[1]),
    "specialisation": lambda: CURVED.specialisation(units=[2]),
    "thresholds": lambda: sd.thresholds("abs(z)"),
    "ensemble": lambda: PROBLEM.ensemble(seed=[0, 1], end=1),
    "plateau": lambda: sd.plateau(**PLATEAU),
    "full plateau": lambda: sd.plateau(**PLATEAU, full=True, learning_rate=0.1),
    "late": lambda: sd.late(units=2, distinct_eigenvalues=2, exponent=1.0),
    "linear": lambda: sd.linear(
        distinct_eigenvalues=2, exponent=1.0, learning_rate=0.1, student_std=0.1, alpha=[1.0]
    ),
    "check": lambda: sd.check("i2", "c12", activation="linear"),
    "derive": lambda: sd.derive("linear"),
    "equations": lambda: PROBLEM.equations,
}


class Bars:
    """A bar that writes down what it is asked for."""

    made: list[Bars]

    def __init__(self) -> None:
        self.words: list[str] = []
        self.stopped = False
        self.made.append(self)

    def add_task(self, description: str, **options: Any) -> int:
        self.words.append(description)
        return 0

    def reset(self, number: int) -> None: ...

    def update(self, number: int, *, description: str, **options: Any) -> None:
        self.words.append(description)

    def stop(self) -> None:
        self.stopped = True


class Passed:
    """A clock on which the moment after which bars are shown is over at once."""

    daemon = False

    def __init__(self, seconds: float, call: Callable[[], None]) -> None:
        assert seconds <= progress.FIRST_LINE
        self._call = call

    def start(self) -> None:
        self._call()

    def cancel(self) -> None: ...


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Bars]:
    found: list[Bars] = []
    monkeypatch.setattr(Bars, "made", found, raising=False)
    monkeypatch.setattr(progress, "watched", lambda: True)
    monkeypatch.setattr(progress, "_started", Bars)
    monkeypatch.setattr(progress.threading, "Timer", Passed)
    return found


@pytest.mark.parametrize("name", CALLS)
def test_a_call_shows_one_bar_from_its_beginning_to_its_end(name: str, made: list[Bars]) -> None:
    CALLS[name]()
    assert len(made) == 1
    assert made[0].words[0]
    assert made[0].stopped


def test_a_bar_ends_with_a_call_that_fails(made: list[Bars]) -> None:
    with pytest.raises(sd.InputError):
        sd.check("i2", "nonsense(", activation="linear")
    assert [each.stopped for each in made] == [True]


def test_calls_inside_a_call_use_its_bar(made: list[Bars]) -> None:
    with progress.progress_bar(None, "outside"), progress.progress_bar("lines") as tell:
        tell("inside", 0.5)
    assert [each.words for each in made] == [["outside", "outside", "inside"]]
    with progress.progress_bar(False):
        sd.derive("linear")
    assert len(made) == 1


def test_a_function_is_told_and_nothing_is_shown_inside(made: list[Bars]) -> None:
    told: list[tuple[str, float]] = []
    with progress.progress_bar(lambda *words: told.append(words)) as tell:
        sd.derive("linear")
        tell("done", 1.0)
    assert told == [("done", 1.0)]
    assert not made


def public_calls() -> dict[str, Any]:
    """Public functions and methods of problems and systems by name."""
    found = {
        name: getattr(sd, name) for name in sd.__all__ if inspect.isfunction(getattr(sd, name))
    }
    for name, value in vars(sd.Problem).items():
        call = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if not name.startswith("_") and inspect.isfunction(call):
            if isinstance(value, property) and not hasattr(call, "told"):
                continue
            found[f"Problem.{name}"] = call
    return found


@pytest.mark.parametrize("name", sorted(public_calls()))
def test_a_call_has_progress_or_takes_a_moment(name: str) -> None:
    call = public_calls()[name]
    follows = "progress" in inspect.signature(call).parameters or hasattr(call, "told")
    assert follows != (name in QUICK), name
