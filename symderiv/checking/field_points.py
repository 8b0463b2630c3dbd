"""Points and weights for averages over independent standard normal variables.

A plane is cut along the lines where functions are not smooth, so that sums over it converge like
those of smooth functions; all other averages use a randomised lattice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from symderiv.numerics.nodes import gauss_hermite, gauss_panels

_BITS = 30
_NUMBERS = (
    (1, 1),
    (3, 1),
    (7, 1, 3),
    (11, 1, 3, 1),
    (13, 1, 1, 1),
    (19, 1, 1, 3, 3),
    (25, 1, 3, 5, 13),
    (37, 1, 1, 5, 5, 17),
    (41, 1, 1, 5, 5, 5),
    (47, 1, 1, 7, 11, 19),
    (55, 1, 1, 5, 1, 1),
    (59, 1, 1, 1, 3, 11),
    (61, 1, 3, 5, 5, 31),
    (67, 1, 3, 3, 9, 7, 49),
    (91, 1, 1, 1, 15, 21, 21),
    (97, 1, 3, 1, 13, 27, 49),
    (103, 1, 1, 1, 15, 7, 5),
    (109, 1, 3, 1, 15, 13, 25),
    (115, 1, 1, 5, 5, 19, 61),
    (131, 1, 3, 7, 11, 23, 15, 103),
)
"""The primitive polynomial of each variable, by bits, and its first direction numbers (S. Joe and
F. Y. Kuo, SIAM J. Sci. Comput. 30, 2635, 2008)."""


def sobol_points(dimension: int, number: int) -> NDArray[np.float64]:
    """Return Sobol's first points, unscrambled, in the order of Gray's code, as SciPy gives them.

    Importing SciPy's statistics would take half a second.

    Args:
        dimension: The number of variables.
        number: The number of points, a power of two.
    """
    if dimension > len(_NUMBERS):
        from scipy.stats import qmc

        return np.asarray(qmc.Sobol(dimension, scramble=False).random(number))
    every = np.arange(number)
    gray, points = every ^ (every >> 1), np.zeros((number, dimension), np.int64)
    for variable in range(dimension):
        for bit, direction in enumerate(_directions(variable, number.bit_length() - 1)):
            points[:, variable] ^= np.where(gray >> bit & 1, direction << (_BITS - 1 - bit), 0)
    return points / 2.0**_BITS


def _directions(variable: int, bits: int) -> list[int]:
    """Return the direction numbers of a variable before they are shifted."""
    polynomial, *numbers = _NUMBERS[variable]
    degree = polynomial.bit_length() - 1
    if not degree:
        return [1] * bits
    while len(numbers) < bits:
        new = numbers[-degree]
        for back in range(1, degree + 1):
            if polynomial >> (degree - back) & 1:
                new ^= numbers[-back] << back
        numbers.append(new)
    return numbers[:bits]


Floats = NDArray[np.float64]
_SIDE = 2.25
"""The widest panels of a line before it is cut."""
REPLICATES = 32
"""The number of independent randomisations; their spread has one degree of freedom less."""
STRETCH = 1.25
"""Variance of the drawn points: more of them lie where growing activations have their weight."""
LIMIT = 7.995461295901472
"""The allowed error of an average over randomisations, in standard errors: Student's t, with one
degree of freedom less than these, is larger with probability 1/4e8. A right module has fewer than
200 sampled numbers, so it is refused with a probability below 1e-6."""


def lattice_points(dimension: int, number: int, seed: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield points (number, dimension) and weights of a Gaussian mean, for every randomisation.

    Args:
        dimension: The number of variables.
        number: The number of points, a power of two.
        seed: The seed of the randomisation.
    """
    base, quantile = sobol_points(dimension, number), NormalDist().inv_cdf
    for shift in np.random.default_rng(seed).random((REPLICATES, dimension)):
        uniform = np.clip((base + shift) % 1, 1e-15, 1 - 1e-15)
        normal = np.array([*map(quantile, uniform.ravel().tolist())]).reshape(uniform.shape)
        z = STRETCH**0.5 * normal
        density = np.exp(-(z**2).sum(axis=1) / 2 * (1 - 1 / STRETCH))
        yield z, STRETCH ** (dimension / 2) * density / number


