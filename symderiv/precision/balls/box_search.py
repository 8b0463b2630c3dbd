"""All roots in a box, which is divided until each part has no root, or exactly one.

A part is left out if the functions cannot vanish in it; otherwise it is narrowed to where they can,
by their linear forms (:mod:`symderiv.precision.balls.forms`). A small part holds exactly one root
where Krawczyk's operator maps it into its own interior. Everything is rounded outwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from flint import arb, arb_mat

from symderiv.foundation.errors import SymderivError
from symderiv.precision.balls.forms import narrowed
from symderiv.precision.balls.krawczyk import gradients, krawczyk_image
from symderiv.precision.balls.operations import Operations
from symderiv.precision.balls.working import working_bits

Floats = npt.NDArray[np.float64]

_BATCH = 1024
# roots are sought in parts smaller than the first number; parts below the second are not divided
_SMALL, _SMALLEST = 1e-5, 1e-9
# after so many parts, the search ends if at its pace the largest number of parts is not enough
_PACE = 250_000
# a part that was narrowed to a smaller share is narrowed once more before it is divided
_AGAIN = 0.5
_RADII = 0.25 * 0.7 ** np.arange(36)
_BITS = 64
#: Sums of doubles are given this error, in units of the sums of absolute values.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Census:
    """The part of a completeness proof that covers one box.

    Attributes:
        boxes: The number of parts that were examined.
        points: Bounds of parts that hold exactly one root each, shape (m, 2); it may be a known
            one.
        left: Bounds of parts of which nothing is proved, shape (p, m, 2).
    """

    boxes: int
    points: list[Floats]
    left: Floats

    @property
    def complete(self) -> bool:
        """Return whether every part was proved to have no root or exactly one."""
        return not len(self.left)


def roots_in_box(
    functions: Operations,
    bound: Floats,
    known: Sequence[Floats],
    cut: Callable[[Floats, Floats], npt.NDArray[np.bool_]],
    most: int,
    tell: Callable[[float], None],
) -> Census:
    """Return what is proved about the roots whose components are at most ``bound`` in size.

    Args:
        functions: n functions of n numbers.
        bound: shape (n,).
        known: Roots, shapes (n,).
        cut: Narrows boxes with bounds of shapes (B, n) in place, and returns which of them remain.
        most: The number of parts after which the search ends. It ends earlier if at its pace so far
            more would be needed.
        tell: Called with the share of the box that is decided.

    Raises:
        SymderivError: A known root was lost.
    """
    roots = _Roots(functions)
    low, high, shares = -bound[None], bound[None].copy(), np.ones(1)
    known = [one for one in known if _remains(one, bound, cut)]
    explained = [each for one in known if (each := roots.around(one)) is not None]
    points, left, boxes = list[Floats](), list[Floats](), 0
    while len(low) and boxes < most:
        decided_share = 1 - float(np.sum(shares))
        tell(decided_share)
        if boxes > _PACE and boxes > most * decided_share:
            break
        boxes += len(low[-_BATCH:])
        taken, other, share = low[-_BATCH:].copy(), high[-_BATCH:].copy(), shares[-_BATCH:]
        low, high, shares = low[:-_BATCH], high[:-_BATCH], shares[:-_BATCH]
        remaining = cut(taken, other)
        for inner, outer in explained:
            remaining &= ~np.all((taken >= inner) & (other <= outer), axis=1)
        taken, other, share = taken[remaining], other[remaining], share[remaining]
        below, above, volume = narrowed(functions, taken, other)
        for one in known:
            _check_kept(one, (taken, other), (below, above), volume)
        decided = volume < 0
        for n in np.flatnonzero((np.max(above - below, axis=1) < _SMALL) & (volume >= _AGAIN)):
            box = np.stack([below[n], above[n]], axis=1)
            around = roots.covering(box)
            if around is not None:
                explained.append(around)
                points.append(np.stack(around, axis=1))
                decided[n] = True
            elif np.max(above[n] - below[n]) < _SMALLEST:
                left.append(box)
                decided[n] = True
        again, divided = ~decided & (volume < _AGAIN), ~decided & (volume >= _AGAIN)
        first, second = _halved(below[divided], above[divided])
        low = np.concatenate([low, below[again], first])
        high = np.concatenate([high, above[again], second])
        shares = np.concatenate([shares, share[again], share[divided] / 2, share[divided] / 2])
    left += list(np.stack([low, high], axis=2))
    return Census(boxes, points, np.array(left).reshape(-1, bound.size, 2))


def _remains(
    root: Floats, bound: Floats, cut: Callable[[Floats, Floats], npt.NDArray[np.bool_]]
) -> bool:
    """Return whether a root is in the box, and in none of the parts that are cut off."""
    slack = _SMALL * (1 + np.abs(root))
    return bool(
        np.all(np.abs(root) <= bound + slack) and cut((root - slack)[None], (root + slack)[None])[0]
    )


def _check_kept(
    root: Floats, before: tuple[Floats, Floats], after: tuple[Floats, Floats], volume: Floats
) -> None:
    """Check that boxes which held a root still hold it after narrowing.

    Raises:
        SymderivError: One does not.
    """
    slack = 1e-9 * (1 + np.abs(root))
    held = np.all((before[0] <= root) & (before[1] >= root), axis=1)
    holds = np.all((after[0] <= root + slack) & (after[1] >= root - slack), axis=1) & (volume >= 0)
    if np.any(held & ~holds):
        raise SymderivError(
            "a part that holds a known root was left out, so that nothing is proved: an enclosure "
            "of symderiv is wrong; please report it"
        )


def _halved(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return boxes divided in two along their widest side."""
    n = np.argmax(high - low, axis=1)
    rows = np.arange(len(low))
    middle = (low[rows, n] + high[rows, n]) / 2
    first, second = high.copy(), low.copy()
    first[rows, n] = middle
    second[rows, n] = middle
    return np.concatenate([low, second]), np.concatenate([first, high])


class _Roots:
    """Finds boxes that hold exactly one root, by ball arithmetic.

    Args:
        functions: n functions of n numbers.
    """

    def __init__(self, functions: Operations) -> None:
        with working_bits(_BITS):
            self._values = functions.in_balls()

    def covering(self, box: Floats) -> tuple[Floats, Floats] | None:
        """Return a box that is proved to hold exactly one root and contains a given one, (n, 2)."""
        # a box centred at the middle also encloses roots at the edge
        around = self.around(box.mean(axis=1))
        if around is None or np.any((box[:, 0] < around[0]) | (box[:, 1] > around[1])):
            return None
        return around

    def around(self, numbers: Floats) -> tuple[Floats, Floats] | None:
        """Return the largest of the tried boxes around a root in which it is proved to be the only
        one.

        The proof is by Krawczyk's operator.
        """
        middle = [arb(float(x)) for x in numbers]
        with working_bits(_BITS):
            values = arb_mat(len(middle), 1, self._values(middle))
            for radius in _RADII:
                low, high = numbers - radius, numbers + radius
                box = [arb(a).union(arb(b)) for a, b in zip(low, high, strict=True)]
                try:
                    slopes = gradients(self._values, box)
                    inverse = slopes.mid().inv().mid()
                except (ZeroDivisionError, ValueError):
                    continue  # a root or an inverse has no value somewhere in the box
                image = krawczyk_image(middle, values, slopes, inverse, box)
                if all(b.contains_interior(x) for b, x in zip(box, image, strict=True)):
                    return low, high
        return None
