"""Tier of a verdict, and what would overturn it; both follow from the rule."""

from __future__ import annotations

import ast

from symderiv_ledger.claims.statement import Relation, parse_statement
from symderiv_ledger.papers.verify import Finding

__all__ = ["overturned_by", "tier"]


def tier(finding: Finding) -> str:
    """Return one of :data:`~symderiv_ledger.claims.claim.TIERS`; empty if nothing was computed."""
    rule = finding.claim.rule
    return rule.tier if rule is not None and finding.printed is not None else ""


def overturned_by(finding: Finding) -> str:
    """Return what would overturn a verdict, in words without a full stop; empty if there is none.

    A print that failed is cleared by its counterexample alone; what is said to be true instead
    falls like a print that passed.
    """
    claim, printed = finding.claim, finding.printed
    if claim.rule is None or printed is None or finding.verdict == "unsettled":
        return ""
    if printed.passed:
        ordered = _ordered(parse_statement(claim.statement))
        return claim.rule.overturned_by(printed.points, ordered=ordered)
    cleared = "the print's failure: a value of its sides, which have none"
    if printed.counterexample is not None:
        cleared = "the print's failure: that its sides agree at the counterexample"
    if finding.corrected is None:
        return cleared
    ordered = _ordered(parse_statement(claim.corrected))
    corrected = claim.rule.overturned_by(finding.corrected.points, ordered=ordered)
    return f"{cleared}; the correction: {corrected}"


def _ordered(statement: Relation) -> bool:
    """Return whether no two of its entries are equal."""
    return not any(isinstance(relation, ast.Eq) for relation in statement.relations)
