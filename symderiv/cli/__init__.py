"""The commands; the only place that ties the rooms together.

:func:`main` builds the application when it is called, so importing this package costs nothing, and
every command imports what it needs when it runs.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

__all__ = ["build_app", "main"]

USAGE = 2
FAILED = 1


def main() -> None:
    """Entry point of the ``symderiv`` command; leaves with the exit code of ``interface``.

    0 on success, 2 on wrong usage or bad input, 1 when a check failed or a computation did not
    reach its tolerance, 130 after an interrupt from the keyboard.
    """
    if sys.argv[1:] == ["--version"]:
        # Answered before the command-line library is imported: this is asked by scripts.
        _print_version()
        return
    from symderiv.errors import InputError, SymderivError

    try:
        build_app()()
    except SymderivError as error:
        _fail(str(error), USAGE if isinstance(error, InputError) else FAILED)
    except BrokenPipeError:
        # The reader of our output went away (`symderiv ... | head`). Standard output is pointed
        # elsewhere so that the interpreter's last flush does not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except OSError as error:
        _fail(f"{error.strerror or error}: {error.filename or 'input or output'}", USAGE)
    except KeyboardInterrupt:
        _fail("interrupted", 130)


def _print_version() -> None:
    from symderiv import __version__

    print(f"symderiv {__version__}")


def _fail(message: str, code: int) -> None:
    print(f"symderiv: error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)


def build_app() -> typer.Typer:
    """The command-line application with all its commands."""
    import typer

    from symderiv.cli import derive, expect, run, study

    app = typer.Typer(
        name="symderiv",
        help="Derives the learning dynamics of two-layer networks and writes fast, checked solvers.",
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

    for group in (expect, derive, run, study):
        group.register(app)
    return app
