"""Inputs at large gain: signs of Gaussian variables, and their truncated means."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from symderiv.verification.arithmetic import Indexed, evaluate
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Converges, Exact
from symderiv_papers.relu_localization.data_sets import FIRST, NORMAL, large_gains
from symderiv_papers.relu_localization.variables import moment_formula

__all__ = ["CLAIMS"]


def _three_signs(numbers: Any) -> Iterator[Point]:
    """E[X_i 1(S > 0)] for X = sign(Z), n = 3, from the probabilities of the eight orthants."""
    for off in ((0.5, -0.25, 0.375), (0.125, 0.625, -0.3125)):
        c = {(1, 2): off[0], (1, 3): off[1], (2, 3): off[2]}
        w = [numbers.mpf(x) for x in (0.75, 0.5, 0.875)]
        kept = [numbers.mpf(0)] * 3
        for signs in itertools.product((1, -1), repeat=3):
            if sum((a * b for a, b in zip(w, signs, strict=True)), numbers.zero) <= 0:
                continue
            entries = {f"c{i}{i}": numbers.mpf(1) for i in (1, 2, 3)}
            for (i, j), value in c.items():
                entries[f"c{i}{j}"] = numbers.mpf(value) * signs[i - 1] * signs[j - 1]
            probability = evaluate(moment_formula(0, 3).sides[1], entries, numbers)
            kept = [total + s * probability for total, s in zip(kept, signs, strict=True)]

        def entry(i: int, j: int, c: Any = c) -> Any:
            return numbers.mpf(1 if i == j else c[min(i, j), max(i, j)])

        values = {"kept": Indexed(kept, (1, 3)), "C": Indexed(entry, (1, 3), (1, 3))}
        yield Point(f"C_12, C_13, C_23 = {off}", values)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "large gain",
        f"Integral({NORMAL}*erf(g*z/sqrt(2)), (z, 0, oo))/sqrt({FIRST}) == 1",
        large_gains,
        Converges(1.0, digits=16, backend="float64"),
        part="signs",
        printed=0,
        regime="g -> infinity; the left side is the mean of X_i sign(Z_i); the error goes like 1/g",
    ),
    Claim(
        "large gain",
        "kept[i] == 1/4*(1 + Sum(2/pi*asin(C[i, j]), (j, 1, 3), j != i)"
        " - Sum(2/pi*asin(C[j, l]), (j, 1, 2), (l, j + 1, 3), j != i, l != i))",
        _three_signs,
        Exact(),
        "i = 1..3",
        part="three dimensions",
        printed=1,
        symmetric=("C",),
        regime="X = sign(Z), n = 3, positive weights none of which exceeds the sum of the others",
        note="What the notes say they cannot compute can be: for g -> infinity X takes 2^n values, "
        "and E[X_i 1(S > 0) | Y = 1] (event kept) is a finite sum over orthants. In three "
        "dimensions their probabilities are arcsines; stated is the case in which S has the sign "
        "of the majority. If one weight exceeds the others together it is arcsin(C_1i)/pi. In four "
        "and five dimensions one four-sign mean, a one-dimensional integral, comes in per four "
        "sites; beyond that orthants need numbers.",
    ),
)
