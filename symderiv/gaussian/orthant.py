r"""Enclosure of the mean of four signs (``SignMean4``), also where fields align.

**The integral.** With :math:`w = \sigma^2` and the minors,

.. math:: E = \frac{4}{\pi^2}\int_0^\infty \frac{d\sigma}{1+w}
   \sum_j \frac{r_j}{\sqrt{1+p_jw}}\,\theta_j,\quad
   \theta_j = \arctan\frac{N_j+N'_jw}{\sqrt{A_jD}},\quad A_j = 1+p_jw,\ D = d_3+d_4w .

It is taken over σ in [0, 1]; over panels of :math:`x = \log\sigma` from σ = 1 to 1/δ; and over
y in [0, 1], σ = 1/(δ y). If 1/δ is very large, the last part is a proved tail instead.

**Analytic where, and how large.** Let V, V' be the variances of the two other fields given j and
field 4, both linear in w. Then :math:`A_jD + N^2 = VV'` (Sylvester), so
:math:`q = (\sqrt{A_jD}+iN)/\sqrt{VV'}` has the inverse :math:`(\sqrt{A_jD}-iN)/\sqrt{VV'}`, is
never 0, and :math:`\theta = -i\log q` is analytic on any simply connected region around the real
line where A, D, V, V' do not vanish. They are a + b w with a, b ≥ 0, and if such a number is at
least f (a + b|w|) in size, then :math:`|q|, |1/q| \le 2/f`: A_j D and N are at most
:math:`V(|w|)V'(|w|)` and its root in size (Cauchy-Schwarz: the coefficients of N are covariances
for the variances that are the coefficients of V, V'). So :math:`|\mathrm{Im}\,\theta| \le K =
\log(2/f)`. A function with imaginary part below K on a disc of radius s has a derivative below
2K/s at its centre (Borel and Carathéodory). Up from the real line, where theta is at most π/2, to
height b in a region that contains the strip of height c > b around the path,

.. math:: |\theta| \le \Theta = \pi/2 + 2K\log\frac{c}{c-b} .

*Panels in x*: w = exp(2x) has the argument 2y at height y, :math:`|a+bw| \ge (a+b|w|)\cos y`, so
f = cos c, c < π/2. *Panels in σ* (and y alike, δ² being at most all ratios b/a): b ≤ a, and
:math:`|1+t\sigma^2| = |1-i\sqrt t\sigma||1+i\sqrt t\sigma| \ge 1-c` for 0 ≤ t ≤ 1 at heights up to
c < 1; with |σ| ≤ 3 the size a + b|w| is at most 10 a, so f = (1 - c)/10.

**The rule.** Gauss-Legendre with n ≥ 2 nodes, the panel being [-1, 1]: if the integrand is at most
M inside the ellipse with foci ±1 and half axes summing to ρ, its Chebyshev coefficients are at most
2Mρ^-k; the rule is exact below k = 2n and for odd k, and at most 2 + 2/15 off on each other term.
The error is at most (64/15) M ρ^-2n / (1 - ρ^-2).

**Degenerate correlations.** The integral is taken for an exactly known positive definite matrix
close by. By Price's theorem and |arcsin| ≤ π/2 the mean changes along the straight line between
the two matrices by at most the sum of the changes of (2/π) arcsin r_ij, and arcsin changes fastest
at ±1: |arcsin a - arcsin b| ≤ arccos(1 - |a - b|). Away from ±1, if |a| and |b| are at most m < 1,
it is at most |a - b|/√(1 - m²), which keeps all digits of the correlations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from flint import arb, ctx, fmpq

from symderiv.foundation.errors import ToleranceError
from symderiv.gaussian.legendre_balls import legendre_balls

_PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))

# Heights of the ellipses in which the integrand is bounded, and of the strips in which log q is:
# in log(sigma), any 0 < b < c < π/2 would do; in sigma, any 0 < b < c < 1.
_LOG_HEIGHTS = (fmpq(29, 20), fmpq(31, 20))
_CAP_HEIGHTS = (fmpq(4, 5), fmpq(9, 10))

_Matrix = list[list[fmpq]]
_Number = TypeVar("_Number", fmpq, arb)


@dataclass(frozen=True)
class _ExactPartner(Generic[_Number]):
    """The contribution of one partner of the field whose correlations are scaled, with exact
    numbers.
    """

    r: _Number
    p: _Number
    start: _Number
    end: _Number


@dataclass(frozen=True)
class _ExactPath(Generic[_Number]):
    """The integrand along the path on which one field's correlations are scaled."""

    partners: tuple[_ExactPartner[_Number], ...]
    d3: _Number
    d4: _Number
    halvings: int  # δ = 2**-halvings, δ² at most p, d4/d3 and the ratios of the variances


