"""States of a system by name, and the vectors in which compiled code keeps them.

Users name overlaps by families in the order of their declaration: ``"w.B"`` is an array of shape
(K, M), without the axis of a family of a single vector, and with a leading axis of eigenvalue
classes where there are several. Slow scalars have the name and shape of their declaration.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import sympy as sp

from symderiv.foundation.errors import InputError, NotClosed, ShapeError
from symderiv.foundation.packing import Packing
from symderiv.problem.state import first_outside
from symderiv.statement.vector_expressions import SlowVector
from symderiv.system.closed_motion import (
    BEGIN,
    WEIGHT,
    Closed,
    eigenvalue_name,
    overlap_name,
    parameter_name,
    scalar_name,
)


class ByName:
    """Base of results that give arrays by name: ``run["w.B"]``, ``"w.B" in run``."""

    _where: ClassVar[str] = "run"

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the arrays by name."""
        raise NotImplementedError

    def __getitem__(self, name: str) -> np.ndarray:
        arrays = self.arrays()
        if not isinstance(name, str) or name not in arrays:
            raise InputError(f"{name!r} is not in the {self._where}; there are {', '.join(arrays)}")
        return arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays())


class Layout:
    """Layout of the state of a system in vectors.

    Args:
        closed: The equations.
    """

    def __init__(self, closed: Closed) -> None:
        self.closed = closed
        self.statement = closed.equations.statement
        self.symbols = self.statement.symbols
        self.families, self.scalars = self.statement.families, self.statement.scalars

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The weights of the eigenvalue classes, shape (L,), and the eigenvalues by inputs.

        Raises:
            NotClosed: The covariances of the inputs have different eigenspaces.
        """
        law = self.closed.equations.law
        weight, eigenvalues, first = np.ones(1), {}, ""
        basis: Any = None
        for inputs in law.gaussian_inputs:
            if law.isotropic(inputs.name):
                continue
            component = inputs.model.build(Path()).single()
            apart = basis is not None and not _share_eigenspaces(basis, inputs.model)
            alike = component.weight.shape == weight.shape and np.allclose(component.weight, weight)
            if first and (apart or not alike):
                raise NotClosed(
                    f"the covariances of {first} and {inputs.name} have no eigenspaces in common: "
                    "their products generate new overlaps without end",
                    average=f"w·Ω_{first} Ω_{inputs.name} v/N",
                    statement=f'inputs("{inputs.name}")',
                )
            first, basis = first or inputs.name, basis or inputs.model
            weight = np.asarray(component.weight)
            eigenvalues[inputs.name] = np.asarray(component.eigenvalue)
        return weight, eigenvalues

    @property
    def classes(self) -> int:
        """L, the number of eigenvalue classes."""
        return int(self.spectrum[0].size)

    @property
    def sizes(self) -> np.ndarray:
        """The sizes as compiled code takes them; they switch off the stepper's test of the cone of
        fields.
        """
        return np.array([0, 0, self.classes, 1], dtype=np.int64)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all overlaps and scalars that the equations need, in order."""
        return (
            *(name for name in self.pairs if self._holds(name, self.closed.needed)),
            *self.scalars,
        )

    @cached_property
    def pairs(self) -> tuple[str, ...]:
        """Names of the overlaps of all families, in order."""
        families = list(self.families)
        return tuple(f"{a}.{b}" for n, a in enumerate(families) for b in families[n:])

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names that a state may have: overlaps, scalars, and families whose vectors are given."""
        return (*self.pairs, *self.scalars, *self.families)

    def _holds(self, name: str, pairs: frozenset[tuple[SlowVector, SlowVector]]) -> bool:
        return any(pair in pairs for _, pair in self._places(name))

    def shown(self, given: Iterable[str]) -> tuple[str, ...]:
        """Return the names in results: what the equations need, and what else was given.

        ``given`` may contain names of families whose vectors were given.
        """
        given = set(given)
        asked = [
            name
            for name in self.pairs
            if name in self.names or name in given or set(name.split(".")) <= given
        ]
        return (*asked, *self.scalars)

    def moves(self, name: str) -> bool:
        """Return whether an order parameter changes."""
        return name in self.scalars or any(p in self.closed.moving for _, p in self._places(name))

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an order parameter without the axis of eigenvalue classes."""
        if name in self.scalars:
            return self._axis(self.scalars[name], name)
        first, second = name.split(".")
        return (
            *self._axis(self.families[first], first),
            *self._axis(self.families[second], second),
        )

    def dimensions(self, name: str) -> tuple[str, ...]:
        """Return the names of the axes of an order parameter in datasets."""
        parts = (name,) if name in self.scalars else tuple(name.split("."))
        axes = ["eigenvalue"] if self.classes > 1 and name not in self.scalars else []
        for part in parts:
            members = self.scalars[part] if name in self.scalars else self.families[part]
            if self._axis(members, part):
                axis = f"{part}_unit"
                axes.append(f"{axis}_2" if axis in axes else axis)
        return tuple(axes)

    def _axis(self, members: tuple[Any, ...], name: str) -> tuple[int, ...]:
        alone = len(members) == 1 and str(getattr(members[0], "name", members[0])) == name
        return () if alone else (len(members),)

    def _places(self, name: str) -> Iterable[tuple[tuple[int, ...], tuple[SlowVector, SlowVector]]]:
        """Yield the indices of the entries of an overlap with the pair of vectors of each."""
        first, second = name.split(".")
        for i, a in enumerate(self.families[first]):
            for j, b in enumerate(self.families[second]):
                index = (
                    *((i,) if self._axis(self.families[first], first) else ()),
                    *((j,) if self._axis(self.families[second], second) else ()),
                )
                yield index, self.closed.ordered(a, b)

    # packing

    def packing(self, vector: str) -> Packing:
        """Return how the state or the parameters are packed in a vector."""
        program = self.closed.program
        fields = program.state if vector == "state" else program.parameters
        assert fields is not None
        sizes = {"L": self.classes, "I": 1}
        return Packing({f.name: tuple(sizes[s] for s in f.shape) for f in fields.fields})

    def packed(
        self, given: Mapping[str, Any], parameters: Mapping[str, Any]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a state and parameters by name as vectors.

        Args:
            given: Overlaps and scalars by name; or, under the name of a family, the vectors
                themselves, shape (K, N).
            parameters: Values of parameters that differ from their defaults.

        Raises:
            InputError: A name is unknown or missing, a value is not finite, or no vectors have
                these overlaps.
            ShapeError: An array of the wrong shape.
        """
        given = self.overlaps(given)
        self._check_names(given)
        weight, eigenvalues = self.spectrum
        values: dict[str, Any] = {WEIGHT: weight}
        values |= {eigenvalue_name(name): value for name, value in eigenvalues.items()}
        numbers = self.parameter_values(parameters)
        values |= {parameter_name(p): numbers[str(p)] for p in self.symbols.parameters}
        values |= {BEGIN: 0.0, **dict.fromkeys(map(str, self.closed.equations.law.jumps), 0.0)}
        for name in self.scalars:
            array = self._array(name, given[name])
            for symbol, value in zip(self.scalars[name], array.ravel(), strict=True):
                values[scalar_name(symbol)] = np.array([value])
        for name in self.pairs:
            array = self._overlap(name, given.get(name))
            for index, (one, other) in self._places(name):
                place: Any = (slice(None), *index)
                values[overlap_name((one, other))] = array[place]
        self._check_cone(given, values)
        vectors = []
        for vector in ("state", "parameters"):
            packing = self.packing(vector)
            vectors.append(packing.packed(**{key: values[key] for key in packing.shapes}))
        return vectors[0], vectors[1]

    def known_parameters(self, given: Iterable[str]) -> None:
        """Refuse names that are not parameters."""
        names = [str(p) for p in self.symbols.parameters]
        for name in given:
            if name not in names:
                raise InputError(_unknown(name, names, "a parameter"))

    def parameter_values(self, given: Mapping[str, Any]) -> dict[str, float]:
        """Return the value of every parameter, as given or by default."""
        self.known_parameters(given)
        values = {}
        for symbol, default in self.symbols.parameters.items():
            value = given.get(str(symbol), default)
            if value is sp.nan:
                raise InputError("has no value; give one", argument=str(symbol))
            number = _real(value, str(symbol))
            if number.ndim or not np.isfinite(number):
                raise InputError(f"must be a finite number, not {value}", argument=str(symbol))
            values[str(symbol)] = float(number)
        return values

    def jumps(self, parameters: Mapping[str, Any]) -> list[float]:
        """Return the ascending times after α = 0 at which something jumps."""
        times = set()
        for place in self.closed.equations.law.jumps.values():
            value, slope = self._in_time(place, 0.0, parameters)
            if slope != 0:
                times.add(-value / slope)
        return sorted(time for time in times if time > 0)

    def at_time(
        self, constants: np.ndarray, alpha: float, parameters: Mapping[str, Any]
    ) -> np.ndarray:
        """Return the constants right after a time: indicators of jumps have their values from then
        on.
        """
        changed = constants.copy()
        views = self.packing("parameters").views(changed)
        for symbol, place in self.closed.equations.law.jumps.items():
            value, slope = self._in_time(place, alpha, parameters)
            if str(symbol) in views:
                views[str(symbol)][...] = float(value > 0 or (value == 0 and slope > 0))
        return changed

    def _in_time(
        self, place: sp.Expr, alpha: float, parameters: Mapping[str, Any]
    ) -> tuple[float, float]:
        """Return the value and slope of an affine function of time at a time."""
        numbers = self.parameter_values(parameters)
        known = {p: sp.Float(numbers[str(p)], 17) for p in self.symbols.parameters}
        time = next(s for s in place.free_symbols if self.closed.equations.law.is_time(s))
        line = place.xreplace(known)
        return float(line.subs(time, alpha)), float(sp.diff(line, time))

    def unpacked(
        self, states: np.ndarray, parameters: np.ndarray, names: Iterable[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Return the named order parameters, or all that are needed, from states (…, n)."""
        fields = self.packing("state").views(states)
        fixed = self.packing("parameters").views(parameters)
        by_name = {}
        lead = states.shape[:-1]
        many = self.classes > 1
        for name in self.names if names is None else names:
            if name in self.scalars:
                columns = [fields[scalar_name(s)][..., 0] for s in self.scalars[name]]
                by_name[name] = np.stack(columns, axis=-1).reshape((*lead, *self.shape(name)))
                continue
            result = np.empty((*lead, self.classes, *self.shape(name)), dtype=states.dtype)
            for index, (one, other) in self._places(name):
                key = overlap_name((one, other))
                value = (
                    fields[key]
                    if key in fields
                    else np.broadcast_to(fixed[key], (*lead, self.classes))
                )
                place: Any = (..., slice(None), *index)
                result[place] = value
            by_name[name] = result if many else np.take(result, 0, axis=len(lead))
        return by_name

    def _overlap(self, name: str, value: Any) -> np.ndarray:
        """Return an overlap with a leading axis of eigenvalue classes."""
        shape = self.shape(name)
        if value is None:
            return np.zeros((self.classes, *shape))
        array = _real(value, name)
        if array.shape == (self.classes, *shape):
            result = array
        elif _fits(array, shape):
            result = np.broadcast_to(array.reshape(shape), (self.classes, *shape))
        else:
            classes = f" or {(self.classes, *shape)}" if self.classes > 1 else ""
            raise ShapeError(f"has the shape {array.shape}, not {shape}{classes}", argument=name)
        if not np.all(np.isfinite(result)):
            raise InputError("must be finite numbers", argument=name)
        a, b = name.split(".")
        if a == b and len(shape) == 2 and not np.allclose(result, np.swapaxes(result, -1, -2)):
            raise InputError("is not symmetric", argument=name)
        return np.array(result)

    def _array(self, name: str, value: Any) -> np.ndarray:
        array, shape = _real(value, name), self.shape(name)
        if array.ndim and not _fits(array, shape):
            raise ShapeError(f"has the shape {array.shape}, not {shape}", argument=name)
        if not np.all(np.isfinite(array)):
            raise InputError("must be finite numbers", argument=name)
        return array.reshape(shape) if array.ndim else np.full(shape, array)

    def overlaps(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return a state in which vectors are replaced by their overlaps.

        Raises:
            InputError: The state is not a dictionary.
            ShapeError: The number of vectors is wrong, or their lengths differ.
        """
        given = named(given)
        vectors = {
            name: np.atleast_2d(_real(given.pop(name), name))
            for name in self.families
            if name in given
        }
        if not vectors:
            return given
        dimension = next(iter(vectors.values())).shape[-1]
        for name, array in vectors.items():
            wanted = len(self.families[name]), dimension
            if array.shape != wanted:
                raise ShapeError(f"has the shape {array.shape}, not {wanted}", argument=name)
        bounds = self.class_bounds(dimension)
        families = list(self.families)
        for n, a in enumerate(families):
            for b in families[n:]:
                if a in vectors and b in vectors:
                    parts = [
                        vectors[a][:, start:stop] @ vectors[b][:, start:stop].T / (stop - start)
                        for start, stop in pairwise(bounds)
                    ]
                    shape = self.classes, *self.shape(f"{a}.{b}")
                    given.setdefault(f"{a}.{b}", np.reshape(parts, shape))
        return given

    def _check_cone(self, given: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Refuse overlaps that no vectors can have, among families whose overlaps are all given."""
        whole: list[str] = []
        for family in self.families:
            if all(f"{each}.{family}" in given for each in (*whole, family)):
                whole.append(family)
        members = [vector for family in whole for vector in self.families[family]]
        if members and first_outside(self.gram(members, values)) is not None:
            raise InputError(
                f"no vectors have these overlaps of {', '.join(whole)} (the matrix of all of them "
                "is not positive semi-definite)",
                argument="initial",
            )

    def pair_names(self, vectors: Sequence[SlowVector]) -> list[list[str]]:
        """Return the fields of the overlaps of V vectors, (V, V)."""
        return [[overlap_name(self.closed.ordered(a, b)) for b in vectors] for a in vectors]

    def gram(self, vectors: Sequence[SlowVector], fields: Mapping[str, Any]) -> np.ndarray:
        """Return the overlaps of V vectors in every eigenspace, (L, V, V), from the fields."""
        rows = [[fields[name] for name in row] for row in self.pair_names(vectors)]
        return np.moveaxis(np.reshape(rows, (len(rows), len(rows), self.classes)), -1, 0)

    def fields(self, states: np.ndarray, constants: np.ndarray) -> dict[str, np.ndarray]:
        """Return the fields of states and constants, as views."""
        packings = self.packing("parameters"), self.packing("state")
        return {**packings[0].views(constants), **packings[1].views(states)}

    def entries(self, shown: Iterable[str]) -> list[tuple[str, int]]:
        """Return the entries of order parameters, with their places in state and constants.

        Args:
            shown: the names of the order parameters. Constants are counted on from the state.
        """
        state, constants = self.packing("state").size, self.packing("parameters").size
        places = np.arange(float(state + constants))
        entries = []
        for name, array in self.unpacked(places[:state], places[state:], shown).items():
            for index in np.ndindex(array.shape):
                label = f"[{','.join(str(n + 1) for n in index)}]" if index else ""
                entries.append((name + label, int(array[index])))
        return entries

    def class_bounds(self, dimension: int) -> list[int]:
        """Return the boundaries of the eigenspaces among N coordinates."""
        counts = self.spectrum[0] * dimension
        ends = np.rint(np.cumsum(counts)).astype(int)
        if np.any(np.abs(np.cumsum(counts) - ends) > 1e-6) or np.any(np.diff([0, *ends]) < 1):
            raise InputError(
                f"{dimension} coordinates do not divide into {self.classes} eigenspaces with these "
                "weights; choose a multiple",
                argument="dimension",
            )
        return [0, *(int(e) for e in ends)]

    def _check_names(self, given: Mapping[str, Any]) -> None:
        pairs = self.pairs
        for name in given:
            if name not in pairs and name not in self.scalars:
                hint = _unknown(name, dict.fromkeys([*self.names, *pairs]), "an order parameter")
                if "." in name and ".".join(reversed(name.split("."))) in pairs:
                    hint = f"is named {'.'.join(reversed(name.split('.')))!r} here"
                raise InputError(hint, argument=name)
        asked = [pair for name in given if name in pairs for _, pair in self._places(name)]
        wanted = self.closed.completed(asked)
        missing = [
            name
            for name in (*pairs, *self.scalars)
            if name not in given
            and (name in self.names or (name in pairs and self._holds(name, wanted)))
        ]
        if missing:
            raise InputError(
                f"{', '.join(missing)} must be given: the equations need {', '.join(self.names)}",
                argument="initial",
            )


def named(given: Any) -> dict[str, Any]:
    """Return a state by name as a dictionary of its own.

    Raises:
        InputError: It is not a dictionary.
    """
    if not isinstance(given, Mapping):
        raise InputError(
            f"is {type(given).__name__}, not a dictionary of overlaps and scalars by their names",
            argument="initial",
        )
    return dict(given)


def _real(value: Any, argument: str) -> np.ndarray:
    """Return numbers as an array of doubles."""
    try:
        return np.asarray("" if isinstance(value, bool) else value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"must be finite numbers, not {value!r}", argument=argument) from None


def _fits(array: np.ndarray, shape: tuple[int, ...]) -> bool:
    """Return whether an array has a shape up to axes of length one, or is flat with as many
    entries.
    """
    flat = array.ndim == 1 and array.size == int(np.prod(shape))
    return flat or array.squeeze().shape == tuple(n for n in shape if n != 1)


def _share_eigenspaces(one: Any, other: Any) -> bool:
    """Return whether two input models share their eigenspaces in the same order."""
    ordered = "spectrum", "power-law"
    return bool(one == other or (one.model in ordered and other.model in ordered))


def _unknown(name: str, known: Iterable[str], what: str) -> str:
    known = list(dict.fromkeys(known))
    near = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known) or 'none'}"
    return f"{name!r} is not {what} of this system{hint}"
