"""Equations 89 to 94: I2, I3, I4 and their closed forms for erf, rates and error for K = M."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from symderiv.verification.arithmetic import Indexed, Values
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Converges, Exact
from symderiv_papers.references.integral_references import Integrals, as_number, covariances
from symderiv_papers.references.references import flow, moments_of, networks
from symderiv_papers.worschech_rosenow.setup_points import points_on

__all__ = ["CLAIMS"]

PROOF = Exact(backend="arb")
REGIME = "any covariance; exact rational ones, also singular"


def _covariances(count: int) -> Callable[[Any], Iterator[Point]]:
    """The engine's integral ``I`` at exact covariances ``C``.

    For four fields also minors of 1 + C: by Price's theorem I4 is an arcsine of the partial
    correlation of the last two fields given the first two, where the Gaussian factors of erf widen
    every variance by 1.
    """

    def points(numbers: Any) -> Iterator[Point]:
        engine = Integrals("erf", numbers)
        for kind, rows in covariances(count):
            entries = [[as_number(e, numbers) for e in row] for row in rows]
            values = {"C": Indexed(entries, (1, count), (1, count))}
            if count == 4:
                minors = (
                    ("A0", (0, 1, 2), (0, 1, 3)),
                    ("A1", (0, 1, 2), (0, 1, 2)),
                    ("A2", (0, 1, 3), (0, 1, 3)),
                    ("A4", (0, 1), (0, 1)),
                )
                values |= {
                    name: as_number(_minor(rows, left, right), numbers)
                    for name, left, right in minors
                }
            shown = "; ".join(", ".join(map(str, row)) for row in rows)
            lazy = {"I": partial(engine.at, rows)}
            yield Point(f"{kind}: C = [{shown}]", Values(values, lazy))

    return points


def _minor(
    rows: Sequence[Sequence[Fraction]], left: Sequence[int], right: Sequence[int]
) -> Fraction:
    """A minor of 1 + C."""
    return _determinant([[rows[i][j] + (i == j) for j in right] for i in left])


def _determinant(rows: Sequence[Sequence[Fraction]]) -> Fraction:
    if not rows:
        return Fraction(1)
    below = [list(row[1:]) for row in rows]
    return sum(
        (
            (-1) ** k * row[0] * _determinant([*below[:k], *below[k + 1 :]])
            for k, row in enumerate(rows)
        ),
        Fraction(0),
    )


def _one_field(numbers: Any) -> Iterator[Point]:
    """Fields that are multiples of one normal variable: the means are single integrals."""
    root = numbers.sqrt(numbers.mpf(2))
    engine = Integrals("erf", numbers)
    for factors in ((1, 2, 3, -2), (Fraction(-1, 2), 3, Fraction(2, 3), 1), (0, 1, -1, 2)):
        a = [Fraction(factor) for factor in factors]
        rows = [[p * q for q in a] for p in a]
        values = {
            "a": Indexed([as_number(factor, numbers) for factor in a], (1, 4)),
            "g": lambda x: numbers.erf(x / root),
            "dg": lambda x: 2 / root / numbers.sqrt(numbers.pi) * numbers.exp(-(x**2) / 2),
            "w": lambda z: numbers.exp(-(z**2) / 2) / numbers.sqrt(2 * numbers.pi),
        }
        lazy = {f"I{n}": partial(engine.at, [row[:n] for row in rows[:n]]) for n in (2, 3, 4)}
        yield Point(f"fields {', '.join(map(str, a))} times one normal variable",
                    Values(values, lazy))  # fmt: skip


#: Equation, part, display and mean.
_MEANS = (
    ("definition of 19", "", 0, "I2", "g(a[1]*z)*g(a[2]*z)"),
    ("definitions of 18", "I_3", 1, "I3", "dg(a[1]*z)*a[2]*z*g(a[3]*z)"),
    ("definitions of 18", "I_4", 2, "I4", "dg(a[1]*z)*dg(a[2]*z)*g(a[3]*z)*g(a[4]*z)"),
)

_DEFINITIONS = [
    Claim(
        equation,
        f"{name} == Integral(w(z)*{mean}, (z, -oo, oo))",
        _one_field,
        Exact(),
        part=part,
        printed=display,
        definition=True,
        note="Checked where all fields are multiples of one normal variable.",
    )
    for equation, part, display, name, mean in _MEANS
]

_I2 = "I == 2/pi*asin(C[1, 2]/sqrt((1 + C[1, 1])*(1 + C[2, 2])))"
_I3 = """I == 2/pi*1/sqrt((1 + C[1, 1])*(1 + C[3, 3]) - C[1, 3]**2)
    *((C[2, 3]*(1 + C[1, 1]) - C[1, 2]*C[1, 3])/(1 + C[1, 1]))"""
_I4 = "I == 4/pi**2*1/sqrt(A4)*asin(A0/(sqrt(A1)*sqrt(A2)))"

_PRINTED = {
    "A4": "(1 + C[1, 1])*(1 + C[2, 2]) - C[1, 2]**2",
    "A0": "A4*C[3, 4] + C[2, 3]*C[2, 4]*(1 + C[1, 1]) + C[1, 3]*C[1, 4]*(1 + C[2, 2])"
    " + C[1, 2]**2*C[1, 3]**2*C[2, 4]**2",
    "A1": "A4*(1 + C[3, 3]) + C[2, 3]*(1 + C[1, 1]) - C[1, 3]*(1 + C[2, 2])"
    " + 2*C[1, 2]*C[1, 3]*C[2, 3]",
    "A2": "A4*(1 + C[4, 4]) - C[2, 4]*(1 + C[1, 1]) - C[1, 4]*(1 + C[2, 2])"
    " + 2*C[1, 2]*C[1, 4]*C[2, 4]",
}
_TRUE = {
    **_PRINTED,
    "A0": "A4*C[3, 4] - C[2, 3]*C[2, 4]*(1 + C[1, 1]) - C[1, 3]*C[1, 4]*(1 + C[2, 2])"
    " + C[1, 2]*C[1, 3]*C[2, 4] + C[1, 2]*C[1, 4]*C[2, 3]",
    "A1": "A4*(1 + C[3, 3]) - C[2, 3]**2*(1 + C[1, 1]) - C[1, 3]**2*(1 + C[2, 2])"
    " + 2*C[1, 2]*C[1, 3]*C[2, 3]",
    "A2": "A4*(1 + C[4, 4]) - C[2, 4]**2*(1 + C[1, 1]) - C[1, 4]**2*(1 + C[2, 2])"
    " + 2*C[1, 2]*C[1, 4]*C[2, 4]",
}


_NOTES = {
    "A0": "Both products of two covariances have the wrong sign, and the last term must be "
    "C_12 C_13 C_24 + C_12 C_14 C_23.",
    "A1": "C_23 and C_13 must be squared and the sign of the first be minus.",
    "A2": "C_24 and C_14 must be squared.",
}

_INTEGRALS = [
    Claim("89", _I2, _covariances(2), PROOF, regime=REGIME, symmetric=("C",)),
    Claim("90", _I3, _covariances(3), PROOF, regime=REGIME, symmetric=("C",)),
    Claim(
        "91",
        _I4,
        _covariances(4),
        PROOF,
        printed=0,
        regime=REGIME,
        given="A_4, A_1, A_2 are the minors of 1 + C with fields 12, 123, 124, and A_0 is the one "
        "with rows 123 and columns 124.",
        note="With A_0, A_1, A_2 as printed it fails, see there; the printed A_1 and A_2 may even "
        "be negative.",
    ),
    *(
        Claim(
            "91",
            f"{name} == {_PRINTED[name]}",
            _covariances(4),
            PROOF,
            part=name.replace("A", "A_"),
            printed=1 + number,
            regime=REGIME,
            given="" if name == "A4" else "A_4 as printed.",
            corrected="" if _TRUE[name] == _PRINTED[name] else f"{name} == {_TRUE[name]}",
            note=_NOTES.get(name, ""),
            symmetric=("C",),
        )
        for number, name in enumerate(_PRINTED)
    ),
]

# -- rates and error, K = M -----------------------------------------------------------------------


_RATE_OF_R = """dR[l, i, n] == 2*eta/(M*pi)*1/(1 + Q[1, i, i])*(
    Sum((T[l + 1, n, m]*(1 + Q[1, i, i]) - R[l + 1, i, n]*R[1, i, m])
        /sqrt((1 + Q[1, i, i])*(1 + T[1, m, m]) - R[1, i, m]**2), (m, 1, M))
    - Sum((R[l + 1, j, n]*(1 + Q[1, i, i]) - R[l + 1, i, n]*Q[1, i, j])
        /sqrt((1 + Q[1, i, i])*(1 + Q[1, j, j]) - Q[1, i, j]**2), (j, 1, M)))
