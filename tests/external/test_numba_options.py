"""Numba: options that a function does not give are those of whatever compiles it first."""

import pytest
from numba import njit
from numba.core.dispatcher import Dispatcher


def _lowest_part(a, b):
    """The rounding error of a + b: what is left of it if sums may be made in any order is luck."""
    total = a + b
    return b - (total - a)


def _operations(function) -> list[str]:
    (signature,) = function.signatures
    lines = function.inspect_llvm(signature).splitlines()
    return [line for line in lines if " fadd " in line or " fsub " in line]


def _called_first_by_a_function_with_rules(**options):
    inner = njit(**options)(_lowest_part)

    @njit("float64(float64, float64)", fastmath={"reassoc", "contract"})
    def outer(a, b):
        return inner(a, b)

    assert outer(1.0, 1e-17) == 1e-17
    return _operations(inner)


def test_the_rules_of_the_caller_are_taken_over_by_functions_without_their_own():
    assert any("reassoc" in line for line in _called_first_by_a_function_with_rules())


def test_rules_that_are_given_are_kept():
    operations = _called_first_by_a_function_with_rules(fastmath=False)
    assert operations
    assert not any("reassoc" in line or "contract" in line for line in operations)


@pytest.mark.parametrize("name", ["erf", "relu", "gelu", "fast.relu", "fast.gelu"])
def test_every_function_of_a_solver_module_says_its_rules(name):
    module = pytest.importorskip(f"symderiv_kernels.{name}")
    functions = [value for value in vars(module).values() if isinstance(value, Dispatcher)]
    assert len(functions) > 10
    assert not [f.__name__ for f in functions if "fastmath" not in f.targetoptions]


def test_the_stepper_says_its_rules():
    from symderiv.integrate.steppers import stepper

    functions = [value for value in vars(stepper).values() if isinstance(value, Dispatcher)]
    assert len(functions) > 3
    assert all("fastmath" in function.targetoptions for function in functions)
