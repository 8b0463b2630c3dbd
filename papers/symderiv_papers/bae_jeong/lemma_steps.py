"""Lemma C.1 and its derivation, step by step."""

from __future__ import annotations

from dataclasses import replace

from symderiv.verification.claim import Claim
from symderiv.verification.rules import Exact
from symderiv_papers.bae_jeong.lemma import GAPS, WHY, gap
from symderiv_papers.bae_jeong.lemma_points import halves

__all__ = ["CLAIMS"]

_LEMMA_C = [replace(gap("Lemma C.1", name), note=f"As in V.3. {WHY[name]}") for name in GAPS]

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

CLAIMS = (*_LEMMA_C, *_STEPS)
