"""Work in a fork of this process, which has imported and compiled what the work needs."""

import logging
import os
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence

from support.commands import Done


def begun(work: Callable[[], object], words: Sequence[str], out: int, err: int) -> int:
    """The process of a fork that does work with these words as its command line.

    What it writes goes to these files; warnings and remarks are shown as in a new process.
    """
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0), os.dup2(out, 1), os.dup2(err, 2)
        # the inherited streams may be those of a test, or believe that they can seek
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        sys.argv = list(words)
        # who starts the tests in the background of a shell has SIGINT ignored from there on
        signal.signal(signal.SIGINT, signal.default_int_handler)
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


def forked(work: Callable[[], object], *words: str, **environment: str) -> Done:
    """How work in a process of its own ends that begins as this one is, with these arguments."""

    def with_environment() -> None:
        os.environ.update(environment)
        work()

    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = begun(with_environment, ["work", *words], out.fileno(), err.fileno())
        _, status = os.waitpid(child, 0)
        out.seek(0), err.seek(0)
        return Done(os.waitstatus_to_exitcode(status), out.read(), err.read())
