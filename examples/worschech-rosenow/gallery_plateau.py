"""Figures 1, 4, 5, 17, 18, 19: the plateau, its height and its length."""

from __future__ import annotations

import math

import gallery_runs as runs
import numpy as np
from figure_panels import Line, Panel, panel_figure
from figures_page import Entry, FigureRemark, compared, ordered

from symderiv.experiment.studies.simulating import simulate
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.integrate.rules.solving import solve
from symderiv.problem.initial import initial
from symderiv.show.plots import features
from symderiv.show.plots.claims import number
from symderiv.show.plots.features import Curve

# Within this the plateau of one drawn teacher is expected at that of the averaged teacher.
_DRAWN = 0.02
# A formula with a constant of order 1 in it is right up to this many escape times.
_ESCAPES = 1.5


def _curve(found: Trajectory) -> Curve:
    return Curve(found.alpha, found.generalization_error, found.Q, found.R, found.T)


def printed_heights(M: int, T: float, D: float) -> tuple[float, float]:
    """R* and Q* of order 1 as printed in (13)."""
    omega = M * T / (T + D) * (1 + 1 / T) - 1
    return 1 / math.sqrt(M / (T + D) * omega), 1 / omega


def printed_escape(M: int, T1: float, D1: float, T2: float, D2: float, eta: float) -> float:
    """τ_esc as printed in (15)."""
    upper = math.sqrt((M - 1) * T1 - D1 + M) * (D1 + (M + 1) * T1 + M) ** 1.5
    return math.pi / (2 * eta) * upper / ((T2 - D2 / (M - 1)) * (D1 + T1))


def column_heights(T: np.ndarray) -> tuple[np.ndarray, float]:
    """R*_in for every n and Q* of a general teacher as printed in (95)."""
    M = T.shape[0]
    t, d = np.diag(T), T.sum(axis=1) - np.diag(T)
    omega = M * t / (t + d) * (1 + 1 / t) - 1
    return 1 / np.sqrt(M / (t + d) * omega), float(np.mean(1 / omega))


def error_of(Q: np.ndarray, R: np.ndarray, T: np.ndarray) -> float:
    """ε_g of erf units with output weights 1/√M, as printed in (94)."""
    M = T.shape[0]
    q, t = np.sqrt(1 + np.diag(Q)), np.sqrt(1 + np.diag(T))
    parts = (
        np.arcsin(Q / np.outer(q, q)).sum()
        + np.arcsin(T / np.outer(t, t)).sum()
        - 2 * np.arcsin(R / np.outer(q, t)).sum()
    )
    return float(parts / (M * math.pi))


