"""The right-hand side of the order-parameter equations as a function for integrators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.api.arguments.starts import start_of
from symderiv.formula import parse_formula
from symderiv.foundation.errors import InputError, ShapeError, check_one_of
from symderiv.foundation.showing import Shown, Summary
from symderiv.integrate.flows.equivalent_numbers import shown_factor
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.rules.solving import flow_of
from symderiv.keys.study_tables import keys_acting
from symderiv.problem.flat_layout import fields_of
from symderiv.problem.initial import check_equations

if TYPE_CHECKING:
    import sympy as sp

    from symderiv.problem.initial import Initial
    from symderiv.problem.state import State
    from symderiv.problem.study import Study

    Start = State | str | PathLike[str] | Mapping[str, Any]


class RateFunction(Shown):
    """dy/dα = f(α, y) of the order parameters in one vector, as ``scipy.integrate.solve_ivp`` asks.

    Called with a time and a vector of shape (n,) it gives a new vector of shape (n,); the time does
    not matter.

    Attributes:
        initial: the start of the problem, shape (n,).
        names: the names of the n entries, as ``student_overlap[1,1,2]`` with the number of the
            eigenvalue first.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self._start = start_of(study, None)
        self._flow = flow_at(study, self._start)
        self._slope, self._shown = slope_at(self._flow), shown_factors(self._flow)
        self.initial: np.ndarray = self._flow.begin * self._shown
        self.names = state_names(self._flow)

    def __call__(self, alpha: float, y: np.ndarray) -> np.ndarray:
        vector = np.ascontiguousarray(_numbers("y", y))
        if vector.shape != self.initial.shape:
            raise ShapeError(
                f"has shape {vector.shape}, not {self.initial.shape}; pack(state) makes one",
                argument="y",
            )
        rates: np.ndarray = self._slope(vector / self._shown) * self._shown
        return rates

    def pack(self, state: Start) -> np.ndarray:
        """Return the vector of a state, shape (n,).

        Args:
            state: see ``initial`` of :meth:`symderiv.Problem.solve`; with the eigenvalues and
                teachers of the problem's own start. Or arrays as :meth:`unpack` gives them.

        Raises:
            InputError: it is not a state of this problem, or has other eigenvalues or teachers.
        """
        if isinstance(state, Mapping) and self._flow.packing("state").shapes.keys() <= {*state}:
            return self._of_arrays(state)
        flow = flow_at(self._study, start_of(self._study, state, "state"))
        same = flow.parameters.shape == self._flow.parameters.shape
        if not same or not np.allclose(flow.parameters, self._flow.parameters, rtol=1e-9, atol=0):
            raise InputError(
                "has other eigenvalues, teachers or output weights than the start of the problem, "
                "whose right-hand side this is; state the problem with them",
                argument="state",
            )
        vector: np.ndarray = flow.begin * self._shown
        return vector

    def _of_arrays(self, arrays: Mapping[str, Any]) -> np.ndarray:
        """Return the vector of arrays as :meth:`unpack` gives them."""
        packing = self._flow.packing("state")
        fields = {}
        for name, shape in packing.shapes.items():
            value = _numbers(name, arrays[name])
            fields[name] = np.moveaxis(value, 0, -1) if self._by_mode(name) and shape else value
            if fields[name].shape != shape:
                raise ShapeError(
                    f"does not have the shape of {name} in unpack(initial)", argument=name
                )
        vector = packing.packed(**fields)
        there = self.unpack(vector)
        for name, value in arrays.items():
            check_one_of("state", name, there)
            own, given = there[name], _numbers(name, value)
            if own.shape != given.shape or not np.allclose(own, given, rtol=1e-9, atol=1e-12):
                raise InputError("differs from what the overlaps give; leave it out", argument=name)
        return vector

    def unpack(self, y: np.ndarray) -> dict[str, np.ndarray]:
        """Return the arrays in a vector, by name.

        Args:
            y: shape (n,), or (n, P) as ``solve_ivp`` gives it; arrays then have P in front.

        Returns:
            Q (K, K), R (K, M), v (K), and what else is in the vector under the names of
            :attr:`names`: student_overlap (L, K, K), cross_overlap (L, K, M), …

        Raises:
            InputError: the vector has another length.
        """
        rows = np.ascontiguousarray(_numbers("y", y).T)
        if rows.shape[-1:] != self.initial.shape:
            raise InputError(
                f"has shape {rows.T.shape}, not {self.initial.size} entries along its first axis",
                argument="y",
            )
        state = self._flow.state
        *_, Q, R = fields_of(rows, state.weight, state.eigenvalue, state.K, state.M)
        unpacked = {"Q": Q, "R": R}
        for name, values in self._flow.packing("state").views(rows).items():
            # in vectors the index of the eigenvalue comes last
            unpacked[name] = (
                np.moveaxis(values, -1, rows.ndim - 1) if self._by_mode(name) else values
            )
        return unpacked

    def _by_mode(self, name: str) -> bool:
        return _by_mode(self._flow, name)

    def to_dict(self) -> dict[str, Any]:
        """Return the names of the entries and the initial state."""
        return {"names": list(self.names), "initial": self.initial.tolist()}

    def _summary(self) -> Summary:
        fields = ", ".join(
            f"{n} {shape}" for n, shape in self._flow.packing("state").shapes.items()
        )
        rows: list[tuple[str, object]] = [("entries", self.initial.size), ("fields", fields)]
        return Summary("Right-hand side f(alpha, y)", rows)

    def __reduce__(self) -> tuple[Any, ...]:
        # compiled equations cannot be pickled; the problem can
        return RateFunction, (self._study,)


