"""Priors of the teachers' weights: q and the mean of ln Z as functions of q̂."""

from __future__ import annotations

import itertools
from typing import Protocol

import numpy as np
from scipy.special import logsumexp

from symderiv.equilibrium.optimal.sign_channel import lattice


class Prior(Protocol):
    """A law of the K weights of each input, of mean 0 and covariance 1."""

    def at(self, conjugate: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return E ln Z, q and 1 - q at q̂ (K, K)."""


class GaussianPrior:
    """Independent standard normal weights."""

    def at(self, conjugate: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return E ln Z, q and 1 - q at q̂ (K, K)."""
        rest = np.linalg.inv(np.eye(len(conjugate)) + conjugate)
        value = 0.5 * float(np.trace(conjugate) + np.linalg.slogdet(rest)[1])
        return value, np.eye(len(conjugate)) - rest, rest


class RademacherPrior:
    """Independent weights ±1."""

    def at(self, conjugate: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return E ln Z, q and 1 - q at q̂ (K, K)."""
        K = len(conjugate)
        w = np.array(list(itertools.product((1.0, -1.0), repeat=K)))
        xi, weights = lattice(conjugate, np.eye(K))
        weights = weights / weights.sum()
        constants = -0.5 * np.einsum("si,ij,sj->s", w, conjugate, w)
        value, rest = 0.0, np.zeros((K, K))
        # signs of all weights together change nothing
        for truth in w[: len(w) // 2]:
            field = (conjugate @ truth)[:, None] + xi
            logs = w @ field + constants[:, None]
            whole = logsumexp(logs, axis=0)
            shares = np.exp(logs - whole)
            value += float(weights @ whole) - K * np.log(2.0)
            # 1 - q = E[(truth - mean) truthᵀ], without differences of numbers that are close
            apart = np.einsum("sk,sn->kn", truth - w, shares) @ weights
            rest += np.outer(apart, truth)
        rest = (rest + rest.T) / len(w)
        return value / (len(w) // 2), np.eye(K) - rest, rest
