"""Arrays, and how several of them are packed into one vector."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.checks import check_distinct, check_identifier


@dataclass(frozen=True)
class Array:
    """A named array of float64; ``shape`` lists the names of ranges, ``()`` is a scalar.

    ``symmetric``: two neighbouring axes with the same range (the first such pair) may be exchanged;
    used to compute sums over half of the pairs.
    """

    name: str
    shape: tuple[str, ...] = ()
    doc: str = ""
    symmetric: bool = False
    latex: str = ""

    def __post_init__(self) -> None:
        check_identifier(self.name, "array")
        if isinstance(self.shape, str):
            raise ProgramError(f"array {self.name!r}: shape is a tuple of range names")
        if self.symmetric and self.pair is None:
            raise ProgramError(
                f"array {self.name!r}: symmetric needs two neighbouring axes of one range"
            )

    @property
    def pair(self) -> int | None:
        """The first axis of the first neighbouring pair with the same range, or None."""
        return next((n for n, (a, b) in enumerate(pairwise(self.shape)) if a == b), None)


@dataclass(frozen=True)
class Vector:
    """Layout of arrays, in order and in C order, in one flat float64 vector."""

    name: str
    fields: tuple[Array, ...]

    def __post_init__(self) -> None:
        check_identifier(self.name, "vector")
        check_distinct([array.name for array in self.fields], f"vector {self.name!r}")
