"""States by name: shapes, vectors, what is refused."""

from typing import Any

import numpy as np
import pytest
import sympy as sp
from unit.system.statements import gram

import symderiv as sd
from symderiv.foundation.errors import InputError, NotClosed, ShapeError
from symderiv.system.named_states import Layout

SPECTRUM = {"eigenvalues": [2.0, 0.5], "weights": [0.25, 0.75]}


def _layout(spectral: bool = True) -> Layout:
    P = sd.System()
    inputs = sd.Spectrum(SPECTRUM["eigenvalues"], weights=SPECTRUM["weights"])
    x = P.inputs("x", inputs if spectral else None)
    w, v, B = P.vectors("w", 2), P.vectors("v"), P.vectors("B", 3, fixed=True)
    u, b, eta = P.scalars("u", 2), P.scalars("b"), P.parameter("eta", sp.Rational(1, 2))
    P.parameter("gain")
    f, h = w @ x, B @ x
    P.update({w: [h[0] * x, (h[1] + f[0]) * x], v: (h[2] + eta) * x - v / 2, u: [f[0] * h[0], b]})
    P.observe(size=v.dot(v) + w[0].dot(v))
    return P.solver.layout


def _state(classes: int) -> dict[str, Any]:
    random = np.random.default_rng(1)
    sizes = {"w": 2, "v": None, "B": 3}
    each = [gram(sizes, int(random.integers(100))) for _ in range(classes)]
    state = {name: np.array([one[name] for one in each]) for name in each[0]}
    return state | {"u": np.array([0.3, -0.7]), "b": 1.5}


@pytest.mark.parametrize("spectral", [True, False])
def test_what_is_packed_is_unpacked(spectral: bool) -> None:
    layout = _layout(spectral)
    state = _state(2 if spectral else 1)
    if not spectral:
        state = {k: v[0] if "." in k else v for k, v in state.items()}
    vector, parameters = layout.packed(state, {"eta": 0.25, "gain": 3})
    names = ["w.w", "w.v", "w.B", "v.v", "v.B", "B.B", "u", "b"]
    found = layout.unpacked(np.stack([vector, 2 * vector]), parameters, names)
    for name in names:
        factor = 1 if name == "B.B" else 2
        assert np.shape(found[name]) == (2, *np.shape(state[name])), name
        np.testing.assert_array_equal(found[name][0], state[name], err_msg=name)
        np.testing.assert_array_equal(found[name][1], factor * np.asarray(state[name]))
    alone = layout.unpacked(vector, parameters, ["w.B", "b"])
    np.testing.assert_array_equal(alone["w.B"], state["w.B"])
    assert alone["b"] == 1.5


def test_order_parameters_are_those_that_the_equations_need_and_those_given() -> None:
    layout = _layout()
    # of v, only what is observed: its overlaps with w and itself, and what these need
    assert layout.names == ("w.w", "w.v", "w.B", "v.v", "v.B", "B.B", "u", "b")
    assert [name for name in layout.names if not layout.moves(name)] == ["B.B"]
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    P.update({w: (B @ x) * x})
    plain = P.solver.layout
    assert plain.names == ("B.B",)
    assert plain.shown(["w.B", "B.B"]) == ("w.B", "B.B")
    assert plain.shown(["w", "B"]) == ("w.w", "w.B", "B.B")
    assert plain.shown(["w"]) == ("w.w", "B.B")
    state, fixed = plain.packed({"w.B": 0.4, "B.B": 2.0}, {})
    assert plain.unpacked(state, fixed, ["w.B", "B.B"]) == {"w.B": 0.4, "B.B": 2.0}


def test_one_value_serves_all_classes_and_shapes_may_be_flat() -> None:
    layout = _layout()
    state = _state(2)
    same = state | {"w.w": 4 * np.eye(2), "v.v": 4.9, "u": 0.2}
    vector, fixed = layout.packed(same, {"gain": 1})
    found = layout.unpacked(vector, fixed)
    np.testing.assert_array_equal(found["w.w"], [4 * np.eye(2)] * 2)
    np.testing.assert_array_equal(found["v.v"], [4.9, 4.9])
    np.testing.assert_array_equal(found["u"], [0.2, 0.2])


