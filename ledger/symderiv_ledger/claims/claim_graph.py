"""The graph of a paper's claims: which claim uses which, read from their texts.

An edge has one of these reasons, which it states: the keys ``given`` (also for other parts of the
same equation), ``regime``, ``where`` or ``rests_on`` of the claim name an equation; its statement
has an abbreviation that an earlier claim equates with something; its statement has a quantity that
an earlier claim with points from the same module defines (``:=``); or its key ``uses`` lists the
other claim.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from symderiv.foundation.errors import InputError
from symderiv.foundation.nearest import did_you_mean
from symderiv_ledger.claims.claim import Claim, Paper, Use
from symderiv_ledger.claims.tables import uses_of

#: In keys of definitions: in place of a quantity's module, marks an abbreviation.
_STATED: Final = "(stated)"
_NUMBER: Final = r"\(?[A-Z]?\d+\)?"
_LIST: Final = re.compile(
    rf"(?<!see )\b(?:[Ee]quations?|Eqs?\.)\s+({_NUMBER}(?:(?:,? and |, | to ){_NUMBER})*)"
)
_ALONE: Final = re.compile(r"\b[A-Z]\d+\b")
#: Paper and name of a claim.
Place = tuple[str, str]
#: Texts of a claim that may name other equations, and how the reason of an edge begins then.
_TEXTS: Final = {
    "given": "given",
    "where": "in its quantities",
    "regime": "in its regime",
    "rests_on": "rests on",
}


@dataclass(frozen=True)
class Spoken:
    """The objects that the statement of a claim names, as it is written in its file."""

    calls: frozenset[str] = frozenset()  # abbreviations in it, and those that these call
    # abbreviations that are a whole side of it, but for the first side, which is what the others
    # are said to be equal to
    states: tuple[str, ...] = ()
    defines: str = ""  # the quantity that it defines; empty if it defines none
    names: frozenset[str] = frozenset()  # names of quantities in it: all but indices


def read_uses(table: Mapping[str, Any]) -> tuple[Use, ...]:
    """Return the uses that the key ``uses`` of a claim's table lists, with or without reasons."""
    value = uses_of(table, "uses")
    reasons = value if isinstance(value, dict) else dict.fromkeys(value, "")
    uses = []
    for name, reason in reasons.items():
        # "author-2024: 18" names a paper
        found = re.match(r"(?:([\w.-]+): )?", name)
        target = name[found.end() :] if found else name
        uses.append(Use(target, reason or "its file says so", (found and found[1]) or ""))
    return tuple(uses)


def with_uses(claims: Sequence[Claim], spoken: Mapping[str, Spoken]) -> tuple[Claim, ...]:
    """Return the claims of a paper with all that they use; entries of the key ``uses`` come first.

    Raises:
        InputError: The key ``uses`` names what is not there, or claims use each other in a circle.
    """
    equations = {claim.equation for claim in claims}
    linked = []
    homes: dict[Place, Claim] = {}
    for claim in claims:
        # claims that share a set of points share its uses, which may name one of them
        own = [use for use in claim.uses if use.paper or use.target != claim.name]
        for use in own:
            if not use.paper and not targets(use, claims, but=claim):
                hint = did_you_mean(use.target, [*equations, *(one.name for one in claims)])
                raise InputError(
                    f"equation {claim.name} uses {use.target!r}, which does not exist{hint}"
                )
        uses = [*own, *_named_in_texts(claim, claims)]
        whole = {use.target for use in uses}
        named = _named(claim, spoken.get(claim.name, Spoken()), homes)
        uses += [use for use, home in named if home.equation not in whole]
        # of several uses of one target the first is kept, which has the most explicit reason
        first = {(use.paper, use.target): use for use in reversed(uses)}
        linked.append(replace(claim, uses=tuple(first[key] for key in reversed(first))))
    refuse_circles({"": linked})
    return tuple(linked)


def _named_in_texts(claim: Claim, claims: Sequence[Claim]) -> Iterator[Use]:
    """Yield uses of equations that texts name, and in ``given`` of other parts of the same one."""
    equations = {one.equation for one in claims}
    for key, words in _TEXTS.items():
        text = getattr(claim, key)
        for number in mentioned(text, equations - {claim.equation}):
            yield Use(number, f"{words}: {text}")
    for one in claims:
        part = rf"(?<![\w^]){re.escape(one.part)}(?![\w^])"  # such as "A_4 as printed"
        other = one.equation == claim.equation and one.part and one.part != claim.part
        if other and re.search(part, claim.given):
            yield Use(one.name, f"given: {claim.given}")


def mentioned(text: str, equations: Collection[str]) -> Iterator[str]:
    """Yield equations that a text names: "equations 5 and 49", "Eq. (27)", "S38"; not "see ..."."""
    lists = " ".join(match[1] for match in _LIST.finditer(text))
    numbers = [*re.findall(r"[A-Z]?\d+", lists), *_ALONE.findall(text)]
    yield from (number for number in dict.fromkeys(numbers) if number in equations)


def _named(claim: Claim, said: Spoken, homes: dict[Place, Claim]) -> Iterator[tuple[Use, Claim]]:
    """Yield uses of claims that state or define names of a claim; then add its own to ``homes``.

    An abbreviation belongs to the claim that states it first, a quantity to the one that defined it
    last among claims whose points come from the same module.
    """
    module = claim.tried_at.partition("(")[0].rpartition(".")[0] or claim.tried_at
    named = {(_STATED, name): "stated" for name in sorted(said.calls)}
    named |= {(module, name): "defined" for name in sorted(said.names - {said.defines})}
    for at, word in named.items():
        home = homes.get(at)
        if home is not None and home.equation != claim.equation:
            yield Use(home.name, f"{at[1]} in its statement is {word} there"), home
    for name in said.states:
        homes.setdefault((_STATED, name), claim)
    if said.defines:
        homes[module, said.defines] = claim


def targets(use: Use, claims: Iterable[Claim], *, but: Claim | None = None) -> list[Claim]:
    """Return those of the given claims, from the paper of a use, that the use refers to."""
    return [one for one in claims if use.target in (one.name, one.equation) and one is not but]


def edges(papers: Mapping[str, Sequence[Claim]]) -> Iterator[tuple[Place, Use, set[Place]]]:
    """Yield every claim with each of its uses, and the given claims that this refers to."""
    for paper, claims in papers.items():
        for claim in claims:
            for use in claim.uses:
                home = use.paper or paper
                ends = targets(use, papers.get(home, ()), but=claim)
                yield (paper, claim.name), use, {(home, one.name) for one in ends}


def refuse_circles(papers: Mapping[str, Sequence[Claim]]) -> None:
    """Refuse claims that use each other in a circle; uses of papers not given are ignored."""
    graph = TopologicalSorter[Place]()
    for place, _, ends in edges(papers):
        graph.add(place, *ends)
    try:
        graph.prepare()
    except CycleError as error:
        circle = " uses ".join(
            f"{paper}, equation {name}" if len(papers) > 1 else f"equation {name}"
            for paper, name in reversed(error.args[1])
        )
        raise InputError(f"claims use each other in a circle: {circle}") from None


# -- what falls with an equation ------------------------------------------------------------------


@dataclass(frozen=True)
class Fallen:
    """A claim that falls."""

    paper: str  # name of its paper
    claim: Claim  # the claim
    steps: int  # least number of edges from it to the equation; 1 if it uses the equation itself
    uses: tuple[Use, ...]  # its edges to the equation and to other claims that fall


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