def sign_mean4(r: Sequence[arb], bits: int) -> arb:
    """Return E[sgn z1 sgn z2 sgn z3 sgn z4] as a ball of radius about 2**-bits.

    Args:
        r: The correlations r12, r13, r14, r23, r24, r34 as balls, proved to contain those of a
            positive semidefinite matrix; the radius suffers from balls wider than
            2**-bits, where fields align from those wider than 2**(-2 bits).
        bits: Working precision.

    Raises:
        ToleranceError: The balls are too wide to say anything.
    """
    with ctx.workprec(2 * bits + 80):
        matrix, change = _nearby(r, bits)
    path = _shortest(matrix)
    with ctx.workprec(bits + 20):
        enclosed = _ExactPath(
            tuple(
                _ExactPartner(arb(p.r), arb(p.p), arb(p.start), arb(p.end)) for p in path.partners
            ),
            arb(path.d3),
            arb(path.d4),
            path.halvings,
        )
        return 4 / arb.pi() ** 2 * _integral(enclosed, bits) + change


def _nearby(r: Sequence[arb], bits: int) -> tuple[_Matrix, arb]:
    """Return an exact positive definite matrix nearby, and a ball for the mean's change."""
    if not all(value.is_finite() for value in r):
        raise ToleranceError("a correlation was not enclosed")
    middles = [_exact(value.mid()) for value in r]
    # The middles differ from the correlations by at most `off`, so as a matrix by at most 3 off:
    # shrunk by 1 - 4 shift they are positive definite once shift exceeds off.
    off = max((_exact(value.rad()) for value in r), default=fmpq(0))
    shift = 4 * (off + fmpq(1) / 2 ** (2 * bits + 20))
    if shift >= fmpq(1, 4):
        raise ToleranceError("a correlation was not enclosed closely enough")
    matrix = [[fmpq(1)] * 4 for _ in range(4)]
    change = arb(0)
    for (i, j), middle, value in zip(_PAIRS, middles, r, strict=True):
        matrix[i][j] = matrix[j][i] = middle * (1 - shift)
        there = arb(matrix[i][j])
        moved = (value - there).abs_upper()
        most = (1 - moved).max(arb(-1)).acos()
        steepest = 1 - value.abs_upper().max(there.abs_upper()) ** 2
        change += most.min(moved / steepest.sqrt()) if steepest > 0 else most
    return matrix, _around_zero(2 / arb.pi() * change)


def _around_zero(bound: arb) -> arb:
    return arb(0, bound.abs_upper())


def _exact(ball: arb) -> fmpq:
    mantissa, exponent = ball.man_exp()
    power = int(exponent)
    scale = fmpq(2) ** power if power >= 0 else 1 / fmpq(2) ** -power
    return fmpq(mantissa) * scale


def _shortest(matrix: _Matrix) -> _ExactPath[fmpq]:
    """Return the exact path that scales the field least determined by the others."""
    paths = [_path(matrix, row) for row in range(4)]
    path = min(paths, key=lambda found: found.d3)
    if not (path.d3 > 0 and path.d4 > 0):
        raise ToleranceError("the correlations are not those of Gaussian fields")
    return path


def _path(m: _Matrix, row: int) -> _ExactPath[fmpq]:
    rest = [a for a in range(4) if a != row]
    partners = []
    for j in rest:
        k, l = (a for a in rest if a != j)
        start = m[k][l] - m[k][j] * m[l][j]
        end = _minor(m, (row, j, k), (row, j, l))
        partners.append(_ExactPartner(m[row][j], 1 - m[row][j] ** 2, start, end))
    d3 = _minor(m, rest, rest)
    first = partners[0]
    v, w = (_minor(m, (row, rest[0], k), (row, rest[0], k)) for k in rest[1:])
    d4 = (v * w - first.end**2) / first.p
    ratios = [q.p for q in partners]
    if d3 > 0 and d4 > 0:
        ratios.append(d4 / d3)
    for j in rest:
        for k in rest:
            if k != j:
                ratios.append(_minor(m, (row, j, k), (row, j, k)) / (1 - m[j][k] ** 2))
    return _ExactPath(tuple(partners), d3, d4, _halvings(min(ratios)))


