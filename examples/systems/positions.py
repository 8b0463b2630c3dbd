"""Attention that may go to what tokens say or to where they stand.

The first token carries a position vector p, which enters scores and not values: the head returns
Σ_i softmax(w·(x_i + p_i))_i w·x_i. The teacher attends by position with the weight ω and by what
tokens say with the rest. The overlap w·p is how far the student attends by position, w·B how far it
attends by meaning.

Cui, Behrens, Krzakala and Zdeborová, "A phase transition between positional and semantic learning
in a solvable model of dot-product attention" (NeurIPS 2024), compare the same two ways to attend.
Their scores are quadratic in the tokens and they treat the minimum of the loss over a data set;
scores are linear in the tokens here and examples are fresh.
"""

import sympy as sp

import symderiv as sd


def statement(tokens=2):
    P = sd.System()
    x, w = P.inputs("x", length=tokens), P.vectors("w")
    B, p, omega = P.vectors("B", fixed=True), P.vectors("p", fixed=True), P.parameter("omega", 0.5)
    scores = [w @ (x[0] + p), *(w @ x[n] for n in range(1, tokens))]
    a, b = ([1 / sum(sp.exp(k - h) for k in f) for h in f] for f in (scores, list(B @ x)))
    b = [(1 - omega) * share + omega * int(n == 0) for n, share in enumerate(b)]
    loss = (a @ (w @ x) - b @ (B @ x)) ** 2 / 2
    P.descend(loss, {w: P.parameter("eta", 0.4)})
    P.observe(error=loss)
    return P


STATE = {"w.w": 0.5, "w.B": 0.2, "w.p": 0.3, "B.B": 1.0, "B.p": 0.1, "p.p": 2.0}
TIMES = [0.5, 1.0, 2.0]
