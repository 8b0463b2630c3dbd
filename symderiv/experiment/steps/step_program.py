"""The form of a step for given numbers of units, as tables for the compiled loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product, repeat

import numpy as np

from symderiv.experiment.steps.step_loop import StepLoop
from symderiv.storage.kernels import kept_module

CHANGES = ("force", "drift", "push", "scalar", "direct")
"""Kinds of changes, in the order in which the compiled function returns them."""

Law = tuple[tuple[float, float], ...]
"""Values and probabilities of a latent; empty for a Gaussian one."""


@dataclass(frozen=True)
class StepBlock:
    """A block of equivalent numbers, one for every unit.

    Args:
        parts: Names of the inputs, vectors or scalars that they belong to, with # in place of a
            unit's number.
        shape: Letters of the axes; a single one for two units if only the diagonal is present.
    """

    parts: tuple[str, ...]
    shape: tuple[str, ...]

    def members(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
        """Yield the names of the parts of every number, in C order."""
        diagonal = sum(part.endswith("#") for part in self.parts) > len(self.shape)
        for units in product(*(range(1, sizes[letter] + 1) for letter in self.shape)):
            number = repeat(units[0]) if diagonal else iter(units)
            yield tuple(p.replace("#", str(next(number))) if "#" in p else p for p in self.parts)


@dataclass(frozen=True)
class StepForm:
    """The form of a step, for any numbers of units.

    Args:
        text: The text of a module with the function that computes all changes.
        letters: The letters of the families of units, as the function takes their sizes.
        counts: The sizes in the statement.
        vectors: Vectors, each with its family, whether it is fixed, and its constraint: 0 for none,
            −1 for a sphere, or the number of its orthonormal family.
        atoms: Inputs, each with the name under which it was declared ("" for its own), and whether
            a step takes it once, whatever the number of its examples.
        correlations: The correlations of tokens: the first one, and their matrix.
        values: The arguments of the function, by kind and in order.
        laws: The laws of latents.
        changes: The results of the function, by kind: (input, vector) of forces, (vector, vector)
            of drifts and of pushes, which act on velocities, and scalars.
        remembered: Whether there are velocities.
    """

    text: str
    letters: tuple[str, ...]
    counts: Mapping[str, int]
    vectors: tuple[tuple[StepBlock, str, bool, int], ...]
    atoms: tuple[tuple[StepBlock, str, bool], ...]
    correlations: tuple[tuple[str, np.ndarray], ...]
    values: Mapping[str, tuple[StepBlock, ...]]
    laws: Mapping[StepBlock, Law]
    changes: Mapping[str, tuple[StepBlock, ...]]
    remembered: bool


@dataclass(frozen=True)
class Member:
    """A slow vector.

    Args:
        family: The name under which it was declared.
        index: Its place in the family.
        fixed: Whether it never moves.
        constraint: See ``StepForm``.
    """

    family: str
    index: int
    fixed: bool
    constraint: int


class StepProgram:
    """The compiled step of a statement.

    Args:
        form: The form of a step.
        sizes: Numbers of units, by letter.

    Attributes:
        members: The slow vectors by name, in order.
        vectors, atoms: Places of vectors and of inputs, by name.
        sources: The names under which inputs were declared.
        scalars, latents, drawn, parameters: Names in the order of the values; drawn are latents,
            then what is given.
    """

    def __init__(self, form: StepForm, sizes: Mapping[str, int]) -> None:
        self.form, self.sizes = form, dict(sizes)
        self.members: dict[str, Member] = {}
        families: dict[str, int] = {}
        for block, family, fixed, constraint in form.vectors:
            for (name,) in block.members(sizes):
                place = families[family] = families.get(family, -1) + 1
                self.members[name] = Member(family, place, fixed, constraint)
        self.vectors = {name: n for n, name in enumerate(self.members)}
        self.sources: dict[str, str] = {}
        self._once: set[str] = set()
        for block, source, once in form.atoms:
            names = [name for (name,) in block.members(sizes)]
            self.sources |= {name: source or name for name in names}
            self._once |= set(names) if once else set()
        self.atoms = {name: n for n, name in enumerate(self.sources)}
        self.fields = self._all(form.values["field"])
        self.overlaps = self._all(form.values["overlap"])
        self.scalars, self.latents, given, self.parameters = (
            [name for (name,) in self._all(form.values[kind], apart=True)]
            for kind in ("scalar", "latent", "given", "parameter")
        )
        self.drawn = [*self.latents, *given]
        moving = [n for n, each in enumerate(self.members.values()) if not each.fixed]
        place = len(self.vectors)
        self._velocity = {v: place + n for n, v in enumerate(moving)} if form.remembered else {}
        self._moving = moving

    def _all(self, blocks: Sequence[StepBlock], apart: bool = False) -> list[tuple[str, ...]]:
        members = [each for block in blocks for each in block.members(self.sizes)]
        return [(".".join(each),) for each in members] if apart else members

    def velocities(self, places: Sequence[int]) -> list[int]:
        """Return the indices of the velocities of vectors."""
        return [self._velocity[place] for place in places]

    @property
    def rows(self) -> int:
        """The number of vectors in a run, including velocities."""
        return len(self.vectors) + len(self._velocity)

    @property
    def numbers(self) -> int:
        """The number of scalars in a run, including velocities."""
        return len(self.scalars) * (2 if self._velocity else 1)

    @cached_property
    def tables(self) -> tuple[np.ndarray, ...]:
        """Tables of fields, overlaps, forces, drifts, moving scalars, and velocities, as rows of
        indices.
        """
        changes = {kind: self._all(self.form.changes[kind]) for kind in CHANGES}
        v, a, own = self.vectors, self.atoms, self._velocity
        place = {name: n for n, name in enumerate(self.scalars)}
        pairs = [(min(v[w], v[u]), max(v[w], v[u])) for w, u in self.overlaps]
        first: dict[tuple[int, int], int] = {}
        for n, pair in enumerate(pairs):
            first.setdefault(pair, n)
        rows: tuple[list[tuple[int, ...]], ...] = (
            [(v[w], a[x]) for x, w in self.fields],
            [(*pair, first[pair]) for pair in pairs],
            [(own.get(v[w], v[w]), a[x], int(x in self._once)) for x, w in changes["force"]],
            [
                *((v[w], v[u], 0) for w, u in changes["drift"]),
                *((own.get(v[w], v[w]), v[u], 1) for w, u in changes["push"]),
            ],
            [
                *((place[u], self._followed(place[u])) for (u,) in changes["scalar"]),
                *((place[u], -2) for (u,) in changes["direct"]),
            ],
            list(own.items()),
        )
        width = (2, 3, 3, 3, 2, 2)
        return tuple(
            np.array(each, dtype=np.int64).reshape(-1, n)
            for each, n in zip(rows, width, strict=True)
        )

    def _followed(self, place: int) -> int:
        """Return the index of the velocity of a scalar, or −1."""
        return len(self.scalars) + place if self._velocity else -1

    @cached_property
    def laws(self) -> list[Law]:
        """The laws of the latents."""
        blocks = self.form.values["latent"]
        return [self.form.laws[block] for block in blocks for _ in block.members(self.sizes)]

    @property
    def results(self) -> int:
        """The number of changes that the function returns."""
        return sum(len(self._all(blocks)) for blocks in self.form.changes.values())

    @cached_property
    def moving(self) -> np.ndarray:
        """The indices of the vectors that move."""
        return np.array([*self._moving, *self._velocity.values()], dtype=np.int64)

    @cached_property
    def constraints(self) -> np.ndarray:
        """Constraint of each vector: 0 for none, −1 for a sphere, or the number of its orthonormal
        family.
        """
        result = np.zeros(self.rows, dtype=np.int64)
        result[: len(self.members)] = [each.constraint for each in self.members.values()]
        return result

    @cached_property
    def mixing(self) -> np.ndarray:
        """The triangular matrix by which independent inputs become correlated tokens."""
        result = np.eye(len(self.atoms))
        for first, matrix in self.form.correlations:
            own = slice(self.atoms[first], self.atoms[first] + len(matrix))
            values, vectors = np.linalg.eigh(matrix)
            # a triangular root, also for a singular correlation
            root = np.linalg.qr((vectors * np.sqrt(np.maximum(values, 0.0))).T)[1].T
            result[own, own] = root
        return result

    @property
    def slots(self) -> int:
        """The number of values before the parameters."""
        return len(self.fields) + len(self.overlaps) + len(self.scalars) + len(self.drawn)

    @property
    def lengths(self) -> list[int]:
        """The sizes as arguments of the compiled function."""
        return [1, *(self.sizes[letter] for letter in self.form.letters)]

    @cached_property
    def loop(self) -> StepLoop:
        """The loop over steps, with the compiled function of their changes."""
        return StepLoop(kept_module(self.form.text).specialised(*self.lengths))