def _halvings(ratio: fmpq) -> int:
    """Return the least k with 4**-k not above a positive ratio; 0 if there is none."""
    k = max(0, (int(ratio.q).bit_length() - max(int(ratio.p), 1).bit_length() - 2) // 2)
    while 0 < ratio < fmpq(1, 4**k):
        k += 1
    return k


def _minor(m: _Matrix, rows: Sequence[int], columns: Sequence[int]) -> fmpq:
    (a, b, c), (d, e, f) = rows, columns
    return (
        m[a][d] * (m[b][e] * m[c][f] - m[b][f] * m[c][e])
        - m[a][e] * (m[b][d] * m[c][f] - m[b][f] * m[c][d])
        + m[a][f] * (m[b][d] * m[c][e] - m[b][e] * m[c][d])
    )


def _integral(path: _ExactPath[arb], bits: int) -> arb:
    """Return the integral over sigma, its radius about 2**-bits."""
    half_pi = arb.pi() / 2
    weight = sum((abs(q.r) for q in path.partners), arb(0))
    fast = sum((abs(q.r) / q.p.sqrt() for q in path.partners), arb(0))
    goal = arb((1, -bits - 6))
    zero, one = arb(0), arb(1)
    cap = 2 * weight * _angle(*_CAP_HEIGHTS, (1 - arb(_CAP_HEIGHTS[1])) / 10)
    cap /= (1 - arb(_CAP_HEIGHTS[0])) * (1 - arb(_CAP_HEIGHTS[0])).sqrt()
    total = _panel(
        lambda x: _integrand(path, (1 + x) / 2, one) / 2, cap, 2 * _CAP_HEIGHTS[0], goal, bits
    )
    # Beyond sigma the rest is below (π/2) Σ|r|/sigma, and (π/2) Σ|r|/sqrt(p) / (2 sigma²).
    end = min(bits + 8, math.ceil((bits + 8 + max(_log2(fast), 0)) / 2))
    if path.halvings <= end:
        end = path.halvings
        delta = arb((1, -end))
        total += _panel(
            lambda x: _integrand(path, one, delta * (1 + x) / 2) * delta / 2,
            cap,
            2 * _CAP_HEIGHTS[0],
            goal,
            bits,
        )
    else:
        tail = weight * arb((1, -end))
        total += _around_zero(half_pi * tail.min(fast * arb((1, -2 * end - 1))))
    length = end * arb.const_log2()
    if end == 0:
        return total
    panels = math.floor(end * math.log(2) / 2) + 1
    half = length / panels / 2  # at most 1, so the ellipse keeps below its height
    height, strip = (arb(b) for b in _LOG_HEIGHTS)
    log_bound = _angle(*_LOG_HEIGHTS, strip.cos()) / (height.cos() * height.cos().sqrt())
    reach = (1 + height * height).sqrt()
    for panel in range(panels):
        middle = half * (2 * panel + 1)

        def integrand(x: arb, middle: arb = middle) -> arb:
            sigma = (middle + half * x).exp()
            return half * sigma * _integrand(path, sigma, one)

        # |σ/(1+w)| ≤ exp(-|Re x|)/cos b, and |1+pw| is at least cos b times both 1 and p|w|.
        decay = (-(middle - reach).max(zero)).exp()
        bound = log_bound * decay * weight
        if middle > reach:
            bound = bound.min(log_bound * decay * decay * fast)
        total += _panel(integrand, bound, _LOG_HEIGHTS[0], goal / panels, bits)
    return total


def _angle(b: fmpq, c: fmpq, f: arb) -> arb:
    """Return the bound on |theta| at heights up to b; see the module's text."""
    return arb.pi() / 2 + 2 * (2 / f).log() * (arb(c) / arb(c - b)).log()


def _panel(integrand: Callable[[arb], arb], bound: arb, height: fmpq, goal: arb, bits: int) -> arb:
    """Return the integral over [-1, 1]; ``bound`` holds in an ellipse with this minor half axis."""
    rho = arb(height) + (1 + arb(height) ** 2).sqrt()
    needed = _log2(5 * bound / goal) / float(2 * rho.log() / arb.const_log2())
    # Use few different rules, because at high precision their nodes take most of the time.
    n = 8
    while n < needed:
        n += max(2, n // 16 * 2)
    total = _around_zero(arb(64) / 15 * bound * rho ** (-2 * n) / (1 - rho**-2))
    for x, weight in legendre_balls(n, bits + 20):
        total += weight * integrand(x)
    return total


def _integrand(path: _ExactPath[arb], s: arb, c: arb) -> arb:
    """Return the integrand at sigma = s/c, one of s and c being 1.

    The variable is sigma for c = 1, and 1/sigma for s = 1.
    """
    ss, cc = s * s, c * c
    root = (path.d3 * cc + path.d4 * ss).sqrt()
    total = arb(0)
    for q in path.partners:
        width = (cc + q.p * ss).sqrt()
        total += q.r / width * ((q.start * cc + q.end * ss) / (width * root)).atan()
    return total * c / (ss + cc)


def _log2(x: arb) -> float:
    """Return approximately the binary logarithm of the upper end of a positive ball of any size."""
    mantissa, exponent = x.abs_upper().man_exp()
    return math.log2(int(mantissa)) + int(exponent)
