"""Figures 6 and 20: the approach to perfect learning."""

from __future__ import annotations

import itertools
import math

import gallery_runs as runs
import numpy as np
from figure_panels import Line, Panel, panel_figure
from figures_page import Entry, FigureRemark, compared

from symderiv.analysis.late.late_dynamics import LateDynamics, PowerFit, fitted_exponent
from symderiv.inputs import power_law
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.show.plots.claims import number

#: Runs for decay rates go on for so many times the time shown.
LATE = 4


def deviations(found: Trajectory, index: int) -> tuple[np.ndarray, np.ndarray]:
    """J·B - B·B and (J - B)·(J - B) of each eigenspace at one time, students matched to teachers.

    Both averaged over permutations of units, in the basis (uniform, differing), shape (2, L).
    """
    state = found.initial
    rho = state.eigenvalue[:, None, None]
    JB, BB = found.cross_overlap[index] / rho, state.teacher_overlap / rho**2
    JJ = found.student_overlap[index]
    M = BB.shape[-1]
    R = found.R[index]
    order = list(
        max(itertools.permutations(range(M)), key=lambda p: sum(R[p[n], n] for n in range(M)))
    )
    JB, JJ = JB[:, order], JJ[:, order][:, :, order]
    square = JJ - JB - np.swapaxes(JB, -1, -2) + BB
    return _basis(JB - BB), _basis(square)


def _basis(matrices: np.ndarray) -> np.ndarray:
    M = matrices.shape[-1]
    diagonal = np.trace(matrices, axis1=1, axis2=2) / M
    other = (matrices.sum(axis=(1, 2)) / M - diagonal) / (M - 1)
    return np.array([diagonal + (M - 1) * other, diagonal - other])


def theory_of(found: Trajectory, eta: float) -> LateDynamics:
    """The linearisation for the averaged teacher of a run."""
    teacher = runs.Teacher(found.initial)
    state = found.initial
    return LateDynamics(
        "erf", state.M, state.eigenvalue, state.weight, eta,
        teachers=(teacher.diagonal(1), teacher.row_sum(1)),
    )  # fmt: skip


