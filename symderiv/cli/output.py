"""What the commands share: JSON on standard output, files, progress on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from symderiv.outputs import Output

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")
]

Force = Annotated[
    bool,
    typer.Option("--force", help="Replace existing files even if symderiv did not write them."),
]

StudyFile = Annotated[
    Path, typer.Argument(metavar="STUDY.toml", help="The study, as the README describes it.")
]


def emit_json(value: dict[str, Any], output: Output | None = None) -> None:
    """Print ``value`` as one JSON object on one line, or write it to a file.

    Infinities and NaN have no JSON form and become null.
    """
    write_text(json.dumps(_finite(value), ensure_ascii=False, allow_nan=False) + "\n", output)


def text_output(
    path: Path | None, format: str, *, inputs: Iterable[Path] = (), force: bool = False
) -> Output | None:
    """The output of a text; None for the terminal."""
    if path is None or str(path) == "-":
        return None
    return Output(path, format, inputs=inputs, force=force)


def tell_written(*outputs: Output | None) -> None:
    """One line per file that was written."""
    for output in outputs:
        if output is not None:
            print(f"wrote {output.path}")


def written(**outputs: Output | None) -> dict[str, str]:
    """The same for JSON: option and path of every file that was written."""
    return {name: str(output.path) for name, output in outputs.items() if output is not None}


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write_text(text: str, output: Output | None) -> None:
    """Write to the file, whole or not at all, or to standard output without one."""
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text)


def _quiet(quiet: bool) -> bool:
    return quiet or not sys.stderr.isatty()


@contextmanager
def status(message: str, *, quiet: bool) -> Iterator[None]:
    """A spinner on standard error; nothing if ``quiet`` or if nobody watches."""
    if _quiet(quiet):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """A function (task, fraction done) that draws bars on standard error, or does nothing."""
    if _quiet(quiet):
        yield lambda task, fraction: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    tasks: dict[str, TaskID] = {}

    def update(task: str, fraction: float) -> None:
        if task not in tasks:
            tasks[task] = bars.add_task(task, total=1.0)
        bars.update(tasks[task], completed=fraction)

    with bars:
        yield update


def notice(*, quiet: bool) -> Callable[[str], None] | None:
    """A function that tells on standard error what takes long, or None."""
    if quiet:
        return None
    return lambda message: print(message, file=sys.stderr)
