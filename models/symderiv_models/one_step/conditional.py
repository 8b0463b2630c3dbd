r"""The conditional Gaussian map: features with the network's conditional means and covariances.

Let V_c be spanned by the spikes of component c and by the gradient's direction
v = X̃ᵀỹ/m̃. Given c and the coordinates κ of x - μ_c in V_c, the fields of the trained first layer
are a_i(κ) + s_i z_i, where s_i = ‖f̂_{i⊥}‖ and the z_i are standard normal with the cosines R of the
parts f̂_{i⊥} of its rows outside V_c as covariance. With the coefficients c_p(a_i, s_i) of
:mod:`symderiv_models.one_step.field_moments`

.. math:: \nu_i = c_0 ,\qquad \Psi_{i\cdot} = c_1\,\hat f_{i\perp}^\top/s_i ,\qquad
          \Phi_{ij} = \sum_{p\ge2} \frac{R_{ij}^p}{p!}\, c_p(a_i,s_i)\, c_p(a_j,s_j) ,

and the map is ν + Ψ z_⊥ + Φ^{1/2} g. κ differs from sample to sample, and so does Φ; but its series
shows how to draw from it: Φ^{1/2} g is equal in law to Σ_p c_p ξ_p/√p! (elementwise) with
independent ξ_p of covariances R^{∘p} (elementwise powers), which all samples share. Beyond an order
P the powers are replaced by the identity: variances stay exact, and the error of the covariances is

.. math:: \|\hat\Phi - \Phi\| \le \max_i \mathrm{rest}_i \cdot
          \max_i \sum_{j\ne i} |R_{ij}|^{P+1} ,\qquad
          \mathrm{rest}_i = \sum_{p>P} c_p(a_i, s_i)^2/p! ,

since |Σ_{p>P} r^p c_p c_p'/p!| ≤ |r|^{P+1} √(rest rest') by Cauchy and Schwarz, and the norm of a
symmetric matrix is at most its largest sum of absolute values in a row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from symderiv_models.one_step.field_moments import field_moments

if TYPE_CHECKING:
    from symderiv_models.one_step.field_moments import HermiteMoments
    from symderiv_models.one_step.spiked_mixture import Population, Samples, SpikedComponent

    Array = np.ndarray

__all__ = ["ConditionalMap", "ConditionedFields", "conditional_map"]

#: Largest Σ_j |R_ij|^{P+1} that ends the search for P, which ends at _MOST_ORDER in any case.
_TOLERANCE: Final = 1e-3
_LEAST_ORDER, _MOST_ORDER = 2, 12


@dataclass(frozen=True, eq=False)
class ConditionedFields:
    """The fields of one component given κ.

    Args:
        mean: μ_c, shape (n,).
        basis: orthonormal basis of V_c in columns, shape (n, d + 1).
        first: F̂, shape (k, n).
        outside: f̂_⊥/s in rows, shape (k, n).
        deviations: s, shape (k, 1).
    """

    mean: Array
    basis: Array
    first: Array
    outside: Array
    deviations: Array

    @classmethod
    def of(cls, component: SpikedComponent, first: Array, direction: Array) -> ConditionedFields:
        """Return the fields of a component and the trained first layer; the direction is v."""
        basis = np.linalg.qr(np.column_stack([component.directions, direction]))[0]
        outside = first - (first @ basis) @ basis.T
        deviations = np.linalg.norm(outside, axis=1, keepdims=True)
        return cls(component.mean, basis, first, outside / deviations, deviations)

    def means(self, inputs: Array) -> Array:
        """Return a(κ) of inputs in rows, shape (k, count)."""
        inside = ((inputs - self.mean) @ self.basis) @ (self.first @ self.basis).T
        means: Array = (inside + self.first @ self.mean).T
        return means

    def normal(self, inputs: Array) -> Array:
        """Return z_i = f̂_{i⊥}·(x - μ_c)/s_i, shape (k, count)."""
        normal: Array = self.outside @ (inputs - self.mean).T
        return normal

    @property
    def cosines(self) -> Array:
        """R, shape (k, k)."""
        cosines: Array = self.outside @ self.outside.T
        return cosines


@dataclass(frozen=True, eq=False)
class _ComponentMap:
    """The map on one component: its fields, and the roots of R^{∘p}, p = 2 … P."""

    fields: ConditionedFields
    roots: tuple[Array, ...]
    error_bound: float


@dataclass(frozen=True, eq=False)
class ConditionalMap:
    """The map of one trained first layer.

    Args:
        activation: the text of the activation.
        order: P.
        error_bound: max_i Σ_{j≠i} |R_ij|^{P+1}, over components: times the largest variance beyond
            order P it bounds the error of Φ in operator norm.
    """

    activation: str
    order: int
    error_bound: float
    _parts: tuple[_ComponentMap, ...]

    def moments(self, component: int, inputs: Array) -> HermiteMoments:
        """Return c_0, …, c_P and E σ² at inputs in rows; c_0 is ν."""
        fields = self.fields(component)
        return field_moments(self.activation, self.order)(fields.means(inputs), fields.deviations)

    def fields(self, component: int) -> ConditionedFields:
        """Return the fields of a component given κ."""
        return self._parts[component].fields

    def remaining_roots(self, component: int) -> tuple[Array, ...]:
        """Return roots of R^{∘2}, …, R^{∘P}, each of shape (k, k)."""
        return self._parts[component].roots

    def features(self, data: Samples, rows: slice, random: np.random.Generator) -> Array:
        """Return the map at some rows of the examples, shape (k, count), with new noise g."""
        blocks = []
        for component, part in enumerate(self._parts):
            ours = data.parts[component]
            here = slice(max(rows.start, ours.start), min(rows.stop, ours.stop))
            if here.start < here.stop:
                blocks.append(self._of_component(component, part, data.inputs[here], random))
        return np.hstack(blocks)

    def _of_component(
        self, component: int, part: _ComponentMap, inputs: Array, random: np.random.Generator
    ) -> Array:
        moments = self.moments(component, inputs)
        c = moments.coefficients
        features: Array = c[0] + c[1] * part.fields.normal(inputs)
        for p, root in enumerate(part.roots, start=2):
            noise = root @ random.standard_normal(features.shape)
            features += c[p] * (noise / math.sqrt(math.factorial(p)))
        features += np.sqrt(moments.remainder()) * random.standard_normal(features.shape)
        return features


def conditional_map(
    population: Population, first: Array, direction: Array, activation: str
) -> ConditionalMap:
    """Return the map of a trained first layer.

    Args:
        population: The mixture.
        first: F̂, shape (k, n).
        direction: v, shape (n,).
        activation: The text of the activation.
    """
    parts = []
    fields = [
        ConditionedFields.of(component, first, direction) for component in population.components
    ]
    cosines = [each.cosines for each in fields]
    order, bound = _order(cosines)
    for each, R in zip(fields, cosines, strict=True):
        roots = tuple(_root(R**p) for p in range(2, order + 1))
        parts.append(_ComponentMap(each, roots, bound))
    return ConditionalMap(activation, order, bound, tuple(parts))


def _order(cosines: list[Array]) -> tuple[int, float]:
    """Return the smallest P with a small bound on the error, and the bound."""
    for order in range(_LEAST_ORDER, _MOST_ORDER + 1):
        bound = max(float((np.sum(np.abs(R) ** (order + 1), axis=1) - 1.0).max()) for R in cosines)
        if bound <= _TOLERANCE:
            break
    return order, max(bound, 0.0)


def _root(covariance: Array) -> Array:
    """Return A with A Aᵀ the covariance, which may be singular."""
    try:
        return np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        root: Array = vectors * np.sqrt(np.maximum(values, 0.0))
        return root
