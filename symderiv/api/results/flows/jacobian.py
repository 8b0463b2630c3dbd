"""Derivatives of the right-hand side at one state, from the tangent of its program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symderiv.api.arguments.numbers import check_digits
from symderiv.api.arguments.starts import start_of
from symderiv.api.results.answer import Answer, Rows
from symderiv.api.results.rate_function import flow_at, shown_factors, state_names
from symderiv.foundation.documents.document import Node, Summary, Tabular
from symderiv.foundation.errors import NotYetError
from symderiv.foundation.packing import Packing
from symderiv.foundation.showing import Shown
from symderiv.integrate.flows.courses import Goal
from symderiv.integrate.flows.equivalent_numbers import equivalent_factors
from symderiv.integrate.flows.sensitivities import VariedFlow, VariedRun

if TYPE_CHECKING:
    import mpmath
    from symderiv_codegen import Program

    from symderiv.api.results.rate_function import Start
    from symderiv.problem.study import Study
    from symderiv.system.named_states import Layout
    from symderiv.system.system_runs import Solver

_DOUBLE = 15
_NEUTRAL = 1e-12
_SHOWN_MODES, _SHOWN_ENTRIES = 12, 3


class Jacobian(Shown):
    """Derivatives of the rates of the order parameters, per unit of α.

    Attributes:
        matrix: the matrix by the order parameters, shape (n, n): entry (i, j) is the derivative of
            the rate of ``names[i]`` by ``names[j]``. Entries are mpmath's numbers if more digits
            than 15 were asked for.
        names: the names of the order parameters, as those of :meth:`symderiv.Problem.rhs`; of the
            two equal entries (i, j) and (j, i) of a symmetric overlap only that with i ≤ j, and a
            derivative by it changes both.
        parameters: derivatives by every number that is not an order parameter, by its name, each
            of shape (n, …): learning_rate, second_layer_learning_rate, weight_decay,
            second_layer_weight_decay, label_noise (the standard deviation), T, eigenvalue, weight,
            v_teacher, and those of a learning rule. They are derivatives by each of these alone,
            with the state as it is.
        rates: the rates of the order parameters at the state, shape (n,).
    """

    def __init__(
        self,
        matrix: np.ndarray,
        names: tuple[str, ...],
        parameters: dict[str, np.ndarray],
        rates: np.ndarray,
    ) -> None:
        self.matrix, self.names, self.parameters, self.rates = matrix, names, parameters, rates

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as nested lists; numbers with more than 15 digits are texts."""
        return {
            "names": list(self.names),
            "matrix": _listed(self.matrix),
            "parameters": {name: _listed(each) for name, each in self.parameters.items()},
            "rates": _listed(self.rates),
        }

    def _summary(self) -> Summary:
        rows: list[tuple[str, object]] = [
            ("order parameters", len(self.names)),
            ("parameters", ", ".join(self.parameters)),
        ]
        return Summary("Jacobian per unit of α", rows)


class Linearisation(Answer):
    """The flow close to a state: s' = rates + Jacobian · (s − state).

    Attributes:
        eigenvalues: the eigenvalues of the Jacobian per unit of α, those with the largest real part
            first, each as a pair of real and imaginary part.
        modes: for each eigenvalue a dictionary of the components of its eigenvector by order
            parameter, the largest first with the value 1; components below 1e-9 are left out, and
            those of complex modes are pairs.
        names: the names of the order parameters.
        unstable: how many eigenvalues have a positive real part, beyond 1e-12 of the largest one's
            size.
        largest_rate: the largest rate of any order parameter at the state, zero at a fixed point.
    """

    _title = "Linearised flow"

    def _rows(self) -> Rows:
        return [
            ("order parameters", len(self._record["names"])),
            ("unstable", self._record["unstable"]),
            ("largest rate", self._record["largest_rate"]),
        ]

    def _tables(self) -> Sequence[Node]:
        modes = zip(self._record["eigenvalues"], self._record["modes"], strict=True)
        rows = [[_number(value), _mode_text(mode)] for value, mode in modes]
        shown = Tabular(("eigenvalue", "mode"), rows[:_SHOWN_MODES], sides="rl")
        return [shown]


