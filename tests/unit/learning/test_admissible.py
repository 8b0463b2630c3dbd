"""Activations without dynamics in doubles are refused at once, their nearest neighbours are not."""

import sys

import pytest
import sympy as sp
from symderiv_codegen import PrinterError
from symderiv_codegen.printers.numba import NumbaExpressions

from symderiv import Problem, generate
from symderiv.formula import activation
from symderiv.foundation.errors import FormulaError, InputError, NotYetError
from symderiv.learning.rule.admissible import check_for_modules, check_real, check_real_loss
from symderiv.learning.rule.loss import loss


@pytest.mark.parametrize(
    ("complex_", "real"),
    [
        ("x**x", "x**2"),
        ("x**pi", "Abs(x)**pi"),
        ("log(1+x)", "log(1+exp(x))"),
        ("sqrt(100-x**2)", "sqrt(100+x**2)"),
        ("tanh(x)**(1/3)", "Abs(tanh(x))**(1/3)"),
        ("1/log(x)", "1/log(2+x**2)"),
        ("log(sin(x))", "log(2+sin(x))"),
    ],
)
def test_activations_that_are_complex_somewhere_are_refused(complex_: str, real: str) -> None:
    with pytest.raises(FormulaError, match="not real at x"):
        check_real(activation(complex_), "activation")
    check_real(activation(real), "activation")


@pytest.mark.parametrize(
    ("complex_", "real"),
    [
        ("log(s)", "log(1 + s**2)"),
        ("(s - t)**2.5", "Abs(s - t)**2.5"),
        ("s + sqrt(t - s)", "s + sqrt(1 + (t - s)**2)"),
        ("log(1 - s*t)", "Max(0, 1 - s*t)**1.5"),
        ("s*log(t + 41)", "s*log(t + 42)"),
    ],
)
def test_losses_that_are_complex_somewhere_are_refused(complex_: str, real: str) -> None:
    with pytest.raises(FormulaError, match=r"^loss: .* is not real at s = \S+, t = \S+; a loss"):
        check_real_loss(loss(complex_))
    check_real_loss(loss(real))
    with pytest.raises(FormulaError, match="is not real"):
        Problem("erf", students=1, teachers=1, loss=complex_).rates(Q=[[1]], R=[[0]], T=[[1]])


@pytest.mark.parametrize(
    "numerator", [-16 * 48 + 5, -11, 5, 16 * 47 + 5, 37 * 9 * 16, -37 * 9 * 16]
)
def test_values_are_looked_at_eight_times_per_unit_up_to_six_and_some_further(
    numerator: int,
) -> None:
    place = sp.Rational(numerator, 128)
    with pytest.raises(FormulaError, match=f"at x = {float(place):g};"):
        check_real(activation(f"sqrt((x-({place}))**2-1/1000000)"), "activation")


def test_complex_values_are_told_from_rounding() -> None:
    """By a part in a million: the imaginary part is 6.45 a at the farthest x, -41.6."""
    check_real(activation("x + 1.5e-7*sqrt(x)"), "activation")
    check_real(activation("1.5e-7*sqrt(x)"), "activation")
    with pytest.raises(FormulaError, match="not real"):
        check_real(activation("1.6e-7*sqrt(x)"), "activation")
    # of large numbers: cosh(log(x)) is real for x < 0, and its imaginary part is rounding
    check_real(activation("1e12*cosh(log(x))"), "activation")


def test_steps_count_with_their_height() -> None:
    check_for_modules(activation("99999*Heaviside(x)"), activation("erf"))
    with pytest.raises(FormulaError, match="are made for"):
        check_for_modules(activation("100100*Heaviside(x)"), activation("erf"))
    with pytest.raises(FormulaError, match="are made for"):
        check_for_modules(activation("0.0009*Heaviside(x)"), activation("erf"))
    check_for_modules(activation("0.00101*Heaviside(x)"), activation("erf"))


@pytest.mark.parametrize(
    ("extreme", "plain"),
    [
        ("1e-320", "1e-2"),
        ("erf(x) + 1e-200", "erf(x) + 1e-50"),
        ("x*exp(-1000)", "x*exp(-3)"),
        ("exp(x-1000)", "exp(x-1)"),
        ("x*1e200", "x*1e4"),
        ("(1e-50*x)**6", "(x/2)**6"),
        ("cosh(6*x)", "exp(x**3)"),
        ("exp(-exp(exp(exp(5+x))))", "exp(-exp(exp(x)))"),
        ("x*" + "9" * 400, "x*0." + "9" * 400),
    ],
)
def test_constants_that_no_product_of_doubles_holds_are_refused(extreme: str, plain: str) -> None:
    with pytest.raises(FormulaError, match=r"between|are made for"):
        check_for_modules(activation(extreme), activation("erf"))
    check_for_modules(activation(plain), activation("erf"))


def test_powers_without_known_means_are_refused() -> None:
    for text in ("x**7", "Abs(x)**x", "(1+x**2)**x", "x**4*Max(0,x)**3"):
        with pytest.raises(NotYetError):
            check_for_modules(activation(text), activation("erf"))
    for text in ("x**6", "2**x", "x**3*erf(x)**5", "exp(-x**8)"):
        check_for_modules(activation(text), activation("erf"))


def test_the_argument_with_the_activation_is_named() -> None:
    with pytest.raises(InputError) as found:
        generate("linear", "g", teacher_activation="1e-320", output=None)
    assert found.value.argument == "teacher_activation"
    with pytest.raises(InputError) as found:
        generate("x**x", "g", output=None)
    assert found.value.argument == "activation"


def test_numbers_in_modules_are_doubles_or_refused() -> None:
    printer = NumbaExpressions()
    for value in (sp.Rational(10**400 + 1, 3 * 10**400), sp.Rational(1, 7), sp.Integer(10) ** 300):
        number = eval(printer.text(value))  # text printed here
        assert abs(number - float(value)) <= 2 * sys.float_info.epsilon * number
    for value in (sp.Integer(10) ** 320, sp.Rational(1, 10**320), sp.Rational(1, 10**400)):
        with pytest.raises(PrinterError, match="outside the range"):
            printer.text(value)
