"""Two perceptrons learn from each other: each moves towards the other's answer.

Nothing happens on examples to which both give the same answer. Norms are kept.

Metzler, Kinzel and Kanter, "Interacting neural networks" (Phys. Rev. E 2000), normalise |w| = 1 and
fields w·x and fields w·x; with |w|² = N, and fields divided by √N, η is the same number.
"""

import sympy as sp

import symderiv as sd


def statement():
    P = sd.System()
    x, eta = P.inputs("x"), P.parameter("eta", 0.8)
    w, v = P.vectors("w"), P.vectors("v")
    y, z = sp.sign(w @ x), sp.sign(v @ x)
    differ = (1 - y * z) / 2
    P.update({w: eta * differ * z * x, v: eta * differ * y * x})
    P.constrain(w, "sphere")
    P.constrain(v, "sphere")
    return P


STATE = {"w.w": 1.0, "w.v": -0.3, "v.v": 1.2}
TIMES = [0.5, 1.0, 2.0, 3.0]
