"""The steps that lead to a number: exact reductions first, then the quadrature."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from symderiv.foundation.documents.written_derivation import Step
from symderiv.precision.quadrature.chosen_rule import CertifiedRule
from symderiv.precision.quadrature.component import Factor, FactorComponent
from symderiv.precision.quadrature.separation import FORM, Form, Product

_SHOWN = 6


def _form(form: Form, fields: Sequence[sp.Symbol]) -> sp.Expr:
    return sp.Add(*(c * x for c, x in zip(form, fields, strict=True)))


def _written(product: Product, fields: Sequence[sp.Symbol]) -> sp.Expr:
    factors = [g.subs(FORM, _form(form, fields)) for form, g in product.factors.items()]
    return sp.Mul(product.coefficient, *factors)


def _in_normals(f: Factor) -> sp.Expr:
    normals = [sp.Symbol(f"t_{i + 1}") for i in range(len(f.loading))]
    return sp.Add(f.mean, *(v * t for v, t in zip(f.loading, normals, strict=True)))


def opening_steps(
    statement: str,
    products: Sequence[Product],
    components: Sequence[Sequence[FactorComponent]],
    fields: Sequence[sp.Symbol],
) -> tuple[Step, ...]:
    """Return the exact reductions as steps, each only if it changes something."""
    steps = []
    if len(products) > 1:
        shown = [
            rf"\mathbb{{E}}\left[{sp.latex(_written(p, fields))}\right]" for p in products[:_SHOWN]
        ]
        rest = r" + \cdots" if len(products) > _SHOWN else ""
        words = f"The integrand is a sum of {len(products)} products of one-variable functions"
        steps.append(Step("separation", words, statement, " + ".join(shown) + rest))
    flat = [c for group in components for c in group]
    if any(len(group) > 1 for group in components):
        words = "Uncorrelated groups of variables are independent: their expectations factorise"
        steps.append(
            Step("independence", words, "", r"\mathbb{E}[F\,G] = \mathbb{E}[F]\,\mathbb{E}[G]")
        )
    if any(c.parity == -1 for c in flat):
        words = r"An odd product of centred variables has expectation zero (reflection $z \to -z$)"
        steps.append(Step("parity", words, "", r"\mathbb{E}[F(z)] = \mathbb{E}[F(-z)] = 0"))
    if any(c.constants for c in flat):
        words = "A variable without fluctuations is its mean"
        steps.append(
            Step("certain value", words, "", r"\mathbb{E}[f(\mu)\,G] = f(\mu)\,\mathbb{E}[G]")
        )
    remaining = [c for c in flat if c.parity != -1 and c.dimension]
    if any(c.has_polynomials for c in remaining):
        words = (
            "Variables that occur as polynomials are Gaussian given the others: what they do not"
            " share with them is integrated out exactly"
        )
        steps.append(
            Step(
                "conditioning", words, "", r"v = \mu_v + \sum_{i \leq d} L_{vi} t_i + \text{noise}"
            )
        )
    for c in remaining:
        names = ", ".join(sp.latex(f.function.expression) for f in c.factors)
        words = (
            f"The factors ${names}$ depend on {c.dimension} independent standard normal"
            f" variable{'s' * (c.dimension > 1)}"
        )
        rows = r",\; ".join(
            rf"z_{{{a + 1}}} = {sp.latex(_in_normals(f))}" for a, f in enumerate(c.factors)
        )
        steps.append(Step("normals", words, "", rows))
    return tuple(steps)


def quadrature_step(rule: CertifiedRule) -> Step:
    """Return the numerical integration as one step."""
    sentence, bound = rule.details()
    return Step("quadrature", sentence, "", bound)
