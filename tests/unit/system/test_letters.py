"""Expressions of a system in the field's letters."""

from collections.abc import Callable
from typing import Any

import pytest
import sympy as sp

import symderiv as sd
from symderiv.statement.field_law import FieldLaw
from symderiv.statement.stated_motion import Average
from symderiv.system.system_equations import Letters


class Written:
    """A system with two inputs, and its letters."""

    def __init__(self) -> None:
        P = self.P = sd.System()
        self.x, self.y = P.inputs("x"), P.inputs("y", sd.Spectrum([2.0, 0.5]))
        self.w, self.B = P.vectors("w", 2), P.vectors("B", fixed=True)
        self.enc = P.vectors("enc_1")
        self.eta, self.u, self.c = P.parameter("eta", 1), P.scalars("u", 2), P.latents("c")
        self.law = FieldLaw(P.statement)
        self.letters = Letters(self.law)

    def covariance(self) -> sp.Symbol:
        return self.law.covariance_of_vectors("y", self.w[1], self.B)


EXPRESSIONS: dict[str, tuple[Callable[[Written], sp.Expr], str]] = {
    "a field": (lambda s: s.w[0] @ s.x, r"h^{x}_{w_{1}}"),
    "a square": (lambda s: (s.B @ s.y) ** 2, r"\left(h^{y}_{B}\right)^{2}"),
    "an overlap": (lambda s: s.B.dot(s.w[1]), r"Q_{w_{2} B}"),
    "a size": (lambda s: sd.norm2(s.x) / 2, r"\frac{x \cdot x}{2}"),
    "a covariance": (lambda s: s.covariance(), r"C^{y}_{w_{2} B}"),
    "a trace": (lambda s: s.law.trace("y"), r"\bar\rho_{y}"),
    "scalars": (lambda s: s.eta * s.u[0], r"\eta u_{1}"),
    "a latent": (lambda s: s.c, "c"),
    "an average": (lambda s: Average(s.B @ s.x), r"\left\langle h^{x}_{B} \right\rangle"),
    "its square": (lambda s: Average(s.c) ** 2, r"\left\langle c \right\rangle^{2}"),
    "a closed mean": (
        lambda s: sp.Function("mean_3")(s.covariance(), s.u[1]) ** 2,
        r"I_{3}^{2}\left(C^{y}_{w_{2} B}, u_{2}\right)",
    ),
    "a mean by quadrature": (lambda s: sp.Function("joint_12")(s.eta), r"J_{12}\left(\eta\right)"),
    "a function of SymPy": (lambda s: sp.log(s.u[1]), r"\ln{\left(u_{2} \right)}"),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_is_printed_in_the_letters_of_the_field(name: str) -> None:
    written = Written()
    make, wanted = EXPRESSIONS[name]
    assert written.letters.doprint(make(written)) == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("w", "w"),
        ("w1", "w_{1}"),
        ("w12", "w_{12}"),
        ("eta", r"\eta"),
        ("alpha2", r"\alpha_{2}"),
        ("enc_1", r"\operatorname{enc}_{1}"),
        ("hidden", r"\operatorname{hidden}"),
        ("hidden3", r"\operatorname{hidden}_{3}"),
        ("a_b_c", r"\operatorname{a\_b\_c}"),
        ("w_1x", r"\operatorname{w\_1x}"),
        ("weight_decay", r"\kappa"),
        ("update_noise2", r"\sigma_{J,2}"),
        # eta is another parameter of that system, c a latent
        ("learning_rate", r"\operatorname{learning\_rate}"),
        ("batch_ratio", r"\operatorname{batch\_ratio}"),
    ],
)
def test_names_are_letters_with_indices_or_words(name: str, wanted: str) -> None:
    assert Written().letters.name(name) == wanted


def test_a_problem_prints_its_rates_as_letters() -> None:
    problem = sd.Problem("linear", students=1, teachers=1, learning_rate=0.3, weight_decay=0.1)
    text = problem.system.equations.to_text()
    assert "J₁ at the rate η." in text
    assert "- κ J₁/√N" in text
    assert "learning_rate" not in text
    assert "weight_decay" not in text


VECTORS: dict[str, tuple[Callable[[Written], Any], str]] = {
    "an input": (lambda s: s.x, "x"),
    "nothing": (lambda s: 0 * s.x, "0"),
    "a difference": (lambda s: s.x - s.eta * s.B, r"x - \eta \frac{B}{\sqrt N}"),
    "minus": (lambda s: -s.x - s.B, r"- x - \frac{B}{\sqrt N}"),
    "a number": (lambda s: 2 * s.enc, r"2 \frac{\operatorname{enc}_{1}}{\sqrt N}"),
    "a sum as a factor": (
        lambda s: (s.eta - s.u[0]) * s.x + s.w[1],
        r"\left(\eta - u_{1}\right) x + \frac{w_{2}}{\sqrt N}",
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_slow_vectors_stand_over_the_root_of_n(name: str) -> None:
    written = Written()
    make, wanted = VECTORS[name]
    assert written.letters.vector(make(written)) == wanted


@pytest.mark.parametrize(("length", "wanted"), [(None, "h_{w}"), (2, "h^{x_{2}}_{w}")])
def test_fields_name_their_input_where_there_are_several(length: int | None, wanted: str) -> None:
    P = sd.System()
    x, w = P.inputs("x", length=length), P.vectors("w")
    field = w @ (x if length is None else x[1])
    assert Letters(FieldLaw(P.statement)).doprint(field) == wanted
