"""Errors of networks without biases against sums of teachers, by a solver module's own function.

The error does not depend on how weights were learnt: the function of plain descent serves rules.
"""

from __future__ import annotations

import numpy as np

from symderiv.problem.flat_layout import pack_parameters, pack_state, sizes_of
from symderiv.problem.study import Study
from symderiv.storage.kernels import has_checked_in, load_kernel


class PlainErrors:
    """E(s - t)²/2 of given Q, R and output weights.

    Args:
        study: whose activations have a module in the package.
        T: covariance of the teachers' fields, shape (M, M).
    """

    def __init__(self, study: Study, T: np.ndarray) -> None:
        self.T = T
        self._module = load_kernel(study.student_activation, study.teacher_activation).module
        self._sizes = sizes_of(study.K, study.M, 1)

    @staticmethod
    def know(study: Study) -> bool:
        """Return whether the errors of a study are of this kind, and there is a module for them."""
        biased = study.network.train_biases or np.any(study.student_biases)
        return not (
            biased or np.any(study.teacher_biases) or study.training.target == "sign"
        ) and has_checked_in(study.student_activation, study.teacher_activation)

    def __call__(self, Q: np.ndarray, R: np.ndarray, v: np.ndarray, w: np.ndarray) -> float:
        """Return the error of output weights v (K,) against w (M,)."""
        one = np.ones(1)
        parameters = pack_parameters(one, one, self.T[None], self.T, w, {})
        flat = pack_state(Q[None], R[None], v)
        error = self._module.flat_observables(
            flat, self._sizes, parameters, np.empty_like(Q), np.empty_like(R)
        )
        return float(error)
