"""A generator V and a discriminator w play against each other: one descends what the other ascends.

Real inputs are noise and 2 c U, generated ones noise and 2 c' V. The discriminator w has a large
variance of its field on the one and a small one on the other; both are kept finite by a decay.

Wang, Hu and Lu, "A solvable high-dimensional model of GAN" (NeurIPS 2019), have several directions,
the noise's variance as a parameter and a generator that moves on examples of its own. Their vectors
have norms of order one: those here divided by √N.
"""

import symderiv as sd


def statement():
    P = sd.System()
    c, U = P.latents("c", "gaussian", 2), P.vectors("U", fixed=True)
    w, V, eta = P.vectors("w"), P.vectors("V"), P.parameter("eta", 0.1)
    real, made = P.inputs("a") + 2 * c[0] * U, P.inputs("b") + 2 * c[1] * V
    worth = (w @ real) ** 2 / 2 - (w @ made) ** 2 / 2
    P.ascend(worth - w.dot(w) ** 2 / 2, {w: eta})
    P.descend(worth + V.dot(V) ** 2 / 2, {V: eta})
    P.observe(worth=worth)
    return P


STATE = {"U.U": 1.0, "U.w": 0.3, "U.V": -0.2, "w.w": 0.5, "w.V": 0.1, "V.V": 0.4}
TIMES = [0.5, 1.0, 2.0]
