"""A flow of order parameters with the permutations and signs of units that leave it alone.

Axes of packed arrays say which units an entry belongs to, for any learning rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product

import numpy as np

from symderiv.analysis.fixed_points.exchanged_flow import ExchangedFlow, UnitEntries, of_vectors
from symderiv.analysis.fixed_points.newton_steps import Floats, Labels
from symderiv.analysis.fixed_points.symmetric_flow import differences
from symderiv.foundation.errors import NotYetError
from symderiv.foundation.packing import Packing, families_of, is_symmetric, orbits

_MOST_ELEMENTS = 50_000
_STEPS, _SMOOTH = (2e-3, 4e-3), 1e-5


@dataclass(frozen=True)
class UnitFlow(ExchangedFlow):
    """A flow of packed states, in the coordinates that move independently (Q_ij for i ≤ j).

    Attributes:
        rates: A function from a packed state and packed constants to the rates.
        axes: The axes of every field of the state, and of the constants: letters K (students), M
            (teachers) and L (eigenvalues).
        sizes: The sizes of these letters.
        begin: The packed initial state.
        constants: The packed constants.
        unit: The learning rate, by which rates are divided.
    """

    rates: Callable[[Floats, Floats], Floats]
    axes: tuple[Mapping[str, tuple[str, ...]], Mapping[str, tuple[str, ...]]]
    sizes: Mapping[str, int]
    begin: Floats
    constants: Floats
    unit: float

    @cached_property
    def _packings(self) -> tuple[Packing, ...]:
        # kept, because rates are computed many thousand times
        return tuple(Packing.of({"v": each}, "v", **self.sizes) for each in self.axes)

    def packing(self, which: int) -> Packing:
        """Return the packing of states (0) or of constants (1)."""
        return self._packings[which]

    @cached_property
    def mirror(self) -> Labels:
        """The place of Q_ji for Q_ij, and for other entries their own."""
        places = self.packing(0).views(np.arange(self.begin.size))
        twin = np.arange(self.begin.size)
        for name, each in places.items():
            families = families_of(name)
            if len(families) == 2 and families[0] == families[1] and self.axes[0][name][0] == "K":
                twin[each.ravel()] = np.swapaxes(each, 0, 1).ravel()
        return twin

    @cached_property
    def place(self) -> Labels:
        """Places of the coordinates, which move independently, in a packed state."""
        numbers = np.ones(self.begin.size, dtype=bool)
        for name, part in self.packing(0).slices.items():
            numbers[part] = not families_of(name)
        moving = np.zeros(self.begin.size, dtype=bool)
        # a weight whose velocity is zero is fixed: numbers of units are varied only once they have
        # moved
        for state in self.samples(6, seed=5):
            varied = np.where(numbers & ~moving, self.begin, state)
            moving |= self.rates(self._whole(varied), self.constants) != 0.0
        return np.flatnonzero(moving & (np.arange(self.begin.size) <= self.mirror))

    def _whole(self, state: Floats) -> Floats:
        return np.where(np.arange(state.size) <= self.mirror, state, state[self.mirror])

    @cached_property
    def _mirrored(self) -> Labels:
        return np.asarray(self.mirror[self.place])

    def state(self, values: Floats) -> Floats:
        """Return the packed state that has these coordinates."""
        packed = self.begin.copy()
        packed[self.place] = values
        packed[self._mirrored] = values
        return packed

    def slope(self, values: Floats, constants: Floats | None = None) -> Floats:
        """Return the rates of coordinates; NaN where they do not exist."""
        used = self.constants if constants is None else constants
        return self.rates(self.state(values), used)[self.place] / self.unit

    def samples(self, count: int, seed: int) -> Iterator[Floats]:
        """Yield packed states of random students of all sizes, near and far from the teachers.

        Fields that are not overlaps stay near their initial values.
        """
        random = np.random.default_rng(seed)
        K, M = self.sizes["K"], self.sizes["M"]
        for _ in range(count):
            state = self.begin.copy()
            views = self.packing(0).views(state)
            scale = 10.0 ** random.uniform(-1.0, 0.4)
            apart = random.choice([0.0, 0.3, 1.0]) * scale
            mixing = scale * random.standard_normal((K, M))
            for k, root in enumerate(self.roots):
                own = apart * random.standard_normal((K, K))
                in_teachers = mixing @ root
                views["student_overlap"][..., k] = in_teachers @ in_teachers.T + own @ own.T
                views["cross_overlap"][..., k] = in_teachers @ root.T
            for name, each in views.items():
                if not families_of(name):
                    each += 0.3 * random.standard_normal(each.shape)
                elif name not in ("student_overlap", "cross_overlap"):
                    each += 0.1 * random.standard_normal(each.shape)
            yield self._whole(state)

    @cached_property
    def roots(self) -> list[Floats]:
        """A root S of the teachers' overlaps T = S S^T, for each eigenvalue."""
        teachers = self.packing(1).views(self.constants)["teacher_overlap"]
        pairs = (np.linalg.eigh(teachers[..., k]) for k in range(self.sizes["L"]))
        return [vectors * np.sqrt(values.clip(0)) for values, vectors in pairs]

    def grams(self, values: Floats, constants: Floats | None = None) -> Iterator[Floats]:
        views = self.packing(0).views(self.state(values))
        used = self.constants if constants is None else constants
        teachers = self.packing(1).views(used)["teacher_overlap"]
        for k in range(self.sizes["L"]):
            R = views["cross_overlap"][..., k]
            yield np.block([[views["student_overlap"][..., k], R], [R.T, teachers[..., k]]])

    def inside(self, values: Floats) -> Floats:
        state, K = self.state(values), self.sizes["K"]
        views = self.packing(0).views(state)
        for k, gram in enumerate(self.grams(values)):
            Q = of_vectors(gram[:K, :K], gram[:K, K:], gram[K:, K:])
            views["student_overlap"][..., k] = Q
        return state[self.place]

    @cached_property
    def smooth(self) -> bool:
        """True if the rates extend beyond the cone of vectors, with derivatives on its edge.

        With kinked activations they do not; this is tested where all students are along one
        teacher.
        """
        state = self.begin.copy()
        views = self.packing(0).views(state)
        teachers = self.packing(1).views(self.constants)["teacher_overlap"]
        lengths = np.linspace(0.6, 0.9, self.sizes["K"])
        views["student_overlap"][...] = np.multiply.outer(
            np.outer(lengths, lengths), teachers[0, 0]
        )
        views["cross_overlap"][...] = np.multiply.outer(lengths, teachers[0])
        return self.differentiable(state[self.place])

    def differentiable(self, values: Floats) -> bool:
        """Return whether finite-difference derivatives are independent of their step."""
        fine, coarse = (differences(self.slope, values, step) for step in _STEPS)
        return bool(np.max(np.abs(fine - coarse)) < _SMOOTH * (1e-3 + np.max(np.abs(fine))))

    # The symmetry group. Units are the vectors of students and of teachers, then their scalars.

    def _entries(self, which: int) -> UnitEntries:
        """Return the units of the entries of states (0) or of constants (1)."""
        first = {"K": 0, "M": self.sizes["K"]}
        vectors = self.sizes["K"] + self.sizes["M"]
        entries = []
        for name, shape in self.packing(which).shapes.items():
            axes, role = self.axes[which][name], 0 if families_of(name) else vectors
            for index in np.ndindex(*shape):
                at = list(zip(axes, index, strict=True))
                rest = tuple(i for axis, i in at if axis not in first)
                units = [first[axis] + i + role for axis, i in at if axis in first]
                entries.append(((name, rest), units, is_symmetric(name)))
        return UnitEntries.of(2 * vectors, entries)

    @cached_property
    def whole(self) -> UnitEntries:
        return self._entries(0)

    @cached_property
    def fixed(self) -> Sequence[tuple[UnitEntries, Floats]]:
        covered = np.union1d(self.place, self.mirror[self.place])
        still = np.setdiff1d(np.arange(self.begin.size), covered)
        return (self.whole.at(still), self.begin[still]), (self._entries(1), self.constants)

    @property
    def vectors(self) -> Sequence[Sequence[Sequence[int]]]:
        beside = self.sizes["K"] + self.sizes["M"]
        return [[(i, i + beside) for i in range(self.sizes["K"])]]

    def _moved(self, letter: str, order: Sequence[int]) -> Labels:
        """Return the permutation of all units by an order of the students or of the teachers."""
        K, M = self.sizes["K"], self.sizes["M"]
        moved = np.arange(2 * (K + M)).reshape(2, K + M)
        own = slice(0, K) if letter == "K" else slice(K, K + M)
        moved[:, own] = moved[:, own][:, list(order)]
        return moved.ravel()

    @cached_property
    def kinds(self) -> Mapping[str, Sequence[Labels]]:
        kinds: dict[str, list[Labels]] = {}
        for name, letter in (("students", "K"), ("teachers", "M")):
            units = list(range(self.sizes[letter]))
            swaps = [[n, *units[1:n], 0, *units[n + 1 :]] for n in units[1:]]
            orders = [self.moving.places(self._moved(letter, each)) for each in swaps]
            kinds[name] = [each for each in orders if each is not None]
        return kinds

    @cached_property
    def group(self) -> tuple[Labels, Floats, Labels, Labels]:
        """All symmetries, as orders, signs, and permutations of students and of teachers.

        Entry n of an image is sign[n] times entry order[n]; orders and signs have shapes (g, n),
        the permutations (g, K) and (g, M).

        Raises:
            NotYetError: There are too many.
        """
        parts = [list(self._exchanges(letter)) for letter in "KM"]
        if len(parts[0]) * len(parts[1]) > _MOST_ELEMENTS:
            raise NotYetError(
                f"these units have {len(parts[0]) * len(parts[1])} symmetries, more than "
                f"{_MOST_ELEMENTS}; take fewer students or teachers"
            )
        elements: dict[bytes, tuple[Labels, Floats, Labels, Labels]] = {}
        for (first, sign, students), (second, other, teachers) in product(*parts):
            order, signs = first[second], sign[second] * other
            key = order.tobytes() + signs.tobytes()
            elements.setdefault(key, (order, signs, students, teachers))
        orders, all_signs, students_of, teachers_of = zip(*elements.values(), strict=True)
        return np.array(orders), np.array(all_signs), np.array(students_of), np.array(teachers_of)

    def _exchanges(self, letter: str) -> Iterator[tuple[Labels, Floats, Labels]]:
        """Yield the symmetries that permute, with signs, the students or the teachers."""
        size = self.sizes[letter]
        own = self._moved(letter, range(size)).reshape(2, -1)
        own = own[:, :size] if letter == "K" else own[:, -size:]
        # scalars of units change their sign with the vectors, or not
        for turned in (own, own[:1]):
            for order in permutations(range(size)):
                for each in product((1.0, -1.0), repeat=size):
                    signs = np.ones(self.whole.count)
                    signs[turned] = each
                    symmetry = self.symmetry_of(self._moved(letter, order), signs)
                    if symmetry is not None:
                        yield (*symmetry, np.array(order))

    @property
    def elements(self) -> tuple[Labels, Floats]:
        return self.group[0], self.group[1]


def exchanged(orders: Labels) -> list[list[int]]:
    """Return the classes of units that permutations, shape (g, n), exchange."""
    labels = orbits(orders.shape[1], list(orders))
    return [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]
