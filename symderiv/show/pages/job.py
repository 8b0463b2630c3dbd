"""All of a study: derive, solve, simulate, compare, plot, report."""

from __future__ import annotations

import itertools
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from symderiv.formula import activation
from symderiv.foundation.documents.document import Paragraph, Part
from symderiv.foundation.errors import InputError, StoppedError
from symderiv.foundation.outputs import Output, OutputFolder
from symderiv.foundation.progress import DetailedTask
from symderiv.foundation.showing import PrintedResult, Summary
from symderiv.problem.study import Study, expand_sweep
from symderiv.show.pages.page import CRITERION, claims_summary, feature_table, study_page, svg_bytes
from symderiv.show.plots import plots
from symderiv.show.plots.claims import Findings, claims, findings, letter
from symderiv.show.plots.features import Agreement, Band, Curve, SimulatedPoints, StudyCase

if TYPE_CHECKING:
    from symderiv.experiment.studies.simulation import Simulation
    from symderiv.foundation.documents.written_derivation import Derivation
    from symderiv.integrate.flows.trajectory import Trajectory
    from symderiv.learning.rule.learning_rule import LearningRule
    from symderiv.storage.checkpoint import Checkpoint
    from symderiv.storage.kernels import Kernel


def study_summary(title: str, found: Sequence[Findings]) -> Part:
    """Return the summary of a study: its sentences, and the table of plateaus and decays."""
    warnings = [
        Paragraph(f"warning  {warning}", tone="warning")
        for one in found
        for warning in one.case.curve.warnings
    ]
    return Part(title, (claims_summary(found), *warnings, feature_table(found)))


def agreement_json(found: Sequence[Findings]) -> dict[str, Any]:
    """Return the comparison of equations and simulation as JSON types.

    ``agrees`` is null if nothing was compared.
    """
    compared = [one.agreement for one in found if one.agreement is not None]
    cases = [
        _case_json(one.case.label, one.agreement) for one in found if one.agreement is not None
    ]
    return {
        "criterion": CRITERION,
        "agrees": all(one.agrees for one in compared) if compared else None,
        "cases": cases,
    }


def _case_json(label: str, found: Agreement) -> dict[str, Any]:
    return {
        "case": label,
        "runs": found.runs,
        "alpha": list(found.alpha),
        "deviations": list(found.deviations),
        "differences": list(found.differences),
        "bound": found.bound,
        "within": found.within,
        "within_three": found.within_three,
        "far": found.far,
        "times": len(found.deviations),
        "largest": found.largest,
        "root_mean_square": found.root_mean_square,
        "agrees": found.agrees,
    }


Progress = Callable[[str, float], None]


#: A function from a study to how its runs scatter at finite N.
Bands = Callable[[Study], Band]


class Calls(NamedTuple):
    """The functions that a study calls.

    Attributes:
        progress: Called with the name of a task and the fraction of it that is done.
        notice: Called with a line that says what the study is going to do, and with another one
            when the page with the curves of the equations exists.
        bands: Returns how the runs of a case scatter at finite N; None draws no bands.
    """

    progress: Progress = lambda task, fraction: None
    notice: Callable[[str], None] = lambda message: None
    bands: Bands | None = None


# Added to the page while it shows the equations alone.
_UNDER_WAY = "; SGD is under way: load this page again when it has ended"

#: A function from an output file to its checkpoint.
Checkpoints = Callable[[Path], "Checkpoint"]


