"""A student with weight decay follows a teacher that turns in a plane and drifts at random.

B turns towards C and C away from B; fresh noise moves B, which is kept on its sphere.

Biehl and Schwarze, "Learning drifting concepts with neural networks" (J. Phys. A 1993), have a
random drift of perceptrons; Straat, Abadi, Göpfert, Hammer and Biehl, "Statistical mechanics of
on-line learning under concept drift" (Entropy 2018), have networks. The overlap of B with its past
decays at the rate ``noise``²/2 for |B|² = N here; decay is divided by N.
"""

import symderiv as sd


def statement():
    P = sd.System()
    x, z, g = P.inputs("x"), P.inputs("z"), sd.activation("erf")
    w, B, C = P.vectors("w"), P.vectors("B"), P.vectors("C")
    eta, turn, noise = P.parameter("eta", 0.8), P.parameter("turn", 0.3), P.parameter("noise", 0.4)
    P.descend((g(w @ x) - g(B @ x)) ** 2 / 2, {w: eta})
    P.update({w: -0.1 * w, B: noise * z + turn * C, C: -turn * B})
    P.constrain(B, "sphere")
    P.observe(error=(g(w @ x) - g(B @ x)) ** 2 / 2)
    return P


STATE = {"w.w": 0.6, "w.B": 0.2, "w.C": -0.1, "B.B": 1.1, "B.C": 0.1, "C.C": 0.9}
TIMES = [0.5, 1.0, 2.0, 4.0]
