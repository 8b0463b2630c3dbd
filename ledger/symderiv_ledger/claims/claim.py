"""Claims of papers: a printed formula, its meaning as a statement, and the points for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from symderiv.precision.balls.contexts import Numbers
from symderiv_ledger.claims.statement import Relation

#: All verdicts, as the commands show them.
VERDICTS: Final = ("holds", "approximate", "misprint", "false", "definition", "not-checkable")

#: How much a verdict's evidence is worth, the strongest first; each rule says which it gives.
TIERS: Final = {
    "proved": "an identity of expressions, by computer algebra",
    "enclosed": "both sides enclosed in balls at points: that they differ is proved",
    "digits": "both sides agree, or do not, to many digits at points",
    "order": "the error falls with a measured power of a small parameter",
    "tolerance": "both sides agree within a stated tolerance at points",
    "Monte Carlo": "a simulation agrees, or does not, within standard errors",
}


@dataclass(frozen=True)
class Point:
    """One case in which a statement is tried.

    Args:
        label: What the case is, in words and numbers, e.g. ``"K = 3, M = 2, eta = 0.7"``.
        values: What the names of the statement stand for; a lazy mapping is computed as needed.
        parameter: The small parameter of an expansion, where the rule asks for one.
        series: Points of the same series differ in the parameter only.
    """

    label: str
    values: Mapping[str, Any]
    parameter: float | None = None
    series: str = ""


@dataclass(frozen=True)
class Tested:
    """The outcome of a statement at points.

    Args:
        passed: Whether the statement holds at the points, by the rule.
        points: How many points were used (a failure may end the test early).
        largest_error: Largest relative difference of the two sides; None if it was not measured.
        summary: What was found, one sentence.
        counterexample: ``{"point", "left", "right"}`` of the first failure.
        details: Further measured numbers, as texts (an order of convergence, error bars).
    """

    passed: bool
    points: int
    largest_error: float | None
    summary: str
    counterexample: Mapping[str, str] | None = None
    details: Mapping[str, str] = field(default_factory=dict)


class ComparisonRule(Protocol):
    """The way in which a statement is tested at points: exactly, as an expansion, within a
    tolerance.

    Attributes:
        kind: Name of the evidence, e.g. ``"numbers"``, ``"convergence"``.
        verdict: Verdict on a statement that passes: ``"holds"`` or ``"approximate"``.
        tier: Strength of its evidence: one of :data:`TIERS`.
        digits: The number of digits to compute with.
        backend: The arithmetic: a back end of :mod:`symderiv.precision.balls.contexts`, or
            ``"sympy"``.
    """

    @property
    def kind(self) -> str: ...
    @property
    def verdict(self) -> str: ...
    @property
    def tier(self) -> str: ...
    @property
    def digits(self) -> int: ...
    @property
    def backend(self) -> str: ...

    def test(
        self, statement: Relation, ranges: str, points: Iterable[Point], numbers: Numbers
    ) -> Tested:
        """Try a statement at points, up to the first failure that decides."""

    def overturned_by(self, points: int, *, ordered: bool) -> str:
        """Return words, without a full stop, for what would overturn a statement that passed.

        It passed at ``points`` points; ``ordered`` says that all its relations are inequalities.
        """


@dataclass(frozen=True)
class Use:
    """One claim's use of another: if that one falls, this one does.

    Args:
        target: Name of the other claim, or an equation with all claims about it.
        reason: What is taken, in words.
        paper: Where the target is; empty: in the same paper.
    """

    target: str
    reason: str
    paper: str = ""


@dataclass(frozen=True)
class Conventions:
    """The convention under which the points of a claim are computed, and the others possible.

    Args:
        assumed: The assumptions in words.
        points: The points under each convention, by the convention in words.
    """

    assumed: str
    points: Mapping[str, Callable[[Any], Iterable[Point]]]


@dataclass(frozen=True)
class Accusation:
    """Remarks that fairness demands of a claim that calls a formula of public code wrong.

    Args:
        reached: Through which entry point of the program it is reached, or why it is not.
        meant: In which limit or convention it is meant.
        changes: What changes in a published result.
        noted: Why it does not count; empty if it does.
    """

    reached: str
    meant: str
    changes: str
    noted: str = ""


@dataclass(frozen=True)
class Claim:
    """One checked statement of a paper.

    Args:
        equation: As printed, e.g. ``"18"``, ``"S41"``; unnumbered ones as ``"after 40"``.
        statement: The meaning of the print; empty if there is nothing that can be computed.
        points: A function that takes the arithmetic and returns the points. Their values come from
            the engine or from first principles, never from the paper.
        rule: The rule that decides at the points.
        ranges: Free indices, e.g. ``"i = 1..K, n = 1..M"``.
        part: Which of several formulas under one number, e.g. ``"Q"``.
        printed: The display this claim is about, counted from 0 among those under the number.
        regime: Where the print says that it holds, and where it was tried, in words.
        corrected: The right statement, where the printed one fails.
        note: What is wrong with the print and what is true instead, in words.
        given: The statement that a step of a chain takes as given.
        definition: The print defines something; a statement, if any, says that the engine's own
            quantity is the same.
        not_checkable: Why nothing can be computed.
        symmetric, equal, diagonal: Names whose two indices may be exchanged, pairs of names with
            one value (K and M), and diagonal matrices, for proofs that mutants are equivalent.
        thorough: The claim needs minutes (simulations); tried with ``--thorough`` only.
        reading: ``"printed"`` or ``"reconstructed"``; empty: that of the equation's print.
        where: What names of the statement stand for that the paper does not print, in words.
        in_words: The paper says it in words: if it fails it is false, however little is to be
            changed in the statement.
        rests_on: What its true values come from where that is not the engine: a definition, first
            principles with the method named, data. ``tests/foundations`` finds which claims do not
            rest on the engine; these must say what they rest on.
        uses: Other claims that this one takes something from; ``claim_graph`` finds them.
        tried_at: Where the points come from, as text: ``"package.module.name(count=3)"``, or the
            keys of a reference; empty if there are none.
        accusation: That of a claim that corrects public code.
        conventions: Where the points are those of one convention of several; tried where the print
            fails without a correction.
    """

    equation: str
    statement: str = ""
    points: Callable[[Any], Iterable[Point]] | None = None
    rule: ComparisonRule | None = None
    ranges: str = ""
    part: str = ""
    printed: int | None = None
    regime: str = ""
    corrected: str = ""
    note: str = ""
    given: str = ""
    definition: bool = False
    not_checkable: str = ""
    symmetric: tuple[str, ...] = ()
    equal: tuple[tuple[str, str], ...] = ()
    diagonal: tuple[str, ...] = ()
    thorough: bool = False
    reading: str = ""
    where: str = ""
    in_words: bool = False
    rests_on: str = ""
    uses: tuple[Use, ...] = ()
    tried_at: str = ""
    accusation: Accusation | None = None
    conventions: Conventions | None = None

    @property
    def name(self) -> str:
        """Equation and part, e.g. ``"18 Q"``."""
        return f"{self.equation} {self.part}".strip()


@dataclass(frozen=True)
class Code:
    """The place of a formula in public code.

    Args:
        repository: Owner and name.
        commit: The commit in full.
        licence: The licence of the repository, ``"none stated"`` where it names none.
        file: Path in the repository.
        lines: Which lines, e.g. ``"88-104"``, or which ``"cell 4"`` of a notebook.
    """

    repository: str
    commit: str
    licence: str
    file: str = ""
    lines: str = ""

    @property
    def text(self) -> str:
        """The place in words, e.g. ``"a/b at 0123456, c.py, lines 1-2 (MIT)"``."""
        lines = f"lines {self.lines}" if self.lines[:1].isdigit() else self.lines
        place = ", ".join(filter(None, (self.file, lines)))
        return f"{self.repository} at {self.commit[:7]}, {place} ({self.licence})"


@dataclass(frozen=True)
class Printed:
    """The displays under one equation number, exactly as the paper prints them.

    Args:
        latex: One text per display.
        reading: ``"printed"``, or ``"reconstructed"`` where the source could not be read surely.
        section: Where in the paper.
        code: The place of the formula if it is public code, which has no LaTeX.
    """

    latex: tuple[str, ...]
    reading: str = "printed"
    section: str = ""
    code: Code | None = None


@dataclass(frozen=True)
class Paper:
    """A paper with its claims.

    Args:
        name: As ``symderiv verify`` knows it.
        title: Authors, title, year, where it appeared.
        printed: The printed form of each equation, in the paper's order.
        claims: All claims, in the paper's order.
        sources: The file of each claim, by the name of the claim.
    """

    name: str
    title: str
    printed: Mapping[str, Printed]
    claims: tuple[Claim, ...]
    sources: Mapping[str, str] = field(default_factory=dict)

    def about(self, equation: str) -> list[Claim]:
        """Return the claims on an equation, or the one of that name."""
        return [claim for claim in self.claims if equation in (claim.equation, claim.name)]
