"""The claims that fall if an equation of a paper is wrong."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any, Final

from symderiv.api.results.answer import Answer
from symderiv.foundation.errors import InputError
from symderiv.foundation.named_arguments import public
from symderiv.foundation.progress import following
from symderiv.foundation.showing import Summary

#: The largest number of claims that are named in a summary.
SHOWN: Final = 6


class Impact(Answer):
    """The claims that fall if an equation is wrong.

    Attributes:
        paper: where the equation is.
        equation: as it was asked for.
        claims: names of the claims about it.
        falls: records with paper, equation, name, steps (edges from the equation, at least) and
            uses: what of the fallen it uses, each with paper, equation and reason.
    """

    _title = "What falls"

    def _summary(self) -> Summary:
        names = [one["name"] for one in self._record["falls"]]
        return Summary(
            self._title,
            [
                ("equation", f"{self._record['paper']}, {self._record['equation']}"),
                ("claims that fall", f"{len(names)}"),
                ("the nearest", ", ".join(names[:SHOWN]) or "none"),
            ],
        )


@public
@following("looking for what rests on the equation")
def impact(equation: str, paper: str | PathLike[str] | None = None) -> Impact:
    """Return the claims that use an equation, directly or not, and fall if it is wrong.

    A claim uses those that it names as given, those whose abbreviations or definitions it contains,
    and those that it lists under ``uses``. Nothing is computed.

    Args:
        equation: the number as printed (``"43"``), for all claims about it, or the name of a claim.
        paper: the paper of the library, or a .toml file of claims; may be left out if only one
            paper of the library has the equation.

    Raises:
        InputError: there is no such paper or equation, or several papers have it.
    """
    from symderiv_ledger.claims.claim_graph import fallen, home_of
    from symderiv_ledger.papers.known_papers import load_paper, names

    # a paper without such an equation is refused before the others are read
    asked = [load_paper(name) for name in (names() if paper is None else [fspath(paper)])]
    papers = {one.name: one for one in asked}
    try:
        home = home_of(papers, equation)
    except InputError as error:
        raise InputError(error.reason, argument="impact") from None
    papers |= {name: load_paper(name) for name in names() if name not in papers}
    falls = fallen(papers, home, equation)
    record: dict[str, Any] = {
        "paper": home,
        "equation": equation,
        "claims": [claim.name for claim in papers[home].about(equation)],
        "falls": [
            {
                "paper": one.paper,
                "equation": one.claim.equation,
                "name": one.claim.name,
                "steps": one.steps,
                "uses": [
                    {"paper": use.paper or one.paper, "equation": use.target, "reason": use.reason}
                    for use in one.uses
                ],
            }
            for one in falls
        ],
    }
    return Impact(record, _shown(record))


def _shown(record: dict[str, Any]) -> Summary:
    falls = record["falls"]
    papers = len({one["paper"] for one in falls})
    count = f"{len(falls)} claim{'' if len(falls) == 1 else 's'}"
    where = f" in {papers} papers" if papers > 1 else ""
    rows = []
    for one in falls:
        elsewhere = "" if one["paper"] == record["paper"] else f"{one['paper']}, "
        away = "directly" if one["steps"] == 1 else f"in {one['steps']} steps"
        rows.append((f"{elsewhere}{one['name']}", away))
        for use in one["uses"]:
            paper = "" if use["paper"] == one["paper"] else f"{use['paper']}, "
            rows.append(("  uses", f"{paper}{use['equation']}: {use['reason']}"))
    title = f"{record['paper']}, equation {record['equation']}: {count} fall with it{where}"
    return Summary(title, rows)
