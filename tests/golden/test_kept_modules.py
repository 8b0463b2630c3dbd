"""The kept solver modules are, byte for byte, what their recipes give."""

from pathlib import Path

import pytest
import symderiv_kernels
import sympy as sp

from symderiv.checking.recipes import RECIPES, solver_text
from symderiv.lowering.solver_files import layout_text

pytestmark = pytest.mark.days(6)

KEPT = Path(symderiv_kernels.__path__[0])


@pytest.mark.skipif(not sp.__version__.startswith("1.14"), reason="the text depends on SymPy")
@pytest.mark.parametrize("name", RECIPES)
def test_the_kept_module_is_reproduced_byte_for_byte(name: str) -> None:
    for place, text in solver_text(name, *RECIPES[name]).files(name).items():
        path = KEPT / place
        assert path.is_file(), "missing; write it with: symderiv generate --checked-in"
        assert path.read_bytes() == text.encode(), "stale; run: symderiv generate --checked-in"


def test_all_modules_pack_vectors_as_the_layout_says() -> None:
    assert (KEPT / "layout.py").read_text(encoding="utf-8") == layout_text()
    stated = layout_text()[layout_text().index("LAYOUT = {") :]
    for name in RECIPES:
        assert stated in (KEPT / f"{name}.py").read_text(encoding="utf-8")


def test_there_is_no_module_without_a_recipe() -> None:
    for folder, own in ((KEPT, {"__init__", "layout"}), (KEPT / "fast", {"__init__", "runtime"})):
        assert {path.stem for path in folder.glob("*.py")} - own == set(RECIPES)
