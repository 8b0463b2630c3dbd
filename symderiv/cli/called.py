"""Options that follow from the signature of a public call, with help from its docstring.

Both are read from the source, so that help does not load the modules that compute.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from symderiv.cli.output import option, read_times

if TYPE_CHECKING:
    from symderiv.keys.checked import Table

_SOURCES: Final = Path(__file__).parents[1]
_PLACEHOLDERS: Final = {
    "activation": "G",
    "teacher_activation": "G",
    "tolerance": "E",
    "study": "STUDY.toml",
    "equations": "NAMES",
    "labels": "PREFIX",
    "notation": "NAME",
    "alpha": "A1,A2,…",
    "batch": "B",
    "bounds": "LOW,HIGH",
    "control": "KEY",
    "objective": "WHAT",
    "pieces": "P",
    "digits": "N",
    "dimension": "N",
    "distinct_eigenvalues": "L",
    "exponent": "BETA",
    "gain": "G",
    "learning_rate": "H",
    "lengths": "LONG,SHORT",
    "runs": "R",
    "sites": "D",
    "steps": "S",
    "student_std": "S",
    "trainable": "NL",
    "working_digits": "W",
}
#: Arguments whose options keep their spelling.
_AS_WRITTEN: Final = re.compile(r"[A-Z]\d")
_SHORT: Final = {"output": "-o"}
#: Arguments for programs, which have no options.
_TOLD: Final = ("self", "problem", "progress", "notice", "checkpoint", "checkpoints")

Command = Callable[..., None]


def calling(
    call: str,
    *others: str,
    but: tuple[str, ...] = (),
    read: Mapping[str, Callable[[Any], Any]] | None = None,
    placeholders: Mapping[str, str] | None = None,
) -> Callable[[Command], Command]:
    """Give a command, in place of its ``**asked``, an option for each argument of a call.

    An argument that the command defines itself gets no option here. If the call takes the keys of a
    learning rule as ``**rule``, each of them is an option as well.

    Args:
        call: the module and the name of the call, such as "api/results/flows/plateau:plateau".
        others: calls to which its docstring refers, and which take its remaining keywords.
        but: arguments without options.
        read: functions from the texts of options to arguments, if the annotation does not suffice.
        placeholders: the placeholders of values that differ from the usual ones.
    """
    readers: dict[str, Callable[[Any], Any]] = dict(read or {})

    def decorated(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            for key, value in given.items():
                if isinstance(value, StrEnum):
                    given[key] = value.value
                elif key in readers and value is not None:
                    given[key] = readers[key](value)
            command(**given)

        @functools.cache
        def read_options() -> None:
            own = inspect.signature(command, eval_str=True).parameters
            left_out = {*_TOLD, *but, *own}
            calls = [_Call(each) for each in (call, *others)]
            options = [one for one in calls[0].arguments(calls[1:]) if one.name not in left_out]
            times = [one.name for one in options if "Iterable[float]" in one.annotation]
            readers.update(dict.fromkeys(times, read_times))
            asked = [
                one.parameter((placeholders or {}).get(one.name), one.name in (read or {}))
                for one in options
            ]
            if calls[0].takes_rule:
                asked = [of_rule(one) if one.name == "study" else one for one in asked]
                asked += rule_keys()
            own_options = [each for name, each in own.items() if name != "asked"]
            own_options = [each.replace(kind=each.KEYWORD_ONLY) for each in own_options]
            wrapped.__signature__ = inspect.Signature([*asked, *own_options])  # type: ignore[attr-defined]

        wrapped.read_options = read_options  # type: ignore[attr-defined]
        return wrapped

    return decorated


@dataclass(frozen=True)
class _CallArgument:
    """An argument of a call, read from the call's source."""

    name: str
    annotation: str
    default: Any
    words: str

    def parameter(self, placeholder: str | None, is_read: bool) -> inspect.Parameter:
        """Return the option for this argument; it is a text if a function reads it."""
        typed = self.name if _AS_WRITTEN.fullmatch(self.name) else self.name.replace("_", "-")
        usual = _PLACEHOLDERS.get(self.name, "X" if _AS_WRITTEN.match(self.name) else None)
        missing = self.default is inspect.Parameter.empty
        shown = option(
            f"--{typed}",
            self.words,
            placeholder or usual,
            short=_SHORT.get(self.name, ""),
            show_default=not missing and self.default not in (None, ()),
        )
        kind, default = self._kind(is_read), self.default
        if issubclass(kind, StrEnum):
            default = default if missing else kind(default)
        elif not missing and default in (None, ()):
            kind, default = kind | None, None
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[kind, shown],
        )

    def _kind(self, is_read: bool) -> Any:
        """Return the type of the option: the one of the argument's types that text can express."""
        if re.search(r"Mapping\[|(Sequence|Collection)\[str\]", self.annotation):
            return str if is_read and "Mapping" not in self.annotation else list[str]
        if self.annotation.startswith("Literal["):
            words = ast.literal_eval(self.annotation.removeprefix("Literal"))
            return StrEnum(self.name, {word.replace("-", "_"): word for word in words})
        if re.search(r"PathLike|\bPath\b", self.annotation):
            return Path
        plain: dict[str, type] = {"bool": bool, "int": int, "float": float}
        return plain.get(self.annotation.removesuffix(" | None"), str)


