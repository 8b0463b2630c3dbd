"""Checks that a generated solver does what was stated, made before the solver is written.

The texts are executed uncompiled. Every scalar function is compared with the mean that its
docstring states; the right-hand sides, errors and losses of both modules are compared with one step
of the rule as it is stated in :mod:`symderiv.learning.rule.stated_rule`, averaged over points. This
module contains no formula of a rule. ``docs/notes/generation-check.md`` says which errors are
noticed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import signature
from typing import Any

import numpy as np

from symderiv.checking.checked_means import check_activations, check_derivatives, check_means
from symderiv.checking.checked_module import CheckedModule, GeneratedError, checked_module
from symderiv.checking.field_points import Floats
from symderiv.checking.stated_trial import LABEL_NOISE, Trial, expected_of
from symderiv.foundation.packing import Packing
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.lowering.means.compiled_means import CompiledMeans
from symderiv.lowering.means.force_fields import ForceFields, along_lattice, over_fields
from symderiv.lowering.solver_files import SolverText

__all__ = ["GeneratedError", "check_generated"]

MOST_WORK = 300
"""Modules with more iterations of a mean's innermost loop are compared at fewer states."""
ROUNDING = 1e-9
"""The allowed rounding error of rates, relative to the largest rate."""
LATTICE = 3e-4
"""The relative error that is allowed where the module's means use a lattice. Means are off by up to
1e-5 where kinks of a student cross those of a teacher, and parts of a rate may cancel; this check
is not there to measure it, runs do."""


def check_generated(
    text: SolverText, problem: LearningProblem, compiled: CompiledMeans | None = None
) -> None:
    """Raise an error unless the functions of a solver's modules compute what they state.

    Args:
        text: The modules.
        problem: The problem for which they were derived.
        compiled: Its means by quadrature, which would take minutes in plain Python.

    Raises:
        GeneratedError: They do not; the message says which function and where.
    """
    module = checked_module(text, problem, compiled)
    with np.errstate(all="ignore"):
        try:
            check_activations(module)
            check_means(module)
            check_derivatives(module)
            for trial in _trials(module, problem):
                _Comparison(module, problem, trial).made()
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            raise GeneratedError(f"the generated module cannot be evaluated: {error}") from error


def _trials(module: CheckedModule, problem: LearningProblem) -> Iterator[Trial]:
    """Yield states for comparison, few enough for the speed of plain Python."""
    if over_fields(problem):
        fields = ForceFields(problem)
        slow = fields.kinked or along_lattice(fields.flags, 1, 1, True)
        yield Trial(1, 1, noise=0.0 if slow else LABEL_NOISE)
        if not slow and not along_lattice(fields.flags, 2, 1, False):
            yield Trial(2, 1, (("fast", 1.0),), noise=0.0)
    elif module.quadrature:
        yield Trial(2, 1)
        yield Trial(1, 2)
    elif module.work > MOST_WORK:
        yield Trial(2, 1, (("fast", 1.0),))
        yield Trial(1, 2, (("fast", 0.0), ("readable", 1.0)))
        yield Trial(2, 3, (("fast", 0.0), ("readable", 0.0)))
    elif module.work > 1:
        yield Trial(2, 3)
        yield Trial(2, 3, (("fast", 0.0), ("readable", 0.0)), drawn=True)
    else:
        yield Trial(2, 3)
        yield Trial(3, 1)
        yield Trial(2, 3, (("fast", 1.0), ("readable", 1.0)), drawn=True)


