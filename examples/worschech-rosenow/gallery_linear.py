"""Figures 2, 3 and 7 to 16: linear networks."""

from __future__ import annotations

import math
from pathlib import Path

import gallery_sgd as sgd
import numpy as np
from figure_panels import Line, Panel, panel_figure
from figures_page import Entry, FigureRemark, compared, ordered

from symderiv.analysis.late.late_dynamics import fitted_exponent
from symderiv.analysis.linear.error_curve import (
    Directions,
    coordinate_directions,
    eigendirections,
    finite_dimension,
    finite_stability_limit,
    generalization_error,
    rotated_covariance,
    small_learning_rate,
    stability_limit,
)
from symderiv.analysis.linear.power_law import PowerLawSum, integral_approximation, window
from symderiv.experiment.studies.simulating import simulate
from symderiv.inputs import covariance, power_law
from symderiv.problem.study import study_from_mapping
from symderiv.show.plots.claims import number

DIGITS = Path(__file__).parents[1] / "digits-covariance.npz"
MISSING = [
    ("3 right", "CIFAR-5M images; the same route is shown on scikit-learn's digits"),
    ("14", "the CIFAR-5M spectrum; the spectrum of scikit-learn's digits is shown"),
]


def spectrum(L: int, beta: float, trainable: int | None = None) -> tuple[Directions, PowerLawSum]:
    """Trained directions of a power law and the law."""
    component = power_law(L, beta).single()
    law = PowerLawSum(L, beta, float(component.eigenvalue[0]), trainable or L)
    return eigendirections(component.eigenvalue, component.weight, trainable), law


def above(exact: np.ndarray, small: np.ndarray, what: str) -> FigureRemark:
    """Whether the exact error is nowhere below its small-η limit."""
    ratio = exact / small
    return FigureRemark(
        f"{what}: exact error over its limit η → 0 is between {number(float(ratio.min()))} and "
        f"{number(float(ratio.max()))}: never below 1",
        bool(np.all(ratio >= 1 - 1e-12)),
    )


def figure_2(quick: bool) -> Entry:
    """The exact error and its approximations."""
    L, beta, eta, deviation = 128, 1.0, 1.0, 2.0
    directions, _ = spectrum(L, beta)
    alpha = np.geomspace(1, 100, 120)
    whole = generalization_error(directions, eta, deviation)(alpha)
    small = small_learning_rate(directions, eta, alpha, deviation)
    rho = directions.eigenvalue
    limit = finite_stability_limit(rho, np.ones(L), L)
    statements = [
        above(whole, small, "left"),
        FigureRemark(
            f"left, at L = N = {L} SGD itself is stable for η < {number(limit, 5)} only; the "
            f"hierarchy says {number(stability_limit(directions))}; the figure has η = {eta:g}"
        ),
    ]
    L2, beta2, eta2, std2, end = 256, 0.75, 0.1, 0.01, 100.0 if quick else 1000.0
    trained, law2 = spectrum(L2, beta2)
    times = np.geomspace(1, end, 60)
    runs = 5
    errors = np.array([_simulated(L2, beta2, eta2, std2, times, seed) for seed in range(runs)])
    mean = errors.mean(axis=0)
    se = errors.std(axis=0, ddof=1) / math.sqrt(runs)
    integral = integral_approximation(law2, eta2, times, 1 + std2**2)
    finite = finite_dimension(trained.eigenvalue, np.ones(L2), eta2, 1 + std2**2)
    exact = finite.after(np.rint(times * L2))
    off = np.abs(mean - integral.value) / integral.value
    ends = window(law2, eta2)
    inside = (times > 3 * ends[0]) & (times < ends[1] / 10)
    z = (mean - exact) / se
    middle = math.sqrt(ends[0] * ends[1])
    fit = fitted_exponent(times, exact, (middle / math.sqrt(10), middle * math.sqrt(10)))
    expected = -beta2 / (1 + beta2)
    statements += [
        FigureRemark(
            f"right, the integral (9) and the mean of {runs} SGD runs: largest relative difference "
            f"{number(float(off[inside].max()), 2)} inside of the window, a decade from its upper "
            "end (agrees up to 0.35, three deviations of five drawn teachers with a few large "
            "directions)", bool(off[inside].max() < 0.35),
        ),
        FigureRemark(
            f"right, SGD and its exact mean at N = {L2}: root mean square deviation "
            f"{number(float(np.sqrt(np.mean(z**2))), 2)} standard errors (agrees up to 3)",
            bool(np.sqrt(np.mean(z**2)) < 3),
        ),
        _within("right, (9) and the exact mean at N = L over all times",
                float(np.max(np.abs(integral.value / exact - 1))), 0.1),
        FigureRemark(
            f"right, exponent of the exact mean in the middle decade of the window: "
            f"{fit.exponent:.3f} ± "
            f"{fit.error:.3f}, −β/(1+β) = {expected:.3f} (agrees within the error or 0.05)",
            abs(fit.exponent - expected) <= max(fit.error, 0.05),
        ),
        FigureRemark(f"right, window of the power law: α = {number(ends[0])} to {number(ends[1])}"),
    ]  # fmt: skip
    log = {"xscale": "log", "yscale": "log"}
    panels = [
        Panel([Line(alpha, whole, "exact"),
               Line(alpha, small, r"$\eta\to 0$", "--")],
              title=rf"$\beta = {beta:g},\ \eta = {eta:g}$", **log),  # type: ignore[arg-type]
        Panel([Line(times, mean, f"SGD, mean of {runs}", "o"), Line(times, exact, "exact mean"),
               Line(times, integral.value, "integral (9)", "--")],
              title=rf"$\beta = {beta2:g},\ \eta = {eta2:g}$", window=ends,
              **log),  # type: ignore[arg-type]
    ]  # fmt: skip
    return Entry(
        "2", "Linear networks: exact error, small-η limit, integral, SGD",
        [f"left: L = {L}, K = M = 1, σ_J² = 1, β = {beta:g}, η = {eta:g}",
         f"right: N = L = {L2}, β = {beta2}, η = {eta2}, σ_J = {std2}, {runs} SGD runs "
         f"with their own "
         f"teachers and students; α up to 1000{'' if end == 1000 else f' → {end:g}'}"],
        panel_figure(panels), "Shaded: the window of the power law.", statements,
    )  # fmt: skip


