"""Points of claims on statics of learning: channels of signs, truncated fields, stored curves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import sympy as sp
from symderiv_ledger.claims.claim import Point

import symderiv as sd
from symderiv.gaussian import expectation
from symderiv.gaussian.forms.evaluate import number

__all__ = [
    "committees",
    "narrow_pieces",
    "nearly_known",
    "one_field",
    "pairs_of_fields",
    "perceptrons",
    "softmax",
    "squares_and_signs",
    "three_fields",
    "two_fields",
]

#: ω and V of one field.
_ONE: Final = (("3/4", "1/4"), ("-1/2", "5/8"), ("1/8", "3/2"))
#: ω₁, ω₂, V₁₁, V₁₂, V₂₂.
_TWO: Final = (
    ("1/2", "-1/4", "3/4", "1/4", "1/2"),
    ("-3/4", "5/8", "1/4", "-1/8", "3/8"),
    ("1/8", "7/8", "5/8", "3/8", "5/4"),
)
_NARROW: Final = (("1/4", "1/2", "1/16", "1/64", "1/32"), ("-3/4", "5/8", "1/8", "-1/32", "1/16"))
#: ω and the rows of V of three fields.
_THREE: Final = (
    (
        ("1/2", "-1/4", "3/8"),
        (("3/4", "1/4", "1/8"), ("1/4", "1/2", "-1/8"), ("1/8", "-1/8", "5/8")),
    ),
    (
        ("-5/8", "1/4", "-1/8"),
        (("1/2", "-1/8", "1/4"), ("-1/8", "3/4", "1/8"), ("1/4", "1/8", "1")),
    ),
)
#: α, then overlaps q₁₁ and q₁₂ as stored.
_GAUSSIAN: Final = (
    (0.45, 0.127533, 0.127514),
    (2.7, 0.565938, 0.220556),
    (3.6, 0.773944, 0.085313),
)
_BINARY: Final = ((0.75, 0.197463, 0.197429), (1.85, 0.502467, 0.213741))
#: α and the mean square error of weights ±1 as stored.
_PERCEPTRON: Final = (
    (0.48, 0.7182095789347978),
    (0.96, 0.4609691567235733),
    (1.28, 0.286345161561853),
)


def _numbers(texts: Any) -> list[sp.Rational]:
    return [sp.Rational(text) for text in texts]


def _positive(z: sp.Expr) -> sp.Expr:
    return (1 + sp.sign(z)) / 2


def _mean(integrand: sp.Expr, fields: list[sp.Symbol], V: sp.Matrix, m: sp.Matrix) -> sp.Expr:
    return expectation(integrand, fields, V, m).unfolded()


def _values(named: dict[str, Any], numbers: Any) -> dict[str, Any]:
    return {name: number(sp.sympify(e), numbers.dps, numbers) for name, e in named.items()}


def one_field(numbers: Any) -> Iterator[Point]:
    """Yield a field of mean w and variance V, known to be positive.

    Names: w, V; Z, dZ, ddZ, its probability and derivatives by w; mean, var, those given the sign.
    """
    z, w = sp.symbols("z w", real=True)
    for at, V in map(_numbers, _ONE):
        known = _positive(z)
        Z, first, second = (
            _mean(f, [z], sp.Matrix([[V]]), sp.Matrix([w]))
            for f in (known, z * known, z**2 * known)
        )
        found = {"Z": Z, "dZ": sp.diff(Z, w), "ddZ": sp.diff(Z, w, 2), "mean": first / Z}
        found["var"] = second / Z - (first / Z) ** 2
        exact = {"w": at, "V": V} | {name: e.subs(w, at) for name, e in found.items()}
        yield Point(f"w = {at}, V = {V}", _values(exact, numbers))


def nearly_known(numbers: Any) -> Iterator[Point]:
    """Yield points as ``two_fields`` does, with small variances, as where overlaps are large."""
    yield from _two(_NARROW, numbers)


def two_fields(numbers: Any) -> Iterator[Point]:
    """Yield two fields of means w1, w2 and covariance V.

    Names: w1, w2, V11, V12, V22 and the inverse of V as a, c, b (entries 11, 12, 22), d its
    determinant; the probabilities PP, MM of both positive and both negative and E, the mean of the
    product of the signs; their derivatives by w1 and w2: PP1, PP11, PP12, MM1, MM11, MM12, E1, E2.
    """
    yield from _two(_TWO, numbers)


def _two(rows: Any, numbers: Any) -> Iterator[Point]:
    fields = list(sp.symbols("x y", real=True))
    w = list(sp.symbols("w1 w2", real=True))
    for w1, w2, V11, V12, V22 in map(_numbers, rows):
        V = sp.Matrix([[V11, V12], [V12, V22]])
        inverse, at = V.inv(), dict(zip(w, (w1, w2), strict=True))
        known = {
            "PP": sp.Mul(*map(_positive, fields)),
            "MM": sp.Mul(*(_positive(-z) for z in fields)),
            "E": sp.Mul(*map(sp.sign, fields)),
        }
        exact: dict[str, Any] = {
            "w1": w1, "w2": w2, "V11": V11, "V12": V12, "V22": V22,
            "a": inverse[0, 0], "c": inverse[0, 1], "b": inverse[1, 1], "d": inverse.det(),
        }  # fmt: skip
        for name, product in known.items():
            value = _mean(product.expand(), fields, V, sp.Matrix(w))
            exact[name] = value.subs(at)
            for places in ((0,), (1,), (0, 0), (0, 1)):
                label = name + "".join(str(i + 1) for i in places)
                exact[label] = sp.diff(value, *(w[i] for i in places)).subs(at)
        yield Point(f"w = {w1}, {w2}, V = {V11}, {V12}, {V22}", _values(exact, numbers))


def three_fields(numbers: Any) -> Iterator[Point]:
    """Yield three fields of means w1, w2, w3 and covariance V.

    Names: w1, w2, w3; the entries of the inverse of V, P11 to P33; SP and SM, the derivative by w3
    of the probability that all are positive, and that the third alone is negative.
    """
    fields = list(sp.symbols("x y z", real=True))
    for texts, rows in _THREE:
        w, V = _numbers(texts), sp.Matrix([_numbers(row) for row in rows])
        inverse = V.inv()
        exact = {f"w{i + 1}": value for i, value in enumerate(w)}
        exact |= {f"P{i + 1}{j + 1}": inverse[i, j] for i in range(3) for j in range(i, 3)}
        edge = sp.DiracDelta(fields[2]) * sp.Mul(*map(_positive, fields[:2])).expand()
        slope = _mean(edge.expand(), fields, V, sp.Matrix(w))
        exact |= {"SP": slope, "SM": -slope}
        yield Point(f"w = {texts}, V = {rows}", _values(exact, numbers))


def squares_and_signs(numbers: Any) -> Iterator[Point]:
    """Yield three fields and an output y = x² + sign(x y z), at a z.

    Names: y, z, w1 to w3, P11 to P33 as in ``three_fields``; det_P, the determinant of P; PPP and
    MPM: the density of y and z where the signs are these, from conditional means and variances.
    """
    outputs = (("5/2", "3/4"), ("7/4", "-1/2"))
    for (texts, rows), (y, z) in zip(_THREE, outputs, strict=True):
        w, V = _numbers(texts), sp.Matrix([_numbers(row) for row in rows])
        inverse, output, third = V.inv(), sp.Rational(y), sp.Rational(z)
        exact = {f"w{i + 1}": value for i, value in enumerate(w)}
        exact |= {f"P{i + 1}{j + 1}": inverse[i, j] for i in range(3) for j in range(i, 3)}
        exact |= {"y": output, "z": third, "det_P": inverse.det()}
        outer, across = V.extract([0, 2], [0, 2]), V.extract([1], [0, 2])
        for name, side in (("PPP", 1), ("MPM", -1)):
            root = side * sp.sqrt(output - 1)
            apart = sp.Matrix([root - w[0], third - w[2]])
            density = sp.exp(-(apart.T * outer.inv() * apart)[0] / 2)
            density /= 2 * sp.pi * sp.sqrt(outer.det())
            middle = w[1] + (across * outer.inv() * apart)[0]
            width = V[1, 1] - (across * outer.inv() * across.T)[0]
            positive = (1 + sp.erf(middle / sp.sqrt(2 * width))) / 2
            exact[name] = density * positive / (2 * sp.sqrt(output - 1))
        yield Point(f"y = {y}, z = {z}, w = {texts}", _values(exact, numbers))


def narrow_pieces(numbers: Any) -> Iterator[Point]:
    """Yield pieces from x to x + e that become narrow.

    Names: x, e; L0, the logarithm of erf(y) - erf(x) at y = x + e; F1 and F2, the differences
    exp(-x²) - exp(-y²) and x exp(-x²) - y exp(-y²) divided by erf(y) - erf(x).
    """
    for x in ("1/4", "-5/4"):
        low = sp.Rational(x)
        for e in (sp.Rational(1, 16), sp.Rational(1, 64), sp.Rational(1, 256)):
            high = low + e
            both = sp.erf(high) - sp.erf(low)
            down, up = sp.exp(-(low**2)), sp.exp(-(high**2))
            exact = {
                "x": low, "e": e, "L0": sp.log(both),
                "F1": (down - up) / both, "F2": (low * down - high * up) / both,
            }  # fmt: skip
            yield Point(f"x = {x}, e = {e}", _values(exact, numbers), float(e), f"x = {x}")


def pairs_of_fields(numbers: Any) -> Iterator[Point]:
    """Yield overlaps of a committee of two units, qd + qa/2 on the diagonal and qa/2 beside it.

    Names: qd, qa; L33, L43 and L44, entries of the Cholesky factor of the covariance of the
    teacher's two fields and the student's two, all of variance one.
    """
    for texts in (("1/2", "1/4"), ("1/8", "3/4"), ("3/4", "1/16")):
        qd, qa = _numbers(texts)
        overlaps = sp.Matrix([[qd + qa / 2, qa / 2], [qa / 2, qd + qa / 2]])
        covariance = sp.BlockMatrix([[sp.eye(2), overlaps], [overlaps, sp.eye(2)]]).as_explicit()
        factor = covariance.cholesky()
        exact = {"qd": qd, "qa": qa, "L33": factor[2, 2], "L43": factor[3, 2], "L44": factor[3, 3]}
        yield Point(f"qd = {qd}, qa = {qa}", _values(exact, numbers))


def softmax(numbers: Any) -> Iterator[Point]:
    """Yield two numbers u1 < u2 and the softmax of the rows of their outer product.

    Names: u1, u2; y1 and y2, the entries 12 and 21 of the softmax.
    """
    for texts in (("-3/4", "1/2"), ("1/4", "5/4"), ("-3/2", "-1/8")):
        u1, u2 = _numbers(texts)
        both = sp.exp(u1 * u2)
        exact = {
            "u1": u1, "u2": u2,
            "y1": both / (both + sp.exp(u1**2)), "y2": both / (both + sp.exp(u2**2)),
        }  # fmt: skip
        yield Point(f"u = {u1}, {u2}", _values(exact, numbers))


def committees(numbers: Any) -> Iterator[Point]:
    """Yield stored overlaps of two units beside those of state evolution.

    Names: stored11, stored12, q11, q12.
    """
    problem = sd.Problem("sign", students=1, teachers=2)
    stored: tuple[tuple[Literal["gaussian", "rademacher"], Any], ...] = (
        ("gaussian", _GAUSSIAN),
        ("rademacher", _BINARY),
    )
    for prior, rows in stored:
        for alpha, q11, q12 in rows:
            q = problem.equilibrium(
                alpha=[alpha],
                kind="bayes-optimal",
                output="sign(sign(z1) + sign(z2))",
                prior=prior,
            ).overlap[0]
            values = {
                "stored11": q11, "stored12": q12, "q11": float(q[0][0]), "q12": float(q[0][1]),
            }  # fmt: skip
            yield Point(
                f"{prior} weights, alpha = {alpha}",
                {name: numbers.mpf(value) for name, value in values.items()},
            )


def perceptrons(numbers: Any) -> Iterator[Point]:
    """Yield stored mean square errors of weights ±1 beside those of state evolution.

    Names: stored, v = 1 - q.
    """
    problem = sd.Problem("sign", students=1, teachers=1)
    for alpha, stored in _PERCEPTRON:
        q = problem.equilibrium(alpha=[alpha], kind="bayes-optimal", prior="rademacher").overlap[0]
        yield Point(
            f"alpha = {alpha}",
            {"stored": numbers.mpf(stored), "v": numbers.mpf(1.0 - float(q[0][0]))},
        )
