"""Equations 68 to 78: overlaps and error when some components are learned, as sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final

from symderiv.verification.arithmetic import extended
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Exact
from symderiv_papers.references.linear_flows import (
    END,
    diagonal,
)
from symderiv_papers.worschech_rosenow.scaling_flow import (
    DECAY,
    FASTER,
    FOUR,
    SOLUTION,
    TIME,
    UNEQUAL,
)

Points = Callable[[Any], Iterator[Point]]

_POWER: Final = (5, Fraction(1, 2))


def _some_trained(time: Fraction) -> Points:
    """N_l of the N components; N_l smaller and larger than L."""

    def points(numbers: Any) -> Iterator[Point]:
        yield diagonal(numbers, UNEQUAL, 2, 4, time)
        yield diagonal(numbers, FOUR, 2, 2, time)
        yield diagonal(numbers, _POWER, 1, 3, time)

    return points


def _some_spaces(time: Fraction) -> Points:
    """N_l of the L eigenvalues with all their components."""

    def points(numbers: Any) -> Iterator[Point]:
        yield diagonal(numbers, UNEQUAL, 2, 2, time, spaces=True)
        yield diagonal(numbers, FOUR, 1, 2, time, spaces=True)
        yield diagonal(numbers, _POWER, 1, 3, time, spaces=True)
        yield diagonal(numbers, UNEQUAL, 1, 3, time, spaces=True)

    return points


def _power_laws(numbers: Any) -> Iterator[Point]:
    for size, beta, trained in ((5, Fraction(1, 2), 3), (4, Fraction(2), 1)):
        point = diagonal(numbers, (size, beta), 2, trained, END, spaces=True)
        names = point.values
        total = 2 * names["epsilon_g"] / (1 + names["sigma_J"] ** 2)
        yield Point(f"{point.label}, beta = {beta}", extended(names, {"S": total}))


_FROZEN_R: Final = "Sum(lambda_[k]*J0[k]*B[k], (k, N_l + 1, N))"
_FROZEN_Q: Final = "Sum(lambda_[k]*J0[k]*J0[k], (k, N_l + 1, N))"
_LEARNED: Final = "Sum(lambda_[k]*B[k]**2, (k, 1, N_l))"
_SUM_71: Final = (
    "epsilon_g == (1 + sigma_J**2)/2*(1 - 1/L*Sum(lambda_[k], (k, 1, N_l)))"
    " == (1 + sigma_J**2)/2*1/L*Sum(lambda_[k], (k, {}, L))"
)

CLAIMS: tuple[Claim, ...] = (
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
        f"J[k] == If(k <= N_l, {SOLUTION}, J0[k])",
        _some_trained(TIME),
        Exact(),
        ranges="k = 1..N",
        definition=True,
        where="J is what the mean flow of N_l components gives",
    ),
    Claim(
        "76",
        "R == 1/N*Sum(lambda_[k]*J[k]*B[k], (k, 1, N))"
        f" == 1/N*(Sum(lambda_[k]*J[k], (k, 1, N_l)) + {_FROZEN_R})",
        _some_trained(TIME),
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
        f"R == 1/N*Sum(lambda_[k]*({SOLUTION})*B[k], (k, 1, N)) + 1/N*{_FROZEN_R}",
        _some_trained(TIME),
        Exact(),
        part="end of R",
        printed=0,
        corrected=f"R == 1/N*Sum(lambda_[k]*({SOLUTION})*B[k], (k, 1, N_l)) + 1/N*{_FROZEN_R}",
        note="The first sum ends at N_l; the limit could not be read with certainty.",
        reading="reconstructed",
        where="R and Q are J Sigma B/N and J Sigma J/N for the J of equation 75",
    ),
    Claim(
        "76",
        "Q == 1/N*Sum(lambda_[k]*J[k]*J[k], (k, 1, N))"
        f" == 1/N*(Sum(lambda_[k]*J[k]**2, (k, 1, N_l)) + {_FROZEN_Q})"
        f" == 1/N*(Sum(lambda_[k]*({SOLUTION})**2, (k, 1, N_l)) + {_FROZEN_Q})",
        _some_trained(TIME),
        Exact(),
        part="Q",
        printed=1,
        where="R and Q are J Sigma B/N and J Sigma J/N for the J of equation 75",
    ),
    Claim(
        "77",
        f"mean_R == 1/N*Sum(lambda_[k], (k, 1, N_l)) - 1/N*Sum({DECAY}, (k, 1, N_l))",
        _some_trained(TIME),
        Exact(),
        part="R",
        printed=0,
    ),
    Claim(
        "77",
        f"mean_Q == (1 + sigma_J**2)/N*Sum({FASTER}, (k, 1, N_l))"
        f" - 2/N*Sum({DECAY}, (k, 1, N_l)) + 1/N*Sum(lambda_[k], (k, 1, N_l))"
        " + sigma_J**2/N*Sum(lambda_[k], (k, N_l + 1, N))",
        _some_trained(TIME),
        Exact(),
        part="Q",
        printed=1,
    ),
    Claim(
        "78",
        "epsilon_g == (1 + sigma_J**2)/(2*L)"
        f"*(Sum({FASTER}, (k, 1, N_l)) + Sum(lambda_[k], (k, N_l, L)))",
        _some_spaces(TIME),
        Exact(),
        regime="N_l eigenvalues with all their components",
        corrected="epsilon_g == (1 + sigma_J**2)/(2*L)"
        f"*(Sum({FASTER}, (k, 1, N_l)) + Sum(lambda_[k], (k, N_l + 1, L)))",
        note="The sum over what is not learned starts at N_l + 1: as printed the error with all "
        "components trained would not be equation 67.",
    ),
)
