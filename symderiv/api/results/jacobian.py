"""Derivatives of the right-hand side at one state, from the tangent of its program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.api.arguments.starts import start_of
from symderiv.api.results.answer import Answer
from symderiv.api.results.rate_function import RateFunction, flow_at, slope_at
from symderiv.foundation.documents.document import Part, Summary, Tabular
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.foundation.packing import Packing
from symderiv.foundation.showing import Shown

if TYPE_CHECKING:
    import mpmath
    from symderiv_codegen import Procedure, Program

    from symderiv.api.results.rate_function import Start
    from symderiv.integrate.flows.study_flow import Flow
    from symderiv.problem.study import Study

__all__ = ["Jacobian", "Linearisation", "jacobian_of", "linearised", "products_of"]

_DOUBLE, _MOST_DIGITS = 15, 1000
_NEUTRAL = 1e-12
_SHOWN_MODES, _SHOWN_ENTRIES = 12, 3


class Jacobian(Shown):
    """Derivatives of the rates of the order parameters, per unit of α.

    Attributes:
        matrix: by the order parameters, shape (n, n): entry (i, j) is the derivative of the rate
            of ``names[i]`` by ``names[j]``. Entries are mpmath's numbers if more digits than 15
            were asked for.
        names: of the order parameters, as those of :meth:`symderiv.Problem.rhs`; of the two equal
            entries (i, j) and (j, i) of a symmetric overlap only that with i ≤ j, and a derivative
            by it changes both.
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
        eigenvalues: of the Jacobian per unit of α, those with the largest real part first, each as
            a pair of real and imaginary part.
        modes: for each eigenvalue a dictionary of the components of its eigenvector by order
            parameter, the largest first with the value 1; components below 1e-9 are left out, and
            those of complex modes are pairs.
        names: of the order parameters.
        unstable: how many eigenvalues have a positive real part, beyond 1e-12 of the largest one's
            size.
        largest_rate: of any order parameter at the state, zero at a fixed point.
    """

    _title = "Linearised flow"

    def _summary(self) -> Summary:
        rows = [
            ("order parameters", len(self._record["names"])),
            ("unstable", self._record["unstable"]),
            ("largest rate", self._record["largest_rate"]),
        ]
        return Summary(self._title, rows)

    def _document(self) -> Part:
        found = zip(self._record["eigenvalues"], self._record["modes"], strict=True)
        rows = [[_number(value), _mode_text(mode)] for value, mode in found]
        shown = Tabular(("eigenvalue", "mode"), rows[:_SHOWN_MODES], sides="rl")
        return Part("", [self._summary(), shown])


def _listed(values: np.ndarray) -> Any:
    found = np.asarray(values)
    return found.tolist() if found.dtype != object else np.vectorize(str)(found).tolist()


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


def linearised(study: Study, state: Start | None) -> Linearisation:
    """Return the eigenvalues and modes; see :meth:`symderiv.Problem.linearise`."""
    found = jacobian_of(study, state)
    values, vectors = np.linalg.eig(found.matrix)
    order = np.lexsort((-values.imag, -values.real))
    modes = [_mode(vectors[:, place], found.names) for place in order]
    return Linearisation(
        {
            "names": list(found.names),
            "eigenvalues": [[float(v.real), float(v.imag)] for v in values[order]],
            "modes": modes,
            "unstable": int(np.sum(values.real > _NEUTRAL * np.max(np.abs(values)))),
            "largest_rate": float(np.max(np.abs(found.rates))),
            "warnings": [],
        }
    )


def _mode(vector: np.ndarray[Any, Any], names: tuple[str, ...]) -> dict[str, Any]:
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


def jacobian_of(study: Study, state: Start | None, digits: int = _DOUBLE) -> Jacobian:
    """Return the derivatives at a state; see :meth:`symderiv.Problem.jacobian`."""
    if not 1 <= digits <= _MOST_DIGITS:
        raise InputError(f"{digits} is not between 1 and {_MOST_DIGITS}", argument="digits")
    flow = flow_at(study, start_of(study, state))
    program = _tangent_program(study, flow)
    sizes = {"K": flow.state.K, "M": flow.state.M, "L": flow.state.L}
    along = (
        _along(program, flow, sizes)
        if digits <= _DOUBLE
        else _precisely(program, flow, sizes, digits)
    )
    places = Packing.of(flow.layout, "state", **sizes)
    constants = Packing.of(flow.layout, "parameters", **sizes)
    symmetric = {
        field.name for vector in program.vectors for field in vector.fields if field.symmetric
    }
    coordinates = list(_directions(places, symmetric))
    kept = [place for place, _ in coordinates]
    still = np.zeros(constants.size)
    columns = [along(direction, still)[kept] for _, direction in coordinates]
    # terms of order η² are there or not; nothing is differentiated by that
    varied = {name: shape for name, shape in constants.shapes.items() if name != "full_order"}
    found = {
        name: np.empty((len(kept), *shape), columns[0].dtype) for name, shape in varied.items()
    }
    for name, index, direction in _each(constants, symmetric):
        if name in varied:
            entries: tuple[Any, ...] = (slice(None), *index)
            found[name][entries] = along(np.zeros(places.size), direction)[kept]
    names = RateFunction(study).names
    rates = slope_at(flow)(flow.begin)[kept]
    return Jacobian(np.stack(columns, axis=1), tuple(names[n] for n in kept), found, rates)


def products_of(study: Study) -> Callable[[np.ndarray], np.ndarray]:
    """Return the product of the Jacobian at the start of a study with a direction, shape (n,).

    Directions have both entries of symmetric overlaps, as the vectors of the right-hand side have.
    """
    flow = flow_at(study, start_of(study, None))
    sizes = {"K": flow.state.K, "M": flow.state.M, "L": flow.state.L}
    along, still = (
        _along(_tangent_program(study, flow), flow, sizes),
        np.zeros_like(flow.parameters),
    )
    return lambda direction: along(direction, still)


def _tangent_program(study: Study, flow: Flow) -> Program:
    """Return the tangent of the program of a study.

    Raises:
        NotYetError: a mean is an integral, whose derivative is not known; or the inputs have
            several classes.
    """
    from symderiv_codegen import ProgramError, tangent

    from symderiv.integrate.flows.components import ComponentsFlow
    from symderiv.learning.rule.learning_rule import PLAIN
    from symderiv.lowering.programs.exported import kept_program
    from symderiv.problem.rule_of import rule_of
    from symderiv.storage.study_kernel import activation_tolerance

    if isinstance(flow, ComponentsFlow):
        raise NotYetError("inputs of several classes have no Jacobian yet", argument="inputs")
    rule = rule_of(study).rule if study.rule_keys else PLAIN
    tolerance = activation_tolerance(study.time.relative_tolerance)
    activations = study.student_activation, study.teacher_activation
    try:
        program = kept_program(*activations, rule, tolerance)
        found = tangent(program)
    except NotYetError as error:
        raise NotYetError(
            f"has no Jacobian yet: means of {' and '.join(map(repr, activations))} are integrals; "
            "take an activation with closed means (erf, relu, linear, tanh, gelu, …)",
            argument=error.argument,
        ) from error
    except ProgramError as error:
        raise NotYetError(f"has no Jacobian yet: {error}", argument="activation") from error
    stated = [{each.name: each.shape for each in vector.fields} for vector in program.vectors]
    if stated != [dict(flow.layout[name]) for name in ("state", "parameters")]:
        raise NotYetError("this learning rule has no Jacobian yet", argument="activation")
    return found


Along = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""The rates of the rates along a direction of the state and one of the parameters."""