"""


def _half(i: str, k: str) -> str:
    """The terms of dQ_ik in which student i is differentiated."""
    return f"""1/(1 + Q[1, {i}, {i}])*(
    Sum((R[l + 1, {k}, m]*(1 + Q[1, {i}, {i}]) - Q[l + 1, i, k]*R[1, {i}, m])
        /sqrt((1 + Q[1, {i}, {i}])*(1 + T[1, m, m]) - R[1, {i}, m]**2), (m, 1, M))
    - Sum((Q[l + 1, {k}, j]*(1 + Q[1, {i}, {i}]) - Q[l + 1, i, k]*Q[1, {i}, j])
        /sqrt((1 + Q[1, {i}, {i}])*(1 + Q[1, j, j]) - Q[1, {i}, j]**2), (j, 1, M)))"""


_BRACKET = f"{_half('i', 'k')} + {_half('k', 'i')}"
_SQUARE = partial(networks, square=True)


def _small_rates(numbers: Any) -> Iterator[Point]:
    """States at falling learning rates."""
    for state in _SQUARE():
        moments = moments_of(state, numbers)
        for power in (2, 3):
            eta = numbers.mpf(10) ** -power
            values = {
                **moments.indexed(),
                "eta": eta,
                "scale": eta,
                "dQ": flow(moments, eta, numbers).indexed()["dQ"],
                "dQ1": flow(moments, eta, numbers, full_order=False).indexed()["dQ"],
            }
            yield Point(f"{state.label}, eta = 1e-{power}", values, float(eta), state.label)


_KM = (("K", "M"),)
_EQUAL_UNITS = "K = M, also above 2; eta = 0.7; exact rational states, also degenerate"

_LEARNING = [
    Claim(
        "92",
        _RATE_OF_R,
        points_on(_SQUARE),
        Exact(),
        "i = 1..K, n = 1..M, l = 0..L - 1",
        regime=_EQUAL_UNITS,
        note="The order l + 1 of all factors and the prefactor 1/M belong to I3(x_i, y_n^(l), .) "
        "and to a teacher with output weights 1/sqrt(M); compare 18.",
        symmetric=("Q", "T"),
        equal=_KM,
    ),
    Claim(
        "93",
        f"dQ1[l, i, k] == 2*eta/(M*pi)*({_BRACKET})",
        points_on(_SQUARE),
        Exact(),
        "i = 1..K, k = 1..K, l = 0..L - 1",
        part="first order",
        regime=_EQUAL_UNITS,
        symmetric=("Q", "T"),
        equal=_KM,
    ),
    Claim(
        "93",
        "dQ[l, i, k] == dQ1[l, i, k]",
        _small_rates,
        Converges(order=1.0),
        "i = 1..K, k = 1..K, l = 0..L - 1",
        part="remainder",
        regime="K = M; eta = 1e-2, 1e-3",
        given="The first order as above, dQ1.",
        note="What is left out is of order eta relative to what is kept.",
        symmetric=("dQ1",),
    ),
    Claim(
        "94",
        """epsilon_g == 1/(M*pi)*(
            Sum(asin(Q[1, i, k]/(sqrt(1 + Q[1, i, i])*sqrt(1 + Q[1, k, k]))), (i, 1, M), (k, 1, M))
            + Sum(asin(T[1, n, m]/(sqrt(1 + T[1, n, n])*sqrt(1 + T[1, m, m]))),
                  (n, 1, M), (m, 1, M))
            - 2*Sum(asin(R[1, i, n]/(sqrt(1 + Q[1, i, i])*sqrt(1 + T[1, n, n]))),
                    (i, 1, M), (n, 1, M)))""",
        points_on(_SQUARE),
        Exact(),
        regime=_EQUAL_UNITS,
        symmetric=("Q", "T"),
        equal=_KM,
    ),
]

CLAIMS = (*_DEFINITIONS, *_INTEGRALS, *_LEARNING)
