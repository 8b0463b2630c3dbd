"""Print the project's table of numbers: CPU time, single thread, side by side in one run.

python -m benchmarks            the whole table
python -m benchmarks late gram_simulation    rows of some modules and functions alone
python -m benchmarks --json     the same as one JSON object
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

SYMDERIV = str(Path(sys.executable).with_name("symderiv"))
STUDY = Path(__file__).with_name("first_solve.toml")


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, the number, the bound, and whether it was met."""

    what: str
    measured: str
    must_be: str
    met: bool


def child_cpu_seconds(command: list[str], environment: dict[str, str] | None = None) -> float:
    """Return user + system CPU seconds of one whole process and its children.

    It uses and writes byte code, as those of an installed package do, unless the environment that
    is given says otherwise.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    given = {"PYTHONDONTWRITEBYTECODE": "", **(environment or {})}
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **given})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cpu_seconds(task: Callable[[], object], repeats: int) -> float:
    """Return the minimum CPU time of ``repeats`` calls; the minimum is the least noisy figure."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return min(times)


def command_start() -> list[Row]:
    """`symderiv --version`, and what `symderiv --help` imports."""
    version = statistics.median(child_cpu_seconds([SYMDERIV, "--version"]) for _ in range(7))
    probe = (
        "import sys\n"
        "from symderiv.cli import main\n"
        "sys.argv = ['symderiv', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('|', *sorted({'sympy', 'numba', 'scipy'} & set(sys.modules)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", probe], check=True, capture_output=True, text=True
    ).stdout
    heavy = output.rsplit("|", 1)[1].strip()
    return [
        Row("symderiv --version", f"{version:.2f} CPU s", "< 0.3 CPU s", version < 0.3),
        Row("heavy imports of --help", heavy or "none", "none of sympy, numba, scipy", not heavy),
    ]


def derivation() -> list[Row]:
    """I2, I3 and I4 of erf, after import, in a fresh process so that nothing is memoised."""
    probe = (
        "import time\n"
        "from symderiv.formula import activation\n"
        "from symderiv.gaussian import i2, i3, i4\n"
        "g = activation('erf').expression\n"
        "start = time.process_time()\n"
        "i2(g, g); i3(g, g); i4(g, g, g, g)\n"
        "print(time.process_time() - start)"
    )
    seconds = min(
        float(subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True).stdout)
        for _ in range(3)
    )
    return [Row("deriving I2, I3, I4 of erf", f"{seconds:.2f} CPU s", "< 3 s", seconds < 3)]


def certified_number() -> list[Row]:
    """I2 of tanh to 30 certified digits: the whole command in a process of its own."""
    command = [SYMDERIV, "integral", "i2", "--activation", "tanh", "--digits", "30", "--json"]
    command += ["--covariance", '[["1","1/2"],["1/2","2"]]']
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    seconds = min(child_cpu_seconds(command) for _ in range(3))
    return [
        Row(
            "I2 of tanh, certified 30 digits",
            f"{seconds:.1f} CPU s (error at most {answer['error_bound']})",
            "< 2 s",
            seconds < 2 and answer["certified"],
        )
    ]


def solver_against_scipy() -> list[Row]:
    """K=M=2, L=10, eta=0.3 with eta^2 terms to alpha=1e4 at rtol 1e-8, both at their own steps."""
    import numpy as np

    from benchmarks.numpy_baseline import power_law_problem, scipy_solution
    from benchmarks.symderiv_solver import CompiledSolver

    problem, state = power_law_problem(2, 2, 10, learning_rate=0.3)
    solver = CompiledSolver(problem)
    solver.solution(state, 1.0, 1e-8)  # compile or load, outside the timing
    reference = scipy_solution(problem, state, 1e4, 1e-8)
    ours, evaluations = solver.solution(state, 1e4, 1e-8)
    difference = np.abs(ours - reference.y[:, -1]).max()
    # Alternate the two so that a drift of the machine's speed hits both alike.
    ratios, slow, fast = [], [], []
    for _ in range(3):
        slow.append(cpu_seconds(lambda: scipy_solution(problem, state, 1e4, 1e-8), 1))
        fast.append(cpu_seconds(lambda: solver.solution(state, 1e4, 1e-8), 3))
        ratios.append(slow[-1] / fast[-1])
    ratio = float(np.median(ratios))
    interpreted = cpu_seconds(lambda: solver.scipy_solution(state, 1e4, 1e-8), 3)
    return [
        Row(
            "solve against SciPy DOP853 on vectorised NumPy",
            f"{ratio:.0f}x ({min(slow):.2f} s, {reference.nfev} evaluations / "
            f"{1e3 * min(fast):.1f} ms, {evaluations} evaluations; "
            f"overlaps at the end differ by {difference:.0e})",
            ">= 100x",
            ratio >= 100,
        ),
        Row(
            "solve against SciPy DOP853 on the compiled right-hand side",
            f"{interpreted / min(fast):.1f}x ({1e3 * interpreted:.0f} ms)",
            ">= 8x",
            interpreted >= 8 * min(fast),
        ),
    ]


def vector_simulation() -> list[Row]:
    """SGD with explicit vectors against drawing its normal numbers and nothing else."""
    from benchmarks.vectors import rates

    learning, drawing = rates()
    return [
        Row(
            "SGD with vectors, N = 1000, K=M=4, against drawing the normal numbers alone",
            f"{learning / drawing:.0%} ({1e-6 * learning:.2f} / {1e-6 * drawing:.2f} million "
            "examples/s)",
            ">= 70 %",
            learning >= 0.7 * drawing,
        )
    ]


