"""Inputs at large gain: signs of Gaussian variables, and their truncated means."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, evaluate

from symderiv_papers.relu_localization.variables import moment_formula

__all__ = [
    "three_signs",
]


def three_signs(numbers: Any) -> Iterator[Point]:
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
