"""The class ``System`` with runs, ensembles, sweeps and maps, from rooms above the statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from symderiv.api.arguments.argument_names import naming_arguments
from symderiv.api.results.runs.grids import MapMade, RunAsked, SweepMade
from symderiv.foundation.errors import InputError, check_one_of, check_whole, warn_caller
from symderiv.foundation.named_arguments import public_methods, taken, taking
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


@public_methods
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
        progress: Progress = None,
        **parameters: Any,
    ) -> SystemRun:
        """Integrate the equations from α = 0.

        Args:
            end: The last α.
            points: The number of times in the result, from 0 to the end; 200 when left out.
            spacing: The spacing of these times, "log" or "linear"; "linear" when left out.
            alpha: Ascending times, instead of ``end``, ``points`` and ``spacing``.
            initial: The state at α = 0, as in ``rates``.
            relative_tolerance, absolute_tolerance: The tolerances of the result.
            [taken]
            max_steps, progress: See :meth:`symderiv.Problem.ensemble`.
            parameters: Values of parameters that differ from their defaults.

        Returns:
            A run with times ``run.alpha``; ``run[name]`` are order parameters and observables.

        Raises:
            NotClosed: The equations do not close.
            InputError: A name is missing or unknown, or a condition cannot be read.
            NotYetError: A mean cannot be differentiated, or takes too many points; a derivative
                shifts a jump in time; or ``certify`` is set where a proof is not possible.
            ToleranceError: ``certify`` is set, and the radius was not reached.
        """
        from symderiv.api.results.equations.certified import traced_system
        from symderiv.integrate.flows.courses import Goal
        from symderiv.system.system_following import FollowedSystem
        from symderiv.system.varied_system import VariedSystem

        asked = taken(RunAsked, parameters)
        check_whole("max_steps", max_steps, 1)
        times = self.solver.times(asked_times(end, alpha, points, spacing))
        goal = Goal.asked(times, relative_tolerance, absolute_tolerance)
        followed = FollowedSystem(VariedSystem(self.solver, initial, parameters), goal)
        with progress_bar(progress) as update:
            run_at = partial(followed.integrated, max_steps=max_steps, update=update)
            run: SystemRun = asked.run(followed, run_at, partial(traced_system, followed), update)
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
        """Solve the equations, simulate if a dimension is given, and write one HTML page.

        Args:
            path: The file of the page.
            initial: The state at α = 0, as in ``rates``.
            dimension, runs, seed: As in ``simulate``; without ``dimension`` nothing is simulated.
            force: Replace a file even if symderiv did not write it.
            solving: Times and tolerances as in ``solve``, and values of parameters.

        Returns:
            The path of the page.
        """
        from symderiv.foundation.outputs import Output

        # refused before anything is computed
        Output(path, "html", force=force)
        check_whole("dimension", 1 if dimension is None else dimension, 1)
        check_whole("runs", runs, 1)
        check_whole("seed", seed, 0)
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
        """Return the derivatives of the rates with respect to order parameters and parameters.

        Args:
            state: The state, as in :meth:`rates`.
            digits: Significant digits, 1 to 1000; beyond 15 the entries are numbers of mpmath, for
                the state and the parameters as they are in doubles.
            parameters: Values of parameters that differ from their defaults.

        Returns:
            A :class:`symderiv.api.results.flows.jacobian.Jacobian`. Its entries have the names of
            states, ``w.B[1,2]``; if there are several eigenvalues, the number of the eigenvalue is
            the first index. Parameters have their names in the solver module.

        Raises:
            NotClosed: The equations do not close.
            InputError: A name is missing or unknown.
            NotYetError: A mean has no closed form.
        """
        from symderiv.api.results.flows.jacobian import jacobian_at, system_point

        with naming_arguments(initial="state"):
            point = system_point(self.solver, state, parameters)
        return jacobian_at(point, digits)

    def linearise(self, state: Mapping[str, Any], **parameters: Any) -> Linearisation:
        """Return the eigenvalues and modes of the Jacobian at a state.

        Args:
            state: The state, as in :meth:`rates`.
            parameters: Values of parameters that differ from their defaults.

        Raises:
            NotClosed: The equations do not close.
            InputError: A name is missing or unknown.
            NotYetError: A mean has no closed form.
        """
        from symderiv.api.results.flows.jacobian import linearised_at, system_point

        with naming_arguments(initial="state"):
            point = system_point(self.solver, state, parameters)
        return linearised_at(point)

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
        """Search for the fixed points of the equations, and return them with their stability.

        Newton's method starts from the given state, from random states and from slow states of
        trajectories. It searches among all states, and in every space of states that do not change
        when vectors are exchanged or change their signs. Points that differ only by these
        operations count as one. If all means have closed forms, symderiv proves of each isolated
        point that it exists, that no other is near it, and its index. Points may be missing.

        Args:
            initial: A state as in :meth:`rates`, which gives the overlaps of the fixed vectors.
            starts: The number of random states in each of these spaces, at least 1; among all
                states there are ten times as many.
            unconnected: Do not follow the unstable directions of the points.
            follow: A parameter with its range, {"eta": (0.1, 2)}, in which the points are followed,
                also around folds, with the branches that leave them.
            parameters: Values of parameters that differ from their defaults.

        Returns:
            A :class:`symderiv.api.results.flows.system_points.SystemFixedPoints`, in doubles.

        Raises:
            NotClosed: The equations do not close.
            InputError: A name is missing or unknown.
            NotYetError: The equations contain the time, or have too many symmetries.
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

        The search is that of :meth:`symderiv.Problem.best`.

        Args:
            name: The name of the parameter.
            between: The smallest and the largest value that are allowed.
            goal: "error" finds the smallest value of an observable at the end of a run, "stable"
                the largest value up to which a fixed point is stable, and "escape" the value at
                which the growth rate at an unstable fixed point, per unit of α, is largest.
            end: The α at which the observable is taken.
            point: The number of a point in :meth:`fixed_points`, counted from 1.
            initial: The state at α = 0, as in ``rates``, with the overlaps of the fixed vectors.
            observable: The name of the observable, which must be positive; when left out, the first
                that was observed.
            parameters: Values of parameters that differ from their defaults.

        Raises:
            NotClosed: The equations do not close.
            InputError: An argument is not acceptable.
            NotYetError: A mean cannot be differentiated, or ``goal`` asks for a fixed point of
                equations that contain the time.
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
            curves: A dictionary with ``alpha``, ascending times (P,), and measured curves (P,)
                under the names of observables (``error``) or order parameters (``w.B[1,2]``). Give
                standard errors for all curves, under the same names with ``_standard_error`` at the
                end, or for none.
            parameters: Names of the numbers to find, see ``sensitivities`` of ``solve``.
            initial: The state at α = 0, as in ``rates``.
            relative_tolerance: The tolerance of the runs, as in ``solve``.
            progress: See :meth:`symderiv.Problem.solve`.
            values: Values of other parameters that differ from their defaults.

        Raises:
            NotClosed: The equations do not close.
            InputError: The curves cannot be read, or a name is missing or unknown.
            NotYetError: A mean cannot be differentiated, or a number shifts a jump in time.

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
        """Choose a parameter of this system as a function of time, so that an observable is small.

        The search is that of :meth:`symderiv.Problem.optimise`.

        Args:
            control: The name of a parameter. The constants of the equations must be linear in it.
            bounds: The smallest and the largest value of the control.
            end: The end of the run, in α.
            initial: The state at α = 0, as in ``rates``.
            objective: "final" for the observable at the end, "integral" for its integral over α, or
                "time:1e-3" for the time at which it is first below that number.
            observable: The name of the observable, which must be positive; when left out, the first
                that was observed.
            pieces: The number of pieces in which the control is constant.
            progress: See :meth:`symderiv.Problem.solve`.
            parameters: Values of other parameters that differ from their defaults.

        Raises:
            NotClosed: The equations do not close.
            InputError: A name is missing or unknown, or no control reaches the value asked for.
            NotYetError: A mean cannot be differentiated, steps take batches of cN examples, or the
                statement contains the time.

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
        events: Sequence[str | Event] | str | Event = (),
        **parameters: Any,
    ) -> Fluctuations:
        """Return how order parameters of runs at finite N differ from the limit of large N.

        The calculation is that of :meth:`symderiv.Problem.fluctuations`.

        Args:
            end, points, spacing, alpha: As in ``solve``.
            initial: The state of all runs at α = 0, as in ``rates``, with the overlaps of all
                vectors.
            dimension: N, for bands and for distributions of times.
            events: Conditions as those of ``solve``. The result contains the distribution of the
                time at which each of them first holds.
            parameters: Values of parameters that differ from their defaults.

        Returns:
            A :class:`symderiv.api.results.runs.fluctuations.Fluctuations`. Its entries have the
            names of those of :meth:`jacobian`, ``w.B[1,2]``, and of the observables.

        Raises:
            NotClosed: The equations do not close.
            InputError: A name is missing or unknown, or a condition cannot be read.
            NotYetError: Steps take batches of cN examples, the order is "small-learning-rate", a
                vector has several constraints, or coefficients depend on time.
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
        """Integrate the equations for every combination of values, many runs at a time.

        If all means are closed expressions and there are eight runs or more, each thread integrates
        eight runs at a time, otherwise one. The local errors of steps are those of :meth:`solve`;
        ``check="auto"`` estimates how large the errors have become.

        Args:
            end, points, spacing, alpha, initial: As in ``solve``.
            relative_tolerance, absolute_tolerance: As in ``solve``.
            threads: The number of threads; one per processor when left out.
            max_steps: The number of steps after which symderiv gives up a run.
            check: "auto" estimates the error of each run from a second, less accurate one.
            progress: See :meth:`symderiv.Problem.solve`.
            parameters: Values of parameters of all runs that differ from their defaults.
            lists: Lists of values, by the name of what varies: a parameter (``eta=[0.1, 0.2]``), an
                initial value (``**{"initial.w.B": […]}``) or an argument of an input model
                (``**{"inputs.x.exponent": […]}``).

        Returns:
            An xarray Dataset with one dimension per list, and ``alpha``. ``status`` says how runs
            ended; ``tolerance_reached``, an estimate, is not a number unless ``check`` is "auto".

        Raises:
            InputError: A name is not one of these, or the results do not fit into memory.
        """
        from symderiv.api.results.runs.ensembles import check_run, system_ensemble
        from symderiv.sweeps.system_grid import SweptSystem
        from symderiv.system.system_ensembles import Wanted

        check_run(max_steps, check)
        wanted = Wanted(
            asked_times(end, alpha, points, spacing),
            *(relative_tolerance, absolute_tolerance, threads, max_steps),
            check=check == "auto",
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
        """Solve a grid of runs, and write the results to one store on disk.

        The store is a Zarr group that xarray opens; swept keys are its dimensions. Another call
        solves only what the store does not contain. More values and more keys extend it.

        Args:
            over: Lists of values, by the name of what varies: a parameter ("eta"), an initial value
                ("initial.w.B") or an argument of an input model ("inputs.x.exponent"). A text
                "low:high:count" or "log:low:high:count" is a range.
            end: As in ``solve``.
            initial: The state at α = 0, as in ``rates``.
            output: The folder of the store.
            [taken]
            solving: ``alpha``, ``relative_tolerance``, ``absolute_tolerance`` as in ``solve``, and
                values of parameters that differ from their defaults.

        Raises:
            InputError: A run of the grid cannot start, or ``output`` is not a store of this system.
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
        """Map one quantity of a run over two keys, with many points only where it changes.

        Args:
            quantity: A name as in :meth:`symderiv.Problem.map`, for the curve of an observable; or
                a function of the times and values of this curve.
            over: Two keys as in ``sweep``, each with its range (low, high) or (low, high, "log").
            initial, end: As in ``solve``.
            observable: The name of the observable; when left out, the first that was observed.
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
        """Return the name of an observable; without one, that of the first that was stated."""
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
        """Return the settings that the runs of a grid share, from arguments of ``solve``."""
        from symderiv.sweeps.system_grid import SweptSystem
        from symderiv.system.system_ensembles import Wanted

        told = dict(solving)
        times = asked_times(end, *(told.pop(n, None) for n in ("alpha", "points", "spacing")))
        names = ("relative_tolerance", "absolute_tolerance")
        wanted = Wanted(times, **{name: told.pop(name) for name in names if name in told})
        self.solver.layout.known_parameters(told)
        return SweptSystem(self, initial, told, wanted)
