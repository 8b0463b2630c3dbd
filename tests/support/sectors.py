"""Means of functions of fields in a plane, between the directions in which one of them vanishes."""

import numpy as np


def in_sectors(rows: np.ndarray, count: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Values of the fields ``rows @ z``, z normal in the plane, at points with these weights.

    Polar coordinates: where functions have kinks at zero only, they are smooth between rays.
    """
    points, weights = np.polynomial.legendre.leggauss(count)
    radii = 5.5 * (points + 1.0)
    along = 5.5 * weights * radii * np.exp(-(radii**2) / 2.0) / (2.0 * np.pi)
    kinks = np.arctan2(-rows[:, 0], rows[:, 1]) % np.pi
    edges = np.unique(np.concatenate([[0.0, 2 * np.pi], kinks, kinks + np.pi]))
    turns = np.diff(edges)[:, None] / 2.0
    angles = (edges[:-1, None] + turns * (points + 1.0)).ravel()
    directions = rows @ np.array([np.cos(angles), np.sin(angles)])
    fields = (directions[:, :, None] * radii).reshape(len(rows), -1)
    return fields, np.outer((turns * weights).ravel(), along).ravel()
