"""Programs of other fields of mathematics, without any extension or with one of their own."""

import ast
from dataclasses import replace
from types import MappingProxyType

import mpmath
import numpy as np
import pytest
import sympy as sp
from symderiv_codegen import (
    Array,
    Assignment,
    Extension,
    Library,
    NamePool,
    Procedure,
    Program,
    ProgramError,
    Restated,
    ScalarFunction,
    Vector,
    print_latex,
    print_mpmath,
    print_readable,
)
from unit.codegen.support import as_multiprecision, as_plain_python, one_function

N = sp.Symbol("N", integer=True, positive=True)
I, J, P, S = (sp.Idx(name, N) for name in "ijps")
U, D = sp.IndexedBase("u"), sp.IndexedBase("second_difference")
LINEAR, PRODUCTS = sp.IndexedBase("linear"), sp.IndexedBase("products")


def flow(
    name: str, title: str, state: Array, parameters: tuple[Array, ...], rate: sp.Expr
) -> Program:
    """u' = rate, per place of the state."""
    output = Array(f"d_{state.name}", state.shape)
    places = (I, J)[: len(state.shape)]
    body = Assignment(sp.IndexedBase(output.name)[places], rate)
    rates = Procedure("right_hand_side", "Rates.", (state, *parameters), (output,), (), (body,))
    return Program(
        name,
        title,
        {},
        (f"u' = {rate}",),
        ("N",),
        (),
        (rates,),
        state=Vector("state", (state,)),
        parameters=Vector("parameters", parameters),
        small=("N",),
    )


def heat() -> Program:
    """du/dt = κ Δu on a square of N x N places, Δ by one matrix of second differences."""
    laplacian = sp.Sum(D[I, P] * U[P, J] + D[J, P] * U[I, P], P)
    state = Array("u", ("N", "N"), "temperature")
    parameters = Array("second_difference", ("N", "N")), Array("conductivity")
    rate = sp.Symbol("conductivity") * laplacian
    return flow("heat", "Heat on a square", state, parameters, rate)


def lorenz() -> Program:
    """Lorenz's equations as what they are: linear terms and products of two unknowns."""
    value = sp.Sum(LINEAR[I, J] * U[J], J) + sp.Sum(PRODUCTS[I, P, S] * U[P] * U[S], P, S)
    parameters = Array("linear", ("N", "N")), Array("products", ("N", "N", "N"))
    return flow("lorenz", "Lorenz's equations", Array("u", ("N",)), parameters, value)


def rates_of(program: Program, state: np.ndarray, *parameters: np.ndarray | float) -> np.ndarray:
    """What the flat right-hand side of the readable module gives, packed as it says."""
    module = as_plain_python(print_readable(program))
    assert list(module["LAYOUT"]["state"]) == [array.name for array in program.state.fields]
    derivative = np.full(state.size, np.nan)
    packed = np.concatenate([np.ravel(each) for each in parameters])
    module["flat_right_hand_side"](
        0.0, state.ravel(), np.array([state.shape[0]]), packed, derivative
    )
    return derivative.reshape(state.shape)


def test_the_heat_equation_is_printed_without_an_extension() -> None:
    size = 5
    second = np.diag(np.full(size, -2.0)) + np.eye(size, k=1) + np.eye(size, k=-1)
    u = np.random.default_rng(1).normal(size=(size, size))
    expected = 0.3 * (second @ u + u @ second.T)
    assert rates_of(heat(), u, second, 0.3) == pytest.approx(expected, abs=1e-15)
    assert r"\sum_{p" in print_latex(heat())


def test_lorenz_is_printed_without_an_extension_also_for_many_digits() -> None:
    linear = np.array([[-10.0, 10.0, 0.0], [28.0, -1.0, 0.0], [0.0, 0.0, -8.0 / 3.0]])
    products = np.zeros((3, 3, 3))
    products[1, 0, 2], products[2, 0, 1] = -1.0, 1.0
    x, y, z = u = np.array([1.5, -2.25, 20.0])
    expected = [10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 * z / 3.0]
    assert rates_of(lorenz(), u, linear, products) == pytest.approx(expected, rel=1e-14)
    exact = [mpmath.mpf(0)] * 3
    module = as_multiprecision(print_mpmath(lorenz()))
    with mpmath.workdps(40):
        rows = [[mpmath.mpf(entry) for entry in row] for row in linear.tolist()]
        rows[2][2] = -mpmath.mpf(8) / 3
        module["right_hand_side"](
            mpmath.mp, list(map(mpmath.mpf, u)), rows, products.tolist(), exact
        )
        assert abs(exact[2] - (mpmath.mpf(x) * y - mpmath.mpf(8) * z / 3)) < 1e-37


