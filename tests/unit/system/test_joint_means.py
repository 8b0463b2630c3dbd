"""Means by quadrature: the rule, its error, what it refuses, and densities at jumps."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy import integrate, special

import symderiv as sd
from symderiv.foundation.errors import NotYetError
from symderiv.lowering.means.closed_means import X
from symderiv.lowering.means.field_covariances import field_covariances
from symderiv.lowering.means.joint_means import Joint, JointMeans, mean_by_rule, rule_for
from symderiv.lowering.means.quadrature_error import LARGEST_VARIANCE
from symderiv.lowering.means.quadrature_rules import joint_rule
from symderiv.statement.field_law import FieldLaw
from symderiv.system.means.joint_forms import FormSlot
from symderiv.system.means.slot_means import MOST_FIELDS, SlotMeans

# SGD, compilation and quadrature: a part of them a day
pytestmark = pytest.mark.turns(16)

Z = sp.symbols("z1:8", real=True)
K = sp.symbols("k1:6", real=True)
COVARIANCE = np.array([[1.1, 0.4, -0.2], [0.4, 0.8, 0.3], [-0.2, 0.3, 0.9]])
MEAN = np.array([0.2, -0.3, 0.5])
NONE = np.zeros(0)
RULE = joint_rule(0.4, 7.5)


def _by_characteristic_function(frequencies: np.ndarray, degree: int) -> float:
    """E[cos(k·z) z_n^degree] of the last field, degree 0 to 2, in closed form."""
    size = frequencies.size
    C, b = COVARIANCE[:size, :size], MEAN[:size]
    # the mean of exp(i k·z) is that of a normal law tilted by i C k
    shift = b + 1j * C @ frequencies
    value = np.exp(1j * frequencies @ b - frequencies @ C @ frequencies / 2)
    last = {0: 1.0, 1: shift[-1], 2: shift[-1] ** 2 + C[-1, -1]}[degree]
    return float((value * last).real)


@pytest.mark.parametrize(
    ("nonlinear", "size", "degree"), [(1, 1, 0), (1, 2, 2), (2, 2, 0), (1, 3, 1), (2, 3, 2)]
)
def test_the_compiled_rule_gives_means_of_waves(nonlinear: int, size: int, degree: int) -> None:
    """A wave in the first fields times a power of the last, which is a polynomial for the rule."""
    frequencies = np.array([0.9, -0.7, 0.5])[:size]
    frequencies[nonlinear:] = 0.0
    phase = sum(sp.Rational(str(k)) * z for k, z in zip(frequencies, Z, strict=False))
    function = sp.cos(phase) * Z[size - 1] ** degree
    joint = Joint(function, nonlinear, size)
    found = mean_by_rule(joint)(RULE, COVARIANCE[:size, :size], MEAN[:size], NONE)
    assert found == pytest.approx(_by_characteristic_function(frequencies, degree), abs=1e-11)


@pytest.mark.parametrize(
    ("joint", "words"),
    [
        (Joint(1 / Z[0], 1, 1), "not finite|is not accurate"),
        # between the points of most rules
        (Joint(1 / sp.cosh(300 * (Z[0] + Z[1] - 1)) ** 2, 2, 2), "not finite|is not accurate"),
        (Joint(sp.tanh(sp.Add(*Z[:5])), 5, 5), "5 joint fields"),
        (Joint(sp.tanh(Z[0]) * sp.Mul(*Z[1:7]), 1, 7), "7 in all"),
        (Joint(sp.tanh(Z[0]) * sp.Add(*K), 1, 1, K), "more than 4 numbers"),
        (Joint(sp.tanh(Z[0]) * sp.exp(Z[1]), 1, 2), "not a polynomial of its last"),
        (Joint(sp.tanh(sp.Add(*map(sp.Abs, Z[:4]))), 4, 4), "kinks; quadrature takes at most 3"),
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


def test_each_function_has_its_own_rule_and_a_system_its_largest_error() -> None:
    means = JointMeans()
    assert means.constants == {}
    easy, hard = Joint(sp.tanh(Z[0] / 2), 1, 1), Joint(sp.tanh(3 * Z[0] / 2) ** 2, 1, 1)
    names = [means._named(each) for each in (easy, hard, easy)]
    assert names == ["joint_1", "joint_2", "joint_1"]
    ((one, reach), e1), ((two, far), e2) = rule_for(easy), rule_for(hard)
    assert two < one
    assert means.constants == {
        "JOINT_RULE_1": (one, 1.1 * one, reach),
        "JOINT_RULE_2": (two, 1.1 * two, far),
        "JOINT_ERROR": max(e1, e2),
        "JOINT_LARGEST_VARIANCE": 2.0,
    }
    assert means.finer["JOINT_RULE_2"] == (0.7 * two, 1.1 * (0.7 * two), far + 1.5)
    assert list(means.functions) == ["integrand_1", "joint_1", "integrand_2", "joint_2"]


LOGISTIC = sp.exp(K[0] * sp.erf(Z[0]) + K[1] * Z[1]) / (
    1 + sp.exp(K[0] * sp.erf(Z[0]) + K[1] * Z[1])
)


def _by_squares(joint: Joint, covariance: Any, means: Any, constants: Any) -> float:
    """The mean over two fields by Simpson's rule on eigenvectors, which knows no rule of ours."""
    f = sp.lambdify((*Z[:2], *joint.constants), joint.function, ["scipy", "numpy"])
    values, vectors = np.linalg.eigh(np.array(covariance))
    t = np.linspace(-9, 9, 3001)
    x, y = np.meshgrid(t, t, indexing="ij", sparse=True)
    along = vectors * np.sqrt(np.maximum(values, 0))
    z = [along[n, 0] * x + along[n, 1] * y + means[n] for n in (0, 1)]
    weighed = f(*z, *constants) * np.exp(-(x**2 + y**2) / 2) / (2 * np.pi)
    return float(integrate.simpson(integrate.simpson(weighed, x=t), x=t))


