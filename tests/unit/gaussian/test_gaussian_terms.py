"""Reading integrands into their normal form."""

import pytest
import sympy as sp

from symderiv.foundation.errors import DivergentError, InexactError, InputError, NotYetError
from symderiv.gaussian.terms.working_terms import TermReader, restricted, write_term

x, y, z = FIELDS = sp.symbols("x y z", real=True)
WAVES = sp.Add(*(sp.exp(k * x) for k in range(1, 150)))


def read(expression: sp.Expr) -> sp.Expr:
    """The normal form, written as an expression again."""
    terms = TermReader(FIELDS).read(expression)
    return sp.Add(*(write_term(key, value, FIELDS) for key, value in terms.items()))


def test_steps_and_signs_of_one_argument_reduce() -> None:
    step = read(sp.Heaviside(x))
    assert read(sp.Heaviside(x) * sp.Heaviside(2 * x)) == step
    assert read(sp.sign(x) * sp.sign(3 * x)) == 1
    assert read(sp.sign(-2 * x)) == -sp.sign(x)
    assert read(sp.Heaviside(x) * sp.sign(x)) == step
    assert read(sp.Heaviside(x) + sp.Heaviside(-x)) == 1


def test_absolute_values_and_extrema_become_signs() -> None:
    assert read(sp.Abs(x)) == x * sp.sign(x)
    assert read(sp.Abs(x * y)) == x * sp.sign(x) * y * sp.sign(y)
    assert sp.expand(read(sp.Max(x, 0)) - (x + x * sp.sign(x)) / 2) == 0
    assert sp.expand(read(sp.Max(x, y) + sp.Min(x, y)) - x - y) == 0


def test_signs_of_products_and_powers_are_those_of_their_factors() -> None:
    assert read(sp.sign(x * y)) == sp.sign(x) * sp.sign(y)
    assert read(sp.sign(x**3)) == sp.sign(x)
    assert read(sp.sign((x + y) ** 2)) == 1
    assert read(sp.sign(-(x**2) * y)) == -sp.sign(y)
    assert read(sp.sign(sp.exp(x - y))) == 1
    assert sp.expand(read(sp.erf(sp.Abs(x))) - sp.erf(x) * sp.sign(x)) == 0


def test_delta_functions_are_scaled() -> None:
    assert read(sp.DiracDelta(-2 * x)) == sp.DiracDelta(x) / 2
    assert read(sp.DiracDelta(-2 * x, 1)) == -sp.DiracDelta(x, 1) / 4


def test_oscillations_are_pairs_of_exponentials() -> None:
    expected = (sp.exp(sp.I * x) - sp.exp(-sp.I * x)) / (2 * sp.I)
    assert sp.expand(read(sp.sin(x)) - expected) == 0
    assert read(sp.sin(x) ** 2 + sp.cos(x) ** 2) == 1
    assert sp.expand(read(sp.cosh(x)) - (sp.exp(x) + sp.exp(-x)) / 2) == 0


def test_functions_of_absolute_values_are_read_piece_by_piece() -> None:
    halves = sp.exp(-x) * (1 + sp.sign(x)) / 2 + sp.exp(x) * (1 - sp.sign(x)) / 2
    assert sp.expand(read(sp.exp(-sp.Abs(x))) - halves) == 0
    assert sp.expand(read(sp.cos(sp.Abs(x))) - read(sp.cos(x))) == 0


def test_only_the_fields_that_matter_are_kept() -> None:
    used, terms = restricted(TermReader(FIELDS).read(z**2 * sp.sign(y) ** 2 + sp.exp(z)), FIELDS)
    assert used == [2]
    assert {key.powers for key in terms} == {(2,), (0,)}


@pytest.mark.parametrize(
    ("expression", "error", "words"),
    [
        (sp.tanh(x), NotYetError, "tanh"),
        (sp.cos(x**2), NotYetError, "cos"),
        (sp.exp(-(x**4)), NotYetError, "not built from"),
        (sp.exp(x**3), DivergentError, "grows faster"),
        (sp.exp(sp.exp(x)), DivergentError, "too fast"),
        (1 / x, DivergentError, "not integrable"),
        (sp.sin(x) / x**2, DivergentError, "not integrable"),
        (sp.tanh(y) / x, DivergentError, "not integrable"),
        (sp.sin(x) / x, NotYetError, "may have a mean"),
        (sp.sin(x) * sp.sin(y) / (x * y), NotYetError, "may have a mean"),
        (y * (1 / x - sp.cos(x) / x), NotYetError, "may have a mean"),
        (sp.Float("0.5") * x, InexactError, "float"),
        (sp.I * x, InputError, "real"),
        (WAVES * WAVES.subs(x, y), InputError, "too many terms"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(
    expression: sp.Expr, error: type[InputError], words: str
) -> None:
    with pytest.raises(error, match=words):
        read(expression)


def test_a_pole_that_is_an_error_can_be_told_under_another_name() -> None:
    with pytest.raises(DivergentError) as found:
        read(1 / x)
    assert found.value.renamed("EXPR").argument == "EXPR"
