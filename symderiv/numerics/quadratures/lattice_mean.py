r"""Means of the forces of any loss over many fields: a lattice, and one variable by a fine rule.

Where the variables are too many for a product of rules, or kinks and labels are surfaces in several
of them, one variable is integrated to many digits for every point of a lattice in the others. It is
the one along which the teacher's sum grows: along it labels and losses jump at points, which are
searched for, so that means stay continuous in the covariance. Lines without jumps take equal steps,
others panels. The lattice has N points j (1, g, g², …)/N + shift modulo 1, each coordinate τ of
which becomes u = a log(τ/(1 - τ)); the Gaussian weight makes integrands periodic. Another shift
gives another error of the same size, so that shifts measure the error (``docs/notes/losses.md``).

Constants of the module: ``FORCE_LATTICE`` (0 N, 1 g, 2 a, 3 step in units of the fields, 4 reach of
the fine variable, 5 its longest panel, 6 its longest step, 7 N, 8 g for more than three other
variables, 9 whether the loss is steeper than activations may be). Pasted into generated modules.
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
    _jump_of,
    _loss,
    _root_along,
    _sharpness,
    _solved,
    _triangle_of,
    _turn,
)
from symderiv.numerics.quadratures.tensor_mean import _equal_steps

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    _Array = np.ndarray
    from symderiv.numerics.quadratures.force_mean import (
        EVEN,
        FORCE_STEPS,
        KINKED,
        LOSS_KINKS,
        SIGN_TARGET,
        STUDENT_KINKS,
        TEACHER_KINKS,
        _Network,
        _Rates,
        _Three,
        student_activation,
        student_activation_derivative,
        teacher_activation,
    )

    FORCE_LATTICE = np.zeros(10)

_MOST_BREAKS = 64  # places along the fine variable where the integrand is not smooth, at most
_MOST_FINE = 1024  # points of the fine variable, at most


def _breaks_along(
    count: int,
    noise: float,
    turn: float,
    line: tuple[_Array, _Array],
    outputs: tuple[_Array, _Array],
    row: np.ndarray,
    table: tuple[_Array, _Array, _Array],
    breaks: np.ndarray,
) -> int:
    """Write the places along the fine variable where the integrand is not smooth; return how many.

    Args:
        count: The number of equally spaced points between which jumps are looked for. A zero
            counts as negative: labels of equal teachers change at a point exactly.
        noise: Label noise.
        turn: The shift of the lattice; panels end there too, so that a shift changes the panels.
        line, outputs: Fields as base + slope t, and output weights of students and teachers.
        row, table: The points; the last array of the table has the outputs there.
        breaks: Where the places are written, in ascending order.
    """
    (base, slope), K, breaks_found = line, outputs[0].size, 0
    reach = float(FORCE_LATTICE[4])
    if turn != 0.0:
        breaks[0], breaks_found = turn, 1
    for i in range(base.size):
        kinks = STUDENT_KINKS if i < K else TEACHER_KINKS
        for k in range(kinks.size):
            if slope[i] != 0.0 and breaks_found < breaks.size:
                place = (kinks[k] - base[i]) / slope[i]
                if abs(place) < reach:
                    breaks[breaks_found] = place
                    breaks_found += 1
    for number in range(-1 if SIGN_TARGET else 0, LOSS_KINKS):
        above = _jump_of(number, table[2][0, 0], table[2][1, 0], noise) > 0.0
        for n in range(1, count):
            before, above = above, _jump_of(number, table[2][0, n], table[2][1, n], noise) > 0.0
            if above != before and breaks_found < breaks.size:
                between = row[0, n - 1], row[0, n]
                breaks[breaks_found] = _root_along(number, between, (noise, 0.0), line, outputs)
                breaks_found += 1
    for n in range(1, breaks_found):
        value, m = breaks[n], n
        while m > 0 and breaks[m - 1] > value:
            breaks[m] = breaks[m - 1]
            m -= 1
        breaks[m] = value
    return breaks_found


def _fine_panels(breaks: np.ndarray, count: int, longest: float, row: np.ndarray) -> int:
    """Write points (row 0) and Gaussian weights (row 1) in panels between breaks.

    Return their number, -1 if too many.
    """
    reach = float(FORCE_LATTICE[4])
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


def _lattice_point(j: int, points: int, generator: int, turn: float, u: np.ndarray) -> float:
    """Write the variables of one lattice point; return its weight times the number of points."""
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


def _units_at_points(
    fine: int,
    line: tuple[_Array, _Array],
    outputs: tuple[_Array, _Array],
    row: np.ndarray,
    table: tuple[_Array, _Array, _Array],
) -> None:
    """Write values and slopes of students, and both outputs, at points of the fine variable."""
    (base, slope), (v, v_teacher), (values, slopes, out) = line, outputs, table
    K = v.size
    for k in range(fine):
        out[0, k] = out[1, k] = 0.0
    for i in range(K):
        for k in range(fine):
            field = base[i] + slope[i] * row[0, k]
            values[i, k] = student_activation(field)
            slopes[i, k] = v[i] * student_activation_derivative(field)
            out[0, k] += v[i] * values[i, k]
    for m in range(v_teacher.size):
        for k in range(fine):
            field = base[K + m] + slope[K + m] * row[0, k]
            out[1, k] += v_teacher[m] * teacher_activation(field)


def _along_fine(
    fine: int,
    numbers: _Three,
    row: np.ndarray,
    table: tuple[_Array, _Array, _Array],
    moved: tuple[_Array, _Array],
    rates: _Rates,
    valued: bool,
) -> tuple[float, float]:
    """Add the points of the fine variable; return what they add to error and loss.

    Args:
        fine: The number of points.
        numbers: The weight of the other variables, label noise, and the chance of a flip.
        row, table: Points and weights, and the output of ``_units_at_points``.
        moved: Where mean forces and their first moments along the variable are written.
        rates: The rates of the network; only dv and Gamma are added to.
        valued: Whether the mean loss is computed.
    """
    (weight, shift, flip), (values, slopes, out), (whole, first) = numbers, table, moved
    dv, Gamma = rates[1], rates[3]
    error, loss = 0.0, 0.0
    whole[:] = 0.0
    first[:] = 0.0
    for k in range(fine):
        place, added = row[0, k], weight * row[1, k]
        s, t = out[0, k], out[1, k]
        if SIGN_TARGET:
            t = 1.0 if t > 0.0 else (-1.0 if t < 0.0 else 0.0)
        f, square = _force(s, t, shift, flip)
        error += 0.5 * added * (s - t) * (s - t)
        if valued:
            loss += added * _loss(s, t, shift, flip)
        for i in range(dv.size):
            force = added * slopes[i, k] * f
            whole[i] += force
            first[i] += force * place
            dv[i] += added * values[i, k] * f
            for e in range(i + 1):
                Gamma[i, e] += added * slopes[i, k] * slopes[e, k] * square
    return error, loss


def _turned_to_teacher(factor: np.ndarray, v_teacher: np.ndarray) -> tuple[_Array, _Array]:
    """Turn the variables so that the teacher's sum changes along the first one; return the turned L
    and the axis of the reflection.
    """
    n = factor.shape[0]
    along, turned = np.zeros(n), factor.copy()
    for m in range(v_teacher.size):
        for c in range(n):
            along[c] += v_teacher[m] * factor[n - v_teacher.size + m, c]
    axis = _axis_to_first(along, n)
    _turn(turned, axis)
    return turned, axis


def _fine_steps(network: _Network, slope: np.ndarray) -> tuple[float, float]:
    """Return the step and the longest panel along a variable with these slopes of the fields."""
    longest, together = 0.0, 0.0
    for i in range(slope.size):
        longest = max(longest, abs(slope[i]))
        together += slope[i] * slope[i]
    grown = math.sqrt(1.0 + together)
    sharp = longest if FORCE_LATTICE[9] == 0.0 else _sharpness(network) * longest
    step = min(float(FORCE_LATTICE[6]), float(FORCE_STEPS[1]) / grown)
    if sharp * step > FORCE_LATTICE[3]:
        step = float(FORCE_LATTICE[3]) / sharp
    return step, min(float(FORCE_LATTICE[5]), 3.0 * float(FORCE_LATTICE[5]) / grown)


def _size_of_lattice(dimensions: int) -> tuple[int, int]:
    """Return the number of points of the lattice in this many variables, and its generator."""
    if dimensions < 2:
        return 251, 1
    kind = 0 if dimensions < 4 else 7
    return int(FORCE_LATTICE[kind]), int(FORCE_LATTICE[kind + 1])


def _lattice_forces(
    network: _Network, numbers: _Three, rates: _Rates, valued: bool
) -> tuple[float, float]:
    """Write the rates of a network as ``_forces`` does, for any number of fields."""
    (covariance, biases, v, v_teacher), (noise, flip, turn) = network, numbers
    moments, _, db, Gamma = rates
    K, n = v.size, covariance.shape[0]
    factor = _triangle_of(covariance)
    turned, axis = _turned_to_teacher(factor, v_teacher)
    slope = turned[:, 0].copy()
    _emptied(rates)
    dimensions = n - 1 + (1 if noise != 0.0 else 0)
    points, generator = _size_of_lattice(dimensions)
    equal, panels = np.empty((2, _MOST_FINE)), np.empty((2, _MOST_FINE))
    table = np.empty((K, _MOST_FINE)), np.empty((K, _MOST_FINE)), np.empty((2, _MOST_FINE))
    step, longest = _fine_steps(network, slope)
    half_steps, breaks = math.ceil(float(FORCE_LATTICE[4]) / step), np.empty(_MOST_BREAKS)
    steps = 2 * half_steps + 1
    if steps > _MOST_FINE:
        return math.nan, math.nan
    _equal_steps(turn - half_steps, step, steps, equal)
    u, base, error, loss = np.zeros(dimensions), np.zeros(n), 0.0, 0.0
    line, outputs, moved = (base, slope), (v, v_teacher), (np.zeros(K), np.zeros(K))
    # points come in pairs of opposite signs, which contribute equally to every mean
    half = EVEN == 1 and turn == 0.0
    for j in range(points // 2 + 1 if half else points):
        weight = _lattice_point(j, points, generator, turn, u)
        if weight < 1e-12:
            continue
        for i in range(n):
            base[i] = biases[i]
            for c in range(1, n):
                base[i] += turned[i, c] * u[c - 1]
        shift = float(noise * u[n - 1]) if noise != 0.0 else 0.0
        fine, row = steps, equal
        _units_at_points(fine, line, outputs, row, table)
        if KINKED or SIGN_TARGET:
            count = _breaks_along(fine, shift, turn, line, outputs, row, table, breaks)
            if count > 0:
                fine, row = _fine_panels(breaks, count, longest, panels), panels
                if fine < 0:
                    return math.nan, math.nan
                _units_at_points(fine, line, outputs, row, table)
        given = (2.0 if half else 1.0) * weight / points, shift, flip
        more = _along_fine(fine, given, row, table, moved, rates, valued)
        error += more[0]
        loss += more[1]
        for i in range(K):
            db[i] += moved[0][i]
            moments[i, 0] += moved[1][i]
            for c in range(1, n):
                moments[i, c] += moved[0][i] * u[c - 1]
    if EVEN:
        db[:] = 0.0  # forces are odd, so their means vanish
    for i in range(K):
        for e in range(i):
            Gamma[e, i] = Gamma[i, e]
    _turn(moments, axis)
    _solved(factor, moments)
    return error, loss
