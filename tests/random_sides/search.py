"""Every claim that is counted as verified, with random functions in place of its sides."""

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from symderiv_ledger.claims.claim import Claim, ComparisonRule, Point, Tested
from symderiv_ledger.claims.statement import Relation, parse_ranges, parse_statement
from symderiv_ledger.papers.verify import arithmetic_of
from symderiv_ledger.rules.arithmetic import evaluate, extended, index_values
from symderiv_ledger.rules.comparison_rules import (
    Bound,
    Converges,
    Exact,
    Measured,
    Within,
    WithinErrorBars,
    pairs,
)

from random_sides.draws import ANY, LARGE, SMALL, quantities_of, random_values, randomised
from random_sides.laws import Law, law_of
from random_sides.texts import same_formula
from symderiv.foundation.errors import SymderivError

__all__ = ["Answer", "answer", "counted"]

#: Draws of each kind: a claim is true by construction if it holds in all that have a value.
_DRAWS: Final = (SMALL, ANY, SMALL, LARGE) * 4
#: So many draws without a value, and there is none.
_PATIENCE: Final = 5
_NO_VALUE: Final = (SymderivError, ArithmeticError, ValueError, TypeError, AttributeError, KeyError)
#: Parameters of an expansion, where a rule asks for them.
_PARAMETERS: Final = (0.1, 0.01, 0.001)

Values = Mapping[str, Any]
_Way = Callable[[Claim, Relation, "Law | None", int, Any, str], Iterator[Point]]


@dataclass(frozen=True)
class Answer:
    """What became of a claim.

    Args:
        kind: "depends" (it fails for random functions), "any quantities" (it holds for all),
            "same formula" (both sides are one text), "step" (an identity between two prints, whose
            texts differ: what it says is the algebra), "same number" (two names for one number,
            to the last bit at every point), or "no value" (no draw could be evaluated).
        words: More of it.
    """

    kind: str
    words: str = ""

    @property
    def is_construction(self) -> bool:
        """True whatever the quantities are."""
        return self.kind in ("any quantities", "same formula", "same number")


def counted(claims: Iterable[Claim]) -> Iterator[Claim]:
    """The claims that count as verified: with a statement, and no definitions."""
    for claim in claims:
        if claim.statement and not claim.definition and not claim.not_checkable:
            yield claim


def answer(paper: str, claim: Claim) -> Answer:
    """Try a claim's true statement with random functions for all that its points supply."""
    statement = parse_statement(claim.corrected or claim.statement)
    if same_formula(statement):
        return Answer("same formula")
    if not quantities_of(statement, claim.ranges):
        return Answer("step", "it has printed numbers only: what it says is the arithmetic")
    held, reason = _held(claim, statement, None)
    if held and claim.given:
        return Answer("step", "an identity between two prints that are written differently")
    law = law_of(paper, claim)
    if not held and law is not None:
        held, reason = _held(claim, statement, law)
    if held is None:
        return Answer("no value", reason)
    if not held:
        return Answer("same number" if _is_one_number(claim, statement) else "depends")
    if claim.corrected and not _held(claim, parse_statement(claim.statement), law)[0]:
        return Answer("step", "the print is refuted whatever its quantities are")
    return Answer("any quantities")


def _held(claim: Claim, statement: Relation, law: Law | None) -> tuple[bool | None, str]:
    """Whether a statement holds in all draws that have a value; None and why if none has one."""
    rules = [claim.rule, Exact(digits=20)] if _is_numeric(claim.rule) else [Exact(digits=20)]
    ways = [_inferred, _as_at_points] if law is None else [_inferred]
    if law is None and (getattr(claim.rule, "relative_to", "") or _has_matrices(statement)):
        ways = [_as_at_points]
    reason = ""
    for way, rule in itertools.product(ways, rules):
        assert rule is not None
        held, reason = _tried(claim, statement, law, way, rule)
        if held is not None:
            return held, ""
    return None, reason


