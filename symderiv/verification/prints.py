"""The equations of papers exactly as printed, from the files beside their claims.

Each file has a table per equation: ``number``, ``latex`` (a list of displays, misprints kept),
``section``, and ``reading = "reconstructed"`` where the source could not be read surely.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files

from symderiv.errors import InputError
from symderiv.verification.claim import Printed

__all__ = ["printed_equations", "read_prints"]

_READINGS = ("printed", "reconstructed")


def printed_equations(package: str, *names: str) -> dict[str, Printed]:
    """The displays per equation number of the named files of a package, in their order.

    Raises:
        InputError: A number occurs twice, or a file is not of the form described above.
    """
    found: dict[str, Printed] = {}
    for name in names:
        text = (files(package) / f"{name}.toml").read_text(encoding="utf-8")
        for number, printed in read_prints(text, f"{name}.toml").items():
            if number in found:
                raise InputError(f"{name}.toml: equation {number} was given before")
            found[number] = printed
    return found


def read_prints(text: str, source: str) -> dict[str, Printed]:
    """The ``[[equation]]`` tables of a TOML text.

    Args:
        text: TOML.
        source: Its name, for errors.

    Raises:
        InputError: A key is missing, unknown, or of the wrong type.
    """
    try:
        tables = tomllib.loads(text).get("equation", [])
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: {error}") from None
    found: dict[str, Printed] = {}
    for table in tables:
        number = _text(table, "number", source)
        unknown = sorted(set(table) - {"number", "latex", "section", "reading"})
        if unknown:
            raise InputError(f"{source}: equation {number} has an unknown key {unknown[0]}")
        if number in found:
            raise InputError(f"{source}: equation {number} was given before")
        latex = table.get("latex")
        if isinstance(latex, str):
            latex = [latex]
        if not isinstance(latex, list) or not all(isinstance(piece, str) for piece in latex):
            raise InputError(f"{source}: latex of equation {number} must be a list of texts")
        reading = table.get("reading", "printed")
        if reading not in _READINGS:
            raise InputError(f"{source}: reading of equation {number} is printed or reconstructed")
        found[number] = Printed(
            tuple(piece.strip() for piece in latex), reading, str(table.get("section", ""))
        )
    return found


def _text(table: Mapping[str, object], key: str, source: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise InputError(f"{source}: every equation needs a {key}, a text")
    return value
