r"""All fixed points in a box: space is divided until each part has none, or exactly one.

Coordinates are R and :math:`P = Q - R T^{-1} R^T`, the overlaps of what students have outside of
the teachers. With one eigenvalue, plain descent has its fixed points where

.. math:: A R + B T + \kappa R/\eta = 0, \qquad A P + P A + 2 \kappa P/\eta = \eta\Gamma,

because in dQ/dα the terms with B are those of the first equation. Vectors exist where P is
positive semi-definite, which cuts the box. A part is left out if a rate cannot vanish in it, by its
range or by its mean-value form, and is made smaller by preconditioned Gauss-Seidel steps; it holds
exactly one fixed point where Krawczyk's operator maps it into its own interior. Everything is
rounded outwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb, arb_mat

from symderiv.analysis.fixed_points.boxes import enclosed_ranges, enclosed_values
from symderiv.analysis.fixed_points.proof import ExactFlow
from symderiv.analysis.fixed_points.recorded import Recorder, Recording
from symderiv.analysis.fixed_points.search import Found, measured, newton, spaces_of
from symderiv.analysis.fixed_points.symmetric_states import SymmetricStates, contained
from symderiv.foundation.errors import NotYetError
from symderiv.precision.balls.contexts import numbers

__all__ = ["BoxedEquations", "Census", "ProvedSpace", "census", "proved_spaces"]

Floats = npt.NDArray[np.float64]

_BATCH, _MOST_BOXES, _LARGEST_SPACE = 1024, 200_000, 4
_ROUNDING, _DIGITS = 1e-12, 30
_SMALLEST = 1e-5
_RADII = tuple(0.25 * 0.7**k for k in range(32))


@dataclass(frozen=True)
class Census:
    """The part of a completeness proof that covers one space of states.

    Attributes:
        boxes: How many parts were looked at.
        points: Bounds of parts that hold exactly one fixed point each, shape (m, 2); it may be a
            known one.
        left: Bounds of parts of which nothing is proved, shape (p, m, 2).
    """

    boxes: int
    points: list[Floats]
    left: Floats

    @property
    def complete(self) -> bool:
        """True if every part has no fixed point or exactly one."""
        return not len(self.left)


@dataclass(frozen=True)
class BoxedEquations:
    """The rates of an invariant space, recorded, and what they need to know.

    Attributes:
        states: The space.
        recording: The recording of the rates by the numbers of classes.
        inverse: The inverse of T, shape (M, M).
    """

    states: SymmetricStates
    recording: Recording
    inverse: Floats

    @classmethod
    def of(cls, states: SymmetricStates, exact: ExactFlow) -> BoxedEquations:
        """Record the equations of a space.

        Raises:
            NotYetError: They are not those of plain descent with one eigenvalue and fixed output
                weights, or teachers are not independent.
        """
        with numbers(_DIGITS, "arb") as balls:
            state, constants = exact.fields(balls, [arb(0)] * states.flow.place.size)
            return cls._recorded(states, exact.module, {**constants, "v": state["v"]})

    @classmethod
    def _recorded(
        cls, states: SymmetricStates, module: Any, known: Mapping[str, Any]
    ) -> BoxedEquations:
        recorder = Recorder()
        P, R = states.filled([recorder.input() for _ in range(states.size)], arb(0))
        K, M, T = len(R), len(R[0]), known["T"]
        if states.flow.sizes["L"] != 1 or not _is_one(known["eigenvalue"], known["weight"]):
            raise NotYetError("completeness is proved for isotropic inputs of variance 1")
        if states.flow.place.size != K * (K + 1) // 2 + K * M:
            raise NotYetError("completeness is proved where Q and R alone move")
        try:
            inverse = arb_mat(T).inv()
        except ZeroDivisionError:
            raise NotYetError("completeness needs teachers that are independent") from None
        through = [
            [_sum(inverse[m, n] * R[j][n] for n in range(M)) for m in range(M)] for j in range(K)
        ]
        Q = [
            [_sum([P[i][j], *(R[i][m] * through[j][m] for m in range(M))]) for j in range(K)]
            for i in range(K)
        ]
        for i in range(K):
            for j in range(i):
                Q[i][j] = Q[j][i]
        rates = _rates(states, module, recorder, (P, Q, R), known)
        middle = np.array([[float(inverse[m, n].mid()) for n in range(M)] for m in range(M)])
        return cls(states, recorder.recording([rates[n] for n in states.firsts()]), middle)

    def cut(self, low: Floats, high: Floats, largest: float) -> npt.NDArray[np.bool_]:
        """Make boxes smaller where vectors exist, in place; return which of them are left."""
        states = self.states
        for n in np.unique(states.diagonal[states.diagonal >= 0]):
            np.maximum(low[:, n], 0.0, out=low[:, n])
        for k, i, j in states.pairs:
            bound = np.sqrt(np.maximum(high[:, i] * high[:, j], 0.0)) * (1 + _ROUNDING)
            np.maximum(low[:, k], -bound, out=low[:, k])
            np.minimum(high[:, k], bound, out=high[:, k])
            least = np.maximum(np.maximum(low[:, k], -high[:, k]), 0.0) ** 2 * (1 - _ROUNDING)
            for one, two in ((i, j), (j, i)):
                with np.errstate(all="ignore"):
                    np.fmax(low[:, one], least / high[:, two] * (1 - _ROUNDING), out=low[:, one])
        first, others = states.largest_of_orbit()
        for n in others:
            np.minimum(high[:, n], high[:, first], out=high[:, n])
            np.maximum(low[:, first], low[:, n], out=low[:, first])
        left: npt.NDArray[np.bool_] = np.all(low <= high, axis=1)
        return left & self._small(low, high, largest)

    def _small(self, low: Floats, high: Floats, largest: float) -> npt.NDArray[np.bool_]:
        """Return whether all Q_ii may be at most ``largest``."""
        labels, _ = self.states.of_teachers
        # R T⁻¹ Rᵀ ≥ |R|² times the least eigenvalue of T⁻¹
        least = float(np.linalg.eigvalsh(self.inverse)[0]) * (1 - 1e-9)
        squares = np.maximum(np.maximum(low, -high), 0.0) ** 2
        possible = np.ones(len(low), dtype=bool)
        for i, row in enumerate(labels):
            own = low[:, self.states.diagonal[i]] if self.states.diagonal[i] >= 0 else 0.0
            found = least * np.sum(squares[:, row[row >= 0]], axis=1) + own
            possible &= found * (1 - _ROUNDING) <= largest
        return possible


def _rates(
    states: SymmetricStates,
    module: Any,
    recorder: Recorder,
    overlaps: tuple[Any, Any, Any],
    known: Mapping[str, Any],
) -> dict[int, Any]:
    """Return what vanishes at fixed points, by the place of a coordinate."""
    P, Q, R = overlaps
    K, M, T = len(R), len(R[0]), known["T"]
    A, B = ([[arb(0)] * size for _ in range(K)] for size in (K, M))
    Gamma = [[arb(0)] * K for _ in range(K)]
    weights = known["v"], known["v_teacher"]
    module.first_layer_gradients(recorder, Q, R, T, *weights, A, B)
    if known["full_order"] != 0:
        module.noise(recorder, Q, R, T, *weights, known["label_noise"], Gamma)
    eta = known["learning_rate"]
    decay = known["weight_decay"] / eta
    rates, places = {}, states.entries
    for i in range(K):
        for n in range(M):
            rates[int(places[1][i, n])] = _sum(
                [
                    *(A[i][p] * R[p][n] for p in range(K)),
                    *(B[i][m] * T[m][n] for m in range(M)),
                    R[i][n] * decay,
                ]
            )
        for j in range(i, K):
            rates[int(places[0][i, j])] = _sum(
                [
                    *(A[i][p] * P[p][j] + A[j][p] * P[p][i] for p in range(K)),
                    P[i][j] * (2 * decay),
                    Gamma[i][j] * -eta,
                ]
            )
    return rates


def _is_one(*fields: Sequence[Any]) -> bool:
    return all(abs(each - 1) < 1e-12 for field in fields for each in field)


def _sum(terms: Any) -> Any:
    found: Any = arb(0)
    for each in terms:
        found = found + each
    return found


def census(
    equations: BoxedEquations, known: Sequence[Floats], largest: float, most: int = _MOST_BOXES
) -> Census:
    """Return what is proved of the states of vectors with all Q_ii at most ``largest``.

    Args:
        equations: The equations of the space.
        known: Numbers of classes at fixed points in it.
        largest: Bounds the box.
        most: Parts after which the search ends.
    """
    states, size = equations.states, equations.states.size
    explained = [each for one in known if (each := _around(equations, one)) is not None]
    reach = np.sqrt(largest / float(np.linalg.eigvalsh(equations.inverse)[0])) * (1 + 1e-9)
    in_R = np.unique(states.of_teachers[0])
    bound = np.full(size, largest)
    bound[in_R[in_R >= 0]] = reach
    low, high = -bound[None], bound[None].copy()
    points: list[Floats] = []
    left: list[Floats] = []
    boxes = 0
    while len(low) and boxes < most:
        taken, low = low[-_BATCH:], low[:-_BATCH]
        other, high = high[-_BATCH:], high[:-_BATCH]
        boxes += len(taken)
        taken, other = taken.copy(), other.copy()
        kept = equations.cut(taken, other, largest)
        for inner, outer in explained:
            kept &= ~np.all((taken >= inner) & (other <= outer), axis=1)
        below, above, unique = _narrowed(equations.recording, taken[kept], other[kept])
        explained += [(box[:, 0], box[:, 1]) for box in unique]
        points += unique
        small = np.max(above - below, axis=1) < _SMALLEST
        for box in np.stack([below[small], above[small]], axis=2):
            # fixed points at the edge of what is left are met from outside too
            around = _around(equations, box.mean(axis=1))
            if around is not None and np.all((box[:, 0] >= around[0]) & (box[:, 1] <= around[1])):
                explained.append(around)
                points.append(np.stack(around, axis=1))
            else:
                left.append(box)
        below, above = _halved(below[~small], above[~small])
        low, high = np.concatenate([low, below]), np.concatenate([high, above])
    left += list(np.stack([low, high], axis=2))
    return Census(boxes, points, np.array(left).reshape(-1, size, 2))


def _halved(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return boxes divided in two where they are widest."""
    n = np.argmax(high - low, axis=1)
    rows = np.arange(len(low))
    middle = (low[rows, n] + high[rows, n]) / 2
    first, second = high.copy(), low.copy()
    first[rows, n] = middle
    second[rows, n] = middle
    return np.concatenate([low, second]), np.concatenate([first, high])


