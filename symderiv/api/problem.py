"""A learning problem: who learns what, from which inputs, by which rule, from where."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace as replaced
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, Unpack

import numpy as np

from symderiv.api.arguments.argument_names import argument_of, given, naming_arguments, timed
from symderiv.api.arguments.texts import saved_text, whole_text
from symderiv.api.results.runs.grids import MapMade, RunAsked, SweepMade
from symderiv.foundation.errors import InputError, warn_caller
from symderiv.foundation.named_arguments import taken, taking
from symderiv.foundation.outputs import Output, as_output
from symderiv.foundation.progress import Progress, following, progress_bar
from symderiv.foundation.showing import Shown, Summary, plain, whole_rows
from symderiv.keys.key_records import argument_of_key, saying
from symderiv.keys.study_tables import TABLES, Time
from symderiv.problem.input_model import InputModel
from symderiv.problem.input_models import Covariance
from symderiv.problem.key_names import STATED, by_key, key_of, study_key
from symderiv.problem.study import Study, expand_sweep, load_study, parse_study, study_from_mapping

if TYPE_CHECKING:
    import numpy.typing as npt
    import xarray

    from symderiv.api.arguments.taken_keys import (
        EnsembleKeys,
        FluctuationKeys,
        MapKeys,
        ProblemKeys,
        SimulateKeys,
        SolveKeys,
        SweepKeys,
    )
    from symderiv.api.results.equations.citations import Citation
    from symderiv.api.results.equations.derived import LearningDerivation, Module
    from symderiv.api.results.equations.explained import Explanation
    from symderiv.api.results.equations.exports import Export
    from symderiv.api.results.equations.rates import Rates
    from symderiv.api.results.equations.shown_equations import Equations
    from symderiv.api.results.equilibria.possible import BayesOptimal
    from symderiv.api.results.equilibria.risk_minima import RiskMinima
    from symderiv.api.results.equilibria.specialisation_diagram import Specialisation
    from symderiv.api.results.equilibria.statics import Equilibrium
    from symderiv.api.results.flows.best_constants import BestConstant
    from symderiv.api.results.flows.biased_plateau import BiasedPlateau
    from symderiv.api.results.flows.fixed_point_answer import FixedPoints
    from symderiv.api.results.flows.jacobian import Jacobian, Linearisation
    from symderiv.api.results.flows.late import LateLearning
    from symderiv.api.results.flows.plateau import Plateau
    from symderiv.api.results.rate_function import RateFunction
    from symderiv.api.results.runs.fits import Fit
    from symderiv.api.results.runs.fluctuations import Fluctuations
    from symderiv.api.results.runs.mapped import Quantity
    from symderiv.api.results.runs.protocols import OptimalControl
    from symderiv.api.stated import System
    from symderiv.experiment.studies.simulation import Simulation
    from symderiv.integrate.events.asked import Event
    from symderiv.integrate.flows.trajectory import Trajectory
    from symderiv.problem.state import State
    from symderiv.show.pages.job import StudyResult
    from symderiv.storage.checkpoint import Checkpoint
    from symderiv.sweeps.study_map import StudyMap
    from symderiv.sweeps.sweep_result import Sweep

    Array = Sequence[Any] | npt.NDArray[np.float64]
    Weights = float | str | Array
    Start = State | str | PathLike[str] | Mapping[str, Any]

Result = TypeVar("Result", "Trajectory", "Simulation")

_GRID = ("time.end", "time.values", "time.points", "time.spacing")
"""Keys of the times at which calls give results."""
_ACCURATELY = (*_GRID, "time.relative_tolerance", "time.absolute_tolerance")


@saying(TABLES)
class Problem(Shown):
    r"""A student that learns from a teacher by one-pass stochastic gradient descent.

    The student's output is Σ_i v_i g(x_i) with fields x_i = J_i·ξ/√N, and its labels are
    Σ_n ṽ_n g̃(y_n) + σ·noise with fields y_n = B_n·ξ/√N of the teacher. A Problem is checked when
    it is made, and never changes. A study file states the same in another form.

    Args:
        [network]
        inputs: an input model, or the covariance of the inputs as a matrix, shape (N, N); 1000
            independent coordinates of variance 1 when left out.
        [training]
        tasks: dictionaries with the keys of [[task]].
        [initial]
        time, simulation: defaults of :meth:`solve` and :meth:`simulate`, the keys of the study's
            tables of these names.

    Raises:
        InputError: a value is not acceptable; ``argument`` names it. Nothing is computed before.

    By default, weight vectors are drawn at N = 1000 with seed 0. The entries of students have the
    standard deviation σ_J = 0.01, as in the work of Saad and Solla, so that overlaps of different
    vectors have the relative size 1/√N. The learning rate is η = 0.5, below the rates at which
    plain networks diverge, and runs end at α = 500/η. Two units have usually left their plateau by
    then; larger networks and smaller overlaps need a longer ``end``. ``by_default`` of a problem
    and of its results names the defaults that were used.

    >>> import symderiv as sd
    >>> sd.Problem("erf", students=2, teachers=2).by_default
    'learning_rate = 0.5, dimension = 1000, student_std = 0.01, seed = 0, end = 1000'
    >>> inputs = sd.Isotropic(1000)
    >>> problem = sd.Problem("erf", students=2, teachers=2, learning_rate=0.5, inputs=inputs)
    >>> run = problem.solve(end=50)
    >>> bool(run.generalization_error[-1] < run.generalization_error[0])
    True
    """

    __slots__ = ("_path", "_study")
    __signature__: ClassVar[inspect.Signature]

    _study: Study
    # the file from which the problem was read
    _path: Path | None

    def __init__(
        self,
        activation: Any,
        *,
        students: int,
        teachers: int,
        inputs: InputModel | Array | None = None,
        tasks: Sequence[Mapping[str, Any]] = (),
        time: Mapping[str, Any] | None = None,
        simulation: Mapping[str, Any] | None = None,
        **keys: Unpack[ProblemKeys],
    ) -> None:
        tables = _tables_of({**keys, **locals()})
        with naming_arguments():
            study = study_from_mapping(tables, Path().absolute(), timed=False)
        object.__setattr__(self, "_study", study)
        object.__setattr__(self, "_path", None)

    @classmethod
    def _of(cls, study: Study, path: Path | None = None) -> Problem:
        problem = object.__new__(cls)
        object.__setattr__(problem, "_study", study)
        object.__setattr__(problem, "_path", path)
        return problem

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Problem does not change; use replace(…)")

    def __getattr__(self, name: str) -> Any:
        # given and default values are attributes, such as problem.learning_rate
        if name.startswith("_"):
            raise AttributeError(name)
        study: Study = self._study
        if name == "inputs":
            return study.data
        if name in ("time", "simulation", "sweep"):
            return getattr(study, name)
        for table in STATED:
            if name in type(getattr(study, table)).model_fields:
                return getattr(getattr(study, table), name)
        raise AttributeError(f"a Problem has no attribute {name!r}")

    @classmethod
    def from_toml(
        cls,
        source: str | PathLike[str],
        *,
        timed: bool = False,
        changes: Mapping[str, Any] | None = None,
    ) -> Problem:
        """Return the problem that a study file, or the text of one, states.

        Args:
            source: the path of a file, or a text of several lines.
            timed: refuse a problem that cannot be run, because its initial vectors cannot be drawn
                or its times are not known.
            changes: values that replace those of the file, by names of keys with or without the
                table.

        Raises:
            InputError: the file cannot be read, or something in it is not acceptable.
        """
        asked = by_key(changes or {})
        if isinstance(source, str) and "\n" in source:
            return cls._of(parse_study(source, Path().absolute(), timed=timed, changes=asked))
        return cls._of(load_study(Path(source), timed=timed, changes=asked), Path(source))

    def to_toml(self, path: str | PathLike[str] | None = None, *, force: bool = False) -> str:
        """Return the text of a study file that states this problem; reading it gives an equal one.

        The text contains absolute names of files, and arrays number by number.

        Args:
            path: also write the file, completely or not at all; arrays of more than 1000 numbers
                are written beside it, and the text names their files.
            force: replace a file even if it is not as symderiv wrote it.

        Raises:
            InputError: an array has more than a million numbers and no path is given; the file must
                not be replaced; or the folder cannot be written to.
        """
        if path is None:
            return whole_text(self._study)
        return saved_text(self._study, Path(path), force=force)

    def replace(self, **changes: Any) -> Problem:
        """Return a new problem in which some values are replaced, and check it.

        Args:
            changes: arguments of :class:`Problem`, or keys of the study file with or without their
                tables; ``exponent=0.5`` or ``**{"inputs.exponent": 0.5}`` changes one argument of
                the input model.

        Raises:
            InputError: there is no such argument, or its value is not acceptable.

        >>> import symderiv as sd
        >>> problem = sd.Problem("erf", students=2, teachers=2, learning_rate=0.5)
        >>> problem.replace(learning_rate=0.3).learning_rate
        0.3
        """
        keys = {
            key: _input_model(value) if key == "data" else _python(value, key)
            for key, value in by_key(changes).items()
        }
        with naming_arguments():
            return self._of(self._study.changed(keys))

    def grid(self, **lists: Sequence[Any]) -> tuple[Problem, ...]:
        """Return one problem per combination of values, the last list varying fastest.

        Args:
            lists: a list of values for each argument, by names as for :meth:`replace`. Without any,
                the lists of the study file's table [sweep].

        Raises:
            InputError: see :meth:`replace`.
        """
        if not lists:
            return tuple(self._of(study) for _, study in expand_sweep(self._study))
        combinations = itertools.product(*_lists_of(None, lists).values())
        return tuple(self.replace(**dict(zip(lists, c, strict=True))) for c in combinations)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file from which the problem was read, and the files from which it takes arrays."""
        own = () if self._path is None else (self._path,)
        return (*own, *self._study.input_files)

    @property
    def name(self) -> str:
        """The name of the problem's file without the ending, or "problem"."""
        return "problem" if self._path is None else self._path.stem

    @property
    def by_default(self) -> str:
        """The values that the problem has by default: learning rate, dimension, start, end."""
        return self._study.by_default()

    @property
    @following("deriving the equations")
    def equations(self) -> Equations:
        """The order-parameter equations, derived from the learning rule.

        Deriving them takes a fraction of a second. A notebook shows them typeset, a terminal as
        text.
        """
        from symderiv.api.results.equations.shown_equations import equations_of

        return equations_of(self._study)

    @property
    def system(self) -> System:
        """The learning rule as a :class:`symderiv.System`.

        In the system, students are ``J``, teachers ``B``, trained output weights ``v``, biases
        ``b``. Its time is the number of steps divided by N; for batches of cN examples it is the
        number of steps.

        Raises:
            NotClosed: the equations for these inputs do not close.
        """
        from symderiv.api.stated import System
        from symderiv.system.study_system import stated_in

        return stated_in(System(self._study.training.order), self._study)

    @following("deriving the equations")
    def rates(
        self,
        *,
        Q: Array | None = None,
        R: Array | None = None,
        T: Array | None = None,
        v: Array | None = None,
        state: State | str | PathLike[str] | None = None,
        alpha: float = 0.0,
        **further: Array,
    ) -> Rates:
        """Return the right-hand side dQ/dα, dR/dα, dv/dα at a state, and the error there.

        Args:
            Q: overlaps of the students, shape (K, K), symmetric; or (L, K, K) per eigenvalue of the
                inputs, as in a ``State``. A total is divided among eigenvalues in the way that
                holds on average for weight vectors without preferred directions.
            R: overlaps of students and teachers, shape (K, M) or (L, K, M).
            T: covariance of the teachers, shape (M, M) or (L, M, M); by default that of the
                problem's initial state.
            v: output weights, shape (K,); those of the problem when left out.
            state: a state, or a file with one, instead of the order parameters.
            alpha: the time, which matters if the problem has a schedule or tasks that follow each
                other; ``v`` is then the head of the current task.
            further: other order parameters of the learning rule: trained biases b (K,); overlaps of
                the velocities U of momentum, P = U·J/N (K, K), W = U·U/N (K, K) and C = U·B/N
                (K, M); v_velocity and b_velocity (K,); overlaps ``J.A``, ``A.A``, ``A.B`` of
                averages. Velocities that are left out are 0, and averages equal the weights.

        Raises:
            InputError: an order parameter is missing or does not belong to this rule, a matrix has
                a wrong shape, or the covariance of all fields is not positive semidefinite.

        >>> import symderiv as sd
        >>> problem = sd.Problem("linear", students=1, teachers=1, learning_rate=1.0)
        >>> problem.rates(Q=[[0.0]], R=[[0.0]], T=[[1.0]]).dR
        array([[1.]])
        """
        from symderiv.api.arguments.starts import start_of
        from symderiv.api.results.equations.rates import rates_at
        from symderiv.problem.timetable import study_at

        order = given({"Q": Q, "R": R, "T": T, "v": v, **further})
        if order and state is not None:
            raise InputError(
                "is given beside a state; remove one of them", argument=next(iter(order))
            )
        with naming_arguments(initial="state"):
            study = study_at(self._study, alpha)
            return rates_at(study, start_of(study, order if order else state, "state"))

    @following("deriving the equations")
    def explain(self, name: str, state: Start | None = None) -> Explanation:
        """Return the equation of one order parameter, or of the error, with all its means.

        The equation is that of :attr:`equations`, with sums over units written out. For every
        Gaussian mean in it, the result contains a name, the value at the state, and the closed form
        that :func:`symderiv.mean` derives.

        Args:
            name: ``"Q[1,2]"``, ``"R[1,1]"``, ``"v[1]"`` or ``"generalization_error"``; units are
                counted from 1.
            state: the state at which means are evaluated; see ``initial`` of :meth:`solve`. By
                default the initial state of the problem.

        Raises:
            InputError: there is no such order parameter, or it does not change.
            NotYetError: a mean contains more than activations at fields without bias.

        >>> import symderiv as sd
        >>> problem = sd.Problem("erf", students=1, teachers=1, learning_rate=0.5)
        >>> state = {"Q": [[0.5]], "R": [[0.2]], "T": [[1.0]]}
        >>> found = problem.explain("generalization_error", state)
        >>> [str(mean.closed_form) for mean in found.means.values()][0]
        '2*asin(Q11/(Q11 + 1))/pi'
        """
        from symderiv.api.arguments.starts import start_of
        from symderiv.api.results.equations.explained import explained

        with naming_arguments(initial="state"):
            return explained(self._study, name, start_of(self._study, state, "state"))

    @following("deriving the equations")
    def rhs(self) -> RateFunction:
        """Return the right-hand side as a function f(t, y), which SciPy's ``solve_ivp`` takes.

        The result also has the initial state of the problem as a vector, ``initial``, the ``names``
        of its entries, and the methods ``pack``, which makes a vector of a state, and ``unpack``,
        which makes named arrays of vectors.

        Raises:
            InputError: the rates depend on time (schedules, tasks), or there are only steps
                (batches of cN examples).

        >>> import symderiv as sd
        >>> from scipy.integrate import solve_ivp
        >>> f = sd.Problem("erf", students=2, teachers=2).rhs()
        >>> found = solve_ivp(f, (0, 50), f.initial)
        >>> f.unpack(found.y)["R"].shape == (found.t.size, 2, 2)
        True
        """
        from symderiv.api.results.rate_function import RateFunction

        with naming_arguments():
            return RateFunction(self._study)

    @saying(TABLES, taking=[f"time.{key}" for key in Time.model_fields], values="alpha")
    @taking(RunAsked)
    def solve(
        self,
        *,
        initial: Start | None = None,
        output: str | PathLike[str] | None = None,
        checkpoint: Checkpoint | None = None,
        progress: Progress = None,
        notice: Callable[[str], None] | None = None,
        **keys: Unpack[SolveKeys],
    ) -> Trajectory:
        """Integrate the order-parameter equations.

        If a run cannot reach its end, or is interrupted from the keyboard, the result contains the
        part that was computed, and ``cause`` and ``warnings`` say why.

        Args:
            initial: the initial state: a state, a file with one, or a dictionary. The dictionary
                contains order parameters as :meth:`rates` takes them, or weights J (K, N), B (M, N)
                as arrays or PyTorch tensors, and v (K,) if it is not that of the problem. Fields
                are J·ξ/√N, so that J = √N W for the first-layer weights W of a network whose layers
                do not divide by √N.
            [time]
            [taken]
            output: the name of a file to which the run is written too, see
                :meth:`Trajectory.save`.
            checkpoint: a :class:`~symderiv.storage.checkpoint.Checkpoint` from which the run
                continues, and to which it writes.
            progress: None shows a bar on a terminal or in a notebook, "lines" also writes lines to
                standard error elsewhere, False shows nothing. A function is called with the name of
                a task and its finished fraction.
            notice: a function that is called with one line if a solver has to be derived first.

        Raises:
            InputError: an argument is not acceptable.
            NotYetError: ``certify`` is set, but a mean has no closed form.
            ToleranceError: ``certify`` is set, and the radius was not reached.
        """
        times: dict[str, Any] = {**keys}
        asked = taken(RunAsked, times)
        study = timed(self._study, times)
        from symderiv.api.results.runs.solved import solved

        file = _file(output)
        with naming_arguments(), progress_bar(progress) as update:
            run, study = solved(study, initial, asked, update, notice, checkpoint)
        return self._finished(run, study, initial, file)

    @following("following fluctuations")
    @saying(TABLES, taking=_GRID, values="alpha")
    def fluctuations(
        self,
        *,
        initial: Start | None = None,
        dimension: int | None = None,
        independent_starts: bool = False,
        events: Sequence[str | Event] | str | Event = (),
        **keys: Unpack[FluctuationKeys],
    ) -> Fluctuations:
        """Return how order parameters of runs at finite N differ from the limit of large N.

        √N times the difference is Gaussian with a covariance Σ that obeys dΣ/dα = AΣ + ΣAᵀ + D.
        Here A is the Jacobian of the rates, and D is the covariance of N times the change in one
        example, which is derived from the update. Finite N also shifts means by amounts of order
        1/N.

        Args:
            initial: the initial state of all runs, see :meth:`solve`.
            [time]
            dimension: N, for bands and for distributions of times; that of the inputs by default.
            independent_starts: draw the students of every run independently, from the normal
                distribution of the problem; Σ then begins at the covariance of their overlaps. All
                runs have the same teachers.
            events: conditions on order parameters as those of :meth:`solve`. The result contains
                the distribution of the time at which each of them first holds.

        Raises:
            InputError: an argument is not acceptable.
            NotYetError: symderiv cannot compute the fluctuations of this problem: its batches grow
                with N, its momentum does not depend on N, its inputs have several classes, or a
                mean cannot be differentiated.

        Example:
            >>> import symderiv as sd
            >>> problem = sd.Problem("erf", students=1, teachers=1, inputs=sd.Isotropic(1000))
            >>> found = problem.fluctuations(end=2, points=5)
            >>> found.names, found.covariance.shape
            (['Q[1,1]', 'R[1,1]', 'generalization_error'], (5, 3, 3))
        """
        study = timed(self._study, keys).with_end()
        from symderiv.api.results.runs.fluctuations import fluctuations_at

        with naming_arguments():
            fluctuations = fluctuations_at(study, initial, dimension, independent_starts, events)
        for message in fluctuations.warnings:
            warn_caller(message)
        return fluctuations

    def _finished(
        self,
        result: Result,
        study: Study,
        initial: Start | None,
        file: Output | None,
    ) -> Result:
        """Return a result that knows its problem; warn of its faults, and write it if asked."""
        result = replaced(
            result,
            by_default=study.by_default(
                started=initial is not None, sized=isinstance(initial, Mapping) and "J" in initial
            ),
            origin=self._of(study, self._path),
        )
        for message in dict.fromkeys((*result.warnings, result.failure())):
            warn_caller(message)
        return result if file is None else result.save(file)

    def fit(
        self,
        curves: Mapping[str, Any],
        *,
        parameters: Sequence[str],
        initial: Start | None = None,
        progress: Progress = None,
    ) -> Fit:
        """Return the numbers of this problem that describe measured curves best.

        The fit minimises squared differences by SciPy, with derivatives from the variational
        equations. The search begins at the numbers of this problem and may end in a local minimum;
        numbers keep their sign.

        Args:
            curves: a dictionary with ``alpha``, ascending times (P,), and measured curves (P,)
                under the names ``generalization_error``, ``Q[1,2]``, ``R[1,1]``, ``v[1]``. Give
                standard errors for all curves, under the same names with ``_standard_error`` at the
                end, or for none.
            parameters: names of the numbers to find, see ``sensitivities`` of :meth:`solve`.
            initial: the initial state of every run, see :meth:`solve`; by default that of the
                problem.
            progress: see :meth:`solve`.

        Raises:
            InputError: the curves cannot be read, or a number does not change the run.
            NotYetError: a mean has no closed form, or the inputs have several classes.

        Example:
            >>> import symderiv as sd
            >>> inputs = sd.Isotropic(500)
            >>> truth = sd.Problem("erf", students=2, teachers=2, learning_rate=0.8, inputs=inputs)
            >>> run = truth.solve(alpha=[1, 3, 10, 30])
            >>> data = {"alpha": run.alpha, "generalization_error": run.generalization_error}
            >>> found = truth.replace(learning_rate=0.5).fit(data, parameters=["learning_rate"])
            >>> round(found.parameters["learning_rate"], 6)
            0.8
        """
        from symderiv.api.results.followed import FollowedStudy
        from symderiv.api.results.runs.fits import fitted

        with naming_arguments(), progress_bar(progress, "fitting") as update:
            return fitted(FollowedStudy(self._study, initial), curves, parameters, update)

    def optimise(
        self,
        *,
        control: str = "learning_rate",
        bounds: tuple[float, float],
        end: float | None = None,
        objective: str = "final",
        pieces: int = 40,
        initial: Start | None = None,
        progress: Progress = None,
    ) -> OptimalControl:
        """Choose a number of this problem as a function of time, so that the error becomes small.

        The number, the control, is constant in pieces of equal length. A projected quasi-Newton
        method (SciPy's L-BFGS-B) searches for it, with gradients from the adjoint of the run. The
        searches begin at the best constant, at the steepest descent of the error and at three other
        constants. The result states how well it fulfils Pontryagin's conditions. It is a local
        optimum: better ones may exist.

        Args:
            control: learning_rate (with it all other rates of the problem change by the same
                factor), weight_decay, label_noise, label_flip, keep, input_noise or update_noise.
            bounds: the smallest and the largest value of the control.
            end: the end of the run, in α; that of the problem when left out.
            objective: "final" for the generalisation error at the end, "integral" for its integral
                over α, or "time:1e-3" for the time at which it is first below that number.
            pieces: the number of pieces in which the control is constant.
            initial: see :meth:`solve`.
            progress: see :meth:`solve`.

        Returns:
            The control with its run, the best constant, the steepest descent, and the residual of
            Pontryagin's conditions. If the control is the learning rate, the result has a
            ``schedule`` for this problem. The steps of the run are halved until the objective
            changes by less than one part in a million.

        Raises:
            InputError: an argument is not acceptable, or no control reaches the error asked for.
            NotYetError: a mean has no closed form, or the inputs have several classes.

        Example:
            >>> import symderiv as sd
            >>> inputs = sd.Isotropic(1000)
            >>> problem = sd.Problem("linear", students=1, teachers=1, label_noise=0.5,
            ...                      inputs=inputs)
            >>> found = problem.optimise(bounds=(0, 2), end=10, pieces=10)
            >>> found.objective < found.constant["objective"]
            True
            >>> run = problem.replace(schedule=found.schedule).solve(end=10)
            >>> bool(abs(run.generalization_error[-1] / found.objective - 1) < 1e-6)
            True
        """
        study = timed(self._study, {"end": end})
        from symderiv.api.results.runs.protocols import optimised

        with naming_arguments(), progress_bar(progress, "optimising") as update:
            return optimised(study, control, objective, bounds, pieces, initial, update)

    def timed(self, **times: Any) -> Problem:
        """Return the same problem with other times.

        Args:
            times: ``end``, ``alpha``, ``points``, ``spacing``, … as in :meth:`solve`.
        """
        return self._of(timed(self._study, times), self._path)

    @property
    def has_rule(self) -> bool:
        """True if the learning rule is not plain gradient descent of the squared loss."""
        return bool(self._study.rule_keys)

    @property
    def study_text(self) -> str:
        """The text of the study in results of this problem, with digests of large arrays."""
        return self._study.text

    @saying(TABLES, taking=_ACCURATELY, values="alpha")
    def ensemble(
        self,
        *,
        threads: int | None = None,
        max_steps: int | None = None,
        check: Literal["auto", "never"] = "never",
        progress: Progress = None,
        notice: Callable[[str], None] | None = None,
        over: Mapping[str, Sequence[Any]] | None = None,
        **lists: Unpack[EnsembleKeys],
    ) -> xarray.Dataset:
        """Integrate the equations for every combination of values, many runs at a time.

        If there are 256 runs or more and no mean is computed by quadrature, each thread integrates
        eight runs at a time, except schedules that are formulas, mixtures of tasks, batches that
        grow with N, and large systems.

        Args:
            end, alpha, points, spacing, relative_tolerance, absolute_tolerance: see :meth:`solve`;
                the same for all runs. The default end is that of this problem.
            threads: number of threads; one per processor when left out.
            max_steps: steps after which a run is given up; 100 million when left out.
            check: "auto" estimates the errors of each run from a second one, with the steps of
                :meth:`solve`; this takes two to three times as long. "never" makes no second run.
            progress, notice: see :meth:`solve`.
            over, lists: lists of values by names as for :meth:`replace`; each is a dimension of the
                result. ``over`` takes any names of keys, such as "training.learning_rate".

        Returns:
            An xarray Dataset. Q, R, v and generalization_error depend on the lists and on alpha. T,
            status, alpha_end, tolerance_reached and error_accuracy (estimates of the largest errors
            of Q, R, v and of generalization_error, as of a :class:`Trajectory`; not a number unless
            ``check`` is "auto"), local_error_sum (the sum of the estimated errors of steps), steps,
            rhs_evaluations and wall_seconds depend on the lists. ``status`` is "done", the reason
            why a run ended early, or "failed: …"; values after alpha_end are not a number. After an
            interrupt from the keyboard, the dataset contains what was computed.

            ``plot(quantity)`` draws it, see :meth:`symderiv.Sweep.plot`. Its attribute ``symderiv``
            has ``features()``, ``to_csv()`` and ``save(path)``.

        Raises:
            InputError: a value is not acceptable, or the results do not fit into memory.

        >>> import symderiv as sd
        >>> problem = sd.Problem("linear", students=2, teachers=2, learning_rate=0.5,
        ...                      inputs=sd.Isotropic(1000))
        >>> runs = problem.ensemble(learning_rate=[0.5, 1.0], seed=range(3), end=10, points=5)
        >>> dict(runs.generalization_error.sizes)
        {'learning_rate': 2, 'seed': 3, 'alpha': 5}
        """
        from symderiv.api.results.runs.ensembles import ensemble_of

        named, names = dict[str, Any](**lists), set(map(argument_of, _ACCURATELY))
        times = {name: named.pop(name) for name in names & named.keys()}
        study = timed(self._study, times).with_end()
        with naming_arguments(), progress_bar(progress) as update:
            every = _lists_of(over, named)
            runs = ensemble_of(study, every, threads, max_steps, check, update, notice)
        warn_caller(runs.symderiv.failure())
        return runs

    @saying(TABLES, taking=["simulation.runs", *_GRID, "simulation.method"], values="alpha")
    def simulate(
        self,
        *,
        initial: Start | None = None,
        workers: int | None = None,
        output: str | PathLike[str] | None = None,
        checkpoint: Checkpoint | None = None,
        progress: Progress = None,
        notice: Callable[[str], None] | None = None,
        **keys: Unpack[SimulateKeys],
    ) -> Simulation:
        """Simulate one-pass stochastic gradient descent, several times.

        All runs have the teacher and the initial student of :meth:`solve`, and differ in their
        examples. After an interrupt from the keyboard, the result contains the times that all runs
        have reached.

        Args:
            [simulation]
            end, alpha, points, spacing: see :meth:`solve`.
            initial: see :meth:`solve`.
            workers: number of threads; one per processor when left out.
            output: the name of a file to which the result is written too, see
                :meth:`Simulation.save`.
            checkpoint, progress, notice: see :meth:`solve`.

        Raises:
            InputError: an argument is not acceptable, or the inputs have no dimension.
        """
        from symderiv.api.arguments.starts import at_rest, start_of
        from symderiv.experiment.studies.simulating import simulate

        times = {name: keys.get(name) for name in map(argument_of, _GRID)}
        study = timed(self._study, times)
        asked = given({name: keys.get(name) for name in ("runs", "method")})
        file = _file(output)
        if given(times):
            asked["end"] = None
        with naming_arguments(), progress_bar(progress) as update:
            if asked:
                own = study.simulation.model_dump(exclude_unset=True)
                study = study.changed({"simulation": given({**own, **asked})})
            simulation = simulate(
                study,
                start=at_rest(study, start_of(study, initial)),
                workers=workers,
                progress=lambda done, total: update("simulating", done / max(total, 1)),
                notice=notice,
                checkpoint=checkpoint,
            )
        return self._finished(simulation, study, initial, file)

    def study(
        self,
        output: str | PathLike[str] | None = None,
        *,
        thorough: bool = False,
        bands: bool = False,
        force: bool = False,
        checkpoints: Callable[..., Any] | None = None,
        progress: Progress = None,
        notice: Callable[[str], None] | None = None,
    ) -> StudyResult:
        """Solve the equations, simulate SGD, compare both and write a report, also for a sweep.

        Args:
            output: the folder of the report, figures and files; NAME-results when left out.
            thorough: simulate as far as the equations are integrated.
            bands: also compute how single runs scatter at finite N, and show it as bands around
                the curves; see :meth:`fluctuations`. It takes seconds for a few order parameters
                and minutes for a hundred.
            force: replace files that symderiv did not write.
            checkpoints: a function that returns the checkpoint of an output file.
            progress: see :meth:`solve`.
            notice: a function that is called with a line that says what is going to be done, and
                again when the page with the curves of the equations can be opened, before
                simulations begin.

        Raises:
            InputError: a file must not be replaced.
        """
        from symderiv.api.results.runs.fluctuations import error_band
        from symderiv.show.pages.job import Calls, run_study

        folder = Path(output) if output is not None else Path(f"{self.name}-results")
        with progress_bar(progress) as update:
            return run_study(
                self._study,
                folder,
                name=self.name,
                files=self.files,
                thorough=thorough,
                force=force,
                calls=Calls(
                    update, notice or (lambda message: None), error_band if bands else None
                ),
                checkpoints=checkpoints,
            )

    @taking(SweepMade)
    def sweep(
        self,
        over: Mapping[str, Sequence[Any] | str] | None = None,
        *,
        output: str | PathLike[str] | None = None,
        **lists: Unpack[SweepKeys],
    ) -> Sweep:
        """Solve a grid of problems, and write the results to one store on disk.

        The store is a Zarr group that xarray opens; swept keys are its dimensions. Another call
        solves only what the store does not contain. More values and more keys extend it.

        Args:
            over: lists of values by names of arguments or keys ("learning_rate", "inputs.exponent",
                "time.end"), in addition to those of the study's table [sweep] or instead of them. A
                text "low:high:count" or "log:low:high:count" is a range.
            lists: the same for keys that can be written as names of arguments.
            output: the folder of the store; NAME-sweep.zarr when left out.
            [taken]

        Raises:
            InputError: a problem of the grid is not acceptable, or ``output`` is not a store of
                this study.
            SymderivError: the disk is full or the scheduler is gone; complete parts are kept.
        """
        store = Path(output) if output is not None else Path(f"{self.name}-sweep.zarr")
        named: dict[str, Any] = {**lists}
        how = taken(SweepMade, named)
        return how.sweep(self._study.with_end(), _lists_of(over, named), store)

    @taking(MapMade)
    def map(
        self,
        quantity: Quantity,
        *,
        over: Mapping[str, Sequence[Any]] | None = None,
        **lists: Unpack[MapKeys],
    ) -> StudyMap:
        """Map one quantity of a run over two keys, with many points only where it changes.

        Args:
            quantity: "plateau" (the kinds "plateau" and "none"), "final_error", "plateau_length",
                "plateau_height", "plateau_begin", "plateau_end", "slowest", "exponent", "rate",
                "status", "stable"; or a function of the times and errors of a run.
            over: two keys of the study file, each with its range (low, high) or (low, high, "log"),
                or with three or more ascending values.
            lists: the same for keys that can be written as names of arguments.
            [taken]

        Raises:
            InputError: there is no such quantity, or an end is not acceptable.
        """
        named: dict[str, Any] = {**lists}
        how = taken(MapMade, named)
        return how.map(self._study.with_end(), quantity, _lists_of(over, named))

    @following("deriving the equations")
    def derive(self, *, tolerance: float | None = None) -> LearningDerivation:
        """Return the derivation of :attr:`equations`, step by step.

        Args:
            tolerance: see :func:`symderiv.derive`.
        """
        from symderiv.api.results.equations.derived import derivation_of

        return derivation_of(self._study, tolerance)

    @following("deriving the solver module")
    def generate(
        self,
        name: str,
        *,
        output: str | PathLike[str] | None = ".",
        tolerance: float | None = None,
        force: bool = False,
    ) -> Module:
        """Write the solver module NAME.py, which needs only math, numpy and numba.

        Args:
            name, output, tolerance, force: see :func:`symderiv.generate`.
        """
        from symderiv.api.results.equations.derived import module_of

        return module_of(self._study, name, tolerance=tolerance, output=output, force=force)

    @following("deriving the equations")
    def export(
        self,
        to: str,
        output: str | PathLike[str] | None = None,
        *,
        tolerance: float | None = None,
        fixed_point: int | None = None,
        force: bool = False,
        **fragment: Any,
    ) -> Export:
        """Return the right-hand side and the error as source in another language.

        At the end of the source is an example with the numbers of this problem.

        Args:
            to: the language: "python" (NumPy), "c", "latex", …; ``symderiv export --help`` lists
                all. "coq" writes bounds of the rates and of the error at the initial state as
                theorems.
            output: the file to write; None writes nothing, and ``to_source()`` returns the text.
            tolerance: see :func:`symderiv.derive`.
            fixed_point: for "coq", the number of a point in :meth:`fixed_points`, counted from 1.
                The file then proves that a box around the point, 1e-12 to both sides, contains
                exactly one zero of the rates.
            force: replace a file that symderiv did not write.
            fragment: for "latex": ``equations``, the names of those that are wanted (dQ, dR, error,
                A, …); ``labels``, a prefix; ``numbering``, "all", "rates" or "none"; ``notation``,
                "symderiv", "saad-solla", "goldt" or "worschech"; ``integrals``, "folded" or
                "written".

        Raises:
            InputError: the language is not known, or the file must not be replaced.
            NotYetError: the equations cannot be exported; the message names the key.
            ToleranceError: the fixed point could not be enclosed.
        """
        from symderiv.api.results.equations.exports import export_of

        coq = None
        if fixed_point is not None:
            from symderiv.api.fixed_point_file import fixed_point_source

            coq = partial(fixed_point_source, number=fixed_point)
        return export_of(
            self._study,
            to,
            output,
            tolerance=tolerance,
            coq=coq,
            force=force,
            inputs=self.files,
            **fragment,
        )

    def cite(self) -> Citation:
        """Return the sources on which results of this problem rest, with the reasons.

        ``to_bibtex()`` of the result gives them as BibTeX.
        """
        from symderiv.api.results.equations.citations import citation_of

        return citation_of(self._study)

    @following("deriving the plateau")
    def plateau(
        self, *, digits: int = 15, full: bool = False, **moments: Any
    ) -> Plateau | BiasedPlateau:
        """Return the symmetric plateau: the fixed point, its linearisation and the escape time.

        See :func:`symderiv.plateau`. All output weights of students and teachers must be the same
        number v. With c = v √M, Q and R at (v, η) are those at (1/√M, c² η), and ε_g is c² times as
        large.

        If units have biases, which must be the same for all students and for all teachers, the
        answer is a :class:`BiasedPlateau`: the fixed point of the flow and the eigenvalues of its
        Jacobian, in doubles.

        Args:
            digits: significant digits, all proved; with biases, numbers are doubles.
            full: add the plateau of the flow with the terms of order η²; with biases, return it
                instead.
            moments: T1, D1, T2, D2 of the teachers (with biases T1 and D1, the same in all
                eigenspaces). Without them they are the means over random teachers, for isotropic
                and power-law inputs.

        Raises:
            InputError: the problem has no such plateau; ``argument`` names the reason.
        """
        from symderiv.api.results.flows.homogeneous import plateau_of

        return plateau_of(self._study, digits, full, moments)

    @following("deriving the Jacobian")
    def jacobian(self, state: Start | None = None, *, digits: int = 15) -> Jacobian:
        """Return the derivatives of the rates with respect to order parameters and parameters.

        symderiv differentiates the formulas of the rates, so the derivatives are exact up to
        rounding. If means have no closed form (SiLU, Mish, ELU, …), their derivatives are means of
        derivatives of the activations, computed by quadrature with an error of at most a tenth of
        the problem's relative tolerance, but not below 1e-9 for analytic activations and 1e-6 with
        kinks.

        Args:
            state: the state; see ``initial`` of :meth:`solve`. By default the initial state of the
                problem.
            digits: significant digits, 1 to 1000; beyond 15 the entries are numbers of mpmath, for
                the state and the parameters as they are in doubles.

        Raises:
            InputError: the rates depend on more than the state, or an argument is not acceptable.
            NotYetError: the derivative of a mean is not known (the activation has no closed means
                and its slope jumps, as that of SELU), or the inputs have several classes.

        Example:
            >>> import symderiv as sd
            >>> problem = sd.Problem("erf", students=1, teachers=1, learning_rate=0.5)
            >>> found = problem.jacobian()
            >>> found.matrix.shape
            (3, 3)
            >>> found.parameters["learning_rate"].shape
            (3,)
        """
        from symderiv.api.results.flows.jacobian import jacobian_at, study_point

        with naming_arguments():
            return jacobian_at(study_point(self._study, state), digits)

    @following("linearising")
    def linearise(self, state: Start | None = None) -> Linearisation:
        """Return the eigenvalues and modes of the Jacobian at a state.

        Args:
            state: see :meth:`jacobian`.

        Raises:
            InputError: see :meth:`jacobian`.
            NotYetError: see :meth:`jacobian`.
        """
        from symderiv.api.results.flows.jacobian import linearised_at, study_point

        with naming_arguments():
            return linearised_at(study_point(self._study, state))

    @following("looking for fixed points")
    def fixed_points(
        self,
        *,
        initial: Start | None = None,
        digits: int = 15,
        starts: int = 12,
        unconnected: bool = False,
        complete: float | None = None,
        follow: Mapping[str, Sequence[float]] | None = None,
    ) -> FixedPoints:
        """Search for the fixed points of the flow, and prove each of them if possible.

        Newton's method starts from random states, from the initial state of the problem and from
        slow states of trajectories. It searches among all states, and in every space of states that
        do not change when certain units are exchanged. States that differ only by permutations of
        units count as one. If all means have closed forms, ball arithmetic proves that a point
        exists, that no other is near it, and its index (the number of unstable directions).

        Without ``complete``, points may be missing.

        Args:
            initial: a state that gives the teachers; see :meth:`solve`.
            digits: significant digits, 1 to 1000.
            starts: number of random states in each space of symmetric states; among all states
                there are ten times as many.
            unconnected: do not follow the unstable directions of the points.
            complete: a bound on Q_ii. The result then contains, and proves to be all, fixed points
                with Q_ii up to this bound: among all states if two million parts of the box decide
                it, as for two students and three teachers up to 1.1, and otherwise in every space
                of symmetric states of at most seven dimensions. This works for plain descent on
                isotropic inputs with fixed output weights.
            follow: a key of the study with its range, {"learning_rate": (0, 5)}, in which the
                points are followed, also around folds, with the branches that leave them. With a
                second key, the bifurcations are followed in both, as ``curves`` of the result.

        Raises:
            InputError: an argument is not acceptable, or the rates depend on time.
            ToleranceError: the digits were not reached at a point.
            NotYetError: ``complete`` is given for a problem for which symderiv cannot prove it.
        """
        from symderiv.api.results.flows.stationary import fixed_points_of

        with naming_arguments():
            return fixed_points_of(
                self._study,
                initial,
                digits=digits,
                starts=starts,
                unconnected=unconnected,
                complete=complete,
                follow=follow or {},
            )

    @following("looking for the best constant")
    def best(
        self,
        name: str = "learning_rate",
        *,
        between: Sequence[float],
        goal: str = "error",
        end: float | None = None,
        point: int = 1,
    ) -> BestConstant:
        """Return the best constant value of a number, to about nine digits.

        Args:
            name: the name of the number, such as ``learning_rate`` or ``weight_decay``.
            between: the smallest and the largest value that are allowed.
            goal: "error" minimises the generalisation error at the end of a run. It finds the
                minimum near the best of twelve values; there may be a better one elsewhere.
                "stable" finds the largest value up to which a fixed point is stable. "escape" finds
                the value at which the growth rate at an unstable fixed point, per unit of α, is
                largest. Points are followed from the value of the problem.
            end: the α at which the error is taken; that of the problem when left out.
            point: the number of a point in :meth:`fixed_points`, counted from 1.

        Raises:
            InputError: an argument is not acceptable.
            ToleranceError: the point is stable everywhere.
        """
        from symderiv.api.results.flows.best_constants import best_constant

        with naming_arguments():
            return best_constant(self, name, between, goal, end, point)

    def equilibrium(
        self,
        *,
        alpha: Iterable[float],
        kind: Literal["annealed", "bayes-optimal", "erm"] = "annealed",
        constraint: str = "sphere",
        T: Array | None = None,
        prior: Literal["gaussian", "rademacher"] = "gaussian",
        output: str | None = None,
        ridge: float | None = None,
        progress: Progress = None,
    ) -> Equilibrium | BayesOptimal | RiskMinima:
        """Return what is learned from a training set: in equilibrium, at best, or by a fit.

        "annealed" describes students drawn from the Gibbs distribution of the training error of P
        examples at a high temperature Θ, with α = P/(NΘ); some papers count examples per adjustable
        parameter, α/K. It follows the extrema of the free energy α ε_g(Q, R) - ½ ln det(Q - R T⁻¹
        Rᵀ) from α = 0 on, around folds and to branches that leave them, with ε_g of the problem.

        "bayes-optimal" solves the state evolution of the best estimate of the teacher's weights
        from α N examples, from no knowledge and from full knowledge of them; students play no role.

        "erm" describes the minimum of Σ ℓ(s, y) + λ|w|²/2 over α N examples, with s = w·ξ/√N, for
        one linear student and the loss ℓ of the problem.

        Args:
            alpha: ascending values at which states are wanted; branches are followed to the last.
            kind: "annealed", "bayes-optimal" or "erm".
            constraint: for "annealed": "sphere" for Q_ii = 1, or "free", where ``weight_decay`` κ
                adds κ/2 Σ Q_ii to the free energy.
            T: for "annealed": the teachers' covariance, shape (M, M); the identity when left out.
            prior: for "bayes-optimal": distribution of the teachers' weights.
            output: for "bayes-optimal" and "erm": the labels, as a formula in the teachers' fields
                z1, …, zM and ``noise``; those of the teacher when left out.
            ridge: for "erm": λ > 0; when left out, the one with the smallest error at each α.
            progress: see :meth:`solve`.

        Returns:
            For "annealed", branches and transitions, whose α have at least 8 digits; it is not
            proved that no branch is missing. For "bayes-optimal", overlaps, errors and transitions.
            For "erm", the order parameters of the minima.

        Raises:
            InputError: an argument is not acceptable, or belongs to another kind.
            NotYetError: the problem has another learning rule, inputs that are not isotropic, kinks
                without closed means, or another output.

        Example:
            >>> import symderiv as sd
            >>> problem = sd.Problem("relu", students=2, teachers=2)
            >>> found = problem.equilibrium(alpha=[10, 15])
            >>> [(each["kind"], round(each["alpha"], 6)) for each in found.transitions]
            [('continuous', 12.188148)]
        """
        from symderiv.api.results.equilibria.kinds_of_statics import statics_of

        stated = {"constraint": constraint, "T": T, "prior": prior, "output": output}
        with naming_arguments(), progress_bar(progress) as update:
            tell = partial(update, "following branches")
            return statics_of(kind, self._study, alpha, tell, ridge=ridge, **stated)

    def specialisation(
        self,
        *,
        units: Iterable[float] = (2, 3, 4, 5, 6, 8, 10, math.inf),
        progress: Progress = None,
    ) -> Specialisation:
        """Return the α at which committees of K units with this activation specialise.

        There are K students on the sphere and K orthonormal teachers, with output weights 1/√K; the
        numbers of units of the problem do not matter. States have three order parameters: the
        overlap of a student with its own teacher, that with the other teachers, and that of two
        students. α is that of :meth:`equilibrium` with "annealed", divided by K. For K → ∞ the
        values agree with Oostwal, Straat and Biehl, Physica A 564 (2021) 125517: 2π for ReLU, 60.99
        and 69.09 for erf.

        Args:
            units: ascending values of K, whole numbers from 2 to 50; the last may be ``math.inf``.
            progress: see :meth:`solve`.

        Returns:
            The transitions, with 8 digits or more. States with less symmetry, which might
            specialise earlier, are not examined; :meth:`equilibrium` examines them for up to six
            units.

        Raises:
            InputError: a value of K is not allowed.
            NotYetError: the teachers have another activation, E[g'(x)] is zero, the activation is
                linear, or it has a kink and no closed means.
            ToleranceError: a state is not found.

        Example:
            >>> import symderiv as sd
            >>> problem = sd.Problem("relu", students=2, teachers=2)
            >>> found = problem.specialisation(units=[2, 5])
            >>> found.kind, round(float(found.alpha_per_unit[0]), 6), found.closed_form
            (['continuous', 'first-order'], 6.094074, '2*pi')
        """
        from symderiv.api.results.equilibria.specialisation_diagram import specialisation_of

        with naming_arguments(), progress_bar(progress) as update:
            return specialisation_of(self._study, units, partial(update, "following committees"))

    @following("linearising around perfect learning")
    def late(
        self, *, alpha: Array | float | None = None, T1: Any = "1", D1: Any = "0"
    ) -> LateLearning:
        """Analyse late learning, linearised around Q = R = T; see :func:`symderiv.late`.

        The analysis contains the terms of order η² if the problem's ``order`` is "full". With label
        noise, the result then contains the steady state in which learning ends. All output weights
        must be the same number; see :meth:`plateau`.

        Args:
            alpha: times; a few in the power-law window when left out.
            T1, D1: the diagonal entry of the teachers' covariance, and the sum of the other entries
                of a row.

        Raises:
            InputError: the problem cannot be linearised in this way; ``argument`` names the reason.
        """
        from symderiv.api.results.flows.homogeneous import late_of

        return late_of(self._study, alpha, T1, D1)

    def asymptotics(
        self, *, alpha: Array | float | None = None, T1: Any = "1", D1: Any = "0"
    ) -> LateLearning:
        """Analyse late learning: :meth:`late` under the name of the command.

        Args:
            alpha, T1, D1: see :meth:`late`.
        """
        return self.late(alpha=alpha, T1=T1, D1=D1)

    def to_dict(self) -> dict[str, Any]:
        """Return the tables of the study with all defaults; arrays are nested lists."""
        return dict(self._study.tables())

    def _summary(self) -> Summary:
        study = self._study
        learns = study.student_activation
        if study.teacher_activation != learns:
            learns += f", teacher {study.teacher_activation}"
        layers = "both layers" if study.network.train_second_layer else "first layer"
        inputs = f"initial.state = {study.initial.state}" if study.data is None else study.data
        rows: list[tuple[str, object]] = [
            ("activation", learns),
            ("units", f"{study.K} students, {study.M} teachers; {layers} trained"),
            ("inputs", repr(inputs)),
        ]
        for name in ("training", "initial", "time", "simulation"):
            table = getattr(study, name)
            if table.model_fields_set:
                rows.append((name, repr(table).partition("(")[2][:-1]))
        rows += whole_rows("by default", self.by_default)
        if study.sweep:
            rows.append(("sweep", ", ".join(f"{k} ({len(v)})" for k, v in study.sweep.items())))
        return Summary("Problem", rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, tuple[Path, ...]]:
        files = tuple(path.absolute() for path in self._study.input_files)
        return whole_text(self._study, equal=True), files

    def __reduce__(self) -> tuple[Any, ...]:
        tables = self._study.model_dump(exclude_unset=True)
        return _restored, (tables, self._study.base)


