"""Points of claims on hidden manifolds and generators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import sympy as sp
from symderiv_ledger.claims.claim import Point

from symderiv.formula import activation
from symderiv.gaussian import expectation
from symderiv.gaussian.forms.evaluate import number
from symderiv_papers.goldt.points import network_points
from symderiv_papers.references.manifold_points import CENTRED, manifold_points

__all__ = ["ALIKE", "GENERATORS", "MODES", "constants"]

#: K, M, D, N and the network's activation: D/N below and above 1.
_SIZES: Final = ((3, 2, 4, 7, "erf"), (2, 3, 6, 4, "x**3 - x/3"))
#: E f = 0.
MODES = manifold_points(CENTRED, _SIZES)
#: Teachers whose overlaps are the same in all modes.
ALIKE = manifold_points(CENTRED, _SIZES, alike=True)
#: Any generator, by the covariances of its inputs and their eigenvalues.
GENERATORS = network_points((("erf", "erf"),))


def constants(numbers: Any) -> Iterator[Point]:
    """Yield means of f(u) = erf(u/sqrt(2)) and sign(u) for u of variance one.

    Names: erf_f2, sign_f2, the mean of f²; erf_uf, sign_uf, that of u f.
    """
    u = sp.Symbol("u", real=True)
    found = {}
    for name in ("erf", "sign"):
        f = activation(name).expression.subs(sp.Symbol("x", real=True), u)
        for kind, product in (("f2", f**2), ("uf", u * f)):
            mean = expectation(product, [u], sp.Matrix([[1]])).unfolded()
            found[f"{name}_{kind}"] = number(mean, numbers.dps, numbers)
    yield Point("variance one", found)
