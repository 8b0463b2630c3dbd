"""What claims take from one another, and what falls with an equation."""

from pathlib import Path

import pytest
from support.commands import symderiv
from symderiv_ledger.claims.claim import Paper
from symderiv_ledger.claims.claim_graph import fallen, mentioned
from symderiv_ledger.papers import known_papers as library
from symderiv_ledger.papers.paper_file import paper_from_toml

import symderiv as sd
from symderiv.foundation.errors import InputError

PAPER = r"""
[indices]
"i, k" = "1..K"

[let]
NORM = "sqrt(Q[i, i])"
INNER = "Q[i, k]/NORM"
COSINE = "INNER/sqrt(Q[k, k])"

[points.erf]
reference = "learning"
activation = "erf"

[[equation]]
number = "1"
points = "erf"
statement = "eps_g := eps_g"

[[equation]]
number = "2"
points = "erf"
statement = "COSINE == INNER"

[[equation]]
number = "3"
points = "erf"
[equation.claim.first]
statement = "COSINE**2 <= 1"
given = "INNER as above, see equation 4"
[equation.claim.second]
statement = "eps_g >= 0"
given = "the first as above, not first_2"

[[equation]]
number = "4"
points = "erf"
statement = "K == K"
given = "Eq. (3)"
uses = {"3 first" = "the bound", "other-2020: 7" = "the bound there"}

[[equation]]
number = "5"
points = "erf"
statement = "K >= 1"
where = "K is that of equations 3, 77 and 4"
"""
OTHER = """
name = "other-2020"
[[equation]]
number = "7"
definition = true
[[equation]]
number = "8"
definition = true
uses = ["ours: 5"]
"""


def _papers(text: str = PAPER, other: str = OTHER) -> dict[str, Paper]:
    own = (paper_from_toml(text, "ours.toml"), paper_from_toml(other, "other.toml"))
    return {paper.name: paper for paper in own}


def _uses(paper: Paper) -> dict[str, dict[str, str]]:
    return {
        claim.name: {f"{use.paper} {use.target}".strip(): use.reason for use in claim.uses}
        for claim in paper.claims
    }


def test_edges_are_read_off_the_texts() -> None:
    assert _uses(_papers()["ours"]) == {
        "1": {},
        "2": {},
        "3 first": {"2": "INNER in its statement is stated there"},
        "3 second": {
            "3 first": "given: the first as above, not first_2",
            "1": "eps_g in its statement is defined there",
        },
        "4": {
            "3 first": "the bound",
            "other-2020 7": "the bound there",
            "3": "given: Eq. (3)",
        },
        "5": {
            "3": "in its quantities: K is that of equations 3, 77 and 4",
            "4": "in its quantities: K is that of equations 3, 77 and 4",
        },
    }


def test_the_first_side_of_an_equation_is_not_what_it_states() -> None:
    turned = PAPER.replace('"COSINE == INNER"', '"INNER == COSINE"')
    assert _uses(_papers(turned)["ours"])["3 first"] == {
        "2": "COSINE in its statement is stated there"
    }


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("equation 85", ["85"]),
        ("equations 5, 13 and 49, and the mean of Y = 1", ["5", "13", "49"]),
        ("A_1 of Eq. (27)", ["27"]),
        ("r is the density of S38", ["S38"]),
        ("the bound of equation 4; see equation 5", []),
        ("F_13 with 27 entries", []),
    ],
)
def test_equations_that_a_text_names(text: str, numbers: list[str]) -> None:
    assert list(mentioned(text, {"5", "13", "27", "49", "85", "S38"})) == numbers


def test_what_falls_with_an_equation() -> None:
    papers = _papers()
    found = [(one.paper, one.claim.name, one.steps) for one in fallen(papers, "ours", "2")]
    assert found == [
        ("ours", "3 first", 1),
        ("ours", "3 second", 2),
        ("ours", "4", 2),
        ("ours", "5", 2),
        ("other-2020", "8", 3),
    ]
    assert [one.claim.name for one in fallen(papers, "ours", "3 second")] == ["4", "5", "8"]
    assert [one.claim.name for one in fallen(papers, "other-2020", "7")] == ["4", "5", "8"]
    assert not fallen(papers, "other-2020", "8")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"3 first" = "the', '"3 frst" = "the', r"uses '3 frst', .* did you mean 3 first"),
        (
            'number = "3"',
            'number = "3"\nuses = ["4"]',
            r"in a circle: .*equation 3 first uses equation 4",
        ),
        ("uses = {", "uses = 3 #", "uses is a list of equations"),
    ],
)
def test_what_is_wrong_is_refused(old: str, new: str, words: str) -> None:
    assert old in PAPER
    with pytest.raises(InputError, match=words):
        _papers(PAPER.replace(old, new, 1))


def test_circles_and_gaps_between_papers_are_refused() -> None:
    circle = OTHER.replace("definition = true", 'definition = true\nuses = ["ours: 4"]', 1)
    with pytest.raises(InputError, match=r"in a circle: .*other-2020, equation 7"):
        fallen(_papers(other=circle), "ours", "1")
    with pytest.raises(InputError, match=r"equation 8 uses ours: 9, which is not there"):
        fallen(_papers(other=OTHER.replace("ours: 5", "ours: 9")), "ours", "1")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(library, "names", tuple)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ours.toml"
    path.write_text(PAPER.replace(', "other-2020: 7" = "the bound there"', ""), encoding="utf-8")
    return path


def test_the_call_and_the_command_say_the_same(alone: Path) -> None:
    found = sd.impact("2", alone)
    assert (found.paper, found.claims) == ("ours", ["2"])
    assert [one["name"] for one in found.falls] == ["3 first", "3 second", "4", "5"]
    words = ("verify", "ours.toml", "--impact", "2")
    assert symderiv(*words)[:2] == (0, found.to_text())
    assert symderiv(*words, "--json").json == found.to_dict()
    with pytest.raises(InputError, match=r"impact: ours has no claim on 3 sec.*3 second"):
        sd.impact("3 sec", alone)
