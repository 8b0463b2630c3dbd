"""Points of statements on hidden manifolds: the names that stand for their quantities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv_papers.references.integrals import Integrals
from symderiv_papers.references.manifold import Manifold, manifold

__all__ = [
    "CENTRED",
    "UNCENTRED",
    "manifold_points",
]

#: Nonlinearities with and without E f = 0.
CENTRED = ("sign", "x**3/8 + x/2")
UNCENTRED = ("relu", "x**2 + x")
#: K, M, D, N and the network's activation: D/N below, above and at 1.
_SIZES = (
    (3, 2, 4, 7, "erf"),
    (2, 3, 6, 4, "x**3 - x/3"),
    (3, 3, 5, 5, "erf"),
)


def manifold_points(
    functions: Sequence[str] = CENTRED,
    sizes: Sequence[tuple[int, int, int, int, str]] = _SIZES,
    *,
    alike: bool = False,
) -> Callable[[Any], Iterator[Point]]:
    """Return points of claims on the equations of motion.

    Names: K, M, D, N, eta, a, b, c, v[k], w[n] (the teacher's output weights), F[r, i], W[k, i],
    Wt[m, r] (the teacher's), S[k, r], Omega, Sigma, Q, R, T; G[r, s], rho[tau], psi[tau, r],
    SS[k, tau] and WW[m, tau] (projected weights), r[k, m, tau] = SS WW and sigma[k, l, tau] = SS SS
    (the densities over their own mode); TT (Wt F F^T Wt^T/(D N)); rates dr, dsigma, dOmega, dv per
    unit of steps/N, those of one step are step_S, step_SS, step_R; fields lam[k], nu[n], beta[r]
    and their means I2, I3, I4.

    Args:
        functions: f, each tried at a size.
        sizes: K, M, D, N and the activation.
        alike: dr and TT are those of teachers whose overlaps are T in all modes.
    """

    def points(numbers: Any) -> Iterator[Point]:
        for seed, (K, M, D, N, activation) in enumerate(sizes):
            f = functions[seed % len(functions)]
            yield _point(K, M, D, N, f, activation, numbers.dps, seed, alike)

    return points


@lru_cache(maxsize=64)
def _point(
    K: int, M: int, D: int, N: int, f: str, activation: str, digits: int, seed: int, alike: bool
) -> Point:
    state = manifold(K, M, D, N, f, activation, digits, seed)
    label = f"K = {K}, M = {M}, D = {D}, N = {N}, f = {f}, g = {activation}"
    lazy = _lazy(state)
    if alike:
        lazy["dr"], lazy["TT"] = lazy["dr_alike"], lazy["TT_alike"]
    return Point(label, Values(_known(state) | _means(state), lazy))


def _known(state: Manifold) -> dict[str, Any]:
    K, M, D, N = state.K, state.M, state.D, state.N
    a, b, c = state.coefficients
    Ks, Ms, Ds, Ns = (1, K), (1, M), (1, D), (1, N)
    numbers = state.numbers
    return {
        "K": K, "M": M, "D": D, "N": N, "eta": state.eta, "a": a, "b": b, "c": c,
        "v": Indexed(state.v, Ks), "w": Indexed(state.v_teacher, Ms),
        "F": Indexed(state.features, Ds, Ns), "W": Indexed(state.student, Ks, Ns),
        "Wt": Indexed(state.teacher, Ms, Ds), "S": Indexed(state.seen, Ks, Ds),
        "Omega": Indexed(state.student * state.student.T / N, Ks, Ks),
        "Sigma": Indexed(state.seen * state.seen.T / D, Ks, Ks),
        "Q": Indexed(state.block("student", "student"), Ks, Ks),
        "R": Indexed(state.block("student", "teacher"), Ks, Ms),
        "T": Indexed(state.block("teacher", "teacher"), Ms, Ms),
        "lam": Indexed(list(range(K)), Ks), "nu": Indexed(list(range(K, K + M)), Ms),
        "beta": Indexed(list(range(K + M, K + M + D)), Ds),
        "steps": 3, "t": _time_of_steps(3, N, numbers),
    }  # fmt: skip


def _time_of_steps(steps: int, N: int, numbers: Any) -> Any:
    """Return the time at which dx/dt = -N ln(N/(N - 1)) x is where (1 - 1/N)^steps x is."""
    rate = N * numbers.log(numbers.mpf(N) / (N - 1))
    return -numbers.log((1 - numbers.one / N) ** steps) / rate


def _lazy(state: Manifold) -> dict[str, Callable[[], Any]]:
    K, M, D = (1, state.K), (1, state.M), (1, state.D)
    seen = Kept(lambda: state.projected(state.seen))
    teacher = Kept(lambda: state.projected(state.teacher))
    rate = Kept(lambda: state.projected(state.seen_rate))

    def teachers_alike(k: int, m: int, tau: int) -> Any:
        """dr with the teachers' overlap in the mode replaced by its mean over the modes."""
        own = (
            sum(state.gradients[1][k - 1][n] * teacher()[n, tau - 1] for n in range(state.M))
            * teacher()[m - 1, tau - 1]
        )
        mean = sum(
            state.gradients[1][k - 1][n] * state.covariance[state.K + n][state.K + m - 1]
            for n in range(state.M)
        )
        factor = -state.eta * state.coefficients[1] * state.basis[0][tau - 1]
        factor *= state.numbers.mpf(state.N) / state.D
        return rate()[k - 1, tau - 1] * teacher()[m - 1, tau - 1] + factor * (mean - own)

    def half(k: int, l: int, tau: int) -> Any:
        return rate()[k - 1, tau - 1] * seen()[l - 1, tau - 1]

    def drift(k: int, l: int, tau: int) -> Any:
        """Return the derivative of the product along the student's rate."""
        at, along = seen()[:, tau - 1], rate()[:, tau - 1]
        product = at * along.T
        return (product + product.T)[k - 1, l - 1]

    def sigma_rate(k: int, l: int, tau: int) -> Any:
        noise = state.eta**2 * state.noise[k - 1][l - 1] * state.noise_per_mode(tau - 1)
        return drift(k, l, tau) + noise

    def overlap_rate() -> Any:
        half = state.student_rate * state.student.T / state.N
        trace = sum(state.input_covariance[i, i] for i in range(state.N)) / state.N
        return half + half.T + state.eta**2 * trace * state.numbers.matrix(state.noise)

    def weighted(weights: Any) -> Any:
        """Return overlaps with the teachers through F Fᵀ/N, without eigenvectors."""
        matrix = state.features * state.features.T / state.N
        return weights * matrix * state.teacher.T / state.D

    def mode_variance(tau: int) -> Any:
        """D/N times the variance of the inputs along mode tau; of its limit for a mode unseen."""
        direction = state.features.T * state.basis[1][:, tau - 1]
        length = (direction.T * direction)[0]
        a, b, c = state.coefficients
        ratio = state.numbers.mpf(state.D) / state.N
        if length < state.numbers.mpf(10) ** (-state.numbers.dps // 2):
            return (c - a**2 - b**2) * ratio
        return (direction.T * state.input_covariance * direction)[0] / length * ratio

    def second_moments() -> Any:
        """Return those of the student's fields with inputs that are not centred."""
        means = state.coefficients[0] * state.student * state.numbers.ones(state.N, 1)
        return state.numbers.matrix(state.block("student", "student")) + means * means.T / state.N

    def error_derivative(p: int, q: int) -> Any:
        """Return second derivative of the engine's error by two output weights."""
        units = state.K + state.M

        def error(*ones: int) -> Any:
            weights = [state.numbers.mpf(ones.count(i)) for i in range(units)]
            v, v_teacher = weights[: state.K], weights[state.K :]
            return replace(state.overlaps, v=v, v_teacher=v_teacher).error(state.numbers)

        both, alone = error(p, q), error(p) + error(q)
        sign = 1 if (p < state.K) == (q < state.K) else -1
        mixed = both - alone
        return mixed if p != q or sign < 0 else both / 2

    return {
        "G": lambda: Indexed(state.features * state.features.T / state.N, D, D),
        "rho": lambda: Indexed(list(state.basis[0]), D),
        "psi": lambda: Indexed(state.basis[1].T, D, D),
        "SS": lambda: Indexed(seen(), K, D),
        "WW": lambda: Indexed(teacher(), M, D),
        "r": lambda: Indexed(
            lambda k, m, tau: seen()[k - 1, tau - 1] * teacher()[m - 1, tau - 1], K, M, D
        ),
        "sigma": lambda: Indexed(
            lambda k, l, tau: seen()[k - 1, tau - 1] * seen()[l - 1, tau - 1], K, K, D
        ),
        "TT": lambda: Indexed(weighted(state.teacher), M, M),
        "mixed": lambda: Indexed(weighted(state.seen), K, M),
        "d": lambda: Indexed(mode_variance, D),
        "second": lambda: Indexed(second_moments(), K, K),
        "u": lambda: Indexed([*state.v, *(-x for x in state.v_teacher)], (1, state.K + state.M)),
        "z": lambda: Indexed(list(range(state.K + state.M)), (1, state.K + state.M)),
        "dr": lambda: Indexed(
            lambda k, m, tau: rate()[k - 1, tau - 1] * teacher()[m - 1, tau - 1], K, M, D
        ),
        "dr_alike": lambda: Indexed(teachers_alike, K, M, D),
        "TT_alike": lambda: Indexed(
            state.numbers.matrix(state.block("teacher", "teacher"))
            * sum(state.basis[0]) / state.D, M, M
        ),
        "dsigma": lambda: Indexed(sigma_rate, K, K, D),
        "half": lambda: Indexed(half, K, K, D),
        "drift": lambda: Indexed(drift, K, K, D),
        "dOmega": lambda: Indexed(overlap_rate(), K, K),
        "dv": lambda: Indexed([-state.eta * x for x in state.gradients[2]], K),
        "step_S": lambda: Indexed(state.seen_rate / state.N, K, D),
        "step_SS": lambda: Indexed(rate() / state.N, K, D),
        "step_R": lambda: Indexed(
            state.coefficients[1] * state.seen_rate * state.teacher.T / (state.D * state.N), K, M
        ),
        "eps_g": lambda: state.error,
        "corr": lambda: Indexed(lambda k, m: -error_derivative(k - 1, state.K + m - 1), K, M),
        "corr_S": lambda: Indexed(lambda k, j: error_derivative(k - 1, j - 1), K, K),
    }  # fmt: skip


class Kept:
    """A function without arguments, computed once."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    @cached_property
    def value(self) -> Any:
        return self._make()

    def __call__(self) -> Any:
        return self.value


def _means(state: Manifold) -> dict[str, Callable[..., Any]]:
    """I2, I3 and I4 of fields, which are numbers of rows of the covariance."""
    integrals = Integrals(state.activation, state.numbers)
    known: dict[tuple[int, ...], Any] = {}

    def mean(count: int) -> Callable[..., Any]:
        def of_fields(*fields: int) -> Any:
            if len(fields) != count:
                raise TypeError(f"I{count} has {count} arguments")
            if fields not in known:
                different = list(dict.fromkeys(fields))
                rows = [[state.covariance[i][j] for j in different] for i in different]
                pattern = tuple(different.index(field) for field in fields)
                known[fields] = integrals.at(rows, pattern)
            return known[fields]

        return of_fields

    return {f"I{count}": mean(count) for count in (2, 3, 4)}