#: Activations of a first solve; the solver modules of the last four are derived in it too.
FIRST_SOLVES = {each: each for each in ("erf", "relu", "gelu", "tanh", "softplus", "silu")} | {
    "mish": "x*tanh(log(1+exp(x)))",
    "softsign": "softsign",
    "elu": "elu",
}

# Their means of four factors are cut at kinks.
KINKED = ("softsign", "elu")


def first_solve() -> list[Row]:
    """First curve of an activation, whole process, with a cold and a warm cache.

    Cold: neither numba's files nor the project's own are there.
    """
    rows = []
    for activation, formula in FIRST_SOLVES.items():
        folder = Path(tempfile.mkdtemp())
        try:
            study = folder / "study.toml"
            study.write_text(STUDY.read_text().replace('"erf"', f'"{formula}"'))
            environment = {"NUMBA_CACHE_DIR": str(folder), "XDG_CACHE_HOME": str(folder)}
            command = [SYMDERIV, "solve", str(study), "--output", str(folder / "run.nc"), "--json"]
            cold = child_cpu_seconds(command, environment)
            command.append("--force")
            warm = statistics.median(child_cpu_seconds(command, environment) for _ in range(3))
        finally:
            shutil.rmtree(folder)
        rows += [
            Row(
                f"first curve, {activation}, cold",
                f"{cold:.1f} CPU s",
                f"<= {(most := 15 if activation in KINKED else 5)} CPU s",
                cold <= most,
            ),
            Row(f"first curve, {activation}, warm", f"{warm:.2f} CPU s", "< 1.5 CPU s", warm < 1.5),
        ]
    return rows


def library() -> list[Row]:
    """The library from import to the next solution."""
    from benchmarks import library as measured

    imported, heavy = measured.in_a_process(measured.IMPORT)
    first, _ = measured.in_a_process(measured.FIRST)
    again = measured.repeated()
    lines, characters = measured.longest_repr()
    ratio = again["whole"] / again["integrations"]
    commands = sum(
        len(path.read_text(encoding="utf-8").splitlines())
        for path in Path(__file__).parents[1].joinpath("symderiv", "cli").glob("*.py")
    )
    return [
        Row("import symderiv", f"{imported:.3f} s", "< 0.1 s", imported < 0.1),
        Row("heavy imports of it", ", ".join(heavy) or "none", "none", not heavy),
        Row("first Problem.solve, warm cache", f"{first:.2f} s", "< 1.0 s", first < 1.0),
        Row(
            f"solve again / its integrations ({1e3 * again['integrations']:.1f} ms)",
            f"{ratio:.3f}", "<= 1.2", ratio <= 1.2,
        ),
        Row(
            "fixed cost of solving again", f"{1e3 * again['fixed']:.2f} ms", "< 1 ms",
            again["fixed"] < 1e-3,
        ),
        Row(
            "longest repr of a result", f"{lines} lines, {characters} characters",
            "<= 10 lines, 1000 characters", lines <= 10 and characters <= 1000,
        ),
        Row("lines of symderiv/cli/", str(commands), "<= 1500", commands <= 1500),
    ]  # fmt: skip


def gram_simulation() -> list[Row]:
    """One example of SGD through Gram matrices, K=M=2, L=4, at two input dimensions."""
    from benchmarks.gram import time_per_example

    times = time_per_example()
    small, large = times[10**4], times[10**9]
    return [
        Row(
            "Gram SGD per example, N = 1e9 against 1e4",
            f"{large / small:.2f}x ({1e9 * large:.0f} ns / {1e9 * small:.0f} ns)",
            "<= 1.2x",
            large <= 1.2 * small,
        )
    ]


#: What modules measure themselves: functions that give rows as tuples.
ELSEWHERE = {
    "stiff_spectra": ("rows",),
    "outputs": ("rows",),
    "kernel_limits": ("lines",),
    "compression": ("lines",),
    "structured": ("lines", "averaging"),
    "linear": ("rows",),
    "moment_form": ("lines",),
    "late": ("rows",),
    "plateau": ("rows",),
    "fixed_points": ("rows",),
    "controls": ("rows",),
    "activations": ("rows",),
    "own_formulas": ("rows",),
    "step_speed": ("rows",),
}


def measured_elsewhere(module: str) -> list[Row]:
    """The rows of a module of this folder."""
    found = import_module(f"benchmarks.{module}")
    return [Row(*row) for name in ELSEWHERE[module] for row in getattr(found, name)()]


def main() -> int:
    """Measure, print the table, and return 0 when every bound was met."""
    rows: list[Row] = []
    asked = [word for word in sys.argv[1:] if word != "--json"]
    groups = (
        *(command_start, derivation, certified_number, solver_against_scipy, first_solve),
        *(library, vector_simulation, gram_simulation),
    )
    measured = {group.__name__: group for group in groups}
    measured |= {module: partial(measured_elsewhere, module) for module in ELSEWHERE}
    if unknown := set(asked) - set(measured):
        sys.exit(f"no such rows: {', '.join(sorted(unknown))}; known: {', '.join(measured)}")
    for name in asked or measured:
        rows += measured[name]()
        print(f"{name}: done", file=sys.stderr)
    if "--json" in sys.argv[1:]:
        print(json.dumps({"rows": [asdict(row) for row in rows]}))
    else:
        from rich.console import Console
        from rich.table import Table

        table = Table("what", "measured", "must be", "met")
        for row in rows:
            table.add_row(row.what, row.measured, row.must_be, "yes" if row.met else "NO")
        Console().print(table)
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
