"""Functions of several fields with kinks: means between planes, fields at a plane, pieces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy import special, stats

import symderiv as sd
from symderiv.foundation.errors import NotYetError
from symderiv.lowering.means.joint_means import Joint, JointMeans, mean_by_rule, rule_for
from symderiv.lowering.means.quadrature_rules import joint_rule
from symderiv.statement.smooth_pieces import by_sides, in_pieces

# SGD, compilation and quadrature: a part of them a day
pytestmark = pytest.mark.turns(4)

Z = sp.symbols("z1:5", real=True)
K = sp.symbols("k1:4", real=True)
OUTPUT = sp.Add(*(k * sp.Max(z, 0) for k, z in zip(K[:2], Z[:2], strict=True)))
VARIANCES, MEAN, NUMBERS = (1.2, 0.7), np.array([0.2, -0.3]), np.array([0.8, -1.3])
_X, _W = np.polynomial.legendre.leggauss(20)
Places = Callable[[Any], Any]


def _between(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss' rule between edges of the last axis, over the normal density."""
    half, middle = np.diff(edges) / 2, (edges[..., 1:] + edges[..., :-1]) / 2
    t = middle[..., None] + half[..., None] * _X
    w = half[..., None] * _W * stats.norm.pdf(t)
    return t.reshape(*edges.shape[:-1], -1), w.reshape(*edges.shape[:-1], -1)


def _nested(function: Any, covariance: Any, kink: Places, centre: float) -> float:
    """E[f(x, y)] with a kink of y at a place that x moves, and one of x at zero.

    The line of x is divided ever more finely around where the kink passes the middle of y's law.
    """
    root = np.sqrt(covariance[0, 0])
    along = covariance[0, 1] / root
    width = np.sqrt(covariance[1, 1] - along**2)
    apart = width * 2.0 ** np.arange(-2, 40)
    edges = np.r_[np.linspace(-9, 9, 37), -MEAN[0] / root, centre, centre + apart, centre - apart]
    t, w = _between(np.unique(np.clip(edges, -9, 9)))
    x = MEAN[0] + root * t
    mean = MEAN[1] + along * t
    place = np.clip((kink(x) - mean) / width, -9, 9)[:, None]
    fixed = np.broadcast_to(np.linspace(-9, 9, 37), (t.size, 37))
    s, v = _between(np.sort(np.concatenate([fixed, place], axis=1), axis=1))
    return float(w @ (function(x[:, None], mean[:, None] + width * s) * v).sum(axis=1))


A, B = NUMBERS
CASES: dict[str, tuple[Joint, Any, Places, Places]] = {
    "jumps": (
        Joint(sp.Heaviside(Z[0]) * sp.Heaviside(-Z[1]) / (1 + sp.exp(OUTPUT)), 2, 2, K[:2]),
        lambda x, y: (
            special.expit(-A * np.maximum(x, 0) - B * np.maximum(y, 0)) * (x > 0) * (y < 0)
        ),
        lambda x: 0 * x,
        lambda r: -MEAN[1] / r,
    ),
    "kinks": (
        Joint(
            sp.log(1 + sp.exp(K[0] * sp.Abs(Z[0]) - K[1] * sp.Max(Z[1] - sp.Rational(1, 2), 0))),
            *(2, 2, K[:2]),
        ),
        lambda x, y: np.logaddexp(0, A * np.abs(x) - B * np.maximum(y - 0.5, 0)),
        lambda x: 0.5 + 0 * x,
        lambda r: (0.5 - MEAN[1]) / r,
    ),
    "a plane of both": (
        Joint(sp.tanh(K[0] * Z[0]) * sp.Max(Z[0] - Z[1] + K[1] / 13, 0), 2, 2, K[:2]),
        lambda x, y: np.tanh(A * x) * np.maximum(x - y - 0.1, 0),
        lambda x: x - 0.1,
        lambda r: (MEAN[1] - MEAN[0] + 0.1) / (np.sqrt(VARIANCES[0]) - r),
    ),
}


