"""The file of shipped derivations of named activations, and the modules on which they depend.

``python -m symderiv.analysis.ship_derivations`` writes them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

#: The results of functions of these modules, by their calls.
SHIPPED: Final = Path(__file__).with_name("derivations.pickle")
MODULES: Final = (
    "symderiv.analysis.late.perfect_learning",
    "symderiv.analysis.linear.system",
    "symderiv.analysis.plateau.plateau_report",
)