@dataclass(frozen=True, repr=False)
class StudyResult(PrintedResult):
    """Files and numbers of a finished study.

    Attributes:
        title: The study's name.
        found: Findings, one per case of the sweep.
        report: The HTML report.
        figures: The figure files.
        files: RUN and SIM files.
        failures: One line per case whose integration or simulation did not reach its end.
    """

    title: str
    found: tuple[Findings, ...]
    report: Path
    figures: tuple[Path, ...]
    files: tuple[Path, ...]
    failures: tuple[str, ...]

    def failure(self) -> str | None:
        """Return in one line what did not reach its end or does not agree, or None."""
        if self.failures:
            return "; ".join(self.failures)
        compared = agreement_json(self.found)
        if compared["agrees"] is False:
            cases = [each for each in compared["cases"] if not each["agrees"]]
            names = ", ".join(each["case"] or "this study" for each in cases)
            return (
                f"equations and simulation do not agree for {names}; if they differ where a "
                "plateau ends, fluctuations of SGD at finite N may be the reason: see "
                "Problem.fluctuations()"
            )
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return what ``symderiv study --json`` prints."""
        return {
            "report": str(self.report),
            "figures": [str(path) for path in self.figures],
            "agreement": agreement_json(self.found),
            "files": [str(path) for path in self.files],
            "claims": self.claims_json(),
        }

    def _document(self) -> Part:
        said = study_summary(self.title, self.found)
        rows = [("figure", path) for path in self.figures]
        rows += [("numbers", path) for path in self.files]
        opened = Paragraph(f"Open {self.report} in a browser.")
        return replace(said, nodes=(*said.nodes, Summary(rows=rows), opened))

    def _summary(self) -> Summary:
        agrees = agreement_json(self.found)["agrees"]
        rows: list[tuple[str, object]] = [
            ("cases", len(self.found)),
            ("equations and SGD agree", agrees),
            ("report", str(self.report)),
            ("files", len(self.figures) + len(self.files)),
        ]
        return Summary(f"Study {self.title}", rows, list(self.failures))

    def claims_json(self) -> list[dict[str, str | bool | None]]:
        """Return the sentences of the report, and whether they hold; null for observations."""
        return [{"text": claim.text, "holds": claim.holds} for claim in claims(self.found)]


def curve_of(trajectory: Trajectory) -> Curve:
    """Return the part of a trajectory that is shown."""
    numbers: dict[str, float | int | str] = {
        "steps": trajectory.steps,
        "right-hand sides": trajectory.rhs_evaluations,
        "seconds": trajectory.wall_seconds,
        "tolerance": trajectory.relative_tolerance,
        "estimated error": trajectory.tolerance_reached,
    }
    if trajectory.compression is not None:
        numbers["compressed"] = str(trajectory.compression)
        numbers["compression error"] = trajectory.compression.error
    return Curve(
        alpha=trajectory.alpha,
        error=trajectory.generalization_error,
        Q=trajectory.Q,
        R=trajectory.R,
        T=trajectory.T,
        v=trajectory.v,
        numbers=numbers,
        complete=trajectory.cause == "done",
        end_reason=trajectory.message,
        warnings=trajectory.warnings,
    )


def points_of(simulation: Simulation) -> SimulatedPoints:
    """Return the part of a simulation that is shown; times are whole numbers of examples over N."""
    warnings = list(simulation.warnings)
    if not simulation.succeeded:
        warnings.append(f"simulation: {simulation.message}")
    return SimulatedPoints(
        alpha=simulation.examples / simulation.dimension,
        error=simulation.mean("generalization_error"),
        error_se=simulation.standard_error("generalization_error"),
        Q=simulation.mean("Q"),
        Q_se=simulation.standard_error("Q"),
        R=simulation.mean("R"),
        R_se=simulation.standard_error("R"),
        v=simulation.mean("v"),
        v_se=simulation.standard_error("v"),
        runs=simulation.runs,
        numbers={
            "runs": simulation.runs,
            "to α": float(simulation.alpha_end),
            "seconds": simulation.wall_seconds,
        },
        warnings=tuple(warnings),
    )


def settings_of(study: Study) -> list[dict[str, object]]:
    """Return the swept values of every case, in the order of ``expand_sweep``."""
    if not study.sweep:
        return [{}]
    values = itertools.product(*study.sweep.values())
    return [dict(zip(study.sweep, combination, strict=True)) for combination in values]


def label_of(settings: Mapping[str, object]) -> str:
    """Return the label of a case in figures and sentences, e.g. ``L = 4``."""
    return ", ".join(f"{letter(key)} = {value}" for key, value in settings.items())


def stem_of(settings: Mapping[str, object]) -> str:
    """Return the part of a case's file names that states its swept values."""
    words = (f"{key.rpartition('.')[2]}={value}" for key, value in settings.items())
    # as any system allows in file names
    plain = re.sub(r"[^A-Za-z0-9_.=-]+", "_", ", ".join(words).replace(" = ", "="))
    return plain.strip("._") or "study"


def thorough_variant(study: Study) -> Study:
    """Return the study with its simulation as long as its integration."""
    simulation = study.simulation.model_copy(update={"end": None})
    changed = study.model_copy(update={"simulation": simulation})
    changed.__dict__.pop("simulation_alpha", None)
    changed.__dict__.pop("text", None)
    return changed


