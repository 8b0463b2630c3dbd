"""Equations 50 to 53: the integral of a power law, and its power law in time.

Throughout z = 2ηλ_+α. The errors are those of small learning rates, sums over exact eigenvalues.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
from symderiv_ledger.claims.claim import Point

from symderiv_papers.references.exact import as_number
from symderiv_papers.references.power_law import PowerLawSum, grid, largest

SMALL, HALF, ONE, LARGE = Fraction(1, 20), Fraction(1, 2), Fraction(1), Fraction(3)


def integrals(numbers: Any) -> Iterator[Point]:
    """Yield half of the printed f over [1, L]."""
    for law in grid(numbers, (SMALL, HALF, LARGE), (2, 7, 1000), ("0.01", "2", "400")):
        half = law.scale / 2 * law.integral(1, law.L)
        yield law.point(integral=lambda half=half: half)


def early_and_middle(numbers: Any) -> Iterator[Point]:
    """Before the window, where both gamma functions count, and in its middle.

    ``half_ends`` is half of the first and of the last term of the sum.
    """
    for beta in (SMALL, HALF, ONE):
        for L in (40, 1000):
            middle = f"{L ** (0.5 + float(beta) / 2):.8g}"
            for z in ("0.02", "0.3", "2", middle):
                law = PowerLawSum(numbers, beta, L, z)
                ends = law.total(1, 1) + law.total(L, L)
                yield law.point(half_ends=lambda law=law, ends=ends: law.scale / 4 * ends)


def fixed_time(numbers: Any) -> Iterator[Point]:
    """2ηα = 1 while L grows: the last terms are what the integral misses longest."""
    for beta in (Fraction(1, 4), HALF, ONE):
        for L in (40, 80, 160):
            z, b = str(largest(numbers, beta, L)), float(beta)
            yield PowerLawSum(numbers, beta, L, z).point(str(beta), L ** -(1 + b - b / (1 + b)))


def small_argument(numbers: Any) -> Iterator[Point]:
    for beta in (SMALL, HALF, LARGE):
        for power in (2, 3, 4):
            exponent = beta / (1 + beta)
            s, z = as_number(exponent, numbers), numbers.mpf(10) ** -power
            value = numbers.quad(lambda t, s=s: t ** (s - 1) * numbers.exp(-t), [z, 1, 8, 80, 160])
            values = {"s": s, "z": z, "value": value, "scale": numbers.one}
            small = float(z) ** (1 + float(s))
            yield Point(f"s = {exponent}, z = 1e-{power}", values, small, str(exponent))


def later(numbers: Any) -> Iterator[Point]:
    """z grows while L is out of reach."""
    for beta in (SMALL, HALF, LARGE):
        for z in ("4", "8", "16"):
            law = PowerLawSum(numbers, beta, 10**9, z, top=Fraction(10**8))
            half = law.scale / 2 * law.integral(1, law.L)
            yield law.point(str(beta), 1 / float(z), integral=lambda half=half: half)


def from_one(numbers: Any) -> Iterator[Point]:
    """Yield times from the first to the last time at which the second gamma function is to be
    negligible.
    """
    for law in grid(numbers, (SMALL, HALF, ONE, LARGE), (40, 1000), ("1", "2", "6", "40")):
        yield law.point()


def ends(numbers: Any) -> Iterator[Point]:
    """Yield the time at which Γ(s) = z^s/s for the second argument z, found as a root."""
    for beta in (SMALL, HALF, ONE, LARGE):
        for L in (3, 200):
            law = PowerLawSum(numbers, beta, L, "1")
            names = law.names
            s = as_number(beta / (1 + beta), numbers)
            logarithm = numbers.findroot(
                lambda t, s=s: numbers.gamma(s) - numbers.exp(s * t) / s, (-0.5, 0.1)
            )
            scaled = numbers.exp(logarithm) * names["L"] ** (1 + names["beta"])
            more = {"alpha_end": scaled / (2 * names["eta"] * names["lambda_plus"]),
                    "tilde_alpha_end": scaled}  # fmt: skip
            yield Point(f"beta = {beta}, L = {L}", names | more)


def exponents(numbers: Any) -> Iterator[Point]:
    for beta in ("1e-6", "0.05", "0.5", "1", "3", "20", "1000"):
        b = numbers.mpf(beta)
        s = b / (1 + b)
        # the end of the window over L^(1+β), in another form
        value = numbers.exp(numbers.log(s * numbers.gamma(s)) / s)
        yield Point(f"beta = {beta}", {"beta": b, "end": value})


def inside(numbers: Any) -> Iterator[Point]:
    """Yield the middle of ever longer windows: z = L^((1+β)/2)."""
    for beta in (Fraction(1, 4), HALF, ONE, LARGE):
        for power in (4, 8, 16):
            L = 10**power
            z = numbers.mpf(L) ** (as_number(1 + beta, numbers) / 2)
            law = PowerLawSum(numbers, beta, L, str(z), top=Fraction(L, 3))
            half = law.scale / 2 * law.integral(1, L)
            small = float(L) ** (-float(beta) / 2)
            yield law.point(str(beta), small, integral=lambda half=half: half)


def sums_inside(numbers: Any) -> Iterator[Point]:
    for beta in (ONE, LARGE):
        for L in (64, 256, 1024):
            z = numbers.mpf(L) ** (as_number(1 + beta, numbers) / 2)
            law = PowerLawSum(numbers, beta, L, str(z))
            yield law.point(str(beta), float(L) ** (-float(beta) / 2))


def whole_window(numbers: Any) -> Iterator[Point]:
    """Also near the ends of the window."""
    for beta in (HALF, ONE):
        s = float(beta / (1 + beta))
        end = float(mpmath.gamma(1 + s)) ** (1 / s)
        for part in (0.02, 0.3, 1.0):
            z = end * 512 ** float(1 + beta) * part
            yield PowerLawSum(numbers, beta, 512, f"{z:.6g}").point()
