"""Papers as files: what is stated once reaches every claim, and what is wrong is refused."""

import pytest
from symderiv_ledger.claims.abbreviations import Abbreviations, free_ranges, read_indices, replaced
from symderiv_ledger.claims.claim import Claim
from symderiv_ledger.claims.statement import parse_statement
from symderiv_ledger.papers.paper_file import paper_from_files, paper_from_toml
from symderiv_ledger.papers.point_sets import read_rule
from symderiv_ledger.papers.verify import verify_claim
from symderiv_ledger.rules.comparison_rules import Converges, Exact

from symderiv.foundation.errors import FormulaError, InputError

UNIT_WEIGHTS = "output weights v = w = 1, of which the statement has none"
INDICES = read_indices({"i": "1..K", "n": "1..M", "m": "1..M"})

PAPER = r"""
title = "Ours"

[indices]
i = "1..K"
k = "1..K"
n = "1..M"

[let]
ONE = "1 + Q[i, i]"
"length(a)" = "sqrt(1 + Q[a, a])"

[points.erf]
reference = "learning"
activation = "erf"
regime = "any learning rate"
where = "w stands for the teacher's output weights"
rests_on = "definition: none"

[[equation]]
number = "1"
section = "Errors"
latex = 'Q_{ik}=Q_{ki}'

[[equation.claim]]
points = "erf"
statement = "Q[i, k]/ONE == Q[k, i]/(1 + Q[k, k])"
corrected = {"(1 + Q[k, k])" = "(1 + Q[i, i])"}

[[equation.claim]]
part = "sum"
points = "erf"
regime = "also K above M"
statement = "Sum(length(k)**2, k) == K + Sum(Q[k, k], k)"

[[equation]]
number = "2"

[[equation.claim]]
definition = true
note = '''
A note on
two lines.'''
"""


def _claims(text: str = PAPER) -> dict[str, Claim]:
    return {claim.name: claim for claim in paper_from_toml(text, "ours.toml").claims}


def test_what_is_stated_once_reaches_every_claim() -> None:
    own = paper_from_toml(PAPER, "ours.toml")
    first, second, third = own.claims
    assert (first.ranges, second.ranges) == ("i = 1..K, k = 1..K", "")
    assert first.regime == f"any learning rate; {UNIT_WEIGHTS}"
    assert second.regime.startswith("any learning rate; also K above M")
    assert first.where == second.where
    assert "Q" in first.symmetric
    assert first.statement == parse_statement("Q[i, k]/(1 + Q[i, i]) == Q[k, i]/(1 + Q[k, k])").text
    assert first.corrected == parse_statement("Q[i, k]/(1 + Q[i, i]) == Q[k, i]/(1 + Q[i, i])").text
    whole = "Sum(sqrt(1 + Q[k, k])**2, (k, 1, K)) == K + Sum(Q[k, k], (k, 1, K))"
    assert second.statement == parse_statement(whole).text
    assert own.printed["1"].latex == ("Q_{ik}=Q_{ki}",)
    assert own.printed["1"].section == "Errors"
    assert (third.note, third.points) == ("A note on two lines.", None)
    assert [verify_claim(claim).verdict for claim in own.claims] == [
        "misprint",
        "holds",
        "definition",
    ]


def test_a_later_file_uses_what_an_earlier_one_defined() -> None:
    more = '[[equation]]\nnumber = "3"\n[[equation.claim]]\npoints = "erf"\nstatement = "ONE > 0"\n'
    own = paper_from_files([("1.toml", PAPER), ("2.toml", more)])
    assert own.claims[-1].ranges == "i = 1..K"
    assert own.sources["3"] == "2.toml"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('points = "erf"', 'points = "relu"', "no points 'relu'"),
        ('points = "erf"\nregime', 'points = "erf"\ncolour', "unknown key 'colour'"),
        ('corrected = {"(1 + Q[k, k])"', 'corrected = {"(2 + Q[k, k])"', "is not in"),
        ('reference = "learning"', 'reference = "learnt"', "points erf: reference must be one of"),
        ('reference = "learning"\nactivation = "erf"', 'function = "points.erf"', "a package"),
        ('[let]\nONE = "1', '[let]\n"2" = "1', "an abbreviation is called"),
        ("length(k)**2", "length(k, i)**2", "takes 1 argument"),
        ('i = "1..K"', 'i = "1 to K"', "a range is written"),
        ('number = "2"', 'number = "1"', "equation 1: it is given twice"),
        ('number = "2"', 'number = "2"\ncolour = "1"', "unknown key 'colour'"),
        ("latex = 'Q", "latex = 7 #'Q", "latex must be"),
        ("definition = true", 'statement = "K == K"', "a statement needs points or"),
        ("definition = true", "display = 0\ndefinition = true", "no display 0"),
        ('title = "Ours"', "claim = 3", r"tables \[\[claim\]\]"),
    ],
)
def test_what_is_wrong_is_refused(old: str, new: str, words: str) -> None:
    assert old in PAPER
    with pytest.raises(InputError, match=words):
        _claims(PAPER.replace(old, new, 1))


PARTS = r"""
[indices]
"i, k" = "1..K"
n = "1..M"

[shapes]
Q = "i, k"

[points.erf]
reference = "learning"
activation = "erf"

[points.more]
like = "erf"
regime = "more"

[[equation]]
number = "1"
section = "A"
latex = ["first", "second"]
points = "erf"
corrected = {"Q" = "-Q"}
[equation.claim]
itself = "Q == Q[k, i]"
other = {statement = "Q == Q", corrected = {"Q ==" = "Q[k, i] =="}, points = "more"}

[[equation]]
number = "2"
latex = "third"
points = "more"
statement = "eps_g > 0"
note = "An equation that is a claim."
"""


