"""A flow of order parameters with the permutations and signs of units that leave it alone.

Axes of packed arrays say which units an entry belongs to, so that permutations act on vectors of
any learning rule. Which of them are symmetries is not assumed: those are kept that leave constants
and fixed weights alone and commute with the rates at states in general position. States that they
take to each other are one fixed point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product

import numpy as np
import numpy.typing as npt

from symderiv.analysis.fixed_points.exchanged_flow import ExchangedFlow, averaging, partitions
from symderiv.analysis.fixed_points.symmetric_flow import differences
from symderiv.foundation.errors import NotYetError
from symderiv.foundation.packing import Packing, families_of, orbits

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

_MOST_ELEMENTS = 50_000
_COMMUTES = 1e-8
_STEPS, _SMOOTH = (2e-3, 4e-3), 1e-5


@dataclass(frozen=True)
class UnitFlow(ExchangedFlow):
    """A flow of packed states, in the coordinates that move independently: Q_ij once for i ≤ j.

    Attributes:
        rates: The rates of a packed state at packed constants.
        axes: The axes of every field of the state, and of the constants: letters K (students), M
            (teachers) and L (eigenvalues).
        sizes: The sizes of these letters.
        begin: A packed state.
        constants: Packed.
        unit: What rates are divided by, the learning rate.
    """

    rates: Callable[[Floats, Floats], Floats]
    axes: tuple[Mapping[str, tuple[str, ...]], Mapping[str, tuple[str, ...]]]
    sizes: Mapping[str, int]
    begin: Floats
    constants: Floats
    unit: float

    def packing(self, which: int) -> Packing:
        """Return how states (0) or constants (1) are packed."""
        return Packing.of({"v": self.axes[which]}, "v", **self.sizes)

    @cached_property
    def mirror(self) -> Labels:
        """The place of Q_ji for that of Q_ij; of other entries their own."""
        places = self.packing(0).views(np.arange(self.begin.size))
        twin = np.arange(self.begin.size)
        for name, each in places.items():
            families = families_of(name)
            if len(families) == 2 and families[0] == families[1] and self.axes[0][name][0] == "K":
                twin[each.ravel()] = np.swapaxes(each, 0, 1).ravel()
        return twin

    @cached_property
    def place(self) -> Labels:
        """Places of the coordinates in a packed state."""
        numbers = np.ones(self.begin.size, dtype=bool)
        for name, part in self.packing(0).slices.items():
            numbers[part] = not families_of(name)
        moving = np.zeros(self.begin.size, dtype=bool)
        # a weight whose velocity never moves is fixed: numbers vary only once they are seen to move
        for state in self.samples(6, seed=5):
            varied = np.where(numbers & ~moving, self.begin, state)
            moving |= self.rates(self._whole(varied), self.constants) != 0.0
        return np.flatnonzero(moving & (np.arange(self.begin.size) <= self.mirror))

    def _whole(self, state: Floats) -> Floats:
        return np.where(np.arange(state.size) <= self.mirror, state, state[self.mirror])

    def state(self, values: Floats) -> Floats:
        """Return the packed state of these coordinates."""
        packed = self.begin.copy()
        packed[self.place] = values
        packed[self.mirror[self.place]] = values
        return packed

    def slope(self, values: Floats, constants: Floats | None = None) -> Floats:
        """Return the rates of coordinates, not a number where there are none."""
        used = self.constants if constants is None else constants
        return self.rates(self.state(values), used)[self.place] / self.unit

    def samples(self, count: int, seed: int) -> Iterator[Floats]:
        """Yield packed states of drawn vectors: students of all sizes near and far from teachers.

        Fields that are no overlaps stay near their values at the beginning.
        """
        random = np.random.default_rng(seed)
        K, M, L = (self.sizes[letter] for letter in "KML")
        teachers = self.packing(1).views(self.constants)["teacher_overlap"]
        roots = [root_of(teachers[..., k]) for k in range(L)]
        for _ in range(count):
            state = self.begin.copy()
            views = self.packing(0).views(state)
            scale = 10.0 ** random.uniform(-1.0, 0.4)
            apart = random.choice([0.0, 0.3, 1.0]) * scale
            mixing = scale * random.standard_normal((K, M))
            for k, root in enumerate(roots):
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

    def physical(self, values: Floats, constants: Floats | None = None) -> bool:
        """Return whether vectors with these overlaps exist."""
        return self.least_gram(values, constants) >= -1e-8

    def least_gram(self, values: Floats, constants: Floats | None = None) -> float:
        """Return the least eigenvalue of the overlaps of all units, in units of the largest."""
        views = self.packing(0).views(self.state(values))
        used = self.constants if constants is None else constants
        teachers = self.packing(1).views(used)["teacher_overlap"]
        least = []
        for k in range(self.sizes["L"]):
            R = views["cross_overlap"][..., k]
            gram = np.block([[views["student_overlap"][..., k], R], [R.T, teachers[..., k]]])
            eigenvalues = np.linalg.eigvalsh(gram)
            least.append(eigenvalues[0] / max(eigenvalues[-1], 1e-300))
        return float(min(least))

    def inside(self, values: Floats) -> Floats:
        """Return coordinates with what Q lacks to be of vectors, given R, added."""
        state = self.state(values)
        views = self.packing(0).views(state)
        teachers = self.packing(1).views(self.constants)["teacher_overlap"]
        for k in range(self.sizes["L"]):
            R = views["cross_overlap"][..., k]
            along = R @ np.linalg.pinv(teachers[..., k]) @ R.T
            rest, vectors = np.linalg.eigh(views["student_overlap"][..., k] - along)
            views["student_overlap"][..., k] = along + vectors @ np.diag(rest.clip(0)) @ vectors.T
        return state[self.place]

    @cached_property
    def smooth(self) -> bool:
        """True if the rates go on beyond the states of vectors and have derivatives on their edge.

        Those of activations with kinks do not; they are looked at where all students are along one
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
        """Return whether derivatives by differences do not depend on their step."""
        fine, coarse = (differences(self.slope, values, step) for step in _STEPS)
        return bool(np.max(np.abs(fine - coarse)) < _SMOOTH * (1e-3 + np.max(np.abs(fine))))

    # The symmetry group.

    @cached_property
    def group(self) -> tuple[Labels, Floats, Labels, Labels]:
        """All symmetries: entry n of an image is sign[n] times entry order[n]; shapes (g, n).

        Then the permutations of students (g, K) and of teachers (g, M) that they are.

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
        """Yield permutations with signs of one kind of units that leave the flow alone."""
        size = self.sizes[letter]
        samples = [state[self.place] for state in self.samples(2, seed=11)]
        slopes = [self.slope(each) for each in samples]
        for odd in (True, False):
            for order in permutations(range(size)):
                for signs in product((1.0, -1.0), repeat=size):
                    given = letter, np.array(order), np.array(signs), odd
                    if not self._keeps_constants(*given):
                        continue
                    action = self._action(0, *given)
                    moved = self._on_coordinates(*action)
                    if all(
                        np.allclose(
                            self.slope(moved[1] * y[moved[0]]),
                            moved[1] * slope[moved[0]],
                            rtol=_COMMUTES,
                            atol=_COMMUTES * np.max(np.abs(slope)),
                        )
                        for y, slope in zip(samples, slopes, strict=True)
                    ):
                        yield (*moved, given[1])

    def _keeps_constants(self, letter: str, order: Labels, signs: Floats, odd: bool) -> bool:
        fixed = np.setdiff1d(np.arange(self.begin.size), self._covered)
        for which, vector in enumerate((self.begin, self.constants)):
            places, sign = self._action(which, letter, order, signs, odd)
            image = sign * vector[places]
            compared = fixed if which == 0 else np.arange(vector.size)
            if not np.allclose(image[compared], vector[compared], rtol=1e-12, atol=1e-13):
                return False
        return True

    @cached_property
    def _covered(self) -> Labels:
        return np.union1d(self.place, self.mirror[self.place])

    def _action(
        self, which: int, letter: str, order: Labels, signs: Floats, odd: bool
    ) -> tuple[Labels, Floats]:
        """Return an exchange on packed vectors: where entries come from, and their signs."""
        packing = self.packing(which)
        size = packing.size
        places, signs_of_entries = np.arange(size), np.ones(size)
        here, sign = packing.views(places), packing.views(signs_of_entries)
        for name, axes in self.axes[which].items():
            taken, factor = here[name].copy(), np.ones(here[name].shape)
            signed = families_of(name) or odd
            for number, axis in enumerate(axes):
                if axis == letter:
                    taken = np.take(taken, order, axis=number)
                    if signed:
                        shape = [-1 if n == number else 1 for n in range(len(axes))]
                        factor = factor * signs.reshape(shape)
            here[name][...], sign[name][...] = taken, factor
        return places, signs_of_entries

    def _on_coordinates(self, places: Labels, signs: Floats) -> tuple[Labels, Floats]:
        """Return an exchange of packed states on coordinates."""
        once = np.minimum(np.arange(places.size), self.mirror)
        order = np.searchsorted(self.place, once[places[self.place]])
        return order, signs[self.place]

    def alike(self, *letters: str) -> Labels:
        """Return the class, from 0, of each coordinate under all permutations of kinds of units."""
        orders = []
        for letter in letters:
            units = np.arange(self.sizes[letter])
            for n in units[1:]:
                swapped = units.copy()
                swapped[[0, n]] = n, 0
                action = self._action(0, letter, swapped, np.ones(units.size), odd=False)
                orders.append(self._on_coordinates(*action)[0])
        return np.asarray(np.unique(orbits(self.place.size, orders), return_inverse=True)[1])

    @property
    def elements(self) -> tuple[Labels, Floats]:
        return self.group[0], self.group[1]

    def merged(self) -> Iterator[Floats]:
        """Yield projectors on states in which some students are one vector, for all partitions."""
        K = self.sizes["K"]
        for labels in partitions(K):
            first = np.array([labels.index(label) for label in labels])
            if len(set(labels)) == K:
                continue
            classes: dict[tuple[object, ...], list[int]] = {}
            places = np.full(self.begin.size, -1)
            places[self.place] = np.arange(self.place.size)
            for name, entries in self.packing(0).views(places).items():
                axes = self.axes[0][name]
                for index, number in np.ndenumerate(entries):
                    if number < 0:
                        continue
                    units = [
                        int(first[i]) if axis == "K" else i
                        for i, axis in zip(index, axes, strict=True)
                    ]
                    if families_of(name)[:1] == families_of(name)[1:]:
                        units[:2] = sorted(units[:2])
                    classes.setdefault((name, *units), []).append(int(number))
            yield averaging(self.place.size, classes.values())


def exchanged(orders: Labels) -> list[list[int]]:
    """Return classes of units that permutations, shape (g, n), exchange."""
    labels = orbits(orders.shape[1], list(orders))
    return [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]


def root_of(matrix: Floats) -> Floats:
    """Return a root S of a covariance T = S S^T."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(values.clip(0)))
