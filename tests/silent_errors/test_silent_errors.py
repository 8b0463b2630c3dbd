"""No silent error at the edges: a case of five of the gate, other ones every day.

``make silent-errors`` runs all of them.
"""

import pytest
from support.rotating import is_today

from silent_errors.gate import Case, run
from silent_errors.table import CASES

#: In fives that follow each other: cases beside each other share what is derived.
TODAY = [case for place, case in enumerate(CASES) if is_today(place // 5, 5) or case.known]


def _marked(case: Case) -> object:
    marks = [pytest.mark.xfail(reason=case.known, strict=True)] if case.known else []
    return pytest.param(case, id=case.name, marks=marks)


@pytest.mark.parametrize("case", [_marked(case) for case in TODAY])
def test_the_answer_is_right_or_refused(case: Case) -> None:
    outcome = run(case)
    assert not outcome.silent, f"silent: {outcome.silent} (evidence: {case.evidence})"
    assert not outcome.failure, f"{outcome.failure} (evidence: {case.evidence})"


def test_the_gate_is_as_wide_as_promised() -> None:
    assert len(CASES) >= 250
    assert all(case.evidence for case in CASES)
    assert {type(case.outcome).__name__ for case in CASES} >= {"Raises", "Returns", "RefusesOr"}
