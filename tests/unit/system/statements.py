"""Statements that several tests of the system room use, with states in general position."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp

import symderiv as sd


def gram(names: Mapping[str, int | None], seed: int, scale: float = 1.0) -> dict[str, Any]:
    """Overlaps of drawn vectors by family, in the order of declaration."""
    random = np.random.default_rng(seed)
    drawn = {
        name: scale * random.normal(size=(number or 1, 12)) / np.sqrt(12)
        for name, number in names.items()
    }
    found = {}
    families = list(names)
    for n, a in enumerate(families):
        for b in families[n:]:
            overlap = drawn[a] @ drawn[b].T
            if names[a] is None:
                overlap = overlap[0]
            if names[b] is None:
                overlap = overlap[..., 0]
            found[f"{a}.{b}"] = overlap
    return found


def student_teacher(
    student: str = "erf", teacher: str | None = None, K: int = 3, M: int = 2, **inputs: Any
) -> sd.System:
    """A committee with a trained second layer that learns another."""
    P = sd.System()
    x = P.inputs("x", **inputs)
    w, B = P.vectors("w", K), P.vectors("B", M, fixed=True)
    v, eta = P.scalars("v", K), P.parameter("eta", 0.7)
    s = (v * sd.activation(student)(w @ x)).sum()
    t = sd.activation(teacher or student)(B @ x).sum()
    P.descend((s - t) ** 2 / 2, {w: eta, v: 0.4})
    P.observe(error=(s - t) ** 2 / 2)
    return P


def autoencoder(K: int = 2) -> tuple[sd.System, dict[str, Any]]:
    """Encoders w, decoders v, one direction U of latent structure."""
    P = sd.System()
    c, U = P.latents("c"), P.vectors("U", fixed=True)
    x = P.inputs("a") + 2 * c * U
    w, v = P.vectors("w", K), P.vectors("v", K)
    s = sd.activation("erf")(w @ x)
    P.descend(sd.norm2(x - s @ v) / 2, {w: 0.3, v: 0.4})
    return P, gram({"U": None, "w": K, "v": K}, 5)


def reinforcement(T: int = 3) -> tuple[sd.System, dict[str, Any]]:
    """A perceptron that is told whether all answers of an episode were right."""
    P = sd.System()
    x = P.inputs("x", episode=T)
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    y = sp.sign(w @ x)
    won = x.all(sp.Eq(y, sp.sign(B @ x)))
    P.update({w: 0.8 * (won - 0.3 * (1 - won)) * x.mean(y * x)})
    P.observe(won=won)
    return P, {"w.w": 0.9, "w.B": 0.4, "B.B": 1.1}


def components() -> tuple[sd.System, dict[str, Any]]:
    """Independent components with orthonormal directions, kurtosis from skewed latents."""
    P = sd.System()
    c = P.latents("c", {-2: sp.Rational(1, 5), sp.Rational(1, 2): sp.Rational(4, 5)}, 2)
    U = P.vectors("U", 2, fixed=True)
    x = P.inputs("a") + c @ U
    W = P.vectors("W", 2)
    P.update({W: sp.Rational(1, 20) * (W @ x) ** 3 * x})
    P.constrain(W, "orthonormal")
    return P, {"U.U": np.eye(2), "U.W": [[0.5, 0.2], [-0.1, 0.6]], "W.W": np.eye(2)}


def three_examples() -> tuple[sd.System, dict[str, Any]]:
    """A student of two teachers that learns from three examples at a time."""
    P = sd.System()
    x, g = P.inputs("x", episode=3), sd.activation("erf")
    w, B = P.vectors("w"), P.vectors("B", 2, fixed=True)
    P.update({w: 0.6 * x.mean((g(B @ x).sum() - g(w @ x)) * x)})
    return P, gram({"w": None, "B": 2}, 7)


def one_of_two() -> tuple[sd.System, dict[str, Any]]:
    """Two orthonormal vectors, of which one learns and the other gives way."""
    P = sd.System()
    x, W, B = P.inputs("x"), P.vectors("W", 2), P.vectors("B", fixed=True)
    g = sd.activation("erf")
    P.update({W[0]: 0.8 * (g(B @ x) - g(W @ x).sum()) * x})
    P.constrain(W, "orthonormal")
    return P, {"W.W": np.eye(2), "W.B": [0.3, 0.6], "B.B": 1.2}


def two_groups() -> tuple[sd.System, dict[str, Any]]:
    """Components of two groups, each orthonormal in itself and not to the other."""
    P = sd.System()
    x = P.inputs("x")
    W, V = P.vectors("W", 2), P.vectors("V", 2)
    P.update({W: sp.Rational(1, 20) * (W @ x) ** 3 * x, V: sp.Rational(1, 10) * (V @ x) * x})
    P.constrain(W, "orthonormal")
    P.constrain(V, "orthonormal")
    return P, {"W.W": np.eye(2), "V.V": np.eye(2), "W.V": [[0.6, 0.3], [0.1, -0.4]]}


def differences() -> tuple[sd.System, dict[str, Any]]:
    """Temporal differences with correlated tokens, a drifting teacher with decay."""
    P = sd.System()
    x = P.inputs("x", length=2, correlation=[[1, sp.Rational(3, 5)], [sp.Rational(3, 5), 1]])
    z = P.inputs("z")
    w, B = P.vectors("w"), P.vectors("B")
    reward = B @ x[0]
    P.update({w: 0.4 * (reward + 0.8 * (w @ x[1]) - w @ x[0]) * x[0]})
    P.update({B: 0.5 * z - 0.125 * B})
    return P, {"w.w": 0.5, "w.B": 0.2, "B.B": 1.0}
