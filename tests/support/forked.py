"""Work in a fork of this process, which has imported and compiled what the work needs."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable

from support.commands import Done


def forked(work: Callable[[], object], *words: str, **environment: str) -> Done:
    """Do work in a process of its own that begins as this one is, with these as its arguments.

    What it writes is caught, and warnings and remarks are shown as in a new process.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.dup2(out.fileno(), 1), os.dup2(err.fileno(), 2)
                sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
                sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
                sys.argv = ["work", *words]
                os.environ.update(environment)
                logging.getLogger().handlers.clear()
                warnings.resetwarnings()
                warnings.simplefilter("default")
                warnings.simplefilter("ignore", DeprecationWarning)
                work()
                code = 0
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        out.seek(0), err.seek(0)
        return Done(os.waitstatus_to_exitcode(status), out.read(), err.read())
