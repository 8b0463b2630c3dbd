"""A stub with the arguments that calls take as ``**keys``, for editors and type checkers.

Python's ``help`` shows signatures that are made from the records of keys. Editors do not run code
and read the stub ``arguments/taken_keys.pyi`` instead.
"""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from symderiv.api.problem import Problem
from symderiv.api.results.runs.localise import localise
from symderiv.foundation.errors import InputError
from symderiv.foundation.files import replace_file
from symderiv.keys.checked import known_keys, record_of
from symderiv.problem.key_names import STATED, study_key

STUB: Final = Path(__file__).parent / "arguments" / "taken_keys.pyi"
_CALLS: Final[dict[str, tuple[Callable[..., Any], Callable[..., Any]]]] = {
    "ProblemKeys": (Problem, Problem.__init__),
    "SolveKeys": (Problem.solve, Problem.solve),
    "FluctuationKeys": (Problem.fluctuations, Problem.fluctuations),
    "SimulateKeys": (Problem.simulate, Problem.simulate),
    "LocaliseKeys": (localise, localise),
}
"""The names of the tables, each with the call that shows the arguments and the one that takes
them."""
_GRIDS: Final[dict[str, Callable[..., Any]]] = {
    "EnsembleKeys(GridKeys": Problem.ensemble,
    "SweepKeys(TimedGridKeys": Problem.sweep,
    "MapKeys(TimedGridKeys": Problem.map,
}
"""Calls that also take lists of values for keys, by their tables with the tables these extend."""
_HEAD: Final = '''"""Arguments that calls take by the records of keys.

Written by ``symderiv generate --checked-in``; do not edit.
"""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from numpy.typing import NDArray

from symderiv.foundation.outputs import Output
from symderiv.foundation.progress import Progress
from symderiv.integrate.events.asked import Event
from symderiv.storage.checkpoint import Checkpoint

Numbers = Sequence[float] | NDArray[Any]
Values = Sequence[Any] | NDArray[Any]
'''


def stub_text() -> str:
    """Return the text of the stub: a dictionary of types for every call."""
    classes = {f"{name}(TypedDict": _entries(*calls) for name, calls in _CALLS.items()}
    classes["GridKeys(TypedDict"] = _lists(*STATED, "data")
    classes["TimedGridKeys(GridKeys"] = _lists("time")
    classes |= {name: _entries(call, call) for name, call in _GRIDS.items()}
    texts = ("\n".join((f"class {c}, total=False):", *lines)) for c, lines in classes.items())
    return "\n".join((_HEAD, "\n\n".join(texts), ""))


def write_stub(check: bool = False) -> bool:
    """Bring the stub up to date, or with ``check`` compare it only; return whether it differed."""
    text = stub_text()
    same = STUB.is_file() and STUB.read_text(encoding="utf-8") == text
    if not (same or check):
        replace_file(STUB, text.encode())
    return not same


def _entries(shown: Callable[..., Any], taking: Callable[..., Any]) -> Iterator[str]:
    """Yield stub lines for the arguments that a call shows but does not name itself."""
    code, words = inspect.unwrap(taking).__code__, _words(shown)
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for name, each in inspect.signature(shown).parameters.items():
        if name not in own and each.kind is not each.VAR_KEYWORD:
            yield f"    {name}: {_type(each.annotation)}"
            yield _documented(words[name])


def _lists(*tables: str) -> Iterator[str]:
    """Yield stub lines for the keys of tables for which a call takes lists by name."""
    keys = (f"{table}.{name}" for table in tables for name in known_keys([table]))
    for key in dict.fromkeys(keys):
        name, record = key.rpartition(".")[2], record_of(key)
        with suppress(InputError):  # for names in two tables
            if record is not None and study_key(name) == key:
                yield f"    {name}: Values"
                yield _documented(f"{record.words}.")
    if "data" in tables:
        yield '    inputs: Values\n    """models of the inputs."""'
        yield '    tasks: Values\n    """lists of tasks, as arguments of a problem."""'


def _documented(text: str) -> str:
    return textwrap.fill(
        f'"""{text}"""',
        100,
        initial_indent="    ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _words(call: Callable[..., Any]) -> dict[str, str]:
    """Return the descriptions of a call's arguments by name, from its docstring."""
    section = (inspect.getdoc(call) or "").partition("Args:\n")[2].partition("\n\n")[0]
    entries = re.split(r"^    (?=\w[\w, ]*: )", section, flags=re.MULTILINE)
    pairs = (entry.partition(": ") for entry in entries)
    return {name: " ".join(text.split()) for names, _, text in pairs for name in names.split(", ")}


def _type(kind: Any) -> str:
    """Return a type as text for the stub; lists of numbers become types of any array."""
    if isinstance(kind, str):
        return kind.replace("'", '"')
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " | ".join(map(_type, inner))
    if origin is Literal:
        return f"Literal[{', '.join(map(json.dumps, inner))}]"
    if kind == list[float]:
        return "Numbers"
    if origin:
        return f"{origin.__name__}[{', '.join(map(_type, inner))}]"
    return "None" if kind is type(None) else str(kind.__name__)