def plane_points(
    dimension: int, polynomial: Sequence[bool], cuts: Floats, nodes: int, reach: float = 9.0
) -> tuple[Floats, Floats]:
    """Return points (P, dimension) and weights: many in a plane, few along all other variables.

    Args:
        dimension: The number of variables; the first two span the plane.
        polynomial: For each other variable, whether functions are polynomials in it of at most
            second degree.
        cuts: Rows (a, c) of the planes a·z + c = 0 where functions are not smooth.
        nodes: The number of nodes in every panel.
        reach: The largest coordinate of points along either axis.
    """
    others = [gauss_hermite(3 if each else nodes) for each in polynomial]
    if any(not each for each in polynomial):
        nodes = nodes // 2 + 1
    turn = _turned(cuts[:, :2]) if dimension > 1 else np.eye(2)
    points, weights = [], []
    for places in itertools.product(*(zip(*each, strict=True) for each in others)):
        rest = np.array([place[0] for place, _ in places])
        share = float(np.prod([weight for _, weight in places]))
        lines = np.column_stack([cuts[:, :2] @ turn, cuts[:, 2:-1] @ rest + cuts[:, -1]])
        if dimension == 1:
            lines = np.column_stack([cuts[:, 0], np.zeros(len(cuts)), cuts[:, -1]])
        z, weight = _plane(lines, nodes, reach)
        z = z @ turn.T
        points.append(np.hstack([z, np.tile(rest, (len(z), 1))])[:, :dimension])
        weights.append(share * weight)
    return np.vstack(points), np.concatenate(weights)


def _turned(lines: Floats) -> Floats:
    """Return axes of the plane (columns), the second of which is parallel to none of the lines."""
    angles = np.arange(0, np.pi, np.pi / 48)
    axes = np.array([np.cos(angles), np.sin(angles)])
    sizes = np.linalg.norm(lines, axis=1)
    apart = np.abs(lines[sizes > 0] @ axes) / sizes[sizes > 0, None]
    x, y = axes[:, np.argmax(apart.min(axis=0, initial=1.0))]
    return np.array([[y, x], [-x, y]])


def _plane(lines: Floats, nodes: int, reach: float) -> tuple[Floats, Floats]:
    """Return points and weights of a plane that is cut along lines a1 z1 + a2 z2 + c = 0."""
    base = np.linspace(-reach, reach, math.ceil(2 * reach / _SIDE) + 1)
    outer, share = gauss_panels(np.sort(np.r_[base, list(_crossings(lines, reach))])[None], nodes)
    z1, weight = outer[0], share[0]
    steep = lines[lines[:, 1] != 0]
    roots = -(steep[:, :1] * z1 + steep[:, 2:]) / steep[:, 1:2]
    edges = np.vstack([np.tile(base[:, None], z1.size), np.clip(roots, -reach, reach)])
    inner, shares = gauss_panels(np.sort(edges.T, axis=1), nodes)
    z = np.column_stack([np.repeat(z1, inner.shape[1]), inner.ravel()])
    density = np.exp(-(z**2).sum(axis=1) / 2) / (2 * np.pi)
    weights = (weight[:, None] * shares).ravel() * density
    some = weights > 0
    return z[some], weights[some]


def _crossings(lines: Floats, reach: float) -> Iterator[float]:
    """Yield first coordinates of crossings of lines, and of lines along the second axis."""
    for n, (a, b, c) in enumerate(lines):
        if b == 0 and a != 0:
            yield -c / a
        for d, e, f in lines[:n]:
            area = a * e - b * d
            if area != 0 and abs(b * f - c * e) < reach * abs(area):
                yield (b * f - c * e) / area