@pytest.mark.parametrize("correlation", [0.3, 0.999, -0.999, 1 - 1e-9])
@pytest.mark.parametrize("name", CASES)
def test_two_fields_however_nearly_aligned(name: str, correlation: float) -> None:
    joint, function, kink, centre = CASES[name]
    shared = correlation * np.sqrt(np.prod(VARIANCES))
    covariance = np.array([[VARIANCES[0], shared], [shared, VARIANCES[1]]])
    rule, error = rule_for(joint)
    assert error < 1e-8
    found = mean_by_rule(joint)(joint_rule(*rule, True), covariance, MEAN, NUMBERS)
    along = shared / np.sqrt(VARIANCES[0])
    wanted = _nested(function, covariance, kink, centre(along))
    assert found == pytest.approx(wanted, abs=error)


def test_three_fields_of_which_one_has_a_sign() -> None:
    """The mean sign of a field given the others is an error function of these."""
    three = Joint(sp.sign(Z[2]) * sp.tanh(OUTPUT), 3, 3, K[:2])
    covariance = np.array([[1.1, 0.4, -0.2], [0.4, 0.8, 0.3], [-0.2, 0.3, 0.9]])
    means = np.array([0.2, -0.3, 0.1])
    share = np.linalg.solve(covariance[:2, :2], covariance[:2, 2])
    left = covariance[2, 2] - share @ covariance[:2, 2]
    given = means[2] + sum(s * (z - m) for s, z, m in zip(share, Z, means, strict=False))
    exact = sp.nsimplify(sp.expand(given / np.sqrt(2 * left)), rational=True)
    two = Joint(sp.tanh(OUTPUT) * sp.erf(exact), 2, 2, K[:2])
    found = mean_by_rule(three)(joint_rule(2.2, 7.5, True), covariance, means, NUMBERS)
    wanted = mean_by_rule(two)(joint_rule(0.8, 9, True), covariance[:2, :2], means[:2], NUMBERS)
    assert found == pytest.approx(wanted, abs=1e-9)


NESTED = sp.Max(1 - K[0] * sp.Max(Z[0], 0) - K[1] * sp.Abs(Z[1] - 1), 0) * sp.sign(Z[0] - Z[1])


def test_pieces_are_the_function_and_their_planes_its_kinks() -> None:
    piecewise, gaps = in_pieces(NESTED, Z)
    # of the outer kink a plane on each side of the inner ones
    assert len(gaps) == 7
    arguments = *Z[:2], *K[:2]
    points = np.random.default_rng(5).normal(size=(4, 400))
    wanted = sp.lambdify(arguments, NESTED, "numpy")(*points)
    assert np.ptp(wanted) > 1
    assert sp.lambdify(arguments, piecewise, "numpy")(*points) == pytest.approx(wanted)
    assert not piecewise.has(sp.Max, sp.Abs, sp.sign)


def test_the_order_in_which_steps_were_written_makes_no_difference() -> None:
    x, y = Z[:2]
    one = (sp.tanh(x + y) * sp.Heaviside(y) + sp.tanh(x) * sp.Heaviside(-y)) * sp.Heaviside(x) ** 2
    other = sp.tanh(x * sp.Heaviside(x) + sp.Max(2 * y, 0) / 2) * (1 + sp.sign(3 * x)) / 2
    assert by_sides(one, Z) == by_sides(other, Z)
    assert by_sides(one, Z) != by_sides(-one, Z)


def test_a_function_with_another_sign_of_its_numbers_is_integrated_once() -> None:
    means, covariance = JointMeans(), [[1.2, 0.5], [0.5, 0.4]]
    one = Joint(sp.Heaviside(Z[0]) * sp.tanh(OUTPUT), 2, 2, K[:2])
    turned = one.function.xreplace({K[0]: -K[0], K[1]: -K[1]})
    first = means.mean(one, covariance, (0.1, 0.2))
    second = means.mean(Joint(turned, 2, 2, K[:2]), covariance, (0.1, 0.2))
    assert second in (-first, first.xreplace({K[0]: -K[0], K[1]: -K[1]}))
    assert list(means.names.values()) == ["joint_1"]