def _narrowed(
    recording: Recording, low: Floats, high: Floats
) -> tuple[Floats, Floats, list[Floats]]:
    """Return parts that may hold fixed points, made smaller, and those that hold exactly one."""
    if not len(low):
        return low, high, []
    with np.errstate(all="ignore"):
        values = enclosed_ranges(recording, low, high)
        possible = ~np.any((values[..., 0] > 0) | (values[..., 1] < 0), axis=1)
        low, high = low[possible], high[possible]
        if not len(low):
            return low, high, []
        values, at, slopes = enclosed_values(recording, low, high)
        possible = ~np.any((values[..., 0] > 0) | (values[..., 1] < 0), axis=1)
        low, high, at, slopes = low[possible], high[possible], at[possible], slopes[possible]
        middle = (low + high) / 2
        smooth = np.all(np.isfinite(slopes), axis=(1, 2, 3)) & np.all(np.isfinite(at), axis=(1, 2))
        radius = np.maximum(high - middle, middle - low) * (1 + _ROUNDING)
        centre, spread = slopes.mean(axis=3), (slopes[..., 1] - slopes[..., 0]) / 2
        spread = spread * (1 + _ROUNDING) + np.abs(centre) * _ROUNDING
        # mean-value form
        reach = np.einsum("bij,bj->bi", np.abs(centre) + spread, radius) * (1 + _ROUNDING)
        empty = np.any((at[..., 0] > reach) | (at[..., 1] < -reach), axis=1) & smooth
        kept = ~empty
        low, high, middle, radius = low[kept], high[kept], middle[kept], radius[kept]
        at, centre, spread, smooth = at[kept], centre[kept], spread[kept], smooth[kept]
    if not np.any(smooth):
        return low, high, []
    sharp = np.flatnonzero(smooth)
    reached = _contracted(at[sharp], centre[sharp], spread[sharp], radius[sharp])
    shift, around, solved = reached
    with np.errstate(all="ignore"):
        new_low = np.fmax(low[sharp], middle[sharp] + shift - around - _ROUNDING)
        new_high = np.fmin(high[sharp], middle[sharp] + shift + around + _ROUNDING)
        inside = solved & np.all(
            (middle[sharp] + shift - around > low[sharp] + _ROUNDING)
            & (middle[sharp] + shift + around < high[sharp] - _ROUNDING),
            axis=1,
        )
    unique = list(np.stack([low[sharp], high[sharp]], axis=2)[inside])
    new_low = np.where(solved[:, None], new_low, low[sharp])
    new_high = np.where(solved[:, None], new_high, high[sharp])
    low[sharp], high[sharp] = new_low, new_high
    kept = np.all(low <= high, axis=1)
    kept[sharp[inside]] = False
    return low[kept], high[kept], unique


