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
from symderiv.papers.arithmetic import Indexed
from symderiv.papers.claim import Claim, Point
from symderiv.papers.integral_references import as_number
from symderiv.papers.library.worschech_rosenow.setup_points import network_points, points_on
from symderiv.papers.references import Moments, flow, moments_of, networks
from symderiv.papers.rules import Exact, Measured, WithinErrorBars

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


@lru_cache(maxsize=2)
def _drawn() -> tuple[np.ndarray, np.ndarray]:
    """Vectors that the engine draws for a study with sigma_J = 0.2."""
    from symderiv.dynamics.initial import initial

    study = _study(
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

# -- order parameters and their closure -----------------------------------------------------------


def _study(K: int, M: int, **more: Any) -> Any:
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


def _engine_moments(numbers: Any) -> Iterator[Point]:
    """Moments from the engine's overlaps per eigenvalue, beside the vectors."""
    from symderiv.dynamics.initial import Vectors, state_of_vectors

    for state in networks()[:4]:
        copies = state.N // state.L
        student, teacher = (np.array(v, dtype=float) for v in (state.student, state.teacher))
        variance = np.array(state.variance, dtype=float)
        vectors = Vectors(student, teacher, variance, np.arange(0, state.N + 1, copies))
        found = state_of_vectors(vectors, _study(state.K, state.M))
        offsets = (("Q", found.student_overlap, 0), ("R", found.cross_overlap, 1),
                   ("T", found.teacher_overlap, 2))  # fmt: skip
        point = network_points(state, numbers)
        values = dict(point.values)
        for name, overlap, offset in offsets:
            moments = [
                np.einsum("k,kij->ij", found.weight * found.eigenvalue ** (l - offset), overlap)
                for l in range(state.L + 1)
            ]
            sizes = ((1, size) for size in overlap.shape[1:])
            exact = [[[numbers.mpf(float(e)) for e in row] for row in m] for m in moments]
            values[name] = Indexed(exact, (0, state.L), *sizes)
        yield Point(point.label, values)


_SPACES = {
    "Q": ("x", "x", "J", "J", "K", "K"),
    "R": ("x", "y", "J", "B", "K", "M"),
    "T": ("y", "y", "B", "B", "M", "M"),
}


def _order_parameter(name: str) -> Iterator[Claim]:
    left, right, first, second, rows, columns = _SPACES[name]
    overlap = f"1/N*Sum(lambda_[a]**{{}}*{first}[i, a]*{second}[j, a], (a, 1, N))"
    ranges = f"i = 1..{rows}, j = 1..{columns}, l = 0..L"
    yield Claim(
        "order parameters of 2",
        f"cov({left}[i, l], {right}[j, l]) == {overlap.format('l')}",
        _MEANS,
        Exact(),
        ranges,
        part=f"{name}, covariance",
        printed="QRT".index(name),
        corrected=f"cov({left}[i, l], {right}[j, l]) == {overlap.format('(2*l + 1)')}",
        note="With x^(l) = xi Sigma^l J/sqrt(N) the covariance of two fields of order l has "
        "Sigma^(2l+1). The order parameter of order l is the covariance of a field of order l - 1 "
        "and a plain one.",
    )
    yield Claim(
        "order parameters of 2",
        f"{name}[l, i, j] == {overlap.format('l')}",
        _engine_moments,
        DOUBLES,
        ranges,
        part=f"{name}, definition",
        printed="QRT".index(name),
        definition=True,
        note="The engine's moments, from its overlaps per eigenvalue.",
    )


_ORDER_PARAMETERS = [claim for name in _SPACES for claim in _order_parameter(name)]


def _polynomials(numbers: Any) -> Iterator[Point]:
    """The engine's closure coefficients, at eigenvalues and elsewhere."""
    for state in networks():
        moments = moments_of(state, numbers)
        rho = [as_number(e, numbers) for e in state.eigenvalues]
        places = [numbers.mpf(-2) / 3, numbers.mpf(5) / 7, *rho]
        values = {
            "c": moments.indexed()["c"],
            "L": state.L,
            "K": state.K,
            "M": state.M,
            "lambda_": Indexed(rho, (1, state.L)),
            "z": Indexed(places, (1, len(places))),
            "places": len(places),
            "count": _equations_of(moments, numbers),
        }
        yield Point(state.label, values)


def _equations_of(moments: Moments, numbers: Any) -> int:
    """How many rates the engine has."""
    found = flow(moments, numbers.one, numbers)
    return sum(len(row) for rates in (found.dQ, found.dR) for rows in rates for row in rows)


def _closing(name: str, second: str, rows: str, columns: str) -> Claim:
    return Claim(
        "closure of 4",
        f"{name}[L, i, {second}] == -Sum(c[l]*{name}[l, i, {second}], (l, 0, L - 1))",
        _MEANS,
        Exact(lost=12),
        f"i = 1..{rows}, {second} = 1..{columns}",
        part=name,
        printed=1,
        symmetric=("Q", "T"),
    )


_CLOSURE = [
    Claim(
        "closure of 4",
        "Sum(c[k]*z[a]**k, (k, 0, L)) == Product(z[a] - lambda_[k], (k, 1, L))",
        _polynomials,
        Exact(scale=100.0),
        "a = 1..places",
        part="coefficients",
        printed=0,
        definition=True,
    ),
    Claim(
        "closure of 4",
        "-lambda_[a]**L == Sum(c[k]*lambda_[a]**k, (k, 0, L - 1))",
        _polynomials,
        Exact(scale=100.0),
        "a = 1..L",
        part="P vanishes",
        printed=0,
        note="Sum_k c_k Sigma^k = 0 with c_L = 1, eigenvalue by eigenvalue.",
    ),
    _closing("R", "n", "K", "M"),
    _closing("Q", "j", "K", "K"),
    _closing("T", "j", "M", "M"),
    Claim(
        "number of equations of 4",
        "count == (K*M + K**2)*L",
        _polynomials,
        Exact(),
        note="Entries of Q and R for l = 0 .. L-1; Q is symmetric, so (KM + K(K+1)/2) L of them "
        "are different.",
    ),
]

CLAIMS = (
    *_INPUTS,
    *_NETWORKS,
    _ACTIVATION,
    *_INITIALISATION,
    *_ORDER_PARAMETERS,
    _RULE,
    *_CLOSURE,
)
