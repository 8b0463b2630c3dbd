"""A module's means by quadrature are those of which the error was searched for."""

import pytest

from symderiv.checking.checked_module import GeneratedError, _same_rules
from symderiv.lowering.means.compiled_means import CompiledMeans, _meaning
from symderiv.lowering.means.uncompiled import uncompiled

COMPILED = """
import math
def _step(h):
    return h * h
def student_activation_derivative(x):
    tanh_value = math.tanh(0.5 * x)
    return 0.5 + tanh_value * (0.5 + x * (0.25 - 0.25 * tanh_value))
"""
OTHERWISE = COMPILED.partition("def student")[0] + (
    "def student_activation_derivative(x):\n"
    "    return 0.5 + math.tanh(x / 2) / 2 + x * math.tanh(x / 2) * (1 - math.tanh(x / 2)) / 4{}\n"
)


def _judge(text: str, *, readable: bool) -> None:
    compiled = CompiledMeans({}, lambda kind, x: 0.0, None, dict(_meaning(COMPILED)))
    fast = uncompiled(COMPILED) if readable else None
    _same_rules(text, uncompiled(text), compiled, fast)


def test_a_readable_module_may_write_a_function_in_its_own_way():
    _judge(COMPILED, readable=False)
    _judge(OTHERWISE.format(""), readable=True)


@pytest.mark.parametrize(
    ("text", "readable", "name"),
    [
        (OTHERWISE.format(""), False, "student_activation_derivative"),
        (OTHERWISE.format(" + 1e-9 * x"), True, "student_activation_derivative"),
        (COMPILED.replace("h * h", "h**2"), True, "_step"),
    ],
)
def test_other_values_and_other_rules_are_refused(text: str, readable: bool, name: str):
    with pytest.raises(GeneratedError, match=name):
        _judge(text, readable=readable)