def _contracted(
    at: Floats, centre: Floats, spread: Floats, radius: Floats
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Return Krawczyk's image of boxes: its shift from their middle, its radius, and where there
    is one.

    All sums of doubles are given an error of 1e-12 of the sums of absolute values.
    """
    size = centre.shape[1]
    singular = np.linalg.svd(centre, compute_uv=False)
    solved = singular[:, -1] > 1e-9 * singular[:, 0]
    usable = np.where(solved[:, None, None], centre, np.eye(size))
    Y = np.linalg.inv(usable)
    value, error = at.mean(axis=2), (at[..., 1] - at[..., 0]) / 2
    size_of_Y = np.abs(Y)
    shift = -np.einsum("bij,bj->bi", Y, value)
    doubt = np.einsum("bij,bj->bi", size_of_Y, error + np.abs(value) * _ROUNDING)
    identity = np.abs(np.eye(size) - Y @ usable)
    rounding = (size_of_Y @ np.abs(usable) + np.eye(size)) * _ROUNDING
    rest = identity + rounding + size_of_Y @ spread
    around = (np.einsum("bij,bj->bi", rest, radius) + doubt) * (1 + _ROUNDING)
    return shift, around, solved


def _around(equations: BoxedEquations, numbers: Floats) -> tuple[Floats, Floats] | None:
    """Return the largest box around a fixed point in which it is proved to be the only one."""
    for radius in _RADII:
        low, high = (numbers + sign * radius for sign in (-1, 1))
        *_, unique = _narrowed(equations.recording, low[None], high[None])
        if unique:
            return low, high
    return None


@dataclass(frozen=True)
class ProvedSpace:
    """An invariant space whose fixed points are all known, or what is missing.

    Attributes:
        states: The space.
        census: What was proved of it.
        points: Numbers of the fixed points in it, one for all images.
    """

    states: SymmetricStates
    census: Census
    points: list[int]


def _holds(box: Floats, equations: BoxedEquations, values: Floats) -> bool:
    found = equations.states.numbers(values, equations.inverse)
    return bool(np.all((found > box[:, 0] - 1e-9) & (found < box[:, 1] + 1e-9)))


def proved_spaces(
    exact: ExactFlow,
    jacobian: Callable[[Floats], Floats],
    found: Sequence[Found],
    largest: float,
) -> tuple[list[Found], list[ProvedSpace]]:
    """Return the fixed points, with those that were missed, and what is proved of spaces.

    Of the spaces of at most four dimensions those are taken that no other proved one contains.

    Args:
        exact: The flow with its numbers as formulas.
        jacobian: Derivatives of the rates by coordinates.
        found: Fixed points that are known.
        largest: Bounds all Q_ii.

    Raises:
        NotYetError: The equations are none that can be enclosed.
    """
    flow, points = exact.flow, list(found)
    proved: list[tuple[SymmetricStates, Census]] = []
    for basis in reversed(spaces_of(flow)):
        known_spaces = [each.basis for each, counted in proved if counted.complete]
        if basis.shape[1] > _LARGEST_SPACE or any(
            contained(basis, other, flow) for other in known_spaces
        ):
            continue
        states = SymmetricStates(flow, basis)
        equations = BoxedEquations.of(states, exact)
        inside = [v for each in points for v in flow.images(each.values) if states.holds(v)]
        known = [states.numbers(each, equations.inverse) for each in inside]
        apart = [
            k
            for n, k in enumerate(known)
            if all(np.max(np.abs(k - other)) > 1e-6 for other in known[:n])
        ]
        counted = census(equations, apart, largest)
        missed = []
        for box in counted.points:
            start = states.values(box.mean(axis=1), equations.inverse)
            values = newton(flow, jacobian, basis, start)
            new = None if values is None else measured(flow, jacobian, values)
            if values is None or new is None or not _holds(box, equations, values):
                missed.append(box)
            elif not any(flow.same(p.values, new.values) for p in points):
                points.append(new)
        left = np.concatenate([counted.left, np.reshape(missed, (-1, states.size, 2))])
        proved.append((states, replace(counted, left=left)))
    return points, [
        ProvedSpace(
            states,
            counted,
            [n for n, p in enumerate(points) if any(map(states.holds, flow.images(p.values)))],
        )
        for states, counted in proved
    ]
