r"""A function on an interval as polynomials on equal pieces, each with its proved error.

On a piece of half length s around c the function is interpolated in n + 1 Chebyshev points. If it
is at most M inside the ellipse with foci c ± s and half axes summing to s ρ, its Chebyshev
coefficients are at most 2 M ρ^-k, interpolation folds those beyond n onto the others, and the error
is at most 4 M ρ^-n/(ρ - 1). The ellipse lies in the strip in which the function is known to be
analytic. The error is part of the constant coefficient's radius, so values are enclosures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import flint
from flint import arb, arb_mat, arb_poly

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature.strip import Strip

_RHO: Final = 8.0
_OVERLAP: Final = 1e-6  # pieces are longer than their distance by this share


class FactorTable:
    """f on [-reach, reach], |f(x+iy)| <= factor strip.factor exp(strip.rate |x|) in the strip.

    Args:
        function: The function on real balls.
        strip: Where it is analytic; at least as far along the line as the table goes.
        reach: Half length of the table.
        factor: What the strip's bound has to be multiplied by.
        accuracy: The interpolation error near 0 is below exp(-accuracy); far out it may grow as the
            function's bound.
    """

    def __init__(
        self,
        function: Callable[[arb], arb],
        strip: Strip,
        reach: float,
        factor: arb,
        accuracy: float,
    ) -> None:
        half = 2 * strip.width / (_RHO - 1 / _RHO) * 0.99
        long_axis = half * (_RHO + 1 / _RHO) / 2
        count = max(1, math.ceil(reach / (half * (1 - 2 * _OVERLAP))))
        half = reach / count * (1 + 2 * _OVERLAP)
        if reach + long_axis > strip.reach:
            raise ToleranceError("a table would leave the strip in which its function is bounded")
        self._low, self._inverse = -reach, count / (2 * reach)
        self._count = count
        excess = max(0.0, float((strip.factor * factor).log())) + float(strip.rate) * long_axis
        degree = math.ceil((accuracy + excess + 2) / math.log(_RHO)) + 1
        self._pieces = []
        nodes, inverse = _interpolation(degree, flint.ctx.prec)
        self._scale = 1 / arb(half)
        for k in range(count):
            # the exact binary numbers of centre and half length define the piece
            centre = -reach + (2 * k + 1) * (reach / count) if count > 1 else 0.0
            values = [[function(centre + half * u)] for u in nodes]
            solved = inverse * arb_mat(values)
            coefficients = [solved[j, 0] for j in range(degree + 1)]
            largest = strip.factor * factor * (strip.rate * (abs(centre) + long_axis)).exp()
            error = 4 * largest * arb(_RHO) ** -degree / (_RHO - 1)
            coefficients[0] = coefficients[0] + arb(0, error.upper())
            self._pieces.append((arb(centre), arb_poly(coefficients)))

    def value(self, x: arb) -> arb:
        """f on a ball inside the table whose radius is tiny."""
        k = int((float(x) - self._low) * self._inverse)
        k = min(max(k, 0), self._count - 1)
        centre, polynomial = self._pieces[k]
        return polynomial((x - centre) * self._scale)


@lru_cache(maxsize=16)
def _interpolation(degree: int, bits: int) -> tuple[list[arb], arb_mat]:
    """Chebyshev points, and the matrix from values there to coefficients of powers."""
    with working_bits(bits + 2 * degree + 20):
        n = degree + 1
        nodes = [arb.cos_pi(arb(2 * j + 1) / (2 * n)) for j in range(n)]
        columns: list[list[int]] = [[1], [0, 1]]
        while len(columns) < n:
            a, b = columns[-1], columns[-2]
            columns.append(
                [
                    (2 * a[i - 1] if 0 < i <= len(a) else 0) - (b[i] if i < len(b) else 0)
                    for i in range(len(a) + 1)
                ]
            )
        # c_k = (2 - [k = 0])/n Σ_j f(u_j) T_k(u_j), and T_k in powers
        rows = [
            [(2 if k else 1) * arb.cos_pi(arb(k * (2 * j + 1)) / (2 * n)) / n for j in range(n)]
            for k in range(n)
        ]
        powers = arb_mat(
            n, n, [columns[k][i] if i < len(columns[k]) else 0 for i in range(n) for k in range(n)]
        )
        return nodes, powers * arb_mat(rows)
