"""Normal numbers that steps draw are those of NumPy's generator, to the last bit."""

import numpy as np
import pytest

from symderiv.experiment.steps import step_normals
from symderiv.experiment.steps.step_normals import draw_normals


@pytest.mark.parametrize("size", [3, 1024, 400_001])
@pytest.mark.parametrize("seed", [0, 5])
def test_numbers_and_what_follows_are_those_of_numpy(size: int, seed: int) -> None:
    one, two = (np.random.Generator(np.random.SFC64(seed)) for _ in range(2))
    one.integers(5, dtype=np.uint32)  # half a word is left over
    two.integers(5, dtype=np.uint32)
    for _ in range(3):
        found = np.empty((1, size))
        draw_normals(one, found)
        np.testing.assert_array_equal(found[0], two.standard_normal(size))
    assert one.integers(1 << 30, dtype=np.uint32) == two.integers(1 << 30, dtype=np.uint32)
    assert one.random() == two.random()


def test_they_are_drawn_by_the_loop_and_not_by_numpy() -> None:
    assert step_normals._tables() is not None


def test_other_generators_and_other_arrays_are_left_to_numpy() -> None:
    one, two = (np.random.Generator(np.random.PCG64(2)) for _ in range(2))
    found = np.empty(5000)
    draw_normals(one, found)
    np.testing.assert_array_equal(found, two.standard_normal(5000))
    apart = np.empty((3000, 2))[:, 0]
    with pytest.raises(ValueError, match="contiguous"):
        draw_normals(np.random.Generator(np.random.SFC64(2)), apart)