class _Comparison:
    """A comparison of a module with the statement of its rule at one state."""

    def __init__(self, module: CheckedModule, problem: LearningProblem, trial: Trial) -> None:
        self._checked, self._trial = module, trial
        K, M, noisy = trial.K, trial.M, trial.noise != 0.0
        lattice = over_fields(problem) and along_lattice(ForceFields(problem).flags, K, M, noisy)
        self._rounding = LATTICE if lattice else ROUNDING
        layout = module.names.LAYOUT
        names = tuple(layout["state"]), tuple(layout["parameters"])
        self._expected = expected_of(problem, trial, *names)
        sizes = {"K": trial.K, "M": trial.M, "L": len(self._expected.known["weight"])}
        self._sizes = np.array([sizes[name] for name in layout["sizes"]])
        self._packings = {
            name: Packing.of(layout, name, **sizes) for name in ("state", "parameters")
        }

    def made(self) -> None:
        """Compare right-hand sides, observables and gradients.

        Raises:
            GeneratedError: The module differs from the statement.
        """
        known = self._expected.known
        state = self._packed("state", known)
        others: dict[float, Floats] = {}
        for which, order in self._trial.calls:
            module = self._checked.fast if which == "fast" else self._checked.names
            parameters = self._packed("parameters", {**known, "full_order": order})
            change = np.zeros_like(state)
            module.flat_right_hand_side(0.0, state, self._sizes, parameters, change)
            for name, values in self._packings["state"].views(change).items():
                what = f"right_hand_side ({which}): {name} {self._trial.where}"
                self._agree(what, values, *self._expected.increments[name, order])
            # both modules are forms of one program, so only rounding may differ
            apart = np.abs(change - others.setdefault(order, change)).max()
            if not apart <= ROUNDING * np.abs(change).max():
                raise GeneratedError(
                    f"right_hand_side {self._trial.where}: differs from that of the fast module"
                )
        self._shown(known, state)
        self._parts(known)

    def _packed(self, vector: str, known: Mapping[str, Any]) -> Floats:
        packing = self._packings[vector]
        return packing.packed(**{name: known[name] for name in packing.shapes})

    def _shown(self, known: Mapping[str, Any], state: Floats) -> None:
        """Compare covariances, error and loss with those that the modules return."""
        module, where = self._checked.names, self._trial.where
        averages = self._expected.increments
        Q, R = np.zeros_like(known["Q"]), np.zeros_like(known["R"])
        parameters = self._packed("parameters", {**known, "full_order": 1.0})
        error = module.flat_observables(state, self._sizes, parameters, Q, R)
        none = np.zeros(())
        self._agree(f"flat_observables: Q {where}", Q, known["Q"], none)
        self._agree(f"flat_observables: R {where}", R, known["R"], none)
        self._agree(f"generalization_error {where}", np.array(error), *averages["error", 1.0])
        if hasattr(module, "mean_loss"):
            (loss,) = self._called("mean_loss", {**known, "Q": known["seen"]})
            self._agree(f"mean_loss {where}", loss, *averages["loss", 1.0])

    def _parts(self, known: Mapping[str, Any]) -> None:
        """Require that ``gradients`` returns the same as the separate functions that rates call."""
        K, M = self._trial.K, self._trial.M
        A, B, dv = np.zeros((K, K)), np.zeros((K, M)), np.zeros(K)
        pieces = self._called("first_layer_gradients", known, A, B)
        pieces += self._called("second_layer_gradient", known, dv)
        whole = self._called("gradients", known, A.copy(), B.copy(), dv.copy())
        for name, whole_part, piece in zip(("A", "B", "dv"), whole, pieces, strict=True):
            self._agree(f"gradients: {name} {self._trial.where}", whole_part, piece, np.zeros(()))

    def _called(self, name: str, known: Mapping[str, Any], *outputs: Floats) -> list[Floats]:
        """Call a function with its inputs by name; return its outputs, or else its result, as a
        list.
        """
        function = getattr(self._checked.names, name)
        inputs = list(signature(function).parameters)[: -len(outputs) or None]
        result = function(*(known[each] for each in inputs), *outputs)
        return list(outputs) or [np.array(result)]

    def _agree(self, what: str, found: Floats, expected: Floats, error: Floats) -> None:
        """Require that two arrays agree within the errors of points and module, and rounding."""
        allowed = 3 * error + 10 * self._checked.stated + self._rounding * np.abs(expected).max()
        far = ~(np.abs(found - expected) <= allowed)
        if far.any():
            place = tuple(int(n) for n in np.argwhere(far)[0])
            raise GeneratedError(
                f"{what}{list(place) if place else ''} = {found[place]:.9g}, but the statement "
                f"gives {expected[place]:.9g} ± {np.broadcast_to(error, found.shape)[place]:.1g}"
            )
