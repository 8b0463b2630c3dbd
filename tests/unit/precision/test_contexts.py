"""Generated modules on mpmath, balls and doubles: one text, the same numbers."""

import math
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
import symderiv_kernels.erf
from support.studies import toml

from symderiv.foundation.errors import InputError
from symderiv.precision.balls.contexts import numbers
from symderiv.precision.moments.moment_system import MomentSystem, RuleParameters, moment_module
from symderiv.problem.initial import initial
from symderiv.problem.study import parse_study

RATES = RuleParameters(0.7, 0.3, 0.1, 0.05, 0.2)


def state_of(students: int, teachers: int, L: int = 4) -> Any:
    """Drawn overlaps: T is neither diagonal nor 1."""
    return initial(
        parse_study(
            toml(
                network={"activation": "erf", "students": students, "teachers": teachers},
                data={
                    "model": "power-law",
                    "dimension": 20 * L,
                    "distinct_eigenvalues": L,
                    "exponent": 0.8,
                },
                training={"learning_rate": 0.5},
                initial={"student_std": 0.7, "seed": 3},
                time={"end": 1.0},
            )
        )
    ).state


def rates_of_change(module: Any, state: Any, digits: int, backend: str) -> tuple[list[Any], Any]:
    """The right-hand side as numbers of that kind, and as mpmath numbers."""
    with numbers(digits, backend) as context:
        system = MomentSystem(module, state, RATES, context)
        found = system.right_hand_side(system.start)
        found.append(system.observables(system.start)[3])
        return found, [context.as_mpf(x) for x in found]


@pytest.mark.parametrize(("students", "teachers"), [(2, 2), (3, 2)])
@pytest.mark.parametrize("digits", [50, 200])
def test_both_back_ends_give_the_same_right_hand_side(
    students: int, teachers: int, digits: int
) -> None:
    module, state = moment_module("erf"), state_of(students, teachers)
    balls, middles = rates_of_change(module, state, digits, "arb")
    _, reference = rates_of_change(module, state, digits, "mpmath")
    assert max(abs(x) for x in reference) > 0.1
    with mpmath.workdps(digits + 20):
        for middle, expected in zip(middles, reference, strict=True):
            # a sum of many terms of size 1 to 100, each rounded
            assert abs(middle - expected) < mpmath.mpf(10) ** (4 - digits)
    # More digits show that the balls contain the exact value, and are small.
    _, finer = rates_of_change(module, state, digits + 30, "mpmath")
    with numbers(digits + 40):
        for ball, exact in zip(balls, finer, strict=True):
            assert ball.contains(flint.arb(mpmath.nstr(exact, digits + 20)))
            assert ball.rad() < flint.arb(10) ** (6 - digits)


def test_moments_are_the_sums_over_the_modes() -> None:
    """Q^(l), R^(l), T^(l) and ν_l from the state's arrays; the closure vanishes at every ρ."""
    state = state_of(3, 2)
    K, M, L = 3, 2, state.L
    powers = state.eigenvalue[:, None] ** np.arange(L + 1)
    with numbers(30, "mpmath") as c:
        system = MomentSystem(moment_module("erf"), state, RATES, c)
        Q, R, v = (np.array(part, dtype=float) for part in system.split(system.start))
        teacher = np.array(system._teacher, dtype=float)
        nu, closure = (np.array(x, dtype=float) for x in (system._nu, system._closure))
        scale = np.array(system._teacher_scale, dtype=float)
    weighted = state.weight[:, None] * powers
    rho = state.eigenvalue[:, None, None]
    expected = np.einsum("kl,kij->lij", weighted, state.student_overlap)
    assert expected.shape[1:] == (K, K)
    np.testing.assert_allclose(Q, expected[:L], rtol=1e-13)
    expected = np.einsum("kl,kin->lin", weighted, state.cross_overlap / rho)
    assert expected.shape[1:] == (K, M)
    np.testing.assert_allclose(R, expected[:L], rtol=1e-13)
    np.testing.assert_array_equal(v, state.student_weights)
    expected = np.einsum("kl,knm->lnm", weighted, state.teacher_overlap / rho)
    np.testing.assert_allclose(teacher, expected[:L], rtol=1e-13)
    lower = np.einsum("kl,knn->ln", weighted, state.teacher_overlap / rho**2)
    np.testing.assert_allclose(scale, np.abs(lower[:L]).max(axis=1), rtol=1e-13)
    np.testing.assert_allclose(nu, (weighted.sum(axis=0))[1:], rtol=1e-13)
    # the polynomial with these coefficients and leading one vanishes at every eigenvalue
    np.testing.assert_allclose(powers[:, :L] @ closure, -powers[:, L], rtol=1e-10)


