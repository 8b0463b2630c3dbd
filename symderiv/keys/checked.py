"""Checked, immutable tables, and their errors in words."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from symderiv.foundation.errors import InputError
from symderiv.foundation.named_arguments import show_arguments
from symderiv.foundation.nearest import did_you_mean
from symderiv.keys.key_records import Key, argument_of_field, saying
from symderiv.keys.toml_text import short_text

# Bounds on counts keep a typing error from asking for all memory of the machine.
Units = Annotated[int, Field(ge=1, le=1000)]
Index = Annotated[int, Field(ge=0, lt=1000)]
Dimension = Annotated[int, Field(ge=1, le=10**9)]
Number = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0.0, le=1.0)]
Seed = Annotated[int, Field(ge=0, lt=2**128)]


#: The tables of a study by name, each with the classes that may stand for it.
_TABLES: dict[str, list[type[Table]]] = {}


class Table(BaseModel):
    """A table of checked values; changed copies are always checked again.

    A subclass names the table of a study that it stands for: ``class Network(Table,
    table="network")``; errors then know its keys, and a line ``[network]`` of its docstring becomes
    their description.

    Attributes:
        RECORDS: the record of each key.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    RECORDS: ClassVar[Mapping[str, Key]] = {}

    def __init_subclass__(cls, table: str = "", **others: Any) -> None:
        super().__init_subclass__(**others)
        if table:
            _TABLES.setdefault(table, []).append(cls)

    @classmethod
    def __pydantic_init_subclass__(cls, table: str = "", **others: Any) -> None:
        super().__pydantic_init_subclass__(**others)
        cls.RECORDS = {
            name: record
            for name, field in cls.model_fields.items()
            for record in field.metadata
            if isinstance(record, Key)
        }
        if table:
            saying({table: cls})(cls)
        if "keys" in inspect.signature(cls.__init__).parameters:
            names = (name for name in cls.model_fields if name != "model")
            show_arguments(cls.__init__, [argument_of_field(cls, name) for name in names])
            _, *shown = inspect.signature(cls.__init__).parameters.values()
            cls.__signature__ = inspect.Signature(shown)

    @model_validator(mode="before")
    @classmethod
    def _one_of_complements(cls, given: Any) -> Any:
        """Refuse a key together with its complement."""
        for name, record in cls.RECORDS.items() if isinstance(given, Mapping) else ():
            if record.complement_of in given and name in given:
                reason = f"is given together with {record.complement_of}, which is 1 minus it"
                raise conflict(name, f"{reason}; remove one")
        return given

    @model_validator(mode="after")
    def _complements_are_kept(self) -> Self:
        """Store a complement as the key that it stands for, so that both can be read."""
        for name, record in self.RECORDS.items():
            if not (other := record.complement_of):
                continue
            if name in self.model_fields_set:
                self.__dict__[other] = 1.0 - getattr(self, name)
                self.model_fields_set.discard(name)
                self.model_fields_set.add(other)
            else:
                # rounded, to remove the rounding error of the difference
                self.__dict__[name] = round(1.0 - getattr(self, other), 15)
        return self

    @model_validator(mode="after")
    def _keys_go_together(self) -> Self:
        for name, record in self.RECORDS.items():
            if not (record.instead_of or record.needs) or self.at_default(name):
                continue
            for other in record.instead_of:
                # a written-out default of a rule's key does not count
                if other in self.model_fields_set and not (
                    self.RECORDS[other].acts and self.at_default(other)
                ):
                    raise conflict(name, f"is given together with {other}; remove one")
            if record.needs and self.at_default(record.needs):
                raise conflict(record.needs, f"is missing; {name} needs it")
        return self

    def at_default(self, name: str) -> bool:
        """Return whether a key has its default value, written out or not."""
        return bool(getattr(self, name) == type(self).model_fields[name].default)

    def idle(self) -> tuple[str, ...]:
        """Return keys that others replace; writing out their defaults would be refused when read
        back.
        """
        return tuple(
            other
            for name, record in self.RECORDS.items()
            if record.instead_of and not self.at_default(name)
            for other in record.instead_of
        )

    def __eq__(self, other: object) -> bool:
        # pydantic would also compare arrays cached beside the fields
        return type(self) is type(other) and all(
            getattr(self, name) == getattr(other, name) for name in type(self).model_fields
        )

    def __repr_args__(self) -> Any:
        given = [name for name in type(self).model_fields if name in self.model_fields_set]
        return [(name, getattr(self, name)) for name in given if name != "model"]

    def __hash__(self) -> int:
        return hash((type(self), str(self)))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; changes are checked as in a new table.

        Raises:
            InputError: a change is not acceptable.
        """
        if not update:
            return super().model_copy(deep=deep)
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return self._made({**given, **update})

    def copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:  # type: ignore[override]
        """Copy as :meth:`model_copy`."""
        return self.model_copy(update=update, deep=deep)

    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:
        """Return a new table, checked."""
        del _fields_set
        return cls._made(values)

    @classmethod
    def _made(cls, values: Mapping[str, Any], context: Mapping[str, Any] | None = None) -> Self:
        try:
            return cls.model_validate(dict(values), context=context)
        except ValidationError as error:
            raise explained(error) from None


def explained(error: ValidationError) -> InputError:
    """Return one error, of one line, for all errors that pydantic found, each with its
    key's name.
    """
    for item in error.errors(include_url=False, include_input=False):
        raised = item.get("ctx", {}).get("error")
        if isinstance(raised, InputError):
            place = _name(item["loc"])
            if raised.argument is None and place:
                return raised.renamed(place)
            return raised
    by_argument = _reasons(error)
    (argument, reason), *others = by_argument.items()
    reasons = [reason, *(f"{name}: {also}" for name, also in others[:4])]
    return InputError("; ".join(reasons), argument=argument)


def _reasons(error: ValidationError) -> dict[str, str]:
    reasons: dict[str, str] = {}
    for item in error.errors(include_url=False, include_context=True):
        kind = item["type"]
        name = _name(item["loc"])
        value = short_text(item.get("input"))
        if kind == "extra_forbidden":
            reason = _unknown_key(item["loc"])
        elif kind == "missing":
            reason = "is missing"
        elif kind in ("union_tag_not_found", "union_tag_invalid"):
            name += ".model"
            model = item["input"].get("model") if isinstance(item["input"], Mapping) else None
            tags = item["ctx"].get("expected_tags", "").replace("'", "")
            known = tags if tags and name != "data.model" else ", ".join(_models())
            reason = f"must be one of {known}" + (
                f"; got {short_text(model)}" if kind == "union_tag_invalid" else ", but is missing"
            )
        elif kind == "conflict":
            key = item.get("ctx", {})["key"]
            name, reason = f"{name}.{key}" if name else key, item["msg"]
        else:
            reason = f"{_plain(item['msg'])}; got {value}"
        reasons.setdefault(name, reason)
    # an error in "weights[1]" makes one in "weights" redundant
    return {n: r for n, r in reasons.items() if not any(o.startswith(f"{n}[") for o in reasons)}


def conflict(key: str, reason: str) -> PydanticCustomError:
    """Return an error about one of the keys, to be raised by validators of tables."""
    # not in the template, where braces would be read as names of context entries
    return PydanticCustomError("conflict", "{reason}", {"key": key, "reason": reason})


def _name(where: tuple[int | str, ...]) -> str:
    """Return the full name of a key, without parts that pydantic adds."""
    # the tag of the union of data models, and the branches of "number, list or text"
    branches = {*_models(), "str", "float", "list[float]", "constrained-float"}
    parts = [
        part
        for part in where
        if not (isinstance(part, str) and (part in branches or part.startswith("list[")))
    ]
    name = ".".join(str(p) if isinstance(p, str) else f"[{p}]" for p in parts)
    return name.replace(".[", "[")


def _plain(message: str) -> str:
    message = re.sub(r" or (instance of \w+|object to extract fields from)", "", message)
    message = message.replace("Input should", "should").replace("a valid integer", "an integer")
    return message.replace("valid ", "").replace("dictionary", "table")


def _unknown_key(where: tuple[int | str, ...]) -> str:
    name = str(where[-1])
    if len(where) == 3 and where[0] == "data":
        known = known_keys(("data",))
        if name in known:
            return f'does not belong to model = "{where[1]}"'
    else:
        known = known_keys(where[:-1])
    homes = [f"[{table}]" for table in _TABLES if name in known_keys([table])]
    meant = did_you_mean(name, known)
    # a key of [[task]] that is misspelt may be one of another table, as teacher for teachers
    if homes and name not in known and not (where[0] == "task" and meant):
        return f"unknown key here; it stands in {' or '.join(homes)}"
    return f"unknown key{meant}"


def known_keys(where: Sequence[int | str]) -> list[str]:
    """Return the possible keys of a table, or the tables of a study."""
    if not where:
        return [*_TABLES, "sweep"]
    return [name for table in _TABLES.get(str(where[0]), []) for name in table.model_fields]


def record_of(key: str) -> Key | None:
    """Return the record of a study's key such as ``training.learning_rate``, of any input model."""
    table, _, name = key.partition(".")
    records = (each.RECORDS[name] for each in _TABLES.get(table, []) if name in each.RECORDS)
    return next(records, None)


def complements(table: str, key: str) -> tuple[str, ...]:
    """Return the keys that are 1 minus a key of the same table."""
    records = {name: each for one in _TABLES.get(table, []) for name, each in one.RECORDS.items()}
    own = (records[key].complement_of,) if key in records else ()
    return tuple(filter(None, own)) + tuple(n for n, r in records.items() if r.complement_of == key)


def _models() -> list[str]:
    """Return the names of the input models."""
    return [table.model_fields["model"].default for table in _TABLES.get("data", [])]
