"""The command ``symderiv verify``: which printed equations of a paper hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from symderiv.cli.called import calling
from symderiv.cli.grouped import grouped
from symderiv.cli.output import Force, Json, bars, option, shown, text_output, write_text
from symderiv.foundation.errors import InputError

FAILED: Final = 1


@dataclass(frozen=True)
class WholeLedger:
    """The options for the ledger of all papers."""

    ledger: Annotated[
        Path | None,
        option(
            "--ledger",
            "Write ledger.json and ledger.html of all papers to DIR, with mutants.",
            "DIR",
        ),
    ] = None
    check: Annotated[
        bool, option("--check", "With --ledger: write nothing, and fail if it is not current.")
    ] = False
    changed: Annotated[
        bool,
        option(
            "--changed",
            "With --ledger: try only claims whose hash differs from that in the ledger.",
        ),
    ] = False


@calling(
    "api/results/equations/verified:verify",
    placeholders={"equation": "N", "verdict": "V", "processes": "P"},
)
@grouped
def verify(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAPER]",
            help="A paper of the library or a .toml file of claims; left out: all papers.",
        ),
    ] = None,
    impact: Annotated[
        str | None,
        option(
            "--impact", "List the claims that rest on an equation, and why; compute nothing.", "N"
        ),
    ] = None,
    html: Annotated[Path | None, option("--html", "Write the ledger as a page.", "FILE")] = None,
    *,
    whole: WholeLedger,
    force: Force = False,
    json_: Json = False,
    **asked: Any,
) -> None:
    """Check a paper's printed equations against the engine's own derivation.

    The verdicts are always computed. A claim that is not settled ends the command with exit code 1;
    misprints and false statements of a paper do not. Examples:

    symderiv verify --verdict misprint --verdict false

    symderiv verify mine.toml --equation 9

    symderiv verify mine.toml --impact 9
    """
    ledger, check, changed = whole.ledger, whole.check, whole.changed
    filters = (asked["equation"], asked["verdict"], html)
    if impact is not None:
        if any((*filters, ledger, check, changed, asked["thorough"], asked["mutants"])):
            raise InputError("can be combined with PAPER and --json only", argument="impact")
        import symderiv

        shown(symderiv.impact(impact, paper), json_)
    elif ledger is not None:
        if paper is not None or any(filters):
            raise InputError(
                "covers all papers; leave out PAPER and the filters", argument="ledger"
            )
        how = {name: asked[name] for name in ("thorough", "processes")}
        _write_ledger(ledger, json_, check=check, changed=changed, force=force, **how)
    elif check or changed:
        raise InputError("is allowed with --ledger only", argument="check" if check else "changed")
    else:
        _verify(paper, asked, html, force, json_)


def _write_ledger(folder: Path, json_: bool, **how: Any) -> None:
    from symderiv.api.results.equations.verified import write_ledger

    written = write_ledger(folder, **how, progress=bars(json_))
    shown(written, json_)
    if written.problems:
        raise typer.Exit(FAILED)


def _verify(
    paper: str | None, asked: Mapping[str, Any], html: Path | None, force: bool, json_: bool
) -> None:
    if json_ and str(html) == "-":
        raise InputError("-: standard output is used by --json; name a file", argument="html")
    inputs = [Path(paper)] if paper is not None and Path(paper).is_file() else []
    page = text_output(html, "html", inputs=inputs, force=force)
    import symderiv

    verdicts = symderiv.verify(paper, **asked, progress=bars(json_))
    if html is not None:
        write_text(verdicts.to_html(), page)
    if html is None or page is not None or json_:
        shown(verdicts, json_, html=page)
    if verdicts.unsettled:
        raise typer.Exit(FAILED)
