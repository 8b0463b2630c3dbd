"""Single examples: the forward pass, the loss, and its derivatives by every weight.

Derivatives are numerical ones of the loss, so that the printed updates are not assumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv_papers.references.manifold import Manifold, manifold

__all__ = [
    "engine_samples",
    "sample_points",
]


_SIZES: Final = ((3, 2, 4, 6, 3), (2, 3, 5, 4, 4))


def sample_points(numbers: Any) -> Iterator[Point]:
    """Yield examples of two networks with K != M, f not odd, g and g~ different.

    Names: K, M, D, N, eta, C[r], F, W, Wt, v, w, U[i], X[i], lam[k], nu[m], y, y_hat, functions f,
    g, gt, dg, new_W and new_v after a step, force (the derivative of the loss by W[k, i] over
    v[k]/sqrt(N)), bar[k] (the centred field, by the engine's E f).
    """
    for K, M, D, N, seed in _SIZES:
        yield _point(K, M, D, N, seed, numbers.dps)


@lru_cache(maxsize=16)
def _point(K: int, M: int, D: int, N: int, seed: int, digits: int) -> Point:
    state = manifold(K, M, D, N, "erf(x) + x**2/3", "erf", digits, seed)
    return Point(f"K = {K}, M = {M}, D = {D}, N = {N}", Values(_values(state)))


def _values(state: Manifold) -> dict[str, Any]:
    numbers = state.numbers
    K, M, D, N = state.K, state.M, state.D, state.N

    def f(u: Any) -> Any:
        return numbers.erf(u) + u**2 / 3

    def g(x: Any) -> Any:
        return numbers.erf(x / numbers.sqrt(2)) + x**2 / 5

    def gt(x: Any) -> Any:
        return numbers.sin(x) + x

    C = numbers.matrix([[numbers.mpf((7 * r) % 5 - 2) / 3 + numbers.mpf(1) / 7 for r in range(D)]])
    U = C * state.features / numbers.sqrt(D)
    X = U.apply(f)
    nu = C * state.teacher.T / numbers.sqrt(D)
    y = sum(w * gt(x) for w, x in zip(state.v_teacher, nu, strict=True))

    def fields(W: Any) -> Any:
        return X * W.T / numbers.sqrt(N)

    def loss(W: Any, v: list[Any]) -> Any:
        guess = sum(a * g(x) for a, x in zip(v, fields(W), strict=True))
        return (guess - y) ** 2 / 2

    def by_weight(k: int, i: int) -> Any:
        def of(x: Any) -> Any:
            changed = state.student.copy()
            changed[k, i] = x
            return loss(changed, state.v)

        return numbers.diff(of, state.student[k, i])

    def by_output(k: int) -> Any:
        return numbers.diff(
            lambda x: loss(state.student, [*state.v[:k], x, *state.v[k + 1 :]]), state.v[k]
        )

    gradient = [[by_weight(k, i) for i in range(N)] for k in range(K)]
    lam = list(fields(state.student))
    means = numbers.ones(1, N) * state.student.T * state.coefficients[0] / numbers.sqrt(N)
    Ks, Ms, Ds, Ns = (1, K), (1, M), (1, D), (1, N)

    def dg(x: Any) -> Any:
        return numbers.sqrt(2 / numbers.pi) * numbers.exp(-(x**2) / 2) + 2 * x / 5

    return {
        "K": K, "M": M, "D": D, "N": N, "eta": state.eta,
        "f": f, "g": g, "gt": gt, "dg": dg, "a": state.coefficients[0],
        "C": Indexed(list(C), Ds), "U": Indexed(list(U), Ns), "X": Indexed(list(X), Ns),
        "F": Indexed(state.features, Ds, Ns), "W": Indexed(state.student, Ks, Ns),
        "Wt": Indexed(state.teacher, Ms, Ds), "v": Indexed(state.v, Ks),
        "w": Indexed(state.v_teacher, Ms), "lam": Indexed(lam, Ks), "nu": Indexed(list(nu), Ms),
        "bar": Indexed([x - mean for x, mean in zip(lam, means, strict=True)], Ks),
        "y": y, "y_hat": sum(a * g(x) for a, x in zip(state.v, lam, strict=True)),
        "new_W": Indexed(
            [[state.student[k, i] - state.eta * gradient[k][i] for i in range(N)]
             for k in range(K)], Ks, Ns
        ),
        "new_v": Indexed([state.v[k] - state.eta / N * by_output(k) for k in range(K)], Ks),
        "force": Indexed(
            [[gradient[k][i] * numbers.sqrt(N) / state.v[k] for i in range(N)] for k in range(K)],
            Ks, Ns,
        ),
    }  # fmt: skip


def engine_samples(numbers: Any) -> Iterator[Point]:
    """Latent vectors and inputs as the engine's simulator draws them, E f added again."""
    import numpy as np

    from symderiv.inputs.latent import hidden_manifold

    for D, N in ((4, 6), (5, 3)):
        features = np.random.default_rng(D).normal(size=(N, D))
        features *= np.sqrt(D) / np.linalg.norm(features, axis=1)[:, None]
        model = hidden_manifold(N, D, "erf(x) + x**2/3", features)
        assert model.latent is not None
        assert model.latent.sampler is not None
        X, C = model.latent.sampler(np.random.default_rng(N), 1)

        def f(u: Any) -> Any:
            return numbers.erf(u) + u**2 / 3

        def converted(values: Any) -> list[Any]:
            return [numbers.mpf(float(value)) for value in values]

        yield Point(
            f"D = {D}, N = {N}",
            Values({
                "D": D, "N": N, "f": f, "C": Indexed(converted(C[0]), (1, D)),
                "F": Indexed([converted(row) for row in features.T], (1, D), (1, N)),
                "X": Indexed([x + numbers.mpf(1) / 3 for x in converted(X[0])], (1, N)),
                "U": Indexed(converted(features @ C[0] / np.sqrt(D)), (1, N)),
            }),
        )  # fmt: skip
