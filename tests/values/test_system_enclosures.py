"""Proved runs of stated systems against closed solutions, studies, and another integrator."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp

import symderiv as sd
from symderiv.enclosures.check_enclosures import main as checked
from symderiv.foundation.errors import NotYetError

pytestmark = pytest.mark.turns(3)

ETA = 0.75
START = {"w.w": 2.0, "w.B": 0.25, "B.B": 1.5}


def _linear() -> sd.System:
    """A linear unit: R' = η(T - R), and D = Q - 2R + T shrinks at the rate 2η - η²."""
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    P.descend((w @ x - B @ x) ** 2 / 2, {w: P.parameter("eta", ETA)})
    P.observe(error=(w @ x - B @ x) ** 2 / 2)
    return P


def _contains(ball: Any, exact: mpmath.mpf) -> bool:
    with mpmath.workdps(60):
        return bool(abs(mpmath.mpf(ball.mid) - exact) <= mpmath.mpf(ball.rad))


def test_balls_contain_the_closed_solution_of_a_linear_unit(tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    run = _linear().solve(
        alpha=[0.5, 3.0], initial=START, certify=proof, radius=1e-25, events=["error < 0.5"]
    )
    with mpmath.workdps(60):
        eta, T = mpmath.mpf(ETA), mpmath.mpf(1.5)
        for n, alpha in enumerate((0.5, 3.0)):
            R = T + (0.25 - T) * mpmath.exp(-eta * alpha)
            D = 3 * mpmath.exp((eta**2 - 2 * eta) * alpha)
            assert _contains(run.enclosures["w.B"][n], R)
            assert _contains(run.enclosures["w.w"][n], D + 2 * R - T)
            assert _contains(run.enclosures["error"][n], D / 2)
            assert float(run.enclosures["w.B"][n].rad) < 1e-24
        time = mpmath.log(3) / (2 * eta - eta**2)
        begin, end = (mpmath.mpf(run.events[0][each]) for each in ("begin", "end"))
        assert begin <= time <= end < begin + 1e-20
    assert run.events[0]["verdict"] == "proved"
    assert run.error == run.enclosure.relative_difference < 1e-9
    assert checked([str(proof)]) == 0


@pytest.mark.parametrize(
    ("activation", "Q", "R"),
    [
        ("erf", [[0.5, 0.125], [0.125, 0.25]], [[0.25, 0, 0.5], [-0.125, 0.25, 0]]),
        ("relu", [[0.5]], [[0.25, -0.125]]),
    ],
)
def test_a_system_and_a_study_prove_the_same_numbers(activation: str, Q: Any, R: Any) -> None:
    """The study goes through moments and a derivation for all K and M, the system through none."""
    (K, M), g = np.shape(R), sd.activation(activation)
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w", K), P.vectors("B", M, fixed=True)
    error = (g(w @ x).sum() - g(B @ x).sum()) / sp.sqrt(M)
    P.descend(error**2 / 2, {w: 0.5})
    P.observe(error=error**2 / 2)
    run = P.solve(alpha=[1.5], initial={"w.w": Q, "w.B": R, "B.B": np.eye(M)}, certify=True)
    study = sd.Problem(activation, students=K, teachers=M, learning_rate=0.5).solve(
        alpha=[1.5], initial={"Q": Q, "R": R, "T": np.eye(M)}, certify=True
    )
    names = {"w.w": "Q", "w.B": "R", "error": "generalization_error"}
    for own, other in names.items():
        pairs = zip(run.enclosures[own].ravel(), study.enclosures[other].ravel(), strict=True)
        for one, two in pairs:
            apart = abs(Fraction(one.mid) - Fraction(two.mid))
            assert apart <= Fraction(one.rad) + Fraction(two.rad) < Fraction(1, 10**11)


def test_balls_contain_the_solution_with_two_eigenvalues_and_decay() -> None:
    """The equations of a linear unit per eigenvalue are linear, and written here by hand."""
    eta, decay, scale = 0.5, 0.125, [0.5, 1.5]
    P = sd.System()
    x = P.inputs("x", sd.Spectrum(eigenvalues=scale, weights=[0.25, 0.75]))
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    P.descend((w @ x - B @ x) ** 2 / 2, {w: eta})
    P.update({w: -decay * w})
    P.observe(error=(w @ x - B @ x) ** 2 / 2)
    start = {"w.w": [0.5, 1.0], "w.B": [0.25, -0.5], "B.B": [1.0, 2.0]}
    run = P.solve(alpha=[0.75], initial=start, certify=True, radius=1e-20)
    with mpmath.workdps(40):
        weights = [mpmath.mpf(0.25), mpmath.mpf(0.75)]
        gap = [*(-2 * p * k for p, k in zip(weights, scale, strict=True))]
        gap += [p * k for p, k in zip(weights, scale, strict=True)]
        gap.append(mpmath.fsum(p * k * T for p, k, T in zip(weights, scale, (1, 2), strict=True)))
        A = mpmath.zeros(5)  # of the overlaps with B, those of w, and 1
        for k, (rho, T) in enumerate(zip(scale, (1, 2), strict=True)):
            A[k, k], A[k, 4] = -eta * rho - decay, eta * rho * T
            A[2 + k, k], A[2 + k, 2 + k] = 2 * eta * rho, -2 * eta * rho - 2 * decay
            for n, each in enumerate(gap):
                A[2 + k, n] += eta**2 * rho * each
        end = mpmath.expm(A * 0.75) * mpmath.matrix([0.25, -0.5, 0.5, 1, 1])
        error = mpmath.fsum(g * y for g, y in zip(gap, end, strict=True)) / 2
        for k in range(2):
            assert _contains(run.enclosures["w.B"][0, k], end[k])
            assert _contains(run.enclosures["w.w"][0, k], end[2 + k])
        assert _contains(run.enclosures["error"][0], error)


def test_balls_contain_the_solution_with_two_classes_that_have_means() -> None:
    """A linear unit that learns the sign of classes at +U and -U; linear in m = U.w, m^2 and w.w.

    By hand dm = -eta (m + m - 1) and dv = -2 eta (v + m (m - 1)) + eta^2 (v + (m - 1)^2).
    """
    eta = 0.375
    P = sd.System()
    sign, U = P.latents("c", "rademacher"), P.vectors("U", fixed=True)
    x, w = P.inputs("x") + sign * U, P.vectors("w")
    P.descend((w @ x - sign) ** 2 / 2, {w: eta})
    P.observe(error=(w @ x - sign) ** 2)
    run = P.solve(
        alpha=[1.5],
        initial={"w.w": 0.5, "U.w": 0.25, "U.U": 1.0},
        certify=True,
        radius=1e-20,
    )
    with mpmath.workdps(40):
        e = mpmath.mpf(eta)
        matrix = mpmath.matrix(
            [
                [-2 * e, 0, 0, e],
                [2 * e, -4 * e, 0, 0],
                [2 * e - 2 * e**2, e**2 - 2 * e, e**2 - 2 * e, e**2],
                [0, 0, 0, 0],
            ]
        )
        m, square, v, _ = mpmath.expm(matrix * 1.5) * mpmath.matrix([0.25, 0.0625, 0.5, 1])
        assert _contains(run.enclosures["U.w"][0], m)
        assert _contains(run.enclosures["w.w"][0], v)
        assert _contains(run.enclosures["error"][0], v + square - 2 * m + 1)
        assert not _contains(run.enclosures["w.w"][0], v + mpmath.mpf("1e-18"))


def test_steps_over_batches_are_not_proved() -> None:
    P = sd.System()
    x, w, B = P.inputs("x", batch_ratio=0.5), P.vectors("w"), P.vectors("B", fixed=True)
    P.update({w: -0.5 * x.mean((w @ x - B @ x) * x)})
    with pytest.raises(NotYetError, match=r"^certify: proves no runs of steps over batches$"):
        P.solve(alpha=[1], initial=START, certify=True)


def _jumps(P: sd.System, w: Any, gap: Any) -> None:
    P.descend(gap**2, {w: 0.5})
    P.observe(error=gap**2 * (1 + sp.Heaviside(P.alpha - 1)))


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (lambda P, w, f: P.descend(sp.log(1 + sp.exp(f)), {w: 0.5}), "^certify: .* an integral"),
        (lambda P, w, f: P.descend(f**2, {w: sp.tanh(P.alpha)}), "^certify: .* contain tanh$"),
        (_jumps, "^certify: has no enclosure: error jumps in time$"),
    ],
)
def test_what_is_not_proved_is_refused(stated: Any, words: str) -> None:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    stated(P, w, w @ x - B @ x)
    with pytest.raises(NotYetError, match=words):
        P.solve(alpha=[1], initial=START, certify=True)
    with pytest.raises(sd.InputError, match=r"'certified' is not a parameter .*; there are none$"):
        P.solve(alpha=[1], initial=START, certified=True)
    with pytest.raises(sd.InputError, match=r"^certify: this run was not certified"):
        P.solve(alpha=[0.1], initial=START).certificate()