@pytest.mark.parametrize(
    ("covariance", "constants"),
    [
        ([[1.3, 0.4], [0.4, 0.7]], (0.6, -1.1)),
        ([[1.3, 0.4], [0.4, 0.7]], (9.0, 4.0)),
        ([[1.0, 0.999], [0.999, 1.0]], (-3.0, 7.0)),
        ([[14.0, -3.0], [-3.0, 9.0]], (2.0, -4.0)),
    ],
)
def test_steps_follow_numbers_that_make_a_function_sharper(
    covariance: list[list[float]], constants: tuple[float, float]
) -> None:
    joint = Joint(LOGISTIC * Z[0], 2, 2, K[:2])
    rule, error = rule_for(joint)
    found = mean_by_rule(joint)(
        joint_rule(*rule), np.array(covariance), MEAN[:2], np.array(constants)
    )
    assert abs(found - _by_squares(joint, covariance, MEAN, constants)) <= max(error, 1e-9)


def test_fields_of_large_variance_get_all_their_points() -> None:
    """Once there were 255 on each side, which ended within the law of a variance of 300."""
    joint = Joint(sp.tanh(Z[0]) ** 2, 1, 1)
    rule, error = rule_for(joint)
    found = mean_by_rule(joint)(joint_rule(*rule), np.array([[900.0]]), np.array([20.0]), NONE)

    def missing(z: float) -> float:
        return float(np.exp(-((z - 20) ** 2) / 1800) / np.cosh(z) ** 2 / np.sqrt(1800 * np.pi))

    assert abs(1 - found - integrate.quad(missing, -40, 40, epsabs=1e-14)[0]) <= error


def test_functions_that_are_one_with_fields_and_numbers_exchanged_are_integrated_once() -> None:
    means = JointMeans()
    one = Joint(LOGISTIC * Z[0], 2, 2, K[:2])
    places = {Z[0]: -Z[1], Z[1]: -Z[0], K[0]: K[1], K[1]: K[0]}
    other = Joint(one.function.xreplace(places), 2, 2, K[:2])
    covariance, where, numbers = [[1.2, 0.5], [0.5, 0.4]], (0.3, -0.8), (1.1, -0.4)
    symbols = dict(zip(K, map(sp.Float, numbers), strict=False))
    for joint in (one, other):
        front, call = means.mean(joint, covariance, where).xreplace(symbols).as_coeff_Mul()
        c11, c12, c22, *rest = map(float, call.args)
        found = mean_by_rule(one)(
            RULE, np.array([[c11, c12], [c12, c22]]), np.array(rest[:2]), np.array(rest[2:])
        )
        assert front * found == pytest.approx(
            _by_squares(joint, covariance, where, numbers), abs=1e-9
        )
    assert list(means.names.values()) == ["joint_1"]


