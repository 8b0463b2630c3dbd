"""Tangent programs against central differences with sixty digits."""

from __future__ import annotations

import random

import mpmath
import numpy as np
import pytest
from symderiv_codegen import Program, ProgramError, print_fast, print_mpmath, tangent

from symderiv.foundation.packing import Packing
from symderiv.learning.rule.learning_rule import PLAIN, LearningRule
from symderiv.lowering.programs.exported import kept_program
from symderiv.storage.kernels import kept_module

SIZES = {"K": 2, "M": 3, "L": 2}
RULES = {
    "erf": ("erf(x/sqrt(2))", "erf(x/sqrt(2))", PLAIN),
    "relu": ("Max(0, x)", "Max(0, x)", PLAIN),
    "linear teaches erf": ("erf(x/sqrt(2))", "x", PLAIN),
    "biases": ("erf(x/sqrt(2))", "erf(x/sqrt(2))", LearningRule(biases=True)),
    "momentum": ("erf(x/sqrt(2))", "erf(x/sqrt(2))", LearningRule(momentum=True)),
}


def _point(program: Program, seed: int) -> tuple[dict, dict]:
    """Return numbers of a state in general position, and a direction that keeps symmetries."""
    K, M, L = SIZES["K"], SIZES["M"], SIZES["L"]
    draw = np.random.default_rng(seed)
    values, rates = {}, {}
    vectors = draw.normal(size=(L, K + M, 9))
    gram = np.einsum("lia,lja->ijl", vectors, vectors) / 9
    for vector in program.vectors:
        for field in vector.fields:
            shape = tuple(SIZES[size] for size in field.shape)
            value, rate = 0.3 + draw.random(shape), draw.normal(size=shape)
            if field.symmetric:
                value, rate = value + value.swapaxes(0, 1), rate + rate.swapaxes(0, 1)
            values[field.name], rates[field.name] = value, rate
    values["student_overlap"] = gram[:K, :K]
    values["cross_overlap"] = gram[:K, K:]
    values["teacher_overlap"] = gram[K:, K:]
    values["T"] = gram[K:, K:].sum(-1) + np.eye(M)
    values["weight"] = np.full(L, 1 / L)
    values["full_order"] = np.array(1.0)
    return values, rates


def _run(text: str, mp: mpmath.MPContext, procedure, values: dict) -> list:
    names: dict = {}
    exec(compile(text, "tangent", "exec"), names)
    given = [_numbers(mp, values[array.name]) for array in procedure.inputs]
    outputs = [
        _numbers(mp, np.zeros([SIZES[size] for size in array.shape])) for array in procedure.outputs
    ]
    names[procedure.name](mp, *given, *outputs)
    return [each for output in outputs for each in np.array(output, dtype=object).ravel()]


def _numbers(mp: mpmath.MPContext, value):
    if np.ndim(value):
        return [_numbers(mp, each) for each in value]
    return mp.mpf(value.item() if isinstance(value, np.ndarray | np.generic) else value)


@pytest.mark.days(5)
@pytest.mark.parametrize("which", RULES)
def test_the_derivative_along_a_direction_is_that_of_central_differences(which: str) -> None:
    student, teacher, rule = RULES[which]
    program = kept_program(student, teacher, rule)
    values, rates = _point(program, random.Random(which).randrange(10**6))
    derived = tangent(program)
    mp = mpmath.MPContext()
    mp.dps = 70
    own, both = program.procedure("right_hand_side"), derived.procedure("right_hand_side")
    moved = {f"{name}_tangent": rate for name, rate in rates.items()}
    found = _run(print_mpmath(derived), mp, both, {**values, **moved})
    step, text, beside = mp.mpf(10) ** -20, print_mpmath(program), []
    for sign in (1, -1):
        there = {
            name: np.vectorize(lambda v, r, s=sign: mp.mpf(v) + s * step * mp.mpf(r), otypes="O")(
                value, rates[name]
            )
            for name, value in values.items()
        }
        beside.append(_run(text, mp, own, there))
    expected = [(a - b) / (2 * step) for a, b in zip(*beside, strict=True)]
    scale = max(abs(each) for each in expected)
    assert max(abs(a - b) for a, b in zip(found, expected, strict=True)) < 1e-25 * scale
    assert max(map(abs, expected)) > 1e-3


@pytest.mark.turns(3)
@pytest.mark.parametrize("which", ["erf", "linear teaches erf"])
def test_parameters_without_a_direction_stand_still(which: str) -> None:
    student, teacher, rule = RULES[which]
    program = kept_program(student, teacher, rule)
    values, rates = _point(program, 7)
    some = ("learning_rate", "T", "label_noise")
    parts, moved = [], {f"{name}_tangent": rate for name, rate in rates.items()}
    mp = mpmath.MPContext()
    mp.dps = 40
    for moving in (None, some):
        derived = tangent(program, moving)
        kept = {array.name: array.shape for array in derived.parameters.fields}
        assert ("weight_decay_tangent" in kept) == (moving is None)
        if moving is None:
            still = {field.name for field in program.parameters.fields} - set(some)
            moved |= {f"{name}_tangent": np.zeros_like(rates[name]) for name in still}
        procedure = derived.procedure("right_hand_side")
        parts.append(_run(print_mpmath(derived), mp, procedure, {**values, **moved}))
    assert max(abs(a - b) for a, b in zip(*parts, strict=True)) < 1e-35
    with pytest.raises(ProgramError, match="no parameter 'speed'"):
        tangent(program, ["speed"])


@pytest.mark.turns(3)
@pytest.mark.parametrize("which", ["erf"])
def test_compiled_derivatives_are_those_with_many_digits(which: str) -> None:
    student, teacher, rule = RULES[which]
    program = kept_program(student, teacher, rule)
    values, rates = _point(program, 5)
    derived = tangent(program)
    mp = mpmath.MPContext()
    mp.dps = 40
    procedure = derived.procedure("right_hand_side")
    values |= {f"{name}_tangent": rate for name, rate in rates.items()}
    expected = np.array(_run(print_mpmath(derived), mp, procedure, values), dtype=float)
    layout = {
        vector.name: {field.name: field.shape for field in vector.fields}
        for vector in derived.vectors
    }
    direction, given = (
        (lambda p: p.packed(**{name: values[name] for name in p.shapes}))(
            Packing.of(layout, name, **SIZES)
        )
        for name in ("state", "parameters")
    )
    found = np.empty_like(direction)
    rhs = kept_module(print_fast(derived)).specialised(SIZES["K"], SIZES["M"])
    rhs(0.0, direction, np.array([2, 3, 2]), given, found)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * abs(expected).max())
