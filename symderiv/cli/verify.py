"""The command ``symderiv verify``: what holds of a paper's printed equations."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from symderiv.cli.output import (
    Force,
    Json,
    emit_json,
    progress,
    tell_written,
    text_output,
    write_text,
    written,
)
from symderiv.errors import InputError
from symderiv.outputs import Output, OutputFolder

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["register"]

FAILED: Final = 1

_COLOURS: Final = {
    "holds": "green",
    "approximate": "green",
    "definition": "dim",
    "not-checkable": "dim",
    "misprint": "yellow",
    "false": "red",
    "unsettled": "bold red",
}


def verify(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAPER]",
            help="A paper of the library or a .toml file of claims; left out: all papers.",
        ),
    ] = None,
    equation: Annotated[
        str | None,
        typer.Option(
            "--equation", metavar="N", help="One equation, as printed, explained in full."
        ),
    ] = None,
    verdict: Annotated[
        list[str] | None,
        typer.Option(
            "--verdict",
            metavar="V",
            help="Show only this verdict (holds, approximate, misprint, false, definition, "
            "not-checkable); repeatable.",
        ),
    ] = None,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Also claims that need simulations; takes minutes.")
    ] = False,
    mutants: Annotated[
        bool,
        typer.Option("--mutants", help="Also try small changes of every statement that passed."),
    ] = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the ledger as a page.")
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            "--ledger",
            metavar="DIR",
            help="Write ledger.json and ledger.html of all papers there, mutants included.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="With --ledger: write nothing, fail if it is not current."),
    ] = False,
    processes: Annotated[
        int, typer.Option("--processes", metavar="P", min=0, help="0: one per processor.")
    ] = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Check a paper's printed equations against the engine's own derivation.

    The verdicts are computed anew. A claim that is not settled ends the command with exit code 1;
    misprints and false statements of a paper do not. Examples:

    symderiv verify worschech-rosenow-2024 --verdict misprint --verdict false

    symderiv verify worschech-rosenow-2024 --equation 91
    """
    from symderiv.verification.claim import VERDICTS
    from symderiv.verification.run import Selection

    wanted = set(verdict or ())
    for one in sorted(wanted - {*VERDICTS, "unsettled"}):
        raise InputError(f"--verdict: {one!r} is not one of {', '.join(VERDICTS)}")
    if equation is not None and paper is None:
        raise InputError("--equation needs the PAPER it is in")
    if check and ledger is None:
        raise InputError("--check goes with --ledger")
    if ledger is not None:
        if paper is not None or equation is not None or wanted or html is not None:
            raise InputError("--ledger is about all papers: leave out PAPER and the filters")
        _write_ledger(ledger, thorough, processes, check=check, force=force, quiet=as_json)
        return
    page = _page(html, paper, as_json, force)
    mutants = mutants or equation is not None
    selection = Selection(equation or "", thorough or equation is not None, mutants)
    records = _verified(paper, selection, processes, quiet=as_json)
    unsettled = [record for record in records if record["verdict"] == "unsettled"]
    shown = [record for record in records if not wanted or record["verdict"] in wanted]
    if html is not None:
        from symderiv.report.ledger import ledger_page

        write_text(ledger_page(shown), page)
    if as_json:
        emit_json({"claims": shown} | written(html=page))
    elif html is not None and page is None:
        pass
    elif equation is not None:
        _explain(shown)
    else:
        _table(shown)
    if not as_json:
        tell_written(page)
    if unsettled:
        raise typer.Exit(FAILED)


def _page(html: Path | None, paper: str | None, as_json: bool, force: bool) -> Output | None:
    """The output of ``--html``; None for the terminal, or if it is not asked for."""
    if as_json and str(html) == "-":
        raise InputError("--html -: standard output is taken by --json; name a file")
    inputs = [Path(paper)] if paper is not None and Path(paper).is_file() else []
    return text_output(html, "html", inputs=inputs, force=force)


def _verified(
    paper: str | None, selection: Any, processes: int, *, quiet: bool
) -> list[dict[str, Any]]:
    from symderiv.verification.library import names
    from symderiv.verification.run import verify_paper

    records: list[dict[str, Any]] = []
    with progress(quiet=quiet) as update:
        for name in [paper] if paper is not None else names():
            told = partial(update, name)
            records += verify_paper(name, selection, processes=processes, progress=told)
    return records


