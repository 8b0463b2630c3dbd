"""The second derivation in normalised variables: equations 59 to 76."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from symderiv.verification.arithmetic import evaluate
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Exact
from symderiv.verification.statement import Statement, parse_statement
from symderiv_papers.relu_localization.quadrant import UNITS
from symderiv_papers.relu_localization.references import gaussian_points, moderate_points
from symderiv_papers.relu_localization.rules import IN_DOUBLES
from symderiv_papers.relu_localization.splits import with_two_constraints
from symderiv_papers.relu_localization.two_constraints import EVENT, TWO, gaussian
from symderiv_papers.relu_localization.variables import moment_formula

__all__ = ["CLAIMS"]

_CORRELATIONS = (-0.8125, -0.375, 0.25, 0.6875, 0.9375)


@functools.lru_cache(maxsize=4)
def _kept_moment(power: int) -> Statement:
    """The engine's E[x^power θ(x)] for x ~ N(m, c11)."""
    import sympy as sp

    from symderiv.gaussian import covariance_symbols, expectation

    x, m = sp.symbols("x m")
    found = expectation(x**power * sp.Heaviside(x), [x], covariance_symbols(1), mean=sp.Matrix([m]))
    return parse_statement(f"0 == {found.value}")


def _values(rho: Any, t: Any, numbers: Any) -> dict[str, Any]:
    """rho, T' = t, and moments of S' given it with the event S' > 0 kept: kept0, kept1, kept2.

    ``second`` is E[(S')^2 1(S' > 0) 1(T' > 0)], also that of (T')^2; ``both`` is P(S' > 0, T' > 0).
    """
    given = {"m": rho * t, "c11": 1 - rho**2}
    one = numbers.mpf(1)
    entries = {"c11": one, "c12": one, "c22": one, "c33": one, "c44": one}
    entries |= {"c13": one, "c14": rho, "c23": one, "c24": rho, "c34": rho}
    known = {
        f"kept{power}": evaluate(_kept_moment(power).sides[1], given, numbers) for power in range(3)
    }
    both = {"c11": one, "c12": rho, "c22": one}
    return known | {
        "rho": rho,
        "t": t,
        "second": evaluate(moment_formula(2, 2).sides[1], entries, numbers),
        "both": evaluate(moment_formula(0, 2).sides[1], both, numbers),
    }


def _moderate(numbers: Any) -> Iterator[Point]:
    yield from with_two_constraints(moderate_points(numbers), numbers)


def _scalars(numbers: Any) -> Iterator[Point]:
    """Both signs of rho, several values of T' > 0."""
    for rho in _CORRELATIONS:
        for t in (0.25, 1.125, 2.5):
            values = _values(numbers.mpf(rho), numbers.mpf(t), numbers)
            yield Point(f"rho = {rho}, T' = {t}", values)


def _correlations(numbers: Any) -> Iterator[Point]:
    """Both signs of rho."""
    for rho in _CORRELATIONS:
        yield Point(f"rho = {rho}", _values(numbers.mpf(rho), numbers.mpf(1), numbers))