def run_study(
    study: Study,
    output: Path,
    *,
    name: str = "study",
    files: Sequence[Path] = (),
    thorough: bool = False,
    force: bool = False,
    calls: Calls | None = None,
    checkpoints: Checkpoints | None = None,
) -> StudyResult:
    """Do everything that a study file asks for and write the results directory.

    Args:
        study, name: The study with its sweep, and its name for the title.
        files: Files that must not be replaced, in addition to those that the study names.
        output: The results directory, which is made if needed; files in it that symderiv wrote are
            replaced.
        thorough: Simulate as far as the equations are integrated.
        force: Replace also files that symderiv did not write.
        calls: The functions that the study calls.
        checkpoints: A function that makes the checkpoint of a RUN or SIM file; checkpoints of
            finished cases are kept until the whole study is done.

    Raises:
        InputError: The study is not acceptable, or a file must not be replaced.
        StoppedError: A signal stopped it; its checkpoints are in the directory.
    """
    from symderiv.integrate.rules.solving import rule_of_study

    progress, notice, bands = calls or Calls()
    variants = [variant for _, variant in expand_sweep(study)]
    if thorough:
        variants = [thorough_variant(variant) for variant in variants]
    settings = settings_of(study)
    inputs = dict.fromkeys([*files, *(file for one in variants for file in one.input_files)])
    targets = _Targets(OutputFolder(output, inputs=inputs, force=force), settings)
    stored = _Checkpoints(checkpoints, targets.runs + targets.simulations)
    notice(f"{name}: {_plan(variants, settings)}; results in {output}")
    rules = [rule_of_study(variant) for variant in variants]
    derivation = _derivation(study, rules, progress)
    cases = _cases(variants, settings, rules, targets)
    report = _Report(name, study, derivation, targets, cases, progress)
    parts = _parts(progress, "solving", [1.0] * len(cases))
    solved = [case.solved(tell, stored, bands) for case, tell in zip(cases, parts, strict=True)]
    # curves can be viewed during the simulations, which take minutes
    report.write(solved, simulated=False)
    page = targets.report.path
    notice(f"{page} shows the curves of the equations; simulated points follow")
    parts = _parts(progress, "simulating", [case.work for case in cases])
    ways = zip(cases, solved, parts, strict=True)
    shown = [case.simulated(one, tell, stored) for case, one, tell in ways]
    measured, figures = report.write(shown, simulated=True)
    stored.remove()
    results = tuple(page.with_name(file) for one in shown for file in one.files)
    failures = tuple(failure for case in cases for failure in case.failures)
    return StudyResult(name, tuple(measured), page, tuple(figures), results, failures)


def _cases(
    variants: Sequence[Study],
    settings: Sequence[Mapping[str, object]],
    rules: Sequence[LearningRule],
    targets: _Targets,
) -> list[_Case]:
    """Return the cases of a sweep; cases with equal activations and rules share a solver module."""
    from symderiv.integrate.rules.solving import solver_module

    kernels: dict[tuple[object, ...], Kernel] = {}
    cases = []
    for index, (one, rule) in enumerate(zip(variants, rules, strict=True)):
        activations = one.student_activation, one.teacher_activation
        key = (*activations, one.time.relative_tolerance, rule)
        if key not in kernels:
            kernels[key] = solver_module(one)
        cases.append(_Case(one, settings[index], kernels[key], *targets.case(index)))
    return cases


def _plan(variants: Sequence[Study], settings: Sequence[Mapping[str, object]]) -> str:
    """Return one line that says what a study is going to do."""
    end = max(float(one.alpha[-1]) for one in variants)
    runs = max(one.simulation.runs for one in variants)
    upto = max(float(one.simulation_alpha[-1]) for one in variants)
    cases = "" if len(variants) == 1 else f"{len(variants)} cases, {label_of(settings[0])} to "
    cases += f"{label_of(settings[-1])}: " if cases else ""
    of_each = " of each" if cases else ""
    plural = "s" if runs > 1 else ""
    return (
        f"{cases}the equations to α = {end:g}, then {runs} SGD run{plural}{of_each} to α = {upto:g}"
    )


def _parts(progress: Progress, task: str, works: Sequence[float]) -> list[Progress]:
    """Return progress functions for the parts of a task, which take given amounts of work."""
    total, before = sum(works) or 1.0, [0.0, *itertools.accumulate(works)]

    def part(index: int) -> Progress:
        def tell(detail: str, fraction: float) -> None:
            done = (before[index] + works[index] * fraction) / total
            progress(DetailedTask(task, detail), done)

        return tell

    return [part(index) for index in range(len(works))]


