"""Sums over constant tables: loops with everything hoisted give the sum as it is written."""

import itertools
import math

import pytest
import sympy as sp
from support.plain_module import plain_module
from symderiv_codegen import (
    PrinterError,
    Program,
    ProgramError,
    Row,
    TableSum,
    TableTerm,
    print_latex,
    print_mpmath,
    print_numba,
)
from symderiv_codegen.printers.numba import NumbaModule

c, d = sp.symbols("c d", positive=True)
WEIGHT, SCALE = (0.25, 0.5, 1.5), (1.0, 2.0, 0.125)


def entries(number: int) -> tuple[sp.Symbol, sp.Symbol]:
    return sp.Symbol(f"w{number}", real=True), sp.Symbol(f"a{number}", positive=True)


def row(number: int) -> Row:
    w, a = entries(number)
    return Row("TERMS", ((w, "WEIGHT"), (a, "SCALE")))


def program(function: TableSum) -> Program:
    constants = {"TERMS": 3, "WEIGHT": WEIGHT, "SCALE": SCALE}
    return Program("tables", "Tables", {}, (), (), (function,), (), constants=constants)


def fourfold() -> TableSum:
    (w1, a1), (w2, a2), (w3, a3), (w4, a4) = (entries(n) for n in (1, 2, 3, 4))
    s, t = sp.symbols("s t", real=True)
    definitions = (
        (s, 1 + a1**2 * c + a2**2 * d),
        (t, a3 * a4 * c - a1**2 * a3 * a4 * c * d / s),
    )
    value = w1 * w2 * w3 * w4 * a1 * sp.atan(t / sp.sqrt(s + a3**2 + a1 * a4)) / sp.sqrt(s)
    value *= 1 + a2 * a3
    plain = TableTerm((), (), c / d)
    nested = TableTerm(tuple(row(n) for n in (1, 2, 3, 4)), definitions, value)
    return TableSum("total_of", (c, d), (nested, plain), "A sum.")


def test_the_loops_give_the_sum() -> None:
    module = plain_module(print_numba(program(fourfold())))
    c0, d0 = 0.7, 1.9
    expected = c0 / d0
    for (w1, a1), (w2, a2), (w3, a3), (w4, a4) in itertools.product(
        zip(WEIGHT, SCALE, strict=True), repeat=4
    ):
        s = 1 + a1**2 * c0 + a2**2 * d0
        t = a3 * a4 * c0 - a1**2 * a3 * a4 * c0 * d0 / s
        angle = math.atan(t / math.sqrt(s + a3**2 + a1 * a4))
        expected += w1 * w2 * w3 * w4 * a1 * angle / math.sqrt(s) * (1 + a2 * a3)
    assert module.total_of(c0, d0) == pytest.approx(expected, rel=1e-14)


class PairedModule(NumbaModule):
    pairs_rows = True


def exchangeable_rows(
    *equal: tuple[tuple[sp.Symbol, sp.Symbol], ...], swapped: tuple[int, int] = (1, 2)
) -> TableSum:
    """A sum that is the same with two rows exchanged where c is d, whatever the others are."""
    (w1, a1), (w2, a2), (w3, a3), (w4, a4) = (entries(n) for n in (1, 2, 3, 4))
    first, second = (entries(n)[1] for n in swapped)
    others = sp.Mul(a1, a2, a3, a4) / (first * second)
    angle = sp.asin(others / (8 + first * c + second * d) / sp.sqrt(1 + first * second * others))
    value = w1 * w2 * w3 * w4 * angle * (1 + a1 * a2) / sp.sqrt(1 + a3 * a4)
    rows = tuple(row(n) for n in (1, 2, 3, 4))
    term = TableTerm(rows, (), value, exchangeable=equal)
    return TableSum("total_of", (c, d), (term,), "A sum.")


def expected_with(swapped: tuple[int, int], c0: float, d0: float) -> float:
    total = 0.0
    for rows in itertools.product(zip(WEIGHT, SCALE, strict=True), repeat=4):
        a = [scale for _, scale in rows]
        first, second = (a[n - 1] for n in swapped)
        others = math.prod(a) / (first * second)
        sine = others / (8 + first * c0 + second * d0) / math.sqrt(1 + math.prod(a))
        factor = (1 + a[0] * a[1]) / math.sqrt(1 + a[2] * a[3])
        total += math.prod(weight for weight, _ in rows) * math.asin(sine) * factor
    return total


@pytest.mark.parametrize(
    ("equal", "swapped", "loop"),
    [
        ((((c, d),),), (1, 2), "for k2 in range(k1 * same, TERMS)"),
        (((), ((c, d),)), (3, 4), "for k4 in range(k3 * same, TERMS)"),
        ((), (1, 2), "for k2 in range(TERMS)"),
    ],
)
def test_exchanged_rows_are_computed_once_where_arguments_are_equal(equal, swapped, loop) -> None:
    text = PairedModule(program(exchangeable_rows(*equal, swapped=swapped))).module()
    assert loop in text
    # over the list of pairs, whose arcsines are taken together
    assert "_arcsines(arcsines, count)" in text
    paired = plain_module(text)
    for c0, d0 in ((0.7, 0.7), (0.7, 1.9), (1.9, 0.7)):
        expected = expected_with(swapped, c0, d0)
        assert paired.total_of(c0, d0) == pytest.approx(expected, rel=1e-14)


def test_numbers_and_names_are_checked() -> None:
    w1, _ = entries(1)
    with pytest.raises(ProgramError, match="floating-point"):
        TableSum("f", (c,), (TableTerm((row(1),), (), w1 * 0.5),), "")
    with pytest.raises(ProgramError, match="undeclared symbol 'd'"):
        TableSum("f", (c,), (TableTerm((row(1),), (), w1 * d),), "")


@pytest.mark.parametrize("printer", [print_mpmath, print_latex])
def test_printers_of_exact_text_refuse_tables_of_doubles(printer) -> None:
    with pytest.raises(PrinterError, match="'total_of' is a sum over tables"):
        printer(program(fourfold()))


@pytest.mark.parametrize("guarded", [False, True])
def test_arcsines_of_the_two_innermost_sums_are_taken_together(guarded: bool) -> None:
    (w1, a1), (w2, a2), (w3, a3) = (entries(n) for n in (1, 2, 3))
    root = sp.sqrt((1 + a2**2 * c / a1) * (1 + a3**2 * d))
    value = w1 * w2 * w3 * a1 * sp.asin(a2 * a3 / (4 * root)) / (1 + a3)
    term = TableTerm((row(1), row(2), row(3)), (), value)
    text = print_numba(program(TableSum("f", (c, d), (term,), "A sum.", guarded=guarded)))
    # What is clipped at the edge of its domain stays with the function that clips.
    assert ("_arcsines(arcsines, count)" in text) != guarded
    module = plain_module(text)
    c0, d0 = 0.7, 1.9
    expected = 0.0
    for (v1, b1), (v2, b2), (v3, b3) in itertools.product(
        zip(WEIGHT, SCALE, strict=True), repeat=3
    ):
        root_0 = math.sqrt((1 + b2**2 * c0 / b1) * (1 + b3**2 * d0))
        expected += v1 * v2 * v3 * b1 * math.asin(b2 * b3 / (4 * root_0)) / (1 + b3)
    assert module.f(c0, d0) == pytest.approx(expected, rel=1e-14)
