"""A chain of three networks: a large one learns a teacher, a small one learns the large one.

Both descend at once, on the same examples; the small network never sees the teacher's label, and
its limit is what the large one has reached.

Hinton, Vinyals and Dean, "Distilling the knowledge in a neural network" (2015), train the small
network after the large one: make that a second statement with w fixed. Saglietti and Zdeborová,
"Solvable model for inheriting the regularization through knowledge distillation" (MSML 2021), treat
mixtures and full data sets.
"""

import symderiv as sd


def statement():
    P = sd.System()
    x, g, eta = P.inputs("x"), sd.activation("erf"), P.parameter("eta", 0.5)
    B, w, v = P.vectors("B", fixed=True), P.vectors("w", 2), P.vectors("v")
    label, large, small = g(B @ x), g(w @ x).sum(), g(v @ x)
    P.descend((large - label) ** 2 / 2, {w: eta})
    P.descend((small - large) ** 2 / 2, {v: eta})
    P.observe(large=(large - label) ** 2 / 2, small=(small - label) ** 2 / 2)
    return P


STATE = {
    "B.B": 1.1,
    "B.w": [0.3, -0.1],
    "B.v": 0.2,
    "w.w": [[0.6, 0.1], [0.1, 0.5]],
    "w.v": [0.15, 0.25],
    "v.v": 0.7,
}
TIMES = [0.5, 1.0, 2.0]
