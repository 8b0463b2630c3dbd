"""Fixed points of a flow, found by Newton's method from many starts and in symmetric subspaces.

States that a group of symmetries keeps form an invariant space of the flow, and so do states in
which some students coincide. In each of these spaces, and in the whole, SciPy's root finder starts
from random states, given ones, and slow states of trajectories. A fixed point is counted once for
all its images under symmetries. Nothing here proves that no other fixed point exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.integrate import solve_ivp
from scipy.linalg import null_space

from symderiv.analysis.fixed_points.exchanged_flow import SAME, ExchangedFlow
from symderiv.analysis.fixed_points.newton_steps import Floats, Labels, root_near

Jacobian = Callable[[Floats], Floats]

_STILL = 1e-11
# with larger residuals, two Newton steps do not reach a root
_NEAR = 1e-2
_LARGE = 1e4
_PAIRS, _RUNS = 400, 4
_NEUTRAL = 1e-7
_LOOSE = 2e-3


@dataclass(frozen=True)
class Found:
    """A fixed point that was found; it stands for all its images under symmetries.

    Attributes:
        values: Coordinates of the canonical image.
        orbit: The number of its images.
        stabiliser: Indices of the symmetries that keep it.
        residual: The largest rate there, in the unit of the flow.
        slopes: The Jacobian in coordinates, in the unit of the flow; None if rates have no
            derivatives there.
        eigenvalues: The Jacobian's eigenvalues per unit of α, largest real part first.
        resolved: Real parts below this share of the largest eigenvalue cannot be distinguished from
            zero.
    """

    values: Floats
    orbit: int
    stabiliser: Labels
    residual: float
    slopes: Floats | None
    eigenvalues: npt.NDArray[np.complex128]
    resolved: float = _NEUTRAL

    @property
    def neutral(self) -> int:
        """The number of eigenvalues that cannot be distinguished from the imaginary axis."""
        return int(np.sum(np.abs(self.eigenvalues.real) <= self._small))

    @property
    def index(self) -> int:
        """The number of unstable directions."""
        return int(np.sum(self.eigenvalues.real > self._small))

    @property
    def slowest(self) -> float:
        """The smallest rate, of growth or decay, that is not neutral."""
        sizes = np.abs(self.eigenvalues.real)
        most = np.max(sizes, initial=0.0) or np.inf
        return float(np.min(sizes[sizes > self._small], initial=most))

    @property
    def _small(self) -> float:
        return self.resolved * float(np.max(np.abs(self.eigenvalues), initial=0.0))


def found_points(
    flow: ExchangedFlow,
    jacobian: Jacobian,
    given: Sequence[Floats] = (),
    starts: int = 12,
) -> list[Found]:
    """Return the fixed points that were found.

    Args:
        flow: The flow.
        jacobian: A function from coordinates to the Jacobian, shape (n, n), in the unit of the
            flow.
        given: Coordinates of states to start from.
        starts: The number of random starts in each invariant space; the whole has ten times as
            many.
    """
    drawn = [state[flow.place] for state in flow.samples(10 * starts, seed=1)]
    slow = [each for start in (*given, *drawn[:_RUNS]) for each in _slow_states(flow, start)]
    points: list[Found] = []
    for basis in spaces_of(flow):
        whole = basis.shape[0] == basis.shape[1]
        for start in [*given, *slow, *drawn[: None if whole else starts]]:
            values = root_in(flow, jacobian, basis, start, points)
            if values is None or _found(flow, values, points):
                continue
            point = measured(flow, jacobian, values)
            if point is not None:
                points.append(point)
    return points


def _found(flow: ExchangedFlow, values: Floats, points: Sequence[Found]) -> bool:
    """Return whether a root is one of the known fixed points or an image of it."""
    return any(
        # along a neutral direction a root is known to the square root of rounding only
        flow.same(each.values, values, _LOOSE if each.neutral else SAME)
        for each in points
    )


def measured(flow: ExchangedFlow, jacobian: Jacobian, values: Floats) -> Found | None:
    """Return a fixed point with its Jacobian; None where the flow is not smooth."""
    chosen, orbit, stabiliser = flow.canonical(values)
    slopes = jacobian(chosen)
    if not np.all(np.isfinite(slopes)):
        return None
    residual = float(np.max(np.abs(flow.slope(chosen))))
    return Found(chosen, orbit, stabiliser, residual, slopes, spectrum(slopes, flow.unit))


def spectrum(slopes: Floats, unit: float) -> npt.NDArray[np.complex128]:
    """Return eigenvalues per unit of α, largest real part first."""
    rates = np.linalg.eigvals(slopes).astype(np.complex128) * unit
    return np.asarray(rates[np.lexsort((-rates.imag, -rates.real.round(12)))])


def root_in(
    flow: ExchangedFlow,
    jacobian: Jacobian,
    basis: Floats,
    start: Floats,
    known: Sequence[Found] = (),
) -> Floats | None:
    """Return the root that is reached inside a space; None if there is none or it is known."""

    def needless(reached: Floats) -> bool:
        values = basis @ reached
        near = _residual(flow, values) < _NEAR
        return not near or _found(flow, values, known)

    reached = root_near(
        lambda z: basis.T @ flow.slope(basis @ z),
        lambda z: basis.T @ jacobian(basis @ z) @ basis,
        basis.T @ start,
        needless,
    )
    if reached is None:
        return None
    values = np.asarray(basis @ reached)
    small = 1 + np.max(np.abs(values)) < _LARGE
    return values if small and _residual(flow, values) < _STILL else None


def _residual(flow: ExchangedFlow, values: Floats) -> float:
    """Return the largest rate relative to one plus the largest coordinate; NaN if undefined."""
    return float(np.max(np.abs(flow.slope(values))) / (1 + np.max(np.abs(values))))


def _slow_states(flow: ExchangedFlow, start: Floats) -> Iterator[Floats]:
    """Yield the states of a trajectory whose largest rate is a local minimum, and its end."""
    times = np.concatenate([[0.0], np.geomspace(0.1, 1e4, 80)])
    with np.errstate(all="ignore"):
        try:
            run = solve_ivp(
                lambda _, y: flow.slope(y), (0, 1e4), start, "LSODA", t_eval=times, rtol=1e-7
            )
        except (ValueError, ArithmeticError):
            return
    rows = run.y.T[np.all(np.isfinite(run.y.T), axis=1)]
    speed = [np.max(np.abs(flow.slope(row))) for row in rows]
    for n in range(1, len(rows)):
        if n == len(rows) - 1 or speed[n - 1] >= speed[n] < speed[n + 1]:
            yield rows[n]


def spaces_of(flow: ExchangedFlow) -> list[Floats]:
    """Return bases, shapes (n, m), of the whole and of invariant spaces, by increasing m.

    These are the spaces that groups generated by one or two symmetries keep, also with some
    students that coincide.
    """
    n = flow.place.size
    orders, signs = flow.elements
    identity = np.eye(n)
    matrices = [sign[:, None] * identity[order] for order, sign in zip(orders, signs, strict=True)]
    random = np.random.default_rng(3)
    pairs = list(combinations(range(len(matrices)), 2))
    if len(pairs) > _PAIRS:
        pairs = [pairs[k] for k in random.choice(len(pairs), _PAIRS, replace=False)]
    symmetric = [[identity - matrix] for matrix in matrices]
    symmetric += [[identity - matrices[a], identity - matrices[b]] for a, b in pairs]
    merged = [None, *flow.merged()]
    bases: dict[tuple[bytes, ...], Floats] = {}
    for one in merged:
        for conditions in symmetric:
            whole = conditions if one is None else [*conditions, identity - one]
            basis = null_space(np.concatenate(whole), rcond=1e-9)
            if not basis.shape[1]:
                continue
            projector = basis @ basis.T
            images = [m @ projector @ m.T for m in matrices]
            # spaces that a symmetry maps to each other have the same fixed points
            key = min(np.round(each, 6).__add__(0.0).tobytes() for each in images)
            bases.setdefault((key,), basis)
    return sorted(bases.values(), key=lambda basis: basis.shape[1])
