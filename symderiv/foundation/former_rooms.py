"""Former names of rooms, under which imports of old code and of papers still find them."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: Modules that the manual named formerly, with the modules that hold their public names now.
FORMER_ROOMS = {
    "symderiv.data": ("symderiv.inputs",),
    "symderiv.expressions": ("symderiv.formula",),
    "symderiv.questions": ("symderiv.api.questions",),
    "symderiv.verification": ("symderiv_ledger",),
    "symderiv.verification.claim": ("symderiv_ledger.claims.claim",),
    "symderiv.dynamics": (
        "symderiv.integrate.flows.moment_check",
        "symderiv.integrate.flows.trajectory",
        "symderiv.integrate.rules.solving",
        "symderiv.experiment.studies.simulating",
        "symderiv.experiment.studies.simulation",
        "symderiv.problem.state",
        "symderiv.problem.study",
        "symderiv.storage.kernels",
        "symderiv.storage.run_files",
    ),
}


class _Former:
    """A finder of empty modules whose names are looked up in the modules that have them now.

    It has no base class: importing those of ``importlib.abc`` takes half as long as symderiv.
    """

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname not in FORMER_ROOMS:
            return None
        return ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create the module."""

    def exec_module(self, module: ModuleType) -> None:
        former, homes = module.__name__, FORMER_ROOMS[module.__name__]
        message = f"{former} will go; import from {homes[0]}"
        if len(homes) > 1:
            message = f"{former} will go; its names stand in {', '.join(homes)}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)

        def looked_up(name: str) -> Any:
            for home in homes:
                module_now = import_module(home)
                if not name.startswith("_") and hasattr(module_now, name):
                    return getattr(module_now, name)
            raise AttributeError(f"module {former!r} has no attribute {name!r}")

        module.__getattr__ = looked_up  # type: ignore[method-assign]


def install() -> None:
    """Make imports of former rooms succeed, with a ``DeprecationWarning``.

    The finder is the first one, because a folder left by an older version would be found as a
    package.
    """
    if not any(isinstance(each, _Former) for each in sys.meta_path):
        sys.meta_path.insert(0, _Former())
