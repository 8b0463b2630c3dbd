"""The short list of names that symderiv promises."""

from __future__ import annotations

import subprocess
import sys

import pytest

import symderiv


@pytest.mark.parametrize("name", symderiv.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(symderiv, name) is not None
    assert name in dir(symderiv)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = symderiv.nothing


def test_importing_symderiv_loads_none_of_the_heavy_libraries() -> None:
    probe = "import sys, symderiv; print({'sympy', 'numba', 'scipy', 'numpy'} & set(sys.modules))"
    output = subprocess.run(
        [sys.executable, "-c", probe], check=True, capture_output=True, text=True
    ).stdout
    assert output.strip() == "set()"
