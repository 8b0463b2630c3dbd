"""Random states of solver modules, as vectors."""

import numpy as np


def state(K: int, M: int, L: int, near: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A state and parameters of random vectors, two students almost and two teachers partly equal.

    ``near``: the distance of the students in units of their length.
    """
    rng = np.random.default_rng(seed)
    rho = rng.uniform(0.5, 2.0, L)
    weight = rng.dirichlet(np.full(L, 3.0))
    J, B = rng.normal(size=(L, K, 9)), rng.normal(size=(L, M, 9))
    if K > 1:
        J[:, 1] = J[:, 0] + near * J[:, 1]
    Q = np.einsum("kia,kja->ijk", J, J) / 9
    R = np.einsum("k,kia,kna->ink", rho, J, B) / 9
    T = np.einsum("k,kna,kma->nmk", rho**2, B, B) / 9
    whole = np.einsum("k,nmk->nm", weight / rho, T)
    rates = [0.7, 0.3, 0.05, 0.02, 0.4, 1.0]
    parameters = [rho, weight, T.ravel(), whole.ravel(), rng.normal(size=M), rates]
    unknown = [Q.ravel(), R.ravel(), rng.normal(size=K)]
    return np.concatenate(unknown), np.concatenate(parameters)
