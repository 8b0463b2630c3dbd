"""Equations 48 and 49: the sum over a power law as an integral, and how far they differ.

Throughout z = 2ηλ_+α. The errors are those of small learning rates, sums over exact eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final

from symderiv.verification.arithmetic import extended
from symderiv.verification.bounds import Bound
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Converges, Exact
from symderiv_papers.references.power_laws import PowerLawSum, grid

Points = Callable[[Any], Iterator[Point]]

SMALL, HALF, ONE, LARGE = Fraction(1, 20), Fraction(1, 2), Fraction(1), Fraction(3)


def _formula(numbers: Any) -> Iterator[Point]:
    """General ends, orders and times."""
    for beta, m, n, z, p in (
        (HALF, 2, 4, "3.5", 5),
        (LARGE, 1, 3, "0.4", 4),
        (SMALL, 3, 6, "20", 2),
        (ONE, 1, 2, "1", 1),
        (ONE, 2, 3, "7", 3),
    ):
        law = PowerLawSum(numbers, beta, 8, z, m, n)
        point = law.point(R=lambda law=law, p=p: _remainder(law, p))
        more = {"p": p, "floor": lambda x: int(numbers.floor(x))}
        yield Point(f"{point.label}, p = {p}", extended(point.values, more))


def _remainder(law: PowerLawSum, p: int) -> Any:
    """What the formula leaves over: an integral of the periodic polynomial."""
    numbers, names = law.numbers, law.point().values
    parts = (
        numbers.quad(lambda x: law.derivative(p, x) * names["P"](p, x), [i, i + 1])
        for i in range(law.first, law.last)
    )
    return (-1) ** (p + 1) * numbers.fsum(parts) / numbers.factorial(p)


def _terms(numbers: Any) -> Iterator[Point]:
    for law in grid(numbers, (HALF, LARGE), (2, 5), ("0.3", "8")):
        yield law.point()


def _ranges(zs: tuple[str, ...]) -> Points:
    """Short ranges, times from nearly zero to late."""

    def points(numbers: Any) -> Iterator[Point]:
        for beta, (m, n) in ((HALF, (1, 3)), (SMALL, (2, 4)), (LARGE, (1, 2))):
            for z in zs:
                yield PowerLawSum(numbers, beta, 6, z, m, n).point(str(beta))

    return points


def _intervals(numbers: Any) -> Iterator[Point]:
    for beta in (SMALL, HALF, LARGE):
        yield PowerLawSum(numbers, beta, 4, "0").point()


def _wide(numbers: Any) -> Iterator[Point]:
    """β from 0.05 to 3, L from 2 to 1000, z from nearly 0."""
    zs = ("1e-9", "0.3", "3", "100")
    for law in grid(numbers, (SMALL, HALF, ONE, LARGE), (2, 3, 20, 1000), zs):
        yield law.point(f"beta = {law.beta}, L = {law.L}")


def _half(points: Points) -> Points:
    """The same for ε_g itself, whose terms are half of the printed f."""

    def halved(numbers: Any) -> Iterator[Point]:
        for point in points(numbers):
            values = extended(point.values, {"excess": point.values["excess"] / 2})
            yield Point(point.label, values, series=point.series)

    return halved


def _long_sums(power: int) -> Points:
    """L to infinity; the small parameter is L^-β, or L^-(2+β) where the sum gains on its parts."""

    def points(numbers: Any) -> Iterator[Point]:
        for beta in (Fraction(1, 3), ONE, LARGE):
            for L in (20, 40, 80):
                small = float(L) ** -(float(beta) + power)
                yield PowerLawSum(numbers, beta, L, "0").point(str(beta), small)

    return points


def _window(numbers: Any) -> Iterator[Point]:
    """1 <= z <= L^(1+β)."""
    zs = ("1", "1.5", "4", "12", "400")
    for law in grid(numbers, (SMALL, HALF, ONE, LARGE), (2, 20, 1000), zs):
        if float(law.z) <= float(law.L) ** (1 + float(law.beta)):
            yield law.point(f"beta = {law.beta}, L = {law.L}")


def _many(numbers: Any) -> Iterator[Point]:
    """N = L eigenvalues, ever more of them."""
    for beta in (HALF, ONE, LARGE):
        for L in (50, 100, 200, 400):
            names = PowerLawSum(numbers, beta, L, "1").names | {"N": L}
            yield Point(f"beta = {beta}, N = L = {L}", names, L ** -float(beta), str(beta))


_F: Final = (
    "(1 + sigma_J**2)*lambda_plus/({}L*k**(beta + 1))*exp(-2*eta*lambda_plus*alpha/k**(beta + 1))"
)
_AS_PRINTED: Final = "f as printed, which is twice the summand of equation 47"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "48",
        "total == Integral(f(x), (x, m, n)) + (f(n) + f(m))/2"
        " + Sum(bernoulli(2*k)/factorial(2*k)*(D(2*k - 1, n) - D(2*k - 1, m)),"
        " (k, 1, floor(p/2))) + R",
        _formula,
        Exact(20),
        regime="m to n from 1 to 6, p from 1 to 5; R is (-1)^(p+1) times the integral of the p-th "
        "derivative times P_p/p!",
        where="total is the sum, D(j, x) the j-th derivative of f",
    ),
    Claim(
        "after 48",
        "excess == (f(m) + f(n))/2 + Sum(Integral(D(1, x)*P(1, x), (x, i, i + 1)), (i, m, n - 1))"
        " == (f(m) + f(n))/2 + 1/6*(D(1, n) - D(1, m))/factorial(2)"
        " + Sum(Integral(D(3, x)*P(3, x)/factorial(3), (x, i, i + 1)), (i, m, n - 1))",
        _ranges(("0.6", "9")),
        Exact(18),
        part="two steps",
        printed=0,
        regime="sum minus integral of f; integrals are taken from one integer to the next",
        where="excess is sum minus integral of f from m to n, D(j, x) its j-th derivative",
    ),
    Claim(
        "after 48",
        f"term[k] == {_F.format('')}",
        _terms,
        Exact(),
        ranges="k = 1..L",
        part="f",
        printed=1,
        corrected=f"term[k] == {_F.format('2*')}",
        note="A factor 1/2 is missing: the sum of f is twice the error of equation 47. What "
        "follows uses f as printed in some places and half of it in others.",
        where="term[k] is the k-th summand of the error",
    ),
    Claim(
        "after 48",
        "Derivative(f(x), x) == (1 + sigma_J**2)*lambda_plus/L"
        "*exp(-2*eta*lambda_plus*alpha/x**(beta + 1))"
        "*(2*eta*lambda_plus*alpha*(beta + 1)/x**(2*beta + 3) - (beta + 1)/x**(beta + 2))",
        lambda numbers: (
            Point(point.label, extended(point.values, {"x": numbers.mpf(x)}))
            for point in _terms(numbers)
            for x in ("1", "2.3")
        ),
        Exact(),
        part="derivative of f",
        printed=2,
        given=_AS_PRINTED,
    ),
    Claim(
        "after 48",
        "excess < (f0(m) + f0(n))/2"
        " + Sum(Integral(D0(1, x)*P(1, x), (x, i, i + 1)), (i, m, n - 1))",
        _ranges(("1e-9", "0.5", "5", "300")),
        Bound(0.999, digits=18),
        part="largest at z = 0",
        printed=3,
        regime="z > 0; at z = 0 both sides are equal. The terms u^2 e^(-zu) that the derivative "
        "by z sums decrease for z < 2, and later the maximum of f is too small",
        given=_AS_PRINTED,
        where="excess is sum minus integral of f from m to n; f0 is f at z = 0, D0 its derivatives",
    ),
    Claim(
        "after 48",
        "excess < (f0(1) + f0(L))/2 + (1 + sigma_J**2)*lambda_plus/L*Sum(Delta[k], (k, 1, L - 1))",
        _wide,
        Bound(0.999),
        part="largest at z = 0, long sums",
        printed=3,
        regime="beta from 0.05 to 3, L from 2 to 1000, z from 1e-9 to 100",
        given=_AS_PRINTED,
        where="excess is sum minus integral of f from 1 to L; f0 is f at z = 0",
    ),
    Claim(
        "after 48",
        "Delta[k] == L/((1 + sigma_J**2)*lambda_plus)*Integral(D0(1, x)*P(1, x), (x, k, k + 1))",
        _intervals,
        Exact(18),
        ranges="k = 1..3",
        part="Delta",
        printed=4,
        given=_AS_PRINTED,
        definition=True,
        where="D0(1, x) is the derivative of f at z = 0",
    ),
    Claim(
        "after 48",
        "Delta[k] == 1/(2*(k + 1)**(beta + 1)) + 1/(2*k**(beta + 1))"
        " + 1/(beta*(k + 1)**beta) - 1/(beta*k**beta)",
        _intervals,
        Exact(),
        ranges="k = 1..3",
        part="Delta in closed form",
        printed=5,
    ),
    Claim(
        "after 48",
        "1/2*Sum(1/(k + 1)**(beta + 1), (k, 1, L - 1)) == 1/2*zeta(beta + 1) - 1/2",
        _long_sums(0),
        Converges(1.0),
        part="first sum",
        printed=6,
        regime="L to infinity; the small parameter is L^-beta",
    ),
    Claim(
        "after 48",
        "1/2*Sum(1/k**(beta + 1), (k, 1, L - 1)) == 1/2*zeta(beta + 1)",
        _long_sums(0),
        Converges(1.0),
        part="second sum",
        printed=7,
        regime="L to infinity; the small parameter is L^-beta",
    ),
    Claim(
        "after 48",
        "Sum(1/(beta*(k + 1)**beta) - 1/(beta*k**beta), (k, 1, L - 1)) == -1/beta",
        _long_sums(0),
        Converges(1.0),
        part="third sum",
        printed=8,
        regime="L to infinity; the small parameter is L^-beta",
    ),
    Claim(
        "after 48",
        "Sum(Delta[k], (k, 1, L - 1)) == zeta(beta + 1) - 1/2 - 1/beta",
        _long_sums(2),
        Converges(1.0),
        part="sum of Delta",
        printed=9,
        regime="L to infinity; the small parameter is L^-(2+beta): the errors of the three parts, "
        "which go like L^-beta, cancel",
    ),
    Claim(
        "worst case after 48",
        "excess < (1 + sigma_J**2)*lambda_plus/(2*L)*(1/L**(beta + 1) + zeta(beta + 1) - 1/beta)",
        _wide,
        Bound(0.95),
        part="f as printed",
        given=_AS_PRINTED,
        corrected="excess < (1 + sigma_J**2)*lambda_plus/(2*L)"
        "*(1/L**(beta + 1) + 2*zeta(beta + 1) - 2/beta)",
        note="(f(1) + f(L))/2 plus the sum of the Delta_k gives 2 zeta(beta + 1) - 2/beta; only "
        "the term of f(L) is printed with its 1/2.",
        where="excess is sum minus integral from 1 to L",
    ),
    Claim(
        "worst case after 48",
        "excess < (1 + sigma_J**2)*lambda_plus/(2*L)*(1/L**(beta + 1) + zeta(beta + 1) - 1/beta)",
        _half(_wide),
        Bound(0.75),
        part="end",
        given="the summand of equation 47, half of the printed f",
        note="For the error itself the bound holds; with 1/(2 L^(beta+1)) it would be reached.",
        where="excess is sum minus integral from 1 to L",
    ),
    Claim(
        "49",
        "excess < f(1)/2 == (1 + sigma_J**2)*lambda_plus/(2*L)*exp(-2*eta*lambda_plus*alpha)",
        _window,
        Bound(0.45),
        given=_AS_PRINTED,
        regime="1 < z < L^(1+beta)",
        corrected="excess < (1 + sigma_J**2)*lambda_plus/(L*2*eta*lambda_plus*alpha*exp(1))",
        note="The last term of the sum decays much later than the first, so that f(1) does not "
        "dominate: for beta = 1, L = 1000 sum minus integral is larger than f(1)/2 at z = 1 "
        "already, and many times larger at z = 12. What holds in the window is the largest value "
        "of f, 1/(e z), because f has one maximum.",
        where="excess is sum minus integral from 1 to L",
    ),
    Claim(
        "after 49",
        part="no learning",
        printed=0,
        not_checkable="the text calls learning before z = 1 not meaningful without saying how much "
        "is meant; the error is then still at least 1/e of its first value",
    ),
    Claim(
        "after 49",
        "lambda_plus == N/zeta(beta + 1)",
        _many,
        Converges(1.0),
        part="largest eigenvalue",
        printed=1,
        regime="N = L to infinity, with the constant that the proportionality leaves open; with "
        "fewer eigenvalues than inputs it is L that counts",
        equal=(("L", "N"),),
    ),
)
