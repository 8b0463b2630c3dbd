"""Programs for several runs at a time: conditions that differ, and numbers in lanes."""

import math

import numpy as np
import pytest
import sympy as sp
from numba import njit
from symderiv_codegen import Array, ProgramError, print_lanes
from symderiv_codegen.ir.checks import RESERVED
from symderiv_codegen.ir.loops import Conditional, Loop, Set
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.passes.masks import masked
from symderiv_codegen.printers.lanes import LaneModule
from symderiv_kernels.lanes.runtime import (
    WIDTH,
    chosen,
    lanes_at,
    put_lanes,
    stack_array,
    to_inverse_roots,
    view,
)
from unit.codegen.test_long_loops import program

x, y = sp.symbols("x y", real=True)
i, j = sp.symbols("i j", integer=True)
A = Array("A", ("K", "K"))
ELEMENT = sp.IndexedBase("A")[i, j]


def test_a_choice_between_two_computations_has_no_form() -> None:
    node = Conditional(((sp.Ne(x, 0), (Set(ELEMENT, y),)), (sp.true, (Set(ELEMENT, -y),))))
    with pytest.raises(ProgramError, match="several runs"):
        masked((Loop(i, sp.Integer(0), j, (node,)),))


def test_the_text_takes_what_any_run_needs_and_is_never_kept_in_parts() -> None:
    text = print_lanes(program())
    assert text.count("if any_lane(decay != 0.0):") == 2
    assert text.count("view(derivative, start, (K, ") == 2
    assert "if 8 * start != state.size:" in text
    assert text.count("cache=True") == 1  # the whole right-hand side


def test_no_local_name_hides_a_function_of_the_runtime() -> None:
    # to_arcsines is printed from a name of the program that is reserved with an underscore
    assert {*LaneModule.from_runtime} - RESERVED == {"to_arcsines"}
    assert NamePool(program().module_names).take("inverse_root") == "inverse_root_2"


def _functions(given, found):  # type: ignore[no-untyped-def]
    rows, one = view(given, 0, (given.size // WIDTH,)), stack_array(1, (1,))
    for k in range(rows.shape[0]):
        value = lanes_at(given, k)
        one[0] = value
        to_inverse_roots(one, 1)
        put_lanes(found[0], k, math.asin(value))
        put_lanes(found[1], k, one[0])
        total = 0.0
        for power in range(3):
            total += rows[k] * power - 1 / (2.0 + abs(value))
        put_lanes(found[2], k, chosen(value > 0.25, total, min(value, -0.5)))
        put_lanes(found[3], k, math.exp(-value) + value**3)


def test_functions_of_lane_values_are_those_of_numbers() -> None:
    drawn = np.random.default_rng(5)
    near_one = 1.0 - 10.0 ** drawn.uniform(-16, 0, 400)
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, np.nextafter(1.0, 2.0), -3.0, np.nan]
    given = np.concatenate([drawn.uniform(-1, 1, 400), near_one, -near_one, edges])
    found = np.empty((4, given.size))
    njit("void(float64[::1], float64[:, ::1])", error_model="numpy")(_functions)(given, found)
    with np.errstate(all="ignore"):
        arcsine, root = np.arcsin(given), 1.0 / np.sqrt(given)
    with np.errstate(invalid="ignore"):
        assert np.nanmax(np.abs(found[0] - arcsine) / np.spacing(np.abs(arcsine))) <= 2.0
        finite = np.isfinite(root)
        assert np.max(np.abs(found[1] / root - 1.0)[finite]) < 1e-15
    np.testing.assert_array_equal(np.isnan(found[0]), np.isnan(arcsine))
    np.testing.assert_array_equal(found[1][~finite], root[~finite])
    total = 3.0 * given - 3.0 / (2.0 + np.abs(given))
    expected = np.where(given > 0.25, total, np.fmin(given, -0.5))[:-1]
    np.testing.assert_allclose(found[2][:-1], expected, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(found[3], np.exp(-given) + given**3, rtol=1e-14)
