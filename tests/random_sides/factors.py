"""Approximate claims with a side a third larger or a quarter smaller: their rules must notice."""

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from symderiv_ledger.claims.claim import Claim
from symderiv_ledger.claims.statement import Relation, copied, parse_statement
from symderiv_ledger.papers.verify import arithmetic_of
from symderiv_ledger.rules.comparison_rules import Converges, Within, WithinErrorBars

__all__ = ["FACTORS", "accepted_factors", "approximate"]

#: Numerators and denominators.
FACTORS: Final = ((4, 3), (3, 4))


def approximate(claims: Iterable[Claim]) -> Iterator[Claim]:
    """Claims with a tolerance whose true statement is an equation with a side that is not 0."""
    for claim in claims:
        if not claim.statement or not isinstance(claim.rule, Converges | Within | WithinErrorBars):
            continue
        statement = _true(claim)
        zero = any(ast.unparse(side) == "0" for side in statement.sides)
        if not zero and all(isinstance(relation, ast.Eq) for relation in statement.relations):
            yield claim


def accepted_factors(claim: Claim) -> list[str]:
    """Factors of the last side with which the claim's true statement passes as well."""
    assert claim.rule is not None
    assert claim.points is not None
    found = []
    with arithmetic_of(claim.rule) as numbers:
        points = list(claim.points(numbers))
        for above, below in FACTORS:
            changed = _multiplied(_true(claim), above, below)
            if claim.rule.test(changed, claim.ranges, points, numbers).passed:
                found.append(f"{above}/{below}")
    return found


def _true(claim: Claim) -> Relation:
    return parse_statement(claim.corrected or claim.statement)


def _multiplied(statement: Relation, above: int, below: int) -> Relation:
    tree = copied(statement.tree)
    factor = ast.BinOp(ast.Constant(above), ast.Div(), ast.Constant(below))
    tree.comparators[-1] = ast.BinOp(factor, ast.Mult(), tree.comparators[-1])
    return Relation.of_tree(tree)
