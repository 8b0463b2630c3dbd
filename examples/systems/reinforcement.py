"""A perceptron learns from reward for a whole episode: T answers, all of them right, or not.

Patel, Lee, Sarao Mannelli, Goldt and Saxe, "RL perceptron: generalization dynamics of policy
learning in high dimensions" (PRX 2025), divide the update by √N and the episode's sum by T as here;
their η₁ and η₂ are ``gain`` and ``loss``.
"""

import sympy as sp

import symderiv as sd


def statement(T=2):
    P = sd.System()
    x = P.inputs("x", episode=T)
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    gain, loss = P.parameter("gain", 1), P.parameter("loss", 0.3)
    y = sp.sign(w @ x)
    won = x.all(sp.Eq(y, sp.sign(B @ x)))
    P.update({w: (gain * won - loss * (1 - won)) * x.mean(y * x)})
    P.observe(won=won)
    return P


STATE = {"w.w": 1.2, "w.B": 0.4, "B.B": 0.9}
TIMES = [0.5, 1.0, 2.0, 3.0]
