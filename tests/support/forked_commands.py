"""Runs the command in forked copies of one warm interpreter and ends them by a signal.

Reads one JSON request per line, {"words": […], "folder": …, "signal": number or null,
"after": seconds, "largest_file": bytes or null}, answers with one line {"code": …, "out": …,
"err": …, "seconds": …}. A fork starts in a moment, so a test can afford many kills, and most of
them hit the run itself.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import time
from typing import Any


def _child(request: dict[str, Any], out: int, err: int) -> None:
    os.dup2(out, 1)
    os.dup2(err, 2)
    # who starts the tests in the background of a shell has SIGINT ignored from there on
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["folder"])
    if request["largest_file"] is not None:
        # the system refuses to let files grow beyond it, as it does on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["largest_file"],) * 2)
    sys.argv = ["symderiv", *request["words"]]
    code = 1
    try:
        from symderiv.cli import main

        main()
        code = 0
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            _child(request, out.fileno(), err.fileno())
        signalled = request["signal"] is None
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            seconds = time.monotonic() - started
            if ended:
                break
            if not signalled and seconds >= request["after"]:
                os.kill(child, request["signal"])
                signalled = True
            time.sleep(0.002)
        out.seek(0)
        err.seek(0)
        return {
            "code": os.waitstatus_to_exitcode(status),
            "out": out.read().decode(),
            "err": err.read().decode(),
            "seconds": seconds,
        }


def warm_up_with(text: str) -> None:
    """Import and compile what the commands need for a study."""
    import h5netcdf  # noqa: F401

    import symderiv.cli.run  # noqa: F401
    from symderiv.experiment.studies.simulating import simulate
    from symderiv.integrate.rules.solving import solve
    from symderiv.problem.study import parse_study
    from symderiv.show.pages import job  # noqa: F401
    from symderiv.storage.kernels import load_kernel

    study, kernel = parse_study(text), load_kernel("erf")
    solve(study, kernel=kernel)
    for method in ("vectors", "gram"):
        changed = study.model_copy(
            update={"simulation": study.simulation.model_copy(update={"method": method})}
        )
        # one worker of a pool that is gone before anything is forked
        simulate(changed, kernel=kernel, workers=1)


def main() -> None:
    """Warm up, then answer until standard input ends."""
    with open(sys.argv[1], encoding="utf-8") as file:
        warm_up_with(file.read())
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
