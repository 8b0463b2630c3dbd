"""Activations without closed means beside erf: second runs, and right-hand sides.

python -m benchmarks activations

A second run is a whole process of ``symderiv solve`` with another learning rate, end and start than
the one that filled the caches. Processes of all activations are taken in turn, so that a drift of
the machine's speed hits all alike; the median of each counts, beside that of erf. Right-hand sides
are those of :mod:`benchmarks.means`: at four states of learning, of which the slowest counts.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.__main__ import STUDY, SYMDERIV, child_cpu_seconds
from benchmarks.means import STATES, TOLERANCE, K, M, called, microseconds
from symderiv.storage.kernels import load_kernel

ACTIVATIONS = (
    *("erf", "relu", "gelu", "softplus", "silu", "mish"),
    *("softsign", "tanh", "elu", "selu"),
)
MOST = 1.5
TURNS = 7
RIGHT_HAND_SIDES = {"softsign": 200.0, "mish": 60.0, "silu": 60.0}
OTHER = {"learning_rate = 0.5": "learning_rate = 0.6", "end = 20.0": "end = 19.0"}

_Row = tuple[str, str, str, bool]


def rows() -> list[_Row]:
    """For ``python -m benchmarks``."""
    return [*_right_hand_sides(), *_second_runs()]


def _right_hand_sides() -> Iterator[_Row]:
    for name, most in RIGHT_HAND_SIDES.items():
        kernel = load_kernel(name, None, tolerance=TOLERANCE)
        rhs, layout = kernel.right_hand_side_for(K, M), kernel.module.LAYOUT
        times = [microseconds(called(layout, rhs, covariance)) for covariance in STATES.values()]
        yield (
            f"right-hand side of {name}, K = M = 2, means to {kernel.module.ACTIVATION_ERROR:.0e}",
            f"{', '.join(f'{each:.0f}' for each in times)} µs ({', '.join(STATES)})",
            f"<= {most:.0f} µs",
            max(times) <= most,
        )


def _second_runs() -> Iterator[_Row]:
    seconds: dict[str, list[float]] = {name: [] for name in ACTIVATIONS}
    with tempfile.TemporaryDirectory() as folder:
        commands = {name: _command(Path(folder), name) for name in ACTIVATIONS}
        for _ in range(TURNS):
            for name, command in commands.items():
                seconds[name].append(child_cpu_seconds(command))
    middle = {name: statistics.median(each) for name, each in seconds.items()}
    for name in ACTIVATIONS[1:]:
        ratio = middle[name] / middle["erf"]
        measured = f"{ratio:.2f}x ({middle[name]:.2f} / {middle['erf']:.2f} CPU s)"
        yield f"second solve, {name} against erf", measured, f"<= {MOST:g}x", ratio <= MOST


def _command(folder: Path, name: str) -> list[str]:
    """Return the second run, after the first one."""
    text = STUDY.read_text(encoding="utf-8").replace('"erf"', f'"{name}"')
    study, run = folder / f"{name}.toml", folder / f"{name}.nc"
    command = [SYMDERIV, "solve", str(study), "--output", str(run), "--json", "--force"]
    study.write_text(text, encoding="utf-8")
    child_cpu_seconds(command)
    for one, other in OTHER.items():
        text = text.replace(one, other)
    study.write_text(text, encoding="utf-8")
    return command
