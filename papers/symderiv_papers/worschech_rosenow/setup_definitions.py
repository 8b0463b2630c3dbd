"""Equations 1 to 3 and what is defined around them: inputs, networks, loss, order parameters."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed
from symderiv_ledger.rules.comparison_rules import Measured

from symderiv.analysis.plateau.teacher import teacher_of_power_law
from symderiv.formula import activation as named_activation
from symderiv_papers.references.exact import as_number

__all__ = [
    "arguments",
    "drawn_moments",
    "spectra",
    "steps",
    "study_of",
]


def spectra(numbers: Any) -> Iterator[Point]:
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


# -- networks -------------------------------------------------------------------------------------


def arguments(numbers: Any) -> Iterator[Point]:
    expression = named_activation("erf").expression
    (x,) = expression.free_symbols
    names = {"erf": numbers.erf, "sqrt": numbers.sqrt, "mpf": numbers.mpf}
    function = sp.lambdify(x, expression, modules=[names, "mpmath"])
    for u in (Fraction(-5, 2), Fraction(0), Fraction(1, 3), Fraction(7)):
        value = as_number(u, numbers)
        yield Point(f"x = {u}", {"u": value, "activation": function(value)})


def study_of(K: int, M: int, **more: Any) -> Any:
    """Return a study of K students and M teachers, for what the engine makes of vectors."""
    from symderiv.problem.study import study_from_mapping

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
    """Return vectors that the engine draws for a study with sigma_J = 0.2."""
    from symderiv.problem.initial import initial

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


def drawn_moments(numbers: Any) -> Iterator[Point]:
    values: dict[str, Any] = {"sigma_J": 0.2}
    for name, vectors in zip("JB", _drawn(), strict=True):
        for power in (1, 2, 4):
            sample = vectors.ravel() ** power
            error = float(np.std(sample)) / sample.size**0.5
            values[f"{name}{power}"] = Measured(float(np.mean(sample)), error)
    yield Point("sigma_J = 0.2, N = 30000, two students, three teachers", values)


# -- learning rule --------------------------------------------------------------------------------


def learned(
    J: np.ndarray, B: np.ndarray, z: np.ndarray, root: np.ndarray, eta: float
) -> np.ndarray:
    """Return students after one example z times root, by a sum of erf units that learns another."""
    from symderiv.experiment.steps.step_chain import MarkovChain, space_of
    from symderiv.experiment.steps.step_form import program_of
    from symderiv.statement.language import Language

    (K, N), M = J.shape, len(B)
    P, g = Language(), named_activation("erf")
    x, w, t = P.inputs("x"), P.vectors("J", K), P.vectors("B", M, fixed=True)
    v, rate = P.parameter("v", 1), P.parameter("eta", 1)
    gap = v * g(w @ x).sum() - P.parameter("c", 1) * g(t @ x).sum()
    P.descend(gap**2 / 2, {w: rate})
    program = program_of(P.statement)
    space = space_of(program, np.ones(N, dtype=np.int64))
    values = {"v": M**0.5 / K, "c": M**-0.5, "eta": eta}
    start = np.concatenate([J, B]), np.zeros(0)
    chain = MarkovChain(program, space, start, root[None], values, (0,), 1)
    chain.use(z)
    chain.learn(0, 1)
    return chain.vectors[:K]


def steps(numbers: Any) -> Iterator[Point]:
    """Yield one example learned by the engine's simulation."""
    for seed, (K, M) in enumerate(((2, 3), (3, 2))):
        random = np.random.default_rng(seed)
        root = np.sqrt(np.array([2.0, 1.0, 0.5, 0.25]))
        J, B = random.standard_normal((K, 4)), random.standard_normal((M, 4))
        z = random.standard_normal((1, 4))
        eta = 0.75
        moved = learned(J, B, z, root, eta)

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
            "J_next": rows(moved),
            "u": numbers.mpf(0),
            "g": lambda x: numbers.erf(x / numbers.sqrt(numbers.mpf(2))),
        }
        yield Point(f"K = {K}, M = {M}, N = 4, one example", values)
