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
    """One case in which a statement is tried."""

    label: str  # what the case is, in words and numbers, e.g. ``"K = 3, M = 2, eta = 0.7"``
    # what the names of the statement stand for; a lazy mapping is computed as needed
    values: Mapping[str, Any]
    # the small parameter of an expansion, where the rule asks for one
    parameter: float | None = None
    series: str = ""  # points of the same series differ in the parameter only


@dataclass(frozen=True)
class Tested:
    """The outcome of a statement at points."""

    passed: bool  # whether the statement holds at the points, by the rule
    points: int  # how many points were used (a failure may end the test early)
    # largest relative difference of the two sides; None if it was not measured
    largest_error: float | None
    summary: str  # what was found, one sentence
    # ``{"point", "left", "right"}`` of the first failure
    counterexample: Mapping[str, str] | None = None
    # further measured numbers, as texts (an order of convergence, error bars)
    details: Mapping[str, str] = field(default_factory=dict)


class ComparisonRule(Protocol):
    """The way in which a statement is tested at points: exactly, as an expansion, or roughly."""

    @property
    def kind(self) -> str: ...  # name of the evidence, e.g. ``"numbers"``, ``"convergence"``
    @property
    def verdict(self) -> str: ...  # on a statement that passes: ``"holds"`` or ``"approximate"``
    @property
    def tier(self) -> str: ...  # strength of its evidence: one of :data:`TIERS`
    @property
    def digits(self) -> int: ...  # the number of digits to compute with
    @property
    def backend(self) -> str: ...  # one of :mod:`symderiv.precision.balls.contexts`, or ``"sympy"``

    def test(
        self, statement: Relation, ranges: str, points: Iterable[Point], numbers: Numbers
    ) -> Tested:
        """Try a statement at points, up to the first failure that decides."""

    def overturned_by(self, points: int, *, ordered: bool) -> str:
        """Return words for what would overturn a statement that passed at so many points.

        ``ordered`` says that all its relations are inequalities.
        """


@dataclass(frozen=True)
class Use:
    """One claim's use of another: if that one falls, this one does."""

    target: str  # name of the other claim, or an equation with all claims about it
    reason: str  # what is taken, in words
    paper: str = ""  # where the target is; empty: in the same paper


@dataclass(frozen=True)
class Conventions:
    """The convention under which the points of a claim are computed, and the others possible."""

    assumed: str  # the assumptions in words
    # the points under each convention, by the convention in words
    points: Mapping[str, Callable[[Any], Iterable[Point]]]


@dataclass(frozen=True)
class Accusation:
    """Remarks that fairness demands of a claim that calls a formula of public code wrong."""

    reached: str  # through which entry point of the program it is reached, or why it is not
    meant: str  # in which limit or convention it is meant
    changes: str  # what changes in a published result
    noted: str = ""  # why it does not count; empty if it does


@dataclass(frozen=True)
class Claim:
    """One checked statement of a paper."""

    equation: str  # as printed, e.g. ``"18"``, ``"S41"``; unnumbered ones as ``"after 40"``
    statement: str = ""  # the meaning of the print; empty if there is nothing that can be computed
    # A function that takes the arithmetic and returns the points. Their values come from the engine
    # or from first principles, never from the paper.
    points: Callable[[Any], Iterable[Point]] | None = None
    rule: ComparisonRule | None = None  # the rule that decides at the points
    ranges: str = ""  # free indices, e.g. ``"i = 1..K, n = 1..M"``
    part: str = ""  # which of several formulas under one number, e.g. ``"Q"``
    # the display this claim is about, counted from 0 among those under the number
    printed: int | None = None
    regime: str = ""  # where the print says that it holds, and where it was tried, in words
    corrected: str = ""  # the right statement, where the printed one fails
    note: str = ""  # what is wrong with the print and what is true instead, in words
    given: str = ""  # the statement that a step of a chain takes as given
    # the print defines something; a statement, if any, says that the engine's own quantity is the
    # same
    definition: bool = False
    not_checkable: str = ""  # why nothing can be computed
    # names whose two indices may be exchanged, pairs of names with one value (K and M), and
    # diagonal matrices, for proofs that mutants are equivalent
    symmetric: tuple[str, ...] = ()
    equal: tuple[tuple[str, str], ...] = ()
    diagonal: tuple[str, ...] = ()
    thorough: bool = False  # the claim needs minutes (simulations); tried with ``--thorough`` only
    reading: str = ""  # ``"printed"`` or ``"reconstructed"``; empty: that of the equation's print
    where: str = ""  # what names of the statement stand for that the paper does not print, in words
    # the paper says it in words: if it fails it is false, however little is to be changed in the
    # statement
    in_words: bool = False
    # what its true values come from where that is not the engine: a definition, first principles
    # with the method named, data. ``tests/foundations`` finds which claims do not rest on the
    # engine; these must say what they rest on.
    rests_on: str = ""
    # other claims that this one takes something from; ``claim_graph`` finds them
    uses: tuple[Use, ...] = ()
    # where the points come from, as text: ``"package.module.name(count=3)"``, or the keys of a
    # reference; empty if there are none
    tried_at: str = ""
    accusation: Accusation | None = None  # that of a claim that corrects public code
    # where the points are those of one convention of several; tried where the print fails without a
    # correction
    conventions: Conventions | None = None

    @property
    def name(self) -> str:
        """Equation and part, e.g. ``"18 Q"``."""
        return f"{self.equation} {self.part}".strip()


@dataclass(frozen=True)
class Code:
    """The place of a formula in public code."""

    repository: str  # owner and name
    commit: str  # the commit in full
    licence: str  # the licence of the repository, ``"none stated"`` where it names none
    file: str = ""  # path in the repository
    lines: str = ""  # which lines, e.g. ``"88-104"``, or which ``"cell 4"`` of a notebook

    @property
    def text(self) -> str:
        """The place in words, e.g. ``"a/b at 0123456, c.py, lines 1-2 (MIT)"``."""
        lines = f"lines {self.lines}" if self.lines[:1].isdigit() else self.lines
        place = ", ".join(filter(None, (self.file, lines)))
        return f"{self.repository} at {self.commit[:7]}, {place} ({self.licence})"


@dataclass(frozen=True)
class Printed:
    """The displays under one equation number, exactly as the paper prints them."""

    latex: tuple[str, ...]  # one text per display
    # ``"printed"``, or ``"reconstructed"`` where the source could not be read surely
    reading: str = "printed"
    section: str = ""  # where in the paper
    code: Code | None = None  # the place of the formula if it is public code, which has no LaTeX


@dataclass(frozen=True)
class Paper:
    """A paper with its claims."""

    name: str  # as ``symderiv verify`` knows it
    title: str  # authors, title, year, where it appeared
    printed: Mapping[str, Printed]  # the printed form of each equation, in the paper's order
    claims: tuple[Claim, ...]  # all claims, in the paper's order
    # the file of each claim, by the name of the claim
    sources: Mapping[str, str] = field(default_factory=dict)

    def about(self, equation: str) -> list[Claim]:
        """Return the claims on an equation, or the one of that name."""
        return [claim for claim in self.claims if equation in (claim.equation, claim.name)]
