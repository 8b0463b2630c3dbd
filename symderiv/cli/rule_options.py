"""The options of commands that take a learning rule, made from the rule's keys."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from symderiv.keys.checked import Table
from symderiv.keys.study_tables import RULE_KEYS, TABLES

_RULE = "Learning rule"


def of_rule(asked: inspect.Parameter) -> inspect.Parameter:
    """Return an option moved into the help's group of options of the learning rule."""
    kind, shown = get_args(asked.annotation)
    shown.rich_help_panel = _RULE
    return asked.replace(annotation=Annotated[kind, shown])


def rule_keys() -> list[inspect.Parameter]:
    """Return an option for each key of a learning rule."""
    return [_parameter(TABLES[table], key) for table, keys in RULE_KEYS.items() for key in keys]


def _parameter(table: type[Table], name: str) -> inspect.Parameter:
    """Return the option of a key, with the one of its types that text can express."""
    asked = get_type_hints(table)[name]
    kinds = [kind for kind in (bool, int, float) if kind in (asked, *get_args(asked))]
    option = typer.Option(
        f"--{name.replace('_', '-')}",
        metavar="/".join(get_args(asked)) if get_origin(asked) is Literal else None,
        help=f"{table.RECORDS[name].words.replace('``', '')}.",
        show_default=False,
        rich_help_panel=_RULE,
    )
    kind: Any = Annotated[(kinds[0] if kinds else str) | None, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
