"""All claims of a paper, on several processes, as records that can be written as JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from multiprocessing import get_context
from typing import Any, Final

from symderiv.foundation.errors import InputError
from symderiv.foundation.nearest import did_you_mean
from symderiv_ledger.claims.claim import Claim, Paper, Printed
from symderiv_ledger.claims.claim_hash import claim_hash
from symderiv_ledger.claims.statement import parse_statement
from symderiv_ledger.claims.typeset import statement_latex
from symderiv_ledger.papers.known_papers import load_paper
from symderiv_ledger.papers.verify import (
    Finding,
    MutantReport,
    UnsettledError,
    overturned_by,
    printed_of,
    tier,
    verify_claim,
)

#: Keys of a record whose values are computed.
_COMPUTED: Final = (
    *("verdict", "corrected", "corrected_latex", "evidence", "tier", "overturned_by"),
    *("digits", "arithmetic", "mutants"),
)
#: Neighbouring claims share references, so they are given to a process together.
BATCH: Final = 6


@dataclass(frozen=True)
class Selection:
    """A choice of claims, and of the amount of evidence."""

    equation: str = ""  # only this equation, as printed
    thorough: bool = False  # also claims that take minutes
    mutants: bool = False  # also the mutants of every statement that passed
    but: frozenset[str] = frozenset()  # names of claims that are left out


def selected(paper: Paper, selection: Selection) -> list[Claim]:
    """Return the claims of a paper that a selection asks for, in the paper's order."""
    chosen = paper.about(selection.equation) if selection.equation else paper.claims
    if not chosen:
        known = list(dict.fromkeys(claim.equation for claim in paper.claims))
        some = ", ".join(known[:20]) + ", …" * (len(known) > 20)
        meant = did_you_mean(selection.equation, known)
        raise InputError(
            f"{paper.name} has no claim on {selection.equation}; it has {some}{meant}",
            argument="equation",
        )
    thorough, but = selection.thorough, selection.but
    return [one for one in chosen if one.name not in but and (thorough or not one.thorough)]


def verify_paper(
    name: str,
    selection: Selection | None = None,
    *,
    processes: int = 0,
    progress: Callable[[float], None] = lambda fraction: None,
) -> list[dict[str, Any]]:
    """Return a record of each claim of a paper, in its order; see :func:`record`.

    A claim that is not settled has the verdict ``"unsettled"`` and an ``error``.

    Args:
        name: A paper of the library, or the file of one's own.
        selection: Which claims, and how much evidence.
        processes: The number of processes; 0: that of processors, at most 8.
        progress: Called with the fraction that is done.
    """
    selection = selection or Selection()
    paper = load_paper(name)
    names = [claim.name for claim in selected(paper, selection)]
    batches = [names[first : first + BATCH] for first in range(0, len(names), BATCH)]
    processes = min(processes or min(os.cpu_count() or 1, 8), len(batches))
    records: dict[str, dict[str, Any]] = {}
    if processes <= 1:
        for done, batch in enumerate(batches, start=1):
            records |= _batch(name, batch, selection.mutants)
            progress(done / len(batches))
    else:
        # A fresh process each: forking one that has threads (BLAS, numba) may hang.
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            run = partial(_batch, name, mutants=selection.mutants)
            tasks = {pool.submit(run, batch): batch for batch in batches}
            for done, task in enumerate(as_completed(tasks), start=1):
                try:
                    records |= task.result()
                except BrokenProcessPool:
                    records |= _lost(paper, tasks[task])
                progress(done / len(batches))
    return [records[claim] for claim in names]


def _batch(name: str, claims: Collection[str], mutants: bool) -> dict[str, dict[str, Any]]:
    """Return the records of some claims by name."""
    paper = load_paper(name)
    wanted = [claim for claim in paper.claims if claim.name in claims]
    return {claim.name: _one(paper, claim, mutants) for claim in wanted}


def _lost(paper: Paper, claims: Collection[str]) -> dict[str, dict[str, Any]]:
    reason = "its process was ended from outside (memory?); try --processes 1"
    lost = [claim for claim in paper.claims if claim.name in claims]
    return {one.name: {**record(paper, Finding(one, "unsettled")), "error": reason} for one in lost}


