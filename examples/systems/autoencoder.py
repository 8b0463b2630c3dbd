"""A shallow autoencoder with encoder w and decoder v of its own learns a direction of the inputs.

Inputs are noise of variance one and a strong direction U. The network sends x to Σ_k g(w_k·x) v_k
and descends the squared distance from x. With ``tied=True`` the decoder is the encoder: an error
function then cannot reconstruct what a trained decoder does, because the fields must be small to be
linear and large to have the right norm.

Refinetti and Goldt, "The dynamics of representation learning in shallow, non-linear autoencoders"
(ICML 2022), find the same of tied weights. Their inputs have a covariance with a few eigenvalues of
order N, which are latents times fixed vectors here; the decoder enters as v/√N here, so that scales
of v and its learning rate differ.
"""

import symderiv as sd


def statement(K=2, tied=False):
    P = sd.System()
    c, U = P.latents("c"), P.vectors("U", fixed=True)
    x = P.inputs("a") + 2 * c * U
    w = P.vectors("w", K)
    v = w if tied else P.vectors("v", K)
    s = sd.activation("erf")(w @ x)
    P.descend(sd.norm2(x - s @ v) / 2, dict.fromkeys((w, v), P.parameter("eta", 0.2)))
    P.observe(error=sd.norm2(x - s @ v) / 2)
    return P


STATE = {
    "U.U": 1.0,
    "U.w": [0.3, -0.2],
    "U.v": [0.25, 0.1],
    "w.w": [[0.6, 0.1], [0.1, 0.5]],
    "w.v": [[0.2, -0.1], [0.15, 0.3]],
    "v.v": [[0.7, 0.2], [0.2, 0.4]],
}
TIMES = [0.5, 1.0, 2.0]
