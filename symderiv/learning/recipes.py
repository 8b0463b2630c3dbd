"""Solver modules as text: any activation on demand, and the ones that are kept in the tree."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

from symderiv_codegen import print_numba

from symderiv.errors import ToleranceError
from symderiv.learning.equations import derive_equations
from symderiv.learning.problem import learning_problem
from symderiv.learning.program import solver_program

RECIPES = MappingProxyType(
    {
        "erf": ("erf", "erf"),
        "linear": ("linear", "linear"),
        "relu": ("relu", "relu"),
        "gelu": ("gelu", "gelu"),
        "erf_sign": ("erf", "sign"),
        "quadratic": ("quadratic", "quadratic"),
    }
)
"""The modules of ``symderiv_kernels``: name, student's activation, teacher's activation."""


def generate(name: str, student: str, teacher: str | None = None) -> str:
    """The text of a solver module, derived from the update rule; the same bytes in every run.

    Args:
        name: Name of the module, a Python identifier.
        student: Activation of the student, a name or an expression in ``x``.
        teacher: Activation of the teacher; the student's when left out.

    Raises:
        FormulaError: An activation is outside the allow-list.
        DivergentError: The student's activation is too rough for gradient descent.
        NotYetError: A mean has no closed form with the present rules.
    """
    equations = derive_equations(learning_problem(student, teacher))
    return str(print_numba(solver_program(equations, name)))


def write_checked_in(directory: Path, check: bool = False) -> list[Path]:
    """Writes the modules of :data:`RECIPES`, or compares them byte for byte.

    Args:
        directory: Where the modules are, e.g. ``generated/symderiv_kernels``.
        check: Compare only; nothing is written.

    Returns:
        The files that were written or that are as they should be.

    Raises:
        ToleranceError: With ``check``, a file is missing or differs.
    """
    files = []
    for name, (student, teacher) in RECIPES.items():
        path = directory / f"{name}.py"
        text = generate(name, student, teacher).encode()
        if not check:
            path.write_bytes(text)
        elif not path.is_file() or path.read_bytes() != text:
            state = "differs from what its recipe gives" if path.is_file() else "is missing"
            raise ToleranceError(
                f"{path.name} {state}; write it with: python -m symderiv.learning {directory.name}"
            )
        files.append(path)
    return files
