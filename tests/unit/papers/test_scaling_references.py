"""References of scaling claims, each by a second route."""

from fractions import Fraction

import numpy as np
import pytest
from symderiv_papers.references.companion import Companion
from symderiv_papers.references.linear_vectors import END, VectorFlow, random_covariance, sgd_error
from symderiv_papers.references.power_law import PowerLawSum, largest, periodized_bernoulli

from symderiv.analysis.linear.error_curve import (
    coordinate_directions,
    eigendirections,
    finite_dimension,
    generalization_error,
    small_learning_rate,
)
from symderiv.precision.balls.contexts import numbers

BETA = Fraction(1, 2)


def test_terms_of_a_power_law_sum_to_the_error_in_doubles() -> None:
    with numbers(30, "mpmath") as context:
        law = PowerLawSum(context, BETA, 40, "3.7")
        names = law.names
        eta, alpha = float(names["eta"]), float(names["alpha"])
        eigenvalue = float(largest(context, BETA, 40)) * np.arange(1, 41) ** -1.5
        directions = eigendirections(eigenvalue, np.full(40, 1 / 40))
        deviation = 1 + float(names["sigma_J"]) ** 2
        expected = small_learning_rate(directions, eta, alpha, deviation)
        assert float(context.fsum(law.terms())) == pytest.approx(float(expected), rel=1e-13)
        assert float(law.point().values["epsilon_g"]) == pytest.approx(float(expected), rel=1e-13)


def test_derivatives_and_integrals_of_the_summand() -> None:
    with numbers(30, "mpmath") as context:
        law = PowerLawSum(context, BETA, 8, "3.5")
        x = context.mpf("2.3")
        for order in range(5):
            expected = context.diff(lambda y: law.derivative(0, y), x, order)
            assert abs(law.derivative(order, x) / expected - 1) < 1e-20
        integral = context.quad(lambda y: law.derivative(0, y), [1, 2, 4, 8])
        assert abs(law.scale * law.integral(1, 8) / integral - 1) < 1e-20
        periodic = periodized_bernoulli(context)
        assert periodic(1, context.mpf("2.25")) == context.mpf("-0.25")


@pytest.mark.turns(6)
@pytest.mark.parametrize("epsilon", [Fraction(7, 10), Fraction(3, 2)])
def test_companion_matrices_by_the_engine_in_doubles(epsilon: Fraction) -> None:
    spectrum = (Fraction(2), Fraction(6, 5), Fraction(3, 5), Fraction(1, 5))
    with numbers(30, "mpmath") as context:
        case = Companion(context, spectrum, Fraction(2), epsilon)
        eta, alpha = float(epsilon), float(case.time)
        directions = eigendirections(np.array([2.0, 1.2, 0.6, 0.2]), np.full(4, 0.25))
        curve = generalization_error(directions, eta, 1 + float(case.student_std) ** 2)
        expected = float(curve(np.array([alpha]))[0])
        assert float(case.error) == pytest.approx(expected, rel=1e-12)
        rates = np.sort(np.linalg.eigvals(np.array(case.matrix.tolist(), dtype=float)).real)
        assert [float(x) for x in case.modes[0]] == pytest.approx(list(rates), rel=1e-10)
        product = case.matrix * case.vectors
        for k, value in enumerate(case.modes[0]):
            for i in range(case.L):
                assert abs(product[i, k] - value * case.vectors[i, k]) < 1e-40
        # the weights are those of T^(0) ... T^(L-1)
        for i in range(case.L):
            total = sum(case.vectors[i, k] * case.weights[k] for k in range(case.L))
            assert abs(total - case.T[i]) < 1e-40


def test_the_end_of_partial_training_by_the_engine_in_doubles() -> None:
    with numbers(30, "mpmath") as context:
        matrix = random_covariance(context, 6, 3, 2)
        eigenvalues = np.linalg.eigvalsh(np.array(matrix.tolist(), dtype=float))
        assert sum(eigenvalues) == pytest.approx(6)
        assert eigenvalues[::2] == pytest.approx(eigenvalues[1::2])
        flow = VectorFlow(context, matrix, (True, True, False, False, False, False), END, 3)
        directions = coordinate_directions(np.array(matrix.tolist(), dtype=float), 2)
        deviation = 1 + float(flow.student_std) ** 2
        expected = directions.frozen * deviation / 2
        assert float(flow.means[2]) == pytest.approx(expected, rel=1e-12)


def test_mean_overlaps_are_those_of_random_weights() -> None:
    with numbers(20, "mpmath") as context:
        matrix = random_covariance(context, 4, 9)
        flow = VectorFlow(context, matrix, (True, True, True, False), Fraction(1, 2), 4)
        G, Sigma = (np.array(m.tolist(), dtype=float) for m in (flow.propagator, matrix))
        source = np.random.default_rng(4)
        J = float(flow.student_std) * source.standard_normal((20_000, 4))
        B = source.standard_normal((20_000, 4))
        J = B + (J - B) @ G.T
        R = np.einsum("sa,ab,sb->s", J, Sigma, B) / 4
        Q = np.einsum("sa,ab,sb->s", J, Sigma, J) / 4
        for samples, mean in ((R, flow.means[0]), (Q, flow.means[1])):
            error = np.std(samples) / np.sqrt(len(samples))
            assert abs(np.mean(samples) - float(mean)) < 4 * error


def test_exact_moments_of_sgd_by_the_engine_in_doubles() -> None:
    eigenvalue, count = np.array([1.8, 0.8, 0.4]), np.array([2.0, 2.0, 2.0])
    curve = finite_dimension(eigenvalue, count, 0.6, 1.3, trainable=2)
    with numbers(20, "mpmath") as context:
        matrix = context.diag([context.mpf(x) for x in np.repeat(eigenvalue, 2)])
        trained = (True,) * 4 + (False,) * 2
        for steps in (1, 7, 100):
            expected = float(curve.after(np.array([steps]))[0])
            assert sgd_error(matrix, trained, 0.6, 1.3, steps) == pytest.approx(expected, rel=1e-12)
