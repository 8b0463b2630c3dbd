"""One step of a statement in plain NumPy, slow and obvious: the reference of all other readings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from symderiv.formula.as_function import as_function
from symderiv.statement.register import Field, Latent, Mean, Overlap, Time
from symderiv.statement.stated_problem import Statement

__all__ = ["function_of", "plain_step"]


@lru_cache(maxsize=1024)
def function_of(expression: sp.Expr) -> tuple[list[sp.Symbol], Any]:
    """Return the symbols of an expression and the function of them that it is."""
    names = sorted(expression.free_symbols, key=str)
    return names, as_function(names, expression)


def plain_step(
    statement: Statement,
    vectors: Mapping[str, np.ndarray],
    scalars: Mapping[str, float],
    inputs: Mapping[str, np.ndarray],
    latents: Mapping[str, float],
    parameters: Mapping[str, float],
    alpha: float = 0.0,
    averages: Mapping[str, float] | None = None,
    variances: Mapping[str, np.ndarray] | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return vectors and scalars after one step.

    Args:
        statement: What a step does.
        vectors: By name, each of shape (N,).
        scalars, latents, parameters: By name.
        inputs: Drawn inputs by name of token or copy, each of shape (N,); those of a batch of
            shape (cN, N), with latents of shape (cN,).
        alpha: The time.
        averages: By name of their symbols, what ``P.average`` stands for at this state.
        variances: Of the coordinates of inputs by name, shape (N,), where spheres are measured
            with them.
    """
    N = next(iter(vectors.values())).size
    symbols = statement.symbols

    def value_of(symbol: sp.Symbol) -> Any:
        meaning = symbols.meaning.get(symbol)
        if isinstance(meaning, Time):
            return alpha
        if isinstance(meaning, Mean):
            return (averages or {})[symbol.name]
        if isinstance(meaning, Field):
            return inputs[meaning.input.name] @ vectors[meaning.vector.name] / np.sqrt(N)
        if isinstance(meaning, Overlap):
            return float(vectors[meaning.first.name] @ vectors[meaning.second.name] / N)
        if isinstance(meaning, Latent):
            return latents[meaning.name]
        return float({**scalars, **parameters}[str(symbol)])

    def value(expression: sp.Expr) -> Any:
        names, function = function_of(expression)
        return np.asarray(function(*map(value_of, names)))

    def along(force: Any, xi: np.ndarray) -> Any:
        """F ξ/√N; in a batch, steps are N times as large and noise of their own √N times."""
        if statement.batch_ratio is None:
            return force * xi / np.sqrt(N)
        if xi.ndim == 1:
            return force * xi
        return np.sqrt(N) * np.broadcast_to(force, len(xi)) @ xi / len(xi)

    size = 1 if statement.batch_ratio is None else N

    step = statement.step()
    new_vectors, new_scalars = dict(vectors), dict(scalars)
    for vector, change in step.vectors.items():
        added = np.zeros(N)
        for atom, force in change.inputs.items():
            added += along(value(force), inputs[atom.name])
        for other, rate in change.vectors.items():
            added += size * np.mean(value(rate)) * vectors[other.name] / N
        new_vectors[vector.name] = vectors[vector.name] + added
    for symbol, change in step.scalars.items():
        new_scalars[str(symbol)] = scalars[str(symbol)] + float(
            size * np.mean(value(change.scalar)) / N
        )
    for constraint in statement.constraints:
        names = [v.name for v in constraint.vectors]
        if constraint.kind == "sphere":
            weight = (variances or {})[constraint.inputs] if constraint.inputs else np.ones(N)
            for name in names:
                square = (weight @ vectors[name] ** 2) / (weight @ new_vectors[name] ** 2)
                new_vectors[name] = np.sqrt(square) * new_vectors[name]
        else:
            W = np.array([new_vectors[name] for name in names])
            values, turn = np.linalg.eigh(W @ W.T / N)
            W = (turn / np.sqrt(values)) @ turn.T @ W
            new_vectors |= dict(zip(names, W, strict=True))
    return new_vectors, new_scalars