def _within(what: str, difference: float, tolerance: float) -> FigureRemark:
    return FigureRemark(
        f"{what}: largest relative difference {number(difference, 2)} (agrees up to "
        f"{number(tolerance, 2)})",
        bool(difference <= tolerance),
    )


def _simulated(
    L: int, beta: float, eta: float, std: float, times: np.ndarray, seed: int
) -> np.ndarray:
    """One SGD run of the study at L = N."""
    study = study_from_mapping(
        {
            "network": {"activation": "linear", "students": 1, "teachers": 1},
            "data": {
                "model": "power-law",
                "dimension": L,
                "distinct_eigenvalues": L,
                "exponent": beta,
            },
            "training": {"learning_rate": eta},
            "initial": {"student_std": std, "seed": seed},
            "simulation": {"method": "vectors"},
            "time": {"values": [float(t) for t in times]},
        }
    )
    return simulate(study, runs=1).generalization_error[0]


def printed_feature(
    law: PowerLawSum, eta: float, alpha: np.ndarray, deviation: float
) -> np.ndarray:
    """(11) as printed: the asymptote plus the integral over all L directions."""
    whole = PowerLawSum(
        law.distinct_eigenvalues, law.exponent, law.largest, law.distinct_eigenvalues
    )
    beta, n, L = law.exponent, law.trainable, law.distinct_eigenvalues
    asymptote = 0.5 * deviation * law.largest / (beta * L) * (n**-beta - L**-beta)
    return asymptote + integral_approximation(whole, eta, alpha, deviation).value


