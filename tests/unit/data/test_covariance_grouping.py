"""The rules by which the eigenvalues of a measured covariance become few."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symderiv.foundation.errors import InputError
from symderiv.inputs.covariance_spectrum import effect_of_grouping, group_close, group_evenly

spectra = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-6, 1e3), st.sampled_from([1.0, 1.0 + 1e-12, 2.0])),
    min_size=1,
    max_size=40,
).map(lambda values: np.array(sorted([*values, 5.0], reverse=True)))


def test_neighbours_within_the_tolerance_of_a_groups_largest_are_one():
    values = np.array([10.0, 9.5, 9.1, 8.9, 2.0, 1.0, 0.95, 0.0, 0.0])
    grouping = group_close(values, 0.1)
    # 8.9 is close to 9.1, but not to the 10 that the group began with: no chains
    assert grouping.multiplicity.tolist() == [3, 1, 1, 2, 2]
    np.testing.assert_allclose(grouping.eigenvalue, [28.6 / 3, 8.9, 2.0, 0.975, 0.0])


def test_by_default_only_what_rounding_cannot_tell_apart_is_one():
    values = np.array([1.0, 1.0 - 1e-12, 1.0 - 1e-6, 3e-16 * 3 + 1e-9, 1e-9])
    assert group_close(values).multiplicity.tolist() == [2, 1, 2]


def test_with_tolerance_zero_only_equal_numbers_are_one():
    values = np.array([1.0, 1.0, 1.0 - 1e-15, 0.0, 0.0])
    grouping = group_close(values, 0.0)
    assert grouping.eigenvalue.tolist() == [1.0, 1.0 - 1e-15, 0.0]
    assert grouping.multiplicity.tolist() == [2, 1, 2]


@pytest.mark.parametrize("tolerance", [-0.1, 1.0, float("nan")])
def test_impossible_tolerances_are_refused(tolerance):
    with pytest.raises(InputError, match=r"^grouping_tolerance: "):
        group_close(np.ones(3), tolerance)


@given(spectra, st.sampled_from([0.0, 1e-9, 1e-3, 0.3]))
def test_grouping_by_distance_keeps_trace_and_zeros_and_changes_little(values, tolerance):
    grouping = group_close(values, tolerance)
    used = np.repeat(grouping.eigenvalue, grouping.multiplicity)
    assert used.size == values.size
    assert np.all(np.diff(grouping.eigenvalue) < 0)
    assert used.sum() == pytest.approx(values.sum(), rel=1e-13)
    np.testing.assert_array_equal(used == 0, values == 0)
    rounding = values.size * 2.3e-16 * values[0]
    assert np.all(np.abs(used - values) <= tolerance / (1 - tolerance) * values * 1.001 + rounding)


@pytest.mark.parametrize(
    ("N", "L", "sizes"),
    [(6, 3, [2, 2, 2]), (7, 3, [3, 2, 2]), (8, 3, [3, 3, 2]), (5, 5, [1] * 5), (5, 1, [5])],
)
def test_a_number_of_groups_gives_neighbours_in_equal_shares(N, L, sizes):
    values = np.arange(N, 0.0, -1.0)
    grouping = group_evenly(values, L)
    assert grouping.multiplicity.tolist() == sizes
    means = [piece.mean() for piece in np.split(values, np.cumsum(sizes)[:-1])]
    np.testing.assert_array_equal(grouping.eigenvalue, means)


@given(spectra, st.data())
def test_a_number_of_groups_keeps_the_trace(values, data):
    L = data.draw(st.integers(1, values.size))
    grouping = group_evenly(values, L)
    assert grouping.eigenvalue.size == L
    assert np.ptp(grouping.multiplicity) <= 1
    trace = grouping.multiplicity @ grouping.eigenvalue
    assert trace == pytest.approx(values.sum(), rel=1e-13)
    if values.size == L:
        np.testing.assert_array_equal(grouping.eigenvalue, values)


@pytest.mark.parametrize("L", [0, -1, 5])
def test_impossible_numbers_of_groups_are_refused(L):
    with pytest.raises(InputError, match=rf"^distinct_eigenvalues: {L} is not between 1 and the 4"):
        group_evenly(np.ones(4), L)


def test_the_effect_names_the_largest_relative_change_and_the_variance_moved():
    values = np.array([4.0, 2.0, 1.0, 0.0])
    effect = effect_of_grouping(values, group_evenly(values, 2))
    assert "its 4 eigenvalues are replaced by the means of 2 groups" in effect
    # 4, 2 -> 3, 3 and 1, 0 -> 0.5, 0.5: half of 1 + 1 + 0.5 + 0.5, of 7
    assert "the largest relative change is 0.5 (eigenvalue 2, 2 to 3)" in effect
    assert "1 zero eigenvalue became up to 0.5" in effect
    assert "21.43% of the input variance" in effect


def test_changes_by_rounding_are_not_worth_a_word():
    values = np.array([4.0, 4.0 - 1e-14, 1e-15, 1e-15, 0.0])
    assert effect_of_grouping(values, group_close(values)) == ""