def _file(output: str | PathLike[str] | None) -> Output | None:
    """Return the file of a result; one that cannot be written is refused before the run."""
    with naming_arguments(path="output"):
        return None if output is None else as_output(output, "nc")


def _python(value: Any, key: str = "") -> Any:
    """Return a value in a form that a study's text can hold; SymPy expressions become texts."""
    symbols = getattr(value, "free_symbols", None)
    if symbols is not None:
        if "activation" in key and len(symbols) == 1:
            (symbol,) = symbols  # a single symbol counts as x
            value = value.subs(symbol, type(symbol)("x"))
        return str(value)
    if callable(value) and "activation" in key:
        raise InputError(
            "is a function, of which equations cannot be derived; give a name such as 'tanh', or a "
            "formula in x such as 'x*tanh(x)'",
            argument=key.rpartition(".")[2],
        )
    return fspath(value) if isinstance(value, PathLike) else plain(value, finite=False)


def _lists_of(
    over: Mapping[str, Sequence[Any] | str] | None, named: Mapping[str, Sequence[Any] | str]
) -> dict[str, Sequence[Any] | str]:
    """Return the lists that a call got in a dictionary and as arguments, by key.

    Raises:
        InputError: the value of a key is not a list, or a key is given twice.
    """
    if over is not None and not isinstance(over, Mapping):
        raise InputError("must be a dictionary of lists; give over={key: […]}", argument="over")
    lists = {**(over or {})}
    for name, values in named.items():
        key = key_of(name)
        if not hasattr(values, "__iter__") or isinstance(values, Mapping):
            raise InputError(f"must be a list of values; give {name}=[…]", argument=name)
        if key in {key_of(key) for key in lists}:
            raise InputError("is given twice, once in over; remove one", argument=name)
        lists[name] = values
    return lists


