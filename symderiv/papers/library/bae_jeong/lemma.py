"""Lemmas V.1, V.3 and C.1 on means under mixtures, quantified, and the steps of appendix C."""

from __future__ import annotations

from dataclasses import replace

from symderiv.papers.claim import Claim
from symderiv.papers.library.bae_jeong.lemma_points import (
    at_separations,
    correlated,
    halves,
    near_mean,
    small_separation,
)
from symderiv.papers.rules import Converges, Exact

__all__ = ["CLAIMS"]

_EACH = "Sum(Sum(p[k]*q[l]*(f[k]*g[l]), (l, 1, n)), (k, 1, n))"

_TWO = [
    Claim(
        "21",
        f"both == {_EACH}",
        correlated("each"),
        Converges(),
        part="own components",
        printed=0,
        regime="each variable has a component of its own, its normal part correlates with the "
        "other's; the error is of first order",
        where="f[k], g[l] are the means over component k, l; p and q their probabilities",
    ),
    Claim(
        "21",
        f"both == {_EACH}",
        correlated("one"),
        Converges(),
        part="one component for both",
        printed=0,
        regime="one component is drawn for both variables, as for inputs whose component is drawn "
        "per sample; E[u1 u2] = eps",
        corrected="both == Sum(p[k]*(f[k]*g[k]), (k, 1, n))",
        note="With one component for both the means add over it alone: variables that depend on "
        "each other through their component do not factorise even at eps = 0.",
        where="f[k], g[k] are the means over component k",
    ),
    Claim(
        "Definition V.2",
        "cumulant[j] == If(j == 1, 0, 1)",
        at_separations("sign"),
        Exact(),
        "j = 1..2",
        definition=True,
        regime="standardised mixtures and N(0, 1)",
    ),
]

_GAP = {
    "sgn": "Sum(p[k]*erf(m[k]/(sqrt(2)*s)), (k, 1, n))",
    "erf": "Sum(p[k]*erf(m[k]/sqrt(2*(1 + s**2))), (k, 1, n))",
    "ReLU": "Sum(p[k]*(m[k]/2*erf(m[k]/(sqrt(2)*s))"
    " + s/sqrt(2*pi)*exp(-m[k]**2/(2*s**2))), (k, 1, n))",
}
_ENGINE = {"sgn": "sign", "erf": "erf", "ReLU": "relu"}
_SIZE = {
    "sgn": "The difference is what the correction gives, for E sgn = 0 under N(0, 1).",
    "erf": "The difference is what the correction gives, for E erf = 0 under N(0, 1).",
    "ReLU": "The difference is what the correction gives less 1/sqrt(2 pi).",
}
_GIVEN = "mixtures standardised to mean 0 and variance 1, with separations 1/2 to 5"
_NAMES = "mixture and normal are E f under both laws; component k: p[k], mean m[k], deviation s"
_WHY = {
    "sgn": "A mixture that is not even has a median that is not its mean.",
    "erf": "A mixture that is not even has third cumulants, and erf third derivatives.",
    "ReLU": "It fails for even mixtures too, though ReLU meets condition 2 exactly: its second "
    "and all higher derivatives vanish off the mean. What counts are half-line moments.",
}


def _gap(number: str, name: str) -> Claim:
    return Claim(
        number,
        "mixture == normal",
        at_separations(_ENGINE[name]),
        Exact(),
        part=name,
        regime=_GIVEN,
        corrected=f"mixture == {_GAP[name]}",
        note=f"{_SIZE[name]} {_WHY[name]}",
        where=_NAMES,
    )


_FUNCTIONS = [
    *(_gap("Lemma V.3", name) for name in _GAP),
    Claim(
        "Lemma V.3",
        "mixture == normal",
        at_separations("x**2 + x - 3"),
        Exact(),
        part="polynomials of degree 2",
        regime=_GIVEN,
        note="Two cumulants determine the means of polynomials of degree 2, of nothing else.",
        where=_NAMES,
    ),
    Claim(
        "Lemma V.3",
        "mixture == normal",
        small_separation(("sign", "erf", "relu")),
        Converges(order=3.0),
        part="small separation",
        regime="separations that go to 0, skewed mixtures: the error goes like the third power",
        note="What is right of the lemma for these functions: third cumulants of the standardised "
        "mixture are of third order in the separation. For ReLU the error is of fourth order.",
        where=_NAMES,
    ),
    Claim(
        "Lemma V.3",
        "mixture == normal",
        small_separation(("relu",), even=True),
        Converges(order=4.0),
        part="small separation, even mixtures",
        regime="separations that go to 0, ReLU; for odd functions there is no difference",
        where=_NAMES,
    ),
    Claim(
        "conditions of V.3",
        "inside == centre",
        near_mean,
        Converges(),
        part="1",
        printed=0,
        regime="sgn + 1, erf + 1 and ReLU + 1, a skewed mixture, the mean of f over "
        "(mu - eps, mu + eps)",
    ),
    Claim(
        "conditions of V.3",
        part="2",
        printed=1,
        not_checkable="'negligible in the certain limit of our interest' names no limit; for sgn "
        "and ReLU the terms vanish exactly and the conclusion fails nevertheless",
    ),
]

