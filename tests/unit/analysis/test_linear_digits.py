"""Many digits: three methods against one another, against mpmath and against the printed module."""

from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest

from symderiv.analysis.linear import many_digits
from symderiv.analysis.linear.companion import moment_error
from symderiv.analysis.linear.error_curve import eigendirections, generalization_error
from symderiv.analysis.linear.exact_spectrum import (
    ExactLinear,
    exact_power_law,
    exact_spectrum,
)
from symderiv.analysis.linear.many_digits import linear_digits
from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.precision.balls.decimals import Outward

ALPHA = [Fraction(0), Fraction(1, 3), Fraction(20)]


def problem_of(
    L: int, exponent: str = "1", eta: str = "0.8", trainable: int | None = None
) -> ExactLinear:
    spectrum = exact_power_law(L, Fraction(exponent))
    return ExactLinear(spectrum, trainable or L, Fraction(eta), Fraction("1.25"))


@pytest.mark.parametrize("method", ["companion", "moments"])
@pytest.mark.parametrize(
    ("L", "exponent", "trainable"), [(1, "1", 1), (2, "1", 2), (16, "0.25", 16), (12, "1.5", 5)]
)
def test_moments_agree_with_the_secular_equation(
    method: str, L: int, exponent: str, trainable: int
) -> None:
    problem = problem_of(L, exponent, trainable=trainable)
    one = linear_digits(problem, ALPHA, "secular", 30)
    two = linear_digits(problem, ALPHA, method, 30)
    assert one.agreement >= 30
    assert two.agreement >= 30
    assert two.difference_from_secular is not None
    assert two.difference_from_secular < 1e-30
    for name in ("rates", "weights", "generalization_error", "small_learning_rate"):
        shown = Outward(30)
        texts = [[shown.text(x) for x in getattr(found, name)] for found in (one, two)]
        assert texts[0] == texts[1]
    directions = eigendirections(
        np.array([float(x) for x in problem.spectrum()[0]]),
        np.array([float(w) for w in problem.spectrum()[1]]),
        trainable,
    )
    curve = generalization_error(directions, 0.8, 1.25)
    found = [float(x) for x in one.generalization_error]
    assert found == pytest.approx(curve([float(a) for a in ALPHA]).tolist(), rel=1e-12)
    np.testing.assert_allclose([float(x) for x in one.weights], curve.weight, rtol=1e-12)
    assert float(one.final_error) == pytest.approx(curve.limit, rel=1e-13, abs=1e-300)


def test_moments_are_followed_over_times_that_no_double_holds() -> None:
    (found,) = moment_error(problem_of(3), [Fraction(1, 10**400)])
    assert abs(found - 1) < flint.arb("1e-10")


def test_as_many_eigenvalues_as_stated_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(many_digits.MOST_EIGENVALUES, "secular", 4)
    assert linear_digits(problem_of(4), ALPHA, "secular", 12).agreement >= 12
    with pytest.raises(InputError, match="5 eigenvalues are more than the 4"):
        linear_digits(problem_of(5), ALPHA, "secular", 12)


def test_unequal_weights_and_nearly_equal_eigenvalues() -> None:
    spectrum = exact_spectrum([2.5, 1.1, 1.0999, 0.3], [0.125, 0.375, 0.25, 0.25])
    problem = ExactLinear(spectrum, 4, Fraction(1), Fraction(1))
    for method in ("companion", "moments"):
        found = linear_digits(problem, ALPHA, method, 25)
        assert found.difference_from_secular is not None
        assert found.difference_from_secular < 1e-25


def test_double_precision_is_refused_from_about_ten_eigenvalues_on() -> None:
    early = [Fraction(0), Fraction(3)]
    few = linear_digits(problem_of(5), early, "moments", 8, working_digits=15)
    assert few.digits_used == 15
    assert few.difference_from_secular is not None
    assert few.difference_from_secular < 1e-8
    for method in ("moments", "companion"):
        with pytest.raises(ToleranceError, match=r"in double precision leave \d of the .* wanted"):
            linear_digits(problem_of(12), ALPHA, method, 8, working_digits=15)
        with pytest.raises(ToleranceError, match="overflow"):
            linear_digits(problem_of(185), ALPHA, method, 8, working_digits=16)
    with pytest.raises(ToleranceError, match=r"working_digits: 40 are too few .* takes about"):
        linear_digits(problem_of(30), ALPHA, "companion", 15, working_digits=40)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "newton"}, "method: 'newton'"),
        ({"method": "moments", "alpha": [Fraction(10**6)]}, "alpha: following the moments"),
    ],
)
def test_bad_requests_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        linear_digits(problem_of(4), **{"alpha": ALPHA, **arguments})
    with pytest.raises(InputError, match="2001 eigenvalues are more than the 2000"):
        linear_digits(problem_of(2001), ALPHA)
    same = exact_spectrum([1.0, 1.0], [0.5, 0.5])
    with pytest.raises(InputError, match="equal"):
        linear_digits(ExactLinear(same, 2, Fraction(1), Fraction(1)), ALPHA, "companion")
