"""The commands that run one study: ``solve`` and ``simulate``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from symderiv.cli.figures import PlotOption, plot_output
from symderiv.cli.options import option
from symderiv.cli.output import Force, Json, StudyFile, bars, notice, shown
from symderiv.cli.resumable import (
    CheckpointEvery,
    Fresh,
    checkpoint_beside,
    resumable,
    write_result,
)
from symderiv.cli.typed_study import End, Set, stated_problem
from symderiv.foundation.errors import StoppedError
from symderiv.foundation.outputs import Output, check_apart

if TYPE_CHECKING:
    from symderiv.experiment.studies.simulation import Simulation
    from symderiv.integrate.flows.trajectory import Trajectory


def solve(
    study: StudyFile,
    set_: Set = None,
    end: End = None,
    sensitivity: Annotated[
        list[str] | None,
        option(
            "--sensitivity", "Differentiate by this number of the study; may be repeated.", "KEY"
        ),
    ] = None,
    event: Annotated[
        list[str] | None,
        option("--event", "Find when this condition first holds; may be repeated.", "CONDITION"),
    ] = None,
    until: Annotated[
        str | None,
        option("--until", "Condition, or plateau-end, at which the run ends.", "EVENT"),
    ] = None,
    certify: Annotated[
        Path | None,
        option("--certify", "Also prove the run, and write its proof to a file.", "PROOF.json"),
    ] = None,
    radius: Annotated[
        float | None,
        option(
            "--radius", "Largest radius of the balls of a proved run.", "R", show_default="1e-12"
        ),
    ] = None,
    digits: Annotated[
        int | None,
        option("--digits", "Decimal places of a proved run, instead of --radius.", "N"),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--output", "netCDF file to write.", "RUN.nc", short="-o", show_default="STUDY-run.nc"
        ),
    ] = None,
    plot: PlotOption = None,
    checkpoint_every: CheckpointEvery = 10.0,
    fresh: Fresh = False,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Integrate the order-parameter equations of a study.

    Example:  symderiv solve examples/two-units.toml --plot error.svg

    Example:  symderiv solve examples/two-units.toml --event "generalization_error < 1e-3"

    Example:  symderiv solve examples/two-units.toml --until plateau-end

    Example:  symderiv solve examples/two-units.toml --end 5 --certify proof.json
    """
    problem = stated_problem(study, set_, end)
    target = Output(output or f"{study.stem}-run.nc", "nc", inputs=problem.files, force=force)
    figure = plot_output(plot, inputs=problem.files, force=force)
    proof = None if certify is None else Output(certify, "json", inputs=problem.files, force=force)
    solved = partial(
        problem.solve,
        sensitivities=sensitivity or (),
        events=event or (),
        until=until,
        certify=proof,
        radius=radius,
        digits=digits,
    )
    _run(solved, target, figure, checkpoint_every, fresh, json_)


def simulate(
    study: StudyFile,
    set_: Set = None,
    end: End = None,
    runs: Annotated[
        int | None, option("--runs", "Number of runs; replaces that of the study.", "R")
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--output", "netCDF file to write.", "SIM.nc", short="-o", show_default="STUDY-sim.nc"
        ),
    ] = None,
    checkpoint_every: CheckpointEvery = 10.0,
    fresh: Fresh = False,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Simulate a study by one-pass stochastic gradient descent, several times.

    Example:  symderiv simulate examples/two-units.toml --runs 8
    """
    problem = stated_problem(study, set_, end)
    target = Output(output or f"{study.stem}-sim.nc", "nc", inputs=problem.files, force=force)

    def simulated(**options: Any) -> Simulation:
        return problem.simulate(runs=runs, **options)

    _run(simulated, target, None, checkpoint_every, fresh, json_)


def _run(
    call: Callable[..., Trajectory | Simulation],
    target: Output,
    figure: Output | None,
    checkpoint_every: float,
    fresh: bool,
    as_json: bool,
) -> None:
    """Make the call and keep its result; if the run was stopped, say where it is."""
    check_apart(target, figure)
    checkpoint = checkpoint_beside(target.path, checkpoint_every, fresh)
    with resumable(checkpoint.path.exists):
        told = {"progress": bars(as_json), "notice": notice(quiet=as_json)}
        result = call(**told, checkpoint=checkpoint)
        result = write_result(checkpoint, lambda: result.save(target))
        stopped = checkpoint.stopped
        shown(result, as_json, plot=figure, failing=not stopped)
        if stopped:
            message = result.message
            how = message if "interrupted" in message else "interrupted while measuring the error"
            kept = checkpoint.problem or f"the computed part is in {target.path}"
            raise StoppedError(f"{how}; {kept}", checkpoint.signal or 2)
        checkpoint.remove()
