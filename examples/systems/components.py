"""Two independent components are found by a cubic rule whose vectors are kept orthonormal.

Inputs are noise and two skewed sources along fixed directions; W moves along (W·x)³ x and is
orthonormalised by W ← (W Wᵀ/N)^(-1/2) W after every step.

Wang and Lu, "The scaling limit of high-dimensional online independent component analysis" (NeurIPS
2017), have one component, vectors of norm √N and steps τ/√N as here, and a regulariser, which is
left out here.
"""

import sympy as sp

import symderiv as sd


def statement():
    P = sd.System()
    c = P.latents("c", {-2: sp.Rational(1, 5), sp.Rational(1, 2): sp.Rational(4, 5)}, 2)
    U, W = P.vectors("U", 2, fixed=True), P.vectors("W", 2)
    x, tau = P.inputs("a") + c @ U, P.parameter("tau", 0.05)
    P.update({W: tau * (W @ x) ** 3 * x})
    P.constrain(W, "orthonormal")
    return P


STATE = {
    "U.U": [[1.0, 0.1], [0.1, 0.9]],
    "U.W": [[0.5, 0.2], [-0.1, 0.6]],
    "W.W": [[1.0, 0.0], [0.0, 1.0]],
}
TIMES = [0.5, 1.0, 2.0]
