"""Names that a solver module may have; little is imported to refuse the others at once."""

from __future__ import annotations

import importlib.util
import keyword
import sys
from pathlib import Path
from typing import Final

from symderiv.foundation.errors import InputError

#: Names in a module's own text, and in the folder beside it.
TAKEN: Final = frozenset({"np", "numba", "math", "numpy", "fast", "runtime"})


def check_module_name(name: str, folder: Path | None = None) -> None:
    """Refuse names that no module can have, or that hide another module when it is imported.

    Args:
        name: the name of the module.
        folder: where it goes; a module there of the same name is its own older self.

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
