"""symderiv: derive the learning dynamics of two-layer networks and run them.

The names below are the public face; they are imported on first use so that ``symderiv --help``
does not pay for SymPy or numba.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from symderiv.foundation import former_rooms

if TYPE_CHECKING:
    from symderiv.api import opening as _opening
    from symderiv.api.deriving import derive as derive
    from symderiv.api.deriving import generate as generate
    from symderiv.api.problem import Problem as Problem
    from symderiv.api.questions import Expectation as Expectation
    from symderiv.api.questions import FormulaCheck as FormulaCheck
    from symderiv.api.questions import check as check
    from symderiv.api.questions import i2 as i2
    from symderiv.api.questions import i3 as i3
    from symderiv.api.questions import i4 as i4
    from symderiv.api.questions import integral as integral
    from symderiv.api.questions import mean as expect  # noqa: F401
    from symderiv.api.questions import mean as mean
    from symderiv.api.results.equations.derived import LearningDerivation as LearningDerivation
    from symderiv.api.results.equations.rates import Rates as Rates
    from symderiv.api.results.equations.shown_equations import Equations as Equations
    from symderiv.api.results.equations.verified import Verdicts as Verdicts
    from symderiv.api.results.equations.verified import verify as verify
    from symderiv.api.results.equilibria.target_thresholds import thresholds as thresholds
    from symderiv.api.results.flows.late import LateLearning as LateLearning
    from symderiv.api.results.flows.late import late as asymptotics  # noqa: F401
    from symderiv.api.results.flows.late import late as late
    from symderiv.api.results.flows.linear import LinearCurve as LinearCurve
    from symderiv.api.results.flows.linear import linear as linear
    from symderiv.api.results.flows.plateau import Plateau as Plateau
    from symderiv.api.results.flows.plateau import plateau as plateau
    from symderiv.api.results.runs.impact import impact as impact
    from symderiv.api.results.runs.localise import Localisation as Localisation
    from symderiv.api.results.runs.localise import localise as localise
    from symderiv.api.results.runs.one_step import OneStep as OneStep
    from symderiv.api.results.runs.run_comparison import compare as compare
    from symderiv.api.stated import System as System
    from symderiv.experiment.studies.simulation import Simulation as Simulation
    from symderiv.formula import Activation as Activation
    from symderiv.formula import activation as activation
    from symderiv.foundation.errors import InputError as InputError
    from symderiv.foundation.errors import NotClosed as NotClosed
    from symderiv.foundation.errors import SymderivError as SymderivError
    from symderiv.foundation.errors import ToleranceError as ToleranceError
    from symderiv.integrate.events.asked import event as event
    from symderiv.integrate.flows.trajectory import Trajectory as Trajectory
    from symderiv.problem.input_models import NLGP as NLGP
    from symderiv.problem.input_models import Covariance as Covariance
    from symderiv.problem.input_models import GaussianMixture as GaussianMixture
    from symderiv.problem.input_models import Generator as Generator
    from symderiv.problem.input_models import HiddenManifold as HiddenManifold
    from symderiv.problem.input_models import Isotropic as Isotropic
    from symderiv.problem.input_models import PowerLaw as PowerLaw
    from symderiv.problem.input_models import SinglePulse as SinglePulse
    from symderiv.problem.input_models import Spectrum as Spectrum
    from symderiv.problem.state import State as State
    from symderiv.statement.vector_expressions import norm2 as norm2
    from symderiv.storage.forgetting import Forgetting as Forgetting
    from symderiv.sweeps.study_map import StudyMap as StudyMap
    from symderiv.sweeps.sweep_result import Sweep as Sweep

    open = _opening.open_file

__version__ = "0.1.0"

_PUBLIC = {
    "Activation": "symderiv.formula",
    "activation": "symderiv.formula",
    "event": "symderiv.integrate.events.asked",
    "Covariance": "symderiv.problem.input_models",
    "GaussianMixture": "symderiv.problem.input_models",
    "Generator": "symderiv.problem.input_models",
    "HiddenManifold": "symderiv.problem.input_models",
    "Isotropic": "symderiv.problem.input_models",
    "PowerLaw": "symderiv.problem.input_models",
    "Spectrum": "symderiv.problem.input_models",
    "Simulation": "symderiv.experiment.studies.simulation",
    "State": "symderiv.problem.state",
    "Forgetting": "symderiv.storage.forgetting",
    "StudyMap": "symderiv.sweeps.study_map",
    "Sweep": "symderiv.sweeps.sweep_result",
    "Trajectory": "symderiv.integrate.flows.trajectory",
    "InputError": "symderiv.foundation.errors",
    "NotClosed": "symderiv.foundation.errors",
    "System": "symderiv.api.stated",
    "norm2": "symderiv.statement.vector_expressions",
    "SymderivError": "symderiv.foundation.errors",
    "ToleranceError": "symderiv.foundation.errors",
    "compare": "symderiv.api.results.runs.run_comparison",
    "LearningDerivation": "symderiv.api.results.equations.derived",
    "derive": "symderiv.api.deriving",
    "generate": "symderiv.api.deriving",
    "Equations": "symderiv.api.results.equations.shown_equations",
    "impact": "symderiv.api.results.runs.impact",
    "LateLearning": "symderiv.api.results.flows.late",
    "late": "symderiv.api.results.flows.late",
    "LinearCurve": "symderiv.api.results.flows.linear",
    "linear": "symderiv.api.results.flows.linear",
    "OneStep": "symderiv.api.results.runs.one_step",
    "Localisation": "symderiv.api.results.runs.localise",
    "localise": "symderiv.api.results.runs.localise",
    "NLGP": "symderiv.problem.input_models",
    "SinglePulse": "symderiv.problem.input_models",
    "Plateau": "symderiv.api.results.flows.plateau",
    "plateau": "symderiv.api.results.flows.plateau",
    "Problem": "symderiv.api.problem",
    "Rates": "symderiv.api.results.equations.rates",
    "thresholds": "symderiv.api.results.equilibria.target_thresholds",
    "Verdicts": "symderiv.api.results.equations.verified",
    "verify": "symderiv.api.results.equations.verified",
    "Expectation": "symderiv.api.questions",
    "FormulaCheck": "symderiv.api.questions",
    "check": "symderiv.api.questions",
    "i2": "symderiv.api.questions",
    "i3": "symderiv.api.questions",
    "i4": "symderiv.api.questions",
    "integral": "symderiv.api.questions",
    "mean": "symderiv.api.questions",
    "open": "symderiv.api.opening",
}

# SymPy remembers 1000 results of each of its functions, and a derivation asks for more: a tenth to
# a quarter of its time went into results that had been forgotten. SymPy reads this when imported.
os.environ.setdefault("SYMPY_CACHE_SIZE", "20000")

former_rooms.install()

# Names of the version before, still there, and what to use now.
_FORMER = {
    "derive_equations": (
        "symderiv.learning.derivation.learning_equations",
        "Problem(...).equations",
    ),
    "expectation": ("symderiv.gaussian", "mean"),
    "learning_problem": ("symderiv.learning.rule.learning_problem", "Problem"),
    "load_study": ("symderiv.problem.study", "Problem.from_toml"),
    "parse_formula": ("symderiv.formula", "formulas as texts"),
    "simulate": ("symderiv.experiment.studies.simulating", "Problem(...).simulate"),
    "solve": ("symderiv.integrate.rules.solving", "Problem(...).solve"),
}

# What a name is called at home, where it would hide one of Python's own.
_HOME = {"open": "open_file"}

# Names of commands whose calls are listed under another one.
_OF_COMMANDS = {"asymptotics": "late", "expect": "mean"}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    name = _OF_COMMANDS.get(name, name)
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
