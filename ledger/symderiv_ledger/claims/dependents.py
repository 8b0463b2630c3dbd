"""Dependents of an equation: all claims that take something from it, directly or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from symderiv.foundation.errors import InputError
from symderiv_ledger.claims.claim import Claim, Paper, Use
from symderiv_ledger.claims.claim_graph import nearest, refuse_circles, targets


@dataclass(frozen=True)
class Fallen:
    """A claim that falls.

    Args:
        paper: Name of its paper.
        claim: The claim.
        steps: Least number of edges from it to the equation; 1 if it uses the equation itself.
        uses: Its edges to the equation and to other claims that fall.
    """

    paper: str
    claim: Claim
    steps: int
    uses: tuple[Use, ...]


def home_of(papers: Mapping[str, Paper], equation: str) -> str:
    """Return the paper that an equation, or a claim of that name, is in."""
    homes = [name for name, paper in papers.items() if _claims(paper, equation)]
    if not homes:
        claims = [claim for paper in papers.values() for claim in paper.claims]
        known = [name for claim in claims for name in (claim.equation, claim.name)]
        one = len(papers) == 1
        there = f"; it has {', '.join(dict.fromkeys(known))}" if one else ""
        hint = nearest(equation, known) or there
        who = f"{next(iter(papers))} has no" if one else "no paper of the library has a"
        raise InputError(f"{who} claim on {equation}{hint}")
    if len(homes) > 1:
        raise InputError(f"{equation} is in {' and in '.join(homes)}; name the paper")
    return homes[0]


def fallen(papers: Mapping[str, Paper], home: str, equation: str) -> list[Fallen]:
    """Return the claims that fall with an equation of a paper, or with the claim of that name.

    The nearest come first; at equal distance the order is that of papers and claims.

    Raises:
        InputError: A claim uses a claim that does not exist, or claims use each other in a circle.
    """
    refuse_circles({name: paper.claims for name, paper in papers.items()})
    edges = list(_edges(papers))
    steps = {(home, claim.name): 0 for claim in _claims(papers[home], equation)}
    for step in range(1, len(edges) + 1):
        reached = {at for at, _, to in edges if at not in steps and steps.keys() & to}
        if not reached:
            break
        steps |= dict.fromkeys(reached, step)
    dependents = [
        Fallen(
            name,
            claim,
            steps[name, claim.name],
            tuple(use for at, use, to in edges if at == (name, claim.name) and steps.keys() & to),
        )
        for name, paper in papers.items()
        for claim in paper.claims
        if steps.get((name, claim.name), 0) > 0
    ]
    return sorted(dependents, key=lambda one: one.steps)


def _edges(
    papers: Mapping[str, Paper],
) -> Iterator[tuple[tuple[str, str], Use, frozenset[tuple[str, str]]]]:
    """Yield every claim with each of its uses, and the claims that this ends at."""
    for name, paper in papers.items():
        for claim in paper.claims:
            for use in claim.uses:
                home = use.paper or name
                ends = targets(use, papers[home].claims, but=claim) if home in papers else []
                if not ends:
                    where = f"{name}, equation {claim.name}"
                    raise InputError(f"{where} uses {home}: {use.target}, which is not there")
                yield (name, claim.name), use, frozenset((home, one.name) for one in ends)


def _claims(paper: Paper, equation: str) -> list[Claim]:
    return [claim for claim in paper.claims if equation in (claim.equation, claim.name)]
