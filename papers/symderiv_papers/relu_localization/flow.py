"""The network, its loss, and gradient flow: equations 1 to 5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv_papers.relu_localization.populations import population_points
from symderiv_papers.relu_localization.references import gaussian_points

__all__ = [
    "all_points",
    "networks",
]


def all_points(numbers: Any) -> Iterator[Point]:
    """Yield Gaussian classes and finite populations."""
    yield from gaussian_points(numbers)
    yield from population_points(numbers)


def networks(numbers: Any) -> Iterator[Point]:
    """Yield a network with biases, written with matrices, and the special case of the notes."""

    def relu(s: Any) -> Any:
        return s if s > 0 else numbers.mpf(0)

    for K, n in ((3, 4), (5, 3)):
        x = [numbers.mpf(3 * i * i - 7 * i + 1) / 5 for i in range(n)]
        w = [[numbers.mpf((5 * k - 3 * i) % 7 - 3) / 4 for i in range(n)] for k in range(K)]
        b1 = [numbers.mpf(k - 1) / 3 for k in range(K)]
        w2 = [numbers.mpf(2 * k * k - 3) / 7 for k in range(K)]
        b2 = numbers.mpf(-2) / 9

        def output(weights: Any, biases: Any, last: Any, x: Any = x, w: Any = w) -> Any:
            hidden = numbers.matrix(w) * numbers.matrix(x) + numbers.matrix(biases)
            active = numbers.matrix([relu(h) for h in hidden])
            return (numbers.matrix([weights]) * active)[0] + last

        yield Point(
            f"K = {K}, n = {n}",
            Values(
                {
                    "K": K, "M": 2, "n": n, "relu": relu, "b2": b2,
                    "x": Indexed(x, (1, n)), "w": Indexed(w, (1, K), (1, n)),
                    "W1": Indexed(w, (1, K), (1, n)), "W2": Indexed(w2, (1, K)),
                    "b1": Indexed(b1, (1, K)), "yhat": output(w2, b1, b2),
                    "yhat_mean": output([numbers.mpf(1) / K] * K, [0] * K, 0),
                }
            ),
        )  # fmt: skip
