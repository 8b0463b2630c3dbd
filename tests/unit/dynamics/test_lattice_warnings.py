"""What runs say of means along a lattice, from the functions of a module that is not compiled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symderiv as sd
from symderiv.integrate.rules.rule_run import RuleFlow
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.means import force_error
from symderiv.lowering.means.loss_means import LossMeans
from symderiv.lowering.means.uncompiled import NO_OVERFLOW, uncompiled
from symderiv.lowering.programs.loss_program import loss_program
from symderiv.lowering.solver_files import solver_of
from symderiv.problem.rule_of import rule_of


@pytest.mark.turns(6)
@pytest.mark.parametrize(("teachers", "points", "said"), [(2, 31, 1e-4), (1, 31, None)])
def test_the_largest_difference_between_lattices_is_said(
    monkeypatch: pytest.MonkeyPatch, teachers: int, points: int, said: float | None
) -> None:
    monkeypatch.setattr(force_error, "found", lambda *_: 1e-12)
    rule: dict[str, Any] = {"loss": "logistic", "target": "sign", "keep": 0.7}
    problem = sd.Problem("erf", students=1, teachers=teachers, learning_rate=0.5, **rule)
    study = problem._study
    own = rule_of(study)
    asked = learning_problem("erf", None, own.rule)
    program = loss_program(derive_equations(asked), "made", LossMeans(asked, 1e-8))
    module = uncompiled(solver_of(program).readable, NO_OVERFLOW)
    module.FORCE_LATTICE[[0, 1]] = points, 7
    T = np.eye(teachers) + 0.2
    state = SimpleNamespace(K=1, M=teachers)
    flow = RuleFlow(study, SimpleNamespace(module=module), state, None, own)  # type: ignore[arg-type]
    run = SimpleNamespace(
        alpha=np.array([0.0, 1.0]),
        Q=np.full((2, 1, 1), 0.7),
        R=np.full((2, 1, teachers), 0.3),
        T=T,
        v=np.ones((2, 1)),
        teacher_weights=np.array([0.9, -0.6])[:teachers],
        further={},
    )
    lines = flow.mean_warnings(run)  # type: ignore[arg-type]
    if said is None:
        assert lines == []
    else:
        (line,) = lines
        largest = float(line.split("by up to ")[1].split()[0])
        assert said < largest < 0.3
