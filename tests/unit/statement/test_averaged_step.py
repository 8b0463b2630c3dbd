"""Averaged increments of statements: a linear network by hand, and the derived equations."""

import numpy as np
import pytest
import sympy as sp
from scipy.special import stdtrit
from scipy.stats import norm, qmc

import symderiv as sd
from symderiv.checking.field_points import (
    LIMIT,
    REPLICATES,
    plane_points,
    sobol_points,
)
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.learning.rule.stated_rule import RuleNumbers, state_rule
from symderiv.statement.averaged_step import MeanStep, Reading, SlowState, StateFrame
from symderiv.statement.language import Language
from symderiv.statement.stated_problem import Statement

X = sp.Symbol("x", real=True)
WEIGHT, RHO = np.array([0.6, 0.4]), np.array([0.7, 1.8])


def at_plane(statement: Statement, state: SlowState, nodes: int = 14) -> tuple[MeanStep, MeanStep]:
    frame = StateFrame(Reading(statement), state)
    cuts = frame.kinks()
    assert cuts is not None
    return frame.mean_steps(*plane_points(frame.dimension, frame.polynomial(2), cuts, nodes))


def vectors(names: list[str], seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    plane = rng.normal(size=(2, 2, 2)) / 1.5
    places = rng.normal(size=(len(names), 2))
    return dict(zip(names, np.einsum("ab,kbc->akc", places, plane), strict=True))


def test_a_step_of_a_linear_network_is_the_known_one() -> None:
    P = Language()
    eta, eta_v, kappa, kappa_v, sigma = 0.5, 0.3, 0.2, 0.1, 0.4
    w = np.array([0.6])
    numbers = RuleNumbers(
        K=2,
        M=1,
        teacher_weights=w,
        teacher_biases=np.zeros(1),
        student_biases=np.zeros(2),
        sizes={
            "learning_rate": eta,
            "second_layer_learning_rate": eta_v,
            "weight_decay": kappa,
            "second_layer_weight_decay": kappa_v,
            "label_noise": sigma,
        },
    )
    state_rule(P, learning_problem("linear"), numbers, None)
    of = vectors(["J1", "J2", "B1"], 4)
    v = np.array([0.8, -0.4])
    state = SlowState(of, WEIGHT, {"x": RHO}, {"v1": 0.8, "v2": -0.4})
    full, small = at_plane(P.statement, state)
    J, B = np.array([of["J1"], of["J2"]]), of["B1"]
    apart = np.einsum("i,ikc->kc", v, J) - w[0] * B  # s - t is the field of this vector
    covariance = np.einsum("k,kc,ikc->i", WEIGHT * RHO, apart, J)
    square = float(np.einsum("k,kc,kc->", WEIGHT * RHO, apart, apart))
    for i, name in enumerate(("J1", "J2")):
        drift = -eta * v[i] * RHO[:, None] * apart - kappa * J[i]
        np.testing.assert_allclose(full.drift[name], drift, rtol=1e-11, atol=1e-12)
        noise = eta**2 * v[i] ** 2 * (square + sigma**2) * RHO
        np.testing.assert_allclose(full.noise[name, name], noise, rtol=1e-11)
        rate = -eta_v * covariance[i] - kappa_v * v[i]
        assert full.scalars[f"v{i + 1}"] == pytest.approx(rate, rel=1e-11)
        expected = 2 * (drift * J[i]).sum(axis=1)
        np.testing.assert_allclose(small.overlap_rate(name, name), expected, rtol=1e-11)
        np.testing.assert_allclose(full.overlap_rate(name, name), expected + noise, rtol=1e-11)
    assert full.observables["error"] == pytest.approx(square / 2, rel=1e-11)
    assert full.observables["loss"] == pytest.approx(square / 2 + sigma**2 / 2, rel=1e-11)


def test_a_sign_of_a_teacher_with_several_zeros_jumps_at_all_of_them() -> None:
    """A linear student follows E[y sign h(y)]: means of |y| over where h is above and below."""
    P = Language()
    numbers = RuleNumbers(
        K=1,
        M=1,
        teacher_weights=np.ones(1),
        teacher_biases=np.zeros(1),
        student_weights=np.ones(1),
        student_biases=np.zeros(1),
        sizes={"learning_rate": 0.7},
    )
    rule = LearningRule(target="sign")
    asked = learning_problem("linear", "x*(x**2 - 1.1)*(x**2 - 3.9)", rule)
    state_rule(P, asked, numbers, None)
    of = {"J1": np.array([[0.3, 0.4]]), "B1": np.array([[1.0, 0.0]])}
    _, small = at_plane(P.statement, SlowState(of, np.ones(1), {"x": np.ones(1)}, {}), 20)
    taught = np.sqrt(2 / np.pi) * (1 - 2 * np.exp(-0.55) + 2 * np.exp(-1.95))
    rate = small.overlap_rate("J1", "B1")
    np.testing.assert_allclose(rate, 0.7 * (taught - 0.3), rtol=1e-11)


@pytest.mark.parametrize(
    ("bent", "beyond"),
    [
        (sp.sign(sp.Abs(X) - 0.8), 0.8),
        (sp.sign(sp.Heaviside(X) * X - sp.Rational(1, 2) * X - 0.3), 0.6),
        (sp.sign(sp.Max(X, -X) - 0.5), 0.5),
        (sp.Abs(sp.Abs(X) - 1.1).diff(X) * sp.sign(X), 1.1),
    ],
)
def test_kinks_inside_of_kinks_are_all_cut_along(bent: sp.Expr, beyond: float) -> None:
    """Each is 1 where |h| is larger than a number, and -1 below."""
    P = Language()
    x, w = P.inputs("x"), P.vectors("w")
    field = w @ x
    P.update({w: sp.Rational(1, 2) * bent.xreplace({X: field}) * field * x})
    of = {"w": np.array([[1.2, -0.5]])}
    full, _ = at_plane(P.statement, SlowState(of, np.ones(1), {"x": np.ones(1)}, {}), 20)
    # by parts, E[s(h) h x] = w E[s(h) h²]/Q
    Q = 1.2**2 + 0.5**2
    z = beyond / Q**0.5
    square = 2 * (z * norm.pdf(z) + norm.sf(z))
    wanted = 0.5 * (2 * square - 1) * of["w"]
    np.testing.assert_allclose(full.drift["w"], wanted, rtol=1e-10)


def test_a_step_along_correlated_tokens_is_the_known_one() -> None:
    P = Language()
    x, w = P.inputs("x", length=2, correlation=[[1, 0.4], [0.4, 1]]), P.vectors("w")
    P.update({w: (w @ x[0]) * x[1]})
    of = vectors(["w"], 2)
    full, _ = at_plane(P.statement, SlowState(of, WEIGHT, {"x": RHO}, {}))
    np.testing.assert_allclose(full.drift["w"], 0.4 * RHO[:, None] * of["w"], rtol=1e-11)
    square = np.einsum("k,kc,kc->", WEIGHT * RHO, of["w"], of["w"])
    # both tokens have the variance of the eigenspace
    np.testing.assert_allclose(full.noise["w", "w"], square * RHO, rtol=1e-11)


@pytest.mark.turns(6)
def test_a_statement_has_the_rates_that_are_derived_from_it() -> None:
    """Orthonormal vectors, a jump, noise of the input and of the update, a latent, two classes."""
    P = sd.System()
    x = P.inputs("x", model=sd.Spectrum(RHO.tolist(), weights=WEIGHT.tolist()))
    w, B, u = P.vectors("w", 2), P.vectors("B", fixed=True), P.scalars("u")
    flip = P.latents("flip", {-1: sp.Rational(1, 4), 1: sp.Rational(3, 4)})
    g = sd.activation("erf")
    t = flip * sd.activation("sign")(B @ x)
    P.descend((u * g(w @ x).sum() - t) ** 2 / 2, {w: 0.7, u: 0.3})
    P.update({w: 0.2 * B, w[0]: 0.5 * P.inputs("z")})
    P.constrain(w, "orthonormal")
    P.observe(error=(u * g(w @ x).sum() - t) ** 2)
    of = vectors(["w1", "w2", "B"], 5)
    root = np.linalg.inv(
        np.linalg.cholesky(np.einsum("k,ikc,jkc->ij", WEIGHT, *2 * [[of["w1"], of["w2"]]]))
    )
    of["w1"], of["w2"] = np.einsum("ij,jkc->ikc", root, np.array([of["w1"], of["w2"]]))
    step, _ = at_plane(P.statement, SlowState(of, WEIGHT, {"x": RHO}, {"u": 0.6}), 20)
    W = [of["w1"], of["w2"]]
    overlaps = {
        "w.w": np.einsum("ikc,jkc->kij", W, W),
        "w.B": np.einsum("ikc,kc->ki", W, of["B"]),
        "B.B": (of["B"] ** 2).sum(axis=1),
    }
    found = P.rates({**overlaps, "u": 0.6})
    for i in range(2):
        rate = step.overlap_rate(f"w{i + 1}", "B")
        np.testing.assert_allclose(found["w.B"][:, i], rate, rtol=1e-9, atol=1e-11)
        for j in range(2):
            rate = step.overlap_rate(f"w{i + 1}", f"w{j + 1}")
            np.testing.assert_allclose(found["w.w"][:, i, j], rate, rtol=1e-9, atol=1e-11)
    assert found["u"] == pytest.approx(step.scalars["u"], rel=1e-10)
    assert found.observables["error"] == pytest.approx(step.observables["error"], rel=1e-10)


def test_a_step_on_a_sphere_of_inputs_keeps_the_variance_of_its_field() -> None:
    P, g = sd.System(), sd.activation("erf")
    x = P.inputs("x", model=sd.Spectrum(RHO.tolist(), weights=WEIGHT.tolist()))
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    P.descend((g(w @ x) - g(B @ x)) ** 2 / 2, {w: 0.7})
    P.constrain(w, "sphere", inputs=x)
    of = vectors(["w", "B"], 5)
    step, _ = at_plane(P.statement, SlowState(of, WEIGHT, {"x": RHO}, {}), 20)
    pairs = (("w", "w"), ("w", "B"), ("B", "B"))
    found = P.rates({f"{a}.{b}": (of[a] * of[b]).sum(axis=1) for a, b in pairs})
    for a, b in pairs[:2]:
        rate = step.overlap_rate(a, b)
        np.testing.assert_allclose(found[f"{a}.{b}"], rate, rtol=1e-9, atol=1e-11)
    assert WEIGHT * RHO @ step.overlap_rate("w", "w") == pytest.approx(0, abs=1e-12)


def test_points_of_lattices_are_those_of_scipy() -> None:
    """Also the number of standard errors, by which sampled means may be off."""
    for dimension in (1, 7, 20, 21):
        expected = qmc.Sobol(dimension, scramble=False).random(512)
        np.testing.assert_array_equal(sobol_points(dimension, 512), expected)
    assert pytest.approx(-stdtrit(REPLICATES - 1, 1e-6 / 200 / 2), rel=1e-12) == LIMIT


def test_a_plane_that_is_cut_has_the_means_of_kinked_functions() -> None:
    lines = np.array([[0.3, -0.8, 0.0], [1.0, 1e-3, 0.4], [0.0, 1.0, -0.7]])
    z, weight = plane_points(2, [], lines, 14)
    a, b, c = (z @ line[:2] + line[2] for line in lines)
    assert weight @ np.abs(a) == pytest.approx(0.73**0.5 * (2 / np.pi) ** 0.5, rel=1e-11)
    both = weight @ (np.sign(a) * np.sign(z @ [0.5, 0.2]))
    r = (0.3 * 0.5 - 0.8 * 0.2) / (0.73 * 0.29) ** 0.5
    assert abs(both - 2 * np.arcsin(r) / np.pi) > 1e-6  # this line was not cut along
    assert weight @ (c > 0) == pytest.approx(norm.sf(0.7), rel=1e-11)
    size = (1 + 1e-6) ** 0.5
    assert weight @ (b > 0) == pytest.approx(norm.cdf(0.4 / size), rel=1e-10)
