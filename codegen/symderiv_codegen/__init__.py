"""Indexed programs and their printers."""

from symderiv_codegen.errors import CodegenError, PrinterError, ProgramError
from symderiv_codegen.program import (
    Array,
    Assignment,
    Call,
    Procedure,
    Program,
    ScalarFunction,
    Vector,
)

__all__ = [
    "Array",
    "Assignment",
    "Call",
    "CodegenError",
    "PrinterError",
    "Procedure",
    "Program",
    "ProgramError",
    "ScalarFunction",
    "Vector",
]
