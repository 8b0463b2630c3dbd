"""Data, gradient step and ridge in exact arithmetic, at small sizes.

Slopes are numerical derivatives of the loss, minimisers come from a least-squares problem by
orthogonal factors: neither uses the printed formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

__all__ = ["population_points", "ridge_points", "scaling_points", "step_points"]


def _entries(rows: int, columns: int, seed: int, numbers: Any) -> Any:
    """Return a matrix of fractions that look like nothing in particular."""
    offset = numbers.mpf(1) / 17
    return numbers.matrix(
        [
            [
                numbers.mpf((7 * i + 5 * j * j + 3 * i * j + seed) % 13 - 6) / 5 + offset
                for j in range(columns)
            ]
            for i in range(rows)
        ]
    )


def population_points(numbers: Any) -> Iterator[Point]:
    """Sigma, made as the square of the root that inputs are drawn with; gamma, theta, norm, trace,
    and the same for a second component with another number of spikes' strengths of equal sum.
    """
    for n, d, seed in ((4, 1, 1), (5, 2, 2), (6, 3, 5)):
        frame, _ = numbers.qr(_entries(n, n, seed, numbers) + 3 * numbers.eye(n))
        theta = [numbers.mpf(2 * r + 3) / (r + 2) for r in range(d)]
        root = numbers.eye(n)
        for r in range(d):
            gamma = frame[:, r]
            root += (numbers.sqrt(1 + theta[r]) - 1) * (gamma * gamma.T)
        sigma = root * root.T
        values = numbers.eigsy(sigma, eigvals_only=True)
        known = {
            "n": n, "d": d, "theta": Indexed(theta, (1, d)), "largest": max(theta),
            "gamma": Indexed(frame[:, :d], (1, n), (1, d)), "Sigma": Indexed(sigma, (1, n), (1, n)),
            "norm": max(values[i] for i in range(n)), "trace": sum(sigma[i, i] for i in range(n)),
        }  # fmt: skip
        yield Point(f"n = {n}, d = {d}", Values(known))


def scaling_points(numbers: Any) -> Iterator[Point]:
    """eta = n^(beta alpha), norm = 1 + n^(beta (1 - alpha)) at n = 10^6, 10^9, 10^12.

    Exponents are read off as logarithms over log n; the small parameter is 1/log n.
    """
    for beta, alpha in (("0.3", "0.2"), ("0.74", "0.5"), ("1", "1"), ("0.9", "0.1")):
        for digits in (6, 9, 12):
            b, a, n = numbers.mpf(beta), numbers.mpf(alpha), numbers.mpf(10) ** digits
            known = {
                "n": n, "beta": b, "alpha": a, "scale": 1,
                "eta": n ** (b * a), "norm": 1 + n ** (b * (1 - a)),
            }  # fmt: skip
            series = f"beta = {beta}, alpha = {alpha}"
            yield Point(f"{series}, n = 10^{digits}", Values(known), 1 / digits, series)


_ACTIVATIONS: tuple[tuple[str, str], ...] = (("tanh", "1"), ("softplus", "2"))


def step_points(numbers: Any) -> Iterator[Point]:
    """Yield a network with n, k and m different, its loss (1/2 of the mean squared error) and its
    slope.

    Names: n, k, m, X[s, j], y[s], w[i], F[i, j], sigma[i, s] and dsigma[i, s] at F X^T,
    minus_slope[i, j], fall: of the loss by eta along minus_slope, at eta = 0.
    """
    for (name, seed), (n, k, m) in zip(_ACTIVATIONS, ((3, 2, 4), (2, 4, 3)), strict=True):
        yield Point(f"{name}, n = {n}, k = {k}, m = {m}", _step(name, int(seed), n, k, m, numbers))


def _step(name: str, seed: int, n: int, k: int, m: int, numbers: Any) -> Values:
    sigma, slope = _activation(name, numbers)
    X, F = _entries(m, n, seed, numbers), _entries(k, n, seed + 4, numbers)
    y, w = _entries(m, 1, seed + 2, numbers), _entries(k, 1, seed + 7, numbers)

    def loss(weights: Any) -> Any:
        outputs = weights * X.T
        total = numbers.zero
        for s in range(m):
            guess = sum(w[i] * sigma(outputs[i, s]) for i in range(k)) / numbers.sqrt(k)
            total += (y[s] - guess) ** 2
        return total / (2 * m)

    def minus_slope(i: int, j: int) -> Any:
        def of(x: Any) -> Any:
            moved = F.copy()
            moved[i - 1, j - 1] = x
            return loss(moved)

        return -numbers.diff(of, F[i - 1, j - 1])

    def fall() -> Any:
        step = numbers.matrix([[minus_slope(i + 1, j + 1) for j in range(n)] for i in range(k)])
        return -numbers.diff(lambda eta: loss(F + eta * step), 0)

    fields = F * X.T
    known = {
        "n": n, "k": k, "m": m,
        "X": Indexed(X, (1, m), (1, n)), "F": Indexed(F, (1, k), (1, n)),
        "y": Indexed(list(y), (1, m)), "w": Indexed(list(w), (1, k)),
        "sigma": Indexed(fields.apply(sigma), (1, k), (1, m)),
        "dsigma": Indexed(fields.apply(slope), (1, k), (1, m)),
        "minus_slope": Indexed(minus_slope, (1, k), (1, n)),
    }  # fmt: skip
    return Values(known, {"fall": fall})


def _activation(name: str, numbers: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    if name == "tanh":
        return numbers.tanh, lambda x: 1 - numbers.tanh(x) ** 2
    return lambda x: numbers.log(1 + numbers.exp(x)), lambda x: 1 / (1 + numbers.exp(-x))


def ridge_points(numbers: Any) -> Iterator[Point]:
    """Ridge with k below and above m: phi[i, s] = sigma/sqrt(k), w_hat, lam, best (its objective).

    w_hat solves the least-squares problem of the rows phi and sqrt(lam m) by orthogonal factors.
    """
    for k, m, seed in ((3, 5, 1), (4, 2, 6)):
        lam = numbers.mpf(seed + 1) / 10
        sigma = _entries(k, m, seed, numbers).apply(numbers.tanh)
        phi = sigma / numbers.sqrt(k)
        y = _entries(m, 1, seed + 3, numbers)
        rows = numbers.zeros(m + k, k)
        right = numbers.zeros(m + k, 1)
        for s in range(m):
            right[s] = y[s]
            for i in range(k):
                rows[s, i] = phi[i, s]
        for i in range(k):
            rows[m + i, i] = numbers.sqrt(lam * m)
        w_hat, residual = numbers.qr_solve(rows, right)
        known = {
            "k": k, "m": m, "lam": lam, "best": residual**2 / (2 * m),
            "sigma": Indexed(sigma, (1, k), (1, m)), "phi": Indexed(phi, (1, k), (1, m)),
            "y": Indexed(list(y), (1, m)), "w_hat": Indexed(list(w_hat), (1, k)),
        }  # fmt: skip
        yield Point(f"k = {k}, m = {m}, lambda = {lam}", Values(known))
