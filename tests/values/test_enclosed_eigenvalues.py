"""Eigenvalues of proved fixed points are in their balls: mpmath's, of equations typed by hand.

The point is found again by Newton's method at many digits, and its Jacobian by differences.
"""

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from flint import arb, arb_mat, ctx

import symderiv as sd
from benchmarks.enclosures import certified, quadratic
from benchmarks.hand_written import HandWritten, Rule
from symderiv.precision.balls.eigenvalues import doubles_of, enclosed_eigenvalues

pytestmark = pytest.mark.turns(2)

# mpmath loses half of the digits of a double eigenvalue
_DIGITS = 110
Rates = Callable[[Sequence[Any]], list[Any]]


def by_hand(T: Any, v: Sequence[float], v_teacher: Sequence[float], rule: Rule) -> Rates:
    """The typed rates as a function of Q (upper triangle, row by row) and R in mpmath."""
    system = HandWritten(np.array(T, dtype=float), np.array(v_teacher), rule)
    K, M = len(v), len(v_teacher)
    pairs = [(i, k) for i in range(K) for k in range(i, K)]

    def rates(state: Sequence[Any]) -> list[Any]:
        numbers = [arb(mpmath.nstr(x, _DIGITS + 20)).mid() for x in state]
        Q: list[Any] = [[None] * K for _ in range(K)]
        for (i, k), x in zip(pairs, numbers, strict=False):
            Q[i][k] = Q[k][i] = x
        R = [numbers[len(pairs) + M * i : len(pairs) + M * (i + 1)] for i in range(K)]
        dQ, dR, _ = system.rates(Q, R, [arb(each) for each in v])
        flat = [dQ[i][k] for i, k in pairs] + [x for row in dR for x in row]
        return [mpmath.mpf(x.mid().str(_DIGITS + 20, radius=False)) for x in flat]

    return rates