_REGIME = "-1 < rho < 1, both signs"
_PHI = "exp(-t**2/2)/sqrt(2*pi)"
_ERF = "erf(rho*t/sqrt(2*(1 - rho**2)))"
_NORMAL_OF_GAMMA = "1/sqrt(2*pi*(1 - gamma[k]**2))*exp(-(s - gamma[k]*t)**2/(2*(1 - gamma[k]**2)))"
_NORMAL = "1/sqrt(2*pi*(1 - rho**2))*exp(-1/2*((s - rho*t)/sqrt(1 - rho**2))**2)"
_FOLDED = "(rho*t)**2 + (1 - rho**2)"
_FOLDED_OTHERWISE = "1 + (t**2 - 1)*rho**2"
#: Density over probability of the edge of the truncated normal.
_EDGE = f"rho*t*sqrt(1 - rho**2)*sqrt(2/pi)*exp(-(rho*t)**2/(2*(1 - rho**2)))/(1 + {_ERF})"
_EQUATION_67 = f"1/2*Integral({_PHI}*((1 + (t**2 - 1)*rho**2)*(1 + {_ERF})), (t, 0, oo))"
_EDGE_TERM = (
    f"Integral({_PHI}*(rho*t*sqrt(1 - rho**2)/sqrt(2*pi)"
    "*exp(-(rho*t)**2/(2*(1 - rho**2)))), (t, 0, oo))"
)
_FIRST_TERM = f"Integral({_PHI}*(1 + (t**2 - 1)*rho**2), (t, 0, oo))"
_SECOND_TERM = f"(1 - rho**2)*Integral({_PHI}*{_ERF}, (t, 0, oo))"
_THIRD_TERM = f"rho**2*Integral({_PHI}*t**2*{_ERF}, (t, 0, oo))"
_ARCTAN = "atan(sqrt(1 - rho**2)/rho)"
_EQUATION_74 = (
    f"rho**2/(sqrt(2*pi)*2*sqrt(pi))*(2**(3/2)*{_ARCTAN}"
    " - rho/sqrt(2*(1 - rho**2))/(1/2*(rho**2/(1 - rho**2) + 1/2)))"
)
_EQUATION_75 = (
    f"rho**2/(2*sqrt(2*pi))*(2**(3/2)*{_ARCTAN} - 2*sqrt(2)*rho*sqrt(1 - rho**2)/(3*rho**2 + 1))"
)
_EQUATION_76 = f"sqrt(2/pi)*(1 - rho**2)*exp(-rho**2*t**2/(2*sqrt(1 - rho**2))) + rho*t*{_ERF}"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "59",
        "E1(S/sqrt(rho[1, 1])*(T[k]/sqrt(rho[k, k]))) == gamma[k]",
        gaussian_points,
        Exact(),
        UNITS,
        part="correlation",
        definition=True,
        note="rho of the notes from here on is the gamma of equation 44.",
    ),
    Claim(
        "59",
        "1 == E1((S/sqrt(rho[1, 1]))**2) == E1((T[k]/sqrt(rho[k, k]))**2)",
        gaussian_points,
        Exact(),
        UNITS,
        part="variances",
        definition=True,
    ),
    Claim(
        "60",
        f"E1({EVENT}*(S/sqrt(rho[1, 1]))**2) == E1(theta(Sp)*theta(Tp[k])*Sp**2)",
        gaussian,
        Exact(),
        UNITS,
        note="Sp and Tp[k] are S' and T'. With the events kept; with conditional means it holds "
        "as well, because the events are the same.",
    ),
    Claim(
        "61",
        f"E1(theta(Sp)*theta(Tp[k])*Sp**2) == Integral({_PHI}"
        f"*(Integral(s**2*{_NORMAL_OF_GAMMA}, (s, 0, oo))"
        f"/Integral({_NORMAL_OF_GAMMA}, (s, 0, oo)))"
        f"*Integral({_NORMAL_OF_GAMMA}, (s, 0, oo)), (t, 0, 10))",
        _moderate,
        IN_DOUBLES,
        UNITS,
        regime="-1 < rho < 1, both signs; T' up to 10 standard deviations",
        note="Right if the left and the outer mean keep their events and the inner one is "
        "conditional on S' > 0, which is how equations 63 to 71 go on. With the inner event kept "
        "its probability would be counted twice; with the outer mean conditional, the result is "
        "twice the mean with events kept.",
    ),
    Claim(
        "62",
        "E1(E1of(S, T[k])*X[i])/sqrt(rho[1, 1]) == gamma[k]*E1(T[k]*X[i])/sqrt(rho[k, k])",
        gaussian,
        Exact(),
        TWO,
        part="mean",
        symmetric=("rho",),
    ),
    Claim(
        "62",
        "E1((S - E1of(S, T[k]))**2)/rho[1, 1] == 1 - gamma[k]**2",
        gaussian,
        Exact(),
        UNITS,
        part="variance",
        note="The second argument is the variance, not the standard deviation.",
    ),
    Claim(
        "63",
        f"kept2/kept0 == {_FOLDED} == {_FOLDED_OTHERWISE}",
        _scalars,
        Exact(),
        corrected=f"kept2/kept0 == {_FOLDED} + {_EDGE} == {_FOLDED_OTHERWISE} + {_EDGE}",
        regime=_REGIME,
        note="kept0, kept1 and kept2 are the engine's E[(S')^p 1(S' > 0) | T'], so that their "
        "quotients are means given S' > 0 and T' = t. The second moment of a folded normal is "
        "that of the normal itself, but S' given T' and S' > 0 is a truncated normal: a term "
        "from the edge is missing (the mean is not 0, so the symmetry argument of equation 13 "
        "does not apply). Right only for rho T' = 0, with the conditional mean meant; with the "
        "event kept it is wrong for every rho.",
    ),
    Claim(
        "63",
        f"kept2 == {_FOLDED} == {_FOLDED_OTHERWISE}",
        _scalars,
        Exact(),
        part="event kept",
        given="that the inner event is kept too",
        corrected=f"kept2 == 1/2*(1 + {_ERF})*({_FOLDED} + {_EDGE})"
        f" == 1/2*(1 + {_ERF})*({_FOLDED_OTHERWISE} + {_EDGE})",
        regime=_REGIME,
        note="The other reading of the condition S' > 0 before the bar. Equation 61, which "
        "multiplies by its probability, excludes it.",
    ),
    Claim(
        "64",
        f"kept0 == Integral({_NORMAL}, (s, 0, oo))",
        _scalars,
        IN_DOUBLES,
        regime=_REGIME,
    ),
    Claim("65", f"kept0 == 1/2*(1 + {_ERF})", _scalars, Exact(), regime=_REGIME),
    Claim(
        "66",
        f"E1({EVENT}*(S/sqrt(rho[1, 1]))**2)"
        f" == E1given((S/sqrt(rho[1, 1]))**2, {EVENT})*P1({EVENT})",
        gaussian_points,
        Exact(),
        UNITS,
        definition=True,
        note="The events are kept.",
    ),
    Claim(
        "67",
        f"Integral({_PHI}*({_FOLDED})*(1/2*(1 + {_ERF})), (t, 0, oo)) == {_EQUATION_67}",
        _correlations,
        IN_DOUBLES,
        part="given 63 and 65",
        given="equations 61, 63 and 65; the event T' > 0 kept",
        regime=_REGIME,
    ),
    Claim(
        "67",
        f"second == {_EQUATION_67}",
        _correlations,
        IN_DOUBLES,
        part="end",
        corrected=f"second == {_EQUATION_67} + {_EDGE_TERM}",
        regime=_REGIME,
        note="second is the engine's E[(S')^2 1(S' > 0) 1(T' > 0)]. Because of equation 63 the "
        "edge term is missing, rho (1 - rho^2)^(3/2)/(2 pi). True is, events kept, E[(S')^2] = "
        "(arccos(-rho) + rho sqrt(1 - rho^2))/(2 pi), the corrected equation 25.",
    ),
    Claim(
        "68",
        f"1/2*((1 + (t**2 - 1)*rho**2)*(1 + {_ERF})) == 1/2*((1 + (t**2 - 1)*rho**2)"
        f" + (1 - rho**2)*{_ERF} + rho**2*t**2*{_ERF})",
        _scalars,
        Exact(),
        given="equation 67",
        regime="the integrands for every T'",
    ),
    Claim(
        "69",
        f"{_FIRST_TERM} == 1 + rho**2*(Integral({_PHI}*t**2, (t, 0, oo)) - 1)"
        " == 1 + rho**2*(1/2*1 - 1)",
        _correlations,
        IN_DOUBLES,
        corrected=f"{_FIRST_TERM} == 1/2",
        regime=_REGIME,
        note="With the event T' > 0 kept, as in the other terms of equation 68, the mean of 1 is "
        "1/2 and that of (T')^2 is 1/2: the first term is 1/2. With the conditional mean they are "
        "1 and 1 and it is 1. The print takes 1 from one reading and 1/2 from the other; it is "
        "wrong under both unless rho = 0.",
    ),
    Claim(
        "69",
        f"2*{_FIRST_TERM} == 1 + rho**2*(2*Integral({_PHI}*t**2, (t, 0, oo)) - 1)"
        " == 1 + rho**2*(1/2*1 - 1)",
        _correlations,
        IN_DOUBLES,
        part="conditional means",
        given="that the means are conditional on T' > 0",
        corrected=f"2*{_FIRST_TERM} == 1",
        regime=_REGIME,
        note="The first equality is right in this reading, but then the mean of (T')^2 is 1, not "
        "1/2.",
    ),
    Claim(
        "70",
        "1 + rho**2*(1/2*1 - 1) == 1 - rho**2/2",
        _correlations,
        Exact(),
        part="given 69",
        given="the last expression of equation 69",
        regime=_REGIME,
    ),
    Claim(
        "70",
        f"{_FIRST_TERM} == 1 - rho**2/2",
        _correlations,
        IN_DOUBLES,
        part="end",
        corrected=f"{_FIRST_TERM} == 1/2",
        regime=_REGIME,
        note="The first term is 1/2 with the event kept (1 as conditional mean), whatever rho.",
    ),
    Claim(
        "71",
        "(1 - rho**2)*(2*both - 1/2) == (1 - rho**2)*Integral(1/sqrt(2*pi)*exp(-1/2*t**2)"
        f"*{_ERF}, (t, 0, oo))",
        _correlations,
        IN_DOUBLES,
        regime=_REGIME,
        note="The event T' > 0 is kept; the conditional mean is twice this. E[1(T' > 0) (1 + "
        "erf)/2] is P(S' > 0, T' > 0), named both, for which the engine has a closed form.",
    ),
    Claim(
        "72",
        f"{_SECOND_TERM} == (1 - rho**2)/2*(1 - 2/pi*{_ARCTAN})",
        _correlations,
        IN_DOUBLES,
        corrected=f"{_SECOND_TERM} == (1 - rho**2)/2*(1 - 2/pi*acos(rho))",
        regime=_REGIME,
        note="Right for rho > 0 only: for rho < 0 the arc tangent must be taken between pi/2 and "
        "pi, that is, arccos(rho). The term is (1 - rho^2) arcsin(rho)/pi, odd in rho.",
    ),
    Claim(
        "73",
        "rho**2*(2*second - 1/2) == rho**2"
        f"*Integral(1/sqrt(2*pi)*exp(-1/2*t**2)*t**2*{_ERF}, (t, 0, oo))",
        _correlations,
        IN_DOUBLES,
        regime=_REGIME,
        note="The event T' > 0 is kept. E[(T')^2 1(T' > 0) (1 + erf)/2] is E[(T')^2 1(S' > 0) "
        "1(T' > 0)], named second, for which the engine has a closed form.",
    ),
    Claim(
        "74",
        f"{_THIRD_TERM} == {_EQUATION_74}",
        _correlations,
        IN_DOUBLES,
        corrected=f"{_THIRD_TERM} == rho**2/(sqrt(2*pi)*2*sqrt(pi))*(2**(3/2)"
        "*atan(rho/sqrt(1 - rho**2))"
        " + rho/sqrt(2*(1 - rho**2))/(1/2*(rho**2/(2*(1 - rho**2)) + 1/2)))",
        regime=_REGIME,
        note="The arc tangent belongs to the complement (pi/2 minus it, arcsin(rho)), the second "
        "term has a plus, and the square of rho/sqrt(2 (1 - rho^2)) has lost its 2.",
    ),
    Claim(
        "75",
        f"{_EQUATION_74} == {_EQUATION_75}",
        _correlations,
        Exact(),
        part="given 74",
        given="equation 74",
        corrected=f"{_EQUATION_74} == rho**2/(2*sqrt(2*pi))*(2**(3/2)*{_ARCTAN}"
        " - 2*sqrt(2)*rho*sqrt(1 - rho**2)/(rho**2 + 1))/sqrt(pi)",
        regime=_REGIME,
        note="sqrt(2 pi) 2 sqrt(pi) is 2 sqrt(2) pi, and 3 rho^2 + 1 must be rho^2 + 1.",
    ),
    Claim(
        "75",
        f"{_THIRD_TERM} == {_EQUATION_75}",
        _correlations,
        IN_DOUBLES,
        part="end",
        corrected=f"{_THIRD_TERM} == rho**2/pi*(asin(rho) + rho*sqrt(1 - rho**2))",
        regime=_REGIME,
        note="The third term with the event kept. With 1/2 for the first, (1 - rho^2) "
        "arcsin(rho)/pi for the second and the edge term of equation 67 the whole is right.",
    ),
    Claim(
        "76",
        f"kept1/kept0 == {_EQUATION_76}",
        _scalars,
        Exact(),
        corrected="kept1/kept0 == sqrt(2/pi)*sqrt(1 - rho**2)"
        f"*exp(-rho**2*t**2/(2*(1 - rho**2)))/(1 + {_ERF}) + rho*t",
        regime=_REGIME,
        note="Not right. Printed is, with two misprints, the mean of a folded normal, |S'| given "
        "T' (part 'mean of |S'|'), but a truncated one is needed. The moment can be computed this "
        "way with the truncated one, as corrected: conditional mean given T' and S' > 0; with the "
        "event kept it is this times (1 + erf)/2.",
    ),
    Claim(
        "76",
        f"2*kept1 - rho*t == {_EQUATION_76}",
        _scalars,
        Exact(),
        part="mean of |S'|",
        given="that the mean of |S'| given T' is meant",
        corrected="2*kept1 - rho*t == sqrt(2/pi)*sqrt(1 - rho**2)"
        f"*exp(-rho**2*t**2/(2*(1 - rho**2))) + rho*t*{_ERF}",
        regime=_REGIME,
        note="Of the folded normal the first factor is the standard deviation, sqrt(1 - rho^2), "
        "and the exponent has the variance, 1 - rho^2, without a root.",
    ),
)