def _is_one_number(claim: Claim, statement: Relation) -> bool:
    """Whether all sides are names or entries that are equal to the last bit, and no integers.

    What is computed in two ways differs in its last bits somewhere, unless it is a whole number.
    """
    plain = all(isinstance(side, ast.Name | ast.Subscript) for side in statement.sides)
    equations = all(isinstance(relation, ast.Eq) for relation in statement.relations)
    if claim.corrected or claim.thorough or not plain or not equations:
        return False
    assert claim.points is not None
    assert claim.rule is not None
    sizes = set()
    with arithmetic_of(claim.rule) as numbers:
        for point in claim.points(numbers):
            for pair in pairs(statement, claim.ranges, point, numbers):
                if isinstance(pair.left, Measured) or isinstance(pair.right, Measured):
                    return False
                if pair.left != pair.right:
                    return False
                sizes.add(float(abs(pair.left)))
    return any(not size.is_integer() for size in sizes)


def _has_matrices(statement: Relation) -> bool:
    """Whether names may stand for matrices, which numbers in their place would commute with."""
    functions = {"transpose", "inverse", "trace", "det", "kron", "expm", "Matrix", "Vector"}
    nodes = list(ast.walk(statement.tree))
    return any(isinstance(node, ast.MatMult) for node in nodes) or any(
        isinstance(node, ast.Call) and ast.unparse(node.func) in functions for node in nodes
    )


def _is_numeric(rule: ComparisonRule | None) -> bool:
    """Whether anything can be drawn in the rule's own arithmetic."""
    known = isinstance(rule, Exact | Within | Converges | WithinErrorBars | Bound)
    return known and rule.backend in ("mpmath", "float64")


def _tried(
    claim: Claim, statement: Relation, law: Law | None, way: _Way, rule: ComparisonRule
) -> tuple[bool | None, str]:
    held, reason = None, ""
    with arithmetic_of(rule) as numbers:
        for draw, kind in enumerate(_DRAWS):
            try:
                points = list(way(claim, statement, law, 100 * draw, numbers, kind))
                tested = rule.test(statement, claim.ranges, points, numbers)
                _refuse_undefined(tested)
            except _NO_VALUE as error:
                reason = f"{type(error).__name__}: {error}"
                if held is None and draw >= _PATIENCE:
                    break
                continue
            if not tested.passed:
                return False, ""
            held = True
    return held, reason


def _refuse_undefined(tested: Tested) -> None:
    """A side outside of a function's domain has no value: that refutes nothing."""
    sides = tested.counterexample or {}
    if {"nan", "+inf", "-inf", "inf"} & {sides.get("left"), sides.get("right")}:
        raise ValueError(f"a side has no value: {tested.summary}")


def _inferred(
    claim: Claim, statement: Relation, law: Law | None, seed: int, numbers: Any, kind: str
) -> Iterator[Point]:
    """Names of the kinds that follow from the statement."""
    parameters = _PARAMETERS if isinstance(claim.rule, Converges) else (None,)
    for place, parameter in enumerate(parameters):
        values = random_values(claim, statement, seed + place, numbers, kind)
        if law is not None:
            values = law(values, seed + place, numbers)
        yield Point("drawn", values, parameter)


def _as_at_points(
    claim: Claim, statement: Relation, law: Law | None, seed: int, numbers: Any, kind: str
) -> Iterator[Point]:
    """Names of the kinds that they have at the claim's first points."""
    assert claim.points is not None
    few = len(_PARAMETERS) if isinstance(claim.rule, Converges) else 1
    for place, point in enumerate(itertools.islice(claim.points(numbers), few)):
        values = randomised(claim, statement, point.values, seed + place, numbers, kind)
        values = _with_scales(claim, statement, values, point.values, numbers)
        parameter = None if point.parameter is None else _PARAMETERS[place]
        yield Point("drawn", values, parameter)


def _with_scales(
    claim: Claim, statement: Relation, values: Values, known: Values, numbers: Any
) -> Values:
    """What a rule compares differences with, as large beside a side of order one as it is there."""
    name = getattr(claim.rule, "relative_to", "")
    if not name:
        return values
    indices = next(iter(index_values(parse_ranges(claim.ranges), known)))
    side = evaluate(statement.sides[0], extended(known, indices), numbers)
    return {**values, name: known[name] / abs(side)}
