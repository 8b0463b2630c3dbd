"""Lemmas V.1 and V.3 on means under mixtures, quantified."""

from __future__ import annotations

from symderiv.verification.claim import Claim
from symderiv.verification.rules import Converges, Exact, Within
from symderiv_papers.bae_jeong.lemma_points import (
    at_separations,
    correlated,
    even_mixtures,
    near_mean,
    small_separation,
)

__all__ = ["CLAIMS", "GAPS", "WHY", "gap"]

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

GAPS = {
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
WHY = {
    "sgn": "A mixture that is not even has a median that is not its mean.",
    "erf": "A mixture that is not even has third cumulants, and erf third derivatives.",
    "ReLU": "It fails for even mixtures too, though ReLU meets condition 2 exactly: its second "
    "and all higher derivatives vanish off the mean. What counts are half-line moments.",
}


def gap(number: str, name: str) -> Claim:
    """The conclusion of the lemma for one function, and the true mean."""
    return Claim(
        number,
        "mixture == normal",
        at_separations(_ENGINE[name]),
        Exact(),
        part=name,
        regime=_GIVEN,
        corrected=f"mixture == {GAPS[name]}",
        note=f"{_SIZE[name]} {WHY[name]}",
        where=_NAMES,
    )


_FUNCTIONS = [
    *(gap("Lemma V.3", name) for name in GAPS),
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
        even_mixtures(("sign(x) + 1", "erf(x) + 1")),
        Exact(),
        part="odd functions, even mixtures",
        regime="two components of equal probability, separations 1/2 to 9; sgn + 1 and erf + 1",
        note="By symmetry alone: for two equal components, and odd functions of the centred "
        "variable, the lemma holds exactly.",
        where=_NAMES,
    ),
    Claim(
        "Lemma V.3",
        "mixture == normal",
        even_mixtures(("relu",)),
        Within(0.21),
        part="ReLU, even mixtures",
        regime="two components of equal probability, separations 1/2 to 9",
        note="The mean of ReLU goes from 1/sqrt(2 pi) = 0.399 to 1/2 as the separation grows.",
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

CLAIMS = (*_TWO, *_FUNCTIONS)