def state_names(flow: Flow) -> tuple[str, ...]:
    """Return the names of the entries of a state, with the number of the eigenvalue first."""
    return tuple(
        f"{name}[{','.join(str(n + 1) for n in np.roll(place, _by_mode(flow, name)))}]"
        for name, shape in flow.packing("state").shapes.items()
        for place in np.ndindex(shape)
    )


def shown_factors(flow: Flow) -> np.ndarray:
    """Return the factors by which entries of results are larger than those of a flat state."""
    shapes = flow.packing("state").shapes
    given = {name: np.full(shape, shown_factor(flow.study, name)) for name, shape in shapes.items()}
    return flow.packing("state").packed(**given)


def _by_mode(flow: Flow, name: str) -> bool:
    return bool(flow.layout["state"][name][-1:] == ("L",))


def _numbers(argument: str, given: Any) -> np.ndarray:
    """Return an array of numbers that an argument was given."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("must be an array of numbers", argument=argument) from None


def flow_at(study: Study, start: Initial, changing: str = "") -> Flow:
    """Return the flow of a study from a start; refuse rates that depend on more than the state.

    Args:
        study: the study.
        start: its start.
        changing: a key that may make the rates depend on time, in proofs of runs.

    Raises:
        InputError: the rates depend on more than the state, or no equations exist for the inputs.
    """
    for key in ("task", *keys_acting("time", "steps")):
        if key in study.rule_keys and key != changing:
            proof = ", or use solve without certify" if changing else ""
            raise InputError(
                f"makes the rates depend on more than the state; leave it out{proof}",
                argument=key,
            )
    check_equations(start)
    return flow_of(study, start)(start.state)


def formulas_of(study: Study, flow: Flow) -> dict[str, sp.Expr]:
    """Return the output weights that are given as formulas in K and M, as exact expressions."""
    formulas = {}
    for field, key, values in (
        ("v", "student_weights", flow.state.student_weights),
        ("v_teacher", "teacher_weights", flow.state.teacher_weights),
    ):
        given = getattr(study.network, key)
        if isinstance(given, str) and np.array_equal(values, getattr(study, key)):
            tree = parse_formula(given, ("K", "M"))
            numbers = {each: {"K": study.K, "M": study.M}[each.name] for each in tree.free_symbols}
            formulas[field] = tree.subs(numbers)
    return formulas


def slope_at(flow: Flow) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from a flat state to its rates."""
    K, M = flow.state.K, flow.state.M
    course, right_hand_side = flow.course, flow.kernel.right_hand_side_for(K, M)
    return lambda flat: course.slope(0.0, flat, right_hand_side)
