"""The commands; the only place that ties the rooms together.

:func:`main` builds the application when it is called, so importing this package costs nothing, and
every command imports what it needs when it runs.
"""

from __future__ import annotations

import functools
import gc
import inspect
import io
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec

from symderiv.foundation.errors import SymderivError

if TYPE_CHECKING:
    import typer

__all__ = ["build_app", "main"]

USAGE = 2
FAILED = 1
SIGNALLED = 128
INTERRUPTED = 130
# Largest number of characters of a message; longer ones repeat what the user typed.
_LONGEST = 1000
# Number of new objects after which Python's garbage collector runs.
_OBJECTS = 50_000
# Width of a terminal from which tables of options do not cut words.
_TABLES = 80


def main() -> None:
    """Run the ``symderiv`` command and exit with the exit code of ``interface``.

    It is 0 on success, 2 on wrong usage or bad input, 1 if a check failed or a computation did not
    reach its tolerance, 130 after an interrupt from the keyboard, 143 after SIGTERM.
    """
    if sys.argv[1:] in (["--version"], ["-V"]):
        # Answered before the command-line library is imported, because scripts ask for it.
        _print_version()
        return
    _keep_what_was_typed()
    # Derivations make many objects and few reference cycles: frequent collections cost time.
    gc.set_threshold(_OBJECTS, 20, 20)
    import typer

    from symderiv.foundation.errors import InputError, RunWarning, StoppedError, SymderivError
    from symderiv.foundation.files import MACHINE

    # commands print the warnings of results themselves
    warnings.simplefilter("ignore", RunWarning)
    # The base class of all usage errors has no public name that all versions of the library share.
    bases: Any = typer.BadParameter.__mro__
    usage_error: type[Exception] = next(c for c in bases if c.__name__ == "ClickException")
    try:
        # With standalone_mode the library would write its own boxes and exit by itself.
        code = _app_for(sys.argv[1:2])(standalone_mode=False)
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
    except MemoryError as error:
        what = f" ({error})" if str(error) else ""
        _fail(f"there is not enough memory for this{what}; ask for less", FAILED)
    except Exception as error:
        _defect(error)
    sys.exit(code if isinstance(code, int) else 0)


def _defect(error: Exception) -> NoReturn:
    """Report an unexpected error as a defect, in one line."""
    from symderiv.foundation.errors import defect

    if os.environ.get("SYMDERIV_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    _fail(f"{defect(error)} (a defect; SYMDERIV_TRACEBACK=1 shows where)", FAILED)


def _usage(error: Any) -> NoReturn:
    """Report wrong usage in one line that points to the help; without a command, print the help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        # Raised after the help was printed.
        sys.exit(USAGE)
    context = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context is not None else ""
    said = error.format_message().replace("Value error, ", "").replace(": Input should", ": should")
    _fail(f"{_mistyped(context, error) or said.removesuffix('.')}{hint}", USAGE)


def _mistyped(context: Any, error: Any) -> str:
    """Return a message on an unknown option, command or word, with the nearest known one.

    It is also needed for commands that let unknown options pass, because a formula may begin like
    one ("-x").
    """
    if context is None:
        return ""
    from symderiv.foundation.nearest import nearest

    command = next(iter(sys.argv[1:]), "")
    if context.parent is None and command not in _COMMANDS and not command.startswith("-"):
        meant = nearest(command, [*_COMMANDS, "--help", "--version"])
        meant = f"solve {command}" if command.endswith(".toml") else meant
        return f"No such command: {command}" + (f" (did you mean {meant}?)" if meant else "")
    known = [name for option in context.command.params for name in option.opts] + ["--help"]
    words = [word.partition("=")[0] for word in sys.argv[2:] if word.startswith("--")]
    typed = next((word for word in words if word not in known), None)
    if typed is not None:
        meant = nearest(typed, (name for name in known if name.startswith("--")))
        if not meant and "--set" in known:
            from symderiv.problem.key_names import nearest_key

            key = nearest_key(typed)
            meant = f"--set {key}=VALUE" if key else ""
        return f"No such option: {typed}" + (f" (did you mean {meant}?)" if meant else "")
    if type(error).__name__ == "UsageError" and "extra argument" in error.format_message():
        places = context.command.collect_usage_pieces(context)[1:]
        taken = " and ".join(places) or "no word"
        return f"{error.format_message()}; {command} takes {taken} beside its options"
    return ""


def _keep_what_was_typed() -> None:
    """Let output print undecodable file names unchanged, and any letter on any terminal."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            is_utf8 = stream.encoding.lower().replace("-", "") == "utf8"
            stream.reconfigure(errors="surrogateescape" if is_utf8 else "backslashreplace")


def _print_version() -> None:
    from symderiv import __version__

    print(f"symderiv {__version__}")


def _fail(message: str, code: int) -> NoReturn:
    line = " ".join(message.split())
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 2 :]}"
    print(f"symderiv: error: {line}", file=sys.stderr)
    sys.exit(code)