def figure_1(quick: bool) -> Entry:
    """The plateau for different numbers of eigenvalues."""
    M, N, eta, beta, std, end = 2, 1024, 0.1, 1.0, 0.01, 4000.0
    sizes = (1, 4, 16, 64)
    found = {
        L: runs.run(
            M=M, L=L, N=N, beta=beta, eta=eta, student_std=std, end=end, points=300, order="full",
            spacing="log", tolerance=1e-7,
        )
        for L in sizes
    }  # fmt: skip
    plateaus = {L: features.plateau(_curve(run)) for L, run in found.items()}
    lengths = [0.0 if p is None else p.length for p in plateaus.values()]
    decays = [features.final_decay(_curve(run)) for run in found.values()]
    rates = [0.0 if d is None else d.rate for d in decays]
    listing = ", ".join(f"{number(x)} (L = {L})" for L, x in zip(sizes, lengths, strict=True))
    slow = ", ".join(f"{number(x)} (L = {L})" for L, x in zip(sizes, rates, strict=True))
    half = [_bend(found[L]) for L in (sizes[0], sizes[-1])]
    statements = [
        FigureRemark(
            f"the plateau gets shorter as L grows; lengths in α: {listing}",
            ordered("length", lengths, falling=True, strictly=False) and lengths[0] > lengths[-1],
        ),
        FigureRemark(f"at L = {sizes[-1]} it has vanished", lengths[-1] == 0.0),
        FigureRemark(
            f"the late decay gets slower as L grows; −d ln ε_g/dα over the last fifth: {slow}",
            ordered("rate", rates, falling=True),
        ),
        FigureRemark(
            "from an exponential to a power law: the rate −d ln ε_g/dα changes from α = "
            f"{number(0.7 * end)} to {number(end)} by a factor {number(half[0])} at L = {sizes[0]} "
            f"and {number(half[1])} at L = {sizes[-1]} (1: an exponential, 0.7: a power law)",
            abs(half[0] - 1) < abs(half[1] - 1),
        ),
    ]
    lines = [Line(run.alpha, run.generalization_error, f"$L = {L}$") for L, run in found.items()]
    figure = panel_figure([Panel(lines, yscale="log"), Panel(lines, xscale="log", yscale="log")])
    return Entry(
        "1",
        "The plateau shortens with the number of distinct eigenvalues",
        [
            f"K = M = {M}, η = {eta}, β = {beta:g}, σ_J = {std}, N = {N}, "
            f"L = {', '.join(map(str, sizes))}",
            "equations with η² terms, overlaps of drawn vectors, seed 0",
            "simulated too by: symderiv study examples/power-law-plateau.toml",
        ],
        figure,
        "Generalisation error over α and over log α.",
        statements,
    )


def _bend(found: Trajectory) -> float:
    alpha, rate = found.alpha, -np.gradient(np.log(found.generalization_error), found.alpha)
    at = np.interp([0.7 * alpha[-1], 0.99 * alpha[-1]], alpha, rate)
    return float(at[1] / at[0])


def figure_4(quick: bool) -> Entry:
    """R, Q and ε_g on the plateau of one drawn teacher."""
    M, L, N, eta, std, end = 4, 10, 7000, 0.1, 0.01, 6000.0
    # read off the worked example of the paper
    printed_time = 239.0
    times = {}
    for candidate in (0.25, 0.5, 0.75, 1.0):
        rho = _power_law(L, candidate)
        times[candidate] = runs.escape_time(M, (1.0, 0.0, float(np.mean(rho**2)), 0.0), eta)
    beta = min(times, key=lambda b: abs(times[b] - printed_time))
    found = runs.run(M=M, L=L, N=N, beta=beta, eta=eta, student_std=std, end=end, points=600)
    return _plateau_entry("4", found, M, eta, std, N, [
        f"K = M = {M}, L = {L}, N = {N}, σ_J = {std}, η = {eta}, one drawn teacher (seed "
        f"0), order η",
        "β is not printed; the mean teacher has τ = "
        + ", ".join(f"{number(t)} (β = {b:g})" for b, t in times.items())
        + f", printed for the drawn teacher: {printed_time:g}; β = {beta:g} is used",
    ])  # fmt: skip


def _power_law(L: int, beta: float) -> np.ndarray:
    rho = np.arange(1, L + 1) ** -(1.0 + beta)
    return rho / rho.mean()


