"""JSON as people type it, with numbers kept exact."""

from __future__ import annotations

import json
from typing import Any

from symderiv.formula.reader import quoted
from symderiv.foundation.errors import InputError


def load_json(text: str, argument: str | None) -> Any:
    """Return the JSON value of a text, with numbers as texts, also NaN and infinities.

    Args:
        text: The text.
        argument: The name for error messages, e.g. ``"--covariance"``.

    Raises:
        InputError: Not JSON, a key twice, nested too deeply.
    """
    try:
        return json.loads(
            text,
            parse_float=str,
            parse_int=str,
            parse_constant=str,
            object_pairs_hook=_without_duplicates,
        )
    except json.JSONDecodeError as error:
        where = quoted(text[error.pos :]) if error.pos < len(text) else "the end"
        raise InputError(
            f"is not JSON near {where}: {error.msg.lower()}; write rows such as "
            '[[1, 0.5], [0.5, 1]], and fractions and symbols in quotation marks ("1/3", "c12")',
            argument=argument,
        ) from None
    except InputError as error:
        raise error.renamed(argument) from None
    except RecursionError:
        raise InputError("is nested too deeply", argument=argument) from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise InputError(f"the key {quoted(key)} occurs twice")
        result[key] = value
    return result
