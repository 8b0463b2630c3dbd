"""The changes of a step follow from the lines that were said, together and in order."""

from typing import Any

import numpy as np
import pytest
import sympy as sp
from support.plain_reading import plain_step

import symderiv as sd
from symderiv.foundation.errors import InputError, NotClosed

N = 8
RATES = {"w1": 0.3, "w2": 0.5, "v": 0.2, "u": 0.7}


def _said(signs: int, velocity: bool = False) -> tuple[sd.System, sp.Expr]:
    """A loss in fields, overlaps of what is trained with itself and others, scalars, latents."""
    P = sd.System()
    x, z = P.inputs("x", length=2), P.inputs("z")
    w, v, B = P.vectors("w", 2), P.vectors("v"), P.vectors("B", fixed=True)
    u, c = P.scalars("u"), P.latents("c")
    loss = (
        (w[0] @ x[0]) ** 2 * (w[0] @ x[1]) * u
        + sp.exp(-((w[1] @ z) ** 2)) * (v @ z) * c
        + w[0].dot(w[0]) ** 2 * u**2
        + 3 * w[0].dot(w[1]) * w[0].dot(B)
        - v.dot(v) * w[1].dot(v)
    )
    rates = {w: [RATES["w1"], RATES["w2"]], v: RATES["v"], u: RATES["u"]}
    U, s = P.vectors("U", 2), P.scalars("s")
    moved = {w: U, u: s} if velocity else None
    (P.descend if signs > 0 else P.ascend)(loss, rates, velocity=moved)
    return P, loss


def _state(seed: int = 2) -> tuple[dict[str, Any], ...]:
    random = np.random.default_rng(seed)
    names = ("w1", "w2", "v", "B", "U1", "U2")
    vectors = dict(zip(names, random.normal(size=(6, N)), strict=True))
    inputs = dict(zip(("x1", "x2", "z"), random.normal(size=(3, N)), strict=True))
    return vectors, {"u": 0.8, "s": -0.4}, inputs, {"c": 1.3}


def _loss(vectors: dict[str, np.ndarray], u: float, inputs: Any, c: float) -> float:
    a = {**vectors, **{k: v * np.sqrt(N) for k, v in inputs.items()}}

    def dot(one: str, other: str) -> float:
        return float(a[one] @ a[other] / N)

    return float(
        dot("w1", "x1") ** 2 * dot("w1", "x2") * u
        + np.exp(-(dot("w2", "z") ** 2)) * dot("v", "z") * c
        + dot("w1", "w1") ** 2 * u**2
        + 3 * dot("w1", "w2") * dot("w1", "B")
        - dot("v", "v") * dot("w2", "v")
    )


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("velocity", [False, True])
def test_a_descent_steps_along_the_gradient_by_coordinates(sign: int, velocity: bool) -> None:
    P, _ = _said(sign, velocity)
    vectors, scalars, inputs, latents = _state()
    after, numbers = plain_step(P.statement, vectors, scalars, inputs, latents, {})
    h = 1e-5
    moved = {"w1": "U1", "w2": "U2", "v": "v"} if velocity else {n: n for n in ("w1", "w2", "v")}
    for name, target in moved.items():
        gradient = np.empty(N)
        for i in range(N):
            ends = []
            for step in (h, -h):
                changed = vectors[name].copy()
                changed[i] += step
                ends.append(_loss({**vectors, name: changed}, 0.8, inputs, 1.3))
            gradient[i] = (ends[0] - ends[1]) / (2 * h)
        change = after[target] - vectors[target]
        np.testing.assert_allclose(change, -sign * RATES[name] * gradient, rtol=1e-7, atol=1e-9)
    still = set(vectors) - set(moved.values())
    assert all(np.array_equal(after[name], vectors[name]) for name in still)
    slope = (_loss(vectors, 0.8 + h, inputs, 1.3) - _loss(vectors, 0.8 - h, inputs, 1.3)) / (2 * h)
    target = "s" if velocity else "u"
    change = numbers[target] - scalars[target]
    assert change == pytest.approx(-sign * RATES["u"] * slope / N, rel=1e-7)


def test_lines_act_together_on_the_state_before_them() -> None:
    P, loss = _said(1)
    (w1, _, v, B, *_), (x, _) = P.statement.vectors, (each.atoms for each in P.statement.inputs)
    alone = P.statement.step()
    P.update({w1: v @ x[0] * x[0] + 2 * B, v: -v / 4})
    together = P.statement.step()
    assert together.vectors[w1].inputs[x[0]] == alone.vectors[w1].inputs[x[0]] + (v @ x[0])
    assert together.vectors[w1].vectors[B] == alone.vectors[w1].vectors[B] + 2
    assert together.vectors[v].vectors[v] == alone.vectors[v].vectors[v] - sp.Rational(1, 4)
    assert [text.partition("(")[0] for text in together.source[w1]] == ["descend", "update"]
    assert together.source[w1][0].startswith(f"descend({loss}, {{w1: 3/10, w2: 1/2, v: 1/5")
    assert together.source[w1][1].startswith("update({w1: ")


def test_a_velocity_is_told_and_asks_for_one_of_its_kind() -> None:
    P, _ = _said(1, velocity=True)
    assert P.statement.lines[0].text.endswith("velocity={w1: U1, w2: U2, u: s})")
    assert _said(-1)[0].statement.lines[0].text.startswith("ascend(")
    x = P.inputs("y")
    p, q, t = P.vectors("p", 2), P.vectors("q"), P.scalars("t")
    loss = (p @ x).sum() + t
    for wrong, words in (
        ({p: q}, "1 velocities for 2"),
        ({t: q}, "cannot be"),
        ({q: q}, "no learning rate"),
        ({p[0]: q, p[1]: q}, "one velocity for two"),
    ):
        with pytest.raises(InputError, match=words):
            P.descend(loss, {p: 1, t: 1}, velocity=wrong)


def test_parts_of_order_n_are_refused_where_they_are_trained_and_welcome_where_not() -> None:
    P = sd.System()
    x, z = P.inputs("x", length=2), P.inputs("z")
    w, u = P.vectors("w"), P.scalars("u")
    P.descend(sd.norm2(x[0]) + (x[0] @ x[1]) - u * (w @ z), {w: 1, u: 1})
    step = P.statement.step()
    assert list(step.vectors[w].inputs) == [z]
    for loss in ((x[0] @ x[1]) * u, (x[1] @ x[0]) * (w @ z), sd.norm2(z) * w.dot(w)):
        target = u if loss.has(u) else w
        with pytest.raises(NotClosed, match="order N") as refused:
            P.descend(loss, {target: 1})
        assert refused.value.statement.startswith("descend(")
