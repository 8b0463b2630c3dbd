"""Certified coefficients of the Hermite model against mpmath, and what its features are."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from symderiv_models.one_step.hermite import hermite_model

from symderiv.foundation.errors import InputError

SQUARED = Fraction(17, 19)


@pytest.mark.parametrize(
    ("text", "function", "kinks"),
    [
        ("relu", lambda x: max(x, 0), [0]),
        ("tanh", mpmath.tanh, []),
        ("Max(-1/3, x**2 - 1)", lambda x: max(-mpmath.mpf(1) / 3, x * x - 1), [-1, 1]),
    ],
)
def test_coefficients_are_enclosed(text: str, function: object, kinks: list[int]) -> None:
    assert callable(function)
    model = hermite_model(text, SQUARED, 3)
    assert model.certified
    with mpmath.workdps(20):
        b = mpmath.sqrt(mpmath.mpf(17) / 19)
        places = [k * mpmath.sqrt(mpmath.mpf(2) / 3) / b if kinks != [0] else 0 for k in kinks]
        ends = [-10, *places, 10]

        def mean(weight: object) -> mpmath.mpf:
            assert callable(weight)
            return mpmath.quad(lambda z: weight(z) * mpmath.npdf(z), ends)

        exact = [
            mean(
                lambda z, j=j: (
                    function(b * z) * mpmath.hermite(j, z / mpmath.sqrt(2)) / mpmath.sqrt(2) ** j
                )
            )
            for j in range(4)
        ]
        second = mean(lambda z: function(b * z) ** 2)
        left = second - sum(h * h / math.factorial(j) for j, h in enumerate(exact))
        for value, number in zip(model.coefficients, exact, strict=True):
            assert abs(mpmath.mpf(value.value) - number) <= mpmath.mpf(value.error_bound) + 1e-17
            assert float(value.error_bound) < 1e-16
        assert abs(mpmath.mpf(model.remainder.value) - mpmath.sqrt(left)) < 1e-15


def test_a_polynomial_of_the_degree_has_no_remainder() -> None:
    model = hermite_model("x**3 - x/2", SQUARED, 3)
    assert model.remainder.value == "0"
    fields = np.linspace(-3, 3, 7)
    features = model.features(fields, np.random.default_rng(0))
    np.testing.assert_allclose(features, fields**3 - fields / 2, atol=1e-12)


def test_features_have_the_mean_and_variance_of_the_activation() -> None:
    random = np.random.default_rng(1)
    fields = math.sqrt(SQUARED) * random.standard_normal(200_000)
    found = hermite_model("relu", SQUARED, 2).features(fields, random)
    true = np.maximum(fields, 0.0)
    spread = found.std() / math.sqrt(found.size)
    assert abs(found.mean() - true.mean()) < 5 * spread
    assert found.var() == pytest.approx(true.var(), rel=0.03)


def test_a_mean_that_does_not_exist_is_refused_for_the_activation() -> None:
    with pytest.raises(InputError) as caught:
        hermite_model("exp(x**2)", Fraction(1), 1)
    assert caught.value.argument == "activation"
