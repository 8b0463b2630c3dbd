"""The equilibrium of a statement: branches of extrema of its free energy, and transitions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.api.results.answer import Answer, Rows
from symderiv.foundation.documents.document import Node, Tabular
from symderiv.foundation.drawing import drawn
from symderiv.foundation.errors import InputError, NotYetError, check_one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symderiv.equilibrium.branches import Branch, Stationary
    from symderiv.equilibrium.free_energy import FreeEnergy
    from symderiv.equilibrium.transitions import Landscape
    from symderiv.problem.study import Study

_MOST_UNITS, _MOST_ALPHA = 6, 1e5
WITH_LABELS = frozenset(("training.target", "training.label_flip", "training.loss"))
"""The keys of rules that say what the labels of examples are."""


class Equilibrium(Answer):
    """Branches of stationary states of a free energy, and where the equilibrium changes.

    Attributes:
        alpha: the values that were asked for, shape (P,).
        branches: a dictionary for each branch that was found: ``alpha`` (p,), the values that were
            asked for on the branch, with its ends in between the smallest and the largest;
            ``Q`` (p, K, K), ``R`` (p, K, M), ``free_energy`` (p,), ``generalization_error`` (p,)
            and ``stable`` (p,), as lists.
        transitions: dictionaries by ascending ``alpha``, with 8 digits or more: ``kind`` is
            "continuous" (a state loses stability to one that leaves it), "first-order" (another
            state has the smaller free energy) or "spinodal" (a state ceases to be stable, or to
            exist), ``branches`` are numbers from 1.
        kind, constraint: those that were asked for.
        warnings: what limits the result.
    """

    _title = "Equilibrium"
    _warned = "{}"

    def state(self, alpha: float) -> dict[str, Any]:
        """Return the stable state of the smallest free energy at one of the values of α.

        Args:
            alpha: one of :attr:`alpha`.

        Returns:
            A dictionary with ``Q``, ``R``, ``free_energy``, ``generalization_error`` and the
            number of the ``branch``, from 1.

        Raises:
            InputError: the value was not asked for, or no stable state was found there.
        """
        states = []
        for number, branch in enumerate(self._record["branches"], 1):
            for n, (value, stable) in enumerate(
                zip(branch["alpha"], branch["stable"], strict=True)
            ):
                if value == alpha and stable:
                    names = ("Q", "R", "free_energy", "generalization_error")
                    states.append({"branch": number, **{name: branch[name][n] for name in names}})
        if not states:
            raise InputError(
                f"{alpha} has no stable state here; ask for one of the values of alpha",
                argument="alpha",
            )
        return min(states, key=lambda each: each["free_energy"])

    def plot(self, quantity: str = "generalization_error", ax: Axes | None = None) -> Axes:
        """Draw a quantity of all branches over α; unstable parts are dotted.

        Args:
            quantity: "generalization_error", "free_energy", "Q" or "R".
            ax: Matplotlib axes to draw into; None makes new ones.

        Returns:
            The axes.

        Raises:
            InputError: there is no such quantity.
        """
        check_one_of("quantity", quantity, ("generalization_error", "free_energy", "Q", "R"))
        return drawn("analysis_plots.equilibrium_plots.branch_axes", self._record, quantity, ax)

    def _rows(self) -> Rows:
        record = self._record
        rows = [(name, record[name]) for name in ("activation", "students", "teachers")]
        rows += [(name, record[name]) for name in ("kind", "constraint")]
        rows.append(("alpha", f"0 to {max(record['alpha']):g}"))
        rows.append(("branches", f"{len(record['branches'])} found"))
        return rows

    def _tables(self) -> Sequence[Node]:
        changes = [
            [each["kind"], f"{each['alpha']:.10g}", ", ".join(map(str, each["branches"]))]
            for each in self._record["transitions"]
        ]
        rows = []
        for number, branch in enumerate(self._record["branches"], 1):
            stable = sum(branch["stable"])
            ends = f"{branch['alpha'][0]:.6g} to {branch['alpha'][-1]:.6g}"
            error = f"{branch['generalization_error'][-1]:.6g}"
            rows.append([str(number), ends, error, f"{stable} of {len(branch['alpha'])}"])
        names = ("transition", "alpha", "branches")
        heads = ("branch", "alpha", "error at its end", "stable values")
        above = [Tabular(names, changes, sides="lrr")] if changes else []
        return [*above, Tabular(heads, rows, sides="rlrr")]


def equilibrium_of(
    study: Study,
    alpha: Iterable[float],
    constraint: str,
    T: Any,
    progress: Callable[[float], None],
) -> Equilibrium:
    """Return the annealed equilibrium of a study; see :meth:`symderiv.Problem.equilibrium`."""
    from symderiv.equilibrium.transitions import Landscape

    values = alpha_values(alpha)
    _check(study, constraint)
    energy = _energy(study, constraint, T)
    landscape = Landscape(energy, values[-1], progress)
    branches = [_record(energy, branch, values) for branch in landscape.branches]
    return Equilibrium(
        {
            "alpha": values,
            "activation": study.student_activation,
            "students": study.K,
            "teachers": study.M,
            "kind": "annealed",
            "constraint": constraint,
            "branches": branches,
            "transitions": _transitions(landscape),
            "warnings": ["that no branch is missing is not proved"],
        }
    )


def alpha_values(alpha: Iterable[float]) -> list[float]:
    """Return ascending values of α that were asked for."""
    try:
        values = [float(each) for each in np.atleast_1d(np.array(alpha, dtype=float))]
    except (TypeError, ValueError):
        raise InputError(f"{alpha!r} is not a list of numbers", argument="alpha") from None
    good = all(0.0 <= each <= _MOST_ALPHA for each in values)
    if not values or not good or sorted(set(values)) != values or values[-1] == 0.0:
        raise InputError(
            f"must be ascending numbers from 0 to {_MOST_ALPHA:g}, the last above 0",
            argument="alpha",
        )
    return values


def _check(study: Study, constraint: str) -> None:
    check_one_of("constraint", constraint, ("sphere", "free"))
    check_annealed(study)
    if max(study.K, study.M) > _MOST_UNITS:
        raise NotYetError(
            f"must be at most {_MOST_UNITS} for the free energy, not {max(study.K, study.M)}",
            argument="students" if study.K > _MOST_UNITS else "teachers",
        )
    if constraint == "free" and not study.training.weight_decay > 0.0:
        raise InputError(
            "must be above 0 with constraint='free', because the lengths of students have no bound "
            "otherwise",
            argument="weight_decay",
        )


def check_annealed(study: Study) -> None:
    """Refuse studies whose free energy at high temperature is not known."""
    check_known(study, "the free energy", "for")
    if study.network.train_second_layer:
        raise NotYetError(
            "is not possible in equilibrium yet; leave it out",
            argument="train_second_layer",
        )


def check_known(
    study: Study, what: str, of_inputs: str = "", allowed: Collection[str] = ()
) -> None:
    """Refuse learning rules, and inputs, with which something is not known.

    Args:
        study: the study.
        what: what is not known.
        of_inputs: the word between that and inputs; empty if all inputs are allowed.
        allowed: keys of learning rules that are allowed.
    """
    for key in sorted(set(study.rule_keys) - set(allowed)):
        raise NotYetError(f"{what} with {key} is not known yet; leave it out", argument="kind")
    if of_inputs and study.data is not None and study.data.model != "isotropic":
        raise NotYetError(
            f"{what} {of_inputs} {study.data.model} inputs is not known yet; take sd.Isotropic()",
            argument="inputs",
        )


def _energy(study: Study, constraint: str, T: Any) -> FreeEnergy:
    from symderiv.equilibrium.free_energy import FreeEnergy
    from symderiv.formula import activation

    sphere = constraint == "sphere"
    given = np.eye(study.M) if T is None else np.asarray(T, dtype=float)
    if given.shape != (study.M, study.M) or not np.array_equal(given, given.T):
        raise InputError(
            f"has shape {given.shape}; it must be a symmetric matrix of shape "
            f"({study.M}, {study.M})",
            argument="T",
        )
    if not np.isfinite(given).all() or np.linalg.eigvalsh(given)[0] <= 1e-12:
        raise InputError("must be positive definite", argument="T")
    return FreeEnergy(
        activation(study.student_activation).expression,
        activation(study.teacher_activation).expression,
        np.asarray(study.student_weights, dtype=float),
        np.asarray(study.teacher_weights, dtype=float),
        given,
        sphere,
        0.0 if sphere else float(study.training.weight_decay),
    )


def _record(energy: FreeEnergy, branch: Branch, values: Sequence[float]) -> dict[str, Any]:
    from symderiv.equilibrium.transitions import state_at

    low, high = branch.ends
    asked = sorted({low, high, *(each for each in values if low <= each <= high)})
    states: list[Stationary] = []
    for each in asked:
        state = state_at(branch, each)
        if state is not None:
            states.append(state)
    overlaps = [energy.overlaps(each.x) for each in states]
    return {
        "alpha": [each.alpha for each in states],
        "Q": [Q.tolist() for Q, _ in overlaps],
        "R": [R.tolist() for _, R in overlaps],
        "free_energy": [each.value for each in states],
        "generalization_error": [each.error for each in states],
        "stable": [each.stable for each in states],
    }


def _transitions(landscape: Landscape) -> list[dict[str, Any]]:
    return [
        {
            "kind": each.kind,
            "alpha": each.alpha,
            "branches": [number + 1 for number in each.branches],
        }
        for each in landscape.transitions
    ]
