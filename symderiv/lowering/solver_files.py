"""A solver as text: a module to be read and one to be run, from one program."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from symderiv_codegen import (
    Program,
    ProgramError,
    print_fast,
    print_layout,
    print_readable,
)

from symderiv.lowering.solver_arrays import PARAMETERS, RANGES, STATE

LAYOUT = "layout.py"
"""The file, beside the checked-in modules, that defines how arrays are packed into vectors."""
FAST = "fast"
"""The folder, beside the readable modules, of the fast ones and the runtime they share."""
LANES = "lanes"
"""The folder of modules for several runs at a time, with a runtime of their own."""
RUNTIME = "runtime.py"
"""The file with the functions that fast modules share: written by hand, kept with the checked-in
ones."""


@dataclass(frozen=True)
class SolverText:
    """The texts of the modules of a solver.

    Attributes:
        readable: The mathematics; stands alone on math, NumPy and Numba.
        fast: The right-hand side on vectors, for given numbers of units; needs ``runtime.py``
            beside it.
        lanes: The right-hand side for several runs at a time; empty if it has no such form or was
            not asked for.
    """

    readable: str
    fast: str
    lanes: str = ""

    def files(self, name: str) -> dict[str, str]:
        """Return the texts by their paths in a folder of modules."""
        texts = {f"{name}.py": self.readable, f"{FAST}/{name}.py": self.fast}
        return {**texts, **({f"{LANES}/{name}.py": self.lanes} if self.lanes else {})}


def solver_of(program: Program, lanes: bool = True) -> SolverText:
    """Return the texts of a program's modules.

    Args:
        program: The program.
        lanes: Whether the module for several runs is asked for.

    Raises:
        PrinterError: An expression contains a node without a rule.
    """
    for_lanes = _lanes_of(program) if lanes else ""
    return SolverText(str(print_readable(program)), str(print_fast(program)), for_lanes)


def _lanes_of(program: Program) -> str:
    from symderiv_codegen import print_lanes

    try:
        return str(print_lanes(program))
    except ProgramError:
        return ""


def layout_text() -> str:
    """Return the text of the module that defines how vectors are packed."""
    return str(
        print_layout("How solver modules pack arrays into vectors.", RANGES, (STATE, PARAMETERS))
    )


def runtime_text() -> str:
    """Return the text of the runtime that fast modules share."""
    folder = resources.files("symderiv_kernels").joinpath(FAST)
    return folder.joinpath(RUNTIME).read_text(encoding="utf-8")
