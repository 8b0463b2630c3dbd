"""The commands that run one study: ``solve``, ``simulate`` and ``study``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from symderiv.cli.grouped import LongRun, TypedStudy, grouped, resumable, write_result
from symderiv.cli.output import PlotOption, option, plot_output, shown
from symderiv.foundation.errors import StoppedError
from symderiv.foundation.outputs import Output, check_apart

if TYPE_CHECKING:
    from symderiv.api.problem import Problem
    from symderiv.experiment.studies.simulation import Simulation
    from symderiv.integrate.flows.trajectory import Trajectory


@dataclass(frozen=True)
class RunRequests:
    """The options that ask more of a run than its order parameters."""

    sensitivities: Annotated[
        list[str] | None,
        option(
            "--sensitivity", "Differentiate by this number of the study; may be repeated.", "KEY"
        ),
    ] = None
    events: Annotated[
        list[str] | None,
        option("--event", "Find when this condition first holds; may be repeated.", "CONDITION"),
    ] = None
    until: Annotated[
        str | None,
        option("--until", "Condition, or plateau-end, at which the run ends.", "EVENT"),
    ] = None
    certify: Annotated[
        Path | None,
        option("--certify", "Also prove the run, and write its proof to a file.", "PROOF.json"),
    ] = None
    radius: Annotated[
        float | None,
        option(
            "--radius", "Largest radius of the balls of a proved run.", "R", show_default="1e-12"
        ),
    ] = None
    digits: Annotated[
        int | None,
        option("--digits", "Decimal places of a proved run, instead of --radius.", "N"),
    ] = None

    def of(self, problem: Problem, run: LongRun) -> dict[str, Any]:
        """Return the requests as arguments of ``solve``."""
        proof = None
        if self.certify is not None:
            proof = Output(self.certify, "json", inputs=problem.files, force=run.force)
        asked = {name: value for name, value in vars(self).items() if value is not None}
        return {**asked, "certify": proof}


@grouped
def solve(
    stated: TypedStudy,
    asked: RunRequests,
    output: Annotated[
        Path | None,
        option(
            "--output", "netCDF file to write.", "RUN.nc", short="-o", show_default="STUDY-run.nc"
        ),
    ] = None,
    plot: PlotOption = None,
    *,
    run: LongRun,
) -> None:
    """Integrate the order-parameter equations of a study.

    Example:  symderiv solve examples/two-units.toml --plot error.svg

    Example:  symderiv solve examples/two-units.toml --event "generalization_error < 1e-3"

    Example:  symderiv solve examples/two-units.toml --until plateau-end

    Example:  symderiv solve examples/two-units.toml --end 5 --certify proof.json
    """
    problem = stated.problem()
    target = _target(stated, problem, output, "run", run)
    figure = plot_output(plot, inputs=problem.files, force=run.force)
    requests = asked.of(problem, run)
    call = partial(problem.solve, **requests)
    _run(call, target, run, plot=figure, certify=requests["certify"])


@grouped
def simulate(
    stated: TypedStudy,
    runs: Annotated[
        int | None, option("--runs", "Number of runs; replaces that of the study.", "R")
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--output", "netCDF file to write.", "SIM.nc", short="-o", show_default="STUDY-sim.nc"
        ),
    ] = None,
    *,
    run: LongRun,
) -> None:
    """Simulate a study by one-pass stochastic gradient descent, several times.

    Example:  symderiv simulate examples/two-units.toml --runs 8
    """
    problem = stated.problem()
    target = _target(stated, problem, output, "sim", run)
    _run(partial(problem.simulate, runs=runs), target, run)


def _target(
    stated: TypedStudy, problem: Problem, output: Path | None, ending: str, run: LongRun
) -> Output:
    """Return the file of a run, which by default is named after its study."""
    name = output or f"{stated.study.stem}-{ending}.nc"
    return Output(name, "nc", inputs=problem.files, force=run.force)


def _run(
    call: Callable[..., Trajectory | Simulation],
    target: Output,
    run: LongRun,
    **others: Output | None,
) -> None:
    """Make the call and write its result; if the run was stopped, say where its state is.

    Args:
        call: returns the result.
        target: the file of the result.
        run: the options of a long run.
        others: further files that are written, by name of option.
    """
    check_apart(target, *others.values())
    checkpoint = run.checkpoint(target.path)
    with resumable(checkpoint.path.exists):
        result = call(**run.told, checkpoint=checkpoint)
        result = write_result(checkpoint, lambda: result.save(target))
        stopped = checkpoint.stopped
        shown(result, run.json_, failing=not stopped, **others)
        if stopped:
            message = result.message
            how = message if "interrupted" in message else "interrupted while measuring the error"
            where = checkpoint.problem or f"the computed part is in {target.path}"
            raise StoppedError(f"{how}; {where}", checkpoint.signal or 2)
        checkpoint.remove()


@grouped
def study(
    stated: TypedStudy,
    thorough: Annotated[
        bool, option("--thorough", "Simulate as far as the equations are integrated.")
    ] = False,
    bands: Annotated[
        bool, option("--bands", "Also show how single runs scatter at finite N.")
    ] = False,
    output: Annotated[
        Path | None,
        option("--output", "Results directory.", "DIR", short="-o", show_default="STUDY-results"),
    ] = None,
    *,
    run: LongRun,
) -> None:
    """Derive, solve, simulate, compare, plot and report a study, with its sweep.

    Example:  symderiv study examples/power-law-plateau.toml --output results
    """
    problem = stated.problem()
    directory = output or Path(f"{stated.study.stem}-results")
    with resumable(lambda: any(directory.glob("*.checkpoint"))):
        result = problem.study(
            directory,
            thorough=thorough,
            bands=bands,
            force=run.force,
            checkpoints=run.checkpoint,
            **run.told,
        )
    shown(result, run.json_)