@dataclass
class _Case:
    """A case of the sweep, from its equations to its simulation.

    Args:
        study, settings: The case, and the swept values in it.
        kernel: Its solver module.
        run, simulation: The files of its integration and simulation.
        failures: One line for each part that did not reach its end.
    """

    study: Study
    settings: Mapping[str, object]
    kernel: Kernel
    run: Output
    simulation: Output
    failures: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Name of the case in figures and sentences."""
        return label_of(self.settings)

    @property
    def work(self) -> float:
        """The relative cost of its simulation: runs times examples times dimension."""
        data = self.study.data_model
        N = float((data and data.dimension) or 1)
        return self.study.simulation.runs * float(self.study.simulation_alpha[-1]) * N * N

    def solved(self, tell: Progress, stored: _Checkpoints, bands: Bands | None) -> StudyCase:
        """Integrate the equations of the case, and return it with their curve and its band."""
        from symderiv.integrate.flows.trajectory import write_run
        from symderiv.integrate.rules.solving import solve

        end = float(self.study.alpha[-1])
        checkpoint = stored.of(self.run.path)
        tell(self.label, 0.0)
        trajectory = solve(
            self.study,
            kernel=self.kernel,
            progress=lambda alpha, steps: tell(self.label, alpha / end),
            checkpoint=checkpoint,
        )
        write_run(self.run, trajectory)
        stored.finished(checkpoint, f"solving {self.label}".rstrip(), trajectory.message)
        if not trajectory.succeeded:
            self.failures.append(f"{self.label or 'equations'}: {trajectory.message}")
        curve, band = curve_of(trajectory), None
        try:
            band = bands and bands(self.study)
        except InputError as error:
            warnings = (*curve.warnings, f"No band of runs at finite N: {error}")
            curve = replace(curve, warnings=warnings)
        tell(self.label, 1.0)
        names = (self.run.path.name,)
        return StudyCase(self.label, dict(self.settings), curve, files=names, band=band)

    def simulated(self, solved: StudyCase, tell: Progress, stored: _Checkpoints) -> StudyCase:
        """Simulate the case, and return it with its points or the reason why there are none."""
        from symderiv.experiment.studies.simulating import simulate
        from symderiv.experiment.studies.simulation import write_simulation

        checkpoint = stored.of(self.simulation.path)
        tell(self.label, 0.0)
        try:
            simulation = simulate(
                self.study,
                kernel=self.kernel,
                progress=lambda done, total: tell(self.label, done / max(total, 1)),
                checkpoint=checkpoint,
            )
        except InputError as error:
            warnings = (*solved.curve.warnings, f"Not simulated: {error}")
            return replace(solved, curve=replace(solved.curve, warnings=warnings))
        finally:
            tell(self.label, 1.0)
        write_simulation(self.simulation, simulation)
        stored.finished(checkpoint, f"simulating {self.label}".rstrip(), simulation.message)
        if not simulation.succeeded:
            self.failures.append(f"{self.label or 'simulation'}: {simulation.message}")
        names = (*solved.files, self.simulation.path.name)
        return replace(solved, points=points_of(simulation), files=names)


class _Targets:
    """All files of a study; if one must not be replaced, nothing is computed."""

    def __init__(self, folder: OutputFolder, settings: list[dict[str, object]]) -> None:
        stems = [stem_of(one) for one in settings]
        self.runs = [folder.file(f"run-{stem}.nc", "nc") for stem in stems]
        self.simulations = [folder.file(f"sim-{stem}.nc", "nc") for stem in stems]
        self.figures = {
            name: folder.file(f"{name}.svg", "svg") for name in ("error", "overlaps", "exponent")
        }
        self.report = folder.file("report.html", "html")

    def case(self, index: int) -> tuple[Output, Output]:
        """Return the files of a case: those of its integration and its simulation."""
        return self.runs[index], self.simulations[index]


class _Checkpoints:
    """The checkpoints of a study's cases."""

    def __init__(self, make: Checkpoints | None, outputs: Sequence[Output]) -> None:
        self._make = make
        self._made: dict[Path, Checkpoint] = {}
        for output in outputs:
            self.of(output.path)

    def of(self, file: Path) -> Checkpoint | None:
        if self._make is None:
            return None
        if file not in self._made:
            self._made[file] = self._make(file)
        return self._made[file]

    def finished(self, checkpoint: Checkpoint | None, task: str, message: str) -> None:
        """Keep the checkpoint of a finished case; stop the study if the case was stopped.

        Raises:
            StoppedError: it was stopped.
        """
        if checkpoint is None:
            return
        if checkpoint.stopped:
            how = message if "interrupted" in message else f"interrupted after {message}"
            raise StoppedError(f"{task}: {how}", checkpoint.signal or 2)
        # quick cases are computed again
        if checkpoint.seconds > min(1.0, checkpoint.every):
            checkpoint.write()

    def remove(self) -> None:
        for checkpoint in self._made.values():
            checkpoint.remove()


