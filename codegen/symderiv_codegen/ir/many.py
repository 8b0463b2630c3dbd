"""Functions of many numbers in an array: what printed modules know them by, and the room they need.

Each replaces the first numbers of an array by its values, those of several arguments the first
array. It works through whole groups of
``lanes`` numbers, for which the array must have room.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symderiv_codegen.ir.arrays import Array


@dataclass(frozen=True)
class Many:
    """A function of many numbers, and a name for arrays that hold its values.

    Args:
        function: Its name. It gets an array for each argument, then scratch arrays, then how many
            numbers there are, and leaves the values in the first array.
        word: The first word of the names of arrays.
        lanes: It works through whole groups of so many.
        arguments: How many it has.
        scratch: How many arrays it wants besides.
    """

    function: str
    word: str
    lanes: int
    arguments: int = 1
    scratch: int = 0

    def array(self, name: str, count: sp.Expr) -> Array:
        """Return an array for that many values."""
        above, below = sp.fraction(sp.factor(count))
        number = str(above)
        if isinstance(above, sp.Mul):
            factors = [f"({f})" if f.is_Add else str(f) for f in above.as_ordered_factors()]
            number = " * ".join(factors)
        if below != 1:
            number += f" // {below}"
        return Array(name, (f"({number} + {self.lanes - 1}) // {self.lanes} * {self.lanes}",))


ARCSINES = Many("_arcsines", "arcsines", 16)
INVERSE_ROOTS = Many("to_inverse_roots", "inverse_roots", 8)
