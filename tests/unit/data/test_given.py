"""Arrays given in place of a file: what they are, how they are told apart, how they are kept."""

import numpy as np
import pytest

from symderiv.foundation.errors import InputError
from symderiv.inputs.array_files import read_matrix
from symderiv.inputs.given import Given

C = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.25]])


def test_one_array_is_kept_as_npy_and_several_as_npz(tmp_path):
    one, several = Given(C), Given({"omega": C, "phi": 2.0 * C[:, :2]})
    assert (one.ending, several.ending) == (".npy", ".npz")
    assert (one.numbers, several.numbers) == (6, 10)
    assert (one.name, several.name) == ("the array given", "the arrays given")
    one.save(tmp_path / "one.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "one.npy"), C)
    several.save(tmp_path / "several.npz")
    with np.load(tmp_path / "several.npz") as file:
        assert sorted(file) == ["omega", "phi"]
        np.testing.assert_array_equal(file["phi"], 2.0 * C[:, :2])
    assert one.value() == C.tolist()
    assert several.value() == {"omega": C.tolist(), "phi": (2.0 * C[:, :2]).tolist()}


def test_arrays_are_equal_when_all_numbers_shapes_and_names_are():
    assert Given(C) == Given(C.tolist()) == Given(np.asfortranarray(C))
    assert hash(Given(C)) == hash(Given(C.copy()))
    others = [C + 1e-16, C.T, C.reshape(3, 2), C[:, :2], {"omega": C}, {"phi": C}]
    found = [Given(other) for other in others]
    assert found[0] != Given(C)
    assert len({g.sha256 for g in [Given(C), *found]}) == 7
    assert Given(C) != C.tolist()


def test_arrays_do_not_change_any_more():
    mine = C.copy()
    given = Given(mine)
    mine[0, 0] = 7.0
    assert given.arrays[""][0, 0] == 2.0
    with pytest.raises(ValueError, match="read-only"):
        given.arrays[""][0, 0] = 1.0


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([[1.0], [1.0, 2.0]], "different lengths"),
        ([[1j]], "holds complex128"),
        ([["a"]], "not real numbers"),
        ([1.0, 2.0], r"has shape \(2,\)"),
        (3.0, r"has shape \(\)"),
        ([[]], r"has shape \(1, 0\)"),
        (np.zeros((2, 2, 2)), r"has shape \(2, 2, 2\)"),
    ],
)
def test_what_is_no_matrix_is_refused(values, words):
    with pytest.raises(InputError, match=words):
        Given(values)
    with pytest.raises(InputError, match=words):
        Given({"omega": C, "phi": values})


def test_matrices_are_taken_from_arrays_as_from_the_files_they_are_kept_in(tmp_path):
    one, several = Given(C), Given({"omega": C, "phi": 2.0 * C})
    one.save(tmp_path / "one.npy")
    several.save(tmp_path / "several.npz")
    for place in (one, tmp_path / "one.npy"):
        name, found = read_matrix(place, ("covariance", "omega"))
        assert name is None
        np.testing.assert_array_equal(found, C)
    for place in (several, tmp_path / "several.npz"):
        name, found = read_matrix(place, ("covariance", "omega"))
        assert name == "omega"
        np.testing.assert_array_equal(found, C)
        _, found = read_matrix(place, ("omega",), "phi")
        np.testing.assert_array_equal(found, 2.0 * C)
        with pytest.raises(InputError, match="called so"):
            read_matrix(place, ("covariance",), name="called so")
