r"""The best gates for a gated linear network: all of them tried, or a descent over gates.

A gating structure is a function of the input, g(x) in {0, 1}^K, and its merit bᵀ A⁺ b is what least
squares explain (:meth:`~symderiv_models.localisation.gated_linear.GatedLinear.merit`, equation 99
of the notes on localisation). On P inputs there are 2^(K P) structures. The descent alternates two
steps that never lower the merit: the best weights of given gates, and, input by input, the best of
the 2^K subsets of units for given weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.inputs.ring import Floats
from symderiv_models.localisation.gated_linear import GatedLinear

__all__ = ["Merits", "all_merits", "best_gates", "structures"]

#: Largest number of gating structures of which all are tried.
MAX_STRUCTURES = 2**20
_CHUNK = 2**13
# Eigenvalues below this part of the largest count as zero.
_ZERO = 1e-11
# Most steps of a descent, which ends on its own as no structure occurs twice.
_STEPS = 200


@dataclass(frozen=True)
class Merits:
    """All gating structures of a population with their merits.

    Attributes:
        gates: shape (G, P, K), 0 or 1.
        merit: bᵀ A⁺ b, shape (G,).
        source: |b|², the rate at which the loss falls from zero weights, in units of 1/K², (G,).
        coupling: share of A⁺ (sum of squares) that couples different units, shape (G,).
    """

    gates: np.ndarray
    merit: Floats
    source: Floats
    coupling: Floats

    def best(self, within: float = 1e-9) -> np.ndarray:
        """Return indices of the best structures."""
        return np.flatnonzero(self.merit > np.max(self.merit) - within)

    def tiling(self) -> np.ndarray:
        """Return whether each input opens one unit and each unit is opened by some input, (G,)."""
        one = np.all(np.sum(self.gates, axis=2) == 1, axis=1)
        return np.asarray(one & np.all(np.any(self.gates, axis=1), axis=1))

    def exclusive(self) -> np.ndarray:
        """Return whether no input opens two units, shape (G,)."""
        return np.asarray(np.all(np.sum(self.gates, axis=2) <= 1, axis=1))


def structures(examples: int, units: int) -> Iterator[np.ndarray]:
    """Yield all gates of P inputs and K units, in pieces of shape (G, P, K).

    Raises:
        InputError: they are too many.
    """
    count = 2 ** (examples * units)
    if count > MAX_STRUCTURES:
        raise InputError(
            f"{examples} inputs and {units} units have more than {MAX_STRUCTURES} gating "
            "structures; search with best_gates",
            argument="units",
        )
    for first in range(0, count, _CHUNK):
        index = np.arange(first, min(first + _CHUNK, count))
        bits = (index[:, None] >> np.arange(examples * units)) & 1
        yield bits.reshape(-1, examples, units).astype(np.int8)


def all_merits(inputs: Floats, labels: Floats, probabilities: Floats, units: int) -> Merits:
    """Return the merits of all gating structures.

    Args:
        inputs: x, shape (P, D).
        labels: E[y | x], shape (P,).
        probabilities: shape (P,), sum 1.
        units: K.

    Raises:
        InputError: they are too many.
    """
    sites = inputs.shape[1]
    parts = []
    for gates in structures(len(inputs), units):
        gated = gates[:, :, :, None] * inputs[None, :, None, :]
        gated = gated.reshape(len(gates), len(inputs), units * sites)
        source = np.einsum("gpa,p->ga", gated, probabilities * labels)
        values, vectors = np.linalg.eigh(
            np.einsum("gpa,gpc,p->gac", gated, gated, probabilities, optimize=True)
        )
        positive = values > _ZERO * values[:, -1:]
        inverse = np.where(positive, 1.0 / np.where(positive, values, 1.0), 0.0)
        along = np.einsum("gac,ga->gc", vectors, source)
        pseudo = np.einsum("gac,gc,gbc->gab", vectors, inverse, vectors, optimize=True) ** 2
        blocks = pseudo.reshape(-1, units, sites, units, sites).sum(axis=(2, 4))
        total = blocks.sum(axis=(1, 2))
        within = np.trace(blocks, axis1=1, axis2=2)
        coupling = np.where(total > 0.0, 1.0 - within / np.where(total > 0.0, total, 1.0), 0.0)
        parts.append((gates, np.sum(along**2 * inverse, 1), np.sum(source**2, 1), coupling))
    gates, merit, squares, couplings = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Merits(gates, merit, squares, couplings)


def best_gates(
    inputs: Floats,
    labels: Floats,
    probabilities: Floats,
    units: int,
    *,
    restarts: int = 20,
) -> GatedLinear:
    """Return the best gates that descents from random gates reach.

    Their merit is a lower bound on the best merit.

    Args:
        inputs, labels, probabilities, units: as for :func:`all_merits`.
        restarts: random gates to start from.
    """
    random = np.random.default_rng(0)
    subsets = ((np.arange(2**units)[:, None] >> np.arange(units)) & 1).astype(np.float64)
    best: GatedLinear | None = None
    for _ in range(restarts):
        gates = random.integers(2, size=(len(inputs), units)).astype(np.float64)
        for _ in range(_STEPS):
            network = GatedLinear(inputs, labels, gates, probabilities)
            weights = network.limit(np.zeros((units, inputs.shape[1])))
            outputs = (inputs @ weights.T) @ subsets.T / units
            errors = (outputs - labels[:, None]) ** 2
            now = np.argmax(np.all(subsets[None] == gates[:, None], axis=2), axis=1)
            chosen = np.argmin(errors, axis=1)
            rows = np.arange(len(inputs))
            better = errors[rows, chosen] < errors[rows, now] - 1e-12
            if not np.any(better):
                break
            gates = np.where(better[:, None], subsets[chosen], gates)
        if best is None or network.merit() > best.merit():
            best = network
    assert best is not None
    return best
