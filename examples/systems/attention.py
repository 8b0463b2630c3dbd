"""A head of attention over the tokens of a sequence learns another head.

Token i has the score z_i = w·x_i, and the head returns Σ_i softmax(z)_i z_i. A teacher with the
weight ``positional`` attends to the first token, whatever it says, and with the rest of its weight
to what tokens say, as the student does. Scores and values are the same field, which keeps the
average at two fields per token. Means of softmax have no closed form. They depend on differences of
scores in functions and on one score as a polynomial, which is averaged over exactly: two tokens
need integrals over two fields, three tokens over four. ``positions.py`` has a student that can
attend by position, too.

Cui, Behrens, Krzakala and Zdeborová, "A phase transition between positional and semantic learning
in a solvable model of dot-product attention" (NeurIPS 2024), have scores quadratic in the tokens
with position vectors, and all of a data set; one layer of scores linear in them is learned here.
"""

import sympy as sp

import symderiv as sd


def statement(tokens=2, positional=0):
    P = sd.System()
    x, w, B = P.inputs("x", length=tokens), P.vectors("w"), P.vectors("B", fixed=True)
    z, y = w @ x, B @ x
    a, b = ([1 / sum(sp.exp(k - h) for k in f) for h in f] for f in (z, y))
    b = [(1 - positional) * share + positional * int(n == 0) for n, share in enumerate(b)]
    P.descend((a @ z - b @ y) ** 2 / 2, {w: P.parameter("eta", 0.4)})
    return P


STATE = {"w.w": 0.5, "w.B": 0.2, "B.B": 1.0}
TIMES = [0.5, 1.0, 2.0]