def figure_3(quick: bool) -> Entry:
    """Only the first directions are trained."""
    L, beta, eta, std = 256, 1.0, 0.05, 0.01
    trained = (50, 100, 150, 200)
    runs, end = (4, 50.0) if quick else (10, 1000.0)
    deviation = 1 + std**2
    rho = power_law(L, beta).single().eigenvalue
    times = np.geomspace(1, end, 25)
    errors = sgd.errors(rho, eta, std, trained, times, runs, seed=1)
    mean, se = errors.mean(axis=1), errors.std(axis=1, ddof=1) / math.sqrt(runs)
    lines, statements = [], []
    for colour, n in enumerate(trained):
        directions, law = spectrum(L, beta, n)
        alpha = np.geomspace(1, 1e4, 200)
        exact = generalization_error(directions, eta, deviation)(alpha)
        printed = printed_feature(law, eta, alpha, deviation)
        corrected = integral_approximation(law, eta, alpha, deviation).value
        sgd_mean = finite_dimension(rho, np.ones(L), eta, deviation, n).after(np.rint(times * L))
        z = (mean[colour] - sgd_mean) / se[colour]
        lines += [
            Line(alpha, exact, rf"$N_l = {n}$", colour=colour),
            Line(times, mean[colour], "", "o", colour=colour),
            Line(alpha, printed, "", "--", colour=6),
        ]
        statements += [
            FigureRemark(f"N_l = {n}: SGD and its exact mean differ by "
                      f"{number(float(np.sqrt(np.mean(z**2))), 2)} standard errors (rms, agrees "
                      "up to 3)", bool(np.sqrt(np.mean(z**2)) < 3)),
            _within(f"N_l = {n}: (11) as printed and the exact curve",
                    float(np.max(np.abs(printed / exact - 1))), 0.1),
            _within(f"N_l = {n}: (11) with the integral up to N_l and the exact curve",
                    float(np.max(np.abs(corrected / exact - 1))), 0.1),
        ]  # fmt: skip
    panels = [Panel(lines, title="power law", xscale="log", yscale="log",
                    names=[("--", "(11) as printed")])]  # fmt: skip
    panels.append(_digits_features(quick, eta, std, statements))
    return Entry(
        "3", "Feature scaling: training the first directions only",
        [f"left: N = L = {L}, β = {beta:g}, η = {eta}, σ_J = {std}, N_l = "
         f"{', '.join(map(str, trained))}; {runs} initialisations (printed: 50), SGD up to α = "
         f"{end:g} (printed: 10⁴)",
         "right: the covariance of scikit-learn's digits (N = 64) in the place of "
         "CIFAR-5M; Gaussian "
         "inputs of that covariance and a random teacher"],
        panel_figure(panels), "Lines: exact. Points: means of SGD. Dashed: (11) as printed.",
        statements,
    )  # fmt: skip


def _digits() -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of the digits' covariance, mean 1, descending, one per pixel; those > 0."""
    component = covariance(DIGITS, normalise=True).single()
    counts = np.rint(component.weight * 64).astype(int)
    every = np.repeat(component.eigenvalue, counts)
    return every, every[every > 1e-12 * every[0]]


def _digits_features(quick: bool, eta: float, std: float, statements: list[FigureRemark]) -> Panel:
    every, _ = _digits()
    N, runs = every.size, 10 if quick else 50
    trained = (8, 16, 32)
    times = np.geomspace(1, 300, 20)
    errors = sgd.errors(every, eta, std, trained, times, runs, seed=2)
    lines = []
    for colour, n in enumerate(trained):
        directions = eigendirections(every, np.full(N, 1 / N), n)
        alpha = np.geomspace(1, 1e4, 100)
        curve = generalization_error(directions, eta, 1 + std**2)
        mean = errors[colour].mean(axis=0)
        se = errors[colour].std(axis=0, ddof=1) / math.sqrt(runs)
        finite = finite_dimension(every, np.ones(N), eta, 1 + std**2, n)
        z = (mean - finite.after(np.rint(times * N))) / se
        statements.append(
            FigureRemark(
                f"digits, N_l = {n}: SGD and its exact mean differ by "
                f"{number(float(np.sqrt(np.mean(z**2))), 2)} standard errors (rms, agrees up to "
                f"3); the error ends at {number(curve.limit)}",
                bool(np.sqrt(np.mean(z**2)) < 3),
            )
        )
        lines += [Line(alpha, curve(alpha), rf"$N_l = {n}$", colour=colour),
                  Line(times, mean, "", "o", colour=colour)]  # fmt: skip
    return Panel(lines, title="digits", xscale="log", yscale="log")


def _terms(
    law: PowerLawSum, eta: float, alpha: np.ndarray, deviation: float
) -> dict[str, np.ndarray]:
    """The sum (47), its integral and the corrections of orders 0 and 1, and the gamma functions."""
    L, beta = law.distinct_eigenvalues, law.exponent
    z = 2 * eta * law.largest * alpha
    scale = 0.5 * deviation * law.largest / L

    def f(k: float) -> np.ndarray:
        u = k ** -(1 + beta)
        return scale * u * np.exp(-z * u)

    def slope(k: float) -> np.ndarray:
        u = k ** -(1 + beta)
        return scale * (1 + beta) / k * u * (z * u - 1) * np.exp(-z * u)

    directions, _ = spectrum(L, beta)
    integral = integral_approximation(law, eta, alpha, deviation)
    zeroth = 0.5 * (f(1.0) + f(float(L)))
    return {
        "sum": small_learning_rate(directions, eta, alpha, deviation),
        "integral": integral.value,
        "bound": integral.error_bound,
        "zeroth": integral.value + zeroth,
        "first": integral.value + zeroth + (slope(float(L)) - slope(1.0)) / 12,
        "printed bound": scale * np.exp(-z),
        "worst": np.full_like(
            alpha, scale * (L ** -(1 + beta) + _zeta(1 + beta) - 1 / beta)
        ),
    }  # fmt: skip


