"""Inputs on a ring as a data model: a spectrum for equations, the inputs themselves to simulate.

Circulant covariances share the waves around the ring as eigenvectors, so that inputs of two laws
are components with a common eigenbasis: an example has either law with probability 1/2. Everything
is in coordinates along the waves, where independent normal weights are what they are on sites.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symderiv.inputs import ring
from symderiv.inputs.latent_teacher import LatentTeacher
from symderiv.inputs.model import Component, DataModel

if TYPE_CHECKING:
    from symderiv.inputs.ring_inputs import RingInputs


def ring_model(name: str, law: RingInputs) -> DataModel:
    """Return the data model of centred inputs on a ring that the teacher sees itself.

    Equations take Gaussian inputs of the same covariance; simulations draw the inputs themselves.

    Args:
        name: the name of the model.
        law: the inputs of label 1 and of label 0; one component if their covariances are equal.
    """
    sites = law.sites
    waves = np.minimum(np.arange(sites), sites - np.arange(sites))
    order = np.argsort(waves, kind="stable")
    basis = ring.fourier_basis(sites)[:, order]
    rows = [law.row(label) for label in (1, 0)]
    one = bool(np.allclose(rows[0], rows[1], rtol=0.0, atol=1e-15))
    labels = (1,) if one else (1, 0)
    spectra = [np.maximum(ring.eigenvalues(rows[1 - label])[order], 0.0) for label in labels]
    first = np.flatnonzero(np.diff(waves[order], prepend=-1))
    weight = np.diff(np.append(first, sites)) / sites
    probability = 1.0 / len(labels)
    components = tuple(Component(probability, each[first], weight) for each in spectra)
    mean = np.mean(spectra, axis=0)

    def sample(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        x = np.empty((count, sites))
        chosen = random.integers(len(labels), size=count)
        for index, label in enumerate(labels):
            here = np.flatnonzero(chosen == index)
            x[here] = law.sample(label, (here.size,), random) @ basis
        return x, x

    remarks = (
        f"{name} on {sites} sites: equations are those of Gaussian inputs of the same covariance "
        f"(a site has the excess kurtosis {law.excess_kurtosis():.3g}); simulations draw the "
        "inputs themselves, and report the error that Gaussian inputs would have at their Q and R",
    )
    latent = LatentTeacher(
        sites,
        np.eye(sites),
        np.diag(mean),
        components[0].eigenvalue ** 2 if one else mean[first] ** 2,
        sample,
        variance=mean,
        spectra=() if one else tuple((probability, each) for each in spectra),
    )
    return DataModel(name, components, sites, remarks, latent)
