"""A small study, and integrations that take no time but depend on every key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from symderiv.dynamics.ensemble import Chunk
from symderiv.dynamics.studies.study import Study, parse_study
from symderiv.sweeps import box_results, layout, store

STUDY = """
[network]
activation = "erf"
students = 2
teachers = 1
[data]
model = "power-law"
dimension = 12
distinct_eigenvalues = 4
exponent = 1.0
[training]
learning_rate = 0.5
label_noise = 0.1
[initial]
student_std = 0.1
[time]
end = 10.0
points = 5
"""


@pytest.fixture(autouse=True)
def few_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is a dozen files, and costs more than all points of these sweeps."""
    monkeypatch.setattr(layout, "_PARTS", 4)


@pytest.fixture
def study() -> Study:
    return parse_study(STUDY)


def integrated(points: Sequence[Study], **options: Any) -> Chunk:
    """Numbers that are those of the study alone, whatever it is computed with."""
    first = points[0]
    n, A, K, M = len(points), first.alpha.size, first.K, first.M
    found: dict[str, list[np.ndarray]] = {"Q": [], "R": [], "v": [], "T": [], "e": []}
    status, steps = [], []
    for study in points:
        seed = int(hashlib.sha256(study.text.encode()).hexdigest()[:12], 16)
        random = np.random.default_rng(seed)
        for name, shape in (("Q", (A, K, K)), ("R", (A, K, M)), ("v", (A, K)), ("T", (M, M))):
            found[name].append(random.standard_normal(shape))
        steps.append(seed % 1000)
        found["e"].append(np.exp(-study.training.learning_rate * study.alpha))
        status.append("cone-left" if study.training.learning_rate > 3.0 else "done")
        if study.training.label_noise > 5.0:
            status[-1] = "failed: too much noise"
    arrays = {name: np.array(values) for name, values in found.items()}
    return Chunk(
        alpha=first.alpha,
        Q=arrays["Q"],
        R=arrays["R"],
        v=arrays["v"],
        T=arrays["T"],
        generalization_error=arrays["e"],
        status=np.array(status, dtype=object),
        alpha_end=np.full(n, first.alpha[-1]),
        error_sum=np.zeros(n),
        steps=np.array(steps),
        rhs_evaluations=np.array(steps),
        wall_seconds=np.random.default_rng().random(n),
        further={},
    )


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Study]:
    """The studies that were integrated, by the stand-in for integrations."""
    seen: list[Study] = []

    def watched(points: Sequence[Study], **options: Any) -> Chunk:
        seen.extend(points)
        return integrated(points)

    monkeypatch.setattr(box_results, "integrate_chunk", watched)
    return seen


@pytest.fixture
def interrupting(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Kill the writer before it gives the next file its name, after so many; -1: never."""
    whole = store.place_file

    def after(count: int) -> None:
        left = [count]

        def writes(*arguments: Any) -> None:
            if left[0] == 0:
                raise SystemExit("killed")
            left[0] -= 1
            whole(*arguments)

        monkeypatch.setattr(store, "place_file", writes if count >= 0 else whole)

    return after
