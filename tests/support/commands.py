"""The program called in this process, which spares a test the start of an interpreter; Python."""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest

from symderiv import cli


class Done(NamedTuple):
    """What a call left, under the names of ``subprocess``."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        """The one line on standard output."""
        assert self.stdout.count("\n") == 1, "more than one line on standard output"
        found: dict[str, Any] = json.loads(self.stdout)
        return found


def symderiv(*words: object, stdin: bytes = b"") -> Done:
    """``symderiv words``; a warning ends the test, as all warnings do."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["symderiv", *map(str, words)]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main()
    code = ended.value.code
    assert code is None or isinstance(code, int)
    return Done(code or 0, out.getvalue(), err.getvalue())


def refused(*words: object, code: int = 2) -> str:
    """The one line on standard error of a call that is refused, which writes nothing else."""
    done = symderiv(*words)
    assert (done.returncode, done.stdout) == (code, ""), done
    assert done.stderr.startswith("symderiv: error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.rstrip()


def python(code: str, *words: str, cwd: Path | None = None, **environment: str) -> Done:
    """``python -c code words`` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, **environment},
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)