def _along(program: Program, flow: Flow, sizes: dict[str, int]) -> Along:
    """Return the derivatives in doubles, compiled for these numbers of units."""
    from symderiv_codegen import print_fast

    from symderiv.storage.kernels import kept_module

    evaluated = kept_module(print_fast(program)).specialised(sizes["K"], sizes["M"])
    numbers = np.array([sizes[name] for name in ("K", "M", "L")])

    state = np.concatenate([flow.begin, flow.begin])
    parameters = np.concatenate([flow.parameters, flow.parameters])

    def along(direction: np.ndarray, change: np.ndarray) -> np.ndarray:
        state[flow.begin.size :], parameters[flow.parameters.size :] = direction, change
        found = np.empty_like(state)
        evaluated(0.0, state, numbers, parameters, found)
        return found[flow.begin.size :]

    return along


def _precisely(program: Program, flow: Flow, sizes: dict[str, int], digits: int) -> Along:
    """Return the derivatives with many digits, at the doubles of the state and the parameters."""
    import mpmath
    from symderiv_codegen import PrinterError

    from symderiv.lowering.programs.precise_module import precise_module

    try:
        module = precise_module(program)
    except PrinterError as error:
        raise NotYetError(f"reach 15 at most here: {error}", argument="digits") from error
    mp = mpmath.MPContext()
    mp.dps = digits + 10
    procedure = program.procedure(program.right_hand_side)
    assert procedure is not None
    evaluated = getattr(module, procedure.name)

    def along(direction: np.ndarray, change: np.ndarray) -> np.ndarray:
        given = _fields(flow, sizes, direction, change)
        inputs = [_numbers(mp, given[array.name]) for array in procedure.inputs]
        outputs = _outputs(mp, procedure, sizes)
        evaluated(mp, *inputs, *outputs)
        flat = [x for each in outputs for x in np.array(each, dtype=object).ravel()]
        return np.array(flat[len(flat) // 2 :], dtype=object)

    return along


def _fields(
    flow: Flow, sizes: dict[str, int], direction: np.ndarray, change: np.ndarray
) -> dict[str, np.ndarray]:
    from symderiv_codegen.passes.tangent import BEHIND

    found: dict[str, np.ndarray] = {}
    for vector, values, rates in (
        ("state", flow.begin, direction),
        ("parameters", flow.parameters, change),
    ):
        packing = Packing.of(flow.layout, vector, **sizes)
        found |= packing.views(values)
        found |= {name + BEHIND: each for name, each in packing.views(rates).items()}
    return found


def _outputs(mp: mpmath.MPContext, procedure: Procedure, sizes: dict[str, int]) -> list[Any]:
    shapes = ([sizes[size] for size in array.shape] for array in procedure.outputs)
    return [_numbers(mp, np.zeros(shape)) for shape in shapes]


def _numbers(mp: mpmath.MPContext, values: Any) -> Any:
    if np.ndim(values):
        return [_numbers(mp, each) for each in values]
    return mp.mpf(float(values))


def _each(
    packing: Packing, symmetric: set[str]
) -> Iterator[tuple[str, tuple[int, ...], np.ndarray]]:
    """Yield every number of a vector with the direction in which it changes, both entries of a
    symmetric array together.
    """
    for name, shape in packing.shapes.items():
        for index in np.ndindex(shape):
            direction = np.zeros(packing.size)
            view = packing.views(direction)[name]
            view[index] = 1.0
            if name in symmetric:
                view[(index[1], index[0], *index[2:])] = 1.0
            yield name, index, direction


def _directions(packing: Packing, symmetric: set[str]) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the place of every order parameter with the direction in which it changes."""
    for place, (name, index, direction) in enumerate(_each(packing, symmetric)):
        if name not in symmetric or index[0] <= index[1]:
            yield place, direction
