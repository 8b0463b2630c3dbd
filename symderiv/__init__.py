"""symderiv: derive the learning dynamics of two-layer networks and run them.

The names below are the public face; they are imported on first use so that ``symderiv --help``
does not pay for SymPy or numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "activation": "symderiv.expressions",
    "parse_formula": "symderiv.expressions",
    "expectation": "symderiv.gaussian",
    "Expectation": "symderiv.questions",
    "FormulaCheck": "symderiv.questions",
    "check": "symderiv.questions",
    "i2": "symderiv.questions",
    "i3": "symderiv.questions",
    "i4": "symderiv.questions",
    "integral": "symderiv.questions",
    "mean": "symderiv.questions",
    "derive_equations": "symderiv.learning",
    "generate": "symderiv.learning",
    "learning_problem": "symderiv.learning",
    "load_study": "symderiv.dynamics",
    "simulate": "symderiv.dynamics",
    "solve": "symderiv.dynamics",
    "SymderivError": "symderiv.errors",
    "InputError": "symderiv.errors",
    "ToleranceError": "symderiv.errors",
    "Covariance": "symderiv.dynamics.input_models",
    "GaussianMixture": "symderiv.dynamics.input_models",
    "Generator": "symderiv.dynamics.input_models",
    "HiddenManifold": "symderiv.dynamics.input_models",
    "Isotropic": "symderiv.dynamics.input_models",
    "PowerLaw": "symderiv.dynamics.input_models",
    "Spectrum": "symderiv.dynamics.input_models",
    "Problem": "symderiv.library.problem",
    "Equations": "symderiv.library.equations",
    "Rates": "symderiv.library.rates",
    "Simulation": "symderiv.dynamics.simulation",
    "State": "symderiv.dynamics.state",
    "Trajectory": "symderiv.dynamics.trajectory",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'symderiv' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