def _listed(values: np.ndarray) -> Any:
    array = np.asarray(values)
    return array.tolist() if array.dtype != object else np.vectorize(str)(array).tolist()


def _number(value: list[float]) -> str:
    real, imaginary = value
    return f"{real:.6g}" + (
        f" {'+' if imaginary > 0 else '-'} {abs(imaginary):.6g}i" if imaginary else ""
    )


def _mode_text(mode: dict[str, Any]) -> str:
    parts = []
    for name, value in list(mode.items())[:_SHOWN_ENTRIES]:
        parts.append(f"{name} ({_number(value) if isinstance(value, list) else f'{value:.3g}'})")
    left = len(mode) - _SHOWN_ENTRIES
    return ", ".join(parts) + (f" and {left} more" if left > 0 else "")


class JacobianPoint(NamedTuple):
    """A run whose initial state is looked at.

    Attributes:
        run: The run.
        names: The names of the entries of its state, in its order.
        shown: The factors by which entries of results are larger than these.
        numbers: The factors by which numbers of the equations are larger than those of the problem,
            by name, where they differ.
    """

    run: VariedRun
    names: Sequence[str]
    shown: np.ndarray
    numbers: Mapping[str, float]


def linearised_at(point: JacobianPoint) -> Linearisation:
    """Return the eigenvalues and modes at a point."""
    run = point.run
    along, begin = run.tangent(), run.course.begin
    places, matrix = _columns(run, partial(along, begin))
    shown, factors = [point.names[place] for place in places], point.shown[places]
    values, vectors = np.linalg.eig(matrix)
    order = np.lexsort((-values.imag, -values.real))
    modes = [_mode(factors * vectors[:, place], shown) for place in order]
    return Linearisation(
        {
            "names": shown,
            "eigenvalues": [[float(v.real), float(v.imag)] for v in values[order]],
            "modes": modes,
            "unstable": int(np.sum(values.real > _NEUTRAL * np.max(np.abs(values)))),
            "largest_rate": float(np.max(np.abs(factors * _rates(run)[places]))),
            "warnings": [],
        }
    )


def _mode(vector: np.ndarray[Any, Any], names: list[str]) -> dict[str, Any]:
    scaled = vector / vector[np.argmax(np.abs(vector))]
    order = np.argsort(-np.abs(scaled), kind="stable")
    return {
        names[n]: (
            [float(scaled[n].real), float(scaled[n].imag)]
            if abs(scaled[n].imag) > 1e-12
            else float(scaled[n].real)
        )
        for n in order
        if abs(scaled[n]) > 1e-9
    }


def jacobian_at(point: JacobianPoint, digits: int) -> Jacobian:
    """Return the derivatives at a point."""
    check_digits(digits)
    run = point.run
    shapes = run.course.constants.shapes.items()
    # full_order switches terms of order η² on or off; it is no number to differentiate by
    moving = Packing({name: shape for name, shape in shapes if name != "full_order"})
    along: Along = (
        partial(run.tangent(tuple(moving.shapes)), run.course.begin)
        if digits <= _DOUBLE
        else _with_digits(run, moving, digits)
    )
    still = np.zeros(moving.size)
    places, columns = _columns(run, lambda direction: along(direction, still))
    derivatives = {
        name: np.empty((len(places), *shape), columns.dtype)
        for name, shape in moving.shapes.items()
    }
    for name, index, direction in moving.directions():
        entries: tuple[Any, ...] = (slice(None), *index)
        derivatives[name][entries] = along(np.zeros(run.course.begin.size), direction)[places]
    factors = point.shown[places]
    for name, values in derivatives.items():
        values *= factors.reshape(-1, *[1] * (values.ndim - 1)) * point.numbers.get(name, 1.0)
    names = tuple(point.names[n] for n in places)
    matrix = columns * factors[:, None] / factors
    return Jacobian(matrix, names, derivatives, factors * _rates(run)[places])


