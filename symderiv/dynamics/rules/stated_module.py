"""A solver module written from a statement, in the layout of the modules of studies.

Where a mean of a stated rule has no closed form its module is written for the K and M of a study
(:mod:`symderiv.dynamics.rules.general_module` writes those for all K and M); its vectors hold
the same fields, with the order parameters that the rule adds behind, so that integration, ensembles
and results know no difference.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import sympy as sp
from symderiv_codegen import Array, Procedure, Program, print_fast, print_readable
from symderiv_kernels.layout import LAYOUT

from symderiv.dynamics.storage.kernels import Kernel, kept_module
from symderiv.statement.stated_motion import derived
from symderiv.statement.stated_problem import Statement
from symderiv.statement.vector_expressions import SlowVector
from symderiv.system.closed_motion import (
    Closed,
    Pair,
    Writer,
    closed,
    overlap_name,
    parameter_name,
    scalar_name,
)

if TYPE_CHECKING:
    from symderiv.statement.language import Language

__all__ = ["FIXED", "INPUTS", "MOVING", "OfEigenspaces", "StatedModule", "stated_module"]

INPUTS, MOVING, FIXED, VELOCITY = "x", "J", "B", "U"
"""Names of the inputs, the students, the teachers and velocities in the statements of rules."""


class OfEigenspaces:
    """An input model of which only eigenspaces are known: their eigenvalues come with a state."""

    model = "eigenspaces"

    def build(self, folder: Path) -> Any:
        """Say that numbers are not known here."""
        raise NotImplementedError(folder)


@dataclass(frozen=True)
class StatedModule:
    """The module of a statement.

    Args:
        closed: The equations.
        numbers: Names of the parameters behind those of plain descent, in order.
    """

    closed: Closed
    numbers: tuple[str, ...]
    general: ClassVar[bool] = False

    @property
    def statement(self) -> Statement:
        """What the module follows from."""
        return self.closed.equations.statement

    @cached_property
    def further(self) -> tuple[tuple[str, str], ...]:
        """Pairs of families whose overlaps are order parameters beyond those of plain descent."""
        names = [name for name in self.statement.families if name != FIXED]
        pairs = [(a, b) for n, a in enumerate(names) for b in names[n:]]
        pairs += [(a, FIXED) for a in names]
        return tuple(pair for pair in pairs if pair not in ((MOVING, MOVING), (MOVING, FIXED)))

    @cached_property
    def scalars(self) -> dict[str, tuple[sp.Symbol, ...]]:
        """The slow scalars by name, output weights first."""
        return {"v": (), **self.statement.scalars}

    @cached_property
    def layout(self) -> dict[str, Any]:
        """The order of sizes and fields, as modules state it."""
        axis = {MOVING: "K", FIXED: "M"}
        state = dict(LAYOUT["state"])
        for a, b in self.further:
            state[kept_name((a, b))] = (axis.get(a, "K"), axis.get(b, "K"), "L")
        state |= {name: ("K",) for name in self.scalars if name != "v"}
        parameters = {**LAYOUT["parameters"], **dict.fromkeys(self.numbers, ())}
        return {"sizes": LAYOUT["sizes"], "state": state, "parameters": parameters}

    @cached_property
    def program(self) -> Program:
        """The equations as an indexed program."""
        return _StudyWriter(self).program()

    def texts_of(self, name: str) -> tuple[str, str]:
        """Return the readable and the fast module under a name."""
        program = replace(self.program, name=name)
        return print_readable(program), print_fast(program)

    @cached_property
    def texts(self) -> tuple[str, str]:
        """The modules that runs use."""
        return self.texts_of("stated")

    def kernel(self, student: str, teacher: str) -> Kernel:
        """Return the modules as those of studies are loaded."""
        readable, fast = (kept_module(text) for text in self.texts)
        digests = [hashlib.sha256(text.encode()).hexdigest() for text in self.texts]
        path = Path(str(readable.__file__))
        return _StatedKernel(readable, path, digests[0], student, teacher, False, fast, digests[1])


class _StatedKernel(Kernel):
    """A kernel for the numbers of units of a study alone."""

    def right_hand_side_for(self, K: int, M: int) -> Any:
        """Return the compiled right-hand side; K and M are those it was written for."""
        from symderiv.code_cache import kept_code

        del K, M
        assert self.fast is not None
        with kept_code():
            return self.fast.specialised(1)


def stated_module(P: Language, numbers: tuple[str, ...]) -> StatedModule:
    """Return the module of a statement of students J and teachers B.

    Args:
        P: The statement; its inputs x are :class:`OfEigenspaces`.
        numbers: Names of its parameters beyond those of plain descent.

    Raises:
        NotClosed: Its equations do not close.
    """
    return StatedModule(closed(derived(P.statement)), numbers)


class _StudyWriter(Writer):
    """Writes the program with the fields of a study's vectors.

    Overlaps with teachers are those of φ_n = √N E[ξ y_n], which are ρ_k B_n; both orders of a pair
    of one family lie in a state.
    """

    def __init__(self, module: StatedModule) -> None:
        super().__init__(module.closed)
        self.module = module

    def state_arrays(self) -> list[Array]:
        families = self.module.statement.families
        found = [
            self._entries(families[a], families[b]) for a, b in ((MOVING, MOVING), (MOVING, FIXED))
        ]
        found.append(self._slow("v"))
        found += [self._entries(families[a], families[b]) for a, b in self.module.further]
        found += [self._slow(name) for name in self.module.scalars if name != "v"]
        return [array for each in found for array in each]

    def parameter_arrays(self) -> list[Array]:
        teachers = self.module.statement.families[FIXED]
        covariances = [Array(_covariance(pair), ()) for pair in _all_pairs(teachers, teachers)]
        weights = [f"c{n + 1}" for n in range(len(teachers))]
        *_, first = [name for name, axes in LAYOUT["parameters"].items() if axes]
        plain = list(LAYOUT["parameters"])
        numbers = [*weights, *plain[plain.index(first) + 1 :], *self.module.numbers]
        return [
            self._eigenvalue(INPUTS),
            self.weight,
            *self._entries(teachers, teachers),
            *covariances,
            *(Array(parameter_name(sp.Symbol(name)), ()) for name in numbers),
            *self._times,
        ]

    def _entries(
        self, first: tuple[SlowVector, ...], second: tuple[SlowVector, ...]
    ) -> list[Array]:
        alike = first == second
        return [
            self._overlap((a, b) if alike else self.closed.ordered(a, b))
            for a, b in _all_pairs(first, second)
        ]

    def _slow(self, name: str) -> list[Array]:
        return [Array(scalar_name(u), ("I",)) for u in self.module.scalars[name]]

    def _power(self, pair: Pair) -> int:
        """Return how many of two vectors are teachers, which are kept as ρ_k B."""
        return sum(vector.family == FIXED for vector in pair)

    def _of_pair(self, first: SlowVector, second: SlowVector) -> sp.Expr:
        rho = self._element(self._eigenvalue(INPUTS))
        return super()._of_pair(first, second) / rho ** self._power((first, second))

    def kept(self, pair: Pair, rate: sp.Expr) -> sp.Expr:
        power = self._power(pair)
        rho = self._element(self._eigenvalue(INPUTS))
        return sp.expand(rate * rho**power) if power else rate

    def targets(self, pair: Pair) -> list[Pair]:
        a, b = pair
        return [(a, b), (b, a)] if a.family == b.family and a is not b else [(a, b)]

    def noise_factor(self) -> sp.Expr:
        return sp.Symbol(parameter_name(sp.Symbol("full_order")), real=True)

    def definition(self, symbol: sp.Symbol) -> sp.Expr | None:
        covariance = self.law.covariances.get(symbol)
        if covariance is not None and covariance.inputs == (INPUTS,):
            pair = covariance.first, covariance.second
            if self._power(pair) == 2:
                return sp.Symbol(_covariance(pair), real=True)
        return super().definition(symbol)

    def procedures(self, fields: tuple[Array, ...]) -> list[Procedure]:
        error = self.observation("observables", "error", fields)
        return [error]


def kept_name(pair: tuple[str, str]) -> str:
    """Return the name of the field of a state that holds the overlaps of two families."""
    return f"overlap_{pair[0]}_{pair[1]}"


def _covariance(pair: Pair) -> str:
    return overlap_name(pair, "t")


def _all_pairs(first: tuple[SlowVector, ...], second: tuple[SlowVector, ...]) -> list[Pair]:
    return [(a, b) for a in first for b in second]
