"""A learning problem as data: what moves, what is drawn, and the lines that say how.

The lines keep what was stated (a loss and its rates, or the changes themselves); the increments of
one step, which derivation and simulation both read, are computed from them here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import sympy as sp

from symderiv.foundation.errors import InputError, NotClosed
from symderiv.statement.register import Field, Overlap, Size, Symbols
from symderiv.statement.slopes import slope as slope_of
from symderiv.statement.vector_expressions import FreshInput, SlowVector, VectorExpression

Member = TypeVar("Member")


@dataclass(frozen=True)
class Inputs:
    """Fresh inputs under one name.

    Args:
        name: The name as declared.
        model: The input model, which is the law of a single token.
        atoms: Tokens of a sequence, or copies of an episode.
        correlation: The correlation of the tokens, exact, shape (L, L); None for independent ones.
        episode: Whether the atoms are independent and equivalent examples of an episode.
        batch_ratio: The ratio c of a batch of cN examples per step; None without a batch.
    """

    name: str
    model: Any
    atoms: tuple[FreshInput, ...]
    correlation: sp.ImmutableMatrix | None
    episode: bool
    batch_ratio: sp.Expr | None = None


@dataclass(frozen=True)
class Descent:
    """``descend(loss, rates, velocity)``; with sign −1 ``ascend``.

    Args:
        loss: The loss of one example.
        rates: The learning rates, by the variable of the gradient.
        sign: The sign of the step, 1 downwards.
        velocity: The variables that move in place of those of the gradient.
    """

    loss: sp.Expr
    rates: Mapping[SlowVector | sp.Symbol, sp.Expr]
    sign: int = 1
    velocity: Mapping[SlowVector | sp.Symbol, SlowVector | sp.Symbol] = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        """The line as it was stated."""
        names = ", ".join(f"{_name(key)}: {rate}" for key, rate in self.rates.items())
        moved = ", ".join(f"{_name(a)}: {_name(b)}" for a, b in self.velocity.items())
        by = f", velocity={{{moved}}}" if moved else ""
        return f"{'descend' if self.sign > 0 else 'ascend'}({self.loss}, {{{names}}}{by})"


@dataclass(frozen=True)
class Update:
    """``update(changes)``: Δw = F ξ/√N + G B/N for vectors, Δu = g/N for scalars."""

    changes: Mapping[SlowVector | sp.Symbol, VectorExpression | sp.Expr]

    @cached_property
    def text(self) -> str:
        """The line as it was stated."""
        names = ", ".join(f"{_name(key)}: {change}" for key, change in self.changes.items())
        return f"update({{{names}}})"


@dataclass(frozen=True)
class Constraint:
    """A condition that vectors are restored to after every step.

    Args:
        vectors: The vectors that are constrained.
        kind: ``"sphere"``: every |w|² keeps its value; ``"orthonormal"``: w_a·w_b = N δ_ab.
        inputs: Name of inputs: a sphere keeps the variances of fields on them and not |w|².
    """

    vectors: tuple[SlowVector, ...]
    kind: str
    inputs: str = ""

    def moved(self, moving: Container[SlowVector]) -> tuple[SlowVector, ...]:
        """Return the vectors that this condition moves, given those that the lines move.

        To restore orthonormality all of its vectors move, even those that no line moves.
        """
        if self.kind == "orthonormal" and any(v in moving for v in self.vectors):
            return self.vectors
        return tuple(v for v in self.vectors if v in moving)


@dataclass
class StatedChange:
    """The contribution of one line to a step, for a vector (Σ F ξ/√N + Σ G w/N) or a
    scalar (g/N).
    """

    inputs: dict[FreshInput, sp.Expr] = field(default_factory=dict)
    vectors: dict[SlowVector, sp.Expr] = field(default_factory=dict)
    scalar: sp.Expr = sp.S.Zero


@dataclass(frozen=True)
class StatedStep:
    """The changes in one step by all lines together, as functions of the state before it.

    Args:
        vectors: The changes of vectors, by the vector that moves.
        scalars: The changes of scalars, by the scalar that moves.
        source: For every target the texts of the lines that move it.
    """

    vectors: Mapping[SlowVector, StatedChange]
    scalars: Mapping[sp.Symbol, StatedChange]
    source: Mapping[SlowVector | sp.Symbol, tuple[str, ...]]


@dataclass(frozen=True)
class Statement:
    """All that was stated about a learning problem.

    Args:
        symbols: The meanings of the symbols.
        inputs: The inputs by name.
        vectors: All slow vectors in the order of their declaration.
        lines: Descents and updates, in order; they act simultaneously.
        constraints: The constraints that are applied after every step.
        observables: Averages that results carry, by name.
        order: ``"full"``, or ``"small-learning-rate"`` for equations without the noise of steps.
    """

    symbols: Symbols
    inputs: tuple[Inputs, ...]
    vectors: tuple[SlowVector, ...]
    lines: tuple[Descent | Update, ...]
    constraints: tuple[Constraint, ...]
    observables: Mapping[str, sp.Expr]
    order: str = "full"

    @property
    def batch_ratio(self) -> sp.Expr | None:
        """The ratio c if steps take batches of cN examples and time counts steps, else None.

        Then Δw = √N mean(F ξ) + F' ξ' + G w for inputs ξ of the batch and ξ' outside of it, Δu = g.
        """
        return next((each.batch_ratio for each in self.inputs if each.batch_ratio), None)

    @cached_property
    def families(self) -> dict[str, tuple[SlowVector, ...]]:
        """The vectors by the name under which they were declared, in order."""
        return _grouped((vector, vector.family) for vector in self.vectors)

    @cached_property
    def scalars(self) -> dict[str, tuple[sp.Symbol, ...]]:
        """The slow scalars by the name under which they were declared, in order."""
        return _grouped(self.symbols.scalars.items())

    def step(self) -> StatedStep:
        """Return the changes of one step.

        Raises:
            NotClosed: A part of order N of a loss depends on what is trained; a force is the
                gradient of a jump.
        """
        vectors: dict[SlowVector, StatedChange] = {}
        scalars: dict[sp.Symbol, StatedChange] = {}
        source: dict[SlowVector | sp.Symbol, tuple[str, ...]] = {}
        for line in self.lines:
            for target, change in changes_of(line, self.symbols).items():
                source[target] = (*source.get(target, ()), line.text)
                if isinstance(target, SlowVector):
                    _add(vectors.setdefault(target, StatedChange()), change)
                else:
                    _add(scalars.setdefault(target, StatedChange()), change)
        return StatedStep(vectors, scalars, source)


def _grouped(members: Iterable[tuple[Member, str]]) -> dict[str, tuple[Member, ...]]:
    groups: dict[str, tuple[Member, ...]] = {}
    for member, name in members:
        groups[name] = (*groups.get(name, ()), member)
    return groups


def _name(key: SlowVector | sp.Symbol) -> str:
    return key.name if isinstance(key, SlowVector) else str(key)


def _add(total: StatedChange, change: StatedChange) -> None:
    for atom, force in change.inputs.items():
        total.inputs[atom] = total.inputs.get(atom, sp.S.Zero) + force
    for vector, rate in change.vectors.items():
        total.vectors[vector] = total.vectors.get(vector, sp.S.Zero) + rate
    total.scalar = total.scalar + change.scalar


def changes_of(
    line: Descent | Update, symbols: Symbols
) -> dict[SlowVector | sp.Symbol, StatedChange]:
    """Return the changes of the targets of a line in one step."""
    if isinstance(line, Update):
        return {target: _stated(target, change) for target, change in line.changes.items()}
    return {
        line.velocity.get(target, target): _gradient(line, target, rate, symbols)
        for target, rate in line.rates.items()
    }


def _stated(target: SlowVector | sp.Symbol, change: VectorExpression | sp.Expr) -> StatedChange:
    if not isinstance(target, SlowVector):
        return StatedChange(scalar=sp.sympify(change))
    result = StatedChange()
    if isinstance(change, VectorExpression):
        for atom, value in change.terms.items():
            if isinstance(atom, FreshInput):
                result.inputs[atom] = value
            else:
                result.vectors[atom] = value
    elif change != 0:
        raise InputError(f"the change of the vector {target.name} must be a vector, not {change}")
    return result


def _gradient(
    line: Descent, target: SlowVector | sp.Symbol, rate: sp.Expr, symbols: Symbols
) -> StatedChange:
    """Return −η times the gradient of a loss: for vectors through fields and overlaps."""
    result = StatedChange()
    step = -line.sign * rate
    if not isinstance(target, SlowVector):
        result.scalar = step * _checked(slope_of(line.loss, target), line, target, symbols)
        return result
    for symbol in sorted(line.loss.free_symbols, key=str):
        meaning = symbols.meaning.get(symbol)
        if isinstance(meaning, Field) and meaning.vector is target:
            slope = _checked(slope_of(line.loss, symbol), line, target, symbols)
            result.inputs[meaning.input] = result.inputs.get(meaning.input, sp.S.Zero) + (
                step * slope
            )
        elif isinstance(meaning, Overlap) and target in (meaning.first, meaning.second):
            slope = _checked(slope_of(line.loss, symbol), line, target, symbols)
            # ∂(w·v/N)/∂w = v/N, and ∂(w·w/N)/∂w = 2 w/N
            for one, other in (
                (meaning.first, meaning.second),
                (meaning.second, meaning.first),
            ):
                if one is target:
                    result.vectors[other] = result.vectors.get(other, sp.S.Zero) + step * slope
    return result


def _checked(
    slope: sp.Expr, line: Descent, target: SlowVector | sp.Symbol, symbols: Symbols
) -> sp.Expr:
    """Return a derivative of the loss, if it is of order one and contains no jump of the loss."""
    sizes = [s for s in slope.free_symbols if isinstance(symbols.meaning.get(s), Size)]
    name = _name(target)
    if sizes:
        meaning = symbols.meaning[sizes[0]]
        assert isinstance(meaning, Size)
        part = f"{meaning.first.name}·{meaning.second.name}"
        raise NotClosed(
            f"the derivative of the loss by {name} contains {part}, which is of order N: parts of "
            f"order N of a loss must not depend on what is trained; divide that part by N, give "
            f"{name} a change of its own with update, or take it out of the loss",
            average=f"E[{slope}]",
            statement=line.text,
        )
    if slope.has(sp.DiracDelta) or slope.atoms(sp.Derivative, sp.Subs):
        raise NotClosed(
            f"the loss jumps, so its gradient by {name} is not a function and the mean of its "
            "square does not exist; descend a continuous loss, or state the change with update",
            average=f"E[({slope})**2]",
            statement=line.text,
        )
    return slope
