"""Input models: what the dynamics needs to know about the inputs, their spectrum."""

from __future__ import annotations

from symderiv.data.covariance import covariance
from symderiv.data.model import Component, DataModel
from symderiv.data.spectra import isotropic, power_law, spectrum

__all__ = ["Component", "DataModel", "covariance", "isotropic", "power_law", "spectrum"]
