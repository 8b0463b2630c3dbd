"""A few problems of ``make random-systems``, other ones every day, and what it found."""

import pytest
from support.rotating import DAY

from random_systems.__main__ import proved, tried
from random_systems.integrated import integrated


@pytest.mark.parametrize("seed", [1000 + 3 * DAY + n for n in range(2)])
def test_rates_are_those_of_drawn_examples(seed: int) -> None:
    assert not tried(seed).startswith("wrong"), seed


@pytest.mark.days(2)
@pytest.mark.parametrize("seed", [5, 33])
def test_a_wave_and_a_sign_with_means_are_integrated_over(seed: int) -> None:
    """Once an error function of a complex number, which no module could be printed with."""
    assert tried(seed).partition(":")[0] == "agrees"


def test_a_loss_of_a_sign_times_a_field_is_parted_at_the_sign() -> None:
    assert tried(10) == "agrees"


@pytest.mark.days(2)
@pytest.mark.parametrize("seed", [81, 277, 373])
def test_a_logistic_loss_of_units_with_kinks_is_integrated_over(seed: int) -> None:
    """ReLU beside clusters, ReLU, leaky ReLU; scalars are in front of them."""
    assert tried(seed) == "agrees"


def test_rates_that_are_off_by_a_hundredth_are_noticed() -> None:
    assert tried(4, 1.01).startswith("wrong")


@pytest.mark.parametrize("seed", [13, 25])
def test_rates_of_smooth_units_are_those_of_one_quadrature(seed: int) -> None:
    """By quadrature and in closed form; rates that are off by a thousandth are noticed."""
    assert integrated(seed).startswith("agrees")
    assert integrated(seed, 1.001).startswith("wrong")


@pytest.mark.parametrize("seed", [26, 68, 69, 70])
def test_compiled_runs_are_near_their_proved_enclosures(seed: int) -> None:
    assert proved(seed).startswith("proved"), proved(seed)
