"""The result of a study in a terminal, and its comparison as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symderiv.foundation.documents.document import Paragraph, Part
from symderiv.show.pages.page import CRITERION, claims_summary, feature_table
from symderiv.show.plots.claims import Findings
from symderiv.show.plots.features import Agreement


def study_summary(title: str, found: Sequence[Findings]) -> Part:
    """Return the sentences and the table of plateaus and decays."""
    warnings = [
        Paragraph(f"warning  {warning}", tone="warning")
        for one in found
        for warning in one.case.curve.warnings
    ]
    return Part(title, (claims_summary(found), *warnings, feature_table(found)))


def agreement_json(found: Sequence[Findings]) -> dict[str, Any]:
    """Return the comparison of equations and simulation as JSON types.

    ``agrees`` is null if nothing was compared.
    """
    compared = [one.agreement for one in found if one.agreement is not None]
    cases = [
        _case_json(one.case.label, one.agreement) for one in found if one.agreement is not None
    ]
    return {
        "criterion": CRITERION,
        "agrees": all(one.agrees for one in compared) if compared else None,
        "cases": cases,
    }


def _case_json(label: str, found: Agreement) -> dict[str, Any]:
    return {
        "case": label,
        "runs": found.runs,
        "alpha": list(found.alpha),
        "deviations": list(found.deviations),
        "bound": found.bound,
        "within": found.within,
        "within_three": found.within_three,
        "times": len(found.deviations),
        "largest": found.largest,
        "root_mean_square": found.root_mean_square,
        "agrees": found.agrees,
    }
