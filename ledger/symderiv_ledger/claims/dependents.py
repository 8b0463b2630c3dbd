"""Dependents of an equation: all claims that take something from it, directly or not."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from symderiv.foundation.errors import InputError
from symderiv.foundation.nearest import did_you_mean
from symderiv_ledger.claims.claim import Claim, Paper, Use
from symderiv_ledger.claims.claim_graph import edges, refuse_circles


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
    homes = [name for name, paper in papers.items() if paper.about(equation)]
    if not homes:
        claims = [claim for paper in papers.values() for claim in paper.claims]
        known = [name for claim in claims for name in (claim.equation, claim.name)]
        one = len(papers) == 1
        there = f"; it has {', '.join(dict.fromkeys(known))}" if one else ""
        hint = did_you_mean(equation, known) or there
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
    claims = {name: paper.claims for name, paper in papers.items()}
    refuse_circles(claims)
    all_edges = list(edges(claims))
    for (at_home, name), use, to in all_edges:
        if not to:
            there = f"{use.paper or at_home}: {use.target}"
            raise InputError(f"{at_home}, equation {name} uses {there}, which is not there")
    steps = {(home, claim.name): 0 for claim in papers[home].about(equation)}
    for step in itertools.count(1):
        reached = {at for at, _, to in all_edges if at not in steps and steps.keys() & to}
        if not reached:
            break
        steps |= dict.fromkeys(reached, step)
    dependents = []
    for name, paper in papers.items():
        for claim in paper.claims:
            place = name, claim.name
            if steps.get(place):
                uses = (use for at, use, to in all_edges if at == place and steps.keys() & to)
                dependents.append(Fallen(name, claim, steps[place], tuple(uses)))
    return sorted(dependents, key=lambda one: one.steps)
