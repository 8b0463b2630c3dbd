"""Equations 1 to 3 and what is defined around them: inputs, networks, loss, order parameters."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from symderiv.analysis.teacher import teacher_of_power_law
from symderiv.expressions import activation as named_activation
from symderiv.verification.arithmetic import Indexed
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Exact, Measured, WithinErrorBars
from symderiv_papers.references.integral_references import as_number
from symderiv_papers.worschech_rosenow.setup_points import points_on

__all__ = ["CLAIMS"]

#: The engine's side is in doubles.
DOUBLES = Exact(digits=20)


def _spectra(numbers: Any) -> Iterator[Point]:
    for L, beta in ((4, Fraction(1, 4)), (7, Fraction(1)), (12, Fraction(3, 2))):
        exponent = sp.Rational(beta.numerator, beta.denominator)
        modes = teacher_of_power_law(2, L, exponent).modes
        assert modes is not None
        eigenvalues = modes(numbers.prec).eigenvalue
        values = {
            "lambda_": Indexed(eigenvalues, (1, L)),
            "lambda_plus": eigenvalues[0],
            "beta": as_number(beta, numbers),
            "L": L,
            "M": 3,
            "N": 5 * L,
        }
        yield Point(f"L = {L}, N = {5 * L}, beta = {beta}", values)


_INPUTS = [
    Claim(
        "1",
        "lambda_[l] == lambda_plus/l**(1 + beta)",
        _spectra,
        Exact(backend="arb"),
        "l = 1..L",
        definition=True,
        note="The engine's power-law spectrum, with its largest eigenvalue as lambda_plus.",
    ),
    Claim(
        "normalisation of 1",
        "N == Sum(N/L*lambda_[l], (l, 1, L))",
        _spectra,
        Exact(backend="arb"),
        definition=True,
        note="The engine's lambda_plus is fixed by the same normalisation.",
    ),
]

# -- networks -------------------------------------------------------------------------------------

_MEANS = points_on()
_STUDENT = "sqrt(M)/K*Sum(g(x[i, 0]), (i, 1, K))"

_NETWORKS = [
    Claim(
        "2",
        f"epsilon_g == mean((zeta - {_STUDENT})**2/2)",
        _MEANS,
        Exact(),
        definition=True,
        note="Checked through the generalisation error of the engine's student with output weights "
        "sqrt(M)/K.",
    ),
    Claim(
        "teacher of 2",
        "epsilon_g == mean((Sum(g(y[n, 0]), (n, 1, M)) - sigma)**2/2)",
        _MEANS,
        Exact(),
        corrected="epsilon_g == mean((1/sqrt(M)*Sum(g(y[n, 0]), (n, 1, M)) - sigma)**2/2)",
        note="The same architecture with M units has output weights sqrt(M)/M = 1/sqrt(M). It is "
        "this teacher for which the first order of 18 and equations 92 to 94 hold, and the one "
        "printed for the linear case in appendix B.",
    ),
    Claim(
        "loss of 2",
        "epsilon_g == mean(1/2*(zeta - sigma)**2)",
        points_on(activations=("erf", "x**3 - x/3")),
        Exact(),
        definition=True,
    ),
]


def _arguments(numbers: Any) -> Iterator[Point]:
    expression = named_activation("erf").expression
    (x,) = expression.free_symbols
    names = {"erf": numbers.erf, "sqrt": numbers.sqrt, "mpf": numbers.mpf}
    function = sp.lambdify(x, expression, modules=[names, "mpmath"])
    for u in (Fraction(-5, 2), Fraction(0), Fraction(1, 3), Fraction(7)):
        value = as_number(u, numbers)
        yield Point(f"x = {u}", {"u": value, "activation": function(value)})


_ACTIVATION = Claim(
    "activation of 2",
    "activation == erf(u/sqrt(2))",
    _arguments,
    Exact(),
    definition=True,
)


def study_of(K: int, M: int, **more: Any) -> Any:
    """A study of K students and M teachers, for what the engine makes of vectors."""
    from symderiv.dynamics.study import study_from_mapping

    return study_from_mapping(
        {
            "network": {"students": K, "teachers": M, "activation": "erf"},
            "data": {"model": "isotropic", "dimension": 12},
            "training": {"learning_rate": 0.1},
            "time": {"end": 1.0, "points": 2},
            **more,
        }
    )


@lru_cache(maxsize=2)
def _drawn() -> tuple[np.ndarray, np.ndarray]:
    """Vectors that the engine draws for a study with sigma_J = 0.2."""
    from symderiv.dynamics.initial import initial

    study = study_of(
        2,
        3,
        data={
            "model": "power-law",
            "dimension": 30000,
            "distinct_eigenvalues": 3,
            "exponent": 0.5,
        },
        initial={"student_std": 0.2},
    )
    vectors = initial(study).vectors
    assert vectors is not None
    return vectors.student, vectors.teacher


def _drawn_moments(numbers: Any) -> Iterator[Point]:
    values: dict[str, Any] = {"sigma_J": 0.2}
    for name, vectors in zip("JB", _drawn(), strict=True):
        for power in (1, 2, 4):
            sample = vectors.ravel() ** power
            error = float(np.std(sample)) / sample.size**0.5
            values[f"{name}{power}"] = Measured(float(np.mean(sample)), error)
    yield Point("sigma_J = 0.2, N = 30000, two students, three teachers", values)


_INITIALISATION = [
    Claim(
        "initialisation of 2",
        statement,
        _drawn_moments,
        WithinErrorBars(),
        part=part,
        definition=True,
        note="Moments of the vectors that the engine draws.",
    )
    for part, statement in (
        ("mean of J", "J1 == 0"),
        ("variance of J", "J2 == sigma_J**2"),
        ("fourth moment of J", "J4 == 3*sigma_J**4"),
        ("variance of B", "B2 == 1"),
        ("fourth moment of B", "B4 == 3"),
    )
]

# -- learning rule --------------------------------------------------------------------------------


def _steps(numbers: Any) -> Iterator[Point]:
    """One example learned by the engine's simulation."""
    from symderiv_kernels import erf as kernel

    from symderiv.dynamics.vectors import descend

    for seed, (K, M) in enumerate(((2, 3), (3, 2))):
        random = np.random.default_rng(seed)
        variance = np.array([2.0, 1.0, 0.5, 0.25])
        root = np.sqrt(variance)
        J, B = random.standard_normal((K, 4)), random.standard_normal((M, 4))
        z = random.standard_normal((1, 4))
        moved, eta = J * root, 0.75
        step: Any = descend  # numba's functions keep the one they were made from
        step.py_func(
            kernel.student_activation, kernel.student_activation_derivative,
            kernel.teacher_activation, moved, B * root, np.full(K, M**0.5 / K),
            np.full(M, M**-0.5), variance, z, np.zeros(1), 0, 1, np.array([eta, 0.0, 0.0, 0.0]),
        )  # fmt: skip

        def rows(array: np.ndarray) -> Indexed:
            exact = [[numbers.mpf(float(w)) for w in row] for row in array]
            return Indexed(exact, (1, array.shape[0]), (1, 4))

        values = {
            "K": K,
            "M": M,
            "N": 4,
            "eta": numbers.mpf(eta),
            "xi": Indexed([numbers.mpf(float(w)) for w in (z * root)[0]], (1, 4)),
            "J": rows(J),
            "B": rows(B),
            "J_next": rows(moved / root),
            "u": numbers.mpf(0),
            "g": lambda x: numbers.erf(x / numbers.sqrt(numbers.mpf(2))),
        }
        yield Point(f"K = {K}, M = {M}, N = 4, one example", values)


_LOSS = """1/2*(
    1/sqrt(M)*Sum(g(1/sqrt(N)*Sum(xi[b]*B[n, b], (b, 1, N))), (n, 1, M))
    - sqrt(M)/K*Sum(g(1/sqrt(N)*Sum(xi[b]*(J[k, b] + delta(k, i)*delta(b, a)*u), (b, 1, N))),
                    (k, 1, K))
)**2"""

_RULE = Claim(
    "3",
    f"J_next[i, a] - J[i, a] == -eta*Derivative({_LOSS}, u)",
    _steps,
    DOUBLES,
    "i = 1..K, a = 1..N",
    definition=True,
    note="One step of the engine's simulation against the derivative of the loss of that example "
    "with respect to J_ia (at u = 0), with the fields xi.J_i/sqrt(N) written out.",
)

CLAIMS = (*_INPUTS, *_NETWORKS, _ACTIVATION, *_INITIALISATION, _RULE)
