"""Local exponents of power-law sums against differences of their logarithms."""

from fractions import Fraction

import pytest
from symderiv_papers.references.power_law import PowerLawSum, exponent_in_time, window_length

from symderiv.precision.balls.contexts import numbers


def test_exponents_are_logarithmic_slopes() -> None:
    with numbers(40, "mpmath") as n:
        law = PowerLawSum(n, Fraction(3, 4), 30, "7")
        step = n.mpf(10) ** -15
        errors = [
            n.fsum(PowerLawSum(n, law.beta, law.L, str(7 * n.exp(s * step))).terms())
            for s in (1, -1)
        ]
        slope = -(n.log(errors[0]) - n.log(errors[1])) / (2 * step)
        assert abs(exponent_in_time(law)() - slope) < 1e-20


@pytest.mark.turns(3)
def test_windows_are_where_exponents_are_near() -> None:
    """At β = 1, L = 256 a window of about z = 2.5 ... 2200, by another search."""
    with numbers(16, "mpmath") as n:
        powers = [i / 20 for i in range(-20, 120)]
        slopes = [
            float(exponent_in_time(PowerLawSum(n, Fraction(1), 256, f"{10**p:.8g}"))())
            for p in powers
        ]
    near = [abs(slope / 0.5 - 1) < 0.2 for slope in slopes]
    longest = max(len(run) for run in "".join("x" if x else " " for x in near).split())
    expected = longest / 20 * 2.302585
    assert window_length(1.0, 256) == pytest.approx(expected, abs=0.25)
    assert expected > 4
