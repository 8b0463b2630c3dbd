"""Tables of inner sums and functions evaluated together: same values, fewer evaluations."""

import math
from typing import Any

import numpy as np
import pytest
import sympy as sp
from symderiv_codegen import Array, Assignment, Procedure, Program
from symderiv_codegen.passes.inline import with_inner_locals
from symderiv_codegen.passes.lower import inlined_nests
from symderiv_codegen.printers import elementary
from symderiv_codegen.printers.numba import NumbaModule
from unit.codegen.support import by_definition

K, M = sp.symbols("K M", integer=True, positive=True)
i, j, p, q = (sp.Idx(name, K) for name in "ijpq")
m, n = (sp.Idx(name, M) for name in "mn")
S, H, v, u, F = (sp.IndexedBase(name) for name in "SHvuF")

INPUTS = (
    Array("S", ("K", "K"), symmetric=True),
    Array("H", ("K", "M")),
    Array("v", ("K",)),
    Array("u", ("M",)),
)


def total(value: sp.Expr, *indices: sp.Idx) -> sp.Expr:
    """A sum over indices, the outermost first."""
    limits = [(index, 0, (K if index in (i, j, p, q) else M) - 1) for index in indices]
    return sp.Sum(value, *reversed(limits))


def roots(values: np.ndarray, count: int) -> None:
    """What the vector instructions of a module do."""
    values[:count] = 1 / np.sqrt(values[:count])


def fast_text(*body: Assignment, outputs: tuple[Array, ...]) -> tuple[str, Any]:
    """The loops as they are printed for known sizes, and the same loops as a Python function."""
    procedure = Procedure("f", "f.", INPUTS, outputs, (), body)
    program = Program("one", "One.", {}, (), ("K", "M"), (), (procedure,), small=("K", "M"))
    body = inlined_nests(with_inner_locals(procedure, program), program)
    nodes, arrays = body.nodes, body.arrays
    text = "\n".join(NumbaModule(program).body(nodes, 4))
    names = ", ".join(array.name for array in (*INPUTS, *outputs))
    room = [f"    {array.name} = np.full({array.shape[0]}, np.nan)\n" for array in arrays]
    scope = {"np": np, "math": math, "_arcsines": elementary._arcsines, "to_inverse_roots": roots}
    exec(f"def f({names}, K, M):\n{''.join(room)}{text}\n", scope)
    return text, scope["f"]


def data(units: int, teachers: int) -> dict[str, Any]:
    rng = np.random.default_rng(units + 7 * teachers)
    fields = rng.normal(size=(units, 9)) / 6
    return {
        "S": fields @ fields.T,
        "H": rng.uniform(-0.4, 0.4, (units, teachers)),
        "v": rng.normal(size=units),
        "u": rng.normal(size=teachers),
    }


def text_of(value: sp.Expr, units: int, teachers: int, symmetric: bool) -> str:
    """The text of loops that give an array with two indices what its definition says."""
    output = Array("F", ("K", "K"), symmetric=True)
    text, function = fast_text(Assignment(F[i, j], value, symmetric=symmetric), outputs=(output,))
    given, found = data(units, teachers), np.full((units, units), np.nan)
    with np.errstate(invalid="ignore"):
        function(*given.values(), found, units, teachers)
    expected = by_definition(value, (i, j), K=units, M=teachers, **given)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    return text


def root(index: sp.Idx) -> sp.Expr:
    return 1 / sp.sqrt(1 + S[index, index] - S[i, index] * S[j, index])


ROOT, INNER = 1 / sp.sqrt(1 + S[q, q] * S[i, j]), total(v[q] * S[i, q], q)
TURNED = "_arcsines(arcsines, count)"
#: A sum, the numbers of students and teachers, and what its text has and has not.
SUMS: dict[str, tuple[sp.Expr, tuple[int, int], tuple[str, ...], tuple[str, ...]]] = {
    "arguments of a double sum are written down and evaluated at once": (
        total(v[p] * v[q] * sp.asin(S[i, p] * S[j, q] + S[p, q] * S[i, j]), p, q)
        + total(v[p] * u[m] * sp.asin(S[i, j] * H[p, m]), p, m),
        *((2, 5), (TURNED,), ("math.asin",)),
    ),
    "several calls of one summand lie side by side": (
        total(sp.asin(S[i, p] * v[q] / 4) * sp.asin(S[j, q] * v[p] / 4), p, q),
        *((3, 1), ("count += 2",), ()),
    ),
    "few evaluations are left to the library": (
        total(v[p] * sp.asin(S[i, p] * S[j, p]), p),
        *((3, 1), ("math.asin",), ("_arcsines",)),
    ),
    "an argument that needs a sum is not asked for before it": (
        total(
            total(sp.asin(H[p, m] * total(v[q] * S[i, q], q) / 20 + S[i, j]) * u[m], m) * v[p], p
        ),
        *((3, 4), (), ("_arcsines",)),
    ),
    "an argument that needs another value is not asked for before it": (
        total(v[p] * v[q] * sp.asin(S[p, q] * sp.asin(S[i, p] * S[j, q])), p, q),
        *((3, 1), (), ()),
    ),
    "what other sums give between the double sums is waited for": (
        total(v[p] * v[q] * sp.asin(S[i, p] * S[j, q]), p, q)
        + total(v[p] * u[m] * sp.asin(H[p, m] / (1 + INNER**2)), p, m),
        *((3, 2), (), ()),
    ),
    "what changes with the outer sum is not tabulated": (
        total(v[p] * v[q] / (2 + S[p, q] * S[i, j]), p, q),
        *((3, 1), (), ("each_",)),
    ),
    "a table that needs inverse roots is filled behind them": (
        total(v[p] * S[p, q] * (ROOT + 1 / (3 + ROOT)), p, q),
        *((3, 1), ("to_inverse_roots(", "each_inverse[p] ="), ()),
    ),
    "only half of the pairs is written down": (
        total(v[p] * v[q] * sp.asin(S[p, q]) * S[i, j], p, q)
        + total(u[m] * u[n] * sp.asin(S[i, j] * u[m] * u[n] / 9), m, n),
        *((4, 3), ("for q in range(p + 1):", "for n in range(m + 1):"), ()),
    ),
    "an inner sum has one table for both of its indices": (
        total(v[p] * v[q] * sp.exp(S[p, q] * root(p) * root(q)), p, q),
        (9, 1),
        ("math.exp(S[p, q] * inverse_roots[p] * inverse_roots[q])",),
        ("math.sqrt",),
    ),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_have_their_values_and_take_few_evaluations(name: str) -> None:
    value, sizes, inside, absent = SUMS[name]
    text = text_of(value, *sizes, symmetric=name.startswith(("only", "an inner")))
    places = [text.index(each) for each in inside]
    assert places == sorted(places)
    assert not any(each in text for each in absent)
