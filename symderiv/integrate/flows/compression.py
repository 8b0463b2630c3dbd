r"""Many eigenvalues to few: a state whose dynamics has the same sums over modes.

Given the common coefficients, the equations of one mode are linear: at eigenvalue :math:`\rho` the
overlaps are :math:`X(\alpha) = P(\rho, \alpha) X(0) + c(\rho, \alpha)` with P and c smooth in
:math:`\rho`, and only their sums :math:`\sum_k w_k \rho_k^m X_k` act on the rest. In a block of
eigenvalues with the polynomials :math:`p_0 \ldots p_{n-1}` orthonormal under the weights, and with
the nodes and weights :math:`x_j, W_j` of their Gauss rule,

.. math:: \sum_k w_k P(\rho_k) X_k \approx \sum_j W_j P(x_j) \hat X_j, \qquad
   \hat X_j = \sum_{i<n} p_i(x_j) \sum_k w_k p_i(\rho_k) X_k,

is exact for P of degree n - 1 whatever the overlaps are (the Lagrange function of node j is
:math:`W_j \sum_i p_i(x_j) p_i`), and of degree 2 n - 1 where they do not depend on k. So the nodes
are modes of an ordinary problem. Their overlaps are averages with weights of both signs: unlike the
overlaps of vectors they need not be positive semi-definite.

Source: :cite:`Gautschi2004`, 1.4 and 2.2 (Gauss rules of discrete measures, Lanczos).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.problem.state import State, unchecked_state

#: From this many eigenvalues on "auto" tries, and keeps what at least halves their number.
_MANY = 256
_WORTH = 0.5
# The first two runs, with 4 and 8 nodes, cost less than one with 16, and show how fast the error
# falls.
_FIRST_NODES = 4

Mode = Literal["auto", "on", "off"]
Run = tuple[FlatResult, np.ndarray]


@dataclass(frozen=True)
class Compression:
    """A compression of the spectrum, and its accuracy.

    Args:
        eigenvalues: distinct ones of the inputs.
        nodes: eigenvalues that were integrated in their place.
        nodes_per_block: the most in any factor of two of the eigenvalues.
        error: largest relative change of the generalisation error, over the times of the result,
            from half as many nodes per block; the changes that the tolerance of the integration
            allows are in it. Not a number when there was no such comparison.
    """

    eigenvalues: int
    nodes: int
    nodes_per_block: int
    error: float

    def __str__(self) -> str:
        return f"{self.eigenvalues} eigenvalues to {self.nodes}"


def settle(
    state: State, mode: Mode, tolerance: float, integrate: Callable[[State], Run]
) -> tuple[State, Run, Compression | None]:
    """Integrate with as few nodes as the asked accuracy of the generalisation error needs.

    The nodes per block are doubled until the error expected of the last run is below the
    tolerance: the change it made, times how much smaller that was than the change before. Doubling
    also ends where it no longer halves the change, which is then that of the integration.

    Args:
        state: all eigenvalues.
        mode: "auto" compresses from some hundreds of eigenvalues on, if to less than half;
            "on" always, "off" never. All eigenvalues are kept where nodes do not save any.
        tolerance: relative, of the generalisation error at every time.
        integrate: a function from a state to its run and the generalisation error at the times
            of the run.

    Returns:
        the state that was integrated, its run, and the compression, None if there was none.
    """
    most = int(_WORTH * state.L) if mode == "auto" else state.L - 1
    nodes = _FIRST_NODES
    if mode == "off" or (mode == "auto" and state.L < _MANY):
        return state, integrate(state), None
    likely = compress(state, nodes * (4 if mode == "auto" else 2))
    if likely.eigenvalue.size > most:
        return state, integrate(state), None
    reduced = compress(state, nodes)
    run = integrate(reduced)
    change, before = np.nan, np.inf
    while run[0].cause != "interrupted":
        finer = compress(state, 2 * nodes)
        if finer.eigenvalue.size > most:
            return state, integrate(state), None
        nodes *= 2
        coarse, reduced, run = run, finer, integrate(finer)
        change = _change(coarse, run)
        # the first change is all that is known of the errors of both runs
        expected = change if before == np.inf else change * min(1.0, change / before)
        if expected <= tolerance or change > 0.5 * before:
            break
        before = change
    return reduced, run, Compression(state.L, reduced.L, nodes, float(change))


def _change(first: Run, second: Run) -> float:
    """Return the largest relative change of ε_g; infinite for runs that end in different ways."""
    if "interrupted" in (first[0].cause, second[0].cause):
        return float("nan")
    if first[0].cause != second[0].cause:
        return float("inf")
    return float(np.max(relative_changes(first[1], second[1]), initial=0.0))


def relative_changes(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the relative changes of the generalisation error at common times of two runs."""
    common = min(first.size, second.size)
    # runs that diverged may contain infinities
    with np.errstate(invalid="ignore"):
        change: np.ndarray = np.abs(first[:common] - second[:common])
    # errors that should be zero differ by rounding, which is ignored
    return np.where(change > 1e-14, change / np.maximum(np.abs(second[:common]), 1e-300), 0.0)


