"""A page's examples run in an empty folder, and what they did not do as the page says."""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from manual_pages.pages import TOP, Block, Page

MOST_SECONDS = 5.0
"""CPU time of one block, more is told."""


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
            case "pycon":
                return _run_doctest(block.text, names)
            case "console":
                return [fault for each in sessions(block.text) for fault in _run_command(*each)]
            case "toml" if found := re.match(r"# ([\w-]+\.toml)\b", block.text):
                (folder / found[1]).write_text(block.text, encoding="utf-8")
    except Exception:
        return [traceback.format_exc(limit=-3).strip()]
    return []


# the formatter puts the end of a long call on a line of its own
_SAID = re.compile(r"^ *(?:print\(.*)?\)  # (.*)$", re.M)


def _run_python(text: str, names: dict[str, object]) -> list[str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        exec(compile(ast.parse(text), "example", "exec"), names)
    _close_figures()
    said = [found[1] for found in _SAID.finditer(text)]
    return _not_printed(said, out.getvalue().splitlines())


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


# a compiler is used where there is one; nothing is installed, and no shell is set up
_OF_THE_SYSTEM = ("gcc", "cc", "ls", "head")
_NOT_RUN = ("pip", "make")


def sessions(text: str) -> list[tuple[str, list[str]]]:
    """Every line ``$ command`` with the lines that follow it, up to the next one."""
    found = []
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, *lines = part.replace("\\\n", " ").strip().splitlines()
        found.append((command, [line for line in lines if not line.startswith("...")]))
    return found


def _run_command(command: str, lines: list[str]) -> list[str]:
    words = shlex.split(command)
    # what writes to the files of whoever runs this, and benchmarks whose numbers are a machine's
    if "--install-completion" in words or words[0] in _NOT_RUN or words[1:2] in (["-m"], ["-c"]):
        return []
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        if words[0] == "symderiv":
            _call(words)
        elif words[0] == "python" and len(words) > 1 and not words[1].startswith("-"):
            with patch.object(sys, "argv", words[1:]):
                runpy.run_path(words[1], run_name="__main__")
        elif words[0] in _OF_THE_SYSTEM:
            if shutil.which(words[0]) is None:
                return []
            done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
            out.write(done.stdout)
            err.write(done.stderr)
        else:
            return [f"not a command that can be run here: {command}"]
    printed = (out.getvalue() + err.getvalue()).splitlines()
    return [
        f"{command}: not printed: {line}"
        for line in lines
        if line and not any(_as_said(shown, line) for shown in printed)
    ]


def _call(words: list[str]) -> None:
    from symderiv.cli import main

    with patch.object(sys, "argv", words), contextlib.suppress(SystemExit):
        main()


def _as_said(shown: str, said: str) -> bool:
    start, dots, rest = said.rstrip().partition("...")
    return shown.startswith(start) if dots and not rest else shown.rstrip() == said.rstrip()
