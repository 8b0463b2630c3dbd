"""``System`` with what belongs to rooms above the statement: runs, ensembles, sweeps and maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from symderiv.api.results.runs.grids import MapMade, SweepMade
from symderiv.api.results.runs.run_asked import RunAsked
from symderiv.foundation.errors import InputError, check_one_of, warn_caller
from symderiv.foundation.named_arguments import taken, taking
from symderiv.foundation.progress import Progress, following, progress_bar
from symderiv.system import stated_system
from symderiv.system.stated_system import Spacing, asked_times

if TYPE_CHECKING:
    import xarray

    from symderiv.api.results.flows.best_constants import BestConstant
    from symderiv.api.results.flows.jacobian import Jacobian, Linearisation
    from symderiv.api.results.flows.system_points import SystemFixedPoints
    from symderiv.api.results.runs.fits import Fit
    from symderiv.api.results.runs.fluctuations import Fluctuations
    from symderiv.api.results.runs.mapped import Quantity
    from symderiv.api.results.runs.protocols import OptimalControl
    from symderiv.integrate.events.asked import Event
    from symderiv.sweeps.study_map import StudyMap
    from symderiv.sweeps.sweep_result import Sweep
    from symderiv.sweeps.system_grid import SweptSystem
    from symderiv.system.system_trajectory import SystemRun


class System(stated_system.StatedSystem):
    __doc__ = stated_system.StatedSystem.__doc__

    @taking(RunAsked)
    def solve(
        self,
        end: float | None = None,
        *,
        points: int | None = None,
        spacing: Spacing | None = None,
        alpha: Any = None,
        initial: Mapping[str, Any],
        relative_tolerance: float = 1e-9,
        absolute_tolerance: float = 1e-14,
        max_steps: int = 100_000_000,
        progress: Any = None,
        **parameters: Any,
    ) -> SystemRun:
        """Integrate the equations from α = 0.

        Args:
            end: The last α.
            points: How many times are returned up to the end; the first is 0 (200 when left out).
            spacing: Their spacing, as of problems: "log" or "linear" ("linear" when left out).
            alpha: The ascending times at which results are wanted, instead of these three.
            initial: The state at α = 0, as in ``rates``.
            relative_tolerance, absolute_tolerance: The tolerances of the result.
            [taken]
            max_steps: Steps after which a run is given up.
            progress: Called about ten times a second with the time and the number of steps.
            parameters: Values that differ from the defaults.

        Returns:
            A run with ``run.alpha`` and, by name, order parameters and observables with α first.

        Raises:
            NotClosed: The equations do not close.
            InputError: A name is missing or unknown, or a condition cannot be read.
            NotYetError: A mean has no derivative; a number by which the run is differentiated
                changes when something jumps; or a run is to be proved that has means without
                closed form, steps over batches, or time in its equations.
            ToleranceError: The radius was not reached.
        """
        from symderiv.api.results.equations.certified import enclosed_system_run, radius_of
        from symderiv.integrate.flows.courses import Goal
        from symderiv.integrate.flows.event_times import RunWanted
        from symderiv.system.system_following import FollowedSystem
        from symderiv.system.varied_system import VariedSystem

        asked = taken(RunAsked, parameters)
        target, size = asked.target(), radius_of(asked.radius, asked.digits)
        times = self.solver.times(asked_times(end, alpha, points, spacing))
        goal = Goal.asked(times, relative_tolerance, absolute_tolerance)
        followed = FollowedSystem(VariedSystem(self.solver, initial, parameters), goal)
        wanted = RunWanted.of(asked.sensitivities, asked.events, asked.until)
        run = followed.integrated(wanted, max_steps, progress)
        if asked.certify:
            with progress_bar(None) as update:
                run = enclosed_system_run(run, followed, size, update)
        if target is not None:
            run.enclosure.save(target)
        for message in (*run.warnings, run.failure()):
            warn_caller(message)
        return replace(run, system=self)

    def report(
        self,
        path: str | PathLike[str],
        *,
        initial: Mapping[str, Any],
        dimension: int | None = None,
        runs: int = 4,
        seed: int = 0,
        force: bool = False,
        **solving: Any,
    ) -> Path:
        """Solve, simulate if an input dimension is given, and write one HTML page about it.

        Args:
            path: The file.
            initial: The state at α = 0, as in ``rates``.
            dimension, runs, seed: As in ``simulate``; without a dimension nothing is simulated.
            force: Replace a file even if symderiv did not write it.
            solving: Times and tolerances as in ``solve``, and values of parameters.

        Returns:
            The path of the page.
        """
        from symderiv.foundation.outputs import Output

        Output(path, "html", force=force)  # refused before anything is computed
        run = self.solve(initial=initial, **solving)
        simulation = None
        if dimension is not None:
            simulated = {k: v for k, v in solving.items() if not k.endswith("_tolerance")}
            simulation = self.simulate(
                dimension, runs=runs, initial=initial, seed=seed, **simulated
            )
        return run.report(path, simulation=simulation, force=force)

    def jacobian(
        self, state: Mapping[str, Any], *, digits: int = 15, **parameters: Any
    ) -> Jacobian:
        """Return the derivatives of the rates by every order parameter and every parameter.

        Args:
            state: As in :meth:`rates`.
            digits: Significant digits, 1 to 1000; beyond 15 the entries are mpmath's numbers, for
                the state and parameters as they are in doubles.
            parameters: Values that differ from the defaults.

        Returns:
            See :class:`symderiv.api.results.flows.jacobian.Jacobian`; entries are named as
            in states, ``w.B[1,2]``, with the eigenvalue class first where there are several, and
            parameters as in the solver module.

        Raises:
            NotClosed: The equations do not close.
            InputError: A name is missing or unknown.
            NotYetError: A mean has no closed form.
        """
        from symderiv.api.results.flows.jacobian import jacobian_at, point_of_system

        point = point_of_system(self.solver, state, parameters, by_parameters=True)
        return jacobian_at(point, digits)

    def linearise(self, state: Mapping[str, Any], **parameters: Any) -> Linearisation:
        """Return eigenvalues and modes of the Jacobian by the order parameters.

        Args:
            state: As in :meth:`rates`.
            parameters: Values that differ from the defaults.

        Raises:
            NotClosed: The equations do not close.
            InputError: A name is missing or unknown.
            NotYetError: A mean has no closed form.
        """
        from symderiv.api.results.flows.jacobian import linearised_at, point_of_system

        return linearised_at(point_of_system(self.solver, state, parameters))

    @following("looking for fixed points")
    def fixed_points(
        self,
        initial: Mapping[str, Any],
        *,
        starts: int = 12,
        unconnected: bool = False,
        follow: Mapping[str, Sequence[float]] | None = None,
        **parameters: Any,
    ) -> SystemFixedPoints:
        """Return the fixed points of the equations that are found, with their stability.

        Newton's method, with the generated Jacobian where means are closed, starts from the given
        state, from drawn states and from slow states of trajectories, in the whole and in every
        space of states that exchanges and signs of members leave alone. Points that these take to
        each other are one. Where all means are closed, existence, uniqueness nearby and the index
        of isolated points are proved. Nothing proves that all points were found.

        Args:
            initial: A state as in :meth:`rates`, with the fixed vectors.
            starts: Drawn states in each invariant space, at least 1; ten times as many in the
                whole.
            unconnected: Do not follow the unstable directions of the points.
            follow: A parameter with two ends, {"eta": (0.1, 2)}: the points are followed between
                them, also around folds, with the branches that leave them.
            parameters: Values that differ from the defaults.

        Returns:
            See :class:`symderiv.api.results.flows.system_points.SystemFixedPoints`; in doubles.

        Raises:
            NotClosed: The equations do not close.
            InputError: A name is missing or unknown.
            NotYetError: Time occurs in the equations, or they have too many symmetries.
        """
        from symderiv.api.results.flows.system_points import system_fixed_points

        return system_fixed_points(
            self.solver, initial, starts, unconnected, follow or {}, parameters
        )

    def best(
        self,
        name: str,
        *,
        between: Sequence[float],
        goal: str = "error",
        end: float | None = None,
        point: int = 1,
        initial: Mapping[str, Any],
        observable: str | None = None,
        **parameters: Any,
    ) -> BestConstant:
        """Return the best constant value of a parameter, to about nine digits.

        It is searched as by :meth:`symderiv.Problem.best`.

        Args:
            name: The parameter.
            between: The least and the largest value that are allowed.
            goal: "error" asks for the smallest value of an observable at the end of a run, "stable"
                for the largest value up to which a fixed point stays stable, "escape" for the value
                at which runs leave a fixed point fastest per unit of α.
            end: The α of the observable.
            point: The number of a point in :meth:`fixed_points`, from 1.
            initial: The state at α = 0, as in ``rates``, with the fixed vectors.
            observable: Its name; the first that was observed when left out. It must be positive.
            parameters: Values that differ from the defaults.

        Raises:
            NotClosed: The equations do not close.
            InputError: An argument is not acceptable.
            NotYetError: A mean has no derivative, or time occurs where a fixed point is asked for.
            ToleranceError: The point is stable everywhere.

        Example:
            >>> import symderiv as sd
            >>> P = sd.System()
            >>> x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
            >>> eta = P.parameter("eta", 0.5)
            >>> P.descend((w @ x - B @ x) ** 2 / 2, {w: eta})
            >>> P.observe(error=(w @ x - B @ x) ** 2 / 2)
            >>> start = {"w.w": 0.2, "w.B": 0.1, "B.B": 1.0}
            >>> round(P.best("eta", between=(0.1, 1.9), end=3, initial=start).value, 6)
            1.0
        """
        from symderiv.api.results.flows.best_constants import best_of_system

        shown = self._observable(observable) if goal == "error" else ""
        start = initial, parameters
        return best_of_system(self, name, between, goal, end, point, shown, start)

    def fit(
        self,
        curves: Mapping[str, Any],
        *,
        parameters: Sequence[str],
        initial: Mapping[str, Any],
        relative_tolerance: float = 1e-9,
        progress: Progress = None,
        **values: Any,
    ) -> Fit:
        """Return the numbers of this system that describe measured curves best.

        The search is that of :meth:`symderiv.Problem.fit`; it begins at the values of the system.

        Args:
            curves: ``alpha``, ascending times (P,), and curves (P,) by the names of what they
                measure: an observable (``error``) or an order parameter (``w.B[1,2]``); beside
                each, or none of them, its standard errors under the same name with
                ``_standard_error``.
            parameters: Names of the numbers to find, see ``sensitivities`` of ``solve``.
            initial: The state at α = 0, as in ``rates``.
            relative_tolerance: As in ``solve``.
            progress: See :meth:`symderiv.Problem.solve`.
            values: Values of parameters that differ from the defaults.

        Raises:
            NotClosed: The equations do not close.
            InputError: The curves cannot be read, or a name is missing or unknown.
            NotYetError: A mean has no derivative, or a number moves a jump in time.

        Example:
            >>> import symderiv as sd
            >>> P = sd.System()
            >>> x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
            >>> eta = P.parameter("eta", 0.5)
            >>> P.descend((w @ x - B @ x) ** 2 / 2, {w: eta})
            >>> P.observe(error=(w @ x - B @ x) ** 2 / 2)
            >>> start = {"w.w": 0.2, "w.B": 0.1, "B.B": 1.0}
            >>> run = P.solve(alpha=[0.5, 1, 2, 4], initial=start, eta=0.8)
            >>> data = {"alpha": run.alpha, "error": run["error"]}
            >>> found = P.fit(data, parameters=["eta"], initial=start)
            >>> round(found.parameters["eta"], 6)
            0.8
        """
        from symderiv.api.results.runs.fits import fitted
        from symderiv.integrate.flows.courses import Goal
        from symderiv.system.system_following import FollowedSystem
        from symderiv.system.varied_system import VariedSystem

        varied = VariedSystem(self.solver, initial, values)
        goal = Goal.asked(curves.get("alpha", ()), relative_tolerance)
        with progress_bar(progress, "fitting") as update:
            return fitted(FollowedSystem(varied, goal), curves, parameters, update)

    def optimise(
        self,
        *,
        control: str,
        bounds: tuple[float, float],
        end: float,
        initial: Mapping[str, Any],
        objective: str = "final",
        observable: str | None = None,
        pieces: int = 40,
        progress: Progress = None,
        **parameters: Any,
    ) -> OptimalControl:
        """Return a parameter of this system as a function of time that makes an observable small.

        It is searched as by :meth:`symderiv.Problem.optimise`.

        Args:
            control: The name of a parameter. The constants of the equations must be linear in it.
            bounds: The smallest and the largest value of the control.
            end: The end of the run, in α.
            initial: The state at α = 0, as in ``rates``.
            objective: "final" for the observable at the end, "integral" for its integral over α, or
                "time:1e-3" for the time at which it is first below that number.
            observable: Its name; the first that was observed when left out. It must be positive.
            pieces: The number of pieces in which the control is constant.
            progress: See :meth:`symderiv.Problem.solve`.
            parameters: Values that differ from the defaults.

        Raises:
            NotClosed: The equations do not close.
            InputError: A name is missing or unknown, or no control reaches the value asked for.
            NotYetError: A mean has no derivative, steps are of order one, or time occurs in the
                statement.

        Example:
            >>> import symderiv as sd
            >>> P = sd.System()
            >>> x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
            >>> eta, noise = P.parameter("eta", 0.5), P.latents("n", "gaussian")
            >>> P.descend((w @ x - B @ x - noise / 2) ** 2 / 2, {w: eta})
            >>> P.observe(error=(w @ x - B @ x) ** 2 / 2)
            >>> start = {"w.w": 0.2, "w.B": 0.1, "B.B": 1.0}
            >>> found = P.optimise(control="eta", bounds=(0, 2), end=10, initial=start, pieces=10)
            >>> found.objective < found.constant["objective"]
            True
        """
        from symderiv.api.results.runs.protocols import system_optimised
        from symderiv.system.varied_system import VariedSystem

        varied, shown = VariedSystem(self.solver, initial, parameters), self._observable(observable)
        with progress_bar(progress, "optimising") as update:
            return system_optimised(varied, control, objective, bounds, pieces, end, shown, update)

    @following("following fluctuations")
    def fluctuations(
        self,
        end: float | None = None,
        *,
        points: int | None = None,
        spacing: Spacing | None = None,
        alpha: Any = None,
        initial: Mapping[str, Any],
        dimension: int,
        events: Sequence[str | Event] = (),
        **parameters: Any,
    ) -> Fluctuations:
        """Return how order parameters of runs at finite N differ from the limit of large N.

        They are computed as by :meth:`symderiv.Problem.fluctuations`, from the statement.

        Args:
            end, points, spacing, alpha: As in ``solve``.
            initial: The state at α = 0, as in ``rates``; all runs begin there.
            dimension: N, for bands and laws of times.
            events: Conditions as those of ``solve``. The result has the law of the time at which
                each of them first holds.
            parameters: Values that differ from the defaults.

        Returns:
            See :class:`symderiv.api.results.runs.fluctuations.Fluctuations`; entries are named as
            those of :meth:`jacobian`, ``w.B[1,2]``, and observables as they were observed.

        Raises:
            NotClosed: The equations do not close.
            InputError: A name is missing or unknown, or a condition cannot be read.
            NotYetError: Steps are over batches of cN examples or without their noise, vectors are
                under several constraints, or coefficients depend on time.
        """
        from symderiv.api.results.runs.fluctuations import system_fluctuations

        times = asked_times(end, alpha, points, spacing)
        fluctuations = system_fluctuations(
            self.solver, times, dimension, (initial, parameters), events
        )
        for message in fluctuations.warnings:
            warn_caller(message)
        return fluctuations

    def ensemble(
        self,
        end: float | None = None,
        *,
        points: int | None = None,
        spacing: Spacing | None = None,
        alpha: Any = None,
        initial: Mapping[str, Any],
        relative_tolerance: float = 1e-9,
        absolute_tolerance: float = 1e-14,
        threads: int | None = None,
        max_steps: int = 100_000_000,
        check: Literal["auto", "never"] = "never",
        progress: Progress = None,
        parameters: Mapping[str, Any] | None = None,
        **lists: Any,
    ) -> xarray.Dataset:
        """Integrate every combination of values, many runs at a time.

        Where all means are plain expressions, runs go through compiled lanes, eight on each thread;
        others go one on each thread. The numbers are those of :meth:`solve` to the tolerance, which
        is that of each step; ``check="auto"`` measures what errors have grown to.

        Args:
            end, points, spacing, alpha, initial: As in ``solve``.
            relative_tolerance, absolute_tolerance: As in ``solve``.
            threads: One per processor when left out.
            max_steps: Steps after which a run is given up.
            check: "auto" measures the error of each run from a second one with a larger tolerance.
            progress: As of problems: None for a bar where somebody watches, False for none.
            parameters: Values that all runs share and that differ from the defaults.
            lists: Values by what varies: a parameter (``eta=[0.1, 0.2]``), an initial value
                (``**{"initial.w.B": […]}``) or an argument of an input model
                (``**{"inputs.x.exponent": […]}``).

        Returns:
            A Dataset with one dimension per list, then ``alpha``; ``status`` says how runs ended,
            ``tolerance_reached`` is not a number unless it was measured.

        Raises:
            InputError: A name means nothing that varies, or the results do not fit into memory.
        """
        from symderiv.api.results.runs.ensembles import system_ensemble
        from symderiv.sweeps.system_grid import SweptSystem
        from symderiv.system.system_ensembles import Wanted

        wanted = Wanted(
            asked_times(end, alpha, points, spacing),
            relative_tolerance,
            absolute_tolerance,
            threads,
            max_steps,
            check == "auto",
            fewest=8,
        )
        swept = SweptSystem(self, initial, parameters or {}, wanted)
        with progress_bar(progress) as update:
            runs = system_ensemble(swept, lists, threads, update)
        warn_caller(runs.symderiv.failure())
        return runs

    @taking(SweepMade)
    def sweep(
        self,
        over: Mapping[str, Sequence[Any] | str],
        end: float | None = None,
        *,
        initial: Mapping[str, Any],
        output: str | PathLike[str] = "system-sweep.zarr",
        **solving: Any,
    ) -> Sweep:
        """Solve a grid of runs and keep it in one store, whose points are not solved again.

        The store is a Zarr group that xarray opens, with the JSON of the statement; swept keys are
        dimensions. More values and more keys extend it.

        Args:
            over: Values of what varies: a parameter ("eta"), an initial value ("initial.w.B") or an
                argument of an input model ("inputs.x.exponent"); a text "low:high:count" or
                "log:low:high:count" is a range.
            end: As in ``solve``.
            initial: The state at α = 0, as in ``rates``.
            output: The store.
            [taken]
            solving: ``alpha``, ``relative_tolerance``, ``absolute_tolerance`` as in ``solve``, and
                values of parameters that differ from the defaults.

        Raises:
            InputError: A run of the grid cannot start, or the output is something else.
            SymderivError: The disk is full or the scheduler is gone; complete parts are kept.
        """
        how = taken(SweepMade, solving)
        return how.sweep(self._swept(end, initial, solving), over, Path(output))

    @taking(MapMade)
    def map(
        self,
        quantity: Quantity,
        *,
        over: Mapping[str, Sequence[Any]],
        initial: Mapping[str, Any],
        end: float | None = None,
        observable: str | None = None,
        **solving: Any,
    ) -> StudyMap:
        """Map a number or a kind of a run over two keys; solve only where it changes.

        Args:
            quantity: See :meth:`symderiv.Problem.map`, read off an observable; or a function of its
                times and values.
            over: Two keys as in ``sweep``, each with its ends (low, high) or (low, high, "log").
            initial, end: As in ``solve``.
            observable: Its name; the first that was observed when left out.
            [taken]
            solving: As in ``sweep``.

        Raises:
            InputError: There is no such quantity or observable, or an end is not acceptable.
        """
        how = taken(MapMade, solving)
        swept = self._swept(end, initial, solving)
        curve = self._observable(observable)
        keyed = {swept.varied.key_of(key): ends for key, ends in over.items()}
        return how.map(swept, quantity, keyed, curve=curve)

    def _observable(self, name: str | None) -> str:
        """Return the name of an observable; the first that was stated without one."""
        observables = tuple(self.statement.observables)
        if not observables:
            raise InputError(
                "the system has no observable to look at; state one with observe",
                argument="observable",
            )
        chosen = observables[0] if name is None else name
        check_one_of("observable", chosen, observables)
        return chosen

    def _swept(
        self, end: float | None, initial: Mapping[str, Any], solving: Mapping[str, Any]
    ) -> SweptSystem:
        """Return the part that runs have in common, from arguments of ``solve``."""
        from symderiv.sweeps.system_grid import SweptSystem
        from symderiv.system.system_ensembles import Wanted

        told = dict(solving)
        times = asked_times(end, *(told.pop(n, None) for n in ("alpha", "points", "spacing")))
        names = ("relative_tolerance", "absolute_tolerance")
        wanted = Wanted(times, **{name: told.pop(name) for name in names if name in told})
        self.solver.layout.known_parameters(told)
        return SweptSystem(self, initial, told, wanted)
