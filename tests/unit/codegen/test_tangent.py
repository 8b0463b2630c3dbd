"""Tangent programs against central differences with fifty digits."""

import random
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from symderiv_codegen import (
    Program,
    ProgramError,
    print_fast,
    print_mpmath,
    print_reverse,
    tangent,
)

from symderiv.foundation.packing import Packing
from symderiv.learning.rule.learning_rule import PLAIN, LearningRule
from symderiv.lowering.programs.exported import kept_program
from symderiv.storage.kernels import kept_module

SIZES = {"K": 2, "M": 3, "L": 2}
# means of signs with fifty digits take long
SMALL = {"relu": {"K": 1, "M": 2, "L": 2}, "biases": {"K": 2, "M": 1, "L": 2}}
SMALL["second layer of relu"] = SMALL["relu"]
RULES = {
    "erf": ("erf(x/sqrt(2))", "erf(x/sqrt(2))", PLAIN),
    "relu": ("Max(0, x)", "Max(0, x)", PLAIN),
    "linear teaches erf": ("erf(x/sqrt(2))", "x", PLAIN),
    "biases": ("erf(x/sqrt(2))", "erf(x/sqrt(2))", LearningRule(biases=True)),
    "momentum": ("erf(x/sqrt(2))", "erf(x/sqrt(2))", LearningRule(momentum=True)),
}


def _point(program: Program, seed: int, sizes: dict[str, int] = SIZES) -> tuple[dict, dict]:
    """Return numbers of a state in general position, and a direction that keeps symmetries."""
    K, M, L = sizes["K"], sizes["M"], sizes["L"]
    draw = np.random.default_rng(seed)
    values, rates = {}, {}
    vectors = draw.normal(size=(L, K + M, 9))
    gram = np.einsum("lia,lja->ijl", vectors, vectors) / 9
    for vector in program.vectors:
        for field in vector.fields:
            shape = tuple(sizes[size] for size in field.shape)
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


def _run(text: str, mp: mpmath.MPContext, procedure, values: dict, sizes=SIZES) -> list:
    names: dict = {}
    exec(compile(text, "tangent", "exec"), names)
    given = [_numbers(mp, values[array.name]) for array in procedure.inputs]
    outputs = [
        _numbers(mp, np.zeros([sizes[size] for size in array.shape])) for array in procedure.outputs
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
    sizes = SMALL.get(which, SIZES)
    values, rates = _point(program, random.Random(which).randrange(10**6), sizes)
    derived = tangent(program)
    mp = mpmath.MPContext()
    mp.dps = 50
    own, both = program.procedure("right_hand_side"), derived.procedure("right_hand_side")
    moved = {f"{name}_tangent": rate for name, rate in rates.items()}
    found = _run(print_mpmath(derived), mp, both, {**values, **moved}, sizes)
    step, text, beside = mp.mpf(10) ** -15, print_mpmath(program), []
    for sign in (1, -1):
        there = {
            name: np.vectorize(lambda v, r, s=sign: mp.mpf(v) + s * step * mp.mpf(r), otypes="O")(
                value, rates[name]
            )
            for name, value in values.items()
        }
        beside.append(_run(text, mp, own, there, sizes))
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


def _compiled(derived: Program, values: dict) -> np.ndarray:
    """What the compiled right-hand side of a program gives."""
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
    return found


REVERSED = {
    "erf": RULES["erf"],
    "second layer of relu": RULES["relu"],
    "linear teaches erf": RULES["linear teaches erf"],
    "tanh, whose means are sums over tables": ("tanh(x)", "tanh(x)", PLAIN),
    "biases": ("erf(x/sqrt(2))", "erf(x/sqrt(2))", LearningRule(biases=True, trained_biases=True)),
    "dropout": ("erf(x/sqrt(2))", "erf(x/sqrt(2))", LearningRule(dropout=True)),
    "momentum": RULES["momentum"],
}


@pytest.mark.turns(7)
@pytest.mark.parametrize("which", REVERSED)
def test_weighted_derivatives_are_those_along_directions(which: str) -> None:
    """wᵀ(J d) = (wᵀJ) d: on the left the derivative along d in many digits (tables: in doubles),
    on the right the module in reverse, by all of the state and three parameters, one an array.
    """
    student, teacher, rule = REVERSED[which]
    program = kept_program(student, teacher, rule, 1e-4)
    sizes = SMALL.get(which, SIZES)
    values, rates = _point(program, 11, sizes)
    state, parameters = program.vectors
    some = {"learning_rate", "label_noise", "v_teacher"}
    derived = tangent(program, some)
    mp = mpmath.MPContext()
    mp.dps = 20
    there = {**values, **{f"{name}_tangent": rate for name, rate in rates.items()}}
    if "tables" in which:
        moved = list(map(mp.mpf, _compiled(derived, there)))
    else:
        moved = _run(print_mpmath(derived), mp, derived.procedure("right_hand_side"), there, sizes)
    moving = [f for f in (*state.fields, *parameters.fields) if f in state.fields or f.name in some]
    moving.sort(key=lambda field: not field.shape)
    weights = np.random.default_rng(3).normal(size=len(moved))
    given = np.concatenate(
        [values[field.name].ravel() for field in (*state.fields, *parameters.fields)]
    )
    direction = np.concatenate([rates[field.name].ravel() for field in moving])
    found = np.empty(direction.size)
    text = print_reverse(program, [field.name for field in moving])
    product = kept_module(text).specialised(sizes["K"], sizes["M"])
    product(0.0, weights, np.array([*sizes.values()]), given, found)
    terms = np.abs(found * direction)
    expected = float(mp.fsum(w * each for w, each in zip(weights, moved, strict=True)))
    assert abs(found @ direction - expected) < 1e-12 * terms.sum()
    assert np.count_nonzero(terms) > 0.7 * terms.size


def test_what_has_no_product_in_reverse_is_refused() -> None:
    program = kept_program("x", "x", PLAIN)
    with pytest.raises(ProgramError, match="no field 'speed'"):
        print_reverse(program, ["speed"])
    with pytest.raises(ProgramError, match="no right-hand side"):
        print_reverse(replace(program, state=None, parameters=None), ["v"])
