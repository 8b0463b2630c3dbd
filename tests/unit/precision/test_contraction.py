"""Sums over products of rules: against the sum written out, and Gaussian means."""

from itertools import product

import numpy as np
import pytest
from flint import arb, arb_mat

from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature.contraction import weighted_sum


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_a_contracted_sum_is_the_sum_over_all_nodes(d: int) -> None:
    """Different numbers of nodes per variable, none alike, all pairs correlated."""
    rng = np.random.default_rng(d)
    counts = [3, 2, 4, 5][:d]
    places = [rng.uniform(-1, 1, n) for n in counts]
    weights = [rng.uniform(0.5, 2, n) for n in counts]
    root = rng.standard_normal((d, d))
    precision = root @ root.T + np.eye(d)
    polynomial = {
        (0,) * d: 0.7,
        tuple(range(d)): -1.3,
        (2, *([1] * (d - 1))): 2.1,
        (*([0] * (d - 1)), 3): 0.4,
    }
    expected = 0.0
    for place in product(*(range(n) for n in counts)):
        x = np.array([places[i][a] for i, a in enumerate(place)])
        w = np.prod([weights[i][a] for i, a in enumerate(place)])
        value = sum(c * np.prod(x ** np.array(k)) for k, c in polynomial.items())
        expected += w * value * np.exp(-x @ precision @ x / 2)
    with working_bits(80):
        found = weighted_sum(
            {k: arb(c) for k, c in polynomial.items()},
            [[arb(x) for x in xs] for xs in places],
            [[arb(w) for w in ws] for ws in weights],
            arb_mat(precision.tolist()),
        )
    assert float(found) == pytest.approx(expected, rel=1e-13)
    assert float(found.rad()) < 1e-18
