r"""The equations as an implicit method wants them: fewer unknowns and a sparse Jacobian.

Given the sums :math:`z = \sum_k W_k x_k` over the modes (Q and R), the equations of one mode x_k
are linear in x_k and in nothing else of the state. The Jacobian is therefore one small block per
mode plus the effect of the sums on every mode, which would fill it. Here the sums are unknowns of
their own, with :math:`z' = \sum_k W_k x_k'`: blocks on the diagonal and a border.

.. math::
   J = \begin{pmatrix} D & \partial f/\partial(v, z) \\
   0 & \partial v'/\partial(v, z) \\ W D & W \partial f/\partial(v, z) \end{pmatrix}

The right-hand side still takes its sums from the modes, so z is what follows from the modes up to
rounding, and a Newton step with J is one with the full Jacobian. All entries come from values of
the compiled right-hand side. For D no difference quotient is needed: with changes of the modes
that leave the sums alone it is linear.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from symderiv.problem.flat_layout import split_flat, split_parameters, state_size

Rhs = Callable[..., None]

# Where the slope is taken: relative to the scale of v, Q, R.
_DIFFERENCE = 1e-7
_SMALLEST = 1e-3


class StiffEquations:
    """The compiled equations of one problem for :mod:`scipy.integrate`.

    The unknowns are, mode by mode, the upper triangle of Q_k and r_k; then v; then the sums
    Q (upper triangle) and R.

    Args:
        rhs: ``flat_right_hand_side`` of a generated module.
        sizes: K, M, L.
        parameters: in the layout of the generated modules.
    """

    def __init__(self, rhs: Rhs, sizes: np.ndarray, parameters: np.ndarray) -> None:
        K, M, L = (int(size) for size in sizes)
        self._rhs, self._sizes, self._parameters = rhs, sizes, parameters
        eigenvalue, weight, overlaps, teacher = split_parameters(parameters, M, L)
        self._t = np.max(np.abs(np.einsum("knn->kn", overlaps)), axis=1)
        self._rho = eigenvalue
        self._T = np.sqrt(np.maximum(np.diag(teacher), 0.0))
        count = state_size(K, M, L)
        Q, r, v = split_flat(np.arange(count), K, M, L)
        i, j = self._pairs = np.triu_indices(K)
        cross = r.reshape(L, -1)
        #: where the unknowns of a mode are in a flat state, and where their mirror images
        self._place = np.concatenate([Q[:, i, j], cross], axis=1)
        self._mirror = np.concatenate([Q[:, j, i], cross], axis=1)
        self._v = v
        self._W = np.concatenate(
            [
                np.repeat((weight * eigenvalue)[:, None], i.size, axis=1),
                np.repeat(weight[:, None], K * M, axis=1),
            ],
            axis=1,
        )
        self.K, self.L, self.size = K, L, i.size + K * M
        self._flat, self._slope = np.empty(count), np.empty(count)
        self._alpha = 0.0
        self.evaluations = 0

    @property
    def unknowns(self) -> int:
        return self.L * self.size + self.K + self.size

    @property
    def separable(self) -> bool:
        """Two modes can change without changing the sums; without that there are no blocks."""
        return int(np.count_nonzero(self._rho)) > 1

    def pack(self, flat: np.ndarray) -> np.ndarray:
        """Return the unknowns at a flat state."""
        modes = flat[self._place]
        return np.concatenate([modes.ravel(), flat[self._v], np.sum(self._W * modes, axis=0)])

    def unpack(self, unknowns: np.ndarray) -> np.ndarray:
        """Return the flat state at given unknowns."""
        flat = np.empty(self._flat.size)
        modes, v = self._split(unknowns)
        flat[self._place] = modes
        flat[self._mirror] = modes
        flat[self._v] = v
        return flat

    def scale(self, unknowns: np.ndarray, *, of_teachers: bool = True) -> np.ndarray:
        """Return sizes of the terms that make up each unknown, which rounding errors go with.

        They are those of the students or, with ``of_teachers``, of a student that has learnt a
        teacher, the larger.
        """
        modes, v = self._split(unknowns)
        i, j = self._pairs
        alive = self._rho > 0
        teachers = np.where(alive, self._t / np.where(alive, self._rho, 1.0) ** 2, 0.0)
        students = np.max(np.abs(modes[:, : i.size][:, i == j]), axis=1)
        if of_teachers:
            students = np.maximum(students, teachers)
        of_modes = np.empty((self.L, self.size))
        of_modes[:, : i.size] = students[:, None]
        of_modes[:, i.size :] = np.sqrt(students * self._t)[:, None]
        sums = np.sum(self._W * of_modes, axis=0)
        return np.concatenate([of_modes.ravel(), np.abs(v), sums])

    def derivative(self, alpha: float, unknowns: np.ndarray) -> np.ndarray:
        """Return the right-hand side of the unknowns."""
        self._alpha = alpha
        modes, v = self._evaluate(*self._split(unknowns))
        return np.concatenate([modes.ravel(), v, np.sum(self._W * modes, axis=0)])

    def jacobian(self, alpha: float, unknowns: np.ndarray) -> sparse.csc_matrix:
        """Return its derivative, accurate to about 1e-7; a guess where a value is not a number."""
        self._alpha = alpha
        modes, v = (part.copy() for part in self._split(unknowns))
        K, L, size = self.K, self.L, self.size
        D = self.blocks(modes, v)
        slopes, v_slopes = self._border(modes, v, D)
        rows = L * size
        to_sums = (self._W[:, :, None] * D).transpose(1, 0, 2).reshape(size, rows)
        of_sums = np.einsum("ks,ksj->sj", self._W, slopes)
        matrix = sparse.bmat(
            [
                [_block_diagonal(D), sparse.csr_matrix(slopes.reshape(rows, K + size))],
                [None, sparse.csr_matrix(v_slopes)],
                [sparse.csr_matrix(to_sums), sparse.csr_matrix(of_sums)],
            ],
            format="csc",
        )
        matrix.data = np.nan_to_num(matrix.data)
        return matrix

    def fastest_rate(self, flat: np.ndarray) -> float:
        """Return the largest eigenvalue, in size, of the equations of the modes with the sums
        fixed.
        """
        if not self.separable:
            return 0.0
        modes, v = (part.copy() for part in self._split(self.pack(flat)))
        D = self.blocks(modes, v)
        largest = D[int(np.argmax(np.sum(D * D, axis=(1, 2))))]
        if not np.all(np.isfinite(largest)):
            return 0.0
        return float(np.max(np.abs(np.linalg.eigvals(largest))))

    def blocks(self, modes: np.ndarray, v: np.ndarray) -> np.ndarray:
        """D, the derivative of each mode by itself, shape (L, size, size).

        Only where the problem is ``separable``.
        """
        start, _ = self._evaluate(modes, v)
        D = np.empty((self.L, self.size, self.size))
        for c in range(self.size):
            weight = self._W[:, c]
            change = np.ones(self.L)  # a mode without a part in the sum moves as it likes
            counted = np.flatnonzero(weight)
            change[counted] = _cancelling(counted.size) * np.max(weight) / weight[counted]
            moved = modes.copy()
            moved[:, c] += max(float(np.max(np.abs(modes[:, c]))), 1e-3) * change
            slope, _ = self._evaluate(moved, v)
            D[:, :, c] = (slope - start) / (moved[:, c] - modes[:, c])[:, None]
        # what rounding leaves in place of a zero is not worth a place in a sparse matrix
        D[np.abs(D) < 1e-13 * np.max(np.abs(D), axis=(1, 2), keepdims=True)] = 0.0
        return D

    def _border(
        self, modes: np.ndarray, v: np.ndarray, D: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return derivatives by v and the sums: of the modes (L, size, K + size), of v (K, K +
        size).
        """
        K, size = self.K, self.size
        start, v_start = self._evaluate(modes, v)
        slopes = np.empty((self.L, size, K + size))
        v_slopes = np.empty((K, K + size))
        for c in range(K):
            moved = v.copy()
            moved[c] += _DIFFERENCE * max(abs(v[c]), 1e-3)
            change = moved[c] - v[c]
            slope, v_slope = self._evaluate(modes, moved)
            slopes[:, :, c] = (slope - start) / change
            v_slopes[:, c] = (v_slope - v_start) / change
        i, j = self._pairs
        sums = np.sum(self._W * modes, axis=0)
        total = np.sum(self._W, axis=0)
        lengths = np.sqrt(np.maximum(sums[: i.size][i == j], 1e-30))
        scale = np.concatenate([lengths[i] * lengths[j], np.outer(lengths, self._T).ravel()])
        # rounding in the slopes does not vanish with the student
        scale = np.maximum(scale, _SMALLEST * np.max(scale))
        # into the cone, never out of it: larger lengths, smaller angles
        inward = np.where(sums > 0, -1.0, 1.0)
        inward[: i.size][i == j] = 1.0
        for c in range(size):
            change = _DIFFERENCE * inward[c] * scale[c] / total[c]
            moved = modes.copy()
            moved[:, c] += change
            slope, v_slope = self._evaluate(moved, v)
            slopes[:, :, K + c] = ((slope - start) / change - D[:, :, c]) / total[c]
            v_slopes[:, K + c] = (v_slope - v_start) / (change * total[c])
        return slopes, v_slopes

    def _split(self, unknowns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = self.L * self.size
        return unknowns[:rows].reshape(self.L, self.size), unknowns[rows : rows + self.K]

    def _evaluate(self, modes: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        flat = self._flat
        flat[self._place] = modes
        flat[self._mirror] = modes
        flat[self._v] = v
        self._rhs(self._alpha, flat, self._sizes, self._parameters, self._slope)
        self.evaluations += 1
        return self._slope[self._place], self._slope[self._v]


def _cancelling(count: int) -> np.ndarray:
    """Return numbers of size 1 (2 for one of an odd count) with sum 0."""
    signs = np.ones(count)
    signs[1::2] = -1.0
    if count % 2:
        signs[-3:] = 1.0, 1.0, -2.0
    return signs


def _block_diagonal(blocks: np.ndarray) -> sparse.csr_matrix:
    k, i, j = np.nonzero(blocks)
    size = blocks.shape[1]
    shape = (blocks.shape[0] * size, blocks.shape[0] * size)
    return sparse.csr_matrix((blocks[k, i, j], (k * size + i, k * size + j)), shape=shape)
