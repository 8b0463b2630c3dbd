"""A case of the gate, how it is run, and what counts as a silent error.

A silent error is an answer with exit code 0 that is wrong: a number off by more than the error it
states, a number that is none (NaN, infinity), an answer where there is none, a warning of a
library. An error that is reported though an answer exists is a failure of the gate too, but not a
silent one.
"""

import contextlib
import io
import json
import math
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

Evidence = Callable[[], Any] | float | str


@dataclass(frozen=True)
class Raises:
    """A refusal: exit code and words of the one line on standard error."""

    code: int
    words: tuple[str, ...]


@dataclass(frozen=True)
class Refutes:
    """The verdict "fails" on standard output, with exit code 1 and nothing on standard error."""


@dataclass(frozen=True)
class Returns:
    """An answer.

    Attributes:
        value: A number, an array or a text, or a function that computes it, never by the engine.
        at: Where it stands in the JSON object, as a path, or a function of the object and folder.
        relative: Accuracy of ``value``; the error that the answer states is added.
    """

    value: Evidence
    at: str | Callable[[Any, Path], Any] = "value"
    relative: float = 1e-12


@dataclass(frozen=True)
class RefusesOr:
    """Either a refusal in one line or this answer."""

    answer: Returns


@dataclass(frozen=True)
class Case:
    """One call of a command.

    Attributes:
        words: The command and its arguments; ``--json`` is added for answers.
        outcome: What must come out.
        evidence: What the expected outcome rests on: never the engine itself.
        files: Written into the folder in which the command runs.
        known: Why this is not so today; the case is then a strict expected failure.
    """

    words: tuple[str, ...]
    outcome: Raises | Refutes | Returns | RefusesOr
    evidence: str
    files: Mapping[str, Any] = field(default_factory=dict)
    known: str = ""

    @property
    def name(self) -> str:
        shown = " ".join(self.words)
        if self.files:
            shown += f" ({self.evidence})"
        return shown if len(shown) <= 120 else f"{shown[:117]}..."


@dataclass(frozen=True)
class Pair:
    """A refusal with the nearest case that must work."""

    refused: Case
    nearest: Case


_ANSWERS: dict[tuple[str, ...], tuple[int | None, str, str, list[str]]] = {}


@dataclass(frozen=True)
class Outcome:
    """What came out: a silent error, another failure, or neither."""

    silent: str = ""
    failure: str = ""


def run(case: Case) -> Outcome:
    """Run a case in this process, in a folder of its own."""
    answered = not isinstance(case.outcome, Raises)
    words = (*case.words, "--json") if answered and "--json" not in case.words else case.words
    with tempfile.TemporaryDirectory() as folder:
        for name, content in case.files.items():
            path = Path(folder, name)
            if isinstance(content, str):
                path.write_text(content, encoding="utf-8")
            else:
                np.savez(path, **content)
        # several numbers of one answer are several cases
        alone = not case.files and not callable(getattr(case.outcome, "at", None))
        if alone and words in _ANSWERS:
            code, out, err, leaked = _ANSWERS[words]
        else:
            code, out, err, leaked = _called(words, folder)
        if alone:
            _ANSWERS[words] = code, out, err, leaked
        return _judged(case, code, out, err, leaked, Path(folder))


@cache
def _app() -> Any:
    """The commands, put together once."""
    from symderiv import cli

    return cli.build_app()


