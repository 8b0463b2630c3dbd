"""The functions of modules that are means by quadrature: templates, one for each kind of mean.

All take covariances row by row, from the diagonal on, then the means of fields where these have
biases. What they call stands in the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

MOST_NONLINEAR, MOST_JOINT, MOST_CONSTANTS = 4, 6, 4

_OF_FOUR = {
    "sign_mean4_cov": ("_mean_of_signs", "Mean of four signs from covariances"),
    "_fields4": ("_vectors4", "Vectors with the given inner products, and the volume they span"),
}
_BESIDE = {
    "mean_of_2": "",
    "mean_of_4": "",
    "kinked_mean_of_2": "",
    "kinked_mean_of_4": "",
    "plane_mean_of_4": "",
    "polar_mean_of_2": "",
    "line_mean_of_2": "",
    # half a curvature, and the slope of a teacher, have parts where slopes or values jump
    "kinked_mean_of_curvature": " + _at_slope_jumps(kind_2, c, b)",
    "kinked_mean_of_slopes": " + _at_jumps(kind_1, c, b)",
    "polar_mean_of_curvature": " + _at_slope_jumps(kind_2, c, b)",
    "polar_mean_of_slopes": " + _at_jumps(kind_1, c, b)",
    "line_mean_of_curvature": " + _at_slope_jumps(kind_2, c, b)",
    "line_mean_of_slopes": " + _at_jumps(kind_1, c, b)",
}
_AT_KINKS = ("kinked_mean_of_2_at", "kinked_mean_of_2_beside", "kinked_mean_of_4_at")
"""Means in which the first field is at a place; factors are those of the others, see
``kink_terms``."""
# All arrays of a problem and its numbers; ``all_forces`` says what they are.
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


def templates() -> str:
    """Return the text of all templates.

    ``mean_of_SIZE`` and its like are means of products of SIZE factors of a field each, with the
    names of the factors ``kind_1``, ...; ``shifted_`` in front is for fields with biases.
    ``joint_mean_SIZE_LEVELS_CONSTANTS`` is the mean of ``integrand`` over SIZE fields, LEVELS of
    them points; the integrand depends on CONSTANTS numbers more, by which steps are divided by
    ``sharpness``; ``ruled_`` in front is for those that take the rule as their first argument.
    """
    products, joint = _means_of_products(), _joint_means()
    whole = _MEAN_FORCES, _MEAN_LOSS, _PAIR_MEANS, _NOISE_MEANS
    return "\n\n".join((*_functions_of_four(), *products, *joint, *whole))


def _functions_of_four() -> Iterator[str]:
    """Yield what equations call with the covariances of four fields, one by one."""
    covariances = ", ".join(_moments(4)[0])
    for name, (own, meaning) in _OF_FOUR.items():
        yield f'''def {name}({covariances}):
    """{meaning}."""
    return {own}(({covariances}))
'''


def _means_of_products() -> Iterator[str]:
    for name in _AT_KINKS:
        for shifted in (False, True):
            yield _mean_of_product(name, "", shifted, "place, ")
    for name, beside in _BESIDE.items():
        for shifted in (False, True):
            yield _mean_of_product(name, beside, shifted)


def _mean_of_product(name: str, beside: str, shifted: bool, place: str = "") -> str:
    size = 4 if "of_4" in name else 2
    covariances, means = _moments(size)
    kinds = ", ".join(f"kind_{n}" for n in range(1, size + 1))
    rule = "QUADRATURE_RULE" if size == 4 and not place else "QUADRATURE_PAIR_RULE"
    own = f"_{name}" if place else f"_{name.partition('mean_of')[0]}mean_of_{size}"
    arguments = [*covariances, *means] if shifted else covariances
    return f'''def {"shifted_" if shifted else ""}{name}({", ".join(arguments)}):
    """Mean of {size} factors."""
    c, b = ({", ".join(covariances)}), ({", ".join(means if shifted else ["0.0"] * size)})
    return {own}({rule}, ({kinds}), {place}c, b){beside}
'''


def _joint_means() -> Iterator[str]:
    for size in range(1, MOST_JOINT + 1):
        for levels in range(1, min(size, MOST_NONLINEAR) + 1):
            for constants in range(MOST_CONSTANTS + 1):
                for given in (False, True):
                    yield _joint_mean(size, levels, constants, given)


def _joint_mean(size: int, levels: int, constants: int, given: bool) -> str:
    covariances, means = _moments(size)
    moments = ", ".join((*covariances, *means))
    linear = size - levels
    fields = [f"out[{n + 1}]" for n in range(size + linear * (linear + 1) // 2)]
    numbers = [f"k{n + 1}" for n in range(constants)]
    name, rule = f"joint_mean_{size}_{levels}_{constants}", "rule" if given else "JOINT_RULE"
    arguments = ", ".join([*([rule] if given else []), moments, *numbers])
    sharpness = f"sharpness({', '.join(numbers)})" if numbers else "1.0"
    return f'''def {"ruled_" if given else ""}{name}({arguments}):
    """Mean over {size} fields."""
    moments = _joint_array(({moments}))
    out, sums, factor, steps, counts, index = _joint_start(
        moments, {size}, {levels}, {rule}, {sharpness}
    )
    sphere = {rule}[2] * {rule}[2]
    total = 0.0
    while _joint_next(out, sums, factor, steps, counts, index, sphere):
        total += out[0] * integrand({", ".join(fields + numbers)})
    return total
'''


def _moments(size: int) -> tuple[list[str], list[str]]:
    """Return the names of the covariances and of the means of so many fields."""
    pairs = combinations_with_replacement(range(1, size + 1), 2)
    return [f"c{i}{j}" for i, j in pairs], [f"b{i}" for i in range(1, size + 1)]
