"""Means whose code comes with the package: of these sources, with the numbers of code made here."""

import builtins
from typing import Any

import numpy as np
import pytest

from symderiv.compiled_code.machine_code import can_link, linked
from symderiv.compiled_code.translation import shipped_parts, translated
from symderiv.compiled_code.translation.ir_function import function_text
from symderiv.compiled_code.translation.ir_module import IrModule
from symderiv.compiled_code.translation.module_source import module_names
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.means.compiled_means import _KINDS
from symderiv.lowering.means.quadrature_means import Quadrature
from symderiv.lowering.means.quadrature_rules import kinked_rule, plane_rule, smooth_rule
from symderiv.lowering.means.ship_means import KINDS, text_of_means

pytestmark = pytest.mark.skipif(not can_link(), reason="code runs without numba on Linux alone")


@pytest.fixture(scope="module")
def text() -> str:
    return Quadrature(learning_problem("softplus", "x*tanh(log(1+exp(x)))"), 1e-3).text


@pytest.mark.parametrize("last", [None, 2])
def test_the_shipped_code_is_of_the_sources(
    text: str, last: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``python -m symderiv.lowering.means.ship_means`` makes it. In a terminal, ``_`` is the last
    value, and a variable of some functions.
    """
    shipped_parts._named.cache_clear()
    monkeypatch.setattr(builtins, "_", last, raising=False)
    names = module_names(text)
    module = shipped_parts.PartsModule(function_text)
    for name, kinds in KINDS["softplus", False].items():
        assert module.comes(names[name], kinds), name


@pytest.mark.parametrize("which", KINDS)
def test_so_is_that_of_each_family(which: tuple[str, bool]) -> None:
    names = module_names(text_of_means(*which))
    module = shipped_parts.PartsModule(function_text)
    for name, kinds in KINDS[which].items():
        assert module.comes(names[name], kinds), name


def test_a_function_that_differs_in_a_constant_is_made_here(text: str) -> None:
    changed = module_names(text.replace("_MOST_TERMS = 400", "_MOST_TERMS = 401"))
    module = shipped_parts.PartsModule(function_text)
    assert not module.comes(changed["_mean_of_4"], KINDS["softplus", False]["_mean_of_4"])


def both_codes(text: str, own: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Functions of a text, each as it was shipped and as it is made here."""
    names = module_names(text)
    asked = [(names[name], _KINDS[name]) for name in own]
    shipped = [linked(*made) for made in translated.together(asked)]
    assert any("symderiv_part" in name for name in translated.together(asked)[0][0]["imports"])
    monkeypatch.setattr(translated, "PartsModule", IrModule)
    return list(zip(shipped, (linked(*made) for made in translated.together(asked)), strict=True))


def covariance_of(rng: np.random.Generator, size: int) -> tuple[float, ...]:
    root = rng.normal(size=(size, size)) / 2
    return tuple((root @ root.T)[np.triu_indices(size)].tolist())


def test_both_codes_give_the_same_numbers(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = both_codes(text, ("_mean_of_2", "_mean_of_4"), monkeypatch)
    rng, rule = np.random.default_rng(11), smooth_rule(0.7, 1e-8, 6.0)
    for size, numbers, (one, other) in zip((2, 4), (rule.two, rule.four), codes, strict=True):
        for _ in range(20):
            kinds = tuple(int(n) for n in rng.integers(0, 5, size))
            given = np.array(numbers), kinds, covariance_of(rng, size), (0.0,) * size
            assert one(*given) == other(*given)


@pytest.mark.parametrize("biased", [False, True], ids=["planes", "panels"])
def test_so_do_both_codes_of_means_with_kinks(
    biased: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = text_of_means("Max(-1,Min(1,x))", biased)
    # kinks elsewhere, and another number of them, than those of the module that was compiled
    begin = "KINKS = np.array([\n"
    text = text.replace(f"{begin}    -1.0,\n", f"{begin}    -1.5,\n    0.3,\n")
    assert text.count("0.3,") == 2
    own = ("_line_mean_of_2", "_plane_mean_of_4")
    rule = plane_rule(8.0, 1e-6, 6.0, False, True)
    if biased:
        own = ("_kinked_mean_of_2", "_kinked_mean_of_4")
        rule = kinked_rule(2.8, 1e-4, 6.0, True)
    codes, rng = both_codes(text, own, monkeypatch), np.random.default_rng(12)
    for size, numbers, (one, other) in zip((2, 4), (rule.two, rule.four), codes, strict=True):
        for _ in range(3):
            covariance, kinds = covariance_of(rng, size), (1, 1, 0, 3)[-size:]
            shifts = tuple(rng.normal(size=size).tolist()) if biased else (0.0,) * size
            given = np.array(numbers), kinds, covariance, shifts
            # one that is no number is not within it
            assert abs(one(*given) - other(*given)) <= 1e-13
