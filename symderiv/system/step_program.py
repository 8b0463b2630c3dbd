"""A statement as what the compiled loop of steps takes: tables, and one function of all changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from symderiv_codegen import Array, Assignment, Procedure, Program, Vector, print_fast

from symderiv.dynamics.storage.kernels import kept_module
from symderiv.numerics import GAUSSIAN
from symderiv.statement.register import Field, Latent, Overlap, Time
from symderiv.statement.stated_problem import Statement, Update, changes_of
from symderiv.statement.vector_expressions import FreshInput, SlowVector

__all__ = ["StepProgram"]


class StepProgram:
    """The compiled step of a statement.

    Args:
        statement: What a step does; nothing derived is read.
        given: Symbols (fields, parameters, averages) whose values are drawn with every example.
        remembered: Whether steps down gradients, and noise, go through velocities that remember a
            part of themselves; see ``Pace``.

    Attributes:
        vectors, atoms: Places of slow vectors and of inputs.
        fields, overlaps, scalars, drawn, parameters: The symbols in the order of the values; drawn
            are latents, then what is given.
    """

    def __init__(
        self, statement: Statement, given: Sequence[sp.Symbol] = (), remembered: bool = False
    ) -> None:
        self.statement, self.given = statement, tuple(given)
        self.vectors = {v: n for n, v in enumerate(statement.vectors)}
        self.atoms = {
            atom: n for n, atom in enumerate(a for each in statement.inputs for a in each.atoms)
        }
        self.scalars = list(statement.symbols.scalars)
        moving = [n for v, n in self.vectors.items() if not v.fixed]
        place = len(self.vectors)
        self._velocity = {v: place + n for n, v in enumerate(moving)} if remembered else {}
        forces, drifts, targets = _changes(statement, remembered)
        # those of one input follow one another: the loop takes them together
        forces.sort(key=lambda each: self.atoms[each[1]])
        changes = (*forces, *drifts, *targets)
        self.expressions = [each[-1] for each in changes]
        used = set().union(*(e.free_symbols for e in self.expressions)) - set(self.given)
        meaning = statement.symbols.meaning
        ordered = sorted(used, key=str)
        self.fields = [s for s in ordered if isinstance(meaning.get(s), Field)]
        self.fields.sort(key=lambda symbol: self._meant(symbol)[::-1])
        self.overlaps = [s for s in ordered if isinstance(meaning.get(s), Overlap)]
        self.latents = [s for s in ordered if isinstance(meaning.get(s), Latent)]
        self.drawn = [*self.latents, *self.given]
        self.parameters = [s for s in statement.symbols.parameters if s not in self.given]
        self._times = [s for s in ordered if isinstance(meaning.get(s), Time)]
        self._once = self._once_in_a_step()
        self._rows = (
            [self._meant(s) for s in self.fields],
            [self._meant(s) for s in self.overlaps],
            [self._force(*each[:2]) for each in forces],
            [(self.vectors[v], self.vectors[w]) for v, w, _ in drifts],
            [self._target(*each[:2]) for each in targets],
            list(self._velocity.items()),
        )

    def _once_in_a_step(self) -> set[FreshInput]:
        """Inputs of which a step takes one, whatever the number of its examples.

        With a batch that is stated these are the inputs outside of it, else those of updates.
        """
        inputs = self.statement.inputs
        if self.statement.batch_ratio is not None:
            return {a for each in inputs if each.batch_ratio is None for a in each.atoms}
        own: set[FreshInput] = set()
        others: set[FreshInput] = set()
        for line in self.statement.lines:
            for change in changes_of(line, self.statement.symbols).values():
                (own if isinstance(line, Update) else others).update(change.inputs)
        return own - others

    def _force(self, vector: SlowVector, atom: FreshInput) -> tuple[int, int, int]:
        place = self.vectors[vector]
        return self._velocity.get(place, place), self.atoms[atom], int(atom in self._once)

    def _target(self, scalar: sp.Symbol, direct: bool) -> tuple[int, int]:
        place = self.scalars.index(scalar)
        if direct:
            return place, -2
        return place, len(self.scalars) + place if self._velocity else -1

    def velocities(self, places: Sequence[int]) -> list[int]:
        """Return the places of the velocities of vectors."""
        return [self._velocity[place] for place in places]

    @property
    def rows(self) -> int:
        """How many vectors a run keeps, with their velocities."""
        return len(self.vectors) + len(self._velocity)

    @property
    def numbers(self) -> int:
        """How many scalars a run keeps, with their velocities."""
        return len(self.scalars) * (2 if self._velocity else 1)

    @cached_property
    def tables(self) -> tuple[np.ndarray, ...]:
        """Rows of fields, overlaps, forces, drifts, scalars that move, and velocities."""
        width = (2, 2, 3, 2, 2, 2)
        return tuple(
            np.array(rows, dtype=np.int64).reshape(-1, n)
            for rows, n in zip(self._rows, width, strict=True)
        )

    @cached_property
    def moving(self) -> np.ndarray:
        """The places of the vectors that move."""
        own = [n for v, n in self.vectors.items() if not v.fixed]
        return np.array([*own, *self._velocity.values()], dtype=np.int64)

    @cached_property
    def constraints(self) -> np.ndarray:
        """For each vector 0, −1 on a sphere, or the number of its orthonormal family."""
        result = np.zeros(self.rows, dtype=np.int64)
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
        return len(self.fields) + len(self.overlaps) + len(self.scalars) + len(self.drawn)

    @cached_property
    def program(self) -> Program:
        """The coefficients of all changes as a program of one vector of values."""
        order = [*self.fields, *self.overlaps, *self.scalars, *self.drawn, *self.parameters]
        values = sp.IndexedBase("values")
        places = {symbol: values[n] for n, symbol in enumerate(order)}
        places |= {symbol: values[len(order)] for symbol in self._times}
        one = sp.Idx("one", sp.Symbol("I", integer=True))
        count = len(self.expressions)
        names = sp.numbered_symbols("shared__", real=True)
        shared, changes = sp.cse(self.expressions, symbols=names, order="none")
        state = tuple(Array(f"c{n}", ("I",), "coefficient") for n in range(count))
        outputs = tuple(Array(f"d{n}", ("I",), "coefficient") for n in range(count))
        inputs = (Array("values", ("S",), "fields, overlaps, scalars, latents, parameters, time"),)
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


def _changes(
    statement: Statement, apart: bool
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Return forces (vector, input, F), drifts (vector, vector, G) and (scalar, whether direct, g).

    Args:
        statement: What a step does.
        apart: Whether what updates add to scalars is direct: no velocity remembers it.
    """
    step = statement.step()
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
    if not apart:
        return forces, drifts, [(u, False, each.scalar) for u, each in step.scalars.items()]
    targets = []
    for direct in (False, True):
        lines = tuple(line for line in statement.lines if isinstance(line, Update) == direct)
        own = replace(statement, lines=lines).step().scalars
        targets += [(u, direct, each.scalar) for u, each in own.items()]
    return forces, drifts, targets
