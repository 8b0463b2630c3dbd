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

import numpy as np

from symderiv.compiled_code.compiled import compiled
from symderiv.integrate.steppers.walk import ENDS

__all__ = ["BETWEEN", "ENDS", "hermite_constants", "hermite_weights"]

#: The largest estimated error of a result between steps, in the tolerance of a step. It is a mean
#: over the entries of a state at one place; errors elsewhere and of single entries are larger.
BETWEEN = 0.1


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