def test_vectors_may_be_given_themselves() -> None:
    """Overlaps of the coordinates of each eigenspace, the first quarter and the rest."""
    layout = _layout()
    random = np.random.default_rng(5)
    w, v, B = (random.normal(size=shape) for shape in ((2, 120), 120, (3, 120)))
    vectors = {"w": w, "v": v, "B": B, "u": [0.1, 0.2], "b": 0}
    vector, fixed = layout.packed(vectors, {"gain": 1})
    found = layout.unpacked(vector, fixed, ["w.B", "w.v", "v.v"])
    for k, part in enumerate((slice(0, 30), slice(30, 120))):
        size = part.stop - part.start
        np.testing.assert_allclose(found["w.B"][k], w[:, part] @ B[:, part].T / size)
        np.testing.assert_allclose(found["w.v"][k], w[:, part] @ v[part] / size)
        np.testing.assert_allclose(found["v.v"][k], v[part] @ v[part] / size)
    given = vectors | {"w.v": [[0.1, 0.2], [0.3, 0.4]]}
    found = layout.unpacked(*layout.packed(given, {"gain": 1}), ["w.v"])
    np.testing.assert_array_equal(found["w.v"], [[0.1, 0.2], [0.3, 0.4]])


@pytest.mark.parametrize(("dimension", "bounds"), [(4, [0, 1, 4]), (16, [0, 4, 16])])
def test_eigenspaces_divide_the_coordinates(dimension: int, bounds: list[int]) -> None:
    layout = _layout()
    assert layout.class_bounds(dimension) == bounds
    with pytest.raises(InputError, match="do not divide"):
        layout.class_bounds(dimension + 1)


