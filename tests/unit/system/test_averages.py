"""Averages that are taken apart, against quadrature over all fields at once.

An average becomes calls of functions of covariances. Their values come from SymPy, those by
quadrature from an integral of the test; the other side never takes anything apart. Rules of equal
steps end at seven standard deviations, which leaves 1e-11 times the growth of the integrand.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
import sympy as sp
from scipy import special
from symderiv_codegen import ScalarFunction
from sympy.core.function import AppliedUndef
from unit.system.statements import gram

import symderiv as sd
from benchmarks.direct_rates import direct_mean, direct_rates
from symderiv.foundation.errors import NotClosed
from symderiv.lowering.means.closed_means import X
from symderiv.lowering.means.joint_means import Joint
from symderiv.statement.field_law import FieldLaw
from symderiv.statement.register import Overlap
from symderiv.statement.stated_motion import Average
from symderiv.system.means.averages import Averages
from symderiv.system.means.slot_means import SlotMeans

THIRD, HALF = sp.Rational(1, 3), sp.Rational(1, 2)
FUNCTIONS = [{"erf": special.erf, "sign": np.sign, "Heaviside": lambda x, _=0: x > 0}, "numpy"]


class Said:
    """A statement with everything that averages can be about, and a state."""

    def __init__(self) -> None:
        P = self.P = sd.System()
        self.x, self.z = P.inputs("x"), P.inputs("z")
        self.e = P.inputs("e", episode=2)
        matrix = [[1, HALF, 0], [HALF, 1, 0], [0, 0, 1]]
        self.y = P.inputs("y", length=3, correlation=matrix)
        self.w, self.v, self.B = P.vectors("w"), P.vectors("v"), P.vectors("B", fixed=True)
        self.wx, self.vx, self.Bx = (each @ self.x for each in (self.w, self.v, self.B))
        self.wz, self.vz, self.Bz = (each @ self.z for each in (self.w, self.v, self.B))
        self.u, self.eta = P.scalars("u"), P.parameter("eta", HALF)
        self.g = P.latents("g")
        self.c = P.latents("c", {-1: sp.Rational(1, 4), 2: sp.Rational(3, 4)})
        self.r = P.latents("r", "rademacher")
        self.state = gram({"w": None, "v": None, "B": None}, 6) | {"u": 0.4}
        self.means = SlotMeans()
        self.averages = Averages(FieldLaw(P.statement), self.means)

    def numbers(self, expression: sp.Expr) -> dict[sp.Symbol, float]:
        found: dict[sp.Symbol, float] = {self.u: 0.4, self.eta: 0.5}
        for symbol in expression.free_symbols:
            meaning = self.P.statement.symbols.meaning.get(symbol)
            if isinstance(meaning, Overlap):
                name = f"{meaning.first.name}.{meaning.second.name}"
                found[symbol] = float(self.state[name])
        return found

    def value(self, taken: sp.Expr) -> float:
        """A taken average at the state."""
        numbers = self.numbers(taken)
        for call in taken.atoms(AppliedUndef):
            arguments = [float(a.xreplace(numbers)) for a in call.args]
            name = str(call.func)
            joints = {each: joint for joint, each in self.means.joints.names.items()}
            products = self.means.products.told
            if name in joints:
                numbers[call] = _integrated(joints[name], arguments)
            elif name in products:
                numbers[call] = _integrated(*_of_varying(products[name], arguments))
            else:
                numbers[call] = _evaluated(self.means.functions[name], arguments)
        return float(taken.xreplace({k: sp.Float(v, 17) for k, v in numbers.items()}))


def _evaluated(function: ScalarFunction, arguments: list[float]) -> float:
    known = dict(zip(function.arguments, map(sp.Float, arguments), strict=True))
    for symbol, definition in function.definitions:
        known[symbol] = definition.xreplace(known)
    return float(sp.N(function.value.xreplace(known), 17))


def _of_varying(functions: list[sp.Expr], arguments: list[float]) -> tuple[Joint, list[float]]:
    """A product of functions of x at as many fields, and their moments, without those of fields
    that do not vary and come last.
    """
    count, size = len(functions), 2 if len(arguments) == 5 else 4
    fields = sp.symbols(f"z1:{count + 1}", real=True)
    product = sp.Mul(*(f.xreplace({X: z}) for f, z in zip(functions, fields, strict=True)))
    rows = [*zip(*np.triu_indices(size), strict=True)]
    moments = [c for c, pair in zip(arguments, rows, strict=False) if max(pair) < count]
    return Joint(product, count, count), moments + arguments[len(rows) :][:count]


def _integrated(joint: Joint, arguments: list[float]) -> float:
    """Equal steps for the first fields, Gauss and Hermite for those it is a polynomial of."""
    size, curved, moments = joint.size, joint.nonlinear, joint.size * (joint.size + 1) // 2
    covariance = np.zeros((size, size))
    covariance[np.triu_indices(size)] = arguments[:moments]
    covariance += np.triu(covariance, 1).T
    means, constants = arguments[moments : moments + size], arguments[moments + size :]
    t = np.arange(-7, 7.1, 0.2)
    rules = [(t, np.exp(-(t**2) / 2))] * curved
    rules += [np.polynomial.hermite_e.hermegauss(7)] * (size - curved)
    points = np.array([g.ravel() for g in np.meshgrid(*(t for t, _ in rules), indexing="ij")])
    weights = np.ones(1)
    for _, w in rules:
        weights = np.multiply.outer(weights, w / w.sum()).ravel()
    fields = np.linalg.cholesky(covariance) @ points + np.array(means)[:, None]
    function = sp.lambdify([*joint.fields, *joint.constants], joint.function, FUNCTIONS)
    return float(weights @ np.broadcast_to(function(*fields, *constants), weights.shape))


Of = Callable[[Said], sp.Expr]

CLOSED: dict[str, Of] = {
    "a number": lambda s: s.eta * s.u**2 * s.w.dot(s.B) + 3,
    "fields of two vectors": lambda s: sp.erf(s.wx) * sp.erf(s.Bx) * s.vx**2,
    "biases": lambda s: sp.erf(2 * s.wx - s.u + THIRD) * (s.Bx + s.eta),
    "one field in several functions": lambda s: (
        sp.erf(s.wx) * sp.exp(-(s.wx**2) / 4) * s.wx * (1 - s.Bx)
    ),
    "combinations of fields": lambda s: sp.erf(s.wx / 2 - s.Bx) * (2 * s.Bx - s.wx + 1) ** 3,
    "a square of a sum": lambda s: (sp.erf(s.wx) - s.u * sp.erf(s.Bx) - THIRD) ** 2,
    "a cube of a sum": lambda s: (sp.erf(s.wx) + s.vx) ** 3 * s.Bx,
    "powers of error functions": lambda s: sp.erf(s.wx) ** 3 * s.Bx,
    "inputs that part": lambda s: sp.erf(s.wx) * s.Bx * sp.erf(s.wz) * s.vz * s.eta,
    "a sum across inputs": lambda s: (sp.erf(s.wx) + s.wz**2) * (s.Bx - 2 * s.Bz + 1) ** 2,
    "a field of two inputs": lambda s: sp.erf(s.wx + 2 * s.vz) * s.Bx * s.Bz**2,
    "correlated tokens": lambda s: (
        sp.erf(s.w @ s.y[0]) * (s.B @ s.y[1]) * sp.erf(s.v @ s.y[2]) * (s.B @ s.y[2])
    ),
    "examples of an episode": lambda s: s.e.mean(sp.erf(s.w @ s.e) * (s.B @ s.e)) ** 2,
    "latents with two values": lambda s: sp.erf(s.wx + s.c + s.r / 2) * (s.Bx + s.r) * s.c,
    "a Gaussian latent": lambda s: sp.erf(s.wx + 2 * s.g) * s.g * s.Bx**2,
    "exponentials of a sum": lambda s: sp.exp(s.wx - s.Bx / 2 + s.u / 3 - s.Bz**2 / 5) * s.u,
}

JUMPS: dict[str, Of] = {
    "signs": lambda s: sp.sign(s.wx) * sp.sign(s.Bx),
    "even powers of signs": lambda s: sp.sign(s.wx) ** 2 * sp.Heaviside(s.Bx) ** 3,
    "odd powers of signs": lambda s: sp.sign(s.wx) ** 3 * s.Bx,
    "powers in a sum": lambda s: (sp.sign(s.wx) + sp.Heaviside(s.Bx) * s.wx) ** 2 * s.Bx**2,
    "absolute values": lambda s: sp.Abs(s.wx) ** 3 * s.Bx**2 * sp.Abs(s.Bx),
    "the larger": lambda s: sp.Max(s.wx, 0) ** 2 * sp.Min(s.Bx, 0) * s.Bx,
    "ramps": lambda s: sp.Heaviside(s.wx) * s.wx * s.Bx * sp.Heaviside(s.Bx),
}

OPEN: dict[str, Of] = {
    "a curve beside a field": lambda s: sp.tanh(s.wx) * s.Bx * s.vx,
    "two curves": lambda s: sp.tanh(s.wx) * sp.tanh(s.Bx + HALF),
    "a curve of a combination": lambda s: sp.tanh(s.wx - 2 * s.Bx),
    "a curve of a product": lambda s: sp.tanh(s.wx * s.Bx + 1) * s.Bx**2,
    "a quotient": lambda s: s.wx**2 / (1 + s.Bx**2 / 9 + s.wx**2 / 7),
    "curves that part": lambda s: sp.tanh(s.wx) * s.Bx * sp.tanh(s.wz) ** 2,
    "a sum with a closed part": lambda s: (sp.tanh(s.wx) - sp.erf(s.Bx)) * s.Bx + s.wz**4,
    "a curve that is shifted": lambda s: sp.tanh(s.wx + s.u) * (s.wx - s.eta * s.Bx) ** 2 * s.eta,
    "a softmax with positions": lambda s: (
        (s.wx + s.u * s.wz)
        / (1 + sp.exp(s.wx - s.wz + s.w.dot(s.B)))
        * sp.tanh(s.wx - s.wz + s.w.dot(s.B))
    ),
    "a logistic slope with a bias": lambda s: (
        (s.wx + s.u)
        * sp.exp(-s.wx - s.u)
        / (1 + sp.exp(-s.wx - s.u)) ** 2
        * sp.log(1 + sp.exp(s.Bx))
    ),
    "a logistic slope of two fields": lambda s: (
        sp.exp(-s.wx - s.wz) / (1 + sp.exp(-s.wx - s.wz)) ** 2 * sp.atan(s.Bx)
    ),
    "a slope that is a parameter": lambda s: sp.tanh(s.eta * s.wx) * s.Bx,
    "tokens": lambda s: sp.tanh((s.w @ s.y[0]) * (s.B @ s.y[1])) * (s.w @ s.y[1]) * (s.B @ s.y[0]),
}


@pytest.mark.days(3)
@pytest.mark.parametrize("name", [*CLOSED, *OPEN])
def test_a_mean_is_the_integral_over_all_fields(name: str) -> None:
    said = Said()
    expression = (CLOSED | OPEN)[name](said)
    taken = said.averages.mean(expression)
    assert said.means.by_quadrature == (name in OPEN)
    wanted = direct_mean(said.P.statement, expression, said.state, 0.2)
    assert said.value(taken) == pytest.approx(wanted, rel=1e-8, abs=1e-10)
    if name in CLOSED:
        assert abs(wanted) > 1e-4


@pytest.mark.parametrize("name", JUMPS)
def test_a_mean_of_jumps_is_the_integral_between_them(name: str) -> None:
    said = Said()
    expression = JUMPS[name](said)
    taken = said.averages.mean(expression)
    wanted = direct_mean(said.P.statement, expression, said.state)
    assert said.value(taken) == pytest.approx(wanted, rel=1e-11)


def test_a_mean_that_was_taken_is_not_taken_again() -> None:
    said = Said()
    first = said.averages.mean(sp.erf(said.w @ said.x) * (said.B @ said.x))
    same = said.averages.mean(3 * sp.erf(said.w @ said.z) * (said.B @ said.z) * said.u)
    assert len(said.means.functions) == 1
    assert same == 3 * said.u * first
    said.averages.mean(sp.erf(2 * (said.w @ said.z)) * (said.B @ said.z))
    assert len(said.means.functions) == 2


def test_independent_factors_part_before_quadrature() -> None:
    said = Said()
    taken = said.averages.mean(sp.tanh(said.w @ said.x) ** 2 * sp.tanh(said.w @ said.z) ** 2)
    (mean,) = said.means.products.names.values()
    assert taken == sp.Function(mean)(said.w.dot(said.w), 0, 0, 0, 0) ** 2


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (lambda s: sp.exp((s.w @ s.x) ** 2 / 2), "does not exist"),
        (lambda s: sp.tanh(sp.Abs((s.w @ s.x) * (s.v @ s.x) - 1)), "not on a plane"),
    ],
)
def test_a_mean_that_is_not_taken_is_told_with_its_line(of: Of, words: str) -> None:
    said = Said()
    average = Average(of(said))
    with pytest.raises(NotClosed, match=words) as refused:
        said.averages.lowered(2 * average, "statement 1 (update)")
    assert refused.value.average == f"E[{average.args[0]}]"
    assert refused.value.statement == "statement 1 (update)"


@pytest.mark.parametrize("name", [name for name in OPEN if name.startswith("a logistic slope")])
def test_exponentials_stand_in_the_functions_that_they_keep_bounded(name: str) -> None:
    """exp(-h) beside a function of h + b was a factor of its own, at a field that the others
    determine, and means were off by 1e51 at a variance of 100.
    """
    said = Said()
    said.averages.mean(OPEN[name](said))
    assert [len(factors) for factors in said.means.products.told.values()] == [2]
    assert said.means.error < 1e-8


def test_one_function_is_found_in_all_its_forms() -> None:
    said, names = Said(), set()
    for function in (
        lambda z: 1 / (1 + sp.exp(-z)) ** 2,
        lambda z: 3 * sp.exp(2 * z) / (1 + sp.exp(z)) ** 2,
        lambda z: (1 - 1 / (1 + sp.exp(z))) / (-2 - 2 * sp.exp(-z)),
    ):
        taken = said.averages.mean(function(said.w @ said.x) * sp.atan(said.B @ said.x))
        names |= {call.func for call in taken.atoms(AppliedUndef)}
    assert len(names) == 1


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_sign_beside_a_shifted_one_of_a_field_that_coincides(side: float) -> None:
    """sgn(z) sgn(±z + 1) is ±1 but for z between zero and ∓1; a form of Owen's function gave 0."""
    P = sd.System()
    x, w, v = P.inputs("x"), P.vectors("w"), P.vectors("v")
    P.update({w: -w, v: -v})
    P.observe(seen=sp.sign(w @ x) * sp.sign(v @ x + 1))
    state = {"w.w": 0.6, "w.v": side * 0.6, "v.v": 0.6}
    between = math.erf(1 / math.sqrt(2 * 0.6)) / 2
    exact = side * (1 - 2 * between)
    assert P.rates(state).observables["seen"] == pytest.approx(exact, abs=1e-14)


