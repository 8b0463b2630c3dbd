"""Verdicts: what the evidence says of a claim, and of the mutants of its statement.

A verdict is computed, never looked up. A printed statement that passes ``holds`` or is
``approximate``, as its rule says. One that fails is judged by its correction, which must itself
pass: if the two differ in small places only (an index, a sign, a factor, a range) the print has a
``misprint``, otherwise it is ``false``. A print that fails without a correction that passes is an
error of the claim, not a verdict. What cannot be computed at all is ``not-checkable``, with the
reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from symderiv.foundation.errors import FormulaError, SymderivError, ToleranceError
from symderiv.precision.balls.contexts import numbers
from symderiv_ledger.claims.claim import Claim, ComparisonRule, Paper, Point, Tested
from symderiv_ledger.claims.mutations import Mutant, mutants
from symderiv_ledger.claims.statement import Relation, parse_statement
from symderiv_ledger.formulas.differences import places
from symderiv_ledger.rules.arithmetic import OutOfRangeError
from symderiv_ledger.rules.equivalence import are_equivalent

#: The correction of a misprint changes at most so many places ...
MAX_PLACES: Final = 4
#: ... each with at most so many parts.
MAX_PARTS: Final = 7


class UnsettledError(ToleranceError):
    """Neither the printed formula nor a correction passes, although both sides can be computed.

    It comes with the evidence on the printed statement, then that on the corrected one.
    """

    def __init__(self, message: str, *evidence: Tested) -> None:
        super().__init__(message)
        self.printed, self.corrected = (*evidence, None, None)[:2]


@dataclass(frozen=True)
class MutantReport:
    """Outcomes of the mutants of one claim."""

    caught: int  # rejected at some point
    equivalent: tuple[Mutant, ...]  # proved to say the same as the original
    stillborn: int  # have no value (an index out of range), so that they need not be caught
    survivors: tuple[Mutant, ...]  # passed, without being proved equivalent

    @property
    def wanted(self) -> int:
        """Mutants that had to be caught."""
        return self.caught + len(self.survivors)


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim."""

    claim: Claim  # the claim
    verdict: str  # one of :data:`~symderiv_ledger.claims.claim.VERDICTS`
    printed: Tested | None = None  # evidence on the printed statement; None if it has none
    corrected: Tested | None = None  # evidence on the corrected statement; None if none was needed
    # what became of the mutants of the statement that passed; None if not asked for
    mutants: MutantReport | None = None
    reason: str = ""  # why nothing could be computed; empty if something was


def printed_of(paper: Paper, claim: Claim) -> tuple[str, ...]:
    """Return the displays that a claim is about as printed, or the statement if it is on code."""
    printed = paper.printed.get(claim.equation)
    if printed is None:
        return ()
    if printed.code is not None:
        return (claim.statement,) if claim.statement else ()
    return printed.latex if claim.printed is None else (printed.latex[claim.printed],)


def verify_claim(claim: Claim, *, with_mutants: bool = False) -> Finding:
    """Compute the verdict on a claim, and try all mutants of the statement that passed if asked to.

    It is ``not-checkable`` where a mean does not exist, digits are not reached, or a statement has
    no value in the arithmetic of its rule.

    Raises:
        UnsettledError: Neither the printed nor a corrected statement passes, a correction was given
            for a print that holds, or there is no statement.
    """
    if claim.not_checkable:
        return Finding(claim, "not-checkable", reason=claim.not_checkable)
    if not claim.statement:
        if not claim.definition:
            raise UnsettledError(f"equation {claim.name}: there is no statement to be checked")
        return Finding(claim, "definition")
    assert claim.points is not None, claim.name
    assert claim.rule is not None, claim.name
    try:
        with arithmetic_of(claim.rule) as arithmetic:
            points = list(claim.points(arithmetic))
            return _Trial(claim, claim.rule, points, arithmetic).finding(with_mutants)
    except UnsettledError:
        raise
    except SymderivError as error:
        return Finding(claim, "not-checkable", reason=f"it could not be computed: {error}")


