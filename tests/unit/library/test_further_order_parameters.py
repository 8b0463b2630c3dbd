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


@pytest.mark.parametrize("rule", RULES)
def test_a_run_continues_from_the_state_at_the_end(rule: str, tmp_path: Path) -> None:
    problem = sd.Problem("linear", students=2, teachers=3, learning_rate=0.5, **RULES[rule])
    spectrum = problem.replace(inputs=sd.Spectrum([1.6, 0.4], dimension=100), batch=2)
    for each in (problem, spectrum):
        whole, half = each.solve(alpha=[1.0, 2.0]), each.solve(alpha=[0.5, 1.0])
        half.final.save(tmp_path / "half.npz")
        for start in (half.final, tmp_path / "half.npz"):
            rest = each.solve(alpha=[0.0, 1.0], initial=start)
            assert rest.Q[1] == pytest.approx(whole.Q[1], rel=1e-8)
            for name, values in half.further.items():
                assert rest.further[name][0] == pytest.approx(values[1], rel=1e-12, abs=1e-15)
            # runs that began in a given state are extended from there
            longer = each.solve(alpha=[0.0, 0.5], initial=start).extend(1.0, points=1)
            assert longer.Q[-1] == pytest.approx(whole.Q[1], rel=1e-8)
        half.save(tmp_path / "half.nc")
        opened = sd.open(tmp_path / "half.nc")
        assert np.array_equal(opened.initial.Q, half.initial.Q)
        assert opened.extend(2.0, points=1).Q[-1] == pytest.approx(whole.Q[1], rel=1e-8)
        (tmp_path / "half.nc").unlink()
        if each is problem and rule == "averages and momentum":
            continue  # one eigenvalue: the sums are the overlaps
        with pytest.raises(sd.InputError, match="not known in this state: files of runs"):
            each.solve(end=1, initial=opened.final)


def test_given_velocities_are_those_of_results() -> None:
    """They are not those of single examples, whose equations the modules integrate."""
    problem = sd.Problem("linear", students=1, teachers=1, momentum_rate=2.0, batch=3)
    given = {"Q": [[0.3]], "R": [[0.1]], "T": [[1.0]], "P": [[0.1]], "W": [[0.2]], "C": [[0.05]]}
    run = problem.solve(alpha=[0.0, 1e-4], relative_tolerance=1e-12, initial=given)
    rates = problem.rates(**given)
    assert rates.dQ[0, 0] == pytest.approx(2 * 0.1 / 3)
    for name in ("P", "W", "C"):
        values = run.further[name][:, 0, 0]
        assert values[0] == pytest.approx(given[name][0][0])
        slope = getattr(rates, f"d{name}")[0, 0]
        assert np.diff(values)[0] / 1e-4 == pytest.approx(slope, rel=1e-2, abs=1e-4)