def test_a_field_of_which_the_function_is_a_polynomial_keeps_its_place() -> None:
    """Two fields exchanged beside a third one, and the sign of all three."""
    means = JointMeans()
    one = Joint(LOGISTIC * Z[2], 2, 3, K[:2])
    places = {Z[0]: -Z[1], Z[1]: -Z[0], Z[2]: -Z[2], K[0]: K[1], K[1]: K[0]}
    other = Joint(one.function.xreplace(places), 2, 3, K[:2])
    symbols = {K[0]: sp.Float(1.1), K[1]: sp.Float(-0.4)}
    # the third field given the first two, by the law of normal variables
    share = np.linalg.solve(COVARIANCE[:2, :2], COVARIANCE[:2, 2])
    given = MEAN[2] + sum(share[n] * (Z[n] - MEAN[n]) for n in (0, 1))
    for joint in (one, other):
        taken = means.mean(joint, COVARIANCE.tolist(), MEAN.tolist())
        front, call = taken.xreplace(symbols).as_coeff_Mul()
        numbers = list(map(float, call.args))
        covariance = np.zeros((3, 3))
        covariance[np.triu_indices(3)] = numbers[:6]
        found = mean_by_rule(one)(RULE, covariance, np.array(numbers[6:9]), np.array(numbers[9:]))
        found *= front
        plane = Joint(joint.function.xreplace({Z[2]: given}), 2, 2, K[:2])
        wanted = _by_squares(plane, COVARIANCE[:2, :2], MEAN, (1.1, -0.4))
        assert found == pytest.approx(wanted, abs=1e-9)
    assert list(means.names.values()) == ["joint_1"]


def test_a_scalar_in_front_of_a_field_may_be_zero() -> None:
    """Two clusters, logistic loss: where outputs vanish, the slope of the loss is one half."""
    P = sd.System()
    c, U = P.latents("c", "rademacher"), P.vectors("U", fixed=True)
    x, w, a = P.inputs("x") + c * U, P.vectors("w", 2), P.scalars("a", 2)
    s = sum(a[k] * (w[k] @ x) for k in (0, 1))
    P.descend(sp.log(1 + sp.exp(-c * s)), {w: sp.Rational(1, 2), a: sp.Rational(3, 5)})
    state = {"U.U": 1.0, "U.w": [0.3, -0.2], "w.w": [[1.0, 0.2], [0.2, 0.7]], "a": [0.0, 0.0]}
    found = P.rates(state).rates
    assert found["a"] == pytest.approx([0.6 * 0.3 / 2, -0.6 * 0.2 / 2], abs=1e-10)
    assert found["w.w"] == pytest.approx(np.zeros((2, 2)), abs=1e-10)
    beside = P.rates(state | {"a": [1e-9, 0.0]}).rates
    assert beside["a"] == pytest.approx(found["a"], abs=1e-8)


class Fields:
    """Fields of three vectors with one input, and numbers for their overlaps."""

    def __init__(self) -> None:
        P = sd.System()
        x = P.inputs("x")
        self.vectors = [P.vectors(n) for n in "abc"]
        self.fields = [w @ x for w in self.vectors]
        self.law = FieldLaw(P.statement)

    def value(self, taken: sp.Expr, means: Any) -> float:
        """A taken mean, with functions of one field integrated by SciPy."""
        numbers = {
            self.vectors[i].dot(self.vectors[j]): sp.Float(COVARIANCE[i, j], 17)
            for i in range(3)
            for j in range(i, 3)
        }
        for call in taken.atoms(sp.core.function.AppliedUndef):
            # the second field of a product of one function does not vary
            variance, *_, mean, _ = (float(each.xreplace(numbers)) for each in call.args)
            (function,) = means.products.told[str(call.func)]
            inner = sp.lambdify(X, function, ["scipy", "numpy"])

            def weighed(
                t: float, inner: Any = inner, c: float = variance, b: float = mean
            ) -> float:
                return float(inner(b + np.sqrt(c) * t)) * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)

            numbers[call] = sp.Float(integrate.quad(weighed, -10, 10, epsabs=1e-13)[0], 17)
        return float(taken.xreplace(numbers))


