"""Names that a solver module may have."""

import importlib
from pathlib import Path

import pytest

from symderiv.api.results.equations.derived import TAKEN, check_module_name
from symderiv.foundation.errors import InputError
from symderiv.lowering.solver_files import FAST, RUNTIME


def test_a_module_may_replace_its_older_self_and_hide_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "older_self.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    check_module_name("older_self", tmp_path)
    for folder in (None, tmp_path / "elsewhere"):
        with pytest.raises(InputError, match="can be imported already"):
            check_module_name("older_self", folder)
    check_module_name("a_name_that_is_free")


@pytest.mark.parametrize(
    "name",
    ["class", "match", "_", "__", "__init__", "json", "numba", "a-b", "α", "1a", "", "two words"],
)
def test_names_that_no_module_should_have(name: str) -> None:
    with pytest.raises(InputError) as told:
        check_module_name(name)
    assert told.value.argument == "name"


def test_what_stands_beside_a_module_is_taken() -> None:
    assert {FAST, Path(RUNTIME).stem} <= TAKEN
