"""Names of sizes and rates, which closed forms keep when indices are gone.

Who reads kept closed forms needs no more than these, and does not wait for what derives them.
"""

from __future__ import annotations

import sympy as sp

K, M, L, N, C = sp.symbols("K M L N C", integer=True, positive=True)

eta, eta_v, kappa, kappa_v, sigma = sp.symbols(
    "learning_rate second_layer_learning_rate weight_decay second_layer_weight_decay label_noise",
    real=True,
)