@pytest.mark.parametrize(
    ("joint", "words"),
    [
        (Joint(sp.tanh(sp.Add(*map(sp.Abs, Z))), 4, 4), "kinks; quadrature takes at most 3"),
        (Joint(sp.sign(Z[0] * Z[1] - 1) * sp.tanh(Z[0]), 2, 2), "not on a plane"),
        (Joint(sp.tanh(sp.Abs(Z[0]) * Z[1]), 1, 2), "not a polynomial of its last"),
        (Joint(sp.tanh(Z[0]) * sp.Abs(Z[1]), 1, 2), "kinks at its last"),
        (Joint(sp.Add(*(sp.Abs(Z[0] - n) for n in range(13))), 1, 1), "more than 12 planes"),
        (Joint(sp.tanh(sp.sqrt(sp.Abs(Z[0]))), 1, 1), "is not accurate"),
    ],
)
def test_what_the_rules_do_not_serve_is_refused(joint: Joint, words: str) -> None:
    with pytest.raises(NotYetError, match=words):
        JointMeans()._named(joint)


def test_slopes_of_means_with_kinks_are_refused() -> None:
    means = JointMeans()
    means._named(Joint(sp.tanh(K[0] * sp.Max(Z[0], 0)), 1, 1, K[:1]))
    with pytest.raises(NotYetError, match="derivatives that are no functions"):
        means.with_slopes()


STATE = {"w.w": [[0.6, 0.1], [0.1, 0.5]], "a": [0.5, -0.4], "b": [0.4, -0.3]}
step, delta = sp.Heaviside, sp.DiracDelta


def _observed(of: Callable[[Any, Any], sp.Expr]) -> float:
    """The mean of a function of two fields with means b, and of scalars a."""
    P = sd.System()
    x, w, a, b = P.inputs("x"), P.vectors("w", 2), P.scalars("a", 2), P.scalars("b", 2)
    P.update({w: -w[0], a: -a[0], b: -b[0]})
    P.observe(seen=of([w[k] @ x + b[k] for k in (0, 1)], a))
    return float(P.rates(STATE).observables["seen"])


