"""Order parameters that rules add: in files, datasets, ensembles and sweeps as in the run."""

from pathlib import Path

import numpy as np
import pytest

import symderiv as sd

pytestmark = pytest.mark.turns(2)

RULES = {
    "momentum": {"momentum_rate": 1.0, "train_biases": True},
    "averages and momentum": {
        "averaging_rate": 1.0,
        "consistency_weight": 0.3,
        "momentum_rate": 1.0,
    },
}
ADDED = {
    "momentum": {"b", "P", "W", "C"},
    "averages and momentum": {"P", "W", "C", "J.A", "A.A", "A.B", "U.A"},
}


@pytest.mark.parametrize("rule", RULES)
def test_they_are_wherever_the_run_is(rule: str, tmp_path: Path) -> None:
    problem = sd.Problem(
        "linear",
        students=2,
        teachers=3,
        learning_rate=0.5,
        time={"end": 1.0, "points": 4},
        **RULES[rule],
    )
    run = problem.solve(output=tmp_path / "run.nc")
    assert set(run.further) == ADDED[rule]
    opened = sd.open(tmp_path / "run.nc")
    rates = [0.25, 0.5]
    together = problem.ensemble(learning_rate=rates)
    swept = sd.open(problem.sweep(learning_rate=rates, output=tmp_path / "sweep.zarr").output)
    for name, values in run.further.items():
        axes = ("alpha", "student", "teacher" if name in ("C", "A.B") else "student_2")
        own = ("alpha", "student") if name == "b" else axes
        assert run.to_xarray()[name].dims == own
        assert np.array_equal(opened.further[name], values)
        for dataset in (together, swept.to_xarray()):
            assert dataset[name].dims == ("learning_rate", *own)
            assert dataset[name].values[1] == pytest.approx(values, abs=1e-9)
