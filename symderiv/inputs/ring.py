"""Sites on a ring: distances, circulant covariances, the real Fourier basis."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from symderiv.foundation.errors import InputError

Floats = npt.NDArray[np.float64]

# Relative size of negative eigenvalues that rounding explains.
_ROUNDING = 1e-12


def distances(sites: int) -> Floats:
    """Return the distances of all sites from site 0, shape (D,), in sites, at most D/2."""
    index = np.arange(sites, dtype=np.float64)
    return np.minimum(index, sites - index)


def gaussian_kernel(sites: int, length: float) -> Floats:
    """Return the first row of C_ij = exp(−d(i, j)²/ξ²), shape (D,).

    Raises:
        InputError: the kernel, wrapped around the ring, is not a covariance: ξ is too long for it.
    """
    row: Floats = np.exp(-((distances(sites) / length) ** 2))
    lowest = float(np.min(eigenvalues(row)))
    if lowest < -_ROUNDING * sites:
        raise InputError(
            f"{length:g} is too long for a ring of {sites} sites: exp(-d²/ξ²) around it has the "
            f"negative eigenvalue {lowest:.2g}",
            argument="lengths",
        )
    return row


def eigenvalues(row: Floats) -> Floats:
    """Return eigenvalues of a symmetric circulant matrix, (D,), in the order of the real basis."""
    half = np.fft.rfft(row).real
    waves = np.minimum(np.arange(row.size), row.size - np.arange(row.size))
    return np.asarray(half[waves])


def circulant(row: Floats) -> Floats:
    """Return the matrix (D, D) with entries row[(i − j) mod D]."""
    index = np.arange(row.size)
    return np.asarray(row[(index[:, None] - index[None, :]) % row.size])


def root(row: Floats) -> Floats:
    """Return the symmetric square root of a circulant covariance, shape (D, D)."""
    values = np.sqrt(np.maximum(np.fft.rfft(row).real, 0.0))
    return circulant(np.fft.irfft(values, row.size))


def fourier_basis(sites: int) -> Floats:
    """Return orthonormal columns (D, D): waves k ≤ D/2 as cosines, beyond as sines of wave D − k.

    Equation 136 of the notes on localisation has only the cosines, which are not a basis.
    """
    site = np.arange(sites)[:, None]
    wave = np.arange(sites)[None, :]
    phase = 2.0 * np.pi * site * np.minimum(wave, sites - wave) / sites
    basis = np.where(2 * wave <= sites, np.cos(phase), np.sin(phase))
    return np.asarray(basis / np.sqrt(np.sum(basis**2, axis=0)))
