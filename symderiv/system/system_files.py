"""A statement as a versioned JSON file, checked against its schema when it is read.

Formulas in the file are data: they are read by the parser of user formulas and never evaluated. The
schema is ``system_schema()``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import sympy as sp
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from symderiv.formula import parse_formula
from symderiv.foundation.errors import FormulaError, InputError
from symderiv.problem.input_models import Data
from symderiv.statement.batches import BatchMean
from symderiv.statement.stated_problem import Descent
from symderiv.statement.vector_expressions import SlowVector, VectorExpression

FORMAT = "symderiv-system"
VERSION = 2


class _FileTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Declaration(_FileTable):
    kind: Literal["inputs", "vectors", "scalars", "latents", "parameter", "average"]
    name: str
    number: int | None = None
    fixed: bool = False
    model: dict[str, Any] | None = None
    length: int | None = None
    episode: int | str | None = None
    batch_ratio: str | None = None
    correlation: list[list[str]] | None = None
    law: str | dict[str, str] | None = None
    value: str | None = None


class _Line(_FileTable):
    kind: Literal["descend", "ascend", "update"]
    loss: str | None = None
    rates: dict[str, str] | None = None
    velocity: dict[str, str] | None = None
    changes: dict[str, str | dict[str, str]] | None = None


class _Constraint(_FileTable):
    vectors: list[str]
    kind: Literal["sphere", "orthonormal"]
    inputs: str | None = None


class _File(_FileTable):
    format: Literal["symderiv-system"]
    version: Literal[1, 2]
    order: Literal["full", "small-learning-rate"] = "full"
    declarations: list[_Declaration]
    statements: list[_Line]
    constraints: list[_Constraint] = []
    observables: dict[str, str] = {}


def system_schema() -> dict[str, Any]:
    """Return the JSON schema of the file of a system."""
    return _File.model_json_schema()


def system_text(system: Any) -> str:
    """Return a system as the text of its JSON file; equal statements give equal texts.

    Raises:
        InputError: An expression is too long for a formula in a file.
    """
    statement = system.statement
    record = {
        "format": FORMAT,
        "version": VERSION,
        "order": statement.order,
        "declarations": [_told(each) for each in system.declarations],
        "statements": [_line(line) for line in statement.lines],
        "constraints": [
            {
                "vectors": [v.name for v in c.vectors],
                "kind": c.kind,
                **({"inputs": c.inputs} if c.inputs else {}),
            }
            for c in statement.constraints
        ],
        "observables": {k: str(v) for k, v in statement.observables.items()},
    }
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


def _told(declaration: Mapping[str, Any]) -> dict[str, Any]:
    told = {k: v for k, v in declaration.items() if v not in (None, False)}
    if "model" in told:
        told["model"] = told["model"].model_dump(mode="json", exclude_unset=True)
    if "correlation" in told:
        told["correlation"] = [[str(e) for e in row] for row in told["correlation"].tolist()]
    if isinstance(told.get("law"), tuple):
        told["law"] = {str(value): str(p) for value, p in told["law"]}
    for key in ("value", "batch_ratio"):
        if key in told:
            told[key] = str(told[key])
    return told


def _line(line: Any) -> dict[str, Any]:
    if isinstance(line, Descent):
        moved = {_name(key): _name(value) for key, value in line.velocity.items()}
        return {
            "kind": "descend" if line.sign > 0 else "ascend",
            "loss": str(line.loss),
            "rates": {_name(key): str(rate) for key, rate in line.rates.items()},
            **({"velocity": moved} if moved else {}),
        }
    changes: dict[str, Any] = {}
    for key, change in line.changes.items():
        changes[_name(key)] = (
            {atom.name: str(f) for atom, f in change.terms.items()}
            if isinstance(change, VectorExpression)
            else str(change)
        )
    return {"kind": "update", "changes": changes}


def _name(key: SlowVector | sp.Symbol) -> str:
    return key.name if isinstance(key, SlowVector) else str(key)


def read_system(text: str, system: Any) -> Any:
    """State in an empty system what a JSON text describes, and return it.

    Raises:
        InputError: The text is not such a file, or something in it is not acceptable; the message
            names the entry.
    """
    try:
        record = _File.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(f"{place}: {first['msg']}") from None
    return _Reader(record, system).system


class _Reader:
    """A reader that states the lines of a file."""

    def __init__(self, record: _File, system: Any) -> None:
        self.system = system
        system.order = record.order
        self.made: dict[str, Any] = {}
        for declaration in record.declarations:
            self._declare(declaration)
        for line in record.statements:
            self._state(line)
        for constraint in record.constraints:
            members = np.array([self._vector(name) for name in constraint.vectors], dtype=object)
            measure = constraint.inputs and self.made.get(constraint.inputs, constraint.inputs)
            self.system.constrain(members, constraint.kind, measure)
        for name, formula in record.observables.items():
            self.system.observe(**{name: self._expression(formula, f"observables.{name}")})

    def _declare(self, given: _Declaration) -> None:
        system, name = self.system, given.name
        if given.kind == "inputs":
            model = TypeAdapter(Data).validate_python(given.model) if given.model else None
            correlation = given.correlation and [
                [self._expression(e, f"{name}.correlation") for e in row]
                for row in given.correlation
            ]
            ratio = given.batch_ratio and self._expression(given.batch_ratio, name)
            episode = given.episode
            if isinstance(episode, str):
                episode = self.made.get(episode)
            self.made[name] = system.inputs(name, model, given.length, correlation, episode, ratio)
        elif given.kind == "vectors":
            self.made[name] = system.vectors(name, given.number, given.fixed)
        elif given.kind == "scalars":
            self.made[name] = system.scalars(name, given.number)
        elif given.kind == "latents":
            law: Any = given.law
            if isinstance(law, dict):
                law = {
                    self._expression(v, f"{name}.law"): self._expression(p, f"{name}.law")
                    for v, p in law.items()
                }
            self.made[name] = system.latents(name, law or "gaussian", given.number)
        elif given.kind == "average":
            self.made[name] = system.average(self._expression(given.value or "", name))
            if self.made[name].name != name:
                raise InputError(
                    f"{name} must be called {self.made[name].name}, because averages are numbered"
                )
        else:
            value = None if given.value is None else self._expression(given.value, name)
            self.made[name] = system.parameter(name, value)

    def _state(self, line: _Line) -> None:
        if line.kind == "update":
            changes = {}
            for name, change in (line.changes or {}).items():
                changes[self._target(name)] = (
                    self._of_example(change, name)
                    if isinstance(change, str)
                    else sum(
                        (
                            self._atom(atom) * self._of_example(formula, f"{name}.{atom}")
                            for atom, formula in change.items()
                        ),
                        sp.S.Zero,
                    )
                )
            self.system.update(changes)
            return
        rates = {
            self._target(name): self._expression(rate, name)
            for name, rate in (line.rates or {}).items()
        }
        loss = self._of_example(line.loss or "", "loss")
        moved = {self._target(a): self._target(b) for a, b in (line.velocity or {}).items()}
        state = self.system.descend if line.kind == "descend" else self.system.ascend
        state(loss, rates, moved)

    def _of_example(self, formula: str, where: str) -> sp.Expr:
        """Return a formula of a step, averaged over the batch if steps take one."""
        value = self._expression(formula, where)
        return value if self.system.statement.batch_ratio is None else BatchMean(value)

    def _expression(self, formula: str, where: str) -> sp.Expr:
        symbols = self.system.statement.symbols
        names = _names(formula)
        for name in names:
            symbols.recalled(name)
        try:
            return parse_formula(formula, names)
        except FormulaError as error:
            raise InputError(f"{where}: {error}") from None

    def _target(self, name: str) -> Any:
        vectors = {v.name: v for v in self.system.statement.vectors}
        return vectors.get(name, sp.Symbol(name, real=True))

    def _vector(self, name: str) -> SlowVector:
        vectors: dict[str, SlowVector] = {v.name: v for v in self.system.statement.vectors}
        if name not in vectors:
            raise InputError(f"{name!r} is not a vector of this file")
        return vectors[name]

    def _atom(self, name: str) -> Any:
        for inputs in self.system.statement.inputs:
            for atom in inputs.atoms:
                if atom.name == name:
                    return atom
        return self._vector(name)


def _names(formula: str) -> tuple[str, ...]:
    """Return the names in a formula except functions and constants."""
    names = re.findall(r"[A-Za-z]\w*(?!\w|\s*\()", formula)
    return tuple(sorted(set(names) - {"pi", "E"}))
