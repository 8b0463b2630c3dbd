"""All cases of the gate, refusals and their nearest neighbours one after the other."""

from silent_errors import integrals, learning, means, studies
from silent_errors.gate import Case, Pair, Returns


def _flat(rows: list[Case | Pair]) -> list[Case]:
    found = []
    for row in rows:
        found += [row.refused, row.nearest] if isinstance(row, Pair) else [row]
    return found


def _different(cases: list[Case]) -> list[Case]:
    """Every call once: many refusals have the same neighbour."""
    found: dict[tuple[object, ...], Case] = {}
    for case in cases:
        at = case.outcome.at if isinstance(case.outcome, Returns) else ""
        asked = at if isinstance(at, str) else id(at)
        found.setdefault((case.words, str(case.files), asked), case)
    return list(found.values())


ROOMS = (means, integrals, learning, studies)
CASES = _different([case for room in ROOMS for case in _flat(room.CASES)])
