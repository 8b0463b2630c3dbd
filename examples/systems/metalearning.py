"""An initial state w is learned from which one step of descent reaches the tasks B₁ and B₂.

A task is drawn with every example. The inner step goes along the mean gradient of a linear network
on the task, which is w − B: it closes. Its size u is learned, too. ``refused`` has an inner step on
one example x₁ instead: the field of the adapted weights on another example x₂ contains x₁·x₂, an
inner product of inputs, so that the equations do not close in overlaps.

Finn, Abbeel and Levine, "Model-agnostic meta-learning for fast adaptation of deep networks" (ICML
2017), take inner steps on batches; batches of the order of N leave the mean as here.
"""

import symderiv as sd


def statement():
    P = sd.System()
    x, g, eta = P.inputs("x"), sd.activation("erf"), P.parameter("eta", 0.6)
    w, B, u = P.vectors("w"), P.vectors("B", 2, fixed=True), P.scalars("u")
    task = P.latents("task", "rademacher")
    chosen = (1 + task) / 2 * (B[0] @ x) + (1 - task) / 2 * (B[1] @ x)
    loss = (g((1 - u) * (w @ x) + u * chosen) - g(chosen)) ** 2 / 2
    P.descend(loss, {w: eta, u: eta})
    P.observe(error=loss)
    return P


def refused():
    P = sd.System()
    x, w, B = P.inputs("x", length=2), P.vectors("w"), P.vectors("B", fixed=True)
    adapted = w - 0.1 * ((w - B) @ x[0]) * x[0]
    P.descend(((adapted - B) @ x[1]) ** 2 / 2, {w: 0.3})
    return P


STATE = {
    "w.w": 0.7,
    "w.B": [0.2, -0.15],
    "B.B": [[1.1, 0.3], [0.3, 0.8]],
    "u": 0.4,
}
TIMES = [0.5, 1.0, 2.0, 4.0]