def slopes(rates: Rates, state: Sequence[Any]) -> Any:
    """Central differences with so small a step that their error is below the last digit."""
    size, step = len(state), mpmath.mpf(10) ** (-_DIGITS // 3)
    matrix = mpmath.matrix(size, size)
    for n in range(size):
        ends = [
            rates([x + sign * step if m == n else x for m, x in enumerate(state)])
            for sign in (1, -1)
        ]
        for m in range(size):
            matrix[m, n] = (ends[0][m] - ends[1][m]) / (2 * step)
    return matrix


def exact_eigenvalues(rates: Rates, near: Sequence[Any]) -> list[Any]:
    """The eigenvalues at the fixed point near a state."""
    state = [mpmath.mpf(str(x)) for x in near]
    for _ in range(6):
        moved = mpmath.lu_solve(slopes(rates, state), mpmath.matrix(rates(state)))
        state = [x - y for x, y in zip(state, moved, strict=True)]
    assert max(abs(x) for x in rates(state)) < mpmath.mpf(10) ** (-60)
    return list(mpmath.eig(slopes(rates, state), left=False, right=False))


def missed(point: dict[str, Any], exact: Sequence[Any]) -> float:
    """How far eigenvalues, each matched with one that is shown, are outside of the errors.

    Beyond forty digits the other route has errors of its own.
    """
    left, worst = list(exact), 0.0
    pairs = zip(point["eigenvalues"], point["eigenvalue_errors"], strict=True)
    for (real, imag), (bound, other) in pairs:
        shown = mpmath.mpc(mpmath.mpf(real), mpmath.mpf(imag))
        nearest = min(left, key=lambda each, shown=shown: abs(each - shown))
        left.remove(nearest)
        away = nearest - shown
        worst = max(worst, float(abs(away.real) - bound), float(abs(away.imag) - other))
    assert not left
    return worst if worst > 1e-40 else 0.0


def near(point: dict[str, Any]) -> list[Any]:
    """The upper triangle of Q, then R."""
    Q, R = point["Q"], point["R"]
    return [Q[i][k] for i in range(len(Q)) for k in range(i, len(Q))] + [x for r in R for x in r]


@pytest.fixture(autouse=True)
def many_digits():
    with ctx.workdps(_DIGITS + 25), mpmath.workdps(_DIGITS):
        yield


CASES: dict[str, tuple[Any, Sequence[float], Sequence[float], Rule]] = {
    # perfect learning has double eigenvalues, and one of the saddles a complex pair
    "two and two": (np.eye(2), [1.0, 1.0], [1.0, 1.0], Rule(0.25)),
    "two and three": (
        [[1.0, 0.25, 0.0], [0.25, 0.75, 0.125], [0.0, 0.125, 1.25]],
        [1.0, 0.5],
        [0.5, -0.75, 1.0],
        Rule(0.5, decay=0.015625, noise=0.125),
    ),
    "three and one": ([[1.5]], [1.0, 0.75, 0.5], [1.25], Rule(1.0, decay=0.03125, noise=0.25)),
}


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("digits", [15, 30])
def test_balls_hold_the_eigenvalues_of_typed_equations(name: str, digits: int) -> None:
    T, v, v_teacher, rule = CASES[name]
    problem = sd.Problem(
        "erf",
        students=len(v),
        teachers=len(v_teacher),
        learning_rate=rule.eta,
        weight_decay=rule.decay,
        label_noise=rule.noise,
        student_weights=list(v),
        teacher_weights=list(v_teacher),
    )
    start = {"Q": 0.25 * np.eye(len(v)), "R": np.full((len(v), len(v_teacher)), 0.125), "T": T}
    found = problem.fixed_points(initial=start, digits=digits, starts=4, unconnected=True)
    proved = [point for point in found.points if point["certified"]]
    assert proved
    for point in proved[:4]:
        exact = exact_eigenvalues(by_hand(T, v, v_teacher, rule), near(point))
        assert missed(point, exact) <= 0.0
        bounds = np.array(point["eigenvalue_errors"])
        size = max(abs(float(real)) for real, _ in point["eigenvalues"])
        assert np.max(bounds) < 5.0 * size * 10.0**-digits
        if digits == 30:
            # a point, or a rate, that is another one in its last digits is noticed
            other = Rule(rule.eta * (1 + 2.0**-52), decay=rule.decay, noise=rule.noise)
            wrong = exact_eigenvalues(by_hand(T, v, v_teacher, other), near(point))
            assert missed(point, wrong) > 1e-19
    assert "±" in found.to_text()


def test_eigenvalues_come_in_pairs_and_multiples() -> None:
    T, v, v_teacher, rule = CASES["two and two"]
    problem = sd.Problem(
        "erf",
        students=2,
        teachers=2,
        learning_rate=rule.eta,
        student_weights=list(v),
        teacher_weights=list(v_teacher),
    )
    start = {"Q": 0.25 * np.eye(2), "R": [[0.3, 0.1], [0.1, 0.2]], "T": T}
    points = problem.fixed_points(initial=start, unconnected=True).points
    perfect = points[0]
    assert perfect["eigenvalues"][0] == perfect["eigenvalues"][1]
    pairs = [point for point in points if any(imag for _, imag in point["eigenvalues"])]
    assert pairs
    for point in pairs:
        values = [complex(*each) for each in point["eigenvalues"]]
        assert np.isclose(sum(values).imag, 0.0, atol=1e-18)


def test_eigenvalues_of_a_system_are_in_their_balls() -> None:
    """Two gains that turn about each other, beside a linear unit whose equations are typed here."""
    eta, kappa, turn, T = 0.5, 0.25, 0.75, 1.5
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    a, b = P.scalars("a"), P.scalars("b")
    gap = w @ x - B @ x
    P.descend(gap**2 / 2, {w: eta})
    P.update({w: -kappa * w, a: turn * b - a * (1 + a**2) / 8, b: -turn * a - b / 16})
    P.observe(error=gap**2)
    start = {"w.w": 0.5, "w.B": 0.25, "B.B": T, "a": 0.5, "b": 0.25}
    points = P.fixed_points(start, starts=3).points
    (point,) = [each for each in points if each["certified"]]
    disc = mpmath.sqrt(mpmath.mpf(turn) ** 2 - (mpmath.mpf(1) / 32) ** 2)
    exact = [mpmath.mpf(-eta - kappa), mpmath.mpf(-2 * eta - 2 * kappa + eta**2)]
    exact += [mpmath.mpc(-3 / mpmath.mpf(32), sign * disc) for sign in (1, -1)]
    assert missed(point, exact) <= 0.0
    assert max(max(each) for each in point["eigenvalue_errors"]) < 1e-15
    exact[0] += mpmath.mpf("1e-14")
    assert missed(point, exact) > 0.0


def test_the_eigenvalues_of_a_passed_point_are_in_their_balls() -> None:
    """A quadratic unit without overlap: the rates in u = Q and R typed for it, at R = 0.

    The moments of z = N(0, u) give dQ = -4 eta u (3u - 1) + 4 eta^2 u (15 u^2 - 6u + 3), and R
    grows at the rate 2 eta (1 - 3u + 2) R = 2 eta (3 - 3u) R.
    """
    departure = certified(quadratic)[0].enclosure.departure
    eta, u = mpmath.mpf("0.02"), sp.Symbol("u")
    rate = -4 * u * (3 * u - 1) + 4 * sp.Rational(1, 50) * u * (15 * u**2 - 6 * u + 3)
    root = mpmath.findroot(sp.lambdify(u, rate / u, "mpmath"), mpmath.mpf("0.35"))
    slope = sp.lambdify(u, sp.diff(rate, u), "mpmath")(root)
    exact = [eta * slope, 2 * eta * (3 - 3 * root)]
    assert missed(departure["passes"], exact) <= 0.0
    assert max(max(each) for each in departure["passes"]["eigenvalue_errors"]) < 1e-15


def test_overlapping_discs_are_one_group() -> None:
    """Of two discs that overlap one may hold no eigenvalue; their union holds both."""
    random = np.random.default_rng(3)
    shared = 0
    for _ in range(200):
        size = int(random.integers(2, 5))
        middle = random.normal(size=(size, size)).round(2)
        if random.random() < 0.5 and size > 1:
            # nearly a double eigenvalue, or a Jordan block
            middle[:2, :2] = [[1.0, random.choice([0.0, 1.0])], [0.0, 1.0]]
            middle[2:, :2] = middle[:2, 2:] = 0.0
        radius = 10.0 ** -(random.uniform(0.5, 9.0) + random.uniform(0.0, 4.0, middle.shape))
        pairs = zip(middle.ravel(), radius.ravel(), strict=True)
        balls = arb_mat(size, size, [arb(float(x), float(r)) for x, r in pairs])
        found = enclosed_eigenvalues(balls)
        assert len(found) == size
        if not all(each.is_finite() for each in found):
            continue
        numbers, errors = doubles_of(found)
        shared += len(set(map(str, found))) < size
        for _ in range(5):
            inside = middle + 0.999 * radius * random.choice([-1.0, 1.0], middle.shape)
            exact = mpmath.eig(mpmath.matrix(inside.tolist()), left=False, right=False)
            shown = {"eigenvalues": numbers, "eigenvalue_errors": errors}
            assert missed(shown, exact) <= 0.0
    assert shared > 10


def test_a_real_eigenvalue_is_proved_to_be_real() -> None:
    matrix = arb_mat(3, 3, [arb(x, 1e-12) for x in (2, 1, 0, 1, 3, 1, 0, 1, -1)])
    assert all(each.imag == 0 for each in enclosed_eigenvalues(matrix))
    turning = arb_mat(3, 3, [arb(x, 1e-12) for x in (0, 1, 0, -1, 0, 0, 0, 0, 2)])
    real, *pair = enclosed_eigenvalues(turning)
    assert real.imag == 0
    assert sorted(round(float(each.imag.mid())) for each in pair) == [-1, 1]
