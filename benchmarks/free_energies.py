"""Free energies of annealed learning against adaptive quadrature at random states.

``python -m benchmarks.free_energies [STATES [ACTIVATION ...]]`` draws lengths and overlaps of two
students and a teacher with another activation, and prints of every activation, or of those that are
named, the largest difference between the error in
:class:`symderiv.equilibrium.free_energy.FreeEnergy` and SciPy's adaptive cubature. The
other term of the free energy is compared with the logarithm of a determinant of all overlaps.

The cubature is in polar coordinates, in which kinks and jumps of functions at 0 are rays between
which integrands are smooth; functions are typed here.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable

import numpy as np
from scipy.integrate import cubature
from scipy.special import erf, expit

import symderiv as sd
from symderiv.equilibrium.free_energy import FreeEnergy

Function = Callable[[np.ndarray], np.ndarray]

_STATES, _ALLOWED, _REACH = 200, 1e-10, 11.0

FUNCTIONS: dict[str, Function] = {
    "erf": lambda x: erf(x / np.sqrt(2.0)),
    "relu": lambda x: np.maximum(x, 0.0),
    "linear": lambda x: x,
    "sign": np.sign,
    "abs": np.abs,
    "step": lambda x: np.where(x > 0.0, 1.0, 0.0),
    "quadratic": lambda x: x**2,
    "cubic": lambda x: x**3,
    "gelu": lambda x: x * (1.0 + erf(x / np.sqrt(2.0))) / 2.0,
    "tanh": np.tanh,
    "silu": lambda x: x * expit(x),
    "softplus": lambda x: np.logaddexp(0.0, x),
    "sigmoid": expit,
    "sin": np.sin,
    "cos": np.cos,
    "mish": lambda x: x * np.tanh(np.logaddexp(0.0, x)),
    "atan": np.arctan,
    "elu": lambda x: np.where(x > 0.0, x, np.expm1(np.minimum(x, 0.0))),
    "selu": lambda x: (
        1.0507009873554805 * np.where(x > 0.0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0.0)))
    ),
    "softsign": lambda x: x / (1.0 + np.abs(x)),
}


def pair(g: Function, h: Function, C: np.ndarray) -> float:
    """Return E[g(u) h(v)] for the covariance of u and v."""
    first = np.array([np.sqrt(C[0, 0]), 0.0])
    rest = C[1, 1] - C[0, 1] ** 2 / C[0, 0]
    # of a field with itself, rounding would make two fields that hardly differ
    rest = rest if rest > 1e-14 * C[1, 1] else 0.0
    second = np.array([C[0, 1] / np.sqrt(C[0, 0]), np.sqrt(rest)])

    def integrand(x: np.ndarray) -> np.ndarray:
        radius, angle = x[:, 0], x[:, 1]
        axes = radius * np.array([np.cos(angle), np.sin(angle)])
        density = radius * np.exp(-(radius**2) / 2.0) / (2.0 * np.pi)
        product: np.ndarray = density * g(first @ axes) * h(second @ axes)
        return product

    # where u or v vanishes
    rays = np.arctan2([-first[0], -second[0]], [first[1], second[1]]) % np.pi
    ends = np.unique(np.round([*rays, *(rays + np.pi)], 15))
    total = 0.0
    for low, high in itertools.pairwise([*ends, ends[0] + 2.0 * np.pi]):
        found = cubature(integrand, [0.0, low], [_REACH, high], rtol=1e-13, atol=1e-13)
        total += float(found.estimate)
    return total


def differences(student: str, teacher: str, states: int) -> tuple[float, float]:
    """Return the largest differences of the error and of the entropy."""
    random = np.random.default_rng(5)
    g, h = FUNCTIONS[student], FUNCTIONS[teacher]
    of_student, of_teacher = (sd.activation(each).expression for each in (student, teacher))
    worst = [0.0, 0.0]
    for _ in range(states):
        # two students and a teacher in three dimensions
        vectors = random.normal(size=(3, 3)) * random.uniform(0.3, 1.2, (3, 1))
        C = vectors @ vectors.T
        v, w, decay = random.normal(size=2), random.normal(size=1), float(random.uniform(0.1, 1.0))
        energy = FreeEnergy(of_student, of_teacher, v, w, C[2:, 2:], False, decay)
        x = energy.free(C[:2, :2], C[:2, 2:])
        weights, functions = np.concatenate([v, -w]), [g, g, h]
        expected = sum(
            (1.0 if a == b else 2.0)
            * weights[a]
            * weights[b]
            * pair(functions[a], functions[b], C[np.ix_([a, b], [a, b])])
            for a in range(3)
            for b in range(a, 3)
        )
        # det(Q - R T⁻¹ Rᵀ) det T is the determinant of all overlaps
        entropy = np.log(abs(np.linalg.det(vectors))) - 0.5 * np.log(C[2, 2])
        entropy -= 0.5 * decay * (C[0, 0] + C[1, 1])
        worst[0] = max(worst[0], abs(energy.error(x)[0] - 0.5 * expected) / max(1.0, expected))
        worst[1] = max(worst[1], abs(energy.entropy(x)[0] - entropy))
    return worst[0], worst[1]


def main() -> int:
    """Print a row for every activation; 1 if a difference is above what is allowed."""
    states = int(sys.argv[1]) if sys.argv[1:] else _STATES
    names, missed = list(FUNCTIONS), 0
    for number, student in enumerate(names):
        if sys.argv[2:] and student not in sys.argv[2:]:
            continue
        teacher = names[(number + 1) % len(names)]
        error, entropy = differences(student, teacher, states)
        met = max(error, entropy) <= _ALLOWED
        missed += not met
        print(
            f"{student:12s} {teacher:12s} {states} states: error {error:.1e}, entropy "
            f"{entropy:.1e} | <= {_ALLOWED:g} | {met}",
            flush=True,
        )
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
