"""Running the dynamics: study files, integration, simulation, result files.

The names below are imported on first use; reading a study does not import numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symderiv.dynamics.rules.simulating import with_sampler
    from symderiv.dynamics.rules.whichever import simulate, solve
    from symderiv.dynamics.sgd.simulation import Simulation, write_simulation
    from symderiv.dynamics.stepping.moment_check import solve_moments
    from symderiv.dynamics.stepping.trajectory import Trajectory, write_run
    from symderiv.dynamics.storage.kernels import load_kernel
    from symderiv.dynamics.storage.run_files import read_run
    from symderiv.dynamics.studies.state import State, load_state
    from symderiv.dynamics.studies.study import Study, expand_sweep, load_study, parse_study

_HOME = {
    "Trajectory": "stepping.trajectory",
    "solve": "rules.whichever",
    "load_kernel": "storage.kernels",
    "solve_moments": "stepping.moment_check",
    "read_run": "storage.run_files",
    "write_run": "stepping.trajectory",
    "write_simulation": "sgd.simulation",
    "Simulation": "sgd.simulation",
    "simulate": "rules.whichever",
    "State": "studies.state",
    "load_state": "studies.state",
    "Study": "studies.study",
    "expand_sweep": "studies.study",
    "load_study": "studies.study",
    "parse_study": "studies.study",
    "with_sampler": "rules.simulating",
}

__all__ = [
    "Simulation",
    "State",
    "Study",
    "Trajectory",
    "expand_sweep",
    "load_kernel",
    "load_state",
    "load_study",
    "parse_study",
    "read_run",
    "simulate",
    "solve",
    "solve_moments",
    "with_sampler",
    "write_run",
    "write_simulation",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"symderiv.dynamics.{_HOME[name]}"), name)
    raise AttributeError(f"module 'symderiv.dynamics' has no attribute {name!r}")
