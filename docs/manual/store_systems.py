"""``make docs-results``: figures of ``systems``, equations as lines and SGD as points.

python docs/manual/store_systems.py          all of them, some CPU minutes
python docs/manual/store_systems.py agents   those named
"""

from __future__ import annotations

import runpy
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

mpl.use("svg")
mpl.rcParams |= {"svg.hashsalt": "symderiv", "font.size": 10, "mathtext.fontset": "cm"}

HERE = Path(__file__).parent
FIGURES = HERE / "systems" / "figures"
EXAMPLES = HERE.parents[1] / "examples" / "systems"
MARKERS = "osD^v"


@dataclass(frozen=True)
class Figure:
    """What is drawn of one statement.

    Args:
        curves: Name of an order parameter, place in it, label.
        initial: Where it starts; a pair that is left out is zero.
        end: The last time.
        arguments: Of the example's ``statement``.
        dimension, runs: Of SGD.
        parameters: Values that differ from the defaults.
    """

    curves: tuple[tuple[str, tuple[int, ...], str], ...]
    initial: dict[str, Any]
    end: float
    arguments: dict[str, Any] = field(default_factory=dict)
    dimension: int = 1000
    runs: int = 8
    parameters: dict[str, Any] = field(default_factory=dict)


FIGURES_OF = {
    "autoencoder": Figure(
        (
            ("U.w", (0,), r"$U\cdot w_1/N$"),
            ("U.w", (1,), r"$U\cdot w_2/N$"),
            ("U.v", (0,), r"$U\cdot v_1/N$"),
            ("U.v", (1,), r"$U\cdot v_2/N$"),
        ),
        {
            "U.U": 1.0,
            "U.w": [0.2, -0.05],
            "U.v": [0.1, 0.05],
            "w.w": [[0.3, 0.0], [0.0, 0.3]],
            "w.v": [[0.1, 0.0], [0.0, 0.1]],
            "v.v": [[0.3, 0.0], [0.0, 0.3]],
        },
        20.0,
    ),
    "denoising": Figure(
        (
            ("U.w", (), r"$U\cdot w/N$"),
            ("U.v", (), r"$U\cdot v/N$"),
            ("b", (), r"$b$"),
        ),
        {"U.U": 1.0, "U.w": 0.1, "U.v": 0.1, "w.w": 0.3, "w.v": 0.0, "v.v": 0.3, "b": 0.0},
        20.0,
    ),
    "reinforcement": Figure(
        (("w.B", (), r"$w\cdot B/N$"), ("w.w", (), r"$w\cdot w/N$")),
        {"w.w": 1.0, "w.B": 0.1, "B.B": 1.0},
        10.0,
        {"T": 3},
    ),
    "agents": Figure(
        (("w.v", (), r"$w\cdot v/N$"),),
        {"w.w": 1.0, "w.v": -0.9, "v.v": 1.0},
        6.0,
    ),
    "components": Figure(
        (
            ("U.W", (0, 0), r"$U_1\cdot W_1/N$"),
            ("U.W", (0, 1), r"$U_1\cdot W_2/N$"),
            ("U.W", (1, 0), r"$U_2\cdot W_1/N$"),
            ("U.W", (1, 1), r"$U_2\cdot W_2/N$"),
        ),
        {
            "U.U": [[1.0, 0.0], [0.0, 1.0]],
            "U.W": [[0.4, 0.2], [0.1, 0.3]],
            "W.W": [[1.0, 0.0], [0.0, 1.0]],
        },
        30.0,
        parameters={"tau": 0.02},
    ),
    "adapter": Figure(
        (
            ("B.v", (0,), r"$B\cdot v/N$"),
            ("v.v", (0, 0), r"$v\cdot v/N$"),
            ("u", (0,), r"$u$"),
        ),
        {
            "w0.w0": 1.0,
            "w0.B": 0.5,
            "w0.v": [0.0],
            "B.B": 1.0,
            "B.v": [0.1],
            "v.v": [[0.3]],
            "u": [0.1],
        },
        30.0,
    ),
    "attention": Figure(
        (("w.B", (), r"$w\cdot B/N$"), ("w.w", (), r"$w\cdot w/N$")),
        {"w.w": 0.3, "w.B": 0.0, "B.B": 1.0},
        12.0,
        {"tokens": 3},
    ),
    "positions": Figure(
        (
            ("w.B", (), r"$w\cdot B/N$, by meaning"),
            ("w.p", (), r"$w\cdot p/N$, by position"),
        ),
        {"w.w": 0.3, "w.B": 0.0, "w.p": 0.0, "B.B": 1.0, "B.p": 0.0, "p.p": 2.0},
        30.0,
    ),
    "adversaries": Figure(
        (
            ("U.w", (), r"$U\cdot w/N$"),
            ("U.V", (), r"$U\cdot V/N$"),
            ("V.V", (), r"$V\cdot V/N$"),
        ),
        {"U.U": 1.0, "U.w": 0.1, "U.V": 0.1, "w.w": 0.3, "w.V": 0.0, "V.V": 0.1},
        30.0,
        runs=16,
    ),
    "distillation": Figure(
        (
            ("B.w", (0,), r"$B\cdot w_1/N$"),
            ("B.w", (1,), r"$B\cdot w_2/N$"),
            ("B.v", (), r"$B\cdot v/N$"),
        ),
        {
            "B.B": 1.0,
            "B.w": [0.1, 0.0],
            "B.v": 0.0,
            "w.w": [[0.3, 0.0], [0.0, 0.3]],
            "w.v": [0.0, 0.0],
            "v.v": 0.3,
        },
        30.0,
    ),
    "differences": Figure(
        (
            ("error", (), "error of the value"),
            ("surprise", (), "surprise"),
            ("w.B", (), r"$w\cdot B/N$"),
        ),
        {"w.w": 0.3, "w.B": 0.0, "B.B": 1.0},
        20.0,
    ),
    "drifting": Figure(
        (
            ("w.B", (), r"$w\cdot B/N$"),
            ("w.w", (), r"$w\cdot w/N$"),
            ("w.C", (), r"$w\cdot C/N$"),
        ),
        {"w.w": 0.3, "w.B": 0.0, "w.C": 0.0, "B.B": 1.0, "B.C": 0.0, "C.C": 1.0},
        20.0,
    ),
    "contrastive": Figure(
        (("U.w", (), r"$U\cdot w/N$"), ("w.w", (), r"$w\cdot w/N$")),
        {"U.U": 1.0, "U.w": 0.05, "w.w": 0.2},
        20.0,
    ),
    "metalearning": Figure(
        (
            ("w.B", (0,), r"$w\cdot B_1/N$"),
            ("w.B", (1,), r"$w\cdot B_2/N$"),
            ("u", (), r"$u$"),
        ),
        {"w.w": 0.3, "w.B": [0.1, 0.0], "B.B": [[1.0, 0.2], [0.2, 0.7]], "u": 0.1},
        20.0,
    ),
}


