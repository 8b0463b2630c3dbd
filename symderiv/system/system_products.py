"""Exports of the equations of a system: modules, other languages, numbers of many digits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from symderiv_codegen import (
    PrinterError,
    Program,
    print_readable,
)

from symderiv.foundation.errors import InputError, NotYetError, check_one_of
from symderiv.foundation.languages import PROGRAMS
from symderiv.foundation.outputs import Output
from symderiv.lowering.programs.precise_module import precise_module
from symderiv.system.system_runs import Solver


def generated(solver: Solver, name: str, output: str | PathLike[str], force: bool) -> Path:
    """Write the readable solver module NAME.py, which needs numpy and numba only.

    Raises:
        InputError: The name is not the name of a module, or the file must not be replaced.
    """
    if not name.isidentifier():
        raise InputError(f"{name!r} is not a name of a module", argument="name")
    target = Output(Path(output) / f"{name}.py", "py", force=force)
    target.write_text(print_readable(replace(solver.closed.program, name=name)))
    return target.path


def exported(
    solver: Solver, to: str, output: str | PathLike[str] | None = None, force: bool = False
) -> str:
    """Return the right-hand side as source in another language, written to a file if a path is
    given.

    Raises:
        InputError: The language is unknown, or the file must not be replaced.
        NotYetError: A mean is an integral, which only compiled modules evaluate.
    """
    check_one_of("to", to, PROGRAMS)
    if solver.closed.means.by_quadrature:
        raise NotYetError(
            "cannot be exported: a mean has no closed form, and only compiled modules integrate it",
            argument="to",
        )
    language = PROGRAMS[to]
    target = None if output is None else Output(output, language.ending, force=force)
    try:
        source = language.source(_with_observables(solver.closed.program))
    except PrinterError as error:
        raise NotYetError(f"cannot be exported: {error}", argument="to") from error
    if target is not None:
        target.write_text(source)
    return source


def _with_observables(program: Program) -> Program:
    """Return the program with its first observable as the one that evaluates states."""
    first = next((p.name for p in program.procedures if p.name.startswith("observe_")), None)
    if first is None:
        raise InputError(
            "exported sources also evaluate a state; name an observable with observe first"
        )
    return replace(program, observables=first)


def precise_rates(
    solver: Solver, given: Mapping[str, Any], parameters: Mapping[str, Any], digits: int
) -> dict[str, np.ndarray]:
    """Return the rates with a given number of digits, as object arrays of ``mpmath.mpf``.

    The doubles of the state are taken as exact.

    Raises:
        NotYetError: A mean is an integral, which only compiled modules evaluate.
        InputError: The number of digits is below 1 or above 1000.
    """
    if not 1 <= digits <= 1000:
        raise InputError(f"must be from 1 to 1000, not {digits}", argument="digits")
    if solver.closed.means.by_quadrature:
        raise NotYetError(
            "is not possible here: a mean has no closed form, and quadrature gives its digits",
            argument="digits",
        )
    program, layout = solver.closed.program, solver.layout
    procedure = program.procedure("right_hand_side")
    assert procedure is not None
    state, constants = layout.packed(given, parameters)
    values = layout.fields(state, constants)
    context = mpmath.MPContext()
    context.dps = digits + 15
    module = precise_module(program)

    def exact(value: np.ndarray) -> Any:
        if not value.shape:
            return context.mpf(float(value))
        return [context.mpf(float(each)) for each in value]

    inputs = [exact(values[array.name]) for array in procedure.inputs]
    sizes = {"L": layout.classes, "I": 1}
    outputs = [[context.mpf(0)] * sizes[array.shape[0]] for array in procedure.outputs]
    module.right_hand_side(context, *inputs, *outputs)
    assert program.state is not None
    flat = np.array([each for output in outputs for each in output], dtype=object)
    still = np.zeros(layout.packing("parameters").size)
    return layout.unpacked(flat, still, layout.shown(given))
