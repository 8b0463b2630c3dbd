"""Verdicts on a paper's printed equations."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symderiv_ledger.papers.claims_text import counts, explain, table

from symderiv.api.results.answer import Answer, Rows
from symderiv.foundation.documents.document import Node
from symderiv.foundation.errors import InputError, check_one_of
from symderiv.foundation.named_arguments import public
from symderiv.foundation.outputs import Output, OutputFolder
from symderiv.foundation.progress import Progress, progress_bar
from symderiv.foundation.showing import PrintedResult

if TYPE_CHECKING:
    from symderiv.api.results.equations.citations import Citation


class Verdicts(PrintedResult, Answer):
    """Claims of papers, each with its verdict.

    Attributes:
        claims: dictionaries with paper, equation, printed form, statement, verdict, evidence.
        unsettled: the number of claims that could not be settled, whether they are shown or not.
    """

    _title = "Verified claims"

    def __init__(self, claims: Sequence[dict[str, Any]], unsettled: int, *, in_full: bool) -> None:
        super().__init__({"claims": list(claims)})
        self._unsettled, self._in_full = unsettled, in_full

    @property
    def unsettled(self) -> int:
        """The number of claims that could not be settled, shown or not."""
        return self._unsettled

    def _document(self) -> Node:
        return (explain if self._in_full else table)(self._record["claims"])

    def cite(self) -> Citation:
        """Return the sources of the claims, and of those that they use, as BibTeX.

        Raises:
            InputError: a claim belongs to a paper that is not in the library.
        """
        from symderiv.api.results.equations.citations import citation_of_claims

        return citation_of_claims([(one["paper"], one["name"]) for one in self._record["claims"]])

    def to_html(self) -> str:
        """Return a complete HTML page."""
        from symderiv_ledger.papers.ledger_page import ledger_page

        return ledger_page(self._record["claims"])

    def _rows(self) -> Rows:
        from symderiv_ledger.papers.accusations import standing, summary

        claims = self._record["claims"]
        papers = list(dict.fromkeys(claim["paper"] for claim in claims))
        rows: list[tuple[str, object]] = [
            (name, counts([claim for claim in claims if claim["paper"] == name])) for name in papers
        ]
        wrong = [c["name"] for c in claims if standing(c) in ("misprint", "false", "unsettled")]
        if wrong:
            rows.append(("misprints, false", ", ".join(wrong)))
        if accused := summary(claims):
            rows.append(("public code", accused))
        return rows


@public
def verify(
    paper: str | PathLike[str] | None = None,
    equation: str | None = None,
    *,
    verdict: str | Collection[str] | None = None,
    thorough: bool = False,
    mutants: bool = False,
    processes: int = 0,
    progress: Progress = None,
) -> Verdicts:
    """Check the printed equations of a paper against symderiv's own derivation.

    One paper takes 4 to 39 s on two cores.

    Args:
        paper: a paper of the library or a .toml file of claims; all papers when left out.
        equation: the number of one equation, as printed; its claims are explained in full, with
            mutants.
        verdict: show only claims with this verdict, or with one of several (holds, approximate,
            misprint, false, definition, not-checkable).
        thorough: also check claims that need simulations, which takes minutes.
        mutants: also try small wrong variants of every statement that passed.
        processes: the number of processes, 0 for one per processor.
        progress: see :meth:`Problem.solve`.

    Raises:
        InputError: there is no such paper, equation or verdict.
    """
    from symderiv_ledger.claims.claim import VERDICTS
    from symderiv_ledger.papers.paper_run import Selection

    wanted = {verdict} if isinstance(verdict, str) else set(verdict or ())
    if verdict is not None and not wanted:
        raise InputError("is empty; give a verdict, or leave it out", argument="verdict")
    for one in sorted(wanted - {"unsettled"}):
        check_one_of("verdict", one, VERDICTS)
    if equation is not None and paper is None:
        raise InputError("needs its paper; give the paper too", argument="equation")
    if equation is not None and not equation.strip():
        raise InputError("is empty; give the number of an equation as printed", argument="equation")
    full = equation is not None
    selection = Selection(equation or "", thorough or full, mutants or full)
    name = None if paper is None else fspath(paper)
    records = _verified(name, selection, processes, progress)
    unsettled = [record for record in records if record["verdict"] == "unsettled"]
    shown = [record for record in records if not wanted or record["verdict"] in wanted]
    return Verdicts(shown, len(unsettled), in_full=full)


def _verified(
    paper: str | None,
    selection: Any,
    processes: int,
    progress: Progress,
    but: Mapping[str, Collection[str]] | None = None,
) -> list[dict[str, Any]]:
    """Return the records of one or all papers, without the claims that ``but`` names."""
    from symderiv_ledger.papers.known_papers import names
    from symderiv_ledger.papers.paper_run import verify_paper

    if processes < 0:
        raise InputError(f"{processes} is negative; give 0 or a number", argument="processes")
    records: list[dict[str, Any]] = []
    with progress_bar(progress) as update:
        for name in [paper] if paper is not None else names():
            told = partial(update, name)
            some = replace(selection, but=frozenset((but or {}).get(name, ())))
            records += verify_paper(name, some, processes=processes, progress=told)
    return records


class Ledger(Answer):
    """The ledger of all papers: its files, or the entries that are stale or unsettled."""

    _title = "Ledger of all papers"
    _first = ("files", "problems")


def write_ledger(
    folder: str | PathLike[str],
    *,
    thorough: bool = False,
    check: bool = False,
    changed: bool = False,
    force: bool = False,
    processes: int = 0,
    progress: Progress = None,
) -> Ledger:
    """Write ``ledger.json`` and ``ledger.html`` of all papers, mutants included, or compare them.

    ``problems`` has a line for every claim that is not settled and, with ``check``, for everything
    that is not current; nothing is written if there is one. Thorough claims keep the verdict of the
    existing ledger; with ``changed`` all claims with unchanged hashes do, which assumes that the
    engine gives the same verdicts as before; ``check`` assumes nothing.

    Raises:
        InputError: the files must not be replaced, or a thorough claim has changed.
    """
    if check and changed:
        raise InputError(
            "is allowed only when the ledger is written, because --check tries all "
            "claims; remove it",
            argument="changed",
        )
    from symderiv_ledger.papers import ledger as records_of
    from symderiv_ledger.papers.accusations import summary
    from symderiv_ledger.papers.known_papers import names, paper
    from symderiv_ledger.papers.ledger import is_ledger, merged, read_ledger, unchanged
    from symderiv_ledger.papers.ledger_page import is_ledger_page, ledger_page
    from symderiv_ledger.papers.paper_run import Selection

    written_to = OutputFolder(Path(folder), force=force)
    # these files are under version control and merged, so that they have no checksum
    outputs = (
        written_to.file("ledger.json", "json", ours=is_ledger),
        written_to.file("ledger.html", "html", ours=is_ledger_page),
    )
    data, page = (output.path for output in outputs)
    before = read_ledger(data.read_text(encoding="utf-8")) if data.exists() else []
    started = time.perf_counter()
    selection = Selection(thorough=thorough, mutants=True)
    earlier = {} if check else {name: unchanged(paper(name), before) for name in names()}
    records = _verified(None, selection, processes, progress, earlier if changed else None)
    seconds = time.perf_counter() - started
    problems = [_unsettled(one) for one in records if one["verdict"] == "unsettled"]
    if check:
        problems = _stale(records, before, page) or problems
        lines = f"{data} is current: {len(records)} claims\n{summary(records)}"
        return _ledger(outputs, problems, lines)
    if problems:
        return _ledger(outputs, problems)
    whole = [one for name in names() for one in merged(paper(name), records, earlier[name])]
    text = records_of.written(whole)
    outputs[0].write_text(text, seal=False)
    outputs[1].write_text(ledger_page(read_ledger(text), data.parent), seal=False)
    lines = f"{data}, {page}: {counts(whole)}\n{len(records)} claims were tried in {seconds:.0f} s"
    return _ledger(outputs, [], f"{lines}\n{summary(whole)}")


def _stale(records: list[Any], before: list[Any], page: Path) -> list[str]:
    """Return the entries in which the stored ledger or its page is not up to date."""
    from symderiv_ledger.papers.ledger import differences
    from symderiv_ledger.papers.ledger_page import ledger_page

    stale = list(differences(records, before))
    made = ledger_page(before, page.parent)
    if not page.exists() or page.read_text(encoding="utf-8") != made:
        stale.append(f"{page.name} does not show what ledger.json contains; write the ledger again")
    return stale


def _unsettled(record: dict[str, Any]) -> str:
    return f"{record['paper']}, equation {record['name']}: {record['error']}"


def _ledger(outputs: Sequence[Output], problems: list[str], otherwise: str = "") -> Ledger:
    """Return the ledger with its files and problems; ``otherwise`` is shown without problems."""
    text = "\n".join(problems or [otherwise]).rstrip() + "\n"
    return Ledger({"files": [str(one.path) for one in outputs], "problems": problems}, text)
