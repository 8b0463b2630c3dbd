r"""All fixed points in a box: it is divided until each part has none, or exactly one.

Coordinates are R and :math:`P = Q - R T^{-1} R^T`, the overlaps of the students' components
orthogonal to the teachers. With one eigenvalue, plain descent has its fixed points where

.. math:: A R + B T + \kappa R/\eta = 0, \qquad A P + P A + 2 \kappa P/\eta = \eta\Gamma,

because in dQ/dα the terms with B are those of the first equation. Vectors with these overlaps exist
where P is positive semi-definite, which reduces the box that
:mod:`symderiv.precision.balls.box_search` divides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb, arb_mat

from symderiv.analysis.fixed_points.newton_steps import Floats
from symderiv.analysis.fixed_points.search import Found, measured, root_in, spaces_of
from symderiv.analysis.fixed_points.symmetric_states import SymmetricStates, contained
from symderiv.analysis.fixed_points.unit_flow import UnitFlow
from symderiv.foundation.errors import NotYetError
from symderiv.foundation.progress import progress_bar
from symderiv.precision.balls.box_search import ROUNDING, Census, roots_in_box
from symderiv.precision.balls.operations import Operations, Recorder, refusing_integrals

_MOST_BOXES, _LARGEST_PART = 2_000_000, 7


@dataclass(frozen=True)
class BoxedEquations:
    """The equations of fixed points in an invariant space, as operations on balls.

    Attributes:
        states: The space.
        recording: The recording of the rates by the numbers of classes.
        inverse: The inverse of T, shape (M, M).
    """

    states: SymmetricStates
    recording: Operations
    inverse: Floats

    @classmethod
    def of(cls, states: SymmetricStates, module: Any, known: Mapping[str, Any]) -> BoxedEquations:
        """Return the equations of a space, recorded as operations.

        Args:
            states: The space.
            module: The functions of the equations, for numbers of any kind.
            known: Their constants in balls, by name, as nested lists.

        Raises:
            NotYetError: The equations are not those of plain descent with one eigenvalue and fixed
                output weights, or teachers are not linearly independent.
        """
        recorder = Recorder()
        P, R = states.filled([recorder.input() for _ in range(states.size)], arb(0))
        (K, M), T = R.shape, np.array(known["T"])
        inputs = (*known["eigenvalue"], *known["weight"])
        if states.flow.sizes["L"] != 1 or not all(abs(each - 1) < 1e-12 for each in inputs):
            raise NotYetError("completeness can be proved only for isotropic inputs of variance 1")
        if states.flow.place.size != K * (K + 1) // 2 + K * M:
            raise NotYetError(
                "completeness can be proved only if no order parameters but Q and R move"
            )
        try:
            inverse = np.array(arb_mat(known["T"]).inv().tolist())
        except ZeroDivisionError:
            raise NotYetError("completeness needs linearly independent teachers") from None
        Q, lower = P + R @ (inverse @ R.T), np.tril_indices(K, -1)
        Q[lower] = Q.T[lower]
        with refusing_integrals():
            rates = _rates(states, module, recorder, (P, Q, R, T), known)
        middle = np.vectorize(lambda ball: float(ball.mid()))(inverse)
        return cls(states, recorder.recording([rates[n] for n in states.firsts()]), middle)

    def cut(self, low: Floats, high: Floats, largest: float) -> npt.NDArray[np.bool_]:
        """Reduce boxes in place to where vectors exist; return a mask of those that remain."""
        states = self.states
        for n in {*np.diag(states.labels[0]).tolist()} - {-1}:
            np.maximum(low[:, n], 0.0, out=low[:, n])
        for k, i, j in states.pairs:
            bound = np.sqrt(np.maximum(high[:, i] * high[:, j], 0.0)) * (1 + ROUNDING)
            np.maximum(low[:, k], -bound, out=low[:, k])
            np.minimum(high[:, k], bound, out=high[:, k])
            least = np.maximum(np.maximum(low[:, k], -high[:, k]), 0.0) ** 2 * (1 - ROUNDING)
            for one, two in ((i, j), (j, i)):
                with np.errstate(all="ignore"):
                    np.fmax(low[:, one], least / high[:, two] * (1 - ROUNDING), out=low[:, one])
        for a, o, sign in states.orders:
            if a == o:
                np.maximum(low[:, a], 0.0, out=low[:, a])
            elif sign > 0:
                np.minimum(high[:, o], high[:, a], out=high[:, o])
                np.maximum(low[:, a], low[:, o], out=low[:, a])
            else:
                np.maximum(low[:, o], -high[:, a], out=low[:, o])
                np.maximum(low[:, a], -high[:, o], out=low[:, a])
        with np.errstate(invalid="ignore"):  # of parts that were left out
            self._limit(low, high, largest)
        left: npt.NDArray[np.bool_] = np.all(low <= high, axis=1)
        return left

    def _limit(self, low: Floats, high: Floats, largest: float) -> None:
        """Reduce boxes in place to where all Q_ii are at most ``largest``."""
        of_students, of_teachers = self.states.labels
        # R T⁻¹ Rᵀ ≥ |R|² times the least eigenvalue of T⁻¹
        least = float(np.linalg.eigvalsh(self.inverse)[0]) * (1 - 1e-9)
        for n, row in zip(np.diag(of_students), of_teachers, strict=True):
            row = row[row >= 0]
            squares = least * np.maximum(np.maximum(low[:, row], -high[:, row]), 0.0) ** 2
            along = np.sum(squares, axis=1)
            own = low[:, n] if n >= 0 else np.zeros(len(low))
            for k, label in enumerate(row):
                spare = largest - (along - squares[:, k] + own) * (1 - ROUNDING) + ROUNDING
                bound = np.sqrt(np.maximum(spare, 0.0) / least) * (1 + ROUNDING)
                np.maximum(low[:, label], -bound, out=low[:, label])
                np.minimum(high[:, label], bound, out=high[:, label])
                high[spare < 0, label] = -np.inf
            if n >= 0:
                spare = largest - along * (1 - ROUNDING) + ROUNDING
                np.minimum(high[:, n], spare, out=high[:, n])


def _rates(
    states: SymmetricStates,
    module: Any,
    recorder: Recorder,
    overlaps: tuple[Any, Any, Any, Any],
    known: Mapping[str, Any],
) -> dict[int, Any]:
    """Return the expressions that vanish at fixed points, by the index of a coordinate."""
    P, Q, R, T = overlaps
    K, M = R.shape
    A, B, Gamma = (np.full((K, size), arb(0), dtype=object) for size in (K, M, K))
    weights = known["v"], known["v_teacher"]
    module.first_layer_gradients(recorder, Q, R, T, *weights, A, B)
    if known["full_order"] != 0:
        module.noise(recorder, Q, R, T, *weights, known["label_noise"], Gamma)
    eta = known["learning_rate"]
    decay = known["weight_decay"] / eta
    along, half = A @ R + B @ T + R * decay, A @ P
    across = half + half.T + P * (2 * decay) - Gamma * eta
    upper = np.triu_indices(K)
    places = (each.tolist() for each in (states.entries[1].ravel(), states.entries[0][upper]))
    return dict(zip(chain(*places), [*along.ravel(), *across[upper]], strict=True))


def census(
    equations: BoxedEquations,
    known: Sequence[Floats],
    largest: float,
    most: int = _MOST_BOXES,
    tell: Callable[[float], None] = lambda share: None,
) -> Census:
    """Return the proved count of fixed points with vectors and all Q_ii ≤ ``largest``.

    Args:
        equations: The equations of the space.
        known: The known fixed points of the space, by the values of its classes.
        largest: The bound on all Q_ii.
        most: The number of boxes after which the search ends.
        tell: A function that is called with the share of the box that is decided.
    """
    reach = np.sqrt(largest / float(np.linalg.eigvalsh(equations.inverse)[0])) * (1 + 1e-9)
    in_R = np.unique(equations.states.labels[1])
    bound = np.full(equations.states.size, float(largest))
    bound[in_R[in_R >= 0]] = reach
    return roots_in_box(
        equations.recording,
        bound,
        known,
        lambda low, high: equations.cut(low, high, largest),
        most,
        tell,
    )


@dataclass(frozen=True)
class ProvedSpace:
    """An invariant space with what was proved about its fixed points in the box.

    Attributes:
        states: The space.
        census: The proved count of its fixed points, with undecided boxes.
        points: Indices of the fixed points in the box, one for all images.
    """

    states: SymmetricStates
    census: Census
    points: list[int]


def _holds(box: Floats, equations: BoxedEquations, values: Floats) -> bool:
    class_numbers = equations.states.numbers(values, equations.inverse)
    return bool(np.all((class_numbers > box[:, 0] - 1e-9) & (class_numbers < box[:, 1] + 1e-9)))


def _missed(
    counted: Census,
    equations: BoxedEquations,
    jacobian: Callable[[Floats], Floats],
    points: list[Found],
) -> list[Floats]:
    """Return boxes whose proved root Newton's method does not find; add new ones to ``points``."""
    states, missed = equations.states, []
    for box in counted.points:
        start = states.values(box.mean(axis=1), equations.inverse)
        values = root_in(states.flow, jacobian, states.basis, start)
        new = None if values is None else measured(states.flow, jacobian, values)
        if values is None or new is None or not _holds(box, equations, values):
            missed.append(box)
        elif not any(states.flow.same(p.values, new.values) for p in points):
            points.append(new)
    return missed


