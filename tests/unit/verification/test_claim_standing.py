"""The hash of a claim, its tier, and what would overturn it."""

from pathlib import Path
from typing import Any

import pytest
from symderiv_ledger.claims import claim_hash
from symderiv_ledger.claims.claim import TIERS, Claim, ComparisonRule, Point
from symderiv_ledger.claims.claim_hash import code_of
from symderiv_ledger.papers.paper_file import paper_from_toml
from symderiv_ledger.papers.point_sets import RULES, read_rule
from symderiv_ledger.papers.verify import Finding, overturned_by, tier, verify_claim
from symderiv_ledger.rules.comparison_rules import (
    Bound,
    Converges,
    Enclosed,
    Exact,
    Measured,
    ShownWithin,
    Symbolic,
    Within,
    WithinErrorBars,
)

from symderiv.foundation.errors import InputError

PAPER = r"""
[indices]
i = "1..K"

[points.erf]
reference = "learning"
activation = "erf"

[[equation]]
number = "1"
section = "Errors"
latex = ["a = b", "c = d"]
points = "erf"
[equation.claim]
first = {statement = "Q[i, i] == Q[i, i]", note = "words"}
second = {statement = "K >= 1", corrected = "K >= 2"}
"""


def _hashes(text: str = PAPER) -> list[str]:
    paper = paper_from_toml(text, "ours.toml")
    return [claim_hash.claim_hash(paper, claim) for claim in paper.claims]


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("== Q[i, i]", "== Q[i, i]*1", (True, False)),
        ('"K >= 2"', '"K >= 3"', (False, True)),
        ("a = b", "a = 2b", (True, False)),
        ("c = d", "c = 2d", (False, True)),
        ('number = "1"', 'number = "1"\nreading = "reconstructed"', (True, True)),
        ('i = "1..K"', 'i = "2..K"', (True, False)),
        ('activation = "erf"', 'activation = "relu"', (True, True)),
        ('activation = "erf"', 'activation = "erf"\ndigits = 20', (True, True)),
        ('activation = "erf"', 'activation = "erf"\nequal = [["K", "M"]]', (True, True)),
        ('note = "words"', "in_words = true", (True, False)),
        ('note = "words"', 'note = "other words"', (False, False)),
        ('note = "words"', 'given = "nothing"', (False, False)),
        ("first =", "other =", (False, False)),
        ('number = "1"', 'number = "2"', (False, False)),
        ("Errors", "Means", (False, False)),
        ('activation = "erf"', 'activation = "erf"\nregime = "any"', (False, False)),
    ],
)
def test_a_hash_changes_when_the_claim_does_and_only_then(
    old: str, new: str, changed: tuple[bool, bool]
) -> None:
    assert old in PAPER
    pairs = zip(_hashes(), _hashes(PAPER.replace(old, new)), strict=True)
    assert tuple(one != other for one, other in pairs) == changed


def test_a_hash_has_the_engines_version_and_the_rule_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paper = paper_from_toml(PAPER, "ours.toml")

    def of(rule: ComparisonRule) -> str:
        return claim_hash.claim_hash(paper, Claim("1", "x == y", rule=rule))

    rules = (Exact(), Exact(digits=31), Bound(), Within(), Within(tolerance=0.02))
    hashes = [of(rule) for rule in rules]
    assert len(set(hashes)) == len(rules)
    assert of(Exact(digits=30)) == hashes[0]
    monkeypatch.setattr(claim_hash, "__version__", "0.0.0")
    assert not set(hashes) & {of(rule) for rule in rules}


POINTS = """
# a comment
from ours_{name} import helpers
from ours_{name}.helpers import scaled as by
SIZE = 3
OTHER = 4

def wanted(numbers):
    \"\"\"Words.\"\"\"
    return by(_inner(SIZE))

def _inner(x):
    from ours_{name}.helpers import late
    return helpers.used(x) + late

def unwanted():
    return OTHER
"""
HELPERS = """
import math
FACTOR = 2
late = 1

def scaled(x):
    return FACTOR * x  # twice

def used(x):
    return math.sqrt(x)

def unused(x):
    return -x
"""


def _package(folder: Path, name: str, points: str, helpers: str) -> dict[str, str]:
    package = folder / f"ours_{name}"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "points.py").write_text(points.format(name=name), encoding="utf-8")
    (package / "helpers.py").write_text(helpers, encoding="utf-8")
    found = code_of(f"ours_{name}.points.wanted")
    return {
        key.removeprefix(f"ours_{name}."): text.replace(f"ours_{name}", "ours")
        for key, text in found.items()
    }