#: The commands in the order of the help, each with its module and its page of the manual.
_COMMANDS = {
    "expect": ("expect", "how-to/gaussian-means"),
    "integral": ("expect", "how-to/gaussian-means"),
    "check": ("expect", "how-to/check-a-formula"),
    "derive": ("derive", "how-to/solver-modules"),
    "generate": ("derive", "how-to/solver-modules"),
    "export": ("derive", "how-to/export-c"),
    "init": ("starting", "how-to/study-templates"),
    "cite": ("starting", "how-to/cite"),
    "schema": ("starting", "reference/study-file"),
    "solve": ("run", "reference/study-file"),
    "simulate": ("run", "reference/study-file"),
    "study": ("run", "tutorials/01-first-curve"),
    "sweep": ("map", "how-to/sweeps"),
    "map": ("map", "how-to/phase-diagrams"),
    "linear": ("analyses", "how-to/linear-networks"),
    "plateau": ("analyses", "how-to/plateau"),
    "asymptotics": ("analyses", "how-to/late-learning"),
    "fixed-points": ("analyses", "how-to/fixed-points"),
    "optimise": ("analyses", "how-to/optimal-control"),
    "equilibrium": ("analyses", "how-to/equilibrium"),
    "thresholds": ("analyses", "how-to/thresholds"),
    "localise": ("analyses", "how-to/localisation"),
    "one-step": ("analyses", "how-to/one-gradient-step"),
    "verify": ("verify", "how-to/verify-a-paper"),
}
# A formula may begin with a minus sign, and is not an option then.
_WITH_FORMULAS = ("expect", "integral", "check", "thresholds")


def _app_for(words: Sequence[str]) -> typer.Typer:
    """Return the application for a command line that begins with these words.

    For a known command it contains no others.
    """
    asked = tuple(word for word in words if word in _COMMANDS)
    overview = list(words) in ([], ["-h"], ["--help"]) and "_SYMDERIV_COMPLETE" not in os.environ
    return build_app(asked or tuple(_COMMANDS), overview=overview)


# arguments of calls whose options have other names, with these names
_TYPED = {
    "paper": "PAPER",
    "events": "--event",
    "sensitivities": "--sensitivity",
    "macros": "--macro",
    "what": "EXPR",
    "expression": "EXPR",
    "which": "WHICH",
}


def build_app(names: Iterable[str] = tuple(_COMMANDS), *, overview: bool = False) -> typer.Typer:
    """Return the command-line application with all its commands, or with some.

    Args:
        names: names of the commands.
        overview: True makes commands with nothing but their line in the help.
    """
    import typer

    app = typer.Typer(
        name="symderiv",
        help="Derive the learning dynamics of two-layer networks and run fast, checked solvers.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        # tables of options would cut words on narrow terminals
        rich_markup_mode="rich" if shutil.get_terminal_size().columns >= _TABLES else None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    def version(asked: bool) -> None:
        if asked:
            _print_version()
            raise typer.Exit

    @app.callback()
    def options(
        _: bool = typer.Option(
            False,
            "--version",
            "-V",
            callback=version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ) -> None:
        pass

    for name in names:
        home, page = _COMMANDS[name]
        command: Any = getattr(import_module(f"symderiv.cli.{home}"), name.replace("-", "_"))
        words = f"{inspect.cleandoc(command.__doc__)}\n\nManual: {page}"
        # the whole sentence, which click would cut at the end of a line
        told: Any = {"help": words, "short_help": " ".join(words.split("\n\n")[0].split())}
        if overview:
            app.command(name, **told)(lambda: None)
            continue
        # options that follow from a call are read when they are needed
        getattr(command, "read_options", lambda: None)()
        if name in _WITH_FORMULAS:
            told["context_settings"] = {"ignore_unknown_options": True}
        app.command(**told)(guarded(command))
    return app


P = ParamSpec("P")


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Return a command whose errors name options instead of arguments of the public call."""
    # annotations are texts here; positional parameters are recognised by typer.Argument
    known = {
        name.rstrip("_"): f"--{name.rstrip('_').replace('_', '-')}"
        for name, parameter in inspect.signature(command).parameters.items()
        if "typer.Argument" not in str(parameter.annotation)
    } | _TYPED

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except SymderivError as error:
            raise error.renamed(known.get(error.argument or "", error.argument)) from None

    return wrapped