class _Call:
    """A call, read from its source: ``module:function``, ``module:Class.method`` or a record."""

    def __init__(self, place: str) -> None:
        module, _, name = place.partition(":")
        within: Any = ast.parse((_SOURCES / f"{module}.py").read_text(encoding="utf-8"))
        self._constants = {
            each.target.id: each.value
            for each in within.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        }
        for part in name.split("."):
            within = next(n for n in within.body if getattr(n, "name", "") == part)
        self._given = _arguments_of(within)
        self.is_record = isinstance(within, ast.ClassDef)
        self._keywords = getattr(self._given.kwarg, "arg", "")
        self._words = _words(ast.get_docstring(within) or "")

    @property
    def takes_rule(self) -> bool:
        """True if its further keywords are keys of a learning rule."""
        return self._keywords == "rule"

    def arguments(self, others: Sequence[_Call] = ()) -> Iterator[_CallArgument]:
        """Yield its arguments, and those that it passes on to other calls.

        If its docstring refers to another call's, the descriptions are taken from there.
        """
        named = self._given.args
        missing = len(named) - len(self._given.defaults)
        defaults = [*(None for _ in range(missing)), *self._given.defaults]
        whole = [*zip(named, defaults, strict=True)]
        whole += zip(self._given.kwonlyargs, self._given.kw_defaults, strict=True)
        words = [each._words for each in (self, *others)]
        for one, default in whole:
            if one.annotation is None:
                continue
            value = inspect.Parameter.empty if default is None else self._value(default)
            said = (each[one.arg] for each in words if one.arg in each)
            meant = next((each for each in said if not each.startswith("See ")), "")
            yield _CallArgument(one.arg, ast.unparse(one.annotation), value, meant)
        if self._keywords and not self.takes_rule:
            own = {one.arg for one, _ in whole}
            for call, each in ((one, other) for one in others for other in one.arguments()):
                if each.name in own:
                    continue
                # defaults are left to the call, except those of records
                left = each.default if call.is_record or each.default is False else None
                yield replace(each, default=left)

    def _value(self, default: ast.expr) -> Any:
        """Return a default, which may be a constant of the module."""
        named = default.id if isinstance(default, ast.Name) else ""
        return ast.literal_eval(self._constants.get(named) or default)


def _arguments_of(stated: ast.FunctionDef | ast.ClassDef) -> ast.arguments:
    """Return the arguments of a function, or the fields of a record as its arguments."""
    if isinstance(stated, ast.FunctionDef):
        return stated.args
    fields = [each for each in stated.body if isinstance(each, ast.AnnAssign)]
    names = [ast.arg(each.target.id, each.annotation) for each in fields]  # type: ignore[union-attr]
    return ast.arguments([], [], None, names, [each.value for each in fields], None, [])


def _words(docstring: str) -> dict[str, str]:
    """Return the descriptions in the section Args by argument, as plain sentences."""
    section = docstring.partition("Args:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^    (\S[^:]*): (.*(?:\n {5,}.*)*)", section, re.MULTILINE)
    help_of: dict[str, str] = {}
    for names, text in entries:
        plain = re.sub(r":\w+:`~?([^`]*)`|``", lambda match: match[1] or "", " ".join(text.split()))
        first = plain.split()[0].rstrip(",;")
        # mathematical letters are not capitalised
        word = first.isascii() and (len(first) > 1 or first == "a")
        shown = plain[0].upper() + plain[1:] if word else plain
        help_of |= dict.fromkeys(names.split(", "), shown)
    return help_of


_RULE = "Learning rule"


def of_rule(asked: inspect.Parameter) -> inspect.Parameter:
    """Return an option moved into the help's group of options of the learning rule."""
    kind, shown = get_args(asked.annotation)
    shown.rich_help_panel = _RULE
    return asked.replace(annotation=Annotated[kind, shown])


def rule_keys() -> list[inspect.Parameter]:
    """Return an option for each key of a learning rule."""
    from symderiv.keys.study_tables import RULE_KEYS, TABLES

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
