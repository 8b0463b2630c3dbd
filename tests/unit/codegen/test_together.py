"""Tables of inner sums and functions evaluated together: same values, fewer evaluations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
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
S, H, v, u, F, G, W, B = (sp.IndexedBase(name) for name in "SHvuFGWB")

INPUTS = (
    Array("S", ("K", "K"), symmetric=True),
    Array("H", ("K", "M")),
    Array("v", ("K",)),
    Array("u", ("M",)),
)
OUTPUTS = (
    *(Array(name, ("K", "K"), symmetric=True) for name in "FG"),
    Array("W", ("K",)),
    Array("B", ("K", "M")),
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


def agrees(assignments: tuple[Assignment, ...], units: int, teachers: int) -> str:
    """The text of loops that give every array what its assignment says."""
    arrays = [next(a for a in OUTPUTS if a.name == str(one.target.base)) for one in assignments]
    text, function = fast_text(*assignments, outputs=tuple(arrays))
    given = data(units, teachers)
    sizes = {"K": units, "M": teachers}
    found = [np.full([sizes[size] for size in array.shape], np.nan) for array in arrays]
    with np.errstate(invalid="ignore"):
        function(*given.values(), *found, units, teachers)
    for one, values in zip(assignments, found, strict=True):
        expected = by_definition(one.value, one.target.indices, **sizes, **given)
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-15)
    return text


def text_of(value: sp.Expr, units: int, teachers: int = 1, *, symmetric: bool = False) -> str:
    """The same of a single array with two indices."""
    return agrees((Assignment(F[i, j], value, symmetric=symmetric),), units, teachers)


def test_an_argument_that_needs_a_sum_is_not_asked_for_before_the_sum() -> None:
    mean = total(v[q] * S[i, q], q) / 20
    value = total(total(sp.asin(H[p, m] * mean + S[i, j]) * u[m], m) * v[p], p)
    assert "_arcsines" not in text_of(value, 3, 4)


def test_loops_side_by_side_share_a_table_and_inverse_roots_of_all_ranges_one_array() -> None:
    def base(index: sp.Idx) -> sp.Expr:
        return 1 + S[index, index] * S[i, index] ** 2

    def other(index: sp.Idx) -> sp.Expr:
        return 2 + u[index] ** 2 * S[i, i]

    value = total(v[p] / sp.sqrt(base(p)), p)
    value += total(u[m] / other(m) + u[m] / sp.sqrt(other(m)), m)
    body = (
        Assignment(W[i], value),
        Assignment(G[i, j], base(j) ** (-sp.Rational(3, 2)) - 1 / sp.sqrt(base(j))),
        Assignment(B[i, n], 1 / sp.sqrt(other(n))),
    )
    text = agrees(body, 3, 2)
    assert text.count("to_inverse_roots(inverse_roots, K + M)") == 1
    assert "inverse_roots_element = inverse_roots[K + m]\n" in text
    assert "inverse_roots_element * inverse_roots_element" in text
    assert "inverse_roots_j = inverse_roots[j]\n" in text
    assert text.count("inverse_roots_j") == 5
    assert "math.sqrt" not in text
