"""Functions of many numbers in an array: their names in printed modules, and the space they need.

Each replaces the first numbers of an array by its values; with several arguments, of the first
array. It processes whole groups of ``lanes`` numbers, for which the array must have room.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symderiv_codegen.ir.arrays import Array


@dataclass(frozen=True)
class Many:
    """A function of many numbers, with a name for arrays of its values.

    Args:
        function: Its name. It takes an array for each argument, then scratch arrays, then the
            number of values, and writes the values to the first array.
        word: The first word of the names of arrays.
        lanes: The size of the groups that it processes.
        arguments: The number of arguments.
        scratch: The number of scratch arrays.
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
