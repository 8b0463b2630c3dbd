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
    from symderiv.learning.recipes import RECIPES, generate, write_checked_in

_HOMES = {
    "Equations": "equations",
    "LearningProblem": "problem",
    "RECIPES": "recipes",
    "derive_equations": "equations",
    "generate": "recipes",
    "learning_problem": "problem",
    "moment_program": "moment_form",
    "solver_program": "program",
    "write_checked_in": "recipes",
}

__all__ = [
    "RECIPES",
    "Equations",
    "LearningProblem",
    "derive_equations",
    "generate",
    "learning_problem",
    "moment_program",
    "solver_program",
    "write_checked_in",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'symderiv.learning' has no attribute {name!r}")
    return getattr(import_module(f"symderiv.learning.{_HOMES[name]}"), name)