def _rates(run: VariedRun) -> np.ndarray:
    return run.course.slope(0.0, run.course.begin, run.functions(None)[0])


def _columns(
    run: VariedRun, product: Callable[[np.ndarray], np.ndarray]
) -> tuple[list[int], np.ndarray]:
    """Return the places of the order parameters, and the derivatives of their rates by each."""
    coordinates = list(run.course.state.coordinates())
    places = [place for place, _ in coordinates]
    return places, np.stack([product(direction)[places] for _, direction in coordinates], axis=1)


Along = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""A function from directions of state and parameters to the derivatives of the rates along them."""


def _with_digits(run: VariedRun, moving: Packing, digits: int) -> Along:
    """Return the derivatives along directions as a function with many digits.

    State and parameters are doubles.
    """
    import mpmath
    from symderiv_codegen import PrinterError

    from symderiv.lowering.programs.precise_module import precise_module

    program, course = run.tangent_program(tuple(moving.shapes)), run.course
    try:
        module = precise_module(program)
    except PrinterError as error:
        raise NotYetError(f"can be at most 15 here: {error}", argument="digits") from error
    mp = mpmath.MPContext()
    mp.dps = digits + 10
    procedure = program.procedure(program.right_hand_side)
    assert procedure is not None
    evaluated = getattr(module, procedure.name)
    own = (course.state,), (course.state, course.constants, moving)
    directions, others = (
        Packing(dict(zip(names, (s for each in parts for s in each.shapes.values()), strict=True)))
        for names, parts in zip(_field_names(program), own, strict=True)
    )
    held = course.held(np.zeros(1))[0]

    def along(direction: np.ndarray, change: np.ndarray) -> np.ndarray:
        given = {"alpha": np.zeros(()), **directions.views(direction)}
        given |= others.views(np.concatenate([course.begin, held, change]))
        inputs = [_numbers(mp, given[array.name]) for array in procedure.inputs]
        outputs = [_numbers(mp, np.zeros(shape)) for shape in directions.shapes.values()]
        evaluated(mp, *inputs, *outputs)
        flat = (x for each in outputs for x in np.array(each, dtype=object).ravel())
        return np.array(list(flat), dtype=object)

    return along


def _field_names(program: Program) -> list[list[str]]:
    return [[field.name for field in each.fields] for each in program.vectors]


def study_point(study: Study, state: Start | None) -> JacobianPoint:
    """Return a run of a study from a state.

    See :meth:`symderiv.Problem.jacobian`.
    """
    flow = flow_at(study, start_of(study, state, "state"))
    numbers = equivalent_factors(study, flow.in_updates)
    return JacobianPoint(VariedFlow(flow, {}), state_names(flow), shown_factors(flow), numbers)


def system_point(
    solver: Solver, state: Mapping[str, Any], parameters: Mapping[str, Any]
) -> JacobianPoint:
    """Return a run of a system from a state.

    See :meth:`symderiv.System.jacobian`.
    """
    from symderiv.system.point_run import PointRun
    from symderiv.system.system_following import VariedSystemRun
    from symderiv.system.varied_system import VariedSystem

    point = VariedSystem(solver, state, parameters).point({})
    run = VariedSystemRun(PointRun(point, Goal(np.zeros(1))), {}, ())
    names = entry_names(solver.layout, solver.layout.names)
    return JacobianPoint(run, names, np.ones(len(names)), {})


def entry_names(layout: Layout, shown: Iterable[str]) -> list[str]:
    """Return the names of the entries of a system's state, as in given states.

    Args:
        layout: The layout of the system's vectors.
        shown: The order parameters that are named; entries of others have empty names.
    """
    named: dict[int, str] = {}
    for label, place in layout.entries(shown):
        # two equal entries are one place, named by the first of them
        named.setdefault(place, label)
    return [named.get(place, "") for place in range(layout.packing("state").size)]


def _numbers(mp: mpmath.MPContext, values: Any) -> Any:
    if np.ndim(values):
        return [_numbers(mp, each) for each in values]
    return mp.mpf(float(values))
