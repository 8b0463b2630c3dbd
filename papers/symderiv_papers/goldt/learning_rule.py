"""The step of online learning on one example, against the gradient of the loss."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

__all__ = [
    "points",
]


def points(numbers: Any) -> Iterator[Point]:
    """Yield one example each; ``dw`` and ``dv`` are the step by numerical derivatives of Δ²/2."""
    for seed, (K, M, N, D) in enumerate(((3, 2, 4, 3), (2, 4, 3, 5))):
        rng = random.Random(seed)

        def draw(
            rows: int, columns: int = 0, rng: random.Random = rng, numbers: Any = numbers
        ) -> Any:
            if columns:
                return [draw(columns) for _ in range(rows)]
            return [numbers.mpf(rng.randint(-9, 9) or 4) / 7 for _ in range(rows)]

        w, teacher, v, v_teacher, x, c = (
            draw(K, N), draw(M, D), draw(K), draw(M), draw(N), draw(D),
        )  # fmt: skip
        yield Point(
            f"K = {K}, M = {M}, N = {N}, D = {D}",
            Values(_example(w, teacher, v, v_teacher, x, c, numbers)),
        )


def _example(
    w: Any, teacher: Any, v: Any, v_teacher: Any, x: Any, c: Any, numbers: Any
) -> dict[str, Any]:
    K, M, N, D = len(w), len(teacher), len(x), len(c)
    eta = numbers.mpf("0.7")

    def g(z: Any) -> Any:
        return numbers.erf(z / numbers.sqrt(numbers.mpf(2)))

    def fields(rows: Any, inputs: Any) -> list[Any]:
        root = numbers.sqrt(numbers.mpf(len(inputs)))
        return [sum(a * b for a, b in zip(row, inputs, strict=True)) / root for row in rows]

    nu = fields(teacher, c)

    def difference(rows: Any, outputs: Any) -> Any:
        student = sum(a * g(z) for a, z in zip(outputs, fields(rows, x), strict=True))
        return student - sum(a * numbers.tanh(z) for a, z in zip(v_teacher, nu, strict=True))

    def by_weight(k: int, i: int) -> Any:
        def loss(value: Any) -> Any:
            rows = [list(row) for row in w]
            rows[k - 1][i - 1] = value
            return difference(rows, v) ** 2 / 2

        return -eta * numbers.diff(loss, w[k - 1][i - 1])

    def by_output(k: int) -> Any:
        def loss(value: Any) -> Any:
            outputs = list(v)
            outputs[k - 1] = value
            return difference(w, outputs) ** 2 / 2

        return -eta / N * numbers.diff(loss, v[k - 1])

    return {
        "K": K, "M": M, "N": N, "D": D, "eta": eta, "Delta": difference(w, v),
        "x": Indexed(x, (1, N)), "v": Indexed(v, (1, K)), "tilde_v": Indexed(v_teacher, (1, M)),
        "lam": Indexed(fields(w, x), (1, K)), "nu": Indexed(nu, (1, M)),
        "g": g, "tilde_g": numbers.tanh,
        "dg": lambda z: numbers.sqrt(2 / numbers.pi) * numbers.exp(-(z**2) / 2),
        "dw": Indexed(by_weight, (1, K), (1, N)), "dv": Indexed(by_output, (1, K)),
    }  # fmt: skip