@pytest.mark.parametrize("local", [False, True])
def test_the_flat_observables_leave_loops_to_the_compiled_function(local: bool) -> None:
    """Half the square of the state; loops in plain Python would take far longer."""
    square, through = sp.Symbol("square", real=True), sp.IndexedBase("through")
    kept = (Array("through", ("N",)),) if local else ()
    factor = through if local else U
    body = [Assignment(square, sp.Sum(U[J] * factor[J], J) / 2)]
    if local:
        body.insert(0, Assignment(through[I], U[I]))
    observables = Procedure(
        "observables", "A square.", (Array("u", ("N",)),), (Array("square", ()),), kept, tuple(body)
    )
    program = replace(lorenz(), procedures=(*lorenz().procedures, observables))
    text = print_readable(program)
    value = as_plain_python(text)["flat_observables"]
    assert value(np.array([1.0, -2.0, 3.0]), np.array([3]), np.zeros(36)) == 7.0
    found = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    loops = {
        name: any(isinstance(inner, ast.For) for inner in ast.walk(node))
        for name, node in found.items()
    }
    assert loops["observables"]
    assert not loops["flat_observables"]


# --- an extension of one's own ----------------------------------------------------------------

HAVERSINE = '''
def _half_chord(x):
    """Half of the chord of an arc."""
    return math.sin(0.5 * x)


def haversine(x):
    """(1 - cos x)/2 without loss of digits."""
    return _half_chord(x) ** 2
'''
PLAINLY = '''
def haversine(x):
    """(1 - cos x)/2 as it is defined."""
    return 0.5 - 0.5 * math.cos(x)
'''
MANY_DIGITS = '''
def haversine_mpmath(mp, x):
    """(1 - cos x)/2."""
    return mp.sin(x / 2) ** 2
'''
X = sp.Symbol("x", real=True)
Haversine = type("Haversine", (sp.Function,), {})


def stated_by_haversines(function: ScalarFunction, names: NamePool) -> Restated:
    """1 - cos(x), which loses all digits near 0, as twice the haversine."""
    target = sp.Symbol(names.take("haversine_of_x"), real=True)
    changed = ScalarFunction(
        function.name,
        (*function.arguments, target),
        (),
        function.value.xreplace({sp.cos(X): 1 - 2 * target}),
        function.doc,
    )
    return Restated(changed, (target,), Haversine(X))


NAVIGATION = Extension(
    "functions of navigation",
    doubles=Library(MappingProxyType({"Haversine": "haversine"}), (HAVERSINE,), PLAINLY),
    multiprecision=Library(MappingProxyType({"Haversine": "haversine_mpmath"}), (MANY_DIGITS,)),
    restated=stated_by_haversines,
)


def test_an_extension_brings_functions_and_the_form_that_keeps_digits() -> None:
    program = one_function(1 - sp.cos(X), X, extension=NAVIGATION)
    text = print_readable(program)
    module = as_plain_python(text)
    assert "haversine_of_x = haversine(x)" in text
    assert "as it is defined" in text
    assert "_half_chord" not in text
    assert module["f"](0.25) == pytest.approx(1 - np.cos(0.25), rel=1e-14)
    exact = as_multiprecision(print_mpmath(one_function(Haversine(X), X, extension=NAVIGATION)))
    with mpmath.workdps(30):
        x = mpmath.mpf("1e-12")
        assert abs(exact["f"](mpmath.mp, x) / (x**2 / 4) - 1) < 1e-23


def test_names_of_an_extension_are_taken() -> None:
    function = ScalarFunction("haversine", (X,), (), X, "f.")
    with pytest.raises(ProgramError, match="'haversine' is a function of functions of navigation"):
        Program("one", "One.", {}, (), (), (function,), (), extension=NAVIGATION)


def test_what_evaluates_a_program_is_no_part_of_what_it_says() -> None:
    bare, extended = (one_function(X**2, X, extension=e) for e in (Extension("none"), NAVIGATION))
    digest = [
        next(line for line in print_readable(each).splitlines() if "program  " in line)
        for each in (bare, extended)
    ]
    assert digest[0] == digest[1]
