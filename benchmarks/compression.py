"""Many eigenvalues: time, and the error against all kept. Stiff problems: both methods.

python -m benchmarks.compression
"""

from __future__ import annotations

import time

import numpy as np

from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.integrate.rules.solving import solve
from symderiv.problem.initial import initial
from symderiv.problem.study import Study, parse_study

Line = tuple[str, str, str, bool]


def study_of(
    eigenvalues: int,
    learning_rate: float,
    end: float,
    *,
    draw: str = "sampled",
    compression: str = "auto",
    relative_tolerance: float = 1e-8,
    points: int = 60,
    method: str = "auto",
    units: int = 4,
) -> Study:
    """Erf units learn as many, power law with exponent 1/4, 16 coordinates per eigenvalue."""
    return parse_study(
        f"""
        [network]
        activation = "erf"
        students = {units}
        teachers = {units}
        [data]
        model = "power-law"
        dimension = {16 * eigenvalues}
        distinct_eigenvalues = {eigenvalues}
        exponent = 0.25
        [training]
        learning_rate = {learning_rate}
        [initial]
        seed = 1
        draw = "{draw}"
        [time]
        end = {end}
        points = {points}
        relative_tolerance = {relative_tolerance}
        compression = "{compression}"
        method = "{method}"
        """
    )


def timed(study: Study) -> tuple[float, Trajectory]:
    """CPU seconds of preparing the initial state and integrating, and the result."""
    begin = time.process_time()
    result = solve(study)
    if result.cause != "done":
        raise SystemExit(result.message)
    return time.process_time() - begin, result


def error_of_compression(draw: str, end: float = 500.0) -> tuple[float, Trajectory]:
    """Largest relative difference of the error to a tighter run with all eigenvalues kept."""
    found = solve(study_of(4096, 0.0025, end, draw=draw), check="never")
    whole = solve(
        study_of(4096, 0.0025, end, draw=draw, compression="off", relative_tolerance=1e-10),
        check="never",
    )
    change = found.generalization_error / whole.generalization_error - 1.0
    return float(np.max(np.abs(change))), found


def late_times() -> list[Line]:
    """K = M = 2, L = 64 to a million: both methods, and what "auto" takes."""
    seconds_of, runs = {}, {}
    reference = solve(_late("implicit", 1e-13, 1.0), check="never")  # compile or load
    reference = solve(_late("implicit", 1e-13, 1e6), check="never")
    for method in ("explicit", "implicit", "auto"):
        begin = time.process_time()
        runs[method] = solve(_late(method, 1e-9, 1e6), check="never")
        seconds_of[method] = time.process_time() - begin
    off = {
        method: float(np.max(np.abs(run.Q - reference.Q)) / np.max(reference.Q))
        for method, run in runs.items()
    }
    ratio = seconds_of["explicit"] / seconds_of["auto"]
    return [
        (
            f"late times, K = M = 2, L = 64, alpha = 1e6: explicit against {runs['auto'].method}",
            f"{ratio:.0f}x ({seconds_of['explicit']:.1f} CPU s, "
            f"{runs['explicit'].rhs_evaluations} evaluations / {seconds_of['auto']:.1f} CPU s, "
            f"{runs['auto'].rhs_evaluations}; implicit from the start "
            f"{seconds_of['implicit']:.1f} CPU s, {runs['implicit'].rhs_evaluations}; Q off by "
            f"{off['explicit']:.0e} / {off['auto']:.0e} / {off['implicit']:.0e})",
            "> 1x",
            ratio > 1,
        )
    ]


def _late(method: str, relative_tolerance: float, end: float) -> Study:
    return study_of(
        64,
        0.05,
        end,
        units=2,
        compression="off",
        method=method,
        relative_tolerance=relative_tolerance,
    )


def lines() -> list[Line]:
    """What was measured, the number, the bound, whether it was met."""
    timed(study_of(512, 0.02, 1.0))  # compile or load, outside the timing
    found: list[Line] = []
    for draw in ("sampled", "mean"):
        seconds, run = timed(study_of(4096, 0.0025, 2e4, draw=draw))
        found.append(
            (
                f"L = 4096, K = M = 4, alpha = 2e4, {draw} overlaps",
                f"{seconds:.1f} CPU s ({run.compression}, estimated error "
                f"{run.compression.error if run.compression else 0.0:.0e})",
                "< 8 CPU s",
                seconds < 8,
            )
        )
        error, _ = error_of_compression(draw)
        found.append(
            (
                f"its error against all eigenvalues kept, alpha = 500, {draw}",
                f"{error:.0e}",
                "< 1e-6",
                error < 1e-6,
            )
        )
    # equal products of the largest eigenvalue, the learning rate and the time
    largest = {L: float(initial(study_of(L, 0.1, 1.0)).state.eigenvalue[0]) for L in (512, 65536)}
    rate, end = 0.02, 2500.0
    seconds_of, runs = {}, {}
    for L in largest:
        seconds_of[L], runs[L] = timed(study_of(L, rate * largest[512] / largest[L], end))
    ratio = seconds_of[65536] / seconds_of[512]
    found.append(
        (
            "L = 65536 against L = 512 at equal learning rate x eigenvalue x time",
            f"{ratio:.1f}x ({seconds_of[65536]:.1f} CPU s, {runs[65536].compression} / "
            f"{seconds_of[512]:.1f} CPU s, {runs[512].compression or 'all kept'})",
            "<= 3x",
            ratio <= 3,
        )
    )
    return found + late_times()


def main() -> None:
    for what, measured, must_be, met in lines():
        print(f"{what}: {measured} (must be {must_be}){'' if met else ' NOT MET'}", flush=True)


if __name__ == "__main__":
    main()