def _zeta(s: float) -> float:
    from scipy.special import zeta

    return float(zeta(s))


def figure_7(quick: bool) -> Entry:
    """The sum, its integral, and bounds of the difference."""
    L, beta, deviation = 128, 0.5, 2.0
    _, law = spectrum(L, beta)
    panels, statements = [], []
    printed_rate, printed_start = 0.001, 950.0
    left_rate, right_rate = 1 / (2 * law.largest), 1e-5
    statements += [
        compared("1/(2λ_+) and the value of η printed for the left panel", left_rate, printed_rate,
                 0.1),
        compared("1/(2ηλ_+) at η = 10⁻⁵ and the printed value", 1 / (2 * right_rate * law.largest),
                 printed_start, 0.02),
    ]  # fmt: skip
    for title, eta, end in (("left", left_rate, 10.0), ("right", right_rate, 1000.0)):
        alpha = np.geomspace(1, end, 150)
        t = _terms(law, eta, alpha, deviation)
        gap = t["sum"] - t["integral"]
        late = alpha > 1 / (2 * eta * law.largest)
        statements.append(
            FigureRemark(f"{title}: the engine's proved bound holds; largest share used "
                      f"{number(float(np.max(np.abs(gap) / t['bound'])), 3)}",
                      bool(np.all(np.abs(gap) <= t["bound"])))
        )  # fmt: skip
        statements.append(
            FigureRemark(f"{title}: the difference is below the worst-case bound at all α, at most "
                      f"{number(float(np.max(gap / t['worst'])), 3)} of it",
                      bool(np.all(gap <= t["worst"])))
        )  # fmt: skip
        if np.any(late):
            share = float(np.max(gap[late] / t["printed bound"][late]))
            statements.append(
                FigureRemark(f"{title}: beyond α = 1/(2ηλ_+) the difference is at most "
                          f"{number(share, 3)} of (49)"
                          + ("" if share <= 1 else "; late, (49) dies out before the difference"),
                          share <= 1)
            )  # fmt: skip
        lines = [Line(alpha, t["sum"], "sum"), Line(alpha, t["integral"], "integral", "--"),
                 Line(alpha, t["zeroth"], "with order 0", ":")]  # fmt: skip
        if title == "right":
            lines.append(Line(alpha, t["integral"] + t["worst"], "with worst case", "-."))
        label = r"\eta = 1/(2\lambda_+)" if title == "left" else r"\eta = 10^{-5}"
        panels.append(Panel(lines, title=f"${label}$", xscale="log", yscale="log"))
    return Entry(
        "7", "The integral and bounds of its error",
        [f"L = {L}, β = {beta}, σ_J² = 1, η → 0 limit; left η = 1/(2λ_+), right η = 10⁻⁵"],
        panel_figure(panels), "The sum (47), its integral, and the integral with corrections.",
        statements,
    )  # fmt: skip


def figure_8(quick: bool) -> Entry:
    """Orders of the Euler–Maclaurin corrections."""
    L, eta, deviation = 128, 0.01, 2.0
    panels, statements = [], []
    alpha = np.geomspace(1, 100, 150)
    for beta in (0.5, 0.01):
        _, law = spectrum(L, beta)
        t = _terms(law, eta, alpha, deviation)
        late = alpha > 1 / (2 * eta * law.largest)
        off = {
            name: float(np.max(np.abs(t[name] / t["sum"] - 1)[late]))
            for name in ("integral", "zeroth", "first")
        }
        statements.append(
            FigureRemark(
                f"β = {beta:g}, beyond α = {number(1 / (2 * eta * law.largest))}: relative error "
                f"{number(off['integral'], 2)} without corrections, "
                f"{number(off['zeroth'], 2)} with "
                f"order 0, {number(off['first'], 2)} with order 1 too; order 0 suffices (up to "
                "0.05)", off["zeroth"] < 0.05,
            )
        )  # fmt: skip
        panels.append(
            Panel([Line(alpha, t["sum"], "sum"), Line(alpha, t["integral"], "integral", "--"),
                   Line(alpha, t["zeroth"], "order 0", ":"),
                   Line(alpha, t["first"], "order 1", "-.")],
                  title=rf"$\beta = {beta:g}$", xscale="log", yscale="log")
        )  # fmt: skip
    return Entry(
        "8", "Orders of the corrections to the integral", [f"L = {L}, η = {eta}, σ_J² = 1"],
        panel_figure(panels), "The sum (47) and its Euler–Maclaurin approximations.", statements,
    )  # fmt: skip


