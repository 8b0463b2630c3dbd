"""Every claim of the library: its computed verdict, its mutants, its print, and the ledger."""

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.rotating import dealt, is_today
from symderiv_ledger.claims.claim import TIERS, VERDICTS, Claim, Paper
from symderiv_ledger.claims.claim_hash import claim_hash
from symderiv_ledger.papers.known_papers import names, paper
from symderiv_ledger.papers.ledger import differences, read_ledger
from symderiv_ledger.papers.ledger_page import ledger_page
from symderiv_ledger.papers.paper_run import record
from symderiv_ledger.papers.verify import printed_of, verify_claim

NAMES = names()
HERE = Path(__file__).parent
ROOT = HERE.parents[2]
LEDGER = ROOT / "docs" / "ledger.json"
#: The transcriptions of the papers, where they are at hand.
TRANSCRIPTIONS = ROOT.parent / "shared" / "papers"
#: Neighbouring claims share references; they are tried in one test.
BATCH = 8
#: The batches are dealt to so many days, which take about the same time each; all of them by
#: ``symderiv verify --ledger docs --check``, which is part of the project's CI.
DAYS = 48
#: CPU seconds of the batches that take more than others, which take one.
SECONDS = {
    "bae-jeong-2024": {8: 4, 16: 4, 72: 4, 104: 20, 112: 12, 120: 11, 128: 12},
    "demir-dogan-2025": {8: 10, 24: 11, 32: 13, 40: 10, 48: 9},
    "goldt-2021": {0: 8, 8: 6, 16: 13, 24: 4},
    "public-code": {24: 8, 32: 5, 40: 4, 48: 7, 56: 7, 64: 7, 72: 18, 96: 9, 104: 12},
    "relu-localization-notes": {16: 4, 72: 4, 80: 5},
    "saad-solla-1995": {0: 8},
    "worschech-rosenow-2024": {
        0: 8,
        24: 4,
        32: 9,
        40: 9,
        72: 4,
        80: 12,
        88: 5,
        128: 5,
        152: 4,
        160: 9,
        280: 8,
        296: 4,
    },
}


@cache
def _paper(name: str) -> Paper:
    return paper(name)


@cache
def _expected() -> dict[str, str]:
    verdicts: dict[str, str] = {}
    for path in sorted((HERE / "expected").glob("*.toml")):
        for name, verdict in tomllib.loads(path.read_text(encoding="utf-8")).items():
            key = f"{_paper_of(path.stem)}: {name}"
            assert key not in verdicts, key
            verdicts[key] = verdict
    return verdicts


def _paper_of(stem: str) -> str:
    return next(name for name in NAMES if stem.startswith(name.rsplit("-", 1)[0]))


@cache
def _ledger() -> dict[tuple[str, str], dict[str, Any]]:
    records = read_ledger(LEDGER.read_text(encoding="utf-8"))
    return {(entry["paper"], entry["name"]): entry for entry in records}


@cache
def _batches() -> list[tuple[str, int]]:
    """Those of today: a paper and the number of the first claim."""
    firsts = [(name, first) for name in NAMES for first in range(0, len(_quick(name)), BATCH)]
    shares = dealt(firsts, lambda batch: SECONDS.get(batch[0], {}).get(batch[1], 1), DAYS)
    return [batch for n, share in enumerate(shares) if is_today(n, DAYS) for batch in share]


def _quick(name: str) -> list[Claim]:
    return [claim for claim in _paper(name).claims if not claim.thorough]


@pytest.mark.parametrize("name", NAMES)
def test_verdicts_and_mutants(name: str) -> None:
    """Of the batches of today."""
    own = _paper(name)
    for first in (first for of, first in _batches() if of == name):
        records = []
        for claim in _quick(name)[first : first + BATCH]:
            finding = verify_claim(claim, with_mutants=True)
            assert finding.verdict == _expected()[f"{name}: {claim.name}"], claim.name
            records.append(record(own, finding))
        # as many mutants are caught as the ledger says, which has a bound below
        known = [_ledger()[name, r["name"]] for r in records if (name, r["name"]) in _ledger()]
        stale = list(differences(records, known))
        assert not stale, f"run make ledger: {stale}"


