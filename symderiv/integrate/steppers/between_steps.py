r"""A solution between the ends of its steps: Hermite's polynomial through neighbouring ones.

With the values and slopes at p ends of steps :math:`t_1 < \dots < t_p` the polynomial of degree
2p - 1 differs from the solution by

.. math:: \frac{y^{(2p)}(\tau)}{(2p)!} \prod_{i=1}^{p} (t - t_i)^2 ,

of local order 12 for the six ends of :data:`ENDS` and 10 if one of them is left out, at no
evaluation of the equations. The usual dense output of the 8(5,3) pair has order 7, takes three
evaluations in each step, and where stability limits the steps it is a hundred times less accurate
than they are, as is what is made of it by further evaluations (to order 8): both extrapolate the
fast modes with h times rate about 6. Values at the ends of steps do not.

What two polynomials with different numbers of ends differ by is an estimate of the error of the
less accurate one, see :func:`hermite_weights`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from symderiv.compiled_code.compiled import compiled, part_of_compiled
from symderiv.integrate.steppers.memory import ENDS, RUNNING

# A chord goes through so many ends; rounding of numbers, in the largest one.
_CHORD, _ROUNDING = -1, 1e-14

__all__ = ["ENDS", "Ends", "fill_results", "hermite_constants", "hermite_weights"]


@compiled()
def hermite_constants(times: np.ndarray, constants: np.ndarray) -> None:
    """Fill ``constants`` (2, p) with what all times between the same ends share.

    Args:
        times: the ends of steps, shape (p,), all different.
        constants: 1 / prod_j (t_i - t_j) and sum_j 1 / (t_i - t_j), over j other than i.
    """
    for i in range(times.size):
        product, total = 1.0, 0.0
        for j in range(times.size):
            if j != i:
                distance = times[i] - times[j]
                product *= distance
                total += 1.0 / distance
        constants[0, i] = 1.0 / product
        constants[1, i] = total


@compiled()
def hermite_weights(
    alpha: float, times: np.ndarray, constants: np.ndarray, weights: np.ndarray
) -> None:
    """Add the weights of values and of slopes in the polynomial at ``alpha`` to ``weights``.

    Args:
        alpha: the time, with that of ``times``.
        times: the ends of steps, shape (p,).
        constants: of these ends, from :func:`hermite_constants`, shape (2, p).
        weights: shape (2, p); row 0 belongs to the values, row 1 to the slopes.
    """
    for i in range(times.size):
        basis = constants[0, i]
        for j in range(times.size):
            if j != i:
                basis *= alpha - times[j]
        away = alpha - times[i]
        squared = basis * basis
        weights[0, i] += squared * (1.0 - 2.0 * away * constants[1, i])
        weights[1, i] += squared * away


class Ends(NamedTuple):
    """The ends of the last steps of one run, with the room for what goes through them.

    Args:
        times, states: see :class:`~symderiv.integrate.steppers.memory.Memory`; those of one run.
        there, order: times of the ends that are used, ascending, and where they stand.
        constants, weights: shape (2, ENDS).
        scratch: room for a state.
    """

    times: np.ndarray
    states: np.ndarray
    there: np.ndarray
    order: np.ndarray
    constants: np.ndarray
    weights: np.ndarray
    scratch: np.ndarray


@part_of_compiled
def fill_results(status, asked, results, ends, tolerances, control):  # type: ignore[no-untyped-def]
    """Fill the results of a run up to two steps before the last one, or all if it has ended.

    Where a shorter step is needed for that, ``status.inside`` says from which end, and
    ``status.halving`` whether it goes to the middle of the step there, not to the next result.

    Args:
        status: a record of :data:`~symderiv.integrate.steppers.memory.STATUS`.
        asked, results: shapes (A,) and (A, S).
        ends: see :class:`Ends`.
        tolerances: relative and absolute, and the evaluations that shorter steps may take; results
            that would need more are left out, as not a number.
        control: of the steps, see :class:`~symderiv.integrate.flows.control.Control`.
    """
    status.inside, status.halving = -1, 0
    newest, last = status.accepted, status.code != RUNNING
    if newest < ENDS - 1 and not last:
        return
    # the step that begins at end number e
    for e in range(max(0, newest - ENDS + 1), newest if last else newest - 2):
        stop = ends.times[(e + 1) % ENDS]
        count = 0
        while status.results < asked.size and asked[status.results] <= stop:
            alpha = asked[status.results]
            result = results[status.results]
            if alpha == stop:
                state = ends.states[(e + 1) % ENDS, 0]
                for c in range(result.size):
                    result[c] = state[c]
            else:
                if count == 0 and alpha > status.own_until:
                    count = _prepared(status, e, ends, tolerances, control)
                if count == 0 and _still(status, e, ends, tolerances, control):
                    count = _CHORD
                if count == 0 and status.between < tolerances[2]:
                    status.inside = e
                    return
                if count == 0:
                    for c in range(result.size):
                        result[c] = math.nan
                elif count == _CHORD:
                    _along(alpha, e, ends, result)
                else:
                    _between(alpha, count, ends, result)
            status.results += 1


@part_of_compiled
def _prepared(status, e, ends, tolerances, control):  # type: ignore[no-untyped-def]
    """Return how many ends to go through for results in the step after end ``e``; 0 for shorter
    steps.
    """
    newest = status.accepted
    oldest = max(0, newest - ENDS + 1)
    count = newest - oldest + 1
    for i in range(count):
        ends.order[i] = (oldest + i) % ENDS
        ends.there[i] = ends.times[ends.order[i]]
    if status.halved == e:
        count = _with_middle(ends, count, e - oldest)
    begin, end = e % ENDS, (e + 1) % ENDS
    # the difference that leaving out the end farthest from here makes
    at = ends.times[begin] + 0.75 * (ends.times[end] - ends.times[begin])
    _clear(ends.weights)
    hermite_constants(ends.there[:count], ends.constants[:, :count])
    hermite_weights(at, ends.there[:count], ends.constants[:, :count], ends.weights[:, :count])
    for i in range(count):
        ends.weights[0, i] *= -1.0
        ends.weights[1, i] *= -1.0
    first = 1 if at - ends.there[0] > ends.there[count - 1] - at else 0
    fewer = slice(first, first + count - 1)
    hermite_constants(ends.there[fewer], ends.constants[:, fewer])
    hermite_weights(at, ends.there[fewer], ends.constants[:, fewer], ends.weights[:, fewer])
    _through(ends, count, ends.scratch)
    error = _norm(ends.scratch, ends.states[begin, 0], ends.states[end, 0], tolerances)
    if error <= control.between:
        hermite_constants(ends.there[:count], ends.constants[:, :count])
        return count
    if control.halves and status.halved != e:
        status.halving = 1
    else:
        status.own_until = ends.times[end]
    return 0


@part_of_compiled
def _still(status, e, ends, tolerances, control):  # type: ignore[no-untyped-def]
    """Return whether the state is the same, within the tolerance, at both ends of the step after
    end ``e`` and at the end before; steps that can be halved need no chord.

    Nothing can be hidden between such ends. If the solution left the state in this step and came
    back, the polynomial through the stages would turn around, and the estimated error, which is
    what a polynomial of lower degree misses of it, would be as large as the way: no step is
    accepted like that. Nor did it leave in the step before, which is at least a fifth as long, and
    where the equations do not depend on time a state that is left is left at once.
    """
    first = ends.states[e % ENDS, 0]
    if control.halves:
        return False
    for other in range(max(0, e - 1, status.accepted - ENDS + 1), e + 2):
        second = ends.states[other % ENDS, 0]
        largest = 0.0
        for c in range(first.size):
            ends.scratch[c] = second[c] - first[c]
            largest = max(largest, abs(first[c]))
        # numbers that are zero to rounding stay so
        rounding = tolerances[0], tolerances[1] + _ROUNDING * largest
        if not _norm(ends.scratch, first, second, rounding) <= control.between:
            return False
    return True


@part_of_compiled
def _along(alpha, e, ends, result):  # type: ignore[no-untyped-def]
    """Write what the chord of the step after end ``e`` is at a time."""
    begin, end = e % ENDS, (e + 1) % ENDS
    first, second = ends.states[begin, 0], ends.states[end, 0]
    part = (alpha - ends.times[begin]) / (ends.times[end] - ends.times[begin])
    for c in range(result.size):
        result[c] = first[c] + part * (second[c] - first[c])


@part_of_compiled
def _between(alpha, count, ends, result):  # type: ignore[no-untyped-def]
    """Write what the polynomial through so many prepared ends is at a time."""
    _clear(ends.weights)
    hermite_weights(alpha, ends.there[:count], ends.constants[:, :count], ends.weights[:, :count])
    _through(ends, count, result)


@part_of_compiled
def _with_middle(ends, count, place):  # type: ignore[no-untyped-def]
    """Put the middle of the step after ``place`` among the ends, and leave one out if need be."""
    there, order, middle = ends.there, ends.order, ends.times[ENDS]
    if count == ENDS and middle - there[0] > there[count - 1] - middle:
        for i in range(place):
            there[i], order[i] = there[i + 1], order[i + 1]
        place -= 1
        count -= 1
    elif count == ENDS:
        count -= 1
    for i in range(count, place + 1, -1):
        there[i], order[i] = there[i - 1], order[i - 1]
    there[place + 1], order[place + 1] = middle, ENDS
    return count + 1


@part_of_compiled
def _clear(weights):  # type: ignore[no-untyped-def]
    # an assignment to a slice would compile the texts of its errors, which takes seconds
    for row in range(weights.shape[0]):
        for i in range(weights.shape[1]):
            weights[row, i] = 0.0


@part_of_compiled
def _through(ends, count, out):  # type: ignore[no-untyped-def]
    """Write the weighted sum of values and slopes at the ends that are used."""
    for i in range(count):
        value, slope = ends.weights[0, i], ends.weights[1, i]
        end = ends.states[ends.order[i]]
        if i == 0:
            for c in range(out.size):
                out[c] = value * end[0, c] + slope * end[1, c]
        else:
            for c in range(out.size):
                out[c] += value * end[0, c] + slope * end[1, c]


@part_of_compiled
def _norm(error, first, second, tolerances):  # type: ignore[no-untyped-def]
    """Return the root mean square of an error in units of the tolerance at two states."""
    relative, absolute = tolerances[0], tolerances[1]
    total = 0.0
    for c in range(error.size):
        scale = absolute + relative * max(abs(first[c]), abs(second[c]))
        total += (error[c] / max(scale, 1e-300)) ** 2
    return math.sqrt(total / error.size)
