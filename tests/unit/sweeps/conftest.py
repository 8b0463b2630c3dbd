"""A small study, and integrations that take no time but depend on every key."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from support.quick_integrations import integrated
from support.studies import toml

from symderiv.integrate.ensemble import Chunk
from symderiv.problem.study import Study, parse_study
from symderiv.sweeps import run_grid, study_grid
from symderiv.sweeps.files import manifest, sealed_files, store

STUDY = toml(
    network={"activation": "erf", "students": 2, "teachers": 1},
    data={"model": "power-law", "dimension": 12, "distinct_eigenvalues": 4, "exponent": 1.0},
    training={"learning_rate": 0.5, "label_noise": 0.1},
    initial={"student_std": 0.1},
    time={"end": 10.0, "points": 5},
)


@pytest.fixture(autouse=True)
def few_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is a dozen files, and costs more than all points of these sweeps."""
    monkeypatch.setattr(run_grid, "_PARTS", 4)


@pytest.fixture
def study() -> Study:
    return parse_study(STUDY)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Study]:
    """The studies that were integrated, by the stand-in for integrations."""
    seen: list[Study] = []

    def watched(points: Sequence[Study], **options: Any) -> Chunk:
        seen.extend(points)
        return integrated(points)

    monkeypatch.setattr(study_grid, "integrate_chunk", watched)
    return seen


@pytest.fixture
def interrupting(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Kill the writer before it gives the next file its name, after so many; -1: never."""
    whole = sealed_files.place_file

    def after(count: int) -> None:
        left = [count]

        def writes(*arguments: Any) -> None:
            if left[0] == 0:
                raise RuntimeError("killed")
            left[0] -= 1
            whole(*arguments)

        for module in (sealed_files, manifest, store):
            monkeypatch.setattr(module, "place_file", writes if count >= 0 else whole)

    return after
