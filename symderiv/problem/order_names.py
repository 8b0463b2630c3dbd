"""Names that people use for the fields of a rule's state: Q, R, v, b, P, W, C, and the like."""

from __future__ import annotations

from symderiv.foundation.packing import families_of

_NAMES = {
    "student_overlap": "Q",
    "cross_overlap": "R",
    "momentum_overlap": "P",
    "momentum_square": "W",
    "momentum_cross": "C",
}


def order_name(field: str) -> str:
    """Return the name of an order parameter, as calls take it and runs hold it.

    Args:
        field: the field of the vectors of solver modules. Overlaps of what else is followed are
            named by the two families of vectors, as ``A.J``; other fields by their own names.
    """
    families = families_of(field) if field.startswith("overlap_") else ()
    return _NAMES.get(field) or ".".join(families) or field
