"""What claims rest on: the stored table is whole, and a sample of it is found again."""

import pytest
from foundations.outcomes import Outcome, change, outcome
from foundations.perturbations import PERTURBATIONS, perturbed
from foundations.table import KINDS, computed, defects, read, tried
from symderiv_ledger.claims.claim import Claim
from symderiv_ledger.papers.known_papers import names, paper

pytestmark = pytest.mark.turns(12)


#: Cheap claims, one per perturbation at least: (paper, claim, perturbation, noticed).
SAMPLE = (
    ("saad-solla-1995", "I2", "means", True),
    ("bae-jeong-2024", "8 student", "means", True),
    ("bae-jeong-2024", "8 teacher", "means", False),
    ("worschech-rosenow-2024", "scaling of T2 trace", "data", True),
    ("worschech-rosenow-2024", "appendix D trace", "data", True),
    ("saad-solla-1995", "generalisation error", "error", True),
)


def test_every_claim_notices_or_names_what_it_rests_on() -> None:
    stored = read()
    for name in names():
        claims = {f"{name}: {claim.name}": claim for claim in tried(name)}
        missing = [key for key in claims if key not in stored]
        assert not missing, f"run make claim-foundations: {missing}"
        for key, claim in claims.items():
            assert stored[key]["rests_on"] == claim.rests_on, key
            assert not claim.rests_on or claim.rests_on.startswith(KINDS), key
    assert not defects(stored)


@pytest.mark.parametrize(("name", "equation", "perturbation", "noticed"), SAMPLE)
def test_a_sample_is_found_again(
    name: str, equation: str, perturbation: str, noticed: bool
) -> None:
    before = outcome(_claim(name, equation))
    assert before.verdict == "passes"
    with perturbed(perturbation):
        after = outcome(_claim(name, equation))
    assert bool(change(before, after)) is noticed
    assert change(before, outcome(_claim(name, equation))) == ""


def _claim(name: str, equation: str) -> Claim:
    """Anew: claims may keep what they computed."""
    return next(claim for claim in paper(name).claims if claim.name == equation)


def test_a_claim_that_rests_on_nothing_is_a_defect() -> None:
    claim = _claim("bae-jeong-2024", "8 teacher")
    rows = computed("bae-jeong-2024", [claim], {})
    assert not defects(rows)
    (row,) = rows.values()
    assert set(row["noticed"]) == set(PERTURBATIONS)
    row["rests_on"] = ""
    assert defects(rows) == ["bae-jeong-2024: 8 teacher"]


def test_what_counts_as_noticed() -> None:
    before = Outcome("passes", 1e-12, (1e-30, 1e-3))
    assert change(before, Outcome("passes", 1e-12, (1e-28, 1e-3))) == ""
    assert change(before, Outcome("passes", 1e-12, (1e-30, 1e-3 + 1e-9))) == "moves"
    assert change(before, Outcome("fails", 1e-12, (1e-6, 1e-3))) == "fails"
    assert change(before, Outcome("FormulaError: x", 1e-12)) == "fails"
