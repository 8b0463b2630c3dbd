"""A statement as what the compiled loop of steps takes: tables, and one function of all changes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from symderiv_codegen import Array, Assignment, Procedure, Program, Vector, print_fast

from symderiv.dynamics.storage.kernels import kept_module
from symderiv.numerics import GAUSSIAN
from symderiv.statement.register import Field, Latent, Overlap
from symderiv.statement.stated_problem import Statement

__all__ = ["StepProgram"]


class StepProgram:
    """The compiled step of a statement.

    Args:
        statement: What a step does; nothing derived is read.

    Attributes:
        vectors, atoms: Places of slow vectors and of inputs.
        fields, overlaps, scalars, latents, parameters: The symbols in the order of the values.
    """

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        step = statement.step()
        self.vectors = {v: n for n, v in enumerate(statement.vectors)}
        atoms = [atom for inputs in statement.inputs for atom in inputs.atoms]
        self.atoms = {atom: n for n, atom in enumerate(atoms)}
        forces = [
            (v, atom, force)
            for v, change in step.vectors.items()
            for atom, force in change.inputs.items()
            if force != 0
        ]
        drifts = [
            (v, other, rate)
            for v, change in step.vectors.items()
            for other, rate in change.vectors.items()
            if rate != 0
        ]
        targets = [(u, change.scalar) for u, change in step.scalars.items()]
        # those of one input follow one another: the loop takes them together
        forces.sort(key=lambda each: self.atoms[each[1]])
        self.expressions = [
            *(f for _, _, f in forces),
            *(g for _, _, g in drifts),
            *(g for _, g in targets),
        ]
        used = set().union(*(e.free_symbols for e in self.expressions))
        meaning = statement.symbols.meaning
        ordered = sorted(used, key=str)
        self.fields = [s for s in ordered if isinstance(meaning.get(s), Field)]
        self.fields.sort(key=lambda symbol: self._meant(symbol)[::-1])
        self.overlaps = [s for s in ordered if isinstance(meaning.get(s), Overlap)]
        self.scalars = list(statement.symbols.scalars)
        self.latents = [s for s in ordered if isinstance(meaning.get(s), Latent)]
        self.parameters = list(statement.symbols.parameters)
        self._rows = (
            [self._meant(s) for s in self.fields],
            [self._meant(s) for s in self.overlaps],
            [(self.vectors[v], self.atoms[a]) for v, a, _ in forces],
            [(self.vectors[v], self.vectors[w]) for v, w, _ in drifts],
            [(self.scalars.index(u),) for u, _ in targets],
        )

    @cached_property
    def tables(self) -> tuple[np.ndarray, ...]:
        """Rows of fields, overlaps, forces, drifts and scalars that move."""
        width = (2, 2, 2, 2, 1)
        return tuple(
            np.array(rows, dtype=np.int64).reshape(-1, n)
            for rows, n in zip(self._rows, width, strict=True)
        )

    @cached_property
    def moving(self) -> np.ndarray:
        """The places of the vectors that move."""
        return np.array([n for v, n in self.vectors.items() if not v.fixed], dtype=np.int64)

    @cached_property
    def constraints(self) -> np.ndarray:
        """For each vector 0, −1 on a sphere, or the number of its orthonormal family."""
        result = np.zeros(len(self.vectors), dtype=np.int64)
        for number, constraint in enumerate(self.statement.constraints, start=1):
            for v in constraint.vectors:
                result[self.vectors[v]] = -1 if constraint.kind == "sphere" else number
        return result

    @cached_property
    def mixing(self) -> np.ndarray:
        """The triangular matrix by which independent inputs become correlated tokens."""
        result = np.eye(len(self.atoms))
        start = 0
        for inputs in self.statement.inputs:
            size = len(inputs.atoms)
            if inputs.correlation is not None:
                matrix = np.array(inputs.correlation, dtype=float)
                values, vectors = np.linalg.eigh(matrix)
                # triangular, also for a singular correlation
                root = np.linalg.qr((vectors * np.sqrt(np.maximum(values, 0.0))).T)[1].T
                result[start : start + size, start : start + size] = root
            start += size
        return result

    @property
    def slots(self) -> int:
        """How many values stand in front of the parameters."""
        return len(self.fields) + len(self.overlaps) + len(self.scalars) + len(self.latents)

    @cached_property
    def program(self) -> Program:
        """The coefficients of all changes as a program of one vector of values."""
        order = [*self.fields, *self.overlaps, *self.scalars, *self.latents, *self.parameters]
        values = sp.IndexedBase("values")
        places = {symbol: values[n] for n, symbol in enumerate(order)}
        one = sp.Idx("one", sp.Symbol("I", integer=True))
        count = len(self.expressions)
        names = sp.numbered_symbols("shared__", real=True)
        shared, changes = sp.cse(self.expressions, symbols=names, order="none")
        state = tuple(Array(f"c{n}", ("I",), "coefficient") for n in range(count))
        outputs = tuple(Array(f"d{n}", ("I",), "coefficient") for n in range(count))
        inputs = (Array("values", ("S",), "fields, overlaps, scalars, latents, parameters"),)
        body = [Assignment(name, value.xreplace(places)) for name, value in shared]
        body += [
            Assignment(sp.IndexedBase(f"d{n}")[one], value.xreplace(places))
            for n, value in enumerate(changes)
        ]
        local = tuple(Array(str(name), ()) for name, _ in shared)
        return Program(
            name="changes",
            title="The changes of one step.",
            recipe={},
            equations=(),
            ranges=("S", "I"),
            small=("I",),
            functions=(),
            procedures=(
                Procedure("right_hand_side", "The changes.", inputs, outputs, local, tuple(body)),
            ),
            state=Vector("state", state),
            parameters=Vector("parameters", inputs),
            extension=GAUSSIAN,
        )

    @cached_property
    def changes(self) -> Any:
        """The compiled function, as an argument of the loop."""
        from symderiv.code_cache import kept_code
        from symderiv.compiled import as_argument

        module = kept_module(print_fast(self.program))
        with kept_code():
            return as_argument(module.specialised(1))

    def _meant(self, symbol: sp.Symbol) -> tuple[int, int]:
        meaning = self.statement.symbols.meaning[symbol]
        if isinstance(meaning, Field):
            return self.vectors[meaning.vector], self.atoms[meaning.input]
        assert isinstance(meaning, Overlap)
        return self.vectors[meaning.first], self.vectors[meaning.second]
