"""The exceptions of the code generator; the package stands alone, so they are its own."""

from __future__ import annotations


class CodegenError(Exception):
    """Base of every error that the code generator raises on purpose; the message is one line."""


class ProgramError(CodegenError):
    """A program is not well formed: a name, range, index or number in it cannot be accepted."""


class PrinterError(CodegenError):
    """A printer met a node it does not know; the message names the node and the printer."""
