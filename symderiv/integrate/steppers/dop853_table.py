"""The numbers of the Dormand-Prince pair of order 8 with embedded orders 5 and 3.

Rounded to doubles: ``NODES`` (12) and ``STAGES`` (12, 12), ``SOLUTION`` (12) the weights of order
8, ``ERROR_5`` and ``ERROR_3`` (12) the differences to the embedded solutions of order 5 and 3.
``CONTROL``: how long steps are.

``ERROR_6`` (12) is this project's: for y' = z y / h the two differences almost vanish at z = -5.4
and z = -4.7, so that a step which nears the limit of stability at z = -6.1 is accepted with an
error a hundred times above its estimate. The sixth divided difference of the slopes at seven stages
vanishes for solutions of order 6 (it meets all conditions up to that order: those stages are
themselves accurate enough), and on 0 > z > -7 it has no zero but at z = 0. Its size is such that it
is no smaller than the error for -4.5 > z > -6 and half of the older estimate for -1 > z > -4.

Source: :cite:`HairerNorsettWanner1993`, II.5, and the authors' program DOP853. The order
conditions and SciPy's copy of the table are checked in ``tests/unit/dynamics``.
"""

from __future__ import annotations

import numpy as np

from symderiv.integrate.steppers.memory import Control

CONTROL = Control(
    safety=0.9,
    proportional=1.0 / 8.0 - 0.2 * 0.04,
    integral=0.04,
    least_growth=1.0 / 3.0,
    largest_growth=6.0,
    retry=1.0 / 8.0 - 0.2 * 0.04,
    largest_shrink=1.0 / 3.0,
    outside=0.0,
    between=0.1,
    halves=1.0,
)

# Rows as {column: coefficient}; what is not named is zero.
_NODES = (
    0.0,
    0.05260015195876773,
    0.0789002279381516,
    0.1183503419072274,
    0.2816496580927726,
    0.3333333333333333,
    0.25,
    0.3076923076923077,
    0.6512820512820513,
    0.6,
    0.8571428571428571,
    1.0,
)
_STAGES: tuple[dict[int, float], ...] = (
    {},
    {
        0: 0.05260015195876773,
    },
    {
        0: 0.0197250569845379,
        1: 0.0591751709536137,
    },
    {
        0: 0.02958758547680685,
        2: 0.08876275643042054,
    },
    {
        0: 0.2413651341592667,
        2: -0.8845494793282861,
        3: 0.924834003261792,
    },
    {
        0: 0.037037037037037035,
        3: 0.17082860872947386,
        4: 0.12546768756682242,
    },
    {
        0: 0.037109375,
        3: 0.17025221101954405,
        4: 0.06021653898045596,
        5: -0.017578125,
    },
    {
        0: 0.03709200011850479,
        3: 0.17038392571223998,
        4: 0.10726203044637328,
        5: -0.015319437748624402,
        6: 0.008273789163814023,
    },
    {
        0: 0.6241109587160757,
        3: -3.3608926294469414,
        4: -0.868219346841726,
        5: 27.59209969944671,
        6: 20.154067550477894,
        7: -43.48988418106996,
    },
    {
        0: 0.47766253643826434,
        3: -2.4881146199716677,
        4: -0.590290826836843,
        5: 21.230051448181193,
        6: 15.279233632882423,
        7: -33.28821096898486,
        8: -0.020331201708508627,
    },
    {
        0: -0.9371424300859873,
        3: 5.186372428844064,
        4: 1.0914373489967295,
        5: -8.149787010746927,
        6: -18.52006565999696,
        7: 22.739487099350505,
        8: 2.4936055526796523,
        9: -3.0467644718982196,
    },
    {
        0: 2.273310147516538,
        3: -10.53449546673725,
        4: -2.0008720582248625,
        5: -17.9589318631188,
        6: 27.94888452941996,
        7: -2.8589982771350235,
        8: -8.87285693353063,
        9: 12.360567175794303,
        10: 0.6433927460157636,
    },
)
_SOLUTION = {
    0: 0.054293734116568765,
    5: 4.450312892752409,
    6: 1.8915178993145003,
    7: -5.801203960010585,
    8: 0.3111643669578199,
    9: -0.1521609496625161,
    10: 0.20136540080403034,
    11: 0.04471061572777259,
}
_ERROR_5 = {
    0: 0.01312004499419488,
    5: -1.2251564463762044,
    6: -0.4957589496572502,
    7: 1.6643771824549864,
    8: -0.35032884874997366,
    9: 0.3341791187130175,
    10: 0.08192320648511571,
    11: -0.022355307863886294,
}
_ERROR_3 = {
    0: -0.18980075407240762,
    5: 4.450312892752409,
    6: 1.8915178993145003,
    7: -5.801203960010585,
    8: -0.4226823213237919,
    9: -0.1521609496625161,
    10: 0.20136540080403034,
    11: 0.02265179219836082,
}


def _filled(rows: tuple[dict[int, float], ...], columns: int) -> np.ndarray:
    table = np.zeros((len(rows), columns))
    for index, row in enumerate(rows):
        for column, value in row.items():
            table[index, column] = value
    return table


def _divided_difference(stages: tuple[int, ...], largest: float) -> np.ndarray:
    """Return weights of the divided difference of slopes at some stages, the largest one given."""
    weights = np.zeros(12)
    for i in stages:
        weights[i] = 1.0 / np.prod([_NODES[i] - _NODES[j] for j in stages if j != i])
    weights *= largest / np.max(np.abs(weights))
    return weights


NODES = np.array(_NODES)
STAGES = _filled(_STAGES, 12)
SOLUTION = _filled((_SOLUTION,), 12)[0]
ERROR_5 = _filled((_ERROR_5,), 12)[0]
ERROR_3 = _filled((_ERROR_3,), 12)[0]
ERROR_6 = _divided_difference((0, 5, 6, 7, 8, 9, 10), largest=11.5)
