r"""Means of the forces of any loss over many fields: a lattice, and one variable by a fine rule.

Where the variables are too many for a product of rules, or kinks and labels are surfaces in several
of them, one variable is integrated to many digits for every point of a lattice in the others. It is
the one along which the teacher's sum grows: along it labels and losses jump at points, which are
looked for, so that means stay continuous in the covariance. The lattice has N points j (1, g, g²,
…)/N + shift modulo 1, each coordinate τ of which becomes u = a log(τ/(1 - τ)); the Gaussian weight
makes integrands periodic. Another shift gives another error of the same size, from which it is
known (``docs/notes/losses.md``).

Constants of the module: ``FORCE_LATTICE`` (0 N, 1 g, 2 a, 3 step in the fine variable, 4 its reach,
5 longest panel, 6 number of intervals in which roots are looked for, 7 N, 8 g for more than three
other variables). Text for modules.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.nodes import _LEGENDRE_8
from symderiv.numerics.quadratures.force_mean import (
    _axis_to_first,
    _emptied,
    _force,
    _loss,
    _solved,
    _triangle_of,
    _turn,
)

if TYPE_CHECKING:  # what stands in the module
    _Array = np.ndarray
    from symderiv.numerics.quadratures.force_mean import (
        KINKED,
        LOSS_KINKS,
        SIGN_TARGET,
        STUDENT_KINKS,
        TEACHER_KINKS,
        _Network,
        _Rates,
        _Three,
        loss_kink,
        student_activation,
        student_activation_derivative,
        teacher_activation,
    )

    FORCE_LATTICE = np.zeros(9)

_MOST_BREAKS = 64  # of functions along the fine variable
_MOST_FINE = 1024  # for its points


def _outputs_along(
    place: float,
    base: np.ndarray,
    slope: np.ndarray,
    v: np.ndarray,
    v_teacher: np.ndarray,
) -> tuple[float, float]:
    """Return outputs of student and teacher at a place of the fine variable; not yet the sign."""
    K = v.size
    student, teacher = 0.0, 0.0
    for i in range(K):
        student += v[i] * student_activation(base[i] + slope[i] * place)
    for m in range(v_teacher.size):
        teacher += v_teacher[m] * teacher_activation(base[K + m] + slope[K + m] * place)
    return student, teacher


def _jump_along(
    number: int,
    place: float,
    noise: float,
    base: np.ndarray,
    slope: np.ndarray,
    v: np.ndarray,
    v_teacher: np.ndarray,
) -> float:
    """Return zero where the label changes (number -1), or where the loss has a kink."""
    student, teacher = _outputs_along(place, base, slope, v, v_teacher)
    if number < 0:
        return teacher
    if SIGN_TARGET:
        teacher = math.copysign(1.0, teacher)
    return loss_kink(number, student, teacher + noise)


def _breaks_along(
    noise: float,
    base: np.ndarray,
    slope: np.ndarray,
    v: np.ndarray,
    v_teacher: np.ndarray,
    breaks: np.ndarray,
) -> int:
    """Return where anything is not smooth along the fine variable, ascending; returns how many."""
    reach, cells = float(FORCE_LATTICE[4]), int(FORCE_LATTICE[6])
    K, count = v.size, 0
    for i in range(base.size):
        kinks = STUDENT_KINKS if i < K else TEACHER_KINKS
        for k in range(kinks.size):
            if slope[i] != 0.0 and count < breaks.size:
                place = (kinks[k] - base[i]) / slope[i]
                if abs(place) < reach:
                    breaks[count] = place
                    count += 1
    for number in range(-1 if SIGN_TARGET else 0, LOSS_KINKS):
        left = _jump_along(number, -reach, noise, base, slope, v, v_teacher)
        for n in range(cells):
            low, high = reach * (2.0 * n / cells - 1.0), reach * (2.0 * (n + 1) / cells - 1.0)
            below, left = left, _jump_along(number, high, noise, base, slope, v, v_teacher)
            if below * left < 0.0 and count < breaks.size:
                for _ in range(44):
                    middle = 0.5 * (low + high)
                    if _jump_along(number, middle, noise, base, slope, v, v_teacher) * below > 0.0:
                        low = middle
                    else:
                        high = middle
                breaks[count] = 0.5 * (low + high)
                count += 1
    for n in range(1, count):
        value, m = breaks[n], n
        while m > 0 and breaks[m - 1] > value:
            breaks[m] = breaks[m - 1]
            m -= 1
        breaks[m] = value
    return count


def _fine_panels(breaks: np.ndarray, count: int, row: np.ndarray) -> int:
    """Return points (row 0) and Gaussian weights (row 1) in panels between breaks; returns how
    many.
    """
    reach, longest = float(FORCE_LATTICE[4]), float(FORCE_LATTICE[5])
    used, begin = 0, -reach
    for n in range(count + 1):
        end = breaks[n] if n < count else reach
        panels = math.ceil((end - begin) / longest)
        for p in range(panels):
            half = 0.5 * (end - begin) / panels
            middle = begin + (2 * p + 1) * half
            if used + 8 > row.shape[1]:
                return -1
            for j in range(8):
                t = middle + half * _LEGENDRE_8[0, j]
                density = math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
                row[0, used], row[1, used] = t, half * _LEGENDRE_8[1, j] * density
                used += 1
        begin = end
    return used


def _equal_fine(row: np.ndarray) -> int:
    """Return equal steps (row 0) and their Gaussian weights (row 1); returns how many."""
    step = float(FORCE_LATTICE[3])
    half = math.ceil(float(FORCE_LATTICE[4]) / step)
    for k in range(2 * half + 1):
        t = (k - half) * step
        row[0, k], row[1, k] = t, step * math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
    return 2 * half + 1


def _lattice_point(j: int, points: int, generator: int, turn: float, u: np.ndarray) -> float:
    """Write the variables of a point of the lattice; return its weight, times their number."""
    stretch = float(FORCE_LATTICE[2])
    weight, multiple = 1.0, 1
    for c in range(u.size):
        tau = ((j * multiple) % points) / points + turn
        tau -= math.floor(tau)
        multiple = (multiple * generator) % points
        if tau < 1e-9 or tau > 1.0 - 1e-9:
            return 0.0
        u[c] = stretch * math.log(tau / (1.0 - tau))
        density = math.exp(-0.5 * u[c] * u[c]) / math.sqrt(2.0 * math.pi)
        weight *= density * stretch / (tau * (1.0 - tau))
    return weight


def _units_along(
    place: float,
    line: tuple[_Array, _Array],
    outputs: tuple[_Array, _Array],
    units: tuple[_Array, _Array, _Array, _Array],
) -> tuple[float, float]:
    """Write values and slopes of students at a place of the fine variable; return both outputs."""
    (base, slope), (v, v_teacher) = line, outputs
    K = v.size
    s, t = 0.0, 0.0
    for i in range(K):
        field = base[i] + slope[i] * place
        units[0][i] = student_activation(field)
        units[1][i] = v[i] * student_activation_derivative(field)
        s += v[i] * units[0][i]
    for m in range(v_teacher.size):
        t += v_teacher[m] * teacher_activation(base[K + m] + slope[K + m] * place)
    if SIGN_TARGET:
        t = 1.0 if t > 0.0 else (-1.0 if t < 0.0 else 0.0)
    return s, t


def _along_fine(
    fine: int,
    numbers: _Three,
    line: tuple[_Array, _Array],
    outputs: tuple[_Array, _Array],
    row: np.ndarray,
    units: tuple[_Array, _Array, _Array, _Array],
    rates: _Rates,
    valued: bool,
) -> tuple[float, float]:
    """Add the points of the fine variable; return what they add to error and loss.

    Args:
        fine: How many there are.
        numbers: The weight of the other variables, label noise, and the chance of a flip.
        line: Fields at zero, and their slopes.
        outputs: Output weights of students and teachers.
        row: Points and weights.
        units: Values and slopes of students, their mean forces, and these times the variable.
        rates: Those of the network; what other variables multiply is left out.
        valued: Whether the loss is wanted.
    """
    (weight, shift, flip), (values, slopes, whole, first) = numbers, units
    dv, Gamma = rates[1], rates[3]
    error, loss = 0.0, 0.0
    whole[:] = 0.0
    first[:] = 0.0
    for k in range(fine):
        place, added = row[0, k], weight * row[1, k]
        s, t = _units_along(place, line, outputs, units)
        f, square = _force(s, t, shift, flip)
        error += 0.5 * added * (s - t) * (s - t)
        if valued:
            loss += added * _loss(s, t, shift, flip)
        for i in range(dv.size):
            force = added * slopes[i] * f
            whole[i] += force
            first[i] += force * place
            dv[i] += added * values[i] * f
            for e in range(i + 1):
                Gamma[i, e] += added * slopes[i] * slopes[e] * square
    return error, loss


def _along_teacher(factor: np.ndarray, v_teacher: np.ndarray) -> np.ndarray:
    """Return the axis of a reflection after which the teacher's sum grows along one variable."""
    n = factor.shape[0]
    along = np.zeros(n)
    for m in range(v_teacher.size):
        for c in range(n):
            along[c] += v_teacher[m] * factor[n - v_teacher.size + m, c]
    return _axis_to_first(along, n)


