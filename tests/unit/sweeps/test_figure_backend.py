"""Figures of sweeps leave the reader's own drawing alone."""

from pathlib import Path

import matplotlib as mpl

import symderiv as sd


def test_a_figure_of_a_sweep_does_not_change_the_backend(tmp_path: Path) -> None:
    """A notebook whose backend is changed shows none of its later figures."""
    problem = sd.Problem("erf", students=2, teachers=2, time={"end": 1.0, "points": 5})
    sweep = problem.sweep({"learning_rate": [0.1, 0.2]}, output=tmp_path / "rates.zarr")
    before = mpl.get_backend()
    mpl.use("svg")
    try:
        sweep.figure("final_error")
        assert mpl.get_backend() == "svg"
    finally:
        mpl.use(before)
