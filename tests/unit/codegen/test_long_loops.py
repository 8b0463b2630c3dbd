"""Loops over a long range: the same numbers as matrix products, however the loops are cut."""

import numpy as np
import pytest
import sympy as sp
from symderiv_codegen import Array, Assignment, Procedure, Program, Vector, print_fast

from symderiv.compiled_code.translated_functions import TranslatedModule

K, M, L = sp.symbols("K M L", integer=True, positive=True)
i, j, p = (sp.Idx(name, K) for name in "ijp")
n, m = (sp.Idx(name, M) for name in "nm")
k = sp.Idx("k", L)
X, Y, Z, A, B, G, rho = map(sp.IndexedBase, ["X", "Y", "Z", "A", "B", "G", "rho"])
rate, decay, kick = sp.symbols("rate decay kick", real=True)

STATE = (Array("X", ("K", "K", "L"), symmetric=True), Array("Y", ("K", "M", "L")))
CONSTANTS = (
    Array("Z", ("M", "M", "L"), symmetric=True),
    Array("A", ("K", "K")),
    Array("B", ("K", "M")),
    Array("G", ("K", "K"), symmetric=True),
    Array("rho", ("L",)),
    *(Array(name) for name in ("rate", "decay", "kick")),
)


def program() -> Program:
    """Linear in X and Y, with a coefficient matrix A that is not symmetric."""

    def half(i: sp.Idx, j: sp.Idx) -> sp.Expr:
        product = sp.Sum(A[i, p] * X[j, p, k], p)
        return -rate * rho[k] * product - rate * sp.Sum(B[i, m] * Y[j, m, k], m)

    d_x = half(i, j) + half(j, i) + rate**2 * G[i, j] * rho[k] - 2 * decay * X[i, j, k]
    d_y = 3 * rho[k] * sp.Sum(A[i, p] * Y[p, n, k], p) - sp.Sum(B[i, m] * Z[n, m, k], m)
    d_y += rate * Y[i, n, k] + kick * rho[k] - decay * Y[i, n, k]
    derivatives = tuple(Array(f"d_{a.name}", a.shape, "", a.symmetric) for a in STATE)
    body = (
        Assignment(sp.IndexedBase("d_X")[i, j, k], d_x, symmetric=True),
        Assignment(sp.IndexedBase("d_Y")[i, n, k], d_y),
    )
    rhs = Procedure("right_hand_side", "Rates.", (*STATE, *CONSTANTS), derivatives, (), body)
    return Program(
        "long",
        "Two long loops.",
        {},
        (),
        ("K", "M", "L"),
        (),
        (rhs,),
        state=Vector("state", STATE),
        parameters=Vector("parameters", CONSTANTS),
        small=("K", "M"),
        mostly_zero=("decay", "kick"),
    )


@pytest.fixture(scope="module")
def text() -> str:
    return print_fast(program())


# one row of units and one mode; all at once; two parts, of which the second goes beyond the last
# unit; three such parts for groups of three rows of five, the second of which begins inside of the
# first, in blocks of four of eleven modes
FEW = (("56 //", "14 //"), ("// 10", "// 3"), ("np.uint64(1024)", "np.uint64(4)"))
CUTS = {
    "one": ((1, 3, 1), ()),
    "whole": ((3, 2, 5), ()),
    "parts": ((9, 2, 13), ()),
    "everything": ((5, 4, 11), FEW),
}


@pytest.mark.turns(6)
@pytest.mark.parametrize("cut", CUTS)
def test_long_loops_agree_with_matrix_products(text: str, cut: str) -> None:
    (units, teachers, modes), changes = CUTS[cut]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    module = TranslatedModule(text)
    rhs = module.specialised(units, teachers)
    assert rhs is not None, module.untranslated
    random = np.random.default_rng(5)
    sizes = {"K": units, "M": teachers, "L": modes}
    values = {
        array.name: random.normal(size=[sizes[size] for size in array.shape])
        for array in (*STATE, *CONSTANTS)
    }
    for name in ("X", "Z", "G"):
        values[name] = values[name] + np.swapaxes(values[name], 0, 1)
    for decay, kick in ((0.0, 0.0), (0.3, 0.0), (0.0, -0.2)):
        v = {**values, "decay": np.array(decay), "kick": np.array(kick)}
        half = -v["rate"] * (
            v["rho"] * np.einsum("ip,jpk->ijk", v["A"], v["X"])
            + np.einsum("im,jmk->ijk", v["B"], v["Y"])
        )
        d_x = half + np.swapaxes(half, 0, 1) - 2 * decay * v["X"]
        d_x += v["rate"] ** 2 * v["G"][:, :, None] * v["rho"]
        d_y = 3 * v["rho"] * np.einsum("ip,pnk->ink", v["A"], v["Y"]) + kick * v["rho"]
        d_y -= np.einsum("im,nmk->ink", v["B"], v["Z"]) + (decay - v["rate"]) * v["Y"]
        expected = np.concatenate([d_x.ravel(), d_y.ravel()])
        state = np.concatenate([v[a.name].ravel() for a in STATE])
        parameters = np.concatenate([v[a.name].ravel() for a in CONSTANTS])
        found = np.full(state.size, np.nan)
        rhs(0.0, state, np.array([units, teachers, modes]), parameters, found)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
