"""The solver module of a study, as accurate as its tolerance requires."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from symderiv.problem.study import Study
from symderiv.storage.kernels import Kernel, load_kernel

if TYPE_CHECKING:
    from symderiv.learning.rule.learning_rule import LearningRule

COARSEST, FINEST = 1e-4, 1e-10
"""Limits of the tolerance of activations."""


def activation_tolerance(relative_tolerance: float) -> float:
    """Return the tolerance of approximated activations: a tenth of the run's, a power of ten.

    With powers of ten, runs with similar tolerances share one solver module.
    """
    decade = math.floor(math.log10(relative_tolerance) + 1e-9) - 1
    return min(COARSEST, max(FINEST, float(f"1e{decade}")))


def kernel_for(
    study: Study,
    *,
    notice: Callable[[str], None] | None = None,
    rule: LearningRule | None = None,
) -> Kernel:
    """Return the solver module of a study, as accurate as its tolerance requires.

    Args:
        study: the study, with its activations and tolerance.
        notice: see :func:`~symderiv.storage.kernels.load_kernel`.
        rule: the rule of the study; None for plain descent of the squared loss.

    Raises:
        InputError: no rule is given, although the study has another one than plain descent.
    """
    if rule is None:
        study.only_plain("this")
    return load_kernel(
        study.student_activation,
        study.teacher_activation,
        tolerance=activation_tolerance(study.time.relative_tolerance),
        notice=notice,
        rule=rule,
    )
