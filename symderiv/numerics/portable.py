r"""The special functions of Gaussian means as functions of programs, for exports.

The same mathematics as in the texts beside this module (``sign_mean4``, ``waves``, ``owens_t``,
``shifted_signs``), with as many nodes for all arguments and in plain doubles: errors below 1e-14 of
the value, or of one where it is smaller, at fields of which no two are nearly parallel (largest
found, ``test_portable.py``). Where fields align, digits are lost as covariances lose them; the
modules of ``symderiv generate`` keep them.
"""

from __future__ import annotations

import math
from functools import cache
from types import MappingProxyType

import numpy as np
import sympy as sp
from symderiv_codegen import Function, Portable, Row, ScalarFunction, TableSum, TableTerm

from symderiv.numerics.nodes import gauss_legendre

HALF = sp.Rational(1, 2)
LEAST = sp.Rational(1, 10**30)
"""The positive number that replaces a vanishing volume or mean in divisions."""
SAME_FIELD = 1 - sp.Rational(1, 2 * 10**15)
"""Fields with at least this correlation count as equal: it is 1 up to rounding."""


def _symbols(names: str) -> tuple[sp.Symbol, ...]:
    return tuple(sp.symbols(names, real=True, seq=True))


def _legendre(points: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return Gauss' rule on [0, 1], with its weights multiplied by a scale."""
    nodes, weights = gauss_legendre(points)
    return 0.5 + 0.5 * nodes, 0.5 * scale * weights


def _sign_path() -> tuple[np.ndarray, np.ndarray]:
    """Return sigma**2 and weights over 1 + sigma**2 of a rule that suits all covariances.

    It covers the path of ``sign_mean4``: one rule up to sigma = 1.3, then panels in log(sigma) up
    to where the integrand is negligible.
    """
    stretch, finish = 1.3, 17.5
    nodes, weights = gauss_legendre(24)
    sigmas, scaled = [stretch * nodes[12:]], [stretch * weights[12:]]
    inner, inner_weights = gauss_legendre(12)
    at = math.log(stretch)
    while at < finish:
        half = 0.5 * min(1.6 + 0.1 * at, finish - at)
        sigma = np.exp(at + half * (1.0 + inner))
        sigmas.append(sigma)
        scaled.append(half * inner_weights * sigma)
        at += 2.0 * half
    squares = np.concatenate(sigmas) ** 2
    return squares, np.concatenate(scaled) / (1.0 + squares)


def _tables() -> dict[str, int | tuple[float, ...]]:
    odd = np.arange(1, 27, 2)
    columns = {
        "SIGN_PATH": dict(zip(("SQUARE", "WEIGHT"), _sign_path(), strict=True)),
        "DAWSON": {"ODD": odd.astype(float), "WEIGHT": np.exp(-((0.25 * odd) ** 2)) / math.pi**0.5},
        "WAVE": dict(zip(("NODE", "WEIGHT"), _legendre(32), strict=True)),
        "OWEN": dict(zip(("NODE", "WEIGHT"), _legendre(24, 0.5 / math.pi), strict=True)),
    }
    tables: dict[str, int | tuple[float, ...]] = {}
    for name, table in columns.items():
        tables[f"{name}_TERMS"] = len(next(iter(table.values())))
        tables |= {f"{name}_{column}": tuple(map(float, row)) for column, row in table.items()}
    return tables


def _sum(
    name: str,
    doc: str,
    arguments: tuple[sp.Symbol, ...],
    table: str,
    entries: dict[str, sp.Symbol],
    value: sp.Expr,
    *definitions: tuple[sp.Symbol, sp.Expr],
) -> TableSum:
    row = Row(f"{table}_TERMS", tuple((s, f"{table}_{column}") for column, s in entries.items()))
    return TableSum(name, arguments, (TableTerm((row,), definitions, value),), doc)


def _sign_mean4() -> tuple[Function, Function]:
    r = r12, r13, r14, r23, r24, r34 = _symbols("r12 r13 r14 r23 r24 r34")
    d3, d4, square, weight = _symbols("d3 d4 square weight")
    p, starts, ends = (_symbols(f"{x}1 {x}2 {x}3") for x in ("p", "start", "end"))
    root, widths = sp.Symbol("root", real=True), _symbols("width1 width2 width3")
    arms = (r14, r24, r34)
    angles = sum(
        arm / width * sp.atan((start + square * end) / (width * root))
        for arm, width, start, end in zip(arms, widths, starts, ends, strict=True)
    )
    path = _sum(
        "sign_mean4_path",
        "The integral over the path on which field 4 loses its correlations with the others.",
        (*arms, *p, *starts, *ends, d3, d4),
        "SIGN_PATH",
        {"SQUARE": square, "WEIGHT": weight},
        weight * angles,
        (root, sp.sqrt(sp.Max(d3 + d4 * square, LEAST))),
        *((width, sp.sqrt(1 + part * square)) for width, part in zip(widths, p, strict=True)),
    )
    s1, s2, s3 = starts
    definitions = (
        *((part, sp.Max(1 - arm**2, 0)) for part, arm in zip(p, arms, strict=True)),
        (s1, r23 - r12 * r13),
        (s2, r13 - r12 * r23),
        (s3, r12 - r13 * r23),
        (ends[0], s1 + r14 * (r12 * r34 + r13 * r24 - r23 * r14) - r24 * r34),
        (ends[1], s2 + r24 * (r12 * r34 + r23 * r14 - r13 * r24) - r14 * r34),
        (ends[2], s3 + r34 * (r13 * r24 + r23 * r14 - r12 * r34) - r14 * r24),
        (d3, sp.Max(1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23, 0)),
        (
            d4,
            sp.Max(
                d3
                - r14 * (r14 * (1 - r23**2) - r24 * s3 - r34 * s2)
                - r24 * (r24 * (1 - r13**2) - r14 * s3 - r34 * s1)
                - r34 * (r34 * (1 - r12**2) - r14 * s2 - r24 * s1),
                0,
            ),
        ),
    )
    value = 4 / sp.pi**2 * sp.Function(path.name)(*path.arguments)
    doc = "Mean of four signs of centred Gaussian fields from their correlations."
    return path, ScalarFunction("sign_mean4", r, definitions, value, doc)


def _bounded(r: sp.Symbol) -> sp.Expr:
    """Return the correlation, rounded to ±1 where the two fields are equal or opposite."""
    return sp.Piecewise((1, r > SAME_FIELD), (-1, r < -SAME_FIELD), (r, True))


def _waves() -> tuple[Function, ...]:
    x, odd, weight, nearest, rest, size = _symbols("x odd weight nearest rest size")
    sampled = _sum(
        "dawson_sum",
        "Rybicki's sum around the nearest even multiple of 1/4.",
        (nearest, rest),
        "DAWSON",
        {"ODD": odd, "WEIGHT": weight},
        weight
        * (sp.exp(odd * rest / 2) / (nearest + odd) + sp.exp(-odd * rest / 2) / (nearest - odd)),
    )
    series = sum((-2) ** n * x ** (2 * n + 1) / sp.factorial2(2 * n + 1) for n in range(9))
    far = sp.exp(-(rest**2)) * sp.Function(sampled.name)(nearest, rest)
    dawson = ScalarFunction(
        "dawson",
        (x,),
        (
            (size, sp.Abs(x)),
            (nearest, 2 * sp.floor(2 * size + HALF)),
            (rest, size - nearest / 4),
        ),
        sp.Piecewise((series, size < sp.Rational(1, 5)), (far, x > 0), (-far, True)),
        "Dawson's integral.",
    )
    exponent, h1, h2, r, k1, k2, m, begin = _symbols("exponent h1 h2 r k1 k2 m begin")
    node, t, bounded, root = _symbols("node t bounded root")
    D = sp.Function(dawson.name)
    path = _sum(
        "tilted_path",
        "The integral along which the means of two signs grow to their values.",
        (exponent, h1, h2, k1, k2, m, begin),
        "WAVE",
        {"NODE": node, "WEIGHT": weight},
        weight
        * sp.exp(exponent + m * t**2)
        * (h1 * D(t * k1 / sp.sqrt(2)) + h2 * D(t * k2 / sp.sqrt(2))),
        (t, begin + (1 - begin) * node),
    )
    tilted = ScalarFunction(
        "tilted_signs",
        (exponent, h1, h2, r),
        (
            (bounded, _bounded(r)),
            (root, sp.sqrt(sp.Max((1 - bounded) * (1 + bounded), LEAST))),
            (k1, (h2 - bounded * h1) / root),
            (k2, (h1 - bounded * h2) / root),
            (m, (h1**2 + k1**2) / 2),
            (begin, sp.sqrt(1 - 40 / sp.Max(m, 40))),
        ),
        2 / sp.pi * sp.exp(exponent) * sp.asin(bounded)
        - 2 * sp.sqrt(2) / sp.pi * (1 - begin) * sp.Function(path.name)(*path.arguments),
        "exp(exponent) times the mean of two signs of correlation r with imaginary means h1, h2.",
    )
    return sampled, dawson, path, tilted


def _exp_difference() -> tuple[Function, ...]:
    a, b = _symbols("first second")
    near = 2 * sp.exp((a + b) / 2) * sp.sinh(sp.Min(1, sp.Max(-1, (a - b) / 2)))
    value = sp.Piecewise((near, sp.Abs(a - b) < 1), (sp.exp(a) - sp.exp(b), True))
    doc = "exp(first) - exp(second) with a small relative error."
    return (ScalarFunction("exp_difference", (a, b), (), value, doc),)


def _owen() -> tuple[Function, ...]:
    h, a, k, r, node, weight = _symbols("h a k r node weight")
    size, small, large, near, far, rest = _symbols("size small large near far rest")
    inside = _sum(
        "owen_sum",
        "Owen's function T(h, a) for a <= 1.",
        (h, a),
        "OWEN",
        {"NODE": node, "WEIGHT": weight},
        weight * a * sp.exp(-(h**2) * rest / 2) / rest,
        (rest, 1 + a**2 * node**2),
    )
    call = sp.Function(inside.name)
    outside = near / 2 + far * (HALF - near) - call(large * size, 1 / large)
    signed = sp.Piecewise((-1, a < 0), (1, True))
    owen = ScalarFunction(
        "owen_t",
        (h, a),
        (
            (size, sp.Abs(h)),
            (small, sp.Min(sp.Abs(a), 1)),
            (large, sp.Max(sp.Abs(a), 1)),
            (near, sp.erfc(size / sp.sqrt(2)) / 2),
            (far, sp.erfc(large * size / sp.sqrt(2)) / 2),
        ),
        signed * sp.Piecewise((call(size, small), sp.Abs(a) <= 1), (outside, True)),
        "Owen's function T(h, a).",
    )
    bounded, root, s, t, first, second = _symbols("bounded root s t first second")
    T = sp.Function(owen.name)

    def safe(x: sp.Symbol) -> sp.Expr:
        """Return an expression kept away from zero, for use as a divisor; the limit is the same."""
        return sp.Piecewise((LEAST, sp.Abs(x) < LEAST), (x, True))

    positive = sp.Piecewise((1, s * t > 0), (-1, True))
    shifted = ScalarFunction(
        "shifted_signs",
        (h, k, r),
        (
            (bounded, _bounded(r)),
            (root, sp.sqrt(sp.Max((1 - bounded) * (1 + bounded), LEAST))),
            (s, safe(h)),
            (t, safe(k)),
            (first, (t - bounded * s) / (s * root)),
            (second, (s - bounded * t) / (t * root)),
        ),
        positive - 4 * T(s, first) - 4 * T(t, second),
        "Mean of two signs of correlation r with means h, k.",
    )
    return inside, owen, shifted


@cache
def portable() -> Portable:
    """Return the functions by families, each of which is built when a program first calls it."""
    names = {
        "SignMean4": "sign_mean4",
        "Dawson": "dawson",
        "TiltedSigns": "tilted_signs",
        "ExpDifference": "exp_difference",
        "OwenT": "owen_t",
        "ShiftedSigns": "shifted_signs",
    }
    families = {
        ("sign_mean4",): _sign_mean4,
        ("dawson", "tilted_signs"): _waves,
        ("exp_difference",): _exp_difference,
        ("owen_t", "shifted_signs"): _owen,
    }
    return Portable(
        MappingProxyType(names), MappingProxyType(families), MappingProxyType(_tables())
    )
