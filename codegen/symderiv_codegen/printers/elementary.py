"""Elementary functions of many numbers at once, in double precision, without branches.

The text of this module is copied into generated solvers; every function is plain Python that numba
compiles as it stands. Mathematical libraries take one number at a time; these loops consist of
arithmetic and selections only, so that the compiler turns them into vector instructions.

The coefficients are those that ``python -m symderiv_codegen.printers.coefficients`` prints.
"""

from __future__ import annotations

import math

import numpy as np

_ARCSINE = (
    0.16666666666666669,
    0.07499999999998433,
    0.04464285714635543,
    0.030381944138531247,
    0.02237217294214989,
    0.017352392720869973,
    0.013971212973552933,
    0.011479177415184906,
    0.01032281435018578,
    0.005457506718640358,
    0.01740087944269402,
    -0.014851887071247204,
    0.028757851367421566,
)
_ARCTANGENT = (
    -0.3333333333333333,
    0.19999999999999798,
    -0.14285714285658574,
    0.11111111105033467,
    -0.09090908747438506,
    0.07692296199967973,
    -0.06666421745351814,
    0.058788929347181634,
    -0.052301889934494805,
    0.04550384655278787,
    -0.034539518756678086,
    0.01625139658592304,
)
_HALF_PI = 1.5707963267948966
# What is left of pi/2.
_HALF_PI_REST = 6.123233995736766e-17


def _arcsines(values: np.ndarray, count: int) -> None:
    """Replace the first numbers of an array by their arcsines, with an error below 2 ulp.

    asin(s) = s + s^3 P(s^2) up to 1/2, beyond it pi/2 - 2 asin(sqrt((1 - s)/2)). Numbers outside of
    [-1, 1] give NaN. The array must have room for a multiple of 16 numbers.
    """
    for first in range(0, count, 16):
        # Sixteen at a time leave no rest to a slower loop. Indices without sign: for others numba
        # asks whether they count from the end, which no vector instruction can.
        for k in range(np.uint64(first), np.uint64(first + 16)):
            x = abs(values[k])
            large = x > 0.5
            z = 0.5 - 0.5 * x if large else x * x
            s = math.sqrt(z) if large else x
            # Two chains of products: the fewest operations that do not all wait for each other.
            z2 = z * z
            even = _ARCSINE[8] + (_ARCSINE[10] + _ARCSINE[12] * z2) * z2
            even = _ARCSINE[2] + (_ARCSINE[4] + (_ARCSINE[6] + even * z2) * z2) * z2
            odd = _ARCSINE[7] + (_ARCSINE[9] + _ARCSINE[11] * z2) * z2
            odd = _ARCSINE[1] + (_ARCSINE[3] + (_ARCSINE[5] + odd * z2) * z2) * z2
            p = (_ARCSINE[0] + even * z2) + odd * z
            rest = s * z * p
            head = _HALF_PI - 2.0 * s if large else s
            tail = _HALF_PI_REST - 2.0 * rest if large else rest
            values[k] = math.copysign(head + tail, values[k])


def _arctangents(values: np.ndarray, count: int) -> None:
    """Replace the first numbers of an array by their arctangents, with an error below 2 ulp.

    atan(t) = t + t^3 P(t^2) up to tan(pi/8), beyond it pi/4 + atan((x - 1)/(x + 1)) and, beyond
    tan(3 pi/8), pi/2 + atan(-1/x). The array must have room for a multiple of 16 numbers.
    """
    for first in range(0, count, 16):
        for k in range(np.uint64(first), np.uint64(first + 16)):
            x = abs(values[k])
            middle = x > 0.4142135623730951
            large = x > 2.414213562373095
            above = -1.0 if large else (x - 1.0 if middle else x)
            below = x if large else (x + 1.0 if middle else 1.0)
            angle = _HALF_PI if large else (0.5 * _HALF_PI if middle else 0.0)
            rest = _HALF_PI_REST if large else (0.5 * _HALF_PI_REST if middle else 0.0)
            t = above / below
            z = t * t
            z2 = z * z
            z4 = z2 * z2
            low = _ARCTANGENT[0] + _ARCTANGENT[1] * z + (_ARCTANGENT[2] + _ARCTANGENT[3] * z) * z2
            mid = _ARCTANGENT[4] + _ARCTANGENT[5] * z + (_ARCTANGENT[6] + _ARCTANGENT[7] * z) * z2
            high = _ARCTANGENT[8] + _ARCTANGENT[9] * z
            high += (_ARCTANGENT[10] + _ARCTANGENT[11] * z) * z2
            p = low + mid * z4 + high * (z4 * z4)
            values[k] = math.copysign(angle + (t + (rest + t * z * p)), values[k])