def late_curves(
    found: Trajectory, eta: float, begin: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """α, ε_g of the run and the linearised curves to first and second order, from α = ``begin``."""
    theory = theory_of(found, eta)
    index = int(np.searchsorted(found.alpha, begin))
    overlap, square = deviations(found, index)
    distance = square - overlap**2 / theory.teacher[:, None]
    alpha = found.alpha[index:]
    since = alpha - alpha[0]
    first = theory.error_of(since, overlap, distance, second_order=False)
    second = theory.error_of(since, overlap, distance)
    return alpha, found.generalization_error[index:], first, second


def figure_20(quick: bool) -> Entry:
    """The linearised solution against the equations."""
    M, N, eta, beta, std, begin, end = 2, 9000, 0.25, 1.0, 0.01, 1000.0, 3000.0
    return _late(
        "20", "Linearised solution and equations", (3, 9), M, N, eta, beta, std, begin, end
    )


def _late(
    name: str, title: str, sizes: tuple[int, ...], M: int, N: int, eta: float, beta: float,
    std: float, begin: float, end: float,
) -> Entry:  # fmt: skip
    whole, panels, statements = [], [], []
    for L in sizes:
        found = runs.run(
            M=M, L=L, N=N, beta=beta, eta=eta, student_std=std, end=LATE * end,
            points=600 * LATE + 1, tolerance=1e-10,
        )  # fmt: skip
        shown = found.alpha <= end
        whole.append(Line(found.alpha[shown], found.generalization_error[shown], f"$L = {L}$"))
        alpha, error, first, second = late_curves(found, eta, begin)
        inside = alpha <= 2 * begin
        panels.append(
            Panel(
                [
                    Line(alpha[inside] - alpha[0], error[inside], "equations"),
                    Line(alpha[inside] - alpha[0], first[inside], "first order", "--"),
                    Line(alpha[inside] - alpha[0], second[inside], "second order", ":"),
                ],
                title=f"$L = {L}$", xlabel=r"$\alpha - \alpha_0$", yscale="log",
            )
        )  # fmt: skip
        for label, curve in (("first", first), ("second", second)):
            ratio = np.abs(curve[inside] / error[inside] - 1)
            statements.append(
                FigureRemark(
                    f"L = {L}: the {label}-order curve is off by {number(float(ratio[0]), 2)} at "
                    f"α_0 and at most by {number(float(ratio.max()), 2)} up to α_0 + "
                    f"{begin:g} (agrees up to 0.1)",
                    bool(ratio.max() < 0.1),
                )
            )
        statements.append(
            _printed_expansion(found, int(np.searchsorted(found.alpha, begin)), first)
        )
        theory = theory_of(found, eta)
        slow = float(theory.rates()[0])
        count = int(np.argmax(error < 1e-9)) or error.size
        good = count - 2
        rate = -np.gradient(np.log(error[:count]), alpha[:count])[good]
        distances = 2 * eta * float(np.min(theory.stiffness) * theory.eigenvalue.min())
        statements += [
            compared(
                f"L = {L}: decay rate of ε_g in the run at α = "
                f"{number(float(alpha[good]))} and the slowest rate of the "
                "distances, 2ηa_min ρ_min (the printed group (2 − √3)λ_k)",
                float(rate), distances, 0.1, 3,
            ),
            FigureRemark(
                f"L = {L}: the slowest rate of r and s is {number(slow)}; in ε_g their squares "
                f"decay at {number(2 * slow)}"
            ),
        ]  # fmt: skip
    return Entry(
        name, title,
        [f"K = M = {M}, η = {eta}, β = {beta:g}, σ_J = {std}, N = {N}, "
         f"L = {', '.join(map(str, sizes))}, α_0 = {begin:g}, order η, seed 0",
         "theory: linearisation around the averaged teacher, started from the run's "
         "overlaps at α_0"],
        panel_figure([Panel(whole, yscale="log"), *panels]),
        "ε_g of the equations, and of the linearisation to first order in the order parameters (as "
        "in (121), (122)) and to second order in the distance to the teachers.",
        statements,
    )  # fmt: skip


def figure_6(quick: bool) -> Entry:
    """Exponents of the late power law."""
    M, L, eta = 40, 512, 0.01
    betas = (0.5, 1.0, 1.5) if quick else (0.5, 0.75, 1.0, 1.25, 1.5)
    lines, statements = [], []
    both = (("first order", False), ("second order", True))
    for beta, (size, orders) in itertools.product(betas, ((L, both), (8 * L, both[1:]))):
        component = power_law(size, beta).single()
        theory = LateDynamics("erf", M, component.eigenvalue, component.weight, eta)
        alpha = np.geomspace(theory.window[0] / 30, theory.window[1] * 30, 400)
        for label, second in orders:
            error = theory.generalization_error(alpha, second_order=second)
            fit = fitted_exponent(alpha, error, _central(theory))
            what = f"β = {beta:g}, linearised at M = {M}, L = {size}, {label}"
            statements.append(_exponent(what, fit, beta))
            if second and size == L:
                lines.append(Line(alpha, error, rf"$\beta = {beta:g}$"))
    run_lines = []
    units, modes, rate, multiplicity = 2, 1024 if quick else 4096, 0.1, 100
    for beta in betas:
        component = power_law(modes, beta).single()
        theory = LateDynamics("erf", units, component.eigenvalue, component.weight, rate)
        found = runs.run(
            M=units, L=modes, N=modes * multiplicity, beta=beta, eta=rate, student_std=0.01,
            end=theory.window[1] * 3, points=200, spacing="log", tolerance=1e-7,
        )  # fmt: skip
        fit = fitted_exponent(found.alpha, found.generalization_error, _central(theory))
        run_lines.append(Line(found.alpha, found.generalization_error, rf"$\beta = {beta:g}$"))
        statements.append(
            _exponent(f"β = {beta:g}, equations at K = M = {units}, L = {modes}", fit, beta)
        )
    right = _late("6", "", (9,), 2, 9000, 0.25, 1.0, 0.01, 1000.0, 3000.0)
    statements += right.statements
    right_lines = _right_panel()
    return Entry(
        "6", "Exponents of the late power law",
        [f"left: K = M = {M}, L = {L}, η = {eta}, linearised equations (not SGD at L = N "
         f"= {L}, α to "
         f"50000, {M * 2} vectors, which takes hours); σ_J → 0",
         f"centre: equations at K = M = {M} → {units}, L = {L} → {modes} with "
         f"{multiplicity} coordinates "
         f"per eigenvalue, η = {eta} → {rate}, order η; at L = N these equations are not the limit "
         "N → ∞ of SGD",
         "right: K = M = 2, η = 0.25, β = 1, L = 9, N = 9000, σ_J = 0.01 (as figure 20)"],
        panel_figure([
            Panel(lines, title=f"linearised, $M = {M}$", xscale="log", yscale="log"),
            Panel(run_lines, title=f"equations, $M = {units}$", xscale="log", yscale="log"),
            right_lines,
        ]),
        "Left and centre: power laws; right: the linearised solution against the equations.",
        statements,
    )  # fmt: skip


def _printed_expansion(found: Trajectory, index: int, first: np.ndarray) -> FigureRemark:
    """(121) on the order parameters of order 1 against the first-order curve."""
    M, state = found.initial.M, found.initial
    overlap, square = deviations(found, index)
    mass = state.weight * state.eigenvalue
    r = overlap @ mass
    # Q - T = (J - B)² + 2 (J - B) B
    q = square @ mass + 2 * r
    (same_r, other_r), (same_q, other_q) = (
        ((x[0] + (M - 1) * x[1]) / M, (x[0] - x[1]) / M) for x in (r, q)
    )
    root = math.sqrt(3)
    printed = (2 * root * same_q - 4 * root * same_r) + (M - 1) * (3 * other_q - 6 * other_r)
    return compared(
        f"L = {state.L}: (121) at α_0 and the first-order curve there",
        float(printed / (6 * math.pi)), float(first[0]), 0.05,
    )  # fmt: skip


def _central(theory: LateDynamics) -> tuple[float, float]:
    """The decade in the middle of the window."""
    low, high = theory.window
    middle = math.sqrt(low * high)
    return middle / math.sqrt(10), middle * math.sqrt(10)


def _right_panel() -> Panel:
    found = runs.run(M=2, L=9, N=9000, beta=1.0, eta=0.25, student_std=0.01, end=3000.0,
                     points=601, tolerance=1e-10)  # fmt: skip
    alpha, error, first, second = late_curves(found, 0.25, 1000.0)
    return Panel(
        [Line(alpha, error, "equations"), Line(alpha, first, "first order", "--"),
         Line(alpha, second, "second order", ":")],
        title="$L = 9$", yscale="log",
    )  # fmt: skip


def _exponent(what: str, fit: PowerFit, beta: float) -> FigureRemark:
    expected = -beta / (1 + beta)
    agrees = math.isfinite(fit.exponent) and abs(fit.exponent - expected) <= max(fit.error, 0.02)
    return FigureRemark(
        f"{what}: exponent {fit.exponent:.3f} ± {fit.error:.3f} for α from "
        f"{number(fit.window[0])} to {number(fit.window[1])}, −β/(1+β) = {expected:.3f} (agrees "
        "within 0.02 or the error, half the spread of local slopes)",
        agrees,
    )


FIGURES = {6: figure_6, 20: figure_20}
