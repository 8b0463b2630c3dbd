"""One step of a statement in plain NumPy, slow and obvious: the reference of all other readings."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp

from symderiv.formula.as_function import as_function
from symderiv.statement.register import Field, Latent, LearningTime, Overlap
from symderiv.statement.stated_problem import Statement

__all__ = ["plain_step"]


def plain_step(
    statement: Statement,
    vectors: Mapping[str, np.ndarray],
    scalars: Mapping[str, float],
    inputs: Mapping[str, np.ndarray],
    latents: Mapping[str, float],
    parameters: Mapping[str, float],
    alpha: float = 0.0,
    variances: Mapping[str, np.ndarray] | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return vectors and scalars after one step.

    Args:
        statement: What a step does.
        vectors, scalars, latents: The vectors, scalars and latents by name, vectors of shape (N,).
        inputs: Drawn inputs by name of token or copy, each of shape (N,); those of a batch of
            shape (cN, N), with latents of shape (cN,).
        parameters: By name; what ``P.average`` stands for at this state by its symbol's.
        alpha: The time.
        variances: Variances of the coordinates of inputs that spheres use, by name.
    """
    N = next(iter(vectors.values())).size

    def value_of(symbol: sp.Symbol) -> Any:
        meaning = statement.symbols.meaning.get(symbol)
        if isinstance(meaning, LearningTime):
            return alpha
        if isinstance(meaning, Field):
            return inputs[meaning.input.name] @ vectors[meaning.vector.name] / np.sqrt(N)
        if isinstance(meaning, Overlap):
            return float(vectors[meaning.first.name] @ vectors[meaning.second.name] / N)
        if isinstance(meaning, Latent):
            return latents[meaning.name]
        return float({**scalars, **parameters}[str(symbol)])

    def value(expression: sp.Expr) -> Any:
        names = sorted(expression.free_symbols, key=str)
        return np.asarray(as_function(names, expression)(*map(value_of, names)))

    whole = statement.batch_ratio is not None
    size = N if whole else 1
    step = statement.step()
    new_vectors, new_scalars = dict(vectors), dict(scalars)
    for vector, change in step.vectors.items():
        added = np.zeros(N)
        for atom, force in change.inputs.items():
            added += _along(value(force), inputs[atom.name], whole)
        for other, rate in change.vectors.items():
            added += size * np.mean(value(rate)) * vectors[other.name] / N
        new_vectors[vector.name] = vectors[vector.name] + added
    for symbol, change in step.scalars.items():
        new_scalars[str(symbol)] += float(size * np.mean(value(change.scalar)) / N)
    for constraint in statement.constraints:
        weight = (variances or {})[constraint.inputs] if constraint.inputs else np.ones(N)
        own = {v.name: new_vectors[v.name] for v in constraint.vectors}
        if constraint.kind == "sphere":
            new_vectors |= {n: _as_long(own[n], vectors[n], weight) for n in own}
        else:
            new_vectors |= dict(zip(own, _orthonormal(np.array([*own.values()])), strict=True))
    return new_vectors, new_scalars


def _along(force: Any, xi: np.ndarray, batches: bool) -> Any:
    """Return F ξ/√N; in a batch, steps are N times as large and noise of their own √N times."""
    N = xi.shape[-1]
    if not batches:
        return force * xi / np.sqrt(N)
    if xi.ndim == 1:
        return force * xi
    return np.sqrt(N) * np.broadcast_to(force, len(xi)) @ xi / len(xi)


def _as_long(vector: np.ndarray, before: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return a vector with the weighted square that it had."""
    return np.asarray(np.sqrt((weight @ before**2) / (weight @ vector**2)) * vector)


def _orthonormal(W: np.ndarray) -> np.ndarray:
    """Return the nearest vectors with w_a·w_b = N δ_ab."""
    values, turn = np.linalg.eigh(W @ W.T / W.shape[1])
    return np.asarray((turn / np.sqrt(values)) @ turn.T @ W)
