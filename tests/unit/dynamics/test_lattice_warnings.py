"""Runs whose means go along a lattice: what they say of it, and what they cost."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symderiv as sd
from symderiv.checking.generated_check import check_generated
from symderiv.compiled_code.translated_functions import TranslatedModule
from symderiv.integrate.flows.study_flow import Flow
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.means import force_error
from symderiv.lowering.means.loss_means import LossMeans
from symderiv.lowering.means.uncompiled import NO_OVERFLOW, uncompiled
from symderiv.lowering.programs.loss_program import loss_program
from symderiv.lowering.solver_files import solver_of
from symderiv.problem.rule_of import rule_of
from symderiv.storage.kernels import Kernel


@pytest.mark.turns(6)
@pytest.mark.parametrize(("teachers", "points", "said"), [(2, 31, 1e-4), (1, 31, None)])
def test_the_largest_difference_between_lattices_is_said(
    monkeypatch: pytest.MonkeyPatch, teachers: int, points: int, said: float | None
) -> None:
    monkeypatch.setattr(force_error, "largest_deviation", lambda *_: 1e-12)
    rule: dict[str, Any] = {"loss": "logistic", "target": "sign", "keep": 0.7}
    problem = sd.Problem("erf", students=1, teachers=teachers, learning_rate=0.5, **rule)
    study = problem._study
    own = rule_of(study)
    asked = learning_problem("erf", None, own.rule)
    program = loss_program(derive_equations(asked), "made", LossMeans(asked, 1e-8))
    module = uncompiled(solver_of(program).readable, NO_OVERFLOW)
    module.FORCE_LATTICE[[0, 1]] = points, 7
    T = np.eye(teachers) + 0.2
    weights = np.array([0.9, -0.6])[:teachers]
    begin = {"Q": np.array([[0.7]]), "R": np.full((1, teachers), 0.3), "T": T}
    begin |= {"student_weights": np.ones(1), "teacher_weights": weights}
    state = SimpleNamespace(K=1, M=teachers, **begin)
    kernel = Kernel(module, Path("made.py"), "", "erf", "erf", checked_in=False)  # type: ignore[arg-type]
    flow = Flow(study, kernel, state, None, own)  # type: ignore[arg-type]
    run = SimpleNamespace(
        alpha=np.array([0.0, 1.0]),
        Q=np.full((2, 1, 1), 0.7),
        R=np.full((2, 1, teachers), 0.3),
        T=T,
        v=np.ones((2, 1)),
        teacher_weights=weights,
        further={},
    )
    lines = flow.mean_warnings(run)  # type: ignore[arg-type]
    if said is None:
        assert lines == []
    else:
        (line,) = lines
        largest = float(line.split("by up to ")[1].split()[0])
        assert said < largest < 0.3


def test_solvers_of_losses_are_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba would take half a minute for the right-hand side, and again for means of warnings."""
    monkeypatch.setattr(force_error, "largest_deviation", lambda *_: 1e-12)
    rule = sd.Problem("erf", students=2, teachers=1, loss="hinge", target="sign", learning_rate=1)
    asked = learning_problem("erf", None, rule_of(rule._study).rule)
    program = loss_program(derive_equations(asked), "made", LossMeans(asked, 1e-8))
    fast = TranslatedModule(solver_of(program).fast)
    assert fast.specialised(2, 1) is not None, fast.untranslated


@pytest.mark.turns(3)
def test_steps_are_no_finer_than_the_lattice() -> None:
    """Hundreds of steps were made where a dozen do, to follow kinks of sums over the lattice."""
    problem = sd.Problem(
        "erf", students=2, teachers=1, loss="hinge", target="sign", learning_rate=0.5
    )
    start = {"Q": [[0.5, 0.1], [0.1, 0.4]], "R": [[0.2], [0.05]], "T": [[1.6]]}
    with pytest.warns(UserWarning, match="1e-09 was asked for.*; ask for 0.0002"):
        run = problem.solve(alpha=[0.25, 0.5], initial=start)
    assert not run.tolerance_kept
    assert "ask for 0.0002" in (run.failure() or "")
    assert run.rhs_evaluations < 300
    with pytest.warns(UserWarning, match="means over many fields go along a lattice"):
        coarser = problem.solve(alpha=[0.25, 0.5], initial=start, relative_tolerance=2e-4)
    assert coarser.tolerance_kept
    assert coarser.failure() is None
    # steps of a tolerance of 1e-7, 1500 evaluations
    expected = [[0.5618993, 0.1554243], [0.1554243, 0.445924]]
    np.testing.assert_allclose(run.Q[-1], expected, atol=2e-6)


@pytest.mark.parametrize(
    "own",
    [{"loss": "logistic"}, {"student_biases": 0.3, "train_biases": True}],
    ids=["logistic", "trained biases, whose rate cancels"],
)
def test_kinks_that_cross_along_a_lattice_pass_the_check(
    monkeypatch: pytest.MonkeyPatch, own: dict[str, Any]
) -> None:
    """The sign of a ReLU unit for ReLU students: means along the lattice are off by 1e-5."""
    monkeypatch.setattr(force_error, "largest_deviation", lambda *_: 1e-12)
    keys: dict[str, Any] = {"target": "sign", "learning_rate": 1, **own}
    problem = sd.Problem("relu", students=1, teachers=1, **keys)
    asked = learning_problem("relu", None, rule_of(problem._study).rule)
    program = loss_program(derive_equations(asked), "made", LossMeans(asked, 1e-8))
    check_generated(solver_of(program), asked)
