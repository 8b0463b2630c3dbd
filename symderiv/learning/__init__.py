"""Architecture and learning rule to order-parameter equations, derived from the update.

The names below are loaded on first use, so that importing the package does not import SymPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symderiv.learning.equations import Equations, derive_equations
    from symderiv.learning.moment_form import moment_program
    from symderiv.learning.problem import LearningProblem, learning_problem
    from symderiv.learning.program import solver_program
    from symderiv.learning.recipes import RECIPES, generate, solver_text, write_checked_in
    from symderiv.learning.solver_files import SolverText

_HOMES = {
    "Equations": "equations",
    "LearningProblem": "problem",
    "RECIPES": "recipes",
    "SolverText": "solver_files",
    "derive_equations": "equations",
    "generate": "recipes",
    "learning_problem": "problem",
    "moment_program": "moment_form",
    "solver_program": "program",
    "solver_text": "recipes",
    "write_checked_in": "recipes",
}

__all__ = [
    "RECIPES",
    "Equations",
    "LearningProblem",
    "SolverText",
    "derive_equations",
    "generate",
    "learning_problem",
    "moment_program",
    "solver_program",
    "solver_text",
    "write_checked_in",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'symderiv.learning' has no attribute {name!r}")
    return getattr(import_module(f"symderiv.learning.{_HOMES[name]}"), name)
