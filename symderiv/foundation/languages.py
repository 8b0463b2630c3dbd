"""The languages to which equations are exported: each declared once, with its endings and printers.

Printers are imported when they are used: commands name the languages without loading SymPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from symderiv_codegen import Example, Program


@dataclass(frozen=True)
class ExportLanguage:
    """A language to which equations are exported.

    Attributes:
        ending: The ending of its files.
        comment: The marks before and after a comment of one line.
        printer: Module and function among the printers of the code generator; empty where sources
            are no programs.
        flavour: Arguments of the printer between the program and the example.
    """

    ending: str
    comment: tuple[str, str]
    printer: str = ""
    flavour: tuple[str, ...] = ()

    def source(self, program: Program, example: Example | None = None) -> str:
        """Return a program as source code.

        Args:
            program: The program with a state, parameters, a right-hand side and observables.
            example: Numbers for the lines at the end, which run when the file does.

        Raises:
            PrinterError: The program has a function that only compiled modules evaluate, or one
                that the language lacks.
        """
        module, _, name = self.printer.partition(".")
        printers = import_module(f"symderiv_codegen.printers.languages.{module}")
        printer: Callable[..., Any] = getattr(printers, name)
        return str(printer(program, *self.flavour, example))


_PYTHON = "py", ("# ", ""), "array_python.print_array_python"

LANGUAGES: Final[Mapping[str, ExportLanguage]] = {
    "python": ExportLanguage(*_PYTHON, flavour=("python",)),
    "c": ExportLanguage("c", ("/* ", " */"), "c.print_c"),
    "julia": ExportLanguage("jl", ("# ", ""), "julia.print_julia"),
    "mathematica": ExportLanguage("wl", ("(* ", " *)"), "mathematica.print_mathematica"),
    "jax": ExportLanguage(*_PYTHON, flavour=("jax",)),
    "casadi": ExportLanguage(*_PYTHON, flavour=("casadi",)),
    "latex": ExportLanguage("tex", ("% ", "")),
    "coq": ExportLanguage("v", ("(* ", " *)")),
}

PROGRAMS: Final = {name: each for name, each in LANGUAGES.items() if each.printer}
"""The languages in which sources are programs."""
