"""An adapter u v on frozen weights w0 learns what the teacher has changed.

The network answers g(w0·x + Σ_r u_r v_r·x) with scalars u and vectors v; ``rank=2`` has two terms.
The output starts as that of the frozen weights if u = 0.

Hu and others, "LoRA: low-rank adaptation of large language models" (ICLR 2022), write W0 + u vᵀ
with a factor of their own in front, which is a learning rate here.
"""

import symderiv as sd


def statement(rank=1):
    P = sd.System()
    x, g, eta = P.inputs("x"), sd.activation("erf"), P.parameter("eta", 0.5)
    w0, B = P.vectors("w0", fixed=True), P.vectors("B", fixed=True)
    v, u = P.vectors("v", rank), P.scalars("u", rank)
    s = g(w0 @ x + (u * (v @ x)).sum())
    loss = (s - g(B @ x)) ** 2 / 2
    P.descend(loss, {v: eta, u: eta})
    P.observe(error=loss)
    return P


STATE = {
    "w0.w0": 0.8,
    "w0.B": 0.3,
    "w0.v": [0.2],
    "B.B": 1.1,
    "B.v": [0.25],
    "v.v": [[0.6]],
    "u": [0.4],
}
TWO = {
    **STATE,
    "w0.v": [0.2, -0.1],
    "B.v": [0.25, 0.15],
    "v.v": [[0.6, 0.1], [0.1, 0.5]],
    "u": [0.4, -0.3],
}
TIMES = [0.5, 1.0, 2.0, 4.0]
