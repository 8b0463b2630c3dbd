"""The error of activations that enter the equations approximately, and warnings about it.

Errors of means by quadrature are the largest that a search finds among fields up to a variance and
a bias. The fields along a run tell whether it stayed in this range; if it left it, the search is
repeated for the range that it reached.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.storage.kernels import Kernel

if TYPE_CHECKING:
    from symderiv.learning.rule.learning_rule import LearningRule

# Fields larger than these (variance, modulus of biases) are those of a run that escapes.
_FARTHEST = 64.0, 16.0


def activation_attributes(kernel: Kernel) -> dict[str, str | float]:
    """Return attributes of results: method and errors of approximated activations, if any."""
    method = getattr(kernel.module, "ACTIVATION_METHOD", "")
    if not method:
        return {}
    attributes = {
        "activation_method": method,
        "activation_error": float(kernel.module.ACTIVATION_ERROR),
        "activation_derivative_error": float(kernel.module.ACTIVATION_DERIVATIVE_ERROR),
    }
    for name in (
        "ACTIVATION_PAIR_ERROR",
        "ACTIVATION_LARGEST_VARIANCE",
        "ACTIVATION_LARGEST_BIAS",
    ):
        if hasattr(kernel.module, name):
            attributes[name.lower()] = float(getattr(kernel.module, name))
    return attributes


def activation_warnings(
    kernel: Kernel, relative_tolerance: float, beyond: Beyond | None = None
) -> list[str]:
    """Return a line if the activation's error is above or close to the tolerance of the run."""
    known = activation_attributes(kernel)
    if not known:
        return []
    error = max(float(known["activation_error"]), float(known["activation_derivative_error"]))
    if beyond is not None and beyond.error > error:
        error = beyond.error
    what = {"mixture": "the activation enters the equations with an error", "quadrature": BY_RULE}
    cause = f"activation: {what[str(known['activation_method'])]}"
    return near_tolerance(cause, error, relative_tolerance, "time.relative_tolerance")


NEAR = 0.2
"""The part of a tolerance above which an error of the equations is worth a warning."""
BY_RULE = "the means in the equations are computed with an error (largest found)"


def near_tolerance(cause: str, error: float, tolerance: float, key: str) -> list[str]:
    """Return a line if an error of the equations is above or close to the tolerance of a run.

    Args:
        cause: What has the error, in words.
        error, tolerance: The error and the tolerance that it is compared with.
        key: The key of the tolerance.
    """
    if error <= NEAR * tolerance:
        return []
    beside = "above" if error > tolerance else "close to"
    return [
        f"{cause} of up to {error:.1e}, which is {beside} {key} = {tolerance:g}; results are no "
        "more accurate than it"
    ]


@dataclass(frozen=True)
class Beyond:
    """Parts of a run outside of the range for which the error of means is stated.

    Attributes:
        since: The index of the first time at which a field is outside of the range.
        variance, bias: The largest variance and the largest modulus of a bias along the run.
        error: The largest error of means for these fields; NaN if no search was made.
    """

    since: int
    variance: float
    bias: float
    error: float = math.nan


def beyond_range(kernel: Kernel, trajectory: Trajectory, fixed_bias: float = 0.0) -> Beyond | None:
    """Return how far a run leaves the range of fields for which its means were tested.

    The result is None if it does not, or if no mean is by quadrature.

    Args:
        kernel: The module of the run.
        trajectory: The run; biases that are trained are in ``further``.
        fixed_bias: The largest modulus of the biases that are not trained.
    """
    known = activation_attributes(kernel)
    if "activation_pair_error" not in known or not trajectory.alpha.size:
        return None
    allowed = [
        float(known["activation_largest_variance"]),
        float(known.get("activation_largest_bias", math.inf)),
    ]
    trained = getattr(trajectory, "further", {}).get("b")
    biases = np.full(trajectory.alpha.size, fixed_bias)
    if trained is not None:
        biases = np.maximum(biases, np.abs(trained).max(axis=-1))
    variances = np.maximum(
        np.diagonal(trajectory.Q, axis1=-2, axis2=-1).max(axis=-1),
        np.max(np.diagonal(trajectory.T, axis1=-2, axis2=-1)),
    )
    outside = np.flatnonzero((variances > allowed[0]) | (biases > allowed[1]))
    if not outside.size:
        return None
    return Beyond(int(outside[0]), float(variances.max()), float(biases.max()))


