"""Equations 58 to 67, 80 and 81: the mean flow of all weights and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from symderiv.verification.arithmetic import Indexed, extended
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Converges, Exact
from symderiv_papers.references.companion import Companion
from symderiv_papers.references.linear_flows import (
    VectorFlow,
    blocks,
    diagonal,
    random_covariance,
    sgd_error,
)

UNEQUAL: Final = (Fraction(9, 5), Fraction(4, 5), Fraction(2, 5))
FOUR: Final = (Fraction(2), Fraction(6, 5), Fraction(3, 5), Fraction(1, 5))
TIME: Final = Fraction(13, 10)


def _all_trained(numbers: Any) -> Iterator[Point]:
    """N/L = 2, 1, 3; a general spectrum and power laws."""
    yield diagonal(numbers, UNEQUAL, 2, 6, TIME)
    yield diagonal(numbers, FOUR, 1, 4, Fraction(1, 3))
    yield diagonal(numbers, (2, Fraction(2)), 3, 6, Fraction(5))


def _small_rates(numbers: Any) -> Iterator[Point]:
    """Exact SGD at finite N, η to 0 at fixed η α."""
    for spectrum, copies in ((UNEQUAL, 2), (FOUR, 1)):
        N = copies * len(spectrum)
        for part in (16, 32, 64):
            eta = Fraction(1, part)
            steps = N * part // 2
            point = diagonal(numbers, spectrum, copies, N, Fraction(part, 2))
            names = point.values
            matrix, deviation = names["covariance"], 1 + float(names["sigma_J"]) ** 2
            exact = sgd_error(matrix, (True,) * N, float(eta), deviation, steps)
            more = {"eta": numbers.one / part, "epsilon_g": numbers.mpf(exact)}
            series = f"N = {N}, L = {len(spectrum)}"
            yield Point(f"{series}, eta = {eta}", extended(names, more), float(eta), series)


def _general(numbers: Any) -> Iterator[Point]:
    """General covariances, at time 0."""
    return blocks(numbers, Fraction(0))


def _rotated(numbers: Any) -> Iterator[Point]:
    """General covariances, all components trained, in their eigenbasis."""
    for N, seed, copies in ((4, 7, 2), (3, 8, 1)):
        matrix = random_covariance(numbers, N, seed, copies)
        flow = VectorFlow(numbers, matrix, (True,) * N, TIME, N // copies, seed=seed)
        values, W = numbers.eigsy(matrix)
        start, teacher = flow.weights
        student = flow.student(start, teacher)
        point = flow.point(f"N = {N}, covariance {seed}")

        def column(vector: Any, N: int = N, W: Any = W) -> Indexed:
            return Indexed(list(W.T * vector), (1, N))

        more = {
            "W": W,
            "D": numbers.diag(list(values)),
            "rate": Indexed(list(values), (1, N)),
            "tilde_J": column(student),
            "tilde_J0": column(start),
            "tilde_B": column(teacher),
            "J": student,
            "B": teacher,
            "tilde_J_vector": W.T * student,
            "tilde_B_vector": W.T * teacher,
        }
        yield Point(point.label, extended(point.values, more))


def _without_fluctuations(numbers: Any) -> Iterator[Point]:
    """The moments without the terms of order η² beside the mean flow of the weights."""
    for spectrum in (UNEQUAL, FOUR):
        case = Companion(numbers, spectrum, Fraction(2), Fraction(0)).point().values
        point = diagonal(numbers, spectrum, 2, 2 * len(spectrum), TIME)
        L = len(spectrum)
        second = numbers.zeros(1, L)
        second[1] = numbers.one
        more = {
            "A_1": case["A_1"],
            "T": numbers.matrix([case["T"][(l,)] for l in range(L)]),
            "e_2": second,
            "error": numbers.matrix([[point.values["epsilon_g"]]]),
        }
        yield Point(point.label, extended(point.values, more))


SOLUTION: Final = "exp(-eta*lambda_[k]*alpha)*(J0[k] - B[k]) + B[k]"
DECAY: Final = "lambda_[k]*exp(-eta*lambda_[k]*alpha)"
FASTER: Final = "lambda_[k]*exp(-2*eta*lambda_[k]*alpha)"
CLAIMS: tuple[Claim, ...] = (
    Claim(
        "58",
        "step[a] == -eta*gradient[a]",
        _general,
        Exact(),
        ranges="a = 1..N",
        regime="the engine's step -eta/sqrt(N) delta xi for one input",
        definition=True,
        where="step is J after minus J before, gradient that of the loss of one example",
    ),
    Claim(
        "59",
        "drift[a] == -eta*grad_epsilon_g[a]",
        _general,
        Exact(),
        ranges="a = 1..N",
        part="drift",
        given="epsilon_g = (J - B) Sigma (J - B)/(2 N) and one step of equation 58 per example, N "
        "of them per unit of alpha",
        corrected="drift[a] == -eta*N*grad_epsilon_g[a]",
        note="A unit of alpha has N steps, each with the gradient of epsilon_g on average.",
        where="drift is the mean change of J per unit of alpha",
    ),
    Claim(
        "59",
        part="noise",
        not_checkable="the matrix C of the noise is not given. Per unit of alpha the noise has "
        "eta^2 times the covariance of xi delta, so that gamma would have to be of order sqrt(N)",
    ),
    Claim(
        "60",
        "drift[a] == -eta*grad_epsilon_g[a] == -eta*Sum(Sigma[a, b]*(J0[b] - B[b]), (b, 1, N))",
        _general,
        Exact(),
        ranges="a = 1..N",
        symmetric=("Sigma",),
        corrected="drift[a] == -eta*N*grad_epsilon_g[a]"
        " == -eta*Sum(Sigma[a, b]*(J0[b] - B[b]), (b, 1, N))",
        note="As in equation 59: the gradient of epsilon_g is Sigma (J - B)/N.",
        where="drift is the mean change of J per unit of alpha",
    ),
    Claim(
        "60",
        "drift[a] == -eta*Sum(Sigma[a, b]*(J0[b] - B[b]), (b, 1, N))",
        _general,
        Exact(),
        ranges="a = 1..N",
        part="end",
        symmetric=("Sigma",),
        regime="the mean over inputs, at any eta",
        where="drift is the mean change of J per unit of alpha",
    ),
    Claim("61", f"J[k] == {SOLUTION}", _all_trained, Exact(), ranges="k = 1..N"),
    Claim(
        "62",
        "R == Sum(J[k]*lambda_[k]*B[k]/N, (k, 1, N))"
        f" == 1/N*Sum(({SOLUTION})*lambda_[k]*B[k], (k, 1, N))",
        _all_trained,
        Exact(),
        where="R and Q are J Sigma B/N and J Sigma J/N",
    ),
    Claim(
        "63",
        "Q == Sum(J[k]*lambda_[k]*J[k]/N, (k, 1, N))"
        f" == 1/N*Sum(({SOLUTION})**2*lambda_[k], (k, 1, N))",
        _all_trained,
        Exact(),
        where="R and Q are J Sigma B/N and J Sigma J/N",
    ),
    Claim("64", f"mean_R == 1 - 1/N*Sum({DECAY}, (k, 1, N))", _all_trained, Exact()),
    Claim(
        "65",
        f"mean_Q == 1 + (1 + sigma_J**2)/N*Sum({FASTER}, (k, 1, N)) - 2/N*Sum({DECAY}, (k, 1, N))",
        _all_trained,
        Exact(),
    ),
    Claim(
        "66",
        f"epsilon_g == (1 + sigma_J**2)/(2*N)*Sum({FASTER}, (k, 1, N))",
        _all_trained,
        Exact(),
    ),
    Claim(
        "67",
        f"epsilon_g == (1 + sigma_J**2)/(2*N)*Sum({FASTER}, (k, 1, N))"
        f" == (1 + sigma_J**2)/(2*L)*Sum({FASTER}, (k, 1, L))",
        _all_trained,
        Exact(),
    ),
    Claim(
        "67",
        f"epsilon_g == (1 + sigma_J**2)/(2*N)*Sum({FASTER}, (k, 1, N))"
        f" == (1 + sigma_J**2)/(2*L)*Sum({FASTER}, (k, 1, L))",
        _small_rates,
        Converges(1.0),
        part="SGD",
        regime="eta to 0 at eta alpha = 1/2: exact mean of SGD with fluctuations, N = 6 and 4",
    ),
    Claim(
        "after 67",
        "error == (1 + sigma_J**2)/2*e_2 @ expm(2*eta*alpha*A_1) @ T",
        _without_fluctuations,
        Exact(),
        regime="equation 24 without its terms of order eta squared, against the mean flow",
        where="T = (T^(0), ..., T^(L-1)), e_2 picks the second entry",
    ),
    Claim(
        "80",
        "tilde_J[i] == exp(-eta*rate[i]*alpha)*(tilde_J0[i] - tilde_B[i]) + tilde_B[i]",
        _rotated,
        Exact(),
        ranges="i = 1..N",
        where="rate[i] is the i-th eigenvalue, entry i of D",
    ),
    Claim(
        "81",
        "Q_1 == transpose(J) @ covariance @ J/N == transpose(J) @ W @ D @ transpose(W) @ J/N"
        " == transpose(tilde_J_vector) @ D @ tilde_J_vector/N",
        _rotated,
        Exact(),
        part="Q",
        printed=0,
    ),
    Claim(
        "81",
        "R_1 == transpose(J) @ covariance @ B/N == transpose(J) @ W @ D @ transpose(W) @ B/N"
        " == transpose(tilde_J_vector) @ D @ tilde_B_vector/N",
        _rotated,
        Exact(),
        part="R",
        printed=1,
    ),
    Claim(
        "after 81",
        not_checkable="an exponent that was read off the spectrum of images, which are not here",
    ),
)
