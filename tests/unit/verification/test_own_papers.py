"""A user's own paper: a file of claims is data, and bad ones are refused in one line."""

import json
import re
from functools import partial
from pathlib import Path

import pytest
from support.commands import symderiv
from symderiv_ledger.papers.accusations import summary
from symderiv_ledger.papers.known_papers import load_paper
from symderiv_ledger.papers.ledger_page import ledger_page
from symderiv_ledger.papers.paper_file import paper_from_toml
from symderiv_ledger.papers.paper_run import Selection, verify_paper
from symderiv_ledger.papers.verify import verify_claim

from symderiv.foundation.errors import InputError

ROOT = Path(__file__).parents[3]

I2 = r"\frac{2}{\pi}\arcsin\frac{C_{12}}{\sqrt{(1+C_{11})(1+C_{22})}}"
WRONG = r"\frac{2}{\pi}\arcsin\frac{C_{12}}{\sqrt{(1+C_{11})(1-C_{22})}}"


run = partial(symderiv, "verify")


def _file(tmp_path: Path, *claims: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text('title = "Mine"\n' + "\n".join(f"[[claim]]\n{claim}\n" for claim in claims))
    return path


def _i2(equation: str, formula: str, more: str = "") -> str:
    return (
        f"equation = '{equation}'\nprinted = '{formula}'\nreference = 'i2'\n"
        f"activation = 'erf'\nformula = '{formula}'\n{more}"
    )


def test_a_file_of_claims(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        _i2("1", I2),
        _i2("2", WRONG.replace("1-C", "2+C"), f"corrected_formula = '{I2}'"),
        "equation = '3'\nreference = 'expectation'\nexpression = 'x1**2*Heaviside(x2)'\n"
        "statement = 'I == C[1, 1]/2'",
        "equation = '4'\nreference = 'learning'\nactivation = 'relu'\n"
        "order = 'small-learning-rate'\nranges = 'i = 1..K, k = 1..K'\n"
        "statement = 'dQ[i, k] == dQ[k, i]'",
        "equation = '5'\nnot_checkable = 'no data'",
    )
    records = verify_paper(str(path), Selection(mutants=True), processes=1)
    assert [r["verdict"] for r in records] == [
        *("holds", "misprint", "holds", "holds", "not-checkable"),
    ]
    assert records[0]["printed"] == [I2]
    assert records[1]["evidence"][0]["counterexample"]["point"]
    assert not records[0]["mutants"]["survivors"]


def test_the_example_of_the_documentation() -> None:
    text = (ROOT / "docs" / "own-papers.md").read_text(encoding="utf-8")
    example = text.split("```toml\n")[1].split("```")[0]
    own = paper_from_toml(example, "own-papers.md")
    verdicts = [verify_claim(claim).verdict for claim in own.claims]
    assert verdicts == ["misprint", "holds", "misprint"]


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("reference = 'i2'", "equation"),
        ("equation = '1'\nreference = 'i5'\nstatement = 'I == 1'", "reference must be one of"),
        (_i2("1", I2, "colour = 1"), "unknown key 'colour'"),
        (_i2("1", I2.replace("C_{12}", "C_{13}")), "unknown name"),
        ("equation = '1'\nreference = 'i2'\nactivation = 'erf'\nstatement = 'J == 1'", "J is not"),
        (
            "equation = '1'\nreference = 'i2'\nactivation = 'erf'\nstatement = '__x(1) == 1'",
            "there is no function|the name",
        ),
        ("equation = '1'\nreference = 'learning'\nstatement = 'eps_g == 1'", "needs activation"),
        (
            "equation = '1'\nreference = 'plateau'\nactivation = 'reluu'\nstatement = 'R == 1'",
            "reluu",
        ),
        (_i2("1", I2) + "\n[[claim]]\n" + _i2("1", I2), "two claims"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, claim: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_paper(str(_file(tmp_path, claim)))


def test_papers_that_are_not_there() -> None:
    with pytest.raises(InputError, match="neither one of"):
        load_paper("saad-1995")
    with pytest.raises(InputError, match="there is no"):
        paper_from_toml("name = 'x'", "x.toml")


def test_the_command(tmp_path: Path) -> None:
    path = _file(tmp_path, _i2("1", I2), _i2("2", WRONG.replace("1-C", "2+C")))
    code, out, _ = run(str(path), "--processes", "1", "--json")
    assert code == 1
    first, second = json.loads(out)["claims"]
    assert first["verdict"] == "holds"
    assert second["verdict"] == "unsettled"
    assert "no correction" in second["error"]
    page = tmp_path / "page.html"
    code, out, _ = run(str(path), "--equation", "1", "--processes", "1", "--html", str(page))
    assert code == 0
    assert "holds at" in out
    assert "mutants" in out
    assert "<math" in page.read_text(encoding="utf-8")
    code, out, err = run(str(path), "--equation", "9")
    assert (code, out) == (2, "")
    assert "no claim on 9; it has 1, 2" in err
    for wrong in (["--verdict", "wrong"], ["--equation", "1"], ["--check"]):
        code, out, err = run(*wrong)
        assert (code, out) == (2, "")
        assert wrong[0] in err


SAID = """accusation.reached = "yes: main calls it"
accusation.meant = "any two fields"
accusation.changes = "the errors of figure 3 are halved"
"""
CODE = f"""
[repository.ours]
address = "owner/name"
commit = "{"0123456789" * 4}"
licence = "none stated"
[[equation]]
number = "I2 in a.py"
repository = "ours"
file = "src/a.py"
lines = "3-9"
reference = "i2"
activation = "erf"
formula = '{I2.replace("2}{", "1}{", 1)}'
corrected_formula = '{I2}'
{SAID}"""


def test_a_print_may_be_public_code(tmp_path: Path) -> None:
    path = tmp_path / "code.toml"
    path.write_text(CODE)
    code, out, _ = run(str(path), "--json")
    (record,) = json.loads(out)["claims"]
    assert (code, record["verdict"]) == (0, "misprint")
    assert record["printed"] == [record["statement"]]
    place = record["code"]
    assert place["text"] == "owner/name at 0123456, src/a.py, lines 3-9 (none stated)"
    assert (place["file"], place["lines"], len(place["commit"])) == ("src/a.py", "3-9", 40)
    out = run(str(path), "--equation", "I2 in a.py")[1]
    assert "owner/name at 0123456" in out
    assert "printed   " not in out


#: A second print of the same file, whose accusation is noted.
NOTED = CODE[CODE.index("[[equation]]") :].replace("I2 in a.py", "I2 again")


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    "noted", ["not reached", "right where it is meant", "same as I2 in a.py", ""]
)
def test_accusations_are_shown_and_those_that_are_noted_not_counted(
    noted: str, tmp_path: Path
) -> None:
    path = tmp_path / "code.toml"
    path.write_text(f'{CODE}{NOTED}accusation.noted = "{noted}"\n')
    code, out, _ = run(str(path))
    assert code == 0
    said = " ".join(out.split())  # lines end at 80 columns
    if noted:
        reason = "said before" if "same as" in noted else noted
        assert "2 claims: 1 misprint, 1 noted accusations" in said
        assert said.endswith(f"consequence said: all of 2; 1 count, 1 are noted (1 {reason})")
    else:
        assert "2 claims: 2 misprint accusations" in said
        assert said.endswith("consequence said: all of 2; 2 count, 0 are noted")
    records = json.loads(run(str(path), "--json")[1])["claims"]
    assert [record["accusation"]["noted"] for record in records] == ["", noted]
    assert {record["verdict"] for record in records} == {"misprint"}
    explained = run(str(path), "--equation", "I2 again")[1]
    for text in ("yes: main calls it", "any two fields", "errors of figure 3", noted):
        assert text in explained
    page = ledger_page(records)
    assert page.count("yes: main calls it") == 2
    assert page.count('data-v="noted"') == (2 if noted else 0)  # the claim, and a link to it


def test_a_ledger_that_lacks_what_is_said_of_accusations_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "code.toml"
    path.write_text(CODE + NOTED)
    records = json.loads(run(str(path), "--json")[1])["claims"]
    assert "said: all of 2" in summary(records)
    del records[1]["accusation"]
    assert "said: 1 of 2" in summary(records)
    records[0]["accusation"]["changes"] = ""
    assert "said: 0 of 2" in summary(records)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[repository.ours]", "[repository.others]", "there is no [repository.ours]"),
        ('file = "src/a.py"', "", "code needs file"),
        ("0123456789", "master", "commit must be 40 hexadecimal digits"),
        ('"owner/name"', '"https://x.org/owner/name"', "address must be owner/name"),
        ("licence =", "license =", "needs licence"),
        ('lines = "3-9"', "latex = 'x'", "latex or code, not both"),
        ('accusation.meant = "any two fields"', "", "accusation needs meant"),
        ("accusation.meant", "accusation.mean", "accusation: unknown key 'mean'"),
        (SAID, "", "needs accusation, with reached, meant, changes"),
        ("accusation.meant", 'accusation.noted = "so what"\naccusation.meant', "noted is"),
        (
            "accusation.meant",
            'accusation.noted = "same as another"\naccusation.meant',
            "no accusation that counts is 'another'",
        ),
        ("corrected_formula", "note", "accusation is allowed only with a correction"),
    ],
)
def test_code_is_described_in_full(old: str, new: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        paper_from_toml(CODE.replace(old, new), "ours.toml")
