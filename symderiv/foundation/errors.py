"""The exceptions of symderiv: one base class, and messages that tell the reader what to do.

An error that is about one argument names it in a field, not only in its text: code that knows the
argument under another name (an option, a key of a file) asks for the error under that name and
never parses messages.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, Self

_OWN = ("symderiv", "symderiv_models", "symderiv_ledger")


class SymderivError(Exception):
    """Base of every error that symderiv raises on purpose; the message is one line.

    Args:
        message: What is wrong and what to do, without the name of the argument.
        argument: The argument it is about: its Python name (``"covariance"``) or the dotted key of
            a study (``"training.learning_rate"``); None if it is not about a single one.
        entry: The part of the argument, written as an index (``"[0][1]"``).

    Attributes:
        reason: The message as given. ``str(error)`` puts argument and entry in front of it.
        source: The name of the file that the argument stands in, or nothing.
    """

    def __init__(self, message: str = "", *, argument: str | None = None, entry: str = "") -> None:
        # a value in it, such as an array, may take several lines
        message = " ".join(line.strip() for line in message.splitlines())
        super().__init__(message)
        self.reason = message
        self.argument = argument
        self.entry = entry
        self.source = ""

    def __str__(self) -> str:
        source = f"{self.source}: " if self.source else ""
        if self.argument is None:
            return f"{source}{self.reason}"
        return f"{source}{self.argument}{self.entry}: {self.reason}"

    def inside(self, source: str) -> Self:
        """Return the same error, found in the file of this name."""
        other = self.renamed(self.argument)
        other.source = source
        return other

    def renamed(self, argument: str | None, entry: str | None = None) -> Self:
        """Return the same error about another argument, or about the same under another name."""
        other = type(self).__new__(type(self), *self.args)
        other.__dict__.update(self.__dict__)
        other.argument = argument
        if entry is not None:
            other.entry = entry
        other.__cause__, other.__suppress_context__ = self.__cause__, self.__suppress_context__
        return other


class InputError(SymderivError, ValueError):
    """An argument cannot be accepted: a formula, a covariance, a key, a file.

    It is raised before anything is computed or written. The message names the argument or the key
    and says what is allowed; change that one. At the terminal the exit code is 2.
    """


class FormulaError(InputError):
    """A formula cannot be read: a name is unknown, a bracket is missing, it is too long or deep.

    It is raised when a formula or an activation is given. Formulas are read and never run, so they
    have the functions and names that are listed, and nothing else of Python.
    """


class ShapeError(InputError):
    """A matrix or a vector has another shape than the units, the inputs or the fields ask for.

    The message has the shape that was given and the one that is expected.
    """


class InexactError(InputError):
    """A floating-point number stands where an exact one is needed, as in a proved value.

    Write it as a text, "0.1" or "1/3", which is exact.
    """


class DivergentError(InputError):
    """A Gaussian expectation does not exist, because what is averaged grows too fast.

    The message says for which variances it would; choose those, or another function.
    """


class NotYetError(InputError):
    """The question has a meaning, but this version cannot answer it with a known error.

    The message names what stands in the way, and a way around it where there is one.
    """


class NotClosed(InputError):  # noqa: N818 - the name that users know
    """The equations of a stated problem do not close in finitely many order parameters.

    It is raised when the equations of a system or of a study are first asked for. Change the line
    of the statement that it names.

    Args:
        message: What does not close and why, one line.
        average: The mean that does not close, as text.
        statement: The line of the statement that it came from.
    """

    def __init__(self, message: str = "", average: str = "", statement: str = "") -> None:
        super().__init__(message)
        self.average = average
        self.statement = statement


class StoppedError(SymderivError):
    """A run was stopped by a signal: Ctrl-C, or an end of its time on a cluster.

    The message says what was kept and how to go on; the same command goes on from there.
    """

    def __init__(self, message: str = "", signal: int = 0) -> None:
        super().__init__(message)
        self.signal = signal


class ToleranceError(SymderivError):
    """A computation ended without reaching its tolerance, or a check failed.

    It is raised after computing, so that what was given is acceptable. Ask for fewer digits or a
    larger tolerance, or read what did not hold. At the terminal the exit code is 1.
    """


class RunWarning(UserWarning):
    """A run came out other than it was asked for: it diverged, stopped early, or lost accuracy.

    The result is there and says the same in its ``warnings``.
    """


@contextmanager
def errors_about(argument: str, *only: str) -> Iterator[None]:
    """Turn input errors about anything, or about some arguments only, into errors about another.

    Args:
        argument: the name under which the caller gave what is wrong.
        only: the names of arguments that are replaced; all when left out.
    """
    try:
        yield
    except InputError as error:
        replaced = not only or error.argument in only
        raise error.renamed(argument if replaced else error.argument) from None


def check_one_of(argument: str, value: str, known: Iterable[str]) -> None:
    """Raise an error with the nearest known value if that of an argument is not known."""
    names = list(known)
    if not isinstance(value, str) or value not in names:
        from symderiv.foundation.nearest import did_you_mean

        said = f"{value!r} is not one of {', '.join(names)}{did_you_mean(str(value), names)}"
        raise InputError(said, argument=argument)


def check_whole(argument: str, value: Any, least: int, most: float = math.inf) -> None:
    """Raise an error if an argument is not a whole number from ``least`` to ``most``."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not (whole and least <= int(value) <= most):
        words = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
        raise InputError(f"must be a whole number {words}, not {value!r}", argument=argument)


def warn_caller(message: str | None) -> None:
    """Issue a :class:`RunWarning` at the line that called symderiv, if there is a message."""
    if message is None:
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _OWN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, RunWarning, stacklevel=level)


def defect(error: Exception) -> str:
    """Return the message for an unforeseen error, which is a defect of symderiv, in one line."""
    return f"internal error: {type(error).__name__}: {' '.join(str(error).split())}"[:300]
