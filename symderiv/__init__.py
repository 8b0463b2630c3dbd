"""symderiv: derive the learning dynamics of two-layer networks and run them.

The names below are the public face; they are imported on first use so that ``symderiv --help``
does not pay for SymPy or numba.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symderiv.dynamics.sgd.simulation import Simulation as Simulation
    from symderiv.dynamics.stepping.trajectory import Trajectory as Trajectory
    from symderiv.dynamics.studies.input_models import NLGP as NLGP
    from symderiv.dynamics.studies.input_models import Covariance as Covariance
    from symderiv.dynamics.studies.input_models import GaussianMixture as GaussianMixture
    from symderiv.dynamics.studies.input_models import Generator as Generator
    from symderiv.dynamics.studies.input_models import HiddenManifold as HiddenManifold
    from symderiv.dynamics.studies.input_models import Isotropic as Isotropic
    from symderiv.dynamics.studies.input_models import PowerLaw as PowerLaw
    from symderiv.dynamics.studies.input_models import SinglePulse as SinglePulse
    from symderiv.dynamics.studies.input_models import Spectrum as Spectrum
    from symderiv.dynamics.studies.state import State as State
    from symderiv.errors import InputError as InputError
    from symderiv.errors import NotClosed as NotClosed
    from symderiv.errors import SymderivError as SymderivError
    from symderiv.errors import ToleranceError as ToleranceError
    from symderiv.expressions import Activation as Activation
    from symderiv.expressions import activation as activation
    from symderiv.library import opening as _opening
    from symderiv.library.derived import LearningDerivation as LearningDerivation
    from symderiv.library.deriving import derive as derive
    from symderiv.library.deriving import generate as generate
    from symderiv.library.impact import impact as impact
    from symderiv.library.late import LateLearning as LateLearning
    from symderiv.library.late import late as late
    from symderiv.library.linear import LinearCurve as LinearCurve
    from symderiv.library.linear import linear as linear
    from symderiv.library.localise import Localisation as Localisation
    from symderiv.library.localise import localise as localise
    from symderiv.library.one_step import OneStep as OneStep
    from symderiv.library.plateau import Plateau as Plateau
    from symderiv.library.plateau import plateau as plateau
    from symderiv.library.problem import Problem as Problem
    from symderiv.library.rates import Rates as Rates
    from symderiv.library.shown_equations import Equations as Equations
    from symderiv.library.stated import System as System
    from symderiv.library.verified import Verdicts as Verdicts
    from symderiv.library.verified import verify as verify
    from symderiv.questions import Expectation as Expectation
    from symderiv.questions import FormulaCheck as FormulaCheck
    from symderiv.questions import check as check
    from symderiv.questions import i2 as i2
    from symderiv.questions import i3 as i3
    from symderiv.questions import i4 as i4
    from symderiv.questions import integral as integral
    from symderiv.questions import mean as mean
    from symderiv.statement.vector_expressions import norm2 as norm2

    open = _opening.open_file

__version__ = "0.1.0"

_PUBLIC = {
    "Activation": "symderiv.expressions",
    "activation": "symderiv.expressions",
    "Covariance": "symderiv.dynamics.studies.input_models",
    "GaussianMixture": "symderiv.dynamics.studies.input_models",
    "Generator": "symderiv.dynamics.studies.input_models",
    "HiddenManifold": "symderiv.dynamics.studies.input_models",
    "Isotropic": "symderiv.dynamics.studies.input_models",
    "PowerLaw": "symderiv.dynamics.studies.input_models",
    "Spectrum": "symderiv.dynamics.studies.input_models",
    "Simulation": "symderiv.dynamics.sgd.simulation",
    "State": "symderiv.dynamics.studies.state",
    "Trajectory": "symderiv.dynamics.stepping.trajectory",
    "InputError": "symderiv.errors",
    "NotClosed": "symderiv.errors",
    "System": "symderiv.library.stated",
    "norm2": "symderiv.statement.vector_expressions",
    "SymderivError": "symderiv.errors",
    "ToleranceError": "symderiv.errors",
    "LearningDerivation": "symderiv.library.derived",
    "derive": "symderiv.library.deriving",
    "generate": "symderiv.library.deriving",
    "Equations": "symderiv.library.shown_equations",
    "impact": "symderiv.library.impact",
    "LateLearning": "symderiv.library.late",
    "late": "symderiv.library.late",
    "LinearCurve": "symderiv.library.linear",
    "linear": "symderiv.library.linear",
    "OneStep": "symderiv.library.one_step",
    "Localisation": "symderiv.library.localise",
    "localise": "symderiv.library.localise",
    "NLGP": "symderiv.dynamics.studies.input_models",
    "SinglePulse": "symderiv.dynamics.studies.input_models",
    "Plateau": "symderiv.library.plateau",
    "plateau": "symderiv.library.plateau",
    "Problem": "symderiv.library.problem",
    "Rates": "symderiv.library.rates",
    "Verdicts": "symderiv.library.verified",
    "verify": "symderiv.library.verified",
    "Expectation": "symderiv.questions",
    "FormulaCheck": "symderiv.questions",
    "check": "symderiv.questions",
    "i2": "symderiv.questions",
    "i3": "symderiv.questions",
    "i4": "symderiv.questions",
    "integral": "symderiv.questions",
    "mean": "symderiv.questions",
    "open": "symderiv.library.opening",
}

# Names of the version before, still there, and what to use now.
_FORMER = {
    "derive_equations": ("symderiv.learning", "Problem(...).equations"),
    "expectation": ("symderiv.gaussian", "mean"),
    "learning_problem": ("symderiv.learning", "Problem"),
    "load_study": ("symderiv.dynamics", "Problem.from_toml"),
    "parse_formula": ("symderiv.expressions", "formulas as texts"),
    "simulate": ("symderiv.dynamics", "Problem(...).simulate"),
    "solve": ("symderiv.dynamics", "Problem(...).solve"),
}

# What a name is called at home, where it would hide one of Python's own.
_HOME = {"open": "open_file"}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), _HOME.get(name, name))
    if name in _FORMER:
        home, now = _FORMER[name]
        message = f"symderiv.{name} will go; use {now}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(import_module(home), name)
    raise AttributeError(f"module 'symderiv' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