def _derivation(study: Study, rules: Sequence[LearningRule], progress: Progress) -> Derivation:
    from symderiv.learning.narration.rates_told import told_of
    from symderiv.show.pages.derivations import learning_derivation

    progress("deriving", 0.0)
    # that of the case with most keys of a rule: a sweep may begin with plain descent
    rule = max(rules, key=lambda rule: len(rule.features))
    student, teacher = map(activation, (study.student_activation, study.teacher_activation))
    told = learning_derivation(student, teacher, rule=rule, rates=told_of(study.rule_keys))
    progress("deriving", 1.0)
    return told


@dataclass(frozen=True)
class _Report:
    """The page of a study with its figures.

    Args:
        name, study: The study and its name.
        derivation: The derivation that is shown.
        targets: The files of the study.
        runs: The cases, with the solver modules that were run.
        progress: Called when writing begins and ends.
    """

    name: str
    study: Study
    derivation: Derivation
    targets: _Targets
    runs: Sequence[_Case]
    progress: Progress

    def write(
        self, cases: Sequence[StudyCase], *, simulated: bool
    ) -> tuple[list[Findings], list[Path]]:
        """Write the report, which says if SGD is still under way; return findings and figures."""
        self.progress("report", 0.0)
        measured = [findings(one) for one in cases]
        drawn = {
            "error": svg_bytes(plots.error_figure(cases)),
            "overlaps": svg_bytes(plots.overlap_figure(cases)),
            "exponent": svg_bytes(plots.exponent_figure(cases)),
        }
        figures = []
        for kind, figure in drawn.items():
            self.targets.figures[kind].write(figure)
            figures.append(self.targets.figures[kind].path)
        provenance = [("Python", platform.python_version())]
        solvers = dict.fromkeys((run.kernel.path.stem, run.kernel.sha256) for run in self.runs)
        provenance += [(f"solver {stem}, sha256", sha256[:16]) for stem, sha256 in solvers]
        files = [file for one in cases for file in one.files]
        page = study_page(
            title=self.name.replace("-", " ").replace("_", " ").capitalize(),
            subtitle=_subtitle(self.study) + ("" if simulated else _UNDER_WAY),
            found=measured,
            figures=drawn,
            derivation=self.derivation,
            study_text=self.study.text,
            provenance=provenance,
            files=[*files, *(file.name for file in figures)],
        )
        self.targets.report.write_text(page)
        self.progress("report", 1.0)
        return measured, figures


def _subtitle(study: Study) -> str:
    """Return a sentence that says who learns what from which inputs, and how."""
    student = activation(study.student_activation)
    teacher = activation(study.teacher_activation)

    def counted(key: str, count: int, kind: str) -> str:
        plural = "s" if count > 1 or key in study.sweep else ""
        return f"{kind} unit{plural}" if key in study.sweep else f"{count} {kind} unit{plural}"

    units = counted("network.students", study.K, "student")
    if "network.activation" not in study.sweep:
        units += f" with g(x) = {student.text}"
    learned = counted("network.teachers", study.M, "teacher")
    if teacher.text != student.text:
        learned += f" with g(x) = {teacher.text}"
    layers = "both layers trained" if study.network.train_second_layer else "first layer trained"
    parts = [f"{units} learn {learned}, {layers}"]
    # swept keys are listed with all values at the end
    if "training.learning_rate" not in study.sweep:
        parts.append(f"η = {study.training.learning_rate:g}")
    data: Any = study.data
    if data is not None:
        exponent = getattr(data, "exponent", None)
        inputs = f"{data.model} inputs"
        if exponent is not None and "data.exponent" not in study.sweep:
            inputs += f" with β = {exponent:g}"
        dimension = study.data_model.dimension if study.data_model is not None else None
        if dimension and "data.dimension" not in study.sweep:
            inputs += f", N = {dimension}"
        parts.append(inputs)
    for key, values in study.sweep.items():
        parts.append(f"{letter(key)} = {', '.join(str(value) for value in values)}")
    return "; ".join(parts)
