"""How close the equivalent models are to the network, and how that changes with n.

    python examples/one-step/equivalence.py --output one-step-results            # n to 1200, all
    python examples/one-step/equivalence.py --quick --output one-step-results    # small sizes
    python examples/one-step/equivalence.py --table conditional                  # one table only

Errors are E(y - ŷ)² (no ½) with n = m = k, λ = 1e-4, α = 1/2 unless said; differences are paired,
in per cent of the network's error, with standard errors over trials that draw everything anew.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from kept_trials import Keys, Point, Trials, cores

ACTIVATIONS = ("relu", "tanh", "sigmoid")
#: Windows (l-2)/(l-1) < β < (l-1)/l for l = 2, 3, 4: their middles, and β near their upper ends.
MIDDLES = {2: 0.25, 3: 7 / 12, 4: 17 / 24}
ENDS = {2: 0.49, 3: 0.66, 4: 0.74}
CASES = (("relu", "regression"), ("relu", "classification"), ("tanh", "regression"))


@dataclass(frozen=True)
class Row:
    """A line of a table: a model, how many trials, and what its error is compared with."""

    label: str
    keys: Keys
    model: str
    trials: int
    reference: str = "network"


@dataclass(frozen=True)
class Table:
    """A table: ``rows`` gives those of a size; there are fewer trials at large sizes."""

    title: str
    rows: Callable[[int, int], list[Row]]
    trials: dict[int, int]


def conditional(n: int, trials: int) -> list[Row]:
    """The conditional Gaussian map, both tasks, β = 3/4 - 0.01."""
    return [
        Row(f"{task:<14} n = {n:<5}", {"n": n, "activation": "relu", "task": task,
            "test_samples": n, "models": ["network", "conditional_gaussian"]},
            "conditional_gaussian", trials)
        for task in ("regression", "classification")
    ]  # fmt: skip


def hermite(windows: dict[int, float]) -> Callable[[int, int], list[Row]]:
    """The Hermite model at its cut-off, at a β in each window."""
    return lambda n, trials: [
        Row(f"{name:<8} l = {l}  β = {beta:.3f}  n = {n:<5}",
            {"n": n, "activation": name, "beta": beta, "test_samples": n,
             "models": ["network", "hermite"]}, "hermite", trials)
        for name in ACTIVATIONS
        for l, beta in windows.items()
    ]  # fmt: skip


def spread(n: int, trials: int) -> list[Row]:
    """The Hermite model where all the strength is in the spikes, β = 3/4 - 0.01."""
    return [
        Row(f"{name:<8} n = {n:<5}", {"n": n, "activation": name, "alpha": 0.0, "test_samples": n,
            "models": ["network", "hermite"]}, "hermite", trials)
        for name in ACTIVATIONS
    ]  # fmt: skip


def degree(n: int, trials: int) -> list[Row]:
    """The Hermite model with the theorem's degree 3, and with 1, along figure 1(b)."""
    return [
        Row(f"{name:<8} α = {alpha}  degree {most}  n = {n:<5}",
            {"n": n, "activation": name, "alpha": alpha, "degree": most, "test_samples": n,
             "models": ["network", "hermite"]}, "hermite", trials)
        for name in ("relu", "tanh")
        for alpha in (0.0, 0.5, 1.0)
        for most in (3, 1)
    ]  # fmt: skip


def asymptotic(n: int, trials: int) -> list[Row]:
    """The asymptotic equations, in which nothing is drawn; they leave out what is of order 1/n."""
    return [
        Row(f"{name:<8} {task:<14} n = {n:<5}",
            {"n": n, "activation": name, "task": task, "test_samples": 10 * n,
             "models": ["network", "asymptotic"]}, "asymptotic", trials)
        for name, task in CASES
    ]  # fmt: skip


def drawn(n: int, trials: int) -> list[Row]:
    """The equations given a drawn first layer, against their average over first layers."""
    return [
        Row(f"{name:<8} {task:<14} n = {n:<5}",
            {"n": n, "activation": name, "task": task, "test_samples": n,
             "models": ["network", "ridge_equations", "asymptotic"]}, "ridge_equations", trials,
            "asymptotic")
        for name, task in CASES
    ]  # fmt: skip


TABLES = {
    "conditional": Table(
        "conditional Gaussian map", conditional, {100: 300, 200: 300, 400: 300}
    ),
    "hermite": Table(
        "Hermite model, middle of the windows of β", hermite(MIDDLES), {300: 18, 600: 18, 1200: 12}
    ),
    "ends": Table(
        "Hermite model, upper ends of the windows of β", hermite(ENDS), {300: 24, 600: 12, 1200: 6}
    ),
    "spread": Table(
        "Hermite model, α = 0, β = 0.74", spread, {125: 96, 250: 96, 500: 32}
    ),
    "degree": Table("Hermite model of degree 3 and 1, β = 0.74", degree, {200: 96, 400: 24}),
    "asymptotic": Table(
        "asymptotic equations, β = 0.74", asymptotic,
        {100: 400, 200: 200, 400: 80, 800: 24, 1600: 6},
    ),
    "equations": Table(
        "equations given the first layer, β = 0.74", drawn, {50: 24, 100: 24, 200: 20, 400: 4}
    ),
}  # fmt: skip


def show(title: str, rows: Sequence[Row], trials: Trials) -> None:
    """Print what there is."""
    reference = rows[0].reference
    print(f"\n{title}")
    print(f"{'':38}{reference:>20}{f'model - {reference}':>22}   trials")
    for row in sorted(rows, key=lambda row: row.label.split("n =")[0]):
        point: Point | None = trials.point(row.keys, range(row.trials))
        if point is None:
            continue
        error, difference = point.errors[reference], point.difference(row.model, reference)
        print(
            f"{row.label:<38}{error.value:>11.5f} ± {error.error:.5f}"
            f"{difference.value:>+13.2f} ± {difference.error:.2f} %   {point.trials}"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("one-step-results"), metavar="DIR")
    parser.add_argument("--quick", action="store_true", help="a quarter of the sizes and trials")
    parser.add_argument("--table", choices=tuple(TABLES), action="append", help="only this one")
    parser.add_argument("--trials", type=int, help="per row; more at small sizes by default")
    parser.add_argument("--processes", type=int, default=cores())
    parser.add_argument("--shown", action="store_true", help="print what there is, compute nothing")
    options = parser.parse_args(arguments)
    trials = Trials(options.output / "trials.jsonl")
    for name in options.table or TABLES:
        table = TABLES[name]
        rows = []
        for n, most in table.trials.items():
            count = options.trials or (most // 4 if options.quick else most)
            rows += table.rows(n // 4 if options.quick else n, count)
        if not options.shown:
            most = max(row.trials for row in rows)
            wanted = [(r.keys, seed) for seed in range(most) for r in rows if seed < r.trials]
            trials.run(wanted, options.processes)
        show(table.title, rows, trials)


if __name__ == "__main__":
    main()
