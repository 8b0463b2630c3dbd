"""Carries the calls out in forks of one warm process and judges how each ends."""

import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from support.forked import begun

from hostile.calls import HostileCall, fill

#: CPU seconds after which a call is ended; by then it has said what it does.
CPU_SECONDS = 20
_WALL_SECONDS = 180.0
#: Address space beyond what the warm process has; a call that needs more must say so itself.
_MEMORY = 6 * 2**30

#: What a call that takes long says of itself.
_AT_WORK = re.compile(r"^symderiv: (?!error).*, \d+ s$", re.MULTILINE)


@dataclass(frozen=True)
class Ending:
    """How a call ended: exit code (negative: the signal), output, CPU seconds, new files."""

    call: HostileCall
    code: int
    out: str
    err: str
    seconds: float
    left: tuple[str, ...] = ()
    faults: tuple[str, ...] = field(default=())


def warm_up() -> None:
    """Import what the commands import, and compile what they compile."""
    import h5netcdf  # noqa: F401
    import matplotlib.backends.backend_svg  # noqa: F401
    from symderiv_ledger.papers import paper_run as _  # noqa: F401

    from hostile.calls import STUDY
    from symderiv.analysis.late import late_dynamics  # noqa: F401
    from symderiv.analysis.plateau import plateau_report as report  # noqa: F401
    from symderiv.cli import build_app
    from symderiv.experiment.studies.simulating import simulate
    from symderiv.integrate.rules.solving import solve
    from symderiv.problem.study import parse_study
    from symderiv.show.pages import job  # noqa: F401
    from symderiv.show.plots.analysis_plots import run_plots  # noqa: F401
    from symderiv.storage.kernels import load_kernel

    # an installed package has byte code: what a call imports first is not compiled in every call
    sys.dont_write_bytecode = False
    build_app()
    study = parse_study(STUDY)
    for name in ("erf", "relu"):
        kernel = load_kernel(name)
    kernel = load_kernel("erf")
    solve(study, kernel=kernel)
    simulate(study, kernel=kernel, workers=1)


def _work(folder: Path, seconds: int) -> None:
    """Call the command under limits of memory and time."""
    from symderiv.cli import main

    os.setpgid(0, 0)
    os.chdir(folder)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    main()


def carry_out(call: HostileCall, seconds: int = CPU_SECONDS) -> Ending:
    """One call in a folder of its own."""
    with (
        tempfile.TemporaryDirectory() as name,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        folder = Path(name) / "here"
        folder.mkdir()
        fill(folder)
        for file, content in call.files:
            (folder / file).write_bytes(content)
        there = {path.name for path in folder.iterdir()}
        started = time.monotonic()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = [os.fsdecode(os.fsencode(word)) for word in call.words]
        work = partial(_work, folder, seconds)
        child = begun(work, ["symderiv", *words], out.fileno(), err.fileno())
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            if time.monotonic() - started > _WALL_SECONDS:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.002)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        out.seek(0)
        err.seek(0)
        ending = Ending(
            call,
            os.waitstatus_to_exitcode(status),
            out.read().decode("utf-8", "replace"),
            err.read().decode("utf-8", "replace"),
            used,
            tuple(sorted(path.name for path in folder.iterdir() if path.name not in there)),
        )
        shutil.rmtree(folder, ignore_errors=True)
    return Ending(**{**ending.__dict__, "faults": tuple(_faults(ending))})


def _faults(ending: Ending) -> Iterator[str]:
    if ending.code == -signal.SIGXCPU or ending.code == -signal.SIGKILL:
        # that is no fault of a call that is worth it and says what it does
        if not _AT_WORK.search(ending.err):
            yield f"silent for {ending.seconds:.0f} s"
    elif ending.code not in (0, 1, 2):
        yield f"exit code {ending.code}"
    if "Traceback" in ending.err + ending.out:
        yield "traceback"
    elif "internal error" in ending.err + ending.out:
        yield "internal error"
    if re.search(r"\bWarning\b", ending.err):
        yield "warning of a library"
    lines = ending.err.splitlines()
    errors = [line for line in lines if line.startswith("symderiv: error: ")]
    if len(errors) > 1:
        yield "several errors"
    if any(not line.startswith("symderiv: ") for line in lines) and "Traceback" not in ending.err:
        yield "lines on standard error that are not ours"
    if ending.code == 2 and not errors and "Usage" not in ending.out:
        yield "refused without a line"
    if ending.code == 0 and errors:
        yield "an error with exit code 0"
    if max(map(len, lines), default=0) > 1500:
        yield "a line of more than 1500 characters"
    words = ending.call.words
    at = words.index("--json") if "--json" in words else 0
    given = at > 0 and not words[at - 1].startswith("--")
    if ending.code == 0 and given and ending.out and words[-1] != "--help":
        try:
            for line in ending.out.splitlines():
                json.loads(line)
        except ValueError:
            yield "not JSON"