def test_the_code_of_points_is_what_they_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    first = _package(tmp_path, "a", POINTS, HELPERS)
    assert set(first) == {
        *("points.wanted", "points.SIZE", "points._inner"),
        *("helpers.scaled", "helpers.FACTOR", "helpers.used", "helpers.late"),
    }
    unchanged = (
        POINTS.replace("# a comment", "# another").replace("Words.", "Other words."),
        HELPERS.replace("-x", "+x")
        .replace("  # twice", "")
        .replace("import math\n", "import math\n\n"),
    )
    assert _package(tmp_path, "b", *unchanged) == first
    for number, (old, new) in enumerate((("SIZE = 3", "SIZE = 5"), ("(SIZE)", "(SIZE + 1)"))):
        assert _package(tmp_path, f"c{number}", POINTS.replace(old, new), HELPERS) != first
    for number, (old, new) in enumerate((("FACTOR = 2", "FACTOR = 3"), ("late = 1", "late = 2"))):
        assert _package(tmp_path, f"d{number}", POINTS, HELPERS.replace(old, new)) != first


def test_the_code_of_points_names_what_it_takes_of_the_engine_and_not_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))

    def code(name: str, imported: str) -> dict[str, str]:
        text = f"def wanted():\n    {imported}\n    return activation('erf')\n"
        return _package(tmp_path, name, text, "")

    first = code("e", "from symderiv.formula import activation")
    assert code("f", "from symderiv.gaussian.terms.algebra import activation") == first
    assert code("g", "from symderiv.formula import function as activation") != first
    assert code("h", "from mpmath import activation") != first


def _found(statement: str, rule: ComparisonRule, corrected: str = "", **values: Any) -> Finding:
    points = [Point("the point", {"x": 2, "y": 3, **values}, parameter=0.1)]
    return verify_claim(Claim("1", statement, lambda numbers: points, rule, corrected=corrected))


@pytest.mark.parametrize(
    ("rule", "name", "words"),
    [
        (Symbolic(), "proved", "numbers at which the sides of one of the 1 symbolic cases differ"),
        (Exact(backend="arb"), "enclosed", "the balls of the two sides are disjoint"),
        (Enclosed(), "enclosed", "the balls of the two sides are disjoint"),
        (Exact(digits=20), "digits", "differ by more than 1e-12 of the larger one"),
        (Within(tolerance=0.05), "tolerance", "differ by more than 0.05 of the larger one"),
        (WithinErrorBars(systematic=0.02), "Monte Carlo", "than 4 standard errors and 0.02 of the"),
        (ShownWithin(margin=0.5), "Monte Carlo", "4 standard errors together are more than 0.5 of"),
    ],
)
def test_tier_and_what_would_overturn_follow_from_the_rule(
    rule: ComparisonRule, name: str, words: str
) -> None:
    values: dict[str, Any] = {"x": Measured(2.0, 0.1)} if name == "Monte Carlo" else {}
    found = _found("x + 1 == y", rule, **values)
    assert tier(found) == name in TIERS
    assert words in overturned_by(found)


def test_what_would_overturn_other_verdicts() -> None:
    ordered = overturned_by(_found("x < y", Exact()))
    assert ordered.endswith(
        "of the 1 tried or another of the regime, where the inequality does not hold"
    )
    failed = _found("x == y", Exact(), corrected="x == y - 1")
    cleared, _, fallen = overturned_by(failed).partition("; ")
    assert cleared == "the print's failure: that its sides agree at the counterexample"
    assert fallen.startswith("the correction: one point, of the 1 tried or another of the regime")
    nothing = verify_claim(Claim("1", not_checkable="no data"))
    assert (tier(nothing), overturned_by(nothing)) == ("", "")
    bound = Bound(reaches=0.5).overturned_by(3, ordered=True)
    assert bound.endswith("a bound that is never reached to 0.5")
    assert "the power 1.8 of" in Converges(order=2).overturned_by(9, ordered=False)


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_file_cannot_say_the_tier(name: str) -> None:
    with pytest.raises(InputError, match="does not take"):
        read_rule(f'{name}(tier="proved")')
    assert read_rule(name).tier in TIERS
