"""The command ``symderiv verify``: what holds of a paper's printed equations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from symderiv.cli.options import option
from symderiv.cli.output import Force, Json, bars, shown, text_output, write_text
from symderiv.foundation.errors import InputError

FAILED: Final = 1


def verify(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAPER]",
            help="A paper of the library or a .toml file of claims; left out: all papers.",
        ),
    ] = None,
    equation: Annotated[
        str | None, option("--equation", "One equation, as printed, explained in full.", "N")
    ] = None,
    impact: Annotated[
        str | None,
        option("--impact", "List what falls with an equation, and why; nothing is computed.", "N"),
    ] = None,
    verdict: Annotated[
        list[str] | None,
        option(
            "--verdict",
            "Show only this verdict (holds, approximate, misprint, false, definition, "
            "not-checkable); repeatable.",
            "V",
        ),
    ] = None,
    thorough: Annotated[
        bool, option("--thorough", "Also claims that need simulations; takes minutes.")
    ] = False,
    mutants: Annotated[
        bool, option("--mutants", "Also try small changes of every statement that passed.")
    ] = False,
    html: Annotated[Path | None, option("--html", "Write the ledger as a page.", "FILE")] = None,
    ledger: Annotated[
        Path | None,
        option(
            "--ledger",
            "Write ledger.json and ledger.html of all papers to DIR, with mutants.",
            "DIR",
        ),
    ] = None,
    check: Annotated[
        bool, option("--check", "With --ledger: write nothing, and fail if it is not current.")
    ] = False,
    changed: Annotated[
        bool,
        option(
            "--changed",
            "With --ledger: try only claims whose hash differs from that in the ledger.",
        ),
    ] = False,
    processes: Annotated[
        int, option("--processes", "Number of processes; 0 means one per processor.", "P", min=0)
    ] = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Check a paper's printed equations against the engine's own derivation.

    The verdicts are always computed. A claim that is not settled ends the command with exit code 1;
    misprints and false statements of a paper do not. Examples:

    symderiv verify --verdict misprint --verdict false

    symderiv verify mine.toml --equation 9

    symderiv verify mine.toml --impact 9
    """
    if impact is not None:
        others = (equation, verdict, html, ledger, check, changed, thorough, mutants)
        if any(others):
            raise InputError("can be combined with PAPER and --json only", argument="impact")
        import symderiv

        shown(symderiv.impact(impact, paper), as_json)
        return
    if ledger is not None:
        if paper is not None or equation is not None or verdict or html is not None:
            raise InputError(
                "covers all papers; leave out PAPER and the filters", argument="ledger"
            )
        from symderiv.api.results.verified import write_ledger

        written = write_ledger(
            ledger,
            thorough=thorough,
            check=check,
            changed=changed,
            force=force,
            processes=processes,
            progress=bars(as_json),
        )
        shown(written, as_json)
        if written.problems:
            raise typer.Exit(FAILED)
        return
    if check or changed:
        raise InputError("is allowed with --ledger only", argument="check" if check else "changed")
    if as_json and str(html) == "-":
        raise InputError("-: standard output is used by --json; name a file", argument="html")
    inputs = [Path(paper)] if paper is not None and Path(paper).is_file() else []
    page = text_output(html, "html", inputs=inputs, force=force)
    import symderiv

    found = symderiv.verify(
        paper,
        equation,
        verdict=verdict,
        thorough=thorough,
        mutants=mutants,
        processes=processes,
        progress=bars(as_json),
    )
    if html is not None:
        write_text(found.to_html(), page)
    if html is None or page is not None or as_json:
        shown(found, as_json, html=page)
    if found.unsettled:
        raise typer.Exit(FAILED)