def _on_lines(of: Any, low: float, high: float, at: Any = None) -> float:
    """The integral over the second field of a function times the density of both, the first at a
    place or within its range.
    """
    law = stats.multivariate_normal(STATE["b"], STATE["w.w"])
    nodes = np.concatenate([m + _X / 40 for m in np.arange(low + 1 / 40, high, 1 / 20)])
    weights = np.tile(_W / 40, nodes.size // _X.size)
    if at is not None:
        return float(weights @ (of(at(nodes), nodes) * law.pdf(np.c_[at(nodes), nodes])))
    ((first, last),) = (of,)
    x, y = np.meshgrid(nodes, np.linspace(first, last, 4001), indexing="ij")
    values = law.pdf(np.stack([y, x], axis=-1))
    return float(weights @ np.trapezoid(values, dx=(last - first) / 4000, axis=1))


def test_steps_of_one_field_at_several_places() -> None:
    """Once half of it: a closed form was evaluated where one field determines the other."""
    root = np.sqrt(0.6)
    inside = stats.norm.cdf((2 - 0.4) / root) - stats.norm.cdf(-0.4 / root)
    found = _observed(lambda h, a: step(h[0]) * step(1 - a[0] * h[0]))
    assert found == pytest.approx(inside, abs=1e-9)
    both = _observed(lambda h, a: step(h[0]) * step(1 - a[0] * h[0]) * step(-h[1]))
    assert both == pytest.approx(_on_lines((0, 2), -10, 0), abs=1e-6)


def test_densities_on_a_plane_of_two_fields_beside_their_steps() -> None:
    found = _observed(lambda h, a: delta(1 - a[0] * h[0] - a[1] * h[1]) * step(h[0]) * step(h[1]))
    wanted = _on_lines(lambda x, y: 2 * (x > 0), 0, 12, lambda y: 2 * (1 + 0.4 * y))
    assert found == pytest.approx(wanted, abs=1e-9)
    found = _observed(lambda h, a: delta(1 - a[0] * h[0]) * step(h[0]) * step(-h[1]))
    wanted = _on_lines(lambda x, y: 2 + 0 * y, -12, 0, lambda y: 2 + 0 * y)
    assert found == pytest.approx(wanted, abs=1e-9)


def test_a_density_beside_a_function_of_both_fields() -> None:
    found = _observed(
        lambda h, a: delta(h[0]) / (1 + sp.exp(a[0] * sp.Max(h[0], 0) + a[1] * sp.Max(h[1], 0)))
    )
    wanted = sum(
        _on_lines(lambda x, y: special.expit(0.4 * np.maximum(y, 0)), low, high, np.zeros_like)
        for low, high in ((-12, 0), (0, 12))
    )
    assert found == pytest.approx(wanted, abs=1e-9)


def _by_examples(slope: Any, g: Any, g_slope: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Rates of w.w, a and U.w in two clusters, by a sum over a grid of the two fields."""
    n, overlap, root = 2400, np.array([0.4, -0.3]), np.linalg.cholesky(STATE["w.w"])
    t = (np.arange(n) + 0.5) / n * 16 - 8
    p = np.exp(-(t**2) / 2) / np.exp(-(t**2) / 2).sum()
    x, y = np.meshgrid(t, t, indexing="ij")
    p = p[:, None] * p
    a, solved = np.array(STATE["a"]), np.linalg.solve(STATE["w.w"], overlap)
    ww, aa, uw = np.zeros((2, 2)), np.zeros(2), np.zeros(2)
    for c in (-1, 1):
        z = np.stack([root[0, 0] * x, root[1, 0] * x + root[1, 1] * y])
        h = z + c * overlap[:, None, None]
        d = -c * slope(c * np.tensordot(a, g(h), 1))
        force = -0.8 * d * a[:, None, None] * g_slope(h)
        grown = np.einsum("kxy,lxy,xy->kl", force, h, p)
        ww += (grown + grown.T + np.einsum("kxy,lxy,xy->kl", force, force, p)) / 2
        aa -= 0.5 * np.einsum("kxy,xy->k", d * g(h), p) / 2
        uw += np.einsum("kxy,xy->k", force * (np.tensordot(solved, z, 1) + 2 * c), p) / 2
    return ww, aa, uw


LOSSES = {
    "logistic": (lambda u: sp.log(1 + sp.exp(-u)), lambda u: special.expit(-u)),
    "hinge": (lambda u: sp.Max(0, 1 - u), lambda u: 1.0 * (u < 1)),
}
UNITS = {
    "relu": (lambda h: sp.Max(h, 0), lambda h: np.maximum(h, 0), lambda h: 1.0 * (h > 0)),
    "leaky": (
        lambda h: sp.Max(h, h / 5),
        lambda h: np.maximum(h, h / 5),
        lambda h: np.where(h > 0, 1, 0.2),
    ),
    "abs": (sp.Abs, np.abs, np.sign),
}


@pytest.mark.parametrize(
    ("loss", "unit"), [("logistic", "relu"), ("logistic", "leaky"), ("hinge", "relu")]
)
def test_rates_of_two_units_with_trained_output_weights(loss: str, unit: str) -> None:
    of, slope = LOSSES[loss]
    g, plain, plain_slope = UNITS[unit]
    P = sd.System()
    c, U = P.latents("c", "rademacher"), P.vectors("U", fixed=True)
    x, w, a = P.inputs("x") + c * U, P.vectors("w", 2), P.scalars("a", 2)
    P.descend(of(c * sum(a[k] * g(w[k] @ x) for k in (0, 1))), {w: 0.8, a: 0.5})
    state = {"U.U": 2, "U.w": [0.4, -0.3], "w.w": STATE["w.w"], "a": STATE["a"]}
    rates = P.rates(state)
    wanted = _by_examples(slope, plain, plain_slope)
    for name, each in zip(("w.w", "a", "U.w"), wanted, strict=True):
        # the grid meets kinks and jumps within its cells
        assert rates[name] == pytest.approx(each, abs=4e-5), name
