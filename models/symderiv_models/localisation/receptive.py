"""Shapes of receptive fields: participation ratio, centre, width."""

from __future__ import annotations

import numpy as np

from symderiv.inputs.ring import Floats

__all__ = ["LOCALISED", "centre", "is_localised", "participation_ratio", "width"]

#: A field counts as localised above this multiple of 3/D, the ratio of a Gaussian random field; a
#: wave has 1.5/D, a constant 1/D, a single site 1.
LOCALISED = 3.0


def participation_ratio(weights: Floats) -> Floats:
    """Return Σ w⁴/(Σ w²)² over the last axis; 1/D for a constant, 1 for a single site."""
    power = np.sum(weights**2, axis=-1)
    return np.asarray(np.sum(weights**4, axis=-1) / np.where(power > 0.0, power, 1.0) ** 2)


def is_localised(weights: Floats) -> np.ndarray:
    """Return whether each field over the last axis is localised."""
    return np.asarray(participation_ratio(weights) > LOCALISED * 3.0 / weights.shape[-1])


def centre(weights: Floats) -> Floats:
    """Return the centre of w² on the ring, in sites from 0 to D, by its first circular moment."""
    sites = weights.shape[-1]
    return np.asarray(np.angle(_moment(weights)) % (2.0 * np.pi) * sites / (2.0 * np.pi))


def width(weights: Floats) -> Floats:
    """Return the circular deviation of w² in sites, D/(2π) √(−2 log R); large without a centre."""
    sites = weights.shape[-1]
    power = np.sum(weights**2, axis=-1)
    resultant = np.abs(_moment(weights)) / np.where(power > 0.0, power, 1.0)
    resultant = np.clip(resultant, np.finfo(float).tiny, 1.0)
    return np.asarray(np.sqrt(-2.0 * np.log(resultant)) * sites / (2.0 * np.pi))


def _moment(weights: Floats) -> np.ndarray:
    sites = weights.shape[-1]
    phase = np.exp(2j * np.pi * np.arange(sites) / sites)
    return np.asarray(np.sum(weights**2 * phase, axis=-1))
