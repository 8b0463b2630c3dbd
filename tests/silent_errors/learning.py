"""Commands on learning: derive, generate, plateau, asymptotics, linear."""

# A table: one case per line is easier to read than six.
# ruff: noqa: E501

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import mpmath
import numpy as np
from scipy.linalg import expm

from silent_errors.evidence import pi, sqrt
from silent_errors.gate import Case, Pair, Raises, Refutes, Returns

ISOTROPIC = ("--T1", "1", "--D1", "0", "--T2", "1", "--D2", "0")


# -- the plateau: students alike, J = a times the sum of the teachers --------------------------------


def _erf_mean(c: Any, a: Any, b: Any) -> Any:
    return 2 / mpmath.pi * mpmath.asin(c / mpmath.sqrt((1 + a) * (1 + b)))


@cache
def _plateau(M: int, T: Any, D: Any, mean: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """R, Q and ε_g where the error along J = a ΣB is least; D is the rest of a row of T."""
    T, D = mpmath.mpf(T), mpmath.mpf(D)

    def error(a: Any) -> Any:
        R, Q = a * (T + D), a * a * M * (T + D)
        teacher = mean(T, T, T) + (M - 1) * mean(D / (M - 1), T, T)
        return (M * mean(Q, Q, Q) - 2 * M * mean(R, Q, T) + teacher) / 2

    with mpmath.workdps(40):
        a = mpmath.findroot(
            lambda a: mpmath.diff(error, a),
            (mpmath.mpf(1) / (20 * M), mpmath.mpf(2) / M),
            solver="anderson",
            verify=False,
        )
        return a * (T + D), a * a * M * (T + D), error(a)


@cache
def _escape(M: int, T: Any, D: Any) -> float:
    """The growing rate of the flow of M x M weights in the teachers' span, from second differences."""
    with mpmath.workdps(40):
        T, D = mpmath.mpf(T), mpmath.mpf(D)
        R, _, _ = _plateau(M, T, D, _erf_mean)
        off = D / (M - 1)
        metric = mpmath.matrix(M, M)
        for n in range(M):
            for m in range(M):
                metric[n, m] = T if n == m else off
        a = R / (T + D)
        start = [a] * (M * M)

        def error(w: list[Any]) -> Any:
            rows = mpmath.matrix(M, M)
            for i in range(M):
                for n in range(M):
                    rows[i, n] = w[i * M + n]
            cross = rows * metric
            overlap = cross * rows.T
            total = mpmath.mpf(0)
            for i in range(M):
                for j in range(M):
                    total += _erf_mean(overlap[i, j], overlap[i, i], overlap[j, j])
                    total -= 2 * _erf_mean(cross[i, j], overlap[i, i], T)
            return total / (2 * M)

        h = mpmath.mpf(10) ** -10
        size = M * M
        hessian = mpmath.matrix(size, size)

        def moved(*steps: tuple[int, int]) -> Any:
            w = list(start)
            for at, sign in steps:
                w[at] += sign * h
            return error(w)

        for p in range(size):
            for q in range(p + 1):
                second = (
                    moved((p, 1), (q, 1)) - moved((p, 1), (q, -1))
                    - moved((p, -1), (q, 1)) + moved((p, -1), (q, -1))
                ) / (4 * h * h)  # fmt: skip
                hessian[p, q] = hessian[q, p] = second
        inverse = metric**-1
        block = mpmath.matrix(size, size)
        for i in range(M):
            for n in range(M):
                for m in range(M):
                    block[i * M + n, i * M + m] = inverse[n, m]
        rates = mpmath.eig(-block * hessian, left=False, right=False)
        return float(max(mpmath.re(rate) for rate in rates))


def plateau() -> list[Case]:
    """Heights and escape rates against a minimisation written here."""
    cases: list[Case] = []
    why = "least error along J = a sum of teachers, mpmath"
    small = ((2, "1", "0"), (3, "1", "0"), (7, "1", "0"), (3, "1", "1/4"), (2, "1", "1/2"))
    for M, T, D in (*small, (4, "2", "-1/3"), (5, "1/2", "1/10"), (1000, "1", "0")):
        words = ("plateau", "--units", str(M), "--T1", T, "--D1", D, "--T2", T, "--D2", D)
        t, d = mpmath.mpf(_ratio(T)), mpmath.mpf(_ratio(D))
        for place, name in enumerate(("R", "Q", "generalization_error")):

            def value(M: int = M, t: Any = t, d: Any = d, place: int = place) -> float:
                return float(_plateau(M, t, d, _erf_mean)[place])

            cases.append(Case(words, Returns(value, name, 1e-11), why))
    for M, D in ((2, "0"), (3, "0"), (3, "1/4")):
        words = ("plateau", "--units", str(M), "--T1", "1", "--D1", D, "--T2", "1", "--D2", D)
        for rate in ("1", "1/10"):

            def growing(M: int = M, D: str = D, rate: str = rate) -> float:
                return _ratio(rate) * _escape(M, 1, mpmath.mpf(_ratio(D)))

            outcome = Returns(growing, "unstable_eigenvalue", 1e-9)
            by = "Hessian of the error by differences in 40 digits"
            cases.append(Case((*words, "--learning-rate", rate), outcome, by))
    saad = [(M, 1 / sqrt(M * (2 * M - 1)), 1 / (2 * M - 1)) for M in (2, 5, 40)]
    for M, R, Q in saad:
        words = ("plateau", "--units", str(M), *ISOTROPIC)
        by = "Saad and Solla 1995: R = 1/sqrt(M(2M - 1)) and Q = 1/(2M - 1)"
        cases += [Case(words, Returns(R, "R", 1e-13), by), Case(words, Returns(Q, "Q", 1e-13), by)]
    linear = ("plateau", "--units", "4", *ISOTROPIC, "--activation", "linear")
    for name, expected in (("R", 0.25), ("generalization_error", 0.0)):
        outcome = Returns(expected, name, 1e-13)
        cases.append(Case(linear, outcome, "linear: the mean of the teachers, R = 1/M, is perfect"))
    return cases


def _ratio(text: str) -> Any:
    """A ratio like 1/4 with 40 digits."""
    above, _, below = text.partition("/")
    with mpmath.workdps(40):
        return mpmath.mpf(above) / mpmath.mpf(below or "1")


# -- late learning ----------------------------------------------------------------------------------


def _late_rates(M: int, eta: float) -> list[float]:
    """All rates at first order, L = 1, T = 1, D = 0: of overlaps from second differences of the
    error at J = B, of distances 2 η v² times the eigenvalues of E[g'(y) g'(y)]."""
    with mpmath.workdps(50):
        h = mpmath.mpf(10) ** -12

        def error(r: Any, s: Any) -> Any:
            # every student: own teacher 1 + r, every other teacher s
            own, length = 1 + r, (1 + r) ** 2 + (M - 1) * s * s
            among = 2 * (1 + r) * s + (M - 2) * s * s
            students = _erf_mean(length, length, length) + (M - 1) * _erf_mean(
                among, length, length
            )
            cross = _erf_mean(own, length, 1) + (M - 1) * _erf_mean(s, length, 1)
            return (students - 2 * cross + _erf_mean(1, 1, 1)) / 2

        def second(a: tuple[int, int], b: tuple[int, int]) -> Any:
            total = mpmath.mpf(0)
            for p in (1, -1):
                for q in (1, -1):
                    total += p * q * error(h * (p * a[0] + q * b[0]), h * (p * a[1] + q * b[1]))
            return total / (4 * h * h)

        rr, rs, ss = second((1, 0), (1, 0)), second((1, 0), (0, 1)), second((0, 1), (0, 1))
        # M weights move with r, M (M - 1) with s
        matrix = mpmath.matrix([[rr / M, rs / M], [rs / (M * (M - 1)), ss / (M * (M - 1))]])
        overlaps = [float(mpmath.re(each)) for each in mpmath.eig(matrix, left=False, right=False)]
    same, other = 2 / pi / sqrt(3) / M, 2 / pi / 2 / M
    distances = [2 * (same + (M - 1) * other), 2 * (same - other)]
    return sorted(eta * rate for rate in overlaps + distances)


def asymptotics() -> list[Case]:
    """Rates around perfect learning, and what an unstable linearisation says."""

    def words(M: int, eta: str, *more: str) -> tuple[str, ...]:
        spectrum = ["--distinct-eigenvalues", "1", "--exponent", "1"]
        return ("asymptotics", "--units", str(M), *spectrum, "--learning-rate", eta, *more)

    why = "second differences of the arcsine form of the error in 50 digits"
    cases: list[Case] = []
    for M, eta in ((2, "1"), (3, "0.1")):
        outcome = Returns(lambda M=M, eta=eta: _late_rates(M, float(eta)), "rates", 1e-9)
        cases.append(Case(words(M, eta), outcome, why))
    stable = Case(words(2, "0.01", "--full"), Returns(True, "stable"), "the noise is of order η²")
    late = Case(
        words(2, "0.01", "--full", "--alpha", "0,10000000"),
        Returns(
            [False, True],
            lambda answer, folder: [each < 1e-30 for each in answer["generalization_error"]],
        ),
        "all rates are positive: at α = 10⁷ nothing is left",
    )
    unstable = words(2, "1000", "--full", "--alpha", "1,10,100")
    cases += [
        stable,
        late,
        Case(unstable, Returns(False, "stable"), "the noise, of order η², outgrows the drift"),
        Case(unstable, Returns(None, "generalization_error"), "deviations grow: there is no late error"),
    ]  # fmt: skip

    return cases


# -- linear networks ------------------------------------------------------------------------------------


def _power_law(L: int, beta: float) -> np.ndarray[Any, Any]:
    found = np.arange(1, L + 1) ** -(1.0 + beta)
    return found / found.mean()


def _linear_error(
    L: int,
    beta: float,
    eta: float,
    std: float,
    times: list[float],
    trained: int | None = None,
    quadratic: bool = True,
) -> list[float]:
    """½ Σ w ρ m with dm_k = -2ηρ_k m_k + η²ρ_k Σ w ρ m, m the mean square of the weights' errors."""
    rho = _power_law(L, beta)
    matrix = -2 * eta * np.diag(rho) + quadratic * eta**2 * np.outer(rho, rho) / L
    if trained is not None:
        matrix[trained:] = 0.0
    start = np.full(L, 1 + std**2)
    return [float(0.5 * rho @ expm(matrix * at) @ start / L) for at in times]


def linear() -> list[Case]:
    """Exact errors of linear networks against the matrix exponential of their mean squares."""
    cases: list[Case] = []
    why = "matrix exponential of the equations for mean squares, SciPy"
    times = [0.0, 0.5, 1.0, 3.0, 10.0, 40.0]
    alpha = ",".join(map(str, times))
    for L, beta, eta, std in (
        (1, 1.0, 0.5, 0.0),
        (1, 1.0, 1.9, 1.0),
        (2, 0.5, 1.0, 0.3),
        (8, 1.0, 0.1, 0.1),
        (8, 1.0, 1.99, 0.0),
        (32, 2.0, 0.5, 0.7),
        (32, 0.25, 1.5, 0.0),
    ):
        words = _linear(L, beta, eta, std, alpha)

        exact = partial(_linear_error, L, beta, eta, std, times)
        small = partial(exact, quadratic=False)
        cases.append(Case(words, Returns(exact, "generalization_error", 1e-10), why))
        outcome = Returns(small, "small_learning_rate", 1e-10)
        cases.append(Case(words, outcome, f"{why}, without η²"))
    words = _linear(8, 1.0, 0.5, 0.0, "1")
    rho = _power_law(8, 1.0)
    rates = sorted(np.linalg.eigvals(2 * 0.5 * np.diag(rho) - 0.25 * np.outer(rho, rho) / 8).real)
    outcome = Returns(rates, "rates", 1e-9)
    cases.append(Case(words, outcome, "eigenvalues of the same matrix, NumPy"))
    outcome = Returns(1.0, lambda answer, folder: sum(answer["weights"]), 1e-12)
    cases.append(Case(words, outcome, "weights of a mean"))
    for trained in (1, 3):
        partly = partial(_linear_error, 8, 1.0, 0.5, 0.4, times, trained)
        words = (*_linear(8, 1.0, 0.5, 0.4, alpha), "--trainable", str(trained))
        outcome = Returns(partly, "generalization_error", 1e-10)
        cases.append(Case(words, outcome, f"{why}, the rest of the directions kept"))
    left = 0.5 * float(np.exp(-(2 * 1.99 - 1.99**2)))
    outcome = Returns([left], "generalization_error", 1e-11)
    cases.append(Case(_linear(1, 1.0, 1.99, 0.0, "1"), outcome, "ε = ½ exp(-(2η - η²)α)"))

    return cases


def _linear(L: int, beta: float, eta: float, std: float, alpha: str) -> tuple[str, ...]:
    spectrum = ("--distinct-eigenvalues", str(L), "--exponent", str(beta))
    return ("linear", *spectrum, *f"--learning-rate {eta} --student-std {std}".split(), "--alpha", alpha)  # fmt: skip


# -- derivations and modules -----------------------------------------------------------------------------


def modules() -> list[Case | Pair]:
    """Students whose noise diverges are refused; the nearest is written."""
    jump = "g' contains δ, and Γ_ii contains E[δ(u)²]"

    def written(*words: str, evidence: str) -> Case:
        call = ("generate", "--activation", "linear", "--name", "made_here", *words)
        there = Returns(True, lambda answer, folder: (folder / "made_here.py").is_file())
        return Case(call, there, evidence)

    def refused(activation: str, *said: str, evidence: str = jump, more: str = "") -> Case:
        call = ("generate", "--activation", activation, "--name", "made_here", *more.split())
        return Case(call, Raises(2, said), evidence)

    good = written(evidence="polynomials have all means")
    return [
        Pair(refused("sign", "Γ_ii"), written("--teacher-activation", "sign", evidence="a jump in the teacher is fine: E[g'² h²] is finite")),
        Pair(refused("step", "Γ_ii"), good),
        Pair(refused("x+Heaviside(x)", "Γ_ii"), good),
        Pair(refused("tanh(x)+sign(x)", "Γ_ii"), good),
        Pair(refused("exp(x**2)", evidence="E[g'^4] needs variances below 1/8 only, for every state"), good),
        Pair(refused("exp(x**3)", evidence="grows faster than every Gaussian decays"), good),
        Pair(refused("1/x", evidence="1/|x| at 0"), good),
        Pair(refused("tanh(x)/x**2", evidence="1/|x| at 0"), good),
        *(Pair(refused(text, "not real at x", evidence="complex at x = -1/2 or -3"), good) for text in ("x**x", "log(3+x)", "sqrt(9-x**2)*exp(-x**2)")),
        Pair(refused("x", "1e-60", more="--teacher-activation 1e-320", evidence="no double"), good),
        Pair(refused("exp(x-1000)", "scale", evidence="0 in doubles for all likely x"), good),
        Pair(Case(("derive", "--activation", "exp(x**3)"), Raises(2, ()), "grows faster than every Gaussian decays"), Case(("derive", "--activation", "linear"), Returns("x", "activation"), "the formula as read")),
        Case(("derive", "--activation", "sin(x)/x"), Returns(False, lambda answer, folder: "does not exist" in str(answer)), "sin(x)/x is bounded and smooth: all its means exist"),
        Case(("derive", "--activation", "sign"), Returns(True, lambda answer, folder: "diverges" in str(answer["noise"])), "E[δ(u)²] diverges: the noise term must say so"),
    ]  # fmt: skip


CLAIM = """title = "t"
[[claim]]
equation = "1"
reference = "i2"
activation = "{activation}"
formula = "{formula}"
"""


def papers() -> list[Case | Pair]:
    """``verify`` on a file of one's own: verdicts and exit codes."""
    right, wrong = "2/pi*asin(c12/sqrt((1+c11)*(1+c22)))", "1/pi*asin(c12/sqrt((1+c11)*(1+c22)))"

    def claim(formula: str, activation: str = "erf") -> dict[str, str]:
        return {"p.toml": CLAIM.format(formula=formula, activation=activation)}

    def verdict(
        formula: str, expected: str, evidence: str, activation: str = "erf", more: str = ""
    ) -> Case:
        files = {"p.toml": CLAIM.format(formula=formula, activation=activation) + more}
        return Case(("verify", "p.toml"), Returns(expected, "claims.0.verdict"), evidence, files)

    def unsettled(formula: str, evidence: str, activation: str = "erf") -> Case:
        return Case(("verify", "p.toml"), Refutes(), evidence, claim(formula, activation))

    good = verdict(right, "holds", "Saad and Solla 1995")
    return [
        Pair(unsettled(wrong, "Saad and Solla 1995: 2/pi, not 1/pi"), good),
        Pair(unsettled("c11*c22+c12**2", "Isserlis: 2 c12²", "quadratic"), verdict("c11*c22+2*c12**2", "holds", "Isserlis", "quadratic")),
        verdict(wrong, "misprint", "Saad and Solla 1995: a factor", more=f'corrected_formula = "{right}"\n'),
        Pair(Case(("verify", "no-such-paper"), Raises(2, ("no-such-paper",)), "no such paper"), good),
        Pair(Case(("verify", "saad-solla-1995", "--equation", "99"), Raises(2, ("--equation",)), "no such equation"), Case(("verify", "saad-solla-1995", "--equation", "I2"), Returns("holds", "claims.0.verdict"), "Saad and Solla 1995")),
    ]  # fmt: skip


CASES: list[Case | Pair] = [*plateau(), *asymptotics(), *linear(), *modules(), *papers()]
