"""References for claims on linear networks: trajectories and blocks by other routes."""

from dataclasses import replace
from fractions import Fraction

import pytest
from flint import arb
from symderiv_papers.references.linear_network import (
    LinearNetwork,
    eigenvalues_of,
    eigenvectors_of,
    exponential,
)
from symderiv_papers.worschech_rosenow.linear_points import ANY, DRAWN

from symderiv.analysis.linear.exact_spectrum import (
    ExactLinear,
    exact_power_law,
    secular_rates,
    sum_of_exponentials,
)
from symderiv.precision.balls.contexts import numbers

LAW = DRAWN[-1]


@pytest.mark.turns(6)
def test_trajectories_agree_with_the_secular_equation() -> None:
    with numbers(40, "arb") as balls:
        L, exponent = LAW.spectrum
        problem = ExactLinear(exact_power_law(int(L), exponent), int(L), LAW.rate, 1 + LAW.variance)
        rates, weights = secular_rates(problem)
        amplitude, limit = problem.amplitude_and_limit()
        expected = limit + amplitude * sum_of_exponentials(rates, weights, LAW.time)
        expected = balls.as_mpf(expected)
    with numbers(40, "mpmath") as n:
        network = LinearNetwork(LAW, n)
        found = network.error(*network.at())
        assert abs(found - n.mpf(expected)) < n.mpf(10) ** -36
        assert abs(network.certified_rates()[0] - balls.as_mpf(rates[0])) < n.mpf(10) ** -36


@pytest.mark.parametrize("case", [ANY[1], DRAWN[1]])
def test_the_moment_form_flows_like_the_eigenspaces(case: object) -> None:
    with numbers(40, "mpmath") as n:
        network = LinearNetwork(case, n)  # type: ignore[arg-type]
        state = network.at()
        spectral = [network.moments(x)[: network.L] for x in network.flow(*state)]
        moments = network.moment_flow(*(network.moments(x)[: network.L] for x in state))
        for one, other in zip(spectral, moments, strict=True):
            assert max(abs(x - y) for x, y in zip(one, other, strict=True)) < n.mpf(10) ** -36


def test_a_trajectory_solves_the_flow() -> None:
    with numbers(40, "mpmath") as n:
        case = ANY[0]
        step = n.mpf(10) ** -12
        network = LinearNetwork(case, n)
        ahead, behind = (network.at(time=network.alpha + s * step) for s in (1, -1))
        slopes = network.flow(*network.at())
        for which in (0, 1):
            for a, b, slope in zip(ahead[which], behind[which], slopes[which], strict=True):
                assert abs((a - b) / (2 * step) - slope) < 1e-20
        start = replace(case, time=Fraction(0))
        assert LinearNetwork(start, n).at()[0] == network.student


def test_eigenvectors_of_nearly_degenerate_matrices() -> None:
    with numbers(60, "mpmath") as n:
        matrix = LinearNetwork(DRAWN[2], n).blocks.RR
        values, vectors = eigenvalues_of(matrix, n), eigenvectors_of(matrix, n)
        assert values == sorted(values)
        assert len({n.nstr(value, 6) for value in values}) == 4
        for k, value in enumerate(values):
            rest = matrix * vectors[:, k] - value * vectors[:, k]
            assert n.norm(rest) < n.mpf(10) ** -45


def test_exponentials_are_those_of_mpmath() -> None:
    with numbers(40, "mpmath") as n:
        matrix = LinearNetwork(ANY[2], n).blocks.QQ
        difference = exponential(matrix, n) - n.expm(matrix, method="pade")
        assert n.mnorm(difference, 1) < n.mpf(10) ** -34 * n.mnorm(matrix, 1)
        assert float(arb(exponential(n.matrix([[0]]), n)[0, 0])) == 1.0