def _density(place: float) -> float:
    return math.exp(-(place**2)) / math.sqrt(math.pi)


#: With Q = 1/2, R = 1/5, T = 13/10: h = ±c has the density exp(-c²)/√π, and there the teacher's
#: field has the mean 2 h/5 and the variance 61/50.
AT_DELTAS: dict[str, tuple[Callable[[sp.Expr, sp.Expr], sp.Expr], float]] = {
    "beyond": (lambda h, b: sp.Heaviside(h - 3 * HALF / 2) * sp.DiracDelta(abs(h) - HALF), 0.0),
    "of one side": (
        lambda h, b: sp.Heaviside(h - HALF / 2) * b * sp.DiracDelta(abs(h) - HALF),
        _density(0.5) * 0.2,
    ),
    "of an error function": (
        lambda h, b: sp.Heaviside(h + HALF) * b**2 * sp.DiracDelta(sp.erf(h) - HALF),
        _density(special.erfinv(0.5))
        * (1.22 + (0.4 * special.erfinv(0.5)) ** 2)
        / (2 / math.sqrt(math.pi) * math.exp(-(special.erfinv(0.5) ** 2))),
    ),
    "without closed form": (
        lambda h, b: sp.tanh(h + 1) * sp.Heaviside(b + THIRD) * sp.DiracDelta(abs(h) - HALF),
        _density(0.5)
        * sum(
            math.tanh(1 + z) * special.ndtr((0.4 * z + 1 / 3) / math.sqrt(1.22))
            for z in (0.5, -0.5)
        ),
    ),
}


@pytest.mark.parametrize("name", AT_DELTAS)
def test_a_delta_function_of_a_curve_is_one_at_each_of_its_zeros(name: str) -> None:
    of, exact = AT_DELTAS[name]
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    P.update({w: -w})
    P.observe(seen=of(w @ x, B @ x))
    state = {"w.w": 0.5, "w.B": 0.2, "B.B": 1.3}
    assert P.rates(state).observables["seen"] == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("teacher", [sp.erf, sp.tanh])
def test_normalised_weights_are_no_obstacle(teacher: Callable[[sp.Expr], sp.Expr]) -> None:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    s = P.scalars("s")
    out = sp.erf(s * (w @ x) / sp.sqrt(w.dot(w)))
    P.descend((out + w @ x - teacher(B @ x)) ** 2 / 2, {w: 0.5, s: 0.5})
    state = {"w.w": 0.8, "w.B": -0.3, "B.B": 1.3, "s": -0.7}
    found = P.rates(state)
    for name, rate in direct_rates(P.statement, state, 0.2).items():
        assert found[name] == pytest.approx(rate, abs=1e-9), name
