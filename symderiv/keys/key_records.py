"""The record of a key of a study: its meaning and its relations, declared once with the key.

A key is declared as a field of a checked table, ``name: Annotated[type, Key(…)] = default``. From
its type, range, default and :class:`Key` come the checks that relate it to other keys, arguments of
:class:`symderiv.Problem` and what docstrings say of them, options of commands, the schema, pages of
the manual, and the references that a study cites.
"""

from __future__ import annotations

import inspect
import re
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from symderiv.foundation.named_arguments import show_arguments
from symderiv.keys.toml_text import value_to_toml

Said = TypeVar("Said", bound=Callable[..., Any])

_WIDTH = 100


@dataclass(frozen=True, eq=False)
class Key:
    """The record of a key: everything but its type, range and default.

    Other keys are named with their tables, ``training.keep``; those of ``instead_of`` and ``needs``
    are of the same table.

    Args:
        meaning: words that follow the name, a colon and the letter.
        letter: the letter of the field.
        acts: where a key of a learning rule acts, at whose default the rule is plain descent: on
            the "equations", on their "rates" only, on rates in "time", on what a step is
            ("steps"), or as nothing but lines of the rule's "statement", where it is a number of
            the same name.
        instead_of: keys that it replaces: they are not given together with it, and not written out.
        needs: a key that must be given with it.
        left_out: the key of the same table whose value is its default.
        complement_of: a key of the same table that is 1 minus this one, which is kept as that key.
        only_with: the key without which it has no meaning.
        apart: keys that cannot be combined with it.
        quick: whether its values are unrelated to other keys in all checks and cached properties of
            a study.
        sources: entries of the bibliography, each with what of a run rests on it.
        sources_of: such entries for single values of the key.
    """

    meaning: str
    letter: str = ""
    acts: Literal["", "equations", "rates", "time", "steps", "statement"] = ""
    instead_of: tuple[str, ...] = ()
    needs: str = ""
    left_out: str = ""
    complement_of: str = ""
    only_with: str = ""
    apart: tuple[str, ...] = ()
    quick: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)
    sources_of: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(schema), "description": self.words.replace("``", "`")}

    @property
    def words(self) -> str:
        """Letter and meaning in words."""
        return f"{self.letter}; {self.meaning}" if self.letter else self.meaning


def key_of_field(field: FieldInfo) -> Key:
    """Return the record of a field."""
    return next(each for each in field.metadata if isinstance(each, Key))


def default_text(field: FieldInfo, write: Callable[[Any], str] = value_to_toml) -> str:
    """Return the default as study files write it; empty if there is none."""
    return "" if field.is_required() or field.default is None else write(field.default)


_WORDS = {int: "integer", float: "number", str: "text", bool: "true or false"}


def accepted(annotation: Any, metadata: Any = (), *, several: bool = False) -> str:
    """Return the accepted values of a key in words: a type with its range."""
    if annotation in _WORDS:
        word = _WORDS[annotation] + ("s" if several else "")
        return word + _range(metadata)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return accepted(inner[0], inner[1:], several=several)
    if origin is Literal:
        return ", ".join(f'"{value}"' for value in inner)
    if origin in (Union, types.UnionType):
        each = (accepted(a, metadata, several=several) for a in inner if a is not type(None))
        *first, last = dict.fromkeys(each)
        return " or ".join([*([", ".join(first)] if first else []), last])
    if origin is list:
        return f"{'lists' if several else 'list'} of {accepted(inner[0], several=True)}"
    if annotation is Any:
        return "number or list"
    if origin is dict or _is_table(annotation):
        return "table"
    return "arrays" if getattr(annotation, "__name__", "") == "Given" else "text"


def _is_table(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _range(metadata: Any) -> str:
    bounds = []
    for each in (m for item in metadata for m in (item, *getattr(item, "metadata", ()))):
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<")):
            limit = getattr(each, name, None)
            if limit is not None:
                shown = f"{limit:g}".replace("e+0", "e") if abs(limit) < 1e12 else "2¹²⁸"
                bounds.append(f"{sign} {shown}")
    return f" {', '.join(dict.fromkeys(bounds))}" if bounds else ""


def said(field: FieldInfo) -> str:
    """Return meaning, type, range and default of a key in one sentence without its name."""
    default = default_text(field, repr).replace("'", '"')
    facts = accepted(field.annotation, field.metadata)
    facts += f"; {default} when left out" if default else ""
    return f"{key_of_field(field).words} ({facts})."


def argument_of_key(
    tables: Mapping[str, type[BaseModel]], key: str, names: Mapping[str, str] | None = None
) -> inspect.Parameter:
    """Return a key, named with its table, as an argument: its name, type and default."""
    table, _, name = key.partition(".")
    return argument_of_field(tables[table], name, (names or {}).get(name, name))


@cache
def _types(table: type[BaseModel]) -> Mapping[str, Any]:
    return get_type_hints(table)


def argument_of_field(table: type[BaseModel], name: str, called: str = "") -> inspect.Parameter:
    """Return a field as a keyword argument; annotations that only check values are dropped."""
    field, kind = table.model_fields[name], _types(table)[name]
    default = inspect.Parameter.empty if field.is_required() else field.default
    by_name = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(called or name, by_name, default=default, annotation=kind)


def saying(
    tables: Mapping[str, type[BaseModel]], *, taking: Sequence[str] = (), **names: str
) -> Callable[[Said], Said]:
    """Write out the lines ``[table]`` in the section Args of a docstring: one entry for each key.

    Keys that the docstring describes itself are left out and, for functions, keys that are not
    arguments.

    Args:
        tables: the tables by their names in the docstring.
        taking: keys, each with its table, that a function takes as ``**keys`` or beside other
            names: they stand in the signature that it shows, where None is "not given".
        names: names of arguments that differ from their keys.
    """

    def decorated(documented: Said) -> Said:
        if taking:
            shown = [argument_of_key(tables, key, names) for key in taking]
            show_arguments(
                documented,
                [one.replace(annotation=one.annotation | None, default=None) for one in shown],
            )
        text = documented.__doc__ or ""
        own = {
            name
            for match in re.finditer(r"^ +([\w, ]+): ", text, re.MULTILINE)
            for name in match[1].split(", ")
        }
        asked = None if isinstance(documented, type) else inspect.signature(documented).parameters

        def entries(table: type[BaseModel], indent: str) -> Iterator[str]:
            for key, each in table.model_fields.items():
                name = names.get(key, key)
                if name in own or name == "model" or (asked is not None and name not in asked):
                    continue
                yield textwrap.fill(
                    f"{name}: {said(each)}",
                    _WIDTH,
                    initial_indent=indent,
                    subsequent_indent=f"{indent}    ",
                    break_long_words=False,
                    break_on_hyphens=False,
                )

        documented.__doc__ = re.sub(
            r"^( +)\[(\w+)\]$",
            lambda match: "\n".join(entries(tables[match[2]], match[1])),
            text,
            flags=re.MULTILINE,
        )
        return documented

    return decorated
