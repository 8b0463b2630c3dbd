"""Points of claims on single units: linear regression, unit variances, the gradient of one step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed

from symderiv_papers.public_code.rates import Committee, Flow, means

__all__ = ["correlations", "gradients", "regression"]

#: q, m, ρ, λ, σ², η of linear regression.
_STATES: Final = (
    (1.5, 0.75, 1.25, 0.5, 0.25, 0.75),
    (0.5, -0.25, 2.0, 1.5, 1.0, 2.25),
    (2.0, 0.5, 0.75, 0.125, 0.0625, 1.875),
)


def regression(numbers: Any) -> Iterator[Point]:
    """Yield a linear student and teacher, labels' noise of variance noise, decay eta lam of the
    weights.

    Names: q, m, rho, eta, lam, noise; the engine's rates dm and dq and eps_g; where they vanish,
    m_star and q_star; eta_c, the learning rate from which q grows without bound.
    """
    for q, m, rho, lam, noise, eta in _STATES:

        def flow(
            q: float = q, m: float = m, eta: float = eta, known: Any = (rho, lam, noise)
        ) -> Flow:
            rho, lam, noise = known
            gram = [[q, m], [m, rho]]
            one = Committee(gram, [1.0], [1.0], eta, "linear", noise**0.5, eta * lam)
            return one.flow(numbers)

        at = flow()
        # rates are affine in m and q: their zeros, from their values at three states
        start, by_m, by_q = flow(0.5, 0.0), flow(0.5, 0.5), flow(1.0, 0.0)
        slope = [2 * (by_m.dR[0][0] - start.dR[0][0]), 2 * (by_m.dQ[0][0] - start.dQ[0][0])]
        growth = 2 * (by_q.dQ[0][0] - start.dQ[0][0])
        m_star = -start.dR[0][0] / slope[0]
        q_star = numbers.mpf(0.5) - (start.dQ[0][0] + slope[1] * m_star) / growth
        # growth is eta times an affine function of eta
        small, large = (
            2 * (flow(1.0, 0.0, e).dQ[0][0] - flow(0.5, 0.0, e).dQ[0][0]) / e for e in (1.0, 2.0)
        )
        values = {
            "q": numbers.mpf(q), "m": numbers.mpf(m), "rho": numbers.mpf(rho),
            "eta": numbers.mpf(eta), "lam": numbers.mpf(lam), "noise": numbers.mpf(noise),
            "dm": at.dR[0][0], "dq": at.dQ[0][0], "eps_g": at.error,
            "m_star": m_star, "q_star": q_star, "eta_c": 1 - small / (large - small),
        }  # fmt: skip
        yield Point(f"q = {q}, m = {m}, rho = {rho}, lam = {lam}, eta = {eta}", values)


def correlations(numbers: Any) -> Iterator[Point]:
    """Yield two fields of variance one with correlation c.

    Names: c; I2_erf, I2_sign, I2_relu, the means of the product of the activations.
    """
    for c in (0.625, -0.75, 0.125):
        gram = [[1.0, c], [c, 1.0]]
        found = {
            f"I2_{name}": means(name, gram, numbers)["I2"](0, 1) for name in ("erf", "sign", "relu")
        }
        yield Point(f"c = {c}", {"c": numbers.mpf(c), **found})


def gradients(numbers: Any) -> Iterator[Point]:
    """Yield one example: minus the derivative of (y - s times the output)²/2 by an output weight.

    Names: K, s, y, v[i], g[i] (the activations of the fields), gradient[i], by differences.
    """
    for s, y, v, x in (
        (2.5, 0.75, (0.5, -1.25), (0.25, 1.5)),
        (1.25, -1.5, (1.75, 0.5, 0.25), (-0.75, 0.5, 2.0)),
    ):
        K = len(v)
        g = [numbers.erf(numbers.mpf(field) / numbers.sqrt(2)) for field in x]

        def loss(i: int, change: Any, g: Any = g, v: Any = v, s: float = s, y: float = y) -> Any:
            output = sum(numbers.mpf(a) * b for a, b in zip(v, g, strict=True)) + change * g[i]
            return (y - s * output) ** 2 / 2

        gradient = [-(loss(i, 1) - loss(i, -1)) / 2 for i in range(K)]
        values = {
            "K": K, "s": numbers.mpf(s), "y": numbers.mpf(y),
            "v": Indexed([numbers.mpf(a) for a in v], (1, K)),
            "g": Indexed(g, (1, K)), "gradient": Indexed(gradient, (1, K)),
        }  # fmt: skip
        yield Point(f"K = {K}, s = {s}, y = {y}", values)
