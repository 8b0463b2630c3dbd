from __future__ import annotations

import sympy as sp

from symderiv.derivation import Step


class Narrator:
    def __init__(self, problem, integrand, terms):
        self.statement = r"\mathbb{E}\left[" + sp.latex(integrand) + r"\right]"

    def witness(self, gaussian):
        return lambda *a: None

    def steps(self, value, definitions, forms):
        return ()