def figure_9(quick: bool) -> Entry:
    """The second gamma function."""
    from scipy.special import gamma, gammaincc

    L, eta, deviation = 128, 0.01, 2.0
    panels, statements = [], []
    alpha = np.geomspace(1, 10, 150)
    for beta in (1.0, 0.01):
        _, law = spectrum(L, beta)
        t = _terms(law, eta, alpha, deviation)
        s = beta / (1 + beta)

        def only(
            a: np.ndarray, law: PowerLawSum = law, s: float = s, beta: float = beta
        ) -> np.ndarray:
            z = 2 * eta * law.largest * a
            front = 0.5 * deviation * law.largest / L * z**-s / (1 + beta)
            return front * gamma(s) * gammaincc(s, z * L ** -(1 + beta))

        start = 1 / (2 * eta * law.largest)
        places = start * np.array([1.0, 3.0, 10.0])
        both = integral_approximation(law, eta, places, deviation).value
        shares = only(places) / both - 1
        statements.append(
            FigureRemark(
                f"β = {beta:g}: the second gamma function is {number(shares[0], 2)} of "
                f"the integral "
                f"at the start of the window, α = {number(start)}, {number(shares[1], 2)} at three "
                f"and {number(shares[2], 2)} at ten times that (negligible: below 0.05 at three)",
                bool(shares[1] < 0.05),
            )
        )
        panels.append(
            Panel([Line(alpha, t["sum"], "sum"), Line(alpha, t["integral"], "integral (50)", "--"),
                   Line(alpha, only(alpha), "first gamma only (52)", ":")],
                  title=rf"$\beta = {beta:g}$", xscale="log", yscale="log", times=[(start, 6)])
        )  # fmt: skip
    return Entry(
        "9", "The second gamma function", [f"L = {L}, η = {eta}, σ_J² = 1"],
        panel_figure(panels), "Dotted vertical: the start of the window, 1/(2ηλ_+).", statements,
    )  # fmt: skip


