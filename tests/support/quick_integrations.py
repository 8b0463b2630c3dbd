"""Integrations that take no time but depend on every key of the study."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from symderiv.integrate.ensemble import Chunk
from symderiv.problem.study import Study

ERROR = "generalization_error"


def integrated(points: Sequence[Study], **options: Any) -> Chunk:
    """Numbers that are those of the study alone, whatever it is computed with."""
    first = points[0]
    n, A, K, M = len(points), first.alpha.size, first.K, first.M
    found: dict[str, list[np.ndarray]] = {"Q": [], "R": [], "v": [], "T": [], ERROR: []}
    status, steps = [], []
    for study in points:
        seed = int(hashlib.sha256(study.text.encode()).hexdigest()[:12], 16)
        random = np.random.default_rng(seed)
        for name, shape in (("Q", (A, K, K)), ("R", (A, K, M)), ("v", (A, K)), ("T", (M, M))):
            found[name].append(random.standard_normal(shape))
        steps.append(seed % 1000)
        found[ERROR].append(np.exp(-study.training.learning_rate * study.alpha))
        status.append("cone-left" if study.training.learning_rate > 3.0 else "done")
        if study.training.label_noise > 5.0:
            status[-1] = "failed: too much noise"
    arrays = {name: np.array(values) for name, values in found.items()}
    return Chunk(
        alpha=first.alpha,
        status=np.array(status, dtype=object),
        alpha_end=np.full(n, first.alpha[-1]),
        error_sum=np.zeros(n),
        tolerance_reached=np.full(n, np.nan),
        error_accuracy=np.full(n, np.nan),
        steps=np.array(steps),
        rhs_evaluations=np.array(steps),
        wall_seconds=np.random.default_rng().random(n),
        values=arrays,
    )
