"""Equations 95 to 99 and 13: the symmetric plateau of the O(eta) flow."""

from __future__ import annotations

from collections.abc import Iterator

from symderiv.verification.claim import Claim
from symderiv.verification.rules import Converges, Exact, Within
from symderiv_papers.worschech_rosenow.setup_fixed_points import (
    EQUAL,
    drawn_teachers,
    homogeneous,
    nearly_homogeneous,
)

__all__ = ["CLAIMS"]

_ROOT = "1/sqrt(M/({T} + {D})*(M*{T}/({T} + {D})*(1 + 1/{T}) - 1))"
_OMEGA = "1/(M*{T}/({T} + {D})*(1 + 1/{T}) - 1)"
_UNIT = {"T": "T_unit[1, n, n]", "D": "d[1, n]"}
_KIND = {"T": "T[1]", "D": "D[1]"}
REGIME = "K = M, O(eta) flow; M = 2, 3, 5, T^(1) not 1, D^(1) not 0"

_RATIO = "(T_unit[l, n, n] + d[l, n])/(T_unit[1, n, n] + d[1, n])"
_ROW_SUMS = (
    "All orders of a student are proportional to the row sums of T^(l): the factor must be "
    "(T_nn^(l) + d_n^(l))/(T_nn^(1) + d_n^(1)). The printed T_nn^(l) is right for T^(1) = 1, D = 0."
)

_EXACT_CASE = [
    Claim(
        "95",
        "R[1] == " + _ROOT.format(**_UNIT),
        homogeneous(),
        Exact(),
        "n = 1..M",
        equal=EQUAL,
        part="R, homogeneous teacher",
        regime=REGIME,
    ),
    Claim(
        "95",
        f"Q[1] == 1/M*Sum({_OMEGA.format(**_UNIT)}, (n, 1, M))",
        homogeneous(),
        Exact(),
        equal=EQUAL,
        part="Q, homogeneous teacher",
        regime=REGIME,
    ),
    Claim(
        "96",
        f"R[l] == T_unit[l, n, n]*({_ROOT.format(**_UNIT)})",
        homogeneous(),
        Exact(),
        "n = 1..M, l = 2..L + 1",
        equal=EQUAL,
        part="R, homogeneous teacher",
        regime=REGIME,
        corrected=f"R[l] == {_RATIO}*({_ROOT.format(**_UNIT)})",
        note=_ROW_SUMS,
    ),
    Claim(
        "96",
        f"Q[l] == 1/M*Sum(T_unit[l, n, n]*({_OMEGA.format(**_UNIT)}), (n, 1, M))",
        homogeneous(),
        Exact(),
        "l = 2..L + 1",
        equal=EQUAL,
        part="Q, homogeneous teacher",
        regime=REGIME,
        corrected=f"Q[l] == 1/M*Sum({_RATIO}*({_OMEGA.format(**_UNIT)}), (n, 1, M))",
        note=_ROW_SUMS,
    ),
]


_DRAWN = "K = M = 4, N = 7000, L = 2 and 10, beta = 1/4: the teachers of figures 17 and 18"
_ANY_TEACHER = [
    Claim(
        "95",
        "R[1, n] == " + _ROOT.format(**_UNIT),
        drawn_teachers,
        Within(5e-3),
        "n = 1..M",
        equal=EQUAL,
        part="R, drawn teachers",
        regime=_DRAWN,
        note="The exact fixed point is J = Sum_m c_m B_m with c_m = -B_m/Sum_j A_ij of the engine.",
    ),
    Claim(
        "95",
        f"Q[1] == 1/M*Sum({_OMEGA.format(**_UNIT)}, (n, 1, M))",
        drawn_teachers,
        Within(5e-4),
        equal=EQUAL,
        part="Q, drawn teachers",
        regime=_DRAWN,
    ),
    Claim(
        "95",
        "R[1, n] == " + _ROOT.format(**_UNIT),
        nearly_homogeneous,
        Converges(order=1.0),
        "n = 1..M",
        equal=EQUAL,
        part="R, order of the error",
        regime="K = M = 2, 3, 4; teachers near a homogeneous one with T^(1) = 1.3, D^(1) = 0.2",
        note="The error is of the first order in what makes the teacher inhomogeneous, but only "
        "some 5 % of the spread of the heights that the formula describes.",
    ),
    Claim(
        "95",
        f"Q[1] == 1/M*Sum({_OMEGA.format(**_UNIT)}, (n, 1, M))",
        nearly_homogeneous,
        Converges(order=2.0),
        equal=EQUAL,
        part="Q, order of the error",
        regime="K = M = 2, 3, 4; teachers near a homogeneous one with T^(1) = 1.3, D^(1) = 0.2",
    ),
    Claim(
        "96",
        f"R[l, n] == T_unit[l, n, n]*({_ROOT.format(**_UNIT)})",
        drawn_teachers,
        Within(5e-3),
        "n = 1..M, l = 2..6",
        equal=EQUAL,
        part="R, drawn teachers",
        regime=_DRAWN,
        corrected=f"R[l, n] == {_RATIO}*({_ROOT.format(**_UNIT)})",
        note="As printed it is off by up to 8 %, because off-diagonal entries of higher orders do "
        "not get small; " + _ROW_SUMS,
    ),
    Claim(
        "96",
        f"Q[l] == 1/M*Sum(T_unit[l, n, n]*({_OMEGA.format(**_UNIT)}), (n, 1, M))",
        drawn_teachers,
        Within(1e-3),
        "l = 2..6",
        equal=EQUAL,
        part="Q, drawn teachers",
        regime=_DRAWN,
        corrected=f"Q[l] == 1/M*Sum({_RATIO}*({_OMEGA.format(**_UNIT)}), (n, 1, M))",
        note=_ROW_SUMS,
    ),
]