def _plateau_entry(
    name: str, found: Trajectory, M: int, eta: float, std: float, N: int, parameters: list[str]
) -> Entry:
    teacher = runs.Teacher(found.initial)
    moments = teacher.averaged()
    report = runs.plateau_of(M, moments, eta)
    R_star, Q_star = float(report.numbers.R), float(report.numbers.Q)
    height = float(report.numbers.generalization_error)
    tau = runs.escape_time(M, moments, eta)
    i = runs.flattest(found)
    R, Q = found.R[i], found.Q[i]
    columns, _ = column_heights(found.T)
    printed_R, printed_Q = printed_heights(M, moments[0], moments[1])
    start = int(np.searchsorted(found.alpha, 300.0))
    between = float(np.std(found.R[start].mean(axis=0), ddof=1))
    within = float(runs.spread(found)[start])
    statements = [
        FigureRemark(
            f"at α = {number(float(found.alpha[start]))} R has one height per "
            f"teacher: it varies by {number(between)} between teachers and by {number(within)} "
            "between students",
            between > 2 * within,
        ),
        compared(f"at α = {number(float(found.alpha[i]))}, where ε_g is flattest, mean R and the "
                 "engine's fixed point", float(R.mean()), R_star, _DRAWN),
        compared("mean Q and the engine's fixed point", float(Q.mean()), Q_star, _DRAWN),
        compared("ε_g and the engine's", float(found.generalization_error[i]), height, _DRAWN),
        compared("(13) for R and the engine", printed_R, R_star, 1e-12),
        compared("(13) for Q and the engine", printed_Q, Q_star, 1e-12),
        FigureRemark(
            "(95), R per teacher, is off by "
            + ", ".join(number(x, 2) for x in R.mean(axis=0) / columns - 1)
            + " of the run",
            bool(np.max(np.abs(R.mean(axis=0) / columns - 1)) < _DRAWN),
        ),
        compared("(15) for τ and the engine's", printed_escape(M, *moments, eta), tau, 1e-12),
        compared(
            "1/τ and the growth rate of the differences between students in the run",
            runs.growth_rate(found, R_star), 1 / tau, 0.15,
        ),
    ]  # fmt: skip
    length = Length(found, start, tau, R_star, std, N)
    statements += length.statements()
    end = length.printed_end
    colours = range(M)
    R_lines = [
        Line(found.alpha, found.R[:, i, n], f"$R_{{i{n + 1}}}$" if i == 0 else "", colour=n)
        for n in colours for i in range(M)
    ]  # fmt: skip
    Q_lines = [
        Line(found.alpha, found.Q[:, i, j], colour=(i + j) % 7)
        for i in range(M) for j in range(i, M)
    ]  # fmt: skip
    error = [Line(found.alpha, found.generalization_error)]
    ends = [(end, 6)] + ([] if length.measured is None else [(length.measured, 1)])
    seen = (0.0, 1.1 * max(at for at, _ in ends))
    panels = [
        Panel(R_lines, xlim=seen, ylabel=r"$R_{in}^{(1)}$",
              levels=[(x, n) for n, x in enumerate(columns)],
              ylim=(R_star * 0.9, R_star * 1.1), times=ends),
        Panel(Q_lines, xlim=seen, ylabel=r"$Q_{ij}^{(1)}$", levels=[(Q_star, 6)],
              ylim=(Q_star * 0.97, Q_star * 1.06), times=ends),
        Panel(error, xlim=seen, levels=[(height, 6)], times=ends,
              ylim=(height * 0.9, height * 1.03)),
    ]  # fmt: skip
    return Entry(
        name, "Plateau heights of R, Q and ε_g", parameters, panel_figure(panels),
        "Lines: equations. Dashed: (95) for R, the engine's fixed point for Q and ε_g. Dotted: the "
        "end of the plateau by (12) (black) and in the run (red).",
        statements,
    )  # fmt: skip


