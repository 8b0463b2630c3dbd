"""The network, its loss, and gradient flow: equations 1 to 5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from symderiv.verification.arithmetic import Indexed, Values
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Exact
from symderiv_papers.relu_localization.populations import population_points
from symderiv_papers.relu_localization.references import gaussian_points

__all__ = ["CLAIMS", "RESIDUAL", "all_points"]

#: The bracket of equation 4: output minus label.
RESIDUAL = "(1/K*Sum(relu(T[k]), (k, 1, K)) - Y)"
_GENERAL = (
    "any input: Gaussian classes of different covariances, single pulses, NLGP at finite gain"
)


def all_points(numbers: Any) -> Iterator[Point]:
    """Gaussian classes and finite populations."""
    yield from gaussian_points(numbers)
    yield from population_points(numbers)


def _networks(numbers: Any) -> Iterator[Point]:
    """A network with biases, written with matrices, and the special case of the notes."""

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


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "1",
        "yhat == Sum(W2[k]*relu(Sum(W1[k, i]*x[i], (i, 1, n)) + b1[k]), (k, 1, K)) + b2",
        _networks,
        Exact(),
        definition=True,
        regime="sigma = ReLU stands for any activation",
    ),
    Claim(
        "2",
        "yhat_mean == 1/K*Sum(relu(Sum(w[k, i]*x[i], (i, 1, n))), (k, 1, K))",
        _networks,
        Exact(),
        definition=True,
        note="Equation 1 with W2 = (1, ..., 1)/K, sigma = ReLU and no biases.",
    ),
    Claim(
        "3",
        f"loss == 1/2*E({RESIDUAL}**2)",
        all_points,
        Exact(),
        definition=True,
        regime=_GENERAL,
        note="E is the mean over both classes, E1 and E0 are the means given Y = 1 and Y = 0; S = "
        "<w_1, X>, T[k] = <w_k, X>. For Gaussian classes the left side is made of E[ReLU(S)] and "
        "E[ReLU(S) ReLU(T)] in closed form.",
    ),
    Claim(
        "4",
        f"flow[i] == -E({RESIDUAL}*theta(S)*X[i])",
        all_points,
        Exact(),
        "i = 1..n",
        corrected=f"flow[i] == -1/K*E({RESIDUAL}*theta(S)*X[i])",
        regime=_GENERAL,
        note="flow is -dL/dw_1 of equation 3. The derivative of the output by w_1 is 1/K times "
        "that of ReLU(<w_1, X>), so a factor 1/K is missing: the right side is K times the "
        "gradient flow of time constant tau. It is right if K is absorbed in tau (part 'time "
        "constant K tau'), as equation 100 writes it.",
    ),
    Claim(
        "4",
        f"K*flow[i] == -E({RESIDUAL}*theta(S)*X[i])",
        all_points,
        Exact(),
        "i = 1..n",
        part="time constant K tau",
        regime=_GENERAL,
        note="Equation 4 as the flow K tau dw_1/dt; all later forms of the flow are in this unit "
        "of time.",
    ),
    Claim(
        "5",
        f"-E({RESIDUAL}*theta(S)*X[i]) == 1/2*E1(theta(S)*X[i])"
        " - 1/K*Sum(E(theta(S)*theta(T[k])*T[k]*X[i]), (k, 1, K))",
        all_points,
        Exact(),
        "i = 1..n",
        given="equation 4",
        regime=_GENERAL,
        note="theta(S) is 1 if S > 0, else 0, so that the events are kept in the integrand: "
        "E[X 1(S > 0) | Y = 1] and E[T X 1(S > 0) 1(T > 0)]. Read as conditional means, the terms "
        "would lack the probabilities of these events, and the line would be wrong. The second "
        "mean is over both classes, 1/2 each.",
    ),
)