def test_parts_have_names_and_an_equation_may_be_a_claim() -> None:
    own = paper_from_toml(PARTS, "ours.toml")
    assert [claim.name for claim in own.claims] == ["1", "1 other", "2"]
    first, other, second = own.claims
    assert (first.statement, first.corrected) == ("Q[i, k] == Q[k, i]", "")
    assert (other.statement, other.corrected) == ("Q[i, k] == Q[i, k]", "Q[k, i] == Q[i, k]")
    assert (first.ranges, first.regime) == ("i = 1..K, k = 1..K", UNIT_WEIGHTS)
    assert other.regime == f"more; {UNIT_WEIGHTS}"
    assert (first.printed, other.printed, second.printed) == (0, 1, None)
    assert (second.note, second.points) == ("An equation that is a claim.", other.points)
    assert [print_.section for print_ in own.printed.values()] == ["A", "A"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('like = "erf"', 'like = "more"', "no points 'more' before it"),
        ('Q = "i, k"', "Q = 2", "shapes are given as"),
        ("[shapes]", "[module.references]\nfunction = 'a.b'\n[shapes]", "unknown key 'function'"),
        ('itself = "Q', 'itself = 3 #"Q', "statement must be"),
        ("other = {", '"" = {', "two claims"),
    ],
)
def test_what_is_wrong_with_parts_is_refused(old: str, new: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        paper_from_toml(PARTS.replace(old, new, 1), "ours.toml")


def test_abbreviations_cannot_grow_without_bound() -> None:
    short = Abbreviations()
    short.define("a0", "x + x", {})
    for number in range(1, 40):
        short.define(f"a{number}", f"a{number - 1} + a{number - 1}", {})
    with pytest.raises(FormulaError, match="too long"):
        short.statement("y == a39", {})
    short.define("again", "1 + again", {})
    with pytest.raises(FormulaError, match="too long"):
        short.statement("y == again", {})


def test_an_abbreviation_is_put_in_as_if_in_brackets() -> None:
    short = Abbreviations()
    short.define("total", "a + b", {})
    short.define("norm(v, k)", "Sum(v[k, n]*total, n)", INDICES)
    assert short.statement("y == 2*total", {}) == "y == 2 * (a + b)"
    assert short.statement("y == norm(w, i)", {}) == "y == Sum(w[i, n] * (a + b), (n, 1, M))"


def test_a_correction_is_made_everywhere_and_at_once() -> None:
    assert replaced("a == K*M + K", {"K": "M", "M": "K"}) == "a == M*K + M"
    assert replaced("a == Kx +  K", {"K": "M"}) == "a == Kx + M"


def test_indices_that_are_free() -> None:
    assert free_ranges("R[i, n] == Sum(R[i, m], (m, 1, M))*n", INDICES) == "i = 1..K, n = 1..M"
    # a number is no index, nor is the argument of a function of numbers
    assert free_ranges("x == m + sqrt(n)", INDICES) == ""
    assert free_ranges("v(m) == Sum(w[m], (m, 1, n))", INDICES) == "n = 1..M, m = 1..M"


def test_rules_are_read_from_their_text() -> None:
    assert read_rule("Exact(digits=20, backend='arb')") == Exact(20, "arb")
    assert read_rule("Converges") == Converges()
    for wrong in ("Exactly", "Exact(20)", "Exact(colour=1)", "Exact(digits=open)", "1 +", "a.b()"):
        with pytest.raises(InputError, match="rule"):
            read_rule(wrong)


def test_words_that_texts_share() -> None:
    words = PAPER.replace("[let]", '[words]\nrates = "any learning rate"\n\n[let]')
    said = words.replace('regime = "any learning rate"', 'regime = "$rates"')
    assert said != words
    assert [claim.regime for claim in _claims(said).values()] == [
        claim.regime for claim in _claims().values()
    ]
    with pytest.raises(InputError, match=r"no words \$rate"):
        _claims(words.replace('regime = "any learning rate"', 'regime = "$rate"'))
    # without words a dollar is a dollar
    assert _claims(PAPER.replace("A note", "$x$"))["2"].note.startswith("$x$")


def test_an_equation_speaks_for_its_claims() -> None:
    said = PAPER.replace('number = "2"', 'number = "2"\npoints = "erf"\nstatement = "ONE == 2"')
    said += """
[[equation.claim]]
part = "other"
statement = "Q[i, k] == Q[k, i]"

[[equation]]
number = "3"
points = "erf"
statement = "Q[i, k] == 2*Q[k, i]"
corrected = {"2*" = ""}

[[equation.claim]]

[[equation.claim]]
part = "own"
statement = "K == K"
"""
    claims = _claims(said)
    assert claims["2"].statement == "1 + Q[i, i] == 2"
    assert claims["2 other"].statement == "Q[i, k] == Q[k, i]"
    assert claims["3"].corrected == "Q[i, k] == Q[k, i]"
    assert (claims["3 own"].statement, claims["3 own"].corrected) == ("K == K", "")


def test_functions_of_points_are_found_by_name() -> None:
    text = """
[points.two]
function = "saad_solla.nothing"

[[equation]]
number = "1"
[[equation.claim]]
points = "two"
statement = "1 == 1"
"""
    for function in ("saad_solla.nothing", "nothing", "no_module.nothing"):
        with pytest.raises(InputError, match="there is no function"):
            paper_from_files([("x.toml", text.replace("saad_solla.nothing", function))], "symderiv")
    made = text.replace("saad_solla.nothing", "precision.balls.contexts.numbers")
    with_values = made.replace('numbers"', "numbers(digits=20, backend='mpmath')\"")
    (claim,) = paper_from_files([("x.toml", with_values)], "symderiv").claims
    assert isinstance(claim.rule, Exact)
    assert claim.points is not None
