r"""Starts and constants with small random changes, which show how rounding errors grow.

Rounding enters a run at every step. Where small differences grow, as on a plateau, so do rounding
errors, whatever the tolerance of the steps is; two runs from one start need not show it. Here the
vectors of the students are moved by small random multiples of all vectors,

.. math:: J_i \leftarrow J_i + \sum_j a_{ij} J_j + \sum_n b_{in} B_n,

with other coefficients in each eigenspace, so that all overlaps stay overlaps of vectors. Output
weights of students and teachers are moved too; those of teachers act during the whole run.

Symmetries that a run kept to the last bit were not broken by rounding: students (and teachers) that
are equal along the whole run are moved alike, and entries that are zero along the whole run stay
zero.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from symderiv.foundation.packing import orbits
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.problem.flat_layout import fields_of, split_flat, state_size

#: A permutation of students and one of teachers.
_Exchange = tuple[np.ndarray, np.ndarray]


def shaken(flow: Any, result: FlatResult, size: float, seed: int) -> Any:
    """Return a flow with small random changes of its start and of output weights of the teacher.

    Args:
        flow: the flow of a study, as it was integrated.
        result: the run; symmetries that it kept to the last bit are kept.
        size: the size of the changes, relative to the largest vectors and weights along the run.
        seed: the seed of the random numbers.
    """
    state = flow.state
    K, M, L = state.K, state.M, state.L
    rng = np.random.default_rng([seed, K, M, L])
    begin, constants = flow.begin.copy(), flow.parameters.copy()
    exchanges = list(_exchanges(flow, result))
    rows = np.vstack([flow.begin, result.results, result.last_state])

    # change v and further fields; entries that exchanges of units map to each other change alike
    largest = np.max(np.abs(rows), axis=0)
    moved = [_indices(flow, "state", begin.size, *each) for each in exchanges]
    noise = rng.standard_normal(begin.size)[orbits(begin.size, moved)]
    weights_from = state_size(K, M, L) - K
    begin[weights_from:] += size * largest[weights_from:] * noise[weights_from:]

    *_, Q_rows, _ = fields_of(rows, state.weight, state.eigenvalue, K, M)
    lengths = np.sqrt(np.max(np.abs(np.einsum("pii->pi", Q_rows)), axis=0))
    teachers = np.sqrt(np.maximum(np.diag(state.T), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        towards = np.where(teachers > 0.0, lengths[:, None] / teachers, 0.0)
    towards /= max(float(state.eigenvalue.max()), 1e-300)
    students = [(K * s[:, None] + s).ravel() for s, _ in exchanges]
    pairs = [(M * s[:, None] + t).ravel() for s, t in exchanges]
    a = rng.standard_normal((L, K * K))[:, orbits(K * K, students)].reshape(L, K, K)
    b = rng.standard_normal((L, K * M))[:, orbits(K * M, pairs)].reshape(L, K, M)
    Q, r, _ = split_flat(begin[: state_size(K, M, L)], K, M, L)
    t = state.teacher_overlap
    one, b = np.eye(K) + size * a, size * b * towards
    inner = one @ r
    cross = np.swapaxes(inner, 1, 2)
    Q[...] = one @ Q @ np.swapaxes(one, 1, 2) + b @ cross + inner @ np.swapaxes(b, 1, 2)
    Q += b @ t @ np.swapaxes(b, 1, 2)
    r[...] = inner + b @ t
    begin[largest == 0.0] = 0.0

    weights = flow.packing("parameters").views(constants)["v_teacher"]
    kinds = orbits(M, [exchange[1] for exchange in exchanges])
    weights *= 1.0 + size * rng.standard_normal(M)[kinds]

    twin = copy.copy(flow)
    for made in ("pieces", "course"):
        vars(twin).pop(made, None)
    vars(twin).update(begin=begin, parameters=constants)
    return twin


def _exchanges(flow: Any, result: FlatResult) -> Iterator[_Exchange]:
    """Yield exchanges of two students, two teachers, or both, that leave a whole run unchanged."""
    state = flow.state
    K, M = state.K, state.M
    Q, _, v = split_flat(flow.begin[: state_size(K, M, state.L)], K, M, state.L)
    own = [Q[:, i, i].tobytes() + v[i].tobytes() for i in range(K)]
    taught = [
        state.teacher_overlap[:, n, n].tobytes() + state.teacher_weights[n].tobytes()
        for n in range(M)
    ]
    students = [pair for pair in combinations(range(K), 2) if own[pair[0]] == own[pair[1]]]
    teachers = [pair for pair in combinations(range(M), 2) if taught[pair[0]] == taught[pair[1]]]
    for student in (None, *students):
        for teacher in (None, *teachers):
            exchange = _exchanged(K, student), _exchanged(M, teacher)
            if student is teacher is None:
                continue
            unchanged = (
                (flow.begin, _indices(flow, "state", flow.begin.size, *exchange)),
                (flow.parameters, _indices(flow, "parameters", flow.parameters.size, *exchange)),
                (result.results, _indices(flow, "state", result.results.shape[-1], *exchange)),
                (result.last_state, _indices(flow, "state", result.last_state.size, *exchange)),
            )
            if all(np.array_equal(x, x[..., p]) for x, p in unchanged):
                yield exchange


def _exchanged(count: int, pair: tuple[int, int] | None) -> np.ndarray:
    order = np.arange(count)
    if pair is not None:
        order[list(pair)] = order[list(pair)[::-1]]
    return order


def _indices(
    flow: Any, vector: str, size: int, students: np.ndarray, teachers: np.ndarray
) -> np.ndarray:
    """Return the permutation of a flat vector when students and teachers are exchanged."""
    packing, sources = flow.packing(vector), np.arange(size)
    views: dict[str, Any] = packing.views(sources[: packing.size])
    for name, axes in flow.layout[vector].items():
        view = views[name].copy()
        for place, axis in enumerate(axes):
            if axis in ("K", "M"):
                view = np.take(view, students if axis == "K" else teachers, axis=place)
        views[name][...] = view
    # output weights of further heads
    heads = sources[packing.size :].reshape(-1, students.size)
    heads[...] = heads[:, students].copy()
    return sources
