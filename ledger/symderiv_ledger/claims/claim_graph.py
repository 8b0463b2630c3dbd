"""The graph of a paper's claims: which claim uses which, read from their texts.

An edge has one of these reasons, which it states: the keys ``given`` (also for other parts of the
same equation), ``regime``, ``where`` or ``rests_on`` of the claim name an equation; its statement
has an abbreviation that an earlier claim equates with something; its statement has a quantity that
an earlier claim with points from the same module defines (``:=``); or its key ``uses`` lists the
other claim.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from symderiv.foundation.errors import InputError
from symderiv.foundation.nearest import did_you_mean
from symderiv_ledger.claims.claim import Claim, Use

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
    """The objects that the statement of a claim names, as it is written in its file.

    Args:
        calls: Abbreviations in it, and those that these call.
        states: Abbreviations that are a whole side of it, but for the first side, which is what
            the others are said to be equal to.
        defines: The quantity that it defines; empty if it defines none.
        names: Names of quantities in it: all but indices.
    """

    calls: frozenset[str] = frozenset()
    states: tuple[str, ...] = ()
    defines: str = ""
    names: frozenset[str] = frozenset()


def read_uses(table: Mapping[str, Any]) -> tuple[Use, ...]:
    """Return the uses that the key ``uses`` of a claim's table lists, with or without reasons."""
    value = table.get("uses", [])
    if isinstance(value, list):
        value = dict.fromkeys(value, "") if all(isinstance(one, str) for one in value) else None
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise InputError('uses is a list of equations, or a table such as {"112" = "A_r"}')
    uses = []
    for name, reason in value.items():
        # "author-2024: 18" names a paper
        found = re.fullmatch(r"(?:([\w.-]+): )?(.*)", name, re.DOTALL)
        assert found is not None
        uses.append(Use(found[2], reason or "its file says so", found[1] or ""))
    return tuple(uses)


def with_uses(claims: Sequence[Claim], spoken: Mapping[str, Spoken]) -> tuple[Claim, ...]:
    """Return the claims of a paper with all that they use; entries of the key ``uses`` come first.

    Args:
        claims: The claims in the paper's order.
        spoken: The objects that each claim names, by its name.

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
        uses = [*own, *_given(claim, equations), *_parts(claim, claims)]
        whole = {use.target for use in uses}
        named = _named(claim, spoken.get(claim.name, Spoken()), homes)
        uses += [use for use, home in named if home.equation not in whole]
        # of several uses of one target the first is kept, which has the most explicit reason
        first = {(use.paper, use.target): use for use in reversed(uses)}
        linked.append(replace(claim, uses=tuple(first[key] for key in reversed(first))))
    refuse_circles({"": linked})
    return tuple(linked)


def _given(claim: Claim, equations: Collection[str]) -> Iterator[Use]:
    for key, words in _TEXTS.items():
        text = getattr(claim, key)
        for number in mentioned(text, equations):
            if number != claim.equation:
                yield Use(number, f"{words}: {text}")


def _parts(claim: Claim, claims: Sequence[Claim]) -> Iterator[Use]:
    """Yield uses of other parts of the same equation, such as "A_4 as printed" in ``given``."""
    for one in claims:
        if one.equation == claim.equation and one.part and one.part != claim.part:
            named = rf"(?<![\w^]){re.escape(one.part)}(?![\w^])"
            if re.search(named, claim.given):
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