def weights(L: int, beta: float, eta: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """λ_k, half the perturbed rates |λ_B,k|/2 and L × normalised weights, all descending."""
    directions, _ = spectrum(L, beta)
    curve = generalization_error(directions, eta)
    return directions.eigenvalue, curve.rate[::-1] / (2 * eta), L * curve.weight[::-1]


def figure_10(quick: bool) -> Entry:
    """The weights of the modes at η = 1."""
    eta, panels, statements = 1.0, [], []
    sizes = (10, 20, 30, 40, 50, 75, 100, 125)
    for beta in (0.1, 1.0):
        lines = []
        for L in sizes:
            _, _, found = weights(L, beta, eta)
            lines.append(Line(np.arange(1, L + 1), found, f"$L = {L}$"))
        _, _, found = weights(sizes[-1], beta, eta)
        k = np.arange(1, sizes[-1] + 1.0)
        fit = fitted_exponent(k, found, (3.0, sizes[-1] / 3))
        statements.append(
            FigureRemark(
                f"β = {beta:g}, L = {sizes[-1]}: the weights fall as k^x, x = {fit.exponent:.2f} ± "
                f"{fit.error:.2f} for k from 3 to {number(sizes[-1] / 3)}; −(1+β) = {-1 - beta:g} "
                "(agrees within 0.15)", abs(fit.exponent + 1 + beta) < 0.15,
            )
        )  # fmt: skip
        panels.append(Panel(lines, title=rf"$\beta = {beta:g}$", xlabel="$k$",
                            ylabel=r"$L\,W_k$", xscale="log", yscale="log"))  # fmt: skip
    return Entry(
        "10", "Weights of the modes in the error",
        [f"η = {eta:g}, L = {', '.join(map(str, sizes))}",
         "weights by the secular equation, normalised to sum 1, times L (they tend to λ_k "
         "as η → 0)"],
        panel_figure(panels), "Weights of the decaying exponentials, fastest first.", statements,
    )  # fmt: skip


def figure_11(quick: bool) -> Entry:
    """Weights against eigenvalues."""
    L, panels, statements = 40, [], []
    betas, rates = (1.0, 0.5, 0.1, 0.01), (0.1, 0.5, 1.0)
    table = np.empty((len(rates), len(betas)))
    for a, eta in enumerate(rates):
        lines = []
        for b, beta in enumerate(betas):
            rho, _, found = weights(L, beta, eta)
            k = np.arange(1, L + 1)
            lines += [Line(k, found, rf"$\beta = {beta:g}$", colour=b),
                      Line(k, rho, "", "--", colour=b)]  # fmt: skip
            table[a, b] = float(np.max(np.abs(np.log(found / rho))))
        panels.append(Panel(lines, title=rf"$\eta = {eta:g}$", xlabel="$k$", ylabel=r"$L\,W_k$",
                            xscale="log", yscale="log",
                            names=[("--", r"$\lambda_k$")]))  # fmt: skip
    for b, beta in enumerate(betas):
        statements.append(
            FigureRemark(
                f"β = {beta:g}: the largest deviation |ln(L W_k/λ_k)| grows with η: "
                + ", ".join(f"{number(x, 2)} (η = {e:g})" for e, x in zip(rates, table[:, b],
                                                                           strict=True)),
                ordered("deviation", list(table[:, b]), falling=False),
            )
        )  # fmt: skip
    for a, eta in enumerate(rates):
        statements.append(
            FigureRemark(
                f"η = {eta:g}: it grows as β falls: "
                + ", ".join(f"{number(x, 2)} (β = {e:g})" for e, x in zip(betas, table[a],
                                                                           strict=True)),
                ordered("deviation", list(table[a]), falling=False),
            )
        )  # fmt: skip
    return Entry(
        "11", "Weights against eigenvalues", [f"L = {L}, η = 0.1, 0.5, 1"], panel_figure(panels),
        "Lines: weights times L. Dashed: eigenvalues.", statements,
    )  # fmt: skip


def figure_12(quick: bool) -> Entry:
    """Perturbed eigenvalues."""
    sizes, upper, lower, statements = (10, 15, 20, 25, 50, 75, 100, 125, 150), [], [], []
    for epsilon, beta in ((1.0, 0.1), (0.5, 1.0)):
        values, differences = [], []
        interlaced = True
        for L in sizes:
            rho, mu, _ = weights(L, beta, epsilon)
            k = np.arange(1, L + 1)
            values.append(Line(k, mu, f"$L = {L}$"))
            differences.append(Line(k, rho - mu, f"$L = {L}$"))
            interlaced &= bool(np.all(mu < rho) and np.all(mu[:-1] > rho[1:]))
        statements.append(
            FigureRemark(
                f"ε = {epsilon:g}, β = {beta:g}: all |λ_{{B,k}}|/2 lie between λ_k and "
                f"λ_{{k+1}}, for "
                "every L", interlaced,
            )
        )  # fmt: skip
        k = np.arange(1, sizes[-1] + 1.0)
        fit = fitted_exponent(k, mu, (3.0, sizes[-1] / 3))
        statements.append(
            FigureRemark(
                f"ε = {epsilon:g}: |λ_{{B,k}}|/2 falls as k^x, x = {fit.exponent:.2f} ± "
                f"{fit.error:.2f} "
                f"at L = {sizes[-1]}, −(1+β) = {-1 - beta:g} (agrees within 0.15)",
                abs(fit.exponent + 1 + beta) < 0.15,
            )
        )
        title = rf"$\epsilon = {epsilon:g},\ \beta = {beta:g}$"
        upper.append(Panel(values, title=title, xlabel="$k$", ylabel=r"$|\lambda_{B,k}|/2$",
                           xscale="log", yscale="log"))  # fmt: skip
        lower.append(Panel(differences, title=title, xlabel="$k$", xscale="log", yscale="log",
                           ylabel=r"$\lambda_k - |\lambda_{B,k}|/2$"))  # fmt: skip
    return Entry(
        "12", "The spectrum perturbed by the learning rate",
        [f"a = 2, L = {', '.join(map(str, sizes))}"],
        panel_figure([upper[0], lower[0], upper[1], lower[1]]),
        "Half the decay rates per η α, and how far they lie below the eigenvalues.", statements,
    )  # fmt: skip


def figure_13(quick: bool) -> Entry:
    """Finite learning rates."""
    L, beta = 128, 1.0
    alpha = np.geomspace(0.1, 1000, 200)
    panels, statements = [], []
    for eta in (0.1, 0.5, 1.0):
        directions, law = spectrum(L, beta)
        exact = generalization_error(directions, eta)(alpha)
        small = small_learning_rate(directions, eta, alpha)
        statements.append(above(exact, small, f"η = {eta:g}"))
        ends = window(law, eta)
        inner = (10 * ends[0], ends[1] / 10)
        fits = [fitted_exponent(alpha, curve, inner).exponent for curve in (exact, small)]
        statements.append(
            FigureRemark(
                f"η = {eta:g}: exponents inside of the window {fits[0]:.3f} (exact) and "
                f"{fits[1]:.3f} (η → 0): the scaling does not change (up to 0.02)",
                abs(fits[0] - fits[1]) < 0.02,
            )
        )
        panels.append(
            Panel([Line(alpha, exact, "exact"), Line(alpha, small, r"$\eta \to 0$", "--")],
                  title=rf"$\eta = {eta:g}$", xscale="log", yscale="log", window=ends)
        )  # fmt: skip
    return Entry(
        "13", "Finite learning rates", [f"L = {L}, β = {beta:g}, σ_J = 0, limit N → ∞"],
        panel_figure(panels), "Shaded: the window of the power law.", statements,
    )  # fmt: skip


def figure_14(quick: bool) -> Entry:
    """A spectrum from data."""
    _, rho = _digits()
    k = np.arange(1.0, rho.size + 1)
    fit = fitted_exponent(k, rho, (1.0, 30.0))
    beta = -fit.exponent - 1
    shift = np.mean(np.log(rho[:30]) + (1 + beta) * np.log(k[:30]))
    law = math.exp(shift) * k ** -(1 + beta)
    rest = float(np.sqrt(np.mean(np.log(rho[:30] / law[:30]) ** 2)))
    return Entry(
        "14", "Spectrum of data: handwritten digits",
        [f"scikit-learn's digits, 64 pixels, {rho.size} eigenvalues above zero, mean of "
         f"all 64 is 1; "
         "CIFAR-5M is not here"],
        panel_figure([Panel([Line(k, rho, "digits", "o"), Line(k, law, "power law", "--")],
                            xlabel="$k$", ylabel=r"$\lambda_k$", xscale="log", yscale="log")]),
        "Eigenvalues of the covariance and the fitted power law.",
        [FigureRemark(f"digits follow a power law for k up to 30: rms deviation of ln λ_k from it "
                   f"{number(rest, 2)} (agrees up to 0.1)", rest < 0.1),
         FigureRemark(f"fitted β = {beta:.2f}; the paper gives 0.3 for CIFAR-5M")],
    )  # fmt: skip


def printed_asymptote(matrix: np.ndarray, n: int, variance: float) -> float:
    """(88) as printed, without the average over covariances."""
    N = matrix.shape[0]
    inner, cross, outer = matrix[:n, :n], matrix[:n, n:], matrix[n:, n:]
    reduced = float(np.trace(cross.T @ np.linalg.solve(inner, cross)))
    parts = 1 - np.trace(inner) / N + variance * np.trace(outer) / N
    return 0.5 * float(parts - (1 + variance) / N * reduced)


def figure_15(quick: bool) -> Entry:
    """Training outside of the eigenbasis."""
    N, beta, eta, std = 64, 1.0, 0.05, 0.01
    runs, end = (10, 100.0) if quick else (40, 1000.0)
    trained = (12, 25, 37, 50)
    rho = power_law(N, beta).single().eigenvalue
    matrix = rotated_covariance(rho, seed=0)
    times = np.geomspace(1, end, 20)
    errors = sgd.errors(rho, eta, std, trained, times, runs, seed=3, covariance=matrix)
    lines, levels, statements = [], [], []
    for colour, n in enumerate(trained):
        directions = coordinate_directions(matrix, n)
        curve = generalization_error(directions, eta, 1 + std**2)
        alpha = np.geomspace(1, 1e4, 100)
        printed = printed_asymptote(matrix, n, std**2)
        mean = errors[colour].mean(axis=0)
        se = errors[colour].std(axis=0, ddof=1) / math.sqrt(runs)
        z = (mean - curve(times)) / se
        lines += [Line(alpha, curve(alpha), rf"$N_l = {n}$", colour=colour),
                  Line(times, mean, "", "o", colour=colour)]  # fmt: skip
        levels.append((printed, colour))
        statements += [
            FigureRemark(f"N_l = {n}: SGD and the exact limit N → ∞ differ by "
                      f"{number(float(np.sqrt(np.mean(z**2))), 2)} standard errors (rms, agrees up "
                      "to 3)", bool(np.sqrt(np.mean(z**2)) < 3)),
            compared(f"N_l = {n}: (88) and the exact asymptote at η → 0", printed,
                     0.5 * (1 + std**2) * directions.frozen, 1e-9),
            compared(f"N_l = {n}: (88) and the exact asymptote at η = {eta}", printed, curve.limit,
                     0.05),
        ]  # fmt: skip
    return Entry(
        "15", "Training outside of the eigenbasis",
        [f"N = L = 256 → {N}, N_l = 50, 100, 150, 200 → {', '.join(map(str, trained))}; β "
         f"= {beta:g}, "
         f"η = {eta}, σ_J = {std}, {runs} initialisations (printed: 300), SGD up to α = {end:g} "
         "(printed: 10⁴), one random eigenbasis"],
        panel_figure([Panel(lines, xscale="log", yscale="log", levels=levels,
                            names=[("--", "(88)")])]),
        "Lines: exact, limit N → ∞. Points: SGD. Dashed: (88).", statements,
    )  # fmt: skip


def figure_16(quick: bool) -> Entry:
    """Asymptotes inside and outside of the eigenbasis."""
    N = 256
    draws = 2 if quick else 10
    trained = np.unique(np.rint(np.geomspace(2, 0.9 * N, 24)).astype(int))
    panels, statements = [], []
    for betas in ((0.3, 0.75), (1.0, 1.5)):
        lines = []
        for colour, beta in enumerate(betas):
            rho = power_law(N, beta).single().eigenvalue
            outside = np.zeros(trained.size)
            for seed in range(draws):
                matrix = rotated_covariance(rho, seed)
                outside += [printed_asymptote(matrix, int(n), 0.0) / draws for n in trained]
            inside = np.array([0.5 * rho[n:].sum() / N for n in trained])
            large = 0.5 * rho[0] / (N * beta) * (trained.astype(float) ** -beta - N**-beta)
            lines += [Line(trained, large, rf"$\beta = {beta:g}$", colour=colour),
                      Line(trained, outside, "", "--", colour=colour)]  # fmt: skip
            span = (8.0, N / 8)
            offset = 0.5 * rho[0] / (N * beta) * N**-beta
            fits = [
                fitted_exponent(trained.astype(float), curve, span).exponent
                for curve in (inside + offset, outside)
            ]
            statements += [
                FigureRemark(f"β = {beta:g}: the eigenbasis gives the lower error at every N_l; "
                          f"smallest ratio {number(float(np.min(outside / inside)))}",
                          bool(np.all(outside > inside))),
                _within(f"β = {beta:g}: (74) and the exact sum over frozen directions, N_l ≥ 8",
                        float(np.max(np.abs(large / inside - 1)[trained >= 8])), 0.1),
                FigureRemark(f"β = {beta:g}: exponent in N_l from {span[0]:g} to {span[1]:g}: "
                          f"{fits[0]:.2f} in the eigenbasis (with the term L^{{−β}} of "
                          f"(74) added), "
                          f"{fits[1]:.2f} outside; −β = {-beta:g} (agrees within 0.15)",
                          max(abs(x + beta) for x in fits) < 0.15),
            ]  # fmt: skip
        panels.append(Panel(lines, xlabel="$N_l$", xscale="log", yscale="log",
                            ylabel=r"$\epsilon_{g,\mathrm{asymp}}$",
                            names=[("-", "(74)"), ("--", "(88), random bases")]))  # fmt: skip
    return Entry(
        "16", "Asymptotes inside and outside of the eigenbasis",
        [f"N = L = 1024 → {N}, {draws} random covariances (printed: 100); σ_J is not printed, 0 is "
         "used"],
        panel_figure(panels), "Lines: (74). Dashed: (88), mean over random eigenbases.", statements,
    )  # fmt: skip


FIGURES = {
    2: figure_2,
    3: figure_3,
    7: figure_7,
    8: figure_8,
    9: figure_9,
    10: figure_10,
    11: figure_11,
    12: figure_12,
    13: figure_13,
    14: figure_14,
    15: figure_15,
    16: figure_16,
}