class Length:
    """The measured length of a plateau against (12)."""

    def __init__(
        self, found: Trajectory, start: int, tau: float, height: float, std: float, N: int
    ) -> None:
        self.begin, self.tau, self.target = float(found.alpha[start]), tau, math.e * height
        self.measured = runs.left_at(found, height)
        # D = ln(B/c) with B = (e - 1) R* and c = σ_P/σ_J
        sigma = float(runs.spread(found)[start])
        self.constant = math.log((math.e - 1) * height / (sigma / std))
        # (12); and the same exponential growth from σ_P itself
        self.printed = tau * (self.constant - 0.5 * math.log(std**2) + 0.5 * math.log(N))
        self.direct = tau * (self.constant - 0.5 * math.log(std**2))

    @property
    def printed_end(self) -> float:
        return self.begin + self.printed

    @property
    def length(self) -> float:
        return math.nan if self.measured is None else self.measured - self.begin

    def statements(self, label: str = "") -> list[FigureRemark]:
        """Both readings of the formula against the run, in units of τ."""
        head = f"{label}: " if label else ""
        if self.measured is None:
            return [
                FigureRemark(
                    f"{head}no R_in reaches e R* = {number(self.target)}, the end for (12)"
                )
            ]
        return [
            self._statement(f"{head}length from α_0 = {number(self.begin)}, in the run and by "
                            "(12), D measured as in the paper", self.printed),
            self._statement(f"{head}the same without ½ ln N, which the measured σ_P has in it "
                            "already", self.direct),
        ]  # fmt: skip

    def _statement(self, what: str, formula: float) -> FigureRemark:
        off = (formula - self.length) / self.tau
        return FigureRemark(
            f"{what}: {number(self.length)} against {number(formula)}, off by {number(off, 2)} τ "
            f"(agrees up to {_ESCAPES} τ)",
            abs(off) <= _ESCAPES,
        )


def _leaves(found: Trajectory, level: float) -> float:
    """When ε_g falls below a level, not a number if it does not."""
    below = np.flatnonzero(found.generalization_error < level)
    return float(found.alpha[below[0]]) if below.size else math.nan


def figure_5(quick: bool) -> Entry:
    """The plateau for different M, and for different L."""
    eta, beta, std = 0.01, 0.25, 1e-6
    L, units = (64, (2, 3)) if quick else (512, (3, 4, 6))
    M, N, modes = (2, 500, (25, 100)) if quick else (4, 500, (25, 50, 100, 250, 500))
    panels, statements = [], []
    # where students have left their common direction
    level = 0.003
    for title, cases, falling in (
        (f"$L = N = {L}$", [(m, L, L, f"M = {m}") for m in units], False),
        (f"$M = {M}$", [(M, modes_, N, f"L = {modes_}") for modes_ in modes], True),
    ):
        lines, times = [], []
        for m, l, n, label in cases:
            found = runs.run(
                M=m, L=l, N=n, beta=beta, eta=eta, student_std=std, end=60000.0, points=240,
                spacing="log", tolerance=1e-6,
            )  # fmt: skip
            lines.append(Line(found.alpha, found.generalization_error, f"${label}$"))
            times.append(_leaves(found, level))
            shape = features.plateau(_curve(found))
            if shape is not None:
                kind = "a plateau" if shape.exists else "a shoulder, not a plateau"
                statements.append(
                    FigureRemark(
                        f"M = {m}, L = {l}: {kind} at ε_g = {number(shape.height)}, slowest local "
                        f"exponent {number(shape.exponent, 2)} (plateau: below {features.FLAT})"
                    )
                )
        statements.append(
            FigureRemark(
                f"{'less' if falling else 'more'} time until ε_g = {level:g} with "
                f"{'L' if falling else 'M'}: "
                + ", ".join(
                    f"{number(t)} ({case[3]})" for t, case in zip(times, cases, strict=True)
                ),
                ordered("time", times, falling=falling),
            )
        )
        panels.append(Panel(lines, title=title, xscale="log", yscale="log"))
    fast = 5 * eta
    small = runs.study(
        M=units[0], L=L, N=L, beta=beta, eta=fast, student_std=std, end=50.0 if quick else 1000.0,
        points=80, spacing="log", order="full", tolerance=1e-6,
    )  # fmt: skip
    start = initial(small)
    sgd, equations = simulate(small, start=start, runs=1), solve(small, start=start)
    error, exact = sgd.generalization_error[0], equations.generalization_error
    off = float(np.max(np.abs(error / exact - 1)))
    panels.append(
        Panel([Line(equations.alpha, exact, "equations"),
               Line(sgd.alpha, error, "SGD, one run", "o")],
              title=rf"$M = {units[0]},\ \eta = {fast:g}$", xscale="log", yscale="log")
    )  # fmt: skip
    statements.append(
        FigureRemark(
            f"M = {units[0]}, L = N = {L}, η = {fast:g}: one SGD run and the equations "
            f"from the same "
            f"start differ by at most {number(off, 2)} up to α = {sgd.alpha[-1]:g} (agrees up to "
            "0.1); at L = N the equations are not the limit N → ∞ of SGD",
            off < 0.1,
        )
    )
    return Entry(
        "5", "The plateau for several M and L",
        [f"η = {eta}, β = {beta}, σ_J = {std:g}, order η, one initialisation; equations "
         f"in the place "
         "of SGD, and one SGD run beside them",
         f"left: L = N = 512{'' if L == 512 else f' → {L}'}, M = 6, 8, 10, 32, 40 → "
         f"{', '.join(map(str, units))}; centre: K = M = 6 → {M}, N = {N}, L = "
         f"{', '.join(map(str, modes))}; α up to 60000",
         f"right: SGD with η = {eta} → {fast:g}, with η² terms in the equations"],
        panel_figure(panels), "Lines: equations. Points: SGD.", statements,
    )  # fmt: skip


