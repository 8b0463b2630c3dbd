r"""A two-layer network: initial weights, one gradient step on the first layer, ridge on the second.

The output is wᵀ σ(F x)/√k. The step is F + η G with

.. math:: G = \frac1{\tilde m}\Big[\frac{w}{\sqrt k}\big(\tilde y^\top
          - \tfrac1{\sqrt k} w^\top\sigma(F\tilde X^\top)\big)\odot\sigma'(F\tilde X^\top)\Big]
          \tilde X ,

minus the gradient of the mean of (y - ŷ)²/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve

from symderiv.foundation.errors import InputError, NotYetError

if TYPE_CHECKING:
    from symderiv.formula import Activation
    from symderiv_models.one_step.spiked_mixture import Samples

    Array = np.ndarray

__all__ = ["ArrayActivation", "RidgeFit", "column_blocks", "gradient", "initial_weights", "ridge"]

# Most entries of a matrix of features that is made at once: 32 MB.
_MOST_ENTRIES = 4_000_000


@dataclass(frozen=True)
class ArrayActivation:
    """σ and σ' on arrays of doubles."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]

    @classmethod
    def of(cls, activation: Activation) -> ArrayActivation:
        """Return σ and σ' of an activation that has a slope almost everywhere and no jumps.

        Raises:
            InputError: it jumps, so that a gradient step cannot be taken.
        """
        from symderiv.inputs.nonlinearity import on_arrays
        from symderiv.lowering.means.numeric_activation import NumericActivation

        numeric = NumericActivation(activation.expression, activation.text)
        try:
            if numeric.jumps:
                raise InputError(
                    f"{activation.text} jumps: it has no gradient", argument="activation"
                )
            value = numeric.derivative(0)
            slope = numeric.derivative(1, between_kinks=True)
        except NotYetError as error:
            raise InputError(str(error), argument="activation") from None
        return cls(on_arrays(value), on_arrays(slope))


def initial_weights(
    random: np.random.Generator, n: int, k: int, trace: float
) -> tuple[Array, Array]:
    """Return F, entries N(0, 1/Tr Σ), shape (k, n), and w, entries N(0, 1/k), shape (k,)."""
    first = random.standard_normal((k, n)) / math.sqrt(trace)
    return first, random.standard_normal(k) / math.sqrt(k)


def gradient(first: Array, second: Array, activation: ArrayActivation, data: Samples) -> Array:
    """Return G, shape (k, n), of the module's formula.

    Args:
        first, second: F, shape (k, n), and w, shape (k,).
        activation: σ.
        data: the examples of the gradient step.
    """
    k, count = second.size, len(data.labels)
    fields = first @ data.inputs.T
    residual = data.labels - second @ activation.value(fields) / math.sqrt(k)
    weighted = activation.slope(fields)
    weighted *= residual / count
    weighted *= second[:, None] / math.sqrt(k)
    summed: Array = weighted @ data.inputs
    return summed


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """The second-layer weights ŵ, shape (k,), and the mean of (y - ŷ)² over their own examples."""

    weights: Array
    training_error: float


def ridge(features: Array, labels: Array, constant: float) -> RidgeFit:
    r"""Return the minimiser of Σ (y_i - wᵀ φ_i/√k)²/(2m) + λ‖w‖²/2.

    Args:
        features: φ in columns, shape (k, m).
        labels: y, shape (m,).
        constant: λ > 0.
    """
    k, m = features.shape
    scaled = features / math.sqrt(k)
    if k <= m:
        gram = scaled @ scaled.T
        gram.flat[:: k + 1] += constant * m
        weights = solve(gram, scaled @ labels, assume_a="pos", overwrite_a=True)
    else:
        gram = scaled.T @ scaled
        gram.flat[:: m + 1] += constant * m
        weights = scaled @ solve(gram, labels, assume_a="pos", overwrite_a=True)
    return RidgeFit(weights, float(np.mean((labels - weights @ scaled) ** 2)))


def column_blocks(rows: slice, k: int) -> Iterator[slice]:
    """Yield the rows of a set of examples in parts whose features fit into memory."""
    step = max(1, _MOST_ENTRIES // k)
    for start in range(rows.start, rows.stop, step):
        yield slice(start, min(start + step, rows.stop))
