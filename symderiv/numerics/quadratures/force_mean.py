r"""Means of the forces of any loss over the fields of students and teachers, in one pass.

With F_i = v_i g'(x_i) ∂ℓ/∂s the equations need E[F_i F_j], E[g(x_i) ∂ℓ/∂s] and, for drifts, A and B
with E[F_i z] = Σ_j A_ij cov(x_j, z) + Σ_n B_in cov(y_n, z) for every Gaussian z. So A and B follow
from forces alone, also where slopes of the loss or labels jump: the fields are L u with independent
u of variance one and a triangular L, and (A B) L = E[F u]. An error of E[F u] changes rates by a
bounded amount however singular L is (``docs/notes/losses.md``), and for fields that the others
determine, where the diagonal of L vanishes, no moment is needed.

The integral is a product of rules in the variables u: equal steps where everything is analytic (see
``tensor_mean``), else panels between kinks and layers (see ``kinked_mean``), which for a loss are
roots of ``loss_kink`` along the variable. Labels that are the sign of one Gaussian field are
averaged exactly given the students; the variables are then turned so that the label depends on the
first one. Label noise is one more variable. Odd activations and a loss that does not change with
the signs of both of its arguments (``EVEN``) need half of the first variable.

``network`` is the covariance of the fields (or L), their biases, and the output weights of students
and of teachers; where labels are signs it has one teacher, whose variable is not integrated.
``numbers`` are label noise, the chance of a flip, and the shift of the lattice. ``rates`` are A and
B side by side, dv, db and Gamma.

Constants of the module: ``FORCE_STEPS`` (0 step in units of the fields, 1 step in u, 2 reach in u),
``FORCE_PANELS`` (as in ``kinked_mean``, 7 number of intervals in which roots are looked for).
Pasted into generated modules.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symderiv.numerics.quadratures.kinked_mean import _panels, _with_layers
from symderiv.numerics.quadratures.tensor_mean import _equal_steps, _triangle
from symderiv.numerics.signs.fields import _root_of_minor

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    _Array = np.ndarray
    _Line = tuple[_Array, _Array]
    _Two = tuple[float, float]
    _Three = tuple[float, float, float]
    _Four = tuple[float, float, float, float]
    _Network = tuple[_Array, _Array, _Array, _Array]
    _Rates = tuple[_Array, _Array, _Array, _Array]
    _Rules = tuple[_Array, _Array, _Array]
    _Where = tuple[_Array, _Array, _Array, _Array]
    FORCE_STEPS = FORCE_PANELS = STUDENT_KINKS = TEACHER_KINKS = np.zeros(8)
    LOSS_KINKS = KINKED = EVEN = SIGN_TARGET = STUDENT_LINEAR = TEACHER_LINEAR = 0
    TEACHER_KEEPS_SIGN = 0

    def student_activation(x: float) -> float:
        """Stand for the function that the generated module defines."""
        return x

    student_activation_derivative = teacher_activation = student_activation

    def loss_value(s: float, t: float) -> float:
        """Stand for the function that the generated module defines."""
        return s * t

    loss_slope = loss_value

    def loss_kink(number: float, s: float, t: float) -> float:
        """Stand for a function of the module that changes its sign where the loss is not smooth."""
        return number * s * t


_MOST_STEPS = 1024  # equally spaced points of one variable, at most
_MOST_IN_PANELS = 4096  # points of one variable in panels, at most
_CONTOURS = np.array([-7.5, -5.5, -4.0, -2.5, -1.2, 0.0, 1.2, 2.5, 4.0, 5.5, 7.5])
_MOST_CHORDS = 80  # iterations of a root search; eight suffice where functions are smooth
_SUMS = 5  # sums over points: force, its square, error, loss, difference of forces between labels


def _triangle_of(covariance: np.ndarray) -> np.ndarray:
    """Return the triangular factor L of a covariance, that of two fields by their determinant in
    doubled precision.
    """
    factor = _triangle(covariance)
    if factor.shape[0] == 2 and factor[0, 0] > 0.0:
        root = _root_of_minor(covariance[0, 0], covariance[0, 1], covariance[1, 1])
        factor[1, 1] = root / factor[0, 0]
    return factor


def _turn(rows: np.ndarray, axis: np.ndarray) -> None:
    """Reflect the leading components of rows at the plane orthogonal to a unit vector."""
    for i in range(rows.shape[0]):
        along = 0.0
        for k in range(axis.size):
            along += rows[i, k] * axis[k]
        for k in range(axis.size):
            rows[i, k] -= 2.0 * along * axis[k]


def _axis_to_first(row: np.ndarray, K: int) -> np.ndarray:
    """Return the axis of the reflection that maps the first K components of ``row`` to the first
    one.
    """
    axis = row[:K].copy()
    size = 0.0
    for k in range(K):
        size += axis[k] * axis[k]
    axis[0] += math.copysign(math.sqrt(size), axis[0])
    length = 0.0
    for k in range(K):
        length += axis[k] * axis[k]
    for k in range(K):
        axis[k] = axis[k] / math.sqrt(length) if length > 0.0 and K > 1 else 0.0
    return axis


def _fields_of(network: _Network) -> int:
    """Return the number of fields that are integrated."""
    fields: int = network[2].size if SIGN_TARGET == 1 else network[1].size
    return fields


def _depends_on_earlier(level: int) -> bool:
    """Return whether a variable has its points in panels, which depend on the earlier variables."""
    return KINKED == 1 or (SIGN_TARGET == 1 and level == 0)


def _step_of_rates(rates: np.ndarray, sharp: float, rule: np.ndarray) -> float:
    """Return the step of a variable along which fields move at these rates, or 0 if none does.

    The rule begins with the step in units of the fields, which is divided by ``sharp``, and the
    step in the variable.
    """
    longest = together = 0.0
    for i in range(rates.size):
        longest = max(longest, abs(rates[i]))
        together += rates[i] * rates[i]
    if longest == 0.0:
        return 0.0
    return min(float(rule[1]) / math.sqrt(1.0 + together), float(rule[0]) / (sharp * longest))


def _equal_steps_of(
    network: _Network, level: int, noise: float, sharp: float, row: np.ndarray
) -> int:
    """Write points (row 0) and weights (row 1) of one variable; return their number, -1 if too
    many.
    """
    fields, half = _fields_of(network), EVEN == 1 and level == 0
    rates = np.zeros(fields + 1)
    rates[fields] = noise if level == fields else 0.0
    for i in range(fields if level < fields else 0):
        rates[i] = network[0][i, level]
    step = _step_of_rates(rates, sharp, FORCE_STEPS)
    if step == 0.0:
        row[0, 0], row[1, 0] = 0.0, 1.0
        return 1
    count = math.ceil(float(FORCE_STEPS[2]) / step)
    first = 0 if half else -count
    size: int = count - first + 1
    if size > _MOST_STEPS:
        return -1
    _equal_steps(1.0 * first, step, size, row)
    for n in range(1, size if half else 0):
        row[1, n] *= 2.0
    return size


def _outputs_along(place: float, line: _Line, outputs: _Line) -> tuple[float, float]:
    """Return the outputs of student and teacher (no sign taken) at a place of a line."""
    (base, slope), (v, v_teacher), K = line, outputs, outputs[0].size
    student, teacher = 0.0, 0.0
    for i in range(K):
        student += v[i] * student_activation(base[i] + slope[i] * place)
    for m in range(v_teacher.size):
        teacher += v_teacher[m] * teacher_activation(base[K + m] + slope[K + m] * place)
    return student, teacher


def _jump_of(number: int, student: float, teacher: float, shift: float) -> float:
    """Return what changes its sign where the label does (number -1), or where the loss has a kink.

    ``teacher`` is the teacher's output before a sign is taken of it, ``shift`` what is added to the
    target.
    """
    if number < 0:
        return teacher
    if SIGN_TARGET:
        teacher = math.copysign(1.0, teacher)
    return loss_kink(number, student, teacher + shift)


def _jump_at(number: int, place: float, shift: _Two, line: _Line, outputs: _Line) -> float:
    """Return ``_jump_of`` at a place of a line.

    Args:
        number: That of the kink.
        place: The place.
        shift: What is added to the target at zero, and how fast it grows along the line.
        line: Fields as base and slope.
        outputs: Output weights of students and teachers; without teachers targets are the shift.
    """
    s, t = _outputs_along(place, line, outputs)
    moved = shift[0] + shift[1] * place
    return loss_kink(number, s, moved) if outputs[1].size == 0 else _jump_of(number, s, t, moved)


def _root_along(number: int, between: _Two, shift: _Two, line: _Line, outputs: _Line) -> float:
    """Return where ``_jump_at`` changes its sign between two places.

    Regula falsi with halved end values, and every third time bisection.
    """
    low, high = between
    below = _jump_at(number, low, shift, line, outputs)
    above = _jump_at(number, high, shift, line, outputs)
    positive = above > 0.0
    for turn in range(_MOST_CHORDS):
        if high - low < 1e-14 * (1.0 + abs(low)):
            break
        middle = 0.5 * (low + high)
        if turn % 3 < 2:
            middle = low + (high - low) * (below / (below - above))
        value = _jump_at(number, middle, shift, line, outputs)
        if (value > 0.0) == positive:
            if value == 0.0 or middle == high:
                return middle
            high, above, below = middle, value, 0.5 * below
        else:
            if value == 0.0 or middle == low:
                return middle
            low, below, above = middle, value, 0.5 * above
    return 0.5 * (low + high)


def _with_roots(
    layers: np.ndarray,
    count: int,
    number: int,
    level: int,
    u: np.ndarray,
    label: float,
    noise: float,
    network: _Network,
) -> int:
    """Add the places where the loss has a kink along one variable; return the number of layers.

    They are found at several values of the next variable, between which the kink along that one
    moves by about one unit. A zero counts as negative: where signs are symmetric a kink is at the
    end of an interval exactly.
    """
    (factor, biases, v, v_teacher), fields = network, _fields_of(network)
    intervals, reach, following = int(FORCE_PANELS[7]), FORCE_PANELS[2], level + 1 < u.size
    base, slope = np.zeros(fields), np.zeros(fields)
    outputs = v, v_teacher[: fields - v.size]
    u[level] = 0.0
    for c in range(_CONTOURS.size if following else 1):
        if following:
            u[level + 1] = _CONTOURS[c]
        for i in range(fields):
            base[i] = biases[i]
            slope[i] = factor[i, level] if level < fields else 0.0
            for k in range(fields):
                base[i] += factor[i, k] * u[k]
        still = noise * u[fields] if u.size > fields else 0.0
        line, shift = (base, slope), (label + still, noise if level == fields else 0.0)
        left = _jump_at(number, -reach, shift, line, outputs)
        for n in range(intervals):
            low = reach * (2.0 * n / intervals - 1.0)
            high = reach * (2.0 * (n + 1) / intervals - 1.0)
            below, left = left, _jump_at(number, high, shift, line, outputs)
            if (below > 0.0) != (left > 0.0) and count < layers.shape[0]:
                layers[count, 0] = _root_along(number, (low, high), shift, line, outputs)
                layers[count, 1] = 0.0
                count += 1
    if following:
        u[level + 1] = 0.0
    return count


def _upper_half(row: np.ndarray, count: int) -> int:
    """Keep points above zero with twice their weights, and zero itself; return their number."""
    upper = 0
    for n in range(count):
        if row[0, n] >= 0.0:
            twice = 2.0 if row[0, n] > 0.0 else 1.0
            row[0, upper], row[1, upper] = row[0, n], twice * row[1, n]
            upper += 1
    return upper


def _panels_of(
    level: int,
    u: np.ndarray,
    label: _Four,
    noise: float,
    sharp: float,
    network: _Network,
    layers: np.ndarray,
    row: np.ndarray,
) -> int:
    """Write points and weights of one variable, given the earlier ones; return their number.

    Panels lie between kinks and layers. ``label`` is that of ``_turned_to_label``: labels change at
    a place of the first variable, in a layer whose width is one over their steepness.
    """
    factor, biases, v, _ = network
    K, fields = v.size, _fields_of(network)
    for later in range(level, u.size):
        u[later] = 0.0
    count, longest = 0, abs(noise)
    if level < fields:
        longest = 0.0
        for i in range(fields):
            mean, rest = biases[i], 0.0
            for k in range(level):
                mean += factor[i, k] * u[k]
            for k in range(level + 1, fields):
                rest = math.hypot(rest, factor[i, k])
            longest = max(longest, abs(factor[i, level]))
            kinks = STUDENT_KINKS if i < K else TEACHER_KINKS
            count = _with_layers(layers, count, kinks, mean, factor[i, level], rest, FORCE_PANELS)
    if level == 0 and (SIGN_TARGET or EVEN):
        place, steep = label[2], label[3]
        layers[count, 0], layers[count, 1] = place, 0.0
        count += 1
        # narrower layers can be resolved around zero only, where doubles are dense enough
        if steep > 0.0 and (place == 0.0 or steep * FORCE_PANELS[4] < 1.0):
            layers[count, 0], layers[count, 1] = place, 1.0 / steep
            count += 1
    if longest > 0.0:
        for number in range(LOSS_KINKS):
            for sign in range(-1, 2, 2):
                if SIGN_TARGET or sign > 0:
                    t = 1.0 * sign * SIGN_TARGET
                    count = _with_roots(layers, count, number, level, u, t, noise, network)
    points = _panels(layers, count, sharp * longest, FORCE_PANELS, row[0], row[1])
    return _upper_half(row, points) if EVEN == 1 and level == 0 and points >= 0 else points


def _force(s: float, t: float, shift: float, flip: float) -> tuple[float, float]:
    """Return the slope of the loss and its square, averaged over flips of the label ``t``."""
    f = loss_slope(s, t + shift)
    square = f * f
    if flip > 0.0:
        other = loss_slope(s, shift - t)
        f += flip * (other - f)
        square += flip * (other * other - square)
    return f, square


def _loss(s: float, t: float, shift: float, flip: float) -> float:
    """Return the loss, averaged over flips of the label ``t``."""
    here, there = loss_value(s, t + shift), loss_value(s, shift - t)
    return here + flip * (there - here)


def _along_last(
    extent: tuple[int, int],
    u: np.ndarray,
    network: _Network,
    numbers: _Three,
    before: _Four,
    row: np.ndarray,
    sums: np.ndarray,
    valued: bool,
) -> None:
    """Add sums over the last variable, that of a teacher or of label noise.

    ``extent`` is the number of the variable and of its points, ``row`` these points and weights;
    ``before`` are outputs of student and teacher by the earlier variables ``u``, their weight, and
    the largest square that is left for the last one.
    """
    (level, count), (noise, flip, _) = extent, numbers
    factor, biases, v, v_teacher = network
    s, known, weight, square_left = before
    K, of_field = v.size, level < _fields_of(network)
    mean = 0.0
    if of_field:
        mean = biases[level]
        for k in range(level):
            mean += factor[level, k] * u[k]
    slope = factor[level, level] if of_field else 0.0
    output = v_teacher[level - K] if of_field else 0.0
    forces, squares, errors, losses, along = 0.0, 0.0, 0.0, 0.0, 0.0
    for n in range(count):
        place = row[0, n]
        if place * place > square_left:
            continue
        added = weight * row[1, n]
        t = known
        if of_field:
            t += output * teacher_activation(mean + slope * place)
        shift = 0.0 if of_field else noise * place
        f, square = _force(s, t, shift, flip)
        forces += added * f
        along += added * f * place
        squares += added * square
        errors += added * (s - t) * (s - t)
        if valued:
            losses += added * _loss(s, t, shift, flip)
    sums[0] += forces
    sums[1] += squares
    sums[2] += 0.5 * errors
    sums[3] += losses
    for c in range(K, level):
        sums[_SUMS + c] += u[c] * forces
    if of_field:
        sums[_SUMS + level] += along


def _between_labels(
    s: float,
    shift: float,
    upper: float,
    flip: float,
    added: float,
    sums: np.ndarray,
    valued: bool,
) -> None:
    """Add one point of the students to the sums; the label is 1 with probability ``upper``."""
    above = upper + flip * (1.0 - 2.0 * upper)
    f, other = loss_slope(s, 1.0 + shift), loss_slope(s, shift - 1.0)
    sums[0] += added * (above * f + (1.0 - above) * other)
    sums[1] += added * (above * f * f + (1.0 - above) * other * other)
    off = upper * (s - 1.0) * (s - 1.0) + (1.0 - upper) * (s + 1.0) * (s + 1.0)
    sums[2] += 0.5 * added * off
    if valued:
        here, there = loss_value(s, 1.0 + shift), loss_value(s, shift - 1.0)
        sums[3] += added * (above * here + (1.0 - above) * there)
    sums[4] += added * (1.0 - 2.0 * flip) * (f - other)


def _add_students(
    added: float,
    u: np.ndarray,
    units: tuple[np.ndarray, np.ndarray],
    density: float,
    sums: np.ndarray,
    rates: _Rates,
) -> None:
    """Add the sums over teacher and noise, times the students' functions, to the rates.

    ``units`` are values of the students, and their slopes times output weights.
    """
    (values, slopes), (moments, dv, db, Gamma) = units, rates
    K = dv.size
    fields = K if SIGN_TARGET else moments.shape[1]
    for i in range(K):
        dv[i] += added * values[i] * sums[0]
        force = added * slopes[i]
        db[i] += force * sums[0]
        for c in range(K):
            moments[i, c] += force * u[c] * sums[0]
        for c in range(K, fields):
            moments[i, c] += force * sums[_SUMS + c]
        if SIGN_TARGET:
            moments[i, K] += force * density * sums[4]
        for j in range(K):
            Gamma[i, j] += force * slopes[j] * sums[1]


def _size_of(weights: np.ndarray) -> float:
    """Return the sum of moduli of the weights."""
    total = 0.0
    for i in range(weights.size):
        total += abs(weights[i])
    return total


def _sharpness(network: _Network) -> float:
    """Return how much steeper than activations the loss may be along a field, at least 1."""
    outer = 1.0 if SIGN_TARGET else _size_of(network[3])
    return max(1.0, math.sqrt(_size_of(network[2]) * outer))


def _solved(factor: np.ndarray, moments: np.ndarray) -> None:
    """Replace moments of forces with independent variables by A and B: (A B) L = moments."""
    n = factor.shape[0]
    for i in range(moments.shape[0]):
        for c in range(n - 1, -1, -1):
            value = moments[i, c]
            for r in range(c + 1, n):
                value -= moments[i, r] * factor[r, c]
            moments[i, c] = value / factor[c, c] if factor[c, c] > 0.0 else 0.0


def _emptied(rates: _Rates) -> None:
    """Set all rates to zero."""
    moments, dv, db, Gamma = rates
    moments[:] = 0.0
    dv[:] = 0.0
    db[:] = 0.0
    Gamma[:] = 0.0


def _turned_to_label(
    factor: np.ndarray, biases: np.ndarray, K: int
) -> tuple[np.ndarray, np.ndarray, _Four]:
    """Turn the students' variables so that labels depend on the first one alone.

    Returned are the turned L, the axis of the reflection, and four numbers of the label: the slope
    of its argument along the first variable, its value at zero, the place where it vanishes, and
    its steepness.
    """
    axis = _axis_to_first(factor[K], K)
    turned = factor.copy()
    _turn(turned, axis)
    lean, centre = turned[K, 0], 0.0
    width = max(factor[K, K], 1e-150)
    steep = min(abs(lean) / width, 1e150)
    threshold = min(max(biases[K] / width, -1e150), 1e150)
    if lean != 0.0:
        # both labels are equally probable there
        centre = -biases[K] / lean
        lean = math.copysign(steep, lean)
        if steep == 1e150:
            threshold = -lean * centre
    return turned, axis, (lean, threshold, centre, steep)


def _label_at(place: float, label: _Four) -> tuple[float, float]:
    """Return the probability of label 1 given the first variable, and the density of its argument
    at 0.
    """
    above = label[0] * place + label[1]
    upper = 0.5 * math.erfc(-above / math.sqrt(2.0))
    return upper, math.exp(-0.5 * above * above) / math.sqrt(2.0 * math.pi)


def _moved_to(
    level: int,
    point: tuple[float, float],
    network: _Network,
    where: _Where,
    units: tuple[np.ndarray, np.ndarray],
) -> None:
    """Give one variable a value with a weight, and compute the units that depend on it last.

    ``where`` are the variables, and for every level the weight, the squared radius and the outputs
    that the variables before it give.
    """
    (turned, biases, v, v_teacher), (u, weight, radius, output) = network, where
    values, slopes = units
    K, fields = v.size, _fields_of(network)
    u[level] = point[0]
    radius[level + 1] = radius[level] + point[0] * point[0]
    weight[level + 1] = weight[level] * point[1]
    output[0, level + 1], output[1, level + 1] = output[0, level], output[1, level]
    first = level
    if SIGN_TARGET and level < fields:
        first = 0 if level == fields - 1 else level + 1
    for i in range(first, min(level + 1, fields)):
        field = biases[i]
        for k in range(level + 1):
            field += turned[i, k] * u[k]
        if i < K:
            values[i] = student_activation(field)
            slopes[i] = v[i] * student_activation_derivative(field)
            output[0, level + 1] += v[i] * values[i]
        else:
            output[1, level + 1] += v_teacher[i - K] * teacher_activation(field)


def _room_for(network: _Network, noise: float, sharp: float) -> tuple[_Rules, bool]:
    """Return points and weights of each variable, their numbers, and an array for layers.

    Points that depend on earlier variables are not filled in. The last value says whether another
    variable needs too many points.
    """
    levels = _fields_of(network) + (1 if noise != 0.0 else 0)
    most = _MOST_IN_PANELS if KINKED or SIGN_TARGET else _MOST_STEPS
    rows, counts, layers = (
        np.empty((levels, 2, most)),
        np.zeros(levels, np.int64),
        np.empty((256, 2)),
    )
    many = False
    for level in range(levels):
        if not _depends_on_earlier(level):
            counts[level] = _equal_steps_of(network, level, noise, sharp, rows[level])
            many = many or counts[level] < 0
    return (rows, counts, layers), many


def _beginning(levels: int) -> _Where:
    """Return variables, and for every level initial weights, squared radii and outputs."""
    return np.zeros(levels), np.ones(levels + 1), np.zeros(levels + 1), np.zeros((2, levels + 1))


def _largest_square() -> float:
    """Return the square of the largest distance of points from zero."""
    reach = FORCE_PANELS[2] if KINKED or SIGN_TARGET else FORCE_STEPS[2]
    return float(reach * reach)


def _summed(
    network: _Network, numbers: _Three, label: _Four, rates: _Rates, valued: bool
) -> tuple[float, float]:
    """Add up all points, those of students first; return mean squared error/2 and loss."""
    noise, flip, _ = numbers
    sharp = _sharpness(network)
    (rows, counts, layers), many = _room_for(network, noise, sharp)
    if many:
        return math.nan, math.nan
    K, fields, levels = network[2].size, _fields_of(network), counts.size
    square = _largest_square()
    where, units = _beginning(levels), (np.zeros(K), np.zeros(K))
    u, weight, radius, output = where
    at, sums = np.zeros(levels, np.int64), np.zeros(_SUMS + network[1].size)
    error, loss, upper, density, of_students = 0.0, 0.0, 0.5, 0.0, 1.0
    level, entered = 0, False
    while level >= 0:
        if not entered:
            entered, at[level], row = True, -1, rows[level]
            if _depends_on_earlier(level):
                counts[level] = _panels_of(level, u, label, noise, sharp, network, layers, row)
                if counts[level] < 0:
                    return math.nan, math.nan
            if level == K:
                sums[:] = 0.0
                of_students, weight[level] = weight[level], 1.0
            if level == levels - 1 and not SIGN_TARGET:
                left = square - radius[level]
                before = output[0, level], output[1, level], weight[level], left
                extent = level, counts[level]
                _along_last(extent, u, network, numbers, before, row, sums, valued)
                at[level] = counts[level] - 1
        at[level] += 1
        last = at[level] == counts[level]
        if not last:
            place = rows[level, 0, at[level]]
            if radius[level] + place * place > square:
                continue
            _moved_to(level, (place, rows[level, 1, at[level]]), network, where, units)
            if SIGN_TARGET and level == 0:
                upper, density = _label_at(place, label)
            if level < levels - 1:
                level, entered = level + 1, False
                continue
            # all variables are set: add the average over labels
            if levels == K:
                sums[:] = 0.0
            added = weight[levels] if levels > K else 1.0
            shift = float(noise * u[fields]) if levels > fields else 0.0
            _between_labels(float(output[0, levels]), shift, upper, flip, added, sums, valued)
        if (last and level == K) or (levels == K and not last):
            added = of_students if levels > K else weight[K]
            error += added * sums[2]
            loss += added * sums[3]
            _add_students(added, u, units, density, sums, rates)
        level -= 1 if last else 0
    return error, loss


def _forces(network: _Network, numbers: _Three, rates: _Rates, valued: bool) -> tuple[float, float]:
    """Write the rates of a network with its covariance; return mean squared error/2 and loss.

    Biases are those of students and teachers; where labels are signs, of one teacher. The mean loss
    is computed only if ``valued``. All is NaN where a variable needs too many points.
    """
    covariance, biases, v, v_teacher = network
    factor = _triangle_of(covariance)
    turned, axis, label = factor, np.zeros(v.size), (0.0, 0.0, 0.0, 0.0)
    if SIGN_TARGET:
        turned, axis, label = _turned_to_label(factor, biases, v.size)
    _emptied(rates)
    error, loss = _summed((turned, biases, v, v_teacher), numbers, label, rates, valued)
    if EVEN:
        rates[2][:] = 0.0  # forces are odd, so their means vanish
    if SIGN_TARGET:
        _turn(rates[0], axis)
    _solved(factor, rates[0])
    return error, loss
