"""Temporal differences: the value of a state is learned from the reward and the next state's value.

State and next state are inputs with correlation 3/5; the value is linear, w·x, and the reward B·x.
The update is no gradient: the next value is not differentiated. What is learned is the value
B·x/(1 - 3/5 discount), the sum of all discounted rewards that are expected; the surprise does not
vanish with the error of the value, as the next state is not known from this one.

Bordelon, Masset, Kuo and Pehlevan, "Loss dynamics of temporal difference reinforcement learning"
(NeurIPS 2023), have whole trajectories with any covariances and batches; here there is one pair per
step, so that the noise of order one is kept.
"""

import sympy as sp

import symderiv as sd


def statement():
    P = sd.System()
    x = P.inputs("x", length=2, correlation=[[1, sp.Rational(3, 5)], [sp.Rational(3, 5), 1]])
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    eta, discount = P.parameter("eta", 0.3), P.parameter("discount", 0.8)
    surprise = B @ x[0] + discount * (w @ x[1]) - w @ x[0]
    P.update({w: eta * surprise * x[0]})
    error = w @ x[0] - (B @ x[0]) / (1 - 3 * discount / 5)
    P.observe(error=error**2 / 2, surprise=surprise**2 / 2)
    return P


STATE = {"w.w": 0.6, "w.B": 0.2, "B.B": 1.1}
TIMES = [0.5, 1.0, 2.0, 4.0]
