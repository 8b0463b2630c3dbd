"""An autoencoder with a skip weight b learns to remove noise from a mixture of two clusters.

Clean inputs are ±U and noise; the network sees x̃ = (4 x + 3 z)/5 with fresh noise z and returns b
x̃ + g(w·x̃) v. The part of the loss that b alone moves is of order N and averages itself, so that b
has an update of its own, its gradient divided by N: descend would be refused.

Cui and Zdeborová, "High-dimensional asymptotics of denoising autoencoders" (NeurIPS 2023), train on
all of a data set by the replica method; their Δ is 9/25 and their decoder is the encoder. Here
examples are fresh, and w and v move apart.
"""

import sympy as sp

import symderiv as sd


def statement():
    P = sd.System()
    c, b, U = P.latents("c", "rademacher"), P.scalars("b"), P.vectors("U", fixed=True)
    w, v, eta = P.vectors("w"), P.vectors("v"), P.parameter("eta", 0.3)
    x = P.inputs("a") + 2 * c * U
    seen = sp.Rational(4, 5) * x + sp.Rational(3, 5) * P.inputs("z")
    s = sd.activation("erf")(w @ seen)
    P.descend(sd.norm2(x - b * seen - s * v) / 2, {w: eta, v: eta})
    P.update({b: eta * (sp.Rational(4, 5) - b)})
    return P


STATE = {
    "U.U": 1.0,
    "U.w": 0.4,
    "U.v": 0.2,
    "w.w": 0.7,
    "w.v": -0.1,
    "v.v": 0.5,
    "b": 0.3,
}
TIMES = [0.5, 1.0, 2.0]
