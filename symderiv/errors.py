"""The exceptions of symderiv: one base class, and messages that tell the reader what to do."""

from __future__ import annotations


class SymderivError(Exception):
    """Base of every error that symderiv raises on purpose; the message is one line."""


class InputError(SymderivError):
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


class StoppedError(SymderivError):
    """A run was stopped by a signal; the message says what was kept and how to go on."""

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message)
        self.signal = signal


class ToleranceError(SymderivError):
    """A computation ended without reaching its tolerance, or a check failed."""
