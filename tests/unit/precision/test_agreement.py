"""Results that two computations agree on."""

from typing import Any

import flint
import pytest

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.moments.agreement import computed_twice
from symderiv.precision.moments.digits import DOUBLE_DIGITS


def cancelling() -> list[Any]:
    """(1 + 10^-40) - 1 in units of 10^-40: needs 40 digits more."""
    small = flint.arb(10) ** -40
    return [((1 + small) - 1) / small]


def test_digits_are_added_until_enough_agree() -> None:
    found = computed_twice(cancelling, 15, 20)
    assert found.digits_used > 55
    assert found.agreement >= 20
    assert abs(float(found.values[0]) - 1.0) < 1e-15


def test_too_few_fixed_digits_are_an_error() -> None:
    with pytest.raises(ToleranceError, match="0 of 20 digits agree"):
        computed_twice(cancelling, 15, 20, fixed=True)


def test_a_computation_may_say_itself_that_it_needs_more() -> None:
    def compute() -> list[Any]:
        if flint.ctx.prec < 100:
            raise ToleranceError("not isolated")
        return [flint.arb(2).sqrt()]

    assert computed_twice(compute, 15, 15).digits_used > DOUBLE_DIGITS
    with pytest.raises(ToleranceError, match="not isolated"):
        computed_twice(compute, 15, 15, fixed=True)


def test_values_that_are_not_numbers_never_agree() -> None:
    with pytest.raises(ToleranceError):
        computed_twice(lambda: [flint.arb("nan")], 15, 1)
