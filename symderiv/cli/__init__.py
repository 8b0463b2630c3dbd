"""The commands; the only place that ties the rooms together.

:func:`main` builds the application when it is called, so importing this package costs nothing, and
every command imports what it needs when it runs.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import typer

__all__ = ["build_app", "main"]

USAGE = 2
FAILED = 1
SIGNALLED = 128
INTERRUPTED = 130


def main() -> None:
    """Entry point of the ``symderiv`` command; leaves with the exit code of ``interface``.

    0 on success, 2 on wrong usage or bad input, 1 when a check failed or a computation did not
    reach its tolerance, 130 after an interrupt from the keyboard, 143 after SIGTERM.
    """
    if sys.argv[1:] == ["--version"]:
        # Answered before the command-line library is imported: this is asked by scripts.
        _print_version()
        return
    import typer

    from symderiv.errors import InputError, StoppedError, SymderivError
    from symderiv.files import MACHINE

    # The base class of every complaint about usage has no public name that all versions share.
    bases: Any = typer.BadParameter.__mro__
    usage_error: type[Exception] = next(c for c in bases if c.__name__ == "ClickException")
    try:
        # With standalone_mode the library would write its own boxes and exit by itself.
        code = build_app()(standalone_mode=False)
    except StoppedError as error:
        _fail(str(error), SIGNALLED + error.signal)
    except SymderivError as error:
        _fail(str(error), USAGE if isinstance(error, InputError) else FAILED)
    except usage_error as error:
        _usage(error)
    except (typer.Abort, KeyboardInterrupt):
        _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away (`symderiv ... | head`). Standard output is pointed
        # elsewhere so that the interpreter's last flush does not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except OSError as error:
        code = FAILED if error.errno in MACHINE else USAGE
        _fail(f"{error.strerror or error}: {error.filename or 'input or output'}", code)
    sys.exit(code if isinstance(code, int) else 0)


def _usage(error: Any) -> NoReturn:
    """Wrong usage in one line that says where help is; without a command, the help itself."""
    if type(error).__name__ == "NoArgsIsHelpError":
        # Raised after the help was printed.
        sys.exit(USAGE)
    context = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context is not None else ""
    _fail(f"{error.format_message()}{hint}", USAGE)


def _print_version() -> None:
    from symderiv import __version__

    print(f"symderiv {__version__}")


def _fail(message: str, code: int) -> NoReturn:
    print(f"symderiv: error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)


def build_app() -> typer.Typer:
    """The command-line application with all its commands."""
    import typer

    from symderiv.cli import (
        asymptotics,
        check,
        derive,
        expect,
        linear,
        plateau,
        run,
        study,
        verify,
    )

    app = typer.Typer(
        name="symderiv",
        help="Derive the learning dynamics of two-layer networks and run fast, checked solvers.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    def version(asked: bool) -> None:
        if asked:
            _print_version()
            raise typer.Exit

    @app.callback()
    def options(
        _: bool = typer.Option(
            False, "--version", callback=version, is_eager=True, help="Print the version and exit."
        ),
    ) -> None:
        pass

    groups = (expect, check, derive, run, study, linear, plateau, asymptotics, verify)
    for group in groups:
        group.register(app)
    return app