@pytest.mark.turns(6)
def test_errors_are_measured_by_the_scale_of_their_moments() -> None:
    """One entry off at a time: by Q_ii, by the root of Q_ii and T_nn, by the output weights."""
    state = state_of(2, 3)
    with numbers(30, "mpmath") as c:
        system = MomentSystem(moment_module("erf"), state, RATES, c)
        Q, _, v = system.split(system.start)
        place = 0
        for l in range(state.L):
            scale = float(max(Q[l][0][0], Q[l][1][1]))
            for _ in range(4):
                error = [c.zero] * len(system.start)
                error[place] = c.mpf(-1e-3)
                assert system.size(error, system.start) == pytest.approx(1e-3 / scale)
                place += 1
        for l in range(state.L):
            scale = float(max(Q[l][0][0], Q[l][1][1])) * float(system._teacher_scale[l])
            for _ in range(6):
                error = [c.zero] * len(system.start)
                error[place] = c.mpf(1e-3)
                assert system.size(error, system.start) == pytest.approx(1e-3 / math.sqrt(scale))
                place += 1
        largest = max(*np.abs(state.student_weights), *np.abs(state.teacher_weights))
        for _ in v:
            error = [c.zero] * len(system.start)
            error[place] = c.mpf(1e-3)
            assert system.size(error, system.start) == pytest.approx(1e-3 / largest)
            place += 1
        assert place == len(system.start)
        # 2η times the norm of A: the gradient of the module on doubles
        A, B, dv = np.empty((2, 2)), np.empty((2, 3)), np.empty(2)
        symderiv_kernels.erf.gradients(
            state.Q, state.R, state.T, state.student_weights, state.teacher_weights, A, B, dv
        )
        assert system.rate() == pytest.approx(1.4 * np.linalg.norm(A), rel=1e-12)


def test_four_sign_integrals_run_on_both() -> None:
    """relu's I4 has an integral in it: accurate in both, enclosed in neither."""
    module, state = moment_module("relu"), state_of(2, 2, 3)
    _, middles = rates_of_change(module, state, 30, "arb")
    _, reference = rates_of_change(module, state, 40, "mpmath")
    with mpmath.workdps(60):
        for middle, expected in zip(middles, reference, strict=True):
            assert abs(middle - expected) < mpmath.mpf("1e-26")


FUNCTIONS = {
    "sqrt": "2.3",
    "exp": "-1.7",
    "log": "0.3",
    "erf": "0.4",
    "erfc": "1.4",
    "asin": "-0.3",
    "acos": "0.2",
    "atan": "3",
    "sin": "2",
    "cos": "2",
    "tan": "1",
    "sinh": "1.5",
    "cosh": "1.5",
    "tanh": "0.3",
    "asinh": "0.3",
    "acosh": "1.3",
    "atanh": "0.3",
    "gamma": "2.5",
    "sign": "-3",
    "ceil": "2.1",
}


@pytest.mark.parametrize("backend", ["arb", "float64"])
def test_every_function_of_the_interface(backend: str) -> None:
    digits = 60 if backend == "arb" else 15
    reference = mpmath.MPContext()
    reference.dps = 80
    allowed = mpmath.mpf(10) ** (2 - digits)
    with numbers(digits, backend) as c, mpmath.workdps(80):

        def same(found: Any, expected: Any) -> None:
            # ball.mid(), an integer or a double, exactly
            assert abs(c.as_mpf(found) - expected) <= allowed * max(1, abs(expected))

        for name, argument in FUNCTIONS.items():
            same(
                getattr(c, name)(c.mpf(argument)), getattr(reference, name)(reference.mpf(argument))
            )
        same(c.atan2(c.mpf(-1), c.mpf(-2)), reference.atan2(-1, -2))
        same(c.pi + c.e + c.one + c.zero, reference.pi + reference.e + 1)
        same(c.fsum(c.mpf(k) for k in range(5)), 10)
        same(c.sqrt(2), reference.sqrt(2))
        for x in (-2, 0, 2):
            assert c.sign(c.mpf(x)) == (x > 0) - (x < 0)
        assert c.point(c.mpf(3)) == 3
        assert c.prec >= (202 if backend == "arb" else 53)


def test_a_correlation_that_rounding_puts_beyond_one() -> None:
    with numbers(30) as c:
        beyond = c.mpf("1") + c.mpf("1e-40")
        ball = c.asin(beyond + flint.arb(0, 1e-29))
        assert ball.contains(flint.arb.pi() / 2)
        assert ball.rad() < 1e-13


@pytest.mark.parametrize("backend", ["arb", "mpmath", "float64"])
def test_outside_of_real_domains_is_not_a_number_and_is_noticed(backend: str) -> None:
    """A step that is too long may leave the domain; it has to be refused, not to end the run."""
    module, state = moment_module("erf"), state_of(2, 2)
    with numbers(20, backend) as c:
        for function, x in ((c.sqrt, -1), (c.asin, 2), (c.acos, -2), (c.log, -1)):
            assert math.isnan(float(function(c.mpf(x))))
        assert c.sqrt(c.mpf(4)) == 2
        system = MomentSystem(module, state, RATES, c)
        error = [c.zero] * len(system.start)
        assert system.size(error, system.start) == 0.0
        for place in range(len(error)):
            wrong = [*error[:place], c.sqrt(c.mpf(-1)), *error[place + 1 :]]
            assert math.isnan(system.size(wrong, system.start))


def test_precision_is_that_of_the_block_only() -> None:
    before = flint.ctx.prec
    with numbers(100):
        assert flint.ctx.prec > 330
        with numbers(20) as c:
            assert 66 < c.prec < 80
            c.prec = 500
        assert 330 < flint.ctx.prec < 350
    assert flint.ctx.prec == before


def test_bad_requests() -> None:
    with pytest.raises(InputError, match="not one of arb, mpmath, float64"), numbers(10, "gmp"):
        pass
    with pytest.raises(InputError, match="at least 1"), numbers(0):
        pass
