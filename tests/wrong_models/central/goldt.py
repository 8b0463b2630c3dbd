"""Gaussian equivalence of generative models: the equation of motion of q in the eigenbasis."""

from collections.abc import Iterator
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import extended
from symderiv_papers.goldt.points import network_points

from wrong_models.trial import Central, WrongModel

_NOISE = " + eta ** 2 * rho[s] * v[k] * v[l] * h6[k, l]"
_H = ("h1", "h2", "h3", "h4", "h5", "h6")


def _other_activation(numbers: Any) -> Iterator[Point]:
    """Means of error functions in the equations of a network with x + x^2/2."""
    ours = network_points(activations=(("erf", "erf"),))(numbers)
    others = network_points(activations=(("x**2/2 + x", "erf"),))(numbers)
    for one, other in zip(ours, others, strict=True):
        wrong = {name: one.values[name] for name in _H}
        yield Point(other.label, extended(other.values, wrong))


CENTRAL = (
    Central(
        "goldt-2021",
        "G10 with gamma = rho",
        "Because the fields become Gaussian, closed equations describe two-layer networks that "
        "learn online from a generative model.",
        (
            WrongModel("no noise of the steps", {_NOISE: ""}),
            WrongModel("noise as for isotropic inputs", {"eta ** 2 * rho[s]": "eta ** 2"}),
            WrongModel(
                "noise with the eigenvalue squared", {"eta ** 2 * rho[s]": "eta ** 2 * rho[s] ** 2"}
            ),
            WrongModel("noise of the order of the drift", {"eta ** 2": "eta"}),
            WrongModel(
                "drift as for isotropic inputs",
                {"rho[s] * Sum": "Sum", "rho[s] * v": "v", "rho[s] * tilde_v": "tilde_v"},
            ),
            WrongModel("latent variables as many as inputs", {"1 / sqrt(delta)": "1"}),
            WrongModel("delta upside down", {"1 / sqrt(delta)": "sqrt(delta)"}),
            WrongModel("no teacher", {"tilde_v[n]": "0 * tilde_v[n]"}),
            WrongModel("students do not see each other", {"v[k] * v[j]": "0", "v[l] * v[j]": "0"}),
            WrongModel("no term of a student with itself", {"h3[": "0 * h3["}),
            WrongModel("equal output weights", {"v[k]": "1", "v[l]": "1", "v[j]": "1"}),
            WrongModel("the teacher's overlap does not count", {"r[s, ": "0 * r[s, "}),
            WrongModel("ascent", {"== -eta": "== eta"}),
            WrongModel("another activation", points=_other_activation),
        ),
    ),
)
