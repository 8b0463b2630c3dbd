"""The exceptions of symderiv: one base class, and messages that tell the reader what to do.

An error that is about one argument says so in a field, not only in its text: whoever knows the
argument under another name (an option, a key of a file) asks for the error under that name and
never reads messages.
"""

from __future__ import annotations

from typing import Self


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
        """Return the same error about another argument, or about the same one under another
        name.
        """
        other = type(self).__new__(type(self), *self.args)
        other.__dict__.update(self.__dict__)
        other.argument = argument
        if entry is not None:
            other.entry = entry
        other.__cause__, other.__suppress_context__ = self.__cause__, self.__suppress_context__
        return other


class InputError(SymderivError, ValueError):
    """Something the user gave (formula, covariance, study key, file) cannot be accepted."""


class FormulaError(InputError):
    """A formula is outside the allow-list, too long, too deep, or not well formed."""


class ShapeError(InputError):
    """A matrix or vector has the wrong shape."""


class InexactError(InputError):
    """A floating-point number stands where an exact one is required."""


class DivergentError(InputError):
    """A Gaussian expectation does not exist; the message says for which variances it would."""


class NotYetError(InputError):
    """The request is meaningful but this version has no honest way to answer it."""


class NotClosed(InputError):  # noqa: N818 - the name that users know
    """The equations of a stated problem do not close in finitely many order parameters.

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
    """A run was stopped by a signal; the message says what was kept and how to go on."""

    def __init__(self, message: str = "", signal: int = 0) -> None:
        super().__init__(message)
        self.signal = signal


class ToleranceError(SymderivError):
    """A computation ended without reaching its tolerance, or a check failed."""


class RunWarning(UserWarning):
    """A run came out other than it was asked for: it diverged, stopped early, or lost accuracy."""


def defect(error: Exception) -> str:
    """Return what nobody foresaw, a defect of ours, in one line."""
    return f"internal error: {type(error).__name__}: {' '.join(str(error).split())}"[:300]
