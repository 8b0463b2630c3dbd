"""Prints that are public code: which repository, commit, file and lines, and on what terms.

Tables ``[repository.NAME]`` of a paper's file say once what belongs to a repository; an equation
names one, and its file. Nothing of the file is quoted: what is checked is the statement, in which
the formula is stated anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from symderiv.foundation.errors import InputError
from symderiv_ledger.claims.claim import Code
from symderiv_ledger.papers.tables import refuse_unknown, text_of

__all__ = ["CODE_KEYS", "code_of", "read_repository"]

#: Keys of an equation that is code.
CODE_KEYS: Final = frozenset({"repository", "file", "lines"})
_KEYS: Final = ("address", "commit", "licence")


def read_repository(name: str, table: Any) -> Code:
    """Return a table ``[repository.NAME]``: ``address`` (owner/name), ``commit``, ``licence``.

    Raises:
        InputError: A key is missing, unknown or wrong.
    """
    if not isinstance(table, dict):
        raise InputError(f"repository {name} must be a table")
    for key in _KEYS:
        if not text_of(table, key):
            raise InputError(f"repository {name} needs {key}, a text")
    refuse_unknown(table, _KEYS, f"repository {name}: ")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", table["address"]):
        raise InputError(f"repository {name}: address must be owner/name")
    if not re.fullmatch(r"[0-9a-f]{40}", table["commit"]):
        raise InputError(f"repository {name}: commit must be 40 hexadecimal digits")
    return Code(table["address"], table["commit"], text_of(table, "licence"))


def code_of(table: Mapping[str, Any], repositories: Mapping[str, Code]) -> Code | None:
    """Return where the print of an equation stands if it is code; None if it is not.

    Raises:
        InputError: The repository is not described, or there is no file.
    """
    if not CODE_KEYS & set(table):
        return None
    name, file = text_of(table, "repository"), text_of(table, "file")
    if name not in repositories:
        raise InputError(f"there is no [repository.{name or 'NAME'}] before it")
    if not file:
        raise InputError("code needs file, a path in the repository")
    if "latex" in table:
        raise InputError("a print is latex or code, not both")
    whole = repositories[name]
    return Code(whole.repository, whole.commit, whole.licence, file, text_of(table, "lines"))
