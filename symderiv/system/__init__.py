"""Learning problems stated line by line: the language, its derivation and its experiment.

A statement has two readings. The derivation (``stated_motion``, ``averages``, ``slot_means``,
``closed_motion``) gives the equations of the order parameters in the limit N → ∞; the experiment
(``plain_reading``, ``step_kernel``, ``system_sgd``) does at finite N what was stated.
"""

import sys as _sys
from importlib import import_module as _import_module

# the former places of what is now in ``symderiv.statement``, for imports that still name them
for _name in ("vector_expressions", "register", "slopes", "indicators", "stated_problem"):
    _sys.modules[f"{__name__}.{_name}"] = _import_module(f"symderiv.statement.{_name}")
_sys.modules[f"{__name__}.language"] = _import_module("symderiv.system.stated_system")
