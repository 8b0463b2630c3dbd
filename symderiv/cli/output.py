"""Options and output that commands share: JSON, files, figures, progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.foundation.outputs import Output
from symderiv.foundation.progress import progress_bar
from symderiv.foundation.showing import json_text


def option(
    name: str, help: str, metavar: str | None = None, *, short: str = "", **more: Any
) -> typer.models.OptionInfo:
    """Return an option of a command.

    Args:
        name: the name as it is typed, with its hyphens.
        help: its help text.
        metavar: the placeholder of its value; its type when left out.
        short: a second name.
        more: further arguments of ``typer.Option``.
    """
    names = (name, short) if short else (name,)
    info: typer.models.OptionInfo = typer.Option(*names, metavar=metavar, help=help, **more)
    return info


Json = Annotated[
    bool, option("--json", "Print one JSON object and nothing else on standard output.")
]

Force = Annotated[
    bool, option("--force", "Replace existing files even if symderiv did not write them.")
]

StudyFile = Annotated[
    Path, typer.Argument(metavar="STUDY.toml", help="Study file (manual: reference/study-file).")
]


def emit_json(value: dict[str, Any], output: Output | None = None) -> None:
    """Print ``value`` as one JSON object on one line, or write it to a file.

    Infinities and NaN have no JSON form and become null.
    """
    write_text(json_text(value) + "\n", output)


def shown(
    result: Any,
    as_json: bool,
    *,
    plot: Output | None = None,
    failing: bool = True,
    **others: Output | None,
) -> None:
    """Print a result, draw it if asked, and fail if the result failed.

    Args:
        result: The result of a public call.
        as_json: Print its ``to_dict()`` on one line.
        plot: The file of the figure.
        failing: Raise an error if ``failure()`` of the result gives one.
        others: Further files that were written, by name of option.

    Raises:
        ToleranceError: Something did not reach its tolerance, or does not agree.
    """
    if plot is not None:
        from symderiv.show.plots.plots import save_drawn

        save_drawn(lambda axes: result.plot(ax=axes), plot)
    if as_json:
        emit_json(result.to_dict() | written(plot=plot, **others))
    elif hasattr(result, "print"):
        from symderiv.foundation.terminal import terminal

        result.print(terminal())
    else:
        sys.stdout.write(result.to_text())
    if not as_json:
        tell_written(plot, *others.values())
    failure = result.failure() if failing and hasattr(result, "failure") else None
    if failure is not None:
        raise ToleranceError(failure)


def text_output(
    path: Path | None, format: str, *, inputs: Iterable[Path] = (), force: bool = False
) -> Output | None:
    """Return the output of a text; None for the terminal."""
    if path is None or str(path) == "-":
        return None
    return Output(path, format, inputs=inputs, force=force)


def tell_written(*outputs: Output | None) -> None:
    """Print one line for each file that was written."""
    for output in outputs:
        if output is not None:
            print(f"wrote {output.path}")


def written(**outputs: Output | None) -> dict[str, str]:
    """Return the paths of the files that were written by name of option, for JSON."""
    return {name: str(output.path) for name, output in outputs.items() if output is not None}


def write_text(text: str, output: Output | None) -> None:
    """Write to the file, completely or not at all; without a file, write to standard output."""
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text)


def status(message: str, *, quiet: bool) -> AbstractContextManager[Any]:
    """Show a bar on standard error, lines if that is not a terminal, nothing if ``quiet``."""
    return progress_bar(bars(quiet), message[:1].lower() + message[1:])


def bars(quiet: bool) -> Literal[False, "lines"]:
    """Return the argument ``progress`` of calls: nothing with --json, otherwise a bar or lines."""
    return False if quiet else "lines"


def notice(*, quiet: bool) -> Callable[[str], None] | None:
    """Return a function that prints on standard error what takes long, or None if ``quiet``."""
    if quiet:
        return None
    return lambda message: print(f"symderiv: {message}", file=sys.stderr)


PlotOption = Annotated[
    Path | None, option("--plot", "Also draw a figure (.svg, .png or .pdf).", "FIG")
]


def plot_output(
    plot: Path | None, *, inputs: Iterable[Path] = (), force: bool = False
) -> Output | None:
    """Return the output of ``--plot``; refuse an invalid one before anything is computed.

    Raises:
        InputError: nothing may be written there, or its ending is not that of a figure.
    """
    from symderiv.show.plots.figure_files import figure_output

    if plot is None:
        return None
    return figure_output(plot, inputs=inputs, force=force, name="--plot")


def read_times(text: str) -> list[float]:
    """Return the numbers in the text of ``--alpha``.

    Raises:
        InputError: the text is not numbers separated by commas.
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{text!r}: must be numbers separated by commas", argument="alpha") from (
            None
        )
