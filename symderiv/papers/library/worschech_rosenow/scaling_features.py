"""Equations 58 to 81 but for integrals: mean flow of the weights, all or some of them learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final

from symderiv.papers.arithmetic import Indexed, extended
from symderiv.papers.claim import Claim, Point
from symderiv.papers.companion import Companion
from symderiv.papers.linear_flows import (
    END,
    VectorFlow,
    blocks,
    diagonal,
    random_covariance,
    sgd_error,
)
from symderiv.papers.rules import Converges, Exact

Points = Callable[[Any], Iterator[Point]]

_UNEQUAL: Final = (Fraction(9, 5), Fraction(4, 5), Fraction(2, 5))
_FOUR: Final = (Fraction(2), Fraction(6, 5), Fraction(3, 5), Fraction(1, 5))
_POWER: Final = (5, Fraction(1, 2))
_TIME: Final = Fraction(13, 10)


def _all_trained(numbers: Any) -> Iterator[Point]:
    """N/L = 2, 1, 3; a general spectrum and power laws."""
    yield diagonal(numbers, _UNEQUAL, 2, 6, _TIME)
    yield diagonal(numbers, _FOUR, 1, 4, Fraction(1, 3))
    yield diagonal(numbers, (2, Fraction(2)), 3, 6, Fraction(5))


def _small_rates(numbers: Any) -> Iterator[Point]:
    """Exact SGD at finite N, η to 0 at fixed η α."""
    for spectrum, copies in ((_UNEQUAL, 2), (_FOUR, 1)):
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


def _some_trained(time: Fraction) -> Points:
    """N_l of the N components; N_l smaller and larger than L."""

    def points(numbers: Any) -> Iterator[Point]:
        yield diagonal(numbers, _UNEQUAL, 2, 4, time)
        yield diagonal(numbers, _FOUR, 2, 2, time)
        yield diagonal(numbers, _POWER, 1, 3, time)

    return points


def _some_spaces(time: Fraction) -> Points:
    """N_l of the L eigenvalues with all their components."""

    def points(numbers: Any) -> Iterator[Point]:
        yield diagonal(numbers, _UNEQUAL, 2, 2, time, spaces=True)
        yield diagonal(numbers, _FOUR, 1, 2, time, spaces=True)
        yield diagonal(numbers, _POWER, 1, 3, time, spaces=True)
        yield diagonal(numbers, _UNEQUAL, 1, 3, time, spaces=True)

    return points


def _power_laws(numbers: Any) -> Iterator[Point]:
    for size, beta, trained in ((5, Fraction(1, 2), 3), (4, Fraction(2), 1)):
        point = diagonal(numbers, (size, beta), 2, trained, END, spaces=True)
        names = point.values
        total = 2 * names["epsilon_g"] / (1 + names["sigma_J"] ** 2)
        yield Point(f"{point.label}, beta = {beta}", extended(names, {"S": total}))


def _general(numbers: Any) -> Iterator[Point]:
    """General covariances, at time 0."""
    return blocks(numbers, Fraction(0))


def _rotated(numbers: Any) -> Iterator[Point]:
    """General covariances, all components trained, in their eigenbasis."""
    for N, seed, copies in ((4, 7, 2), (3, 8, 1)):
        matrix = random_covariance(numbers, N, seed, copies)
        flow = VectorFlow(numbers, matrix, (True,) * N, _TIME, N // copies, seed=seed)
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
    for spectrum in (_UNEQUAL, _FOUR):
        case = Companion(numbers, spectrum, Fraction(2), Fraction(0)).point().values
        point = diagonal(numbers, spectrum, 2, 2 * len(spectrum), _TIME)
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


_SOLUTION: Final = "exp(-eta*lambda_[k]*alpha)*(J0[k] - B[k]) + B[k]"
_DECAY: Final = "lambda_[k]*exp(-eta*lambda_[k]*alpha)"
_FASTER: Final = "lambda_[k]*exp(-2*eta*lambda_[k]*alpha)"
_FROZEN_R: Final = "Sum(lambda_[k]*J0[k]*B[k], (k, N_l + 1, N))"
_FROZEN_Q: Final = "Sum(lambda_[k]*J0[k]*J0[k], (k, N_l + 1, N))"
_LEARNED: Final = "Sum(lambda_[k]*B[k]**2, (k, 1, N_l))"
_SUM_71: Final = (
    "epsilon_g == (1 + sigma_J**2)/2*(1 - 1/L*Sum(lambda_[k], (k, 1, N_l)))"
    " == (1 + sigma_J**2)/2*1/L*Sum(lambda_[k], (k, {}, L))"
)

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
    Claim("61", f"J[k] == {_SOLUTION}", _all_trained, Exact(), ranges="k = 1..N"),
    Claim(
        "62",
        "R == Sum(J[k]*lambda_[k]*B[k]/N, (k, 1, N))"
        f" == 1/N*Sum(({_SOLUTION})*lambda_[k]*B[k], (k, 1, N))",
        _all_trained,
        Exact(),
        where="R and Q are J Sigma B/N and J Sigma J/N",
    ),
    Claim(
        "63",
        "Q == Sum(J[k]*lambda_[k]*J[k]/N, (k, 1, N))"
        f" == 1/N*Sum(({_SOLUTION})**2*lambda_[k], (k, 1, N))",
        _all_trained,
        Exact(),
        where="R and Q are J Sigma B/N and J Sigma J/N",
    ),
    Claim("64", f"mean_R == 1 - 1/N*Sum({_DECAY}, (k, 1, N))", _all_trained, Exact()),
    Claim(
        "65",
        f"mean_Q == 1 + (1 + sigma_J**2)/N*Sum({_FASTER}, (k, 1, N))"
        f" - 2/N*Sum({_DECAY}, (k, 1, N))",
        _all_trained,
        Exact(),
    ),
    Claim(
        "66",
        f"epsilon_g == (1 + sigma_J**2)/(2*N)*Sum({_FASTER}, (k, 1, N))",
        _all_trained,
        Exact(),
    ),
    Claim(
        "67",
        f"epsilon_g == (1 + sigma_J**2)/(2*N)*Sum({_FASTER}, (k, 1, N))"
        f" == (1 + sigma_J**2)/(2*L)*Sum({_FASTER}, (k, 1, L))",
        _all_trained,
        Exact(),
    ),
    Claim(
        "67",
        f"epsilon_g == (1 + sigma_J**2)/(2*N)*Sum({_FASTER}, (k, 1, N))"
        f" == (1 + sigma_J**2)/(2*L)*Sum({_FASTER}, (k, 1, L))",
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
        "68",
        "J[k] == If(k <= N_l, B[k], J0[k])",
        _some_trained(END),
        Exact(),
        ranges="k = 1..N",
        regime="what the flow of N_l components ends in",
        definition=True,
    ),
    Claim(
        "69",
        f"R == 1/N*Sum(lambda_[k]*J[k]*B[k], (k, 1, N)) == 1/N*({_LEARNED} + {_FROZEN_R})",
        _some_trained(END),
        Exact(),
        part="R",
        printed=0,
        where="R and Q are J Sigma B/N and J Sigma J/N for the J of equation 68",
    ),
    Claim(
        "69",
        f"Q == 1/N*Sum(lambda_[k]*J[k]*J[k], (k, 1, N)) == 1/N*({_LEARNED} + {_FROZEN_Q})",
        _some_trained(END),
        Exact(),
        part="Q",
        printed=1,
        where="R and Q are J Sigma B/N and J Sigma J/N for the J of equation 68",
    ),
    Claim(
        "70",
        "mean_R == 1/N*Sum(lambda_[a], (a, 1, N_l))",
        _some_trained(END),
        Exact(),
        part="R",
        printed=0,
    ),
    Claim(
        "70",
        "mean_Q == 1/N*Sum(lambda_[k], (k, 1, N_l))"
        " + sigma_J**2/N*Sum(lambda_[k], (k, N_l + 1, N))",
        _some_trained(END),
        Exact(),
        part="Q",
        printed=1,
    ),
    Claim(
        "71",
        _SUM_71.format("N_l"),
        _some_spaces(END),
        Exact(),
        regime="N_l eigenvalues with all their components; for N = L these are N_l components",
        corrected=_SUM_71.format("N_l + 1"),
        note="What is not learned starts at N_l + 1.",
    ),
    Claim(
        "72",
        "epsilon_g == (1 + sigma_J**2)/2*S",
        _power_laws,
        Exact(),
        part="error",
        printed=0,
        given="S of the next claim",
        definition=True,
    ),
    Claim(
        "72",
        "S == lambda_plus/L*Sum((1/i)**(1 + beta), (k, N_l, L))",
        _power_laws,
        Exact(),
        ranges="i = 1..L",
        part="S",
        printed=1,
        corrected="S == lambda_plus/L*Sum((1/k)**(1 + beta), (k, N_l + 1, L))",
        note="The sum starts at N_l + 1, and its summand has the index k.",
    ),
    Claim(
        "75",
        f"J[k] == If(k <= N_l, {_SOLUTION}, J0[k])",
        _some_trained(_TIME),
        Exact(),
        ranges="k = 1..N",
        definition=True,
        where="J is what the mean flow of N_l components gives",
    ),
    Claim(
        "76",
        "R == 1/N*Sum(lambda_[k]*J[k]*B[k], (k, 1, N))"
        f" == 1/N*(Sum(lambda_[k]*J[k], (k, 1, N_l)) + {_FROZEN_R})",
        _some_trained(_TIME),
        Exact(),
        part="R",
        printed=0,
        corrected="R == 1/N*Sum(lambda_[k]*J[k]*B[k], (k, 1, N))"
        f" == 1/N*(Sum(lambda_[k]*J[k]*B[k], (k, 1, N_l)) + {_FROZEN_R})",
        note="The factor B_k is missing in the first sum of the second form.",
        reading="printed",
        where="R and Q are J Sigma B/N and J Sigma J/N for the J of equation 75",
    ),
    Claim(
        "76",
        f"R == 1/N*Sum(lambda_[k]*({_SOLUTION})*B[k], (k, 1, N)) + 1/N*{_FROZEN_R}",
        _some_trained(_TIME),
        Exact(),
        part="end of R",
        printed=0,
        corrected=f"R == 1/N*Sum(lambda_[k]*({_SOLUTION})*B[k], (k, 1, N_l)) + 1/N*{_FROZEN_R}",
        note="The first sum ends at N_l; the limit could not be read with certainty.",
        reading="reconstructed",
        where="R and Q are J Sigma B/N and J Sigma J/N for the J of equation 75",
    ),
    Claim(
        "76",
        "Q == 1/N*Sum(lambda_[k]*J[k]*J[k], (k, 1, N))"
        f" == 1/N*(Sum(lambda_[k]*J[k]**2, (k, 1, N_l)) + {_FROZEN_Q})"
        f" == 1/N*(Sum(lambda_[k]*({_SOLUTION})**2, (k, 1, N_l)) + {_FROZEN_Q})",
        _some_trained(_TIME),
        Exact(),
        part="Q",
        printed=1,
        where="R and Q are J Sigma B/N and J Sigma J/N for the J of equation 75",
    ),
    Claim(
        "77",
        f"mean_R == 1/N*Sum(lambda_[k], (k, 1, N_l)) - 1/N*Sum({_DECAY}, (k, 1, N_l))",
        _some_trained(_TIME),
        Exact(),
        part="R",
        printed=0,
    ),
    Claim(
        "77",
        f"mean_Q == (1 + sigma_J**2)/N*Sum({_FASTER}, (k, 1, N_l))"
        f" - 2/N*Sum({_DECAY}, (k, 1, N_l)) + 1/N*Sum(lambda_[k], (k, 1, N_l))"
        " + sigma_J**2/N*Sum(lambda_[k], (k, N_l + 1, N))",
        _some_trained(_TIME),
        Exact(),
        part="Q",
        printed=1,
    ),
    Claim(
        "78",
        "epsilon_g == (1 + sigma_J**2)/(2*L)"
        f"*(Sum({_FASTER}, (k, 1, N_l)) + Sum(lambda_[k], (k, N_l, L)))",
        _some_spaces(_TIME),
        Exact(),
        regime="N_l eigenvalues with all their components",
        corrected="epsilon_g == (1 + sigma_J**2)/(2*L)"
        f"*(Sum({_FASTER}, (k, 1, N_l)) + Sum(lambda_[k], (k, N_l + 1, L)))",
        note="The sum over what is not learned starts at N_l + 1: as printed the error with all "
        "components trained would not be equation 67.",
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
