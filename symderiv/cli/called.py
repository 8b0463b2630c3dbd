"""Options that follow from the signature of a public call, and their help from its docstring.

Both are read off the source: what is only asked for its help must not load what it computes with.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

from symderiv.cli.figures import read_times
from symderiv.cli.options import option

__all__ = ["calling"]

_SOURCES: Final = Path(__file__).parents[1]
_PLACEHOLDERS: Final = {
    "activation": "G",
    "alpha": "A1,A2,…",
    "batch": "B",
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
#: Named as they are written.
_AS_WRITTEN: Final = re.compile(r"[A-Z]\d")

Command = Callable[..., None]


def calling(
    module: str,
    name: str,
    *,
    but: tuple[str, ...] = (),
    read: Mapping[str, Callable[[str], Any]] | None = None,
) -> Callable[[Command], Command]:
    """Give a command, in the place of its ``**asked``, an option for each argument of a call.

    Args:
        module: where the call is, such as "api/results/plateau".
        name: of the function.
        but: arguments that are no options.
        read: from the texts of options to arguments, where the annotation does not say how.
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

        def read_options() -> None:
            options = [one for one in _arguments(module, name) if one.name not in but]
            times = [one.name for one in options if "Iterable[float]" in one.annotation]
            readers.update(dict.fromkeys(times, read_times))
            own = inspect.signature(command, eval_str=True).parameters.values()
            others = [each.replace(kind=each.KEYWORD_ONLY) for each in own]
            others = [each for each in others if each.name != "asked"]
            asked = [one.parameter() for one in options]
            wrapped.__signature__ = inspect.Signature([*asked, *others])  # type: ignore[attr-defined]

        wrapped.read_options = read_options  # type: ignore[attr-defined]
        return wrapped

    return decorated


class _CallArgument:
    """An argument of a call: what its source says of it."""

    def __init__(self, name: str, annotation: str, default: Any, words: str) -> None:
        self.name, self.annotation, self.default, self.words = name, annotation, default, words

    def parameter(self) -> inspect.Parameter:
        """The option that it is."""
        typed = self.name if _AS_WRITTEN.fullmatch(self.name) else self.name.replace("_", "-")
        metavar = _PLACEHOLDERS.get(self.name, "X" if _AS_WRITTEN.match(self.name) else None)
        missing = self.default is inspect.Parameter.empty
        shown = option(
            f"--{typed}", self.words, metavar, show_default=not missing and self.default is not None
        )
        kind = self._kind()
        if issubclass(kind, StrEnum):
            return self._made(kind, shown, self.default if missing else kind(self.default))
        return self._made(kind | None if self.default is None else kind, shown, self.default)

    def _made(self, kind: Any, shown: Any, default: Any) -> inspect.Parameter:
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[kind, shown],
        )

    def _kind(self) -> Any:
        """Of the types it may have, the one that a word on a command line can be."""
        if self.annotation.startswith("Literal["):
            words = ast.literal_eval(self.annotation.removeprefix("Literal"))
            return StrEnum(self.name, {word.replace("-", "_"): word for word in words})
        if "PathLike" in self.annotation:
            return Path
        plain: dict[str, type] = {"bool": bool, "int": int, "float": float}
        return plain.get(self.annotation.removesuffix(" | None"), str)


def _arguments(module: str, name: str) -> Iterator[_CallArgument]:
    tree = ast.parse((_SOURCES / f"{module}.py").read_text(encoding="utf-8"))
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name)
    words = _words(ast.get_docstring(function) or "")
    given = function.args
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        assert one.annotation is not None
        value = inspect.Parameter.empty if default is None else ast.literal_eval(default)
        yield _CallArgument(one.arg, ast.unparse(one.annotation), value, words[one.arg])


def _words(docstring: str) -> dict[str, str]:
    """What the section Args says of each argument, as plain sentences."""
    section = docstring.partition("Args:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^    (\S[^:]*): (.*(?:\n {5,}.*)*)", section, re.MULTILINE)
    found: dict[str, str] = {}
    for names, text in entries:
        plain = re.sub(r":\w+:`~?([^`]*)`|``", lambda match: match[1] or "", " ".join(text.split()))
        first = plain.split()[0]
        # letters of mathematics stay what they are
        word = first.isascii() and (len(first) > 1 or first == "a")
        shown = plain[0].upper() + plain[1:] if word else plain
        found |= dict.fromkeys(names.split(", "), shown)
    return found
