r"""Patterns of coinciding fields in a mean, their names, and their symmetries.

The mean E[g'(x_i) g'(x_j) g(x_p) g(x_q)] is one function of a 4×4 covariance while the four
indices differ. Where indices coincide fewer fields are left and the function may simplify (H² = H
for ReLU) or the general one may not even be defined there. A *pattern* says which factors share a
field.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from symderiv.learning.derivation.mean_factors import Slot
from symderiv.lowering.means.closed_means import upper_triangle

Kind = tuple[bool, int]
"""A factor: (does it belong to the teacher, order of the derivative)."""


@dataclass(frozen=True)
class Pattern:
    """The factors of a mean, grouped by field: one tuple of factors per distinct field.

    Of all ways to letter the factors, the alphabetically first one orders the fields, so that equal
    means are equal patterns.
    """

    fields: tuple[tuple[Kind, ...], ...]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """All factors, highest derivatives first, students before teachers."""
        return tuple(sorted((kind for field in self.fields for kind in field), key=_rank))

    @property
    def letters(self) -> str:
        """Letters of the factors, equal for factors that share a field: in ``aabc`` the first two
        share the first field, a.
        """
        return min(_words(self.fields))[0]

    @property
    def distinct(self) -> bool:
        """True if every factor has a field of its own."""
        return all(len(field) == 1 for field in self.fields)

    def symmetries(self, biased: bool = False) -> tuple[tuple[int, ...], ...]:
        """Exchanges of two fields that carry the same factors, as permutations of the arguments.

        The arguments are the upper triangle of the covariance matrix, row by row, then, if
        ``biased``, a bias of every field.
        """
        size = len(self.fields)
        triangle = size * (size + 1) // 2
        places = {pair: number for number, pair in enumerate(upper_triangle(size))}
        exchanges = []
        for first in range(size):
            for second in range(first + 1, size):
                if self.fields[first] != self.fields[second]:
                    continue
                swap = {first: second, second: first}
                exchanged = [
                    places[_ordered(swap.get(a, a), swap.get(b, b))]
                    for a, b in upper_triangle(size)
                ]
                biases = range(size) if biased else ()
                exchanged += [triangle + swap.get(a, a) for a in biases]
                exchanges.append(tuple(exchanged))
        return tuple(exchanges)


def _rank(kind: Kind) -> tuple[int, bool]:
    return -kind[1], kind[0]


def _ordered(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a <= b else (b, a)


@dataclass(frozen=True)
class Arrangement:
    """A pattern with, for each of its fields, the slots that share it."""

    pattern: Pattern
    groups: tuple[tuple[Slot, ...], ...]

    @property
    def representatives(self) -> tuple[Slot, ...]:
        """The first slot of each field, whose index stands for all of them."""
        return tuple(group[0] for group in self.groups)


def arrange(groups: Sequence[Sequence[Slot]], same_activation: bool) -> Arrangement:
    """Return the canonical form of a grouping of slots by field.

    With one activation for both networks, a teacher's factor is the same function as a student's.
    """

    def kinds(group: Sequence[Slot]) -> tuple[Kind, ...]:
        return tuple(sorted((slot.identity(same_activation) for slot in group), key=_rank))

    # the alphabetically first lettering orders the fields; between equal ones the indices decide
    named = [tuple(sorted(group, key=lambda slot: slot.index)) for group in groups]
    _, order = min(
        _words([kinds(group) for group in named]),
        key=lambda word: (
            word[0],
            [(named[n][0].teacher, named[n][0].index, named[n][0].family) for n in word[1]],
        ),
    )
    ordered = tuple(named[number] for number in order)
    return Arrangement(Pattern(tuple(kinds(group) for group in ordered)), ordered)


def _words(fields: Sequence[tuple[Kind, ...]]) -> list[tuple[str, tuple[int, ...]]]:
    """Return all letterings of the factors, each with the fields in order of their letters."""
    owners = [(kind, number) for number, field in enumerate(fields) for kind in field]
    kinds = sorted((kind for kind, _ in owners), key=_rank)
    words = []
    for order in permutations(owners):
        if [kind for kind, _ in order] != kinds:
            continue
        letters: dict[int, str] = {}
        for _, number in order:
            letters.setdefault(number, chr(ord("a") + len(letters)))
        words.append(("".join(letters[number] for _, number in order), tuple(letters)))
    return words


def by_field(slots: Sequence[Slot]) -> list[list[Slot]]:
    """Return slots grouped by the field they are written with."""
    groups: dict[tuple[str, str], list[Slot]] = {}
    for slot in slots:
        groups.setdefault((slot.family, slot.index), []).append(slot)
    return list(groups.values())


def coincidences(groups: Sequence[Sequence[Slot]]) -> Iterator[list[list[Slot]]]:
    """Yield all ways in which fields of the same family can coincide, most coincident first.

    The last one is the given grouping itself, with no further coincidence.
    """
    every = [[list(block) for block in blocks] for blocks in _merged(list(groups))]
    yield from sorted(every, key=len)


def _merged(groups: list[Sequence[Slot]]) -> Iterator[list[list[Slot]]]:
    if not groups:
        yield []
        return
    first, rest = list(groups[0]), groups[1:]
    for blocks in _merged(rest):
        yield [first, *blocks]
        for number, block in enumerate(blocks):
            if block[0].family == first[0].family:
                yield [first + block if other == number else b for other, b in enumerate(blocks)]
