"""Forked processes that run tests and hand back what they saw."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mutation.snapshot import Snapshot

__all__ = ["Ended", "allow_seconds", "cpu_seconds", "enter", "forked", "warm_up"]

#: Bytes of address space: a change that asks for more memory without end ends with an error.
_MEMORY: Final = 8 << 30


def warm_up() -> None:
    """Import what takes long and is not the project's; children then pay nothing for it."""
    import flint  # noqa: F401
    import h5netcdf  # noqa: F401
    import hypothesis
    import matplotlib.pyplot  # noqa: F401
    import numba.core.typing  # noqa: F401
    import pydantic  # noqa: F401
    import pytest  # noqa: F401
    import scipy.integrate
    import scipy.linalg
    import scipy.optimize
    import scipy.special
    import scipy.stats  # noqa: F401
    import sympy.printing.latex  # noqa: F401
    import typer  # noqa: F401
    import xarray  # noqa: F401

    # the same examples each time, and no time spent on making a failure look nice
    phases = hypothesis.Phase.explicit, hypothesis.Phase.generate
    hypothesis.settings.register_profile(
        "mutation", derandomize=True, database=None, phases=phases, deadline=None
    )
    hypothesis.settings.load_profile("mutation")


def enter(snapshot: Snapshot, compiled: Path, caches: Path) -> None:
    """Let this process, and those it starts, see the copy of the project and these caches only."""
    import numba

    os.chdir(snapshot.top)
    os.environ["PYTHONPATH"] = os.pathsep.join(snapshot.search_path)
    os.environ["XDG_CACHE_HOME"] = str(caches)
    os.environ["MPLBACKEND"] = "Agg"
    # the same examples in tests that draw some, and the same order in sets
    os.environ.setdefault("PYTHONHASHSEED", "0")
    numba.config.CACHE_DIR = str(compiled)
    # an editable installation leaves a folder of data beside other packages, without sources
    known = [p for p in sys.path if not (Path(p) / "symderiv" / "__init__.py").is_file()]
    outside = [p for p in known if Path(p).name not in ("codegen", "generated", "ledger", "models")]
    sys.path[:] = [*snapshot.search_path, str(snapshot.top / "tests"), *outside]
    # editable installations bring a finder of their own
    sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in repr(f).lower()]
    sys.dont_write_bytecode = True


def allow_seconds(seconds: float) -> None:
    """Let this process use that many CPU seconds from now on; beyond, the system ends it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def cpu_seconds() -> float:
    """CPU seconds of this process and of those that it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@dataclass(frozen=True)
class Ended:
    """How a forked process ended.

    Args:
        answer: What its task returned; None if it did not end by itself.
        out_of_time: It was ended because it took too long.
        seconds: CPU seconds of it and of what it started.
        printed: What it wrote, for the case that it has no answer.
    """

    answer: Any
    out_of_time: bool
    seconds: float
    printed: str


def forked(task: Callable[[], Any], wall_seconds: float) -> Ended:
    """The answer of a task, anything JSON can hold, run in a fork of this process."""
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        answer, printed = Path(folder, "answer"), Path(folder, "printed")
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _child(task, answer, printed, folder)
        usage, status, late = _wait(child, wall_seconds)
        # whatever the tests started and left
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        text = printed.read_text(errors="replace") if printed.exists() else ""
        known = json.loads(answer.read_text()) if answer.exists() else None
        seconds = usage.ru_utime + usage.ru_stime
        return Ended(known, late or ended_by == signal.SIGXCPU, seconds, text)


def _wait(child: int, wall_seconds: float) -> tuple[resource.struct_rusage, int, bool]:
    started = time.monotonic()
    pause = 0.002
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            return usage, status, False
        if time.monotonic() - started > wall_seconds:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            _, status, usage = os.wait4(child, 0)
            return usage, status, True
        time.sleep(pause)
        pause = min(0.05, 1.5 * pause)


def _child(task: Callable[[], Any], answer: Path, printed: Path, folder: str) -> None:
    code = 1
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with printed.open("wb") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        tempfile.tempdir = folder
        os.environ["TMPDIR"] = folder
        found = task()
        unfinished = answer.with_suffix(".part")
        unfinished.write_text(json.dumps(found))
        unfinished.rename(answer)
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)
