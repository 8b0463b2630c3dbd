"""The ledger's records: what is tried again, what is taken over, and what is refused."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from symderiv_ledger.claims.claim import Claim
from symderiv_ledger.papers import known_papers as library
from symderiv_ledger.papers import paper_run
from symderiv_ledger.papers.ledger import differences, read_ledger
from symderiv_ledger.papers.paper_file import paper_from_toml
from symderiv_ledger.papers.verify import verify_claim

from symderiv.api.results.equations.verified import write_ledger
from symderiv.foundation.errors import InputError

PAPER = """
[points.integral]
reference = "i2"
activation = "linear"

[[equation]]
number = "1"
points = "integral"
[equation.claim]
right = {statement = "I == C[1, 2]", note = "words"}
wrong = {statement = "I == 2*C[1, 2]", corrected = "I == C[1, 2]"}
long = {statement = "I == C[2, 1]", thorough = true}
"""


class _Library:
    """One paper, whose claims are counted when they are tried."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.text, self.folder, self.tried = PAPER, folder, list[str]()
        monkeypatch.setattr(library, "names", lambda: ("ours",))
        monkeypatch.setattr(library, "paper", lambda name: paper_from_toml(self.text, "ours.toml"))
        monkeypatch.setattr(library, "source", lambda name: SimpleNamespace(title="Ours"))

        def counted(claim: Claim, **options: Any) -> Any:
            self.tried.append(claim.name)
            return verify_claim(claim, **options)

        monkeypatch.setattr(paper_run, "verify_claim", counted)

    def write(self, **options: Any) -> list[str]:
        """The claims that were tried."""
        self.tried.clear()
        found = write_ledger(self.folder, processes=1, **options)
        assert not found.problems
        return self.tried

    @property
    def files(self) -> list[bytes]:
        return [path.read_bytes() for path in sorted(self.folder.iterdir())]

    @property
    def records(self) -> list[dict[str, Any]]:
        return read_ledger((self.folder / "ledger.json").read_text(encoding="utf-8"))


def test_only_what_has_changed_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = _Library(monkeypatch, tmp_path)
    with pytest.raises(InputError, match=r"equation 1 long has changed, .* --thorough"):
        own.write()
    assert own.write(thorough=True) == ["1 right", "1 wrong", "1 long"]
    first, files = own.records, own.files
    assert [record["verdict"] for record in first] == ["holds", "misprint", "holds"]
    assert own.write() == ["1 right", "1 wrong"]
    assert own.files == files
    assert own.write(changed=True) == []
    assert own.files == files
    own.text = PAPER.replace('"words"', '"other words"')
    assert own.write(changed=True) == []
    assert own.records == [{**first[0], "note": "other words"}, *first[1:]]
    own.text = PAPER.replace("2*C", "3*C")
    assert own.write(changed=True) == ["1 wrong"]
    assert "3 * C[1, 2]" in own.records[1]["statement"]
    assert own.records[1]["hash"] != first[1]["hash"]


def test_a_check_tries_all_and_finds_what_is_stale(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = _Library(monkeypatch, tmp_path)
    own.write(thorough=True)
    assert own.write(check=True) == ["1 right", "1 wrong"]
    with pytest.raises(InputError, match="changed: is allowed only when the ledger is written"):
        own.write(check=True, changed=True)
    before = own.records
    own.text = PAPER.replace("2*C", "3*C").replace('"integral"', '"integral"\nuses = ["1 long"]', 1)
    own.text = own.text.replace('activation = "linear"', 'activation = "linear"\ndigits = 20')
    own.tried.clear()
    found = write_ledger(tmp_path, processes=1, check=True).problems
    for words in ("1 right: the hash", "1 wrong: the statement", "1 right: the uses"):
        assert any(words in line for line in found), (words, found)
    assert own.records == before
    assert not list(differences(before, before))