# -- homogeneous fixed point ----------------------------------------------------------------------


def _first_order(equation: str) -> Iterator[Claim]:
    for name, form in (("R", _ROOT), ("Q", _OMEGA)):
        yield Claim(
            equation,
            f"{name}[1] == " + form.format(**_KIND),
            homogeneous(),
            Exact(),
            equal=EQUAL,
            part=name,
            regime=REGIME,
        )


def _by_entries(form: str, sum_of_entries: str) -> str:
    return form.format(T="T[1]", D=sum_of_entries)


_ENTRIES = [
    Claim(
        "97",
        f"{name} == " + _by_entries(form, "entry[1]"),
        homogeneous(),
        Exact(),
        equal=EQUAL,
        part=f"{name[0]}, D of appendix C.2",
        regime=REGIME,
        given="D^(1) is the entry T_nm^(1), as appendix C.2 defines it.",
        corrected=f"{name} == " + _by_entries(form, "(M - 1)*entry[1]"),
        note="With D as the sum of M-1 entries (main text) the equation holds.",
    )
    for name, form in (("R[1]", _ROOT), ("Q[1]", _OMEGA))
]


def _other_orders() -> Iterator[Claim]:
    zero, ratio = "1/(T[1] + D[1])", "(T[l] + D[l])/(T[1] + D[1])"
    for name, form in (("R", _ROOT), ("Q", _OMEGA)):
        first = form.format(**_KIND)
        yield Claim(
            "98",
            f"{name}[0] == {zero}*({first})",
            homogeneous(orthonormal=True),
            Exact(),
            equal=EQUAL,
            part=f"{name}, order 0",
            regime=REGIME + ", T^(0)_nm = delta_nm",
        )
        yield Claim(
            "98",
            f"{name}[l] == T[l]/T[1]*({first})",
            homogeneous(),
            Exact(),
            "l = 2..L + 1",
            equal=EQUAL,
            part=f"{name}, other orders",
            regime=REGIME,
            corrected=f"{name}[l] == {ratio}*({first})",
            note="The ratio must be (T^(l) + D^(l))/(T^(1) + D^(1)), as the line for order 0 has "
            "it; the printed one is right for D = 0.",
        )


# -- height ---------------------------------------------------------------------------------------

_STUDENTS = "M*asin((D[1] + T[1])/(M*T[1] + M))"
_TEACHERS = "(M - 1)*asin(D[1]/{})"
_TEACHERS_OWN = "asin(T[1]/(T[1] + 1))"
_CROSS = """2*M*asin(1/(sqrt(T[1] + 1)
    *sqrt(-(D[1]*M - M**2 - (M**2 - M)*T[1])/(D[1]**2 + 2*D[1]*T[1] + T[1]**2))
    *sqrt((M*T[1] + M)/((M - 1)*T[1] - D[1] + M))))"""
_PRINTED, _TRUE = "(T[1] + 1)", "((M - 1)*(T[1] + 1))"


def _height(denominator: str) -> str:
    teachers = _TEACHERS.format(denominator)
    return f"1/pi*({_STUDENTS} + {teachers} - {_CROSS} + {_TEACHERS_OWN})"


_HEIGHT = [
    Claim(
        "99",
        f"epsilon_g == {_height(_PRINTED)}",
        homogeneous(),
        Exact(),
        regime=REGIME,
        equal=EQUAL,
        corrected=f"epsilon_g == {_height(_TRUE)}",
        note="The entry T_nm is D/(M-1): the second arcsine needs D/((M-1)(T+1)). The printed one "
        "is right for M = 2 or D = 0. It would be right with D the entry itself, as appendix C.2 "
        "defines it, but then the other terms would not.",
    ),
    Claim(
        "99",
        f"teachers == 1/pi*({_TEACHERS.format(_PRINTED)} + {_TEACHERS_OWN})",
        homogeneous(),
        Exact(),
        equal=EQUAL,
        part="teachers",
        regime=REGIME,
        reading="printed",
        corrected=f"teachers == 1/pi*({_TEACHERS.format(_TRUE)} + {_TEACHERS_OWN})",
        note="The second and the fourth arcsine, the part of epsilon_g that knows teachers only.",
    ),
    Claim(
        "99",
        f"students == 1/pi*({_STUDENTS})",
        homogeneous(),
        Exact(),
        equal=EQUAL,
        part="students",
        regime=REGIME,
        reading="printed",
    ),
    Claim(
        "99",
        f"cross == -1/pi*({_CROSS})",
        homogeneous(),
        Exact(),
        equal=EQUAL,
        part="students and teachers",
        regime=REGIME,
    ),
]

CLAIMS = (
    *_first_order("13"),
    *_EXACT_CASE,
    *_ANY_TEACHER,
    *_first_order("97"),
    *_ENTRIES,
    *_other_orders(),
    *_HEIGHT,
)
