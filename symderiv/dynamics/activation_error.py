"""Activations that enter the equations approximately: how well, and what to say of it."""

from __future__ import annotations

import math
from collections.abc import Callable

from symderiv.dynamics.kernels import Kernel, load_kernel
from symderiv.dynamics.study import Study

COARSEST, FINEST = 1e-4, 1e-10
"""Limits of the tolerance on activations that runs ask for."""


def activation_tolerance(relative_tolerance: float) -> float:
    """The tolerance on an approximated activation: a tenth of the run's, in steps of ten.

    Whole decades, so that runs with similar tolerances share one solver module.
    """
    decade = math.floor(math.log10(relative_tolerance) + 1e-9) - 1
    return min(COARSEST, max(FINEST, float(f"1e{decade}")))


def kernel_for(study: Study, *, notice: Callable[[str], None] | None = None) -> Kernel:
    """The solver module of a study, as accurate as its tolerance asks for."""
    return load_kernel(
        study.student_activation,
        study.teacher_activation,
        tolerance=activation_tolerance(study.time.relative_tolerance),
        notice=notice,
    )


def activation_attributes(kernel: Kernel) -> dict[str, str | float]:
    """Attributes of results: the method and the errors of approximated activations, or nothing."""
    method = getattr(kernel.module, "ACTIVATION_METHOD", "")
    if not method:
        return {}
    return {
        "activation_method": method,
        "activation_error": float(kernel.module.ACTIVATION_ERROR),
        "activation_derivative_error": float(kernel.module.ACTIVATION_DERIVATIVE_ERROR),
    }


def activation_warnings(kernel: Kernel, relative_tolerance: float) -> list[str]:
    """A line if the activation's error is not far below the tolerance of the run."""
    known = activation_attributes(kernel)
    if not known:
        return []
    error = max(float(known["activation_error"]), float(known["activation_derivative_error"]))
    if error <= 0.2 * relative_tolerance:
        return []
    what = {
        "mixture": "the activation enters the equations with an error",
        "quadrature": "the means in the equations are computed with an error (largest found)",
    }
    return [
        f"activation: {what[str(known['activation_method'])]} of up to {error:.1e}, not far below "
        f"time.relative_tolerance = {relative_tolerance:g}"
    ]
