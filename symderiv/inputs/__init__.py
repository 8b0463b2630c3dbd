"""Input models: what the dynamics needs to know about the inputs, their spectrum."""

from __future__ import annotations

from symderiv.inputs.covariance_spectrum import covariance
from symderiv.inputs.estimate import GeneratorStatistics, estimate_generator, generator_sampler
from symderiv.inputs.gaussian_equivalence import bound_terms, gaussianity
from symderiv.inputs.latent import (
    generator,
    hidden_manifold,
    hidden_manifold_limit,
    mixture_manifold,
)
from symderiv.inputs.model import Component, DataModel
from symderiv.inputs.ring_model import ring_model
from symderiv.inputs.spectra import isotropic, mixed_spectra, power_law, spectrum

__all__ = [
    "Component",
    "DataModel",
    "GeneratorStatistics",
    "bound_terms",
    "covariance",
    "estimate_generator",
    "gaussianity",
    "generator",
    "generator_sampler",
    "hidden_manifold",
    "hidden_manifold_limit",
    "isotropic",
    "mixed_spectra",
    "mixture_manifold",
    "power_law",
    "ring_model",
    "spectrum",
]
