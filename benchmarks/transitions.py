"""Transitions of committees with 2 to 5 units by three routes.

``python -m benchmarks.transitions`` prints for erf, ReLU and tanh where equal students cease to be
stable and from where on specialised students exist, α divided by K. The routes are branches of
three order parameters (``Problem.specialisation``), branches of all order parameters
(``Problem.equilibrium``), and the zero of the determinant of the Hessian, from a free energy that
is typed here. It exits with 1 if two of them differ by more than 1e-8 of the value.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import numpy as np
import sympy as sp
from scipy.optimize import root
from scipy.special import roots_hermitenorm

import symderiv as sd

_ALLOWED, _UNITS, _TERMS = 1e-8, (2, 3, 4, 5), 250
# Overlaps of specialised students with their own teachers.
_SPECIAL = np.concatenate([1.0 - np.geomspace(1e-3, 0.2, 120), np.linspace(0.798, 0.2, 300)])

Slopes = Callable[[float], tuple[float, float]]
Conditions = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def erf(c: float) -> tuple[float, float]:
    """Return the slope and curvature of E[g(u) g(v)] by the correlation, for unit variances."""
    root = np.sqrt(4.0 - c * c)
    return 2.0 / np.pi / root, 2.0 / np.pi * c / root**3


def relu(c: float) -> tuple[float, float]:
    """Return the same for ReLU."""
    return 0.25 + np.arcsin(c) / (2.0 * np.pi), 1.0 / (2.0 * np.pi * np.sqrt(1.0 - c * c))


def of_tanh() -> Slopes:
    """Return the same for tanh, by the squares of its Hermite coefficients (Mehler's series)."""
    nodes, weights = roots_hermitenorm(400)
    weights = weights / weights.sum()
    squares, before, polynomial = [], np.zeros_like(nodes), np.ones_like(nodes)
    for n in range(_TERMS):
        squares.append(float(np.sum(weights * np.tanh(nodes) * polynomial)) ** 2)
        after = (nodes * polynomial - np.sqrt(n) * before) / np.sqrt(n + 1)
        before, polynomial = polynomial, after
    slope = np.polynomial.Polynomial(squares).deriv()
    return lambda c: (float(slope(c)), float(slope.deriv()(c)))


def entropy(K: int) -> Callable[..., tuple[list[float], list[list[float]]]]:
    """Return slopes and curvatures of ½ ln det(Q - R Rᵀ) by r, s and c.

    r is the overlap of a student with its own teacher, s with the others, and c that of students.
    """
    r, s, c = symbols = sp.symbols("r s c")
    together = 1 + (K - 1) * c - (r + (K - 1) * s) ** 2
    apart = 1 - c - (r - s) ** 2
    value = (sp.log(together) + (K - 1) * sp.log(apart)) / 2
    slopes = [sp.diff(value, each) for each in symbols]
    bends = [[sp.diff(each, other) for other in symbols] for each in slopes]
    found: Callable[..., tuple[list[float], list[list[float]]]] = sp.lambdify(
        symbols, (slopes, bends), "numpy"
    )
    return found


def conditions(mean: Slopes, K: int) -> Conditions:
    """Return a function from (r, s, c, α) to the slopes of the free energy and its Hessian."""
    of_entropy = entropy(K)
    factors = np.array([-1.0, -(K - 1.0), (K - 1.0) / 2.0])

    def at(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slopes, bends = of_entropy(*x[:3])
        means = np.array([mean(each) for each in x[:3]])
        slope = x[3] * factors * means[:, 0] - np.array(slopes)
        return slope, x[3] * np.diag(factors * means[:, 1]) - np.array(bends)

    return at


def singular_states(mean: Slopes, K: int, equal: bool) -> list[float]:
    """Return the α of singular stationary states on a branch, by Newton from a change of sign.

    The branch of equal students (r = s) begins at α = 0, that of specialised ones at infinity; both
    are followed in r, for which α is an unknown.
    """
    at = conditions(mean, K)
    # equal students with K r = 1 and c = 0 have the sum of the teachers
    below = (1.0 - np.geomspace(0.98, 1e-4, 120)) / K
    grid = np.hstack([below, np.linspace(1.001 / K, 0.999 / np.sqrt(K), 60)]) if equal else _SPECIAL

    def equations(x: np.ndarray) -> tuple[list[float], float]:
        """Return slopes that vanish, and the determinant."""
        slope, bend = at(np.array([x[0], *x]) if equal else x)
        slopes = [slope[0] + slope[1], slope[2]] if equal else slope.tolist()
        return slopes, float(np.linalg.det(bend))

    r = float(grid[0])
    # without the other students
    alone = [0.0, r / (1.0 - r * r) / mean(r)[0]]
    rest = [0.0, K * r / mean(0.0)[0]] if equal else [0.0, *alone]
    found, before, last, slope = [], np.nan, r, np.zeros(len(rest))
    for r in map(float, grid):
        start = np.array(rest) + slope * (r - last)
        solved = root(lambda y, r=r: equations(np.array([r, *y]))[0], start, tol=1e-12)
        if not np.max(np.abs(solved.fun)) < 1e-8 * (1.0 + solved.x[-1]):
            break
        if r != last:
            slope = (solved.x - rest) / (r - last)
        rest, last = solved.x, r
        now = equations(np.array([r, *rest]))[1]
        if now * before < 0.0:
            whole = root(lambda x: np.hstack(equations(x)), np.array([r, *rest]), tol=1e-14)
            found.append(float(whole.x[-1]))
        before = now
    return found


def rows(activation: str, mean: Slopes) -> bool:
    """Print the transitions of an activation; return whether all routes agree."""
    problem = sd.Problem(activation, students=2, teachers=2)
    special = problem.specialisation(units=_UNITS)
    agreed = True
    for n, K in enumerate(_UNITS):
        committee = sd.Problem(activation, students=K, teachers=K)
        limits = {
            "equal until": special.equal_until[n],
            "special from": special.specialised_from[n],
        }
        if K == 2:
            limits.pop("special from")
        most = 1.2 * K * max(limits.values())
        whole = committee.equilibrium(alpha=[most / 2.0, most])
        for name, first in limits.items():
            second = min((t["alpha"] / K for t in whole.transitions), key=lambda a: abs(a - first))
            zeros = singular_states(mean, K, name == "equal until") or [np.inf]
            third = min((a / K for a in zeros), key=lambda a: abs(a - first))
            worst = max(abs(second - first), abs(third - first)) / first
            agreed &= worst <= _ALLOWED
            print(
                f"{activation:5s} K = {K}, {name}: branches {first:.10f}, of all order parameters "
                f"{second:.10f}, determinant {third:.10f} | {worst:.0e} <= {_ALLOWED:g} "
                f"{worst <= _ALLOWED}",
                flush=True,
            )
    return agreed


def main() -> int:
    """Print all rows; 1 if routes differ."""
    warnings.simplefilter("ignore")
    agreed = [rows("erf", erf), rows("relu", relu), rows("tanh", of_tanh())]
    return int(not all(agreed))


if __name__ == "__main__":
    sys.exit(main())
