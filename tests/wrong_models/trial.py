"""A claim with another model put in the place of its own: does the claim's rule reject it?"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from symderiv_ledger.claims.claim import Claim, Point
from symderiv_ledger.claims.statement import parse_statement
from symderiv_ledger.papers.known_papers import paper
from symderiv_ledger.papers.verify import arithmetic_of

import wrong_models.central
from symderiv.foundation.errors import SymderivError

__all__ = ["Central", "Found", "WrongModel", "central_claims", "tried", "tried_right"]


@dataclass(frozen=True)
class WrongModel:
    """A model that is wrong on purpose, in place of that of a claim.

    Args:
        words: What is wrong with it, a few words.
        instead: Per part of the claim's statement, with the spaces that ``claim.statement`` and
            the ledger write (``a * b[i, j]``), what replaces it everywhere there.
        points: Makes the points with quantities of the wrong model under the names of the right
            one; by default the claim's own points are taken.
    """

    words: str
    instead: Mapping[str, str] = field(default_factory=dict)
    points: Callable[[Any], Iterable[Point]] | None = None

    def statement(self, claim: Claim) -> str:
        """The true statement of a claim with the replacements.

        Raises:
            ValueError: The statement does not have a part that is to be replaced.
        """
        text = _true_statement(claim)
        for part, other in self.instead.items():
            if part not in text:
                raise ValueError(f"{claim.name}: there is no {part!r} in {text!r}")
            text = text.replace(part, other)
        return text


@dataclass(frozen=True)
class Central:
    """A claim that a paper stands or falls with.

    Args:
        paper: Name of the paper.
        claim: Name of the claim.
        why: The sentence of the abstract, in own words, that the claim is the content of.
        wrong: At least ten wrong models.
    """

    paper: str
    claim: str
    why: str
    wrong: tuple[WrongModel, ...]

    def found(self) -> Claim:
        """The claim.

        Raises:
            ValueError: The paper has no claim of that name, or it cannot be computed.
        """
        for claim in paper(self.paper).claims:
            if claim.name == self.claim and claim.statement:
                return claim
        raise ValueError(f"{self.paper} has no claim {self.claim!r} with a statement")


@dataclass(frozen=True)
class Found:
    """What a claim's rule says of a model.

    Args:
        rejected: Does the statement fail?
        summary: In words; why nothing could be computed where ``computed`` is false.
        computed: False if the model stopped with an error, which rejects nothing.
    """

    rejected: bool
    summary: str
    computed: bool = True


def central_claims() -> Iterator[Central]:
    """All registered claims, by module in alphabetical order."""
    places = wrong_models.central.__path__
    for name in sorted(module.name for module in pkgutil.iter_modules(places)):
        yield from importlib.import_module(f"wrong_models.central.{name}").CENTRAL


def tried_right(central: Central) -> Found:
    """The claim with its own model, which must not be rejected."""
    claim = central.found()
    return _tried(claim, _true_statement(claim), claim.points)


def tried(central: Central, wrong: WrongModel) -> Found:
    """The claim with a wrong model, which must be rejected."""
    claim = central.found()
    return _tried(claim, wrong.statement(claim), wrong.points or claim.points)


def _true_statement(claim: Claim) -> str:
    return claim.corrected or claim.statement


def _tried(claim: Claim, statement: str, points: Callable[[Any], Iterable[Point]] | None) -> Found:
    assert claim.rule is not None
    assert points is not None
    parsed = parse_statement(statement)
    try:
        with arithmetic_of(claim.rule) as numbers:
            tested = claim.rule.test(parsed, claim.ranges, points(numbers), numbers)
    except (SymderivError, ArithmeticError, ValueError, TypeError, KeyError) as error:
        return Found(False, f"{type(error).__name__}: {error}", computed=False)
    return Found(not tested.passed, tested.summary)
