"""Gaussian data, one positivity constraint: equations 6 to 13."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from symderiv.verification.claim import Claim, Point
from symderiv_papers.relu_localization.flow import all_points
from symderiv_papers.relu_localization.populations import population_points
from symderiv_papers.relu_localization.references import gaussian_points
from symderiv_papers.relu_localization.rules import IN_BALLS
from symderiv_papers.relu_localization.splits import with_one_constraint

__all__ = ["CLAIMS"]

_NORM = "Sum(w[1, a]*Sigma1[a, b]*w[1, b], (a, 1, n), (b, 1, n))"
_IMAGE = "Sum(Sigma1[i, j]*w[1, j], (j, 1, n))"
_REST = "Sum((delta(i, j) - v[i]*w[1, j])*X[j], (j, 1, n))"
_SYMMETRIC = ("Sigma1",)
_GAUSSIAN = "Gaussian X given Y = 1, any covariance"


def _any_input(numbers: Any) -> Iterator[Point]:
    yield from with_one_constraint(all_points(numbers), numbers)


def _gaussian(numbers: Any) -> Iterator[Point]:
    yield from with_one_constraint(gaussian_points(numbers), numbers)


def _not_gaussian(numbers: Any) -> Iterator[Point]:
    yield from with_one_constraint(population_points(numbers), numbers)


def _symmetric(numbers: Any) -> Iterator[Point]:
    """Laws that are symmetric about 0: without the first population."""
    yield from _gaussian(numbers)
    yield from with_one_constraint(islice(population_points(numbers), 1, None), numbers)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "6",
        "E1(theta(S)*X[i]) == E1given(E1of(X[i], S), theta(S))*P1(theta(S))",
        _any_input,
        IN_BALLS,
        "i = 1..n",
        regime="any input",
        note="E1(theta(S) f) is E[f 1(S > 0) | Y = 1], the event kept; E1given(f, theta(S)) is the "
        "conditional mean E[f | S > 0, Y = 1], the same over P1(theta(S)) = P(S > 0 | Y = 1); "
        "E1of(X, S) is E[X | S, Y = 1]. Left the event is kept; right the outer mean is "
        "conditional, so the factor P(S > 0 | Y = 1) belongs there.",
    ),
    Claim(
        "7",
        "x[i] == Sum(A[i, j]*x[j], (j, 1, n)) + s*v[i]",
        _any_input,
        IN_BALLS,
        "i = 1..n",
        given="equations 8 and 9",
        regime="an identity for every x; s = <w_1, x>",
    ),
    Claim(
        "8",
        f"E1(X[i]*S)/E1(S**2) == 1/{_NORM}*{_IMAGE}",
        _any_input,
        IN_BALLS,
        "i = 1..n",
        definition=True,
        symmetric=_SYMMETRIC,
        note="v is the regression of X on S; Sigma_1 is the second moment if X is not centred.",
    ),
    Claim(
        "9",
        "E1((X[i] - S*E1(X[i]*S)/E1(S**2))*X[l])"
        " == Sum((delta(i, j) - v[i]*w[1, j])*Sigma1[j, l], (j, 1, n))",
        _any_input,
        IN_BALLS,
        "i = 1..n, l = 1..n",
        definition=True,
        symmetric=_SYMMETRIC,
        note="AX is what regression on S leaves of X.",
    ),
    Claim(
        "after 9",
        f"0 == E1({_REST}*S)",
        _any_input,
        IN_BALLS,
        "i = 1..n",
        part="zero covariance",
        regime="any input",
    ),
    Claim(
        "after 9",
        f"E1({_REST}**2*theta(S)) == E1({_REST}**2)*P1(theta(S))",
        _gaussian,
        IN_BALLS,
        "i = 1..n",
        part="independent, Gaussian X",
        regime=_GAUSSIAN,
    ),
    Claim(
        "after 9",
        f"Sum(E1({_REST}*theta(S))**2, (i, 1, n)) > 0",
        _not_gaussian,
        IN_BALLS,
        part="dependent, other X",
        regime="single pulses, symmetric or not, and inputs of the NLGP at gain 3",
        note="E[AX 1(S > 0)] does not vanish, so that equations 10 to 12 get another term for such "
        "inputs.",
    ),
    Claim(
        "10",
        "E1(theta(S)*X[i])/P1(theta(S)) == E1given(S*v[i], theta(S))*P1(theta(S))",
        _gaussian,
        IN_BALLS,
        "i = 1..n",
        corrected="E1(theta(S)*X[i]) == E1given(S*v[i], theta(S))*P1(theta(S))",
        regime=_GAUSSIAN,
        note="The left side is written with the condition behind the bar, a conditional mean, "
        "which is twice the right side. Read with the event kept, as in equations 6 and 11, the "
        "line is right.",
    ),
    Claim(
        "after 10",
        "E1(E1of(X[i], S)*X[l]) == E1(S*v[i]*X[l])",
        _gaussian,
        IN_BALLS,
        "i = 1..n, l = 1..n",
        part="mean of X given S",
        regime=_GAUSSIAN,
    ),
    Claim(
        "after 10",
        "E1((X[i] - E1of(X[i], S))*(X[l] - E1of(X[l], S)))"
        " == Sum(A[i, a]*Sigma1[a, b]*A[l, b], (a, 1, n), (b, 1, n))",
        _gaussian,
        IN_BALLS,
        "i = 1..n, l = 1..n",
        part="covariance of X given S",
        symmetric=_SYMMETRIC,
        regime=_GAUSSIAN,
    ),
    Claim(
        "after 10",
        f"E1given(S, theta(S)) == (2/pi*{_NORM})**(1/2)",
        _gaussian,
        IN_BALLS,
        part="mean of a positive part",
        symmetric=_SYMMETRIC,
        regime=_GAUSSIAN,
    ),
    Claim(
        "11",
        f"E1(theta(S)*X[i]) == 1/sqrt(2*pi)*({_NORM})**(-1/2)*{_IMAGE}",
        _gaussian,
        IN_BALLS,
        "i = 1..n",
        symmetric=_SYMMETRIC,
        regime=_GAUSSIAN,
        note="The end of equations 6 to 11: E[X 1(S > 0) | Y = 1], the event kept. The conditional "
        "mean is twice this.",
    ),
    Claim(
        "12",
        "E1(theta(S)*S*X[i])/P1(theta(S)) == E1given(S*E1of(X[i], S), theta(S))*P1(theta(S))"
        " == 1/2*E1given(S**2, theta(S))*v[i]",
        _gaussian,
        IN_BALLS,
        "i = 1..n",
        corrected="E1(theta(S)*S*X[i]) == E1given(S*E1of(X[i], S), theta(S))*P1(theta(S))"
        " == 1/2*E1given(S**2, theta(S))*v[i]",
        regime=_GAUSSIAN,
        note="As in equation 10 the left side is written as a conditional mean, twice the rest; "
        "with the event kept, as in equation 13, both equalities are right.",
    ),
    Claim(
        "after 12",
        f"E1given(S**2, theta(S)) == E1(S**2) == {_NORM}",
        _symmetric,
        IN_BALLS,
        symmetric=_SYMMETRIC,
        regime="any X that is symmetric about 0",
        note="Single pulses with support {0, 1} are not symmetric; there it does not hold.",
    ),
    Claim(
        "13",
        f"E1(theta(S)*S*X[i]) == 1/2*{_NORM}*(1/{_NORM}*{_IMAGE}) == 1/2*{_IMAGE}",
        _symmetric,
        IN_BALLS,
        "i = 1..n",
        symmetric=_SYMMETRIC,
        regime="any X that is symmetric about 0, Gaussian or not, because S X is even",
    ),
)