def draw(name: str, path: Path) -> float:
    """Draw the figure of a statement; the largest distance of SGD, in 3 errors + 0.5/√N."""
    figure = FIGURES_OF[name]
    system = runpy.run_path(str(EXAMPLES / f"{name}.py"))["statement"](**figure.arguments)
    points = np.linspace(0, figure.end, 11)[1:]
    # eight times between two points
    alpha = np.linspace(0, figure.end, 81)
    run = system.solve(
        alpha=alpha, initial=figure.initial, relative_tolerance=1e-5, **figure.parameters
    )
    sgd = system.simulate(
        figure.dimension,
        runs=figure.runs,
        alpha=points,
        initial=figure.initial,
        seed=11,
        **figure.parameters,
    )
    drawing, axes = plt.subplots(figsize=(4.6, 3.3), layout="constrained")
    worst = 0.0
    for n, (key, place, label) in enumerate(figure.curves):
        at = (slice(None), *place)
        mean, error = sgd.mean[key][at], sgd.standard_error[key][at]
        axes.plot(run.alpha, run[key][at], color=f"C{n}", label=label)
        axes.errorbar(
            *(points, mean, error), fmt=MARKERS[n], color=f"C{n}", markersize=4, capsize=2
        )
        scale = max(1e-3, float(np.max(np.abs(run[key]))))
        apart = np.abs(mean - run[key][at][8::8])
        allowed = 3 * error + 0.5 * scale / np.sqrt(figure.dimension)
        worst = max(worst, float(np.max(apart / allowed)))
    axes.set_xlabel(r"$\alpha$ = steps / $N$")
    axes.spines[["top", "right"]].set_visible(False)
    drawing.legend(loc="outside upper center", ncols=min(2, len(figure.curves)), frameon=False)
    drawing.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(drawing)
    return worst


def main(names: list[str]) -> None:
    FIGURES.mkdir(parents=True, exist_ok=True)
    for name in names or FIGURES_OF:
        worst = draw(name, FIGURES / f"{name}.svg")
        print(f"{name:15} {worst:5.2f} of what chance and 0.5/sqrt(N) explain", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