def _called(words: tuple[str, ...], folder: str) -> tuple[int | None, str, str, list[str]]:
    from symderiv import cli

    out, err = io.StringIO(), io.StringIO()
    before, app = os.getcwd(), _app()
    code: int | None = 0
    os.chdir(folder)
    try:
        with (
            warnings.catch_warnings(record=True) as leaked,
            mock.patch.object(sys, "argv", ["symderiv", *words]),
            mock.patch.object(cli, "build_app", return_value=app),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            warnings.simplefilter("always")
            try:
                cli.main()
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 0
            except BaseException as error:
                code = None
                err.write(f"{type(error).__name__}: {error}")
    finally:
        os.chdir(before)
    return code, out.getvalue(), err.getvalue(), [str(each.message) for each in leaked]


def _judged(
    case: Case, code: int | None, out: str, err: str, leaked: list[str], folder: Path
) -> Outcome:
    if leaked:
        return Outcome(silent=f"a warning leaks: {leaked[0]}")
    if code is None:
        return Outcome(failure=f"a traceback: {err}")
    outcome = case.outcome
    if isinstance(outcome, Raises):
        if code == 0:
            return Outcome(silent=f"accepted; printed {out[:300]!r}")
        return Outcome(failure=_not_refused_well(outcome, code, err))
    if isinstance(outcome, Refutes):
        if code == 0:
            return Outcome(silent=f"not refuted: {out[:300]}")
        answer = json.loads(out) if out else {}
        verdicts = [answer.get("verdict"), *(each["verdict"] for each in answer.get("claims", []))]
        refuted = code == 1 and set(verdicts) & {"fails", "false", "unsettled"}
        return Outcome(failure="" if refuted else f"exit code {code}: {out[:200]} {err[-200:]}")
    if code != 0:
        if isinstance(outcome, RefusesOr):
            return Outcome(failure=_not_refused_well(Raises(code, ()), code, err))
        return Outcome(failure=f"exit code {code}: {err.strip()[-300:]}")
    expected = outcome if isinstance(outcome, Returns) else outcome.answer
    answer = json.loads(out, parse_constant=lambda text: _NotANumber(text))
    if _has_none(answer):
        return Outcome(silent=f"NaN or infinity in the answer: {out[:300]}")
    found = expected.at(answer, folder) if callable(expected.at) else _at(answer, expected.at)
    value = expected.value() if callable(expected.value) else expected.value
    return Outcome(silent=_difference(found, value, expected.relative, _stated(answer)))


class _NotANumber:
    def __init__(self, text: str) -> None:
        self.text = text


def _has_none(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_has_none(each) for each in value.values())
    if isinstance(value, list):
        return any(_has_none(each) for each in value)
    return isinstance(value, _NotANumber)


def _not_refused_well(outcome: Raises, code: int, err: str) -> str:
    lines = [line for line in err.strip().splitlines() if line]
    if code != outcome.code:
        return f"exit code {code} instead of {outcome.code}: {err.strip()[-300:]}"
    # what is going on may be said before
    lines = [line for line in lines if not line.startswith("symderiv: deriving the solver")]
    if len(lines) != 1 or not lines[0].startswith("symderiv: error: "):
        return f"not one line of error: {err.strip()[-500:]}"
    missing = [word for word in outcome.words if word not in lines[0]]
    return f"{missing} not said: {lines[0]}" if missing else ""


def _at(answer: Any, path: str) -> Any:
    for part in path.split("."):
        answer = answer[int(part)] if isinstance(answer, list) else answer[part]
    return answer


def _stated(answer: Any) -> float:
    stated = answer.get("error_bound") if isinstance(answer, Mapping) else None
    return 0.0 if stated is None else float(stated)


def _difference(found: Any, value: Any, relative: float, stated: float) -> str:
    if isinstance(value, str | bool) or value is None:
        return "" if found == value else f"{found!r} instead of {value!r}"
    if found is None:
        return f"no value instead of {value!r}"
    a, b = np.asarray(found, dtype=float), np.asarray(value, dtype=float)
    if a.shape != b.shape:
        return f"shape {a.shape} instead of {b.shape}"
    allowed = relative * np.maximum(np.abs(b), 1e-300) + stated
    off = np.abs(a - b)
    # zeros that are only zeros up to rounding
    if np.all((off <= allowed) | ((b == 0) & (off <= relative))):
        return ""
    worst = float(np.max(off)) if a.size else math.nan
    return f"{found!r} instead of {value!r}, off by {worst:.1e}"