def figure_17(quick: bool) -> Entry:
    """Plateau heights for several L against (95)."""
    M, N, eta, beta, std, end = 4, 7000, 0.1, 0.25, 0.01, 1750.0
    sizes = (2, 8, 10, 12)
    lines, levels, statements, differences = [], [], [], []
    for colour, L in enumerate(sizes):
        used = runs.divisible(N, L)
        found = runs.run(M=M, L=L, N=used, beta=beta, eta=eta, student_std=std, end=end, points=250)
        teacher = runs.Teacher(found.initial)
        R, Q = column_heights(found.T)
        printed = error_of(np.full((M, M), Q), np.tile(R, (M, 1)), found.T)
        engine = float(runs.plateau_of(M, teacher.averaged(), eta).numbers.generalization_error)
        height = float(found.generalization_error[runs.flattest(found)])
        lines.append(Line(found.alpha, found.generalization_error, f"$L = {L}$", colour=colour))
        levels.append((printed, colour))
        differences.append(abs(printed / height - 1))
        statements += [
            compared(f"L = {L}, height in the run and by (95) in (94)", height, printed, 5e-4),
            compared(
                f"L = {L}, height in the run and of the engine's averaged teacher",
                height, engine, 5e-4,
            ),
        ]  # fmt: skip
    statements.append(
        FigureRemark(
            "agreement is best at the smallest L; relative differences "
            + ", ".join(
                f"{number(x, 2)} (L = {L})" for L, x in zip(sizes, differences, strict=True)
            ),
            differences[0] == min(differences),
        )
    )
    middle = float(np.mean([height for height, _ in levels]))
    figure = panel_figure(
        [Panel(lines, levels=levels, ylim=(0.99 * middle, 1.012 * middle), names=[("--", "(95)")])]
    )
    return Entry(
        "17", "Height of the plateau for several L",
        [f"K = M = {M}, σ_J = {std}, η = {eta}, β = {beta}, order η, seed 0",
         "; ".join(runs.dimension_line(N, L) for L in sizes if N % L or sizes[0] == L)],
        figure, "Lines: equations. Dashed: (95) inserted in (94).", statements,
    )  # fmt: skip


