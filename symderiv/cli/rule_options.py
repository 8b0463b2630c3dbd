"""The options of commands that take a learning rule, made from the records of its keys."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from symderiv.dynamics.studies.checked import Table
from symderiv.dynamics.studies.study_tables import TABLES

_RULE = "Learning rule"
RuleOf = Annotated[
    Path | None,
    typer.Option(
        "--study",
        metavar="STUDY.toml",
        help="Take activations and rule of it.",
        show_default=False,
        rich_help_panel=_RULE,
    ),
]


def with_rule(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, in the place of its ``**rule``, the options of keys of learning rules.

    They are the keys of a study whose records name a placeholder for the option.
    """
    signature = inspect.signature(command, eval_str=True)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    rule = [_parameter(name, table) for table in TABLES.values() for name in table.RECORDS]
    asked = [each for each in rule if each is not None]
    command.__signature__ = signature.replace(parameters=[*own, *asked])  # type: ignore[attr-defined]
    return command


def _parameter(name: str, table: type[Table]) -> inspect.Parameter | None:
    """The option of a key; None where it has none."""
    record, types = table.RECORDS[name], get_type_hints(table)[name]
    if not record.option:
        return None
    kinds = {kind for kind in (types, *get_args(types)) if kind in (bool, int, float)}
    option = typer.Option(
        f"--{name.replace('_', '-')}",
        metavar=None if kinds == {bool} else record.option,
        help=f"{record.meaning.replace('``', '')}.",
        show_default=False,
        rich_help_panel=_RULE,
    )
    kind: Any = Annotated[(kinds.pop() if kinds else str) | None, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
