"""Four questions that take thousands of runs: ``python examples/at-scale/at_scale.py``.

* plateau: with or without a plateau over (β, L), beside the line where students who do not differ
  come within 10 % of its height just when equation 12 of arXiv:2410.09005 ends it (D = 0);
* escape: the rate at which a plateau is left, over (M, T, D), against the closed form;
* late: the exponent of the power law over β against equation 17 and against β/(1 + β);
* spread: the end of the plateau from 10^4 starts against the law of a Gaussian amplitude.

Each is a study file beside this one, swept into a store of the folder given; run again, it goes on.
It prints what was compared, and writes a picture of each.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import symderiv as sd
from symderiv.inputs import power_law
from symderiv.problem.state import State
from symderiv.show.plots.run_quantities import QUANTITIES, measured

HERE = Path(__file__).parent


def rate_of_escape(M: int, T: float, D: float, T2: float, D2: float) -> float:
    """Rate at which M students leave the symmetric plateau, erf, per η α, first order in η.

    T, D: diagonal of the teachers' covariance, and sum of the rest of a row; T2, D2 the same of
    the moment of order 2 (docs/notes/plateau.md).
    """
    W, V = M + (M - 1) * T - D, M + (M + 1) * T + D
    return 2 * (T + D) / (math.pi * math.sqrt(W) * V**1.5) * (T2 - D2 / (M - 1))


def plateau(folder: Path, scale: int) -> None:
    """Plateau or none over (β, L)."""
    problem = sd.Problem.from_toml(HERE / "plateau-or-none.toml")
    beta = np.linspace(0.05, 2.0, 40)[::scale].tolist()
    over = {"data.exponent": beta}
    runs = problem.sweep(over, output=folder / "plateau-or-none.zarr", notice=print)
    # from the mean state nobody leaves the plateau: when would it be reached?
    mean = problem.replace(draw="mean")
    # the same for any spectrum
    height = float(sd.plateau(units=2, T1=1, D1=0, T2=1, D2=0).generalization_error)
    reached = mean.sweep(over, output=folder / "plateau-of-the-mean.zarr", notice=print)
    data, flat = runs.to_xarray(), reached.to_xarray()
    numbers = QUANTITIES["plateau"]
    found = np.array(
        [
            [measured(numbers, data.alpha.values, row, 1e-7) for row in rows]
            for rows in data.generalization_error.values
        ]
    )
    sizes = data.distinct_eigenvalues.values
    N, std = problem.inputs.dimension, problem.student_std
    line = np.zeros_like(found)
    for i, L in enumerate(sizes):
        for j, one in enumerate(beta):
            spectrum = power_law(int(L), one).single()
            T2 = float(spectrum.weight @ spectrum.eigenvalue**2)
            lasts = math.log(math.sqrt(N) / std) / (0.1 * rate_of_escape(2, 1.0, 0.0, T2, 0.0))
            error = flat.generalization_error.values[i, j]
            line[i, j] = lasts / first_below(flat.alpha.values, error, 1.1 * height)
    says = line > 1.0
    agree = (says == (found == 1.0)).mean()
    print(f"plateau or none: {found.size} runs, {int(found.sum())} with a plateau; the line agrees "
          f"on {100 * agree:.1f} % of them")  # fmt: skip
    figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    axes.pcolormesh(beta, sizes, found, shading="nearest", cmap="Blues", vmin=0, vmax=2)
    axes.contour(beta, sizes, line, levels=[1.0], colors="#D55E00")
    axes.set(xlabel="β", ylabel="L", yscale="log", title="blue: a plateau; line: eq. 12, D = 0")
    figure.savefig(folder / "plateau-or-none.svg")


def first_below(alpha: np.ndarray, error: np.ndarray, level: float) -> float:
    """The first time at which an error is below a level; infinite if it never is."""
    below = np.flatnonzero(error < level)
    return float(alpha[below[0]]) if below.size else math.inf


def escape(folder: Path, scale: int) -> None:
    """The rate at which a plateau is left, over (M, T, D)."""
    problem = sd.Problem.from_toml((HERE / "escape-time.toml").read_text())
    states = folder / "states"
    states.mkdir(parents=True, exist_ok=True)
    points = []
    for M in range(2, 9):
        files = []
        for T in np.linspace(0.25, 3.0, 12)[::scale]:
            for share in np.linspace(-0.5, 0.9, 12)[::scale]:
                # between the least row sum of a covariance, -T, and the largest, (M - 1) T
                D = float(share * T * (M - 1 if share > 0 else 1))
                file = states / f"m{M}-t{T:.3f}-d{D:.3f}.npz"
                near_plateau(M, float(T), D).save(file)
                files.append(str(file.absolute()))
                points.append((M, float(T), D))
        one = problem.replace(students=M, teachers=M, state=files[0])
        one.sweep({"initial.state": files}, output=folder / f"escape-time-{M}.zarr", notice=print)
    found, said = [], []
    for M in range(2, 9):
        data = sd.open(folder / f"escape-time-{M}.zarr").to_xarray()
        alpha = data.alpha.values
        for (_, T, D), R in zip([p for p in points if p[0] == M], data.R.values, strict=True):
            found.append(growth(alpha, R[:, 0, 0] - R[:, 0, 1]))
            said.append(rate_of_escape(M, T, D, T, D))
    error = np.abs(np.array(found) / np.array(said) - 1.0)
    print(f"escape: {len(found)} runs, M = 2 to 8; rates from {min(said):.3g} to {max(said):.3g}; "
          f"largest relative difference to the closed form {error.max():.1e}")  # fmt: skip
    figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    colours = axes.scatter(said, found, c=[p[0] for p in points], s=8, cmap="viridis")
    axes.axline((said[0], said[0]), slope=1, color="#999999", linewidth=0.8)
    axes.set(xlabel="closed form", ylabel="measured rate per ηα", xscale="log", yscale="log")
    figure.colorbar(colours, label="M")
    figure.savefig(folder / "escape-time.svg")


def near_plateau(M: int, T: float, D: float) -> State:
    """The symmetric plateau of M students, who differ by very little; isotropic inputs."""
    teachers = np.full((M, M), D / (M - 1))
    np.fill_diagonal(teachers, T)
    c = 1.0 / math.sqrt(M * (M + (M - 1) * T - D))
    students = np.full((M, M), c) + 1e-7 * (np.eye(M) - 1.0 / M)
    Q, R = students @ teachers @ students.T, students @ teachers
    weights = np.full(M, 1.0 / math.sqrt(M))
    return State(
        eigenvalue=np.ones(1),
        weight=np.ones(1),
        student_overlap=0.5 * (Q + Q.T)[None],
        cross_overlap=R[None],
        teacher_overlap=teachers[None],
        teacher_covariance=teachers,
        student_weights=weights,
        teacher_weights=weights,
    )


def growth(alpha: np.ndarray, difference: np.ndarray) -> float:
    """The rate at which a small difference grows, while it is small."""
    size = np.abs(difference)
    small = np.flatnonzero(size > 1e-4)
    end = max(int(small[0]) if small.size else size.size, 3)
    slope, _ = np.polyfit(alpha[:end], np.log(size[:end]), 1)
    return float(slope)


def late(folder: Path, scale: int) -> None:
    """The exponent of late learning over β, for students who know a part of their teachers."""
    problem = sd.Problem.from_toml(HERE / "late-exponent.toml")
    states = folder / "late-states"
    states.mkdir(parents=True, exist_ok=True)
    betas, files = np.linspace(0.2, 2.0, 10)[::scale], []
    for beta in betas:
        file = states / f"beta{beta:.2f}.npz"
        part_known(128, float(beta)).save(file)
        files.append(str(file.absolute()))
    runs = problem.sweep({"initial.state": files}, output=folder / "late.zarr", notice=print)
    data = runs.to_xarray()
    table = []
    for beta, row in zip(betas, data.generalization_error.values, strict=True):
        known = {"units": 2, "distinct_eigenvalues": 128, "exponent": float(beta)}
        known["learning_rate"] = problem.learning_rate
        # the last decade of the window between the rates of the largest and smallest eigenvalue
        last = sd.late(**known).alpha[-1]
        times = np.geomspace(0.1 * last, last, 20)
        there = (data.alpha.values > 0) & (row > 0)
        found = np.interp(np.log(times), np.log(data.alpha.values[there]), np.log(row[there]))
        said = np.log(sd.late(**known, alpha=times).generalization_error)
        slopes = [-np.polyfit(np.log(times), curve, 1)[0] for curve in (found, said)]
        table.append((beta, last, *slopes, beta / (1 + beta)))
    print("late: β, end of the window, exponent of the run, of eq. 17, β/(1 + β)")
    for one in table:
        print("  {:.2f}  {:7.0f}  {:.4f}  {:.4f}  {:.4f}".format(*one))
    columns = np.array(table).T
    figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    axes.plot(columns[0], columns[2], "o", color="#0072B2", label="runs")
    axes.plot(columns[0], columns[3], color="#D55E00", label="equation 17, L = 128")
    axes.plot(columns[0], columns[4], color="#999999", label="β/(1 + β), L → ∞")
    axes.set(xlabel="β", ylabel="exponent over the last decade of the window")
    axes.legend()
    figure.savefig(folder / "late-exponent.svg")


def part_known(L: int, beta: float) -> State:
    """Two students with J = 0.3 B, power-law inputs: no plateau before late learning."""
    spectrum = power_law(L, beta).single()
    rho, one, known = spectrum.eigenvalue[:, None, None], np.eye(2), 0.3
    weights = np.full(2, 1.0 / math.sqrt(2.0))
    return State(
        eigenvalue=spectrum.eigenvalue,
        weight=spectrum.weight,
        student_overlap=np.tile(known**2 * one, (L, 1, 1)),
        cross_overlap=known * rho * one,
        teacher_overlap=rho**2 * one,
        teacher_covariance=one,
        student_weights=weights,
        teacher_weights=weights,
    )


def spread(folder: Path, scale: int) -> None:
    """The end of the plateau from 10^4 starts."""
    problem = sd.Problem.from_toml(HERE / "escape-spread.toml")
    count = 10_000 // scale
    over = {"initial.seed": f"0:{count - 1}:{count}"}
    data = problem.sweep(over, output=folder / "escape-spread.zarr", notice=print).to_xarray()
    ends = np.array(
        [
            measured(QUANTITIES["plateau_end"], data.alpha.values, row, 1e-8)
            for row in data.generalization_error.values
        ]
    )
    tau = 1.0 / (0.1 * rate_of_escape(2, 1.0, 0.0, 1.0, 0.0))
    shifted = (ends - ends.mean()) / tau
    # what tells students apart starts as one Gaussian number a, and grows until it is of order 1:
    # the end is a constant - tau ln|a|
    law = -np.log(np.abs(np.random.default_rng(0).standard_normal(10**6)))
    law -= law.mean()
    grid = np.sort(shifted)
    below = np.searchsorted(np.sort(law), grid) / law.size
    steps = np.arange(1, count + 1) / count
    distance = float(np.max(np.maximum(np.abs(below - steps), np.abs(below - steps + 1 / count))))
    print(f"spread: {count} starts, τ = {tau:.1f}; the end of the plateau is at "
          f"{ends.mean():.0f} ± {ends.std():.0f}, {ends.std() / tau:.4f} τ; a Gaussian amplitude "
          f"says π/√8 = {math.pi / math.sqrt(8):.4f} τ; largest difference of the distributions "
          f"{distance:.4f} (1 in 20 by chance: {1.36 / math.sqrt(count):.4f})")  # fmt: skip
    figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    axes.hist(shifted, bins=80, density=True, color="#9ec5e5", label=f"{count} starts")
    axes.hist(law, bins=400, density=True, histtype="step", color="#D55E00", label="−ln |a|")
    axes.set(xlabel="(end of the plateau − mean) / τ", xlim=(-2.5, 6), ylabel="density")
    axes.legend()
    figure.savefig(folder / "escape-spread.svg")


PARTS: dict[str, Callable[[Path, int], None]] = {
    "plateau": plateau,
    "escape": escape,
    "late": late,
    "spread": spread,
}


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--output", type=Path, default=Path("at-scale-results"))
    parser.add_argument("--scale", type=int, default=1, help="every n-th value only")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        begun, used = time.perf_counter(), time.process_time()
        PARTS[name](options.output, options.scale)
        wall, cpu = time.perf_counter() - begun, time.process_time() - used
        print(f"  {name}: {wall:.0f} s, {cpu:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
