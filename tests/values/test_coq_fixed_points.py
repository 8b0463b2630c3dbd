"""Files that claim one fixed point to Coq, read back and checked by another route."""

import shutil
from typing import Any

import numpy as np
import pytest
from flint import arb
from mpmath import iv, mp
from support.coq_reader import claim_of

import symderiv as sd
from benchmarks.certificates import accepted, fixed_point, wrong_fixed_points
from benchmarks.hand_written import HandWritten, Rule

pytestmark = pytest.mark.turns(3)


@pytest.fixture(scope="module")
def source() -> str:
    return fixed_point("erf")


@pytest.fixture(autouse=True)
def many_digits() -> Any:
    before = iv.prec, mp.prec
    iv.prec = mp.prec = 200
    yield
    iv.prec, mp.prec = before


def rates_differ(source: str, teachers: np.ndarray) -> bool:
    """Whether the rates in a file are others than those typed from a paper, at some states."""
    other, claim = HandWritten(teachers, np.ones(2), Rule(0.5, noise=0.25)), claim_of(source)
    for Q, R in ((0.5, (0.25, 0.125)), (1.25, (-0.5, 0.75)), (0.0625, (0.03125, 0.0))):
        dQ, dR, _ = other.rates([[arb(Q)]], [[arb(x) for x in R]], [arb(1)])
        try:
            found = [float(each.value.mid) for each in claim.rates([iv.mpf(x) for x in (Q, *R)])]
        except ValueError:  # a root of a negative number
            return True
        if not np.allclose(found, [float(dQ[0][0]), *map(float, dR[0])], rtol=0, atol=1e-13):
            return True
    return False


def test_a_fixed_point_for_coq_is_one_by_another_route(source: str) -> None:
    claim = claim_of(source)
    assert claim.holds()
    problem = sd.Problem("erf", students=1, teachers=2, learning_rate=0.5, label_noise=0.25)
    problem = problem.replace(
        inputs=sd.Isotropic(100), seed=1, student_weights=1.0, teacher_weights=1.0
    )
    (point,) = problem.fixed_points(digits=25, unconnected=True).points
    for middle, text in zip(claim.middle, (point["Q"][0][0], *point["R"][0]), strict=True):
        assert abs(mp.mpf(text) - mp.mpf(middle.a)) < mp.mpf(10) ** -20
    assert all(abs(float(radius.mid) - 1e-12) < 1e-25 for radius in claim.radius)
    assert not rates_differ(source, problem.solve(end=0.1, points=2).initial.T)


def test_wrong_files_are_noticed_by_the_other_route(source: str) -> None:
    problem = sd.Problem("erf", students=1, teachers=2, inputs=sd.Isotropic(100), seed=1)
    teachers = problem.solve(end=0.1, points=2).initial.T
    wrong = wrong_fixed_points(source)
    assert len(wrong) == 3
    for name, text in wrong.items():
        assert text != source
        noticed = not claim_of(text).holds() or rates_differ(text, teachers)
        assert noticed, name
    assert rates_differ(wrong["a sign of the equations"], teachers)
    larger = source.replace("1 / 1000000000000)", "1 / 10)")
    assert not claim_of(larger).holds()


@pytest.mark.parametrize("activation", ["relu", "linear"])
def test_other_activations_have_files_that_hold(activation: str) -> None:
    assert claim_of(fixed_point(activation)).holds()


@pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is not installed")
def test_coq_proves_a_fixed_point() -> None:
    assert accepted(fixed_point("linear", teachers=1))


def test_what_has_no_file_is_refused() -> None:
    problem = sd.Problem("erf", students=1, teachers=1, learning_rate=0.5, inputs=sd.Isotropic(100))
    with pytest.raises(sd.InputError, match="fixed_point: 7 is not between 1 and"):
        problem.export("coq", fixed_point=7)
    with pytest.raises(sd.InputError, match="allowed for the language coq only"):
        problem.export("python", fixed_point=1)