def proved_spaces(
    flow: UnitFlow,
    equations: tuple[Any, Mapping[str, Any]],
    jacobian: Callable[[Floats], Floats],
    found: Sequence[Found],
    largest: float,
) -> tuple[list[Found], list[ProvedSpace]]:
    """Return all fixed points, with those that were missed, and the proofs by space.

    Proofs are tried for all states, and for spaces of at most seven dimensions that are in no other
    proved one.

    Args:
        flow: The flow.
        equations: The flow's module, and its constants in balls; see :meth:`BoxedEquations.of`.
        jacobian: A function from coordinates to the derivatives of the rates by them.
        found: The fixed points that are known.
        largest: The bound on all Q_ii.

    Raises:
        NotYetError: The equations cannot be enclosed.
    """
    points = list(found)
    task = "proving that no fixed point is missing"
    proved: list[tuple[SymmetricStates, Census]] = []
    for basis in reversed(spaces_of(flow)):
        known_spaces = [each.basis for each, counted in proved if counted.complete]
        if _LARGEST_PART < basis.shape[1] < len(basis) or any(
            contained(basis, other, flow) for other in known_spaces
        ):
            continue
        states = SymmetricStates(flow, basis)
        boxed = BoxedEquations.of(states, *equations)
        inside = [v for each in points for v in flow.images(each.values) if states.holds(v)]
        known = [states.numbers(each, boxed.inverse) for each in inside]
        apart = [
            k
            for n, k in enumerate(known)
            if all(np.max(np.abs(k - other)) > 1e-6 for other in known[:n])
        ]
        with progress_bar(None, task) as bar:
            counted = census(boxed, apart, largest, tell=partial(bar, task))
        missed = _missed(counted, boxed, jacobian, points)
        left = np.concatenate([counted.left, np.reshape(missed, (-1, states.size, 2))])
        proved.append((states, replace(counted, left=left)))
    vectors = [n for n, each in enumerate(points) if flow.physical(each.values)]
    return points, [
        ProvedSpace(
            states,
            counted,
            [
                n
                for n in vectors
                if np.max(np.diag(points[n].values[states.entries[0]])) <= largest
                and any(map(states.holds, flow.images(points[n].values)))
            ],
        )
        for states, counted in proved
    ]