@pytest.mark.parametrize("name", NAMES)
def test_papers_are_whole(name: str) -> None:
    own = _paper(name)
    assert own.claims
    for claim in own.claims:
        assert claim.reading in ("", "printed", "reconstructed")
        if claim.statement:
            assert claim.points is not None
            assert claim.rule is not None
        else:
            assert claim.definition or claim.not_checkable, claim.name
    claimed = {claim.equation for claim in own.claims}
    assert not [number for number in own.printed if number not in claimed]


def test_every_expected_verdict_belongs_to_a_claim_and_every_claim_has_one() -> None:
    claims = {f"{name}: {claim.name}" for name in NAMES for claim in _paper(name).claims}
    assert set(_expected()) <= claims
    assert set(_expected()) >= {f"{name}: {claim.name}" for name in NAMES for claim in _quick(name)}


def test_prints_are_those_of_the_transcriptions() -> None:
    if not TRANSCRIPTIONS.is_dir():
        pytest.skip("the transcriptions are not at hand")
    texts = "".join(
        "".join(path.read_text(encoding="utf-8").split())
        for path in sorted(TRANSCRIPTIONS.glob("*.md"))
    )
    for name in NAMES:
        if name == "saad-solla-1995":
            continue
        for number, printed in _paper(name).printed.items():
            for display in printed.latex:
                assert "".join(display.split()) in texts, f"{name}: {number}"


def test_the_ledger_is_whole_and_its_page_is_made_from_it() -> None:
    text = LEDGER.read_text(encoding="utf-8")
    records = read_ledger(text)
    assert {entry["verdict"] for entry in records} <= set(VERDICTS)
    assert all((entry["tier"] in TIERS) == bool(entry["evidence"]) for entry in records)
    known = {(entry["paper"], entry["name"]): entry["hash"] for entry in records}
    changed = [
        f"{name}: {claim.name}"
        for name in NAMES
        for claim in _paper(name).claims
        if known.get((name, claim.name)) != claim_hash(_paper(name), claim)
    ]
    assert not changed, f"run make ledger: {changed}"
    for name in NAMES:
        own = [each["mutants"] for each in records if each["paper"] == name and each["mutants"]]
        caught, wanted = (sum(each[key] for each in own) for key in ("caught", "wanted"))
        # what is left are inequalities that a flipped sign makes weaker
        assert caught >= 0.99 * wanted, name
    page = LEDGER.with_suffix(".html").read_text(encoding="utf-8")
    assert page == ledger_page(json.loads(text)["claims"], LEDGER.parent.relative_to(ROOT))


def test_nothing_is_verified_that_a_paper_leaves_open() -> None:
    for name in NAMES:
        own = _paper(name)
        for claim in own.claims:
            shown = " ".join(printed_of(own, claim))
            if "??" in shown:
                assert claim.not_checkable or "??" in claim.given, f"{name}: {claim.name}"


def test_every_sentence_of_a_print_in_words_has_a_claim_that_shows_it() -> None:
    for name in NAMES:
        own = _paper(name)
        for equation, printed in own.printed.items():
            claims = [c for c in own.claims if c.equation == equation]
            said = [c for c in claims if c.in_words and c.statement]
            if said and len(printed.latex) > 1:
                assert all(c.printed is not None for c in said), f"{name}: {equation}"
                shown = {c.printed for c in claims}
                assert shown >= set(range(len(printed.latex))), f"{name}: {equation}"
    (closing,) = (
        p for n, p in _paper("relu-localization-notes").printed.items() if n == "after 147"
    )
    assert len(closing.latex) == 4
