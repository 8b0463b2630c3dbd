"""The options of commands that take a learning rule, made from the records of its keys."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from symderiv.problem.checked import Table
from symderiv.problem.study_tables import RULE_KEYS, TABLES

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
    """Give a command, in the place of its ``**rule``, an option for each key of learning rules."""
    signature = inspect.signature(command, eval_str=True)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    rule = [_parameter(TABLES[table], key) for table, keys in RULE_KEYS.items() for key in keys]
    command.__signature__ = signature.replace(parameters=[*own, *rule])  # type: ignore[attr-defined]
    return command


def _parameter(table: type[Table], name: str) -> inspect.Parameter:
    """The option of a key: of its several types the one that a word on a command line can be."""
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