def figure_18(quick: bool) -> Entry:
    """Order parameters of orders 4 and 6 on the plateau."""
    M, L, N, eta, std, beta = 4, 10, 7000, 0.1, 0.01, 0.25
    end = 3000.0 if quick else 7000.0
    found = runs.run(M=M, L=L, N=N, beta=beta, eta=eta, student_std=std, end=end, points=400)
    teacher = runs.Teacher(found.initial)
    moments = teacher.averaged()
    report = runs.plateau_of(M, moments, eta)
    R1, Q1 = float(report.numbers.R), float(report.numbers.Q)
    i = runs.flattest(found)
    panels, statements = [], []
    # inset heights as read off the axes of the paper
    read = {("R", 4): 6.0, ("Q", 4): 4.75, ("R", 6): 110.0, ("Q", 6): 81.9}
    for order in (4, 6):
        T, D = teacher.diagonal(order), teacher.row_sum(order)
        exact = (T + D) / (moments[0] + moments[1])
        printed = T / moments[0]
        for letter, first, values in (
            ("R", R1, runs.cross_moment(found, order)),
            ("Q", Q1, runs.student_moment(found, order)),
        ):
            measured = float(values[i].mean())
            statements += [
                compared(f"{letter}^({order}), the run's mean and the engine's fixed point",
                         measured, exact * first, 3e-3),
                compared(f"{letter}^({order}), the run's mean and (98), without D^({order})",
                         measured, printed * first, 3e-3),
                FigureRemark(f"{letter}^({order}): about {read[letter, order]:g} read off the "
                             f"paper's inset, {number(printed * first)} by (98) here "
                             "(another teacher)"),
            ]  # fmt: skip
            lines = [
                Line(found.alpha, values[:, a, b], colour=b if letter == "R" else (a + b) % 7)
                for a in range(M) for b in range(M if letter == "R" else a + 1)
            ]  # fmt: skip
            panels.append(
                Panel(lines, ylabel=rf"${letter}^{{({order})}}$",
                      levels=[(exact * first, 6), (printed * first, 1)],
                      ylim=(0.0, 2.5 * exact * first))
            )  # fmt: skip
    return Entry(
        "18", "Order parameters of orders 4 and 6",
        [f"K = M = {M}, L = {L}, N = {N}, σ_J = {std}, η = {eta}, order η, seed 0",
         f"β is not printed, {beta} is used: with it (98) comes close to the heights read off",
         *([] if end == 7000.0 else [f"α up to 7000 → {end:g}"])],
        panel_figure(panels),
        "Lines: equations. Dashed: the engine's fixed point (black) and (98) (red).", statements,
    )  # fmt: skip


def figure_19(quick: bool) -> Entry:
    """Lengths of plateaus against (117), and which logarithms it counts."""
    N, eta, beta, std, begin = 7000, 0.1, 0.25, 0.01, 500.0
    panels, statements = [], []
    sizes = (2, 4, 6, 8)
    units = (2, 3, 4) if quick else (2, 3, 4, 6, 8)
    for title, cases in (
        ("$M = 4$", [(4, L, f"L = {L}") for L in sizes]),
        ("$L = 4$", [(M, 4, f"M = {M}") for M in units]),
    ):
        lines, times, lengths = [], [], []
        for colour, (M, L, label) in enumerate(cases):
            found, length = _measured_length(M, L, N, eta, beta, std, begin)
            lines.append(Line(found.alpha, found.generalization_error, f"${label}$", colour=colour))
            times.append((length.printed_end, colour))
            if length.measured is not None:
                lengths.append(length.length)
            statements += length.statements(label)
        statements.append(
            FigureRemark(
                f"lengths along the panel: {', '.join(number(x) for x in lengths)}; "
                + ("shorter with L" if "M" in title else "longer with M"),
                ordered("length", lengths, falling="M" in title),
            )
        )
        panels.append(Panel(lines, title=title, times=times, ylim=(0.004, 0.0085)))
    panels.append(_logarithms(quick, eta, beta, statements))
    return Entry(
        "19", "Length of the plateau",
        [f"σ_J = {std}, η = {eta}, β = {beta}, α_0 = {begin:g}, order η, seed 0; "
         f"{runs.dimension_line(N, 6)}, {runs.dimension_line(N, 8)}",
         "L of the right panel is not printed: L = 4 is used; runs go on until the plateau ends",
         f"M = {', '.join(map(str, units))} (printed: 2, 3, 4, 6, 8)"],
        panel_figure(panels),
        "Left and centre: equations (lines) and the end of the plateau by (117) (dotted). Right: "
        "length over escape time against the logarithm of N or of 1/σ_J², means over seeds.",
        statements,
    )  # fmt: skip