_LEMMA_C = [replace(_gap("Lemma C.1", name), note=f"As in V.3. {_WHY[name]}") for name in _GAP]

_LEFT = "(x, -far, -eps)"
_ALL = "Integral({0}, (x, -far, 0)) + Integral({0}, (x, 0, 2)) + Integral({0}, (x, 2, far))"
_TAYLOR = "(df[0] + df[2]*(x - mu)**2/2)"
_OUTER = "Integral(f(x)*P(x), (x, -far, mu - eps)) + Integral(f(x)*P(x), (x, mu + eps, far))"
_RULE = Exact(digits=20, lost=8)
_STEP = "f = x^2 + x, for which condition 2 holds exactly, at mu = 1/3; ends of the line cut at 12"

_STEPS = [
    Claim(
        "steps of C.1",
        "mixture == " + _ALL.format("f(x)*P(x)"),
        halves,
        _RULE,
        part="1",
        printed=0,
        definition=True,
        regime=_STEP,
    ),
    Claim(
        "steps of C.1",
        f"mixture == {_OUTER} + Integral(f(x)*P(x), (x, mu - eps, mu + eps))",
        halves,
        _RULE,
        part="2",
        printed=1,
        regime=_STEP,
    ),
    Claim(
        "steps of C.1",
        "mixture == Integral(f(x)*P(x), (x, -far, -eps)) + Integral(f(x)*P(x), (x, eps, far))"
        " + f(mu)",
        halves,
        _RULE,
        part="3",
        printed=2,
        regime=_STEP + "; eps = 0.01, 0.02",
        corrected=f"mixture == {_OUTER} + Integral(f(x)*P(x), (x, mu - eps, mu + eps))",
        note="The ends mu - eps, mu + eps lost mu. The middle integral goes to 0 with eps, not to "
        "f(mu): condition 1 is about the mean given that x is near mu.",
    ),
    Claim(
        "steps of C.1",
        "left == Integral((df[0] + df[1]*(x - mu) + df[2]*(x - mu)**2/2)*P(x), (x, -far, -eps))",
        halves,
        _RULE,
        part="4",
        printed=3,
        regime=_STEP + "; the range as printed, without mu",
    ),
    Claim(
        "steps of C.1",
        f"left == {_ALL.format(f'{_TAYLOR}*P(x)')}",
        halves,
        _RULE,
        part="5",
        printed=4,
        regime=_STEP,
        corrected="left == Integral((df[0] + df[1]*(x - mu) + df[2]*(x - mu)**2/2)*P(x),"
        " (x, -far, -eps))",
        note="On a half-line the term f'(mu)(x - mu) does not vanish in the mean, and the range "
        "of the mean was dropped.",
    ),
    Claim(
        "steps of C.1",
        f"{_ALL.format(f'{_TAYLOR}*P(x)')} == df[0] + df[2]*("
        + _ALL.format("(x - mu)**2/2*P(x)")
        + ")",
        halves,
        _RULE,
        part="6",
        printed=5,
        regime=_STEP,
    ),
    Claim(
        "steps of C.1",
        "left == left_D",
        halves,
        _RULE,
        part="end",
        printed=6,
        regime=_STEP,
        corrected="left == left_D + Integral(f(x)*(P(x) - Dn(x)), (x, -far, -eps))",
        note="The halves of two laws differ even where the means of f over the whole line agree, "
        "as they do for this f: two cumulants do not determine half-line moments.",
        in_words=True,
    ),
]

CLAIMS = (*_TWO, *_FUNCTIONS, *_LEMMA_C, *_STEPS)