@dataclass(frozen=True)
class _Trial:
    """A claim with the rule, the points and the arithmetic by which its statements are tried."""

    claim: Claim
    rule: ComparisonRule
    points: list[Point]
    arithmetic: Any

    def finding(self, with_mutants: bool) -> Finding:
        claim = self.claim
        true = statement = parse_statement(claim.statement)
        tested, corrected = self._of_print(), None
        if not tested.passed:
            true, corrected = self._correction(tested)
        elif claim.corrected:
            raise UnsettledError(
                f"equation {claim.name} has a correction, but the print passes", tested
            )
        report = self._mutants(true) if with_mutants else None
        if tested.passed:
            verdict = "definition" if claim.definition else self.rule.verdict
        else:
            sizes = [size for _, size in places(statement.tree, true.tree)]
            small = len(sizes) <= MAX_PLACES and all(size <= MAX_PARTS for size in sizes)
            verdict = "misprint" if small and not claim.in_words else "false"
        return Finding(claim, verdict, tested, corrected, report)

    def _test(self, statement: Relation) -> Tested:
        return self.rule.test(statement, self.claim.ranges, self.points, self.arithmetic)

    def _of_print(self) -> Tested:
        """Try a printed statement; it fails if it has no value as an index leaves its range."""
        try:
            return self._test(parse_statement(self.claim.statement))
        except OutOfRangeError as error:
            return Tested(False, 1, None, f"has no value: {error}")

    def _correction(self, tested: Tested) -> tuple[Relation, Tested]:
        name = self.claim.name
        if not self.claim.corrected:
            otherwise = self._under_other_conventions()
            raise UnsettledError(
                f"equation {name} {tested.summary}; there is no correction{otherwise}", tested
            )
        statement = parse_statement(self.claim.corrected)
        again = self._test(statement)
        if not again.passed:
            raise UnsettledError(
                f"the correction of equation {name} {again.summary}", tested, again
            )
        return statement, again

    def _under_other_conventions(self) -> str:
        """Return words on which other conventions the print holds or fails with."""
        if self.claim.conventions is None:
            return ""
        assumed = self.claim.conventions.assumed
        outcomes: dict[bool, list[str]] = {True: [], False: []}
        for words, points in self.claim.conventions.points.items():
            if words != assumed:
                with suppress(SymderivError):
                    other = replace(self, points=list(points(self.arithmetic)))
                    outcomes[other._of_print().passed].append(words)
        if held := " and with ".join(outcomes[True]):
            return f" (it fails with {assumed} and holds with {held}: see weights)"
        failed = ", with ".join(outcomes[False])
        return f" (it fails with {assumed}, and with {failed})" if failed else ""

    def _mutants(self, statement: Relation) -> MutantReport:
        claim = self.claim
        caught, stillborn = 0, 0
        equivalent: list[Mutant] = []
        survivors: list[Mutant] = []
        for mutant in mutants(statement, claim.ranges):
            try:
                passed = self._test(mutant.statement).passed
            except ToleranceError:
                passed = True  # an undecided mutant is not caught
            except (FormulaError, ValueError, TypeError, ArithmeticError):
                stillborn += 1
                continue
            if not passed:
                caught += 1
                continue
            names = claim.symmetric, claim.equal, claim.diagonal
            same = are_equivalent(statement, mutant.statement, *names)
            (equivalent if same else survivors).append(mutant)
        return MutantReport(caught, tuple(equivalent), stillborn, tuple(survivors))


@contextmanager
def arithmetic_of(rule: ComparisonRule) -> Iterator[Any]:
    if rule.backend == "sympy":
        yield _Expressions()
        return
    with numbers(rule.digits, rule.backend) as context:
        yield context


class _Expressions:
    """SymPy's functions under the names that statements use."""

    def __getattr__(self, name: str) -> Any:
        import sympy as sp

        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(sp, {"gammainc": "uppergamma", "mpf": "sympify"}.get(name, name))


def tier(finding: Finding) -> str:
    """Return the tier of a finding; empty if nothing was computed."""
    rule = finding.claim.rule
    return rule.tier if rule is not None and finding.printed is not None else ""


def overturned_by(finding: Finding) -> str:
    """Return what would overturn a verdict, in words without a full stop; empty if nothing.

    A print that failed is cleared only by an error in its counterexample; its correction is
    overturned like a print that passed.
    """
    claim, printed, corrected = finding.claim, finding.printed, finding.corrected
    if claim.rule is None or printed is None or finding.verdict == "unsettled":
        return ""
    cleared = "the print's failure: a value of its sides, which have none"
    if printed.counterexample is not None:
        cleared = "the print's failure: that its sides agree at the counterexample"
    statement, passed = claim.statement, printed
    if not printed.passed:
        if corrected is None:
            return cleared
        statement, passed = claim.corrected, corrected
    ordered = not any(isinstance(op, ast.Eq) for op in parse_statement(statement).relations)
    words = claim.rule.overturned_by(passed.points, ordered=ordered)
    return words if printed.passed else f"{cleared}; the correction: {words}"
