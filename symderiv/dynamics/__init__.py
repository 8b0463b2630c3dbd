"""Running the dynamics: study files, integration, simulation, result files.

The names below are imported on first use; reading a study does not import numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symderiv.dynamics.integrate import solve
    from symderiv.dynamics.kernels import load_kernel
    from symderiv.dynamics.latent_chain import with_sampler
    from symderiv.dynamics.moment_form import solve_moments
    from symderiv.dynamics.output import read_run
    from symderiv.dynamics.simulate_study import simulate
    from symderiv.dynamics.simulation import Simulation, write_simulation
    from symderiv.dynamics.state import State, load_state
    from symderiv.dynamics.study import Study, expand_sweep, load_study, parse_study
    from symderiv.dynamics.trajectory import Trajectory, write_run

_HOME = {
    "Trajectory": "trajectory",
    "solve": "integrate",
    "load_kernel": "kernels",
    "solve_moments": "moment_form",
    "read_run": "output",
    "write_run": "trajectory",
    "write_simulation": "simulation",
    "Simulation": "simulation",
    "simulate": "simulate_study",
    "State": "state",
    "load_state": "state",
    "Study": "study",
    "expand_sweep": "study",
    "load_study": "study",
    "parse_study": "study",
    "with_sampler": "latent_chain",
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