def _lattice_forces(
    network: _Network, numbers: _Three, rates: _Rates, valued: bool
) -> tuple[float, float]:
    """Add up as ``_forces`` does, for any number of fields."""
    (covariance, biases, v, v_teacher), (noise, flip, turn) = network, numbers
    moments, _, db, Gamma = rates
    K, n = v.size, covariance.shape[0]
    factor = _triangle_of(covariance)
    axis = _along_teacher(factor, v_teacher)
    turned = factor.copy()
    _turn(turned, axis)
    slope = turned[:, 0].copy()
    _emptied(rates)
    dimensions = n - 1 + (1 if noise != 0.0 else 0)
    kind = 0 if dimensions < 4 else 7
    points, generator = int(FORCE_LATTICE[kind]), int(FORCE_LATTICE[kind + 1])
    if dimensions < 2:
        points, generator = 251, 1
    row, breaks = np.empty((2, _MOST_FINE)), np.empty(_MOST_BREAKS)
    fine = 0 if KINKED or SIGN_TARGET else _equal_fine(row)
    u, base = np.zeros(dimensions), np.zeros(n)
    units = np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K)
    error, loss = 0.0, 0.0
    for j in range(points):
        weight = _lattice_point(j, points, generator, turn, u)
        if weight < 1e-12:
            continue
        for i in range(n):
            base[i] = biases[i]
            for c in range(1, n):
                base[i] += turned[i, c] * u[c - 1]
        shift = float(noise * u[n - 1]) if noise != 0.0 else 0.0
        if KINKED or SIGN_TARGET:
            count = _breaks_along(shift, base, slope, v, v_teacher, breaks)
            fine = _fine_panels(breaks, count, row)
            if fine < 0:
                return math.nan, math.nan
        given = weight / points, shift, flip
        more = _along_fine(fine, given, (base, slope), (v, v_teacher), row, units, rates, valued)
        error += more[0]
        loss += more[1]
        for i in range(K):
            db[i] += units[2][i]
            moments[i, 0] += units[3][i]
            for c in range(1, n):
                moments[i, c] += units[2][i] * u[c - 1]
    for i in range(K):
        for e in range(i):
            Gamma[e, i] = Gamma[i, e]
    _turn(moments, axis)
    _solved(factor, moments)
    return error, loss
