"""Names that a solver module may have, tested with few imports so that refusals are fast."""

from __future__ import annotations

import importlib.util
import keyword
import sys
from pathlib import Path
from typing import Final

from symderiv.foundation.errors import InputError

#: Names that a module's text or the folder beside it already uses.
TAKEN: Final = frozenset({"np", "numba", "math", "numpy", "fast", "runtime"})


def check_module_name(name: str, folder: Path | None = None) -> None:
    """Refuse names that no module can have, or that would hide another module on import.

    Args:
        name: the name of the module.
        folder: the module's folder; a module of the same name there counts as its older version.

    Raises:
        InputError: with the reason.
    """
    if not (name.isidentifier() and name.isascii()):
        raise InputError(f"{name!r} is not a Python identifier in ASCII letters", argument="name")
    if keyword.iskeyword(name) or name in keyword.softkwlist or not name.strip("_"):
        raise InputError(f"{name!r} is a word of Python; choose another", argument="name")
    if name in TAKEN or name in sys.stdlib_module_names or name.startswith("__"):
        raise InputError(
            f"{name!r} is taken by what modules import; choose another", argument="name"
        )
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return
    places = [spec.origin or "", *(spec.submodule_search_locations or ())]
    own = None if folder is None else (folder / f"{name}.py").resolve()
    if all(Path(place).resolve() != own for place in places):
        raise InputError(
            f"{name!r} is the name of a module that can be imported already, which one of the two "
            "would hide; choose another",
            argument="name",
        )
