"""The points of the claims on the setup of arXiv:2410.09005, by second routes."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import erf
from symderiv_papers.references.moments import Moments, motion
from symderiv_papers.references.plateaus import unequal_plateau
from symderiv_papers.references.vectors import moments_of, network, networks
from symderiv_papers.worschech_rosenow.setup_points import network_points
from symderiv_papers.worschech_rosenow.setup_teachers import teachers

from symderiv.precision.balls.contexts import numbers


def test_outputs_of_fields_that_coincide_add_up() -> None:
    state = networks()[5]
    assert state.x(1) is state.x(2)
    with numbers(20, "mpmath") as context:
        values = network_points(state, context).values
        twice = values["g"](state.x(1)) + values["g"](state.x(2))
        once = values["g"](state.x(1))
        assert abs(values["mean"](twice**2) - 4 * values["mean"](once**2)) < 1e-18


def test_second_order_of_dq_against_drawn_fields() -> None:
    """η² ν_(l+1) v² E[δ² g'(x_i) g'(x_j)] over normal fields of the state's covariance."""
    state = networks()[0]
    fields = [state.x(1), state.x(2), state.y(1), state.y(2), state.y(3)]
    covariance = np.array([[float(state.covariance(a, b)) for b in fields] for a in fields])
    random = np.random.default_rng(0)
    z = random.multivariate_normal(np.zeros(5), covariance, size=400_000)
    g = erf(z / np.sqrt(2))
    slope = np.sqrt(2 / np.pi) * np.exp(-(z[:, :2] ** 2) / 2)
    v, w = np.sqrt(3) / 2, 1 / np.sqrt(3)
    delta = v * g[:, :2].sum(axis=1) - w * g[:, 2:].sum(axis=1)
    with numbers(20, "mpmath") as context:
        values = network_points(state, context).values
        for i, j in ((0, 0), (0, 1), (1, 1)):
            sample = delta**2 * slope[:, i] * slope[:, j]
            factor = 0.7**2 * v**2 * float(state.nu(2))
            mean, spread = sample.mean() * factor, sample.std() * factor / 400_000**0.5
            assert abs(float(values["dQ2"][1, i + 1, j + 1]) - mean) < 4.5 * spread


def test_the_fixed_point_of_an_unequal_teacher_is_one_of_the_flow() -> None:
    """All orders of the engine's flow vanish there."""
    state = network(3, 3, (Fraction(3, 2), Fraction(1, 2)), 6, seed=5)
    with numbers(25, "mpmath") as context:
        given = moments_of(state, context)
        lengths = unequal_plateau(given.T[1], context)
        units = range(3)
        R = [[sum(t * c for t, c in zip(row, lengths, strict=True)) for row in T] for T in given.T]
        Q = [sum(c * r for c, r in zip(lengths, row, strict=True)) for row in R]
        weights = [1 / context.sqrt(context.mpf(3))] * 3
        plateau = Moments(
            [[[q] * 3 for _ in units] for q in Q],
            [[row] * 3 for row in R],
            given.T,
            given.nu,
            given.closure,
            weights,
            weights,
        )
        found = motion(plateau, context.one, context, full_order=False)
        rates = [x for block in (found.dQ, found.dR) for rows in block for row in rows for x in row]
        assert max(abs(rate) for rate in rates) < 1e-20
        assert max(lengths) > 1.1 * min(lengths)


@pytest.mark.parametrize("l", [1, 3])
def test_variance_of_teacher_overlaps_against_drawn_teachers(l: int) -> None:
    with numbers(20, "mpmath") as context:
        point = next(iter(teachers(((3, 4), (5, 1)))(context)))
        lambda_ = np.array(
            [float(point.values["lambda_"][k,]) for k in range(1, point.values["N"] + 1)]
        )
        random = np.random.default_rng(l)
        B = random.standard_normal((200_000, 2, lambda_.size))
        for other in (0, 1):
            T = (B[:, 0] * B[:, other] * lambda_**l).mean(axis=1)
            sample = (T - T.mean()) ** 2
            spread = sample.std() / 200_000**0.5
            expected = float(point.values["var_T"][l, 1, 1 + other])
            assert abs(sample.mean() - expected) < 4.5 * spread