def test_parameters_have_defaults_or_must_be_given() -> None:
    layout = _layout()
    assert layout.parameter_values({"gain": 2}) == {"eta": 0.5, "gain": 2.0}
    assert layout.parameter_values({"eta": 0, "gain": 2}) == {"eta": 0.0, "gain": 2.0}
    for given, words in (
        ({}, "has no value"),
        ({"gain": float("nan")}, "finite"),
        ({"gain": 1, "eto": 2}, "did you mean eta"),
        ({"gain": 1, "zzz": 2}, "there are eta, gain"),
    ):
        with pytest.raises(InputError, match=words):
            layout.parameter_values(given)


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "a name the other way round": ({"B.w": np.zeros((2, 3, 2))}, InputError, "named 'w.B' here"),
    "a name that is near": ({"W.B": 1}, InputError, "did you mean w.B"),
    "no order parameter": ({"zzz": 1}, InputError, "is not an order parameter"),
    "a shape": ({"w.B": np.zeros((3, 2, 3))}, ShapeError, "not .2, 3. or .2, 2, 3."),
    "a transposed overlap": ({"w.B": np.zeros((3, 2))}, ShapeError, "w.B: has the shape .3, 2."),
    "three scalars for two": ({"u": [1, 2, 3]}, ShapeError, "u: has the shape"),
    "a text": ({"u": "x"}, InputError, "u: must be finite numbers, not 'x'"),
    "too many vectors": (dict.fromkeys("wvB", np.ones((3, 8))), ShapeError, "w: .* .2, 8."),
    "vectors of two lengths": (
        {"w": np.ones((2, 8)), "v": np.ones(8), "B": np.ones((3, 12))},
        ShapeError,
        "B: has the shape .3, 12., not .3, 8.",
    ),
    "overlaps of no vectors": ({"v.v": [1.0, 0.01]}, InputError, "no vectors .* of w, v, B"),
    "an infinite overlap": ({"v.v": np.inf}, InputError, "finite"),
    "an infinite scalar": ({"b": np.nan}, InputError, "finite"),
    "no symmetry": ({"w.w": [[1.0, 0.5], [0.0, 1.0]]}, InputError, "not symmetric"),
    "too few": ({"w.B": None, "b": None}, InputError, "w.B, b must be given"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_state_is_refused_by_its_name(name: str) -> None:
    change, kind, words = WRONG[name]
    given = {k: v for k, v in (_state(2) | change).items() if v is not None}
    with pytest.raises(kind, match=words):
        _layout().packed(given, {"gain": 1})


def test_a_wrong_shape_is_told_with_classes_where_there_are_several() -> None:
    for spectral, words in ((True, "not (2, 3) or (2, 2, 3)"), (False, "not (2, 3)")):
        layout = _layout(spectral)
        given = {name: np.zeros(layout.shape(name)) for name in layout.names}
        with pytest.raises(ShapeError) as refused:
            layout.packed(given | {"w.B": np.zeros((7, 3))}, {"gain": 1})
        assert str(refused.value).endswith(words)


def test_spectra_with_common_eigenspaces_are_served_and_others_refused() -> None:
    def layout(*models: Any) -> Layout:
        P = sd.System()
        w = P.vectors("w")
        for n, model in enumerate(models):
            x = P.inputs(f"x{n}", model)
            P.update({w: (w @ x) * x})
        return P.solver.layout

    one = sd.Spectrum([2.0, 0.5], weights=[0.25, 0.75])
    other = sd.Spectrum([1.0, 3.0], weights=[0.25, 0.75])
    weight, eigenvalues = layout(None, one, other).spectrum
    np.testing.assert_array_equal(weight, [0.25, 0.75])
    assert {k: list(v) for k, v in eigenvalues.items()} == {"x1": [2.0, 0.5], "x2": [1.0, 3.0]}
    assert layout(None).classes == 1
    assert layout(one).classes == 2
    for wrong in (
        sd.Spectrum([1.0, 3.0], weights=[0.5, 0.5]),
        sd.Spectrum([1.0, 2.0, 3.0], weights=[0.25, 0.25, 0.5]),
    ):
        with pytest.raises(NotClosed, match="no eigenspaces in common"):
            _ = layout(one, wrong).spectrum
    random = np.random.default_rng(1)
    same = sd.Covariance(np.cov(random.normal(size=(4, 9))))
    assert layout(same, same).classes == 4
    with pytest.raises(NotClosed, match="no eigenspaces in common"):
        _ = layout(same, sd.Covariance(np.cov(random.normal(size=(4, 9))))).spectrum


def test_jumps_in_time_depend_on_parameters_and_are_taken_from_the_right() -> None:
    P = sd.System()
    P.inputs("x")
    u, T, k = P.scalars("u"), P.parameter("T", 2), P.parameter("k", 3)
    steps = [P.alpha - T, 2 - k * P.alpha, P.alpha + 1, sp.Rational(1, 2) - P.alpha]
    P.update({u: sum(10**n * sp.Heaviside(step) for n, step in enumerate(steps)) * u})
    layout = P.solver.layout
    assert layout.jumps({}) == pytest.approx([0.5, 2 / 3, 2.0])
    assert layout.jumps({"T": 0.1, "k": 4}) == pytest.approx([0.1, 0.5])
    # a place that does not move is never passed
    assert layout.jumps({"k": 0}) == pytest.approx([0.5, 2.0])
    _, constants = layout.packed({"u": 1}, {})
    places = layout.closed.equations.law.jumps
    for alpha in (0.0, 0.5, 0.6, 2.0, 3.0):
        fields = layout.packing("parameters").views(layout.at_time(constants, alpha, {}))
        for symbol, place in places.items():
            right = float(place.subs({P.alpha: alpha + 1e-9, T: 2, k: 3}))
            assert float(fields[str(symbol)]) == (right > 0), (alpha, place)


def test_an_unknown_name_is_answered_with_each_known_one_once() -> None:
    P = sd.System()
    x, w = P.inputs("x"), P.vectors("w", 2)
    P.update({w[0]: -(w[1] @ x) * x})
    with pytest.raises(InputError, match=r"'Q' is not an order parameter .*; there are w\.w$"):
        P.solve(end=1, initial={"Q": [[1, 0], [0, 1]]})
