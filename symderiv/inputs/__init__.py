"""Input models: what the dynamics needs to know about the inputs, their spectrum."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symderiv.inputs.covariance_spectrum import covariance as covariance
    from symderiv.inputs.estimate import GeneratorStatistics as GeneratorStatistics
    from symderiv.inputs.estimate import estimate_generator as estimate_generator
    from symderiv.inputs.estimate import generator_sampler as generator_sampler
    from symderiv.inputs.gaussian_equivalence import bound_terms as bound_terms
    from symderiv.inputs.gaussian_equivalence import gaussianity as gaussianity
    from symderiv.inputs.latent import generator as generator
    from symderiv.inputs.latent import hidden_manifold as hidden_manifold
    from symderiv.inputs.latent import hidden_manifold_limit as hidden_manifold_limit
    from symderiv.inputs.latent import mixture_manifold as mixture_manifold
    from symderiv.inputs.model import Component as Component
    from symderiv.inputs.model import DataModel as DataModel
    from symderiv.inputs.spectra import isotropic as isotropic
    from symderiv.inputs.spectra import mixed_spectra as mixed_spectra
    from symderiv.inputs.spectra import power_law as power_law
    from symderiv.inputs.spectra import spectrum as spectrum

_HOMES = {
    "Component": "model",
    "DataModel": "model",
    "GeneratorStatistics": "estimate",
    "bound_terms": "gaussian_equivalence",
    "covariance": "covariance_spectrum",
    "estimate_generator": "estimate",
    "gaussianity": "gaussian_equivalence",
    "generator": "latent",
    "generator_sampler": "estimate",
    "hidden_manifold": "latent",
    "hidden_manifold_limit": "latent",
    "isotropic": "spectra",
    "mixed_spectra": "spectra",
    "mixture_manifold": "latent",
    "power_law": "spectra",
    "spectrum": "spectra",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
