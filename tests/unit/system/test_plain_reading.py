"""The reference reading of a step, against the step written by hand."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from support.plain_reading import plain_step

import symderiv as sd

N = 30


def test_a_step_is_the_one_written_by_hand() -> None:
    P = sd.System()
    x, z = P.inputs("x", length=2), P.inputs("z")
    w, v, B = P.vectors("w", 2), P.vectors("v"), P.vectors("B", fixed=True)
    u, c, eta = P.scalars("u"), P.latents("c"), P.parameter("eta", 2)
    step, jump = sp.Heaviside(w[0] @ z), sp.sign(B @ x[0])
    P.update(
        {
            w[0]: eta * jump * x[1] + sp.erf(v @ z) * z,
            w[1]: w[0].dot(B) * v - 3 * c * w[1],
            v: step * B + u * z,
            u: c * (B @ z) + u,
        }
    )
    random = np.random.default_rng(2)
    arrays = {n: random.normal(size=N) for n in ("w1", "w2", "v", "B", "x1", "x2", "z")}
    slow = {n: arrays[n] for n in ("w1", "w2", "v", "B")}
    fresh = {n: arrays[n] for n in ("x1", "x2", "z")}
    a, r = arrays, np.sqrt(N)
    after, numbers = plain_step(P.statement, slow, {"u": 0.7}, fresh, {"c": -1.2}, {"eta": 1.5})
    from math import erf

    wanted = {
        "w1": a["w1"]
        + 1.5 * np.sign(a["B"] @ a["x1"]) * a["x2"] / r
        + erf(a["v"] @ a["z"] / r) * a["z"] / r,
        "w2": a["w2"] + (a["w1"] @ a["B"] / N) * a["v"] / N + 3.6 * a["w2"] / N,
        "v": a["v"] + (a["w1"] @ a["z"] > 0) * a["B"] / N + 0.7 * a["z"] / r,
        "B": a["B"],
    }
    for name, value in wanted.items():
        np.testing.assert_allclose(after[name], value, rtol=1e-13, atol=1e-14, err_msg=name)
    assert numbers["u"] == pytest.approx(0.7 + (-1.2 * (a["B"] @ a["z"]) / r + 0.7) / N)


def test_a_step_at_its_edge_counts_half() -> None:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    P.update({w: sp.Heaviside(B @ x) * B})
    slow = {"w": np.zeros(N), "B": np.ones(N)}
    after, _ = plain_step(P.statement, slow, {}, {"x": np.zeros(N)}, {}, {})
    np.testing.assert_allclose(after["w"], 0.5 / N)


def test_a_step_of_a_batch_is_a_mean_over_its_examples() -> None:
    """Vectors gain √N mean(F ξ) + F' ξ' + G w, scalars the mean of g; η is a function of time."""
    P = sd.System()
    x, z = P.inputs("x", batch_ratio=sp.Rational(1, 3)), P.inputs("z")
    w, B, u = P.vectors("w"), P.vectors("B", fixed=True), P.scalars("u")
    c, size = P.latents("c"), P.average((w @ z) ** 2)
    P.update({w: x.mean(((B @ x) + c) * x) * P.alpha + u * z - size * w / 5})
    P.update({u: x.mean(c * (w @ x)) - u})
    random = np.random.default_rng(9)
    slow = {name: random.normal(size=N) for name in ("w", "B")}
    examples, other, noise = random.normal(size=(N // 3, N)), random.normal(size=N), N // 3
    latents = random.normal(size=noise)
    after, numbers = plain_step(
        P.statement,
        slow,
        {"u": 0.4},
        {"x": examples, "z": other},
        {"c": latents},
        {size.name: 0.7},
        alpha=2.5,
    )
    r, mean, gain = np.sqrt(N), np.zeros(N), 0.0
    for xi, zeta in zip(examples, latents, strict=True):
        mean += (slow["B"] @ xi / r + zeta) * xi / len(examples)
        gain += zeta * (slow["w"] @ xi / r) / len(examples)
    wanted = slow["w"] + 2.5 * r * mean + 0.4 * other - 0.7 * slow["w"] / 5
    np.testing.assert_allclose(after["w"], wanted, rtol=1e-12, atol=1e-13)
    assert numbers["u"] == pytest.approx(gain)


@pytest.mark.parametrize("kind", ["sphere", "orthonormal"])
def test_constrained_vectors_are_brought_back(kind: str) -> None:
    P = sd.System()
    x, w, v = P.inputs("x"), P.vectors("w", 2), P.vectors("v")
    P.update({w: 3 * x, v: 2 * x})
    P.constrain(w, kind)
    random = np.random.default_rng(4)
    drawn = random.normal(size=(4, N))
    slow = dict(zip(("w1", "w2", "v"), drawn, strict=False))
    after, _ = plain_step(P.statement, slow, {}, {"x": drawn[3]}, {}, {})
    moved = drawn[:2] + 3 * drawn[3] / np.sqrt(N)
    found = np.array([after["w1"], after["w2"]])
    if kind == "sphere":
        lengths = np.linalg.norm(drawn[:2], axis=1)
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), lengths, rtol=1e-13)
        directions = moved / np.linalg.norm(moved, axis=1)[:, None]
        np.testing.assert_allclose(found / lengths[:, None], directions, rtol=1e-12)
    else:
        np.testing.assert_allclose(found @ found.T / N, np.eye(2), atol=1e-13)
        # the nearest of all orthonormal pairs in their plane: a symmetric, positive overlap
        overlap = found @ moved.T
        np.testing.assert_allclose(overlap, overlap.T, rtol=1e-12)
        assert np.all(np.linalg.eigvalsh(overlap) > 0)
    np.testing.assert_allclose(after["v"], drawn[2] + 2 * drawn[3] / np.sqrt(N), rtol=1e-13)