def searched(kernel: Kernel, beyond: Beyond, rule: LearningRule) -> Beyond:
    """Return ``beyond`` with the error of the means for the fields that the run reached.

    The error stays NaN for means of forces, whose search is another one, and for runs that escape.

    Args:
        kernel: The module of the run.
        beyond: See :func:`beyond_range`.
        rule: The learning rule of the module.
    """
    module = kernel.module
    numbers = tuple(
        tuple(float(x) for x in getattr(module, name, ()))
        for name in ("QUADRATURE_RULE", "QUADRATURE_PAIR_RULE")
    )
    far = beyond.variance > _FARTHEST[0] or beyond.bias > _FARTHEST[1]
    if far or not all(numbers):
        return beyond
    # here, because most runs stay inside and get along without SymPy
    from symderiv.lowering.means.quadrature_means import error_within

    known = activation_attributes(kernel)
    # in powers of two, so that the next run need not search
    variance, bias = (
        max(2.0 ** math.ceil(math.log2(max(size, 1e-3))), float(known.get(name, 0.0)))
        for size, name in (
            (beyond.variance, "activation_largest_variance"),
            (beyond.bias, "activation_largest_bias"),
        )
    )
    size = error_within(
        kernel.student_activation,
        kernel.teacher_activation,
        rule,
        (numbers[0], numbers[1]),
        variance,
        bias,
    )
    return Beyond(
        beyond.since, beyond.variance, beyond.bias, max(size, float(known["activation_error"]))
    )


def range_warnings(
    kernel: Kernel, trajectory: Trajectory, beyond: Beyond | None = None
) -> list[str]:
    """Return warnings where the error of means by quadrature is unknown or matters.

    It is unknown for fields whose variances or biases are outside of the range that was tested. It
    matters where the generalisation error is not far above the error of the means that it is a sum
    of.

    Args:
        kernel, trajectory: The run.
        beyond: How far it leaves the range, see :func:`beyond_range`.
    """
    known = activation_attributes(kernel)
    if "activation_pair_error" not in known or not trajectory.alpha.size:
        return []
    lines = []
    if beyond is not None:
        limits = f"variance up to {float(known['activation_largest_variance']):g}"
        reached = f"variance {beyond.variance:.3g}"
        if "activation_largest_bias" in known:
            limits += f" and biases up to {float(known['activation_largest_bias']):g}"
            reached += f" and bias {beyond.bias:.3g}"
        tail = "for which it was not measured"
        if not math.isnan(beyond.error):
            tail = f"for which a wider search finds up to {beyond.error:.1e}"
        stated = f"activation: the error of the means, {float(known['activation_error']):.1e}"
        since = float(trajectory.alpha[beyond.since])
        lines.append(beyond_line(stated, limits, since, reached, tail))
    weights = np.abs(trajectory.v).sum(axis=-1) + float(np.abs(trajectory.teacher_weights).sum())
    uncertain = 0.5 * weights**2 * float(known["activation_pair_error"])
    below = np.nonzero(trajectory.generalization_error < 10 * uncertain)[0]
    if below.size:
        first = int(below[0])
        lines.append(
            f"generalization_error: from alpha = {trajectory.alpha[first]:.4g} on it is near the "
            "error of its means by quadrature, which changes it by up to "
            f"{float(uncertain[first]):.1e}"
        )
    return lines


def beyond_line(stated: str, limits: str, since: float, reached: str, tail: str) -> str:
    """Return a line that says where a run leaves the range for which an error is stated."""
    return (
        f"{stated}, is that for fields of {limits}; from alpha = {since:.4g} on there are larger "
        f"ones, up to {reached}, {tail}"
    )