def test_a_delta_function_is_a_density_times_a_mean_given_its_place() -> None:
    """E[(1 + a) δ(2a − 1) tanh(b)], by the law of b given a = 1/2."""
    given, means = Fields(), SlotMeans()
    a, b, _ = given.fields
    slots = [
        FormSlot(
            (1 + X) * sp.DiracDelta(2 * X - 1) + 3 * sp.DiracDelta(X + 1), a + sp.Rational(1, 5)
        ),
        FormSlot(sp.tanh(X), b),
    ]
    taken = means.mean(slots, given.law)

    def conditional(place: float) -> float:
        """The density of a at a place, times E[tanh(b)] there."""
        gap, variance = place - 0.2, COVARIANCE[0, 0]
        share = COVARIANCE[0, 1] / variance
        left = np.sqrt(COVARIANCE[1, 1] - share * COVARIANCE[0, 1])

        def weighed(t: float) -> float:
            return np.tanh(share * gap + left * t) * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)

        inner = integrate.quad(weighed, -10, 10, epsabs=1e-13)[0]
        return float(inner * np.exp(-(gap**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance))

    wanted = 1.5 / 2 * conditional(0.5) + 3 * conditional(-1.0)
    assert given.value(taken, means) == pytest.approx(wanted, abs=1e-11)


@pytest.mark.parametrize(
    "function",
    [sp.DiracDelta(X) * sp.DiracDelta(X - 1), sp.DiracDelta(X, 1), sp.DiracDelta(X) ** 2],
)
def test_two_delta_functions_and_their_slopes_are_refused(function: sp.Expr) -> None:
    given = Fields()
    slots = [FormSlot(function, given.fields[0]), FormSlot(sp.tanh(X), given.fields[1])]
    with pytest.raises(NotYetError, match="more than one delta"):
        SlotMeans().mean(slots, given.law)


def test_fields_of_a_polynomial_come_last_in_a_joint_mean() -> None:
    given, means = Fields(), SlotMeans()
    a, b, c = given.fields
    va, vb, vc = given.vectors
    slots = [FormSlot(X**2, a), FormSlot(sp.tanh(X), b + 1), FormSlot(X, c)]
    taken = means.mean(slots, given.law)
    function = means.joints.functions["integrand_1"]
    # the mean over the last two: z2 and z3 stand for their means, s for what is left
    s12, s22 = sp.symbols("s12 s22", real=True)
    assert sp.expand(function.value - sp.tanh(Z[0]) * _wick(Z[1], Z[2], s12, s22)) == 0
    order = [vb, vc, va]
    triangle = [order[i].dot(order[j]) for i in range(3) for j in range(i, 3)]
    assert taken == sp.Function("joint_1")(*triangle, 1, 0, 0)
    names = (("integrand", "integrand_1"), ("JOINT_RULE", "JOINT_RULE_1"))
    assert means.joints.functions["joint_1"].names == names
    # compiled code hands the integrand to the rule, and calls the mean with all of its arguments
    assert function.as_value
    arguments = " ".join(map(str, means.joints.functions["joint_1"].arguments))
    assert arguments == "c11 c12 c13 c22 c23 c33 b1 b2 b3"
    assert means.joints.functions["joint_1"].template == "joint_mean_3_1_0"


def _wick(y: sp.Expr, z: sp.Expr, c: sp.Expr, v: sp.Expr) -> sp.Expr:
    """E[(y + r) (z + s)²] of centred r and s with E[r s] = c and E[s²] = v."""
    return y * z**2 + y * v + 2 * z * c


def test_fields_of_any_power_are_averaged_over_exactly() -> None:
    """A field to the twelfth beside a curve: more than five points of Gauss and Hermite know."""
    joint = Joint(sp.cos(Z[0]) * Z[1] ** 12, 1, 2)
    covariance = np.array([[0.7, 0.4], [0.4, 0.9]])
    found = mean_by_rule(joint)(RULE, covariance, np.zeros(2), NONE)
    # cos is the real part of a wave, which moves the mean of the other by i 0.4
    t, w = np.polynomial.hermite_e.hermegauss(20)
    wanted = float((w / w.sum() @ (np.sqrt(0.9) * t + 0.4j) ** 12).real) * np.exp(-0.35)
    # the points end at 7.5 standard deviations
    assert found == pytest.approx(wanted, rel=1e-7)


def test_more_functions_than_can_be_closed_are_refused() -> None:
    P = sd.System()
    x, w = P.inputs("x"), P.vectors("w", MOST_FIELDS + 1)
    slots = [FormSlot(sp.erf(X), field) for field in w @ x]
    with pytest.raises(NotYetError, match=f"product of {MOST_FIELDS + 1} functions"):
        SlotMeans().mean(slots, FieldLaw(P.statement))


def test_products_at_one_field_are_one_function_and_error_functions_stand_alone() -> None:
    given, means = Fields(), SlotMeans()
    a, b, _ = given.fields
    va = given.vectors[0]
    taken = means.mean(
        [FormSlot(X, a), FormSlot(sp.exp(-(X**2)), a), FormSlot(X**2, b), FormSlot(X, a)], given.law
    )
    assert {len(call.args) for call in taken.atoms(sp.core.function.AppliedUndef)} == {3}
    assert means.mean([FormSlot(X, a), FormSlot(1 / X, a)], given.law) == 1
    several = means.mean([FormSlot(sp.erf(X), a), FormSlot(sp.erf(X), a)], given.law)
    assert len(several.args) == 3
    assert set(several.args) == {va.dot(va)}
    # an odd function of centred fields has the mean zero, and no function of its own
    count = len(means.functions)
    assert means.mean([FormSlot(sp.erf(X), b)], given.law) == 0
    assert len(means.functions) == count


def test_parameters_of_functions_are_arguments_of_their_means() -> None:
    given, means = Fields(), SlotMeans()
    s, t = sp.symbols("s t", real=True)
    a, b, _ = given.fields
    va = given.vectors[0]
    taken = means.mean([FormSlot(X**2 + t, a), FormSlot(X + s, b + 3)], given.law)
    (call,) = taken.atoms(sp.core.function.AppliedUndef)
    function = means.functions[str(call.func)]
    assert set(call.args[-2:]) == {s, t}
    assert 3 in call.args
    value = function.value
    for symbol, definition in reversed(function.definitions):
        value = value.xreplace({symbol: definition})
    value = value.xreplace(dict(zip(function.arguments, call.args, strict=True)))
    # E[(a² + t)(b + 3 + s)] of centred a and b
    assert sp.expand(value - (va.dot(va) + t) * (3 + s)) == 0
    assert function.guarded


@pytest.mark.parametrize(
    "function",
    [
        sp.tanh(Z[0] * Z[1]),
        sp.tanh(Z[0]) * sp.tanh(3 * Z[1]) ** 2,
        # points of a short reach miss what an exponential moves outwards
        sp.exp(Z[0] - Z[1]) / (1 + sp.exp(-Z[0])),
    ],
)
def test_stated_errors_hold_at_other_covariances(function: sp.Expr) -> None:
    """Against equal steps along the eigenvectors, which the rule does not know."""
    joint = Joint(function, 2, 2)
    (rule, error), mean, rng = rule_for(joint), mean_by_rule(joint), np.random.default_rng(95)
    call, t = sp.lambdify(Z[:2], function, "numpy"), np.arange(-10, 10, 0.04)
    weights = np.exp(-(t**2) / 2)
    weights /= weights.sum()
    for _ in range(25):
        covariance = field_covariances(rng, 1, 2, LARGEST_VARIANCE)[0]
        values, turn = np.linalg.eigh(covariance)
        (a, b), (c, d) = turn * np.sqrt(np.maximum(values, 0.0))
        x, y = np.meshgrid(t, t)
        wanted = weights @ call(a * x + b * y, c * x + d * y) @ weights
        assert mean(joint_rule(*rule), covariance, np.zeros(2), NONE) == pytest.approx(
            wanted, abs=error
        )


@pytest.mark.parametrize("variance", [1.0, 1e4])
def test_a_logistic_loss_of_large_fields_has_rates(variance: float) -> None:
    """exp(2u)/(1 + exp(u))² was no number where exp(u) is infinite."""
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    b, label = P.scalars("b"), sp.sign(B @ x)
    P.descend(sp.log(1 + sp.exp(-label * (w @ x + b))), {w: 1, b: 1})
    share = 0.6
    state = {"B.B": 1.0, "w.B": share * np.sqrt(variance), "w.w": variance, "b": 0.3}
    found = P.rates(state)

    def moved(h: float, y: int) -> float:
        """The force on a field, times the law of field and label."""
        z = h / np.sqrt(variance)
        law = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi * variance)
        law *= special.ndtr(y * share * z / np.sqrt(1 - share**2))
        return float(y * special.expit(-y * (h + 0.3)) * law)

    def integral(weighed: Callable[[float, int], float]) -> float:
        reach = 9 * np.sqrt(variance)
        ends = [-reach, *np.clip([-40, -3, 3, 40], -reach, reach), reach]
        pieces = [(a, c) for a, c in pairwise(ends) if a < c]
        pairs = [(a, c, y) for a, c in pieces for y in (1, -1)]
        return sum(integrate.quad(weighed, a, c, args=(y,), limit=200)[0] for a, c, y in pairs)

    assert found["b"] == pytest.approx(integral(moved), rel=1e-7)
    square = integral(lambda h, y: moved(h, y) * y * special.expit(-y * (h + 0.3)))
    rate = 2 * integral(lambda h, y: h * moved(h, y)) + square
    assert found["w.w"] == pytest.approx(rate, rel=1e-9)
