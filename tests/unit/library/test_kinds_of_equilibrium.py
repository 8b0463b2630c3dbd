"""Arguments of an equilibrium that belong to another kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symderiv as sd


@pytest.mark.parametrize(
    ("kind", "given", "belongs"),
    [
        ("erm", {"prior": "rademacher"}, "prior: belongs to bayes-optimal, not to erm"),
        ("annealed", {"ridge": 0.2}, "ridge: belongs to erm, not to annealed"),
        ("erm", {"T": np.eye(2)}, "T: belongs to annealed, not to erm"),
        ("annealed", {"output": "z"}, "output: belongs to bayes-optimal and erm, not to annealed"),
        ("best", {}, "kind: 'best' is not one of annealed, bayes-optimal, erm"),
    ],
)
def test_arguments_of_another_kind_are_refused(
    kind: str, given: dict[str, Any], belongs: str
) -> None:
    problem = sd.Problem("relu", students=2, teachers=2)
    with pytest.raises(sd.InputError, match=f"^{belongs}"):
        problem.equilibrium(alpha=[1.0], kind=kind, **given)