def _own_key(name: str) -> str:
    """Return the key of a study that corresponds to an argument of the constructor.

    Raises:
        InputError: no such key exists, or it belongs to the inputs or to a call.
    """
    table, _, key = study_key(name).partition(".")
    if table in STATED:
        return f"{table}.{key}"
    place = f"{table}={{{key!r}: …}}"
    if table == "data":
        first, *others = (m for m in InputModel.__subclasses__() if key in m.model_fields)
        also = [each.__name__ for each in others]
        place = f"inputs=sd.{first.__name__}({key}=…)"
        place += f" (also {', '.join(also)})" if also else ""
    raise InputError(f"is not an argument of a Problem; give it as {place}", argument=name)


def _restored(tables: dict[str, Any], base: Path) -> Problem:
    return Problem._of(study_from_mapping(tables, base, timed=False))


def _tables_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the study's tables that the constructor's arguments state."""
    tables: dict[str, Any] = {table: {} for table in STATED}
    for name, value in arguments.items():
        if name in _NO_KEYS:
            continue
        table, _, key = _own_key(name).partition(".")
        if value is None:
            continue
        # defaults count as not given, so that weights of a state file need not agree with them
        if (
            f"{table}.{key}" not in _TOLD
            and (told := plain(value, finite=False)) == TABLES[table].model_fields[key].default
            and isinstance(told, bool) <= isinstance(TABLES[table].model_fields[key].default, bool)
        ):
            continue
        tables[table][key] = _python(value, key)
    if arguments["tasks"] is not None:
        _check_tasks(arguments["tasks"])
    if arguments["tasks"]:
        tables["task"] = [
            {
                key: each if key == "data" else plain(each, finite=False)
                for key, each in task.items()
            }
            for task in arguments["tasks"]
        ]
    if arguments["inputs"] is not None:
        tables["data"] = _input_model(arguments["inputs"])
    for name in ("time", "simulation"):
        keys = arguments[name]
        if not isinstance(keys, Mapping | None):
            raise InputError(f"must be a dictionary of the keys of [{name}]", argument=name)
        if keys is not None:
            tables[name] = plain(keys, finite=False)
    return tables


def _check_tasks(tasks: Any) -> None:
    """Raise an error if tasks are not a list of dictionaries."""
    if not isinstance(tasks, list | tuple) or not all(isinstance(each, Mapping) for each in tasks):
        raise InputError(
            'must be a list of dictionaries, one for each task, such as [{"until": 10}, {}]',
            argument="tasks",
        )


def _input_model(given: Any) -> Any:
    """Return given inputs as an input model; a symmetric matrix is taken as their covariance.

    Raises:
        InputError: the value is neither an input model nor a covariance.
    """
    if isinstance(given, InputModel | Mapping):
        return given
    models = "give sd.Isotropic(…), sd.Spectrum(eigenvalues), sd.Covariance(matrix) or another"
    if not (hasattr(given, "shape") or isinstance(given, list | tuple)):
        raise InputError(
            f"is {type(given).__name__}, not an input model; {models}", argument="inputs"
        )

    try:
        matrix = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"is not a matrix of numbers; {models}", argument="inputs") from None
    if matrix.ndim == 1:
        mend = "eigenvalues are given as sd.Spectrum(eigenvalues)"
    elif matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        mend = "a covariance is square, and samples are given as sd.Covariance(samples=array)"
    elif not np.allclose(matrix, matrix.T, equal_nan=True):
        raise InputError(
            "is not symmetric, but a covariance is; samples are given as "
            "sd.Covariance(samples=array)",
            argument="inputs",
        )
    else:
        return Covariance(matrix)
    raise InputError(f"has the shape {matrix.shape}; {mend}", argument="inputs")


_NO_KEYS = frozenset({"self", "keys", "inputs", "tasks", "time", "simulation"})
"""Arguments of the constructor that are not keys of a table."""
_TOLD = frozenset(
    {"training.learning_rate", *(f"initial.{key}" for key in TABLES["initial"].RECORDS)}
)
"""Keys whose defaults are named in results if they were used."""


def _whole_signature() -> inspect.Signature:
    """Return the constructor's signature with every key, in the order of the tables."""
    keys = {
        name: argument_of_key(TABLES, f"{table}.{name}")
        for table in STATED
        for name in TABLES[table].model_fields
    }
    own = inspect.signature(Problem.__init__).parameters
    others = [each for name, each in own.items() if name not in {"self", "keys", *keys}]
    del keys["activation"]
    return inspect.Signature([own["activation"], *keys.values(), *others])


Problem.__signature__ = _whole_signature()