def _write_ledger(
    folder: Path, thorough: bool, processes: int, *, check: bool, force: bool, quiet: bool
) -> None:
    from symderiv.report.ledger import is_ledger_page, ledger_page
    from symderiv.verification import ledger as records_of
    from symderiv.verification.ledger import differences, is_ledger, kept, read_ledger
    from symderiv.verification.library import names, paper
    from symderiv.verification.run import Selection

    written_to = OutputFolder(folder, force=force)
    # these are kept under version control and merged, so they carry no checksum
    outputs = (
        written_to.file("ledger.json", "json", ours=is_ledger),
        written_to.file("ledger.html", "html", ours=is_ledger_page),
    )
    data, page = (output.path for output in outputs)
    before = read_ledger(data.read_text(encoding="utf-8")) if data.exists() else []
    selection = Selection(thorough=thorough, mutants=True)
    started = time.perf_counter()
    records = _verified(None, selection, processes, quiet=quiet)
    seconds = time.perf_counter() - started
    unsettled = [record for record in records if record["verdict"] == "unsettled"]
    if check:
        stale = list(differences(records, before))
        if not page.exists() or page.read_text(encoding="utf-8") != ledger_page(before, folder):
            stale.append(f"{page.name} is not made from {data.name}")
        for sentence in stale:
            print(sentence)
        if stale or unsettled:
            raise typer.Exit(FAILED)
        print(f"{data} is current: {len(records)} claims")
        return
    for record in unsettled:
        print(f"{record['paper']}, equation {record['name']}: {record['error']}")
    if unsettled:
        raise typer.Exit(FAILED)
    found: list[dict[str, Any]] = []
    for name in names():
        own, old = ([r for r in group if r["paper"] == name] for group in (records, before))
        order = [claim.name for claim in paper(name).claims]
        found += kept(own, [] if thorough else old, order)
    text = records_of.written(found)
    outputs[0].write_text(text, seal=False)
    outputs[1].write_text(ledger_page(read_ledger(text), folder), seal=False)
    print(f"{data}, {page}: {_counts(found)}")
    print(f"{len(records)} claims were tried in {seconds:.0f} s")


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def _table(records: Sequence[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = _console()
    for paper in dict.fromkeys(record["paper"] for record in records):
        own = [record for record in records if record["paper"] == paper]
        table = Table(title=paper, title_justify="left", box=None, pad_edge=False)
        for head in ("equation", "verdict", "finding"):
            table.add_column(head, overflow="fold")
        for record in own:
            table.add_row(
                record["name"],
                Text(record["verdict"], style=_COLOURS[record["verdict"]]),
                _finding(record),
            )
        console.print(table)
        console.print(_counts(own))


def _finding(record: dict[str, Any]) -> str:
    """The most telling sentence of a record."""
    if "error" in record:
        return str(record["error"])
    if record["verdict"] in ("misprint", "false", "not-checkable"):
        return str(record["note"] or f"right: {record['corrected']}")
    if record["evidence"]:
        return str(record["evidence"][0]["summary"])
    return str(record["regime"])


def _counts(records: Sequence[dict[str, Any]]) -> str:
    verdicts = [record["verdict"] for record in records]
    counted = ", ".join(f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts))
    text = f"{len(records)} claims: {counted}"
    reports = [record["mutants"] for record in records if record["mutants"]]
    if reports:
        caught = sum(report["caught"] for report in reports)
        total = sum(report["wanted"] for report in reports)
        text += f"; {caught} of {total} mutants caught"
    return text


def _explain(records: Sequence[dict[str, Any]]) -> None:
    from rich.text import Text

    console = _console()

    def line(label: str, text: str, style: str = "") -> None:
        if text:
            console.print(Text.assemble((f"{label:<14}", "bold"), (text, style)), soft_wrap=True)

    for record in records:
        console.print(Text(f"{record['paper']}, equation {record['name']}", style="bold"))
        for display in record["printed"]:
            line("printed", " ".join(display.split()))
        if record["reading"] != "printed":
            line("reading", "the print had to be reconstructed; the verdict is on that reading")
        line("statement", record["statement"])
        line("  for all", record["ranges"])
        line("  where", record["where"])
        line("regime", record["regime"])
        line("given", record["given"])
        line("verdict", record["verdict"], _COLOURS[record["verdict"]])
        line("error", record.get("error", ""))
        line("corrected", record["corrected"] or "")
        line("note", record["note"])
        for entry in record["evidence"]:
            line("evidence", f"{entry['of']} form ({entry['kind']}): {entry['summary']}")
            example = entry["counterexample"]
            if example:
                line("  at", example["point"])
                line("  left side", example["left"])
                line("  right side", example["right"])
        _explain_mutants(record, line)
        line("source", record["source"])
        console.print()


def _explain_mutants(record: dict[str, Any], line: Any) -> None:
    report = record["mutants"]
    if not report:
        return
    stillborn = f", {report['stillborn']} without a value" if report["stillborn"] else ""
    equal = f", {len(report['equivalent'])} proved equivalent" if report["equivalent"] else ""
    line("mutants", f"{report['caught']} of {report['wanted']} caught{equal}{stillborn}")
    for survivor in report["survivors"]:
        line("  not caught", survivor)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("verify")(verify)
