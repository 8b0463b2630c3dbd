"""A page's examples run in an empty folder, and what they did not do as the page says."""

import ast
import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import traceback
from collections.abc import Iterator
from pathlib import Path

from manual_pages.pages import TOP, Block, Page

MOST_SECONDS = 5.0
"""CPU time of one block, more is told."""

MOST_WAIT = 300.0
"""Seconds for a command, and for a page."""


def run_page(page: Page, folder: Path) -> Iterator[tuple[Block, float, list[str]]]:
    """Each block with its CPU seconds and what is wrong with it; ``folder`` is the current one."""
    if any("examples/" in block.text for block in page.blocks):
        _copy_examples(folder)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in page.blocks:
        started = sum(os.times()[:4])
        faults = _run(block, names, folder)
        yield block, sum(os.times()[:4]) - started, faults


def _copy_examples(folder: Path) -> None:
    """Small files only: what the commands read. Nothing is written where the project lies."""
    for source in (TOP / "examples").rglob("*"):
        if source.suffix in (".toml", ".npz", ".py") and source.stat().st_size < 10**6:
            target = folder / source.relative_to(TOP)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def _run(block: Block, names: dict[str, object], folder: Path) -> list[str]:
    try:
        match block.language:
            case "python":
                return _run_python(block.text, names)
            case "{code-cell}":
                return _run_python(_OPTION.sub("", block.text), names)
            case "pycon":
                return _run_doctest(block.text, names)
            case "console":
                told = sessions(block.text)
                return [fault for each in told for fault in _run_command(*each, folder)]
            case "toml":
                tomllib.loads(block.text)
                if found := re.match(r"# ([\w-]+\.toml)\b", block.text):
                    (folder / found[1]).write_text(block.text, encoding="utf-8")
    except (Exception, SystemExit):
        return [traceback.format_exc(limit=-3).strip()]
    return []


# the formatter puts the end of a long call on a line of its own
_SAID = re.compile(r"^ *(?:print\(.*)?\)  # (.*)$", re.M)
# of a cell, as ``:tags: [hide-input]``
_OPTION = re.compile(r"^:[\w-]+:.*$", re.M)
# of Python's warnings on standard error the category, of loggers the level; what a run says of
# itself is no fault of the page
_COMPLAINT = re.compile(r"\b(?:(?!RunWarning)\w+Warning|WARNING|ERROR|error): ")


def _run_python(text: str, names: dict[str, object]) -> list[str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        exec(compile(ast.parse(text), "example", "exec"), names)
    _close_figures()
    said = [found[1] for found in _SAID.finditer(text)]
    complaints = [line for line in err.getvalue().splitlines() if _COMPLAINT.search(line)]
    return [*_not_printed(said, out.getvalue().splitlines()), *complaints]


def _not_printed(said: list[str], printed: list[str]) -> list[str]:
    """What is said must come in that order; other lines may stand between."""
    missing, start = [], 0
    for line in said:
        places = (i for i in range(start, len(printed)) if _as_said(printed[i], line))
        found = next(places, None)
        if found is None:
            missing.append(f"not printed: {line}")
        else:
            start = found + 1
    return missing


def _close_figures() -> None:
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def _run_doctest(text: str, names: dict[str, object]) -> list[str]:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest(text, names, "session", None, 0)
    out = io.StringIO()
    test.globs = names
    doctest.DocTestRunner(optionflags=flags).run(test, out=out.write, clear_globs=False)
    return [out.getvalue()] if out.getvalue() else []


# what installs, starts servers, or prints how fast this machine is
_NOT_RUN = ("pip", "make", "dask", "python -m benchmarks")


def sessions(text: str) -> list[tuple[str, list[str]]]:
    """Every line ``$ command`` with the lines that follow it, up to the next one."""
    found = []
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, *lines = part.replace("\\\n", " ").strip().splitlines()
        found.append((command, [line for line in lines if not line.startswith("...")]))
    return found


def _run_command(command: str, lines: list[str], folder: Path) -> list[str]:
    """In a shell of its own, as a reader types it: what is printed, and how it ends."""
    if command.startswith(_NOT_RUN):
        return []
    done = subprocess.run(
        ["bash", "-c", f"{command}\nexit $?"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=MOST_WAIT,
        cwd=folder,
        env=_reader(folder),
    )
    printed = (done.stdout + done.stderr).splitlines()
    faults = [
        f"not printed: {line}"
        for line in lines
        if line and not any(_as_said(shown, line) for shown in printed)
    ]
    # an error that the page shows is an error that is meant
    if bool(done.returncode) != any(line.startswith("symderiv: error:") for line in lines):
        faults.append(f"ends with exit code {done.returncode}: {' '.join(printed[-3:])}")
    return [f"{command}: {fault}" for fault in faults]


def _reader(folder: Path) -> dict[str, str]:
    """The environment of a reader with an empty home; solver modules that are kept stay known."""
    programs = folder / ".bin"
    if not programs.exists():
        programs.mkdir()
        start = "import sys; sys.argv[0] = 'symderiv'; from symderiv.cli import main; main()"
        _write_program(programs / "symderiv", f'{shlex.quote(sys.executable)} -c "{start}"')
        _write_program(programs / "python", shlex.quote(sys.executable))
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "HOME": str(folder / ".home"),
        "XDG_CACHE_HOME": cache,
    }


def _write_program(path: Path, command: str) -> None:
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


def _as_said(shown: str, said: str) -> bool:
    start, dots, rest = said.rstrip().partition("...")
    return shown.startswith(start) if dots and not rest else shown.rstrip() == said.rstrip()
