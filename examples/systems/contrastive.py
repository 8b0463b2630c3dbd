"""A direction is learned from pairs of noisy views of one input, against a view of another.

The two views share x = a + c U and have noise of their own; what they share is to be learned, and
the loss −2 f(x₁) f(x₂) + (f(x₁) f(x₃))² with a linear f keeps the weights finite.

HaoChen, Wei, Gaidon and Ma, "Provable guarantees for self-supervised deep learning with spectral
contrastive loss" (NeurIPS 2021), have this loss for networks of any depth and its minimum; here w
moves along its gradient by all three views of each fresh example.
"""

import symderiv as sd


def statement():
    P = sd.System()
    c, U = P.latents("c", "rademacher", 2), P.vectors("U", fixed=True)
    w, a = P.vectors("w"), P.inputs("a")
    one, two = P.inputs("z1"), P.inputs("z2")
    views = a + 2 * c[0] * U + one / 2, a + 2 * c[0] * U + two / 2
    first, second, other = (w @ x for x in (*views, P.inputs("b") + 2 * c[1] * U))
    loss = -2 * first * second + (first * other) ** 2
    P.descend(loss, {w: P.parameter("eta", 0.02)})
    P.observe(loss=loss)
    return P


STATE = {"U.U": 1.0, "U.w": 0.3, "w.w": 0.5}
TIMES = [0.5, 1.0, 2.0]
