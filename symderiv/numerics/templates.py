"""Templates of the functions of modules that are means by quadrature, one for each kind of mean.

All take covariances row by row, from the diagonal on, then the means of fields where these have
biases. The functions that they call stand in the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement, product

MOST_NONLINEAR, MOST_KINKED, MOST_JOINT, MOST_CONSTANTS = 4, 3, 6, 4

_OF_FOUR = {
    "sign_mean4_cov": ("_mean_of_signs", "Mean of four signs from covariances"),
    "_fields4": ("_vectors4", "Vectors with the given inner products, and the volume they span"),
}
_BESIDE = {
    "2": "",
    # half second derivatives and teachers' slopes have delta functions where slopes or values jump
    "curvature": " + {}at_slope_jumps(kind_2, {})",
    "slopes": " + {}at_jumps(kind_1, {})",
}
"""What is added to a mean of two factors with kinks, by the variant."""
_AT_KINKS = {
    "kinked_mean_of_2_at": ("_mean_at", "kind_1"),
    "kinked_mean_of_2_beside": ("_mean_beside", "(kind_1, kind_2)"),
    "kinked_mean_of_4_at": ("_mean_of_4_at", "(kind_1, kind_2, kind_3)"),
}
"""Means in which the first field is at a place; factors are those of the others, see
``kink_terms``."""
# The arguments are all arrays and numbers of a problem; see ``all_forces``.
_MEAN_FORCES = '''def mean_forces(
    Q, R, T, v, v_teacher, student_biases, teacher_biases, label_noise, label_flip, keep,
    evaluation_scale, lattice_shift, A, B, dv, Gamma, db
):
    """Means of forces; returns the generalisation error."""
    overlaps = Q, R, T, v, v_teacher, student_biases, teacher_biases
    numbers, rates = (label_noise, label_flip, lattice_shift), (A, B, dv, Gamma, db)
    return _all_forces(overlaps, numbers, keep, evaluation_scale, rates, False)[0]
'''
_MEAN_LOSS = '''def mean_loss(
    Q, R, T, v, v_teacher, student_biases, teacher_biases, label_noise, label_flip, keep,
    lattice_shift
):
    """Mean of the loss over inputs, label noise, flips and the units that are kept."""
    K, M = R.shape
    A, B, dv, Gamma = np.empty((K, K)), np.empty((K, M)), np.empty(K), np.empty((K, K))
    overlaps = Q, R, T, v, v_teacher, student_biases, teacher_biases
    numbers, rates = (label_noise, label_flip, lattice_shift), (A, B, dv, Gamma, np.empty(K))
    return _all_forces(overlaps, numbers, keep, 1.0, rates, True)[1]
'''
_PAIR_MEANS = '''def pair_means(
    Q, R, T, student_biases, teacher_biases, values_of_students, values_of_both, values_of_teachers,
    slopes_of_students, slopes_of_both, curvatures_of_students, curvatures_of_both
):
    """Means of two factors."""
    fields = Q, R, T, student_biases, teacher_biases
    values = values_of_students, values_of_both, values_of_teachers
    slopes = slopes_of_students, slopes_of_both
    curvatures = curvatures_of_students, curvatures_of_both
    _pair_means(QUADRATURE_PAIR_RULE, fields, values, slopes, curvatures)
'''
_NOISE_MEANS = '''def noise_means(
    Q, R, T, student_biases, teacher_biases, means_of_students, means_of_both, means_of_teachers,
    slopes_of_students
):
    """Means of four factors."""
    fields = Q, R, T, student_biases, teacher_biases
    means = means_of_students, means_of_both, means_of_teachers, slopes_of_students
    _noise_means(QUADRATURE_RULE, fields, means)
'''


def templates() -> tuple[str, ...]:
    """Return the texts of all templates; one that a module does not need is not parsed.

    ``mean_of_SIZE`` and its like are means of products of SIZE factors of one field each, the
    factors ``kind_1``, ...; ``shifted_`` in front is for fields with biases.
    ``joint_mean_SIZE_LEVELS_CONSTANTS`` is the mean of ``integrand`` over SIZE fields, of which
    LEVELS are integrated by points; the integrand depends on CONSTANTS more numbers, and steps are
    divided by ``sharpness`` of these; ``kinked_`` is for integrands that are not smooth where one
    of ``gap_count`` numbers ``gap`` is zero; ``ruled_`` in front for those that take the rule as
    their first argument.
    """
    whole = _MEAN_FORCES, _MEAN_LOSS, _PAIR_MEANS, _NOISE_MEANS
    first = "\n\n".join((*_functions_of_four(), *_means_of_products(), *whole))
    joint = product(range(1, MOST_JOINT + 1), (False, True))
    return first, *("\n\n".join(_joint_means(size, kinked)) for size, kinked in joint)


def _functions_of_four() -> Iterator[str]:
    """Yield functions that equations call with the ten covariances of four fields."""
    covariances = ", ".join(_moments(4)[0])
    for name, (own, meaning) in _OF_FOUR.items():
        yield f'''def {name}({covariances}):
    """{meaning}."""
    return {own}(({covariances}))
'''


def _means_of_products() -> Iterator[str]:
    """Yield functions that are means of one factor of each field, for fields with and without
    biases.
    """
    for shifted in (False, True):
        for name in ("mean_of_4", "kinked_mean_of_4", "plane_mean_of_4"):
            own = f"_{name}(QUADRATURE_RULE, (kind_1, kind_2, kind_3, kind_4), c, b)"
            yield _mean_of_product(name, own, shifted)
        for family in ("", "kinked_", "polar_", "line_"):
            own = f"_{family}mean_of_2(QUADRATURE_PAIR_RULE, (kind_1, kind_2), c, b)"
            for what, beside in _BESIDE.items():
                # sectors have points of their own for a line through zero, which are fewer
                at = ("_polar_", "c") if family == "polar_" else ("_", "c, b")
                value = own + beside.format(*at)
                yield _mean_of_product(f"{family}mean_of_{what}", value, shifted)
        for name, (own, kinds) in _AT_KINKS.items():
            value = f"{own}(QUADRATURE_PAIR_RULE, {kinds}, place, c, b)"
            yield _mean_of_product(name, value, shifted)


def _mean_of_product(name: str, value: str, shifted: bool) -> str:
    covariances, means = _moments(4 if "of_4" in name else 2)
    arguments = [*covariances, *means] if shifted else covariances
    return f'''def {"shifted_" if shifted else ""}{name}({", ".join(arguments)}):
    """Mean of a product."""
    c, b = ({", ".join(covariances)}), ({", ".join(means if shifted else ["0.0"] * len(means))})
    return {value}
'''


def _joint_means(size: int, kinked: bool) -> Iterator[str]:
    most = MOST_KINKED if kinked else MOST_NONLINEAR
    for levels in range(1, min(size, most) + 1):
        for constants, given in product(range(MOST_CONSTANTS + 1), (False, True)):
            yield _joint_mean(size, levels, constants, kinked, given)


def _joint_mean(size: int, levels: int, constants: int, kinked: bool, given: bool) -> str:
    covariances, means = _moments(size)
    moments = ", ".join((*covariances, *means))
    linear = size - levels
    last, numbers = levels - 1, [f"k{n + 1}" for n in range(constants)]
    fields = [f"before[{n}] + factor[{n}, {last}] * t" for n in range(size)]
    fields += [f"left[{n}]" for n in range(linear * (linear + 1) // 2)]
    name = f"{'kinked_' if kinked else ''}joint_mean_{size}_{levels}_{constants}"
    rule = "rule" if given else "JOINT_RULE"
    arguments = ", ".join([*([rule] if given else []), moments, *numbers])
    sharpness = f"sharpness({', '.join(numbers)})" if numbers else "1.0"
    return f'''def {"ruled_" if given else ""}{name}({arguments}):
    """Mean over {size} fields."""
    sharp, moments = {sharpness}, _joint_array(({moments}))
    sums, factor, left = _joint_start(moments, {size}, {levels})
{_planes(levels, numbers) if kinked else "    planes = np.empty((0, 1))"}
    layers = np.empty((planes.shape[0] * (planes.shape[0] + 1) // 2, 2))
    kinks = planes, _joint_along(planes, factor, {levels}), layers
    rows, counts = _joint_{"room" if kinked else "steps"}(
        factor, {levels}, {rule}, sharp{", planes" if kinked else ""}
    )
    index, total = np.zeros({levels}, dtype=np.int64), 0.0
    index[0] = -1
    while _joint_line(sums, factor, (rows, counts, index), kinks, {rule}, sharp):
        before, along, row = sums[{last}], 0.0, rows[{last}]
        square = {rule}[2] * {rule}[2] - before[{size + 1}]
        for n in range(counts[{last}]):
            t = row[0, n]
            if t * t <= square:
                along += row[1, n] * integrand(
                    {", ".join(fields + numbers)}
                )
        total += before[{size}] * along
    return total
'''


def _planes(levels: int, numbers: list[str]) -> str:
    """Return lines of code that compute the planes on which a function is not smooth."""

    def gap(at: int) -> str:
        places = ["1.0" if n == at else "0.0" for n in range(levels)]
        return f"gap(float(n), {', '.join([*places, *numbers])})"

    lines = [f"planes = np.empty((gap_count, {1 + levels}))", "for n in range(gap_count):"]
    lines += [f"    planes[n, 0] = {gap(-1)}"]
    lines += [f"    planes[n, {i + 1}] = {gap(i)} - planes[n, 0]" for i in range(levels)]
    return "\n".join(f"    {line}" for line in lines)


def _moments(size: int) -> tuple[list[str], list[str]]:
    """Return the names of the covariances and of the means of this many fields."""
    pairs = combinations_with_replacement(range(1, size + 1), 2)
    return [f"c{i}{j}" for i, j in pairs], [f"b{i}" for i in range(1, size + 1)]