def _measured_length(
    M: int, L: int, N: int, eta: float, beta: float, std: float, begin: float, seed: int = 0
) -> tuple[Trajectory, Length]:
    used = runs.divisible(N, L)
    first = runs.run(
        M=M, L=L, N=used, beta=beta, eta=eta, student_std=std, end=10.0, points=2, seed=seed
    )
    moments = runs.Teacher(first.initial).averaged()
    report = runs.plateau_of(M, moments, eta)
    tau, height = runs.escape_time(M, moments, eta), float(report.numbers.R)
    end = begin + tau * (3.0 + 0.5 * math.log(used) + math.log(1.0 / std))
    found = runs.run(
        M=M, L=L, N=used, beta=beta, eta=eta, student_std=std, end=end, points=800, seed=seed,
        tolerance=1e-8,
    )  # fmt: skip
    start = int(np.searchsorted(found.alpha, begin))
    return found, Length(found, start, tau, height, std, used)


def _logarithms(quick: bool, eta: float, beta: float, statements: list[FigureRemark]) -> Panel:
    """Slopes of length/τ in ½ ln N and in -½ ln σ_J², from runs from α = 0."""
    M, L = 4, 4
    seeds = range(3 if quick else 10)
    dimensions = (7 * 10**3, 7 * 10**5, 7 * 10**7)
    deviations = (1e-1, 1e-2, 1e-3, 1e-5)

    def length(N: int, std: float) -> list[float]:
        found = []
        for seed in seeds:
            # drawn overlaps have the same law at any N
            _, one = _measured_length(M, L, N, eta, beta, std, 0.0, seed)
            found.append((one.measured or math.nan) / one.tau)
        return found

    start = f"from α = 0, M = {M}, L = {L}: "
    by_N = np.array([length(N, 0.01) for N in dimensions])
    by_std = np.array([length(dimensions[0], std) for std in deviations])
    x_N, x_std = 0.5 * np.log(dimensions), -np.log(deviations)
    for name, x, y in (("½ ln N", x_N, by_N), ("−½ ln σ_J²", x_std, by_std)):
        slopes = np.polyfit(x, y, 1)[0]
        error = float(np.std(slopes, ddof=1) / math.sqrt(len(seeds)))
        statements.append(
            FigureRemark(
                f"{start}length/τ grows with {name} with the slope "
                f"{number(float(np.mean(slopes)))} ± "
                f"{number(error, 1)} over {len(seeds)} seeds (formula: 1, agrees within 0.15)",
                abs(float(np.mean(slopes)) - 1) < 0.15,
            )
        )
    measured = np.array([
        [_measured_length(M, L, N, eta, beta, 0.01, 500.0, seed)[1].constant for seed in seeds]
        for N in dimensions
    ])  # fmt: skip
    slope = float(np.mean(np.polyfit(x_N, measured, 1)[0]))
    statements.append(
        FigureRemark(
            f"D = ln(B/c) measured at α_0 = 500 grows with ½ ln N with the slope {number(slope)}; "
            "a constant has 0 (agrees within 0.15)"
            + ("" if abs(slope) < 0.15 else ", so that (12) with this D counts N again"),
            abs(slope) < 0.15,
        )
    )
    return Panel(
        [Line(x_N - x_N[0], by_N.mean(axis=1), r"against $\frac{1}{2}\ln N$", "o-"),
         Line(x_std - x_std[0], by_std.mean(axis=1), r"against $-\frac{1}{2}\ln\sigma_J^2$", "o-")],
        title="which logarithm counts", xlabel="logarithm, from its smallest value",
        ylabel=r"length / $\tau_{\rm esc}$",
    )  # fmt: skip


FIGURES = {1: figure_1, 4: figure_4, 5: figure_5, 17: figure_17, 18: figure_18, 19: figure_19}
