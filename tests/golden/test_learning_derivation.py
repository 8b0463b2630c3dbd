"""The derivation of the learning equations as it is shown, kept as text."""

from pathlib import Path

import pytest
import sympy as sp

from symderiv.foundation.documents.written_derivation import Derivation
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.narration.narrator import sections
from symderiv.learning.rule.learning_problem import learning_problem

KEPT = Path(__file__).with_name("learning_derivation.txt")


@pytest.mark.skipif(not sp.__version__.startswith("1.14"), reason="the text depends on SymPy")
def test_the_derivation_reads_as_it_did() -> None:
    """Of a step function, for which the text also says that the noise has no value."""
    found = Derivation("Learning", sections(derive_equations(learning_problem("sign"))))
    assert found.to_text() == KEPT.read_text(encoding="utf-8")
