"""``System``: a learning problem stated line by line, and what follows from the statement."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symderiv.foundation.errors import InputError, errors_about, warn_caller
from symderiv.foundation.named_arguments import public_methods
from symderiv.foundation.progress import following
from symderiv.statement.language import Language

if TYPE_CHECKING:
    from pathlib import Path

    from symderiv.system.system_equations import SystemEquations
    from symderiv.system.system_plateau import SystemPlateau
    from symderiv.system.system_runs import Solver, SystemRates
    from symderiv.system.system_sgd import SystemSimulation

_TOLERANCE = 1e-9  # the default of runs

Spacing = Literal["log", "linear"]


@public_methods
class StatedSystem(Language):
    """A learning problem, stated line by line.

    State inputs, vectors of N components (such as weights) and scalars, and how each step changes
    the vectors and scalars. A step may depend on its example only through finitely many fields
    w·ξ/√N. From these lines symderiv derives differential equations for the overlaps w·v/N in the
    limit N → ∞. Every line is checked when it is stated.

    Args:
        order: ``"full"``, or ``"small-learning-rate"`` for the equations of many small steps, which
            leave out terms that are quadratic in the forces. Noise that is added to the steps, a
            fresh vector whose factor does not depend on the example, is kept.

    Example:
        >>> import symderiv as sd
        >>> P = sd.System()
        >>> x = P.inputs("x")
        >>> w, B = P.vectors("w", 2), P.vectors("B", 2, fixed=True)
        >>> eta = P.parameter("eta", 0.5)
        >>> g = sd.activation("erf")
        >>> s, t = g(w @ x).sum(), g(B @ x).sum()
        >>> P.descend((s - t)**2 / 2, {w: eta})
        >>> P.observe(error=(s - t)**2 / 2)
    """

    def __init__(self, order: str = "full") -> None:
        super().__init__(order)
        self._solver: Solver | None = None
        self._solved = (0, 0, 0)

    def _law_of(self, model: Any) -> Any:
        from symderiv.problem.input_models import Isotropic

        model = Isotropic() if model is None else model
        if isinstance(model, type):
            raise InputError(
                f"is the class {model.__name__}; give an object of it, {model.__name__}(…)",
                argument="model",
            )
        if not hasattr(model, "build"):
            raise InputError(
                f"is {type(model).__name__}, not an input model; give sd.Isotropic() or another",
                argument="model",
            )
        return model

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the statement as a versioned JSON file that ``sd.open`` reads.

        Args:
            path: The file, ending in .json.
            force: Replace an existing file.

        Raises:
            InputError: The file exists already, or cannot be written.
        """
        from symderiv.foundation.outputs import Output
        from symderiv.system.system_files import system_text

        Output(path, "json", force=force).write_text(system_text(self), seal=False)

    @property
    def solver(self) -> Solver:
        """The derived and compiled equations of what has been stated so far.

        Raises:
            NotClosed: The equations do not close.
        """
        from symderiv.statement.stated_motion import derived
        from symderiv.system.closed_motion import closed
        from symderiv.system.system_runs import Solver

        said = len(self._lines), len(self._constraints), len(self._observables)
        if self._solver is None or self._solved != said:
            if not self._lines:
                raise InputError("nothing moves yet: say how with descend, ascend or update")
            self._solver, self._solved = Solver(closed(derived(self.statement))), said
        return self._solver

    @property
    def equations(self) -> SystemEquations:
        """The derived equations; a notebook shows them typeset, ``to_latex()`` returns LaTeX."""
        from symderiv.system.system_equations import SystemEquations

        return SystemEquations(self.solver)

    @property
    def conditions(self) -> list[str]:
        """The assumptions of the limit N → ∞ for this system, one sentence each."""
        from symderiv.system.system_equations import conditions_of

        return conditions_of(self.solver.closed)

    def explain(self, name: str, state: Mapping[str, Any] | None = None) -> str:
        """Return the equations of one order parameter, and every mean in them.

        Args:
            name: The name of the order parameter in states, such as ``"w.B"``.
            state: The state at which rate and means are evaluated; None evaluates nothing.
        """
        return self.equations.explain(name, state)

    def rates(self, state: Mapping[str, Any], **parameters: Any) -> SystemRates:
        """Return the derivatives of all order parameters with respect to α at a state.

        Args:
            state: Overlaps by name (``"w.B"``, shape (K, M); if the inputs have several
                eigenvalues, these are the first axis) and scalars by name; or vectors, shape
                (K, N), by their name. The name of an overlap begins with the vector that was
                declared first. Overlaps that the equations do not need may be left out.
            parameters: Values of parameters that differ from their defaults.

        Raises:
            NotClosed: The equations do not close.
            InputError: A name is missing or unknown.
            NotYetError: A mean by quadrature would take too many points.
        """
        from symderiv.system.means_extent import means_at

        with errors_about("state", "initial"):
            rates = self.solver.rates(state, parameters)
        for message in means_at(self.solver, state, parameters).beyond(_TOLERANCE):
            warn_caller(message)
        return rates

    @following("simulating")
    def simulate(
        self,
        dimension: int,
        *,
        runs: int = 4,
        end: float | None = None,
        points: int | None = None,
        spacing: Spacing | None = None,
        alpha: Any = None,
        initial: Mapping[str, Any],
        seed: int = 0,
        method: str = "auto",
        **parameters: Any,
    ) -> SystemSimulation:
        """Simulate the stated steps at finite N, several times.

        The simulation uses no derived equation. It computes the value of an ``average`` as the mean
        over 16384 fresh examples at the overlaps of the run, 50 times per unit of α and at every
        step of a batch.

        Args:
            dimension: N.
            runs: The number of independent runs; the vectors of each have exactly the initial
                overlaps.
            end, points, spacing, alpha: As in ``solve``.
            initial: The state at α = 0, as in ``rates``.
            seed: The seed of the random numbers.
            method: ``"vectors"`` stores vectors of N coordinates. ``"gram"`` stores only their
                coordinates in the span of the vectors of the system; the overlaps have the same
                distribution. ``"auto"`` takes the cheaper method.
            parameters: Values of parameters that differ from their defaults.

        Returns:
            Runs with the arrays ``mean["w.B"]`` and ``standard_error["w.B"]``, whose first axis is
            time.
        """
        from symderiv.system.system_sgd import Experiment, simulated

        times = asked_times(end, alpha, points, spacing)
        asked = Experiment(self.solver, dimension, runs, times, seed, method)
        simulation = simulated(asked, initial, parameters)
        warn_caller(simulation.failure())
        return simulation

    def precise_rates(
        self, state: Mapping[str, Any], digits: int, **parameters: Any
    ) -> dict[str, np.ndarray]:
        """Return the rates at a state with a given number of digits.

        Args:
            state: The state, as in ``rates``; its numbers are doubles, which are taken as exact.
            digits: The number of significant digits, 1 to 1000.
            parameters: Values of parameters that differ from their defaults.

        Returns:
            Arrays of ``mpmath.mpf`` by name.

        Raises:
            NotYetError: A mean has no closed form.
        """
        from symderiv.system.system_products import precise_rates

        with errors_about("state", "initial"):
            return precise_rates(self.solver, state, parameters, digits)

    @following("looking for the plateau")
    def plateau(self, initial: Mapping[str, Any], **parameters: Any) -> SystemPlateau:
        """Return the symmetric plateau, a fixed point at which vectors are alike, linearised.

        symderiv finds the permutations of vectors (and of the scalars that belong to them) that do
        not change the equations. It makes the given state symmetric under them, and integrates the
        equations to the fixed point that they approach.

        Args:
            initial: A state, as in ``rates``.
            parameters: Values of parameters that differ from their defaults.

        Returns:
            ``plateau["w.B"]``, ``observables``, ``unstable_eigenvalue`` per unit of α with its
            ``direction``, ``escape_time`` and all ``eigenvalues``, in doubles.

        Raises:
            InputError: There is no such permutation.
            ToleranceError: The flow approaches no fixed point, or is not smooth at it.
        """
        from symderiv.system.system_plateau import plateau_of

        return plateau_of(self.solver, initial, parameters)

    def generate(self, name: str, output: str | PathLike[str] = ".", force: bool = False) -> Path:
        """Write the solver module NAME.py, which needs only math, numpy and numba.

        Args:
            name: The name of the module.
            output: The folder.
            force: Replace a file that symderiv did not write.

        Returns:
            The path of the module.
        """
        from symderiv.system.system_products import generated

        return generated(self.solver, name, output, force)

    def export(
        self, to: str, output: str | PathLike[str] | None = None, force: bool = False
    ) -> str:
        """Return the equations as source in another language.

        Args:
            to: The language: ``"c"``, ``"python"`` (NumPy), …; ``symderiv export --help`` lists
                all. LaTeX is not possible.
            output: The file to write; None writes nothing.
            force: Replace a file that symderiv did not write.

        Returns:
            The source.

        Raises:
            NotYetError: A mean has no closed form.
        """
        from symderiv.system.system_products import exported

        return exported(self.solver, to, output, force)


def asked_times(
    end: float | None, alpha: Any, points: int | None = None, spacing: Spacing | None = None
) -> np.ndarray:
    """Return the times at which results are wanted.

    Raises:
        InputError: Both of ``end`` and ``alpha`` were given, or neither, or the times do not
            ascend.
    """
    if (end is None) == (alpha is None):
        raise InputError("give either end or alpha", argument="end")
    given: dict[str, Any] = {"points": points, "spacing": spacing}
    more = {name: each for name, each in given.items() if each is not None}
    if end is not None:
        from symderiv.keys.study_tables import Time

        keys: dict[str, Any] = {"end": float(end), "spacing": "linear", **more}
        return Time.model_construct(**keys).grid()
    if more:
        raise InputError(f"is given together with {next(iter(more))}; remove one", argument="alpha")
    try:
        times = np.asarray(alpha, float)
    except (TypeError, ValueError):
        raise InputError(f"must be numbers, not {alpha!r}", argument="alpha") from None
    if times.ndim != 1 or not times.size or not np.all(np.isfinite(times)) or times[0] < 0:
        raise InputError("must be finite ascending times, none negative", argument="alpha")
    if np.any(np.diff(times) <= 0):
        raise InputError("must ascend", argument="alpha")
    return times
