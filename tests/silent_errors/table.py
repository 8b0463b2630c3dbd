"""All cases of the gate, refusals and their nearest neighbours one after the other."""

from __future__ import annotations

from silent_errors import integrals, learning, means
from silent_errors.gate import Case, Pair


def _flat(rows: list[Case | Pair]) -> list[Case]:
    found = []
    for row in rows:
        found += [row.refused, row.nearest] if isinstance(row, Pair) else [row]
    return list({id(case): case for case in found}.values())


CASES = [case for room in (means, integrals, learning) for case in _flat(room.CASES)]