def _one(paper: Paper, claim: Claim, mutants: bool) -> dict[str, Any]:
    try:
        return record(paper, verify_claim(claim, with_mutants=mutants))
    except UnsettledError as error:
        finding, reason = Finding(claim, "unsettled", error.printed, error.corrected), str(error)
    except Exception as error:
        # after any failure of a claim the next claims are still tried
        reason = f"internal error ({type(error).__name__}): {error}"
        finding = Finding(claim, "unsettled")
    return {**record(paper, finding), "error": reason}


def record(paper: Paper, finding: Finding) -> dict[str, Any]:
    """Return a finding as the object that ``symderiv verify --json`` prints.

    ``evidence`` is a list with one entry per statement that was tried, the printed one first.
    ``printed`` is the paper's LaTeX, ``statement`` its meaning as text, ``corrected`` the true
    statement where the print fails (else null). Where the print is public code, ``printed`` is the
    statement, ``code`` says where it stands (else null), and ``accusation`` has what must be said
    where it is wrong (:mod:`symderiv_ledger.papers.accusations`, else null). ``tier`` and
    ``overturned_by`` follow from the rule that decided; ``uses`` are the edges of the graph of
    claims; for ``hash`` see :mod:`symderiv_ledger.claims.claim_hash`.
    """
    claim, rule = finding.claim, finding.claim.rule
    printed = paper.printed.get(claim.equation, Printed(()))
    failed = finding.printed is not None and not finding.printed.passed
    accuses = finding.verdict in ("misprint", "false")
    statement, latex = _texts(claim.statement)
    corrected, corrected_latex = _texts(claim.corrected if failed else "")
    code = printed.code
    return {
        "paper": paper.name,
        "equation": claim.equation,
        "part": claim.part,
        "name": claim.name,
        "printed": list(printed_of(paper, claim)),
        "reading": claim.reading or printed.reading,
        "code": asdict(code) | {"text": code.text} if code else None,
        "statement": statement,
        "statement_latex": latex,
        "ranges": claim.ranges,
        "where": claim.where,
        "verdict": finding.verdict,
        "corrected": corrected or None,
        "corrected_latex": corrected_latex or None,
        "regime": claim.regime,
        "given": claim.given,
        "note": finding.reason or claim.note,
        "accusation": asdict(claim.accusation) if claim.accusation and accuses else None,
        "rests_on": claim.rests_on,
        "thorough": claim.thorough,
        "evidence": [
            {"of": of, "kind": rule.kind if rule else "", **asdict(tested)}
            for of, tested in (("printed", finding.printed), ("corrected", finding.corrected))
            if tested is not None
        ],
        "tier": tier(finding),
        "overturned_by": overturned_by(finding),
        "tried_at": claim.tried_at,
        "uses": [
            {"paper": use.paper or paper.name, "equation": use.target, "reason": use.reason}
            for use in claim.uses
        ],
        "hash": claim_hash(paper, claim),
        "digits": rule.digits if rule else None,
        "arithmetic": arithmetic(rule.backend) if rule else None,
        "mutants": _mutants(finding.mutants),
        "source": paper.sources.get(claim.name, ""),
    }


def refreshed(paper: Paper, claim: Claim, before: dict[str, Any]) -> dict[str, Any]:
    """Return the record of an unchanged claim with the verdict and evidence of an earlier one.

    Notes, regimes and edges, which are not in the hash, are those of the paper's file now.
    """
    now = record(paper, Finding(claim, before["verdict"], reason=claim.not_checkable))
    renewed = {**now, **{key: before[key] for key in _COMPUTED}}
    if before["verdict"] == "not-checkable" and not claim.not_checkable:
        renewed["note"] = before["note"]
    return renewed


def arithmetic(backend: str) -> str:
    """Return the library that the back end of a rule computes with, and its version."""
    if backend == "arb":
        from symderiv.precision.balls.decimals import arithmetic as balls

        return f"balls of {balls()}"
    package = {"float64": "numpy"}.get(backend, backend)
    return f"{package} {metadata.version(package)}"


def _texts(statement: str) -> tuple[str, str]:
    """Return a statement in its standard way and as LaTeX, both empty if there is none."""
    if not statement:
        return "", ""
    read = parse_statement(statement)
    return read.text, statement_latex(read)


def _mutants(report: MutantReport | None) -> dict[str, Any] | None:
    if report is None:
        return None
    return {
        "caught": report.caught,
        "wanted": report.wanted,
        "equivalent": [str(mutant) for mutant in report.equivalent],
        "stillborn": report.stillborn,
        "survivors": [str(mutant) for mutant in report.survivors],
    }
