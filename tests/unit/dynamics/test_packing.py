"""Vectors are read and written by the names of a layout, as the modules read them themselves."""

import numpy as np
import pytest
import symderiv_kernels.erf as module

from symderiv.foundation.packing import Packing, families_of

SIZES = {"K": 2, "M": 3, "L": 4}


@pytest.mark.parametrize("vector", ["state", "parameters"])
def test_a_module_finds_its_arrays_where_they_are_packed(vector: str) -> None:
    packing = Packing.of(module.LAYOUT, vector, **SIZES)
    random = np.random.default_rng(3)
    fields = {name: random.normal(size=shape) for name, shape in packing.shapes.items()}
    flat = packing.packed(**fields)
    assert flat.size == packing.size
    sizes = [SIZES[name] for name in module.LAYOUT["sizes"]]
    found = module._unpacked(flat, vector, sizes)
    views = packing.views(np.stack([0 * flat, flat]))
    assert list(found) == list(views)
    for name, expected in fields.items():
        np.testing.assert_array_equal(found[name], expected)
        np.testing.assert_array_equal(views[name][1], expected)
        np.testing.assert_array_equal(flat[packing.slices[name]], expected.ravel())


def test_what_does_not_fit_is_refused() -> None:
    packing = Packing({"a": (2, 3), "b": ()})
    with pytest.raises(ValueError, match=r"fields are \['a'\], not \['a', 'b'\]"):
        packing.packed(a=np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"a has shape \(3, 2\), not \(2, 3\)"):
        packing.packed(a=np.zeros((3, 2)), b=1.0)
    with pytest.raises(ValueError, match="has length 8, not 7"):
        packing.views(np.zeros(8))
    packing.views(flat := np.zeros(7))["b"][...] = 2.0
    assert flat[-1] == 2.0


@pytest.mark.parametrize(
    ("name", "families"),
    [
        *(("student_overlap", ("J", "J")), ("momentum_cross", ("U", "B"))),
        *(("overlap_A_B", ("A", "B")), ("covariance_J_A", ("J", "A")), ("T", ("B", "B"))),
        *(("drift_J", ()), ("v", ())),
    ],
)
def test_names_of_arrays_say_families_of_vectors(name: str, families: tuple[str, ...]) -> None:
    assert families_of(name) == families
