"""One loop over a family of units is the step that the statement writes out for every unit."""

from typing import Any

import numpy as np
import pytest
import sympy as sp
from support.plain_reading import plain_step

import symderiv as sd
from symderiv.experiment.steps.alike_units import Place, Units
from symderiv.experiment.steps.step_chain import MarkovChain, space_of
from symderiv.experiment.steps.step_form import form_of
from symderiv.experiment.steps.step_program import StepProgram
from symderiv.experiment.studies.study_form import StudyForm
from symderiv.experiment.studies.study_statement import stated_step
from symderiv.experiment.studies.study_steps import step_of

K, M, N = 5, 6, 30

PLAIN: dict[str, Any] = {
    "activations": ("erf", "erf"),
    "loss": "squared",
    "target": "sum",
    "heads": 1,
    "present": (),
    "trains": (False, False),
    "comes": (False, False, False, False),
    "sphere": False,
}
FORMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "both layers, biases, noise": {
        "activations": ("tanh", "relu"),
        "present": (
            *("weight_decay", "label_noise", "input_noise", "update_noise"),
            *("second_layer_weight_decay", "teacher_bias", "keep", "label_flip"),
        ),
        "trains": (True, True),
    },
    "gradients, averaged students": {
        "present": ("sobolev_weight", "consistency_weight", "averaging_rate", "student_bias"),
        "trains": (True, False),
    },
    "hinge of a sign": {
        "activations": ("relu", "x**3 - x"),
        "loss": "hinge",
        "target": "sign",
        "sphere": True,
    },
    "two heads, tasks": {
        "heads": 2,
        "trains": (True, False),
        "present": ("second_layer_weight_decay", "keep"),
        "comes": (True, True, False, False),
    },
    "four heads": {"heads": 4, "trains": (True, True), "comes": (False, True, False, False)},
    "what the teacher sees": {"loss": "huber", "comes": (False, False, True, False)},
}


# every form is compiled: a part of them a day
@pytest.mark.days(3)
@pytest.mark.parametrize("name", FORMS)
def test_families_of_units_move_as_units_written_out(name: str) -> None:
    form = StudyForm(**{**PLAIN, **FORMS[name]})
    few = step_of(form, (5, 3) if form.heads == 4 else (4, 3))
    letters = "U5" if form.heads == 4 else "U4", "U3"
    assert set(letters) <= set(few.counts)
    program = StepProgram(few, {**few.counts, letters[0]: K, letters[1]: M})
    statement, given = stated_step(form, (K, M))
    random = np.random.default_rng(7)
    vectors = random.normal(size=(len(program.vectors), N))
    scalars = random.normal(size=len(program.scalars))
    parameters = {
        str(symbol): float(value)
        for symbol, value in zip(
            statement.symbols.parameters, random.uniform(0.2, 0.9, 99), strict=False
        )
    }
    space = space_of(program, np.array([N]))
    chain = MarkovChain(program, space, (vectors, scalars), np.zeros((0, 0)), parameters, (3,), 1)
    chain.draw()
    drawn = random.normal(size=(1, len(given)))
    if given:
        chain.use(chain._inputs, drawn)
    inputs = dict(zip(program.atoms, chain._inputs.copy(), strict=True))
    values = dict(zip(map(str, given), drawn[0], strict=True))
    fields = {name: value for name, value in values.items() if name.startswith("h__")}
    for n, (_, value) in enumerate(sorted(fields.items())):
        # the fields that are given are those of teachers that have them
        teacher, xi = vectors[program.vectors[f"B{n + 1}"]], inputs["x"]
        teacher += (value * np.sqrt(N) - teacher @ xi) / (xi @ xi) * xi
    if fields:
        chain.vectors[:] = vectors
    latents = dict(zip(program.latents, chain._latents[0], strict=False))
    assert chain.learn(0, 1) == -1
    after, numbers = plain_step(
        statement,
        dict(zip(program.vectors, vectors, strict=True)),
        dict(zip(map(str, statement.symbols.scalars), scalars, strict=True)),
        inputs,
        latents,
        parameters | {k: v for k, v in values.items() if k not in fields},
        variances=dict.fromkeys((each.name for each in statement.inputs), np.ones(N)),
    )
    for vector, place in program.vectors.items():
        np.testing.assert_allclose(chain.vectors[place], after[vector], atol=1e-11)
    np.testing.assert_allclose(chain.scalars, list(numbers.values()), atol=1e-11)
    assert np.max(np.abs(chain.vectors - vectors)) > 1e-3


def test_units_that_are_not_alike_are_written_out() -> None:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w", 3), P.vectors("B", 4, fixed=True)
    gap = sum(n * field for n, field in enumerate(w @ x)) - sd.activation("tanh")(B @ x).sum()
    P.descend(gap**2 / 2, {w: 1})
    form = form_of(P.statement)
    assert form.letters == ("U4",)
    assert [block.parts for block in form.changes["force"]] == [("x", f"w{n}") for n in (2, 3)]


def test_a_sum_without_one_unit_leaves_it_out() -> None:
    a = {n: sp.Symbol(f"a{n}", real=True) for n in range(1, 5)}
    units = Units({"K": 4}, {s: Place(("a",), (("K", n),)) for n, s in a.items()})
    members = {
        (("K", n),): sp.exp(a[n] * sum(sp.sin(a[m]) for m in a if m != n) + sum(a.values()))
        for n in a
    }
    formula = units.formula(members)
    whole, other = units.totals if not units.totals[0].apart else units.totals[::-1]
    own = units.symbol(Place(("a",), (("K", "i"),)))
    assert whole.body == own
    assert other.body == sp.sin(own)
    assert other.apart == other.others == (("K", "j"),)
    sums = [units.symbol(Place((whole.name,))), units.symbol(Place((other.name,), (("K", "i"),)))]
    assert formula == sp.exp(own * sums[1] + sums[0])