def compress(state: State, nodes: int) -> State:
    """Return the state with each dyadic block of its eigenvalues replaced by at most ``nodes``
    nodes.

    A block holds the eigenvalues between 2^-(b+1) and 2^-b of the largest. Those with at most
    ``nodes`` distinct eigenvalues are kept as they are, which for a power law are the largest; an
    eigenvalue of zero is kept too. Eigenvalues come in descending order.

    Args:
        nodes: at least 2, so that Q, R at alpha = 0 and their slopes are kept.

    T is unchanged: it is not recovered from the new t_k, but neither is it computed from them.
    """
    order = np.argsort(-state.eigenvalue, kind="stable")
    eigenvalue, weight = state.eigenvalue[order], state.weight[order]
    overlaps = [
        overlap[order]
        for overlap in (state.student_overlap, state.cross_overlap, state.teacher_overlap)
    ]
    pieces = []
    for begin, end in _blocks(eigenvalue):
        block = eigenvalue[begin:end], weight[begin:end], *(each[begin:end] for each in overlaps)
        pieces.append(block if end - begin <= nodes else _gauss(*block, nodes=nodes))
    return unchecked_state(
        *(np.concatenate(parts) for parts in zip(*pieces, strict=True)),
        state.teacher_covariance,
        state.student_weights,
        state.teacher_weights,
    )


def _blocks(eigenvalue: np.ndarray) -> list[tuple[int, int]]:
    """Return the edges of the dyadic blocks of descending eigenvalues."""
    alive = eigenvalue > 0
    octave = np.full(eigenvalue.shape, -1.0)
    octave[alive] = np.floor(np.log2(eigenvalue[0]) - np.log2(eigenvalue[alive]))
    edges = np.flatnonzero(np.diff(octave)) + 1
    return list(zip([0, *edges], [*edges, eigenvalue.size], strict=True))


def _gauss(
    eigenvalue: np.ndarray, weight: np.ndarray, *overlaps: np.ndarray, nodes: int
) -> tuple[np.ndarray, ...]:
    """Return nodes, weights and overlaps that replace a block, nodes in descending order.

    The Lanczos vectors are the orthonormal polynomials at the eigenvalues times the roots of the
    weights; each is orthogonalised against all before it, once. Rounding errors of a short vector
    enter the sums in proportion to its length, so that these are exact to rounding in narrow
    clusters too.
    """
    centre = 0.5 * (eigenvalue[0] + eigenvalue[-1])
    half = 0.5 * (eigenvalue[0] - eigenvalue[-1])
    total = weight.sum()
    basis = np.empty((nodes, eigenvalue.size))
    basis[0] = np.sqrt(weight / total)
    if half == 0.0:
        means = (np.tensordot(weight / total, each, 1)[None] for each in overlaps)
        return eigenvalue[:1], np.array([total]), *means
    scaled = (eigenvalue - centre) / half
    diagonal, beside = np.empty(nodes), np.empty(nodes - 1)
    for i in range(nodes):
        vector = scaled * basis[i]
        diagonal[i] = basis[i] @ vector
        if i + 1 == nodes:
            break
        vector -= (basis[: i + 1] @ vector) @ basis[: i + 1]
        beside[i] = np.linalg.norm(vector)
        if beside[i] < 1e-13:
            # fewer distinct eigenvalues than nodes: the polynomials end here
            nodes = i + 1
            break
        basis[i + 1] = vector / beside[i]
    matrix = np.diag(diagonal[:nodes]) + np.diag(beside[: nodes - 1], -1)
    x, axes = np.linalg.eigh(matrix)
    x, axes = x[::-1], axes[:, ::-1]
    # sqrt(W_j / total) is the first entry of the eigenvector, p_i(x_j) its i-th over the first
    root = axes[0]
    onto = basis[:nodes] * np.sqrt(weight / total)
    averages = (np.tensordot((axes / root).T, np.tensordot(onto, each, 1), 1) for each in overlaps)
    return centre + half * x, total * root**2, *averages
