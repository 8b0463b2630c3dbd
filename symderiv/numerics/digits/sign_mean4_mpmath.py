r"""Mean of four signs with an mpmath context, as text for generated multiprecision modules.

From Price's theorem, along the path on which field 4 loses its correlations with the others,

    E = 4/pi^2  int dsigma / (1 + sigma^2)  sum_j  r_j4 / sqrt(1 + p_j sigma^2)
        * atan( (N_j + sigma^2 N'_j) / sqrt((1 + p_j sigma^2) (d3 + sigma^2 d4)) ),

with p_j = 1 - r_j4^2, d3 and d4 the determinants without and with field 4, N_j = r_kl - r_kj r_lj
and N'_j the minor of the rows (4, j, k) and columns (4, j, l). All singularities are at imaginary
sigma, a distance of pi/2 from the path in log(sigma), and along this path the integrand falls off
like sigma and 1/sigma: the trapezoidal rule converges exponentially.
"""

from __future__ import annotations

from typing import Any


def sign_mean4_mpmath(mp: Any, r12: Any, r13: Any, r14: Any, r23: Any, r24: Any, r34: Any) -> Any:
    """Return E[sgn z1 sgn z2 sgn z3 sgn z4] of centred Gaussian fields from their correlations.

    Where two fields are equal or opposite, the mean is an arcsine. Otherwise it has about the
    working precision, less the digits that the correlations lack where fields almost align.
    """
    for r, other in ((r12, r34), (r13, r24), (r14, r23), (r23, r14), (r24, r13), (r34, r12)):
        if abs(r) >= 1:
            return mp.sign(r) * 2 / mp.pi * mp.asin(max(-1, min(1, other)))
    caller = mp.prec
    mp.prec = 2 * caller + 20
    try:
        p1, p2, p3 = 1 - r14 * r14, 1 - r24 * r24, 1 - r34 * r34
        start1, start2, start3 = r23 - r12 * r13, r13 - r12 * r23, r12 - r13 * r23
        end1 = start1 + r12 * r14 * r34 + r13 * r14 * r24 - r24 * r34 - r23 * r14 * r14
        end2 = start2 + r12 * r24 * r34 + r23 * r24 * r14 - r14 * r34 - r13 * r24 * r24
        end3 = start3 + r13 * r34 * r24 + r23 * r34 * r14 - r14 * r24 - r12 * r34 * r34
        d3 = max(0, 1 - r12 * r12 - r13 * r13 - r23 * r23 + 2 * r12 * r13 * r23)
        d4 = max(
            0,
            d3
            - r14 * (r14 * (1 - r23 * r23) - r24 * start3 - r34 * start2)
            - r24 * (r24 * (1 - r13 * r13) - r14 * start3 - r34 * start1)
            - r34 * (r34 * (1 - r12 * r12) - r14 * start2 - r24 * start1),
        )

        def integrand(t: Any) -> Any:
            sigma = mp.exp(t)
            square = sigma * sigma
            total = mp.zero
            for r, p, start, end in (
                (r14, p1, start1, end1),
                (r24, p2, start2, end2),
                (r34, p3, start3, end3),
            ):
                width = mp.sqrt(1 + p * square)
                angle = mp.atan2(start + square * end, width * mp.sqrt(d3 + d4 * square))
                total += r / width * angle
            return sigma / (1 + square) * total

        # The trapezoidal rule in log(sigma): a strip of half-width pi/2 without singularities
        # makes its error exp(-pi^2/step), the ends are cut off where sigma or 1/sigma is as small.
        digits = caller * mp.log(2) + 5
        step = mp.pi**2 / digits
        reach = digits - mp.log(min(p1, p2, p3)) / 2
        points = int(mp.ceil(reach / step))
        mp.prec = caller + 20
        value = (
            4 / mp.pi**2 * step * mp.fsum(integrand(n * step) for n in range(-points, points + 1))
        )
    finally:
        mp.prec = caller
    return +value
