"""Statements are checked as they are made, in one line that says where and what to do."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from unit.system import statements

import symderiv as sd
from symderiv.foundation.errors import InputError
from symderiv.system.system_files import read_system, system_text

Wrong = Callable[[sd.System, Any, Any, Any], Any]

WRONG: dict[str, tuple[Wrong, str]] = {
    "a name that is taken": (lambda P, x, w, B: P.scalars("w"), "'w' is the name of vectors"),
    "a foreign symbol": (
        lambda P, x, w, B: P.descend((w @ x)[0] * sp.Symbol("eta"), {w: 1}),
        "was not declared",
    ),
    "a scalar for a vector": (lambda P, x, w, B: P.update({w: 2}), "must be a vector"),
    "too few values": (lambda P, x, w, B: P.descend((w @ x)[0], {w: [1, 2, 3]}), "3 values"),
    "nothing that moves": (lambda P, x, w, B: P.update({}), "give a dictionary"),
    "an unknown constraint": (lambda P, x, w, B: P.constrain(w, "spher"), "did you mean 'sphere'"),
    "an example outside of its sum": (
        lambda P, x, w, B: P.update({w[0]: P.inputs("e", episode=3)}),
        "example of an episode",
    ),
    "an infinite number": (lambda P, x, w, B: P.parameter("p", float("inf")), "finite"),
    "the norm of a number": (lambda P, x, w, B: sd.norm2(3), "vector expression"),
    "an equation that never holds": (
        lambda P, x, w, B: P.inputs("e", episode=2).all(sp.Eq((w @ x)[0], 0)),
        "compare signs",
    ),
    "a fixed vector on a sphere": (lambda P, x, w, B: P.constrain(B, "sphere"), "fixed=True"),
    "a scalar on a sphere": (
        lambda P, x, w, B: P.constrain(P.scalars("u"), "sphere"),
        "u is a sca",
    ),
    "the class of a model": (
        lambda P, x, w, B: P.inputs("z", sd.Isotropic),
        "give an object of it",
    ),
    "another system's vector": (
        lambda P, x, w, B: P.constrain(sd.System().vectors("v"), "sphere"),
        "another system",
    ),
    "a latent that moves": (lambda P, x, w, B: P.update({P.latents("c"): 1}), "not a scalar"),
    "a number that moves": (lambda P, x, w, B: P.update({2: x}), "cannot change"),
    "an observable twice": (
        lambda P, x, w, B: (P.observe(a=w[0] @ x), P.observe(a=B @ x)),
        "observed already",
    ),
    "a constraint of no kind": (
        lambda P, x, w, B: P.constrain(w, 3),
        "choose one of sphere, ortho",
    ),
    "a parameter that moves": (
        lambda P, x, w, B: P.update({P.parameter("e", 1): 1}),
        "not a scalar",
    ),
    "a loss of other vectors": (
        lambda P, x, w, B: P.descend((B @ x) ** 2, {w: 1, P.scalars("u"): 1}),
        r"statement 1 \(descend\): the loss does not depend on w1, w2, u, so nothing would move",
    ),
    "a loss of an average alone": (
        lambda P, x, w, B: P.ascend(P.average((w @ x).sum() ** 2), {w: 1}),
        r"\(ascend\): the loss does not depend on w1, w2",
    ),
    "NumPy's function of fields": (
        lambda P, x, w, B: P.descend(np.tanh(w @ x + P.scalars("b", 2)).sum(), {w: 1}),
        r'np.tanh takes numbers.* sd.activation\("tanh"\)\(w @ x\), or sympy.tanh of one',
    ),
    "NumPy's function of tokens": (
        lambda P, x, w, B: np.maximum(w @ P.inputs("z", length=3), 0),
        "np.maximum takes numbers.* sympy.Max of one",
    ),
    "NumPy's function of scalars": (
        lambda P, x, w, B: np.exp(-P.scalars("a", 2)),
        "np.exp takes numbers.* sympy.exp of one",
    ),
    "a function that SymPy does not have": (
        lambda P, x, w, B: np.cbrt(x @ w),
        "np.cbrt takes numbers.* sympy.",
    ),
    "a list in the place of rates": (lambda P, x, w, B: P.descend(w[0] @ x, [w]), "dictionary"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_statement_is_refused_in_one_line(name: str) -> None:
    P = sd.System()
    x = P.inputs("x")
    w, B = P.vectors("w", 2), P.vectors("B", fixed=True)
    state, words = WRONG[name]
    before = len(P.statement.lines)
    with pytest.raises(InputError, match=words) as refusal:
        state(P, x, w, B)
    assert "\n" not in str(refusal.value)
    assert len(P.statement.lines) == before


def test_a_loss_of_one_of_the_targets_moves_that_one() -> None:
    P = sd.System()
    w, u = P.vectors("w"), P.scalars("u")
    P.descend(w.dot(w), {w: 1, u: 1})
    P.descend(u**2, {w: 1, u: 1})
    assert len(P.statement.lines) == 2


def test_arithmetic_of_fields_is_that_of_arrays() -> None:
    P = sd.System()
    x, w, a = P.inputs("x"), P.vectors("w", 2), P.scalars("a", 2)
    h, (one, two) = w @ x, w @ x
    assert (a * h).sum() == np.dot(a, h) == a @ h == a[0] * one + a[1] * two
    assert list(np.abs(h) ** 2 / 3) == [sp.Abs(one) ** 2 / 3, sp.Abs(two) ** 2 / 3]
    assert list(np.square(h)) == [one**2, two**2]
    before, again = h, h.copy()
    again += 1
    h += 1
    assert h is before
    assert list(h) == list(again) == [one + 1, two + 1]
    assert {a: 0.5}[a] == 0.5


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seed": -1}, "seed: must be a whole number of at least 0, not -1"),
        ({"seed": 1.5}, "seed: must be a whole number"),
        ({"runs": 0}, "runs: must be a whole number of at least 1"),
        ({"runs": 2.5}, "runs: must be a whole number"),
        ({"dimension": "x"}, "dimension: must be a whole number"),
        ({"initial": None}, "initial: is NoneType, not a dictionary"),
    ],
)
def test_a_wrong_argument_of_a_simulation_is_refused_by_its_name(given, words) -> None:
    P = sd.System()
    x, w = P.inputs("x"), P.vectors("w")
    P.update({w: (w @ x) * x})
    with pytest.raises(InputError, match=f"^{words}"):
        P.simulate(**({"dimension": 8, "alpha": [1], "initial": {"w.w": 1}} | given))


def test_what_is_wrong_with_a_condition_is_quoted_as_it_was_typed() -> None:
    P = sd.System()
    x, w = P.inputs("x"), P.vectors("w")
    P.update({w: (w @ x) * x})
    for condition, quoted in (
        ("w_w[1] > 2 + 1", r"in '\[1\]'"),
        ("3 < (1", r"cannot read .* '\(1' near"),
    ):
        with pytest.raises(InputError, match=rf"^events: '{re.escape(condition)}': .*{quoted}"):
            P.solve(1, initial={"w.w": 1}, events=[condition])


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    "statement",
    [statements.autoencoder, statements.reinforcement, statements.components],
)
def test_a_saved_statement_is_read_as_it_was_said(statement: Any, tmp_path: Path) -> None:
    P, state = statement()
    P.save(tmp_path / "problem.json")
    again = sd.open(tmp_path / "problem.json")
    assert isinstance(again, sd.System)
    assert system_text(again) == system_text(P)
    one, other = P.rates(state), again.rates(state)
    for name, rate in one.rates.items():
        np.testing.assert_array_equal(rate, other[name])


def test_files_of_the_first_version_are_read() -> None:
    P, _ = statements.autoencoder()
    text = system_text(P).replace('"version": 2', '"version": 1').replace(' "order": "full",\n', "")
    assert "order" not in text
    assert system_text(read_system(text, sd.System())) == system_text(P)


def test_time_averages_batches_and_velocities_are_saved(tmp_path: Path) -> None:
    P = sd.System(order="small-learning-rate")
    x = P.inputs("x", batch_ratio=sp.Rational(1, 2))
    w, B, U = P.vectors("w", 2), P.vectors("B", fixed=True), P.vectors("U", 2)
    gap = (w @ x).sum() - B @ x
    size = P.average(gap**2)
    P.descend(x.mean(gap**2 / 2), {w: sp.exp(-P.alpha) / sp.sqrt(size)}, velocity={w: U})
    P.update({w: U, U: x.mean(gap * x) - U.array + 0.3 * P.inputs("n")})
    P.observe(loss=x.mean(gap**2))
    P.save(tmp_path / "problem.json")
    again = sd.open(tmp_path / "problem.json")
    assert system_text(again) == system_text(P)
    assert again.statement.order == "small-learning-rate"
    assert P.average(gap**2) == size
    moving = [v for v in again.statement.vectors if not v.fixed]
    assert set(again.statement.step().vectors) == set(moving)


def test_a_parameter_of_a_file_may_be_named_as_time_is(tmp_path: Path) -> None:
    P = sd.System()
    x, w, alpha = P.inputs("x"), P.vectors("w"), P.parameter("alpha", 0.3)
    P.update({w: alpha * (w @ x) * x})
    P.save(tmp_path / "problem.json")
    again = sd.open(tmp_path / "problem.json")
    # (1 + 0.3/N h²) along w, and noise 0.3² Q
    assert again.rates({"w.w": 2.0})["w.w"] == pytest.approx(2 * 0.3 * 2.0 + 0.09 * 2.0)


def test_what_is_not_linear_in_means_over_a_batch_is_refused() -> None:
    P = sd.System()
    x, w, B = P.inputs("x", batch_ratio=2), P.vectors("w"), P.vectors("B", fixed=True)
    gap = w @ x - B @ x
    with pytest.raises(InputError, match="stands outside a mean"):
        P.descend(gap**2, {w: 1})
    with pytest.raises(InputError, match="linear in means"):
        P.descend(x.mean(gap) ** 2, {w: 1})
    with pytest.raises(InputError, match="linear in means"):
        P.update({w: x.mean(gap) * x.mean(x)})
    with pytest.raises(InputError, match="an example of a batch"):
        P.update({w: 0.5 * x})
    with pytest.raises(InputError, match="the same for all inputs"):
        P.inputs("y", batch_ratio=1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('"version": 2', '"version": 3'), "version"),
        (('"descend"', '"descent"'), "kind"),
        (('"loss": "', '"loss": "__import__(1) + '), "loss"),
        (('"kind": "vectors"', '"kind": "vector"'), "kind"),
    ],
)
def test_a_file_that_is_none_is_refused(change: tuple[str, str], words: str) -> None:
    text = system_text(statements.autoencoder()[0])
    assert change[0] in text
    with pytest.raises(InputError, match=words):
        read_system(text.replace(*change), sd.System())


@pytest.mark.turns(6)
def test_digits_agree_with_doubles_and_with_more_digits() -> None:
    P, state = statements.autoencoder()
    few, many = P.precise_rates(state, 20), P.precise_rates(state, 40)
    doubles = P.rates(state)
    for name, rate in many.items():
        value, rough = np.asarray(rate, dtype=object), np.asarray(few[name], dtype=object)
        for index in np.ndindex(value.shape):
            assert abs(rough[index] - value[index]) <= 1e-19 * (1 + abs(value[index]))
            assert float(value[index]) == pytest.approx(
                float(np.asarray(doubles[name])[index]), abs=1e-13
            )


def test_exports_and_modules_run(tmp_path: Path) -> None:
    P = statements.student_teacher(K=2, M=1)
    path = P.generate("committee", tmp_path)
    assert "def right_hand_side" in path.read_text(encoding="utf-8")
    space: dict[str, Any] = {"__name__": "exported"}
    exec(compile(P.export("python"), "exported", "exec"), space)
    assert "double" in P.export("c")
    with pytest.raises(InputError, match="not one of"):
        P.export("fortran")
